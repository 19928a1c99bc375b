/* Images of a scan whose samples are changed. SPDX-License-Identifier: Apache-2.0 */
#include "noise/repeat.h"

#include "core/core.h"
#include "pipeline/cache.h"
#include "pipeline/method.h"
#include "pipeline/solve.h"

larmor_status lmr_repeat_begin(const lmr_noisy *n, lmr_repeat *r)
{
    const larmor_recon_report *report = n->report;
    *r = (lmr_repeat){.settings = *n->job->settings, .facts = *n->job->facts, .job = *n->job, .count = n->count};
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
    r->frames = calloc((size_t)n->count, sizeof *r->frames);
    return r->frames ? LARMOR_OK : LMR_NO_MEMORY();
}

void lmr_repeat_free(lmr_repeat *r)
{
    LMR_CLEAR(r->frames);
}

/* The frames with other samples, which are then the repeat's. */
static larmor_status take_samples(const lmr_noisy *n, larmor_array **more, lmr_repeat *r)
{
    for (int f = 0; f < n->count; f++) {
        const lmr_frame *from = &n->frames[f];
        lmr_frame *to = &r->frames[f];
        *to = *from;
        to->cached = from->cached ? lmr_cached_ref(from->cached) : NULL;
        to->phase = NULL;
        to->samples.kspace = more[f];
        more[f] = NULL;
    }
    for (int f = 0; f < n->count; f++)
        LMR_TRY(larmor_axpby(1, n->frames[f].samples.kspace, 1, r->frames[f].samples.kspace));
    return LARMOR_OK;
}

static void drop_samples(lmr_repeat *r)
{
    for (int f = 0; f < r->count; f++) {
        LMR_FREE(r->frames[f].samples.kspace, r->frames[f].phase);
        lmr_cached_free(r->frames[f].cached);
        r->frames[f] = (lmr_frame){0};
    }
}

larmor_status lmr_repeat_solve(const lmr_noisy *n, lmr_repeat *r, larmor_array **more, lmr_use_image use, void *user)
{
    LMR_OWNED(larmor_array) *x = NULL;
    larmor_recon_report report = {0};
    report.coverage = n->report->coverage;
    larmor_status st = take_samples(n, more, r);
    n->job->events->trial++;
    if (!st) st = lmr_solve_frames(&r->job, r->frames, r->count, &x, &report);
    n->job->events->trial--;
    if (!st && report.interrupted) st = LMR_FAIL(LARMOR_STOPPED, "stopped by the caller in a map of the noise");
    if (!st) st = lmr_noise_each_image(n, r->frames, x, use, user);
    drop_samples(r);
    return st;
}
