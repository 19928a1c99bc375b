/* Tiles that are read by matrix instructions: their sizes, and which devices and windows they are for.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_NUFFT_CUDA_MATRIX_CUH
#define LMR_NUFFT_CUDA_MATRIX_CUH

#include "nufft/cuda/points.cuh"

namespace
{

constexpr int least_matrix_width = 7; /* narrower windows are as quick without */
constexpr int most_matrix_slabs = 32; /* of a bin */
constexpr int most_matrix_groups = most_points / 16 + most_matrix_slabs;
constexpr int most_matrix_planes = 8; /* of a slab */

/* The least stride >= n with which four neighbours in a row of complex numbers, and those in the next rows, are in
 * different banks; likewise for rows of real numbers. */
constexpr int apart(int n)
{
    return n + (12 - n % 8) % 8;
}

/* Two blocks a multiprocessor while tiles are small; registers limit the threads of wide windows. */
template <int W> struct matrix_size {
    static constexpr int extent = owner_bin(3, W) + W - 1; /* of the largest tile, in x and in y */
    static constexpr int steps = (extent + 3) / 4;         /* of four cells along x */
    static constexpr int pitch = apart(4 * steps), plane = pitch * extent;
    static constexpr int row = apart(std::max(W + most_matrix_planes, 4 * steps)); /* of a point's staged values */
    static constexpr int blocks = W < 9 ? 2 : 1;
    static constexpr int threads = W > 8 && W < 13 ? 384 : 256;
};

/* Shared memory of a block beside that of fixed size: the tile, and two rows for each point of a group. */
constexpr size_t matrix_static = 2048;
template <int W> constexpr size_t matrix_bytes(int planes)
{
    using size = matrix_size<W>;
    return sizeof(cx<double>) * (size_t)size::plane * (size_t)planes +
           sizeof(double) * 2 * 16 * size::row * (size::threads / 32);
}

/* Hopper and the data centre's Blackwell have the instruction. */
template <typename T> bool has_matrix(const lmr_cuda *c, const lmr_nufft_geometry *g)
{
    const bool device = c->properties.major == 9 || (c->properties.major == 10 && c->properties.minor == 0);
    return device && std::is_same_v<T, double> && g->ndim == 3 && g->method != LMR_NUFFT_SM &&
           g->width >= least_matrix_width;
}

/* Whether tiles of these bins fit. */
inline bool matrix_fits(const lmr_cuda *c, int width, const lmr_cuda_points *p)
{
    size_t bytes = SIZE_MAX;
    (void)with_width(width, [&](auto w) {
        using size = matrix_size<decltype(w)::value>;
        if (p->extent[0] <= size::extent && p->extent[1] <= size::extent)
            bytes = (matrix_bytes<decltype(w)::value>(p->extent[2]) + matrix_static) * size::blocks;
        return LARMOR_OK;
    });
    return p->bin[2] <= most_matrix_slabs && bytes <= c->properties.sharedMemPerBlockOptin;
}

} // namespace

#endif
