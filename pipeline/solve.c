/* The iterative methods: conjugate gradients and regularised SENSE, at a weight that is found first.
 * SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/fold.h"
#include "check/misfit.h"
#include "core/owned.h"
#include "core/ranks/ranks.h"
#include "core/status.h"
#include "pipeline/cache.h"
#include "pipeline/gridding.h"
#include "pipeline/method.h"
#include "pipeline/partial.h"
#include "pipeline/problem.h"
#include "pipeline/time_weight.h"
#include "pipeline/weight.h"
#include "scan/cartesian.h"
#include "schedule/checkpoint.h"
#include "schedule/slab_sums.h"

#define TIKHONOV_FLOOR 1e-3      /* unit of lambda: a weight that only keeps the problem regular */
#define WEIGHT_ERASES_IMAGE 10.0 /* unit of lambda: a weight that leaves next to nothing of the image */
/* Part of the energy of the samples held out: an image that explains less predicts nothing. The least of 228 scenes
 * (scripts/scenes.py, seed 33) was .027. */
#define MIN_EXPLAINED_PART 1e-3
/* Change of the image by further steps over the noise in it, and |M r| over |M A^H e|, at most. Images are then
 * .02 of their noise from the solution in the mean, .07 at most on the grid of docs/reference/solvers.md. */
#define ERROR_OVER_NOISE 0.05
/* Change of the image over the image, at most, where there is next to no noise: maps and NUFFTs are no better. */
#define MIN_REL_CHANGE 1e-4
/* Change of an image with a penalty by further steps, at most, over the noise in it at a weight of
 * NOISE_WEIGHT_OVER_MEAN times the mean eigenvalue of A^H A, and over the image. Tuned on 79 images by tv
 * (scripts/scenes.py, seeds 81 and 82, --quick): with 0.2 of the noise the error was 1.013 times that at the usual
 * tolerance at most. */
#define PENALTY_ERROR_OVER_NOISE 0.15
#define PENALTY_MIN_REL_CHANGE 3e-3
#define NOISE_WEIGHT_OVER_MEAN 0.3
/* Norm of an image minus its mean, over its norm: below, the image is a constant. On the scans of
 * tests/pipeline/test_misfit.c and a series of spokes of a phantom images that a penalty has erased have 1e-5, others
 * more than 0.1. */
#define MAX_CONSTANT_VARIATION 1e-3
/* The same for tgv, whose erased images have slopes: 0.06 on the same scan, and 0.56 of an image. */
#define MAX_CONSTANT_VARIATION_TGV 0.1
/* Predicted part of the samples held out, below which one coil's samples do not predict one another: 1e-6 on a grid,
 * .67 for 1000 spokes in 3D. */
#define MIN_PREDICTED_PART 0.02
/* The noise in the image of a fully sampled grid, relative to the image, up to which --method auto is one FFT. */
#define MAX_LINEAR_NOISE 0.02
/* The last change of an image, relative to it, beyond which a weight that was chosen is too small for the
 * iterations there are. Of 160 images by tv and wavelet (scripts/scenes.py, seeds 61 and 62, --quick) 12 ended so:
 * all had less error at 3.2 times the weight, and 11 at 10 times, down to a sixth. Of 18 by tgv 5 had more at 3.2
 * times, and of lines on a grid, where the split settles later than the image, 3 of 3. */
#define MAX_SETTLED_CHANGE 1e-2
#define RAISE_FACTOR 4.      /* from one weight to the next that is tried */
#define MAX_ENLARGEMENT 1.01 /* of the encoded field of view, for a grid on which samples are 1/FOV apart */

enum {
    POWER_STEPS = 6, /* lambda is a weight: a few per cent of its unit do not matter */
    MOST_RAISED = 5, /* times; the weight is then 1000 times the chosen one */
    /* Next to a hole in the centre of k-space, steps of conjugate gradients in one of the split: with 2, as
     * elsewhere, 3 of 6 scans of half-spokes by one coil had not settled after 300 of those, with 15 all had after
     * 40. */
    INNER_OF_HOLE = 15,
    MOST_ITERS = 1000, /* with the preconditioner; 174 at most on the grid of docs/reference/solvers.md */
};

/* Whitened data have noise of a known deviation; of others it is measured, before they are weighted. */
static larmor_status noise_level(const lmr_job *job, const lmr_frame *frame, double *deviation)
{
    const lmr_cartesian *c = &frame->cartesian;
    *deviation = job->facts->whitening ? c->deviation : c->level * job->found.scale;
    if (*deviation > 0) return LARMOR_OK;
    return larmor_noise_level(frame->samples.kspace, frame->samples.traj, deviation);
}

/* What the iterative methods share. */
typedef struct problem {
    const lmr_job *job;
    const lmr_frame *frames;
    int count;
    larmor_op *A;
    larmor_array *b, *noise; /* noise: a sample of it, made where it is needed: */
    double deviation;        /* of its numbers */
    larmor_circulant *C;     /* or NULL */
    larmor_held_out held;    /* where the weight is chosen */
    int is_searched;         /* 1: the weight has been chosen with the method or the weight in time */
    larmor_array *x;
} problem;

static lmr_searched searched(const problem *p, int frames, const larmor_solve_opts *solve)
{
    return (lmr_searched){p->A, p->b, &p->held, p->C, solve, &p->frames->grid, frames, 0};
}

static larmor_status need_noise(const lmr_job *job, problem *p)
{
    return p->noise ? LARMOR_OK : lmr_sample_noise(job, p->frames, p->count, p->b, p->deviation, &p->noise);
}

