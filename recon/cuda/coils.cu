/* Products, covariances and dominant vectors of coils on the GPU. SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>

#include "recon/cuda/recon.cuh"

namespace
{

/* ---- covariance of noise: one block per pair of coils ---- */

/* Threads stride over the samples and add their sums by halves: always the same order. */
template <typename T> __global__ void covariance_kernel(int64_t m, int64_t coils, const cx<T> *x, cx<double> *cov)
{
    __shared__ cx<double> part[THREADS];
    for (int64_t pair = blockIdx.x; pair < coils * coils; pair += gridDim.x) {
        const cx<T> *a = x + pair % coils * m, *b = x + pair / coils * m;
        cx<double> sum = {0, 0};
        for (int64_t t = threadIdx.x; t < m; t += THREADS) {
            const double ar = a[t].re, ai = a[t].im, br = b[t].re, bi = b[t].im;
            sum.re += ar * br + ai * bi;
            sum.im += ai * br - ar * bi;
        }
        part[threadIdx.x] = sum;
        for (int half = THREADS / 2; half; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half) {
                part[threadIdx.x].re += part[threadIdx.x + half].re;
                part[threadIdx.x].im += part[threadIdx.x + half].im;
            }
        }
        if (!threadIdx.x) cov[pair] = part[0];
        __syncthreads(); /* part is written again for the next pair */
    }
}

/* ---- Walsh: one thread per number that is written ---- */

template <typename T>
__global__ void products_kernel(int64_t n, int64_t first, int64_t count, const cx<T> *x, cx<T> *y)
{
    for (int64_t at = first_index(); at < n * count; at += index_stride()) {
        int64_t i, j;
        lmr_pair(first + at / n, &i, &j);
        const cx<T> a = x[at % n + n * i], b = x[at % n + n * j];
        y[at] = {a.re * b.re + a.im * b.im, a.im * b.re - a.re * b.im};
    }
}

template <typename T> __global__ void filter_kernel(three<int64_t> dim, int64_t n, int64_t count, const double *taps,
                                                    int64_t step, int64_t stride, int64_t shift, const cx<T> *x,
                                                    cx<T> *y)
{
    const int64_t inner = dim.v[0], length = dim.v[1], total = inner * n * dim.v[2];
    for (int64_t at = first_index(); at < total; at += index_stride()) {
        const int64_t row = at / inner, i = row % n, o = row / n;
        cx<T> sum = {0, 0};
        for (int64_t t = 0; t < count; t++) {
            const int64_t from = stride * i + shift + (t - count / 2) * step;
            if (from < 0 || from >= length) continue;
            const cx<T> v = x[at % inner + inner * (from + length * o)];
            sum.re += (T)taps[t] * v.re;
            sum.im += (T)taps[t] * v.im;
        }
        y[at] = sum;
    }
}

template <typename T> __global__ void scatter_kernel(int64_t pixels, int64_t coils, int64_t first, int64_t count,
                                                     const cx<T> *sums, cx<T> *cov)
{
    for (int64_t at = first_index(); at < pixels * count; at += index_stride()) {
        int64_t i, j;
        lmr_pair(first + at / pixels, &i, &j);
        cov[i + coils * (j + coils * (at % pixels))] = sums[at];
    }
}

/* The sum over all pixels: one block per pair. */
template <typename T> __global__ void total_kernel(int64_t pixels, int64_t coils, int64_t first, int64_t count,
                                                   const cx<T> *sums, cx<T> *cov)
{
    __shared__ cx<T> part[THREADS];
    for (int64_t pair = blockIdx.x; pair < count; pair += gridDim.x) {
        cx<T> sum = {0, 0};
        for (int64_t p = threadIdx.x; p < pixels; p += THREADS) {
            const cx<T> v = sums[p + pixels * pair];
            sum.re += v.re;
            sum.im += v.im;
        }
        part[threadIdx.x] = sum;
        for (int half = THREADS / 2; half; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half) {
                part[threadIdx.x].re += part[threadIdx.x + half].re;
                part[threadIdx.x].im += part[threadIdx.x + half].im;
            }
        }
        if (!threadIdx.x) {
            int64_t i, j;
            lmr_pair(first + pair, &i, &j);
            cov[i + coils * (j + coils * pixels)] = part[0];
        }
        __syncthreads(); /* part is written again for the next pair */
    }
}

