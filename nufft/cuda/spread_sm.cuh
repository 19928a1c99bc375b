/* Spreading by the method SM of cuFINUFFT (Shih et al., 2021): a block adds a piece of points to a tile in shared
 * memory by atomics, a thread per point, then the tile to the grid.
 *
 * Shared atomics on floating-point numbers are loops of compare and swap on all GPUs so far: 2 w^d of them a point,
 * at 2 to 9 a clock and multiprocessor. Good where w^d is small. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "nufft/cuda/tile.cuh"

namespace
{

constexpr int sm_threads = 256;

template <typename T, int D, int W> __global__ void __launch_bounds__(sm_threads)
    spread_sm_kernel(const __grid_constant__ view<T> v, const __grid_constant__ window_table<T, W> table,
                     int64_t batch, int tile_batch, const cx<T> *__restrict__ values, cx<T> *__restrict__ cells)
{
    extern __shared__ __align__(16) unsigned char shared[];
    cx<T> *const tile = reinterpret_cast<cx<T> *>(shared);
    const lmr_cuda_piece job = v.piece[blockIdx.x];
    const int64_t transform = (int64_t)blockIdx.y * tile_batch;
    const int now = (int)min((int64_t)tile_batch, batch - transform), size = v.plane * v.extent[2];
    for (int i = threadIdx.x; i < now * size; i += sm_threads) tile[i] = {0, 0};
    __syncthreads();
    for (uint32_t p = threadIdx.x; p < job.count; p += sm_threads) {
        const int64_t j = (int64_t)job.first + p;
        const uint32_t index = v.index[j];
        cx<T> *to = tile + offset_in_tile(v, v.at[j]);
        point_window<T, D, W> w;
        w.read_or_compute(v, table, j);
        for (int b = 0; b < now; b++, to += size) {
            const cx<T> value = values[(transform + b) * v.m + index];
            for_rows(w, [&](int y, int z, T side) {
                const cx<T> scaled = {side * value.re, side * value.im};
                cx<T> *const row = to + z * v.plane + y * v.pitch;
#pragma unroll
                for (int x = 0; x < W; x++) {
                    atomicAdd(&row[x].re, w.k[0][x] * scaled.re);
                    atomicAdd(&row[x].im, w.k[0][x] * scaled.im);
                }
            });
        }
    }
    __syncthreads();
    cx<T> *const grid = cells + transform * v.cells[0] * v.cells[1] * v.cells[2];
    for_tile(v, job.bin, now, [&](int from, int64_t to) {
        const cx<T> sum = tile[from];
        if (sum.re != 0 || sum.im != 0) add_to_grid(grid + to, sum);
    });
}

template <typename T, int D, int W> larmor_status spread_sm(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                            const lmr_cuda_points *p, int64_t batch,
                                                            const cx<T> *values, cx<T> *cells)
{
    const auto kernel = spread_sm_kernel<T, D, W>;
    const int tile_batch = tile_batch_of(c, p, batch, sizeof *cells);
    const size_t bytes = (size_t)tile_batch * tile_bytes(p, sizeof *cells);
    const int64_t grid = g->cells[0] * g->cells[1] * g->cells[2];
    LMR_TRY(allow_shared(kernel, bytes));
    return for_batches(batch, tile_batch, [&](int64_t b, int64_t now) {
        const dim3 launch((unsigned)p->pieces, (unsigned)((now + tile_batch - 1) / tile_batch));
        kernel<<<launch, sm_threads, bytes, c->stream>>>(view_of<T>(g, p), window_of<T, W>(p), now, tile_batch,
                                                         values + b * p->m, cells + b * grid);
        CUDA_TRY(cudaGetLastError());
        return LARMOR_OK;
    });
}

} // namespace
