/* Spreading by the methods GM and GM-sort of cuFINUFFT (Shih et al., 2021): atomics on the grid in global memory,
 * w^d for each point. GM-sort is the same kernel on sorted points. It is the best where points are so few that
 * tiles would be mostly empty.
 *
 * Lanes of a warp share a point, one for each cell along x, so that an atomic of a warp touches whole sectors of the
 * rows: their number is what the L2 cache takes time for, and a thread for each point would touch four times as many.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <bit>

#include "nufft/cuda/box.cuh"

namespace
{

/* Lanes of a point: a power of two. */
template <int W> constexpr int gm_lanes = std::max(2, (int)std::bit_ceil((unsigned)W));

/* values[i], without an array that is indexed at run time. */
template <typename T, int W> __device__ __forceinline__ T pick(const T (&values)[W], int i)
{
    T picked = values[0];
#pragma unroll
    for (int l = 1; l < W; l++) picked = i == l ? values[l] : picked;
    return picked;
}

template <typename T, int D, int W> __global__ void __launch_bounds__(gm_threads)
    spread_gm_kernel(const __grid_constant__ view<T> v, const __grid_constant__ window_table<T, W> table,
                     int64_t batch, const cx<T> *__restrict__ values, cx<T> *__restrict__ cells)
{
    constexpr int lanes = gm_lanes<W>;
    const int64_t grid = v.cells[0] * v.cells[1] * v.cells[2];
    const int x = (int)(threadIdx.x % lanes);
    if (x >= W) return;
    for (int64_t j = first_index() / lanes; j < v.m; j += index_stride() / lanes) {
        const uint32_t index = v.index[j];
        const box<D, W> to(v, j);
        point_window<T, D, W> w;
        w.read_or_compute(v, table, j);
        const T own = pick(w.k[0], x);
        for (int64_t b = 0; b < batch; b++) {
            const cx<T> value = values[b * v.m + index];
            const cx<T> scaled = {own * value.re, own * value.im};
            cx<T> *const column = cells + b * grid + to.x(x);
            for_rows(w, [&](int y, int z, T side) {
                add_to_grid(column + to.row(y, z), {side * scaled.re, side * scaled.im});
            });
        }
    }
}

template <typename T, int D, int W> larmor_status spread_gm(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                            const lmr_cuda_points *p, int64_t batch,
                                                            const cx<T> *values, cx<T> *cells)
{
    spread_gm_kernel<T, D, W><<<blocks(p->m * gm_lanes<W>, gm_threads), gm_threads, 0, c->stream>>>(
        view_of<T>(g, p), window_of<T, W>(p), batch, values, cells);
    return CUDA_STATUS(cudaGetLastError());
}

} // namespace
