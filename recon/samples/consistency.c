/* Whether samples and trajectory belong together: one image on the field of view must explain the centre of k-space.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/inputs.h"

enum {
    SIDE = 16,   /* voxels of an axis: MAX_RADIUS on both sides, and a margin */
    ITERS = 20,  /* of the fit */
    FEWEST = 10, /* readouts */
};

#define MAX_RADIUS 6.          /* 1/FOV: the centre, at most */
#define READOUTS_PER_RADIUS 6. /* readouts for each 1/FOV of its radius: about twice as many as determine an image */

/* The samples of one coil within the radius, as a readout, with weights |k| that even out their density. */
typedef struct centre {
    larmor_array *traj, *weights, *kspace;
} centre;

LMR_FREES(centre_free, centre, traj, weights, kspace)

/* The coil with most energy, of k-space on the host. */
static int64_t strongest(const float *x, int64_t points, int64_t coils)
{
    int64_t best = 0;
    double most = -1;
    for (int64_t c = 0; c < coils; c++) {
        double energy = 0;
        for (int64_t i = 0; i < 2 * points; i++) energy += pow((double)x[2 * c * points + i], 2);
        if (energy > most) {
            most = energy;
            best = c;
        }
    }
    return best;
}

static larmor_status upload(larmor_device *dev, int64_t count, const double *k, const double *w, const float *x,
                            centre *c)
{
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, count, 1), LARMOR_F64, k, &c->traj));
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(count, 1), LARMOR_F64, w, &c->weights));
    LMR_TRY(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(count, 1, 1), LARMOR_C64, x, &c->kspace));
    return larmor_sense_weigh(c->weights, c->kspace);
}

static larmor_status take_centre(const larmor_array *kspace, const larmor_array *traj, double radius, centre *c)
{
    const larmor_shape shape = larmor_array_shape(kspace);
    const int64_t points = shape.dim[0] * shape.dim[1];
    LMR_HEAP double *k = NULL, *near = lmr_new(2 * points, sizeof *near), *w = lmr_new(points, sizeof *w);
    LMR_HEAP float *x = NULL, *y = lmr_new(2 * points, sizeof *y);
    int64_t count = 0;
    if (!near || !w || !y) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &k));
    LMR_TRY(larmor_array_download(kspace, LARMOR_C64, &x));
    const float *coil = x + 2 * points * strongest(x, points, shape.dim[2]);
    for (int64_t i = 0; i < points; i++) {
        const double r = hypot(k[2 * i], k[2 * i + 1]);
        if (!(r <= radius)) continue;
        near[2 * count] = k[2 * i];
        near[2 * count + 1] = k[2 * i + 1];
        w[count] = fmax(r, .1);
        y[2 * count] = coil[2 * i];
        y[2 * count + 1] = coil[2 * i + 1];
        count++;
    }
    LMR_REFUSE(!count, LARMOR_ERR_NUMERIC, "trajectory consistency: no sample within %g/FOV of the centre", radius);
    return upload(traj->dev, count, near, w, y, c);
}

/* |A x - b| / |b| of the least squares image x. */
static larmor_status residual_of(const centre *c, double *residual)
{
    larmor_device *dev = c->traj->dev;
    double size, left;
    const larmor_sense_opts sense = {.traj = c->traj, .weights = c->weights, .nufft_tol = 1e-4, .toeplitz = -1};
    const larmor_solve_opts solve = {.max_iter = ITERS, .tol = 1e-3};
    LMR_OWN(larmor_array, one, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(SIDE, SIDE, 1), &one));
    LMR_TRY(larmor_fill(one, 1));
    LMR_OWN(larmor_op, A, larmor_op_sense(one, &sense, &A));
    LMR_OWN(larmor_array, x, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(SIDE, SIDE), &x));
    LMR_TRY(larmor_zero(x));
    LMR_TRY(larmor_cg(A, c->kspace, x, &solve, NULL));
    LMR_OWN(larmor_array, rest, larmor_array_create(dev, LARMOR_C64, larmor_array_shape(c->kspace), &rest));
    LMR_TRY(larmor_op_forward(A, x, rest));
    LMR_TRY(larmor_axpby(-1, c->kspace, 1, rest));
    LMR_TRY(larmor_nrm2(rest, &left));
    LMR_TRY(larmor_nrm2(c->kspace, &size));
    *residual = size > 0 ? left / size : 0;
    return LARMOR_OK;
}

larmor_status larmor_traj_consistency(const larmor_array *kspace, const larmor_array *traj, double *residual)
{
    LMR_NEED(kspace, traj, residual);
    *residual = 0;
    const larmor_shape data = larmor_array_shape(kspace), points = larmor_array_shape(traj);
    LMR_REFUSE(data.ndim != 3 || points.ndim != 3 || points.dim[0] != 2 || points.dim[1] != data.dim[0] ||
                   points.dim[2] != data.dim[1],
               LARMOR_ERR_SHAPE,
               "trajectory consistency: kspace is %s and the trajectory %s, expected [samples, readouts, "
               "coils] and [2, samples, readouts]",
               lmr_describe(kspace).s, lmr_describe(traj).s);
    LMR_REFUSE(data.dim[1] < FEWEST, LARMOR_ERR_ARG,
               "trajectory consistency: %lld readouts do not tell, at least %d expected", (long long)data.dim[1],
               FEWEST);
    LMR_FREED_BY(centre_free) centre c = {NULL, NULL, NULL};
    LMR_TRY(take_centre(kspace, traj, fmin(MAX_RADIUS, (double)data.dim[1] / READOUTS_PER_RADIUS), &c));
    return residual_of(&c, residual);
}
