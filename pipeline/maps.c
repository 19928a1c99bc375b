/* The coil maps of a slice. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/maps.h"

#include "core/status.h"
#include "pipeline/samples.h"

static larmor_status coils_opts(const lmr_job *job, const larmor_group *group, const larmor_grid *grid,
                                larmor_coils_opts *opts)
{
    larmor_encoding encoding;
    LMR_TRY(lmr_source_encoding(job->source, group->encoding, &encoding));
    *opts = (larmor_coils_opts){.calibration = job->calibration};
    for (int d = 0; d < grid->ndim; d++) opts->encoded[d] = encoding.fov_mm[d] / grid->fov_mm[d];
    return LARMOR_OK;
}

/* Each set of maps is mixed as the coils of the samples are. */
static larmor_status whiten_maps(lmr_job *job)
{
    if (!job->sets) return larmor_whiten(job->whitening, job->maps);
    larmor_status st = LARMOR_OK;
    for (int m = 0; m < job->sets && !st; m++) {
        larmor_array *set;
        st = lmr_one_of(job->maps, m, &set);
        if (!st) st = larmor_whiten(job->whitening, set);
        larmor_array_free(set);
    }
    return st;
}

/* The maps of this slice: from the file, or all one for a single coil, or from the data's own centre. */
larmor_status lmr_make_maps(lmr_job *job, int index, const larmor_group *group, const larmor_grid *grid,
                            const larmor_samples *samples)
{
    if (job->maps && job->maps_encoding == group->encoding && job->maps_slice == group->slice) return LARMOR_OK;
    larmor_array_free(job->maps);
    job->maps = NULL;
    job->maps_report = (larmor_coils_report){0};
    const larmor_shape shape = lmr_grid_shape(grid);
    const int64_t coils = larmor_array_shape(samples->kspace).dim[2];
    if (job->given) {
        larmor_shape whole = larmor_shape_append(shape, coils);
        if (job->sets) whole = larmor_shape_append(whole, job->sets);
        LMR_TRY(larmor_array_create(job->dev, LARMOR_C64, whole, &job->maps));
        larmor_array *view;
        LMR_TRY(larmor_array_reshape(job->given, whole, &view));
        const larmor_status st = larmor_copy(view, job->maps);
        larmor_array_free(view);
        LMR_TRY(st);
        if (job->whitening) LMR_TRY(whiten_maps(job));
    } else if (coils == 1) {
        LMR_TRY(larmor_array_create(job->dev, LARMOR_C64, larmor_shape_append(shape, 1), &job->maps));
        LMR_TRY(larmor_fill(job->maps, 1));
    } else {
        larmor_coils_opts opts;
        larmor_samples calibration;
        LMR_TRY(coils_opts(job, group, grid, &opts));
        LMR_TRY(lmr_enter(job->events, "coil maps"));
        const int averaged = job->info.averaged > 0 && !job->info.calibration;
        if (averaged)
            LMR_TRY(lmr_group_average(job, index, &calibration));
        else
            LMR_TRY(lmr_source_samples(job->source, index, grid, 1, job->info.coils, job->dev, &calibration));
        const int own = !calibration.kspace || !calibration.traj;
        larmor_status st = LARMOR_OK;
        if (!own && !averaged) st = lmr_scale_samples(job, calibration.kspace);
        if (!st && !own && !averaged && job->whitening) st = larmor_whiten(job->whitening, calibration.kspace);
        const larmor_samples *from = own ? samples : &calibration;
        if (!st)
            st = larmor_coils_estimate(from->kspace, from->traj, NULL, shape, &opts, &job->maps, &job->maps_report);
        larmor_samples_free(&calibration);
        LMR_TRY(st);
    }
    job->maps_encoding = group->encoding;
    job->maps_slice = group->slice;
    job->maps_from = index;
    return LARMOR_OK;
}
