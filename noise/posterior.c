/* What the object may be, given the samples and the prior of the method: means and deviations of samples of the
 * posterior distribution. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "noise/noise.h"
#include "pipeline/problem.h"
#include "schedule/state.h"

/* The first samples of a chain remember where it began: docs/records/noise.md has how many. */
enum {
    DEFAULT_SAMPLES = 32,
    LEAST_SAMPLES = 2,
    BEFORE_GAUSSIAN = 1, /* samples that are dropped, as the first step of many of the image's size is rough */
    BEFORE_CHAIN = 4,
    START_STEPS = 20,
    SUMS = 5 /* of the real part, the imaginary part, their squares and their product */
};

typedef struct drawing {
    const lmr_noisy *n;
    larmor_op *A;
    larmor_array *b, *x;
    larmor_circulant *C;
    larmor_regulariser *r; /* NULL: a Gaussian prior */
    larmor_posterior *chain;
    double **sum; /* [images], SUMS for each voxel */
} drawing;

static void free_drawing(drawing *d)
{
    larmor_posterior_free(d->chain);
    larmor_regulariser_free(d->r);
    larmor_circulant_free(d->C);
    LMR_FREE(d->x, d->b, d->A);
    lmr_free_each((void **)d->sum, d->n->images);
}

static larmor_status open_chain(drawing *d)
{
    const lmr_noisy *n = d->n;
    const lmr_job *job = n->job;
    const double weight = lmr_scaled_weight(job, n->report);
    int toeplitz;
    LMR_TRY(lmr_problem_circulant(job, n->frames, n->count, LARMOR_LAMBDA_FROM_CALLER, &d->C));
    LMR_TRY(lmr_problem_operator(job, n->frames, n->count, &d->A, &toeplitz));
    LMR_TRY(lmr_problem_data(job, n->frames, n->count, d->A, &d->b));
    LMR_TRY(larmor_array_create(job->facts->dev, larmor_op_dtype(d->A), larmor_op_in_shape(d->A), &d->x));
    if (job->found.method.kind == LMR_METHOD_REGULARISED) {
        larmor_regulariser_opts opts = lmr_regulariser_opts(job, n->count, &n->frames->grid);
        if (n->report->choice.time_weight > 0) opts.time = n->report->choice.time_weight;
        LMR_TRY(larmor_regulariser_create(job->facts->dev, n->report->method.name, &opts, larmor_op_dtype(d->A),
                                          larmor_op_in_shape(d->A), &d->r));
    }
    const larmor_posterior_opts opts = {
        .weight = weight, .deviation = n->deviation, .circulant = d->C, .seed = LMR_NOISE_SEED};
    LMR_TRY(larmor_posterior_create(d->A, d->b, d->r, &opts, &d->chain));
    const larmor_solve_opts start = {.max_iter = START_STEPS, .lambda = d->r ? 0 : weight};
    return larmor_cg(d->A, d->b, d->x, &start, NULL);
}

static larmor_status add_sample(void *user, int image, const float *value)
{
    const drawing *d = user;
    for (int64_t v = 0; v < d->n->voxels[image]; v++) {
        double *sum = d->sum[image] + SUMS * v;
        const double re = value[2 * v], im = value[2 * v + 1];
        sum[0] += re;
        sum[1] += im;
        sum[2] += re * re;
        sum[3] += im * im;
        sum[4] += re * im;
    }
    return LARMOR_OK;
}

static larmor_status draw(drawing *d, int samples)
{
    const lmr_noisy *n = d->n;
    LMR_TRY(lmr_noisy_room(n, SUMS, &d->sum));
    LMR_TRY(open_chain(d));
    const int before = d->r ? BEFORE_CHAIN : BEFORE_GAUSSIAN;
    const int all = before + samples;
    for (int i = 0; i < all; i++) {
        LMR_TRY(lmr_noise_step(n, i, all));
        LMR_TRY(larmor_posterior_next(d->chain, d->x));
        if (i >= before) LMR_TRY(lmr_noise_each_image(n, n->frames, d->x, add_sample, d));
    }
    return LARMOR_OK;
}

/* Of the part along the phase of the mean. */
static double deviation_of(const double *sum, int samples)
{
    const double re = sum[0] / samples, im = sum[1] / samples, size = hypot(re, im);
    const double c = size > 0 ? re / size : 1;
    const double s = size > 0 ? im / size : 0;
    const double square = c * c * sum[2] + s * s * sum[3] + 2 * c * s * sum[4], mean = c * re + s * im;
    return sqrt(fmax(0, square - samples * mean * mean) / (samples - 1));
}

