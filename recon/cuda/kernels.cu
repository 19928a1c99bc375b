/* Weights, images, and this layer's table for CUDA. One thread per number that is written.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/cuda/recon.cuh"

namespace
{

/* ---- samples ---- */

template <typename T> __global__ void gather_kernel(int64_t samples, int64_t m, int64_t coils, const int64_t *index,
                                                    const double *w, const cx<T> *from, cx<T> *to)
{
    for (int64_t at = first_index(); at < m * coils; at += index_stride()) {
        const int64_t j = at % m;
        const cx<T> v = from[index[j] + samples * (at / m)];
        to[at] = {(T)(w[j] * v.re), (T)(w[j] * v.im)};
    }
}

template <typename T> larmor_status gather(void *ctx, int64_t samples, int64_t m, int64_t coils, const int64_t *index,
                                           const double *w, const void *from, void *to)
{
    LMR_CUDA_ENTER(c, ctx);
    gather_kernel<<<blocks(m * coils), THREADS, 0, c->stream>>>(samples, m, coils, index, w, in<T>(from), out<T>(to));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> __global__ void overlap_kernel(int nd, three<int64_t> dim, int64_t n, double scale, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride())
        y[i] = {(T)(scale * lmr_overlap(lmr_distance(nd, dim.v, i), nd)), 0};
}

