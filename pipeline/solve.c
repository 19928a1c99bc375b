/* The methods: gridding, conjugate gradients, and regularised SENSE. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"

#define ENOUGH 0.1 /* error of a solution relative to the noise in it */
#define ALIKE 1.5  /* times the data of another image: a weight that was chosen from it still holds */

enum {
    POWER_STEPS = 6, /* lambda is a weight: a few per cent of its unit do not matter */
    MOST_ITERS = 100,
    SEED = 20221,
};

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

/* ---- gridding ---- */

static larmor_status weigh(const larmor_array *w, larmor_array *kspace)
{
    if (!w) return LARMOR_OK;
    larmor_array *complex;
    LMR_TRY(larmor_array_convert((larmor_array *)(uintptr_t)w, larmor_array_dtype(kspace), &complex));
    const larmor_status st = larmor_mul(complex, 0, kspace);
    larmor_array_free(complex);
    return st;
}

/* x <- x / voxels of an image: y = A x sums over voxels */
static larmor_status divide_by_voxels(const larmor_grid *grid, larmor_array *x)
{
    return larmor_axpby(1 / (double)larmor_shape_count(lmr_grid_shape(grid)), x, 0, x);
}

/* Of several sets of maps each by its own. */
static larmor_status divide_by_energy(lmr_job *job, larmor_array *x)
{
    if (!job->sets) return larmor_divide_by_energy(job->maps, x);
    larmor_status st = LARMOR_OK;
    for (int m = 0; m < job->sets && !st; m++) {
        larmor_array *maps = NULL, *image = NULL;
        st = lmr_one_of(job->maps, m, &maps);
        if (!st) st = lmr_one_of(x, m, &image);
        if (!st) st = larmor_divide_by_energy(maps, image);
        larmor_array_free(image), larmor_array_free(maps);
    }
    return st;
}

static larmor_status grid_with_maps(lmr_job *job, const larmor_grid *grid, const larmor_samples *samples,
                                    larmor_array *x)
{
    larmor_op *A = NULL;
    larmor_status st;
    const larmor_sense_opts sense = {
        .traj = samples->traj, .nufft_tol = job->eps, .block = job->block, .toeplitz = -1, .effort = job->effort};
    LMR_OR(done, larmor_op_sense(job->maps, &sense, &A));
    LMR_OR(done, larmor_op_adjoint(A, samples->kspace, x));
    LMR_OR(done, divide_by_energy(job, x));
    LMR_OR(done, divide_by_voxels(grid, x));
done:
    larmor_op_free(A);
    return st;
}

/* images [image..., count] <- the adjoint NUFFT of coils first .. first+count-1. */
static larmor_status grid_coils(lmr_job *job, const larmor_grid *grid, const larmor_samples *samples, int64_t first,
                                int64_t count, larmor_array *images)
{
    larmor_nufft_opts opts = {.ndim = grid->ndim, .batch = count, .tol = job->eps, .dtype = LARMOR_C64};
    memcpy(opts.modes, grid->matrix, sizeof opts.modes);
    larmor_op *F = NULL;
    larmor_array *kspace = NULL, *part = NULL;
    larmor_status st;
    LMR_OR(done, larmor_op_nufft(job->dev, &opts, samples->traj, &F));
    LMR_OR(done, larmor_array_slice(samples->kspace, first, count, &kspace));
    LMR_OR(done, larmor_array_slice(images, 0, count, &part));
    LMR_OR(done, larmor_op_adjoint(F, kspace, part));
done:
    larmor_array_free(part), larmor_array_free(kspace), larmor_op_free(F);
    return st;
}

