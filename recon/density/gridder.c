/* Gridding and interpolation of the same points on the doubled field of view, for density compensation.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/density/gridder.h"

#include "core/core.h"
#include "recon/inputs.h"
#include "recon/ops/ops.h"

void lmr_gridder_free(lmr_gridder *g)
{
    LMR_FREE(g->F, g->window, g->image, g->samples);
}

/* The NUFFT of the doubled grid. */
static larmor_nufft_opts gridder_nufft(larmor_shape image, double tol)
{
    larmor_nufft_opts opts = {.type = 2, .ndim = image.ndim, .tol = tol, .dtype = LARMOR_C64};
    for (int d = 0; d < image.ndim; d++) opts.modes[d] = 2 * image.dim[d];
    return opts;
}

/* The window on the doubled grid is the autocorrelation of the field of view's disc or ball; its transform is the
 * kernel of G. So G's kernel is nowhere negative, its reach is that of the object in the data, 1/FOV, and its
 * integral is 1. */
larmor_status lmr_gridder_create(const larmor_array *traj, larmor_shape image, double tol, lmr_gridder *g)
{
    larmor_device *dev = traj->dev;
    const int64_t m = larmor_array_count(traj) / image.ndim;
    const larmor_nufft_opts opts = gridder_nufft(image, tol);
    const larmor_shape grid = larmor_shape_of(image.ndim, opts.modes);
    const double cells = (double)larmor_shape_count(image); /* the integral of the kernel without scaling */
    LMR_TRY(lmr_recon_kernels_of(dev, LARMOR_C64, &g->kernels));
    LMR_OWN(larmor_array, points, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(image.ndim, m), &points));
    LMR_TRY(g->kernels->pick(dev->ctx, image.ndim, m, NULL, 2, traj->data, points->data)); /* field doubled */
    LMR_TRY(lmr_op_fourier(dev, &opts, points, &g->F));
    LMR_TRY(larmor_array_create(dev, LARMOR_C64, grid, &g->image));
    LMR_TRY(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(m), &g->samples));
    LMR_TRY(larmor_array_create(dev, LARMOR_C64, grid, &g->window));
    return g->kernels->overlap(dev->ctx, grid.ndim, grid.dim, 1 / cells, g->window->data);
}
