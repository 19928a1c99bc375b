/* How much memory a reconstruction will take of its device: sums of the library's estimates.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon_plan.h"

#include <string.h>

#include "recon_solve.h"
#include "try.h"

enum { WHITENED_TOGETHER = 1 << 16 };

/* What does not depend on how many coils are done at a time. */
typedef struct sizes {
    larmor_problem problem; /* in single precision; of the frame with the most samples */
    int frames;             /* done together */
    double samples;         /* of one coil, all frames */
    double held;            /* from the first step to the last */
    double before;          /* the most that a step before the solver takes beside it */
} sizes;

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* Straight spokes get the ramp's weights, which take next to nothing. */
static int ramp_will_do(const recon_job *job, const larmor_encoding *enc)
{
    return job->density == DENSITY_RAMP ||
           (job->density == DENSITY_AUTO &&
            (!strcmp(enc->trajectory, "radial") || !strcmp(enc->trajectory, "goldenangle")));
}

static larmor_status density_bytes(const recon_job *job, const larmor_encoding *enc, const larmor_problem *p,
                                   double *bytes)
{
    int64_t pipe;
    *bytes = 0;
    if ((job->method != RECON_GRID && !job->weighted) || job->density == DENSITY_NONE || job->density == DENSITY_FILE)
        return LARMOR_OK;
    *bytes = 24 * (double)p->samples;
    if (ramp_will_do(job, enc)) return LARMOR_OK;
    TRY(larmor_density_memory(job->dev, p, &pipe));
    *bytes = most(*bytes, (double)pipe);
    return LARMOR_OK;
}

static larmor_status maps_bytes(const recon_job *job, const larmor_raw_info *info, const larmor_group *group,
                                const larmor_problem *p, double *bytes)
{
    int64_t estimate;
    *bytes = 0;
    if (job->no_maps || job->given || p->coils == 1) return LARMOR_OK;
    const larmor_coils_opts opts = {.calibration = job->calibration};
    larmor_problem own = *p;
    const int64_t apart = (info->calibration + group->readouts) * group->samples; /* the most that it may be */
    if (info->calibration && apart > own.samples) own.samples = apart;
    TRY(larmor_coils_memory(job->dev, &own, &opts, &estimate));
    *bytes = (double)estimate;
    if (info->calibration) /* readouts of its own */
        *bytes += (8 * (double)p->coils + 8.0 * p->image.ndim) * (double)apart;
    return LARMOR_OK;
}

static larmor_status measure(const recon_job *job, int index, const larmor_group *group, sizes *s)
{
    const larmor_raw_info info = larmor_raw_describe(job->raw);
    larmor_encoding enc;
    const larmor_grid grid = job->grid[index];
    double calibration, density;
    TRY(larmor_raw_encoding(job->raw, group->encoding, &enc));
    const larmor_shape image = larmor_shape_of(grid.ndim, grid.matrix);
    s->problem = (larmor_problem){
        .image = image, .samples = group->total, .coils = info.coils, .dtype = LARMOR_C64, .sets = job->sets};
    s->frames = 1, s->samples = (double)group->total;
    const double voxels = (double)larmor_shape_count(image), samples = (double)group->total, coils = info.coils;
    s->held = 8 * samples * coils + 8 * samples * grid.ndim + (info.density_stored ? 8 * samples : 0);
    const double maps = 8 * voxels * coils * (job->sets ? job->sets : 1);
    if (!job->no_maps) s->held += maps;
    if (job->given) s->held += maps;
    TRY(maps_bytes(job, &info, group, &s->problem, &calibration));
    TRY(density_bytes(job, &enc, &s->problem, &density));
    s->before = most(calibration, density);
    if (job->whitening) s->before = most(s->before, 8 * WHITENED_TOGETHER * coils);
    return LARMOR_OK;
}

