/* A regulariser: a row of the table in regulariser.c, or a sum of rows. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "larmor/solve.h"

/* The defaults of all; the penalty is the first one of larmor_admm, in units of the largest eigenvalue of A^H A. */
#define LMR_REGULARISER_LAMBDA 2e-3
#define LMR_REGULARISER_TOL 5e-3
#define LMR_REGULARISER_PENALTY 5e-3
enum { LMR_REGULARISER_ITERS = 100 };

typedef struct lmr_regulariser_kind {
    const char *name, *help;
    unsigned takes;   /* as in larmor_regulariser_info */
    double strength;  /* of the expected weight, in units of the deviation of the noise in A^H b */
    double curvature; /* of a typical eigenvalue of K^H K */
    double beside;    /* with E: the same of what E leaves out */
    int is_block;     /* 1: E takes the first of several images, on which K acts the same everywhere */
    /* K, g and E at lambda = 1, into NULLs; the caller frees them, also after an error */
    larmor_status (*make)(larmor_device *dev, const larmor_regulariser_opts *opts, larmor_dtype dtype,
                          larmor_shape shape, larmor_penalty *made);
} lmr_regulariser_kind;

/* That of larmor_regulariser_entry(entry), which is there. */
const lmr_regulariser_kind *lmr_regulariser_kind_of(int entry);

/* The sides of a voxel of images of `axes` dimensions, relative to the shortest one; 1 along further axes. */
void lmr_regulariser_spacing(const larmor_regulariser_opts *o, int axes, double spacing[LARMOR_MAX_DIMS]);

struct larmor_regulariser {
    lmr_regulariser_kind kind; /* of a sum of several, what suits them together */
    char name[96];
    larmor_device *dev;
    larmor_dtype dtype;
    larmor_shape shape;
    larmor_penalty penalty;
    larmor_prox *set; /* what images are held to, the last row of the penalty; or NULL */
    double fixed;     /* the absolute weight to take instead of lambda, or 0 */
    double weight;    /* the absolute one of the last run */
};
