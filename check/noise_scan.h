/* Whether a noise scan has the coils' covariance. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "check/residuals.h"

/* A line for what makes the covariance of noise, complex [samples, coils] of so many readouts in a row, not
 * that of the coils' noise: too few samples, of which copies of other readouts do not count, or a constant in them.
 * An empty one if there is nothing. */
larmor_status lmr_noise_scan_describe(const larmor_array *noise, int64_t readouts, char *line, size_t room);

/* Coils whose whitened samples have far more noise than the noise scan: out->noisier_coils and noise_ratio. An image
 * leaves noise at all radii alike, and differences along readouts at the edge of k-space have as much.
 *
 * samples  of a frame, without weights; r: what its image leaves, taken: of the noise by the image */
larmor_status lmr_noise_scan_compare(const larmor_samples *samples, const lmr_residuals *r, double taken,
                                     larmor_misfit *out);
