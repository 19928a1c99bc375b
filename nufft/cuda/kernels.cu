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

template <typename T> constexpr lmr_nufft_kernels kernels = {
    .sort = lmr_cuda_sort<T>,
    .release = lmr_cuda_release_points,
    .spread = spread<T>,
    .interp = interp<T>,
    .crop = lmr_cuda_crop<T>,
    .pad = lmr_cuda_pad<T>,
    .methods = lmr_cuda_methods,
    .extent = lmr_cuda_extent,
    .rescale = lmr_cuda_rescale,
    .waves = lmr_cuda_waves<T>,
    .modulate = lmr_cuda_modulate<T>,
};

const lmr_cuda_table table("nufft", LMR_NUFFT_ABI, &kernels<float>, &kernels<double>);

} // namespace
