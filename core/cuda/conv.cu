/* Convolution with a spectrum, or with a matrix of them, on the GPU. It goes through core/cuda/lines.cu where sides
 * and the number of arrays that are mixed allow it, else through cuFFT: one and two dimensions for many arrays at
 * once; of three, one array after the other, whose planes of zeros are not transformed. Floors by bytes: corner
 * reads the array and writes the grid, filter reads and writes the grid and reads the spectrum, crop reads and writes
 * the array.
 * Grids of arrays that are mixed lie beside each other: [cells, mixed, at once].
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

template <typename T> const lmr_conv *by_lines()
{
    return sizeof(T) == 4 ? &lmr_cuda_lines_f32 : &lmr_cuda_lines_f64;
}

struct sizes {
    int64_t dim[3], keep[3];
    int64_t batch; /* of the plan: from one array that is mixed to the next */
    int mixed;
};

template <typename T> struct conv {
    lmr_cuda *c = nullptr;
    void *lines = nullptr; /* if not NULL all that there is, by by_lines */
    sizes s;
    lmr_conv_shape shape;
    int64_t batch, at_once, cells, kept;
    int64_t parts;                           /* planes of one set of matrices */
    void *planes = nullptr, *last = nullptr; /* for `at_once` grids, and for the rest of the batch */
    void *columns = nullptr;                 /* of three dimensions: planes holds two of them, this the third */
    lmr_cuda_scratch<T> spectrum;
    lmr_cuda_scratch<cx<T>> grid;
    ~conv()
    {
        for (void *plan : {planes, last, columns}) fft<T>()->destroy(c, plan);
        by_lines<T>()->destroy(c, lines);
    }
};

/* Of grid a in memory, the array, from the first of this pass on. */
__device__ int64_t array_of(const sizes &s, int64_t a)
{
    return a % s.mixed * s.batch + a / s.mixed;
}

