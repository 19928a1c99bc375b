/* Several devices at work on the series of one reconstruction. A thread for each takes the next series from a queue; results
 * are handed out in order. What a series decides for later ones, such as the weight of the penalty, is guessed to be what
 * is known when it begins, and a series that would have come out differently is computed once more: images do not depend
 * on which device took them, nor on when. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/device.h"
#include "core/status.h"
#include "pipeline/checkpoint.h"
#include "pipeline/group.h"
#include "pipeline/off_resonance.h"
#include "pipeline/task.h"
#include "pipeline/weight.h"

/* Milliseconds after which the caller's thread asks whether it is to stop. */
enum { ASK_EVERY = 50 };

static lmr_task *task_of(const lmr_devices *d, int series)
{
    return &d->queue[series % d->room];
}

static lmr_decisions decisions_of(const lmr_job *job)
{
    return (lmr_decisions){.chosen = job->chosen, .spokes = job->spokes, .density = job->density_taken};
}

static void decide(lmr_job *job, const lmr_decisions *by)
{
    job->chosen = by->chosen;
    job->spokes = by->spokes;
    job->density_taken = by->density;
}

/* ---- copies of the job ---- */

static larmor_status copy_to(larmor_device *dev, larmor_array **x)
{
    larmor_array *from = *x;
    *x = NULL;
    return from ? larmor_array_to(from, dev, x) : LARMOR_OK;
}

static larmor_status copy_job(const larmor_recon *r, larmor_device *dev, lmr_worker *w)
{
    lmr_job *job = &w->job;
    *job = r->job;
    larmor_array **const arrays[] = {&job->whitening, &job->compression, &job->given, &job->basis};
    enum { ARRAYS = sizeof arrays / sizeof *arrays };
    larmor_status st = LARMOR_OK;
    job->source = larmor_source_ref(r->job.source);
    job->dev = lmr_device_ref(dev);
    job->events = &w->events;
    job->checkpoint = NULL;
    job->field = NULL;
    job->girf = larmor_array_ref(r->job.girf);
    job->maps = job->eigenvalues = job->weights = NULL;
    for (int i = 0; i < ARRAYS; i++) {
        if (st) *arrays[i] = NULL;
        if (!st) st = copy_to(dev, arrays[i]);
    }
    return st ? st : lmr_field_open(&r->opts, job);
}

static void free_job(lmr_job *job)
{
    job->grid = NULL; /* these are the recon's */
    job->delays = NULL;
    lmr_field_free(job->field);
    lmr_job_clear(job);
}

/* ---- tasks ---- */

void lmr_clear_task(lmr_task *t)
{
    while (t->lines) {
        lmr_line *next = t->lines->next;
        free(t->lines->text);
        free(t->lines);
        t->lines = next;
    }
    for (int i = 0; t->values && i < t->result.count; i++) free(t->values[i]);
    free(t->values);
    larmor_recon_result_free(&t->result);
    larmor_array_free(t->maps);
    larmor_array_free(t->eigenvalues);
    larmor_array_free(t->weights);
    *t = (lmr_task){.series = t->series, .maps_from = t->maps_from, .state = LMR_TASK_WAITS};
    t->last_line = &t->lines;
}

void lmr_add_line(lmr_task *t, int warning, const char *text)
{
    lmr_line *l = malloc(sizeof *l);
    if (!l) return;
    *l = (lmr_line){.warning = warning, .text = strdup(text)};
    *t->last_line = l;
    t->last_line = &l->next;
}

/* The series goes through the groups of its list: maps stay those of a slice's first group until another slice comes. */
static void follow_maps(const lmr_devices *d, int series, int *from)
{
    const lmr_series *list = &d->recon->list;
    for (int i = list->first[series]; i < list->first[series + 1]; i++) {
        const larmor_group *now = &d->group[list->group[i]];
        const larmor_group *before = *from < 0 ? NULL : &d->group[*from];
        if (!before || now->encoding != before->encoding || now->slice != before->slice) *from = list->group[i];
    }
}

