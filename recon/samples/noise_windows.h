/* The level of the noise of lines on a grid. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"

/* The standard deviation of the real and of the imaginary part of the noise, the root of the mean square over coils, by
 * how well samples of lines along one axis, at even distances, are predicted from those around them in windows of
 * all directions and some coils. An object that does not fill the field of view, and coils that are smooth, leave
 * combinations of samples that hold noise alone.
 *
 * k [nd, samples, readouts]; deviation: infinite where too few windows are of such lines. */
larmor_status lmr_noise_of_windows(larmor_array *kspace, const double *k, int nd, double *deviation);
