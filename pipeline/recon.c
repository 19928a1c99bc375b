/* The public calls: a reconstruction is made from a source and options, and run series by series.
 * SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/device.h"
#include "core/status.h"
#include "pipeline/checkpoint.h"
#include "pipeline/group.h"
#include "pipeline/options.h"
#include "pipeline/prepare.h"
#include "pipeline/report.h"

void larmor_recon_free(larmor_recon *recon)
{
    if (!recon) return;
    lmr_keep_close(recon);
    lmr_series_free(&recon->list);
    lmr_plan_free(&recon->plan);
    lmr_job_clear(&recon->job);
    free(recon->method);
    free(recon->maps_name);
    free(recon);
}

larmor_status larmor_recon_create(larmor_source *source, larmor_device *dev, const larmor_recon_opts *opts,
                                  larmor_recon **recon)
{
    if (!recon) return LMR_FAIL(LARMOR_ERR_ARG, "recon: nowhere to put it");
    *recon = NULL;
    if (!source || !dev) return LMR_FAIL(LARMOR_ERR_ARG, "recon: a source and a device expected");
    larmor_recon *r = calloc(1, sizeof *r);
    int maps_from, weights_from;
    if (!r) return LMR_NO_MEMORY();
    larmor_status st = lmr_options_read(opts, r);
    if (!st) {
        r->job.source = larmor_source_ref(source);
        r->job.dev = lmr_device_ref(dev);
        r->job.info = larmor_source_describe(source);
        st = lmr_prepare(r);
        if (!st) st = lmr_keep_open(r, &maps_from, &weights_from);
        if (!st) st = lmr_group_restore(&r->job, maps_from, weights_from);
    }
    if (st)
        larmor_recon_free(r);
    else
        *recon = r;
    return st;
}

int larmor_recon_series(const larmor_recon *recon)
{
    return recon ? recon->list.series : 0;
}

static larmor_status check_series(const larmor_recon *r, int series)
{
    if (!r) return LMR_FAIL(LARMOR_ERR_ARG, "recon: no reconstruction given");
    if (series >= 0 && series < r->list.series) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "recon: series %d, expected 0 to %d", series, r->list.series - 1);
}

larmor_status larmor_recon_describe(const larmor_recon *recon, int series, larmor_recon_plan *plan)
{
    LMR_TRY(check_series(recon, series));
    const lmr_job *job = &recon->job;
    const int first = recon->list.group[recon->list.first[series]];
    const int frames = recon->list.first[series + 1] - recon->list.first[series];
    *plan = (larmor_recon_plan){.images = lmr_outputs(job, frames),
                                .grid = job->grid[first],
                                .method = recon->method,
                                .coils = job->info.coils,
                                .sets = job->sets ? job->sets : 1,
                                .given = job->given != NULL,
                                .maps = !job->no_maps,
                                .whitened = job->whitening != NULL,
                                .weighted = job->weighted || job->method == LMR_METHOD_GRID,
                                .lambda_mode = job->choose,
                                .lambda = job->lambda,
                                .chooses = lmr_chooses(job),
                                .toeplitz = job->toeplitz,
                                .precondition = job->precondition,
                                .block = job->block,
                                .bytes = recon->plan.bytes[series],
                                .limit = recon->plan.limit};
    lmr_series_name(&recon->list, series, plan->name);
    return lmr_source_group(job->source, first, &plan->first);
}

/* ---- a series ---- */

void larmor_recon_result_free(larmor_recon_result *result)
{
    if (!result) return;
    for (int i = 0; i < result->count; i++) larmor_array_free(result->image[i].data);
    free(result->image);
    *result = (larmor_recon_result){.count = 0};
}

static larmor_status solve(larmor_recon *r, int series, larmor_recon_result *result)
{
    const int *group = r->list.group + r->list.first[series];
    const int count = r->list.first[series + 1] - r->list.first[series];
    larmor_array **image = calloc((size_t)count, sizeof(larmor_array *));
    result->image = calloc((size_t)count, sizeof *result->image);
    if (!image || !result->image) {
        free(image);
        return LMR_NO_MEMORY();
    }
    larmor_status st = lmr_solve_groups(&r->job, group, count, image, &result->report);
    if (!st) result->count = lmr_outputs(&r->job, count);
    for (int i = 0; i < result->count; i++)
        result->image[i] = (larmor_recon_image){.data = image[i], .group = group[i]};
    for (int i = 0; i < result->count && !st; i++) st = lmr_describe_image(&r->job, group[0], i, &result->image[i]);
    free(image);
    return st;
}

