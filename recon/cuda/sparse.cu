/* Sparsity on the GPU: groups, and this topic's table for CUDA. SPDX-License-Identifier: Apache-2.0 */
#include "core/cuda/cuda.cuh"
#include "recon/kernels_sparse.h"

namespace
{

enum { THREADS = 256 };

template <typename T> const cx<T> *in(const void *x)
{
    return static_cast<const cx<T> *>(x);
}
template <typename T> cx<T> *out(void *y)
{
    return static_cast<cx<T> *>(y);
}

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
    CUDA_TRY(cudaGetLastError());
    return LARMOR_OK;
}

template <typename T>
__global__ void project_groups_kernel(int64_t n, int64_t groups, double t, const cx<T> *x, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        const double size = norm(n, groups, x + i);
        scale_group<T>(n, groups, size > t ? T(t / size) : T(1), x + i, y + i);
    }
}

template <typename T>
larmor_status project_groups(void *ctx, int64_t n, int64_t groups, double t, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    project_groups_kernel<<<blocks(n), THREADS, 0, c->stream>>>(n, groups, t, in<T>(x), out<T>(y));
    CUDA_TRY(cudaGetLastError());
    return LARMOR_OK;
}

/* The block's sum in thread 0, by halves: always the same order. */
__device__ double block_sum(double v)
{
    __shared__ double part[THREADS];
    part[threadIdx.x] = v;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    return part[0];
}

template <typename T> __global__ void sum_norms_kernel(int64_t n, int64_t groups, const cx<T> *x, double *partials)
{
    double sum = 0;
    for (int64_t i = first_index(); i < n; i += index_stride()) sum += norm(n, groups, x + i);
    sum = block_sum(sum);
    if (!threadIdx.x) partials[blockIdx.x] = sum;
}

__global__ void add_partials_kernel(int count, double *partials)
{
    double sum = 0;
    for (int i = threadIdx.x; i < count; i += THREADS) sum += partials[i];
    sum = block_sum(sum);
    if (!threadIdx.x) partials[0] = sum; /* all have read: block_sum has waited for them */
}

/* The grid depends on n alone, so the same numbers give the same bits on every run. */
template <typename T> larmor_status sum_norms(void *ctx, int64_t n, int64_t groups, const void *x, double *result)
{
    LMR_CUDA_ENTER(c, ctx);
    const unsigned most = LMR_CUDA_PARTIALS, needed = blocks(n, THREADS), grid = needed < most ? needed : most;
    sum_norms_kernel<<<grid, THREADS, 0, c->stream>>>(n, groups, in<T>(x), c->partials);
    CUDA_TRY(cudaGetLastError());
    add_partials_kernel<<<1, THREADS, 0, c->stream>>>((int)grid, c->partials);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(c->answer, c->partials, sizeof *result, cudaMemcpyDeviceToHost, c->stream));
    CUDA_TRY(cudaStreamSynchronize(c->stream));
    *result = c->answer[0];
    return LARMOR_OK;
}

template <typename T> constexpr lmr_sparse_kernels kernels = {
    .shrink_groups = shrink_groups<T>,
    .project_groups = project_groups<T>,
    .sum_norms = sum_norms<T>,
};

const lmr_cuda_table table("sparse", LMR_SPARSE_ABI, &kernels<float>, &kernels<double>);

} // namespace
