/* Values that follow from a job's options. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/job.h"

#include <stdlib.h>

#include "core/status.h"

int lmr_chooses(const lmr_job *job)
{
    return job->method != LMR_METHOD_GRID && job->choose == LARMOR_LAMBDA_AUTO && !job->no_choice;
}

int lmr_from_data(const larmor_recon_report *result)
{
    return result->lambda_from == LARMOR_LAMBDA_FROM_DATA || result->lambda_from == LARMOR_LAMBDA_FROM_SCAN;
}

larmor_shape lmr_grid_shape(const larmor_grid *grid)
{
    return larmor_shape_of(grid->ndim, grid->matrix);
}

larmor_dtype lmr_job_precision(const lmr_job *job)
{
    return job->eps > 0 && job->eps < 1e-6 ? LARMOR_C128 : LARMOR_C64;
}

int64_t lmr_normals(const lmr_job *job)
{
    const int64_t usual = 30, iters = job->iters ? job->iters : usual;
    const int64_t searched = lmr_chooses(job) ? 2 * iters : iters;
    return job->method == LMR_METHOD_REGULARISED ? 3 * searched : searched;
}

larmor_regulariser_opts lmr_regulariser_opts(const lmr_job *job, int frames)
{
    /* the images of several sets of maps are frames that nothing couples */
    larmor_regulariser_opts opts = {.series = frames > 1 || job->sets, .time = job->sets ? -1 : job->time_weight};
    if (job->choose == LARMOR_LAMBDA_RELATIVE) opts.lambda = job->lambda > 0 ? job->lambda : -1;
    for (int d = 0; d < 3; d++) opts.block[d] = job->llr_block;
    return opts;
}

larmor_status lmr_one_of(larmor_array *x, int64_t index, larmor_array **one)
{
    const larmor_shape shape = larmor_array_shape(x);
    return larmor_array_part(x, index, 1, larmor_shape_of(shape.ndim - 1, shape.dim), one);
}

int lmr_joint(const lmr_job *job, const larmor_group *a, const larmor_group *b)
{
    return job->joint && a->encoding == b->encoding && a->slice == b->slice && a->set == b->set;
}

larmor_status lmr_describe_image(const lmr_job *job, larmor_recon_image *image)
{
    const larmor_grid *grid = &job->grid[image->group];
    LMR_TRY(lmr_source_meta(job->source, image->group, &image->meta));
    for (int d = 0; d < grid->ndim; d++)
        image->meta.fov_mm[d] = grid->fov_mm[d] * (double)grid->crop[d] / (double)grid->matrix[d];
    return LARMOR_OK;
}

void lmr_job_clear(lmr_job *job)
{
    larmor_array_free(job->maps), larmor_array_free(job->weights);
    larmor_array_free(job->given), larmor_array_free(job->whitening);
    larmor_source_free(job->source), larmor_device_free(job->dev);
    free(job->grid);
    *job = (lmr_job){.method = LMR_METHOD_CG};
}