static larmor_status take_image(const drawing *d, const larmor_recon_result *result, int i, int samples,
                                larmor_posterior_map *map)
{
    const larmor_recon_image *image = &result->image[i];
    const int64_t voxels = d->n->voxels[i];
    LMR_HEAP double *mean = malloc(((size_t)voxels + 1) * 2 * sizeof *mean);
    LMR_HEAP double *deviation = malloc(((size_t)voxels + 1) * sizeof *deviation);
    if (!mean || !deviation) return LMR_NO_MEMORY();
    for (int64_t v = 0; v < voxels; v++) {
        for (int part = 0; part < 2; part++) /* of a normal distribution the image is the mean without sampling */
            mean[2 * v + part] = d->r ? d->sum[i][SUMS * v + part] / samples : (double)d->n->value[i][2 * v + part];
        deviation[v] = deviation_of(d->sum[i] + SUMS * v, samples);
    }
    LMR_TRY(lmr_noisy_upload(image, deviation, &map->deviation));
    return larmor_array_upload(larmor_array_device(image->data), LARMOR_C64, larmor_array_shape(image->data),
                               LARMOR_C128, mean, &map->mean);
}

/* Of voxels of the object in the first image: the median of the deviation over the magnitude. */
static double median_part(const drawing *d, int samples)
{
    const lmr_noisy *n = d->n;
    const double least = lmr_noisy_object(n, 0);
    LMR_HEAP double *part = malloc(((size_t)n->voxels[0] + 1) * sizeof *part);
    int64_t count = 0;
    for (int64_t v = 0; v < n->voxels[0] && part; v++)
        if (lmr_noisy_size(n, 0, v) > least)
            part[count++] = deviation_of(d->sum[0] + SUMS * v, samples) / lmr_noisy_size(n, 0, v);
    return count ? lmr_median_f64(part, count) : 0;
}

static larmor_status make_maps(const lmr_noisy *n, const larmor_recon_result *result, int samples,
                               larmor_posterior_maps *maps)
{
    const double began = lmr_seconds();
    LMR_FREED_BY(free_drawing) drawing d = {.n = n};
    LMR_TRY(draw(&d, samples));
    LMR_ALLOCATE_ZEROS(maps->map, n->images);
    maps->count = n->images;
    maps->samples = samples;
    for (int i = 0; i < n->images; i++) LMR_TRY(take_image(&d, result, i, samples, &maps->map[i]));
    lmr_log(n->job->events,
            "posterior: from %d samples by %s, %.3g s; the median deviation in the object is %.3g %% of the image",
            samples, d.r ? "a chain, which holds where the prior of the penalty does" : "a Gaussian prior",
            lmr_seconds() - began, 100 * median_part(&d, samples));
    return LARMOR_OK;
}

/* ---- the call ---- */

static larmor_status check_posterior(const larmor_recon *recon, const larmor_recon_result *result, int samples)
{
    const larmor_recon_report *report = &result->report;
    const char *why = NULL;
    LMR_REFUSE(samples < LEAST_SAMPLES || samples > LARMOR_MOST_NOISE_SAMPLES, LARMOR_ERR_ARG,
               "posterior.samples: %d is not from %d to %d", samples, LEAST_SAMPLES, LARMOR_MOST_NOISE_SAMPLES);
    if (recon->facts.basis) why = "coefficients of a basis";
    if (recon->facts.sets) why = "several sets of coil maps";
    if (recon->settings.opts.weighted) why = "data that are weighted by density";
    if (report->partial_fourier != LARMOR_PARTIAL_AUTO && report->partial_fourier != LARMOR_PARTIAL_ZERO)
        why = "a part of k-space that is filled";
    if (!strcmp(report->method.name, "grid")) why = "gridding, which has no prior,";
    return why ? LMR_FAIL(LARMOR_ERR_ARG, "posterior: images by %s have no samples", why) : LARMOR_OK;
}

larmor_status larmor_recon_posterior(larmor_recon *recon, int series, const larmor_recon_result *result, int samples,
                                     larmor_posterior_maps *maps)
{
    LMR_NEED(maps);
    *maps = (larmor_posterior_maps){.count = 0};
    LMR_NEED(recon && result);
    if (!samples) samples = DEFAULT_SAMPLES;
    LMR_TRY(lmr_noisy_check("posterior", recon, series, result));
    LMR_TRY(check_posterior(recon, result, samples));
    lmr_job job = lmr_noisy_job(recon, result);
    lmr_noisy n;
    larmor_status st = lmr_noisy_open(&job, recon, series, result, &n);
    if (!st && !(n.deviation > 0 && isfinite(n.deviation)))
        st = LMR_FAIL(LARMOR_ERR_NUMERIC, "posterior: the samples show no noise");
    if (!st) st = make_maps(&n, result, samples, maps);
    lmr_noisy_close(&n);
    if (st) larmor_posterior_maps_free(maps);
    return st;
}

void larmor_posterior_maps_free(larmor_posterior_maps *maps)
{
    if (!maps) return;
    for (int i = 0; i < maps->count; i++) LMR_FREE(maps->map[i].mean, maps->map[i].deviation);
    free(maps->map);
    *maps = (larmor_posterior_maps){.count = 0};
}
