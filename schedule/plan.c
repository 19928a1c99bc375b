/* How much memory a reconstruction will take of its device: sums of the library's estimates.
 * SPDX-License-Identifier: Apache-2.0 */
#include "schedule/plan.h"

#include "core/core.h"
#include "physics/motion.h"
#include "physics/physics.h"
#include "pipeline/cache.h"
#include "pipeline/maps.h"
#include "pipeline/method.h"
#include "pipeline/nlinv_frames.h"
#include "pipeline/partial.h"
#include "scan/cartesian.h"
#include "scan/sample_cache.h"

enum { WHITENED_TOGETHER = 1 << 16 };
enum { PRIOR_ARRAYS = 16 }; /* like the image: of larmor_solve_pnp, of a sample of the noise, and of forms */
enum { HELD_ONE_OF = 8 };   /* samples, or fewer: one of 10 where readouts do not repeat others */
/* Of those that larmor_choose_memory counts, a series with a penalty does without two, and two take the place of the
 * solver's A^H b and best iterate. */
enum { IMAGES_OF_CHOICE = 4 };

/* Sizes that do not depend on how many coils are done at a time. */
typedef struct sizes {
    larmor_segments *segments;  /* of the first group, with a basis of all; or NULL */
    larmor_array *displacement; /* of the first group; or NULL */
    larmor_problem problem;     /* in single precision; of the frame with the most samples */
    int frames;                 /* of a series */
    int states;                 /* of motion, 1 where the object rests */
    double samples;             /* of one coil, all frames */
    double held;                /* from the first step to the last */
    double before;              /* the most that a step before the solver takes beside it */
} sizes;

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* Weights from the geometry, which take next to nothing on the device. */
static int geometry_will_do(const lmr_job *job)
{
    const larmor_density density = job->settings->opts.density;
    return density != LARMOR_DENSITY_AUTO && density != LARMOR_DENSITY_PIPE;
}

static larmor_status density_bytes(const lmr_job *job, const larmor_problem *p, double *bytes)
{
    int64_t pipe;
    *bytes = 0;
    if ((job->found.method.kind != LMR_METHOD_GRID && !job->settings->opts.weighted) ||
        job->settings->opts.density == LARMOR_DENSITY_NONE || job->settings->opts.density == LARMOR_DENSITY_STORED)
        return LARMOR_OK;
    *bytes = 24 * (double)p->samples;
    if (geometry_will_do(job)) return LARMOR_OK;
    LMR_TRY(larmor_density_memory(job->facts->dev, p, &pipe));
    *bytes = most(*bytes, (double)pipe);
    return LARMOR_OK;
}

static larmor_status maps_bytes(const lmr_job *job, const larmor_grid *grid, const larmor_group *group,
                                const larmor_problem *p, double *bytes)
{
    const larmor_raw_info *info = &job->facts->info;
    int64_t estimate;
    *bytes = 0;
    if (!job->facts->maps_method || p->coils == 1) return LARMOR_OK;
    larmor_problem own = *p;
    int64_t apart = (info->calibration + group->readouts) * group->samples; /* the most that it may be */
    if (!info->calibration) apart = info->averaged;
    if (apart > own.samples) own.samples = apart;
    LMR_TRY(lmr_maps_bytes(job, job->facts->maps_method, grid, &own, &estimate));
    *bytes = (double)estimate;
    if (apart) /* readouts of its own */
        *bytes += (8 * (double)info->coils + 8.0 * p->image.ndim) * (double)apart;
    return LARMOR_OK;
}

/* Before samples are there: lines are missing, at one side of k-space perhaps. */
static int may_be_partial(const lmr_job *job, const larmor_encoding *e, const larmor_group *group, int64_t repeats,
                          int64_t samples, larmor_shape image)
{
    const int ramps = !job->facts->info.traj_stored && e->ramp.flat_us > 0 && !job->facts->physics;
    if (job->found.method.kind == LMR_METHOD_GRID || job->found.method.kind == LMR_METHOD_NLINV || !lmr_may_fill(job))
        return 0;
    if (repeats) return samples < larmor_shape_count(image);
    return ramps && group->readouts < larmor_shape_count(image) / image.dim[0];
}