/* The coil images of the noise, which depend on no maps: those of an earlier image, or new ones. */
static larmor_status noise_images(const lmr_job *job, problem *p, larmor_array **images)
{
    lmr_cached *cached = p->frames->cached;
    const double by[2] = {lmr_density_key(job, p->frames), p->deviation};
    LMR_TRY(lmr_cached_take(cached, LMR_CACHED_NOISE, by, job->facts->dev, images));
    if (*images) return LARMOR_OK;
    const larmor_shape shape = larmor_shape_append(lmr_grid_shape(&p->frames->grid), job->facts->coils);
    LMR_TRY(need_noise(job, p));
    LMR_TRY(larmor_array_create(job->facts->dev, larmor_op_dtype(p->A), shape, images));
    LMR_TRY(larmor_sense_coil_images(p->A, p->noise, *images));
    lmr_cached_put(cached, LMR_CACHED_NOISE, by, *images);
    return LARMOR_OK;
}

/* x <- A^H e */
static larmor_status fold_noise(const lmr_job *job, problem *p, larmor_array *x)
{
    LMR_OWNED(larmor_array) *images = NULL;
    if (!lmr_problem_is_plain(job, p->frames, p->count)) {
        LMR_TRY(need_noise(job, p));
        return larmor_op_adjoint(p->A, p->noise, x);
    }
    LMR_TRY(noise_images(job, p, &images));
    return larmor_sense_combine(p->A, images, x);
}

/* The norm of the noise in the image, about, and that of M A^H e, which residuals are compared with. */
static larmor_status image_noise(const lmr_job *job, problem *p, larmor_op *M, double weight, double *noise,
                                 double *by_m)
{
    const larmor_op *A = p->A;
    LMR_OWNED(larmor_array) *x = NULL, *y = NULL;
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &x));
    LMR_TRY(fold_noise(job, p, x));
    LMR_TRY(larmor_circulant_noise(p->C, weight, x, noise));
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &y));
    LMR_TRY(larmor_op_forward(M, x, y));
    return larmor_nrm2(y, by_m);
}

/* ---- solutions ---- */

/* Reports a step to the listener, and writes the checkpoint when it is due. */
static int watch(void *user, const larmor_progress *progress)
{
    const lmr_job *job = *(const lmr_job **)user;
    const int stop = lmr_slabs_stop(job, lmr_monitor(job->events, progress));
    lmr_keep_step(job, progress->state, stop);
    return stop;
}

static larmor_solve_opts solve_opts(problem *p)
{
    const lmr_job *job = p->job;
    return (larmor_solve_opts){.max_iter = job->settings->opts.iters,
                               .tol = job->settings->opts.tol,
                               .inner = job->facts->fills_hole ? INNER_OF_HOLE : 0,
                               .monitor = watch,
                               .resume = lmr_keep_resume,
                               .user = &p->job};
}

/* The norm of the noise in the samples; 0 where it is not known. */
static larmor_status samples_noise(const lmr_job *job, const problem *p, double *norm)
{
    double count;
    *norm = 0;
    if (p->noise) return larmor_nrm2(p->noise, norm);
    if (job->settings->opts.weighted) return LARMOR_OK;
    LMR_TRY(lmr_count_all(p->b, &count));
    *norm = p->deviation * sqrt(2 * count);
    return LARMOR_OK;
}

/* The mean eigenvalue of A^H A: |A v|^2 / |v|^2 of a random image v. p->x, zeros before, is zeros again. */
static larmor_status mean_eigenvalue(problem *p, double *mean)
{
    LMR_OWNED(larmor_array) *v = NULL;
    double size, both[2];
    LMR_TRY(larmor_array_create(larmor_op_device(p->A), larmor_op_dtype(p->A), larmor_op_in_shape(p->A), &v));
    LMR_TRY(larmor_noise_fill(v, 1, LMR_NOISE_SEED));
    LMR_TRY(larmor_op_normal(p->A, v, p->x));
    LMR_TRY(larmor_nrm2(v, &size));
    LMR_TRY(larmor_dot(v, p->x, both));
    *mean = size > 0 ? fmax(0, both[0]) / (size * size) : 0;
    return larmor_zero(p->x);
}

/* Without a preconditioner iterations grow as the root of the condition: 1.4 to 1.6 over that of lambda for koosh of
 * 16^3 to 64^3 voxels, lambda 8e-6 and 1e-5. */
static int most_iters(const larmor_op *M, double lambda)
{
    const double slow = 4;
    if (M || !(lambda > 0)) return MOST_ITERS;
    return (int)fmin(fmax(MOST_ITERS, slow / sqrt(lambda)), 10 * MOST_ITERS);
}

/* The same as image_noise without a circulant, of |e| = norm: as if A^H A had its mean eigenvalue alone. */
static larmor_status image_noise_of_mean(problem *p, double weight, double norm, double *noise)
{
    double mean, voxels, samples;
    LMR_TRY(mean_eigenvalue(p, &mean));
    LMR_TRY(lmr_count_all(p->x, &voxels));
    LMR_TRY(lmr_count_all(p->b, &samples));
    if (mean > 0) *noise = norm * sqrt(voxels / samples * mean) / (mean + weight);
    return LARMOR_OK;
}

/* About the norm of the noise in an image with a penalty; 0 where it is not known. */
static larmor_status penalised_noise(const lmr_job *job, problem *p, double *noise)
{
    LMR_OWNED(larmor_array) *x = NULL;
    double mean;
    *noise = 0;
    if (!p->C) return LARMOR_OK;
    LMR_TRY(mean_eigenvalue(p, &mean));
    LMR_TRY(larmor_array_create(job->facts->dev, larmor_op_dtype(p->A), larmor_op_in_shape(p->A), &x));
    LMR_TRY(fold_noise(job, p, x));
    return larmor_circulant_noise(p->C, NOISE_WEIGHT_OVER_MEAN * mean, x, noise);
}

