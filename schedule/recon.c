/* The public calls: a reconstruction is made from a source and options, and run series by series.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "schedule/state.h"

#include "core/ranks/ranks.h"
#include "pipeline/group.h"
#include "pipeline/maps.h"
#include "pipeline/method.h"
#include "pipeline/report.h"
#include "scan/compress.h"
#include "schedule/checkpoint.h"
#include "schedule/devices.h"
#include "schedule/fallback.h"
#include "schedule/slab_run.h"
#include "schedule/slab_threads.h"

static larmor_status check_array(const larmor_array *x, const char *name)
{
    double norm;
    if (!x) return LARMOR_OK;
    LMR_TRY(larmor_array_expect_finite(x, name));
    if (!lmr_is_complex(larmor_array_dtype(x))) return LARMOR_OK;
    LMR_TRY(larmor_nrm2(x, &norm));
    if (norm <= LARMOR_LARGEST_SAMPLE) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "%s: its norm is %.1e: uninitialised or overflowing data.", name, norm);
}

/* Named as the caller of the library knows them; the first image would only show that its operator is not finite. */
/* Both responses have the same frequencies, whose distance is one option. */
static larmor_status check_order0(const larmor_array *girf, const larmor_array *order0)
{
    const larmor_shape a = larmor_array_shape(girf), b = larmor_array_shape(order0);
    LMR_TRY(larmor_girf_phase_check(order0));
    if (!girf || (a.dim[0] == b.dim[0] && a.dim[1] == b.dim[1])) return LARMOR_OK;
    return LMR_FAIL(
        LARMOR_ERR_SHAPE,
        "girf_b0: got %lld frequencies of %lld axes, expected those of girf, %lld frequencies of %lld axes",
        (long long)b.dim[0], (long long)b.dim[1], (long long)a.dim[0], (long long)a.dim[1]);
}

static larmor_status check_arrays(const larmor_recon_opts *o)
{
    const struct {
        const larmor_array *array;
        const char *name;
    } given[] = {{o->maps, o->maps_name},
                 {o->b0, o->b0_name},
                 {o->basis, "basis"},
                 {o->girf, "girf"},
                 {o->girf_b0, "girf_b0"},
                 {o->t2star, o->t2star_name},
                 {o->phase_terms, "phase_terms"},
                 {o->support, "support"},
                 {o->gradient_field, "gradient_field"},
                 {o->displacement, "displacement"},
                 {o->motion, "motion"},
                 {o->motion_fields, "motion_fields"}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) LMR_TRY(check_array(given[i].array, given[i].name));
    if (o->girf) LMR_TRY(larmor_girf_check(o->girf));
    return o->girf_b0 ? check_order0(o->girf, o->girf_b0) : LARMOR_OK;
}

larmor_status larmor_recon_create(larmor_source *source, larmor_device *dev, const larmor_recon_opts *opts,
                                  larmor_recon **recon)
{
    LMR_REFUSE(!recon, LARMOR_ERR_ARG, "recon: nowhere to put it");
    *recon = NULL;
    LMR_REFUSE(!source || !dev, LARMOR_ERR_ARG, "recon: a source and a device expected");
    LMR_NEW_ZEROS(larmor_recon, r, 1);
    const larmor_raw_info scan = larmor_source_describe(source);
    larmor_status st = lmr_settings_read(opts, &scan, &r->settings);
    if (!st) st = check_arrays(&r->settings.opts);
    if (!st) {
        st = lmr_recon_begin(r, source, dev);
        if (st && r->slabs_from)
            st = lmr_slab_threads_open(r, source, dev, opts);
        else if (st)
            st = lmr_fall_back_to_cpu(r, st);
    }
    return LMR_GIVE(recon, r, larmor_recon_free, st);
}

int larmor_recon_series(const larmor_recon *recon)
{
    return recon ? recon->list.series : 0;
}

static larmor_status check_series(const larmor_recon *r, int series)
{
    LMR_REFUSE(!r, LARMOR_ERR_ARG, "recon: no reconstruction given");
    if (series >= 0 && series < r->list.series) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "recon: series %d, expected 0 to %d", series, r->list.series - 1);
}

