/* Values of an exponential of place and time, and what linear maps make of them. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <complex.h>

#include "core/backend.h"
#include "core/status.h"

enum { LMR_MOST_TERMS = 32 };

/* exp(sum over l of (i or -1) space_l(r) time_l(t)) */
typedef struct lmr_exponential {
    int terms;
    int64_t voxels, times;
    const double *space[LMR_MOST_TERMS]; /* [voxels] */
    const double *time[LMR_MOST_TERMS];  /* [times] */
    char is_decay[LMR_MOST_TERMS];
    int threads;
} lmr_exponential;

typedef enum lmr_side { LMR_OF_PLACE, LMR_OF_TIME } lmr_side;

/* Dense products on the host, of the exponential's threads. */
typedef struct lmr_dense {
    void *ctx;
    const lmr_la *la;
} lmr_dense;

larmor_status lmr_dense_open(int threads, lmr_dense *dense);
void lmr_dense_close(lmr_dense *dense);

/* value [count, others] at places `own` and times `other`, or the reverse for side LMR_OF_TIME. own: NULL for all.
 */
larmor_status lmr_exponential_values(const lmr_exponential *e, lmr_side side, const int64_t *own, int64_t count,
                                     const int64_t *other, int64_t others, double complex *value);

/* A factor of a sum of products, as a linear map of the exponential at a few chosen times, or places. */
typedef struct lmr_factor {
    lmr_side side; /* what the factor is a function of */
    int rank, rows;
    int64_t *other;    /* [rows] */
    double complex *P; /* [rows, rank] */
} lmr_factor;

void lmr_factor_free(lmr_factor *f);

/* out [count, rank] at places or times `own`, NULL for all. */
larmor_status lmr_factor_values(const lmr_exponential *e, const lmr_dense *dense, const lmr_factor *f,
                                const int64_t *own, int64_t count, float complex *out);
