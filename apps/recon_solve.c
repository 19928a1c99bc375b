/* The methods of `larmor recon`: gridding, conjugate gradients, and regularised SENSE. SPDX-License-Identifier: Apache-2.0
 */
#include "recon_solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "try.h"

#define ENOUGH 0.1       /* error of a solution relative to the noise in it */
#define RELATIVE_CG 1e-4 /* lambda where it cannot be chosen */

enum {
    POWER_STEPS = 6, /* lambda is a weight: a few per cent of its unit do not matter */
    MOST_ITERS = 100,
    SEED = 20221,
};

int recon_chooses(const recon_job *job)
{
    return job->method != RECON_GRID && job->choose == CHOOSE_AUTO && !job->no_choice && !job->sets;
}

double recon_noise(const recon_result *result)
{
    return result->noise * (result->chosen ? result->choice.noise : 1);
}

larmor_shape recon_image_shape(const larmor_grid *grid)
{
    return larmor_shape_of(grid->ndim, grid->matrix);
}

larmor_dtype recon_precision(const recon_job *job)
{
    return job->eps > 0 && job->eps < 1e-6 ? LARMOR_C128 : LARMOR_C64;
}

int64_t recon_normals(const recon_job *job)
{
    const int64_t usual = 30, iters = job->iters ? job->iters : usual;
    const int64_t searched = recon_chooses(job) ? 2 * iters : iters;
    return job->method == RECON_REGULARISED ? 3 * searched : searched;
}

/* ---- gridding ---- */

static larmor_status weigh(const larmor_array *w, larmor_array *kspace)
{
    if (!w) return LARMOR_OK;
    larmor_array *complex;
    TRY(larmor_array_convert(w, larmor_array_dtype(kspace), &complex));
    const larmor_status st = larmor_mul(complex, 0, kspace);
    larmor_array_free(complex);
    return st;
}

/* x <- x / voxels of an image: y = A x sums over voxels */
static larmor_status divide_by_voxels(const larmor_grid *grid, larmor_array *x)
{
    return larmor_axpby(1 / (double)larmor_shape_count(recon_image_shape(grid)), x, 0, x);
}

/* Of several sets of maps each by its own. */
static larmor_status divide_by_energy(recon_job *job, larmor_array *x)
{
    if (!job->sets) return larmor_divide_by_energy(job->maps, x);
    larmor_status st = LARMOR_OK;
    for (int m = 0; m < job->sets && !st; m++) {
        larmor_array *maps = NULL, *image = NULL;
        st = recon_one_of(job->maps, m, &maps);
        if (!st) st = recon_one_of(x, m, &image);
        if (!st) st = larmor_divide_by_energy(maps, image);
        larmor_array_free(image), larmor_array_free(maps);
    }
    return st;
}

static larmor_status grid_with_maps(recon_job *job, const larmor_grid *grid, const larmor_samples *samples,
                                    larmor_array *x)
{
    larmor_op *A = NULL;
    larmor_status st;
    const larmor_sense_opts sense = {
        .traj = samples->traj, .nufft_tol = job->eps, .block = job->block, .toeplitz = -1, .effort = job->effort};
    OR(done, larmor_op_sense(job->maps, &sense, &A));
    OR(done, larmor_op_adjoint(A, samples->kspace, x));
    OR(done, divide_by_energy(job, x));
    OR(done, divide_by_voxels(grid, x));
done:
    larmor_op_free(A);
    return st;
}

/* images [image..., count] <- the adjoint NUFFT of coils first .. first+count-1. */
static larmor_status grid_coils(recon_job *job, const larmor_grid *grid, const larmor_samples *samples, int64_t first,
                                int64_t count, larmor_array *images)
{
    larmor_nufft_opts opts = {.ndim = grid->ndim, .batch = count, .tol = job->eps, .dtype = LARMOR_C64};
    memcpy(opts.modes, grid->matrix, sizeof opts.modes);
    larmor_op *F = NULL;
    larmor_array *kspace = NULL, *part = NULL;
    larmor_status st;
    OR(done, larmor_op_nufft(job->dev, &opts, samples->traj, &F));
    OR(done, larmor_array_slice(samples->kspace, first, count, &kspace));
    OR(done, larmor_array_slice(images, 0, count, &part));
    OR(done, larmor_op_adjoint(F, kspace, part));
done:
    larmor_array_free(part), larmor_array_free(kspace), larmor_op_free(F);
    return st;
}