larmor_status larmor_recon_expect(const larmor_recon *recon, int series, larmor_image_place *place, int *group)
{
    LMR_TRY(check_series(recon, series));
    LMR_NEED(place);
    const lmr_job *job = &recon->job;
    const int *groups = recon->list.group + recon->list.first[series];
    const int images = lmr_outputs(job, recon->list.first[series + 1] - recon->list.first[series]);
    for (int i = 0; i < images; i++) {
        larmor_recon_image image = {.group = groups[i]};
        LMR_TRY(lmr_describe_image(job, groups[0], i, &image));
        const larmor_grid *grid = &job->facts->grid[groups[i]];
        place[i] = (larmor_image_place){.shape = larmor_shape_of(grid->ndim, grid->crop), .meta = image.meta};
        if (group) group[i] = groups[i];
    }
    return LARMOR_OK;
}

larmor_status larmor_recon_describe(const larmor_recon *recon, int series, larmor_recon_plan *plan)
{
    LMR_TRY(check_series(recon, series));
    const lmr_job *job = &recon->job;
    const int first = recon->list.group[recon->list.first[series]];
    const int frames = recon->list.first[series + 1] - recon->list.first[series];
    *plan = (larmor_recon_plan){.images = lmr_outputs(job, frames),
                                .grid = job->facts->grid[first],
                                .method = lmr_method_name(job),
                                .coils = job->facts->coils,
                                .sets = job->facts->sets ? job->facts->sets : 1,
                                .given = job->facts->given != NULL,
                                .compressed_from = job->facts->compression ? job->facts->info.coils : 0,
                                .compressed_energy = job->facts->compression ? job->facts->compressed.energy : 0,
                                .compressed_along = lmr_compression_is_geometric(job),
                                .maps = !job->settings->opts.no_maps,
                                .whitened = job->facts->whitening != NULL,
                                .weighted = job->settings->opts.weighted || job->found.method.kind == LMR_METHOD_GRID,
                                .lambda_mode = job->settings->opts.lambda_mode,
                                .lambda = job->settings->opts.lambda,
                                .chooses = lmr_chooses(job),
                                .toeplitz = job->facts->toeplitz,
                                .precondition = job->facts->precondition,
                                .block = job->facts->block,
                                .bytes = recon->plan.bytes[series],
                                .limit = recon->plan.limit,
                                .maps_method = job->facts->maps_method ? job->facts->maps_method->name : "",
                                .slabs = job->facts->slabs ? larmor_ranks_count(job->facts->slabs) : 0};
    lmr_series_name(&recon->list, series, plan->name);
    LMR_TRY(lmr_source_group(job->facts->source, first, &plan->first));
    if (job->facts->delays) memcpy(plan->delay, job->facts->delays[plan->first.encoding].delay, sizeof plan->delay);
    return LARMOR_OK;
}

/* ---- a series ---- */

static larmor_status bring_home(const larmor_recon *r, larmor_array **image)
{
    larmor_array *there;
    LMR_TRY(larmor_array_to(*image, r->home, &there));
    larmor_array_free(*image);
    *image = there;
    return LARMOR_OK;
}

static larmor_status solve(larmor_recon *r, int series, larmor_recon_result *result)
{
    const int *group = r->list.group + r->list.first[series];
    const int count = r->list.first[series + 1] - r->list.first[series];
    LMR_HEAP LMR_NEW_ZEROS(larmor_array *, image, count);
    LMR_ALLOCATE_ZEROS(result->image, count);
    larmor_status st = r->facts.slabs ? lmr_slabs_run(r, series, image, &result->report)
                                      : lmr_solve_groups(&r->job, group, count, image, &result->report);
    if (!st) result->count = lmr_outputs(&r->job, count);
    for (int i = 0; i < result->count; i++)
        result->image[i] = (larmor_recon_image){.data = image[i], .group = group[i]};
    for (int i = 0; i < result->count && r->home && !st; i++) st = bring_home(r, &result->image[i].data);
    for (int i = 0; i < result->count && !st; i++) st = lmr_describe_image(&r->job, group[0], i, &result->image[i]);
    return st;
}

/* Before the first series, where another one decides for all: that one, whose image is left for its turn. */
static larmor_status decide_by_lead(larmor_recon *r, int series)
{
    LMR_FREED_BY(larmor_recon_result_free) larmor_recon_result result = {.count = 0};
    const lmr_weight *chosen = &r->job.found.decided.chosen;
    const int is_decided = chosen->weight > 0 || chosen->method.name[0] || chosen->linear > 0;
    if (r->run || r->list.lead == series || is_decided || !lmr_chooses(&r->job)) return LARMOR_OK;
    const lmr_events before = r->events;
    r->events.is_quiet = 1;
    const larmor_status st =
        r->devices ? lmr_devices_solve(r, r->list.lead, &result) : solve(r, r->list.lead, &result);
    const int stopped = r->events.stopped;
    const double reached = r->events.reached;
    r->events = before;
    r->events.stopped = stopped;
    r->events.reached = reached;
    return st == LARMOR_ERR_NUMERIC ? LARMOR_OK : st;
}

