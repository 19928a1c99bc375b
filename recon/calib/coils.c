/* Coil sensitivity maps from the centre of the data themselves. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "larmor/recon.h"
#include "recon/calib/walsh.h"
#include "recon/inputs.h"

/* The samples that are used: m of those of the scan. */
typedef struct centre {
    larmor_device *dev;
    const lmr_recon_kernels *kernels;
    int nd;
    int64_t n[3]; /* side of the calibration region, 1 in unused dimensions */
    double radius[3];
    int64_t m, *index;              /* [m] on the device */
    larmor_array *points, *weights; /* f64 [nd, m]; f64 [m], times the apodisation */
} centre;

static void centre_free(centre *c)
{
    if (c->dev) c->dev->be->release(c->dev->ctx, c->index);
    larmor_array_free(c->points), larmor_array_free(c->weights);
}

static larmor_status select_samples(const larmor_array *k, int64_t samples, centre *c)
{
    void *index;
    int64_t bytes;
    if (!lmr_mul(samples, (int64_t)sizeof *c->index, &bytes))
        return LMR_FAIL(LARMOR_ERR_SHAPE, "coils: %lld samples are too many", (long long)samples);
    LMR_TRY(c->dev->be->alloc(c->dev->ctx, (size_t)bytes, &index));
    c->index = index;
    /* samples on the edge get no weight below; a margin keeps rounding of the trajectory from deciding who is in */
    LMR_TRY(c->kernels->select(c->dev->ctx, c->nd, samples, k->data, c->radius, 1 - 1e-4, c->index, &c->m));
    if (c->m == 0)
        return LMR_FAIL(LARMOR_ERR_NUMERIC,
                        "coils: no samples within %g/FOV of the centre of k-space; give maps, or "
                        "raise calibration",
                        (double)c->n[0] / 2);
    LMR_TRY(larmor_array_create(c->dev, LARMOR_F64, LARMOR_SHAPE(c->nd, c->m), &c->points));
    return c->kernels->pick(c->dev->ctx, c->nd, c->m, c->index, 1, k->data, c->points->data);
}

/* Weights of the selected samples: the caller's, or Pipe-Menon's; then Hann's window against ringing. */
static larmor_status weigh(const larmor_array *weights, larmor_shape shape, centre *c)
{
    larmor_array *all = NULL;
    larmor_status st;
    if (weights) {
        LMR_OR(done, lmr_input_real("coils", "weights", weights, &all));
        LMR_OR(done, lmr_expect("coils", "weight array", weights, c->dev, weights->dtype, shape));
        LMR_OR(done, larmor_array_create(c->dev, LARMOR_F64, LARMOR_SHAPE(c->m), &c->weights));
        LMR_OR(done, c->kernels->pick(c->dev->ctx, 1, c->m, c->index, 1, all->data, c->weights->data));
    } else {
        LMR_OR(done, larmor_density_pipe(c->points, larmor_shape_of(c->nd, c->n), 0, &c->weights));
    }
    st = c->kernels->taper(c->dev->ctx, c->nd, c->m, c->points->data, c->radius, c->weights->data);
done:
    larmor_array_free(all);
    return st;
}

/* Coil images on the fine grid, c128 [lmr_fine_size(n)..., coils]. */
static larmor_status grid_images(const larmor_array *kspace, int64_t samples, int64_t coils, const centre *c,
                                 larmor_array **images)
{
    *images = NULL;
    larmor_nufft_opts opts = {.type = 1, .ndim = c->nd, .batch = coils, .dtype = kspace->dtype};
    int64_t pixels = 1;
    for (int d = 0; d < c->nd; d++) opts.modes[d] = lmr_fine_size(c->n[d]), pixels *= opts.modes[d];
    larmor_nufft *plan = NULL;
    larmor_array *values = NULL, *grid = NULL;
    larmor_status st;
    LMR_OR(done, larmor_array_create(c->dev, kspace->dtype, LARMOR_SHAPE(c->m, coils), &values));
    LMR_OR(done, c->kernels->gather(c->dev->ctx, samples, c->m, coils, c->index, c->weights->data, kspace->data,
                                    values->data));
    LMR_OR(done, larmor_array_create(c->dev, kspace->dtype, LARMOR_SHAPE(pixels, coils), &grid));
    LMR_OR(done, larmor_nufft_create(c->dev, &opts, &plan));
    LMR_OR(done, larmor_nufft_set_points(plan, c->points, NULL));
    LMR_OR(done, larmor_nufft_execute(plan, values, grid));
    st = larmor_array_convert(grid, LARMOR_C128, images);
done:
    larmor_nufft_free(plan);
    larmor_array_free(grid), larmor_array_free(values);
    return st;
}

