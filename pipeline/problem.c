/* The least squares problem of one frame or of a series: operator, data, noise, circulant. SPDX-License-Identifier:
 * Apache-2.0 */
#include "pipeline/problem.h"

#include "core/core.h"
#include "physics/motion.h"
#include "pipeline/cache.h"
#include "pipeline/subspace.h"
#include "scan/compress.h"
#include "schedule/slab_sums.h"

static larmor_status sense_of(const lmr_job *job, larmor_array *maps, const lmr_frame *frame, int toeplitz,
                              larmor_op **A)
{
    const larmor_sense_opts sense = lmr_frame_sense(job, frame, toeplitz);
    if (job->facts->slabs) return larmor_op_sense_slabs(job->facts->slabs, maps, frame->grid.matrix[2], &sense, A);
    if (frame->motion) return lmr_motion_operator(frame, maps, &sense, A);
    return larmor_op_sense(maps, &sense, A);
}

/* A becomes that of images that have about the phase. */
static larmor_status with_phase(const lmr_frame *frame, larmor_op **A)
{
    larmor_op *all = NULL;
    LMR_OWN(larmor_op, P, larmor_op_phase(frame->phase, frame->off_phase, &P));
    LMR_TRY(larmor_op_chain(*A, P, &all));
    larmor_op_free(*A);
    *A = all;
    return LARMOR_OK;
}

/* The job's maps, in its precision; of coil images those of one coil. */
static larmor_status maps_of(const lmr_job *job, const lmr_frame *frame, larmor_array **maps)
{
    const larmor_dtype dtype = lmr_job_precision(job);
    if (!lmr_solves_coils(job)) return larmor_array_convert(job->found.maps.array, dtype, maps);
    LMR_TRY(larmor_array_create(job->facts->dev, dtype, larmor_shape_append(lmr_grid_shape(&frame->grid), 1), maps));
    return larmor_fill(*maps, 1);
}

/* A of one coil stands for all, as the operator of frames that have the same samples: [image..., coils] to
 * [samples, readouts, 1, coils]. */
static larmor_status of_all_coils(const lmr_job *job, larmor_op *of_one, larmor_op **A)
{
    LMR_HEAP LMR_NEW_ZEROS(larmor_op *, ops, job->facts->coils);
    for (int c = 0; c < job->facts->coils; c++) ops[c] = of_one;
    return larmor_op_frames(ops, job->facts->coils, A);
}

/* 1 if the plan has one grid for all frames, which no frame needs more than. */
static int takes_turns(const lmr_job *job, const lmr_frame *frames, int count)
{
    int may = job->facts->in_turn && count > 1;
    for (int i = 0; i < count; i++)
        may &= !frames[i].segments && !frames[i].displacement && !frames[i].motion && !frames[i].has_phase &&
               !frames[i].cartesian.on_grid;
    return may;
}

static larmor_status operator_in_turn(const lmr_job *job, const lmr_frame *frames, int count, larmor_array *maps,
                                      larmor_op **A)
{
    LMR_HEAP LMR_NEW_ZEROS(larmor_sense_opts, opts, count);
    for (int i = 0; i < count; i++) opts[i] = lmr_frame_sense(job, &frames[i], -1);
    return larmor_op_sense_turns(maps, opts, count, A);
}

int lmr_problem_is_plain(const lmr_job *job, const lmr_frame *frames, int count)
{
    return count == 1 && !job->facts->slabs && !lmr_solves_coils(job) && lmr_operator_cache_suits(job, frames);
}

larmor_status lmr_problem_operator(const lmr_job *job, const lmr_frame *frames, int count, larmor_op **A,
                                   int *toeplitz)
{
    *A = NULL;
    LMR_OWNED(larmor_array) *maps = NULL;
    LMR_HEAP larmor_op **ops = calloc((size_t)count, sizeof *ops);
    larmor_status st;
    if (!ops) LMR_OR(done, LMR_NO_MEMORY());
    LMR_OR(done, maps_of(job, frames, &maps));
    if (job->facts->basis) {
        st = lmr_subspace_operator(job, frames, count, maps, A, toeplitz);
        goto done;
    }
    if (takes_turns(job, frames, count)) {
        *toeplitz = 0;
        st = operator_in_turn(job, frames, count, maps, A);
        goto done;
    }
    const int plain = lmr_problem_is_plain(job, frames, count);
    if (plain) LMR_OR(done, lmr_operator_cache_take(job, frames, maps, &ops[0]));
    if (ops[0]) {
        *toeplitz = larmor_sense_uses_toeplitz(ops[0]);
        *A = larmor_op_ref(ops[0]);
        goto done;
    }
    for (int i = 0; i < count; i++) { /* what lost for the first frame is not made for the others */
        const int lost = i && !*toeplitz;
        LMR_OR(done, sense_of(job, maps, &frames[i], lost ? -1 : job->facts->toeplitz, &ops[i]));
        if (!i) *toeplitz = job->facts->slabs ? job->facts->toeplitz >= 0 : larmor_sense_uses_toeplitz(ops[0]);
        if (frames[i].has_phase) LMR_OR(done, with_phase(&frames[i], &ops[i]));
    }
    if (lmr_solves_coils(job))
        st = of_all_coils(job, ops[0], A);
    else if (count > 1)
        st = larmor_op_frames_apart(ops, count, A);
    else
        *A = larmor_op_ref(ops[0]);
    if (plain && !st) lmr_operator_cache_keep(job, frames, *A);
done:
    for (int i = 0; ops && i < count; i++) larmor_op_free(ops[i]);
    return st;
}

