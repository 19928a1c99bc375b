/* How many dimensions windows of k-space span. Those that were sampled rightly span few, as the object is smaller
 * than the field of view and coils are smooth (Uecker et al., Magn. Reson. Med. 71, 990 (2014)).
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <complex.h>
#include <stdint.h>

/* The mean logarithm of the eigenvalues of the windows' Gram matrix, each relative to the mean of all, with a floor.
 *
 * gram  [rows, rows], its lower triangle; it is overwritten. Infinite if it is zero. */
double lmr_windows_spread(double complex *gram, int64_t rows);

/* The lower triangle of a becomes its Cholesky factor. Returns the logarithm of its determinant; -infinity if it has
 * none. */
double lmr_cholesky(double complex *a, int64_t rows);