static larmor_status measure(const lmr_job *job, int index, const larmor_group *group, sizes *s)
{
    const larmor_raw_info *info = &job->facts->info;
    larmor_encoding enc;
    const larmor_grid grid = job->facts->grid[index];
    double calibration, density;
    int64_t combination;
    LMR_TRY(lmr_source_encoding(job->facts->source, group->encoding, &enc));
    larmor_shape image = larmor_shape_of(grid.ndim, grid.matrix);
    int64_t repeats, left;
    LMR_TRY(lmr_cartesian_expect(job, index, &repeats, &left));
    if (may_be_partial(job, &enc, group, repeats, left, image)) image = lmr_partial_voxels(image);
    s->problem = (larmor_problem){.image = image,
                                  .samples = left,
                                  .coils = job->facts->coils,
                                  .dtype = LARMOR_C64,
                                  .sets = job->facts->sets,
                                  .repeats = repeats};
    s->frames = 1;
    LMR_TRY(lmr_motion_count(job, index, group->readouts, &s->states));
    s->samples = (double)left;
    const double voxels = (double)larmor_shape_count(image), samples = (double)left, coils = job->facts->coils,
                 all = info->coils;
    s->held = 8 * samples * coils + 8 * samples * grid.ndim + (info->density_stored ? 8 * samples : 0);
    const double maps = 8 * voxels * coils * (job->facts->sets ? job->facts->sets : 1);
    if (!job->settings->opts.no_maps) s->held += maps;
    if (job->facts->given) s->held += maps / coils * all;
    LMR_TRY(maps_bytes(job, &grid, group, &s->problem, &calibration));
    LMR_TRY(density_bytes(job, &s->problem, &density));
    s->before = most(calibration, density);
    if (lmr_solves_coils(job)) {
        LMR_TRY(larmor_coils_combine_memory(job->facts->dev, &s->problem, &combination));
        s->before = most(s->before, (double)combination);
    }
    if (left < group->total) /* as they were acquired, and the transforms of one coil */
        s->before = most(s->before, (8 * all + 80) * (double)group->total);
    if (job->facts->whitening) s->before = most(s->before, 8 * WHITENED_TOGETHER * all);
    if (job->facts->coils < info->coils)
        s->before = most(s->before, 8 * all * most(samples, job->facts->given ? voxels : 0));
    return LARMOR_OK;
}

/* Another frame of the same series: its samples, beside the maps that are shared. */
static larmor_status add_frame(const lmr_job *job, int index, sizes *s)
{
    const larmor_raw_info *info = &job->facts->info;
    int64_t repeats, left;
    LMR_TRY(lmr_cartesian_expect(job, index, &repeats, &left));
    s->frames++;
    s->samples += (double)left;
    s->held += 8 * (double)left * (job->facts->coils + s->problem.image.ndim + (info->density_stored != 0));
    if (left > s->problem.samples) s->problem.samples = left;
    if (repeats > s->problem.repeats && s->problem.repeats) s->problem.repeats = repeats;
    return LARMOR_OK;
}

/* The vectors of the method's solver or of its start, and the result. */
static larmor_status vector_bytes(const lmr_job *job, const sizes *s, larmor_dtype dtype, double *bytes)
{
    const larmor_shape image = s->problem.image;
    const double one = (double)larmor_dtype_size(dtype);
    const int together = job->facts->sets ? job->facts->sets : lmr_unknowns(job, s->frames);
    const larmor_shape shape = together > 1 || job->facts->basis ? larmor_shape_append(image, together) : image;
    const int is_one = job->facts->sets || job->facts->basis || lmr_solves_coils(job);
    const larmor_shape begun = is_one ? shape : image; /* series begin frame by frame */
    int64_t solver;
    LMR_TRY(larmor_cg_memory(dtype, begun, &solver));
    *bytes = (double)solver + one * (double)larmor_shape_count(begun);
    if (s->frames > 1) *bytes += one * s->samples * (double)s->problem.coils;
    const larmor_regulariser_opts plain = {.series = 0};
    double held = 0; /* the split of what images are held to, as that of l1 */
    if (job->settings->constraint) {
        LMR_TRY(larmor_regularised_memory("l1", &plain, dtype, shape, &solver));
        held = (double)solver;
        *bytes += held;
    }
    if (job->settings->opts.prior) *bytes += PRIOR_ARRAYS * one * (double)larmor_shape_count(shape);
    if (job->found.method.kind != LMR_METHOD_REGULARISED) return LARMOR_OK;
    const larmor_grid any = {.ndim = 0}; /* the sides of voxels take no memory */
    const larmor_regulariser_opts opts = lmr_regulariser_opts(job, s->frames, &any);
    LMR_TRY(larmor_regularised_memory(job->found.method.name, &opts, dtype, shape, &solver));
    const double all = one * (double)larmor_shape_count(shape);
    *bytes = (double)solver + held + all;
    *bytes += s->frames > 1 ? one * s->samples * (double)s->problem.coils : all; /* b; or A^H noise, that is kept */
    return LARMOR_OK;
}

