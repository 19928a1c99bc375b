/* Gridding and interpolation of the same points on the doubled field of view, for density compensation.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "larmor/nufft.h"
#include "larmor/recon.h"
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
 * tol  of gridding and interpolation.
 * g    zeros before; to be freed by lmr_gridder_free, also after an error. */
larmor_status lmr_gridder_create(const larmor_array *traj, larmor_shape image, double tol, lmr_gridder *g);
void lmr_gridder_free(lmr_gridder *g);

/* Tolerances of weights: of those that images are gridded with; and of those of coil maps, which are few. With the
 * first, maps of 402 golden spokes differ by 1 to 3 % from one device, or kind of gridding, to another. */
#define LMR_DENSITY_TOL 1e-3
#define LMR_MAPS_DENSITY_TOL 1e-5

/* larmor_density_pipe and larmor_density_memory to this tolerance. */
larmor_status lmr_density_pipe(const larmor_array *traj, larmor_shape image, int iters, double tol, larmor_array **w);
larmor_status lmr_density_memory(const larmor_device *dev, const larmor_problem *p, double tol, int64_t *bytes);