template <typename T> __global__ void corner_kernel(const __grid_constant__ sizes s, int64_t batch,
                                                    const cx<T> *__restrict__ x, cx<T> *__restrict__ grid)
{
    const int64_t i = (int64_t)blockIdx.x * ACROSS + threadIdx.x;
    if (i >= s.dim[0]) return;
    for (int64_t kb = blockIdx.z; kb < s.dim[2] * s.mixed * batch; kb += gridDim.z) {
        const int64_t a = kb / s.dim[2], k = kb - a * s.dim[2], b = array_of(s, a);
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
    for (int64_t kb = blockIdx.z; kb < s.keep[2] * s.mixed * batch; kb += gridDim.z) {
        const int64_t a = kb / s.keep[2], k = kb - a * s.keep[2], b = array_of(s, a);
        for (int64_t j = (int64_t)blockIdx.y * DOWN + threadIdx.y; j < s.keep[1]; j += (int64_t)gridDim.y * DOWN)
            y[((b * s.keep[2] + k) * s.keep[1] + j) * s.keep[0] + i] =
                grid[((a * s.dim[2] + k) * s.dim[1] + j) * s.dim[0] + i];
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

/* A thread per cell and pass: its numbers of all arrays are read before any is written. */
template <typename T> __global__ void mix_kernel(const __grid_constant__ lmr_conv_shape s, int64_t cells,
                                                 int64_t batch, const T *__restrict__ spectrum,
                                                 cx<T> *__restrict__ grid)
{
    for (int64_t i = first_index(); i < cells * batch; i += index_stride()) {
        const int64_t b = i / cells, cell = i - b * cells;
        constexpr int MOST = LMR_CONV_MOST_MIXED;
        cx<T> in[MOST], *at = grid + b * s.mixed * cells + cell;
#pragma unroll
        for (int k = 0; k < MOST; k++)
            if (k < s.mixed) in[k] = at[k * cells];
#pragma unroll
        for (int k = 0; k < MOST; k++) {
            if (k >= s.mixed) break;
            cx<T> sum = {0, 0};
#pragma unroll
            for (int l = 0; l < MOST; l++) {
                if (l >= s.mixed) break;
                const int row = k < l ? k : l;
                const int column = k < l ? l : k;
                const T *plane = spectrum + lmr_conv_plane(&s, row, column, 0) * cells + cell;
                const T re = plane[0];
                sum.re += re * in[l].re;
                sum.im += re * in[l].im;
                if (!s.is_complex || k == l) continue;
                const T im = k < l ? plane[cells] : -plane[cells];
                sum.re -= im * in[l].im;
                sum.im += im * in[l].re;
            }
            at[k * cells] = sum;
        }
    }
}

template <typename T> __global__ void part_kernel(int64_t cells, T scale, int part, const cx<T> *__restrict__ from,
                                                  T *__restrict__ spectrum)
{
    for (int64_t i = first_index(); i < cells; i += index_stride())
        spectrum[i] = scale * (part ? from[i].im : from[i].re);
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
    if (!v->columns) return fft<T>()->exec(c, planes, sign, v->grid.get());
    for (int k = 0; k < v->s.mixed; k++) {
        cx<T> *grid = v->grid.get() + k * v->cells;
        if (sign > 0) LMR_TRY(fft<T>()->exec(c, v->columns, sign, grid));
        LMR_TRY(fft<T>()->exec(c, planes, sign, grid));
        if (sign < 0) LMR_TRY(fft<T>()->exec(c, v->columns, sign, grid));
    }
    return LARMOR_OK;
}

template <typename T> larmor_status filter(conv<T> *v, int64_t count, const T *spectrum)
{
    cudaStream_t stream = v->c->stream;
    const int64_t all = v->cells * count;
    if (v->s.mixed == 1)
        filter_kernel<T><<<blocks(v->cells), THREADS, 0, stream>>>(v->cells, count, spectrum, v->grid.get());
    else
        mix_kernel<T><<<blocks(all), THREADS, 0, stream>>>(v->shape, v->cells, count, spectrum, v->grid.get());
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> larmor_status exec(void *ctx, void *plan, int which, const void *x_, void *y_)
{
    LMR_CUDA_ENTER(c, ctx);
    auto *v = static_cast<conv<T> *>(plan);
    if (v->lines) return by_lines<T>()->exec(ctx, v->lines, which, x_, y_);
    const T *spectrum = v->spectrum.get() + which * v->parts * v->cells;
    auto *x = static_cast<const cx<T> *>(x_);
    auto *y = static_cast<cx<T> *>(y_);
    const dim3 block(ACROSS, DOWN);
    for (int64_t b = 0; b < v->batch; b += v->at_once) {
        const int64_t now = std::min(v->batch - b, v->at_once), grids = now * v->s.mixed;
        corner_kernel<T>
            <<<launch_over(v->s.dim, grids), block, 0, c->stream>>>(v->s, now, x + b * v->kept, v->grid.get());
        CUDA_TRY(cudaGetLastError());
        LMR_TRY(transform(v, now, -1));
        LMR_TRY(filter(v, now, spectrum));
        LMR_TRY(transform(v, now, 1));
        crop_kernel<T>
            <<<launch_over(v->s.keep, grids), block, 0, c->stream>>>(v->s, now, v->grid.get(), y + b * v->kept);
        CUDA_TRY(cudaGetLastError());
    }
    return LARMOR_OK;
}

template <typename T> larmor_status set(void *ctx, void *plan, int plane, double scale, int part, const void *cells)
{
    LMR_CUDA_ENTER(c, ctx);
    auto *v = static_cast<conv<T> *>(plan);
    if (v->lines) return by_lines<T>()->set(ctx, v->lines, plane, scale, part, cells);
    part_kernel<T><<<blocks(v->cells), THREADS, 0, c->stream>>>(
        v->cells, (T)scale, part, static_cast<const cx<T> *>(cells), v->spectrum.get() + plane * v->cells);
    return CUDA_STATUS(cudaGetLastError());
}

larmor_status check(const lmr_conv_shape *s)
{
    int64_t total = 1;
    if (s->ndim < 1 || s->ndim > 3 || s->batch < 0 || s->mixed < 1 || s->mixed > LMR_CONV_MOST_MIXED ||
        s->spectra < 1)
        return LMR_CUDA_FAIL(LARMOR_ERR_ARG, "conv: %d dimensions, batch %lld, %d mixed, %d spectra", s->ndim,
                             (long long)s->batch, s->mixed, s->spectra);
    for (int d = 0; d < s->ndim; d++) {
        if (s->keep[d] < 1 || s->keep[d] > s->dim[d])
            return LMR_CUDA_FAIL(LARMOR_ERR_ARG, "conv: %lld of %lld numbers are kept, expected 1 .. %lld",
                                 (long long)s->keep[d], (long long)s->dim[d], (long long)s->dim[d]);
        if (!lmr_mul(total, s->dim[d], &total) || total > INT64_C(1) << 54)
            return LMR_CUDA_FAIL(LARMOR_ERR_SHAPE, "conv: the grid is too large");
    }
    if (!lmr_mul(total, lmr_conv_planes(s), &total) || !lmr_mul(total, s->spectra, &total) ||
        total > INT64_C(1) << 54)
        return LMR_CUDA_FAIL(LARMOR_ERR_SHAPE, "conv: the grid is too large");
    return LARMOR_OK;
}

template <typename T> void measure(conv<T> *v, const lmr_conv_shape *shape)
{
    v->shape = *shape;
    v->parts = lmr_conv_planes(shape);
    v->s.mixed = shape->mixed;
    v->s.batch = v->batch = shape->batch;
    v->cells = v->kept = 1;
    for (int d = 0; d < 3; d++) {
        v->s.dim[d] = d < shape->ndim ? shape->dim[d] : 1;
        v->s.keep[d] = d < shape->ndim ? shape->keep[d] : 1;
        v->cells *= v->s.dim[d];
        v->kept *= v->s.keep[d];
    }
    const int64_t one = v->cells * shape->mixed * (int64_t)sizeof(cx<T>);
    const int64_t most = shape->ndim > 2 ? 1 : std::min<int64_t>(most_grid / one, MOST_AT_ONCE / shape->mixed);
    v->at_once = std::max<int64_t>(1, std::min(most, v->batch));
}

template <typename T> larmor_status plan(void *ctx, const lmr_conv_shape *shape, void **out)
{
    *out = nullptr;
    LMR_CUDA_ENTER(c, ctx);
    LMR_TRY(check(shape));
    std::unique_ptr<conv<T>> v(new (std::nothrow) conv<T>);
    if (!v) return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    v->c = c;
    if (by_lines<T>()->bytes(ctx, shape) >= 0) {
        LMR_TRY(by_lines<T>()->plan(ctx, shape, &v->lines));
        *out = v.release();
        return LARMOR_OK;
    }
    measure(v.get(), shape);
    const int64_t mixed = shape->mixed, rest = v->batch % v->at_once;
    if (shape->ndim > 2) {
        LMR_TRY(fft<T>()->plan(c, 2, v->s.dim, v->s.keep[2], &v->planes));
        LMR_TRY(lmr_cuda_fft_columns<T>(c, v->s.dim[0] * v->s.dim[1], v->s.dim[2], &v->columns));
    } else {
        LMR_TRY(fft<T>()->plan(c, shape->ndim, v->s.dim, v->at_once * mixed, &v->planes));
        if (rest) LMR_TRY(fft<T>()->plan(c, shape->ndim, v->s.dim, rest * mixed, &v->last));
    }
    LMR_TRY(v->spectrum.allocate(c, v->cells * v->parts * shape->spectra));
    LMR_TRY(v->grid.allocate(c, v->cells * v->at_once * mixed));
    *out = v.release();
    return LARMOR_OK;
}

template <typename T> void destroy(void *ctx, void *plan)
{
    auto *c = static_cast<lmr_cuda *>(ctx);
    if (plan && !cudaSetDevice(c->ordinal)) delete static_cast<conv<T> *>(plan);
}

/* cuFFT works beside the grids: for a whole pass, for the last one, or for planes and columns of an array. */
template <typename T> double bytes(void *ctx, const lmr_conv_shape *shape)
{
    if (check(shape)) return 0x1p60;
    const double of_lines = by_lines<T>()->bytes(ctx, shape);
    if (of_lines >= 0) return of_lines;
    conv<T> v;
    measure(&v, shape);
    const double mixed = shape->mixed, spectra = (double)v.parts * shape->spectra;
    const double own = (double)v.at_once * mixed, rest = (double)(v.batch % v.at_once) * mixed;
    const double grids = shape->ndim > 2 ? own + 2 : 2 * own + rest;
    return (double)v.cells * (double)sizeof(T) * (spectra + 2 * grids) + 0x1p20;
}

template <typename T> constexpr lmr_conv table = {plan<T>, set<T>, exec<T>, destroy<T>, bytes<T>, nullptr};

} // namespace

const lmr_conv lmr_cuda_conv_f32 = table<float>, lmr_cuda_conv_f64 = table<double>;