/* What choosing lambda takes beside the solver: the operator of the samples that are kept, of `estimate` bytes a
 * frame, solutions from them, and the residuals of the others, with an operator of them alone. */
static larmor_status choice_bytes(const lmr_job *job, const sizes *s, const larmor_problem *p,
                                  const larmor_sense_opts *sense, double estimate, double *bytes)
{
    larmor_sense_opts alone = *sense;
    larmor_problem part = *p;
    const larmor_dtype dtype = p->dtype;
    const int together = job->facts->sets ? job->facts->sets : lmr_unknowns(job, s->frames);
    const larmor_shape images = larmor_shape_append(s->problem.image, together);
    int64_t choice;
    LMR_TRY(larmor_choose_memory(dtype, images, LARMOR_SHAPE((int64_t)s->samples, s->problem.coils), &choice));
    *bytes = (double)choice + estimate;
    if (s->frames > 1 && job->found.method.kind == LMR_METHOD_REGULARISED && !job->settings->constraint)
        *bytes -= IMAGES_OF_CHOICE * (double)larmor_dtype_size(dtype) * (double)larmor_shape_count(images);
    if (s->frames > 1 || job->facts->basis || s->segments || s->displacement) return LARMOR_OK;
    alone.toeplitz = -1;
    if (part.image.ndim > 2) alone.block = 1;
    part.samples = part.samples / HELD_ONE_OF + 1;
    part.weighted = 1;
    LMR_TRY(larmor_sense_memory(job->facts->dev, &part, &alone, &choice));
    *bytes += (double)choice;
    return LARMOR_OK;
}

/* Maps of each state, points and samples of its readouts. */
static double states_bytes(const sizes *s, const larmor_problem *p)
{
    const double number = (double)larmor_dtype_size(p->dtype), voxels = (double)larmor_shape_count(p->image);
    const double maps = number * voxels * (double)p->coils * s->states;
    return (maps + (double)p->samples * (number * (double)p->coils + 8 * p->image.ndim + 8)) * s->frames;
}

/* The operators of all frames, or the one of all coefficients with the basis at each sample and the points and
 * weights of all frames beside them. */
static larmor_status operator_bytes(const lmr_job *job, const sizes *s, const larmor_problem *p, int in_turn,
                                    const larmor_sense_opts *sense, double *bytes)
{
    int64_t one;
    if (in_turn) {
        LMR_TRY(larmor_sense_turns_memory(job->facts->dev, p, sense, (int64_t)s->samples, &one));
        *bytes = (double)one;
        return LARMOR_OK;
    }
    if (!job->facts->basis) {
        larmor_problem of_state = *p;
        of_state.samples = p->samples / s->states;
        LMR_TRY(larmor_sense_memory(job->facts->dev, s->states > 1 ? &of_state : p, sense, &one));
        *bytes = (double)one * s->frames * s->states;
        if (s->states > 1) *bytes += states_bytes(s, p);
        return LARMOR_OK;
    }
    if (job->settings->opts.motion_fields) { /* each with maps of its own, and its samples once more */
        LMR_TRY(larmor_sense_memory(job->facts->dev, p, sense, &one));
        *bytes = (double)one * s->frames + (double)larmor_dtype_size(p->dtype) * (double)p->coils *
                                               (s->frames * (double)larmor_shape_count(p->image) + s->samples);
        return LARMOR_OK;
    }
    larmor_problem all = *p;
    all.samples = (int64_t)s->samples;
    const int rank = lmr_unknowns(job, s->frames);
    const double number = (double)larmor_dtype_size(p->dtype) / (job->facts->basis_is_complex ? 1 : 2);
    LMR_TRY(larmor_subspace_sense_memory(job->facts->dev, &all, sense, rank, job->facts->basis_is_complex, &one));
    *bytes = (double)one + s->samples * (rank * number + 16 + 8.0 * p->image.ndim + 8);
    if (job->settings->opts.basis_frames) *bytes += 8 * (double)larmor_shape_count(p->image) * s->frames;
    return LARMOR_OK;
}

