/* Whether a noise scan has the coils' covariance. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "larmor/array.h"

/* A line for what makes the covariance of noise, complex [samples, coils] of so many readouts in a row, not
 * that of the coils' noise: too few samples, of which copies of other readouts do not count, or a constant in them.
 * An empty one if there is nothing. */
larmor_status lmr_noise_scan_describe(const larmor_array *noise, int64_t readouts, char *line, size_t room);
