/* Several devices at work on the series of one reconstruction. A thread for each (worker.c) takes the next series from a
 * queue (task.c); results are handed out in order (delivery.c). What a series decides for later ones, such as the weight
 * of the penalty, is guessed to be what is known when it begins, and a series that would have come out differently is
 * computed once more: images do not depend on which device took them, nor on when. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/devices.h"

#include <stdlib.h>

#include "core/device.h"
#include "core/status.h"
#include "pipeline/off_resonance.h"
#include "pipeline/task.h"

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
    lmr_empty_queue(d);
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