/* What images have in common: of a trajectory, and the operator of the last one with its maps. */
static void shared_bytes(const lmr_job *job, const sizes *s, const larmor_problem *p, double estimate, double *common,
                         double *ready)
{
    const double voxels = (double)larmor_shape_count(p->image), samples = (double)p->samples;
    const double number = (double)larmor_dtype_size(p->dtype);
    *common = *ready = 0;
    *common = 2 * 8 * samples; /* weights, and those of the centre */
    if (lmr_device_is_processor(job->facts->dev)) *common += 8 * p->image.ndim * samples;
    if (s->frames > 1) return;
    if (!job->facts->basis && !s->segments) *ready = estimate + number * voxels * (double)p->coils;
    if (job->found.method.kind == LMR_METHOD_GRID) return;
    *common += number * voxels * (ldexp(1, p->image.ndim) + (double)p->coils); /* point spread, images of noise */
}

/* All of a series with `block` coils at a time. */
static larmor_status group_bytes(const lmr_job *job, const sizes *s, const lmr_plan *plan, int64_t block,
                                 double *bytes)
{
    if (job->found.method.kind == LMR_METHOD_NLINV) {
        LMR_TRY(lmr_nlinv_frames_bytes(job, &s->problem, s->frames, bytes));
        *bytes = s->held + most(s->before, *bytes);
        return LARMOR_OK;
    }
    larmor_problem p = s->problem;
    const double voxels = (double)larmor_shape_count(p.image), coils = (double)p.coils;
    const int in_double = job->found.method.kind != LMR_METHOD_GRID && lmr_job_precision(job) == LARMOR_C128;
    const int weights = job->settings->opts.density != LARMOR_DENSITY_NONE &&
                        (job->found.method.kind == LMR_METHOD_GRID || job->settings->opts.weighted);
    const larmor_sense_opts sense = {.nufft_tol = job->settings->eps,
                                     .off_resonance = s->segments,
                                     .displacement = s->displacement,
                                     .effort = job->settings->opts.effort,
                                     .block = block,
                                     .toeplitz = job->found.method.kind == LMR_METHOD_GRID ? -1 : plan->toeplitz,
                                     .iters = lmr_normals(job)};
    int64_t circulant = 0;
    double estimate, vectors, choice;
    p.dtype = in_double ? LARMOR_C128 : LARMOR_C64;
    p.weighted = weights && job->found.method.kind != LMR_METHOD_GRID;
    if (lmr_solves_coils(job)) p.coils = 1; /* at a time */
    LMR_TRY(operator_bytes(job, s, &p, plan->in_turn, &sense, &estimate));
    LMR_TRY(vector_bytes(job, s, p.dtype, &vectors));
    if (job->found.method.kind != LMR_METHOD_GRID)
        vectors += (double)larmor_dtype_size(p.dtype) * s->samples * coils; /* noise */
    if (plan->choose >= 0) {
        LMR_TRY(choice_bytes(job, s, &p, &sense, estimate, &choice));
        vectors += choice;
    }
    if (job->found.method.kind != LMR_METHOD_GRID && (plan->precondition >= 0 || plan->choose >= 0)) {
        larmor_problem all = p; /* of a series that of all frames' samples */
        all.samples = (int64_t)s->samples;
        LMR_TRY(larmor_circulant_memory(job->facts->dev, &all, &circulant));
        vectors += 5 * (double)larmor_dtype_size(p.dtype) * voxels; /* it, its factors, an image, and the noise's */
        if (s->frames > 1 && !job->facts->basis)
            vectors += (double)larmor_dtype_size(p.dtype) * voxels * s->frames; /* those of each frame */
    }
    double solver = estimate + vectors + (weights ? 16 * s->samples : 0);
    double before = most(s->before, (double)circulant);
    if (in_double) { /* maps and samples once more */
        solver += 16 * (voxels * (job->facts->sets ? job->facts->sets : 1) + s->samples) * coils;
        before = most(s->before, (double)circulant + 16 * voxels * coils);
    }
    double common = 0, ready = 0;
    if (plan->share) shared_bytes(job, s, &p, estimate, &common, &ready);
    *bytes = s->held + (plan->share ? plan->share + 1 : 0) * common + most(before + ready, solver);
    return LARMOR_OK;
}

