/* Plans that are kept, by what they are for and by their points. SPDX-License-Identifier: Apache-2.0 */
#include "xla/plans.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "xla/points.h"
#include "xla/xla.h"

struct lmr_xla_plan {
    lmr_xla_device *dev;
    lmr_xla_call request; /* without its arrays */
    larmor_nufft *run;
    lmr_xla_points *points;
    int64_t bytes;
    uint64_t used; /* when it was put here last, as a count of puts */
    lmr_xla_plan *next;
};

struct lmr_xla_device {
    int ordinal;
    larmor_device *handle;
    pthread_mutex_t turn; /* of a GPU */
    void *stream;         /* its calls' last one */
    lmr_xla_plan *waiting;
    lmr_xla_device *next;
};

/* All devices, and what is counted, under one lock, which is never held while something is computed. */
static struct {
    pthread_mutex_t lock;
    lmr_xla_device *devices;
    uint64_t puts;
    int64_t most_plans;
    int64_t most_bytes;
    int64_t sorted;
    int64_t found;
} kept = {PTHREAD_MUTEX_INITIALIZER, NULL, 0, 16, INT64_C(1) << 30, 0, 0};

/* ---- devices ---- */

static larmor_status open_device(int ordinal, lmr_xla_device **out)
{
    char spec[32] = "cpu";
    lmr_xla_device *dev = calloc(1, sizeof *dev);
    if (!dev) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    if (ordinal >= 0) snprintf(spec, sizeof spec, "cuda:%d", ordinal);
    const larmor_status st = larmor_device_open(spec, &dev->handle);
    if (st) {
        free(dev);
        return st;
    }
    dev->ordinal = ordinal;
    pthread_mutex_init(&dev->turn, NULL);
    dev->next = kept.devices;
    kept.devices = dev;
    *out = dev;
    return LARMOR_OK;
}

larmor_status lmr_xla_device_find(int ordinal, lmr_xla_device **out)
{
    larmor_status st = LARMOR_OK;
    pthread_mutex_lock(&kept.lock);
    lmr_xla_device *dev = kept.devices;
    while (dev && dev->ordinal != ordinal) dev = dev->next;
    *out = dev;
    if (!dev) st = open_device(ordinal, out);
    pthread_mutex_unlock(&kept.lock);
    return st;
}

larmor_status lmr_xla_device_begin(lmr_xla_device *dev, void *stream)
{
    if (dev->ordinal < 0) return LARMOR_OK;
    pthread_mutex_lock(&dev->turn);
    if (stream == dev->stream) return LARMOR_OK;
    const larmor_status st = larmor_device_set_stream(dev->handle, stream);
    dev->stream = st ? NULL : stream;
    if (st) pthread_mutex_unlock(&dev->turn);
    return st;
}

void lmr_xla_device_end(lmr_xla_device *dev)
{
    if (dev->ordinal >= 0) pthread_mutex_unlock(&dev->turn);
}

/* ---- the list of those that wait ---- */

static int is_for(const lmr_xla_plan *plan, const lmr_xla_call *call)
{
    const lmr_xla_call *r = &plan->request;
    const larmor_nufft_opts *a = &r->nufft;
    const larmor_nufft_opts *b = &call->nufft;
    for (int d = 0; d < 3; d++)
        if (a->modes[d] != b->modes[d]) return 0;
    return a->type == b->type && a->ndim == b->ndim && a->batch == b->batch && a->sign == b->sign &&
           a->tol == b->tol && a->upsample == b->upsample && a->dtype == b->dtype && a->mode_order == b->mode_order &&
           a->threads == b->threads && r->radians == call->radians && r->real == call->real &&
           r->points == call->points && r->targets == call->targets;
}

