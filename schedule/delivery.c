/* The caller's thread where several devices work: waits for the series that is next, passes on what the others
 * say, and has a series computed once more that guessed wrong. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "pipeline/weight.h"
#include "schedule/devices.h"
#include "schedule/task.h"

/* Milliseconds after which the caller's thread asks whether it is to stop. */
enum { ASK_EVERY = 50 };

/* The lock is held here, but not while the listener is called. */
static void pass_on(lmr_devices *d, const lmr_task *t)
{
    lmr_worker *w = t->by;
    if (t->state != LMR_TASK_RUNS || (w->heard.kind != LARMOR_EVENT_STAGE && w->heard.kind != LARMOR_EVENT_STEP))
        return;
    larmor_event event = w->heard;
    char stage[sizeof w->stage];
    memcpy(stage, w->stage, sizeof stage);
    event.stage = stage;
    w->heard = (larmor_event){.kind = LARMOR_EVENT_LOG};
    const int ahead = lmr_count_tasks(d, LMR_TASK_DONE);
    pthread_mutex_unlock(&d->lock);
    lmr_relay(&d->recon->events, &event, ahead);
    pthread_mutex_lock(&d->lock);
    if (d->recon->events.stopped) d->stop = 1;
}

static void wait_for_news(lmr_devices *d)
{
    lmr_wait_ms(&d->news, &d->lock, ASK_EVERY);
    if (lmr_stop_asked()) d->stop = 1;
}

/* Series after series from this one on, and nothing of what was begun. */
static void begin_queue(lmr_devices *d, int series)
{
    const lmr_job *job = &d->recon->job;
    d->stop = 1;
    while (lmr_count_tasks(d, LMR_TASK_RUNS)) wait_for_news(d);
    lmr_empty_queue(d);
    d->stop = 0;
    d->first = d->end = series;
    d->maps_next = lmr_maps_group(job);
    d->handed_out = 0;
    d->known = job->found.decided;
}

static int is_next(const lmr_devices *d, int series)
{
    if (d->stop || series < d->first || series >= d->end) return 0;
    for (int s = d->first; s < series; s++)
        if (lmr_task_of(d, s)->state != LMR_TASK_KEPT) return 0;
    return lmr_task_of(d, series)->state != LMR_TASK_KEPT;
}

static int same_spokes(const lmr_spoke_angles *a, const lmr_spoke_angles *b)
{
    return a->decided == b->decided && a->angle == b->angle && a->turn == b->turn;
}

int lmr_guess_holds(const lmr_job *job, const lmr_series_state *known, const lmr_task *t)
{
    const lmr_series_state *before = &t->before, *after = &t->found.decided;
    if (job->facts->automatic && known->chosen.method.name[0] &&
        strcmp(known->chosen.method.name, before->chosen.method.name) != 0)
        return 0;
    if (t->found.weight_conditions.known &&
        !lmr_weight_guess_holds(job, &known->chosen, &before->chosen, &t->found.weight_conditions,
                                t->result.report.lambda_from))
        return 0;
    if (known->spokes.decided && after->spokes.decided && !same_spokes(&known->spokes, &after->spokes)) return 0;
    return known->density == LARMOR_DENSITY_AUTO || after->density == LARMOR_DENSITY_AUTO ||
           known->density == after->density;
}

static void take_decisions(lmr_devices *d, const lmr_task *t)
{
    lmr_series_state *known = &d->known;
    lmr_weight_take(&t->before.chosen, &t->found.decided.chosen, &known->chosen);
    if (!known->spokes.decided) known->spokes = t->found.decided.spokes;
    if (known->density == LARMOR_DENSITY_AUTO) known->density = t->found.decided.density;
    d->recon->job.found.decided = *known;
}

/* The job is as if it had computed the series itself; its maps lie on the device that did. What was decided is not
 * that of a series which others may have preceded. */
static void take_found(lmr_job *job, lmr_task *t)
{
    const lmr_series_state decided = job->found.decided;
    lmr_found_free(&job->found);
    job->found = t->found;
    job->found.decided = decided;
    job->found.maps.elsewhere = t->by->rank && !job->settings->opts.no_maps;
    t->found = lmr_found_without_arrays(&t->found);
}

static larmor_status take_result(const larmor_recon *r, lmr_task *t, larmor_recon_result *result)
{
    *result = t->result;
    t->result = (larmor_recon_result){.count = 0};
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < result->count; i++) {
        const larmor_grid *grid = &r->facts.grid[result->image[i].group];
        const larmor_shape shape = larmor_shape_of(grid->ndim, grid->crop);
        if (!st)
            st =
                larmor_array_upload(lmr_home(r), LARMOR_C64, shape, LARMOR_C64, t->values[i], &result->image[i].data);
        free(t->values[i]);
    }
    free(t->values);
    t->values = NULL;
    return st;
}

static void report_lines(larmor_recon *r, const lmr_task *t)
{
    for (const lmr_line *l = t->lines; l; l = l->next) {
        if (l->warning)
            lmr_warn(&r->events, "%s", l->text ? l->text : "");
        else
            lmr_log(&r->events, "%s", l->text ? l->text : "");
    }
}

static larmor_status hand_out(lmr_devices *d, lmr_task *t, larmor_recon_result *result)
{
    larmor_recon *r = d->recon;
    larmor_status st = t->status;
    pthread_mutex_unlock(&d->lock);
    report_lines(r, t);
    take_found(&r->job, t);
    if (st)
        larmor_fail(st, "%s", t->message);
    else
        st = take_result(r, t, result);
    result->report.seconds = t->seconds;
    if (r->events.stopped) d->stop = 1;
    pthread_mutex_lock(&d->lock);
    take_decisions(d, t);
    lmr_clear_task(t);
    d->first++;
    d->handed_out++;
    lmr_fill_queue(d);
    pthread_cond_broadcast(&d->work);
    return st;
}

/* Until the series is done, the lock being held. */
static lmr_task *wait_for(lmr_devices *d, int series)
{
    lmr_task *t = lmr_task_of(d, series);
    for (;;) {
        if (t->state == LMR_TASK_DONE && (d->stop || lmr_guess_holds(&d->recon->job, &d->known, t))) return t;
        if (t->state == LMR_TASK_WAITS && d->stop) return NULL;
        if (t->state == LMR_TASK_DONE) {
            lmr_clear_task(t);
            pthread_cond_broadcast(&d->work);
        }
        pass_on(d, t);
        if (t->state != LMR_TASK_DONE) wait_for_news(d);
    }
}

larmor_status lmr_devices_solve(larmor_recon *r, int series, larmor_recon_result *result)
{
    lmr_devices *d = r->devices;
    larmor_status st = LARMOR_OK;
    pthread_mutex_lock(&d->lock);
    if (!is_next(d, series)) begin_queue(d, series);
    d->first = series;
    lmr_fill_queue(d);
    st = lmr_start_workers(d);
    pthread_cond_broadcast(&d->work);
    lmr_task *t = st ? NULL : wait_for(d, series);
    if (t)
        st = hand_out(d, t, result);
    else if (!st)
        st = LMR_FAIL(LARMOR_STOPPED, "stopped by the caller before series %d began", series + 1);
    pthread_mutex_unlock(&d->lock);
    return st;
}
