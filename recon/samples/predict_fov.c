/* Which field of view predicts samples that were left out best: where the centre of k-space is undersampled,
 * signal from beyond the field of view folds onto what is inside, and only several coils together tell them apart.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/bytes.h"
#include "recon/inputs.h"
#include "recon/maps/maps.h"

/* Voxels of the field of view along each axis, at most. */
static const double max_side = 20;

/* Times the field of view. */
enum { FACTORS = 3 };

static const double factors[FACTORS] = {1, 1.25, 1.5};

/* Choices of what is left out; an odd number, which has a median. */
enum { CHOICES = 3 };

static const double held_out_part = 0.1, /* of the samples */
    held_out_length = 1.5;               /* of a readout that is left out at once, in 1/FOV */

/* Of Newton's method: more take long, and follow noise. */
enum { STEPS = 18 };

/* Of the error: larger fields of view that predict no better than this are not taken. */
static const double max_error_ratio = 0.8;

static const double nufft_tol = 1e-4; /* far below the errors that are compared */

typedef struct forecast {
    lmr_centre centre;
    larmor_shape image; /* of low resolution, on the field of view */
    int64_t coils;
    larmor_array *k; /* f64 [nd, samples, readouts] */
    larmor_array *ones, *values;
    larmor_array *kspace; /* [m, 1, coils] */
    double *points;       /* host: [nd, m] */
} forecast;

static void forecast_free(forecast *f)
{
    LMR_FREE(f->kspace, f->values, f->ones, f->k);
    lmr_centre_free(&f->centre);
    free(f->points);
}

static larmor_shape low_shape(larmor_shape image, double factor)
{
    for (int d = 0; d < image.ndim; d++) image.dim[d] = (int64_t)ceil(fmin(max_side, (double)image.dim[d]) * factor);
    return image;
}

static larmor_status gather(forecast *f, const larmor_array *kspace, larmor_shape image)
{
    lmr_centre *c = &f->centre;
    double radius[3] = {0.5, 0.5, 0.5};
    f->coils = kspace->shape.dim[2];
    f->image = image;
    for (int d = 0; d < image.ndim; d++) radius[d] = fmin(max_side, (double)image.dim[d]) / 2;
    LMR_TRY(lmr_centre_select(f->k, kspace->dtype, radius, c));
    LMR_REFUSE(!c->m, LARMOR_ERR_NUMERIC, "field of view: no samples within %g/FOV of the centre of k-space",
               radius[0]);
    LMR_TRY(larmor_array_create(c->dev, LARMOR_F64, LARMOR_SHAPE(c->m), &f->ones));
    LMR_TRY(larmor_fill(f->ones, 1));
    LMR_TRY(lmr_centre_gather(c, f->ones, kspace, f->coils, &f->values));
    LMR_TRY(larmor_array_reshape(f->values, LARMOR_SHAPE(c->m, 1, f->coils), &f->kspace));
    return larmor_array_download(c->points, LARMOR_F64, &f->points);
}

/* ---- what is left out ---- */

static double way(const double *k, int64_t nd)
{
    double square = 0;
    for (int64_t d = 0; d < nd; d++) square += pow(k[d] - k[d - nd], 2);
    return sqrt(square);
}

/* kept [samples, readouts] <- 0 in parts of readouts that are left out, else 1. */
static void leave_out(const double *k, int64_t nd, int64_t samples, int64_t readouts, uint64_t choice, double *kept)
{
    uint64_t parts = 0;
    for (int64_t r = 0; r < readouts; r++) {
        double length = 0;
        parts++;
        for (int64_t i = r * samples; i < (r + 1) * samples; i++) {
            if (i > r * samples) length += way(k + i * nd, nd);
            if (length > held_out_length) {
                parts++;
                length = 0;
            }
            kept[i] = lmr_random_uniform(choice, parts) >= held_out_part;
        }
    }
}