/* Say how it went, and remember it. */
static void finish(larmor_recon *r, int series, const larmor_recon_report *report)
{
    char name[64];
    const larmor_recon_report before = r->last;
    lmr_end_series(&r->events);
    lmr_series_name(&r->list, series, name);
    lmr_report_series(r, name, report, r->run ? &before : NULL);
    r->run = 1;
    r->last = *report;
    r->last_group = r->list.group[r->list.first[series]];
}

larmor_status larmor_recon_run(larmor_recon *recon, int series, larmor_recon_result *result)
{
    LMR_NEED(result);
    *result = (larmor_recon_result){.count = 0};
    LMR_TRY(check_series(recon, series));
    const double began = lmr_seconds();
    lmr_begin_series(&recon->events, series + 1, recon->list.series);
    if (lmr_keep_begin(recon, series, result)) {
        recon->events.kept++;
        finish(recon, series, &result->report);
        return LARMOR_OK;
    }
    larmor_status st = solve(recon, series, result);
    larmor_recon_report *report = &result->report;
    if (st == LARMOR_ERR_NUMERIC) {
        larmor_recon_result_free(result);
        report->status = st;
        snprintf(report->message, sizeof report->message, "%s", larmor_last_error());
        st = LARMOR_OK;
    }
    if (st) {
        lmr_keep_stopped(recon);
        larmor_recon_result_free(result);
        return st == LARMOR_STOPPED ? st : lmr_fail_in(st, lmr_source_name(recon->job.source));
    }
    report->seconds = lmr_seconds() - began + lmr_keep_seconds(recon);
    finish(recon, series, report);
    if (report->interrupted)
        lmr_keep_stopped(recon);
    else
        lmr_keep_done(recon, series, result);
    return LARMOR_OK;
}

/* ---- intermediate results ---- */

/* A copy of the maps as the coils themselves have them. */
static larmor_status original_maps(const lmr_job *job, larmor_array **maps)
{
    larmor_array *colouring = NULL;
    larmor_status st;
    LMR_OR(done, larmor_array_create(job->dev, LARMOR_C64, larmor_array_shape(job->maps), maps));
    LMR_OR(done, larmor_copy(job->maps, *maps));
    if (!job->whitening) goto done;
    LMR_OR(done, larmor_noise_colouring(job->whitening, &colouring));
    st = larmor_whiten(colouring, *maps);
done:
    larmor_array_free(colouring);
    return st;
}

larmor_status larmor_recon_maps(const larmor_recon *recon, larmor_array **maps, larmor_image_meta *meta)
{
    larmor_array *own = NULL;
    larmor_status st;
    LMR_NEED(maps);
    *maps = NULL;
    if (!recon || !recon->run || !recon->job.maps || recon->job.sets)
        return LMR_FAIL(LARMOR_ERR_ARG, "recon: no coil maps of a series that was run");
    const lmr_job *job = &recon->job;
    const larmor_grid *grid = &job->grid[recon->last_group];
    larmor_group last;
    LMR_TRY(lmr_source_group(job->source, recon->last_group, &last));
    if (last.encoding != job->maps_encoding || last.slice != job->maps_slice)
        return LMR_FAIL(LARMOR_ERR_ARG, "recon: the coil maps of a series from a checkpoint are not kept");
    LMR_OR(done, original_maps(job, &own));
    LMR_OR(done, lmr_source_restore_coils(job->source, own, larmor_array_shape(own).ndim - 1, maps));
    if (!meta) goto done;
    LMR_OR(done, lmr_source_meta(job->source, recon->last_group, meta));
    for (int d = 0; d < grid->ndim; d++) meta->fov_mm[d] = grid->fov_mm[d];
done:
    larmor_array_free(own);
    if (st) {
        larmor_array_free(*maps);
        *maps = NULL;
    }
    return st;
}

larmor_status larmor_recon_density(const larmor_recon *recon, larmor_array **weights)
{
    LMR_NEED(weights);
    *weights = NULL;
    if (!recon || !recon->run || !recon->job.weights || recon->job.weights_from != recon->last_group)
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "recon: no density weights of a series that was run; keep_density keeps them");
    *weights = larmor_array_ref(recon->job.weights);
    return LARMOR_OK;
}
