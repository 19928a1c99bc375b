/* The Tikhonov weight from the data: solutions from the samples that are kept, at one weight after the other, each begun
 * where the circulant takes the last one, (N + l)^-1 (N + l0) ~ E (C + l e)^-1 (C + l0 e) E^-1.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/choose/choose.h"
#include "recon/solve/solve.h"

#define FLOOR 0.03         /* relative to the mean eigenvalue: what is sampled more thinly is not part of the noise */
#define LEAST 1e-4         /* the smallest weight, relative to the mean eigenvalue of A^H A */
#define FIRST 1e-2         /* the first, where the noise is not known */
#define STEP 3.            /* from one weight to the next */
#define TRIAL_ENOUGH 0.1   /* error of the solutions that are compared, relative to the noise in an image */
#define TRIAL_RELATIVE 2e-3 /* and relative to the image, at least */
#define ENOUGH 0.1         /* the same of the last solution */
#define WITHOUT_NOISE 1e-4 /* and relative to it */

enum { TRIAL_ITERS = 60, MOST_TRIED = 12 };

/* ---- solutions by filters ---- */

/* factors <- 1 / (C + weight e) */
static larmor_status set_factors(lmr_trial *t, double weight)
{
    const double floor = 1e-7 * t->c->largest; /* rounding makes eigenvalues of 0 negative */
    LMR_TRY(lmr_circulant_affine(t->c, 1, weight * t->c->square + floor, t->factors));
    return lmr_circulant_invert(t->c->mean > 0 ? t->c->mean : 1, t->factors);
}

/* image <- E^-1 x, or 0 where no coil sees anything */
static larmor_status unsee(lmr_trial *t)
{
    const lmr_recon_kernels *kernels;
    LMR_TRY(larmor_copy(t->x, t->image));
    if (!t->c->sight) return LARMOR_OK;
    LMR_TRY(lmr_recon_kernels_of(t->x->dev, t->x->dtype, &kernels));
    LMR_TRY(larmor_copy(t->c->sight, t->factors));
    LMR_TRY(kernels->power(t->x->dev->ctx, larmor_array_count(t->x), -2, 0, t->factors->data));
    return larmor_mul(t->factors, 0, t->image);
}

/* x <- near the solution at a weight. */
static larmor_status move_to(lmr_trial *t, double weight)
{
    const double before = t->at;
    t->at = weight;
    if (!(before > 0) || before == weight) return LARMOR_OK;
    LMR_TRY(unsee(t));
    LMR_TRY(lmr_circulant_fft(t->image, -1));
    LMR_TRY(lmr_circulant_affine(t->c, 1, before * t->c->square, t->factors));
    LMR_TRY(larmor_mul(t->factors, 0, t->image));
    LMR_TRY(set_factors(t, weight));
    LMR_TRY(larmor_mul(t->factors, 0, t->image));
    LMR_TRY(lmr_circulant_fft(t->image, 1));
    LMR_TRY(larmor_axpby(1 / (double)larmor_array_count(t->x), t->image, 0, t->x));
    return lmr_circulant_see(t->c, t->x);
}

/* ---- one trial ---- */

int lmr_trial_watch(void *trial, const larmor_progress *progress)
{
    const lmr_trial *t = trial;
    larmor_progress uncounted = *progress;
    uncounted.max_iter = 0;
    uncounted.x = t->x;
    return t->monitor ? t->monitor(t->user, &uncounted) : 0;
}

larmor_status lmr_trial_solve(lmr_trial *t, double weight)
{
    larmor_op *M;
    larmor_report report;
    double size;
    LMR_TRY(move_to(t, weight));
    LMR_TRY(larmor_nrm2(t->x, &size));
    LMR_TRY(larmor_circulant_inverse(t->c, weight, NULL, 0, &M));
    larmor_solve_opts o = {.max_iter = TRIAL_ITERS,
                           .tol = size > 0 ? -1 : TRIAL_RELATIVE,
                           .lambda = weight,
                           .precondition = M,
                           .error = fmax(TRIAL_ENOUGH * t->noise, TRIAL_RELATIVE * size),
                           .monitor = lmr_trial_watch,
                           .user = t};
    const larmor_status st = lmr_cg_normal(t->held->A, t->rhs, t->square, t->x, &o, &report);
    t->choice.iters += report.iters;
    larmor_op_free(M);
    return st;
}

