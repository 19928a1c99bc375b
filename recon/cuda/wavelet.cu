/* Orthonormal wavelets along one axis of a box on the GPU: one thread per pair of outputs, neighbours along the first
 * dimension beside each other. SPDX-License-Identifier: Apache-2.0 */
#include "recon/cuda/sparse.cuh"

namespace
{

/* The box, the axis and both filters, as a kernel's argument. */
template <typename T> struct split {
    int ndim, axis, taps;
    int64_t dim[8], extent[8]; /* extent: of the threads, one per pair of outputs along the axis */
    int64_t n, pairs, low, step, shift, threads;
    T h[LMR_MAX_TAPS], g[LMR_MAX_TAPS];
};

template <typename T> split<T> split_of(const lmr_box *box, int axis, const lmr_filter *filter, int64_t shift)
{
    const int64_t n = box->extent[axis];
    split<T> s = {};
    s.ndim = box->ndim;
    s.axis = axis;
    s.taps = filter->taps;
    s.n = n;
    s.pairs = n / 2;
    s.low = n - n / 2;
    s.step = 1;
    s.shift = shift;
    s.threads = 1;
    for (int d = 0; d < box->ndim; d++) {
        s.dim[d] = box->dim[d];
        s.extent[d] = d == axis ? s.low : box->extent[d];
        if (d < axis) s.step *= box->dim[d];
        s.threads *= s.extent[d];
    }
    for (int t = 0; t < filter->taps; t++) {
        const double mirrored = filter->low[filter->taps - 1 - t];
        s.h[t] = (T)filter->low[t];
        s.g[t] = (T)(t % 2 ? -mirrored : mirrored);
    }
    return s;
}

/* Thread i works on pair k of the line that begins at the index returned. */
template <typename T> __device__ int64_t line_of(const split<T> &s, int64_t i, int64_t *k)
{
    int64_t at = 0, step = 1;
    *k = 0;
    for (int d = 0; d < s.ndim; d++) {
        const int64_t place = i % s.extent[d];
        i /= s.extent[d];
        if (d == s.axis)
            *k = place;
        else
            at += step * place;
        step *= s.dim[d];
    }
    return at;
}

__device__ inline int64_t wrap(int64_t i, int64_t n)
{
    while (i < 0) i += n;
    while (i >= n) i -= n;
    return i;
}

/* Where x_j is, counted in steps: j mod m for the filters, then shifted. */
template <typename T> __device__ int64_t shifted(const split<T> &s, int64_t j)
{
    return wrap(wrap(j, 2 * s.pairs) + s.shift, s.n);
}

template <typename T> __device__ void add(cx<T> &sum, T w, cx<T> x)
{
    sum.re += w * x.re;
    sum.im += w * x.im;
}

template <typename T> __global__ void analyse_kernel(split<T> s, const cx<T> *from, cx<T> *to)
{
    for (int64_t i = first_index(); i < s.threads; i += index_stride()) {
        int64_t k;
        const int64_t at = line_of(s, i, &k);
        const cx<T> *x = from + at;
        if (k == s.pairs) { /* of an odd number, the last one */
            to[at + s.step * k] = x[s.step * wrap(s.n - 1 + s.shift, s.n)];
            continue;
        }
        cx<T> low = {0, 0}, high = {0, 0};
        for (int t = 0; t < s.taps; t++) {
            const cx<T> v = x[s.step * shifted(s, 2 * k + t + 1 - s.taps / 2)];
            add(low, s.h[t], v);
            add(high, s.g[t], v);
        }
        to[at + s.step * k] = low;
        to[at + s.step * (s.low + k)] = high;
    }
}

template <typename T> __global__ void synthesise_kernel(split<T> s, const cx<T> *from, cx<T> *to)
{
    for (int64_t i = first_index(); i < s.threads; i += index_stride()) {
        int64_t k;
        const int64_t at = line_of(s, i, &k);
        const cx<T> *x = from + at;
        if (k == s.pairs) {
            to[at + s.step * wrap(s.n - 1 + s.shift, s.n)] = x[s.step * k];
            continue;
        }
        cx<T> even = {0, 0}, odd = {0, 0};
        for (int t = 0; t < s.taps; t += 2) {
            const int64_t q = wrap(k - t / 2, s.pairs);
            const cx<T> low = x[s.step * q], high = x[s.step * (s.low + q)];
            add(even, s.h[t], low);
            add(even, s.g[t], high);
            add(odd, s.h[t + 1], low);
            add(odd, s.g[t + 1], high);
        }
        const int64_t first = 2 * k + 1 - s.taps / 2;
        to[at + s.step * shifted(s, first)] = even;
        to[at + s.step * shifted(s, first + 1)] = odd;
    }
}

template <typename T> __global__ void copy_box_kernel(lmr_box box, int64_t total, const cx<T> *from, cx<T> *to)
{
    for (int64_t i = first_index(); i < total; i += index_stride()) {
        int64_t at = 0, step = 1, rest = i;
        for (int d = 0; d < box.ndim; d++) {
            at += step * (rest % box.extent[d]);
            rest /= box.extent[d];
            step *= box.dim[d];
        }
        to[at] = from[at];
    }
}

} // namespace

template <typename T> larmor_status lmr_cuda_sparse_analyse(void *ctx, const lmr_box *box, int axis,
                                                            const lmr_filter *filter, int64_t shift, const void *from,
                                                            void *to)
{
    LMR_CUDA_ENTER(c, ctx);
    const split<T> s = split_of<T>(box, axis, filter, shift);
    analyse_kernel<<<blocks(s.threads), THREADS, 0, c->stream>>>(s, in<T>(from), out<T>(to));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> larmor_status lmr_cuda_sparse_synthesise(void *ctx, const lmr_box *box, int axis,
                                                               const lmr_filter *filter, int64_t shift,
                                                               const void *from, void *to)
{
    LMR_CUDA_ENTER(c, ctx);
    const split<T> s = split_of<T>(box, axis, filter, shift);
    synthesise_kernel<<<blocks(s.threads), THREADS, 0, c->stream>>>(s, in<T>(from), out<T>(to));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T>
larmor_status lmr_cuda_sparse_copy_box(void *ctx, const lmr_box *box, const void *from, void *to)
{
    LMR_CUDA_ENTER(c, ctx);
    int64_t total = 1;
    for (int d = 0; d < box->ndim; d++) total *= box->extent[d];
    copy_box_kernel<<<blocks(total), THREADS, 0, c->stream>>>(*box, total, in<T>(from), out<T>(to));
    return CUDA_STATUS(cudaGetLastError());
}

#define INSTANTIATE(T)                                                                                               \
    template larmor_status lmr_cuda_sparse_analyse<T>(void *, const lmr_box *, int, const lmr_filter *, int64_t,     \
                                                      const void *, void *);                                         \
    template larmor_status lmr_cuda_sparse_synthesise<T>(void *, const lmr_box *, int, const lmr_filter *, int64_t,  \
                                                         const void *, void *);                                      \
    template larmor_status lmr_cuda_sparse_copy_box<T>(void *, const lmr_box *, const void *, void *);
INSTANTIATE(float)
INSTANTIATE(double)
