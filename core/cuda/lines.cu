/* Convolution with a spectrum on the GPU in as few passes over memory as there are axes: columns along the last
 * axis and the second one forward, then rows along the first axis forward, times the spectrum and back in one
 * pass, then the columns back. Zeros are neither written nor read. Floor by bytes of an array of N numbers and
 * doubled sides, in three dimensions: it is read and written once, 2 N and 4 N numbers between the passes are
 * written and read twice each way, so 26 N numbers, and 8 N real ones of the spectrum for all arrays of a pass.
 * Arrays that a matrix of spectra mixes have their rows of the same place in one block; in the grid they lie a pass
 * apart: [cells, arrays of a pass, mixed].
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/cuda/lines.cuh"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "core/cuda/tables.cuh"

namespace
{

using namespace line_detail;

enum { MOST_MIXED = 8 }; /* more do not fit into the registers of a kernel of rows */

/* ---- kernels ---- */

struct strides {
    int64_t position, other, array, mixed;
};

/* Columns along one axis: `width` beside each other, for each of `others` and each array, `arrays` of them one of
 * which is mixed with those of the next `arrays`. */
struct columns {
    lmr_cuda_line line;
    int64_t width, tiles, others, arrays;
    int lanes_log2;
    strides from, to;
};

template <typename T> __device__ cx<T> *shared_numbers()
{
    extern __shared__ __align__(16) char line_memory[];
    return reinterpret_cast<cx<T> *>(line_memory);
}

/* The stages in their order, or back; half: the first one is HALF. */
template <typename T, int SIGN> __global__ void __launch_bounds__(THREADS, sizeof(T) == 4 ? 4 : 2)
    columns_kernel(const __grid_constant__ columns c, const cx<T> *__restrict__ roots, const cx<T> *from, cx<T> *to)
{
    cx<T> *const shared = shared_numbers<T>();
    const int log2 = c.lanes_log2, last = c.line.stages - 1;
    const int64_t tile = blockIdx.x % c.tiles, rest = blockIdx.x / c.tiles;
    const int64_t other = rest % c.others, array = rest / c.others, first = tile << log2;
    const int64_t of = array % c.arrays, mixed = array / c.arrays;
    const lane_lines lines = {1 << log2, log2, (int)min(c.width - first, (int64_t)1 << log2)};
    from += first + other * c.from.other + of * c.from.array + mixed * c.from.mixed;
    to += first + other * c.to.other + of * c.to.array + mixed * c.to.mixed;
    auto held = [&](const lmr_cuda_stage &s, int at, int line) {
        return places<cx<T>, int>{shared + (at << log2) + line, s.step << log2};
    };
    auto read = [&](const lmr_cuda_stage &s, int at, int line) {
        return places<const cx<T>, int64_t>{from + at * c.from.position + line, s.step * c.from.position};
    };
    auto write = [&](const lmr_cuda_stage &s, int at, int line) {
        return places<cx<T>, int64_t>{to + at * c.to.position + line, s.step * c.to.position};
    };
    const bool half = 2 * c.line.keep == c.line.n && c.line.stage[0].radix % 2 == 0;
    for (int k = 0; k <= last; k++) {
        const int i = SIGN < 0 ? k : last - k;
        const lmr_cuda_stage &s = c.line.stage[i];
        with_radix(s.radix, [&](auto r) {
            constexpr int R = decltype(r)::value;
            if constexpr (SIGN < 0) {
                if (!i && half)
                    stage<R, SIGN, HALF>(lines, s, 0, roots, read, held);
                else if (!i)
                    stage<R, SIGN, FIRST>(lines, s, c.line.keep, roots, read, held);
                else if (i < last)
                    stage<R, SIGN, MIDDLE>(lines, s, 0, roots, held, held);
                else
                    stage<R, SIGN, LAST>(lines, s, 0, roots, held, write);
            } else {
                if (i == last)
                    stage<R, SIGN, LAST>(lines, s, 0, roots, read, held);
                else if (i)
                    stage<R, SIGN, MIDDLE>(lines, s, 0, roots, held, held);
                else if (half)
                    stage<R, SIGN, HALF>(lines, s, 0, roots, held, write);
                else
                    stage<R, SIGN, FIRST>(lines, s, c.line.keep, roots, held, write);
            }
        });
        __syncthreads();
    }
}

