/* What both preconditioners are made of, on the doubled grid. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/recon.h"
#include "recon/inputs.h"

/* 2 N in the image's dimensions. */
larmor_shape lmr_doubled(larmor_shape image);

/* From the doubled grid to the points k [nd, ...], f64 in cycles per field of view of the image, as one line [m]:
 * a NUFFT, or an FFT where all are on the grid. */
larmor_status lmr_doubled_fourier(const larmor_array *k, larmor_dtype dtype, larmor_shape image, larmor_op **F);

/* t(r) = sum_j w_j exp(2 pi i k_j . r / N) for -N <= r < N, centred; weights real or NULL for 1. */
larmor_status lmr_point_spread(larmor_op *F, const larmor_array *k, const larmor_array *weights, larmor_dtype dtype,
                               larmor_shape image, larmor_array **t);

/* Sums of autocorrelations of images x, sum_n x(n + r) conj(x(n)) for -N <= r < N, centred. */
typedef struct lmr_autocorrelation {
    larmor_device *dev;
    larmor_array *power, *phases; /* sum of |FFT|^2 so far; what puts r = 0 in the centre */
    void *fft;
} lmr_autocorrelation;
larmor_status lmr_autocorrelation_begin(larmor_device *dev, larmor_dtype dtype, larmor_shape image,
                                        lmr_autocorrelation *a);
larmor_status lmr_autocorrelation_add(lmr_autocorrelation *a, const larmor_array *image);
/* The sum; the next add starts another one. */
larmor_status lmr_autocorrelation_end(lmr_autocorrelation *a, larmor_array **sum);
void lmr_autocorrelation_free(lmr_autocorrelation *a);
/* Bytes from begin to end, the sum among them, without the images. */
double lmr_autocorrelation_bytes(const larmor_device *dev, larmor_dtype dtype, larmor_shape image);

/* Checks maps, trajectory, weights and image against each other; k is the trajectory in f64. */
larmor_status lmr_precond_inputs(const char *who, const larmor_array *maps, const larmor_array *traj,
                                 const larmor_array *weights, larmor_shape image, larmor_dtype dtype,
                                 larmor_array **k);