/* The root sum of squares of one block is one more image of the next. */
static larmor_status grid_without_maps(recon_job *job, const larmor_grid *grid, const larmor_samples *samples,
                                       larmor_array *x)
{
    const int64_t coils = larmor_array_shape(samples->kspace).dim[2], block = job->block ? job->block : coils;
    larmor_array *images = NULL, *sum = NULL, *before = NULL;
    larmor_status st;
    OR(done,
       larmor_array_create(job->dev, LARMOR_C64, larmor_shape_append(recon_image_shape(grid), block + 1), &images));
    OR(done, larmor_array_slice(images, block, 1, &before));
    OR(done, larmor_array_reshape(before, larmor_array_shape(x), &sum));
    for (int64_t first = 0; first < coils; first += block) {
        const int64_t count = coils - first < block ? coils - first : block;
        if (count < block) OR(done, larmor_zero(images));
        OR(done, larmor_copy(x, sum));
        OR(done, grid_coils(job, grid, samples, first, count, images));
        OR(done, larmor_root_sum_of_squares(images, x));
    }
    OR(done, divide_by_voxels(grid, x));
done:
    larmor_array_free(sum), larmor_array_free(before), larmor_array_free(images);
    return st;
}

/* The adjoint of one frame; its samples are weighted on the way. */
static larmor_status grid_frame(recon_job *job, recon_frame *frame, larmor_array **x)
{
    const larmor_shape image = recon_image_shape(&frame->grid);
    TRY(larmor_array_create(job->dev, LARMOR_C64, job->sets ? larmor_shape_append(image, job->sets) : image, x));
    TRY(weigh(frame->weights, frame->samples.kspace));
    return job->no_maps ? grid_without_maps(job, &frame->grid, &frame->samples, *x)
                        : grid_with_maps(job, &frame->grid, &frame->samples, *x);
}

/* ---- iterative methods: A and b of all frames ---- */

static larmor_status sense_of(const recon_job *job, larmor_array *maps, const recon_frame *frame, int toeplitz,
                              larmor_op **A)
{
    const larmor_sense_opts sense = {.traj = frame->samples.traj,
                                     .weights = frame->weights,
                                     .nufft_tol = job->eps,
                                     .effort = job->effort,
                                     .block = job->block,
                                     .toeplitz = toeplitz,
                                     .iters = recon_normals(job)};
    return larmor_op_sense(maps, &sense, A);
}

/* A: of one frame its own operator, of several a block for each. */
static larmor_status make_operator(const recon_job *job, const recon_frame *frames, int count, larmor_op **A,
                                   int *toeplitz)
{
    *A = NULL;
    larmor_array *maps = NULL;
    larmor_op **ops = calloc((size_t)count, sizeof *ops);
    larmor_status st;
    if (!ops) OR(done, NO_MEMORY());
    OR(done, larmor_array_convert(job->maps, recon_precision(job), &maps));
    for (int i = 0; i < count; i++) { /* what lost for the first frame is not made for the others */
        const int lost = i && !larmor_sense_uses_toeplitz(ops[0]);
        OR(done, sense_of(job, maps, &frames[i], lost ? -1 : job->toeplitz, &ops[i]));
    }
    *toeplitz = larmor_sense_uses_toeplitz(ops[0]);
    if (count > 1)
        st = larmor_op_frames(ops, count, A);
    else
        *A = larmor_op_ref(ops[0]);
done:
    for (int i = 0; ops && i < count; i++) larmor_op_free(ops[i]);
    free(ops);
    larmor_array_free(maps);
    return st;
}

/* to[first, ...] <- from, both as one line of numbers */
static larmor_status put(larmor_array *from, larmor_array *to, int64_t first)
{
    const int64_t count = larmor_array_count(from);
    larmor_array *line = NULL, *part = NULL;
    larmor_status st;
    OR(done, larmor_array_reshape(from, LARMOR_SHAPE(count), &line));
    OR(done, larmor_array_slice(to, first, count, &part));
    st = larmor_copy(line, part);
done:
    larmor_array_free(part), larmor_array_free(line);
    return st;
}