/* to[first, ...] <- from, both as one line of numbers */
static larmor_status put(larmor_array *from, larmor_array *to, int64_t first)
{
    const int64_t count = larmor_array_count(from);
    LMR_OWN(larmor_array, line, larmor_array_reshape(from, LARMOR_SHAPE(count), &line));
    LMR_OWN(larmor_array, part, larmor_array_slice(to, first, count, &part));
    return larmor_copy(line, part);
}

/* The samples of a frame to their place in all of them, `first` samples of a coil behind the start: frame after
 * frame, or, with a basis, coil after coil. */
static larmor_status place(const lmr_job *job, larmor_array *from, larmor_array *line, int64_t first)
{
    const int64_t coils = job->facts->coils, own = larmor_array_count(from) / coils;
    const int64_t all = larmor_array_count(line) / coils;
    if (!job->facts->basis) return put(from, line, first * coils);
    LMR_OWN(larmor_array, by_coil, larmor_array_reshape(from, LARMOR_SHAPE(own, coils), &by_coil));
    for (int64_t c = 0; c < coils; c++) {
        LMR_OWN(larmor_array, coil, larmor_array_slice(by_coil, c, 1, &coil));
        LMR_TRY(put(coil, line, c * all + first));
    }
    return LARMOR_OK;
}

larmor_status lmr_problem_data(const lmr_job *job, const lmr_frame *frames, int count, larmor_op *A, larmor_array **b)
{
    const larmor_dtype dtype = lmr_job_precision(job);
    const larmor_shape shape = larmor_op_out_shape(A);
    LMR_OWNED(larmor_array) *line = NULL, *one = NULL;
    int64_t first = 0;
    *b = NULL;
    if (count == 1) {
        LMR_TRY(larmor_array_convert(frames[0].samples.kspace, dtype, &one));
        return larmor_array_reshape(one, shape, b);
    }
    LMR_TRY(larmor_array_create(job->facts->dev, dtype, LARMOR_SHAPE(larmor_shape_count(shape)), &line));
    for (int i = 0; i < count; i++) {
        LMR_CLEAR(one);
        LMR_TRY(larmor_array_convert(frames[i].samples.kspace, dtype, &one));
        LMR_TRY(place(job, one, line, first));
        first += larmor_array_count(one) / job->facts->coils;
    }
    return larmor_array_reshape(line, shape, b);
}

/* The points of all frames, and weights that make them one frame's: 1 over the number of frames. With a basis they
 * make them those of a coefficient, on average. */
static larmor_status join(const lmr_job *job, const lmr_frame *frames, int count, larmor_array **traj,
                          larmor_array **weights)
{
    const double share = (job->facts->basis ? job->facts->basis_scale : 1) / (double)count;
    LMR_TRY(lmr_frames_points(job, frames, count, traj));
    LMR_TRY(larmor_array_create(job->facts->dev, LARMOR_F64, lmr_frames_shape(frames, count), weights));
    return larmor_fill(*weights, share);
}

