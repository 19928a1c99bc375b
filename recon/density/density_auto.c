/* Which density compensation suits a trajectory. For straight readouts the ramp is right where their angles are even
 * and the field of view is as wide along all axes; elsewhere Pipe-Menon may be much better. Point spread functions
 * tell; of a large volume those of the centre of its k-space.
 *
 * Gridding with weights w makes of an object x the image p * x with the point spread function p(d) = sum_j w_j
 * exp(2 pi i k_j.d / N). Of all objects that fill a disc and have the spectrum H^2 at random phases, the mean
 * square of the image's error is sum_d |h * (s p - q)|^2 v(d), with h of the spectrum H, the ideal q of the
 * sampled disc, or ball, and v the number of pairs of voxels at the distance d. H falls as the transforms of bodies
 * with edges do, with |k|^(-3/2), in 3D with |k|^(-2). The factor s is the best one, so that the measure is the sine
 * of an angle.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/density/gridder.h"
#include "recon/inputs.h"

#define OBJECT_DIAMETER .8 /* of the field of view: the disc that objects fill */
/* Of the ramp's error, above which the ramp is kept. Of planes the ramp was better for some objects above it; of
 * volumes it never was, with predictions from .1 to .85. */
#define MAX_ERROR_OVER_RAMP 0.75
#define MAX_ERROR_OVER_RAMP_3D 0.95
/* Of a volume whose weights are compared as they are: Pipe-Menon takes many times as long as gridding there, and of a
 * larger one it is worth it only where the ramp is the worse. */
#define MAX_COMPARED_VOXELS (64. * 64 * 64)

static double spectrum(int nd, const double *k)
{
    double square = 1;
    for (int d = 0; d < nd; d++) square += k[d] * k[d];
    return pow(square, -.25 * (nd + 1));
}

/* The part of k-space that the matrix holds and samples reach: an ellipse, as |2 k / N| <= reach. */
static double reach_of(const double *k, int64_t samples, larmor_shape image)
{
    double most = 0;
    for (int64_t i = 0; i < samples; i++) {
        double square = 0;
        for (int d = 0; d < image.ndim; d++) square += pow(2 * k[i * image.ndim + d] / (double)image.dim[d], 2);
        most = fmax(most, square);
    }
    return fmin(1, sqrt(most));
}

/* H at place i of a grid of halves of 1/FOV, within reach. */
static float spectrum_at(larmor_shape grid, int64_t i, double reach)
{
    double k[LARMOR_MAX_DIMS], square = 0;
    for (int d = 0; d < grid.ndim; d++) {
        const int64_t n = grid.dim[d];
        k[d] = (double)(i % n - n / 2) / 2;
        square += pow(4 * k[d] / (double)n, 2);
        i /= n;
    }
    return sqrt(square) <= reach ? (float)spectrum(grid.ndim, k) : 0;
}

/* sqrt(v) at place i of the doubled field of view, for a disc or ball of this part of the field of view. */
static float root_of_pairs(larmor_shape grid, int64_t i, double part)
{
    double square = 0;
    for (int d = 0; d < grid.ndim; d++) {
        const int64_t n = grid.dim[d];
        square += pow(2 * (double)(i % n - n / 2) / ((double)n * part), 2);
        i /= n;
    }
    const double distance = sqrt(square); /* in diameters */
    if (distance >= 1) return 0;
    if (grid.ndim == 3) return (float)sqrt(1 - 1.5 * distance + .5 * distance * square);
    return (float)sqrt(2 / M_PI * (acos(distance) - distance * sqrt(1 - square)));
}

/* image <- a function of the place, which takes one more number. */
static larmor_status fill(larmor_array *image, float (*value)(larmor_shape, int64_t, double), double number)
{
    const larmor_shape shape = larmor_array_shape(image);
    const int64_t count = larmor_array_count(image);
    LMR_HEAP LMR_NEW(float complex, host, count);
    for (int64_t i = 0; i < count; i++) host[i] = value(shape, i, number);
    return larmor_array_write(image, host, larmor_array_bytes(image));
}

typedef struct judge {
    lmr_gridder grid;      /* its window: sqrt(v) */
    larmor_array *ideal;   /* sqrt(v) h * q */
    double *k;             /* on the host */
    float complex *sample; /* [samples] */
    int64_t samples;
} judge;

static void judge_free(judge *j)
{
    lmr_gridder_free(&j->grid);
    LMR_FREE(j->ideal, j->k, j->sample);
}

static larmor_status judge_create(const larmor_array *traj, larmor_shape image, judge *j)
{
    const larmor_fft_opts centred = {.centred = 1};
    larmor_shape doubled = image;
    for (int d = 0; d < image.ndim; d++) doubled.dim[d] *= 2;
    j->samples = larmor_array_count(traj) / image.ndim;
    LMR_TRY(lmr_gridder_create(traj, image, LMR_DENSITY_TOL, &j->grid));
    LMR_TRY(fill(j->grid.window, root_of_pairs, OBJECT_DIAMETER));
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &j->k));
    LMR_ALLOCATE(j->sample, j->samples);
    LMR_TRY(larmor_array_create(traj->dev, LARMOR_C64, doubled, &j->ideal));
    LMR_OWN(larmor_op, F, larmor_op_fft(traj->dev, LARMOR_C64, doubled, (1u << image.ndim) - 1, &centred, &F));
    LMR_TRY(fill(j->grid.image, spectrum_at, reach_of(j->k, j->samples, image)));
    LMR_TRY(larmor_op_adjoint(F, j->grid.image, j->ideal));
    return larmor_mul(j->grid.window, 0, j->ideal);
}