/* b, in A's order: the samples of frame after frame, with the root of the weights that A has. */
static larmor_status gather(const recon_job *job, const recon_frame *frames, int count, larmor_op *A,
                            larmor_array **b)
{
    const larmor_dtype dtype = recon_precision(job);
    const larmor_shape shape = larmor_op_out_shape(A);
    if (count == 1) {
        TRY(larmor_sense_weigh(frames[0].weights, frames[0].samples.kspace));
        return larmor_array_convert(frames[0].samples.kspace, dtype, b);
    }
    larmor_array *line = NULL, *one = NULL;
    int64_t first = 0;
    larmor_status st;
    *b = NULL;
    OR(done, larmor_array_create(job->dev, dtype, LARMOR_SHAPE(larmor_shape_count(shape)), &line));
    for (int i = 0; i < count; i++) {
        larmor_array_free(one), one = NULL;
        OR(done, larmor_sense_weigh(frames[i].weights, frames[i].samples.kspace));
        OR(done, larmor_array_convert(frames[i].samples.kspace, dtype, &one));
        OR(done, put(one, line, first));
        first += larmor_array_count(one);
    }
    st = larmor_array_reshape(line, shape, b);
done:
    larmor_array_free(one), larmor_array_free(line);
    return st;
}

/* The points of all frames as one readout [nd, total, 1], and weights that make them one frame's: its density, or 1, over
 * the number of frames. */
static larmor_status join(const recon_job *job, const recon_frame *frames, int count, larmor_array **traj,
                          larmor_array **weights)
{
    const int64_t nd = frames[0].grid.ndim;
    larmor_array *points = NULL, *factors = NULL, *one = NULL;
    larmor_status st;
    int64_t total = 0, first = 0;
    for (int i = 0; i < count; i++) total += larmor_array_count(frames[i].samples.traj) / nd;
    OR(done, larmor_array_create(job->dev, LARMOR_F64, LARMOR_SHAPE(nd * total), &points));
    OR(done, larmor_array_create(job->dev, LARMOR_F64, LARMOR_SHAPE(total), &factors));
    OR(done, larmor_fill(factors, 1 / (double)count));
    for (int i = 0; i < count; i++) {
        larmor_array_free(one), one = NULL;
        OR(done, larmor_array_convert(frames[i].samples.traj, LARMOR_F64, &one));
        OR(done, put(one, points, nd * first));
        first += larmor_array_count(one) / nd;
    }
    OR(done, larmor_array_reshape(points, LARMOR_SHAPE(nd, total, 1), traj));
    st = larmor_array_reshape(factors, LARMOR_SHAPE(total, 1), weights);
done:
    larmor_array_free(one), larmor_array_free(factors), larmor_array_free(points);
    return st;
}

/* The circulant of one frame; that of a series is of the mean of its frames; NULL if none is wanted. */
static larmor_status circulant_of(const recon_job *job, const recon_frame *frames, int count, larmor_circulant **C)
{
    const larmor_shape shape = recon_image_shape(&frames[0].grid);
    larmor_array *maps = NULL, *traj = NULL, *weights = NULL;
    larmor_status st;
    *C = NULL;
    if (job->sets || (job->precondition < 0 && !recon_chooses(job))) return LARMOR_OK;
    OR(done, larmor_array_convert(job->maps, recon_precision(job), &maps));
    if (count > 1) {
        OR(done, join(job, frames, count, &traj, &weights));
    } else {
        traj = larmor_array_ref(frames[0].samples.traj);
        weights = larmor_array_ref(frames[0].weights);
    }
    st = larmor_circulant_create(maps, traj, weights, shape, recon_precision(job), C);
done:
    larmor_array_free(weights), larmor_array_free(traj), larmor_array_free(maps);
    return st;
}

/* ---- noise ---- */

