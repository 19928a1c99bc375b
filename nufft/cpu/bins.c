/* Points of a tile by bins of its cells, on the processor: a tile does not fit into the first cache, the cells of a
 * bin nearly do. SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include <string.h>

#include "nufft/cpu/points.h"
#include "nufft/cpu/tiles.h"

#define INLINE static inline __attribute__((always_inline))

/* Bins of BIN_SIDE cells a side in the largest tile. */
static void count_bins(const lmr_points *p, int64_t bins[3])
{
    for (int d = 0; d < 3; d++) bins[d] = (p->extent[d] + BIN_SIDE - 1) / BIN_SIDE;
}

typedef struct binning {
    int32_t row, rows, across, down, all;
    float per_row, per_rows;
} binning;

static binning make_binning(const lmr_points *p)
{
    int64_t bins[3];
    count_bins(p, bins);
    return (binning){.row = (int32_t)p->extent[0],
                     .rows = (int32_t)p->extent[1],
                     .across = (int32_t)bins[0],
                     .down = (int32_t)bins[1],
                     .all = (int32_t)(bins[0] * bins[1] * bins[2]),
                     .per_row = 1 / (float)p->extent[0],
                     .per_rows = 1 / (float)p->extent[1]};
}

/* Floors of quotients by products with reciprocals: they are at least half a unit of the divisor away from integers,
 * and rounding moves them by less, as padded tiles that are binned have at most BIN_CELLS cells. */
INLINE int32_t bin_of(const binning *b, int32_t at)
{
    const int32_t line = (int32_t)(((float)at + 0.5F) * b->per_row);
    const int32_t z = (int32_t)(((float)line + 0.5F) * b->per_rows);
    const uint32_t x = (uint32_t)(at - line * b->row), y = (uint32_t)(line - z * b->rows);
    return (int32_t)(((uint32_t)z / BIN_SIDE * (uint32_t)b->down + y / BIN_SIDE) * (uint32_t)b->across +
                     x / BIN_SIDE);
}

/* Points of one tile by their bins, in their old order otherwise. Scratch: as many points, their bins, and the next
 * place in every bin. */
INLINE void sort_bins(const size_t size, const binning *b, char *points, int count, char *scratch)
{
    int32_t *bin = (int32_t *)(scratch + BIN_POINTS * size), *next = bin + BIN_POINTS;
    memset(next, 0, (size_t)b->all * sizeof *next);
    for (int i = 0; i < count; i++) bin[i] = bin_of(b, lmr_point_of(points, size, i)->at);
    for (int i = 0; i < count; i++) next[bin[i]]++;
    for (int32_t k = 0, sum = 0; k < b->all; k++) {
        const int32_t here = next[k];
        next[k] = sum;
        sum += here;
    }
    memcpy(scratch, points, (size_t)count * size);
    for (int i = 0; i < count; i++) memcpy(points + (size_t)next[bin[i]]++ * size, scratch + (size_t)i * size, size);
}

static void bin_some(const lmr_points *p, const binning *b, int64_t first, int count, char *scratch)
{
    char *points = (char *)p->points + (size_t)first * p->point_size;
    if (p->point_size == sizeof(uint32_t) * 2 + 3 * sizeof(real))
        sort_bins(sizeof(uint32_t) * 2 + 3 * sizeof(real), b, points, count, scratch);
    else
        sort_bins(p->point_size, b, points, count, scratch);
}

static size_t scratch_each(const lmr_points *p)
{
    const binning b = make_binning(p);
    const size_t bytes = BIN_POINTS * (p->point_size + sizeof(int32_t)) + (size_t)b.all * sizeof(int32_t);
    return (bytes + 63) / 64 * 64;
}

size_t R(lmr_bins_scratch)(const lmr_points *p)
{
    return (size_t)p->threads * scratch_each(p);
}

void R(lmr_bins_sort)(const lmr_points *p, void *scratch)
{
    const binning b = make_binning(p);
    const size_t each = scratch_each(p);
#pragma omp parallel for num_threads(p->threads) schedule(dynamic, 1)
    for (int64_t tile = 0; tile < p->tile_count; tile++)
        for (int64_t j = p->first[tile], end = p->first[tile + 1]; j < end; j += BIN_POINTS)
            bin_some(p, &b, j, end - j < BIN_POINTS ? (int)(end - j) : BIN_POINTS,
                     (char *)scratch + (size_t)omp_get_thread_num() * each);
}
