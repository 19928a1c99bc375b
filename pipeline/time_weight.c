/* The weight of differences in time of a series that tv reconstructs jointly. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/time_weight.h"

#include "core/device.h"
#include "core/ranks/ranks.h"
#include "core/status.h"

/* From one weight in time to the next: 1, 4, 16. Not measured. */
#define STEP_FACTOR 4.
/* The weights in time that are tried lie between these, relative to that in space. With 64 the iterations stop far
 * from the solution: 3 times the error of 16 for a contrast agent, 25 spokes of 32 x 32 voxels a frame. */
#define MIN_TIME_WEIGHT 1
#define MAX_TIME_WEIGHT 16
/* Another weight in time has to lower the misfit by this part: smaller differences are of the noise. Tuned on 32
 * series of golden-angle frames of 8 and 25 spokes: contrast agent, breathing, drift, rest. */
#define MIN_MISFIT_FALL 0.0075

int lmr_time_weight_is_open(const lmr_job *job, int frames)
{
    return job->found.method.kind == LMR_METHOD_REGULARISED && job->found.method.takes & LARMOR_TAKES_TIME &&
           job->settings->opts.time_weight == 0 && frames > 1 && !job->facts->sets && !job->facts->basis;
}

static larmor_status search_weight(const lmr_job *job, const lmr_searched *p, double time, larmor_choice *choice)
{
    LMR_TRY(lmr_weight_search(job, p, job->found.method.name, time, choice));
    choice->time_weight = time;
    return lmr_ranks_lead(job->facts->dev->whole, &choice->misfit);
}

/* Steps by this factor as long as the misfit falls. */
static larmor_status descend(const lmr_job *job, const lmr_searched *p, double factor, larmor_choice *best)
{
    larmor_choice next;
    for (double time = best->time_weight * factor; time >= MIN_TIME_WEIGHT && time <= MAX_TIME_WEIGHT;
         time *= factor) {
        LMR_TRY(search_weight(job, p, time, &next));
        const double seconds = best->seconds + next.seconds;
        const int tried = best->tried + next.tried, iters = best->iters + next.iters;
        const int better = next.misfit < (1 - MIN_MISFIT_FALL) * best->misfit;
        if (better) *best = next;
        best->seconds = seconds;
        best->tried = tried;
        best->iters = iters;
        if (!better) break;
    }
    return LARMOR_OK;
}

larmor_status lmr_time_weight_choose(const lmr_job *job, const lmr_searched *p, larmor_choice *choice)
{
    const double first = lmr_regulariser_opts(job, p->frames, p->grid).time;
    LMR_TRY(search_weight(job, p, first, choice));
    LMR_TRY(descend(job, p, STEP_FACTOR, choice));
    return choice->time_weight > first ? LARMOR_OK : descend(job, p, 1 / STEP_FACTOR, choice);
}