/* At a given weight: to a twentieth of the noise in the image, where nothing else is asked for. */
static larmor_status solve_cg(const lmr_job *job, problem *p, larmor_solve_opts *o, larmor_recon_report *result)
{
    LMR_OWNED(larmor_op) *M = NULL;
    double noise = 0, by_m = 0, size;
    if (p->C)
        LMR_TRY(lmr_problem_inverse(p->C, o->lambda, lmr_grid_shape(&p->frames->grid).ndim, larmor_op_in_shape(p->A),
                                    &M));
    if (o->tol == 0) {
        LMR_TRY(samples_noise(job, p, &o->noise));
        if (p->C)
            LMR_TRY(image_noise(job, p, M, o->lambda, &noise, &by_m));
        else
            LMR_TRY(image_noise_of_mean(p, o->lambda, o->noise, &noise));
        o->change = ERROR_OVER_NOISE * noise;
        o->relative = MIN_REL_CHANGE;
        o->error = ERROR_OVER_NOISE * by_m;
        o->judge = M;
        o->tol = -1;
    }
    o->precondition = job->facts->precondition < 0 ? NULL : M;
    if (o->max_iter == 0) o->max_iter = most_iters(o->precondition, result->lambda);
    LMR_TRY(larmor_cg(p->A, p->b, p->x, o, &result->solver));
    if (noise > 0 && !larmor_nrm2(p->x, &size) && size > 0) result->image_noise = noise / size;
    return LARMOR_OK;
}

/* Of the weight that the noise lets expect, where samples of one coil on a grid predict no others. On 26 such
 * scenes (scripts/scenes.py, seeds 201 to 215: lines and Poisson discs of R = 2, SNR 5 to none) tv has 1.07 times
 * the least error of three methods and six weights there (1.31 at most), 1.11 at the whole, 1.23 at the weight by
 * samples held out. */
#define ONE_COIL_WEIGHT_FACTOR 0.7

/* 1 if the weight is that expected from the noise, or in units of it. */
static int by_noise(const lmr_job *job, const larmor_recon_report *result)
{
    return job->settings->opts.lambda_mode == LARMOR_LAMBDA_NOISE || result->lambda_from == LARMOR_LAMBDA_FROM_NOISE;
}

/* 1 if no image predicts the samples better than zeros do. */
static int is_unpredicted(const problem *p, const larmor_choice *choice, double unit)
{
    return choice->weight > WEIGHT_ERASES_IMAGE * unit || (p->held.A && choice->misfit > 1 - MIN_EXPLAINED_PART);
}

/* The weight as result->lambda_from says; r: NULL for conjugate gradients. A kept weight is there already. */
static larmor_status search_weight(const lmr_job *job, problem *p, const larmor_regulariser *r, double unit,
                                   const larmor_solve_opts *solve, larmor_recon_report *result)
{
    if (result->lambda_from == LARMOR_LAMBDA_FROM_DATA) {
        if (!p->is_searched) LMR_TRY(larmor_choose_weight(p->A, p->b, &p->held, p->C, r, solve, &result->choice));
        result->weight = result->choice.weight;
        if (job->facts->coils == 1 && result->choice.predicted < MIN_PREDICTED_PART) {
            result->lambda_from = LARMOR_LAMBDA_NONE;
            result->weight = TIKHONOV_FLOOR * unit;
        } else if (is_unpredicted(p, &result->choice, unit)) {
            result->lambda_from = LARMOR_LAMBDA_UNPREDICTED;
            LMR_TRY(need_noise(job, p));
            LMR_TRY(larmor_weight_of_noise(p->A, p->b, p->noise, r, &result->weight));
        }
    } else if (result->lambda_from == LARMOR_LAMBDA_NONE) {
        result->weight = TIKHONOV_FLOOR * unit;
    } else if (result->lambda_from == LARMOR_LAMBDA_OF_ONE_COIL) {
        LMR_TRY(need_noise(job, p));
        LMR_TRY(larmor_weight_of_noise(p->A, p->b, p->noise, r, &result->weight));
        result->weight *= ONE_COIL_WEIGHT_FACTOR;
    } else if (by_noise(job, result)) {
        LMR_TRY(need_noise(job, p));
        LMR_TRY(larmor_weight_of_noise(p->A, p->b, p->noise, r, &result->weight));
        if (job->settings->opts.lambda_mode == LARMOR_LAMBDA_NOISE) result->weight *= job->settings->opts.lambda;
    } else if (job->settings->opts.lambda_mode == LARMOR_LAMBDA_RELATIVE) {
        result->weight = job->settings->opts.lambda * unit;
    }
    return LARMOR_OK;
}

static larmor_status find_weight(const lmr_job *job, problem *p, const larmor_regulariser *r, double unit,
                                 const larmor_solve_opts *solve, larmor_recon_report *result)
{
    const lmr_unfinished *before = lmr_keep_unfinished(job);
    if (before) {
        result->weight = before->report.weight;
        result->choice = before->report.choice;
    } else {
        LMR_TRY(search_weight(job, p, r, unit, solve, result));
    }
    lmr_keep_report(job, result);
    return LARMOR_OK;
}

static larmor_status conjugate_gradients(const lmr_job *job, problem *p, larmor_recon_report *result)
{
    larmor_solve_opts solve = solve_opts(p);
    if (result->largest == 0) LMR_TRY(larmor_opnorm(p->A, POWER_STEPS, &result->largest));
    LMR_TRY(find_weight(job, p, NULL, result->largest, &solve, result));
    result->lambda = result->largest > 0 ? result->weight / result->largest : 0;
    solve.lambda = result->weight;
    return solve_cg(job, p, &solve, result);
}