template <typename T> __global__ void align_kernel(int64_t pixels, int64_t coils, const cx<T> *vectors, cx<T> *maps)
{
    const cx<T> *reference = vectors + coils * coils * (pixels + 1) - coils;
    for (int64_t p = first_index(); p < pixels; p += index_stride()) {
        const cx<T> *v = vectors + coils * coils * (p + 1) - coils;
        double re = 0, im = 0; /* reference^H v */
        for (int64_t c = 0; c < coils; c++) {
            const double ar = reference[c].re, ai = reference[c].im, br = v[c].re, bi = v[c].im;
            re += ar * br + ai * bi;
            im += ar * bi - ai * br;
        }
        const double size = hypot(re, im);
        const T tr = size > 0 ? (T)(re / size) : (T)1;
        const T ti = size > 0 ? (T)(-im / size) : (T)0;
        for (int64_t c = 0; c < coils; c++)
            maps[p + pixels * c] = {tr * v[c].re - ti * v[c].im, tr * v[c].im + ti * v[c].re};
    }
}

unsigned one_each(int64_t count)
{
    return (unsigned)std::clamp<int64_t>(count, 1, 65535);
}

} // namespace

template <typename T>
larmor_status lmr_cuda_recon_covariance(void *ctx, int64_t m, int64_t coils, const void *x, void *cov)
{
    LMR_CUDA_ENTER(c, ctx);
    covariance_kernel<<<one_each(coils * coils), THREADS, 0, c->stream>>>(m, coils, in<T>(x), out<double>(cov));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T>
larmor_status lmr_cuda_recon_products(void *ctx, int64_t n, int64_t first, int64_t count, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    products_kernel<<<blocks(n * count), THREADS, 0, c->stream>>>(n, first, count, in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> larmor_status lmr_cuda_recon_filter(void *ctx, const int64_t dim[3], int64_t n, int64_t count,
                                                          const double *taps, int64_t step, int64_t stride,
                                                          int64_t shift, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    filter_kernel<<<blocks(dim[0] * n * dim[2]), THREADS, 0, c->stream>>>({{dim[0], dim[1], dim[2]}}, n, count, taps,
                                                                          step, stride, shift, in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> larmor_status lmr_cuda_recon_scatter(void *ctx, int64_t pixels, int64_t coils, int64_t first,
                                                           int64_t count, const void *sums, void *cov)
{
    LMR_CUDA_ENTER(c, ctx);
    scatter_kernel<<<blocks(pixels * count), THREADS, 0, c->stream>>>(pixels, coils, first, count, in<T>(sums),
                                                                      out<T>(cov));
    CUDA_TRY(cudaGetLastError());
    total_kernel<<<one_each(count), THREADS, 0, c->stream>>>(pixels, coils, first, count, in<T>(sums), out<T>(cov));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T>
larmor_status lmr_cuda_recon_align(void *ctx, int64_t pixels, int64_t coils, const void *vectors, void *maps)
{
    LMR_CUDA_ENTER(c, ctx);
    align_kernel<<<blocks(pixels), THREADS, 0, c->stream>>>(pixels, coils, in<T>(vectors), out<T>(maps));
    return CUDA_STATUS(cudaGetLastError());
}

#define INSTANCES(T)                                                                                                 \
    template larmor_status lmr_cuda_recon_covariance<T>(void *, int64_t, int64_t, const void *, void *);             \
    template larmor_status lmr_cuda_recon_products<T>(void *, int64_t, int64_t, int64_t, const void *, void *);      \
    template larmor_status lmr_cuda_recon_filter<T>(void *, const int64_t[3], int64_t, int64_t, const double *,      \
                                                    int64_t, int64_t, int64_t, const void *, void *);                \
    template larmor_status lmr_cuda_recon_scatter<T>(void *, int64_t, int64_t, int64_t, int64_t, const void *,       \
                                                     void *);                                                        \
    template larmor_status lmr_cuda_recon_align<T>(void *, int64_t, int64_t, const void *, void *);
INSTANCES(float)
INSTANCES(double)
