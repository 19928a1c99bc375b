/* The caller's maps on the grid of the image. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* Interpolate r->job.given, maps of so many voxels [x, y, z, coils, sets], to the voxels of the first group's
 * grid, by where opts.maps_place says that they lie; got becomes what they then are. Where they reach beyond the
 * grid they still do, in its voxels. Nothing is done where they are on the grid's voxels already.
 *
 * Errors  LARMOR_ERR_SHAPE for maps of another size whose place is not known, and for 2D ones that lie in another
 *         plane. */
larmor_status lmr_place_maps(larmor_recon *r, int64_t got[5]);
