/* The samples of a group as the solvers take them. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/samples.h"

#include "core/status.h"
#include "pipeline/trajectory.h"

/* calibration: as of a source; there may be no samples for it. */
static larmor_status read_samples(lmr_job *job, int index, int calibration, larmor_samples *samples, int *made)
{
    const larmor_grid *grid = &job->grid[index];
    larmor_group group;
    larmor_encoding encoding;
    larmor_status st;
    *samples = (larmor_samples){0};
    LMR_OR(fail, lmr_source_group(job->source, index, &group));
    LMR_OR(fail, lmr_source_encoding(job->source, group.encoding, &encoding));
    LMR_OR(fail, lmr_source_samples(job->source, index, grid, calibration, job->info.coils, job->dev, samples));
    *made = !samples->traj;
    if (!samples->kspace) return LARMOR_OK;
    if (*made) LMR_OR(fail, lmr_make_trajectory(job, &group, &encoding, grid, samples, &samples->traj));
    LMR_OR(fail, lmr_scale_samples(job, samples->kspace));
    if (job->whitening) LMR_OR(fail, larmor_whiten(job->whitening, samples->kspace));
    return LARMOR_OK;
fail:
    larmor_samples_free(samples);
    return st;
}

larmor_status lmr_group_samples(lmr_job *job, int index, larmor_samples *samples, int *made)
{
    return read_samples(job, index, 0, samples, made);
}

larmor_status lmr_group_average(lmr_job *job, int index, larmor_samples *samples)
{
    int made;
    return read_samples(job, index, job->info.averaged > 0 && !job->info.calibration, samples, &made);
}