/* A sample of noise like b's: white, with the root of the weights that A has. */
static larmor_status sample_noise(const recon_job *job, const recon_frame *frames, int count, const larmor_array *b,
                                  double deviation, larmor_array **noise)
{
    const larmor_shape shape = larmor_array_shape(b);
    larmor_array *line = NULL, *one = NULL;
    int64_t first = 0;
    larmor_status st;
    *noise = NULL;
    OR(done, larmor_array_create(job->dev, larmor_array_dtype(b), shape, noise));
    OR(done, larmor_array_reshape(*noise, LARMOR_SHAPE(larmor_shape_count(shape)), &line));
    for (int i = 0; i < count; i++) {
        const larmor_shape own = larmor_array_shape(frames[i].samples.kspace);
        OR(done, larmor_array_create(job->dev, larmor_array_dtype(b), own, &one));
        OR(done, larmor_noise_fill(one, deviation, SEED + (uint64_t)i));
        OR(done, larmor_sense_weigh(frames[i].weights, one));
        OR(done, put(one, line, first));
        first += larmor_array_count(one);
        larmor_array_free(one), one = NULL;
    }
done:
    larmor_array_free(one), larmor_array_free(line);
    return st;
}

/* Whitened data have noise of deviation 1; of others it is measured, before they are weighted. */
static larmor_status noise_level(const recon_job *job, const recon_frame *frame, double *deviation)
{
    *deviation = 1;
    return job->whitening ? LARMOR_OK : larmor_noise_level(frame->samples.kspace, frame->samples.traj, deviation);
}

/* The norm of the noise in the image, about: M A^H e. */
static larmor_status image_noise(larmor_op *A, larmor_op *M, const larmor_array *noise, double *norm)
{
    larmor_array *x = NULL, *y = NULL;
    larmor_status st;
    OR(done, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &x));
    OR(done, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &y));
    OR(done, larmor_op_adjoint(A, noise, x));
    OR(done, larmor_op_forward(M, x, y));
    st = larmor_nrm2(y, norm);
done:
    larmor_array_free(y), larmor_array_free(x);
    return st;
}

/* Maps from the data themselves are off by more than the noise of a good scan. */
static double excess_of(const recon_job *job)
{
    const double most = 3;
    const int estimated = !job->given && larmor_raw_describe(job->raw).coils > 1;
    return estimated ? most : 1;
}

/* ---- solutions ---- */

/* What the iterative methods share. */
typedef struct problem {
    larmor_op *A;
    larmor_array *b, *noise; /* noise: a sample of it, or NULL */
    larmor_circulant *C;     /* or NULL */
    larmor_array *x;
} problem;

/* At a given weight: to a tenth of the noise in the image, where nothing else is asked for. */
static larmor_status solve_cg(const recon_job *job, const problem *p, larmor_solve_opts *o, larmor_report *report)
{
    larmor_op *M = NULL;
    larmor_status st = LARMOR_OK;
    double norm;
    if (p->C) OR(done, larmor_circulant_inverse(p->C, o->lambda, NULL, 0, &M));
    if (p->C && p->noise && o->tol == 0) {
        OR(done, image_noise(p->A, M, p->noise, &norm));
        o->error = ENOUGH * norm;
        o->judge = M;
        if (norm > 0) o->tol = -1;
    }
    o->precondition = job->precondition < 0 ? NULL : M;
    if (o->max_iter == 0) o->max_iter = MOST_ITERS;
    st = larmor_cg(p->A, p->b, p->x, o, report);
done:
    larmor_op_free(M);
    return st;
}

static larmor_status conjugate_gradients(const recon_job *job, const problem *p, recon_result *result)
{
    larmor_solve_opts solve = {.max_iter = job->iters,
                               .tol = job->tol,
                               .monitor = job->monitor,
                               .user = job->user,
                               .excess = excess_of(job)};
    larmor_status st = LARMOR_OK;
    TRY(larmor_opnorm(p->A, POWER_STEPS, &result->largest));
    if (recon_chooses(job) && p->C) {
        solve.circulant = job->precondition < 0 ? NULL : p->C;
        st = larmor_cg_choose(p->A, p->b, p->noise, p->C, p->x, &solve, &result->choice, &result->report);
        result->weight = result->choice.weight;
    } else {
        result->weight = (job->choose == CHOOSE_AUTO ? RELATIVE_CG : job->lambda) * result->largest;
        if (job->choose == CHOOSE_NOISE && p->C) {
            TRY(larmor_weight_of_noise(p->A, p->b, p->noise, p->C, NULL, &result->weight));
            result->weight *= job->lambda;
        }
        solve.lambda = result->weight;
        st = solve_cg(job, p, &solve, &result->report);
    }
    result->lambda = result->largest > 0 ? result->weight / result->largest : 0;
    return st;
}