/* Rows along the first axis: `rows` of each array, one after the other. */
struct filtered_rows {
    lmr_cuda_line line;
    int64_t rows;
    int arrays, count, pitch; /* count: rows of a block; pitch: between them in shared memory */
};

template <typename T> __global__ void __launch_bounds__(THREADS, sizeof(T) == 4 ? 4 : 2)
    rows_kernel(const __grid_constant__ filtered_rows c, const cx<T> *__restrict__ roots,
                const T *__restrict__ spectrum, const cx<T> *from, cx<T> *to)
{
    cx<T> *const shared = shared_numbers<T>();
    /* arrays are the fastest, so that those that run side by side share their piece of the spectrum */
    const int64_t array = blockIdx.x % c.arrays, first = (int64_t)(blockIdx.x / c.arrays) * c.count;
    const int keep = c.line.keep, last = c.line.stages - 1, width = (int)min(c.rows - first, (int64_t)c.count);
    const row_lines lines = {width, width};
    from += (array * c.rows + first) * keep;
    to += (array * c.rows + first) * keep;
    spectrum += first * c.line.n;
    auto begun = [&](const lmr_cuda_stage &s, int at,
                     int line) { /* beside the first stage */
                                 return places<cx<T>, int>{shared + line * c.pitch + at, s.step + c.line.gap};
    };
    auto held = [&](const lmr_cuda_stage &s, int at, int line) {
        const int gaps = (int)c.line.by_part.quotient((unsigned)at) * c.line.gap;
        return places<cx<T>, int>{shared + line * c.pitch + at + gaps, s.step};
    };
    auto read = [&](const lmr_cuda_stage &s, int at, int line) {
        return places<const cx<T>, int>{from + line * keep + at, s.step};
    };
    auto write = [&](const lmr_cuda_stage &s, int at, int line) {
        return places<cx<T>, int>{to + line * keep + at, s.step};
    };
    const bool half = 2 * keep == c.line.n && c.line.stage[0].radix % 2 == 0;
    for (int i = 0; i < last; i++) {
        const lmr_cuda_stage &s = c.line.stage[i];
        with_radix(s.radix, [&](auto r) {
            constexpr int R = decltype(r)::value;
            if (i)
                stage<R, -1, MIDDLE>(lines, s, 0, roots, held, held);
            else if (half)
                stage<R, -1, HALF>(lines, s, 0, roots, read, begun);
            else
                stage<R, -1, FIRST>(lines, s, keep, roots, read, begun);
        });
        __syncthreads();
    }
    with_radix(c.line.stage[last].radix,
               [&](auto r) { turning_stage<decltype(r)::value, T>(lines, c.line.stage[last], held, spectrum); });
    for (int i = last - 1; i >= 0; i--) {
        __syncthreads();
        const lmr_cuda_stage &s = c.line.stage[i];
        with_radix(s.radix, [&](auto r) {
            constexpr int R = decltype(r)::value;
            if (i)
                stage<R, 1, MIDDLE>(lines, s, 0, roots, held, held);
            else if (half)
                stage<R, 1, HALF>(lines, s, 0, roots, begun, write);
            else
                stage<R, 1, FIRST>(lines, s, keep, roots, begun, write);
        });
    }
}

/* at(k), k < MIXED <- the matrix of one cell times them. spectrum: its planes, `cells` apart, in the order of
 * lmr_conv_plane, each of which is read once. */
template <typename T, int MIXED, bool COMPLEX, typename At>
__device__ inline void mix_cell(int64_t cells, const T *__restrict__ spectrum, At at)
{
    cx<T> in[MIXED], out[MIXED];
#pragma unroll
    for (int k = 0; k < MIXED; k++, spectrum += cells) {
        const T diagonal = *spectrum;
        in[k] = at(k);
        out[k] = {diagonal * in[k].re, diagonal * in[k].im};
    }
#pragma unroll
    for (int column = 1; column < MIXED; column++)
#pragma unroll
        for (int row = 0; row < column; row++, spectrum += cells) {
            const T re = *spectrum;
            out[row].re += re * in[column].re;
            out[row].im += re * in[column].im;
            out[column].re += re * in[row].re;
            out[column].im += re * in[row].im;
            if constexpr (COMPLEX) {
                spectrum += cells;
                const T im = *spectrum;
                out[row].re -= im * in[column].im;
                out[row].im += im * in[column].re;
                out[column].re += im * in[row].im;
                out[column].im -= im * in[row].re;
            }
        }
#pragma unroll
    for (int k = 0; k < MIXED; k++) at(k) = out[k];
}

