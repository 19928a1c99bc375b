/* Maps of the noise in the images of a series. SPDX-License-Identifier: Apache-2.0 */
#include "noise/noise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/owned.h"
#include "core/select.h"
#include "core/status.h"
#include "pipeline/group.h"
#include "pipeline/method.h"
#include "schedule/state.h"

enum { DEFAULT_SAMPLES = 64, LEAST_SAMPLES = 2 };
/* Voxels brighter than this part of the brightest one are those of the object in what the log says. */
#define OBJECT_PART 0.1

/* ---- frames and images ---- */

static void free_each(void **each, int count)
{
    for (int i = 0; i < count && each; i++) free(each[i]);
    free(each);
}

static void close_noisy(lmr_noisy *n)
{
    free_each((void **)n->value, n->images);
    free(n->voxels);
    lmr_frames_close(n->frames, n->count);
    lmr_found_free(&n->job->found);
}

/* The job's maps on its device, where another of its members has them. */
static larmor_status bring_maps(lmr_job *job)
{
    larmor_array *maps = job->found.maps.array, *here;
    if (!maps || larmor_array_device(maps) == job->facts->dev) return LARMOR_OK;
    LMR_TRY(larmor_array_to(maps, job->facts->dev, &here));
    larmor_array_free(maps);
    job->found.maps.array = here;
    return LARMOR_OK;
}

/* job: a copy, whose found has references of its own. */
static larmor_status open_noisy(lmr_job *job, const int *group, int count, const larmor_recon_result *result,
                                lmr_noisy *n)
{
    larmor_recon_report opened;
    *n = (lmr_noisy){.job = job, .count = count, .report = &result->report};
    lmr_method_take(job, result->report.method.name);
    LMR_TRY(bring_maps(job));
    LMR_TRY(lmr_frames_open(job, group, count, &n->frames, &opened));
    n->deviation = lmr_scaled_noise(job, n->frames, &result->report);
    n->voxels = calloc((size_t)result->count, sizeof *n->voxels);
    n->value = calloc((size_t)result->count, sizeof *n->value);
    if (!n->voxels || !n->value) return LMR_NO_MEMORY();
    n->images = result->count;
    for (int i = 0; i < n->images; i++) {
        n->voxels[i] = larmor_array_count(result->image[i].data);
        LMR_TRY(larmor_array_download(result->image[i].data, LARMOR_C64, &n->value[i]));
    }
    if (n->deviation > 0 && isfinite(n->deviation)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "the samples show no noise, so that there is none to map");
}

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

/* [images] of room for numbers of their voxels, which are zero. */
static larmor_status make_room(const lmr_noisy *n, double ***room)
{
    *room = calloc((size_t)n->images, sizeof **room);
    if (!*room) return LMR_NO_MEMORY();
    for (int i = 0; i < n->images; i++) {
        (*room)[i] = calloc((size_t)n->voxels[i] + 1, sizeof ***room);
        if (!(*room)[i]) return LMR_NO_MEMORY();
    }
    return LARMOR_OK;
}

static larmor_status upload(const larmor_recon_image *image, const double *value, larmor_array **map)
{
    return larmor_array_upload(larmor_array_device(image->data), LARMOR_F32, larmor_array_shape(image->data),
                               LARMOR_F64, value, map);
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
    maps->map = calloc(images, sizeof *maps->map);
    if (!maps->map) return LMR_NO_MEMORY();
    maps->count = n->images;
    for (int i = 0; i < n->images; i++) {
        LMR_TRY(upload(&result->image[i], deviation[i], &maps->map[i].deviation));
        if (g) LMR_TRY(upload(&result->image[i], g[i], &maps->map[i].g));
    }
    return LARMOR_OK;
}

/* The median of the SNR where the first image is bright. */
static double median_snr(const lmr_noisy *n, const double *deviation)
{
    const float *value = n->value[0];
    LMR_HEAP double *snr = malloc(((size_t)n->voxels[0] + 1) * sizeof *snr);
    double most = 0;
    int64_t count = 0;
    for (int64_t v = 0; v < n->voxels[0]; v++)
        most = fmax(most, hypot((double)value[2 * v], (double)value[2 * v + 1]));
    for (int64_t v = 0; v < n->voxels[0] && snr; v++) {
        const double size = hypot((double)value[2 * v], (double)value[2 * v + 1]);
        if (size > OBJECT_PART * most && deviation[v] > 0) snr[count++] = size / deviation[v];
    }
    return count ? lmr_median_f64(snr, count) : 0;
}

static void log_noise_map(const lmr_noisy *n, const double *deviation, const larmor_noise_maps *maps, double seconds)
{
    char how[64] = "exact";
    if (maps->way != LARMOR_NOISE_EXACT)
        snprintf(how, sizeof how, "from %d %s", maps->samples,
                 maps->way == LARMOR_NOISE_LINEAR ? "samples of noise" : "replicas of the image with more noise");
    if (maps->shared) snprintf(how, sizeof how, "that of an earlier image of the same trajectory");
    lmr_log(n->job->events, "noise map: %s, %.3g s; the median of the signal-to-noise ratio in the object is %.3g%s",
            how, seconds, median_snr(n, deviation),
            maps->measured ? "; without a noise scan the noise is taken to be alike in all coils and independent"
                           : "");
}