/* Where not even one coil fits, optional parts are left out: first the comparison of methods, then the choice of
 * lambda, the preconditioner, and Toeplitz. */
static int give_up(lmr_plan *plan)
{
    int *const what[] = {&plan->compare, &plan->choose, &plan->precondition, &plan->toeplitz};
    for (int i = 0; i < 4; i++)
        if (!*what[i]) {
            *what[i] = -1;
            return 1;
        }
    return 0;
}

/* 1 if the frames of a series may share a grid, which is for NUFFTs alone. */
static int may_take_turns(const lmr_job *job, const sizes *s)
{
    const larmor_device *dev = job->facts->dev;
    return s->frames > 1 && s->states == 1 && !s->problem.repeats && !s->problem.sets && !s->segments &&
           !s->displacement && !job->facts->basis && !job->facts->slabs && !lmr_solves_coils(job) &&
           job->found.method.kind != LMR_METHOD_GRID && job->found.method.kind != LMR_METHOD_NLINV &&
           !larmor_device_members(dev) && !dev->ranks;
}

/* Of the methods that are compared, the one that takes the most memory, by plan->compare from -1 on. */
static const char *const largest[] = {"cg", "tv", "tgv"};

/* The largest block with which the group fits, or 1. Toeplitz and the preconditioner are quick with any block. */
static larmor_status choose_block(const lmr_job *job, const sizes *s, double others, lmr_plan *plan, int64_t *all)
{
    const int64_t coils = s->problem.coils;
    double bytes = 0;
    int64_t block = plan->block;
    lmr_job own = *job;
    for (int64_t passes = (coils + block - 1) / block;; passes++) {
        block = (coils + passes - 1) / passes;
        if (job->facts->automatic) lmr_method_take(&own, largest[plan->compare + 1]);
        LMR_TRY(group_bytes(&own, s, plan, block, &bytes));
        if (!plan->limit || bytes + others <= (double)plan->limit) break;
        if (plan->compare > 0) { /* all coils at a time are worth more */
            plan->compare = 0;
            passes--;
            continue;
        }
        if (plan->share) { /* fewer trajectories first, then none */
            plan->share = plan->share > 1 ? 1 : 0;
            passes--;
            continue;
        }
        if (block > 1) continue;
        const int takes_turns = !plan->in_turn && may_take_turns(job, s);
        if (takes_turns)
            plan->in_turn = 1;
        else if (!give_up(plan))
            break;
        passes = (coils + plan->block - 1) / plan->block - 1; /* and from the start */
    }
    plan->block = block;
    *all = (int64_t)(bytes + others);
    return LARMOR_OK;
}

/* All images of series s. */
static larmor_status measure_series(const lmr_job *job, const lmr_series *list, int s, sizes *size)
{
    const int *group = list->group + list->first[s], count = list->first[s + 1] - list->first[s];
    larmor_group g;
    LMR_TRY(lmr_source_group(job->facts->source, group[0], &g));
    LMR_TRY(measure(job, group[0], &g, size));
    for (int i = 1; i < count; i++) LMR_TRY(add_frame(job, group[i], size));
    LMR_TRY(lmr_find_displacement(job, group[0], &size->displacement));
    if (job->settings->opts.motion_fields) LMR_TRY(lmr_find_motion(job, group[0], 0, &size->displacement));
    return lmr_find_segments(job, group, job->facts->basis && !job->settings->opts.motion_fields ? count : 1, NULL,
                             &size->segments);
}