/* An image that follows another one is that one and a difference: sign * A times it is added to the samples. */
static larmor_status add_before(const lmr_job *job, const problem *p, double sign)
{
    LMR_OWNED(larmor_array) *samples = NULL;
    LMR_TRY(larmor_array_create(job->facts->dev, larmor_array_dtype(p->b), larmor_array_shape(p->b), &samples));
    LMR_TRY(larmor_op_forward(p->A, job->found.follow.image, samples));
    return larmor_axpby(sign, samples, 1, p->b);
}

/* min |A x - b|^2 + weight |x - before|^2, in the difference from the image before. */
static larmor_status follow_before(const lmr_job *job, problem *p, larmor_recon_report *result)
{
    result->largest = job->found.follow.largest;
    if (!job->found.follow.image) return conjugate_gradients(job, p, result);
    LMR_TRY(add_before(job, p, -1));
    LMR_TRY(conjugate_gradients(job, p, result));
    return larmor_axpby(1, job->found.follow.image, 1, p->x);
}

/* constant <- 1 if each of the images, or of the coefficients, has one value. */
static larmor_status look_for_constant(const lmr_job *job, const problem *p, int *constant)
{
    const int grid = lmr_grid_shape(&p->frames->grid).ndim, ndim = larmor_array_shape(p->x).ndim;
    const int64_t images = ndim > grid ? larmor_array_shape(p->x).dim[ndim - 1] : 1;
    larmor_array *ones = NULL, *one = NULL;
    larmor_status st = LARMOR_OK;
    const double most = strcmp(job->found.method.name, "tgv") ? MAX_CONSTANT_VARIATION : MAX_CONSTANT_VARIATION_TGV;
    *constant = 1;
    for (int64_t i = 0; i < images && *constant && !st; i++) {
        double size = 0, sum[2] = {0}, voxels = 0;
        if (ndim > grid)
            st = lmr_one_of(p->x, i, &one);
        else
            one = larmor_array_ref(p->x);
        if (!st && !ones)
            st = larmor_array_create(job->facts->dev, larmor_array_dtype(one), larmor_array_shape(one), &ones);
        if (!st) st = larmor_fill(ones, 1);
        if (!st) st = larmor_nrm2(one, &size);
        if (!st) st = larmor_dot(ones, one, sum);
        if (!st) st = lmr_count_all(one, &voxels);
        const double around = size * size - (sum[0] * sum[0] + sum[1] * sum[1]) / fmax(voxels, 1);
        *constant = around <= most * most * size * size;
        larmor_array_free(one);
        one = NULL;
    }
    larmor_array_free(ones);
    return st;
}

/* A weight that was chosen and erases the image predicted nothing: the one expected from the noise takes its
 * place. */
static larmor_status solve_again(const lmr_job *job, problem *p, larmor_regulariser *r, larmor_solve_opts *solve,
                                 larmor_recon_report *result)
{
    result->lambda_from = LARMOR_LAMBDA_UNPREDICTED;
    LMR_TRY(need_noise(job, p));
    LMR_TRY(larmor_weight_of_noise(p->A, p->b, p->noise, r, &result->weight));
    LMR_TRY(larmor_regulariser_set_weight(r, result->weight));
    LMR_TRY(larmor_zero(p->x));
    solve->resume = NULL;
    solve->resolve = 0;
    LMR_TRY(larmor_regularised(p->A, p->b, r, p->x, solve, &result->solver));
    return look_for_constant(job, p, &result->constant);
}

/* 1 if the weight was chosen and may be raised once more. */
static int may_be_raised(const lmr_job *job, const problem *p, const larmor_recon_report *result)
{
    const int is_tuned = !strcmp(job->found.method.name, "tv") || !strcmp(job->found.method.name, "wavelet");
    return is_tuned && !job->facts->fills_hole && !p->frames->cartesian.on_grid && job->settings->opts.iters == 0 &&
           job->settings->opts.tol == 0 && result->lambda_from == LARMOR_LAMBDA_FROM_DATA &&
           result->weight < pow(RAISE_FACTOR, MOST_RAISED - 0.5) * result->choice.weight;
}

/* 1 if the solver ended at its usual limit, far from the solution, or where rounding keeps it from that. */
static int is_unsettled(const larmor_report *solver)
{
    if (solver->end == LARMOR_END_PRECISION) return 1;
    return solver->end == LARMOR_END_ITERATIONS && solver->residual > MAX_SETTLED_CHANGE;
}

/* Only tv's weights were found to need raising where its penalty is not resolved. */
static int resolves(const lmr_job *job, const problem *p, const larmor_recon_report *result)
{
    return !strcmp(job->found.method.name, "tv") && may_be_raised(job, p, result);
}

/* Samples without noise have the least misfit at a weight that is hardly felt within the iterations. Frames that
 * are solved together settle later. */
static larmor_status raise_weight(const lmr_job *job, problem *p, larmor_regulariser *r, larmor_solve_opts *solve,
                                  larmor_recon_report *result)
{
    while (may_be_raised(job, p, result) && is_unsettled(&result->solver)) {
        const int before = result->solver.iters;
        result->weight *= RAISE_FACTOR;
        lmr_keep_report(job, result);
        LMR_TRY(larmor_regulariser_set_weight(r, result->weight));
        LMR_TRY(larmor_zero(p->x)); /* the image is that of the same weight from the caller */
        solve->resume = NULL;
        solve->resolve = resolves(job, p, result);
        LMR_TRY(larmor_regularised(p->A, p->b, r, p->x, solve, &result->solver));
        result->solver.iters += before;
    }
    return LARMOR_OK;
}

/* The weight in time of a series: chosen with that in space, or that of an earlier series, or of this one before
 * it was interrupted. */