/* The root sum of squares of one block is one more image of the next. */
static larmor_status grid_without_maps(lmr_job *job, const larmor_grid *grid, const larmor_samples *samples,
                                       larmor_array *x)
{
    const int64_t coils = larmor_array_shape(samples->kspace).dim[2], block = job->block ? job->block : coils;
    larmor_array *images = NULL, *sum = NULL, *before = NULL;
    larmor_status st;
    LMR_OR(done,
           larmor_array_create(job->dev, LARMOR_C64, larmor_shape_append(lmr_grid_shape(grid), block + 1), &images));
    LMR_OR(done, larmor_array_slice(images, block, 1, &before));
    LMR_OR(done, larmor_array_reshape(before, larmor_array_shape(x), &sum));
    for (int64_t first = 0; first < coils; first += block) {
        const int64_t count = coils - first < block ? coils - first : block;
        if (count < block) LMR_OR(done, larmor_zero(images));
        LMR_OR(done, larmor_copy(x, sum));
        LMR_OR(done, grid_coils(job, grid, samples, first, count, images));
        LMR_OR(done, larmor_root_sum_of_squares(images, x));
    }
    LMR_OR(done, divide_by_voxels(grid, x));
done:
    larmor_array_free(sum), larmor_array_free(before), larmor_array_free(images);
    return st;
}

/* The adjoint of one frame; its samples are weighted on the way. */
static larmor_status grid_frame(lmr_job *job, lmr_frame *frame, larmor_array **x)
{
    const larmor_shape image = lmr_grid_shape(&frame->grid);
    LMR_TRY(larmor_array_create(job->dev, LARMOR_C64, job->sets ? larmor_shape_append(image, job->sets) : image, x));
    LMR_TRY(weigh(frame->weights, frame->samples.kspace));
    return job->no_maps ? grid_without_maps(job, &frame->grid, &frame->samples, *x)
                        : grid_with_maps(job, &frame->grid, &frame->samples, *x);
}

/* ---- iterative methods: A and b of all frames ---- */

static larmor_status sense_of(const lmr_job *job, larmor_array *maps, const lmr_frame *frame, int toeplitz,
                              larmor_op **A)
{
    const larmor_sense_opts sense = {.traj = frame->samples.traj,
                                     .weights = frame->weights,
                                     .nufft_tol = job->eps,
                                     .effort = job->effort,
                                     .block = job->block,
                                     .toeplitz = toeplitz,
                                     .iters = lmr_normals(job)};
    return larmor_op_sense(maps, &sense, A);
}

