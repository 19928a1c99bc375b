/* What type 3 needs beside the other types' kernels, on the GPU. One thread per point, each a pass over its bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "nufft/cuda/points.cuh"
#include "nufft/phases.h"

namespace
{

enum { PARTS = 1024 };

__device__ double coordinate(bool is_double, const void *points, int64_t i)
{
    return is_double ? static_cast<const double *>(points)[i] : (double)static_cast<const float *>(points)[i];
}

/* ---- extent ---- */

/* The least and the largest coordinates, and the first index that is not finite. */
struct span {
    double low[3], high[3];
    int64_t bad;
};

__device__ span join(span a, const span &b)
{
    for (int d = 0; d < 3; d++) {
        a.low[d] = fmin(a.low[d], b.low[d]);
        a.high[d] = fmax(a.high[d], b.high[d]);
    }
    a.bad = a.bad < b.bad ? a.bad : b.bad;
    return a;
}

__device__ span nothing()
{
    span s;
    for (int d = 0; d < 3; d++) {
        s.low[d] = INFINITY;
        s.high[d] = -INFINITY;
    }
    s.bad = INT64_MAX;
    return s;
}

/* The block's spans into thread 0's. */
__device__ span join_block(span own, span *shared)
{
    shared[threadIdx.x] = own;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) shared[threadIdx.x] = join(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    return shared[0];
}

__global__ void extent_kernel(int ndim, int64_t m, bool is_double, const void *points, span *part)
{
    __shared__ span shared[THREADS];
    span own = nothing();
    for (int64_t j = first_index(); j < m; j += index_stride())
        for (int d = 0; d < 3; d++) {
            if (d >= ndim) continue;
            const double x = coordinate(is_double, points, j * ndim + d);
            if (!isfinite(x) && j < own.bad) own.bad = j;
            own.low[d] = fmin(own.low[d], x);
            own.high[d] = fmax(own.high[d], x);
        }
    const span all = join_block(own, shared);
    if (threadIdx.x == 0) part[blockIdx.x] = all;
}

__global__ void join_kernel(int parts, span *part)
{
    __shared__ span shared[THREADS];
    span own = nothing();
    for (int i = (int)threadIdx.x; i < parts; i += THREADS) own = join(own, part[i]);
    const span all = join_block(own, shared);
    if (threadIdx.x == 0) part[0] = all;
}

/* ---- some of the points ---- */

__global__ void collect_kernel(int64_t count, const int64_t *at, int width, const char *points, uint32_t *out)
{
    for (int64_t i = first_index(); i < count * width; i += index_stride())
        out[i] = reinterpret_cast<const uint32_t *>(points + at[i / width])[i % width];
}

/* ---- points and values ---- */

struct scaling {
    double from[3], by[3];
};

__global__ void rescale_kernel(int ndim, int64_t numbers, bool is_double, const void *points,
                               const __grid_constant__ scaling s, double *to)
{
    for (int64_t i = first_index(); i < numbers; i += index_stride()) {
        const int d = (int)(i % ndim);
        to[i] = (coordinate(is_double, points, i) - s.from[d]) * s.by[d];
    }
}

template <typename T> __global__ void phases_kernel(const __grid_constant__ lmr_nufft_phases w, int64_t m,
                                                    bool is_double, const void *points, cx<T> *out)
{
    for (int64_t j = first_index(); j < m; j += index_stride()) {
        double x[3] = {}, cycles, sine, cosine;
        for (int d = 0; d < 3; d++)
            if (d < w.ndim) x[d] = coordinate(is_double, points, j * w.ndim + d);
        const double size = lmr_phases_at(&w, x, &cycles);
        sincospi(2 * cycles, &sine, &cosine);
        out[j] = {(T)(size * cosine), (T)(size * sine)};
    }
}

/* One factor for all transforms of a point. */
template <typename T>
__global__ void modulate_kernel(int64_t m, int64_t batch, const cx<T> *d, T flip, const cx<T> *x, cx<T> *y)
{
    for (int64_t j = first_index(); j < m; j += index_stride()) {
        const cx<T> f = {d[j].re, flip * d[j].im};
        for (int64_t i = j; i < m * batch; i += m) {
            const cx<T> v = x[i];
            y[i] = {f.re * v.re - f.im * v.im, f.re * v.im + f.im * v.re};
        }
    }
}

} // namespace