/* Say how it went, and remember it. */
static void finish(larmor_recon *r, int series, larmor_recon_report *report)
{
    char name[64];
    const int ranks = larmor_ranks_count(r->facts.slabs ? r->facts.slabs : r->facts.dev->ranks);
    const char *spec = lmr_spec(r);
    if (!report->device[0] && ranks > 1 && !r->group)
        snprintf(report->device, sizeof report->device, "%d ranks: %.9s", ranks, spec);
    else if (!report->device[0])
        snprintf(report->device, sizeof report->device, "%.31s", spec);
    const larmor_recon_report before = r->last;
    lmr_end_series(&r->events);
    lmr_series_name(&r->list, series, name);
    lmr_report_series(r, name, report, r->run ? &before : NULL);
    r->run = 1;
    r->last = *report;
    r->last_group = r->list.group[r->list.first[series]];
}

/* Solve a series that no checkpoint has; *kept is 1 and nothing is done if one has it. */
static larmor_status begin_and_solve(larmor_recon *r, int series, larmor_recon_result *result, int *kept)
{
    lmr_begin_series(&r->events, series + 1, r->list.series);
    *kept = lmr_keep_begin(r, series, result);
    if (*kept) return LARMOR_OK;
    if (r->at_once > 1 && r->run) lmr_devices_beside(r);
    LMR_TRY(decide_by_lead(r, series));
    if (!r->devices) return solve(r, series, result);
    const larmor_status st = lmr_devices_solve(r, series, result);
    if (st != LARMOR_ERR_MEMORY || !lmr_devices_are_one(r)) return st;
    larmor_recon_result_free(result);
    lmr_devices_close(r);
    r->at_once = 1;
    lmr_warn(&r->events, "one series is computed after the other: %s", larmor_last_error());
    return solve(r, series, result);
}

larmor_status larmor_recon_run(larmor_recon *recon, int series, larmor_recon_result *result)
{
    LMR_NEED(result);
    *result = (larmor_recon_result){.count = 0};
    LMR_TRY(check_series(recon, series));
    const double began = lmr_seconds();
    int kept;
    larmor_status st = begin_and_solve(recon, series, result, &kept);
    if (st && st != LARMOR_ERR_NUMERIC) {
        const larmor_status failed = st;
        larmor_recon_result_free(result);
        st = lmr_fall_back_to_cpu(recon, failed);
        if (!st) st = begin_and_solve(recon, series, result, &kept);
    }
    if (!st && kept) {
        recon->events.kept++;
        finish(recon, series, &result->report);
        return LARMOR_OK;
    }
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
        return st == LARMOR_STOPPED ? st : lmr_fail_in(st, lmr_source_name(recon->facts.source));
    }
    if (report->seconds == 0) report->seconds = lmr_seconds() - began + lmr_keep_seconds(recon);
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
    LMR_OWN(larmor_array, here, larmor_array_to(job->found.maps.array, job->facts->dev, &here));
    if (job->facts->compression) {
        LMR_TRY(lmr_expand_maps(job, here, maps));
    } else {
        LMR_TRY(larmor_array_create(job->facts->dev, LARMOR_C64, larmor_array_shape(here), maps));
        LMR_TRY(larmor_copy(here, *maps));
    }
    if (!job->facts->whitening) return LARMOR_OK;
    LMR_OWN(larmor_array, colouring, larmor_noise_colouring(job->facts->whitening, &colouring));
    if (!job->facts->sets) LMR_TRY(larmor_whiten(colouring, *maps));
    for (int m = 0; m < job->facts->sets; m++) {
        LMR_OWN(larmor_array, set, lmr_one_of(*maps, m, &set));
        LMR_TRY(larmor_whiten(colouring, set));
    }
    return job->facts->given ? LARMOR_OK : larmor_axpby(1 / job->facts->noise_unit, *maps, 0, *maps);
}

static larmor_status expect_whole(const larmor_recon *recon)
{
    if (!recon || !recon->facts.slabs) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED,
                    "recon: coil maps are not kept of a volume in slabs; each %s has those of its planes",
                    recon->group ? "device" : "process");
}

/* What another process found for the last series is found here, too. */
static larmor_status recall(larmor_recon *recon)
{
    lmr_job *job = recon ? &recon->job : NULL;
    LMR_TRY(expect_whole(recon));
    if (!job || !job->found.maps.elsewhere) return LARMOR_OK;
    return lmr_group_restore(job, job->found.maps.from, job->found.density.from);
}