/* A: of one frame its own operator, of several a block for each. */
static larmor_status make_operator(const lmr_job *job, const lmr_frame *frames, int count, larmor_op **A,
                                   int *toeplitz)
{
    *A = NULL;
    larmor_array *maps = NULL;
    larmor_op **ops = calloc((size_t)count, sizeof *ops);
    larmor_status st;
    if (!ops) LMR_OR(done, LMR_NO_MEMORY());
    LMR_OR(done, larmor_array_convert(job->maps, lmr_job_precision(job), &maps));
    for (int i = 0; i < count; i++) { /* what lost for the first frame is not made for the others */
        const int lost = i && !larmor_sense_uses_toeplitz(ops[0]);
        LMR_OR(done, sense_of(job, maps, &frames[i], lost ? -1 : job->toeplitz, &ops[i]));
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
    LMR_OR(done, larmor_array_reshape(from, LARMOR_SHAPE(count), &line));
    LMR_OR(done, larmor_array_slice(to, first, count, &part));
    st = larmor_copy(line, part);
done:
    larmor_array_free(part), larmor_array_free(line);
    return st;
}

/* b, in A's order: the samples of frame after frame. */
static larmor_status gather(const lmr_job *job, const lmr_frame *frames, int count, larmor_op *A, larmor_array **b)
{
    const larmor_dtype dtype = lmr_job_precision(job);
    const larmor_shape shape = larmor_op_out_shape(A);
    if (count == 1) return larmor_array_convert(frames[0].samples.kspace, dtype, b);
    larmor_array *line = NULL, *one = NULL;
    int64_t first = 0;
    larmor_status st;
    *b = NULL;
    LMR_OR(done, larmor_array_create(job->dev, dtype, LARMOR_SHAPE(larmor_shape_count(shape)), &line));
    for (int i = 0; i < count; i++) {
        larmor_array_free(one), one = NULL;
        LMR_OR(done, larmor_array_convert(frames[i].samples.kspace, dtype, &one));
        LMR_OR(done, put(one, line, first));
        first += larmor_array_count(one);
    }
    st = larmor_array_reshape(line, shape, b);
done:
    larmor_array_free(one), larmor_array_free(line);
    return st;
}

/* The points of all frames as one readout [nd, total, 1], and weights that make them one frame's: its density, or 1, over
 * the number of frames. */
static larmor_status join(const lmr_job *job, const lmr_frame *frames, int count, larmor_array **traj,
                          larmor_array **weights)
{
    const int64_t nd = frames[0].grid.ndim;
    larmor_array *points = NULL, *factors = NULL, *one = NULL;
    larmor_status st;
    int64_t total = 0, first = 0;
    for (int i = 0; i < count; i++) total += larmor_array_count(frames[i].samples.traj) / nd;
    LMR_OR(done, larmor_array_create(job->dev, LARMOR_F64, LARMOR_SHAPE(nd * total), &points));
    LMR_OR(done, larmor_array_create(job->dev, LARMOR_F64, LARMOR_SHAPE(total), &factors));
    LMR_OR(done, larmor_fill(factors, 1 / (double)count));
    for (int i = 0; i < count; i++) {
        larmor_array_free(one), one = NULL;
        LMR_OR(done, larmor_array_convert(frames[i].samples.traj, LARMOR_F64, &one));
        LMR_OR(done, put(one, points, nd * first));
        first += larmor_array_count(one) / nd;
    }
    LMR_OR(done, larmor_array_reshape(points, LARMOR_SHAPE(nd, total, 1), traj));
    st = larmor_array_reshape(factors, LARMOR_SHAPE(total, 1), weights);
done:
    larmor_array_free(one), larmor_array_free(factors), larmor_array_free(points);
    return st;
}

/* The circulant of one frame; that of a series is of the mean of its frames; NULL if none is wanted. */
static larmor_status circulant_of(const lmr_job *job, const lmr_frame *frames, int count, larmor_lambda_from origin,
                                  larmor_circulant **C)
{
    const larmor_shape shape = lmr_grid_shape(&frames[0].grid);
    larmor_array *maps = NULL, *traj = NULL, *weights = NULL;
    larmor_status st;
    *C = NULL;
    if (job->sets || (job->precondition < 0 && origin != LARMOR_LAMBDA_FROM_DATA)) return LARMOR_OK;
    LMR_OR(done, larmor_array_convert(job->maps, lmr_job_precision(job), &maps));
    if (count > 1) {
        LMR_OR(done, join(job, frames, count, &traj, &weights));
    } else {
        traj = larmor_array_ref(frames[0].samples.traj);
        weights = larmor_array_ref(frames[0].weights);
    }
    st = larmor_circulant_create(maps, traj, weights, shape, lmr_job_precision(job), C);
done:
    larmor_array_free(weights), larmor_array_free(traj), larmor_array_free(maps);
    return st;
}

/* ---- noise ---- */

/* Numbers like b's, with the root of weights, one array for each frame: white noise, or ones for a deviation below 0. */
static larmor_status like_data(const lmr_job *job, const lmr_frame *frames, larmor_array *const *weights, int count,
                               const larmor_array *b, double deviation, larmor_array **out)
{
    const larmor_shape shape = larmor_array_shape(b);
    larmor_array *line = NULL, *one = NULL;
    int64_t first = 0;
    larmor_status st;
    *out = NULL;
    LMR_OR(done, larmor_array_create(job->dev, larmor_array_dtype(b), shape, out));
    LMR_OR(done, larmor_array_reshape(*out, LARMOR_SHAPE(larmor_shape_count(shape)), &line));
    for (int i = 0; i < count; i++) {
        const larmor_shape own = larmor_array_shape(frames[i].samples.kspace);
        LMR_OR(done, larmor_array_create(job->dev, larmor_array_dtype(b), own, &one));
        if (deviation >= 0)
            LMR_OR(done, larmor_noise_fill(one, deviation, SEED + (uint64_t)i));
        else
            LMR_OR(done, larmor_fill(one, 1));
        LMR_OR(done, larmor_sense_weigh(weights[i], one));
        LMR_OR(done, put(one, line, first));
        first += larmor_array_count(one);
        larmor_array_free(one), one = NULL;
    }
done:
    larmor_array_free(one), larmor_array_free(line);
    return st;
}

static larmor_status sample_noise(const lmr_job *job, const lmr_frame *frames, int count, const larmor_array *b,
                                  double deviation, larmor_array **noise)
{
    larmor_array **weights = calloc((size_t)count, sizeof *weights);
    if (!weights) return LMR_NO_MEMORY();
    for (int i = 0; i < count; i++) weights[i] = frames[i].weights;
    const larmor_status st = like_data(job, frames, weights, count, b, deviation, noise);
    free(weights);
    return st;
}

/* Whitened data have noise of deviation 1; of others it is measured, before they are weighted. */
static larmor_status noise_level(const lmr_job *job, const lmr_frame *frame, double *deviation)
{
    *deviation = 1;
    return job->whitening ? LARMOR_OK : larmor_noise_level(frame->samples.kspace, frame->samples.traj, deviation);
}

/* The norm of the noise in the image, about: M A^H e. */
static larmor_status image_noise(larmor_op *A, larmor_op *M, const larmor_array *noise, double *norm)
{
    larmor_array *x = NULL, *y = NULL;
    larmor_status st;
    LMR_OR(done, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &x));
    LMR_OR(done, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &y));
    LMR_OR(done, larmor_op_adjoint(A, noise, x));
    LMR_OR(done, larmor_op_forward(M, x, y));
    st = larmor_nrm2(y, norm);
