/* How much images of the centre of k-space alias: what the point spread function of its samples has beside its peak.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/density/gridder.h"
#include "recon/inputs.h"
#include "recon/maps/maps.h"

/* The region that is looked at, in samples 1/FOV apart; less in 3D, where density compensation takes long. */
enum { SIDE_2D = 32, SIDE_3D = 20 };

/* The peak of Hann's window ends so many voxels of 1/side from its centre: 2 and a margin. */
static const double peak_radius = 3;

static void sides_of(larmor_shape image, int64_t n[3])
{
    for (int d = 0; d < 3; d++) {
        n[d] = image.ndim > 2 ? SIDE_3D : SIDE_2D;
        if (d >= image.ndim) n[d] = 1;
        if (d < image.ndim && n[d] > image.dim[d]) n[d] = image.dim[d];
    }
}

/* That of the doubled field of view. */
static larmor_nufft_opts spread_nufft(int nd, const int64_t n[3])
{
    larmor_nufft_opts opts = {.type = 2, .ndim = nd, .tol = 1e-4, .dtype = LARMOR_C64};
    for (int d = 0; d < nd; d++) opts.modes[d] = 2 * n[d];
    return opts;
}

/* points <- points times a factor for each axis. */
static larmor_status scale_points(const lmr_centre *c, const double factor[3], larmor_array **points)
{
    LMR_OWN_MEMORY(double, k, larmor_array_download(c->points, LARMOR_F64, &k));
    for (int64_t j = 0; j < c->m; j++)
        for (int d = 0; d < c->nd; d++) k[j * c->nd + d] *= factor[d];
    return larmor_array_upload(c->dev, LARMOR_F64, LARMOR_SHAPE(c->nd, c->m), LARMOR_F64, k, points);
}

/* spread, c64 [2 n...]: the image of a point in the middle, over all distances in a field of view of side 1. */
static larmor_status make_spread(const lmr_centre *c, const double encoded[3], const int64_t n[3],
                                 larmor_array **spread)
{
    const larmor_nufft_opts opts = spread_nufft(c->nd, n);
    const double doubled[3] = {2 * encoded[0], 2 * encoded[1], 2 * encoded[2]};
    LMR_OWNED(larmor_array) *own = NULL, *points = NULL, *weights = NULL, *samples = NULL;
    LMR_TRY(scale_points(c, encoded, &own));
    LMR_TRY(scale_points(c, doubled, &points));
    LMR_TRY(lmr_density_pipe(own, larmor_shape_of(c->nd, n), 0, LMR_MAPS_DENSITY_TOL, &weights));
    LMR_TRY(c->kernels->taper(c->dev->ctx, c->nd, c->m, c->points->data, c->radius, weights->data));
    LMR_TRY(larmor_array_convert(weights, LARMOR_C64, &samples));
    LMR_OWN(larmor_op, F, larmor_op_nufft(c->dev, &opts, points, &F));
    LMR_TRY(larmor_array_create(c->dev, LARMOR_C64, larmor_op_in_shape(F), spread));
    return larmor_op_adjoint(F, samples, *spread);
}

/* Energies of the peak and of the rest, each distance as often as a square field of view has it. */
static larmor_status judge(const larmor_array *spread, int nd, const int64_t n[3], double *aliasing)
{
    double complex *p;
    double inside = 0, beside = 0;
    LMR_TRY(larmor_array_download(spread, LARMOR_C128, &p));
    for (int64_t i = 0; i < larmor_array_count(spread); i++) {
        double square = 0, pairs = 1;
        int64_t rest = i;
        for (int d = 0; d < nd; d++) {
            const double at = (double)(rest % (2 * n[d]) - n[d]); /* in voxels */
            square += at * at;
            pairs *= 1 - fabs(at) / (double)n[d];
            rest /= 2 * n[d];
        }
        const double energy = pairs * pow(cabs(p[i]), 2);
        if (square < peak_radius * peak_radius)
            inside += energy;
        else
            beside += energy;
    }
    free(p);
    *aliasing = inside > 0 ? beside / inside : INFINITY;
    return LARMOR_OK;
}

larmor_status larmor_calibration_aliasing(const larmor_array *traj, larmor_shape image, const double *encoded,
                                          double *aliasing)
{
    LMR_NEED(aliasing);
    *aliasing = INFINITY;
    double part[3] = {1, 1, 1}, radius[3] = {0.5, 0.5, 0.5};
    int64_t n[3];
    LMR_FREED_BY(lmr_centre_free) lmr_centre c = {.dev = NULL};
    LMR_OWN(larmor_array, k, lmr_input_traj("calibration aliasing", traj, image, &k));
    sides_of(image, n);
    for (int d = 0; d < image.ndim; d++) {
        if (encoded && encoded[d] > 0) part[d] = encoded[d];
        radius[d] = (double)n[d] / 2 / part[d];
    }
    LMR_TRY(lmr_centre_select(k, LARMOR_C64, radius, &c));
    if (!c.m) return LARMOR_OK;
    LMR_OWN(larmor_array, spread, make_spread(&c, part, n, &spread));
    return judge(spread, image.ndim, n, aliasing);
}
