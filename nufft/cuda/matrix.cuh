/* Tiles that are read, and columns that are summed, by matrix instructions: their sizes, and which devices and
 * windows they are for. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "nufft/cuda/points.cuh"

namespace
{

constexpr int least_matrix_width = 7; /* narrower windows are as quick without */
constexpr int most_matrix_slabs = 32; /* of a bin */
constexpr int most_matrix_groups = most_points / 16 + most_matrix_slabs;
constexpr int most_matrix_planes = 8; /* of a slab */
constexpr int matrix_columns = 16;    /* along x, of a tile that points are spread to */
constexpr int widest_spread = 13;     /* wider windows leave too few of them to a bin */

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

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/* d += a b, where a has 4, 8 or 16 columns: a lane has two numbers of every four of them, and one of b. */
__device__ __forceinline__ void multiply_add(double (&d)[4], const double (&a)[2], const double (&b)[1])
{
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(b[0]));
}
__device__ __forceinline__ void multiply_add(double (&d)[4], const double (&a)[4], const double (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}
__device__ __forceinline__ void multiply_add(double (&d)[4], const double (&a)[8], const double (&b)[4])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
        "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]),
          "d"(b[1]), "d"(b[2]), "d"(b[3]));
}

#endif

/* Hopper and the data centre's Blackwell have the instruction. */
template <typename T> bool has_matrix(const lmr_cuda *c, const lmr_nufft_geometry *g)
{
    const bool device = c->properties.major == 9 || (c->properties.major == 10 && c->properties.minor == 0);
    return device && std::is_same_v<T, double> && g->ndim == 3 && g->method != LMR_NUFFT_SM &&
           g->width >= least_matrix_width;
}

/* Whether points are spread by matrix instructions where their bins allow it: few points are added to the grid
 * more quickly by owners, whose tiles are larger. */
template <typename T> bool spreads_by_matrix(const lmr_cuda *c, const lmr_nufft_geometry *g, int64_t m)
{
    const double cells = (double)g->cells[0] * (double)g->cells[1] * (double)g->cells[2];
    return has_matrix<T>(c, g) && g->width <= widest_spread && 2 * (double)m >= cells;
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