larmor_status lmr_trial_judge(lmr_trial *t, double weight)
{
    double norm;
    LMR_TRY(larmor_op_forward(t->A, t->x, t->residual));
    LMR_TRY(larmor_axpby(-1, t->b, 1, t->residual));
    LMR_TRY(larmor_mul(t->held->factors, 0, t->residual));
    LMR_TRY(larmor_nrm2(t->residual, &norm));
    t->choice.tried++;
    if (lmr_curve_add(&t->curve, log(weight), norm * norm)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "choose: the misfit of the samples held out is %g at weight %g", norm, weight);
}

/* ---- what the noise says ---- */

/* The deviation of the noise in A^H b, averaged over the cells of k-space as each makes the noise of an image. */
static larmor_status find_deviation(lmr_trial *t, double power)
{
    const larmor_circulant *c = t->c;
    const larmor_array *d = c->eigenvalues;
    larmor_array *factors = NULL, *ones = NULL;
    double sum[2];
    larmor_status st;
    LMR_OR(done, larmor_array_create(d->dev, d->dtype, d->shape, &factors));
    LMR_OR(done, larmor_array_create(d->dev, d->dtype, d->shape, &ones));
    LMR_OR(done, larmor_fill(ones, 1));
    LMR_OR(done, lmr_circulant_affine(c, 1, FLOOR * (c->mean > 0 ? c->mean : 1), factors));
    LMR_OR(done, lmr_circulant_invert(c->mean > 0 ? c->mean : 1, factors));
    LMR_OR(done, larmor_dot(ones, factors, sum));
    t->deviation = sum[0] > 0 ? sqrt(power * (double)larmor_array_count(d) / (c->square * sum[0])) : 0;
done:
    larmor_array_free(ones), larmor_array_free(factors);
    return st;
}

/* The noise's power over the image's is the best weight where the image's spectrum is flat. */
static larmor_status expect(lmr_trial *t)
{
    const larmor_array *e = t->held->noise;
    double size = 0, all;
    larmor_op *M = NULL;
    larmor_status st;
    if (e) LMR_TRY(larmor_nrm2(e, &size));
    if (!(size > 0)) return LARMOR_OK;
    const double power = size * size / (double)larmor_array_count(e);
    LMR_TRY(find_deviation(t, power));
    if (t->c->eigenvalues->shape.ndim < t->x->shape.ndim) return LARMOR_OK; /* of a series more is not needed */
    LMR_TRY(lmr_circulant_inverse(t->c, 0, NULL, 0, FLOOR, &M));
    LMR_OR(done, larmor_op_forward(M, t->rhs, t->image));
    LMR_OR(done, larmor_nrm2(t->image, &all));
    LMR_OR(done, larmor_op_adjoint(t->A, e, t->factors));
    LMR_OR(done, larmor_op_forward(M, t->factors, t->image));
    LMR_OR(done, larmor_nrm2(t->image, &t->noise));
    const double image = fmax(all * all - t->noise * t->noise, 0.1 * t->noise * t->noise) / t->c->seen;
    t->expected = image > 0 ? power / image : 0;
done:
    larmor_op_free(M);
    return st;
}

larmor_status lmr_trial_create(larmor_op *A, const larmor_array *b, const larmor_held_out *held,
                               const larmor_circulant *c, larmor_array *x, lmr_trial *t)
{
    larmor_array **images[] = {&t->rhs, &t->image, &t->factors};
    double norm;
    t->A = A, t->b = b, t->held = held, t->c = c, t->x = x;
    t->least = LEAST * (c->mean > 0 ? c->mean : 1) / c->square;
    LMR_TRY(lmr_expect("choose", "factors of the samples held out", held->factors, b->dev, b->dtype, b->shape));
    LMR_TRY(lmr_arrays_create(A, larmor_op_in_shape(A), 3, images));
    LMR_TRY(larmor_array_create(b->dev, b->dtype, b->shape, &t->residual));
    LMR_TRY(larmor_nrm2(b, &norm));
    t->square = norm * norm;
    LMR_TRY(larmor_op_adjoint(held->A, b, t->rhs));
    LMR_TRY(larmor_nrm2(t->rhs, &norm));
    if (!isfinite(norm) || !isfinite(t->square))
        return LMR_FAIL(LARMOR_ERR_NUMERIC,
                        "choose: |b|^2 is %g and |A^H b| is %g, expected finite numbers; look for NaN or Inf in the "
                        "data and the maps",
                        t->square, norm);
    return expect(t);
}

