/* Samples and their density on the GPU: what is in double whatever the table's precision.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cub/cub.cuh>

#include "recon/cuda/recon.cuh"

namespace
{

/* ---- the first bad number ---- */

__global__ void outlier_kernel(int64_t n, const double *x, double low, unsigned long long *first)
{
    for (int64_t i = first_index(); i < n; i += index_stride())
        if (!isfinite(x[i]) || x[i] < low) atomicMin(first, (unsigned long long)i);
}

/* ---- selection ---- */

struct inside {
    int nd;
    const double *points;
    three<double> radius;
    double limit;
    __device__ bool operator()(int64_t j) const
    {
        return lmr_radius(nd, points + j * nd, radius.v) < limit;
    }
};

__global__ void mark_kernel(int64_t m, inside is_inside, int64_t *mark)
{
    for (int64_t j = first_index(); j < m; j += index_stride()) mark[j] = is_inside(j) ? 1 : 0;
}

/* place: how many before each are inside. */
__global__ void place_kernel(int64_t m, inside is_inside, const int64_t *place, int64_t *index, int64_t *count)
{
    for (int64_t j = first_index(); j < m; j += index_stride()) {
        const bool chosen = is_inside(j);
        if (chosen) index[place[j]] = j;
        if (j == m - 1) *count = place[j] + (chosen ? 1 : 0);
    }
}

__global__ void pick_kernel(int nd, int64_t m, const int64_t *index, double scale, const double *from, double *to)
{
    for (int64_t i = first_index(); i < nd * m; i += index_stride()) {
        const int64_t j = i / nd;
        to[i] = scale * from[(index ? index[j] : j) * nd + i % nd];
    }
}

__global__ void taper_kernel(int nd, int64_t m, const double *points, three<double> radius, double *w)
{
    for (int64_t j = first_index(); j < m; j += index_stride())
        w[j] *= lmr_hann(lmr_radius(nd, points + j * nd, radius.v));
}

/* ---- the ramp ---- */

__global__ void lines_kernel(int nd, int64_t n, int64_t readouts, const double *points, double *t, lmr_line *line)
{
    for (int64_t r = first_index(); r < readouts; r += index_stride())
        line[r] = lmr_project(nd, n, points + r * n * nd, t + r * n);
}

__global__ void ramp_kernel(int nd, int64_t n, int64_t readouts, const double *t, const lmr_line *line, int64_t rays,
                            const double *ray, double *w)
{
    for (int64_t j = first_index(); j < n * readouts; j += index_stride()) {
        const int64_t r = j / n;
        w[j] = lmr_ramp(nd, n, t + r * n, &line[r], j % n, rays, ray);
    }
}

larmor_status to_host(lmr_cuda *c, void *host, const void *device, size_t bytes)
{
    CUDA_TRY(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, c->stream));
    return CUDA_STATUS(cudaStreamSynchronize(c->stream));
}

} // namespace

larmor_status lmr_cuda_recon_outlier(void *ctx, int64_t n, const double *x, double low, int64_t *index)
{
    LMR_CUDA_ENTER(c, ctx);
    lmr_cuda_scratch<unsigned long long> first;
    unsigned long long found = ~0ULL;
    LMR_TRY(first.allocate(c, 1));
    CUDA_TRY(cudaMemsetAsync(first.get(), 0xff, sizeof found, c->stream));
    outlier_kernel<<<blocks(n), THREADS, 0, c->stream>>>(n, x, low, first.get());
    CUDA_TRY(cudaGetLastError());
    LMR_TRY(to_host(c, &found, first.get(), sizeof found));
    *index = found == ~0ULL ? -1 : (int64_t)found;
    return LARMOR_OK;
}

larmor_status lmr_cuda_recon_select(void *ctx, int nd, int64_t m, const double *points, const double radius[3],
                                    double limit, int64_t *index, int64_t *count)
{
    LMR_CUDA_ENTER(c, ctx);
    *count = 0;
    if (m == 0) return LARMOR_OK;
    const inside is_inside = {nd, points, {{radius[0], radius[1], radius[2]}}, limit};
    lmr_cuda_scratch<int64_t> place, total;
    lmr_cuda_scratch<char> temporary;
    size_t bytes = 0;
    LMR_TRY(place.allocate(c, m));
    LMR_TRY(total.allocate(c, 1));
    mark_kernel<<<blocks(m), THREADS, 0, c->stream>>>(m, is_inside, place.get());
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cub::DeviceScan::ExclusiveSum(nullptr, bytes, place.get(), place.get(), m, c->stream));
    LMR_TRY(temporary.allocate(c, (int64_t)bytes));
    CUDA_TRY(cub::DeviceScan::ExclusiveSum(temporary.get(), bytes, place.get(), place.get(), m, c->stream));
    place_kernel<<<blocks(m), THREADS, 0, c->stream>>>(m, is_inside, place.get(), index, total.get());
    CUDA_TRY(cudaGetLastError());
    return to_host(c, count, total.get(), sizeof *count);
}

larmor_status lmr_cuda_recon_pick(void *ctx, int nd, int64_t m, const int64_t *index, double scale,
                                  const double *from, double *to)
{
    LMR_CUDA_ENTER(c, ctx);
    pick_kernel<<<blocks(nd * m), THREADS, 0, c->stream>>>(nd, m, index, scale, from, to);
    return CUDA_STATUS(cudaGetLastError());
}

larmor_status lmr_cuda_recon_taper(void *ctx, int nd, int64_t m, const double *points, const double radius[3],
                                   double *w)
{
    LMR_CUDA_ENTER(c, ctx);
    taper_kernel<<<blocks(m), THREADS, 0, c->stream>>>(nd, m, points, {{radius[0], radius[1], radius[2]}}, w);
    return CUDA_STATUS(cudaGetLastError());
}

larmor_status lmr_cuda_recon_lines(void *ctx, int nd, int64_t n, int64_t readouts, const double *points, double *t,
                                   lmr_line *line)
{
    LMR_CUDA_ENTER(c, ctx);
    lines_kernel<<<blocks(readouts, 32), 32, 0, c->stream>>>(nd, n, readouts, points, t, line);
    return CUDA_STATUS(cudaGetLastError());
}

larmor_status lmr_cuda_recon_ramp(void *ctx, int nd, int64_t n, int64_t readouts, const double *t,
                                  const lmr_line *line, int64_t rays, const double *ray, double *w)
{
    LMR_CUDA_ENTER(c, ctx);
    ramp_kernel<<<blocks(n * readouts), THREADS, 0, c->stream>>>(nd, n, readouts, t, line, rays, ray, w);
    return CUDA_STATUS(cudaGetLastError());
}
