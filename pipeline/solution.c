/* The iterative methods: conjugate gradients and regularised SENSE, at a weight that is found first, until further
 * steps change nothing beside the noise. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/solution.h"

#include "core/core.h"
#include "core/ranks/ranks.h"
#include "pipeline/cache.h"
#include "pipeline/partial.h"
#include "pipeline/problem.h"
#include "schedule/checkpoint.h"
#include "schedule/slab_sums.h"

#define TIKHONOV_FLOOR 1e-3      /* unit of lambda: a weight that only keeps the problem regular */
#define WEIGHT_ERASES_IMAGE 10.0 /* unit of lambda: a weight that leaves next to nothing of the image */
/* Part of the energy of the samples held out: an image that explains less predicts nothing. The least of 228 scenes
 * (scripts/measure/scenes.py, seed 33) was .027. */
#define MIN_EXPLAINED_PART 1e-3
/* Change of the image by further steps over the noise in it, and |M r| over |M A^H e|, at most. Images are then
 * .02 of their noise from the solution in the mean, .07 at most on the grid of docs/reference/solvers.md. */
#define ERROR_OVER_NOISE 0.05
/* Change of the image over the image, at most, where there is next to no noise: maps and NUFFTs are no better. */
#define MIN_REL_CHANGE 1e-4
/* Part of both, where the image begins at the best one of the search: lengths of few steps say less. */
#define BEGUN_PART 0.7
/* Of the noise in the image, over the image: with less, the search's image has at frequencies that are hardly sampled
 * what takes as many steps to be lost as the image takes without it. */
#define MIN_NOISE_OF_BEGUN 0.01
/* Change of an image with a penalty by further steps, at most, over the noise in it at a weight of
 * NOISE_WEIGHT_OVER_MEAN times the mean eigenvalue of A^H A, and over the image. Tuned on 79 images by tv
 * (scripts/measure/scenes.py, seeds 81 and 82, --quick): with 0.2 of the noise the error was 1.013 times that at the
 * usual tolerance at most. */
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
/* The last change of an image, relative to it, beyond which a weight that was chosen is too small for the iterations
 * there are. Of 160 images by tv and wavelet (scripts/measure/scenes.py, seeds 61 and 62, --quick) 12 ended so: all
 * had less error at 3.2 times the weight, and 11 at 10 times, down to a sixth. Of 18 by tgv 5 had more at 3.2 times,
 * and of lines on a grid, where the split settles later than the image, 3 of 3. */
#define MAX_SETTLED_CHANGE 1e-2
#define RAISE_FACTOR 4. /* from one weight to the next that is tried: between the two of those trials */

enum {
    POWER_STEPS = 6, /* lambda is a weight: a few per cent of its unit do not matter */
    MOST_RAISED = 5, /* times; the weight is then 1000 times the chosen one */
    /* Next to a hole in the centre of k-space, steps of conjugate gradients in one of the split: with 2, as
     * elsewhere, 3 of 6 scans of half-spokes by one coil had not settled after 300 of those, with 15 all had after
     * 40. */
    INNER_OF_HOLE = 15,
    MOST_IN_SET = 300, /* steps of the split within a set */
    MOST_ITERS = 1000, /* with the preconditioner; 174 at most on the grid of docs/reference/solvers.md */
};

lmr_searched lmr_solution_searched(const lmr_solution *p, int frames, const larmor_solve_opts *solve)
{
    return (lmr_searched){.A = p->A,
                          .b = p->b,
                          .held = &p->held,
                          .C = p->C,
                          .solve = solve,
                          .grid = &p->frames->grid,
                          .frames = frames,
                          .on_grid = p->frames->cartesian.on_grid};
}

larmor_status lmr_solution_noise(const lmr_job *job, lmr_solution *p)
{
    if (p->noise) return LARMOR_OK;
    return lmr_sample_noise(job, p->frames, p->count, p->b, p->deviation, LMR_NOISE_SEED, &p->noise);
}

/* The coil images of the noise, which depend on no maps: those of an earlier image, or new ones. */
static larmor_status noise_images(const lmr_job *job, lmr_solution *p, larmor_array **images)
{
    lmr_cached *cached = p->frames->cached;
    const double by[2] = {lmr_density_key(job, p->frames), p->deviation};
    LMR_TRY(lmr_cached_take(cached, LMR_CACHED_NOISE, by, job->facts->dev, images));
    if (*images) return LARMOR_OK;
    const larmor_shape shape = larmor_shape_append(lmr_grid_shape(&p->frames->grid), job->facts->coils);
    LMR_TRY(lmr_solution_noise(job, p));
    LMR_TRY(larmor_array_create(job->facts->dev, larmor_op_dtype(p->A), shape, images));
    LMR_TRY(larmor_sense_coil_images(p->A, p->noise, *images));
    lmr_cached_put(cached, LMR_CACHED_NOISE, by, *images);
    return LARMOR_OK;
}

