/* The series of one reconstruction on several devices.
 *
 *     worker.c    a thread for each device takes the next series from the queue
 *     task.c      the queue
 *     delivery.c  returns results in order, and computes a series again that began with another weight, method or
 *                 density than the series before it have decided
 *
 * So images depend neither on the device nor on the order. Parts of one processor are devices after the first
 * series, which has all threads; so are queues of one GPU, which is idle while the host prepares a small image.
 * SPDX-License-Identifier: Apache-2.0 */
#include "schedule/devices.h"

#include "core/core.h"
#include "physics/physics.h"
#include "pipeline/cache.h"
#include "schedule/task.h"

/* Parts of one processor share one memory, and so what images have in common; a device has its own. */
static larmor_status open_caches(const larmor_recon *r, const larmor_device *dev, lmr_caches *caches)
{
    const int beside = !larmor_device_members(r->facts.dev) && lmr_device_is_processor(dev);
    if (!r->plan.share) return LARMOR_OK;
    if (beside && r->caches.trajectories) {
        caches->trajectories = lmr_trajectory_cache_ref(r->caches.trajectories);
        caches->last_operator = calloc(1, sizeof *caches->last_operator);
        return caches->last_operator ? LARMOR_OK : LMR_NO_MEMORY();
    }
    return lmr_caches_open(r->plan.share, caches);
}

static larmor_status open_job(const larmor_recon *r, larmor_device *dev, lmr_worker *w)
{
    lmr_job *job = &w->job;
    *job = (lmr_job){.settings = r->job.settings, .facts = &w->facts, .caches = &w->caches, .events = &w->events};
    LMR_TRY(lmr_scan_facts_copy(&r->facts, dev, &w->facts));
    LMR_TRY(lmr_found_copy(&r->job.found, dev, &job->found));
    LMR_TRY(open_caches(r, dev, &w->caches));
    LMR_TRY(lmr_physics_open(&r->settings.opts, &w->facts));
    return lmr_physics_follow(&r->facts, &r->settings.opts, &w->facts);
}

static void close_job(lmr_worker *w)
{
    lmr_physics_free(w->facts.physics);
    lmr_caches_close(&w->caches);
    lmr_found_free(&w->job.found);
    lmr_scan_facts_free(&w->facts);
}

void lmr_devices_plan(larmor_recon *r)
{
    const int count = larmor_ranks_count(r->settings.opts.ranks);
    if (larmor_device_members(r->facts.dev)) return;
    if (count > 1 && r->list.series < count && lmr_shares_coils(&r->job, count))
        r->facts.dev->ranks = r->settings.opts.ranks;
}

/* Of the time that one thread takes for a series, the part that more threads do not shorten. */
static const double serial_part = 0.3;

/* How long so many series take in the end, of which `at_once` are computed at the same time; 1: one by one thread. */
static double time_of(int series, int at_once, int threads)
{
    const int rounds = (series - 1) / at_once + 1;
    return rounds * (serial_part + (1 - serial_part) / (threads / at_once));
}

/* The host works for this many images while one GPU computes: more gained nothing. */
enum { GPU_AT_ONCE = 4 };

static int is_gpu(const larmor_recon *r)
{
    return !lmr_device_is_processor(r->facts.dev);
}

/* 1 if there are several GPUs, of which each has series of its own. */
static int has_gpus(const larmor_recon *r)
{
    return larmor_device_members(r->facts.dev) > 1 && is_gpu(r) && lmr_spreads_series(&r->job, r->list.series);
}

/* How many series one device has to compute beside each other at most, once the first one is done. */
static int series_of_one(const larmor_recon *r)
{
    const int members = larmor_device_members(r->facts.dev);
    return has_gpus(r) ? (r->list.series + members - 1) / members : r->list.series - 1;
}

/* The most that the options, the source and the memory of a device allow. */
static int most_at_once(const larmor_recon *r)
{
    const larmor_recon_opts *o = &r->settings.opts;
    const lmr_plan *plan = &r->plan;
    if ((larmor_device_members(r->facts.dev) && !has_gpus(r)) || larmor_ranks_count(o->ranks) > 1) return 1;
    if (!o->at_once && (o->checkpoint || o->effort != LARMOR_PLAN_ESTIMATE)) return 1;
    if (!o->at_once && !lmr_source_any_thread(r->facts.source)) return 1;
    const int64_t each = plan->planned - plan->images;
    const int64_t free = (o->memory ? plan->limit : plan->limit / 2) - plan->images;
    const int64_t fit = each > 0 && free > each ? free / each : 1;
    const int workers = is_gpu(r) ? GPU_AT_ONCE : lmr_device_threads(r->facts.dev);
    const int series = series_of_one(r);
    int most = workers < series ? workers : series;
    if (o->at_once && o->at_once < most) most = o->at_once;
    return fit < most ? (int)fit : most;
}