void lmr_trial_free(lmr_trial *t)
{
    larmor_array_free(t->rhs), larmor_array_free(t->image), larmor_array_free(t->factors);
    larmor_array_free(t->residual);
}

/* ---- the search ---- */

static larmor_status try_weight(lmr_trial *t, double weight)
{
    LMR_TRY(lmr_trial_solve(t, weight));
    return lmr_trial_judge(t, weight);
}

/* Up and down from where the noise says, until it rises on both sides. */
static larmor_status choose(lmr_trial *t)
{
    const double mean = (t->c->mean > 0 ? t->c->mean : 1) / t->c->square;
    double low = fmax(t->least, t->expected > 0 ? t->expected : FIRST * mean), high = low;
    LMR_TRY(try_weight(t, low));
    while (lmr_curve_index(&t->curve) == 0 && low > t->least && t->choice.tried < MOST_TRIED) {
        low = fmax(t->least, low / STEP);
        LMR_TRY(try_weight(t, low));
    }
    while (lmr_curve_index(&t->curve) == t->curve.count - 1 && t->choice.tried < MOST_TRIED) {
        high *= STEP;
        LMR_TRY(try_weight(t, high));
    }
    t->choice.weight = exp(lmr_curve_lowest(&t->curve));
    return move_to(t, t->choice.weight);
}

/* The solution from all samples, from that of those that were kept. */
static larmor_status finish(lmr_trial *t, const larmor_solve_opts *opts, larmor_report *report)
{
    larmor_solve_opts o = *opts;
    larmor_op *M;
    double size;
    LMR_TRY(larmor_circulant_inverse(t->c, t->choice.weight, NULL, 0, &M));
    larmor_status st = larmor_nrm2(t->x, &size);
    if (!st) st = larmor_op_adjoint(t->A, t->b, t->rhs);
    if (o.max_iter == 0) o.max_iter = 100;
    o.lambda = t->choice.weight;
    o.judge = M;
    if (o.circulant) o.precondition = M;
    o.circulant = NULL;
    if (o.error == 0 && o.tol == 0) o.error = fmax(ENOUGH * t->noise, WITHOUT_NOISE * size);
    if (o.tol == 0) o.tol = -1;
    if (!st) st = lmr_cg_normal(t->A, t->rhs, t->square, t->x, &o, report);
    larmor_op_free(M);
    return st;
}

larmor_status larmor_cg_choose(larmor_op *A, const larmor_array *b, const larmor_held_out *held,
                               const larmor_circulant *C, larmor_array *x, const larmor_solve_opts *opts,
                               larmor_choice *choice, larmor_report *report)
{
    const double begin = lmr_seconds();
    const larmor_solve_opts o = opts ? *opts : (larmor_solve_opts){0};
    lmr_trial t = {.monitor = o.monitor, .user = o.user};
    if (report) *report = (larmor_report){.objective = NAN};
    if (choice) *choice = (larmor_choice){0};
    LMR_TRY(lmr_run_check("cg", A, b, x, &o));
    if (!held || !held->A || !held->factors || !C)
        return LMR_FAIL(LARMOR_ERR_ARG, "cg: samples held out and a circulant are needed");
    larmor_status st = lmr_trial_create(A, b, held, C, x, &t);
    if (!st) st = choose(&t);
    t.choice.seconds = lmr_seconds() - begin;
    if (!st) st = finish(&t, &o, report);
    if (choice) *choice = t.choice;
    lmr_trial_free(&t);
    return st;
}

larmor_status larmor_noise_fill(larmor_array *x, double deviation, uint64_t seed)
{
    if (!x || !lmr_is_complex(x->dtype)) return LMR_FAIL(LARMOR_ERR_ARG, "noise: a complex array is needed");
    if (!(deviation >= 0) || !isfinite(deviation))
        return LMR_FAIL(LARMOR_ERR_ARG, "noise: the deviation is %g, expected a finite number >= 0", deviation);
    LMR_TRY(lmr_random_fill(x, seed));
    return larmor_axpby(sqrt(3.) * deviation, x, 0, x); /* uniform in (-1, 1) has variance 1/3 */
}
