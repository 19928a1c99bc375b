/* A voxel's series and what is fitted to it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/fit.h"

enum { LMR_FIT_TIMES = 256 };

/* What all voxels share. */
typedef struct lmr_fit_series {
    larmor_fit_model model;
    int times, parts;        /* parts: 2 of complex images, 1 of real ones */
    int positive;            /* 1: magnitudes */
    int turns;               /* 1: complex images, whose voxels have a frequency each */
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

/* All that the voxels' fits read and write. */
typedef struct lmr_fit_work {
    lmr_fit_series series;
    int order[LMR_FIT_TIMES]; /* of the images by time */
    int64_t voxels;
    float *images;                                                                 /* [parts, voxels, times] */
    float *noise;                                                                  /* [voxels]; NULL: one for all */
    double any;                                                                    /* that one */
    char *state;                                                                   /* [voxels] of enum */
    float *value[LARMOR_FIT_MAX_MAPS], *deviation[LARMOR_FIT_MAX_MAPS], *residual; /* [voxels] */
} lmr_fit_work;
enum { LMR_FIT_OUTSIDE, LMR_FIT_INSIDE, LMR_FIT_FAILED };

/* Component p of image j, in the order of time. */
double lmr_fit_at(const lmr_fit_work *w, int64_t voxel, int j, int p);

/* The voxel's images in the order of time, y[part * times + j]; and its maps, or its failure. */
void lmr_fit_read(const lmr_fit_work *w, int64_t voxel, double *y);
void lmr_fit_keep(lmr_fit_work *w, int64_t voxel, int maps, int is_fitted, const lmr_fit_voxel *out);

/* Water and fat of all voxels inside, whose images have this shape; *other_sign as in larmor_fit_maps. */
larmor_status lmr_fit_water_fat(lmr_fit_work *w, const larmor_array *images, const larmor_fit_opts *opts,
                                double *other_sign);

/* x of (H + damping diag H) x = b, H[n, n], by Cholesky's factors of the matrix with a unit diagonal. Returns 0 where
 * it has none. And the deviation of what has these derivatives by the parameters; NAN where there is none. */
enum { LMR_FIT_PARAMETERS = 10 };
int lmr_fit_solve(int n, const double *H, double damping, const double *b, double *x);
double lmr_fit_deviation(int n, const double *H, double variance, const double *by);

/* Refuses what does not fit together, as larmor_fit_dictionary does; and the dictionary in the basis, D conj(B), or
 * as it is where that is NULL: [entries, times], for the caller to free. */
larmor_status lmr_fit_check_dictionary(const larmor_array *images, const larmor_array *dictionary,
                                       const larmor_array *basis, const larmor_array *mask);
larmor_status lmr_fit_compress(const larmor_array *dictionary, const larmor_array *basis, double _Complex **out);

/* The values of voxels among which a smooth map is chosen. */
enum { LMR_FIT_CANDIDATES = 6 };
typedef struct lmr_fit_candidates {
    int count; /* 0: the voxel has none */
    float value[LMR_FIT_CANDIDATES], cost[LMR_FIT_CANDIDATES];
} lmr_fit_candidates;

/* The candidate of each voxel, choice[voxels], so that the sum of their costs and of (difference / scale)^2 / 2 over
 * neighbours along the first three dimensions is as small as it was found. */
larmor_status lmr_fit_choose(const lmr_fit_candidates *of, larmor_shape shape, double scale, int *choice);

/* The least residual over the time constant; 0 if that has none between the bounds. Of magnitudes with a constant
 * signs are restored, and with noise, 0: that of the residual, they are lowered by what it has lifted them. */
int lmr_fit_exponential(const lmr_fit_series *s, const double *y, double noise, lmr_fit_curve *curve);

/* The same of complex images with a frequency of each voxel's own: y is turned back by it. */
int lmr_fit_turning(const lmr_fit_series *s, double *y, double noise, lmr_fit_curve *curve);

/* The curve's parameters with their deviations, noise 0: from the residual. Returns 0 where there are none. */
int lmr_fit_parameters(const lmr_fit_series *s, const lmr_fit_curve *curve, double noise, lmr_fit_voxel *out);

/* How much larger than this signal the mean of its magnitude is in noise of this deviation. */
double lmr_fit_lift(double signal, double noise);

/* Magnitudes of a decay with noise of this deviation, 0: that of the residual of three times or more: moves the curve
 * to the mean of the Rician distribution. Returns 0 if that has no least residual between the bounds. */
int lmr_fit_rician(const lmr_fit_series *s, const double *y, double noise, lmr_fit_curve *curve, lmr_fit_voxel *out);
