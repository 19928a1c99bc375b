/* Readouts that differ in length. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/pipeline.h"

/* Which samples with coordinates k [nd, samples] are within the grid's k-space, and how many are: half a sample
 * beyond its edge is within. */
int64_t lmr_find_inside(const larmor_grid *grid, const double *k, int64_t samples, unsigned char *inside);

/* x [before, samples(, after)] of the samples inside: [before, kept, 1(, after)].
 *
 * axis  0 without `before`, else 1. */
larmor_status lmr_keep_inside(larmor_array **x, int axis, const unsigned char *inside, int64_t samples, int64_t kept);

/* What larmor_samples_align made becomes the samples' own again. */
larmor_status lmr_samples_unalign(larmor_samples *samples, larmor_array *kspace, larmor_array *traj);

/* Samples whose coordinates k are beyond the grid's k-space are left out.
 *
 * k  [nd, samples] in the order of the samples; they need not be those of samples->traj. */
larmor_status lmr_samples_cut(larmor_samples *samples, const double *k, const larmor_grid *grid);

/* What corrects a trajectory [nd, samples, readouts], readout by readout, or makes other numbers of it: [rows,
 * samples, readouts]. */
typedef larmor_status (*lmr_correction)(const void *self, const larmor_array *traj, larmor_array **corrected);

/* The samples' trajectory, corrected, or what was made of it, in its own shape but for the rows. */
larmor_status lmr_each_readout(const larmor_samples *samples, lmr_correction correct, const void *self, int64_t rows,
                               larmor_array **made);
