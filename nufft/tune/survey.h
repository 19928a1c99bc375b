/* How points are spread, as far as it matters for speed. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/array.h"

typedef struct lmr_survey {
    int crowding; /* log2, rounded, of the density that a point meets on average over the mean density; 0: uniform */
    int ordered;  /* 1: most points lie near the one before them */
} lmr_survey;

enum { LMR_CROWDING_MOST = 9 };

/* From a sample of about a thousand points, the same one for the same number of them; waits. Points that are not
 * finite count as 0.
 *
 * modes   the period in each dimension.
 * points  [ndim, m] on any device, real. */
larmor_status lmr_survey_points(int ndim, const int64_t modes[3], const larmor_array *points, int64_t m,
                                lmr_survey *survey);

enum { LMR_LATTICE = 128 }; /* points that lmr_survey_lattice reads at most */

/* *lattice: whether the first points all lie at multiples of half a cycle; waits. */
larmor_status lmr_survey_lattice(int ndim, const larmor_array *points, int64_t m, int *lattice);

/* The share of points near the ends of their box in each dimension, as far as it passes that of random points; from a
 * sample of some hundred; waits.
 *
 * points  [ndim, m] on any device, real.
 * middle, half  of the box. */
larmor_status lmr_survey_ends(int ndim, const larmor_array *points, int64_t m, const double middle[3],
                              const double half[3], double share[3]);
