/* FFTs of columns that lie side by side in a vector's lanes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "core/real.h"
#include "larmor/status.h"

/* A cell is the real parts of a number of each column, and then the imaginary ones. Lines of 64 bytes take a
 * twentieth longer than those of 32, as fewer of them fit into a cache. */
enum {
    LMR_LANES = 32 / sizeof(real), /* columns at a time */
    LMR_LANE_PASSES = 32,
    LMR_LANE_RADIX = 7 /* the largest prime factor of an axis */
};

/* One axis, transformed in passes (Stockham 1966). */
typedef struct lmr_lane_axis {
    int64_t n, keep; /* numbers before and after it; the others are zeros or dropped */
    int passes, radix[LMR_LANE_PASSES];
    real *roots; /* of each pass: exp(-2 pi i j / radix), and its factors; pairs */
} lmr_lane_axis;

/* Two axes of a grid of contiguous lines, or one: axis[0] is the first after the lines. */
typedef struct lmr_lane_axes {
    int count;
    lmr_lane_axis axis[2];
    int64_t stride[2]; /* between an axis's numbers in the grid, in complex numbers */
} lmr_lane_axes;

/* For LMR_LANES columns of the grid, in place: their transforms times spectrum [n0, n1, LMR_LANES], and back.
 * room: lmr_lane_room real numbers, on 64 bytes. */
typedef void (*lmr_lane_filter)(const lmr_lane_axes *axes, const real *spectrum, real *grid, real *room);

extern const lmr_lane_filter R(lmr_lanes_base), R(lmr_lanes_avx2), R(lmr_lanes_avx512);

/* Cells from one column of the first axis to the next: odd, so that they do not share a cache's set. */
static inline int64_t lmr_lane_pitch(const lmr_lane_axis *first)
{
    return first->n | 1;
}

/* 1 if n has no prime factor that is too large. */
int R(lmr_lane_has)(int64_t n);
/* *axis <- that of n numbers, of which `keep` are no zeros. Errors: LARMOR_ERR_MEMORY. */
larmor_status R(lmr_lane_plan)(int64_t n, int64_t keep, lmr_lane_axis *axis);
int64_t R(lmr_lane_room)(const lmr_lane_axes *axes);
lmr_lane_filter R(lmr_lane_best)(void);