/* One coil: *x <- [to...] of *x [from...], by way of *spare; all c128 and large enough for [to...]. */
static larmor_status resize(const centre *c, const double _Complex *from, larmor_shape image, void **x, void **spare)
{
    const lmr_recon_kernels *kernels;
    int64_t dim[3] = {c->n[0], c->n[1], c->n[2]};
    const void *in = from;
    LMR_TRY(lmr_recon_kernels_of(c->dev, LARMOR_C128, &kernels));
    for (int axis = image.ndim - 1; axis >= 0; axis--) { /* the fastest one last: till then it is done in long runs */
        int64_t rows[3] = {1, dim[axis], 1};
        for (int d = 0; d < 3; d++)
            if (d != axis) rows[d < axis ? 0 : 2] *= dim[d];
        LMR_TRY(kernels->resize(c->dev->ctx, rows, image.dim[axis], in, *spare));
        dim[axis] = image.dim[axis];
        void *const out = *spare;
        *spare = *x, *x = out, in = out;
    }
    return LARMOR_OK;
}

/* maps [image..., coils] <- low, c128 [n..., coils], interpolated and normalised to sum_c |s_c|^2 = 1. */
static larmor_status interpolate(const larmor_array *low, const centre *c, larmor_shape image, int64_t coils,
                                 larmor_array *maps)
{
    const int64_t voxels = larmor_shape_count(image), pixels = c->n[0] * c->n[1] * c->n[2];
    const lmr_backend *be = c->dev->be;
    larmor_array *work = NULL, *energy = NULL;
    larmor_status st;
    LMR_OR(done, larmor_array_create(c->dev, LARMOR_C128, LARMOR_SHAPE(voxels, 2), &work));
    void *x = work->data, *spare = (double _Complex *)work->data + voxels;
    for (int64_t i = 0; i < coils; i++) {
        void *to = (char *)maps->data + (size_t)(i * voxels) * larmor_dtype_size(maps->dtype);
        LMR_OR(done, resize(c, (const double _Complex *)low->data + i * pixels, image, &x, &spare));
        LMR_OR(done, be->convert(c->dev->ctx, voxels, LARMOR_C128, x, maps->dtype, to));
    }
    LMR_OR(done, larmor_array_create(c->dev, maps->dtype, image, &energy));
    LMR_OR(done, lmr_vec_of(maps)->combine(c->dev->ctx, voxels, coils, maps->data, maps->data, energy->data));
    LMR_OR(done, c->kernels->power(c->dev->ctx, voxels, -1, 0, energy->data));
    LMR_OR(done, larmor_mul(energy, 0, maps));
done:
    larmor_array_free(energy), larmor_array_free(work);
    return st;
}

static larmor_status check(const larmor_array *kspace, const larmor_array *traj, const larmor_coils_opts *o)
{
    if (!kspace || !lmr_is_complex(kspace->dtype) || kspace->shape.ndim < 2)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "coils: k-space is %s, expected complex [samples, readouts, coils]",
                        lmr_describe(kspace).s);
    const int64_t coils = kspace->shape.dim[kspace->shape.ndim - 1];
    LMR_TRY(lmr_expect("coils", "k-space", kspace, traj->dev, kspace->dtype,
                       larmor_shape_append(lmr_weights_shape(traj), coils)));
    if (coils < 1) return LMR_FAIL(LARMOR_ERR_SHAPE, "coils: k-space has no coils, expected at least 1");
    if (o->calibration < 0 || o->window < 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "coils: calibration %lld and window %lld, expected at least 0",
                        (long long)o->calibration, (long long)o->window);
    return LARMOR_OK;
}

enum { DEFAULT_WINDOW = 3 };

larmor_status larmor_coils_estimate(const larmor_array *kspace, const larmor_array *traj, const larmor_array *weights,
                                    larmor_shape image, const larmor_coils_opts *opts, larmor_array **maps)
{
    *maps = NULL;
    const larmor_coils_opts o = opts ? *opts : (larmor_coils_opts){0};
    larmor_array *k, *images = NULL, *low = NULL, *out = NULL;
    LMR_TRY(lmr_input_traj("coils", traj, image, &k));
    centre c = {.dev = traj->dev, .nd = image.ndim, .n = {1, 1, 1}, .radius = {0.5, 0.5, 0.5}};
    larmor_status st;
    LMR_OR(done, check(kspace, traj, &o));
    LMR_OR(done, lmr_recon_kernels_of(traj->dev, kspace->dtype, &c.kernels));
    const larmor_shape shape = lmr_weights_shape(traj);
    const int64_t samples = larmor_shape_count(shape), coils = kspace->shape.dim[shape.ndim];
    for (int d = 0; d < c.nd; d++) {
        c.n[d] = o.calibration ? o.calibration : LMR_CALIBRATION;
        if (c.n[d] > image.dim[d]) c.n[d] = image.dim[d];
        c.radius[d] = (double)c.n[d] / 2;
    }
    LMR_OR(done, select_samples(k, samples, &c));
    LMR_OR(done, weigh(weights, shape, &c));
    LMR_OR(done, grid_images(kspace, samples, coils, &c, &images));
    LMR_OR(done, lmr_walsh(images, c.n, coils, o.window ? o.window : DEFAULT_WINDOW, &low));
    LMR_OR(done, larmor_array_create(kspace->dev, kspace->dtype, larmor_shape_append(image, coils), &out));
    LMR_OR(done, interpolate(low, &c, image, coils, out));
    *maps = out, out = NULL;
done:
    larmor_array_free(out), larmor_array_free(low), larmor_array_free(images);
    centre_free(&c);
    larmor_array_free(k);
    return st;
}
