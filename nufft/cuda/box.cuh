/* The box of cells on the grid that a point touches, for threads that go to global memory. Every point finds its bin
 * by itself. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "nufft/cuda/points.cuh"

namespace
{

constexpr int gm_threads = 128;

template <int D, int W> struct box {
    int64_t first[3], size[3];
    template <typename T> __device__ __forceinline__ box(const view<T> &v, int64_t j)
    {
        const place origin = origin_of(v, v.bin_of[j]);
        const cell at = unpack(v.at[j]);
        first[0] = origin.x + at.x;
        first[1] = origin.y + at.y;
        first[2] = origin.z + at.z;
        for (int d = 0; d < 3; d++) size[d] = v.cells[d];
    }
    __device__ __forceinline__ int64_t x(int l) const
    {
        return wrap(first[0] + l, size[0]);
    }
    /* number of the first cell in the box's row y of plane z */
    __device__ __forceinline__ int64_t row(int y, int z) const
    {
        if constexpr (D == 1) return 0;
        const int64_t across = wrap(first[1] + y, size[1]);
        return (D > 2 ? wrap(first[2] + z, size[2]) * size[1] + across : across) * size[0];
    }
};

} // namespace
