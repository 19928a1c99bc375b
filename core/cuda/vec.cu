/* Vector operations on the GPU: each reads its inputs once and writes its output once. Indices are 64-bit and grids
 * stride, so that no length is too large. SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>

#include "core/cuda/block_sum.cuh"
#include "core/cuda/tables.cuh"
#include "core/random.h"

namespace
{

template <typename T> __device__ cx<T> times(cx<T> a, cx<T> b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <typename T> __device__ cx<T> conjugate(cx<T> a)
{
    return {a.re, -a.im};
}

/* ---- y <- a x + b y ---- */

template <typename T> __global__ void axpby_kernel(int64_t n, T a, const cx<T> *x, T b, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride())
        y[i] = {a * x[i].re + b * y[i].re, a * x[i].im + b * y[i].im};
}

template <typename T> __global__ void scale_kernel(int64_t n, T a, const cx<T> *x, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) y[i] = {a * x[i].re, a * x[i].im};
}

template <typename T> larmor_status axpby(void *ctx, int64_t n, double a, const void *x, double b, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    if (b == 0)
        scale_kernel<T><<<blocks(n), THREADS, 0, c->stream>>>(n, (T)a, in<T>(x), out<T>(y));
    else
        axpby_kernel<T><<<blocks(n), THREADS, 0, c->stream>>>(n, (T)a, in<T>(x), (T)b, out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T>
__global__ void axpby_complex_kernel(int64_t n, cx<T> a, const cx<T> *x, bool add, cx<T> b, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        const cx<T> zero = {0, 0};
        const cx<T> ax = times(a, x[i]);
        const cx<T> by = add ? times(b, y[i]) : zero;
        y[i] = {ax.re + by.re, ax.im + by.im};
    }
}

template <typename T>
larmor_status axpby_complex(void *ctx, int64_t n, const double a[2], const void *x, const double b[2], void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    const cx<T> ca = {(T)a[0], (T)a[1]}, cb = {(T)b[0], (T)b[1]};
    axpby_complex_kernel<T>
        <<<blocks(n), THREADS, 0, c->stream>>>(n, ca, in<T>(x), b[0] != 0 || b[1] != 0, cb, out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

/* ---- y <- sum of factor x ---- */

template <typename T> struct terms {
    T factor[LARMOR_MAX_SUM];
    const cx<T> *x[LARMOR_MAX_SUM];
};

template <typename T, int COUNT> __global__ void sum_kernel(int64_t n, const __grid_constant__ terms<T> t, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        cx<T> sum = {0, 0};
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            const cx<T> v = t.x[k][i];
            sum.re += t.factor[k] * v.re;
            sum.im += t.factor[k] * v.im;
        }
        y[i] = sum;
    }
}

template <typename T>
larmor_status sum(void *ctx, int64_t n, int count, const double *factor, const void *const *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    static constexpr decltype(&sum_kernel<T, 1>) kernel[LARMOR_MAX_SUM] = {sum_kernel<T, 1>, sum_kernel<T, 2>,
                                                                           sum_kernel<T, 3>, sum_kernel<T, 4>};
    terms<T> t = {};
    for (int k = 0; k < count; k++) {
        t.factor[k] = (T)factor[k];
        t.x[k] = in<T>(x[k]);
    }
    kernel[count - 1]<<<blocks(n), THREADS, 0, c->stream>>>(n, t, out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

/* ---- products ---- */

/* Few rows are a dimension of the grid, so that many small ones are one launch. */
template <typename T>
__global__ void mul_kernel(int64_t n, int64_t rows, const cx<T> *d, const cx<T> *x, bool conj, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        const cx<T> factor = conj ? conjugate(d[i]) : d[i];
        for (int64_t r = blockIdx.y; r < rows; r += gridDim.y) y[i + r * n] = times(factor, x[i + r * n]);
    }
}

template <typename T>
larmor_status mul(void *ctx, int64_t n, int64_t rows, const void *d, const void *x, int conj, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    const dim3 grid(blocks(n), (unsigned)std::max<int64_t>(1, std::min<int64_t>(rows, 64)));
    mul_kernel<T><<<grid, THREADS, 0, c->stream>>>(n, rows, in<T>(d), in<T>(x), conj != 0, out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

/* A thread takes one voxel through some of the channels; x is read again only from the cache. */
template <typename T> __global__ void expand_kernel(int64_t n, int64_t nc, const cx<T> *d, const cx<T> *x, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        const cx<T> v = x[i];
        for (int64_t k = blockIdx.y; k < nc; k += gridDim.y) y[i + k * n] = times(d[i + k * n], v);
    }
}

template <typename T> larmor_status expand(void *ctx, int64_t n, int64_t nc, const void *d, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    const dim3 grid(blocks(n), (unsigned)std::max<int64_t>(1, std::min<int64_t>(nc / 4, 64)));
    expand_kernel<T><<<grid, THREADS, 0, c->stream>>>(n, nc, in<T>(d), in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

/* One thread per voxel adds the channels in order; unrolled so that several loads are under way at once. */
template <typename T> __global__ void combine_kernel(int64_t n, int64_t nc, const cx<T> *d, const cx<T> *y, cx<T> *x)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        cx<T> sum = {0, 0};
#pragma unroll 8
        for (int64_t k = 0; k < nc; k++) {
            const cx<T> v = times(conjugate(d[i + k * n]), y[i + k * n]);
            sum.re += v.re;
            sum.im += v.im;
        }
        x[i] = sum;
    }
}

template <typename T> larmor_status combine(void *ctx, int64_t n, int64_t nc, const void *d, const void *y, void *x)
{
    LMR_CUDA_ENTER(c, ctx);
    combine_kernel<T><<<blocks(n), THREADS, 0, c->stream>>>(n, nc, in<T>(d), in<T>(y), out<T>(x));
    return CUDA_STATUS(cudaGetLastError());
}

/* ---- sum of conj(x) y ---- */

/* *answer <- the sum, in the host's memory, so that nothing is left to be copied. */
__device__ inline void answer_sum(cx<double> sum, cx<double> *partials, unsigned *arrived, cx<double> *answer)
{
    sum = block_sum(sum);
    if (!threadIdx.x) partials[blockIdx.x] = sum;
    if (!is_last_block(arrived)) return;
    sum = sum_of_blocks(partials);
    if (!threadIdx.x) *answer = sum;
}

template <typename T> __device__ void add_product(cx<T> x, cx<T> y, cx<double> &sum)
{
    const cx<double> a = {x.re, x.im}, b = {y.re, y.im};
    sum.re += a.re * b.re + a.im * b.im;
    sum.im += a.re * b.im - a.im * b.re;
}

template <typename T> __global__ void dot_kernel(int64_t n, const cx<T> *x, const cx<T> *y, cx<double> *partials,
                                                 unsigned *arrived, cx<double> *answer)
{
    cx<double> sum = {0, 0};
#pragma unroll 4
    for (int64_t i = first_index(); i < n; i += index_stride()) add_product(x[i], y[i], sum);
    answer_sum(sum, partials, arrived, answer);
}

/* y <- a x + y before it. */
template <typename T> __global__ void add_dot_kernel(int64_t n, T a, const cx<T> *x, cx<T> *y, cx<double> *partials,
                                                     unsigned *arrived, cx<double> *answer)
{
    cx<double> sum = {0, 0};
#pragma unroll 4
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        const cx<T> u = x[i], v = {a * u.re + y[i].re, a * u.im + y[i].im};
        y[i] = v;
        add_product(u, v, sum);
    }
    answer_sum(sum, partials, arrived, answer);
}

/* Blocks of a reduction with room for so many partial sums: they depend on n alone, so that the same numbers give the
 * same bits on every run. */
unsigned reduction_blocks(int64_t n, unsigned most)
{
    return std::min(blocks(n, 4 * THREADS), most);
}

/* What a reduction has written, `count` numbers. */
larmor_status take_answer(const lmr_cuda *c, int count, double *result)
{
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaStreamSynchronize(c->stream));
    std::copy(c->answer, c->answer + count, result);
    return LARMOR_OK;
}

template <typename T> larmor_status dot(void *ctx, int64_t n, const void *x, const void *y, double result[2])
{
    LMR_CUDA_ENTER(c, ctx);
    auto *partials = reinterpret_cast<cx<double> *>(c->partials), *answer = reinterpret_cast<cx<double> *>(c->answer);
    dot_kernel<T><<<reduction_blocks(n, LMR_CUDA_PARTIALS), THREADS, 0, c->stream>>>(n, in<T>(x), in<T>(y), partials,
                                                                                     c->arrived, answer);
    return take_answer(c, 2, result);
}

template <typename T>
larmor_status add_dot(void *ctx, int64_t n, double a, const void *x, void *y, double result[2])
{
    LMR_CUDA_ENTER(c, ctx);
    auto *partials = reinterpret_cast<cx<double> *>(c->partials), *answer = reinterpret_cast<cx<double> *>(c->answer);
    add_dot_kernel<T><<<reduction_blocks(n, LMR_CUDA_PARTIALS), THREADS, 0, c->stream>>>(
        n, (T)a, in<T>(x), out<T>(y), partials, c->arrived, answer);
    return take_answer(c, 2, result);
}

/* Two complex sums over the grid, of which a block has `half` partial ones each. */
__device__ inline void answer_two_sums(cx<double> one, cx<double> other, cx<double> *partials, unsigned half,
                                       unsigned *arrived, cx<double> *answer)
{
    one = block_sum(one);
    __syncthreads(); /* its scratch is used again */
    other = block_sum(other);
    if (!threadIdx.x) {
        partials[blockIdx.x] = one;
        partials[half + blockIdx.x] = other;
    }
    if (!is_last_block(arrived)) return;
    one = sum_of_blocks(partials);
    __syncthreads();
    other = sum_of_blocks(partials + half);
    if (threadIdx.x) return;
    answer[0] = one;
    answer[1] = other;
}

/* The squares of x and y as the two parts of one number, those of what is between them as another. */
template <typename T> __global__ void distance_kernel(int64_t n, const cx<T> *x, const cx<T> *y, cx<double> *partials,
                                                      unsigned half, unsigned *arrived, cx<double> *answer)
{
    cx<double> sum = {0, 0}, between = {0, 0};
#pragma unroll 4
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        const cx<double> a = {x[i].re, x[i].im}, b = {y[i].re, y[i].im};
        sum.re += a.re * a.re + a.im * a.im;
        sum.im += b.re * b.re + b.im * b.im;
        between.re += (a.re - b.re) * (a.re - b.re) + (a.im - b.im) * (a.im - b.im);
    }
    answer_two_sums(sum, between, partials, half, arrived, answer);
}