larmor_status larmor_recon_maps(larmor_recon *recon, larmor_array **maps, larmor_image_meta *meta)
{
    LMR_OWNED(larmor_array) *own = NULL;
    larmor_status st;
    LMR_NEED_OUT(maps);
    LMR_TRY(recall(recon));
    LMR_REFUSE(!recon || !recon->run || !recon->job.found.maps.array, LARMOR_ERR_ARG,
               "recon: no coil maps of a series that was run");
    const lmr_job *job = &recon->job;
    const larmor_grid *grid = &job->facts->grid[recon->last_group];
    larmor_group last;
    LMR_TRY(lmr_source_group(job->facts->source, recon->last_group, &last));
    LMR_REFUSE(last.encoding != job->found.maps.encoding || last.slice != job->found.maps.slice, LARMOR_ERR_ARG,
               "recon: the coil maps of a series from a checkpoint are not kept");
    LMR_OR(done, original_maps(job, &own));
    LMR_OR(done, lmr_source_restore_coils(job->facts->source, own,
                                          larmor_array_shape(own).ndim - (job->facts->sets ? 2 : 1), maps));
    if (!meta) goto done;
    LMR_OR(done, lmr_source_meta(job->facts->source, recon->last_group, meta));
    for (int d = 0; d < grid->ndim; d++) meta->fov_mm[d] = grid->fov_mm[d];
done:
    if (st) LMR_CLEAR(*maps);
    return st;
}

larmor_status larmor_recon_find_maps(larmor_recon *recon, int series, larmor_coils_report *report)
{
    if (report) *report = (larmor_coils_report){0};
    LMR_TRY(check_series(recon, series));
    LMR_TRY(expect_whole(recon));
    LMR_REFUSE(recon->settings.opts.no_maps, LARMOR_ERR_ARG, "recon: no_maps is set, so that there are none to find");
    const int *const own = recon->list.group + recon->list.first[series];
    larmor_coils_report judged;
    int lead;
    LMR_TRY(lmr_series_image(&recon->job, own, recon->list.first[series + 1] - recon->list.first[series], &lead));
    const int group = own[lead];
    const larmor_status st = lmr_group_maps(&recon->job, group, &judged);
    if (st) return st == LARMOR_STOPPED ? st : lmr_fail_in(st, lmr_source_name(recon->facts.source));
    recon->run = 1;
    recon->last = (larmor_recon_report){.maps = judged};
    recon->last_group = group;
    if (report) *report = judged;
    return LARMOR_OK;
}

larmor_status larmor_recon_eigenvalues(larmor_recon *recon, larmor_array **eigenvalues)
{
    LMR_NEED_OUT(eigenvalues);
    LMR_TRY(recall(recon));
    LMR_REFUSE(!recon || !recon->run || !recon->job.found.maps.eigenvalues, LARMOR_ERR_ARG,
               "recon: no eigenvalues of maps; the method is espirit, and keep_eigenvalues keeps them");
    *eigenvalues = larmor_array_ref(recon->job.found.maps.eigenvalues);
    return LARMOR_OK;
}

larmor_status larmor_recon_motion(larmor_recon *recon, larmor_array **rows)
{
    LMR_NEED_OUT(rows);
    LMR_REFUSE(!recon || !recon->run || recon->last.motion_rows < 1, LARMOR_ERR_ARG,
               "recon: no motion of a series that was run; motion_states looks for it");
    const int count = recon->last.motion_rows;
    double columns[LARMOR_MOST_MOTION_STATES * (LARMOR_POSE + 1)];
    for (int i = 0; i < count; i++)
        for (int p = 0; p <= LARMOR_POSE; p++) columns[i + count * p] = recon->last.motion_row[i][p];
    LMR_OWN(larmor_device, host, larmor_device_open("cpu:1", &host));
    return larmor_array_upload(host, LARMOR_F64, LARMOR_SHAPE(count, LARMOR_POSE + 1), LARMOR_F64, columns, rows);
}

larmor_status larmor_recon_density(larmor_recon *recon, larmor_array **weights)
{
    LMR_NEED_OUT(weights);
    LMR_TRY(recall(recon));
    LMR_REFUSE(!recon || !recon->run || !recon->job.found.density.weights ||
                   recon->job.found.density.from != recon->last_group,
               LARMOR_ERR_ARG, "recon: no density weights of a series that was run; keep_density keeps them");
    *weights = larmor_array_ref(recon->job.found.density.weights);
    return LARMOR_OK;
}
