/* How the processor cuts the fine grid and the points. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_NUFFT_TILES_H
#define LMR_NUFFT_TILES_H

#include <stdint.h>

enum {
    TILE_BYTES = 1 << 19, /* of the tiles that a thread holds at once, if one is not larger */
    CHUNK_POINTS = 512,
    MOST_CHUNKS = 64 /* that the points are cut into where they are many */
};

enum { TILE_SHAPES = 3 };

/* Sides of a tile in cells: at least these, less than twice as much; never less than the widest window. Of several
 * shapes the planner may take another than the first. */
static const int64_t tile_sides[TILE_SHAPES][3][3] = {{{2048, 1, 1}, {32, 32, 1}, {16, 16, 16}},
                                                      {{1024, 1, 1}, {16, 16, 1}, {32, 16, 16}},
                                                      {{4096, 1, 1}, {64, 64, 1}, {24, 24, 24}}};

#endif
