/* A race times things against each other: each alone a few times, then two in alternation. What is timed may be
 * anything that executes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/device.h"

/* What is timed. */
typedef struct lmr_run {
    larmor_status (*once)(void *self);
    void *self;
} lmr_run;

/* A few quick runs after a first one, which loads code and touches memory.
 *
 * best     what another one took, INFINITY for none: what is much slower is run no more.
 * seconds  the least of them; short ones are repeated, and the mean of the repeats counts. */
larmor_status lmr_race_time(larmor_timer *timer, lmr_run run, double best, double *seconds);

/* Both in alternation, each for 20 ms at least in all and in several runs.
 *
 * seconds  in: about what each takes; out: the least of its runs. */
larmor_status lmr_race_compare(larmor_timer *timer, const lmr_run runs[2], double seconds[2]);

/* What took more than `slow` times the best when it was timed alone is out; what took less than `close` times the
 * best is compared with it. */
extern const double lmr_race_slow, lmr_race_close;

/* Seconds for all that is timed with an effort, and for the part in which each is timed alone. */
double lmr_race_budget(int effort);
double lmr_race_budget_alone(int effort);
