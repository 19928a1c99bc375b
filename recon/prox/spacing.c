/* Distances of voxels along each axis. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/prox/regulariser.h"

void lmr_regulariser_spacing(const larmor_regulariser_opts *o, int axes, double spacing[LARMOR_MAX_DIMS])
{
    double shortest = INFINITY;
    for (int d = 0; d < LARMOR_MAX_DIMS; d++) spacing[d] = 1;
    for (int d = 0; d < axes && d < 3; d++) shortest = fmin(shortest, o->voxel[d]);
    for (int d = 0; d < axes && d < 3 && shortest > 0; d++) spacing[d] = o->voxel[d] / shortest;
}
