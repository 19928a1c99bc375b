/* Density compensation that the host computes from all samples at once. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/inputs.h"

/* Weights w of n samples in each of some readouts, k [nd, n, readouts]. */
typedef larmor_status (*lmr_weigh)(larmor_shape image, int64_t n, int64_t readouts, const double *k, double *w);

/* An array of weights, of traj's type and on its device, by such a function. */
larmor_status lmr_density_by(const char *who, const larmor_array *traj, larmor_shape image, lmr_weigh weigh,
                             larmor_array **w);
