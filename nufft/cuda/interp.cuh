/* Interpolation by the methods of cuFINUFFT (Shih et al., 2021): GM and GM-sort, a thread per point reading the grid
 * in global memory, and SM, where a block reads for a piece of points from a tile in shared memory.
 *
 * Floor of SM: w^d complex numbers a point from shared memory, 128 bytes a clock and multiprocessor: for 1e7 points
 * on an H200 in 3 dimensions 0.5 ms (float, w = 6), 5 ms (double, w = 10), 14 ms (double, w = 14), without bank
 * conflicts. In 2 dimensions the scatter of the values to the points' own order is the floor, 0.26 ms if that is
 * random. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <cuda_pipeline_primitives.h>

#include "nufft/cuda/box.cuh"
#include "nufft/cuda/interp_matrix.cuh"
#include "nufft/cuda/tile.cuh"

namespace
{

/* Sum of window times cells along a row of the box; cell(x) reads them. */
template <typename T, int W, typename Cell> __device__ __forceinline__ cx<T> row_sum(const T (&k)[W], Cell cell)
{
    cx<T> sum = {0, 0};
#pragma unroll
    for (int x = 0; x < W; x++) {
        const cx<T> value = cell(x);
        sum.re += k[x] * value.re;
        sum.im += k[x] * value.im;
    }
    return sum;
}

/* ---- from a tile ---- */

/* Sum over the box that begins at `from` in the tile. Rows of a plane are unrolled: the loads of several are under
 * way. */
template <typename T, int D, int W>
__device__ __forceinline__ cx<T> tile_sum(const view<T> &v, point_window<T, D, W> &w, const cx<T> *from)
{
    cx<T> total = {0, 0};
#pragma unroll(W <= 6 ? box_planes <D, W> : 1)
    for (int z = 0; z < box_planes<D, W>; z++, from += v.plane) {
        cx<T> plane = {0, 0};
#pragma unroll
        for (int y = 0; y < box_rows<D, W>; y++) {
            const cx<T> sum = row_sum(w.k[0], [&](int x) { return from[y * v.pitch + x]; });
            const T side = D > 1 ? w.k[D > 1][y] : 1;
            plane.re += side * sum.re;
            plane.im += side * sum.im;
        }
        const T side = D > 2 ? w.k[D - 1][0] : 1;
        total.re += side * plane.re;
        total.im += side * plane.im;
        if constexpr (D > 2) rotate(w.k[2]);
    }
    return total;
}

/* Large tiles leave room for few blocks on a multiprocessor: these must have enough threads. */
template <int D> constexpr int interp_threads = D == 3 ? 256 : 128;

/* Blocks that registers leave room for where tiles do, in single precision, which are small where points are
 * dense; 0: as the compiler likes. */
template <typename T, int D, int W> constexpr int crowded_blocks =
    D == 3 && std::is_same_v<T, float> &&W <= 7 ? 5 : 0;

/* A point that a thread will need next: asked for before the sum of the one before it. */
template <typename T, int D> struct coming {
    uint32_t at, index;
    T t[D];
    __device__ __forceinline__ void load(const view<T> &v, int64_t j, bool stored)
    {
        at = v.at[j];
        index = v.index[j];
#pragma unroll
        for (int d = 0; d < D; d++) t[d] = stored ? T{0} : v.t[d][j];
    }
};

/* Not asked at run time whether values are stored: that would take registers, and blocks, from the usual case. */
template <typename T, int D, int W, bool STORED, int BLOCKS>
__global__ void __launch_bounds__(interp_threads<D>, BLOCKS)
    interp_tile_kernel(const __grid_constant__ view<T> v, const __grid_constant__ window_table<T, W> table,
                       int64_t batch, int tile_batch, const cx<T> *__restrict__ cells, cx<T> *__restrict__ values)
{
    extern __shared__ __align__(16) unsigned char shared[];
    cx<T> *const tile = reinterpret_cast<cx<T> *>(shared);
    const lmr_cuda_piece job = v.piece[blockIdx.x];
    const int64_t transform = (int64_t)blockIdx.y * tile_batch;
    const int now = (int)min((int64_t)tile_batch, batch - transform), size = v.plane * v.extent[2];
    const cx<T> *const grid = cells + transform * v.cells[0] * v.cells[1] * v.cells[2];
    coming<T, D> next = {};
    if (threadIdx.x < job.count) next.load(v, (int64_t)job.first + threadIdx.x, STORED);
    for_tile(v, job.bin, now,
             [&](int to, int64_t from) { __pipeline_memcpy_async(tile + to, grid + from, sizeof *tile); });
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (uint32_t p = threadIdx.x; p < job.count; p += interp_threads<D>) {
        const int64_t j = (int64_t)job.first + p;
        const coming<T, D> point = next;
        if (p + interp_threads<D> < job.count) next.load(v, j + interp_threads<D>, STORED);
        point_window<T, D, W> w;
        if constexpr (STORED)
            w.read(v, j);
        else
            w.compute(table, point.t);
        const cx<T> *from = tile + offset_in_tile(v, point.at);
        cx<T> *to = values + transform * v.m + point.index;
        for (int b = 0; b < now; b++, from += size, to += v.m) *to = tile_sum(v, w, from);
    }
}

