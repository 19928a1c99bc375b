/* The Tikhonov weight from the data: solutions for b and for a sample of noise at a few weights, each begun where the
 * circulant takes the last one, (N + l)^-1 (N + l0) ~ E (C + l e)^-1 (C + l0 e) E^-1. SPDX-License-Identifier:
 * Apache-2.0 */
#include <math.h>

#include "core/random.h"
#include "recon/choose/choose.h"
#include "recon/solve/solve.h"

#define LEAST 1.5e-3       /* the smallest weight, relative to the mean eigenvalue of A^H A */
#define NEAR 2.5           /* weights that are near each other */
#define PAIR_ENOUGH 0.03   /* the same of the solutions that are compared */
#define ENOUGH 0.1         /* error of a solution relative to the noise in it */
#define WITHOUT_NOISE 1e-4 /* the same relative to the solution, where there is no noise */

enum { PAIR_ITERS = 60, MOST_TRIED = 5, REACH = 5 };

/* ---- solutions by filters ---- */

/* out <- (C + at e) times the transform of E^-1 x */
static larmor_status lift(lmr_pair *s, const larmor_array *x, larmor_array *out)
{
    const lmr_recon_kernels *kernels;
    LMR_TRY(lmr_recon_kernels_of(x->dev, x->dtype, &kernels));
    LMR_TRY(larmor_copy(x, out));
    if (s->c->sight) {
        LMR_TRY(larmor_copy(s->c->sight, s->factors));
        LMR_TRY(kernels->power(x->dev->ctx, larmor_array_count(x), -2, 0, s->factors->data));
        LMR_TRY(larmor_mul(s->factors, 0, out));
    }
    LMR_TRY(lmr_circulant_fft(out, -1));
    LMR_TRY(lmr_circulant_affine(s->c, 1, s->at * s->c->square, s->factors));
    return larmor_mul(s->factors, 0, out);
}

/* factors <- 1 / (C + weight e) / voxels */
static larmor_status set_factors(lmr_pair *s, double weight)
{
    const double floor = 1e-7 * s->c->largest; /* rounding makes eigenvalues of 0 negative */
    LMR_TRY(lmr_circulant_affine(s->c, 1, weight * s->c->square + floor, s->factors));
    LMR_TRY(lmr_circulant_invert(s->c->mean > 0 ? s->c->mean : 1, s->factors));
    return larmor_axpby(1 / (double)larmor_array_count(s->factors), s->factors, 0, s->factors);
}

/* x, J <- near the solutions at a weight. */
static larmor_status move_to(lmr_pair *s, double weight)
{
    larmor_array *both[] = {s->x, s->J};
    for (int i = 0; i < 2 && s->at > 0; i++) {
        LMR_TRY(lift(s, both[i], s->fx));
        LMR_TRY(set_factors(s, weight));
        LMR_TRY(larmor_mul(s->factors, 0, s->fx));
        LMR_TRY(lmr_circulant_fft(s->fx, 1));
        LMR_TRY(larmor_copy(s->fx, both[i]));
        LMR_TRY(lmr_circulant_see(s->c, both[i]));
    }
    s->at = weight;
    return larmor_nrm2(s->J, &s->choice.image_noise);
}

/* ---- solutions ---- */

int lmr_pair_watch(void *pair, const larmor_progress *progress)
{
    const lmr_pair *s = pair;
    larmor_progress uncounted = *progress;
    uncounted.max_iter = 0;
    uncounted.x = s->x;
    return s->monitor ? s->monitor(s->user, &uncounted) : 0;
}

/* x, J <- the solutions at a weight, to a small part of the noise in them. */
larmor_status lmr_pair_solve(lmr_pair *s, double weight)
{
    const double noise = sqrt(s->risk.noise_square);
    larmor_op *M;
    larmor_report report;
    LMR_TRY(move_to(s, weight));
    LMR_TRY(larmor_circulant_inverse(s->c, weight, NULL, 0, &M));
    larmor_solve_opts o = {.max_iter = PAIR_ITERS,
                           .tol = -1,
                           .lambda = weight,
                           .precondition = M,
                           .error = PAIR_ENOUGH * noise,
                           .monitor = lmr_pair_watch,
                           .user = s};
    larmor_status st = lmr_cg_normal(s->risk.A, s->risk.rhs, s->risk.square, s->x, &o, &report);
    s->choice.iters += report.iters;
    if (!st) st = lmr_cg_normal(s->risk.A, s->risk.noise, s->risk.square, s->J, &o, &report);
    s->choice.iters += report.iters;
    larmor_op_free(M);
    return st;
}

/* The estimated error at a weight, from the filters. Of exact solutions A^H b - N x is weight x, and N J e is A^H e -
 * weight J e. */
