/* Trajectories of scans that store none. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* The trajectory of a group's samples, on a device, from its counters, for scans of a radial type in the plane or
 * in a stack of planes: the angle is from kspace_encode_step_1, kz from kspace_encode_step_2.
 *
 * spokes  zeros before the first group: which angles they have is decided by the header, by the type of the
 *         trajectory, and by the data, where another usual angle makes them much more consistent.
 * Errors  LARMOR_ERR_FORMAT where counters do not define it. */
larmor_status lmr_make_trajectory(larmor_device *dev, const larmor_group *group, const larmor_encoding *enc,
                                  const larmor_grid *grid, const larmor_samples *samples, lmr_spoke_angles *spokes,
                                  larmor_array **traj);

/* The units of a grid's trajectories, which couplings of delays need. */
larmor_delays_opts lmr_delays_opts(const larmor_grid *grid);

/* samples->traj of a group becomes that of gradients with the job's impulse response and the encoding's delays. */
larmor_status lmr_correct_trajectory(const lmr_job *job, int index, int encoding, const larmor_grid *grid,
                                     larmor_samples *samples);

/* The typical distance of the samples of a readout near the centre of k-space, in 1/FOV; 0 where there are none, or
 * one readout alone. encoded: the field of view that was encoded, as part of that of the points. */
larmor_status lmr_readout_spacing(const larmor_array *traj, const double encoded[3], double *spacing);
