/* Sparsity on the GPU: groups, products and moves, and this topic's table for CUDA. SPDX-License-Identifier:
 * Apache-2.0 */
#include "core/cuda/block_sum.cuh"
#include "recon/cuda/sparse.cuh"

namespace
{

/* ---- groups: one thread per group; its second pass reads from the cache ---- */

/* In double: just above t a factor is a small difference. */
template <typename T> __device__ double norm(int64_t n, int64_t groups, const cx<T> *x)
{
    double sum = 0;
    for (int64_t g = 0; g < groups; g++) {
        const double re = x[n * g].re, im = x[n * g].im;
        sum += re * re + im * im;
    }
    return sqrt(sum);
}

template <typename T> __device__ void scale_group(int64_t n, int64_t groups, T factor, const cx<T> *x, cx<T> *y)
{
    for (int64_t g = 0; g < groups; g++) y[n * g] = {factor * x[n * g].re, factor * x[n * g].im};
}

template <typename T>
__global__ void shrink_groups_kernel(int64_t n, int64_t groups, double t, const cx<T> *x, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        const double size = norm(n, groups, x + i);
        scale_group<T>(n, groups, size <= t ? T(0) : T(1 - t / size), x + i, y + i); /* NaN stays NaN */
    }
}

template <typename T>
larmor_status shrink_groups(void *ctx, int64_t n, int64_t groups, double t, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    shrink_groups_kernel<<<blocks(n), THREADS, 0, c->stream>>>(n, groups, t, in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> __global__ void sum_norms_kernel(int64_t n, int64_t groups, const cx<T> *x, double *partials,
                                                       unsigned *arrived, double *answer)
{
    double sum = 0;
    for (int64_t i = first_index(); i < n; i += index_stride()) sum += norm(n, groups, x + i);
    sum = block_sum(sum);
    if (!threadIdx.x) partials[blockIdx.x] = sum;
    if (!is_last_block(arrived)) return;
    sum = sum_of_blocks(partials);
    if (!threadIdx.x) *answer = sum;
}

/* The grid depends on n alone, so the same numbers give the same bits on every run. */
template <typename T> larmor_status sum_norms(void *ctx, int64_t n, int64_t groups, const void *x, double *result)
{
    LMR_CUDA_ENTER(c, ctx);
    const unsigned most = LMR_CUDA_PARTIALS;
    const unsigned needed = blocks(n, THREADS);
    const unsigned grid = needed < most ? needed : most;
    sum_norms_kernel<<<grid, THREADS, 0, c->stream>>>(n, groups, in<T>(x), c->partials, c->arrived, c->answer);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaStreamSynchronize(c->stream));
    *result = c->answer[0];
    return LARMOR_OK;
}

/* ---- products and moves ---- */

template <typename T> __global__ void weigh_kernel(int64_t n, int64_t total, const T *w, const cx<T> *x, cx<T> *y)
{
    for (int64_t i = first_index(); i < total; i += index_stride()) {
        const T f = w[i % n];
        y[i] = {f * x[i].re, f * x[i].im};
    }
}

template <typename T> larmor_status weigh(void *ctx, int64_t n, int64_t batch, const void *w, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    weigh_kernel<<<blocks(n * batch), THREADS, 0, c->stream>>>(n, n * batch, static_cast<const T *>(w), in<T>(x),
                                                               out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> __global__ void root_kernel(int64_t n, T *w)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) w[i] = (T)sqrt((double)w[i]);
}

template <typename T> larmor_status root(void *ctx, int64_t n, void *w)
{
    LMR_CUDA_ENTER(c, ctx);
    root_kernel<<<blocks(n), THREADS, 0, c->stream>>>(n, static_cast<T *>(w));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> __device__ cx<T> times(cx<T> a, cx<T> b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <typename T> __global__ void modulate_kernel(three<int64_t> dim, int64_t total, const cx<T> *phases, T sign,
                                                      T scale, const cx<T> *x, cx<T> *y)
{
    for (int64_t at = first_index(); at < total; at += index_stride()) {
        const int64_t row = at / dim.v[0];
        const cx<T> p0 = phases[at % dim.v[0]], p1 = phases[dim.v[0] + row % dim.v[1]];
        const cx<T> p2 = phases[dim.v[0] + dim.v[1] + row / dim.v[1] % dim.v[2]];
        const cx<T> p = times(times(p0, p1), p2), q = {scale * p.re, sign * scale * p.im};
        y[at] = times(q, x[at]);
    }
}

template <typename T> larmor_status modulate(void *ctx, const int64_t dim[3], int64_t batch, const void *phases,
                                             int conj, double scale, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    const int64_t total = dim[0] * dim[1] * dim[2] * batch;
    modulate_kernel<T><<<blocks(total), THREADS, 0, c->stream>>>({{dim[0], dim[1], dim[2]}}, total, in<T>(phases),
                                                                 conj ? T(-1) : T(1), (T)scale, in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

/* By square tiles in shared memory, so that reads and writes both run along memory; one more column keeps the banks
 * apart. */
enum { TILE = 32, TILE_ROWS = 8 };

template <typename T>
__global__ void transpose_kernel(three<int64_t> dim, int64_t across, int64_t tiles, const cx<T> *x, cx<T> *y)
{
    __shared__ cx<T> tile[TILE][TILE + 1];
    const int64_t a = dim.v[0], n = dim.v[1], down = (n + TILE - 1) / TILE;
    for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        const int64_t i0 = t % across * TILE, j0 = t / across % down * TILE, base = t / across / down * a * n;
        for (int r = threadIdx.y; r < TILE; r += TILE_ROWS)
            if (i0 + threadIdx.x < a && j0 + r < n) tile[r][threadIdx.x] = x[base + i0 + threadIdx.x + a * (j0 + r)];
        __syncthreads();
        for (int r = threadIdx.y; r < TILE; r += TILE_ROWS)
            if (j0 + threadIdx.x < n && i0 + r < a) y[base + j0 + threadIdx.x + n * (i0 + r)] = tile[threadIdx.x][r];
        __syncthreads();
    }
}

template <typename T> larmor_status transpose(void *ctx, const int64_t dim[3], const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    const int64_t across = (dim[0] + TILE - 1) / TILE, tiles = across * ((dim[1] + TILE - 1) / TILE) * dim[2];
    transpose_kernel<<<blocks(tiles, 1), dim3(TILE, TILE_ROWS), 0, c->stream>>>({{dim[0], dim[1], dim[2]}}, across,
                                                                                tiles, in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> __global__ void clip_kernel(int64_t n, T low, T high, const cx<T> *x, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        const T re = x[i].re < low ? low : x[i].re; /* NaN stays NaN */
        y[i] = {re > high ? high : re, T(0)};
    }
}

template <typename T> larmor_status clip(void *ctx, int64_t n, double low, double high, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    clip_kernel<T><<<blocks(n), THREADS, 0, c->stream>>>(n, T(low), T(high), in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> constexpr lmr_sparse_kernels kernels = {
    .shrink_groups = shrink_groups<T>,
    .sum_norms = sum_norms<T>,
    .weigh = weigh<T>,
    .clip = clip<T>,
    .root = root<T>,
    .modulate = modulate<T>,
    .transpose = transpose<T>,
    .gradient = lmr_cuda_sparse_gradient<T>,
    .gradient_normal = lmr_cuda_sparse_gradient_normal<T>,
    .symmetrised = lmr_cuda_sparse_symmetrised<T>,
    .analyse = lmr_cuda_sparse_analyse<T>,
    .synthesise = lmr_cuda_sparse_synthesise<T>,
    .copy_box = lmr_cuda_sparse_copy_box<T>,
};

const lmr_cuda_table table("sparse", LMR_SPARSE_ABI, &kernels<float>, &kernels<double>);

} // namespace