static larmor_status find_time_weight(const lmr_job *job, int frames, problem *p, const larmor_solve_opts *solve,
                                      larmor_recon_report *result, double *time)
{
    const lmr_unfinished *before = lmr_keep_unfinished(job);
    const larmor_choice *choice = before ? &before->report.choice : &result->choice;
    if (!lmr_time_weight_is_open(job, frames)) return LARMOR_OK;
    if (result->lambda_from == LARMOR_LAMBDA_FROM_DATA && !before) {
        const lmr_searched series = searched(p, frames, solve);
        LMR_TRY(lmr_time_weight_choose(job, &series, &result->choice));
        p->is_searched = 1;
    }
    if (choice->time_weight > 0) *time = choice->time_weight;
    return LARMOR_OK;
}

static void warn_of_hole(const lmr_job *job, const larmor_recon_report *result)
{
    if (!job->facts->fills_hole || result->solver.end != LARMOR_END_ITERATIONS) return;
    if (result->solver.residual > MAX_SETTLED_CHANGE)
        lmr_warn(
            job->events,
            "the hole in the centre of k-space may not be filled: the last iteration changed the image by %.2g of "
            "it. More are allowed by opts.iters.",
            result->solver.residual);
}

static larmor_status regularised(const lmr_job *job, int frames, problem *p, larmor_recon_report *result)
{
    larmor_regulariser_opts opts = lmr_regulariser_opts(job, frames, &p->frames->grid);
    larmor_solve_opts solve = solve_opts(p);
    larmor_regulariser *r = NULL;
    larmor_status st;
    double unit = 0, noise = 0, size;
    LMR_OR(done, find_time_weight(job, frames, p, &solve, result, &opts.time));
    LMR_OR(done, larmor_regulariser_create(job->facts->dev, job->found.method.name, &opts, larmor_op_dtype(p->A),
                                           larmor_op_in_shape(p->A), &r));
    LMR_OR(done, larmor_lambda_unit(p->A, p->b, &unit));
    LMR_OR(done, find_weight(job, p, r, unit, &solve, result));
    if (job->settings->opts.lambda_mode != LARMOR_LAMBDA_RELATIVE)
        LMR_OR(done, larmor_regulariser_set_weight(r, result->weight));
    solve.circulant = job->facts->precondition < 0 ? NULL : p->C;
    if (frames == 1 && job->settings->opts.tol == 0 && !job->facts->slabs && !p->frames->cartesian.on_grid) {
        LMR_OR(done, penalised_noise(job, p, &noise));
        solve.change = PENALTY_ERROR_OVER_NOISE * noise;
        solve.relative = PENALTY_MIN_REL_CHANGE;
    }
    solve.resolve = frames == 1 && !job->facts->slabs && resolves(job, p, result);
    st = larmor_regularised(p->A, p->b, r, p->x, &solve, &result->solver);
    if (!st && frames == 1) st = raise_weight(job, p, r, &solve, result);
    if (!st) st = look_for_constant(job, p, &result->constant);
    if (!st && result->constant && result->lambda_from == LARMOR_LAMBDA_FROM_DATA)
        st = solve_again(job, p, r, &solve, result);
    if (noise > 0 && !larmor_nrm2(p->x, &size) && size > 0) result->image_noise = noise / size;
    result->weight = larmor_regulariser_weight(r);
    result->lambda = unit > 0 ? result->weight / unit : 0;
    if (!st) warn_of_hole(job, result);
done:
    larmor_regulariser_free(r);
    return st;
}

/* The last iterate of a failed solver is the image, unless it is zero or not finite. */
static larmor_status accept_last_iterate(larmor_status st, const larmor_array *x, larmor_recon_report *result)
{
    double size;
    if (st != LARMOR_ERR_NUMERIC || result->solver.iters == 0) return st;
    if (larmor_nrm2(x, &size) || !isfinite(size) || size == 0) return st;
    result->doubtful = 1;
    result->status = st;
    snprintf(result->message, sizeof result->message, "%s", larmor_last_error());
    return LARMOR_OK;
}

/* The image is there: without memory the misfit is not measured. Ranks go on or fail alike. */
static larmor_status try_misfit(const lmr_job *job, larmor_status st)
{
    return st == LARMOR_ERR_MEMORY && !job->facts->slabs ? LARMOR_OK : st;
}

/* How well the image explains its samples. The part of the noise that it takes up is that of an earlier image with
 * as many samples and the same weight. */
static larmor_status measure_misfit(lmr_job *job, problem *p, const larmor_array *x, larmor_recon_report *result)
{
    const int kept = result->lambda_from == LARMOR_LAMBDA_FROM_SCAN && lmr_weight_holds(job, p->frames, p->count);
    const int chosen = result->lambda_from == LARMOR_LAMBDA_FROM_DATA;
    double taken = kept ? job->found.decided.chosen.taken : 0;
    if (job->events->trial || result->interrupted || job->found.follow.on) return LARMOR_OK;
    const lmr_solved solved = {.frames = p->frames,
                               .count = p->count,
                               .A = p->A,
                               .b = p->b,
                               .x = x,
                               .C = p->C,
                               .weight = job->found.method.kind == LMR_METHOD_CG ? result->weight : -1,
                               .deviation = result->noise,
                               .noise = p->noise};
    const larmor_status st = lmr_misfit_measure(job, &solved, &taken, &result->misfit, NULL);
    if (st == LARMOR_STOPPED && !job->facts->slabs) {
        result->interrupted = 1;
        return LARMOR_OK;
    }
    LMR_TRY(try_misfit(job, st));
    if (chosen || kept) job->found.decided.chosen.taken = taken;
    return LARMOR_OK;
}

