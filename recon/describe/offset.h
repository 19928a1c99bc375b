/* A constant that all samples have in common. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "core/array.h"

/* Of complex samples [n, readouts, coils] the power of a constant in the outer part of k-space, over that of what
 * else its rings have in common; 0 where the dot that it makes in the middle of the image is below three times the
 * root mean square of the image.
 *
 * nd      axes of k-space.
 * voxels  of the image.
 * radius  [n, readouts] of |k|, 1 at the farthest. */
larmor_status lmr_offset_find(const larmor_array *kspace, const float *radius, int nd, double voxels, double *offset);