/* x <- A^H e */
static larmor_status fold_noise(const lmr_job *job, lmr_solution *p, larmor_array *x)
{
    if (!lmr_problem_is_plain(job, p->frames, p->count)) {
        LMR_TRY(lmr_solution_noise(job, p));
        return larmor_op_adjoint(p->A, p->noise, x);
    }
    LMR_OWN(larmor_array, images, noise_images(job, p, &images));
    return larmor_sense_combine(p->A, images, x);
}

larmor_status lmr_solution_folded(const lmr_job *job, lmr_solution *p, larmor_array **folded)
{
    *folded = larmor_array_ref(p->folded);
    if (*folded) return LARMOR_OK;
    LMR_TRY(larmor_array_create(job->facts->dev, larmor_op_dtype(p->A), larmor_op_in_shape(p->A), folded));
    const larmor_status st = fold_noise(job, p, *folded);
    if (!st && p->count == 1) p->folded = larmor_array_ref(*folded);
    return st;
}

/* The norm of the noise in the image, about, and that of M A^H e, which residuals are compared with. */
static larmor_status image_noise(const lmr_job *job, lmr_solution *p, larmor_op *M, double weight, double *noise,
                                 double *by_m)
{
    const larmor_op *A = p->A;
    LMR_OWN(larmor_array, x, lmr_solution_folded(job, p, &x));
    LMR_TRY(larmor_circulant_noise(p->C, weight, x, noise));
    LMR_OWN(larmor_array, y, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &y));
    LMR_TRY(larmor_op_forward(M, x, y));
    return larmor_nrm2(y, by_m);
}

/* ---- conjugate gradients ---- */

/* Reports a step to the listener, and writes the checkpoint when it is due. */
static int watch(void *user, const larmor_progress *progress)
{
    const lmr_job *job = *(const lmr_job **)user;
    const int stop = lmr_slabs_stop(job, lmr_monitor(job->events, progress));
    lmr_keep_step(job, progress->state, stop);
    return stop;
}

larmor_solve_opts lmr_solution_opts(lmr_solution *p)
{
    const lmr_job *job = p->job;
    return (larmor_solve_opts){.max_iter = job->settings->opts.iters,
                               .tol = job->settings->opts.tol,
                               .inner = job->facts->fills_hole ? INNER_OF_HOLE : 0,
                               .monitor = watch,
                               .resume = lmr_keep_resume,
                               .user = &p->job,
                               .set = p->set};
}

/* The norm of the noise in the samples; 0 where it is not known. */
static larmor_status samples_noise(const lmr_job *job, const lmr_solution *p, double *norm)
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
static larmor_status mean_eigenvalue(lmr_solution *p, double *mean)
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
static larmor_status image_noise_of_mean(lmr_solution *p, double weight, double norm, double *noise)
{
    double mean, voxels, samples;
    LMR_TRY(mean_eigenvalue(p, &mean));
    LMR_TRY(lmr_count_all(p->x, &voxels));
    LMR_TRY(lmr_count_all(p->b, &samples));
    if (mean > 0) *noise = norm * sqrt(voxels / samples * mean) / (mean + weight);
    return LARMOR_OK;
}

/* About the norm of the noise in an image with a penalty; 0 where it is not known. */
static larmor_status penalised_noise(const lmr_job *job, lmr_solution *p, double *noise)
{
    double mean;
    *noise = 0;
    if (!p->C) return LARMOR_OK;
    LMR_TRY(mean_eigenvalue(p, &mean));
    LMR_OWN(larmor_array, x, lmr_solution_folded(job, p, &x));
    return larmor_circulant_noise(p->C, NOISE_WEIGHT_OVER_MEAN * mean, x, noise);
}

/* p->x stays the best image of the search, or becomes zeros again. part: of the change that is allowed. */
static larmor_status begin_at_trial(lmr_solution *p, double noise, double *part)
{
    double size;
    LMR_TRY(larmor_nrm2(p->x, &size));
    if (!(noise > MIN_NOISE_OF_BEGUN * size)) return larmor_zero(p->x);
    *part = BEGUN_PART;
    return LARMOR_OK;
}