done:
    larmor_array_free(y), larmor_array_free(x);
    return st;
}

/* ---- the weight of an earlier image ---- */

static double data_of(const lmr_frame *frames, int count)
{
    double data = 0;
    for (int i = 0; i < count; i++) data += (double)larmor_array_count(frames[i].samples.kspace);
    return data;
}

static larmor_lambda_from origin_of(const lmr_job *job, const lmr_frame *frames, int count)
{
    const lmr_weight *known = &job->chosen;
    if (job->choose != LARMOR_LAMBDA_AUTO) return LARMOR_LAMBDA_FROM_CALLER;
    if (!lmr_chooses(job)) return LARMOR_LAMBDA_FROM_NOISE;
    const double ratio = known->weight > 0 ? data_of(frames, count) / known->data : 0;
    const int alike = ratio == 1 || (known->unit > 0 && ratio < ALIKE && ratio > 1 / ALIKE);
    return alike && known->encoding == frames[0].group.encoding ? LARMOR_LAMBDA_FROM_SCAN : LARMOR_LAMBDA_FROM_DATA;
}

/* What a weight is proportional to where the noise or the number of samples differ: the power of the noise for |x|^2,
 * the deviation of the noise in A^H b for a penalty. */
static larmor_status weight_unit(const lmr_job *job, larmor_op *A, const larmor_array *noise, double *unit)
{
    larmor_array *x;
    double size;
    if (job->method == LMR_METHOD_CG) {
        LMR_TRY(larmor_nrm2(noise, &size));
        *unit = size * size / (double)larmor_array_count(noise);
        return LARMOR_OK;
    }
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &x));
    larmor_status st = larmor_op_adjoint(A, noise, x);
    if (!st) st = larmor_nrm2(x, &size);
    *unit = size / sqrt((double)larmor_array_count(x));
    larmor_array_free(x);
    return st;
}

/* Keep the weight of this image for those of the scan that follow. */
static larmor_status keep_weight(lmr_job *job, const lmr_frame *frames, int count, larmor_op *A,
                                 const larmor_array *noise, const larmor_recon_report *result)
{
    double unit;
    LMR_TRY(weight_unit(job, A, noise, &unit));
    job->chosen = (lmr_weight){.weight = result->weight,
                               .noise = result->noise,
                               .unit = unit,
                               .data = data_of(frames, count),
                               .choice = result->choice,
                               .encoding = frames[0].group.encoding};
    return LARMOR_OK;
}