static larmor_status estimate(lmr_pair *s, double weight, double *value)
{
    double misfit, trace;
    LMR_TRY(set_factors(s, weight));
    LMR_TRY(larmor_copy(s->fx, s->risk.work[0]));
    LMR_TRY(larmor_mul(s->factors, 0, s->risk.work[0]));
    LMR_TRY(lmr_circulant_fft(s->risk.work[0], 1));
    LMR_TRY(lmr_circulant_see(s->c, s->risk.work[0]));
    LMR_TRY(larmor_op_forward(s->risk.M, s->risk.work[0], s->risk.work[1]));
    LMR_TRY(larmor_nrm2(s->risk.work[1], &misfit));
    LMR_TRY(larmor_copy(s->fJ, s->risk.work[0]));
    LMR_TRY(larmor_mul(s->factors, 0, s->risk.work[0]));
    LMR_TRY(lmr_real_dot(s->t, s->risk.work[0], &trace)); /* Parseval: the factors hold 1 / voxels */
    *value = weight * weight * misfit * misfit - 2 * weight * trace;
    return LARMOR_OK;
}

/* The weight with the least estimate as far as the filters reach. */
static larmor_status scan(lmr_pair *s, double *weight)
{
    lmr_curve curve = {.count = 0};
    double value;
    LMR_TRY(larmor_copy(s->risk.twice, s->t));
    LMR_TRY(lmr_circulant_see(s->c, s->t));
    LMR_TRY(lmr_circulant_fft(s->t, -1));
    LMR_TRY(lift(s, s->x, s->fx));
    LMR_TRY(lift(s, s->J, s->fJ));
    for (int i = -REACH; i <= REACH; i++) {
        const double at = log(s->at) + i * log(10.) / REACH;
        LMR_TRY(estimate(s, exp(at), &value));
        if (!lmr_curve_add(&curve, at, value))
            return LMR_FAIL(LARMOR_ERR_NUMERIC, "choose: the estimated error at weight %g is %g", exp(at), value);
    }
    *weight = exp(lmr_curve_lowest(&curve));
    return LARMOR_OK;
}

/* |A x - b|^2 */
static larmor_status misfit_of(const lmr_pair *s, const larmor_array *x, const larmor_array *b, double *square)
{
    larmor_array *y;
    double norm = 0;
    LMR_TRY(larmor_array_create(b->dev, b->dtype, b->shape, &y));
    larmor_status st = larmor_op_forward(s->risk.A, x, y);
    if (!st) st = larmor_axpby(-1, b, 1, y);
    if (!st) st = larmor_nrm2(y, &norm);
    larmor_array_free(y);
    *square = norm * norm;
    return st;
}

/* The data's misfit beside that of the noise alone says how far the data are off the model. Where it is smaller, there
 * cannot be as much noise. Where it is larger, something else is off and counts as noise as far as the caller allows: errors of coil
 * maps do harm like noise, but decay and motion are not spread over k-space, and would blur what they do not touch.
 * What a weight near the best leaves of the image is about as much as it leaves of the noise, and is allowed for. Where
 * the image has almost as many degrees of freedom as there are samples nothing is known. */
larmor_status lmr_pair_rate(lmr_pair *s, const larmor_array *b, const larmor_array *noise)
{
    const double most_free = 0.6;
    double data, own, fitted, whole;
    LMR_TRY(misfit_of(s, s->x, b, &data));
    LMR_TRY(misfit_of(s, s->J, noise, &own));
    LMR_TRY(lmr_real_dot(s->risk.noise, s->J, &fitted));
    LMR_TRY(larmor_nrm2(noise, &whole));
    const double share = fitted / (whole * whole), ratio = data / own;
    if (!(share < most_free) || !isfinite(ratio) || !(ratio > 0)) return LARMOR_OK;
    const double excess = fmax(1, ratio - share / (1 - share));
    s->choice.noise = fmin(s->excess, sqrt(ratio > 1 ? excess : ratio));
    LMR_TRY(larmor_axpby(s->choice.noise, s->J, 0, s->J));
    return lmr_risk_scale(&s->risk, s->choice.noise);
}

/* The noise's power over the image's, which is right where the image's spectrum is flat. */
larmor_status lmr_pair_weight(lmr_pair *s, const larmor_array *noise, double *weight)
{
    double all, deviation;
    LMR_TRY(larmor_nrm2(noise, &deviation));
    LMR_TRY(larmor_op_forward(s->risk.M, s->risk.rhs, s->risk.work[0]));
    LMR_TRY(larmor_nrm2(s->risk.work[0], &all));
    const double image = fmax(all * all - s->risk.noise_square, 0.1 * s->risk.noise_square) / s->c->seen;
    const double power = deviation * deviation / (double)larmor_array_count(noise);
    *weight = image > 0 ? fmax(s->least, power / image) : s->least;
    return LARMOR_OK;
}