/* For a real image s(-k) = conj s(k): each sample counts half. */
static larmor_status mirror(const lmr_job *job, larmor_array **traj, larmor_array **weights)
{
    const larmor_shape shape = larmor_array_shape(*traj);
    const int64_t nd = shape.dim[0], m = larmor_array_count(*traj) / nd;
    LMR_HEAP double *k = NULL, *w = NULL, *both = malloc(sizeof *both * (size_t)(2 * m * (nd + 1)) + 1);
    LMR_OWNED(larmor_array) *points = NULL;
    larmor_array *halves = NULL;
    if (!both) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(*traj, LARMOR_F64, &k));
    if (*weights) LMR_TRY(larmor_array_download(*weights, LARMOR_F64, &w));
    double *half = both + 2 * m * nd;
    for (int64_t i = 0; i < m * nd; i++) {
        both[i] = k[i];
        both[m * nd + i] = -k[i];
    }
    for (int64_t j = 0; j < m; j++) half[j] = half[m + j] = w ? w[j] / 2 : 0.5;
    LMR_TRY(larmor_array_upload(job->facts->dev, LARMOR_F64, LARMOR_SHAPE(nd, 2 * m, 1), LARMOR_F64, both, &points));
    LMR_TRY(larmor_array_upload(job->facts->dev, LARMOR_F64, LARMOR_SHAPE(2 * m, 1), LARMOR_F64, half, &halves));
    LMR_FREE(*traj, *weights);
    *traj = points;
    *weights = halves;
    points = NULL;
    return LARMOR_OK;
}

/* Of the only frame, which may be known. */
static larmor_status shared_circulant(const lmr_job *job, const lmr_frame *frame, larmor_array *maps,
                                      larmor_circulant **C)
{
    const double by[2] = {lmr_density_key(job, frame), lmr_job_precision(job)};
    LMR_OWN(larmor_array, spread, lmr_cached_take(frame->cached, LMR_CACHED_SPREAD, by, job->facts->dev, &spread));
    if (!spread) {
        LMR_TRY(larmor_circulant_spread(frame->samples.traj, frame->weights, lmr_grid_shape(&frame->grid),
                                        lmr_job_precision(job), &spread));
        lmr_cached_put(frame->cached, LMR_CACHED_SPREAD, by, spread);
    }
    return larmor_circulant_of_spread(maps, spread, C);
}

/* Of frames that are solved together. */
static larmor_status series_circulant(const lmr_job *job, const lmr_frame *frames, int count, larmor_array *maps,
                                      larmor_circulant **C)
{
    LMR_HEAP LMR_NEW_ZEROS(larmor_array *, traj, count);
    LMR_HEAP LMR_NEW_ZEROS(larmor_array *, weights, count);
    for (int i = 0; i < count; i++) {
        traj[i] = frames[i].samples.traj;
        weights[i] = frames[i].weights;
    }
    return larmor_circulant_create_frames(maps, traj, weights, count, lmr_grid_shape(&frames->grid),
                                          lmr_job_precision(job), C);
}

larmor_status lmr_problem_circulant(const lmr_job *job, const lmr_frame *frames, int count, larmor_lambda_from origin,
                                    larmor_circulant **C)
{
    const larmor_shape shape = lmr_grid_shape(&frames[0].grid);
    LMR_OWNED(larmor_array) *maps = NULL, *traj = NULL, *weights = NULL;
    *C = NULL;
    LMR_OWNED(larmor_array) *sets = NULL;
    if (job->facts->precondition < 0 && origin != LARMOR_LAMBDA_FROM_DATA) return LARMOR_OK;
    LMR_TRY(maps_of(job, frames, job->facts->sets ? &sets : &maps));
    if (job->facts->sets) LMR_TRY(lmr_one_of(sets, 0, &maps)); /* whose energy stands for that of all */
    if (count == 1 && frames->cached && !job->facts->basis) {
        return shared_circulant(job, frames, maps, C);
    }
    if (count > 1 && !job->facts->basis && !frames[0].has_phase) return series_circulant(job, frames, count, maps, C);
    if (count > 1 || job->facts->basis) {
        LMR_TRY(join(job, frames, count, &traj, &weights));
    } else {
        traj = larmor_array_ref(frames[0].samples.traj);
        weights = larmor_array_ref(frames[0].weights);
    }
    if (frames[0].has_phase) LMR_TRY(mirror(job, &traj, &weights));
    if (job->facts->slabs)
        LMR_TRY(larmor_circulant_slabs(job->facts->slabs, maps, frames[0].grid.matrix[2], traj, C));
    else
        LMR_TRY(larmor_circulant_create(maps, traj, weights, shape, lmr_job_precision(job), C));
    return LARMOR_OK;
}

larmor_status lmr_problem_inverse(const larmor_circulant *C, double weight, int image_ndim, larmor_shape in,
                                  larmor_op **M)
{
    if (in.ndim == image_ndim) return larmor_circulant_inverse(C, weight, NULL, 0, M);
    return larmor_circulant_inverse_frames(C, weight, 0, in.dim[in.ndim - 1], M);
}

