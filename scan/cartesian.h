/* Cartesian scans: what is sampled on the grid goes through FFTs alone. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* The grid of a Cartesian encoding: on the field of view that was encoded, so that lines are on it, with voxels of
 * about the size that they had; along x without the oversampling, where that will be removed. Axes whose
 * oversampling the caller has asked for, in `asked`, stay as they are. */
larmor_status lmr_cartesian_grid(const lmr_job *job, int encoding, const double asked[3], larmor_grid *grid);

/* The samples of a group, or of its calibration, as the source has them, but without oversampling of Cartesian
 * readouts that the group's grid does not hold, and with coordinates on the grid that are there exactly. Where
 * coordinates are stored or follow from lines, delays and impulse responses of the gradients are corrected: whole
 * lines along x are shifted by their delay, so that they stay on the grid, and of others the coordinates are
 * moved.
 *
 * c       what was found. Errors: those of the source. */
larmor_status lmr_cartesian_samples(const lmr_job *job, int index, int calibration, larmor_samples *samples,
                                    lmr_cartesian *c);

/* Weights of samples on the grid: 1 over how many share their place. */
larmor_status lmr_cartesian_density(const larmor_samples *samples, const larmor_grid *grid, larmor_array **w);

/* 1 if the image takes no solver: conjugate gradients without a weight from the caller would find what one FFT
 *   gives, as
 * all of a box around the centre of k-space is sampled equally often. */
int lmr_cartesian_is_direct(const lmr_job *job, const lmr_frame *frame, const larmor_coverage *coverage);

/* That image: the coils' transforms, combined by their maps and divided by the maps' energy. */
larmor_status lmr_cartesian_solve(lmr_job *job, lmr_frame *frame, larmor_array **x);

/* Before there are samples: how many are expected at one place of the grid at most, and how many of the group's
 * samples will be left without oversampling; 0 and all where they are not expected on the grid. */
larmor_status lmr_cartesian_expect(const lmr_job *job, int index, int64_t *repeats, int64_t *left);

/* The deviation of the noise of a frame's samples, before they are weighted: known of whitened ones, else measured by
 * differences along readouts. */
larmor_status lmr_noise_level(const lmr_job *job, const lmr_frame *frame, double *deviation);

/* The same of lines on a grid that are not whitened, of whose noise more can be known (docs/records/noise.md); 0 of
 * others. */
larmor_status lmr_noise_of_lines(const lmr_job *job, const lmr_frame *frame, double *of_lines);

/* 1 if that of lines is to be taken in place of the other. */
int lmr_lines_have_less(const lmr_job *job, double of_lines, double deviation);