template <typename T, int D, int W> larmor_status interp_tile(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                              const lmr_cuda_points *p, int64_t batch,
                                                              const cx<T> *cells, cx<T> *values)
{
    const int tile_batch = tile_batch_of(c, p, batch, sizeof *cells);
    const size_t bytes = (size_t)tile_batch * tile_bytes(p, sizeof *cells);
    const int64_t grid = g->cells[0] * g->cells[1] * g->cells[2];
    constexpr int many = crowded_blocks<T, D, W>;
    const bool crowded = many > 0 && many * bytes <= c->properties.sharedMemPerMultiprocessor;
    auto kernel = p->stored ? interp_tile_kernel<T, D, W, true, 0> : interp_tile_kernel<T, D, W, false, 0>;
    if (crowded)
        kernel = p->stored ? interp_tile_kernel<T, D, W, true, many> : interp_tile_kernel<T, D, W, false, many>;
    LMR_TRY(allow_shared(kernel, bytes));
    return for_batches(batch, tile_batch, [&](int64_t b, int64_t now) {
        const dim3 launch((unsigned)p->pieces, (unsigned)((now + tile_batch - 1) / tile_batch));
        kernel<<<launch, interp_threads<D>, bytes, c->stream>>>(view_of<T>(g, p), window_of<T, W>(p), now, tile_batch,
                                                                cells + b * grid, values + b * p->m);
        CUDA_TRY(cudaGetLastError());
        return LARMOR_OK;
    });
}

/* ---- from the grid ---- */

template <typename T, int D, int W> __global__ void __launch_bounds__(gm_threads)
    interp_gm_kernel(const __grid_constant__ view<T> v, const __grid_constant__ window_table<T, W> table,
                     int64_t batch, const cx<T> *__restrict__ cells, cx<T> *__restrict__ values)
{
    const int64_t grid = v.cells[0] * v.cells[1] * v.cells[2];
    for (int64_t j = first_index(); j < v.m; j += index_stride()) {
        const uint32_t index = v.index[j];
        const box<D, W> from(v, j);
        point_window<T, D, W> w;
        w.read_or_compute(v, table, j);
        for (int64_t b = 0; b < batch; b++) {
            cx<T> total = {0, 0};
            for_rows(w, [&](int y, int z, T side) {
                const cx<T> *const row = cells + b * grid + from.row(y, z);
                const cx<T> sum = row_sum(w.k[0], [&](int x) { return row[from.x(x)]; });
                total.re += side * sum.re;
                total.im += side * sum.im;
            });
            values[b * v.m + index] = total;
        }
    }
}

template <typename T, int D, int W> larmor_status interp_gm(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                            const lmr_cuda_points *p, int64_t batch,
                                                            const cx<T> *cells, cx<T> *values)
{
    interp_gm_kernel<T, D, W><<<blocks(p->m, gm_threads), gm_threads, 0, c->stream>>>(
        view_of<T>(g, p), window_of<T, W>(p), batch, cells, values);
    return CUDA_STATUS(cudaGetLastError());
}

} // namespace

template <typename T, int D> larmor_status lmr_cuda_interp(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                           const lmr_cuda_points *p, int64_t batch,
                                                           const cx<T> *cells, cx<T> *values)
{
    return with_width(g->width, [&](auto width) {
        constexpr int W = decltype(width)::value;
        if constexpr (D == 3 && std::is_same_v<T, double> && W >= least_matrix_width)
            if (p->interp == LMR_NUFFT_SM && p->matrix) return interp_matrix<W>(c, g, p, batch, cells, values);
        if (p->interp == LMR_NUFFT_SM) return interp_tile<T, D, W>(c, g, p, batch, cells, values);
        return interp_gm<T, D, W>(c, g, p, batch, cells, values);
    });
}
