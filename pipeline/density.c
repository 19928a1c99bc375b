/* The density weights of an image. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/density.h"

#include "core/core.h"
#include "scan/trajectory.h"

/* Decide by these samples; their weights come for free. */
static larmor_status decide(lmr_job *job, const larmor_samples *samples, larmor_shape image, larmor_array **w)
{
    const char *taken;
    LMR_TRY(larmor_density_auto(samples->traj, image, &taken, w));
    job->found.decided.density = strcmp(taken, "ramp") ? LARMOR_DENSITY_PIPE : LARMOR_DENSITY_RAMP;
    lmr_log(job->events, "density: %s, for all images", taken);
    return LARMOR_OK;
}

/* The scan's first group is not the one that is reconstructed first: it is read for this alone. */
static larmor_status decide_by_first_group(lmr_job *job)
{
    const larmor_grid *grid = &job->facts->grid[0];
    larmor_group group;
    larmor_encoding encoding;
    LMR_FREED_BY(larmor_samples_free) larmor_samples first = {0};
    LMR_OWNED(larmor_array) *unused = NULL;
    LMR_TRY(lmr_source_group(job->facts->source, 0, &group));
    LMR_TRY(lmr_source_encoding(job->facts->source, group.encoding, &encoding));
    LMR_TRY(lmr_source_samples(job->facts->source, 0, grid, 0, job->facts->info.coils, job->facts->dev, &first));
    if (!first.traj)
        LMR_TRY(lmr_make_trajectory(job->facts->dev, &group, &encoding, grid, &first, &job->found.decided.spokes,
                                    &first.traj));
    return decide(job, &first, lmr_grid_shape(grid), &unused);
}

static larmor_status make_auto(lmr_job *job, int index, const larmor_samples *samples, larmor_shape image,
                               larmor_array **w)
{
    if (job->found.decided.density == LARMOR_DENSITY_AUTO) {
        const larmor_status st = index ? decide_by_first_group(job) : LARMOR_ERR_NUMERIC;
        if (st && st != LARMOR_ERR_NUMERIC) return st;
        if (st) return decide(job, samples, image, w); /* of samples that are spoilt nothing can be told */
    }
    if (job->found.decided.density == LARMOR_DENSITY_RAMP) {
        const larmor_status st = larmor_density_ramp(samples->traj, image, w);
        if (st != LARMOR_ERR_ARG) return st;
    }
    return larmor_density_pipe(samples->traj, image, 0, w);
}

larmor_status lmr_make_density(lmr_job *job, int index, const larmor_samples *samples, larmor_array **w)
{
    const larmor_shape image = lmr_grid_shape(&job->facts->grid[index]);
    *w = NULL;
    switch (job->settings->opts.density) {
    case LARMOR_DENSITY_NONE:
        return LARMOR_OK;
    case LARMOR_DENSITY_RAMP:
        return larmor_density_ramp(samples->traj, image, w);
    case LARMOR_DENSITY_PIPE:
        return larmor_density_pipe(samples->traj, image, 0, w);
    case LARMOR_DENSITY_VORONOI:
        return larmor_density_voronoi(samples->traj, image, w);
    case LARMOR_DENSITY_SPIRAL:
        return larmor_density_spiral(samples->traj, image, w);
    case LARMOR_DENSITY_STORED:
        *w = larmor_array_ref(samples->density);
        return *w ? LARMOR_OK
                  : LMR_FAIL(LARMOR_ERR_FORMAT,
                             "opts.density file: the file stores no density weights. Use ramp, voronoi or pipe.");
    case LARMOR_DENSITY_AUTO:
        break;
    }
    return make_auto(job, index, samples, image, w);
}