/* Another frame of the same series: its samples, beside the maps that are shared. */
static void add_frame(const recon_job *job, const larmor_group *group, sizes *s)
{
    const larmor_raw_info info = larmor_raw_describe(job->raw);
    const double samples = (double)group->total;
    s->frames++, s->samples += samples;
    s->held += 8 * samples * (info.coils + s->problem.image.ndim + (info.density_stored != 0));
    if (group->total > s->problem.samples) s->problem.samples = group->total;
}

/* The vectors of the method's solver or of its start, and the result. */
static larmor_status vector_bytes(const recon_job *job, const sizes *s, larmor_dtype dtype, double *bytes)
{
    const larmor_shape image = s->problem.image;
    const double one = (double)larmor_dtype_size(dtype);
    const int together = job->sets ? job->sets : s->frames;
    const larmor_shape shape = together > 1 ? larmor_shape_append(image, together) : image;
    *bytes = 6 * one * (double)larmor_shape_count(image) * (job->sets ? job->sets : 1);
    if (job->method != RECON_REGULARISED) return LARMOR_OK;
    const larmor_regulariser_opts opts = recon_regulariser_opts(job, s->frames);
    int64_t solver;
    TRY(larmor_regularised_memory(job->regulariser, &opts, dtype, shape, &solver));
    const double circulant = 4 * one * (double)larmor_shape_count(image) * (double)(1 << image.ndim); /* before */
    *bytes = most((double)solver, circulant) + 2 * one * (double)larmor_shape_count(shape);
    if (s->frames > 1) *bytes += one * s->samples * (double)s->problem.coils;
    return LARMOR_OK;
}

/* What choosing lambda takes beside the solver: the operator of the samples that are kept, of `estimate` bytes a frame,
 * solutions from them, and the residuals of the others. */
static double choice_bytes(const sizes *s, larmor_dtype dtype, double estimate)
{
    enum { IMAGES = 4, RESIDUALS = 2, MASKS = 4 };
    const double one = (double)larmor_dtype_size(dtype);
    const double images = (double)larmor_shape_count(s->problem.image) * s->frames;
    return one * (IMAGES * images + RESIDUALS * s->samples * (double)s->problem.coils) + MASKS * 8 * s->samples +
           estimate * s->frames;
}

/* All of a series with `block` coils at a time. */
static larmor_status group_bytes(const recon_job *job, const sizes *s, const recon_plan *plan, int64_t block,
                                 double *bytes)
{
    larmor_problem p = s->problem;
    const double voxels = (double)larmor_shape_count(p.image), coils = (double)p.coils;
    const int in_double = job->method != RECON_GRID && recon_precision(job) == LARMOR_C128;
    const int weights = job->density != DENSITY_NONE && (job->method == RECON_GRID || job->weighted);
    const larmor_sense_opts sense = {.nufft_tol = job->eps,
                                     .effort = job->effort,
                                     .block = block,
                                     .toeplitz = job->method == RECON_GRID ? -1 : plan->toeplitz,
                                     .iters = recon_normals(job)};
    int64_t estimate, circulant = 0;
    double vectors;
    p.dtype = in_double ? LARMOR_C128 : LARMOR_C64;
    p.weighted = weights && job->method != RECON_GRID;
    TRY(larmor_sense_memory(job->dev, &p, &sense, &estimate));
    TRY(vector_bytes(job, s, p.dtype, &vectors));
    if (job->method != RECON_GRID) vectors += (double)larmor_dtype_size(p.dtype) * s->samples * coils; /* noise */
    if (plan->choose >= 0) vectors += choice_bytes(s, p.dtype, (double)estimate);
    if (job->method != RECON_GRID && (plan->precondition >= 0 || plan->choose >= 0)) {
        larmor_problem all = p; /* of a series that of all frames' samples */
        all.samples = (int64_t)s->samples;
        TRY(larmor_circulant_memory(job->dev, &all, &circulant));
        vectors += 4 * (double)larmor_dtype_size(p.dtype) * voxels; /* it, its factors, and an image */
    }
    double solver = (double)estimate * s->frames + vectors + (weights ? 16 * s->samples : 0);
    double before = most(s->before, (double)circulant);
    if (in_double) { /* maps and samples once more */
        solver += 16 * (voxels * (job->sets ? job->sets : 1) + s->samples) * coils;
        before = most(s->before, (double)circulant + 16 * voxels * coils);
    }
    *bytes = s->held + most(before, solver);
    return LARMOR_OK;
}

