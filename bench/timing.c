/* Timing by the subject's own clock: several queued calls between its start and its stop.
 * SPDX-License-Identifier: Apache-2.0 */
#include "timing.h"

#include "common.h"

#define REPEAT_SECONDS 0.02
#define LEAST_REPEATS 3
#define MOST_CALLS 100000

static larmor_status call(bench_subject *s, bench_stage stage)
{
    if (stage == BENCH_PLAN) return s->create(s);
    return stage == BENCH_POINTS ? s->set_points(s) : s->execute(s);
}

/* What a subject's failure means for all: nothing if it may fail. */
static larmor_status judge(bench_subject *s, larmor_status st)
{
    if (!st || st == LARMOR_STOPPED || !s->may_fail) return st;
    snprintf(s->failure, sizeof s->failure, "%s", larmor_last_error());
    return LARMOR_OK;
}

/* A plan is the host's work as much as the device's. */
static larmor_status time_plan(bench_subject *s, double *seconds)
{
    s->destroy(s);
    larmor_status st = s->sync(s);
    const double start = app_now();
    if (!st) st = s->create(s);
    if (!st) st = s->sync(s);
    *seconds = app_now() - start;
    return st;
}

/* The seconds of one of `calls` calls. */
static larmor_status time_calls(bench_subject *s, bench_stage stage, int64_t calls, double *seconds)
{
    if (app_stopped()) return LARMOR_STOPPED;
    if (stage == BENCH_PLAN) return time_plan(s, seconds);
    larmor_status st = s->sync(s);
    if (!st) st = s->start(s);
    for (int64_t i = 0; i < calls && !st; i++) st = call(s, stage);
    if (!st) st = s->stop(s, seconds);
    *seconds /= (double)calls;
    return st;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_sort(double *values, int64_t count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
}

static void summarise(double *seconds, int repeats, bench_times *times)
{
    bench_sort(seconds, repeats);
    times->minimum = seconds[0];
    times->median = (seconds[(repeats - 1) / 2] + seconds[repeats / 2]) / 2;
    times->repeats = repeats;
}

/* warm: the seconds of the first call, which is too long by what it prepares. */
static larmor_status choose_calls(bench_subject *s, bench_stage stage, double warm)
{
    double seconds = warm;
    s->times[stage].calls = 1;
    if (stage == BENCH_PLAN || warm > 10 * REPEAT_SECONDS) return LARMOR_OK;
    larmor_status st = time_calls(s, stage, 1, &seconds); /* too long by the marks, so ask again with more calls */
    if (!st && seconds < REPEAT_SECONDS) st = time_calls(s, stage, 5, &seconds);
    if (!st) s->times[stage].calls = (int64_t)fmin(ceil(REPEAT_SECONDS / fmax(seconds, 1e-9)), MOST_CALLS);
    return st;
}

typedef struct limits {
    int repeats, least;
    double seconds; /* of a stage */
} limits;

static larmor_status measure_stage(bench_subject *const *subjects, int count, bench_stage stage, limits l,
                                   const double *warm, double *seconds)
{
    int done = 0;
    const double start = app_now();
    for (int i = 0; i < count; i++)
        if (!subjects[i]->failure[0]) TRY(judge(subjects[i], choose_calls(subjects[i], stage, warm[i])));
    while (done < l.repeats && (done < l.least || app_now() - start < l.seconds)) {
        for (int i = 0; i < count; i++) {
            bench_subject *s = subjects[i];
            if (s->failure[0]) continue;
            TRY(judge(s, time_calls(s, stage, s->times[stage].calls, &seconds[i * l.repeats + done])));
        }
        done++;
    }
    for (int i = 0; i < count; i++) summarise(seconds + i * l.repeats, done, &subjects[i]->times[stage]);
    return LARMOR_OK;
}

/* warm [stages, count]: the seconds of the first calls. */
static larmor_status warm_up(bench_subject *const *subjects, int count, double *warm)
{
    larmor_status st = LARMOR_OK;
    for (int stage = 0; stage < BENCH_STAGES; stage++)
        for (int i = 0; i < count && !st; i++) {
            bench_subject *s = subjects[i];
            if (s->failure[0]) continue;
            const double start = app_now();
            st = app_stopped() ? LARMOR_STOPPED : call(s, stage);
            if (!st) st = s->sync(s);
            st = judge(s, st);
            warm[stage * count + i] = app_now() - start;
        }
    return st;
}

larmor_status bench_measure(bench_subject *const *subjects, int count, int repeats, double budget)
{
    static const double part[BENCH_STAGES] = {0.1, 0.3, 0.6};
    APP_HEAP double *seconds = calloc((size_t)count * (size_t)repeats, sizeof *seconds);
    APP_HEAP double *warm = calloc((size_t)count * BENCH_STAGES, sizeof *warm);
    const double start = app_now();
    if (!seconds || !warm) return NO_MEMORY();
    TRY(warm_up(subjects, count, warm));
    const double rest = budget - (app_now() - start);
    for (int stage = 0; stage < BENCH_STAGES; stage++) {
        const limits l = {repeats, rest > budget / 2 ? LEAST_REPEATS : 1, part[stage] * rest};
        TRY(measure_stage(subjects, count, stage, l, warm + stage * count, seconds));
    }
    return LARMOR_OK;
}