/* f(mixed), as a constant. */
template <int MIXED = MOST_MIXED, typename F> __device__ inline void with_mixed(int mixed, F &&f)
{
    if (mixed == MIXED)
        f(dft_detail::constant<MIXED>());
    else if constexpr (MIXED > 2)
        with_mixed<MIXED - 1>(mixed, f);
}

/* Rows of arrays that are mixed: those of one place beside each other. */
struct mixed_rows {
    lmr_cuda_line line;
    lmr_conv_shape shape;
    lmr_cuda_divisor by_mixed;
    int64_t rows, cells, between; /* between: numbers from an array to that which it is mixed with */
    int arrays, count, pitch;     /* count: places of a block, each with so many rows */
};

/* The cells of a block's `width` places, whose transforms are in shared memory. */
template <typename T, typename Place> __device__ inline void
mix_rows(const mixed_rows &c, int width, const T *__restrict__ spectrum, cx<T> *shared, Place place_of)
{
    const int n = c.line.n;
    with_mixed(c.shape.mixed, [&](auto m) {
        constexpr int MIXED = decltype(m)::value;
        for (int cell = threadIdx.x; cell < width * n; cell += THREADS) {
            const int place = cell / n;
            cx<T> *const numbers = shared + place * MIXED * c.pitch + place_of(cell - place * n);
            auto number = [&](int k) -> cx<T> & { return numbers[k * c.pitch]; };
            if (c.shape.is_complex)
                mix_cell<T, MIXED, true>(c.cells, spectrum + cell, number);
            else
                mix_cell<T, MIXED, false>(c.cells, spectrum + cell, number);
        }
    });
}

template <typename T> __global__ void __launch_bounds__(THREADS, sizeof(T) == 4 ? 3 : 2)
    mixed_rows_kernel(const __grid_constant__ mixed_rows c, const cx<T> *__restrict__ roots,
                      const T *__restrict__ spectrum, const cx<T> *from, cx<T> *to)
{
    cx<T> *const shared = shared_numbers<T>();
    const int64_t array = blockIdx.x % c.arrays, first = (int64_t)(blockIdx.x / c.arrays) * c.count;
    const int keep = c.line.keep, n = c.line.n, last = c.line.stages - 1, mixed = c.shape.mixed;
    const int width = (int)min(c.rows - first, (int64_t)c.count);
    const row_lines lines = {width * mixed, width * mixed};
    from += (array * c.rows + first) * keep;
    to += (array * c.rows + first) * keep;
    spectrum += first * n;
    auto row_of = [&](int line) { /* its first number */
                                  const int place = (int)c.by_mixed.quotient((unsigned)line);
                                  return (line - place * mixed) * c.between + place * keep;
    };
    auto begun = [&](const lmr_cuda_stage &s, int at, int line) {
        return places<cx<T>, int>{shared + line * c.pitch + at, s.step + c.line.gap};
    };
    auto place_of = [&](int at) { return at + (int)c.line.by_part.quotient((unsigned)at) * c.line.gap; };
    auto held = [&](const lmr_cuda_stage &s, int at, int line) {
        return places<cx<T>, int>{shared + line * c.pitch + place_of(at), s.step};
    };
    auto read = [&](const lmr_cuda_stage &s, int at, int line) {
        return places<const cx<T>, int>{from + row_of(line) + at, s.step};
    };
    auto write = [&](const lmr_cuda_stage &s, int at, int line) {
        return places<cx<T>, int>{to + row_of(line) + at, s.step};
    };
    const bool half = 2 * keep == n && c.line.stage[0].radix % 2 == 0;
    for (int i = 0; i <= last; i++) {
        const lmr_cuda_stage &s = c.line.stage[i];
        with_radix(s.radix, [&](auto r) {
            constexpr int R = decltype(r)::value;
            if (i == last)
                stage<R, -1, LAST>(lines, s, 0, roots, held, held);
            else if (i)
                stage<R, -1, MIDDLE>(lines, s, 0, roots, held, held);
            else if (half)
                stage<R, -1, HALF>(lines, s, 0, roots, read, begun);
            else
                stage<R, -1, FIRST>(lines, s, keep, roots, read, begun);
        });
        __syncthreads();
    }
    mix_rows(c, width, spectrum, shared, place_of);
    for (int i = last; i >= 0; i--) {
        __syncthreads();
        const lmr_cuda_stage &s = c.line.stage[i];
        with_radix(s.radix, [&](auto r) {
            constexpr int R = decltype(r)::value;
            if (i == last)
                stage<R, 1, LAST>(lines, s, 0, roots, held, held);
            else if (i)
                stage<R, 1, MIDDLE>(lines, s, 0, roots, held, held);
            else if (half)
                stage<R, 1, HALF>(lines, s, 0, roots, begun, write);
            else
                stage<R, 1, FIRST>(lines, s, keep, roots, begun, write);
        });
    }
}

