/* What the NUFFT's CUDA files share: sorted points, the window's values, tiles. Only for .cu and .cuh files.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/cuda/cuda.cuh"
#include "nufft/precompute_kernels.h"
#include "nufft/window.h"

/* Some consecutive points of one bin: the work of a thread block. */
struct lmr_cuda_piece {
    uint32_t bin, first, count;
};

/* Points in the order of bins of the grid's cells, of pieces within a bin and of cells within a piece. A point lies
 * in the bin of its first cell, so that its window reaches from there into the bin's tile, of bin + width - 1 cells.
 */
struct lmr_cuda_points {
    int64_t m;
    int spread, interp;    /* methods, none of them automatic */
    int bin[3], extent[3]; /* sides of a bin and of a tile, 1 beyond ndim */
    uint32_t bins[3];
    bool matrix;                                          /* whether matrix instructions read the tile */
    bool spread_matrix;                                   /* and whether owners are warps that use them */
    int pitch, plane;                                     /* strides of a tile in shared memory, in complex numbers */
    int64_t pieces;                                       /* 0 for LMR_NUFFT_GM */
    lmr_cuda_piece *piece;                                /* device, as all below */
    uint32_t *index;                                      /* [m]: of the points' values */
    uint32_t *at;                                         /* [m]: first cell, relative to the bin, by lmr_cuda_pack */
    uint32_t *bin_of;                                     /* [m], or NULL where no method asks for it */
    void *t[3];                                           /* [m] reals: argument of the window's polynomials */
    const void *stored;                                   /* reals [32, width, ndim, m / 32]: its values, or NULL */
    double window[LMR_WINDOW_DEGREE + 1][LMR_WINDOW_MAX]; /* host: their coefficients, that of t^0 first */
};

/* The two steps, on c's stream; explicit instances in spread_[123]d.cu and interp_[123]d.cu. The grid is zero when
 * spreading begins. */
template <typename T, int D> larmor_status lmr_cuda_spread(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                           const lmr_cuda_points *p, int64_t batch,
                                                           const cx<T> *values, cx<T> *cells);
template <typename T, int D> larmor_status lmr_cuda_interp(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                           const lmr_cuda_points *p, int64_t batch,
                                                           const cx<T> *cells, cx<T> *values);

/* spread and interp of the table, for g->ndim dimensions. */
template <typename T> larmor_status lmr_cuda_spread_points(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                           const lmr_cuda_points *p, int64_t batch,
                                                           const void *values, void *cells);
template <typename T> larmor_status lmr_cuda_interp_points(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                           const lmr_cuda_points *p, int64_t batch, const void *cells,
                                                           void *values);

/* sort and release of the table. */
template <typename T> larmor_status lmr_cuda_sort(void *ctx, const lmr_nufft_geometry *g, int64_t m, int is_double,
                                                  const void *points, int64_t *bad, void **sorted);
void lmr_cuda_release_points(void *ctx, void *sorted);

/* crop and pad of the table. */
template <typename T>
larmor_status lmr_cuda_crop(void *ctx, const lmr_nufft_geometry *g, int64_t batch, const void *cells, void *modes);
template <typename T>
larmor_status lmr_cuda_pad(void *ctx, const lmr_nufft_geometry *g, int64_t batch, const void *modes, void *cells);

/* collect, methods and type 3's part of the table. */
void lmr_cuda_methods(const void *sorted, lmr_nufft_method *spread, lmr_nufft_method *interp);
larmor_status lmr_cuda_collect(void *ctx, int64_t count, const int64_t *at, int width, const void *points, void *out);
larmor_status lmr_cuda_extent(void *ctx, int ndim, int64_t m, int is_double, const void *points, double low[3],
                              double high[3], int64_t *bad);
larmor_status lmr_cuda_rescale(void *ctx, int ndim, int64_t m, int is_double, const void *points,
                               const double from[3], const double scale[3], double *to);
template <typename T> larmor_status lmr_cuda_phases(void *ctx, const lmr_nufft_phases *w, int64_t m, int is_double,
                                                    const void *points, void *out);
template <typename T>
larmor_status lmr_cuda_modulate(void *ctx, int64_t m, int64_t batch, const void *d, int conj, const void *x, void *y);

