/* Timing one way of doing something against another. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_NUFFT_RACE_H
#define LMR_NUFFT_RACE_H

#include "larmor/nufft.h"

/* What is timed. */
typedef struct lmr_run {
    larmor_status (*once)(void *self);
    void *self;
} lmr_run;

/* A plan's execute, and its adjoint where both are to be quick: lmr_race_execute is a run's `once` with this as its
 * `self`. */
typedef struct lmr_race_plan {
    larmor_nufft *plan;
    larmor_array *in, *out;
} lmr_race_plan;
larmor_status lmr_race_execute(void *self);

/* A few quick runs after a first one, which loads code and touches memory.
 *
 * best     what another one took, INFINITY for none: who is hopelessly slower is run no more.
 * seconds  the least of them; short ones are repeated, and the mean of the repeats counts. */
larmor_status lmr_race_screen(larmor_timer *timer, lmr_run run, double best, double *seconds);

/* Both in turn, each for 20 ms at least in all and in several runs.
 *
 * seconds  in: about what each takes; out: the least of its runs. */
larmor_status lmr_race_duel(larmor_timer *timer, const lmr_run runs[2], double seconds[2]);

/* Who took more than this times the best in a screening is out; who took less than the other is for a duel. */
extern const double lmr_race_hopeless, lmr_race_close;

/* Seconds for all that is timed with an effort, and for the screenings among it. */
double lmr_race_budget(int effort);
double lmr_race_screening(int effort);

#endif
