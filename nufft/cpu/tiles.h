/* How the processor cuts the fine grid and the points. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_NUFFT_TILES_H
#define LMR_NUFFT_TILES_H

#include <stdint.h>

enum {
    TILE_BYTES = 1 << 19, /* of the tiles that a thread holds at once, if one is not larger */
    CHUNK_POINTS = 512,
    MOST_CHUNKS = 64 /* that the points are cut into where they are many */
};

/* Sides of a tile in cells: at least these, less than twice as much. */
static const int64_t tile_sides[3][3] = {{2048, 1, 1}, {32, 32, 1}, {16, 16, 16}};

#endif
