/* Convolution with a real spectrum on the GPU. Two dimensions go through cuFFT for many arrays at once; of three, one
 * array after the other, whose planes of zeros are not transformed. Floors by bytes: corner reads the array and
 * writes the grid, filter reads and writes the grid and reads the spectrum, crop reads and writes the array.
 * SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>
#include <memory>
#include <new>

#include "core/cuda/tables.cuh"

namespace
{

enum { ACROSS = 64, DOWN = 4, MOST_AT_ONCE = 8 };
const int64_t most_grid = INT64_C(256) << 20; /* bytes of the arrays' grids together */

template <typename T> const lmr_fft *fft()
{
    return sizeof(T) == 4 ? &lmr_cuda_fft_f32 : &lmr_cuda_fft_f64;
}

struct sizes {
    int64_t dim[3], keep[3];
};

template <typename T> struct conv {
    lmr_cuda *c = nullptr;
    sizes s;
    int64_t batch, at_once, cells, kept;
    void *planes = nullptr, *last = nullptr; /* for `at_once` grids, and for the rest of the batch */
    void *columns = nullptr;                 /* of three dimensions: planes holds two of them, this the third */
    lmr_cuda_scratch<T> spectrum;
    lmr_cuda_scratch<cx<T>> grid;
    ~conv()
    {
        for (void *plan : {planes, last, columns}) fft<T>()->destroy(c, plan);
    }
};

template <typename T> __global__ void corner_kernel(const __grid_constant__ sizes s, int64_t batch,
                                                    const cx<T> *__restrict__ x, cx<T> *__restrict__ grid)
{
    const int64_t i = (int64_t)blockIdx.x * ACROSS + threadIdx.x;
    if (i >= s.dim[0]) return;
    for (int64_t kb = blockIdx.z; kb < s.dim[2] * batch; kb += gridDim.z) {
        const int64_t b = kb / s.dim[2], k = kb - b * s.dim[2];
        for (int64_t j = (int64_t)blockIdx.y * DOWN + threadIdx.y; j < s.dim[1]; j += (int64_t)gridDim.y * DOWN) {
            cx<T> v = {0, 0};
            if (i < s.keep[0] && j < s.keep[1] && k < s.keep[2])
                v = x[((b * s.keep[2] + k) * s.keep[1] + j) * s.keep[0] + i];
            grid[(kb * s.dim[1] + j) * s.dim[0] + i] = v;
        }
    }
}

template <typename T> __global__ void crop_kernel(const __grid_constant__ sizes s, int64_t batch,
                                                  const cx<T> *__restrict__ grid, cx<T> *__restrict__ y)
{
    const int64_t i = (int64_t)blockIdx.x * ACROSS + threadIdx.x;
    if (i >= s.keep[0]) return;
    for (int64_t kb = blockIdx.z; kb < s.keep[2] * batch; kb += gridDim.z) {
        const int64_t b = kb / s.keep[2], k = kb - b * s.keep[2];
        for (int64_t j = (int64_t)blockIdx.y * DOWN + threadIdx.y; j < s.keep[1]; j += (int64_t)gridDim.y * DOWN)
            y[(kb * s.keep[1] + j) * s.keep[0] + i] = grid[((b * s.dim[2] + k) * s.dim[1] + j) * s.dim[0] + i];
    }
}

/* A thread per cell, looping over the arrays: the spectrum is read once. */
template <typename T>
__global__ void filter_kernel(int64_t cells, int64_t batch, const T *__restrict__ spectrum, cx<T> *__restrict__ grid)
{
    for (int64_t i = first_index(); i < cells; i += index_stride()) {
        const T s = spectrum[i];
        for (int64_t b = 0; b < batch; b++) {
            const cx<T> v = grid[b * cells + i];
            grid[b * cells + i] = {s * v.re, s * v.im};
        }
    }
}

template <typename T>
__global__ void real_kernel(int64_t cells, T scale, const cx<T> *__restrict__ from, T *__restrict__ spectrum)
{
    for (int64_t i = first_index(); i < cells; i += index_stride()) spectrum[i] = scale * from[i].re;
}

/* Over size[0] x size[1] x size[2] batch numbers; what does not fit in y and z the kernels loop over. */
dim3 launch_over(const int64_t size[3], int64_t batch)
{
    const auto most = [](int64_t n) { return (unsigned)std::min<int64_t>(n, 65535); };
    return {(unsigned)((size[0] + ACROSS - 1) / ACROSS), most((size[1] + DOWN - 1) / DOWN), most(size[2] * batch)};
}

template <typename T> larmor_status transform(conv<T> *v, int64_t count, int sign)
{
    lmr_cuda *const c = v->c;
    void *planes = count < v->at_once ? v->last : v->planes;
    if (v->columns && sign > 0) LMR_TRY(fft<T>()->exec(c, v->columns, sign, v->grid.get()));
    LMR_TRY(fft<T>()->exec(c, planes, sign, v->grid.get()));
    return v->columns && sign < 0 ? fft<T>()->exec(c, v->columns, sign, v->grid.get()) : LARMOR_OK;
}

