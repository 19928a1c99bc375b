/* Runs one case of `larmor-bench nufft`. SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include "common.h"

typedef struct own_subject {
    bench_subject base;
    const bench_case *c;
    const bench_data *data;
    larmor_nufft *plan;
    larmor_timer *timer;
    larmor_plan_effort effort;
} own_subject;

static larmor_status own_create(bench_subject *self)
{
    own_subject *s = (own_subject *)self;
    const larmor_nufft_opts opts = {
        .type = s->c->type,
        .ndim = s->c->ndim,
        .modes = {s->c->modes[0], s->c->modes[1], s->c->modes[2]},
        .batch = s->c->batch,
        .tol = s->c->tol,
        .sign = s->c->type == 2 ? -1 : 1,
        .upsample = s->c->upsample,
        .precompute = s->c->precompute,
        .dtype = s->c->is_double ? LARMOR_C128 : LARMOR_C64,
        .effort = s->effort,
    };
    return larmor_nufft_create(s->data->dev, &opts, &s->plan);
}

static larmor_status own_set_points(bench_subject *self)
{
    const own_subject *s = (own_subject *)self;
    return larmor_nufft_set_points(s->plan, s->data->traj, s->data->aims);
}

static larmor_status own_execute(bench_subject *self)
{
    const own_subject *s = (own_subject *)self;
    return larmor_nufft_execute(s->plan, s->data->in, s->data->out);
}

static larmor_status own_sync(bench_subject *self)
{
    return larmor_device_sync(((own_subject *)self)->data->dev);
}

static larmor_status own_start(bench_subject *self)
{
    return larmor_timer_start(((own_subject *)self)->timer);
}

static larmor_status own_stop(bench_subject *self, double *seconds)
{
    return larmor_timer_stop(((own_subject *)self)->timer, seconds);
}

static void own_destroy(bench_subject *self)
{
    own_subject *s = (own_subject *)self;
    larmor_nufft_free(s->plan);
    s->plan = NULL;
}

/* One more execute into a cleared output, against the direct sums. */
static larmor_status find_error(bench_subject *s, bench_data *data, const bench_direct *direct, double *error)
{
    TRY(larmor_zero(data->out));
    TRY(larmor_device_sync(data->dev));
    TRY(s->execute(s));
    TRY(s->sync(s));
    return bench_direct_error(direct, data->out, error);
}

static larmor_status finish(bench_subject *s, bench_data *data, const bench_direct *direct, bench_timing *timing)
{
    memcpy(timing->times, s->times, sizeof s->times);
    return find_error(s, data, direct, &timing->error);
}

/* Of larmor also what its plan chose; for type 3 it is known only now, after its points. */
static larmor_status finish_own(own_subject *ours, bench_place *place, bench_result *result)
{
    result->info = larmor_nufft_describe(ours->plan);
    return finish(&ours->base, &place->data, &place->direct, &result->ours);
}

static void note_failure(bench_timing *timing)
{
    snprintf(timing->failure, sizeof timing->failure, "%s", larmor_last_error());
}

/* The sizes of batches that the peer is timed with: its own choice, 8, all at once. */
static int list_methods(const bench_case *c, int most, int methods[BENCH_MOST_PEERS],
                        int64_t batches[BENCH_MOST_PEERS])
{
    const int64_t sizes[3] = {0, 8, c->batch};
    int count = 0;
    for (int i = 0; i < 3; i++) {
        if (i && (!most || c->batch == 1 || sizes[i] > c->batch || (i == 2 && c->batch == 8))) continue;
        for (int method = 0; method <= most; method++) {
            methods[count] = method;
            batches[count++] = sizes[i];
        }
    }
    return count;
}

static void name_method(int method, int64_t batch, char name[32])
{
    int used = method ? snprintf(name, 32, "method %d", method) : snprintf(name, 32, "default");
    if (batch) snprintf(name + used, 32 - (size_t)used, ", batches of %lld", (long long)batch);
}

/* The peer's methods that are not its default, one after the other. */
static larmor_status run_methods(bench_place *place, const bench_peer_work *work, const bench_direct *direct,
                                 bench_result *result)
{
    int methods[BENCH_MOST_PEERS];
    int64_t batches[BENCH_MOST_PEERS];
    result->peers = list_methods(&result->c, bench_peer_methods(place->peer), methods, batches);
    for (int i = 1; i < result->peers; i++) {
        if (app_stopped()) return LARMOR_STOPPED;
        bench_timing *timing = &result->peer[i];
        name_method(methods[i], batches[i], timing->name);
        bench_peer_subject theirs;
        bench_peer_prepare(&theirs, work, methods[i], batches[i]);
        bench_subject *const subject = &theirs.base;
        larmor_status st = bench_measure(&subject, 1, place->repeats, place->budget);
        if (!st) st = finish(subject, &place->data, direct, timing);
        if (st) note_failure(timing);
        subject->destroy(subject);
    }
    return app_stopped() ? LARMOR_STOPPED : LARMOR_OK;
}