/* At a given weight: to a twentieth of the noise in the image, where nothing else is asked for. */
static larmor_status solve_cg(const lmr_job *job, lmr_solution *p, larmor_solve_opts *o, larmor_recon_report *result)
{
    LMR_OWNED(larmor_op) *M = NULL;
    double noise = 0, by_m = 0, bound = 0, size, part = 1;
    if (p->C)
        LMR_TRY(lmr_problem_inverse(p->C, o->lambda, lmr_grid_shape(&p->frames->grid).ndim, larmor_op_in_shape(p->A),
                                    &M));
    if (o->tol == 0) {
        LMR_TRY(samples_noise(job, p, &o->noise));
        if (p->C)
            LMR_TRY(image_noise(job, p, M, o->lambda, &noise, &by_m));
        else
            LMR_TRY(image_noise_of_mean(p, o->lambda, o->noise, &noise));
        if (p->is_begun) LMR_TRY(begin_at_trial(p, noise, &part));
        o->change = part * ERROR_OVER_NOISE * noise;
        o->relative = MIN_REL_CHANGE;
        o->error = part * ERROR_OVER_NOISE * by_m;
        o->judge = M;
        o->tol = -1;
        if (lmr_is_aliased(job, p->frames, p->count))
            LMR_TRY(lmr_aliased_stop(p->A, p->b, ERROR_OVER_NOISE * noise, result->largest, o, &bound));
    }
    o->precondition = job->facts->precondition < 0 ? NULL : M;
    if (o->max_iter == 0) o->max_iter = most_iters(o->precondition, result->lambda);
    LMR_TRY(larmor_cg(p->A, p->b, p->x, o, &result->solver));
    if (!(noise > 0) || larmor_nrm2(p->x, &size) || !(size > 0)) return LARMOR_OK;
    result->image_noise = noise / size;
    if (bound > 0) result->solver.left = bound * result->solver.residual / size;
    return LARMOR_OK;
}

/* 1 if the weight is that expected from the noise, or in units of it. */
static int by_noise(const lmr_job *job, const larmor_recon_report *result)
{
    return job->settings->opts.lambda_mode == LARMOR_LAMBDA_NOISE ||
           result->lambda_from == LARMOR_LAMBDA_FROM_NOISE || result->lambda_from == LARMOR_LAMBDA_OF_ONE_COIL;
}

int lmr_solution_predicts_none(const lmr_job *job, const larmor_choice *choice)
{
    return job->facts->coils == 1 && choice->predicted < MIN_PREDICTED_PART;
}

int lmr_solution_is_unpredicted(const lmr_solution *p, const larmor_choice *choice, double unit)
{
    return choice->weight > WEIGHT_ERASES_IMAGE * unit || (p->held.A && choice->misfit > 1 - MIN_EXPLAINED_PART);
}

/* What images in the set predict worse than free ones, over the standard error of that, above which the samples
 * contradict the set. */
#define LEAST_WORSE_OVER_ERROR 3
/* A set takes part of a penalty's work, and the weight is then .2 to 1 times that of free images; below, it is the
 * contradiction of set and samples that is fitted. Of 18 scenes of golden, spiral and radial readouts, SNR 10 and 40,
 * by cg and tv. */
#define LEAST_PART_OF_FREE_WEIGHT 0.25

/* The weight of images that are held to nothing: how much better they predict, and the least for those in the set. */
static larmor_status look_beyond_set(const lmr_job *job, const lmr_solution *p, const char *name,
                                     const larmor_solve_opts *solve, larmor_recon_report *result)
{
    larmor_solve_opts opts = *solve;
    larmor_choice unheld = {0};
    double worse = 0;
    opts.set = NULL;
    const lmr_searched series = lmr_solution_searched(p, p->count, &opts);
    LMR_TRY(lmr_weight_search(job, &series, name, result->choice.time_weight, &unheld));
    LMR_TRY(lmr_weight_significance(job, &result->choice, &unheld, &worse));
    if (worse > LEAST_WORSE_OVER_ERROR) result->contradicted = result->choice.misfit / unheld.misfit - 1;
    result->weight = fmax(result->weight, LEAST_PART_OF_FREE_WEIGHT * unheld.weight);
    return LARMOR_OK;
}

