/* A voxel's series and what is fitted to it. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_FIT_H
#define LMR_FIT_H

#include "larmor/fit.h"

enum { LMR_FIT_TIMES = 256 };

/* What all voxels share. */
typedef struct lmr_fit_series {
    larmor_fit_model model;
    int times, parts;        /* parts: 2 of complex images, 1 of real ones */
    int positive;            /* 1: magnitudes */
    double t[LMR_FIT_TIMES]; /* ms, ascending */
    double low, high;        /* of the logarithm of the time constant */
} lmr_fit_series;

/* y[part * times + j]: a voxel's image at t[j]. */
typedef struct lmr_fit_voxel {
    double value[LARMOR_FIT_MAX_MAPS], deviation[LARMOR_FIT_MAX_MAPS];
    double residual; /* root mean square */
} lmr_fit_voxel;

/* A time constant and the factors of 1 and of exp(-t / T), parts of each. */
typedef struct lmr_fit_curve {
    double log_t, constant[2], factor[2], squares; /* squares: of the residual */
} lmr_fit_curve;

/* 1 if the model has a constant. */
int lmr_fit_has_constant(larmor_fit_model model);

/* The least residual over the time constant; 0 if that has none between the bounds. Of magnitudes with a constant
 * signs are restored, and with noise, 0: that of the residual, they are lowered by what it has lifted them. */
int lmr_fit_exponential(const lmr_fit_series *s, const double *y, double noise, lmr_fit_curve *curve);

/* The curve's parameters with their deviations, noise 0: from the residual. Returns 0 where there are none. */
int lmr_fit_parameters(const lmr_fit_series *s, const lmr_fit_curve *curve, double noise, lmr_fit_voxel *out);

/* How much larger than this signal the mean of its magnitude is in noise of this deviation. */
double lmr_fit_lift(double signal, double noise);

/* Magnitudes of a decay with noise of this deviation: moves the curve to the mean of the Rician distribution. Returns
 * 0 if that has no least residual between the bounds. */
int lmr_fit_rician(const lmr_fit_series *s, const double *y, double noise, lmr_fit_curve *curve, lmr_fit_voxel *out);

#endif
