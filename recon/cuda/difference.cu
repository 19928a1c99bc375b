/* Differences along several axes at once on the GPU: one thread per voxel, which reads its neighbours from the cache.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/cuda/sparse.cuh"

namespace
{

/* Where voxel i lies on axis a: how far from both ends. */
struct place {
    int64_t before, after;
    __device__ place(const lmr_axes &axes, int a, int64_t i)
        : before(i / axes.step[a] % axes.length[a]), after(axes.length[a] - 1 - before)
    {
    }
};

/* The steps from a voxel to those before and behind it; 0 where there is none. */
__device__ int64_t step_before(const lmr_axes &axes, int a, place at)
{
    if (at.before) return -axes.step[a];
    return axes.cyclic[a] ? axes.step[a] * at.after : 0;
}

__device__ int64_t step_behind(const lmr_axes &axes, int a, place at)
{
    if (at.after) return axes.step[a];
    return axes.cyclic[a] ? -axes.step[a] * at.before : 0;
}

/* sum <- sum + w x */
template <typename T> __device__ void add(cx<T> &sum, T w, cx<T> x)
{
    sum.re += w * x.re;
    sum.im += w * x.im;
}

/* sum <- sum + w (x[step] - x[0]) */
template <typename T> __device__ void add_difference(cx<T> &sum, T w, int64_t step, const cx<T> *x)
{
    sum.re += w * (x[step].re - x->re);
    sum.im += w * (x[step].im - x->im);
}

/* ---- the gradient ---- */

template <typename T> __global__ void gradient_kernel(int64_t n, lmr_axes axes, const cx<T> *x, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride())
        for (int a = 0; a < axes.count; a++) {
            cx<T> sum = {0, 0};
            const int64_t behind = step_behind(axes, a, place(axes, a, i));
            if (behind) add_difference(sum, (T)axes.weight[a], behind, x + i);
            y[i + n * a] = sum;
        }
}

template <typename T> __global__ void gradient_adjoint_kernel(int64_t n, lmr_axes axes, const cx<T> *x, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        cx<T> sum = {0, 0};
        for (int a = 0; a < axes.count; a++) {
            const place at(axes, a, i);
            const T w = (T)axes.weight[a];
            const int64_t before = step_before(axes, a, at);
            if (before) add(sum, w, x[i + before + n * a]);
            if (step_behind(axes, a, at)) add(sum, -w, x[i + n * a]);
        }
        y[i] = sum;
    }
}

template <typename T> __global__ void gradient_normal_kernel(int64_t n, lmr_axes axes, const cx<T> *x, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        cx<T> sum = {0, 0};
        for (int a = 0; a < axes.count; a++) {
            const place at(axes, a, i);
            const T w = (T)(axes.weight[a] * axes.weight[a]);
            const int64_t before = step_before(axes, a, at), behind = step_behind(axes, a, at);
            if (before) add_difference(sum, -w, before, x + i);
            if (behind) add_difference(sum, -w, behind, x + i);
        }
        y[i] = sum;
    }
}

/* ---- the symmetrised gradient ---- */

constexpr double HALF_ROOT = 0.70710678118654752;

template <typename T> __global__ void symmetrised_kernel(int64_t n, lmr_axes axes, const cx<T> *x, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        cx<T> *to = y + i;
        for (int b = 0; b < axes.count; b++)
            for (int a = 0; a <= b; a++, to += n) {
                const place at(axes, a, i), bt(axes, b, i);
                const cx<T> *xa = x + i + n * a, *xb = x + i + n * b;
                cx<T> sum = {0, 0};
                if (a == b) {
                    if (at.before && at.after)
                        add_difference(sum, (T)axes.weight[a], axes.step[a], xa - axes.step[a]);
                } else if (at.after && bt.after) {
                    add_difference(sum, (T)(HALF_ROOT * axes.weight[b]), axes.step[b], xa);
                    add_difference(sum, (T)(HALF_ROOT * axes.weight[a]), axes.step[a], xb);
                }
                *to = sum;
            }
    }
}

template <typename T> __global__ void symmetrised_adjoint_kernel(int64_t n, lmr_axes axes, const cx<T> *x, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride())
        for (int a = 0; a < axes.count; a++) {
            const place at(axes, a, i);
            cx<T> sum = {0, 0};
            for (int b = 0; b < axes.count; b++) {
                const int low = a < b ? a : b;
                const int high = a < b ? b : a;
                const cx<T> *from = x + i + n * (low + high * (high + 1) / 2);
                const int64_t step = axes.step[b];
                const T w = (T)axes.weight[b], half = (T)(HALF_ROOT * axes.weight[b]);
                const place bt(axes, b, i);
                if (a == b) {
                    if (at.before && at.after) add(sum, w, *from);
                    if (at.after > 1) add(sum, -w, from[step]);
                } else if (at.after) {
                    if (bt.before) add(sum, half, from[-step]);
                    if (bt.after) add(sum, -half, *from);
                }
            }
            y[i + n * a] = sum;
        }
}

} // namespace

template <typename T> larmor_status lmr_cuda_sparse_gradient(void *ctx, int64_t n, int64_t row, const lmr_axes *axes,
                                                             int adjoint, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    (void)row;
    if (adjoint)
        gradient_adjoint_kernel<<<blocks(n), THREADS, 0, c->stream>>>(n, *axes, in<T>(x), out<T>(y));
    else
        gradient_kernel<<<blocks(n), THREADS, 0, c->stream>>>(n, *axes, in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> larmor_status lmr_cuda_sparse_gradient_normal(void *ctx, int64_t n, int64_t row,
                                                                    const lmr_axes *axes, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    (void)row;
    gradient_normal_kernel<<<blocks(n), THREADS, 0, c->stream>>>(n, *axes, in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> larmor_status lmr_cuda_sparse_symmetrised(void *ctx, int64_t n, int64_t row,
                                                                const lmr_axes *axes, int adjoint, const void *x,
                                                                void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    (void)row;
    if (adjoint)
        symmetrised_adjoint_kernel<<<blocks(n), THREADS, 0, c->stream>>>(n, *axes, in<T>(x), out<T>(y));
    else
        symmetrised_kernel<<<blocks(n), THREADS, 0, c->stream>>>(n, *axes, in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

#define INSTANTIATE(T)                                                                                               \
    template larmor_status lmr_cuda_sparse_gradient<T>(void *, int64_t, int64_t, const lmr_axes *, int,              \
                                                       const void *, void *);                                        \
    template larmor_status lmr_cuda_sparse_gradient_normal<T>(void *, int64_t, int64_t, const lmr_axes *,            \
                                                              const void *, void *);                                 \
    template larmor_status lmr_cuda_sparse_symmetrised<T>(void *, int64_t, int64_t, const lmr_axes *, int,           \
                                                          const void *, void *);
INSTANTIATE(float)
INSTANTIATE(double)