void lmr_devices_divide(larmor_recon *r)
{
    const int threads = lmr_device_threads(r->facts.dev), series = r->list.series - 1, most = most_at_once(r);
    r->at_once = r->threads_each = 1;
    for (int n = 2; n <= most; n++) {
        const int helps = is_gpu(r) || time_of(series, n, threads) < time_of(series, r->at_once, threads);
        if (r->settings.opts.at_once || helps) r->at_once = n;
    }
    if (r->at_once < 2) return;
    r->threads_each = is_gpu(r) ? 0 : threads / r->at_once;
    r->plan.planned += (r->at_once - 1) * (r->plan.planned - r->plan.images);
}

static larmor_status make_worker(lmr_devices *d, larmor_device *dev, int rank)
{
    lmr_worker *w = &d->worker[d->workers];
    const int members = larmor_device_members(d->recon->facts.dev);
    w->all = d;
    w->rank = rank;
    w->member = members ? d->workers % members : 0; /* as open_queues deals them */
    w->events = (lmr_events){.listener = lmr_worker_listen, .user = w, .energy = 1};
    const larmor_status st = dev ? open_job(d->recon, dev, w) : LARMOR_OK;
    if (st)
        close_job(w);
    else
        d->workers++;
    return st;
}

larmor_status lmr_devices_make(larmor_recon *r, larmor_device *const *devices, int count, larmor_ranks *ranks)
{
    const int all = count + larmor_ranks_count(ranks) - 1;
    const int series = r->list.series;
    LMR_NEW_ZEROS(lmr_devices, d, 1);
    r->devices = d;
    d->recon = r;
    d->ranks = ranks;
    d->room = 2 * all;
    LMR_ALLOCATE_ZEROS(d->worker, all);
    LMR_ALLOCATE_ZEROS(d->queue, d->room);
    LMR_ALLOCATE_ZEROS(d->group, r->facts.info.groups);
    for (int i = 0; i < r->facts.info.groups; i++) LMR_TRY(lmr_source_group(r->facts.source, i, &d->group[i]));
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->work, NULL);
    pthread_cond_init(&d->news, NULL);
    d->has_lock = 1;
    for (int i = 0; i < count && i < series; i++) LMR_TRY(make_worker(d, devices[i], 0));
    for (int i = 1; i <= all - count && d->workers < series; i++) LMR_TRY(make_worker(d, NULL, i));
    return LARMOR_OK;
}

static void free_queues(larmor_device **queue, int count)
{
    for (int i = 0; queue && i < count; i++) larmor_device_free(queue[i]);
    free(queue);
}

/* Queues of its own on each of these devices, one after the other, so that the first few workers are of different
 * devices. */
static larmor_status open_queues(const larmor_recon *r, larmor_device *const *device, int devices,
                                 larmor_device **queue)
{
    char spec[64];
    for (int i = 0; i < devices * r->at_once; i++) {
        const larmor_device *on = device[i % devices];
        if (is_gpu(r))
            snprintf(spec, sizeof spec, "%s", larmor_device_spec(on));
        else
            snprintf(spec, sizeof spec, "cpu:%d", r->threads_each);
        LMR_TRY(larmor_device_open(spec, &queue[i]));
        larmor_device_set_repeatable(queue[i], on->repeatable);
        if (is_gpu(r)) lmr_device_share_threads(queue[i], devices * r->at_once);
    }
    return LARMOR_OK;
}

/* A worker for each queue. */
static larmor_status divide(larmor_recon *r, larmor_device *const *device, int devices)
{
    const int count = devices * r->at_once;
    larmor_device **queue = calloc((size_t)count, sizeof *queue);
    larmor_status st = queue ? open_queues(r, device, devices, queue) : LMR_NO_MEMORY();
    if (!st) st = lmr_devices_make(r, queue, count, NULL);
    free_queues(queue, count);
    return st;
}

larmor_status lmr_devices_open(larmor_recon *r)
{
    const larmor_device *group = r->facts.dev;
    const int members = larmor_device_members(group), series = r->list.series;
    if (members < 2) return LARMOR_OK;
    LMR_TRY(larmor_device_open("cpu:1", &r->home));
    if (!lmr_spreads_series(&r->job, series)) return LARMOR_OK;
    if (r->at_once > 1) return divide(r, group->member, members);
    return lmr_devices_make(r, group->member, members, NULL);
}

int lmr_devices_are_one(const larmor_recon *r)
{
    return r->devices && r->devices->beside;
}

void lmr_devices_beside(larmor_recon *r)
{
    if (r->devices) return;
    lmr_operator_cache_clear(r->caches.last_operator);
    if (!divide(r, &r->facts.dev, 1)) {
        r->devices->beside = 1;
        return;
    }
    lmr_devices_close(r);
    r->at_once = 1;
}

void lmr_devices_close(larmor_recon *r)
{
    lmr_devices *d = r->devices;
    r->devices = NULL;
    LMR_CLEAR(r->home);
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
    for (int i = 0; i < d->workers; i++) close_job(&d->worker[i]);
    if (d->has_lock) {
        pthread_cond_destroy(&d->news);
        pthread_cond_destroy(&d->work);
        pthread_mutex_destroy(&d->lock);
    }
    LMR_FREE(d->group, d->queue, d->worker, d);
}
