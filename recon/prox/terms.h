/* The penalties that a regulariser's name lists. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/prox/regulariser.h"

enum { LMR_MAX_TERMS = LARMOR_MOST_PENALTIES, LMR_TIME_AXIS = 3, LMR_SPACE_AXES = 7, LMR_TERMS_ROOM = 96 };

typedef struct lmr_term {
    int entry;     /* of the table */
    unsigned axes; /* bit d for x, y and z, from bit LMR_TIME_AXIS on t, h and b; 0: those of the penalty */
    double ratio;  /* its weight beside the others'; 0: not given, 1 */
} lmr_term;

typedef struct lmr_terms {
    int count;
    lmr_term term[LMR_MAX_TERMS];
} lmr_terms;

/* "tv:xy+tv:t=4+l1". Errors: LARMOR_ERR_ARG. */
larmor_status lmr_terms_read(const char *text, lmr_terms *terms);

/* The regulariser's options for term i of images of this shape, and the shape as the term sees it: with all
 * dimensions of the series where it names one of them, else opts->frames is zero. Errors: LARMOR_ERR_ARG for
 * dimensions that they lack; LARMOR_ERR_SHAPE for a series of another length. */
larmor_status lmr_terms_opts(const lmr_terms *terms, int i, const larmor_regulariser_opts *all, larmor_shape shape,
                             larmor_regulariser_opts *opts, larmor_shape *seen);