/* weights, f64 [m, 1]: those of the samples in the centre. */
static larmor_status choose(const forecast *f, uint64_t choice, larmor_array **weights)
{
    const lmr_centre *c = &f->centre;
    const int64_t samples = f->k->shape.dim[1], readouts = f->k->shape.dim[2];
    LMR_OWNED(larmor_array) *all = NULL;
    LMR_HEAP double *k = NULL, *kept = malloc((size_t)c->samples * sizeof *kept);
    if (!kept) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(f->k, LARMOR_F64, &k));
    leave_out(k, c->nd, samples, readouts, choice, kept);
    LMR_TRY(larmor_array_upload(c->dev, LARMOR_F64, LARMOR_SHAPE(c->samples), LARMOR_F64, kept, &all));
    LMR_TRY(larmor_array_create(c->dev, LARMOR_F64, LARMOR_SHAPE(c->m, 1), weights));
    return c->kernels->pick(c->dev->ctx, 1, c->m, c->index->data, 1, all->data, (*weights)->data);
}

/* ---- prediction ---- */

static larmor_status scaled_points(const forecast *f, double factor, larmor_array **traj)
{
    const int64_t nd = f->centre.nd, m = f->centre.m;
    LMR_HEAP LMR_NEW(double, scaled, nd *m);
    for (int64_t i = 0; i < nd * m; i++) scaled[i] = factor * f->points[i];
    return larmor_array_upload(f->centre.dev, LARMOR_F64, LARMOR_SHAPE(nd, m, 1), LARMOR_F64, scaled, traj);
}

static larmor_nufft_opts nufft_opts(larmor_shape low, int64_t coils, larmor_dtype dtype)
{
    larmor_nufft_opts opts = {.type = 2, .ndim = low.ndim, .batch = coils, .tol = nufft_tol, .dtype = dtype};
    for (int d = 0; d < low.ndim; d++) opts.modes[d] = low.dim[d];
    return opts;
}

/* left <- samples of the coil images, maps times x, less those that were measured; maps become the coil images. */
static larmor_status subtract(const forecast *f, const larmor_array *traj, const larmor_array *x, larmor_array *maps,
                              larmor_array **left)
{
    const larmor_shape low = x->shape;
    const larmor_nufft_opts opts = nufft_opts(low, f->coils, maps->dtype);
    LMR_TRY(larmor_mul(x, 0, maps));
    LMR_OWN(larmor_op, F, larmor_op_nufft(maps->dev, &opts, traj, &F));
    LMR_TRY(larmor_array_create(maps->dev, maps->dtype, f->kspace->shape, left));
    LMR_TRY(larmor_op_forward(F, maps, *left));
    return larmor_axpby(-1, f->kspace, 1, *left);
}

/* Of y, [m, 1, coils], where the weights are 0: sum of squares. */
static larmor_status energy_left_out(const larmor_array *y, const double *weights, double *energy)
{
    const int64_t m = y->shape.dim[0];
    LMR_OWN_MEMORY(double complex, v, larmor_array_download(y, LARMOR_C128, &v));
    *energy = 0;
    for (int64_t i = 0; i < larmor_array_count(y); i++)
        if (weights[i % m] == 0) *energy += pow(creal(v[i]), 2) + pow(cimag(v[i]), 2);
    return LARMOR_OK;
}

static larmor_status predict(const forecast *f, const larmor_array *weights, double factor, double *error)
{
    const larmor_nlinv_opts opts = {.weights = weights, .steps = STEPS, .nufft_tol = nufft_tol};
    LMR_OWNED(larmor_array) *traj = NULL, *x = NULL, *maps = NULL, *left = NULL;
    double measured, missed;
    LMR_TRY(lmr_go_on());
    LMR_TRY(scaled_points(f, factor, &traj));
    LMR_TRY(larmor_nlinv(f->kspace, traj, low_shape(f->image, factor), &opts, &x, &maps, NULL));
    LMR_TRY(subtract(f, traj, x, maps, &left));
    LMR_OWN_MEMORY(double, w, larmor_array_download(weights, LARMOR_F64, &w));
    LMR_TRY(energy_left_out(f->kspace, w, &measured));
    LMR_TRY(energy_left_out(left, w, &missed));
    *error = measured > 0 ? sqrt(missed / measured) : 1;
    return LARMOR_OK;
}

