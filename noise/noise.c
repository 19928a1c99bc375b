/* Maps of the noise in the images of a series. SPDX-License-Identifier: Apache-2.0 */
#include "noise/noise.h"

#include "core/core.h"
#include "schedule/prepare.h"
#include "schedule/state.h"

/* Of the iterations of the images so far: what quick maps may take. */
#define MAX_QUICK_PART 0.1
enum {
    DEFAULT_SAMPLES = 64,
    LEAST_SAMPLES = 2,
    QUICK_SAMPLES = 1,
    LEAST_EXPECTED = 8,  /* iterations of a sample of noise, where the image was begun near its solution */
    LEAST_REPLICAS = 16, /* of a map that says something */
};

/* ---- maps ---- */

static larmor_noise_way way_of(const lmr_job *job, const larmor_recon_report *report)
{
    const larmor_recon_opts *opts = &job->settings->opts;
    const int is_whole =
        report->partial_fourier == LARMOR_PARTIAL_AUTO || report->partial_fourier == LARMOR_PARTIAL_ZERO;
    const int is_limited = opts->iters > 0 || opts->tol > 0 || report->solver.end == LARMOR_END_ITERATIONS;
    if (job->facts->sets || !is_whole) return LARMOR_NOISE_REPLICAS;
    if (report->direct || job->found.method.kind == LMR_METHOD_GRID) return LARMOR_NOISE_EXACT;
    return job->found.method.kind == LMR_METHOD_CG && !is_limited ? LARMOR_NOISE_LINEAR : LARMOR_NOISE_REPLICAS;
}

/* unit, that of the deviations, becomes g. */
static void divide(const lmr_noisy *n, double *const *deviation, double **unit)
{
    for (int i = 0; i < n->images; i++) {
        const double samples = (double)larmor_array_count(n->frames[i].samples.kspace) / (double)n->job->facts->coils;
        for (int64_t v = 0; v < n->voxels[i]; v++)
            unit[i][v] = unit[i][v] > 0 ? deviation[i][v] * sqrt(samples) / unit[i][v] : 0;
    }
}

static larmor_status take_maps(const lmr_noisy *n, const larmor_recon_result *result, double *const *deviation,
                               double *const *g, larmor_noise_maps *maps)
{
    const size_t images = n->images > 0 ? (size_t)n->images : 0;
    LMR_ALLOCATE_ZEROS(maps->map, images);
    maps->count = n->images;
    for (int i = 0; i < n->images; i++) {
        LMR_TRY(lmr_noisy_upload(&result->image[i], deviation[i], &maps->map[i].deviation));
        if (g) LMR_TRY(lmr_noisy_upload(&result->image[i], g[i], &maps->map[i].g));
    }
    return LARMOR_OK;
}

/* The median of the SNR where the first image is bright. */
static double median_snr(const lmr_noisy *n, const double *deviation)
{
    LMR_HEAP double *snr = malloc(((size_t)n->voxels[0] + 1) * sizeof *snr);
    const double least = lmr_noisy_object(n, 0);
    int64_t count = 0;
    for (int64_t v = 0; v < n->voxels[0] && snr; v++) {
        const double size = lmr_noisy_size(n, 0, v);
        if (size > least && deviation[v] > 0) snr[count++] = size / deviation[v];
    }
    return count ? lmr_median_f64(snr, count) : 0;
}

static void log_noise_map(const lmr_noisy *n, const larmor_noise_maps *maps, double seconds)
{
    char how[128] = "exact";
    if (maps->way != LARMOR_NOISE_EXACT)
        snprintf(how, sizeof how, "from %d %s", maps->samples,
                 maps->way == LARMOR_NOISE_LINEAR ? "samples of noise" : "replicas of the image with more noise");
    if (maps->width > 0)
        snprintf(how, sizeof how, "from %d sample%s of noise, averaged over neighbours (a deviation of %.2g voxels)",
                 maps->samples, maps->samples > 1 ? "s" : "", maps->width);
    if (maps->shared) snprintf(how, sizeof how, "that of an earlier image of the same trajectory");
    const char *noise = "";
    if (maps->measured) noise = "; without a noise scan the noise is taken to be alike in all coils and independent";
    if (n->job->facts->colouring) noise = "; the noise is that of the noise scan, which the image does not use";
    lmr_log(n->job->events, "noise map: %s, %.3g s; the median of the signal-to-noise ratio in the object is %.3g%s",
            how, seconds, maps->snr, noise);
}

/* ---- what a quick map takes ---- */

/* The iterations of an image, with those of the search for its weight. */
static int iterations_of(const larmor_recon_report *report)
{
    const int searched = report->lambda_from == LARMOR_LAMBDA_FROM_DATA ? report->choice.iters : 0;
    return searched + report->solver.iters;
}

/* At a known weight and from zero a sample of noise takes about half the iterations of the image, one of several
 * replicas all. */
static int expected_of(const larmor_recon_report *report, larmor_noise_way way)
{
    const int one = report->solver.iters > LEAST_EXPECTED ? report->solver.iters : LEAST_EXPECTED;
    return way == LARMOR_NOISE_REPLICAS ? LEAST_REPLICAS * one : QUICK_SAMPLES * one;
}

