/* Timing one way of doing something against another. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/tune/race.h"

#include "core/core.h"

enum { RUNS = 3, LEAST_ROUNDS = 4, MOST_ROUNDS = 64, MOST_REPEATS = 50 };
static const double least_run = 4e-4;    /* seconds: shorter work is repeated */
static const double compare_time = 0.02; /* of each side */
const double lmr_race_slow = 1.5, lmr_race_close = 1.25;

double lmr_race_budget(int effort)
{
    static const double seconds[] = {0, 3, 60};
    return seconds[effort];
}

double lmr_race_budget_alone(int effort)
{
    return 0.7 * lmr_race_budget(effort);
}

static int repeats_for(double seconds)
{
    return (int)fmin(fmax(ceil(least_run / seconds), 1), MOST_REPEATS);
}

/* *least of itself and the mean of `repeats`. */
static larmor_status time_run(larmor_timer *timer, lmr_run run, int repeats, double *least)
{
    double seconds;
    LMR_TRY(larmor_timer_start(timer));
    for (int i = 0; i < repeats; i++) LMR_TRY(run.once(run.self));
    LMR_TRY(larmor_timer_stop(timer, &seconds));
    *least = fmin(*least, seconds / repeats);
    return LARMOR_OK;
}

larmor_status lmr_race_time(larmor_timer *timer, lmr_run run, double best, double *seconds)
{
    *seconds = INFINITY;
    LMR_TRY(time_run(timer, run, 1, seconds));
    for (int i = 0; i < RUNS && (i == 0 || *seconds < lmr_race_slow * best); i++)
        LMR_TRY(time_run(timer, run, repeats_for(*seconds), seconds));
    return LARMOR_OK;
}

larmor_status lmr_race_compare(larmor_timer *timer, const lmr_run runs[2], double seconds[2])
{
    const int repeats = repeats_for(fmin(seconds[0], seconds[1]));
    const double round = repeats * fmin(seconds[0], seconds[1]);
    const int rounds = (int)fmin(fmax(ceil(compare_time / round), LEAST_ROUNDS), MOST_ROUNDS);
    seconds[0] = seconds[1] = INFINITY;
    for (int i = 0; i < rounds; i++)
        for (int side = 0; side < 2; side++) LMR_TRY(time_run(timer, runs[side], repeats, &seconds[side]));
    return LARMOR_OK;
}