static void fill_queue(lmr_devices *d)
{
    const larmor_recon *r = d->recon;
    for (; d->end < r->list.series && d->end < d->first + d->room; d->end++) {
        lmr_task *t = task_of(d, d->end);
        *t = (lmr_task){.series = d->end, .maps_from = d->maps_next, .state = LMR_TASK_WAITS};
        t->last_line = &t->lines;
        if (lmr_keep_has(r, d->end))
            t->state = LMR_TASK_KEPT;
        else
            follow_maps(d, d->end, &d->maps_next);
    }
}

static int count_in(const lmr_devices *d, lmr_task_state state)
{
    int count = 0;
    for (int s = d->first; s < d->end; s++) count += task_of(d, s)->state == state;
    return count;
}

/* Before anything is decided by a first image, later ones would have to be computed twice. */
static int is_open(const lmr_devices *d)
{
    const lmr_job *job = &d->recon->job;
    const int weight = lmr_chooses(job) && d->known.chosen.weight == 0;
    const int density = (job->method == LMR_METHOD_GRID || job->weighted) && job->density == LARMOR_DENSITY_AUTO &&
                        d->known.density == LARMOR_DENSITY_AUTO;
    return !d->handed_out && (weight || density);
}

static lmr_task *next_task(const lmr_devices *d)
{
    if (d->stop) return NULL;
    for (int s = d->first; s < d->end; s++) {
        lmr_task *t = task_of(d, s);
        if (t->state == LMR_TASK_WAITS) return s > d->first && is_open(d) ? NULL : t;
        if (t->state == LMR_TASK_RUNS && is_open(d)) return NULL;
    }
    return NULL;
}

/* ---- a worker ---- */

int lmr_worker_listen(void *user, const larmor_event *e)
{
    lmr_worker *w = user;
    lmr_devices *d = w->all;
    const int is_line = e->kind == LARMOR_EVENT_LOG || e->kind == LARMOR_EVENT_WARNING;
    pthread_mutex_lock(&d->lock);
    if (is_line && !w->is_quiet) lmr_add_line(w->task, e->kind == LARMOR_EVENT_WARNING, e->text);
    if (!is_line) {
        w->heard = *e;
        snprintf(w->stage, sizeof w->stage, "%s", e->stage);
        pthread_cond_broadcast(&d->news);
    }
    pthread_mutex_unlock(&d->lock);
    return d->stop;
}

static int is_to_stop(void *user)
{
    const lmr_devices *d = user;
    return d->stop;
}

/* The maps as they are where all series run one after the other. */
static larmor_status restore_maps(lmr_worker *w, const lmr_task *t)
{
    lmr_job *job = &w->job;
    int from = t->maps_from;
    if (job->maps && job->maps_from == from) return LARMOR_OK;
    larmor_array_free(job->maps);
    job->maps = NULL;
    follow_maps(w->all, t->series, &from);
    if (from != t->maps_from || job->no_maps) return LARMOR_OK; /* of another slice */
    if (!job->whitening) job->scale = 0;
    w->is_quiet = 1;
    const larmor_status st = lmr_group_restore(job, from, -1);
    w->is_quiet = 0;
    return st;
}

static larmor_status take_values(lmr_task *t, larmor_array *const *image)
{
    t->values = calloc((size_t)t->result.count, sizeof *t->values);
    if (!t->values) return LMR_NO_MEMORY();
    for (int i = 0; i < t->result.count; i++) {
        float *values;
        LMR_TRY(larmor_array_download(image[i], LARMOR_C64, &values));
        t->values[i] = values;
    }
    return LARMOR_OK;
}

static larmor_status solve(lmr_worker *w, lmr_task *t)
{
    const larmor_recon *r = w->all->recon;
    lmr_job *job = &w->job;
    const int *group = r->list.group + r->list.first[t->series];
    const int count = r->list.first[t->series + 1] - r->list.first[t->series];
    larmor_array **image = calloc((size_t)count, sizeof(larmor_array *));
    t->result.image = calloc((size_t)count, sizeof *t->result.image);
    larmor_status st = image && t->result.image ? LARMOR_OK : LMR_NO_MEMORY();
    if (!st) st = restore_maps(w, t);
    if (!st) st = lmr_solve_groups(job, group, count, image, &t->result.report);
    if (!st) {
        t->result.count = lmr_outputs(job, count);
        for (int i = 0; i < t->result.count; i++) t->result.image[i].group = group[i];
        for (int i = 0; i < t->result.count && !st; i++)
            st = lmr_describe_image(job, group[0], i, &t->result.image[i]);
        if (!st) st = take_values(t, image);
    }
    for (int i = 0; image && i < count; i++) larmor_array_free(image[i]);
    free(image);
    return st;
}

