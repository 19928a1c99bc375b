/* Spreading by the methods GM and GM-sort of cuFINUFFT (Shih et al., 2021): a thread per point adds to the grid in
 * global memory, w^d atomics each. GM-sort is the same kernel on sorted points. It is the best where points are so
 * few that tiles would be mostly empty. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_NUFFT_CUDA_SPREAD_GM_CUH
#define LMR_NUFFT_CUDA_SPREAD_GM_CUH

#include "nufft/cuda/box.cuh"

namespace
{

template <typename T, int D, int W> __global__ void __launch_bounds__(gm_threads)
    spread_gm_kernel(const __grid_constant__ view<T> v, const __grid_constant__ window_table<T, W> table,
                     int64_t batch, const cx<T> *__restrict__ values, cx<T> *__restrict__ cells)
{
    const int64_t grid = v.cells[0] * v.cells[1] * v.cells[2];
    for (int64_t j = first_index(); j < v.m; j += index_stride()) {
        const uint32_t index = v.index[j];
        const box<D, W> to(v, j);
        point_window<T, D, W> w;
        w.read_or_compute(v, table, j);
        for (int64_t b = 0; b < batch; b++) {
            const cx<T> value = values[b * v.m + index];
            for_rows(w, [&](int y, int z, T side) {
                const cx<T> scaled = {side * value.re, side * value.im};
                cx<T> *const row = cells + b * grid + to.row(y, z);
#pragma unroll
                for (int x = 0; x < W; x++)
                    add_to_grid(row + to.x(x), {w.k[0][x] * scaled.re, w.k[0][x] * scaled.im});
            });
        }
    }
}

template <typename T, int D, int W> larmor_status spread_gm(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                            const lmr_cuda_points *p, int64_t batch,
                                                            const cx<T> *values, cx<T> *cells)
{
    spread_gm_kernel<T, D, W><<<blocks(p->m, gm_threads), gm_threads, 0, c->stream>>>(
        view_of<T>(g, p), window_of<T, W>(p), batch, values, cells);
    CUDA_TRY(cudaGetLastError());
    return LARMOR_OK;
}

} // namespace

#endif