static larmor_status find_maps(const lmr_noisy *n, const larmor_recon_result *result, larmor_noise_maps *maps)
{
    double **deviation = NULL, **unit = NULL;
    const int has_unit = !n->job->facts->basis && !n->job->facts->sets;
    const double began = lmr_seconds();
    larmor_status st = make_room(n, &deviation);
    if (!st && maps->way == LARMOR_NOISE_EXACT) st = lmr_noise_exact(n, deviation);
    if (!st && maps->way == LARMOR_NOISE_LINEAR) st = lmr_noise_linear(n, maps->samples, deviation, &maps->shared);
    if (!st && maps->way == LARMOR_NOISE_REPLICAS) st = lmr_noise_replicas(n, maps->samples, deviation);
    if (!st && has_unit) st = make_room(n, &unit);
    if (!st && has_unit) st = lmr_noise_unit(n, unit);
    if (!st && has_unit) divide(n, deviation, unit);
    if (!st) st = take_maps(n, result, deviation, unit, maps);
    if (!st) log_noise_map(n, deviation[0], maps, lmr_seconds() - began);
    free_each((void **)deviation, n->images);
    free_each((void **)unit, n->images);
    return st;
}

/* ---- the call ---- */

static larmor_status check_call(const larmor_recon *recon, int series, const larmor_recon_result *result, int samples)
{
    if (samples < LEAST_SAMPLES || samples > LARMOR_MOST_NOISE_SAMPLES)
        return LMR_FAIL(LARMOR_ERR_ARG, "noise.samples: %d is not from %d to %d", samples, LEAST_SAMPLES,
                        LARMOR_MOST_NOISE_SAMPLES);
    if (recon->facts.slabs) return LMR_FAIL(LARMOR_ERR_ARG, "noise: a volume in slabs has no maps of its noise");
    if (recon->job.found.method.kind == LMR_METHOD_NLINV)
        return LMR_FAIL(LARMOR_ERR_ARG, "noise: nlinv finds image and coil maps together, of which there is no map");
    if (recon->settings.opts.no_maps)
        return LMR_FAIL(LARMOR_ERR_ARG, "noise: without coil maps the image is no linear one of its samples");
    if (!recon->run || series < 0 || series >= recon->list.series ||
        recon->last_group != recon->list.group[recon->list.first[series]])
        return LMR_FAIL(LARMOR_ERR_ARG, "noise: series %d is not the last one that was run", series);
    if (result->count < 1) return LMR_FAIL(LARMOR_ERR_ARG, "noise: the series has no images");
    if (!recon->job.found.maps.array)
        return LMR_FAIL(LARMOR_ERR_ARG, "noise: the coil maps of a series from a checkpoint or another process are "
                                        "not kept");
    return LARMOR_OK;
}

larmor_status larmor_recon_noise(larmor_recon *recon, int series, const larmor_recon_result *result,
                                 const larmor_noise_opts *opts, larmor_noise_maps *maps)
{
    const larmor_noise_opts plain = {.samples = 0};
    LMR_NEED(maps);
    *maps = (larmor_noise_maps){.count = 0};
    LMR_NEED(recon && result);
    if (!opts) opts = &plain;
    const int samples = opts->samples ? opts->samples : DEFAULT_SAMPLES;
    LMR_TRY(check_call(recon, series, result, samples));
    lmr_job job = recon->job;
    job.checkpoint = NULL;
    job.found = lmr_found_ref(&recon->job.found);
    lmr_method_take(&job, result->report.method.name);
    maps->way = way_of(&job, &result->report);
    maps->level = result->report.noise;
    maps->measured = !recon->facts.whitening;
    if (opts->only_exact && maps->way != LARMOR_NOISE_EXACT) {
        lmr_found_free(&job.found);
        return LARMOR_OK;
    }
    maps->samples = maps->way == LARMOR_NOISE_EXACT ? 0 : samples;
    const int *group = recon->list.group + recon->list.first[series];
    const int count = recon->list.first[series + 1] - recon->list.first[series];
    lmr_noisy n;
    larmor_status st = open_noisy(&job, group, count, result, &n);
    if (!st) st = find_maps(&n, result, maps);
    close_noisy(&n);
    if (st) larmor_noise_maps_free(maps);
    return st;
}

void larmor_noise_maps_free(larmor_noise_maps *maps)
{
    if (!maps) return;
    for (int i = 0; i < maps->count; i++) {
        larmor_array_free(maps->map[i].deviation);
        larmor_array_free(maps->map[i].g);
    }
    free(maps->map);
    *maps = (larmor_noise_maps){.count = 0};
}