static void keep_findings(const lmr_job *job, lmr_task *t)
{
    t->after = decisions_of(job);
    t->likeness = job->likeness;
    t->maps = larmor_array_ref(job->maps);
    t->eigenvalues = larmor_array_ref(job->eigenvalues);
    t->weights = larmor_array_ref(job->weights);
    t->maps_encoding = job->maps_encoding;
    t->maps_slice = job->maps_slice;
    t->maps_of = job->maps_from;
    t->maps_report = job->maps_report;
    t->weights_from = job->weights_from;
}

void lmr_run_task(lmr_worker *w, lmr_task *t)
{
    const double began = lmr_seconds();
    decide(&w->job, &t->before);
    w->job.likeness = (lmr_likeness){.known = 0};
    w->events.energy = 1;
    lmr_begin_series(&w->events, t->series + 1, w->all->recon->list.series);
    t->status = solve(w, t);
    if (t->status) snprintf(t->message, sizeof t->message, "%s", larmor_last_error());
    keep_findings(&w->job, t);
    t->seconds = lmr_seconds() - began;
    snprintf(t->result.report.device, sizeof t->result.report.device, "%s", larmor_device_spec(w->job.dev));
}

static int workers_left(const lmr_devices *d)
{
    int count = 0;
    for (int i = 0; i < d->workers; i++) count += d->worker[i].started && !d->worker[i].left;
    return count;
}

/* A device that fails or has no memory is left where another is there. */
static int leave(lmr_worker *w, lmr_task *t)
{
    char text[1400];
    if (t->status != LARMOR_ERR_BACKEND && t->status != LARMOR_ERR_MEMORY) return 0;
    if (workers_left(w->all) < 2) return 0;
    w->left = 1;
    snprintf(text, sizeof text, "%s failed, other devices take over its series: %s",
             w->rank ? t->result.report.device : larmor_device_spec(w->job.dev), t->message);
    lmr_clear_task(t);
    lmr_add_line(t, 1, text);
    return 1;
}