static larmor_status compare(const forecast *f, larmor_prediction *prediction)
{
    double error[FACTORS][CHOICES], gain[CHOICES];
    for (int c = 0; c < CHOICES; c++) {
        LMR_OWN(larmor_array, weights, choose(f, (uint64_t)c + 1, &weights));
        for (int i = 0; i < FACTORS; i++) LMR_TRY(predict(f, weights, factors[i], &error[i][c]));
    }
    prediction->gain = INFINITY;
    for (int i = 1; i < FACTORS; i++) {
        for (int c = 0; c < CHOICES; c++) gain[c] = error[0][c] > 0 ? error[i][c] / error[0][c] : 1;
        const double own = lmr_median_f64(gain, CHOICES);
        if (own >= prediction->gain) continue;
        prediction->gain = own;
        if (own < max_error_ratio) prediction->factor = factors[i];
    }
    prediction->error = lmr_median_f64(error[0], CHOICES);
    return LARMOR_OK;
}

larmor_status larmor_predict_field_of_view(const larmor_array *kspace, const larmor_array *traj, larmor_shape image,
                                           larmor_prediction *prediction)
{
    LMR_NEED(prediction);
    *prediction = (larmor_prediction){.factor = 1, .gain = 1};
    LMR_REFUSE(!kspace || !lmr_is_complex(kspace->dtype) || kspace->shape.ndim != 3 || kspace->shape.dim[2] < 1,
               LARMOR_ERR_SHAPE, "field of view: kspace is %s, expected complex [samples, readouts, coils]",
               kspace ? lmr_describe(kspace).s : "missing");
    LMR_REFUSE(image.ndim < 2 || !traj || traj->shape.ndim != 3 ||
                   !larmor_shape_equal(lmr_weights_shape(traj), larmor_shape_of(2, kspace->shape.dim)),
               LARMOR_ERR_SHAPE, "field of view: traj is %s, expected [2 or 3, samples, readouts] of kspace %s",
               traj ? lmr_describe(traj).s : "missing", lmr_describe(kspace).s);
    LMR_FREED_BY(forecast_free) forecast f = {.coils = 0};
    LMR_TRY(lmr_input_traj("field of view", traj, image, &f.k));
    LMR_TRY(gather(&f, kspace, image));
    return compare(&f, prediction);
}

larmor_status larmor_predict_field_of_view_memory(const larmor_device *dev, const larmor_problem *p, int64_t *bytes)
{
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    larmor_problem low = *p;
    int64_t inversion;
    low.image = low_shape(p->image, factors[FACTORS - 1]);
    LMR_TRY(larmor_nlinv_memory(dev, &low, &(larmor_nlinv_opts){.nufft_tol = nufft_tol}, &inversion));
    const larmor_nufft_opts nufft = nufft_opts(low.image, p->coils, p->dtype);
    const double samples = (double)p->samples;
    const double values = lmr_bytes_of(p->dtype, LARMOR_SHAPE(p->samples, p->coils));
    const double found = lmr_bytes_of(p->dtype, larmor_shape_append(low.image, p->coils + 1));
    double transform = values;
    LMR_TRY(lmr_bytes_add_nufft(dev, &nufft, p->samples, &transform));
    /* the trajectory, index, ones, weights of all and of the chosen, points and scaled ones; values */
    const double chosen = (8 * 4 + 24.0 * p->image.ndim) * samples + values;
    return lmr_bytes_store(chosen + found + fmax((double)inversion, transform), bytes);
}
