/* What both preconditioners are made of, on the doubled grid. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PRECOND_H
#define LMR_PRECOND_H

#include "larmor/recon.h"
#include "recon/inputs.h"

/* 2 N in the image's dimensions. */
larmor_shape lmr_doubled(larmor_shape image);

/* The NUFFT with the doubled grid's modes at the points k [nd, m], f64 in cycles per field of view of the image. */
larmor_status lmr_doubled_nufft(const larmor_array *k, larmor_dtype dtype, larmor_shape image, larmor_nufft **plan);

/* t(r) = sum_j w_j exp(2 pi i k_j . r / N) for -N <= r < N, centred; weights real or NULL for 1. */
larmor_status lmr_point_spread(larmor_nufft *plan, const larmor_array *k, const larmor_array *weights,
                               larmor_dtype dtype, larmor_shape image, larmor_array **t);

/* Bytes of both from the caller's points and weights on, t among them. */
larmor_status lmr_point_spread_bytes(const larmor_device *dev, larmor_dtype dtype, larmor_shape image,
                                     int64_t samples, double *bytes);

/* Sums of autocorrelations of images x, sum_n x(n + r) conj(x(n)) for -N <= r < N, centred. */
typedef struct lmr_autocorrelation {
    larmor_device *dev;
    larmor_array *power, *shift; /* sum of |FFT|^2 so far; what puts r = 0 in the centre, with the FFT's scale */
    void *fft;
} lmr_autocorrelation;
larmor_status lmr_autocorrelation_begin(larmor_device *dev, larmor_dtype dtype, larmor_shape image,
                                        lmr_autocorrelation *a);
larmor_status lmr_autocorrelation_add(lmr_autocorrelation *a, const larmor_array *image);
/* The sum; the next add begins anew. */
larmor_status lmr_autocorrelation_end(lmr_autocorrelation *a, larmor_array **sum);
void lmr_autocorrelation_free(lmr_autocorrelation *a);
/* Bytes from begin to end, the sum among them, without the images. */
double lmr_autocorrelation_bytes(const larmor_device *dev, larmor_dtype dtype, larmor_shape image);

/* Checks maps, trajectory, weights and image against each other; k is the trajectory in f64. */
larmor_status lmr_precond_inputs(const char *who, const larmor_array *maps, const larmor_array *traj,
                                 const larmor_array *weights, larmor_shape image, larmor_dtype dtype,
                                 larmor_array **k);

#endif
