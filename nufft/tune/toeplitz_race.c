/* Whether a Toeplitz normal map is quicker than the forward map and its adjoint, by timing both.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "nufft/toeplitz.h"
#include "nufft/tune/race.h"

LMR_OWNS(larmor_timer, larmor_timer_free)

/* An operator that is timed. */
typedef struct runner {
    larmor_op *A;
    larmor_status (*apply)(larmor_op *A, const larmor_array *x, larmor_array *y);
    const larmor_array *x;
    larmor_array *y;
} runner;

static larmor_status run_once(void *self)
{
    const runner *r = self;
    return r->apply(r->A, r->x, r->y);
}

larmor_status lmr_toeplitz_race(larmor_op *N, larmor_op *A, const larmor_array *x, larmor_array *y, int *quicker)
{
    runner one = {N, larmor_op_forward, x, y}, both = {A, larmor_op_normal, x, y};
    const lmr_run runs[2] = {{run_once, &one}, {run_once, &both}};
    double seconds[2];
    *quicker = 0;
    LMR_OWN(larmor_timer, timer, larmor_timer_create(x->dev, &timer));
    LMR_TRY(lmr_race_time(timer, runs[0], INFINITY, &seconds[0]));
    LMR_TRY(lmr_race_time(timer, runs[1], seconds[0], &seconds[1]));
    if (fmax(seconds[0], seconds[1]) < lmr_race_close * fmin(seconds[0], seconds[1]))
        LMR_TRY(lmr_race_compare(timer, runs, seconds));
    *quicker = seconds[0] < seconds[1];
    return LARMOR_OK;
}
