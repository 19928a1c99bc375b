/* Exponentials of a few terms, each a function of place times one of time, as sums of products.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <complex.h>

#include "recon/field/exponential.h"

enum { LMR_MOST_RANK = 512 };

/* ~ sum over q of space_q(r) time_q(t) */
typedef struct lmr_separated {
    int rank;
    float complex *space; /* [voxels, rank] */
    float complex *time;  /* [times, rank] */
    double error;   /* root mean square, relative to the exponential: of all places, or times, with some others */
    double largest; /* of those, relative to the same */
} lmr_separated;

/* rank   0: the least that is found to keep the bound on the error.
 * found  the caller's, also on errors; lmr_separated_free.
 * Errors LARMOR_ERR_NUMERIC where LMR_MOST_RANK products do not keep the bound, or for a value that is not finite;
 *        LARMOR_ERR_MEMORY. */
larmor_status lmr_separate(const lmr_exponential *e, int rank, double bound, lmr_separated *found);
void lmr_separated_free(lmr_separated *s);
