/* What is asked of a transform, and what is chosen for it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "nufft/choose/cost.h"
#include "nufft/window.h"

/* What is asked of a transform. */
typedef struct lmr_nufft_request {
    int ndim, single; /* single: 1: values in single precision */
    double tol;
    double upsample;              /* 0: the quickest for so many points */
    int64_t cells[3];             /* the fine grid; 0: as upsample has it */
    int width;                    /* of the window; 0: the narrowest that keeps tol */
    double points;                /* 0: as many as modes */
    double terms;                 /* random terms over which errors average; 0: as many as modes */
    double at_ends[3];            /* with terms: the share of them at the edges of the band, more than random ones */
    double targets_at_ends[3];    /* the same of targets, for type 3 */
    double batch;                 /* 0: 1 */
    int lattice;                  /* 1: points lie at whole or at half numbers of cycles */
    int full;                     /* 1: by stored products, LARMOR_PRECOMPUTE_FULL */
    int types;                    /* what is to be quick, as in lmr_nufft_work */
    const lmr_nufft_rates *rates; /* NULL: those built in for a thread of a processor */
} lmr_nufft_request;

typedef struct lmr_nufft_choice {
    lmr_window window;
    int64_t cells[3]; /* of the fine grid; 1 beyond ndim */
    double error;     /* relative l2 error to expect: aliasing and rounding together */
    double alias, rounding;
    double bound;         /* what the error keeps for all but the rarest data: error and its scatter */
    double full_bound;    /* the same where products are stored; bound itself with request.full */
    double lattice_bound; /* the same where points lie at whole or at half numbers of cycles, and aliases add up */
} lmr_nufft_choice;

/* A grid by its upsampling factor, and what the model says that it costs with about the width that it needs. */
typedef struct lmr_nufft_candidate {
    double upsample, seconds;
} lmr_nufft_candidate;

enum { LMR_NUFFT_CANDIDATES = 58 };
