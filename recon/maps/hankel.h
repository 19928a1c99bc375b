/* The space of a calibration region's windows. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"

/* A region of k-space on the host, and the windows that move within it; unused dimensions are 1. */
typedef struct lmr_windows {
    const double _Complex *data; /* [side..., coils] */
    int64_t side[3], kernel[3], coils;
    double noise; /* mean of |noise|^2 of a sample at most; 0: not known */
} lmr_windows;

/* Differences of two places in a window. */
int64_t lmr_windows_lags(const lmr_windows *w);

/* G(r) = sum_l lags(l) exp(2 pi i l.r / fov) / places is, at each place r of the image, the part of the projection
 * onto the windows' space that keeps r: maps are its eigenvectors to eigenvalue 1.
 *
 * threshold  eigenvalues of the windows' Gram matrix that are signal, relative to the largest; those that noise may
 *            have are none, however.
 * lags       c128 [coils, coils, lags...] on dev, l from -(kernel - 1) to kernel - 1 along each axis.
 * signal     how many eigenvectors span the space.
 * noise      mean of |noise|^2 of a sample, from the smaller eigenvalues, at most w->noise where that is known; else
 *            too large where most are signal.
 * Errors     LARMOR_ERR_NUMERIC for a region without signal; LARMOR_ERR_MEMORY; LARMOR_STOPPED.
 * Source     Uecker et al., Magn. Reson. Med. 71, 990 (2014), Eqs. 9 to 17. */
larmor_status lmr_windows_space(larmor_device *dev, const lmr_windows *w, double threshold, larmor_array **lags,
                                int64_t *signal, double *noise);

/* Bytes that it takes on the device, the lags among them. */
double lmr_windows_bytes(const lmr_windows *w);