static void report_segments(const lmr_frame *frame, larmor_recon_report *result)
{
    larmor_segments_info info;
    if (!frame->segments || larmor_segments_describe(frame->segments, &info)) return;
    result->segments = info.segments;
    result->terms = result->toeplitz ? info.terms : 0;
}

/* 1 if held-out samples cannot be predicted: single-coil samples on a grid are orthogonal, and what was not sampled
 * is zero whatever the weight, which scales the image. */
static int predicts_nothing(const lmr_job *job, const lmr_frame *frames, int count)
{
    int nothing = job->facts->coils == 1 && !job->settings->opts.weighted && !job->facts->field && !job->facts->basis;
    for (int i = 0; i < count; i++) nothing &= frames[i].cartesian.on_grid && !frames[i].has_phase;
    return nothing;
}

/* 1 if the samples determine every image: all of a grid, equally often. Without the held-out samples another problem
 * would be solved, because held-out samples could not be predicted from their neighbours. */
static int determines(const lmr_job *job, const lmr_frame *frames, int count, const larmor_coverage *coverage)
{
    int all = !job->facts->basis && !lmr_is_partial(coverage);
    for (int i = 0; i < count; i++) all &= frames[i].cartesian.on_grid && frames[i].cartesian.box;
    return all;
}

/* The noise's level by what no image explains, of several coils: that measured from the samples has signal in it
 * where there is little noise. */
static larmor_status measure_noise(const lmr_job *job, const lmr_frame *frames, int count, problem *p,
                                   larmor_recon_report *result)
{
    LMR_HEAP larmor_array **none = calloc((size_t)count, sizeof *none);
    LMR_OWNED(larmor_array) *mixed = NULL;
    double factor = 1;
    if (!none) return LMR_NO_MEMORY();
    LMR_TRY(lmr_like_data(job, frames, none, count, p->b, LMR_ALTERNATING, 0, &mixed));
    LMR_TRY(larmor_noise_left(p->A, p->b, p->noise, mixed, &factor));
    LMR_TRY(larmor_axpby(factor, p->noise, 0, p->noise));
    result->noise *= factor;
    p->deviation = NAN; /* no other image's noise is this one's */
    return LARMOR_OK;
}

/* The weight is chosen by samples held out, or of a grid by noise that is added. */
static larmor_status prepare_choice(lmr_job *job, const lmr_frame *frames, int count, problem *p,
                                    larmor_recon_report *result)
{
    LMR_TRY(lmr_enter(job->events, "choosing lambda"));
    if (!determines(job, frames, count, &result->coverage)) {
        LMR_TRY(lmr_hold_out_frames(job, frames, count, p->C, p->b, &p->held));
        p->held.noise = p->noise;
        return LARMOR_OK;
    }
    if (!job->facts->whitening && job->facts->coils > 1) LMR_TRY(measure_noise(job, frames, count, p, result));
    p->held.noise = p->noise;
    return LARMOR_OK;
}

/* Where methods are compared, the best one becomes the job's; where no image predicts anything, that is cg. */
static larmor_status choose_method(lmr_job *job, const lmr_frame *frames, int count, problem *p,
                                   larmor_recon_report *result)
{
    const larmor_solve_opts solve = solve_opts(p);
    lmr_searched compared = searched(p, 1, &solve);
    compared.is_determined = determines(job, frames, count, &result->coverage);
    if (!lmr_method_is_open(job, result)) return LARMOR_OK;
    LMR_TRY(lmr_enter(job->events, "choosing the method"));
    LMR_TRY(lmr_method_choose(job, &compared, result));
    p->is_searched = 1;
    double unit;
    if (job->found.method.kind == LMR_METHOD_CG) return LARMOR_OK;
    LMR_TRY(larmor_lambda_unit(p->A, p->b, &unit));
    if (job->facts->coils == 1 && result->choice.predicted < MIN_PREDICTED_PART)
        return LARMOR_OK; /* tv needs hardly any weight */
    if (!is_unpredicted(p, &result->choice, unit)) return LARMOR_OK;
    lmr_method_is_linear(job, LARMOR_METHOD_FROM_FAILURE, result);
    p->is_searched = 0;
    return LARMOR_OK;
}

/* The method and the weight of images whose samples predict no others. What was not sampled is zero by cg,
 * whatever the weight, and what fits the rest best by a penalty; half of k-space is filled by the phase of the
 * image. */
static void choose_of_one_coil(lmr_job *job, larmor_recon_report *result)
{
    if (lmr_method_is_open(job, result) && lmr_is_partial(&result->coverage))
        lmr_method_is_linear(job, LARMOR_METHOD_FROM_FEW_SAMPLES, result);
    else if (lmr_method_is_open(job, result))
        lmr_method_is_of_one_coil(job, result);
    if (job->found.method.kind == LMR_METHOD_REGULARISED)
        result->lambda_from = LARMOR_LAMBDA_OF_ONE_COIL;
    else if (result->partial_fourier == LARMOR_PARTIAL_POCS)
        result->lambda_from = LARMOR_LAMBDA_FROM_NOISE;
    else
        result->lambda_from = LARMOR_LAMBDA_NONE;
}

