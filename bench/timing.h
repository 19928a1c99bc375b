/* Timing of NUFFTs side by side. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/larmor.h"

typedef enum bench_stage { BENCH_PLAN, BENCH_POINTS, BENCH_EXECUTE, BENCH_STAGES } bench_stage;

typedef struct bench_times { /* seconds of one call */
    double median, minimum;
    int repeats;
    int64_t calls; /* in each repeat, between two waits for the device */
} bench_times;

/* What is timed. A call may queue its work on the device; sync waits for all of it. Between start and stop runs the
 * device's own clock: events on the stream of a GPU, the monotonic clock on a processor. */
typedef struct bench_subject bench_subject;
struct bench_subject {
    larmor_status (*create)(bench_subject *self); /* self has no plan then */
    larmor_status (*set_points)(bench_subject *self);
    larmor_status (*execute)(bench_subject *self);
    larmor_status (*sync)(bench_subject *self);
    larmor_status (*start)(bench_subject *self);
    larmor_status (*stop)(bench_subject *self, double *seconds); /* waits */
    void (*destroy)(bench_subject *self);                        /* also without a plan */
    bench_times times[BENCH_STAGES];
    int may_fail;      /* if it does it is left out, and the others go on */
    char failure[256]; /* why it was left out, else "" */
};

/* Run every subject once to warm up, then time the three stages, the subjects alternating within each repeat. A
 * repeat is as many calls as take 20 ms (a plan: one, with the host's clock). A stage ends early, after three
 * repeats, once its part of the budget is spent, and after one if half of the whole budget went by in the warm-up.
 * All subjects keep their plans and points.
 *
 * budget  seconds for all of it.
 * Errors  those of the subjects that may not fail; LARMOR_STOPPED after a signal. */
larmor_status bench_measure(bench_subject *const *subjects, int count, int repeats, double budget);

void bench_sort(double *values, int64_t count); /* in ascending order */
