/* Timing by the subject's own clock: several queued calls between its start and its stop.
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench_time.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "common.h"

#define REPEAT_SECONDS 0.02
#define STAGE_SECONDS 10
#define LEAST_REPEATS 3
#define MOST_CALLS 100000

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static larmor_status call(bench_subject *s, bench_stage stage)
{
    return stage == BENCH_PLAN ? s->create(s) : stage == BENCH_POINTS ? s->set_points(s) : s->execute(s);
}

/* A plan is the host's work as much as the device's. */
static larmor_status time_plan(bench_subject *s, double *seconds)
{
    s->destroy(s);
    larmor_status st = s->sync(s);
    const double start = now();
    if (!st) st = s->create(s);
    if (!st) st = s->sync(s);
    *seconds = now() - start;
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

static void summarise(double *seconds, int repeats, bench_times *times)
{
    qsort(seconds, (size_t)repeats, sizeof *seconds, by_size);
    times->minimum = seconds[0];
    times->median = (seconds[(repeats - 1) / 2] + seconds[repeats / 2]) / 2;
    times->repeats = repeats;
}

static larmor_status choose_calls(bench_subject *s, bench_stage stage)
{
    double seconds = 0;
    s->times[stage].calls = 1;
    if (stage == BENCH_PLAN) return LARMOR_OK;
    larmor_status st = time_calls(s, stage, 1, &seconds); /* too long by the wait, so ask again with more calls */
    if (!st && seconds < REPEAT_SECONDS) st = time_calls(s, stage, 5, &seconds);
    if (!st) s->times[stage].calls = (int64_t)fmin(ceil(REPEAT_SECONDS / fmax(seconds, 1e-9)), MOST_CALLS);
    return st;
}

static larmor_status measure_stage(bench_subject *const *subjects, int count, bench_stage stage, int repeats,
                                   double *seconds)
{
    larmor_status st = LARMOR_OK;
    int done = 0;
    for (int i = 0; i < count && !st; i++) st = choose_calls(subjects[i], stage);
    const double start = now();
    while (!st && done < repeats && (done < LEAST_REPEATS || now() - start < STAGE_SECONDS)) {
        for (int i = 0; i < count && !st; i++)
            st = time_calls(subjects[i], stage, subjects[i]->times[stage].calls, &seconds[i * repeats + done]);
        done++;
    }
    for (int i = 0; i < count && !st; i++) summarise(seconds + i * repeats, done, &subjects[i]->times[stage]);
    return st;
}

larmor_status bench_measure(bench_subject *const *subjects, int count, int repeats)
{
    double *seconds = calloc((size_t)count * (size_t)repeats, sizeof *seconds);
    if (!seconds) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    larmor_status st = LARMOR_OK;
    for (int stage = 0; stage < BENCH_STAGES; stage++) { /* warm-up */
        for (int i = 0; i < count && !st; i++) st = call(subjects[i], stage);
        for (int i = 0; i < count && !st; i++) st = subjects[i]->sync(subjects[i]);
    }
    for (int stage = 0; stage < BENCH_STAGES && !st; stage++)
        st = measure_stage(subjects, count, stage, repeats, seconds);
    free(seconds);
    return st;
}