/* in_place: each frequency where the transform leaves it. */
template <typename T> __global__ void order_kernel(const __grid_constant__ three<lmr_cuda_line> lines, bool in_place,
                                                   T scale, int part, const cx<T> *__restrict__ from,
                                                   T *__restrict__ spectrum)
{
    const int64_t n0 = lines.v[0].n, n1 = lines.v[1].n, n2 = lines.v[2].n;
    for (int64_t i = first_index(); i < n0 * n1 * n2; i += index_stride()) {
        const int64_t row = i / n0, z = row / n1;
        const int x = (int)(i - row * n0), y = (int)(row - z * n1);
        const int64_t cell =
            lmr_cuda_line_frequency(lines.v[0], x) +
            n0 * (lmr_cuda_line_frequency(lines.v[1], y) + n1 * lmr_cuda_line_frequency(lines.v[2], (int)z));
        const int kept_at = in_place ? x : lmr_cuda_line_kept_at(lines.v[0], x);
        spectrum[row * n0 + kept_at] = scale * (part ? from[cell].im : from[cell].re);
    }
}

/* ---- sizes ---- */

enum { COLUMN_BYTES = 64 << 10, ROW_BYTES = 48 << 10, MOST_ROWS = 16 };
/* Of the arrays of a pass. Two arrays beside each other read a matrix of spectra once. */
const int64_t most_grid = INT64_C(1) << 30, most_mixed_grid = INT64_C(4) << 30, most_plane_grid = INT64_C(32) << 20;

template <typename T> struct convolver {
    lmr_cuda *c;
    int ndim;
    three<lmr_cuda_line> line;
    lmr_conv_shape shape;
    int64_t batch, at_once, kept, cells,
        spread;    /* numbers of an array, of the whole grid, and of what is held of it */
    int64_t parts; /* planes of one set of matrices */
    int lanes_log2[3], rows;
    lmr_cuda_scratch<T> spectrum;
    lmr_cuda_scratch<cx<T>> grid, roots[3];
};

/* Whether the lines fit into shared memory, and how many at a time. */
template <typename T> bool measure(const lmr_cuda *c, const lmr_conv_shape *shape, convolver<T> *v)
{
    const int number = (int)sizeof(cx<T>), optin = (int)c->properties.sharedMemPerBlockOptin;
    if (shape->mixed > MOST_MIXED) return false;
    v->shape = *shape;
    v->parts = lmr_conv_planes(shape);
    v->ndim = shape->ndim;
    v->batch = shape->batch;
    v->kept = v->cells = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t n = a < shape->ndim ? shape->dim[a] : 1;
        const int64_t keep = a < shape->ndim ? shape->keep[a] : 1;
        v->line.v[a] = {};
        v->line.v[a].n = v->line.v[a].keep = 1;
        if (a < shape->ndim && (n > optin / number || !lmr_cuda_make_line(n, keep, number, false, &v->line.v[a])))
            return false;
        v->kept *= keep;
        v->cells *= n;
    }
    v->spread = v->cells / v->line.v[0].n * v->line.v[0].keep;
    const int row = lmr_cuda_line_pitch(v->line.v[0]) * number * shape->mixed;
    if (row > optin) return false;
    v->rows = std::max(1, std::min<int>(MOST_ROWS, ROW_BYTES / row));
    for (int a = 1; a < shape->ndim; a++) {
        int log2 = sizeof(T) == 4 ? 4 : 3;
        while (log2 > 1 && ((v->line.v[a].n * number) << log2 > COLUMN_BYTES || v->line.v[0].keep < 1 << log2))
            log2--;
        if ((int64_t)(v->line.v[a].n * number) << log2 > optin) return false;
        v->lanes_log2[a] = log2;
    }
    const int64_t one = v->spread * number * shape->mixed;
    const int64_t most_volumes = shape->mixed > 1 ? most_mixed_grid : most_grid;
    const int64_t most = shape->ndim > 2 ? most_volumes : most_plane_grid;
    v->at_once = std::max<int64_t>(1, std::min(most / one, v->batch));
    return v->spread / v->line.v[0].keep < INT_MAX / MOST_ROWS / (v->at_once * shape->mixed);
}

