/* Gridding and interpolation of the same points on the doubled field of view, for density compensation.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "larmor/nufft.h"
#include "recon/kernels.h"

typedef struct lmr_gridder {
    larmor_op *F;                     /* from the doubled grid to the points */
    const lmr_recon_kernels *kernels; /* in single precision */
    larmor_array *window, *image;     /* c64 on the doubled grid */
    larmor_array *samples;            /* c64 [m] */
} lmr_gridder;

/* For points [nd, ...], f64, in cycles per field of view. The window is the autocorrelation of the field of view's
 * disc or ball: how many pairs of voxels there are at each distance. Its sum over the grid's frequencies is 1.
 *
 * g  zeros before; to be freed by lmr_gridder_free, also after an error. */
larmor_status lmr_gridder_create(const larmor_array *traj, larmor_shape image, lmr_gridder *g);
void lmr_gridder_free(lmr_gridder *g);