/* The samples have the root of the weights that A has; noise is that before they were multiplied by it. */
static larmor_status iterate(lmr_job *job, const lmr_frame *frames, int count, double noise, larmor_array **x,
                             larmor_recon_report *result)
{
    problem p = {.job = job, .frames = frames, .count = count};
    larmor_status st;
    result->lambda_from = lmr_weight_origin(job, frames, count);
    if (job->facts->sets && result->lambda_from == LARMOR_LAMBDA_FROM_DATA)
        result->lambda_from = LARMOR_LAMBDA_FROM_NOISE; /* the first set had none */
    const int compares = lmr_method_is_open(job, result) && determines(job, frames, count, &result->coverage);
    const int is_full = determines(job, frames, count, &result->coverage);
    if (result->lambda_from == LARMOR_LAMBDA_FROM_DATA && predicts_nothing(job, frames, count) &&
        (!is_full || job->found.method.kind == LMR_METHOD_CG) && !compares)
        choose_of_one_coil(job, result);
    result->noise = result->lambda_from == LARMOR_LAMBDA_FROM_SCAN ? job->found.decided.chosen.noise : noise;
    LMR_OR(done, lmr_problem_circulant(job, frames, count, result->lambda_from,
                                       &p.C)); /* first, while there is memory for its creation */
    LMR_OR(done, lmr_problem_operator(job, frames, count, &p.A, &result->toeplitz));
    report_segments(&frames[0], result);
    LMR_OR(done, lmr_problem_data(job, frames, count, p.A, &p.b));
    LMR_OR(done, larmor_array_create(job->facts->dev, larmor_op_dtype(p.A), larmor_op_in_shape(p.A), x));
    p.x = *x;
    p.deviation = result->noise;
    const int kept = result->lambda_from == LARMOR_LAMBDA_FROM_SCAN;
    const int chosen = result->lambda_from == LARMOR_LAMBDA_FROM_DATA;
    if (job->facts->slabs || chosen || (kept && !lmr_weight_holds(job, frames, count)))
        LMR_OR(done, need_noise(job, &p));
    if (kept) LMR_OR(done, lmr_weight_kept(job, frames, count, p.A, p.noise, result));
    if (result->lambda_from == LARMOR_LAMBDA_FROM_DATA && !lmr_keep_unfinished(job))
        LMR_OR(done, prepare_choice(job, frames, count, &p, result));
    if (result->lambda_from == LARMOR_LAMBDA_FROM_DATA && !lmr_keep_unfinished(job))
        LMR_OR(done, choose_method(job, frames, count, &p, result));
    if (job->found.follow.on)
        st = follow_before(job, &p, result);
    else if (job->found.method.kind == LMR_METHOD_CG)
        st = conjugate_gradients(job, &p, result);
    else
        st = regularised(job, count, &p, result);
    /* neighbours on the grid predict held-out samples only in part, while the image has all of them */
    if (p.held.A && frames->cartesian.on_grid) result->choice.intensity = 0;
    result->preconditioned = p.C && job->facts->precondition >= 0;
    if (!st && result->lambda_from == LARMOR_LAMBDA_FROM_DATA)
        st = lmr_weight_keep(job, frames, count, p.A, p.noise, result);
    if (st == LARMOR_STOPPED && result->solver.iters > 0 && !lmr_slabs_failed(job)) {
        result->interrupted = 1;
        st = LARMOR_OK;
    }
    st = accept_last_iterate(st, *x, result);
    lmr_held_out_free(&p.held); /* before more memory is taken */
    if (!st) st = measure_misfit(job, &p, *x, result);
done:
    lmr_held_out_free(&p.held);
    larmor_circulant_free(p.C);
    larmor_array_free(p.noise);
    larmor_array_free(p.b);
    larmor_op_free(p.A);
    return st;
}

/* The weight from an image of the first set of maps, which covers nearly all of the object; its frequencies have the
 * circulant that the choice needs. Images with other numbers of samples choose for themselves. */
static larmor_status choose_by_first_set(lmr_job *job, const lmr_frame *frame, double noise,
                                         larmor_recon_report *result)
{
    lmr_scan_facts facts = *job->facts;
    lmr_settings settings = *job->settings;
    lmr_job one = *job;
    larmor_recon_report first = *result;
    larmor_array *x = NULL;
    facts.sets = 0;
    facts.precondition = 0;
    settings.opts.iters = 1; /* of the run after the choice, whose image is not kept */
    settings.opts.tol = 0;
    one.facts = &facts;
    one.settings = &settings;
    one.checkpoint = NULL;
    LMR_TRY(lmr_one_of(job->found.maps.array, 0, &one.found.maps.array));
    job->events->trial = 1;
    const larmor_status st = iterate(&one, frame, 1, noise, &x, &first);
    job->events->trial = 0;
    larmor_array_free(x);
    larmor_array_free(one.found.maps.array);
    LMR_TRY(st);
    if (first.interrupted) return LMR_FAIL(LARMOR_STOPPED, "stopped by the caller while lambda was chosen");
    job->found.decided.chosen = one.found.decided.chosen;
    job->found.decided.chosen.unit = 0;
    result->method = first.method;
    lmr_method_take(job, first.method.name);
    return LARMOR_OK;
}

/* 1 if the noise of an earlier image is this one's: both share the weight, and a phase is not judged by it. */
static int shares_noise(const lmr_job *job, const lmr_frame *frames, int count, const larmor_coverage *coverage)
{
    if (job->facts->slabs || lmr_is_partial(coverage)) return 0;
    return lmr_weight_origin(job, frames, count) == LARMOR_LAMBDA_FROM_SCAN;
}

/* Gridding multiplies the samples by their weights. A root sum of squares is no image of a model. */
static larmor_status grid(lmr_job *job, lmr_frame *frame, larmor_array **x, larmor_recon_report *result)
{
    double noise = 0;
    if (!job->settings->opts.no_maps) LMR_TRY(noise_level(job, frame, &noise));
    LMR_TRY(lmr_grid_frame(job, frame, x));
    return job->settings->opts.no_maps ? LARMOR_OK
                                       : try_misfit(job, lmr_misfit_of_image(job, frame, *x, noise, &result->misfit));
}

/* 1 if the noise in the image of all of a grid is so little, relative to the image, that no penalty is worth its
 * assumptions. The level from differences along readouts is too large rather than too small, and so is what the
 * image leaves of the samples of several coils. */
