/* The noise of images by any method: images of the scan with more noise, at the weight of the image.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "core/owned.h"
#include "core/status.h"
#include "larmor/solve.h"
#include "noise/noise.h"
#include "pipeline/cache.h"
#include "pipeline/method.h"
#include "pipeline/problem.h"
#include "pipeline/solve.h"

/* A job that solves as the image was solved, without a choice. */
typedef struct repeat {
    lmr_settings settings;
    lmr_scan_facts facts;
    lmr_job job;
    lmr_frame *frames;
    int count;
} repeat;

static void begin_repeat(const lmr_noisy *n, repeat *r)
{
    const larmor_recon_report *report = n->report;
    *r = (repeat){.settings = *n->job->settings, .facts = *n->job->facts, .job = *n->job, .count = n->count};
    larmor_recon_opts *opts = &r->settings.opts;
    opts->method = report->method.name;
    opts->lambda_mode = LARMOR_LAMBDA_RELATIVE;
    opts->lambda = report->lambda;
    if (report->choice.time_weight > 0) opts->time_weight = report->choice.time_weight;
    if (report->partial_fourier != LARMOR_PARTIAL_AUTO) opts->partial_fourier = report->partial_fourier;
    r->facts.automatic = 0;
    r->job.settings = &r->settings;
    r->job.facts = &r->facts;
    r->job.checkpoint = NULL;
    lmr_method_take(&r->job, report->method.name);
}

/* Sample i of noise is added to the samples of each frame, which are then the repeat's. */
static larmor_status add_noise(const lmr_noisy *n, int i, repeat *r)
{
    for (int f = 0; f < n->count; f++) {
        const lmr_frame *from = &n->frames[f];
        lmr_frame *to = &r->frames[f];
        const larmor_array *samples = from->samples.kspace;
        *to = *from;
        to->cached = from->cached ? lmr_cached_ref(from->cached) : NULL;
        to->phase = NULL;
        to->samples.kspace = NULL;
        LMR_TRY(larmor_array_create(n->job->facts->dev, larmor_array_dtype(samples), larmor_array_shape(samples),
                                    &to->samples.kspace));
        LMR_TRY(larmor_noise_fill(to->samples.kspace, n->deviation,
                                  LMR_NOISE_SEED + (uint64_t)(i + 1) * (uint64_t)n->count + (uint64_t)f));
        LMR_TRY(larmor_axpby(1, samples, 1, to->samples.kspace));
    }
    return LARMOR_OK;
}

static void drop_noise(repeat *r)
{
    for (int f = 0; f < r->count; f++) {
        larmor_array_free(r->frames[f].samples.kspace);
        larmor_array_free(r->frames[f].phase);
        lmr_cached_free(r->frames[f].cached);
        r->frames[f] = (lmr_frame){0};
    }
}

typedef struct of_replica {
    const lmr_noisy *n;
    lmr_noise_sums sums;
} of_replica;

/* The part along the image's phase of what the noise changes it by; of a voxel that is 0, of that of both parts. */
static larmor_status add_change(void *user, int image, const float *value)
{
    of_replica *s = user;
    const float *before = s->n->value[image];
    for (int64_t v = 0; v < s->n->voxels[image]; v++) {
        const double re = value[2 * v] - before[2 * v], im = value[2 * v + 1] - before[2 * v + 1];
        const double size = hypot((double)before[2 * v], (double)before[2 * v + 1]);
        const double along = size > 0 ? (re * before[2 * v] + im * before[2 * v + 1]) / size : re;
        s->sums.sum[image][v] += along;
        s->sums.square[image][v] += along * along;
    }
    return LARMOR_OK;
}

static larmor_status solve_replica(const lmr_noisy *n, int i, repeat *r, of_replica *each)
{
    LMR_OWNED(larmor_array) *x = NULL;
    larmor_recon_report report = {0};
    report.coverage = n->report->coverage;
    larmor_status st = add_noise(n, i, r);
    if (!st) st = lmr_solve_frames(&r->job, r->frames, r->count, &x, &report);
    if (!st && report.interrupted) st = LMR_FAIL(LARMOR_STOPPED, "stopped by the caller in a map of the noise");
    if (!st) st = lmr_noise_each_image(n, r->frames, x, add_change, each);
    drop_noise(r);
    return st;
}

larmor_status lmr_noise_replicas(const lmr_noisy *n, int samples, double **deviation)
{
    repeat r;
    LMR_HEAP double **sum = calloc((size_t)n->images, sizeof *sum);
    LMR_HEAP lmr_frame *frames = calloc((size_t)n->count, sizeof *frames);
    larmor_status st = sum && frames ? LARMOR_OK : LMR_NO_MEMORY();
    for (int i = 0; i < n->images && !st; i++) {
        sum[i] = calloc((size_t)n->voxels[i], sizeof **sum);
        if (!sum[i]) st = LMR_NO_MEMORY();
    }
    begin_repeat(n, &r);
    r.frames = frames;
    of_replica each = {n, {sum, deviation, n->images, samples}};
    n->job->events->trial++;
    for (int i = 0; i < samples && !st; i++) {
        st = lmr_noise_step(n, i, samples);
        if (!st) st = solve_replica(n, i, &r, &each);
    }
    n->job->events->trial--;
    for (int i = 0; i < n->images && !st; i++)
        for (int64_t v = 0; v < n->voxels[i]; v++)
            deviation[i][v] = sqrt(fmax(0, deviation[i][v] - sum[i][v] * sum[i][v] / samples) / (samples - 1));
    for (int i = 0; i < n->images && sum; i++) free(sum[i]);
    return st;
}