static void *work(void *user)
{
    lmr_worker *w = user;
    lmr_devices *d = w->all;
    larmor_stop_when(is_to_stop, d);
    pthread_mutex_lock(&d->lock);
    while (!d->quit && !w->left) {
        lmr_task *t = next_task(d);
        if (!t) {
            pthread_cond_wait(&d->work, &d->lock);
            continue;
        }
        t->state = LMR_TASK_RUNS;
        t->by = w;
        t->before = d->known;
        w->task = t;
        pthread_mutex_unlock(&d->lock);
        if (w->rank)
            lmr_run_remotely(w, t);
        else
            lmr_run_task(w, t);
        pthread_mutex_lock(&d->lock);
        if (!leave(w, t)) t->state = LMR_TASK_DONE;
        w->heard = (larmor_event){.kind = LARMOR_EVENT_LOG};
        pthread_cond_broadcast(&d->news);
        pthread_cond_broadcast(&d->work);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

static larmor_status start(lmr_devices *d)
{
    int started = 0;
    for (int i = 0; i < d->workers; i++) {
        lmr_worker *w = &d->worker[i];
        if (!w->started) w->started = !pthread_create(&w->thread, NULL, work, w);
        started += w->started;
    }
    return started ? LARMOR_OK
                   : LMR_FAIL(LARMOR_ERR_MEMORY, "no thread could be started for any of %d devices", d->workers);
}

/* ---- life ---- */

void lmr_devices_plan(larmor_recon *r)
{
    const int count = larmor_ranks_count(r->opts.ranks);
    if (larmor_device_members(r->job.dev)) return;
    if (count > 1 && r->list.series < count && lmr_shares_coils(&r->job, count)) r->job.dev->ranks = r->opts.ranks;
}

static larmor_status make_worker(lmr_devices *d, larmor_device *dev, int rank)
{
    lmr_worker *w = &d->worker[d->workers];
    w->all = d;
    w->rank = rank;
    w->events = (lmr_events){.listener = lmr_worker_listen, .user = w, .energy = 1};
    const larmor_status st = dev ? copy_job(d->recon, dev, w) : LARMOR_OK;
    if (st)
        free_job(&w->job);
    else
        d->workers++;
    return st;
}

larmor_status lmr_devices_make(larmor_recon *r, larmor_device *const *devices, int count, larmor_ranks *ranks)
{
    const int all = count + larmor_ranks_count(ranks) - 1;
    const int series = r->list.series;
    lmr_devices *d = calloc(1, sizeof *d);
    if (!d) return LMR_NO_MEMORY();
    r->devices = d;
    d->recon = r;
    d->ranks = ranks;
    d->room = 2 * all;
    d->worker = calloc((size_t)all, sizeof *d->worker);
    d->queue = calloc((size_t)d->room, sizeof *d->queue);
    d->group = calloc((size_t)r->job.info.groups, sizeof *d->group);
    if (!d->worker || !d->queue || !d->group) return LMR_NO_MEMORY();
    for (int i = 0; i < r->job.info.groups; i++) LMR_TRY(lmr_source_group(r->job.source, i, &d->group[i]));
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->work, NULL);
    pthread_cond_init(&d->news, NULL);
    d->has_lock = 1;
    for (int i = 0; i < count && i < series; i++) LMR_TRY(make_worker(d, devices[i], 0));
    for (int i = 1; i <= all - count && d->workers < series; i++) LMR_TRY(make_worker(d, NULL, i));
    return LARMOR_OK;
}

larmor_status lmr_devices_open(larmor_recon *r)
{
    const larmor_device *group = r->job.dev;
    const int members = larmor_device_members(group), series = r->list.series;
    if (members < 2) return LARMOR_OK;
    LMR_TRY(larmor_device_open("cpu:1", &r->home));
    if (!lmr_spreads_series(&r->job, series)) return LARMOR_OK;
    return lmr_devices_make(r, group->member, members, NULL);
}

static void empty_queue(lmr_devices *d)
{
    for (int s = d->first; s < d->end; s++) lmr_clear_task(task_of(d, s));
    d->first = d->end = 0;
}

void lmr_devices_close(larmor_recon *r)
{
    lmr_devices *d = r->devices;
    r->devices = NULL;
    larmor_device_free(r->home);
    r->home = NULL;
    if (!d) return;
    if (d->has_lock) {
        pthread_mutex_lock(&d->lock);
        d->quit = 1;
        d->stop = 1;
        pthread_cond_broadcast(&d->work);
        pthread_mutex_unlock(&d->lock);
    }
    for (int i = 0; i < d->workers; i++)
        if (d->worker[i].started) pthread_join(d->worker[i].thread, NULL);
    empty_queue(d);
    for (int i = 0; i < d->workers; i++) free_job(&d->worker[i].job);
    if (d->has_lock) {
        pthread_cond_destroy(&d->news);
        pthread_cond_destroy(&d->work);
        pthread_mutex_destroy(&d->lock);
    }
    free(d->group);
    free(d->queue);
    free(d->worker);
    free(d);
}

/* ---- the caller's thread ---- */

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
    const int ahead = count_in(d, LMR_TASK_DONE);
    pthread_mutex_unlock(&d->lock);
    lmr_relay(&d->recon->events, &event, ahead);
    pthread_mutex_lock(&d->lock);
    if (d->recon->events.stopped) d->stop = 1;
}

static void wait_for_news(lmr_devices *d)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ASK_EVERY * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&d->news, &d->lock, &until);
    if (lmr_stop_asked()) d->stop = 1;
}

/* Series after series from this one on, and nothing of what was begun. */
static void begin_queue(lmr_devices *d, int series)
{
    const lmr_job *job = &d->recon->job;
    d->stop = 1;
    while (count_in(d, LMR_TASK_RUNS)) wait_for_news(d);
    empty_queue(d);
    d->stop = 0;
    d->first = d->end = series;
    d->maps_next = lmr_maps_group(job);
    d->handed_out = 0;
    d->known = decisions_of(job);
}