/* 1 if the weight is that of an earlier image: another contrast loses no more than that one, so that the intensities
 * of both compare. */
static int is_bound(const lmr_solution *p, const larmor_choice *choice, double unit)
{
    if (!(p->bound.weight > 0)) return 0;
    return (p->bound.is_most && choice->weight >= p->bound.weight) || lmr_solution_is_unpredicted(p, choice, unit);
}

/* The weight as result->lambda_from says; r: NULL for conjugate gradients. A kept weight is there already. */
static larmor_status search_weight(const lmr_job *job, lmr_solution *p, const larmor_regulariser *r, double unit,
                                   const larmor_solve_opts *solve, larmor_recon_report *result)
{
    if (result->lambda_from == LARMOR_LAMBDA_FROM_DATA) {
        if (!p->is_searched) LMR_TRY(larmor_choose_weight(p->A, p->b, &p->held, p->C, r, solve, &result->choice));
        result->weight = result->choice.weight;
        if (lmr_solution_predicts_none(job, &result->choice)) {
            result->lambda_from = LARMOR_LAMBDA_NONE;
            result->weight = TIKHONOV_FLOOR * unit;
        } else if (is_bound(p, &result->choice, unit)) {
            result->lambda_from = LARMOR_LAMBDA_FROM_SCAN;
            result->weight = p->bound.weight;
        } else if (lmr_solution_is_unpredicted(p, &result->choice, unit)) {
            result->lambda_from = LARMOR_LAMBDA_UNPREDICTED;
            LMR_TRY(lmr_solution_noise(job, p));
            LMR_TRY(larmor_weight_of_noise(p->A, p->b, p->noise, r, &result->weight));
        } else if (p->set && p->held.A) {
            return look_beyond_set(job, p, r ? result->method.name : NULL, solve, result);
        }
    } else if (result->lambda_from == LARMOR_LAMBDA_NONE) {
        result->weight = TIKHONOV_FLOOR * unit;
    } else if (by_noise(job, result)) {
        LMR_TRY(lmr_solution_noise(job, p));
        LMR_TRY(larmor_weight_of_noise(p->A, p->b, p->noise, r, &result->weight));
        if (job->settings->opts.lambda_mode == LARMOR_LAMBDA_NOISE) result->weight *= job->settings->opts.lambda;
    } else if (job->settings->opts.lambda_mode == LARMOR_LAMBDA_RELATIVE) {
        result->weight = job->settings->opts.lambda * unit;
    }
    return LARMOR_OK;
}

