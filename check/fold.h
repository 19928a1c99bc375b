/* An object that reaches beyond the field of view of a grid. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/io.h"

/* Of the axes, bit d for axis d, those along which the image goes on from its last plane to its first with half of
 * the root mean square of all planes or more: on a grid that was sampled at 1/FOV the object beyond an edge is
 * folded in at the other.
 *
 * x       the image [x, y(, z), ...], of ndim axes; what else it has is summed over.
 * axes    those that are looked at, whose samples are 1/FOV of the image apart; gets those that are found.
 * Errors  LARMOR_ERR_MEMORY. */
larmor_status lmr_fold_find(const larmor_array *x, int ndim, int *axes);

/* The part of the image's energy that is beyond edges, in mm from the middle along each axis, by more than a voxel;
 * of axes whose edges are both 0 there is none. Products of neighbours are summed, which noise alone does not have.
 *
 * x       [x, y(, z), ...], of the grid's axes.
 * Errors  LARMOR_ERR_MEMORY. */
larmor_status lmr_energy_beyond(const larmor_array *x, const larmor_grid *grid, const double edge[3][2],
                                double *part);

/* step[d] <- the fewest cycles per field of view between two places of samples along axis d of a grid: above 1 every
 * place of an image is one with others, which one coil cannot tell apart. 0 where all samples are at one place.
 *
 * traj    [nd, ...], whole cycles per field of view, within what a grid holds.
 * Errors  LARMOR_ERR_MEMORY. */
larmor_status lmr_fold_steps(const larmor_array *traj, int64_t step[3]);
