/* How much memory a slab of the volume takes of each rank. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/slab_plan.h"

#include <math.h>
#include <stdlib.h>

#include "core/ranks.h"
#include "core/status.h"
#include "pipeline/report.h"
#include "pipeline/slab_samples.h"

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* What is there while the maps are made: lots of samples, the centre on both sides of its upload, the estimate. */
static larmor_status maps_bytes(const lmr_job *job, const larmor_group *g, const larmor_problem *p, int64_t centre,
                                int64_t planes, double *bytes)
{
    larmor_coils_opts opts = lmr_slab_coils_opts(job, NULL, NULL);
    larmor_problem own = *p;
    int64_t estimate;
    const double sample = 8 * (double)job->coils + 24;
    const double lot = (double)lmr_slab_lot(job, g) * (double)g->samples * 2 * (8 * (double)job->info.coils + 24);
    opts.planes = planes;
    own.samples = centre;
    own.dtype = LARMOR_C64;
    LMR_TRY(larmor_coils_memory(job->dev, &own, &opts, &estimate));
    *bytes = sample * (double)centre + most(lot, most(sample * (double)centre, (double)estimate));
    if (job->coils == 1) *bytes = 0;
    return LARMOR_OK;
}

/* Of the rank that has most, and of rank 0 with an image. */
static larmor_status slab_bytes(const larmor_recon *r, int index, int64_t centre, double *bytes)
{
    const lmr_job *job = &r->job;
    const larmor_grid *grid = &job->grid[index];
    const int count = larmor_ranks_count(job->slabs);
    const larmor_dtype dtype = lmr_job_precision(job);
    larmor_group g;
    int64_t operator, solver;
    double maps;
    LMR_TRY(lmr_source_group(job->source, index, &g));
    const int64_t planes = (grid->matrix[2] + count - 1) / count, readouts = (g.readouts + count - 1) / count;
    const double samples = (double)g.total / (double)(g.readouts > 0 ? g.readouts : 1) * (double)readouts;
    const larmor_problem p = {
        .image = lmr_grid_shape(grid), .samples = (int64_t)ceil(samples), .coils = job->coils, .dtype = dtype};
    const larmor_sense_opts sense = {.nufft_tol = job->eps, .toeplitz = job->toeplitz};
    const larmor_shape slab = LARMOR_SHAPE(grid->matrix[0], grid->matrix[1], planes);
    const double voxels = (double)larmor_shape_count(slab), coils = job->coils, all = job->info.coils;
    const double size = (double)larmor_dtype_size(dtype);
    LMR_TRY(maps_bytes(job, &g, &p, centre, planes, &maps));
    LMR_TRY(larmor_sense_slabs_memory(job->dev, count, &p, &sense, &operator));
    LMR_TRY(larmor_cg_memory(dtype, slab, &solver));
    double inside = (double)operator+(double) solver + 2 * size * voxels; /* the iterate, and that of the noise */
    inside += 2 * size * samples * coils;                                 /* noise, and residuals of samples */
    if (dtype == LARMOR_C128) inside += 16 * coils * (voxels + samples);
    const double reading = (8 * all + 8 * coils) * samples;
    const double held = (8 * coils + 24) * samples + 8 * voxels * coils + 2 * LMR_STAGE;
    *bytes = held + most(reading, most(maps, inside + 16 * voxels));
    return LARMOR_OK;
}

static double image_bytes(const larmor_recon *r)
{
    double bytes = 0;
    for (int i = 0; i < r->list.groups; i++)
        bytes += 8 * (double)larmor_shape_count(larmor_shape_of(3, r->job.grid[r->list.group[i]].crop));
    return bytes;
}

/* All series, with the job's choice of Toeplitz. */
static larmor_status plan_all(larmor_recon *r, int64_t centre)
{
    lmr_plan *plan = &r->plan;
    const double images = image_bytes(r);
    plan->planned = 0;
    plan->toeplitz = r->job.toeplitz;
    for (int s = 0; s < r->list.series; s++) {
        double bytes;
        LMR_TRY(slab_bytes(r, r->list.group[r->list.first[s]], centre, &bytes));
        plan->bytes[s] = (int64_t)(bytes + images);
        if (plan->bytes[s] > plan->planned) plan->planned = plan->bytes[s];
    }
    return LARMOR_OK;
}

larmor_status lmr_slabs_plan(larmor_recon *r)
{
    lmr_plan *plan = &r->plan;
    int64_t centre = 0;
    lmr_plan_free(plan);
    *plan = (lmr_plan){.limit = r->opts.memory, .coils = r->job.coils, .block = 1, .precondition = -1, .choose = -1};
    plan->bytes = calloc((size_t)r->list.series, sizeof *plan->bytes);
    if (!plan->bytes) return LMR_NO_MEMORY();
    if (r->job.coils > 1) LMR_TRY(lmr_slab_count_centre(&r->job, r->list.group[0], &centre));
    LMR_TRY(plan_all(r, centre));
    if (plan->limit && plan->planned > plan->limit && !r->opts.toeplitz) {
        r->job.toeplitz = -1;
        LMR_TRY(plan_all(r, centre));
    }
    if (plan->limit && plan->planned > plan->limit) return lmr_report_too_large(r);
    lmr_report_slabs(r);
    return LARMOR_OK;
}