/* Takes out the newest plan for this call that is older than `before`. NULL: there is none. */
static lmr_xla_plan *take_newest(lmr_xla_device *dev, const lmr_xla_call *call, uint64_t before)
{
    lmr_xla_plan **found = NULL;
    pthread_mutex_lock(&kept.lock);
    for (lmr_xla_plan **at = &dev->waiting; *at; at = &(*at)->next)
        if ((*at)->used < before && is_for(*at, call) && (!found || (*at)->used > (*found)->used)) found = at;
    lmr_xla_plan *plan = found ? *found : NULL;
    if (plan) *found = plan->next;
    pthread_mutex_unlock(&kept.lock);
    return plan;
}

/* Takes out the least recently used plan while there are more than the limits allow. */
static lmr_xla_plan *take_surplus(lmr_xla_device *dev)
{
    int64_t plans = 0;
    int64_t bytes = 0;
    lmr_xla_plan **oldest = NULL;
    pthread_mutex_lock(&kept.lock);
    for (lmr_xla_plan **at = &dev->waiting; *at; at = &(*at)->next) {
        plans++;
        bytes += (*at)->bytes;
        if (!oldest || (*at)->used < (*oldest)->used) oldest = at;
    }
    lmr_xla_plan *plan = plans > kept.most_plans || bytes > kept.most_bytes ? *oldest : NULL;
    if (plan) *oldest = plan->next;
    pthread_mutex_unlock(&kept.lock);
    return plan;
}

static void put_back(lmr_xla_plan *plan)
{
    pthread_mutex_lock(&kept.lock);
    plan->next = plan->dev->waiting;
    plan->dev->waiting = plan;
    pthread_mutex_unlock(&kept.lock);
}

static void drop(lmr_xla_plan *plan)
{
    if (!plan) return;
    larmor_nufft_free(plan->run);
    lmr_xla_points_free(plan->points);
    free(plan);
}

static void drop_surplus(lmr_xla_device *dev)
{
    for (lmr_xla_plan *plan = take_surplus(dev); plan; plan = take_surplus(dev)) drop(plan);
}

static void count(int64_t *what)
{
    pthread_mutex_lock(&kept.lock);
    ++*what;
    pthread_mutex_unlock(&kept.lock);
}

/* ---- plans ---- */

/* What the plan takes of its device's memory, about. */
static int64_t bytes_of(const lmr_xla_plan *plan)
{
    const lmr_xla_call *r = &plan->request;
    const larmor_nufft_info info = larmor_nufft_describe(plan->run);
    const double number = (double)larmor_dtype_size(r->nufft.dtype);
    double cells = 1;
    double inner = 1;
    for (int d = 0; d < r->nufft.ndim; d++) {
        cells *= (double)info.grid[d];
        inner *= (double)info.inner_grid[d];
    }
    const double of_point = 16.0 + 8.0 * r->nufft.ndim;
    return (int64_t)((cells + inner) * number * (double)info.per_pass + of_point * (double)(r->points + r->targets)) +
           lmr_xla_points_bytes(plan->points);
}

static larmor_status create(lmr_xla_device *dev, const lmr_xla_call *call, lmr_xla_plan **out)
{
    lmr_xla_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    plan->dev = dev;
    plan->request = *call;
    larmor_status st = larmor_nufft_create(dev->handle, &call->nufft, &plan->run);
    if (!st) st = lmr_xla_points_create(dev->handle, call, &plan->points);
    if (st) drop(plan);
    *out = st ? NULL : plan;
    return st;
}

/* One that has the points of the set. *out is NULL if there is none. */
static larmor_status take_ready(lmr_xla_device *dev, const lmr_xla_call *call, int64_t set, lmr_xla_plan **out)
{
    uint64_t before = UINT64_MAX;
    for (;;) {
        int same = 0;
        lmr_xla_plan *plan = take_newest(dev, call, before);
        *out = plan;
        if (!plan) return LARMOR_OK;
        const larmor_status st = lmr_xla_points_same(plan->points, call, set, &same);
        if (!st && same) return LARMOR_OK;
        before = plan->used;
        put_back(plan);
        *out = NULL;
        if (st) return st;
    }
}

