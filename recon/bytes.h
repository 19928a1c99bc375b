/* What the objects need to count their bytes before they are made. Counts are doubles: sums of products of sizes that
 * need not fit 64 bits. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/nufft.h"
#include "larmor/recon.h"

/* *bytes <- 0. Errors: LARMOR_ERR_ARG for sizes that are none. */
larmor_status lmr_bytes_begin(const larmor_device *dev, const larmor_problem *p, int64_t *bytes);

/* Adds those of a NUFFT with so many points to *total. */
larmor_status lmr_bytes_add_nufft(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points,
                                  double *total);

/* Of an array. */
double lmr_bytes_of(larmor_dtype dtype, larmor_shape shape);

/* What the processor's threads need beside many Hermitian matrices of n rows for their eigenvectors. */
double lmr_bytes_for_eigenvectors(const larmor_device *dev, int64_t n);

/* *bytes <- total. Errors: LARMOR_ERR_SHAPE if that is no number of bytes. */
larmor_status lmr_bytes_store(double total, int64_t *bytes);
