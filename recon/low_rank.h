/* Stacks of matrices of low rank, and the kernels for many images. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "recon/kernels_series.h"

/* The kernels of a device for arrays of this precision. Errors: LARMOR_ERR_UNSUPPORTED if the device has none. */
larmor_status lmr_series_kernels_of(const larmor_device *dev, larmor_dtype dtype, const lmr_series_kernels **kernels);

/* y <- argmin_y t sum_b |Y_b|_* + |y - x|^2 / 2: of each matrix X_b = x[., ., b] the singular values s become
 * max(0, s - t).
 *
 * x, y   complex [m, n, count], of one shape; y is not x. y may be NULL if only the sum is wanted.
 * t      at least 0.
 * sum    of all singular values of x, or NULL. It waits, as the eigenvalues do anyhow. Those below 1.5e-8
 *        sqrt(min(m, n)) of a matrix's largest are rounding and left out.
 * The singular values come from the eigenvalues of X^H X or X X^H, whichever is smaller, summed and taken in double:
 * single precision loses nothing by the squaring, and double keeps about eps (largest / t)^2.
 * Errors LARMOR_ERR_ARG if t is negative; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite.
 * Source Cai, Candes and Shen, SIAM J. Optim. 20, 1956 (2010), theorem 2.1. */
larmor_status lmr_shrink_singular(double t, const larmor_array *x, larmor_array *y, double *sum);