/* How many plans wait beside this device's limit. */
static int is_full(const lmr_xla_device *dev)
{
    int64_t plans = 0;
    pthread_mutex_lock(&kept.lock);
    for (const lmr_xla_plan *plan = dev->waiting; plan; plan = plan->next) plans++;
    const int full = plans >= kept.most_plans;
    pthread_mutex_unlock(&kept.lock);
    return full;
}

static lmr_xla_plan *take_oldest(lmr_xla_device *dev, const lmr_xla_call *call)
{
    lmr_xla_plan **oldest = NULL;
    pthread_mutex_lock(&kept.lock);
    for (lmr_xla_plan **at = &dev->waiting; *at; at = &(*at)->next)
        if (is_for(*at, call) && (!oldest || (*at)->used < (*oldest)->used)) oldest = at;
    lmr_xla_plan *plan = oldest ? *oldest : NULL;
    if (plan) *oldest = plan->next;
    pthread_mutex_unlock(&kept.lock);
    return plan;
}

larmor_status lmr_xla_plan_take(lmr_xla_device *dev, const lmr_xla_call *call, int64_t set, lmr_xla_plan **out)
{
    XLA_TRY(take_ready(dev, call, set, out));
    if (*out) {
        count(&kept.found);
        return LARMOR_OK;
    }
    lmr_xla_plan *plan = is_full(dev) ? take_oldest(dev, call) : NULL;
    if (!plan) XLA_TRY(create(dev, call, &plan));
    const larmor_status st = lmr_xla_points_set(plan->points, call, set, plan->run);
    if (st) {
        drop(plan);
        return st;
    }
    count(&kept.sorted);
    plan->bytes = bytes_of(plan);
    *out = plan;
    return LARMOR_OK;
}

larmor_status lmr_xla_plan_run(const lmr_xla_plan *plan, const lmr_xla_call *call, int64_t set)
{
    larmor_array *in = NULL;
    larmor_array *out = NULL;
    const larmor_dtype dtype = call->nufft.dtype;
    const int64_t bytes = (int64_t)larmor_dtype_size(dtype);
    larmor_status st = lmr_xla_wrap(plan->dev->handle, dtype, call->in, call->from + set * call->in * bytes, &in);
    if (!st) st = lmr_xla_wrap(plan->dev->handle, dtype, call->out, call->to + set * call->out * bytes, &out);
    if (!st)
        st = call->adjoint ? larmor_nufft_execute_adjoint(plan->run, in, out)
                           : larmor_nufft_execute(plan->run, in, out);
    larmor_array_free(in);
    larmor_array_free(out);
    return st;
}

void lmr_xla_plan_put(lmr_xla_plan *plan)
{
    lmr_xla_device *dev = plan->dev;
    pthread_mutex_lock(&kept.lock);
    plan->used = ++kept.puts;
    pthread_mutex_unlock(&kept.lock);
    put_back(plan);
    drop_surplus(dev);
}

/* ---- limits ---- */

void larmor_xla_keep(int64_t plans, int64_t bytes)
{
    pthread_mutex_lock(&kept.lock);
    kept.most_plans = plans > 0 ? plans : 0;
    kept.most_bytes = bytes > 0 ? bytes : 0;
    lmr_xla_device *first = kept.devices;
    pthread_mutex_unlock(&kept.lock);
    for (lmr_xla_device *dev = first; dev; dev = dev->next) {
        if (dev->ordinal >= 0) pthread_mutex_lock(&dev->turn);
        drop_surplus(dev);
        lmr_xla_device_end(dev);
    }
}

void larmor_xla_count(int64_t counts[4])
{
    counts[0] = counts[1] = 0;
    pthread_mutex_lock(&kept.lock);
    for (const lmr_xla_device *dev = kept.devices; dev; dev = dev->next)
        for (const lmr_xla_plan *plan = dev->waiting; plan; plan = plan->next) {
            counts[0]++;
            counts[1] += plan->bytes;
        }
    counts[2] = kept.sorted;
    counts[3] = kept.found;
    pthread_mutex_unlock(&kept.lock);
}