static larmor_status regularised(const recon_job *job, int frames, const problem *p, recon_result *result)
{
    const larmor_regulariser_opts opts = recon_regulariser_opts(job, frames);
    larmor_solve_opts solve = {.max_iter = job->iters,
                               .tol = job->tol,
                               .monitor = job->monitor,
                               .user = job->user,
                               .excess = excess_of(job)};
    larmor_regulariser *r = NULL;
    larmor_status st;
    double unit = 0;
    OR(done, larmor_regulariser_create(job->dev, job->regulariser, &opts, larmor_op_dtype(p->A),
                                       larmor_op_in_shape(p->A), &r));
    OR(done, larmor_lambda_unit(p->A, p->b, &unit));
    solve.circulant = job->precondition < 0 ? NULL : p->C;
    if (recon_chooses(job) && p->C) {
        st = larmor_regularised_choose(p->A, p->b, p->noise, p->C, r, p->x, &solve, &result->choice, &result->report);
    } else {
        if (job->choose == CHOOSE_NOISE && p->C) {
            OR(done, larmor_weight_of_noise(p->A, p->b, p->noise, p->C, r, &result->weight));
            OR(done, larmor_regulariser_set_weight(r, result->weight * job->lambda));
        }
        st = larmor_regularised(p->A, p->b, r, p->x, &solve, &result->report);
    }
    result->weight = larmor_regulariser_weight(r);
    result->lambda = unit > 0 ? result->weight / unit : 0;
done:
    larmor_regulariser_free(r);
    return st;
}

/* An iterate that a failing solver gave back is an image, if there is anything in it. */
static larmor_status forgive(larmor_status st, const larmor_array *x, recon_result *result)
{
    double size;
    if (st != LARMOR_ERR_NUMERIC || result->report.iters == 0) return st;
    if (larmor_nrm2(x, &size) || !isfinite(size) || size == 0) return st;
    result->doubtful = 1;
    return LARMOR_OK;
}

static larmor_status iterate(const recon_job *job, const recon_frame *frames, int count, larmor_array **x,
                             recon_result *result)
{
    problem p = {NULL, NULL, NULL, NULL, NULL};
    larmor_status st;
    OR(done, noise_level(job, &frames[0], &result->noise));
    OR(done, make_operator(job, frames, count, &p.A, &result->toeplitz));
    OR(done, gather(job, frames, count, p.A, &p.b));
    OR(done, larmor_array_create(job->dev, larmor_op_dtype(p.A), larmor_op_in_shape(p.A), x));
    p.x = *x;
    OR(done, circulant_of(job, frames, count, &p.C));
    OR(done, sample_noise(job, frames, count, p.b, result->noise, &p.noise));
    if (recon_chooses(job) && job->stage && job->stage(job->user, "choosing lambda")) {
        st = larmor_fail(LARMOR_STOPPED, "stopped by the caller before lambda was chosen");
        goto done;
    }
    st = job->method == RECON_CG ? conjugate_gradients(job, &p, result) : regularised(job, count, &p, result);
    result->chosen = recon_chooses(job) && p.C && result->choice.weight > 0;
    if (st == LARMOR_STOPPED) result->interrupted = 1, st = LARMOR_OK;
    st = forgive(st, *x, result);
done:
    larmor_circulant_free(p.C);
    larmor_array_free(p.noise), larmor_array_free(p.b), larmor_op_free(p.A);
    return st;
}

larmor_status recon_solve(recon_job *job, recon_frame *frames, int count, larmor_array **x, recon_result *result)
{
    *x = NULL;
    return job->method == RECON_GRID ? grid_frame(job, frames, x) : iterate(job, frames, count, x, result);
}

larmor_regulariser_opts recon_regulariser_opts(const recon_job *job, int frames)
{
    /* the images of several sets of maps are frames that nothing couples */
    larmor_regulariser_opts opts = {.series = frames > 1 || job->sets, .time = job->sets ? -1 : job->time_weight};
    if (job->choose == CHOOSE_FIXED) opts.lambda = job->lambda > 0 ? job->lambda : -1;
    for (int d = 0; d < 3; d++) opts.block[d] = job->llr_block;
    return opts;
}