void lmr_cuda_methods(const void *sorted, lmr_nufft_method *spread, lmr_nufft_method *interp)
{
    const auto *p = static_cast<const lmr_cuda_points *>(sorted);
    *spread = (lmr_nufft_method)p->spread;
    *interp = (lmr_nufft_method)p->interp;
}

larmor_status lmr_cuda_extent(void *ctx, int ndim, int64_t m, int is_double, const void *points, double low[3],
                              double high[3], int64_t *bad)
{
    LMR_CUDA_ENTER(c, ctx);
    *bad = -1;
    for (int d = 0; d < ndim; d++) low[d] = high[d] = 0;
    if (m == 0) return LARMOR_OK;
    const int parts = (int)std::min<int64_t>(blocks(m, THREADS), PARTS);
    lmr_cuda_scratch<span> part;
    span all;
    LMR_TRY(part.allocate(c, parts));
    extent_kernel<<<parts, THREADS, 0, c->stream>>>(ndim, m, is_double != 0, points, part.get());
    CUDA_TRY(cudaGetLastError());
    join_kernel<<<1, THREADS, 0, c->stream>>>(parts, part.get());
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(&all, part.get(), sizeof all, cudaMemcpyDeviceToHost, c->stream));
    CUDA_TRY(cudaStreamSynchronize(c->stream));
    for (int d = 0; d < ndim; d++) {
        low[d] = all.low[d];
        high[d] = all.high[d];
    }
    if (all.bad < m) *bad = all.bad;
    return LARMOR_OK;
}

larmor_status lmr_cuda_collect(void *ctx, int64_t count, const int64_t *at, int width, const void *points, void *out)
{
    LMR_CUDA_ENTER(c, ctx);
    if (count == 0) return LARMOR_OK;
    lmr_cuda_scratch<int64_t> places;
    lmr_cuda_scratch<uint32_t> found;
    LMR_TRY(places.allocate(c, count));
    LMR_TRY(found.allocate(c, count * width));
    CUDA_TRY(cudaMemcpyAsync(places.get(), at, (size_t)count * sizeof *at, cudaMemcpyHostToDevice, c->stream));
    collect_kernel<<<blocks(count * width), THREADS, 0, c->stream>>>(count, places.get(), width,
                                                                     static_cast<const char *>(points), found.get());
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(out, found.get(), (size_t)(count * width) * sizeof(uint32_t), cudaMemcpyDeviceToHost,
                             c->stream));
    return CUDA_STATUS(cudaStreamSynchronize(c->stream));
}

larmor_status lmr_cuda_rescale(void *ctx, int ndim, int64_t m, int is_double, const void *points,
                               const double from[3], const double scale[3], double *to)
{
    LMR_CUDA_ENTER(c, ctx);
    if (m == 0) return LARMOR_OK;
    scaling s = {};
    for (int d = 0; d < ndim; d++) {
        s.from[d] = from[d];
        s.by[d] = scale[d];
    }
    rescale_kernel<<<blocks(m * ndim, THREADS), THREADS, 0, c->stream>>>(ndim, m * ndim, is_double != 0, points, s,
                                                                         to);
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> larmor_status lmr_cuda_phases(void *ctx, const lmr_nufft_phases *w, int64_t m, int is_double,
                                                    const void *points, void *out)
{
    LMR_CUDA_ENTER(c, ctx);
    if (m == 0) return LARMOR_OK;
    phases_kernel<T>
        <<<blocks(m, THREADS), THREADS, 0, c->stream>>>(*w, m, is_double != 0, points, static_cast<cx<T> *>(out));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T>
larmor_status lmr_cuda_modulate(void *ctx, int64_t m, int64_t batch, const void *d, int conj, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    if (m == 0 || batch == 0) return LARMOR_OK;
    modulate_kernel<T>
        <<<blocks(m, THREADS), THREADS, 0, c->stream>>>(m, batch, static_cast<const cx<T> *>(d), conj ? (T)-1 : (T)1,
                                                        static_cast<const cx<T> *>(x), static_cast<cx<T> *>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template larmor_status lmr_cuda_phases<float>(void *, const lmr_nufft_phases *, int64_t, int, const void *, void *);
template larmor_status lmr_cuda_phases<double>(void *, const lmr_nufft_phases *, int64_t, int, const void *, void *);
template larmor_status lmr_cuda_modulate<float>(void *, int64_t, int64_t, const void *, int, const void *, void *);
template larmor_status lmr_cuda_modulate<double>(void *, int64_t, int64_t, const void *, int, const void *, void *);
