/* A layer's inputs, checked, and its kernels. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "recon/kernels.h"

/* The kernels of a device for arrays of this precision. Errors: LARMOR_ERR_UNSUPPORTED if the device has none. */
larmor_status lmr_recon_kernels_of(const larmor_device *dev, larmor_dtype dtype, const lmr_recon_kernels **kernels);

/* A real array in f64, on its device: x itself with one more reference if it is so already.
 *
 * Errors  LARMOR_ERR_ARG if x is NULL or complex; LARMOR_ERR_NUMERIC for a value that is not finite; MEMORY. */
larmor_status lmr_input_real(const char *who, const char *what, const larmor_array *x, larmor_array **out);

/* lmr_input_real of a trajectory [nd, ...] that fits an image of nd = 1 to 3 dimensions.
 *
 * Errors  also LARMOR_ERR_SHAPE. */
larmor_status lmr_input_traj(const char *who, const larmor_array *traj, larmor_shape image, larmor_array **out);

/* The index of the first number of an f64 array that is not finite or below low, and the number; -1 if there is none.
 */
larmor_status lmr_find_outlier(const larmor_array *x, double low, int64_t *index, double *value);

/* Refuses all but k-space c64 [samples, readouts, coils] and a trajectory [nd, samples, readouts] of it. Errors:
 * LARMOR_ERR_SHAPE. */
larmor_status lmr_expect_readouts(const char *who, const larmor_array *kspace, const larmor_array *traj);

/* The shape of traj without its first dimension: one weight per sample. */
larmor_shape lmr_weights_shape(const larmor_array *traj);