template <typename T> larmor_status exec(void *ctx, void *plan, int which, const void *x_, void *y_)
{
    LMR_CUDA_ENTER(c, ctx);
    auto *v = static_cast<conv<T> *>(plan);
    const T *spectrum = v->spectrum.get() + which * v->cells;
    auto *x = static_cast<const cx<T> *>(x_);
    auto *y = static_cast<cx<T> *>(y_);
    const dim3 block(ACROSS, DOWN);
    for (int64_t b = 0; b < v->batch; b += v->at_once) {
        const int64_t now = std::min(v->batch - b, v->at_once);
        corner_kernel<T>
            <<<launch_over(v->s.dim, now), block, 0, c->stream>>>(v->s, now, x + b * v->kept, v->grid.get());
        CUDA_TRY(cudaGetLastError());
        LMR_TRY(transform(v, now, -1));
        filter_kernel<T><<<blocks(v->cells), THREADS, 0, c->stream>>>(v->cells, now, spectrum, v->grid.get());
        CUDA_TRY(cudaGetLastError());
        LMR_TRY(transform(v, now, 1));
        crop_kernel<T>
            <<<launch_over(v->s.keep, now), block, 0, c->stream>>>(v->s, now, v->grid.get(), y + b * v->kept);
        CUDA_TRY(cudaGetLastError());
    }
    return LARMOR_OK;
}

template <typename T> larmor_status set(void *ctx, void *plan, int which, double scale, const void *cells)
{
    LMR_CUDA_ENTER(c, ctx);
    auto *v = static_cast<conv<T> *>(plan);
    real_kernel<T><<<blocks(v->cells), THREADS, 0, c->stream>>>(v->cells, (T)scale, static_cast<const cx<T> *>(cells),
                                                                v->spectrum.get() + which * v->cells);
    CUDA_TRY(cudaGetLastError());
    return LARMOR_OK;
}

larmor_status check(int ndim, const int64_t dim[3], const int64_t keep[3], int64_t batch, int64_t spectra)
{
    int64_t total = spectra;
    if (ndim < 1 || ndim > 3 || batch < 0 || spectra < 1)
        return LMR_CUDA_FAIL(LARMOR_ERR_ARG, "conv: %d dimensions, batch %lld, %lld spectra", ndim, (long long)batch,
                             (long long)spectra);
    for (int d = 0; d < ndim; d++) {
        if (keep[d] < 1 || keep[d] > dim[d])
            return LMR_CUDA_FAIL(LARMOR_ERR_ARG, "conv: %lld of %lld numbers are kept, expected 1 .. %lld",
                                 (long long)keep[d], (long long)dim[d], (long long)dim[d]);
        if (!lmr_mul(total, dim[d], &total) || total > INT64_C(1) << 54)
            return LMR_CUDA_FAIL(LARMOR_ERR_SHAPE, "conv: the grid is too large");
    }
    return LARMOR_OK;
}

template <typename T> void measure(conv<T> *v, int ndim, const int64_t dim[3], const int64_t keep[3], int64_t batch)
{
    v->cells = v->kept = 1;
    for (int d = 0; d < 3; d++) {
        v->s.dim[d] = d < ndim ? dim[d] : 1;
        v->s.keep[d] = d < ndim ? keep[d] : 1;
        v->cells *= v->s.dim[d];
        v->kept *= v->s.keep[d];
    }
    const int64_t most = ndim > 2 ? 1 : most_grid / (v->cells * (int64_t)sizeof(cx<T>));
    v->batch = batch;
    v->at_once = std::max<int64_t>(1, std::min({most, batch, (int64_t)MOST_AT_ONCE}));
}

template <typename T> larmor_status plan(void *ctx, int ndim, const int64_t dim[3], const int64_t keep[3],
                                         int64_t batch, int64_t spectra, void **out)
{
    *out = nullptr;
    LMR_CUDA_ENTER(c, ctx);
    LMR_TRY(check(ndim, dim, keep, batch, spectra));
    std::unique_ptr<conv<T>> v(new (std::nothrow) conv<T>);
    if (!v) return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    v->c = c;
    measure(v.get(), ndim, dim, keep, batch);
    if (ndim > 2) {
        LMR_TRY(fft<T>()->plan(c, 2, v->s.dim, v->s.keep[2], &v->planes));
        LMR_TRY(lmr_cuda_fft_columns<T>(c, v->s.dim[0] * v->s.dim[1], v->s.dim[2], &v->columns));
    } else {
        LMR_TRY(fft<T>()->plan(c, ndim, v->s.dim, v->at_once, &v->planes));
        if (batch % v->at_once) LMR_TRY(fft<T>()->plan(c, ndim, v->s.dim, batch % v->at_once, &v->last));
    }
    LMR_TRY(v->spectrum.allocate(c, v->cells * spectra));
    LMR_TRY(v->grid.allocate(c, v->cells * v->at_once));
    *out = v.release();
    return LARMOR_OK;
}

template <typename T> void destroy(void *ctx, void *plan)
{
    auto *c = static_cast<lmr_cuda *>(ctx);
    if (plan && !cudaSetDevice(c->ordinal)) delete static_cast<conv<T> *>(plan);
}

/* cuFFT works beside the grids: for a whole pass, for the last one, or for planes and columns. */
template <typename T>
double bytes(void *, int ndim, const int64_t dim[3], const int64_t keep[3], int64_t batch, int64_t spectra)
{
    if (check(ndim, dim, keep, batch, spectra)) return 0x1p60;
    conv<T> v;
    measure(&v, ndim, dim, keep, batch);
    const double grids = (double)v.at_once * (ndim > 2 ? 3 : 2) + (double)(batch % v.at_once);
    return (double)v.cells * (double)sizeof(T) * ((double)spectra + 2 * grids) + 0x1p20;
}

template <typename T> constexpr lmr_conv table = {plan<T>, set<T>, exec<T>, destroy<T>, bytes<T>};

} // namespace

const lmr_conv lmr_cuda_conv_f32 = table<float>, lmr_cuda_conv_f64 = table<double>;