static larmor_status sum_for(const bench_data *data, const bench_case *c, const double *points, bench_direct *direct)
{
    const double *targets = data->targets ? larmor_array_data(data->targets) : NULL;
    return bench_direct_sum(c, points, targets, larmor_array_data(data->values), direct);
}

/* Radians in single precision are other points. */
static larmor_status sum_for_peer(bench_place *place, const bench_case *c, const double *points)
{
    if (place->direct_of_peer.count) return LARMOR_OK;
    return sum_for(&place->data, c, points, &place->direct_of_peer);
}

static larmor_status run_with_peer(own_subject *ours, bench_place *place, bench_result *result)
{
    const bench_case *c = &result->c;
    bench_data *data = &place->data;
    APP_FREED_BY(bench_peer_work_free) bench_peer_work work = {0};
    const bench_direct *of_peer = &place->direct;
    result->peers = 1;
    snprintf(result->peer[0].name, sizeof result->peer[0].name, "default");
    larmor_status st = bench_peer_work_create(place->peer, c, data, &work);
    if (!st && !c->is_double) {
        of_peer = &place->direct_of_peer;
        st = sum_for_peer(place, c, work.points);
    }
    bench_peer_subject theirs;
    bench_peer_prepare(&theirs, &work, 0, 0);
    theirs.base.may_fail = 1; /* then larmor is timed alone */
    bench_subject *const both[2] = {&ours->base, &theirs.base};
    if (!st) st = bench_measure(both, 2, place->repeats, place->budget);
    if (!st) st = finish_own(ours, place, result);
    if (!st && theirs.base.failure[0])
        snprintf(result->peer[0].failure, sizeof result->peer[0].failure, "%s", theirs.base.failure);
    else if (!st && finish(&theirs.base, data, of_peer, &result->peer[0]))
        note_failure(&result->peer[0]);
    theirs.base.destroy(&theirs.base);
    own_destroy(&ours->base);
    if (!st) st = run_methods(place, &work, of_peer, result);
    return st;
}

void bench_place_clear(bench_place *place)
{
    bench_data_free(&place->data);
    place->direct = place->direct_of_peer = (bench_direct){0};
}

/* The exact values depend neither on the tolerance nor on the upsampling factor. */
static larmor_status prepare(bench_place *place, bench_case *c)
{
    if (place->direct.count && bench_same_data(&place->data.asked, c)) {
        c->points = place->points;
        return LARMOR_OK;
    }
    place->direct = place->direct_of_peer = (bench_direct){0};
    larmor_status st = bench_data_draw(place->dev, c, &place->data);
    place->points = c->points;
    if (!st) st = sum_for(&place->data, c, larmor_array_data(place->data.points), &place->direct);
    if (st) bench_place_clear(place);
    return st;
}

larmor_status bench_run(bench_place *place, const bench_case *c, bench_result *result)
{
    *result = (bench_result){.c = *c, .ours.name = "larmor"};
    bench_case_label(c, result->label);
    TRY(prepare(place, &result->c));
    own_subject ours = {
        .base = {own_create, own_set_points, own_execute, own_sync, own_start, own_stop, own_destroy, {{0}}, 0, ""},
        .c = &result->c,
        .data = &place->data,
        .effort = place->effort,
    };
    bench_subject *const subject = &ours.base;
    larmor_status st = larmor_timer_create(place->dev, &ours.timer);
    if (!st) st = own_create(subject); /* a plan that cannot be made ends the case before the peer runs */
    own_destroy(subject);
    if (!st && place->peer) st = run_with_peer(&ours, place, result);
    if (!st && !place->peer) st = bench_measure(&subject, 1, place->repeats, place->budget);
    if (!st && !place->peer) st = finish_own(&ours, place, result);
    own_destroy(subject);
    larmor_timer_free(ours.timer);
    return st;
}

const bench_timing *bench_best_peer(const bench_result *result)
{
    const bench_timing *best = NULL;
    for (int i = 0; i < result->peers; i++) {
        const bench_timing *p = &result->peer[i];
        if (p->failure[0]) continue;
        if (!best || p->times[BENCH_EXECUTE].median < best->times[BENCH_EXECUTE].median) best = p;
    }
    return best;
}

double bench_seconds(const bench_timing *timing, bench_span span)
{
    const bench_times *points = &timing->times[BENCH_POINTS], *execute = &timing->times[BENCH_EXECUTE];
    switch (span) {
    case BENCH_BOTH:
        return points->median + execute->median;
    case BENCH_ONE_LEAST:
        return execute->minimum;
    case BENCH_ONE_EXECUTE:
        break;
    }
    return execute->median;
}

double bench_ratio(const bench_result *result, bench_span span)
{
    if (!result->peers || result->peer[0].failure[0] || result->ours.failure[0]) return 0;
    return bench_seconds(&result->peer[0], span) / bench_seconds(&result->ours, span);
}