static larmor_status find_weight(const lmr_job *job, lmr_solution *p, const larmor_regulariser *r, double unit,
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

/* Conjugate gradients within a set: the set is split off, which takes a preconditioner, and the image lies in it. */
static larmor_status solve_in_set(const lmr_job *job, lmr_solution *p, larmor_solve_opts *o,
                                  larmor_recon_report *result)
{
    double noise = 0, size;
    o->circulant = job->facts->precondition < 0 ? NULL : p->C;
    if (o->max_iter == 0) o->max_iter = MOST_IN_SET;
    if (o->tol == 0) {
        LMR_TRY(penalised_noise(job, p, &noise));
        o->change = ERROR_OVER_NOISE * noise;
        o->relative = MIN_REL_CHANGE;
    }
    LMR_TRY(larmor_admm(p->A, p->b, NULL, p->set, p->x, o, &result->solver));
    if (noise > 0 && !larmor_nrm2(p->x, &size) && size > 0) result->image_noise = noise / size;
    return LARMOR_OK;
}

/* Also of a run that was stopped. */
static larmor_status project(const lmr_solution *p, larmor_status st)
{
    if (!p->set || (st && st != LARMOR_STOPPED && st != LARMOR_ERR_NUMERIC)) return st;
    LMR_TRY(larmor_prox_apply(p->set, 1, p->x, p->x));
    return st;
}

/* 1 if the search leaves an image to begin at: not where a number of iterations or a tolerance is asked for, which
 * count from no image. */
static int may_begin_at_trial(const lmr_job *job, const lmr_solution *p, const larmor_recon_report *result)
{
    const larmor_recon_opts *o = &job->settings->opts;
    return result->lambda_from == LARMOR_LAMBDA_FROM_DATA && !p->is_searched && !p->set && o->tol == 0 &&
           o->iters == 0;
}

static larmor_status conjugate_gradients(const lmr_job *job, lmr_solution *p, larmor_recon_report *result)
{
    larmor_solve_opts solve = lmr_solution_opts(p);
    if (result->largest == 0) LMR_TRY(larmor_opnorm(p->A, POWER_STEPS, &result->largest));
    p->is_begun = may_begin_at_trial(job, p, result);
    if (p->is_begun) solve.best = p->x;
    LMR_TRY(find_weight(job, p, NULL, result->largest, &solve, result));
    if (result->lambda_from != LARMOR_LAMBDA_FROM_DATA) LMR_TRY(larmor_zero(p->x));
    result->lambda = result->largest > 0 ? result->weight / result->largest : 0;
    solve.lambda = result->weight;
    if (p->set) return project(p, solve_in_set(job, p, &solve, result));
    return solve_cg(job, p, &solve, result);
}

/* 1 if images are held to real numbers. */
static int is_real(const lmr_job *job)
{
    larmor_constraint c;
    return job->settings->constraint && !larmor_constraint_read(job->settings->constraint, &c) && c.real;
}

/* The imaginary part's share of the energy of an image that is not held to anything: of a few steps, as what is asked
 * for is a percentage. */
static larmor_status look_for_phase(lmr_solution *p, double *imaginary)
{
    enum { ROUGH_ITERS = 10 };
    larmor_solve_opts o = {.max_iter = ROUGH_ITERS, .tol = 1e-2};
    larmor_prox *line = NULL;
    double norm, real = 0;
    const larmor_shape shape = larmor_op_in_shape(p->A);
    *imaginary = 0;
    LMR_OWN(larmor_array, x, larmor_array_create(larmor_op_device(p->A), larmor_op_dtype(p->A), shape, &x));
    LMR_TRY(larmor_cg(p->A, p->b, x, &o, NULL));
    LMR_TRY(larmor_nrm2(x, &norm));
    LMR_TRY(larmor_prox_box(larmor_op_device(p->A), -INFINITY, INFINITY, larmor_op_dtype(p->A), shape, &line));
    larmor_status st = larmor_prox_apply(line, 1, x, x);
    larmor_prox_free(line);
    if (!st) st = larmor_nrm2(x, &real);
    if (norm > 0) *imaginary = fmax(0, 1 - real * real / (norm * norm));
    return st;
}

/* An image that follows another one is that one and a difference: sign * A times it is added to the samples. */
static larmor_status subtract_before(const lmr_job *job, const lmr_solution *p)
{
    LMR_OWNED(larmor_array) *samples = NULL;
    LMR_TRY(larmor_array_create(job->facts->dev, larmor_array_dtype(p->b), larmor_array_shape(p->b), &samples));
    LMR_TRY(larmor_op_forward(p->A, job->found.follow.image, samples));
    return larmor_axpby(-1, samples, 1, p->b);
}

/* min |A x - b|^2 + weight |x - before|^2, in the difference from the image before. */
static larmor_status follow_before(const lmr_job *job, lmr_solution *p, larmor_recon_report *result)
{
    result->largest = job->found.follow.largest;
    if (!job->found.follow.image) return conjugate_gradients(job, p, result);
    LMR_TRY(subtract_before(job, p));
    LMR_TRY(conjugate_gradients(job, p, result));
    return larmor_axpby(1, job->found.follow.image, 1, p->x);
}

/* constant <- 1 if each of the images, or of the coefficients, has one value. */
static larmor_status look_for_constant(const lmr_job *job, const lmr_solution *p, int *constant)
{
    const int grid = lmr_grid_shape(&p->frames->grid).ndim, ndim = larmor_array_shape(p->x).ndim;
    const int64_t images = ndim > grid ? larmor_array_shape(p->x).dim[ndim - 1] : 1;
    LMR_OWNED(larmor_array) *ones = NULL;
    const double most = strcmp(job->found.method.name, "tgv") ? MAX_CONSTANT_VARIATION : MAX_CONSTANT_VARIATION_TGV;
    *constant = 1;
    for (int64_t i = 0; i < images && *constant; i++) {
        LMR_OWNED(larmor_array) *one = NULL;
        double size, sum[2], voxels;
        if (ndim > grid)
            LMR_TRY(lmr_one_of(p->x, i, &one));
        else
            one = larmor_array_ref(p->x);
        if (!ones)
            LMR_TRY(larmor_array_create(job->facts->dev, larmor_array_dtype(one), larmor_array_shape(one), &ones));
        LMR_TRY(larmor_fill(ones, 1));
        LMR_TRY(larmor_nrm2(one, &size));
        LMR_TRY(larmor_dot(ones, one, sum));
        LMR_TRY(lmr_count_all(one, &voxels));
        const double around = size * size - (sum[0] * sum[0] + sum[1] * sum[1]) / fmax(voxels, 1);
        *constant = around <= most * most * size * size;
    }
    return LARMOR_OK;
}

/* A weight that was chosen and erases the image predicted nothing: the one expected from the noise takes its
 * place. */
static larmor_status solve_again(const lmr_job *job, lmr_solution *p, larmor_regulariser *r, larmor_solve_opts *solve,
                                 larmor_recon_report *result)
{
    result->lambda_from = LARMOR_LAMBDA_UNPREDICTED;
    LMR_TRY(lmr_solution_noise(job, p));
    LMR_TRY(larmor_weight_of_noise(p->A, p->b, p->noise, r, &result->weight));
    LMR_TRY(larmor_regulariser_set_weight(r, result->weight));
    LMR_TRY(larmor_zero(p->x));
    solve->resume = NULL;
    solve->resolve = 0;
    LMR_TRY(larmor_regularised(p->A, p->b, r, p->x, solve, &result->solver));
    return look_for_constant(job, p, &result->constant);
}

/* 1 if the weight was chosen and may be raised once more. */
static int may_be_raised(const lmr_job *job, const lmr_solution *p, const larmor_recon_report *result)
{
    const int is_tuned = !strcmp(job->found.method.name, "tv") || !strcmp(job->found.method.name, "wavelet");
    if (lmr_is_partial(&result->coverage))
        return 0; /* the split settles late: scans at 1024 times had .83 of error */
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
static int resolves(const lmr_job *job, const lmr_solution *p, const larmor_recon_report *result)
{
    return !strcmp(job->found.method.name, "tv") && may_be_raised(job, p, result);
}

/* Samples without noise have the least misfit at a weight that is hardly felt within the iterations. Frames that
 * are solved together settle later. */
static larmor_status raise_weight(const lmr_job *job, lmr_solution *p, larmor_regulariser *r,
                                  larmor_solve_opts *solve, larmor_recon_report *result)
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

/* The weight in time of a series and the ratios of several penalties: chosen with the weight, or those of an earlier
 * image, or of this one before it was interrupted. */
static larmor_status find_weights(const lmr_job *job, int frames, lmr_solution *p, const larmor_solve_opts *solve,
                                  larmor_recon_report *result, double *time)
{
    const lmr_unfinished *before = lmr_keep_unfinished(job);
    const larmor_choice *choice = before ? &before->report.choice : &result->choice;
    int chosen;
    if (result->lambda_from == LARMOR_LAMBDA_FROM_DATA && !before) {
        const lmr_searched series = lmr_solution_searched(p, frames, solve);
        LMR_TRY(lmr_weights_choose(job, &series, &result->choice, &chosen));
        p->is_searched |= chosen;
    }
    if (lmr_time_weight_is_open(job, frames) && choice->time_weight > 0) *time = choice->time_weight;
    lmr_method_weighed(job, choice, result->method.name);
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

static larmor_status regularised(const lmr_job *job, int frames, lmr_solution *p, larmor_recon_report *result)
{
    larmor_regulariser_opts opts = lmr_regulariser_opts(job, frames, &p->frames->grid);
    larmor_solve_opts solve = lmr_solution_opts(p);
    larmor_regulariser *r = NULL;
    larmor_status st;
    double unit = p->held.unit, noise = 0, size;
    opts.set = p->set;
    LMR_OR(done, find_weights(job, frames, p, &solve, result, &opts.time));
    LMR_OR(done, larmor_regulariser_create(job->facts->dev, result->method.name, &opts, larmor_op_dtype(p->A),
                                           larmor_op_in_shape(p->A), &r));
    if (!(unit > 0)) LMR_OR(done, larmor_lambda_unit(p->A, p->b, &unit));
    p->held.unit = unit;
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

larmor_status lmr_solution_iterate(const lmr_job *job, lmr_solution *p, larmor_recon_report *result)
{
    if (is_real(job)) LMR_TRY(look_for_phase(p, &result->imaginary));
    if (job->found.follow.on) return follow_before(job, p, result);
    if (job->found.method.kind == LMR_METHOD_CG) return conjugate_gradients(job, p, result);
    return regularised(job, lmr_solves_coils(job) ? job->facts->coils : p->count, p, result);
}