namespace
{

/* ---- limits ---- */

/* A cell within its bin in 32 bits. */
enum { PACK_X = 12, PACK_Y = 10, MOST_X = 1 << PACK_X, MOST_YZ = 1 << PACK_Y };

/* Bins whose tiles suit threads that own columns: a warp's width, or in three dimensions a plane of 512 threads at
 * most. */
constexpr int owner_bin(int ndim, int width)
{
    if (ndim < 3) return 33 - width;
    return width < 16 ? 8 : 7;
}

/* Points whose stored values lie side by side. */
constexpr uint32_t stored_group = 32;

/* Most points of a piece. */
constexpr int most_points = 2048;

/* The polynomials' degree in kernels: more than any window of these widths needs, see fit_degree in sort.cu. */
template <typename T, int W> constexpr int window_degree = std::is_same_v<T, float> &&W > 5 ? 8 : W + 3;

/* ---- what kernels are given ---- */

template <typename T> struct view {
    int64_t m, cells[3];
    int bin[3], extent[3], pitch, plane;
    uint32_t bins[3];
    const lmr_cuda_piece *piece;
    const uint32_t *index, *at, *bin_of;
    const T *t[3], *stored;
};

template <typename T> view<T> view_of(const lmr_nufft_geometry *g, const lmr_cuda_points *p)
{
    view<T> v = {};
    v.m = p->m;
    v.pitch = p->pitch;
    v.plane = p->plane;
    v.piece = p->piece;
    v.index = p->index;
    v.at = p->at;
    v.bin_of = p->bin_of;
    v.stored = static_cast<const T *>(p->stored);
    for (int d = 0; d < 3; d++) {
        v.cells[d] = g->cells[d];
        v.bin[d] = p->bin[d];
        v.extent[d] = p->extent[d];
        v.bins[d] = p->bins[d];
        v.t[d] = static_cast<const T *>(p->t[d]);
    }
    return v;
}

/* As a kernel's argument it lies in constant memory, where multiply-adds take it from. */
template <typename T, int W> struct window_table {
    T c[window_degree<T, W> + 1][W];
};

template <typename T, int W> window_table<T, W> window_of(const lmr_cuda_points *p)
{
    window_table<T, W> table;
    for (int k = 0; k <= window_degree<T, W>; k++)
        for (int l = 0; l < W; l++) table.c[k][l] = (T)p->window[k][l];
    return table;
}

/* ---- small things for kernels ---- */

/* Values FROM .. FROM + N - 1 of the window, those past its end excluded. */
template <int FROM, int N, typename T, int W>
__device__ __forceinline__ void window_part(const window_table<T, W> &table, T t, T (&k)[N])
{
    constexpr int degree = window_degree<T, W>;
    constexpr int count = FROM + N < W ? N : W - FROM;
#pragma unroll
    for (int l = 0; l < count; l++) k[l] = table.c[degree][FROM + l];
#pragma unroll
    for (int n = degree - 1; n >= 0; n--) {
#pragma unroll
        for (int l = 0; l < count; l++) k[l] = k[l] * t + table.c[n][FROM + l];
    }
}

/* The first stored value of point j along dimension d; the others follow at multiples of the group. So a warp reads
 * whole lines, and the compiler knows the distances: one address is enough. */
template <int D, int W, typename T>
__device__ __forceinline__ const T *stored_values(const view<T> &v, int d, uint32_t j)
{
    return v.stored + (int64_t)(j / stored_group * D + d) * (W * stored_group) + j % stored_group;
}

/* The first becomes the last: lets a loop that is not unrolled take its numbers from registers. */
template <typename T, int W> __device__ __forceinline__ void rotate(T (&k)[W])
{
    const T first = k[0];
#pragma unroll
    for (int l = 0; l + 1 < W; l++) k[l] = k[l + 1];
    k[W - 1] = first;
}

struct cell {
    int x, y, z;
};

__host__ __device__ inline uint32_t pack(cell c)
{
    return (uint32_t)c.x | (uint32_t)c.y << PACK_X | (uint32_t)c.z << (PACK_X + PACK_Y);
}

__device__ __forceinline__ cell unpack(uint32_t at)
{
    return {(int)(at % MOST_X), (int)(at / MOST_X % MOST_YZ), (int)(at / ((uint32_t)MOST_X * MOST_YZ))};
}

/* First cell of a bin on the grid. */
struct place {
    int64_t x, y, z;
};

template <typename T> __device__ __forceinline__ place origin_of(const view<T> &v, uint32_t bin)
{
    const uint32_t row = bin / v.bins[0];
    return {(int64_t)(bin - row * v.bins[0]) * v.bin[0], (int64_t)(row % v.bins[1]) * v.bin[1],
            (int64_t)(row / v.bins[1]) * v.bin[2]};
}

/* i folded to 0 .. n - 1; tiles reach past the grid by less than once its size. */
__device__ __forceinline__ int64_t wrap(int64_t i, int64_t n)
{
    return i < n ? i : i - n;
}

/* The kernel values of one point: k[d] for the dimensions that there are, stored or computed. Kernels that ask at run
 * time need not be compiled twice. */
template <typename T, int D, int W> struct point_window {
    T k[D][W];
    __device__ __forceinline__ void read(const view<T> &v, int64_t j)
    {
        const T *const from = stored_values<D, W>(v, 0, (uint32_t)j);
#pragma unroll
        for (int i = 0; i < D * W; i++) k[i / W][i % W] = from[i * stored_group];
    }
    __device__ __forceinline__ void compute(const window_table<T, W> &table, const T (&t)[D])
    {
#pragma unroll
        for (int d = 0; d < D; d++) window_part<0>(table, t[d], k[d]);
    }
    __device__ __forceinline__ void compute(const view<T> &v, const window_table<T, W> &table, int64_t j)
    {
        T t[D];
#pragma unroll
        for (int d = 0; d < D; d++) t[d] = v.t[d][j];
        compute(table, t);
    }
    __device__ __forceinline__ void read_or_compute(const view<T> &v, const window_table<T, W> &table, int64_t j)
    {
        if (v.stored)
            read(v, j);
        else
            compute(v, table, j);
    }
};

/* Rows and planes of the window's box. */
template <int D, int W> constexpr int box_rows = D > 1 ? W : 1;
template <int D, int W> constexpr int box_planes = D > 2 ? W : 1;

/* Call visit(row, plane, the product of the row's and the plane's value) for all rows of a point's box. Values rotate
 * in their registers, so that loops over rows need not be unrolled; afterwards they are as before. */
template <typename T, int D, int W, typename Visit>
__device__ __forceinline__ void for_rows(point_window<T, D, W> &w, Visit visit)
{
#pragma unroll 1
    for (int z = 0; z < box_planes<D, W>; z++) {
#pragma unroll 1
        for (int y = 0; y < box_rows<D, W>; y++) {
            T side = 1;
            if constexpr (D > 1) side = w.k[D - 1][0];
            if constexpr (D > 2) side = w.k[D - 2][0] * side;
            visit(y, z, side);
            if constexpr (D > 1) rotate(w.k[1]);
        }
        if constexpr (D > 2) rotate(w.k[2]);
    }
}

/* *to += v on the grid. */
__device__ __forceinline__ void add_to_grid(cx<float> *to, cx<float> v)
{
#if __CUDA_ARCH__ >= 900
    atomicAdd(reinterpret_cast<float2 *>(to), make_float2(v.re, v.im));
#else
    atomicAdd(&to->re, v.re);
    atomicAdd(&to->im, v.im);
#endif
}
__device__ __forceinline__ void add_to_grid(cx<double> *to, cx<double> v)
{
    atomicAdd(&to->re, v.re);
    atomicAdd(&to->im, v.im);
}

/* ---- for launches ---- */

/* Let a kernel have this much shared memory, and the multiprocessor prefer it to cache. What it may have is never
 * lowered, because another thread may be about to launch it on the same device. */
template <typename Kernel> larmor_status allow_shared(Kernel *kernel, size_t bytes)
{
    const auto function = reinterpret_cast<const void *>(kernel);
    cudaFuncAttributes now;
    int device, most;
    CUDA_TRY(cudaFuncGetAttributes(&now, function));
    if (now.preferredShmemCarveout == cudaSharedmemCarveoutMaxShared &&
        (size_t)now.maxDynamicSharedSizeBytes >= bytes)
        return LARMOR_OK;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    CUDA_TRY(
        cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, most - (int)now.sharedSizeBytes));
    CUDA_TRY(cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared));
    return LARMOR_OK;
}