/* All images: they stay on the device until the caller has them written. */
static double images_bytes(const lmr_job *job, const lmr_series *list)
{
    double bytes = 0;
    for (int i = 0; i < list->groups; i++) {
        const int64_t *n = job->facts->grid[list->group[i]].crop;
        bytes += 8 * (double)n[0] * (double)n[1] * (double)n[2];
    }
    return bytes;
}

/* Series s needs as many bytes as the one before it. Tested because scans have hundreds of equal images. */
static int as_before(const lmr_job *job, const lmr_series *list, int s)
{
    const int first = list->first[s], count = list->first[s + 1] - first;
    larmor_group now, before;
    if (s == 0 || first - list->first[s - 1] != count) return 0;
    for (int i = first; i < first + count; i++) {
        if (lmr_source_group(job->facts->source, list->group[i], &now)) return 0;
        if (lmr_source_group(job->facts->source, list->group[i - count], &before)) return 0;
        if (now.encoding != before.encoding || now.total != before.total || now.samples != before.samples ||
            now.readouts != before.readouts)
            return 0;
    }
    return 1;
}

void lmr_plan_free(lmr_plan *plan)
{
    free(plan->bytes);
    *plan = (lmr_plan){.bytes = NULL};
}

/* What is free on the device; of a group, what the least of its members may use. What is kept is in the plan, or
 * freed before; it is on the first of the members. */
static larmor_status available_of(larmor_device *dev, int64_t kept, int64_t *bytes)
{
    const int members = larmor_device_members(dev);
    int64_t total;
    LMR_TRY(larmor_device_memory(dev, bytes, &total));
    if (*bytes) *bytes += kept;
    for (int i = 0; i < members; i++) {
        int64_t own;
        LMR_TRY(larmor_device_memory(larmor_device_member(dev, i), &own, &total));
        if (own && lmr_device_has_memory_of(larmor_device_member(dev, i), larmor_device_member(dev, 0))) own += kept;
        if (own < *bytes) *bytes = own;
    }
    if (members) *bytes /= lmr_device_sharers(dev);
    return LARMOR_OK;
}

larmor_status lmr_plan_make(const lmr_job *job, int64_t memory, const lmr_series *list, lmr_plan *plan)
{
    const double images = images_bytes(job, list);
    *plan = (lmr_plan){.limit = memory,
                       .images = (int64_t)images,
                       .coils = job->facts->coils,
                       .block = job->facts->coils,
                       .toeplitz = job->facts->toeplitz,
                       .precondition = job->facts->precondition,
                       .share = list->series > 1 && !job->facts->slabs ? LMR_MAX_CACHED_TRAJECTORIES : 0,
                       .compare = job->facts->automatic ? 1 : -1,
                       .choose = lmr_chooses(job) ? 0 : -1};
    if (!memory) LMR_TRY(available_of(job->facts->dev, lmr_sample_cache_bytes(job), &plan->limit));
    lmr_scan_facts facts = *job->facts;
    lmr_job of_one = *job;
    of_one.facts = &facts; /* what takes whole series is planned for a member, what shares coils for the group */
    if (lmr_spreads_series(job, list->series)) facts.dev = larmor_device_member(job->facts->dev, 0);
    LMR_ALLOCATE_ZEROS(plan->bytes, list->series);
    for (int s = 0; s < list->series; s++) {
        sizes size = {.segments = NULL};
        if (as_before(job, list, s)) {
            plan->bytes[s] = plan->bytes[s - 1];
            continue;
        }
        larmor_status st = measure_series(&of_one, list, s, &size);
        if (!st) st = choose_block(&of_one, &size, images, plan, &plan->bytes[s]);
        larmor_segments_free(size.segments);
        larmor_array_free(size.displacement);
        LMR_TRY(st);
        if (plan->bytes[s] > plan->planned) plan->planned = plan->bytes[s];
    }
    return LARMOR_OK;
}