template <typename T> larmor_status overlap(void *ctx, int nd, const int64_t dim[3], double scale, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    int64_t n = 1;
    three<int64_t> sizes = {{1, 1, 1}};
    for (int d = 0; d < nd; d++) {
        n *= dim[d];
        sizes.v[d] = dim[d];
    }
    overlap_kernel<<<blocks(n), THREADS, 0, c->stream>>>(nd, sizes, n, scale, out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> __global__ void balance_kernel(int64_t m, double *w, cx<T> *g)
{
    for (int64_t j = first_index(); j < m; j += index_stride()) {
        const double density = hypot((double)g[j].re, (double)g[j].im);
        if (density > 0) w[j] /= density;
        g[j] = {(T)w[j], 0};
    }
}

template <typename T> larmor_status balance(void *ctx, int64_t m, double *w, void *g)
{
    LMR_CUDA_ENTER(c, ctx);
    balance_kernel<<<blocks(m), THREADS, 0, c->stream>>>(m, w, out<T>(g));
    return CUDA_STATUS(cudaGetLastError());
}

/* ---- images ---- */

template <typename T> __global__ void resize_kernel(three<int64_t> dim, int64_t n, const cx<T> *x, cx<T> *y)
{
    const int64_t inner = dim.v[0], length = dim.v[1], total = inner * n * dim.v[2];
    for (int64_t at = first_index(); at < total; at += index_stride()) {
        const int64_t row = at / inner, o = row / n;
        double w[4];
        const int64_t base = lmr_between(row % n, n, length, w);
        cx<T> sum = {0, 0};
        for (int t = 0; t < 4; t++) {
            const int64_t inside = max((int64_t)0, min(base - 1 + t, length - 1));
            const cx<T> v = x[at % inner + inner * (inside + length * o)];
            sum.re += (T)w[t] * v.re;
            sum.im += (T)w[t] * v.im;
        }
        y[at] = sum;
    }
}

template <typename T> larmor_status resize(void *ctx, const int64_t dim[3], int64_t n, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    resize_kernel<<<blocks(dim[0] * n * dim[2]), THREADS, 0, c->stream>>>({{dim[0], dim[1], dim[2]}}, n, in<T>(x),
                                                                          out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T>
__global__ void crop_kernel(three<int64_t> from, three<int64_t> to, double scale, const cx<T> *x, cx<T> *y)
{
    for (int64_t at = first_index(); at < to.v[0] * to.v[1] * to.v[2]; at += index_stride()) {
        int64_t rest = at, source = 0, step = 1;
        bool inside = true;
        for (int d = 0; d < 3; d++) {
            const int64_t i = rest % to.v[d] + from.v[d] / 2 - to.v[d] / 2;
            inside = inside && i >= 0 && i < from.v[d];
            rest /= to.v[d];
            source += step * i;
            step *= from.v[d];
        }
        const cx<T> zero = {0, 0};
        const cx<T> v = inside ? x[source] : zero;
        y[at] = {(T)(scale * v.re), (T)(scale * v.im)};
    }
}

template <typename T>
__global__ void fold_kernel(three<int64_t> from, three<int64_t> n, double scale, const cx<T> *x, cx<T> *y)
{
    for (int64_t at = first_index(); at < n.v[0] * n.v[1] * n.v[2]; at += index_stride()) {
        double re = 0, im = 0;
        for (int64_t c = at / (n.v[0] * n.v[1]); c < from.v[2]; c += n.v[2])
            for (int64_t b = at / n.v[0] % n.v[1]; b < from.v[1]; b += n.v[1])
                for (int64_t a = at % n.v[0]; a < from.v[0]; a += n.v[0]) {
                    const cx<T> v = x[a + from.v[0] * (b + from.v[1] * c)];
                    re += v.re;
                    im += v.im;
                }
        y[at] = {(T)(scale * re), (T)(scale * im)};
    }
}

template <typename T>
larmor_status fold(void *ctx, const int64_t from[3], const int64_t n[3], double scale, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    const three<int64_t> source = {{from[0], from[1], from[2]}}, target = {{n[0], n[1], n[2]}};
    fold_kernel<<<blocks(n[0] * n[1] * n[2]), THREADS, 0, c->stream>>>(source, target, scale, in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T>
larmor_status crop(void *ctx, const int64_t from[3], const int64_t to[3], double scale, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    const three<int64_t> source = {{from[0], from[1], from[2]}}, target = {{to[0], to[1], to[2]}};
    crop_kernel<<<blocks(to[0] * to[1] * to[2]), THREADS, 0, c->stream>>>(source, target, scale, in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> __global__ void power_kernel(int64_t n, int halves, double low, cx<T> *x)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        const double v = x[i].re;
        const double base = halves == -2 ? v : sqrt(v);
        x[i] = {v > low ? (T)(halves > 0 ? base : 1 / base) : (T)0, 0};
    }
}

template <typename T> larmor_status power(void *ctx, int64_t n, int halves, double low, void *x)
{
    LMR_CUDA_ENTER(c, ctx);
    power_kernel<<<blocks(n), THREADS, 0, c->stream>>>(n, halves, low, out<T>(x));
    return CUDA_STATUS(cudaGetLastError());
}

/* Doubles that are not negative are in the order of their bits. */
template <typename T> __global__ void largest_kernel(int64_t n, const cx<T> *x, unsigned long long *most)
{
    double own = 0;
    for (int64_t i = first_index(); i < n; i += index_stride()) own = x[i].re > own ? (double)x[i].re : own;
    for (int lanes = 16; lanes; lanes /= 2) own = fmax(own, __shfl_xor_sync(~0U, own, lanes));
    if (threadIdx.x % 32 == 0 && own > 0) atomicMax(most, (unsigned long long)__double_as_longlong(own));
}

template <typename T> larmor_status largest(void *ctx, int64_t n, const void *x, double *result)
{
    LMR_CUDA_ENTER(c, ctx);
    const unsigned needed = blocks(n);
    const unsigned grid = needed < 1024U ? needed : 1024U;
    lmr_cuda_scratch<unsigned long long> most;
    LMR_TRY(most.allocate(c, 1));
    CUDA_TRY(cudaMemsetAsync(most.get(), 0, sizeof *result, c->stream)); /* the bits of 0. */
    largest_kernel<<<grid, THREADS, 0, c->stream>>>(n, in<T>(x), most.get());
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(result, most.get(), sizeof *result, cudaMemcpyDeviceToHost, c->stream));
    return CUDA_STATUS(cudaStreamSynchronize(c->stream));
}

template <typename T> constexpr lmr_recon_kernels kernels = {
    .outlier = lmr_cuda_recon_outlier,
    .select = lmr_cuda_recon_select,
    .pick = lmr_cuda_recon_pick,
    .gather = gather<T>,
    .taper = lmr_cuda_recon_taper,
    .survey = lmr_cuda_recon_survey<T>,
    .ceiling = lmr_cuda_recon_ceiling<T>,
    .energies = lmr_cuda_recon_energies<T>,
    .lines = lmr_cuda_recon_lines,
    .ramp = lmr_cuda_recon_ramp,
    .overlap = overlap<T>,
    .balance = balance<T>,
    .covariance = lmr_cuda_recon_covariance<T>,
    .products = lmr_cuda_recon_products<T>,
    .filter = lmr_cuda_recon_filter<T>,
    .scatter = lmr_cuda_recon_scatter<T>,
    .align = lmr_cuda_recon_align<T>,
    .resize = resize<T>,
    .crop = crop<T>,
    .fold = fold<T>,
    .power = power<T>,
    .largest = largest<T>,
};

const lmr_cuda_table table("recon", LMR_RECON_ABI, &kernels<float>, &kernels<double>);

} // namespace