static int is_next(const lmr_devices *d, int series)
{
    if (d->stop || series < d->first || series >= d->end) return 0;
    for (int s = d->first; s < series; s++)
        if (task_of(d, s)->state != LMR_TASK_KEPT) return 0;
    return task_of(d, series)->state != LMR_TASK_KEPT;
}

static int same_weight(const lmr_weight *a, const lmr_weight *b)
{
    return a->weight == b->weight && a->noise == b->noise && a->unit == b->unit && a->data == b->data &&
           a->scale == b->scale && a->encoding == b->encoding;
}

static int same_spokes(const lmr_spoke_angles *a, const lmr_spoke_angles *b)
{
    return a->decided == b->decided && a->angle == b->angle && a->turn == b->turn;
}

/* 1 if the series came out as it would have with what is known now. */
static int holds(const lmr_devices *d, const lmr_task *t)
{
    const lmr_job *job = &d->recon->job;
    const lmr_decisions *known = &d->known, *before = &t->before, *after = &t->after;
    if (t->likeness.known) {
        const larmor_lambda_from origin = lmr_weight_origin_of(job, &known->chosen, &t->likeness);
        if (origin != lmr_weight_origin_of(job, &before->chosen, &t->likeness)) return 0;
        if (origin == LARMOR_LAMBDA_FROM_SCAN && !same_weight(&known->chosen, &before->chosen)) return 0;
    }
    if (known->spokes.decided && after->spokes.decided && !same_spokes(&known->spokes, &after->spokes)) return 0;
    return known->density == LARMOR_DENSITY_AUTO || after->density == LARMOR_DENSITY_AUTO ||
           known->density == after->density;
}

static void take_decisions(lmr_devices *d, const lmr_task *t)
{
    lmr_decisions *known = &d->known;
    if (!same_weight(&t->before.chosen, &t->after.chosen)) known->chosen = t->after.chosen;
    if (!known->spokes.decided) known->spokes = t->after.spokes;
    if (known->density == LARMOR_DENSITY_AUTO) known->density = t->after.density;
    decide(&d->recon->job, known);
}

static void replace(larmor_array **mine, larmor_array **by)
{
    larmor_array_free(*mine);
    *mine = *by;
    *by = NULL;
}

/* The job is as if it had computed the series itself; its maps lie on the device that did. */
static void take_findings(lmr_job *job, lmr_task *t)
{
    replace(&job->maps, &t->maps);
    replace(&job->eigenvalues, &t->eigenvalues);
    replace(&job->weights, &t->weights);
    job->maps_encoding = t->maps_encoding;
    job->maps_slice = t->maps_slice;
    job->maps_from = t->maps_of;
    job->maps_report = t->maps_report;
    job->weights_from = t->weights_from;
    job->maps_elsewhere = t->by->rank && !job->no_maps;
}

static larmor_status take_result(const larmor_recon *r, lmr_task *t, larmor_recon_result *result)
{
    *result = t->result;
    t->result = (larmor_recon_result){.count = 0};
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < result->count; i++) {
        const larmor_grid *grid = &r->job.grid[result->image[i].group];
        const larmor_shape shape = larmor_shape_of(grid->ndim, grid->crop);
        if (!st)
            st = larmor_array_upload(r->home, LARMOR_C64, shape, LARMOR_C64, t->values[i], &result->image[i].data);
        free(t->values[i]);
    }
    free(t->values);
    t->values = NULL;
    return st;
}

static void tell_lines(larmor_recon *r, const lmr_task *t)
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
    tell_lines(r, t);
    take_findings(&r->job, t);
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
    fill_queue(d);
    pthread_cond_broadcast(&d->work);
    return st;
}

/* Until the series is done, the lock being held. */
static lmr_task *wait_for(lmr_devices *d, int series)
{
    lmr_task *t = task_of(d, series);
    for (;;) {
        if (t->state == LMR_TASK_DONE && (holds(d, t) || d->stop)) return t;
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
    fill_queue(d);
    st = start(d);
    pthread_cond_broadcast(&d->work);
    lmr_task *t = st ? NULL : wait_for(d, series);
    if (t)
        st = hand_out(d, t, result);
    else if (!st)
        st = LMR_FAIL(LARMOR_STOPPED, "stopped by the caller before series %d began", series + 1);
    pthread_mutex_unlock(&d->lock);
    return st;
}
