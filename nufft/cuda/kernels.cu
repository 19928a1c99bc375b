/* The NUFFT's table for CUDA. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/cuda/points.cuh"

template <typename T> larmor_status lmr_cuda_spread_points(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                           const lmr_cuda_points *p, int64_t batch,
                                                           const void *values, void *cells)
{
    const auto *from = static_cast<const cx<T> *>(values);
    auto *to = static_cast<cx<T> *>(cells);
    const auto count = (size_t)(g->cells[0] * g->cells[1] * g->cells[2] * batch);
    CUDA_TRY(cudaMemsetAsync(to, 0, count * sizeof *to, c->stream));
    if (p->m == 0 || batch == 0) return LARMOR_OK;
    if (g->ndim == 1) return lmr_cuda_spread<T, 1>(c, g, p, batch, from, to);
    if (g->ndim == 2) return lmr_cuda_spread<T, 2>(c, g, p, batch, from, to);
    return lmr_cuda_spread<T, 3>(c, g, p, batch, from, to);
}

template <typename T> larmor_status lmr_cuda_interp_points(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                           const lmr_cuda_points *p, int64_t batch, const void *cells,
                                                           void *values)
{
    const auto *from = static_cast<const cx<T> *>(cells);
    auto *to = static_cast<cx<T> *>(values);
    if (p->m == 0 || batch == 0) return LARMOR_OK;
    if (g->ndim == 1) return lmr_cuda_interp<T, 1>(c, g, p, batch, from, to);
    if (g->ndim == 2) return lmr_cuda_interp<T, 2>(c, g, p, batch, from, to);
    return lmr_cuda_interp<T, 3>(c, g, p, batch, from, to);
}

template larmor_status lmr_cuda_spread_points<float>(lmr_cuda *, const lmr_nufft_geometry *, const lmr_cuda_points *,
                                                     int64_t, const void *, void *);
template larmor_status lmr_cuda_spread_points<double>(lmr_cuda *, const lmr_nufft_geometry *, const lmr_cuda_points *,
                                                      int64_t, const void *, void *);
template larmor_status lmr_cuda_interp_points<float>(lmr_cuda *, const lmr_nufft_geometry *, const lmr_cuda_points *,
                                                     int64_t, const void *, void *);
template larmor_status lmr_cuda_interp_points<double>(lmr_cuda *, const lmr_nufft_geometry *, const lmr_cuda_points *,
                                                      int64_t, const void *, void *);

namespace
{

template <typename T> larmor_status spread(void *ctx, const lmr_nufft_geometry *g, void *sorted, int64_t batch,
                                           const void *values, void *cells)
{
    LMR_CUDA_ENTER(c, ctx);
    return lmr_cuda_spread_points<T>(c, g, static_cast<const lmr_cuda_points *>(sorted), batch, values, cells);
}

template <typename T> larmor_status interp(void *ctx, const lmr_nufft_geometry *g, void *sorted, int64_t batch,
                                           const void *cells, void *values)
{
    LMR_CUDA_ENTER(c, ctx);
    return lmr_cuda_interp_points<T>(c, g, static_cast<const lmr_cuda_points *>(sorted), batch, cells, values);
}

/* Tiles there are none in the caller's own order, and in 1D the owners' are all alike. */
int has_shapes(int ndim, lmr_nufft_method method)
{
    return ndim == 1 ? method == LMR_NUFFT_SM : method != LMR_NUFFT_GM;
}

/* Keys and numbers are sorted in two buffers, and there is at most a bin for twelve cells. */
template <typename T> double points_bytes(void *, const lmr_nufft_geometry *g, double m)
{
    return (32.0 + (double)(g->ndim * sizeof(T))) * m +
           (double)g->cells[0] * (double)g->cells[1] * (double)g->cells[2] + 0x1p20;
}

/* Interpolation of a line is quickest in the caller's order, in which values are written, for the grid's cells are in
 * the cache anyway (tests/bench/rates.c). Spreading wants its points sorted. */
template <typename T> constexpr lmr_nufft_kernels kernels = {
    .model = LMR_NUFFT_GPU,
    .has_methods = 1,
    .line_interp = LMR_NUFFT_GM,
    .has_shapes = has_shapes,
    .points_bytes = points_bytes<T>,
    .collect = lmr_cuda_collect,
    .sort = lmr_cuda_sort<T>,
    .sort_from = nullptr,
    .release = lmr_cuda_release_points,
    .spread = spread<T>,
    .interp = interp<T>,
    .crop = lmr_cuda_crop<T>,
    .pad = lmr_cuda_pad<T>,
    .methods = lmr_cuda_methods,
    .extent = lmr_cuda_extent,
    .rescale = lmr_cuda_rescale,
    .phases = lmr_cuda_phases<T>,
    .modulate = lmr_cuda_modulate<T>,
};

const lmr_cuda_table table("nufft", LMR_NUFFT_ABI, &kernels<float>, &kernels<double>);

} // namespace
