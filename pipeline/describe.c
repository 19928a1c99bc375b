/* The samples of the first image against other descriptions of them, before any image is made.
 * SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/describe.h"

#include "core/status.h"
#include "larmor/describe.h"
#include "pipeline/group.h"

static larmor_status compare_off_grid(larmor_recon *r, const larmor_samples *samples)
{
    larmor_array *kspace = NULL, *traj = NULL;
    larmor_description found;
    larmor_status st = larmor_samples_align(samples, &kspace, &traj);
    if (!st) st = larmor_compare_descriptions(kspace, traj, &found);
    larmor_array_free(traj);
    larmor_array_free(kspace);
    LMR_TRY(st);
    if (found.reach == 0) {
        lmr_log(&r->events,
                "description: not compared with others, as the centre of k-space is sampled too sparsely");
    } else if (found.is_clear) {
        lmr_warn(&r->events,
                 "the samples fit better with %s: misfit %.2g instead of %.2g in the centre of k-space. Check the "
                 "trajectory, the order of readouts and whether the object moved.",
                 found.name, found.better, found.misfit);
    } else {
        lmr_log(&r->events,
                "description: one image of each coil explains the samples within %.2g/FOV to a misfit of %.2g%s%s",
                found.reach, found.misfit, found.name[0] ? "; the best other description: " : "", found.name);
    }
    return LARMOR_OK;
}

static larmor_status compare_first(larmor_recon *r)
{
    lmr_job *job = &r->job;
    const int index = r->list.group[0];
    larmor_samples samples;
    lmr_cartesian cartesian;
    int made;
    LMR_TRY(lmr_enter(&r->events, "description"));
    if (!job->whitening) job->scale = 0;
    LMR_TRY(lmr_group_average(job, index, &samples, &made, &cartesian));
    const larmor_status st = cartesian.on_grid ? LARMOR_OK : compare_off_grid(r, &samples);
    lmr_group_leave(job, index, &samples, made, &cartesian);
    return st;
}

larmor_status lmr_describe_compare(larmor_recon *r)
{
    if (!r->list.groups || r->job.slabs || r->opts.memory) return LARMOR_OK;
    const larmor_status st = compare_first(r);
    if (!st || st == LARMOR_STOPPED) return st;
    lmr_log(&r->events, "description: not compared with others: %s", larmor_last_error());
    return LARMOR_OK;
}