/* The numbers of the mask for this image: it is of one slice, or of all of them. */
static larmor_status find_mask(const lmr_job *job, const lmr_frame *frame, double **mask, int64_t *first)
{
    const larmor_array *given = job->settings->opts.support;
    const larmor_grid *grid = &frame->grid;
    const larmor_shape shape = larmor_array_shape(given);
    int fits = shape.ndim >= grid->ndim;
    int64_t voxels = 1;
    for (int d = 0; d < grid->ndim && fits; d++) {
        fits = shape.dim[d] == grid->crop[d];
        voxels *= grid->crop[d];
    }
    const int64_t slices = fits ? larmor_array_count(given) / voxels : 0;
    LMR_REFUSE(!fits || (slices > 1 && frame->group.slice >= slices), LARMOR_ERR_SHAPE,
               "support: the mask is %s, expected the %lldx%lldx%lld voxels of the image", lmr_describe(given).s,
               (long long)grid->crop[0], (long long)grid->crop[1], (long long)(grid->ndim > 2 ? grid->crop[2] : 1));
    *first = slices > 1 ? frame->group.slice * voxels : 0;
    if (!lmr_is_complex(larmor_array_dtype(given))) return larmor_array_download(given, LARMOR_F64, mask);
    LMR_TRY(larmor_array_download(given, LARMOR_C128, mask));
    for (int64_t i = 0; i < larmor_array_count(given); i++)
        (*mask)[i] = (*mask)[2 * i] != 0 || (*mask)[2 * i + 1] != 0;
    return LARMOR_OK;
}

/* Where the grid reaches beyond the image, nothing is known of the object. */
static larmor_status make_mask(const lmr_job *job, const lmr_frame *frame, int is_written, larmor_array **mask)
{
    const larmor_grid *grid = &frame->grid;
    const larmor_shape shape = larmor_shape_of(grid->ndim, is_written ? grid->crop : grid->matrix);
    const int64_t count = larmor_shape_count(shape);
    LMR_HEAP double *given = NULL, *all = malloc(sizeof *all * (size_t)count + 1);
    int64_t first = 0;
    if (!all) return LMR_NO_MEMORY();
    LMR_TRY(find_mask(job, frame, &given, &first));
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, at = 0, stride = 1;
        int is_inside = 1;
        for (int d = 0; d < grid->ndim; d++) {
            const int64_t place = rest % shape.dim[d] - (shape.dim[d] / 2 - grid->crop[d] / 2);
            rest /= shape.dim[d];
            is_inside &= place >= 0 && place < grid->crop[d];
            at += place * stride;
            stride *= grid->crop[d];
        }
        all[i] = is_inside ? given[first + at] : 1;
    }
    return larmor_array_upload(job->facts->dev, LARMOR_F64, shape, LARMOR_F64, all, mask);
}

larmor_status lmr_problem_set(const lmr_job *job, const lmr_frame *frame, int is_written, larmor_dtype dtype,
                              larmor_shape shape, larmor_prox **set)
{
    LMR_OWNED(larmor_array) *mask = NULL;
    larmor_constraint c;
    *set = NULL;
    if (!job->settings->constraint) return LARMOR_OK;
    LMR_REFUSE(job->facts->slabs || job->facts->sets, LARMOR_ERR_UNSUPPORTED, "opts.constraint: is not for %s",
               job->facts->slabs ? "volumes in slabs" : "several sets of maps");
    LMR_TRY(larmor_constraint_read(job->settings->constraint, &c));
    const double unit = is_written ? 1 : lmr_image_factor(job, &frame->encoding, &frame->grid);
    c.low /= unit;
    c.high /= unit;
    if (job->settings->opts.support) LMR_TRY(make_mask(job, frame, is_written, &mask));
    return larmor_prox_constraint(job->facts->dev, &c, mask, dtype, shape, set);
}

static larmor_status alternate(larmor_array *samples, int coils)
{
    for (int c = 0; c < coils; c++) {
        LMR_OWN(larmor_array, one, larmor_array_slice(samples, c, 1, &one));
        LMR_TRY(larmor_fill(one, c % 2 ? -1 : 1));
    }
    return LARMOR_OK;
}

