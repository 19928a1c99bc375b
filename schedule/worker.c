/* A worker of several: the thread that takes series from the queue and computes them on its device, or has a rank
 * do it. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "pipeline/group.h"
#include "schedule/task.h"

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
    if (job->found.maps.array && job->found.maps.from == from) return LARMOR_OK;
    larmor_array_free(job->found.maps.array);
    job->found.maps.array = NULL;
    lmr_map_source_group(w->all, t->series, &from);
    if (from != t->maps_from || job->settings->opts.no_maps) return LARMOR_OK; /* of another slice */
    w->is_quiet = 1;
    const larmor_status st = lmr_group_restore(job, from, -1);
    w->is_quiet = 0;
    return st;
}

static larmor_status take_values(lmr_task *t, larmor_array *const *image)
{
    LMR_ALLOCATE_ZEROS(t->values, t->result.count);
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

void lmr_run_task(lmr_worker *w, lmr_task *t)
{
    const double began = lmr_seconds();
    w->job.found.decided = t->before;
    w->job.found.weight_conditions = (lmr_weight_conditions){.known = 0};
    lmr_begin_series(&w->events, t->series + 1, w->all->recon->list.series);
    t->status = solve(w, t);
    if (t->status) snprintf(t->message, sizeof t->message, "%s", larmor_last_error());
    t->found = lmr_found_ref(&w->job.found);
    t->seconds = lmr_seconds() - began;
    if (!w->all->beside)
        snprintf(t->result.report.device, sizeof t->result.report.device, "%s",
                 larmor_device_spec(w->job.facts->dev));
}

static int workers_left(const lmr_devices *d)
{
    int count = 0;
    for (int i = 0; i < d->workers; i++) count += d->worker[i].started && !d->worker[i].left;
    return count;
}

/* How many other queues of its device have been left, or are at work. */
static int count_beside(const lmr_worker *w, int left)
{
    const lmr_devices *d = w->all;
    int count = 0;
    for (int i = 0; i < d->workers && !w->rank; i++) {
        const lmr_worker *other = &d->worker[i];
        count += other != w && other->started && !other->rank && other->member == w->member && other->left == left;
    }
    return count;
}

static void warn_of_leaving(lmr_worker *w, lmr_task *t, larmor_status st, const char *message, const char *device)
{
    char text[1400];
    if (w->all->beside || (st == LARMOR_ERR_MEMORY && count_beside(w, 0)))
        snprintf(text, sizeof text, "fewer series are computed at the same time: %s", message);
    else if (!count_beside(w, 1) || st == LARMOR_ERR_MEMORY)
        snprintf(text, sizeof text, "%s failed, other devices take over its series: %s", device, message);
    else
        return; /* what its first queue told */
    lmr_add_line(t, 1, text);
}

/* A device that fails or has no memory is left where another is there. */
static int leave(lmr_worker *w, lmr_task *t)
{
    char message[sizeof t->message], device[sizeof t->result.report.device];
    const larmor_status st = t->status;
    if (st != LARMOR_ERR_BACKEND && st != LARMOR_ERR_MEMORY) return 0;
    if (workers_left(w->all) < 2) return 0;
    w->left = 1;
    snprintf(message, sizeof message, "%s", t->message);
    snprintf(device, sizeof device, "%s", w->rank ? t->result.report.device : larmor_device_spec(w->job.facts->dev));
    lmr_clear_task(t);
    warn_of_leaving(w, t, st, message, device);
    return 1;
}

static void *work(void *user)
{
    lmr_worker *w = user;
    lmr_devices *d = w->all;
    larmor_stop_when(is_to_stop, d);
    pthread_mutex_lock(&d->lock);
    while (!d->quit && !w->left) {
        lmr_task *t = lmr_next_task(d);
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
            lmr_run_on_rank(w, t);
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

larmor_status lmr_start_workers(lmr_devices *d)
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
