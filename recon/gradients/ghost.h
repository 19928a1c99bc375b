/* Lines of both directions, and what their ghosts are found from. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <complex.h>
#include <stdint.h>

#include "larmor/ghost.h"

#define LMR_LINE_WIDTH .05 /* cycles per field of view across a line, at most */
#define LMR_MAX_SHIFT 6.   /* cycles per field of view: lines of both directions that are 3 samples late */

enum { LMR_HALVINGS = 12 }; /* of the steps of a search, from the best one tried */

typedef struct lmr_lines {
    int nd, axis;
    int64_t n, count;
    double *k;         /* [nd, n, count] */
    int64_t *length;   /* [count] samples that are there */
    signed char *sign; /* [count] of k's direction along the axis; 0: no line along it */
    int64_t forward, backward;
} lmr_lines;

/* Errors: LARMOR_ERR_SHAPE where these are no complex [samples, lines, coils] and [nd, samples, lines]. */
larmor_status lmr_ghost_check(const larmor_array *kspace, const larmor_array *traj);

/* turned: as of larmor_ghost_estimate. */
larmor_status lmr_ghost_lines_find(const larmor_array *traj, const unsigned char *turned, lmr_lines *l);
void lmr_ghost_lines_free(lmr_lines *l);

/* The coordinates of a line. */
static inline double *lmr_line_of(const lmr_lines *l, int64_t line)
{
    return l->k + l->nd * l->n * line;
}

/* From its first sample to its last one along an axis. */
static inline double lmr_line_span(const lmr_lines *l, int64_t line, int d)
{
    const double *k = lmr_line_of(l, line);
    return k[l->nd * (l->length[line] - 1) + d] - k[d];
}

/* p(x) of a line, at places (v - nx/2)/nx; k begins at its first sample's coordinate along it. Samples farther than
 * `reach` are left out. */
void lmr_ghost_project(const float *y, const double *k, int nd, int64_t n, int64_t nx, double reach,
                       double complex *p);

/* p(x) of a line in the direction `sign` without its ghost; NULL: it stays. */
void lmr_ghost_straighten(double complex *p, int64_t nx, double sign, const larmor_ghost *ghost);

/* 2 Re of the sum of d(x), turned back by a ghost. */
double lmr_ghost_turned_back(const double complex *d, int64_t nx, const larmor_ghost *ghost);

/* The phase of d(x) = |d| exp(i (phase - 2 pi shift x)): where the sum without it is largest. */
larmor_ghost lmr_ghost_fit(const double complex *d, int64_t nx);

/* The ghost of lines that were acquired in both directions at the same places, by what differs within these pairs.
 *
 * y       complex [n, count, coils].
 * known   [count] what is corrected before; or NULL.
 * found   zero where it is not clear.
 * report  its pairs, 0 if fewer than half of the places have one; and what is found of them.
 * Errors  LARMOR_ERR_MEMORY. */
larmor_status lmr_ghost_of_pairs(const lmr_lines *l, const float *y, int64_t coils, const larmor_ghost *known,
                                 int64_t nx, larmor_ghost *found, larmor_ghost_report *report);