enum { HALF = LMR_CUDA_PARTIALS / 2 };

template <typename T> larmor_status distance(void *ctx, int64_t n, const void *x, const void *y, double result[3])
{
    LMR_CUDA_ENTER(c, ctx);
    auto *partials = reinterpret_cast<cx<double> *>(c->partials), *answer = reinterpret_cast<cx<double> *>(c->answer);
    distance_kernel<T><<<reduction_blocks(n, HALF), THREADS, 0, c->stream>>>(n, in<T>(x), in<T>(y), partials, HALF,
                                                                             c->arrived, answer);
    return take_answer(c, 3, result);
}

/* The squares of x and r as the two parts of one number, those of p as another. */
template <typename T>
__global__ void advance_kernel(int64_t n, T a, const cx<T> *p, const cx<T> *q, cx<T> *x, cx<T> *r, cx<T> *before,
                               cx<double> *partials, unsigned half, unsigned *arrived, cx<double> *answer)
{
    cx<double> sum = {0, 0}, way = {0, 0};
#pragma unroll 2
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        const cx<T> was = x[i], along = p[i];
        const cx<T> u = {was.re + a * along.re, was.im + a * along.im};
        const cx<T> v = {r[i].re - a * q[i].re, r[i].im - a * q[i].im};
        if (before) before[i] = was;
        x[i] = u;
        r[i] = v;
        sum.re += double(u.re) * u.re + double(u.im) * u.im;
        sum.im += double(v.re) * v.re + double(v.im) * v.im;
        way.re += double(along.re) * along.re + double(along.im) * along.im;
    }
    answer_two_sums(sum, way, partials, half, arrived, answer);
}