/* ---- launches ---- */

template <typename T, int SIGN> larmor_status run_columns(const convolver<T> *v, int a, int64_t arrays,
                                                          const strides &from, const strides &to, int64_t others,
                                                          const cx<T> *x, cx<T> *y)
{
    columns c = {v->line.v[a], v->line.v[0].keep, 0, others, arrays, v->lanes_log2[a], from, to};
    c.tiles = (c.width - 1) / (1 << c.lanes_log2) + 1;
    const int bytes = (c.line.n * (int)sizeof(cx<T>)) << c.lanes_log2;
    columns_kernel<T, SIGN><<<(unsigned)(c.tiles * others * arrays * v->shape.mixed), THREADS, bytes, v->c->stream>>>(
        c, v->roots[a].get(), x, y);
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> larmor_status run_mixed_rows(const convolver<T> *v, int64_t arrays, int64_t between,
                                                   const T *spectrum, const cx<T> *x, cx<T> *y)
{
    const lmr_cuda_line &line = v->line.v[0];
    const mixed_rows c = {
        line,        v->shape, lmr_cuda_divide_by(v->shape.mixed), v->cells / line.n, v->cells, between,
        (int)arrays, v->rows,  lmr_cuda_line_pitch(line)};
    const int bytes = c.count * c.pitch * v->shape.mixed * (int)sizeof(cx<T>);
    mixed_rows_kernel<T><<<(unsigned)(((c.rows - 1) / c.count + 1) * arrays), THREADS, bytes, v->c->stream>>>(
        c, v->roots[0].get(), spectrum, x, y);
    return CUDA_STATUS(cudaGetLastError());
}

/* between: numbers from an array to that which it is mixed with. */
template <typename T> larmor_status run_rows(const convolver<T> *v, int64_t arrays, int64_t between,
                                             const T *spectrum, const cx<T> *x, cx<T> *y)
{
    const lmr_cuda_line &line = v->line.v[0];
    if (v->shape.mixed > 1) return run_mixed_rows(v, arrays, between, spectrum, x, y);
    const filtered_rows c = {line, v->cells / line.n, (int)arrays, v->rows, lmr_cuda_line_pitch(line)};
    const int bytes = c.count * c.pitch * (int)sizeof(cx<T>);
    rows_kernel<T><<<(unsigned)(((c.rows - 1) / c.count + 1) * arrays), THREADS, bytes, v->c->stream>>>(
        c, v->roots[0].get(), spectrum, x, y);
    return CUDA_STATUS(cudaGetLastError());
}

/* The grid [keep, n1, n2] holds the columns of the last axis at the places of the second one's beginning. */
template <typename T>
larmor_status run(const convolver<T> *v, int64_t arrays, const T *spectrum, const cx<T> *x, cx<T> *y)
{
    const int64_t keep0 = v->line.v[0].keep, keep1 = v->line.v[1].keep, n1 = v->line.v[1].n, n2 = v->line.v[2].n;
    cx<T> *const grid = v->grid.get();
    const int64_t between = v->kept * v->batch, passed = v->spread * arrays; /* from one that is mixed to the next */
    if (v->ndim == 1) return run_rows(v, arrays, between, spectrum, x, y);
    const strides planes_of_array = {keep0 * keep1, keep0, v->kept, between};
    const strides planes_of_grid = {keep0 * n1, keep0, v->spread, passed};
    const strides lines_of_array = {keep0, v->kept, v->kept, between};
    const strides lines_of_grid = {keep0, keep0 * n1, v->spread, passed};
    const bool deep = v->ndim > 2;
    if (deep) LMR_TRY((run_columns<T, -1>(v, 2, arrays, planes_of_array, planes_of_grid, keep1, x, grid)));
    LMR_TRY((run_columns<T, -1>(v, 1, arrays, deep ? lines_of_grid : lines_of_array, lines_of_grid, n2,
                                deep ? grid : x, grid)));
    LMR_TRY(run_rows(v, arrays, passed, spectrum, grid, grid));
    LMR_TRY((run_columns<T, 1>(v, 1, arrays, lines_of_grid, deep ? lines_of_grid : lines_of_array, n2, grid,
                               deep ? grid : y)));
    if (!deep) return LARMOR_OK;
    return run_columns<T, 1>(v, 2, arrays, planes_of_grid, planes_of_array, keep1, grid, y);
}

template <typename T> larmor_status exec(void *ctx, void *plan, int which, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    (void)c;
    const auto *v = static_cast<const convolver<T> *>(plan);
    for (int64_t first = 0; first < v->batch; first += v->at_once)
        LMR_TRY(run(v, std::min(v->batch - first, v->at_once), v->spectrum.get() + which * v->parts * v->cells,
                    in<T>(x) + first * v->kept, out<T>(y) + first * v->kept));
    return LARMOR_OK;
}

template <typename T> larmor_status set(void *ctx, void *plan, int plane, double scale, int part, const void *cells)
{
    LMR_CUDA_ENTER(c, ctx);
    auto *v = static_cast<convolver<T> *>(plan);
    order_kernel<T><<<blocks(v->cells), THREADS, 0, c->stream>>>(v->line, v->shape.mixed > 1, (T)scale, part,
                                                                 in<T>(cells), v->spectrum.get() + plane * v->cells);
    return CUDA_STATUS(cudaGetLastError());
}

/* ---- life ---- */

template <typename T> larmor_status make_roots(convolver<T> *v, int axis)
{
    const int n = v->line.v[axis].n;
    const std::vector<cx<T>> roots = lmr_cuda_line_roots<T>(n);
    LMR_TRY(v->roots[axis].allocate(v->c, n));
    CUDA_TRY(cudaMemcpyAsync(v->roots[axis].get(), roots.data(), (size_t)n * sizeof(cx<T>), cudaMemcpyHostToDevice,
                             v->c->stream));
    return CUDA_STATUS(cudaStreamSynchronize(v->c->stream));
}

/* All of a block's shared memory for the kernels, which any plan may need. */
template <typename T> larmor_status allow_memory(const lmr_cuda *c)
{
    const int most = (int)c->properties.sharedMemPerBlockOptin;
    const cudaFuncAttribute what = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(cudaFuncSetAttribute(columns_kernel<T, -1>, what, most));
    CUDA_TRY(cudaFuncSetAttribute(columns_kernel<T, 1>, what, most));
    CUDA_TRY(cudaFuncSetAttribute(rows_kernel<T>, what, most));
    return CUDA_STATUS(cudaFuncSetAttribute(mixed_rows_kernel<T>, what, most));
}

template <typename T> larmor_status plan(void *ctx, const lmr_conv_shape *shape, void **out)
{
    *out = nullptr;
    LMR_CUDA_ENTER(c, ctx);
    std::unique_ptr<convolver<T>> v(new (std::nothrow) convolver<T>);
    if (!v) return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    if (!measure(c, shape, v.get())) return LMR_CUDA_FAIL(LARMOR_ERR_UNSUPPORTED, "conv: lines that do not fit");
    v->c = c;
    LMR_TRY(allow_memory<T>(c));
    for (int a = 0; a < shape->ndim; a++) LMR_TRY(make_roots(v.get(), a));
    LMR_TRY(v->spectrum.allocate(c, v->cells * v->parts * shape->spectra));
    if (shape->ndim > 1) LMR_TRY(v->grid.allocate(c, v->spread * v->at_once * shape->mixed));
    *out = v.release();
    return LARMOR_OK;
}

template <typename T> void destroy(void *ctx, void *plan)
{
    auto *c = static_cast<lmr_cuda *>(ctx);
    if (plan && !cudaSetDevice(c->ordinal)) delete static_cast<convolver<T> *>(plan);
}

/* -1: the lines do not fit. */
template <typename T> double bytes(void *ctx, const lmr_conv_shape *shape)
{
    convolver<T> v;
    if (!measure(static_cast<lmr_cuda *>(ctx), shape, &v)) return -1;
    const double grid = shape->ndim > 1 ? (double)v.spread * (double)v.at_once * shape->mixed : 0;
    return ((double)v.cells * (double)v.parts * shape->spectra + 2 * grid) * sizeof(T) + 0x1p20;
}

template <typename T> constexpr lmr_conv table = {plan<T>, set<T>, exec<T>, destroy<T>, bytes<T>, nullptr};

} // namespace

const lmr_conv lmr_cuda_lines_f32 = table<float>, lmr_cuda_lines_f64 = table<double>;
