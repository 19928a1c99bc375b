/* A tile of the grid in shared memory, for the steps that serve a piece of points from it.
 *
 * Its strides are chosen in sort.cu so that a cell of the bin lies in the bank of its number within the bin: points
 * that are neighbours in the sorted order meet no bank conflicts. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "nufft/cuda/points.cuh"

namespace
{

template <typename T> __device__ __forceinline__ int offset_in_tile(const view<T> &v, uint32_t at)
{
    const cell c = unpack(at);
    return c.z * v.plane + c.y * v.pitch + c.x;
}

/* Call visit(cell of the tile, cell of the grid) for all cells of the tiles of `tile_batch` transforms; 16 or 32
 * threads share a row. Block sizes are multiples of 32. */
template <typename T, typename Visit>
__device__ __forceinline__ void for_tile(const view<T> &v, uint32_t bin, int tile_batch, Visit visit)
{
    const int lanes = v.extent[0] <= 16 ? 16 : 32;
    const int lane = (int)threadIdx.x % lanes;
    const int rows = v.extent[1] * v.extent[2], tile = v.plane * v.extent[2];
    const int64_t grid = v.cells[0] * v.cells[1] * v.cells[2];
    const place origin = origin_of(v, bin);
    for (int r = (int)threadIdx.x / lanes; r < rows * tile_batch; r += (int)blockDim.x / lanes) {
        const int b = r / rows, z = r % rows / v.extent[1], y = r % rows % v.extent[1];
        const int64_t row = wrap(origin.z + z, v.cells[2]) * v.cells[1] + wrap(origin.y + y, v.cells[1]);
        const int64_t from = b * grid + row * v.cells[0];
        const int to = b * tile + z * v.plane + y * v.pitch;
        for (int x = lane; x < v.extent[0]; x += lanes) visit(to + x, from + wrap(origin.x + x, v.cells[0]));
    }
}

} // namespace
