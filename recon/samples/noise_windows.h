/* The level of the noise below signal that coils and samples share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/ranks/ranks.h"
#include "larmor/array.h"

enum { LMR_NOISE_WINDOW = 5 /* samples beside each other */ };

/* *ratio <- the level of the noise in windows y [coils][count][LMR_NOISE_WINDOW] (re, im) in units of `deviation`
 * [coils], about that of each coil's noise, or 1 where there are too few of them, or of coils. Coils whose
 * deviation is far from the others' are left out. ranks: whose windows are taken together, or NULL; the ratio is
 * rank 0's, and the others' is 1. Called by all.
 *
 * The windows' covariance matrix has the signal in few of its eigenvalues, as coils are smooth and the object is
 * within the field of view; the smallest quarter is that of the noise, corrected for how far eigenvalues of so
 * many windows of noise alone spread. Source: Marchenko, Pastur, Math. USSR Sb. 1, 457 (1967); of MR images:
 * Veraart, Fieremans, Novikov, Magn. Reson. Med. 76, 1582 (2016).
 * Errors  LARMOR_ERR_MEMORY; those of the ranks. */
larmor_status lmr_noise_below_signal(larmor_device *dev, larmor_ranks *ranks, int64_t coils, int64_t count,
                                     const float *y, const double *deviation, double *ratio);
