/* How likely samples of k-space are, at these places, for an object of limited size. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "core/status.h"

/* Samples of several coils. */
typedef struct lmr_sampled {
    int nd;
    int64_t m, columns;  /* columns: twice the coils */
    const double *place; /* [nd, m] */
    const double *value; /* [columns, m], real and imaginary parts */
} lmr_sampled;

/* What the logarithm of the likelihood, negated, grows by with each number that it depends on. */
typedef struct lmr_likelihood {
    double value, by_size, by_noise; /* by the logarithms of size and noise */
    double *by_place;                /* [nd, m], the caller's; NULL: no derivatives at all */
} lmr_likelihood;

/* Values of a coil are those of an object whose voxels are independent, of variance exp(-r^2 / (2 size^2)), r in
 * units of the field of view; the noise has `noise` of the variance of the signal. The common scale is the
 * likeliest one.
 *
 * work    doubles, lmr_likelihood_work returns how many.
 * Errors  LARMOR_ERR_NUMERIC where the covariance is not positive: noise is too small. */
int64_t lmr_likelihood_work(int64_t m, int64_t columns);
larmor_status lmr_likelihood_of(const lmr_sampled *s, double size, double noise, double *work, lmr_likelihood *out);
