/* Which bins and which method suit a grid, a number of points and a device. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <cmath>

#include "nufft/cuda/matrix.cuh"

namespace
{

int64_t floor_power(double x)
{
    return x >= 1 ? int64_t{1} << (int)std::log2(std::min(x, 0x1p40)) : 1;
}

/* Sides of a bin: for SM those of the paper, else what the owners' threads span, and along the last dimension so many
 * cells that a bin holds about 1000 points, or fewer where few points must feed all multiprocessors. The other shapes
 * are half and twice as long there; the method SM has a smaller and a larger one. */
template <typename T> void wanted_bins(const lmr_cuda *c, const lmr_nufft_geometry *g, int64_t m, int64_t side[3])
{
    static constexpr int64_t shared[LMR_NUFFT_SHAPES][3][3] = {{{1024, 1, 1}, {32, 32, 1}, {16, 16, 2}},
                                                               {{512, 1, 1}, {16, 16, 1}, {8, 8, 8}},
                                                               {{2048, 1, 1}, {64, 32, 1}, {16, 16, 4}}};
    static constexpr double longer[LMR_NUFFT_SHAPES] = {1, 0.5, 2};
    const int last = g->ndim - 1;
    const int64_t own = owner_bin(g->ndim, g->width);
    side[0] = side[1] = side[2] = 1;
    for (int d = 0; d <= last; d++) side[d] = g->method == LMR_NUFFT_SM ? shared[g->tiles][last][d] : own;
    if (g->type == 1 && spreads_by_matrix<T>(c, g, m)) /* narrower ones would cost interpolation */
        side[0] = std::min<int64_t>(own, matrix_columns + 1 - g->width);
    if (g->method == LMR_NUFFT_SM || last == 0) return;
    const double density = (double)m / ((double)g->cells[0] * (double)g->cells[1] * (double)g->cells[2]);
    const double share = (double)m / (32.0 * c->properties.multiProcessorCount);
    const double points = std::min(1024.0, std::max(128.0, share));
    const double base = (double)(last == 1 ? side[0] : side[0] * side[1]);
    const int64_t usual =
        std::min<int64_t>(last == 1 ? 64 : 16, std::max<int64_t>(4, floor_power(1.4 * points / (base * density))));
    side[last] = (int64_t)(longer[g->tiles] * (double)usual);
}

/* Bins of equal sides, so that a tile reaches past the grid by less than the grid's size. */
void set_bins(const lmr_nufft_geometry *g, const int64_t side[3], lmr_cuda_points *p)
{
    for (int d = 0; d < 3; d++) {
        const int64_t cells = g->cells[d], wanted = (cells + side[d] - 1) / side[d];
        const int64_t bin = (cells + wanted - 1) / wanted;
        p->bin[d] = (int)bin;
        p->bins[d] = (uint32_t)((cells + bin - 1) / bin);
        p->extent[d] = d < g->ndim ? p->bin[d] + g->width - 1 : 1;
    }
}

/* The least stride >= size in which a step has the bank that `cells` steps of one have. */
int stride_for(int size, int cells, int banks)
{
    return size + ((cells - size) % banks + banks) % banks;
}

/* Strides of the tile, and whether it fits into shared memory. */
bool set_tile(const lmr_cuda *c, size_t size, lmr_cuda_points *p)
{
    const int banks = (int)(128 / size);
    p->pitch = stride_for(p->extent[0], p->bin[0], banks);
    p->plane = stride_for(p->pitch * p->extent[1], p->bin[0] * p->bin[1], banks);
    if (tile_bytes(p, size) <= c->properties.sharedMemPerBlockOptin) return true;
    p->pitch = p->extent[0];
    p->plane = p->pitch * p->extent[1];
    return tile_bytes(p, size) <= c->properties.sharedMemPerBlockOptin;
}

/* Bins whose tile fits, flatter than wanted if need be; false if there are none. Where the device could read tiles by
 * matrix instructions bins down to a third of that are taken for it, for flat ones cost spreading more. */
template <typename T> bool choose_bins(const lmr_cuda *c, const lmr_nufft_geometry *g, int64_t m, lmr_cuda_points *p)
{
    int64_t side[3];
    const int last = g->ndim - 1;
    wanted_bins<T>(c, g, m, side);
    const int64_t most = side[last];
    bool matrix = has_matrix<T>(c, g);
    for (;;) {
        set_bins(g, side, p);
        const bool fits = set_tile(c, sizeof(cx<T>), p);
        p->matrix = matrix && matrix_fits(c, g->width, p);
        p->spread_matrix =
            spreads_by_matrix<T>(c, g, m) && p->extent[0] <= matrix_columns && p->bin[2] <= most_matrix_slabs;
        if (fits && p->matrix == matrix) return true;
        if (matrix) {
            side[last] -= std::max<int64_t>(1, side[last] / 4);
            matrix = 3 * side[last] >= most;
            if (!matrix) side[last] = most;
            continue;
        }
        if (side[last] > 2)
            side[last] /= 2;
        else if (g->method == LMR_NUFFT_SM && side[0] > 8)
            side[0] = side[1] = 8;
        else
            return false;
    }
}

/* Methods once the pieces are known: tiles pay unless most of their cells are touched by few points or none.
 * Measured on an H200 by larmor-bench: in 2 and 3 dimensions owners pay from half a touch of every cell on in
 * double precision, from one on in single precision; tiles that are only read from about six. */
template <typename T> void choose_methods(const lmr_nufft_geometry *g, bool tile_fits, lmr_cuda_points *p)
{
    const double enough = g->ndim > 1 && std::is_same_v<T, double> ? 0.5 : 1;
    double touched = (double)p->m, tiles = (double)p->pieces;
    for (int d = 0; d < g->ndim; d++) {
        touched *= g->width;
        tiles *= p->extent[d];
    }
    p->spread = p->interp = g->method == LMR_NUFFT_GM ? LMR_NUFFT_GM : LMR_NUFFT_GM_SORT;
    if (g->method == LMR_NUFFT_GM || g->method == LMR_NUFFT_GM_SORT) return;
    const bool chosen = g->method != LMR_NUFFT_AUTO;
    const bool owned = chosen || enough * tiles <= touched;
    const bool read = chosen || (g->ndim > 1 && 6 * tiles <= touched);
    if (g->method != LMR_NUFFT_SM && owned) p->spread = LMR_NUFFT_OWNER;
    if (g->method == LMR_NUFFT_SM && tile_fits) p->spread = LMR_NUFFT_SM;
    if (tile_fits && read) p->interp = LMR_NUFFT_SM;
}

} // namespace