larmor_status lmr_pair_deviation(const lmr_pair *s, const larmor_array *noise, double *deviation)
{
    const larmor_circulant *c = s->c;
    const larmor_array *d = c->eigenvalues;
    const double mean = c->mean > 0 ? c->mean : 1, count = (double)larmor_array_count(d);
    larmor_array *factors = NULL, *ones = NULL;
    larmor_status st;
    double sum[2], size;
    LMR_OR(done, larmor_array_create(d->dev, d->dtype, d->shape, &factors));
    LMR_OR(done, larmor_array_create(d->dev, d->dtype, d->shape, &ones));
    LMR_OR(done, larmor_fill(ones, 1));
    LMR_OR(done, lmr_circulant_affine(c, 1, LMR_RISK_FLOOR * mean, factors));
    LMR_OR(done, lmr_circulant_invert(mean, factors));
    LMR_OR(done, larmor_dot(ones, factors, sum));
    LMR_OR(done, larmor_nrm2(noise, &size));
    const double power = size * size / (double)larmor_array_count(noise) * s->choice.noise * s->choice.noise;
    *deviation = sum[0] > 0 ? sqrt(power / (c->square * sum[0] / count)) : 0;
done:
    larmor_array_free(ones), larmor_array_free(factors);
    return st;
}

/* To where the filters have the least estimate, and again from there until that is near. */
static larmor_status choose(lmr_pair *s, const larmor_array *b, const larmor_array *noise)
{
    double weight, best = 0;
    LMR_TRY(lmr_pair_weight(s, noise, &weight));
    for (;;) {
        LMR_TRY(lmr_pair_solve(s, weight));
        if (s->choice.tried == 0) LMR_TRY(lmr_pair_rate(s, b, noise));
        LMR_TRY(scan(s, &best));
        s->choice.tried++;
        const int near = best < NEAR * weight && best > weight / NEAR;
        if (near || s->choice.tried == MOST_TRIED || (weight <= s->least && best <= s->least)) break;
        weight = fmax(s->least, best);
    }
    s->choice.weight = fmax(s->least, best);
    return move_to(s, s->choice.weight);
}

larmor_status lmr_pair_create(larmor_op *A, const larmor_array *b, const larmor_array *noise,
                              const larmor_circulant *c, larmor_array *x, lmr_pair *s)
{
    larmor_array **arrays[] = {&s->J, &s->fx, &s->fJ, &s->t, &s->factors};
    s->c = c, s->x = x;
    s->least = LEAST * (c->mean > 0 ? c->mean : 1) / c->square;
    LMR_TRY(lmr_risk_create(A, b, noise, c, &s->risk));
    return lmr_arrays_create(A, larmor_op_in_shape(A), 5, arrays);
}

void lmr_pair_free(lmr_pair *s)
{
    larmor_array *all[] = {s->J, s->fx, s->fJ, s->t, s->factors};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) larmor_array_free(all[i]);
    lmr_risk_free(&s->risk);
}

/* The last solve, from the filters' solution. */
static larmor_status finish(lmr_pair *s, const larmor_solve_opts *opts, larmor_report *report)
{
    larmor_solve_opts o = *opts;
    larmor_op *M;
    double size;
    LMR_TRY(larmor_circulant_inverse(s->c, s->choice.weight, NULL, 0, &M));
    larmor_status st = larmor_nrm2(s->x, &size);
    if (o.max_iter == 0) o.max_iter = 100;
    o.lambda = s->choice.weight;
    o.judge = M;
    if (o.circulant) o.precondition = M;
    o.circulant = NULL;
    if (o.error == 0 && o.tol == 0) o.error = fmax(ENOUGH * s->choice.image_noise, WITHOUT_NOISE * size);
    if (o.tol == 0) o.tol = -1;
    if (!st) st = lmr_cg_normal(s->risk.A, s->risk.rhs, s->risk.square, s->x, &o, report);
    larmor_op_free(M);
    return st;
}

larmor_status larmor_cg_choose(larmor_op *A, const larmor_array *b, const larmor_array *noise,
                               const larmor_circulant *C, larmor_array *x, const larmor_solve_opts *opts,
                               larmor_choice *choice, larmor_report *report)
{
    const double begin = lmr_seconds();
    const larmor_solve_opts o = opts ? *opts : (larmor_solve_opts){0};
    lmr_pair s = {
        .choice = {.noise = 1}, .excess = o.excess > 1 ? o.excess : 1, .monitor = o.monitor, .user = o.user};
    double size;
    if (report) *report = (larmor_report){.objective = NAN};
    if (choice) *choice = (larmor_choice){0};
    LMR_TRY(lmr_run_check("cg", A, b, x, &o));
    if (!noise || !C) return LMR_FAIL(LARMOR_ERR_ARG, "cg: a sample of the noise and a circulant are needed");
    larmor_status st = lmr_pair_create(A, b, noise, C, x, &s);
    if (!st) st = larmor_nrm2(noise, &size);
    if (!st && !(size > 0)) s.choice.noise = 0;
    if (!st && size > 0) st = choose(&s, b, noise);
    if (!st && !(size > 0)) s.choice.weight = s.least;
    s.choice.seconds = lmr_seconds() - begin;
    if (!st) st = finish(&s, &o, report);
    if (choice) *choice = s.choice;
    lmr_pair_free(&s);
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