/* The kept weight for this image; frames with as many samples have the very same. */
static larmor_status kept_weight(const lmr_job *job, const lmr_frame *frames, int count, larmor_op *A,
                                 const larmor_array *noise, larmor_recon_report *result)
{
    const lmr_weight *known = &job->chosen;
    double unit = known->unit;
    if (data_of(frames, count) != known->data) LMR_TRY(weight_unit(job, A, noise, &unit));
    result->choice = known->choice;
    result->weight = known->weight * (unit == known->unit ? 1 : unit / known->unit);
    return LARMOR_OK;
}

/* ---- samples that are held out ---- */

static void free_held(larmor_held_out *held)
{
    larmor_op_free(held->A);
    larmor_array_free((larmor_array *)(uintptr_t)held->factors);
    *held = (larmor_held_out){.A = NULL};
}

/* frames: copies whose weights are replaced by those of the samples that are kept. */
static larmor_status hold_out_of(const lmr_job *job, lmr_frame *frames, larmor_array **factors, int count,
                                 const larmor_circulant *C, const larmor_array *b, larmor_held_out *held)
{
    larmor_array *all = NULL;
    int toeplitz;
    for (int i = 0; i < count; i++) {
        larmor_array *kept;
        LMR_TRY(
            larmor_hold_out(frames[i].samples.traj, frames[i].weights, C, SEED + (uint64_t)i, &kept, &factors[i]));
        frames[i].weights = kept;
    }
    LMR_TRY(like_data(job, frames, factors, count, b, -1, &all));
    held->factors = all;
    return make_operator(job, frames, count, &held->A, &toeplitz);
}

static larmor_status hold_out(const lmr_job *job, const lmr_frame *frames, int count, const larmor_circulant *C,
                              const larmor_array *b, larmor_held_out *held)
{
    lmr_frame *own = calloc((size_t)count, sizeof *own);
    larmor_array **factors = calloc((size_t)count, sizeof *factors);
    larmor_status st = own && factors ? LARMOR_OK : LMR_NO_MEMORY();
    if (!st) memcpy(own, frames, (size_t)count * sizeof *own);
    if (!st) st = hold_out_of(job, own, factors, count, C, b, held);
    for (int i = 0; own && factors && i < count; i++) {
        if (own[i].weights != frames[i].weights) larmor_array_free(own[i].weights);
        larmor_array_free(factors[i]);
    }
    free(own), free(factors);
    return st;
}

/* ---- solutions ---- */

/* What the iterative methods share. */
typedef struct problem {
    larmor_op *A;
    larmor_array *b, *noise; /* noise: a sample of it */
    larmor_circulant *C;     /* or NULL */
    larmor_held_out held;    /* where the weight is chosen */
    larmor_array *x;
} problem;

