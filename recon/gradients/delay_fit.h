/* The fit of delays to samples. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/gradients/spokes.h"

/* Numbers after the delays. STRETCH: the logarithm of the object's size along y and along z over that along x. */
enum { LMR_DELAY_SIZE = LMR_DELAYS, LMR_DELAY_STRETCH, LMR_DELAY_NOISE = LMR_DELAY_STRETCH + 2, LMR_DELAY_NUMBERS };

/* The object's size as a standard deviation in units of the field of view; a uniform object of its width has 0.29. */
#define LMR_TYPICAL_SIZE 0.3
#define LMR_MIN_SAMPLE_DISTANCE 0.01 /* 1/FOV: smaller steps along a readout have no direction */

typedef struct lmr_delay_fit {
    const lmr_spokes *s;
    int threads;
    int blocks;                     /* that are summed: the first ones */
    int values_only;                /* 1: derivatives are not needed, and are 0 */
    double floor;                   /* of the noise */
    int free[LMR_DELAY_NUMBERS], n; /* which numbers change */
    double all[LMR_DELAY_NUMBERS];
    int64_t room;                                                          /* doubles of a block */
    double *work;                                                          /* [blocks, room] */
    double value[LMR_MOST_BLOCKS], by[LMR_MOST_BLOCKS][LMR_DELAY_NUMBERS]; /* of each block */
    larmor_status status[LMR_MOST_BLOCKS];
} lmr_delay_fit;

/* Samples of a block. */
int64_t lmr_delay_samples(const lmr_spokes *s, int block);

/* place, [samples, nd], and slope, [samples, LMR_DELAYS, nd]: where f->all puts a block's samples. */
void lmr_delay_place_samples(const lmr_delay_fit *f, int block, double *place, double *slope);

/* A number's prior: mean and standard deviation. */
void lmr_delay_prior(int number, double *mean, double *spread);

/* 1 unless these are spirals none of which moves along the axis, as those of a stack along z. */
int lmr_delay_moves_along(const lmr_spokes *s, int axis);

/* What changes: delays of single axes, couplings of two, and the object's size and shape with the noise. */
enum { LMR_FREE_DELAYS = 1, LMR_FREE_OTHERS = 2, LMR_FREE_COUPLINGS = 4 };
void lmr_delay_set_free(lmr_delay_fit *f, int which);
int lmr_delay_is_free(const lmr_delay_fit *f, int number);

/* all <- the minimum that is reached from there by so many steps at most; value: minus the log likelihood. */
larmor_status lmr_delay_descend(lmr_delay_fit *f, double all[LMR_DELAY_NUMBERS], double tol, int most, double *value);
larmor_status lmr_delay_value(lmr_delay_fit *f, const double all[LMR_DELAY_NUMBERS], double *value);

/* The part of the samples' magnitude that these numbers leave to the noise. */
double lmr_delay_unexplained(const lmr_delay_fit *f, const double all[LMR_DELAY_NUMBERS]);

/* Standard deviations of the delays, from the curvature and from how much blocks disagree. */
larmor_status lmr_delay_deviations(lmr_delay_fit *f, const double all[LMR_DELAY_NUMBERS],
                                   double deviation[LMR_DELAYS]);