static larmor_status has_little_noise(const lmr_job *job, const lmr_frame *frame, double deviation,
                                      const larmor_misfit *misfit, int *little)
{
    const double coils = job->facts->coils, count = (double)larmor_array_count(frame->samples.kspace);
    double norm;
    LMR_TRY(larmor_nrm2(frame->samples.kspace, &norm));
    double noise = 2 * deviation * deviation * count;
    if (misfit->measured && coils > 1 && !job->facts->whitening)
        noise = fmin(noise, pow(misfit->relative * norm, 2) * coils / (coils - 1));
    *little = noise / coils <= MAX_LINEAR_NOISE * MAX_LINEAR_NOISE * (norm * norm - noise);
    return LARMOR_OK;
}

/* One FFT of each coil makes the image of all of a grid. Where the method is still open it is made to see how much
 * noise it has, and *x stays NULL where that is not little. */
static larmor_status solve_directly(lmr_job *job, lmr_frame *frame, double noise, larmor_array **x,
                                    larmor_recon_report *result)
{
    const int open = lmr_method_is_open(job, result);
    int little = 1;
    if (open && lmr_is_partial(&result->coverage)) return LARMOR_OK;
    LMR_TRY(lmr_cartesian_solve(job, frame, x));
    LMR_TRY(try_misfit(job, lmr_misfit_of_image(job, frame, *x, noise, &result->misfit)));
    if (open) LMR_TRY(has_little_noise(job, frame, noise, &result->misfit, &little));
    if (!little) {
        larmor_array_free(*x);
        *x = NULL;
        result->misfit = (larmor_misfit){.measured = 0};
        return LARMOR_OK;
    }
    if (open) lmr_method_is_linear(job, LARMOR_METHOD_FROM_LINEARITY, result);
    result->direct = 1;
    if (lmr_is_partial(&result->coverage)) result->partial_fourier = LARMOR_PARTIAL_ZERO;
    if (lmr_is_partial(&result->coverage)) result->misfit.fitted = 0; /* coils mix what is there with what is not */
    result->lambda_from = LARMOR_LAMBDA_NONE;
    result->noise = noise;
    return LARMOR_OK;
}

/* Of one image on a grid, of all its sets of maps together. Where the grid is larger than what was encoded,
 * samples are farther apart than at 1/FOV of it, and copies of the object meet its edges. */
static larmor_status look_for_fold(const lmr_job *job, const lmr_frame *frames, int count, const larmor_array *x,
                                   larmor_recon_report *result)
{
    const larmor_grid *grid = &frames->grid;
    if (count > 1 || !frames->cartesian.on_grid || job->facts->slabs || job->facts->basis) return LARMOR_OK;
    result->folded = 0;
    for (int d = 0; d < grid->ndim; d++)
        if (grid->fov_mm[d] < MAX_ENLARGEMENT * frames->encoding.fov_mm[d]) result->folded |= 1 << d;
    return lmr_fold_find(x, grid->ndim, &result->folded);
}

static larmor_status solve_frames(lmr_job *job, lmr_frame *frames, int count, larmor_array **x,
                                  larmor_recon_report *result)
{
    const lmr_unfinished *before = lmr_keep_unfinished(job);
    double noise = 0;
    *x = NULL;
    lmr_method_begin(job, result);
    if (job->facts->automatic && before) {
        result->method = before->report.method;
        lmr_method_take(job, result->method.name);
    }
    if (job->found.method.kind == LMR_METHOD_GRID) return grid(job, frames, x, result);
    const int direct = count == 1 && lmr_cartesian_is_direct(job, frames, &result->coverage);
    if (direct || !shares_noise(job, frames, count, &result->coverage)) LMR_TRY(noise_level(job, &frames[0], &noise));
    if (direct) LMR_TRY(solve_directly(job, frames, noise, x, result));
    if (*x) return LARMOR_OK;
    for (int i = 0; i < count; i++) LMR_TRY(larmor_sense_weigh(frames[i].weights, frames[i].samples.kspace));
    job->found.weight_conditions = lmr_weight_conditions_of(job, frames, count);
    const int by_first_set = job->facts->sets && lmr_weight_origin(job, frames, count) == LARMOR_LAMBDA_FROM_DATA;
    if (by_first_set && before)
        job->found.decided.chosen = before->chosen;
    else if (by_first_set)
        LMR_TRY(choose_by_first_set(job, frames, noise, result));
    lmr_job finer;
    larmor_status st = lmr_partial_begin(job, frames, count, noise, &finer, result);
    if (!st && lmr_method_is_open(job, result) && result->partial_fourier == LARMOR_PARTIAL_POCS)
        lmr_method_is_linear(&finer, LARMOR_METHOD_FROM_OPTIONS, result);
    if (!st) st = iterate(&finer, frames, count, noise, x, result);
    if (!st) st = lmr_partial_end(job, &finer, frames, count, x, result);
    lmr_partial_close(job, &finer);
    LMR_TRY(st);
    if (by_first_set && result->lambda_from == LARMOR_LAMBDA_FROM_SCAN) result->lambda_from = LARMOR_LAMBDA_FROM_DATA;
    return LARMOR_OK;
}

larmor_status lmr_solve_frames(lmr_job *job, lmr_frame *frames, int count, larmor_array **x,
                               larmor_recon_report *result)
{
    LMR_TRY(solve_frames(job, frames, count, x, result));
    if (job->found.follow.on) {
        larmor_array_free(job->found.follow.image);
        job->found.follow.image = larmor_array_ref(*x);
        job->found.follow.largest = result->largest;
    }
    return look_for_fold(job, frames, count, *x, result);
}
