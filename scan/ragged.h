/* Readouts that differ in length. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/pipeline.h"

/* What corrects a trajectory [nd, samples, readouts], readout by readout, or makes other numbers of it: [rows,
 * samples, readouts]. */
typedef larmor_status (*lmr_correction)(const void *self, const larmor_array *traj, larmor_array **corrected);

/* The samples' trajectory, corrected, or what was made of it, in its own shape but for the rows. */
larmor_status lmr_each_readout(const larmor_samples *samples, lmr_correction correct, const void *self, int64_t rows,
                               larmor_array **made);
