/* How the processor cuts the fine grid and the points. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "nufft/kernels.h"

enum {
    TILE_BYTES = 1 << 19,    /* of the tiles that a thread holds at once, if one is not larger */
    SPREAD_BYTES = 48 << 10, /* of those that it spreads into at once, but two: the first cache's */
    WHOLE_BUFFERS = 2,       /* for each thread, where one tile is the whole grid */
    BIN_SIDE = 4,            /* cells of a bin, into which the points of a tile are sorted */
    BIN_POINTS = 2048,       /* at a time, */
    BIN_BYTES = 1 << 15,     /* if a tile and its batch take more than this, */
    BIN_CELLS = 1 << 22,     /* and a tile not more than that; sides of tiles do not reach it */
    ROW_BYTES = 64,          /* rows of a tile begin at multiples of this */
    NARROW_BYTES = 32,       /* a point's cells in a row: vectors of 64 bytes would cross lines of the cache */
    CHUNK_POINTS = 512,
    FEW_TILES = 27,  /* the colours that tiles can have */
    MOST_CHUNKS = 64 /* that the points are cut into where they are many */
};

/* Sides of a tile in cells: at least these, less than twice as much; never less than the widest window. */
static const int64_t tile_sides[LMR_NUFFT_SHAPES][3][3] = {{{2048, 1, 1}, {32, 32, 1}, {16, 16, 16}},
                                                           {{1024, 1, 1}, {16, 16, 1}, {32, 16, 16}},
                                                           {{4096, 1, 1}, {64, 64, 1}, {24, 24, 24}}};

/* Whether all of a line is one tile, in the order of the points: it and its batch stay in a thread's cache, and
 * points are many enough to pay for the copies. element: bytes of a cell. */
static inline int lmr_whole_line(int ndim, int shape, int64_t cells, int64_t batch, int64_t points, int64_t element)
{
    return ndim == 1 && shape == 0 && batch <= TILE_BYTES / element / cells && points >= 2 * cells;
}
