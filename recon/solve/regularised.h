/* What a run with a regulariser needs beside the caller's arrays. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/precond/circulant.h"
#include "recon/prox/regulariser.h"
#include "recon/solve/admm.h"

/* The solver works on z, the caller sees images x = E z. */
typedef struct lmr_regularised {
    larmor_op *AE;
    larmor_array *z;
    const larmor_regulariser *r; /* not owned, as E, x and circulant are not */
    larmor_op *E;
    larmor_array *x;
    const larmor_circulant *circulant; /* or NULL; with lambda what lmr_regularised_inverse needs */
    double lambda;
    lmr_block *block;  /* of K, for regularisers that have it so and single images; or NULL */
    int takes_default; /* 1: neither iterations nor a tolerance are asked for */
    int by_mean;       /* 1: frames are preconditioned by the mean of them all */
    larmor_monitor monitor;
    larmor_resume resume;
    void *user;
} lmr_regularised;

/* |x|_4^2 / |x|_2: the typical magnitude of x where it is not near 0. Errors: LARMOR_ERR_NUMERIC if x is not
 * finite. */
larmor_status lmr_typical(const larmor_array *x, double *magnitude);

larmor_status lmr_regularised_check(const larmor_op *A, const larmor_array *b, const larmor_regulariser *r,
                                    const larmor_array *x);
/* A E, and z with E z = x; to be freed in any case. */
larmor_status lmr_regularised_create(const larmor_regulariser *r, larmor_op *A, larmor_array *x, lmr_regularised *u);
void lmr_regularised_free(lmr_regularised *u);
/* The regulariser's defaults in o; what else u needs of o. */
larmor_status lmr_regularised_settings(larmor_op *A, larmor_solve_opts *o, lmr_regularised *u);
/* An lmr_admm_inverse that fits z; of an lmr_regularised with a circulant. */
larmor_status lmr_regularised_inverse(const void *regularised, double penalty, larmor_op **M);
/* x <- E z after a run that ended with st; returns st, or what went wrong. */
larmor_status lmr_regularised_image(lmr_regularised *u, larmor_status st);