/* What nobody insists on is given up where not even one coil fits with it: first the choice of lambda, then the
 * preconditioner, then Toeplitz. */
static int give_up(recon_plan *plan)
{
    int *const what[] = {&plan->choose, &plan->precondition, &plan->toeplitz};
    for (int i = 0; i < 3; i++)
        if (!*what[i]) {
            *what[i] = -1;
            return 1;
        }
    return 0;
}

/* The largest block with which the group fits, or 1. Toeplitz and the preconditioner are quick with any block. */
static larmor_status choose_block(const recon_job *job, const sizes *s, double others, recon_plan *plan)
{
    const int64_t coils = s->problem.coils;
    double bytes = 0;
    int64_t block = plan->block;
    for (int64_t passes = (coils + block - 1) / block;; passes++) {
        block = (coils + passes - 1) / passes;
        TRY(group_bytes(job, s, plan, block, &bytes));
        if (!plan->limit || bytes + others <= (double)plan->limit) break;
        if (block > 1) continue;
        if (!give_up(plan)) break;
        passes = (coils + plan->block - 1) / plan->block - 1; /* and from the start */
    }
    plan->block = block;
    if (bytes + others > (double)plan->planned) plan->planned = (int64_t)(bytes + others);
    return LARMOR_OK;
}

/* The group and all that are done together with it; leads is 0 if it is not wanted or is part of an earlier series. */
static larmor_status measure_series(const recon_job *job, int index,
                                    int (*wanted)(const void *, const larmor_group *), const void *user, sizes *s,
                                    int *leads)
{
    const int groups = larmor_raw_describe(job->raw).groups;
    larmor_group first, other;
    *leads = 0;
    TRY(larmor_raw_group(job->raw, index, &first));
    if (!wanted(user, &first)) return LARMOR_OK;
    for (int i = 0; i < index; i++) {
        TRY(larmor_raw_group(job->raw, i, &other));
        if (wanted(user, &other) && recon_joint(job, &first, &other)) return LARMOR_OK;
    }
    *leads = 1;
    TRY(measure(job, index, &first, s));
    for (int i = index + 1; i < groups; i++) {
        TRY(larmor_raw_group(job->raw, i, &other));
        if (wanted(user, &other) && recon_joint(job, &first, &other)) add_frame(job, &other, s);
    }
    return LARMOR_OK;
}

larmor_status recon_plan_make(const recon_job *job, int64_t memory, int (*wanted)(const void *, const larmor_group *),
                              const void *user, recon_plan *plan)
{
    const larmor_raw_info info = larmor_raw_describe(job->raw);
    int64_t available = 0, total = 0;
    double images = 0; /* they stay on the device until they are written */
    larmor_group group;
    *plan = (recon_plan){.limit = memory,
                         .coils = info.coils,
                         .block = info.coils,
                         .toeplitz = job->toeplitz,
                         .precondition = job->precondition,
                         .choose = recon_chooses(job) ? 0 : -1};
    TRY(larmor_device_memory(job->dev, &available, &total));
    if (!memory) plan->limit = available;
    for (int i = 0; i < info.groups; i++) {
        TRY(larmor_raw_group(job->raw, i, &group));
        if (!wanted(user, &group)) continue;
        const int64_t *n = job->grid[i].crop;
        images += 8 * (double)n[0] * (double)n[1] * (double)n[2];
    }
    for (int i = 0; i < info.groups; i++) {
        int leads;
        sizes s;
        TRY(measure_series(job, i, wanted, user, &s, &leads));
        if (leads) TRY(choose_block(job, &s, images, plan));
    }
    return LARMOR_OK;
}
