/* Where a point goes: its first cell on the grid, its bin, the window's argument; and the keys by which points are
 * sorted. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <cmath>

#include "nufft/cuda/points.cuh"

namespace
{

struct axis {
    int64_t cells;
    double modes, half;       /* half the window */
    double scale, scale_rest; /* cells per cycle, in two parts: n / modes to more than double precision */
    uint32_t per_bin;         /* 2^32 / bin, rounded down */
    int bin;
};

struct folding {
    int ndim;
    bool is_double;
    const void *points;
    axis along[3];
    uint32_t bins[3];
};

folding folding_of(const lmr_nufft_geometry *g, const lmr_cuda_points *p, bool is_double, const void *points)
{
    folding f = {};
    f.ndim = g->ndim;
    f.is_double = is_double;
    f.points = points;
    for (int d = 0; d < 3; d++) {
        const auto cells = (double)g->cells[d], modes = (double)g->modes[d];
        const double scale = cells / modes;
        f.along[d] = {.cells = g->cells[d],
                      .modes = modes,
                      .half = 0.5 * g->width,
                      .scale = scale,
                      .scale_rest = std::fma(-scale, modes, cells) / modes,
                      .per_bin = (uint32_t)std::min<uint64_t>(UINT32_MAX, (uint64_t{1} << 32) / p->bin[d]),
                      .bin = p->bin[d]};
        f.bins[d] = p->bins[d];
    }
    return f;
}

/* First cell, folded, and the polynomials' argument; false if the coordinate is not finite. All in double, so that
 * float points lose nothing on large grids and double ones only what they never had. Each step is rounded as it is
 * written: several kernels ask for a point's cell, and where one would fuse what another rounds, a point at the
 * border of two cells would have two. */
__device__ bool fold(const axis &a, double k, int64_t *cell, double *t)
{
    if (!isfinite(k)) return false;
    if (fabs(k) > 0.5 * a.modes) k = remainder(k, a.modes);
    const double x = __dmul_rn(k, a.scale), rest = fma(k, a.scale, -x) + k * a.scale_rest;
    const double i = ceil(__dsub_rn(x, a.half));
    *t = 2 * ((i + a.half - x) - rest) - 1;
    *cell = (int64_t)i < 0 ? (int64_t)i + a.cells : (int64_t)i;
    return true;
}

/* cell / bin, of which there are fewer than 2^31. */
__device__ uint32_t bin_of_cell(const axis &a, int64_t cell)
{
    if (cell > UINT32_MAX) return (uint32_t)(cell / a.bin);
    const uint32_t of = (uint32_t)cell, bin = __umulhi(of, a.per_bin); /* too small by 1 at most */
    return bin + (of - bin * (uint32_t)a.bin >= (uint32_t)a.bin);
}

struct placed {
    uint32_t bin;
    cell at;
    double t[3];
};

/* The coordinates of point j, of type P. */
template <typename P> __device__ void read_point(const folding &f, int64_t j, P k[3])
{
#pragma unroll
    for (int d = 0; d < 3; d++)
        if (d < f.ndim) k[d] = static_cast<const P *>(f.points)[j * f.ndim + d];
}

template <typename P> __device__ bool place_point(const folding &f, const P k[3], placed *p)
{
    int at[3] = {0, 0, 0};
    uint32_t stride = 1;
    p->bin = 0;
    for (int d = 0; d < 3; d++) {
        if (d >= f.ndim) continue;
        const axis &a = f.along[d];
        int64_t cell;
        if (!fold(a, (double)k[d], &cell, &p->t[d])) return false;
        const uint32_t bin = bin_of_cell(a, cell);
        at[d] = (int)(cell - (int64_t)bin * a.bin);
        p->bin += stride * bin;
        stride *= f.bins[d];
    }
    p->at = {at[0], at[1], at[2]};
    return true;
}

__device__ uint32_t cell_in_bin(const folding &f, const cell &at)
{
    return ((uint32_t)at.z * f.along[1].bin + at.y) * f.along[0].bin + at.x;
}

/* ---- keys ---- */

/* What the radix sort moves is a point's key and its number. A key holds the bin, and below it the cell within the
 * bin, without the lowest `dropped` of its bits where both together have more than 32. */
struct key_bits {
    int of_bin, of_cell, dropped;
    __device__ uint32_t join(uint32_t bin, uint32_t cell_number) const
    {
        return bin << (of_cell - dropped) | cell_number >> dropped;
    }
    __device__ uint32_t bin(uint32_t key) const
    {
        return key >> (of_cell - dropped);
    }
};

int bits_of(uint64_t values)
{
    int bits = 1;
    while (bits < 32 && values > uint64_t{1} << bits) bits++;
    return bits;
}

key_bits bits_for(int64_t bins, const lmr_cuda_points *p)
{
    const int of_bin = bits_of((uint64_t)bins), of_cell = bits_of((uint64_t)p->bin[0] * p->bin[1] * p->bin[2]);
    return {of_bin, of_cell, std::max(0, of_bin + of_cell - 32)};
}

} // namespace