larmor_status lmr_scan_noise(const lmr_job *job, const lmr_frame *frame, double deviation, uint64_t seed,
                             larmor_array **noise)
{
    const larmor_array *like = frame->samples.kspace;
    larmor_shape shape = larmor_array_shape(like);
    larmor_samples samples = {.traj = frame->samples.traj};
    *noise = NULL;
    if (job->facts->colouring) shape.dim[shape.ndim - 1] = job->facts->info.coils;
    LMR_TRY(larmor_array_create(job->facts->dev, larmor_array_dtype(like), shape, &samples.kspace));
    larmor_status st = larmor_noise_fill(samples.kspace, deviation, seed);
    if (!st && job->facts->colouring) st = larmor_whiten(job->facts->colouring, samples.kspace);
    if (!st && job->facts->colouring) st = lmr_compress(job, &samples);
    if (st)
        larmor_array_free(samples.kspace);
    else
        *noise = samples.kspace;
    return st;
}

static larmor_status convert_noise(const lmr_job *job, const lmr_frame *frame, double deviation, uint64_t seed,
                                   larmor_dtype dtype, larmor_array **noise)
{
    LMR_OWN(larmor_array, own, lmr_scan_noise(job, frame, deviation, seed, &own));
    return larmor_array_convert(own, dtype, noise);
}

larmor_status lmr_like_data(const lmr_job *job, const lmr_frame *frames, larmor_array *const *weights, int count,
                            const larmor_array *b, lmr_content content, double deviation, uint64_t seed,
                            larmor_array **out)
{
    const larmor_shape shape = larmor_array_shape(b);
    LMR_OWNED(larmor_array) *line = NULL, *one = NULL;
    int64_t first = 0;
    *out = NULL;
    LMR_TRY(larmor_array_create(job->facts->dev, larmor_array_dtype(b), shape, out));
    LMR_TRY(larmor_array_reshape(*out, LARMOR_SHAPE(larmor_shape_count(shape)), &line));
    for (int i = 0; i < count; i++) {
        const larmor_shape own = larmor_array_shape(frames[i].samples.kspace);
        if (content == LMR_SCAN_NOISE)
            LMR_TRY(convert_noise(job, &frames[i], deviation, seed + (uint64_t)i, larmor_array_dtype(b), &one));
        else
            LMR_TRY(larmor_array_create(job->facts->dev, larmor_array_dtype(b), own, &one));
        if (content == LMR_NOISE && job->facts->slabs)
            LMR_TRY(lmr_slabs_fill_noise(job, deviation, seed + (uint64_t)i, one));
        else if (content == LMR_NOISE)
            LMR_TRY(larmor_noise_fill(one, deviation, seed + (uint64_t)i));
        else if (content == LMR_ONES)
            LMR_TRY(larmor_fill(one, 1));
        else if (content == LMR_ALTERNATING)
            LMR_TRY(alternate(one, job->facts->coils));
        LMR_TRY(larmor_sense_weigh(weights[i], one));
        LMR_TRY(place(job, one, line, first));
        first += larmor_array_count(one) / job->facts->coils;
        LMR_CLEAR(one);
    }
    return LARMOR_OK;
}

larmor_status lmr_sample_noise(const lmr_job *job, const lmr_frame *frames, int count, const larmor_array *b,
                               double deviation, uint64_t seed, larmor_array **noise)
{
    LMR_HEAP LMR_NEW_ZEROS(larmor_array *, weights, count);
    for (int i = 0; i < count; i++) weights[i] = frames[i].weights;
    return lmr_like_data(job, frames, weights, count, b, LMR_NOISE, deviation, seed, noise);
}

/* ---- aliased images ---- */

/* Of the bound of the error, over the image: there is next to no noise. */
#define MIN_REL_ERROR 1e-4

int lmr_is_aliased(const lmr_job *job, const lmr_frame *frames, int count)
{
    int all = !job->facts->slabs;
    for (int i = 0; i < count; i++) all &= frames[i].cartesian.on_grid && frames[i].cartesian.aliased;
    return all;
}

/* The lengths of steps say nothing of directions with small eigenvalues before those have come up; all eigenvalues
 * are lambda or more. */
larmor_status lmr_aliased_stop(larmor_op *A, const larmor_array *b, double most, double largest,
                               larmor_solve_opts *opts, double *bound)
{
    LMR_OWNED(larmor_array) *rhs = NULL;
    double norm;
    *bound = 0;
    if (!(opts->lambda > 0) || !(most > 0) || !(largest > 0)) return LARMOR_OK;
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &rhs));
    LMR_TRY(larmor_op_adjoint(A, b, rhs));
    LMR_TRY(larmor_nrm2(rhs, &norm));
    if (!(norm > 0) || !isfinite(norm)) return LARMOR_OK;
    opts->tol = opts->lambda * fmax(most / norm, MIN_REL_ERROR / largest);
    opts->change = opts->relative = opts->error = 0;
    *bound = norm / opts->lambda;
    return LARMOR_OK;
}