/* The error of gridding with weights w, relative to the image. */
static larmor_status judge_weights(judge *j, int nd, const larmor_array *w, double *error)
{
    double *weight, both[2], own, ideal;
    LMR_TRY(larmor_array_download(w, LARMOR_F64, &weight));
    for (int64_t i = 0; i < j->samples; i++) j->sample[i] = (float)(weight[i] * spectrum(nd, j->k + i * nd));
    free(weight);
    LMR_TRY(larmor_array_write(j->grid.samples, j->sample, larmor_array_bytes(j->grid.samples)));
    LMR_TRY(larmor_op_adjoint(j->grid.F, j->grid.samples, j->grid.image));
    LMR_TRY(larmor_mul(j->grid.window, 0, j->grid.image));
    LMR_TRY(larmor_dot(j->grid.image, j->ideal, both));
    LMR_TRY(larmor_nrm2(j->grid.image, &own));
    LMR_TRY(larmor_nrm2(j->ideal, &ideal));
    const double cosine = hypot(both[0], both[1]) / (own * ideal);
    *error = sqrt(fmax(0, 1 - cosine * cosine));
    return LARMOR_OK;
}

/* ---- the choice ---- */

/* What is compared: all samples, or those of a smaller matrix in the centre. */
typedef struct compared {
    larmor_shape image;
    larmor_array *traj, *ramp;
} compared;

LMR_FREES(compared_free, compared, traj, ramp)

/* A matrix of the same proportions with few enough voxels. */
static larmor_shape smaller_matrix(larmor_shape image)
{
    const double part = cbrt(MAX_COMPARED_VOXELS / (double)larmor_shape_count(image));
    for (int d = 0; d < image.ndim; d++) image.dim[d] = (int64_t)fmax(2, floor((double)image.dim[d] * part));
    return image;
}

static int is_inside(larmor_shape image, const double *k)
{
    double square = 0;
    for (int d = 0; d < image.ndim; d++) square += pow(2 * k[d] / (double)image.dim[d], 2);
    return square <= 1;
}

/* The samples of traj, in double precision, that the matrix c->image holds. */
static larmor_status take_centre(const larmor_array *traj, const larmor_array *ramp, compared *c)
{
    const int nd = c->image.ndim;
    const int64_t samples = larmor_array_count(ramp);
    int64_t inside = 0;
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    LMR_OWN_MEMORY(double, w, larmor_array_download(ramp, LARMOR_F64, &w));
    for (int64_t i = 0; i < samples; i++) {
        if (!is_inside(c->image, k + i * nd)) continue;
        memmove(k + inside * nd, k + i * nd, (size_t)nd * sizeof *k);
        w[inside++] = w[i];
    }
    if (!inside) return LARMOR_OK;
    LMR_TRY(larmor_array_upload(traj->dev, LARMOR_F64, LARMOR_SHAPE(nd, inside, 1), LARMOR_F64, k, &c->traj));
    return larmor_array_upload(traj->dev, LARMOR_F64, LARMOR_SHAPE(inside, 1), LARMOR_F64, w, &c->ramp);
}

static larmor_status choose_compared(const larmor_array *traj, larmor_shape image, const larmor_array *ramp,
                                     compared *c)
{
    LMR_OWN(larmor_array, k, lmr_input_traj("density auto", traj, image, &k));
    c->image = image;
    if (image.ndim == 3 && (double)larmor_shape_count(image) > MAX_COMPARED_VOXELS) {
        c->image = smaller_matrix(image);
        LMR_TRY(take_centre(k, ramp, c));
        if (c->traj) return LARMOR_OK;
        c->image = image;
    }
    c->traj = larmor_array_ref(k);
    c->ramp = larmor_array_ref(ramp);
    return LARMOR_OK;
}

/* *is_pipe_better <- 1 if Pipe-Menon's predicted error is clearly less than the ramp's; *pipe: its weights for all
 * samples, or NULL where they were not needed. */
static larmor_status compare(const larmor_array *traj, larmor_shape image, const larmor_array *ramp,
                             int *is_pipe_better, larmor_array **pipe)
{
    LMR_FREED_BY(compared_free) compared c = {.traj = NULL};
    LMR_FREED_BY(judge_free) judge j = {.samples = 0};
    double by_ramp, by_pipe;
    LMR_TRY(choose_compared(traj, image, ramp, &c));
    LMR_OWN(larmor_array, own, larmor_density_pipe(c.traj, c.image, 0, &own));
    LMR_TRY(judge_create(c.traj, c.image, &j));
    LMR_TRY(judge_weights(&j, image.ndim, c.ramp, &by_ramp));
    LMR_TRY(judge_weights(&j, image.ndim, own, &by_pipe));
    *is_pipe_better = by_pipe < (image.ndim == 3 ? MAX_ERROR_OVER_RAMP_3D : MAX_ERROR_OVER_RAMP) * by_ramp;
    if (larmor_shape_equal(c.image, image)) return larmor_array_convert(own, traj->dtype, pipe);
    return LARMOR_OK;
}

larmor_status larmor_density_auto(const larmor_array *traj, larmor_shape image, const char **taken, larmor_array **w)
{
    LMR_NEED(w, taken);
    *w = NULL;
    *taken = "";
    LMR_OWNED(larmor_array) *pipe = NULL, *ramp = NULL;
    int is_pipe_better = 1;
    const larmor_status st = larmor_density_ramp(traj, image, &ramp);
    if (st && st != LARMOR_ERR_ARG) return st;
    if (!st) LMR_TRY(compare(traj, image, ramp, &is_pipe_better, &pipe));
    if (is_pipe_better && !pipe) LMR_TRY(larmor_density_pipe(traj, image, 0, &pipe));
    *taken = is_pipe_better ? "pipe" : "ramp";
    *w = larmor_array_ref(is_pipe_better ? pipe : ramp);
    return LARMOR_OK;
}
