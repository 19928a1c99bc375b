/* Lines along x among the samples of a scan. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "larmor/array.h"

enum {
    LMR_LINE_HALF = 9,  /* samples on both sides of k = 0 that a line has at least */
    LMR_LINES_LEAST = 9 /* in a scan; of fewer nothing is said */
};
#define LMR_ON_GRID 1e-3 /* 1/FOV: places of lines that are the same; not measured */

typedef struct lmr_line {
    double at;             /* 1/FOV, across the lines */
    int64_t first, length; /* of its samples, in the order of time */
    double centre;         /* where k = 0 is along the line, in samples from its lower end */
    int down;              /* 1: time goes against k */
} lmr_line;

/* The lines along x in the central partition, wherever the readouts are cut: some are kept as one, and behind short
 * ones larmor_samples_align has samples far outside.
 *
 * traj   [nd, samples, readouts], real, in cycles per field of view.
 * lines  in the order of time, to be freed by free(); NULL, and count 0, where there are fewer than LMR_LINES_LEAST.
 * step   1/FOV, between the samples of a line. */
larmor_status lmr_lines_find(const larmor_array *traj, lmr_line **lines, int64_t *count, double *step);

/* In ascending order across the lines, of each place the first alone. */
void lmr_lines_sort(lmr_line *lines, int64_t *count);