/* At a given weight: to a tenth of the noise in the image, where nothing else is asked for. */
static larmor_status solve_cg(const lmr_job *job, const problem *p, larmor_solve_opts *o, larmor_report *report)
{
    larmor_op *M = NULL;
    larmor_status st = LARMOR_OK;
    double norm;
    if (p->C) LMR_OR(done, larmor_circulant_inverse(p->C, o->lambda, NULL, 0, &M));
    if (p->C && p->noise && o->tol == 0) {
        LMR_OR(done, image_noise(p->A, M, p->noise, &norm));
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

/* 1 if the weight is that expected from the noise, or in units of it. */
static int by_noise(const lmr_job *job, const larmor_recon_report *result)
{
    return job->choose == LARMOR_LAMBDA_NOISE || result->lambda_from == LARMOR_LAMBDA_FROM_NOISE;
}

/* The weight as result->lambda_from says; r: NULL for conjugate gradients. A kept weight is there already. */
static larmor_status find_weight(const lmr_job *job, const problem *p, const larmor_regulariser *r, double unit,
                                 const larmor_solve_opts *solve, larmor_recon_report *result)
{
    if (result->lambda_from == LARMOR_LAMBDA_FROM_DATA) {
        LMR_TRY(larmor_choose_weight(p->A, p->b, &p->held, p->C, r, solve, &result->choice));
        result->weight = result->choice.weight;
    } else if (by_noise(job, result)) {
        LMR_TRY(larmor_weight_of_noise(p->A, p->b, p->noise, r, &result->weight));
        if (job->choose == LARMOR_LAMBDA_NOISE) result->weight *= job->lambda;
    } else if (job->choose == LARMOR_LAMBDA_RELATIVE) {
        result->weight = job->lambda * unit;
    }
    return LARMOR_OK;
}

static larmor_status conjugate_gradients(const lmr_job *job, const problem *p, larmor_recon_report *result)
{
    larmor_solve_opts solve = {.max_iter = job->iters, .tol = job->tol, .monitor = lmr_monitor, .user = job->events};
    LMR_TRY(larmor_opnorm(p->A, POWER_STEPS, &result->largest));
    LMR_TRY(find_weight(job, p, NULL, result->largest, &solve, result));
    result->lambda = result->largest > 0 ? result->weight / result->largest : 0;
    solve.lambda = result->weight;
    return solve_cg(job, p, &solve, &result->solver);
}

static larmor_status regularised(const lmr_job *job, int frames, const problem *p, larmor_recon_report *result)
{
    const larmor_regulariser_opts opts = lmr_regulariser_opts(job, frames);
    larmor_solve_opts solve = {.max_iter = job->iters, .tol = job->tol, .monitor = lmr_monitor, .user = job->events};
    larmor_regulariser *r = NULL;
    larmor_status st;
    double unit = 0;
    LMR_OR(done, larmor_regulariser_create(job->dev, job->regulariser, &opts, larmor_op_dtype(p->A),
                                           larmor_op_in_shape(p->A), &r));
    LMR_OR(done, larmor_lambda_unit(p->A, p->b, &unit));
    LMR_OR(done, find_weight(job, p, r, unit, &solve, result));
    if (job->choose != LARMOR_LAMBDA_RELATIVE) LMR_OR(done, larmor_regulariser_set_weight(r, result->weight));
    solve.circulant = job->precondition < 0 ? NULL : p->C;
    st = larmor_regularised(p->A, p->b, r, p->x, &solve, &result->solver);
    result->weight = larmor_regulariser_weight(r);
    result->lambda = unit > 0 ? result->weight / unit : 0;
done:
    larmor_regulariser_free(r);
    return st;
}

/* An iterate that a failing solver gave back is an image, if there is anything in it. */
static larmor_status forgive(larmor_status st, const larmor_array *x, larmor_recon_report *result)
{
    double size;
    if (st != LARMOR_ERR_NUMERIC || result->solver.iters == 0) return st;
    if (larmor_nrm2(x, &size) || !isfinite(size) || size == 0) return st;
    result->doubtful = 1, result->status = st;
    snprintf(result->message, sizeof result->message, "%s", larmor_last_error());
    return LARMOR_OK;
}

/* The samples have the root of the weights that A has; noise is that before they were multiplied by it. */
static larmor_status iterate(lmr_job *job, const lmr_frame *frames, int count, double noise, larmor_array **x,
                             larmor_recon_report *result)
{
    problem p = {.A = NULL};
    larmor_status st;
    result->lambda_from = origin_of(job, frames, count);
    if (job->sets && result->lambda_from == LARMOR_LAMBDA_FROM_DATA)
        result->lambda_from = LARMOR_LAMBDA_FROM_NOISE; /* the first set had none */
    result->noise = result->lambda_from == LARMOR_LAMBDA_FROM_SCAN ? job->chosen.noise : noise;
    LMR_OR(done, circulant_of(job, frames, count, result->lambda_from,
                              &p.C)); /* first, for what it takes while it is made */
    LMR_OR(done, make_operator(job, frames, count, &p.A, &result->toeplitz));
    LMR_OR(done, gather(job, frames, count, p.A, &p.b));
    LMR_OR(done, larmor_array_create(job->dev, larmor_op_dtype(p.A), larmor_op_in_shape(p.A), x));
    p.x = *x;
    LMR_OR(done, sample_noise(job, frames, count, p.b, result->noise, &p.noise));
    if (result->lambda_from == LARMOR_LAMBDA_FROM_SCAN)
        LMR_OR(done, kept_weight(job, frames, count, p.A, p.noise, result));
    if (result->lambda_from == LARMOR_LAMBDA_FROM_DATA) {
        LMR_OR(done, lmr_enter(job->events, "choosing lambda"));
        LMR_OR(done, hold_out(job, frames, count, p.C, p.b, &p.held));
        p.held.noise = p.noise;
    }
    st = job->method == LMR_METHOD_CG ? conjugate_gradients(job, &p, result) : regularised(job, count, &p, result);
    result->preconditioned = p.C && job->precondition >= 0;
    if (!st && result->lambda_from == LARMOR_LAMBDA_FROM_DATA)
        st = keep_weight(job, frames, count, p.A, p.noise, result);
    if (st == LARMOR_STOPPED && result->solver.iters > 0) result->interrupted = 1, st = LARMOR_OK;
    st = forgive(st, *x, result);
done:
    free_held(&p.held);
    larmor_circulant_free(p.C);
    larmor_array_free(p.noise), larmor_array_free(p.b), larmor_op_free(p.A);
    return st;
}

/* The weight from an image of the first set of maps, which sees nearly all of the object; its frequencies have the
 * circulant that the choice needs. Images with other numbers of samples choose for themselves. */
static larmor_status choose_by_first_set(lmr_job *job, const lmr_frame *frame, double noise,
                                         larmor_recon_report *result)
{
    lmr_job one = *job;
    larmor_recon_report first = *result;
    larmor_array *x = NULL;
    one.sets = 0, one.precondition = 0;
    one.iters = 1, one.tol = 0; /* of the run after the choice, whose image is not kept */
    LMR_TRY(lmr_one_of(job->maps, 0, &one.maps));
    job->events->trial = 1;
    const larmor_status st = iterate(&one, frame, 1, noise, &x, &first);
    job->events->trial = 0;
    larmor_array_free(x), larmor_array_free(one.maps);
    LMR_TRY(st);
    if (first.interrupted) return LMR_FAIL(LARMOR_STOPPED, "stopped by the caller while lambda was chosen");
    job->chosen = one.chosen;
    job->chosen.unit = 0;
    return LARMOR_OK;
}

larmor_status lmr_solve_frames(lmr_job *job, lmr_frame *frames, int count, larmor_array **x,
                               larmor_recon_report *result)
{
    *x = NULL;
    if (job->method == LMR_METHOD_GRID) return grid_frame(job, frames, x);
    double noise;
    LMR_TRY(noise_level(job, &frames[0], &noise));
    for (int i = 0; i < count; i++) LMR_TRY(larmor_sense_weigh(frames[i].weights, frames[i].samples.kspace));
    const int by_first_set = job->sets && origin_of(job, frames, count) == LARMOR_LAMBDA_FROM_DATA;
    if (by_first_set) LMR_TRY(choose_by_first_set(job, frames, noise, result));
    LMR_TRY(iterate(job, frames, count, noise, x, result));
    if (by_first_set && result->lambda_from == LARMOR_LAMBDA_FROM_SCAN) result->lambda_from = LARMOR_LAMBDA_FROM_DATA;
    return LARMOR_OK;
}

larmor_regulariser_opts lmr_regulariser_opts(const lmr_job *job, int frames)
{
    /* the images of several sets of maps are frames that nothing couples */
    larmor_regulariser_opts opts = {.series = frames > 1 || job->sets, .time = job->sets ? -1 : job->time_weight};
    if (job->choose == LARMOR_LAMBDA_RELATIVE) opts.lambda = job->lambda > 0 ? job->lambda : -1;
    for (int d = 0; d < 3; d++) opts.block[d] = job->llr_block;
    return opts;
}