template <typename T>
larmor_status advance(void *ctx, int64_t n, double a, const void *p, const void *q, void *x, void *r, void *before,
                      double result[3])
{
    LMR_CUDA_ENTER(c, ctx);
    auto *partials = reinterpret_cast<cx<double> *>(c->partials), *answer = reinterpret_cast<cx<double> *>(c->answer);
    advance_kernel<T><<<reduction_blocks(n, HALF), THREADS, 0, c->stream>>>(
        n, (T)a, in<T>(p), in<T>(q), out<T>(x), out<T>(r), out<T>(before), partials, HALF, c->arrived, answer);
    return take_answer(c, 3, result);
}

/* ---- number by number ---- */

template <typename T> struct absolute {
    __device__ cx<T> operator()(cx<T> v) const
    {
        return {(T)hypot(double(v.re), double(v.im)), 0};
    }
};
template <typename T> struct first_part {
    __device__ cx<T> operator()(cx<T> v) const
    {
        return {v.re, 0};
    }
};

template <typename T, typename F> __global__ void each_kernel(int64_t n, F f, const cx<T> *x, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) y[i] = f(x[i]);
}

template <typename T, typename F> larmor_status each(void *ctx, int64_t n, F f, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    each_kernel<T><<<blocks(n), THREADS, 0, c->stream>>>(n, f, in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> larmor_status magnitude(void *ctx, int64_t n, const void *x, void *y)
{
    return each<T>(ctx, n, absolute<T>{}, x, y);
}

template <typename T> larmor_status real_part(void *ctx, int64_t n, const void *x, void *y)
{
    return each<T>(ctx, n, first_part<T>{}, x, y);
}

/* ---- random numbers ---- */

template <typename T> __global__ void random_kernel(int64_t n, uint64_t seed, T *x)
{
    for (int64_t i = first_index(); i < n; i += index_stride())
        x[i] = (T)(2 * lmr_random_uniform(seed, (uint64_t)i) - 1);
}

template <typename T> larmor_status random_vector(void *ctx, int64_t n, uint64_t seed, void *x)
{
    LMR_CUDA_ENTER(c, ctx);
    random_kernel<<<blocks(2 * n), THREADS, 0, c->stream>>>(2 * n, seed, static_cast<T *>(x));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> constexpr lmr_vec table = {
    axpby<T>,    axpby_complex<T>, sum<T>,     mul<T>,       expand<T>,    combine<T>,      dot<T>,
    distance<T>, add_dot<T>,       advance<T>, magnitude<T>, real_part<T>, random_vector<T>};

} // namespace

const lmr_vec lmr_cuda_vec_f32 = table<float>, lmr_cuda_vec_f64 = table<double>;
