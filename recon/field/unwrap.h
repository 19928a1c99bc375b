/* Phase unwrapping in space. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "larmor/status.h"

/* Add whole cycles to the phases of an object so that neighbours are near each other.
 *
 * dim      voxels, 1 for dimensions that are not there.
 * weight   [voxels] how well each phase is known; 0: no part of the object.
 * cycles   [voxels] phases; those of the object are changed.
 * region   [voxels] which part of the object a voxel is in, from 0, the largest first; -1 outside. Within a region
 *          the phase is known up to whole cycles.
 * Errors   LARMOR_ERR_MEMORY. */
larmor_status lmr_unwrap(const int64_t dim[3], const double *weight, double *cycles, int32_t *region, int *regions);