inline size_t tile_bytes(const lmr_cuda_points *p, size_t size)
{
    return (size_t)p->plane * (size_t)p->extent[2] * size;
}

/* Transforms whose tiles a block holds at once: several blocks should still fit on a multiprocessor. */
inline int tile_batch_of(const lmr_cuda *c, const lmr_cuda_points *p, int64_t batch, size_t size)
{
    const auto fitting = (int64_t)(c->properties.sharedMemPerMultiprocessor / 4 / tile_bytes(p, size));
    return (int)std::max<int64_t>(1, std::min<int64_t>(batch, std::min<int64_t>(fitting, 8)));
}

/* Call launch(first, count) for runs of the batch that a grid's second dimension can take, `tile_batch` a block. */
template <typename Launch> larmor_status for_batches(int64_t batch, int tile_batch, Launch launch)
{
    const int64_t most = (int64_t)65535 * tile_batch;
    for (int64_t first = 0; first < batch; first += most) LMR_TRY(launch(first, std::min(batch - first, most)));
    return LARMOR_OK;
}

/* call(std::integral_constant<int, width>()): widths are template arguments. */
template <typename Call> larmor_status with_width(int width, Call call)
{
    larmor_status st = LARMOR_ERR_UNSUPPORTED;
    [&]<int... I>(std::integer_sequence<int, I...>)
    {
        (void)((width == LMR_WINDOW_MIN + I &&
                (st = call(std::integral_constant<int, LMR_WINDOW_MIN + I>()), true)) ||
               ...);
    }
    (std::make_integer_sequence<int, LMR_WINDOW_MAX - LMR_WINDOW_MIN + 1>());
    return st;
}

} // namespace