/* 1 if a quick map is expected to leave all of them below a tenth of the images' iterations. */
static int may_take(const larmor_recon *recon, const larmor_recon_report *report, larmor_noise_way way)
{
    const double taken = recon->quick.maps + expected_of(report, way);
    return way != LARMOR_NOISE_REPLICAS && taken < MAX_QUICK_PART * recon->quick.images;
}

static void leave_out(const larmor_recon_report *report, larmor_noise_maps *maps)
{
    const int all = iterations_of(report);
    maps->left_out = (double)expected_of(report, maps->way) / (all > 1 ? all : 1);
}

/* ---- a series ---- */

static larmor_status find_linear(const lmr_noisy *n, int averages, int takes, double *const *unit, double **deviation,
                                 larmor_noise_maps *maps)
{
    lmr_noise_samples how = {.count = maps->samples, .averages = averages, .may_take = takes};
    LMR_TRY(lmr_noise_linear(n, &how, unit, deviation));
    maps->width = how.width;
    maps->shared = how.shared;
    maps->steps = how.steps;
    if (how.left_out) leave_out(n->report, maps);
    return LARMOR_OK;
}

static larmor_status find_maps(const lmr_noisy *n, int averages, int takes, const larmor_recon_result *result,
                               larmor_noise_maps *maps)
{
    double **deviation = NULL, **unit = NULL;
    const int has_unit = !n->job->facts->basis && !n->job->facts->sets;
    const double began = lmr_seconds();
    larmor_status st = lmr_noisy_room(n, 1, &deviation);
    if (!st && has_unit) st = lmr_noisy_room(n, 1, &unit);
    if (!st && has_unit) st = lmr_noise_unit(n, unit);
    if (!st && maps->way == LARMOR_NOISE_EXACT) st = lmr_noise_exact(n, deviation);
    if (!st && maps->way == LARMOR_NOISE_LINEAR) st = find_linear(n, averages, takes, unit, deviation, maps);
    if (!st && maps->way == LARMOR_NOISE_REPLICAS) st = lmr_noise_replicas(n, maps->samples, deviation);
    const int is_made = maps->left_out == 0;
    if (!st && has_unit && is_made) divide(n, deviation, unit);
    if (!st && is_made) st = take_maps(n, result, deviation, unit, maps);
    if (!st && is_made) maps->snr = median_snr(n, deviation[0]);
    if (!st && is_made) log_noise_map(n, maps, lmr_seconds() - began);
    lmr_free_each((void **)deviation, n->images);
    lmr_free_each((void **)unit, n->images);
    return st;
}

/* ---- the call ---- */

larmor_status larmor_recon_noise(larmor_recon *recon, int series, const larmor_recon_result *result,
                                 const larmor_noise_opts *opts, larmor_noise_maps *maps)
{
    const larmor_noise_opts plain = {.samples = 0};
    LMR_NEED(maps);
    *maps = (larmor_noise_maps){.count = 0};
    LMR_NEED(recon && result);
    if (!opts) opts = &plain;
    const int least = opts->quick ? QUICK_SAMPLES : LEAST_SAMPLES;
    const int by_default = opts->quick ? QUICK_SAMPLES : DEFAULT_SAMPLES;
    const int samples = opts->samples ? opts->samples : by_default;
    LMR_REFUSE(samples < least || samples > LARMOR_MOST_NOISE_SAMPLES, LARMOR_ERR_ARG,
               "noise.samples: %d is not from %d to %d", samples, least, LARMOR_MOST_NOISE_SAMPLES);
    LMR_TRY(lmr_noisy_check("noise", recon, series, result));
    LMR_TRY(lmr_prepare_colouring(recon));
    lmr_job job = lmr_noisy_job(recon, result);
    maps->way = way_of(&job, &result->report);
    maps->level = result->report.noise;
    maps->measured = !recon->facts.whitening && !recon->facts.colouring;
    const int is_cheap = opts->quick == LARMOR_QUICK_IF_CHEAP;
    if (is_cheap) recon->quick.images += iterations_of(&result->report);
    const int takes = !is_cheap || may_take(recon, &result->report, maps->way);
    /* a single image has none that it may share */
    if (!takes && maps->way != LARMOR_NOISE_EXACT && (maps->way == LARMOR_NOISE_REPLICAS || recon->list.series == 1))
        leave_out(&result->report, maps);
    if (maps->left_out > 0 || (opts->only_exact && maps->way != LARMOR_NOISE_EXACT) ||
        (opts->quick && maps->way == LARMOR_NOISE_REPLICAS)) {
        lmr_found_free(&job.found);
        return LARMOR_OK;
    }
    maps->samples = maps->way == LARMOR_NOISE_EXACT ? 0 : samples;
    lmr_noisy n;
    larmor_status st = lmr_noisy_open(&job, recon, series, result, &n);
    if (!st && !(n.deviation > 0 && isfinite(n.deviation)))
        st = LMR_FAIL(LARMOR_ERR_NUMERIC, "the samples show no noise, so that there is none to map");
    if (!st) st = find_maps(&n, opts->quick != 0, takes, result, maps);
    if (is_cheap) recon->quick.maps += maps->steps;
    lmr_noisy_close(&n);
    if (st) larmor_noise_maps_free(maps);
    return st;
}

void larmor_noise_maps_free(larmor_noise_maps *maps)
{
    if (!maps) return;
    for (int i = 0; i < maps->count; i++) LMR_FREE(maps->map[i].deviation, maps->map[i].g);
    free(maps->map);
    *maps = (larmor_noise_maps){.count = 0};
}
