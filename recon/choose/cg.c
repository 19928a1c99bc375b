/* The Tikhonov weight from the data. The normal equations are solved for b and for a sample of noise at one small weight;
 * the solutions at larger ones follow by the circulant, (N + l)^-1 (N + l0) ~ E (C + l e)^-1 (C + l0 e) E^-1, at the cost
 * of some FFTs each. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "core/random.h"
#include "recon/choose/choose.h"
#include "recon/choose/risk.h"
#include "recon/solve/solve.h"

#define LEAST 3e-6         /* the smallest weight, relative to the largest eigenvalue of A^H A */
#define PER_DECADE 6       /* weights at which the estimate is evaluated */
#define BELOW 0.3          /* how far below the weight of the solutions the filters are believed */
#define ENOUGH 0.1         /* error of a solution relative to the noise in it */
#define WITHOUT_NOISE 1e-4 /* the same relative to the solution, where there is no noise */

enum { PAIR_ITERS = 40, ROUNDS = 3 };

typedef struct search {
    lmr_risk risk;
    const larmor_circulant *c;
    larmor_array *x, *J;   /* solutions for b and for the noise at weight `at` */
    larmor_array *fx, *fJ; /* (C + at e) times the transforms of E^-1 x and E^-1 J */
    larmor_array *ft;      /* the transform of E twice */
    larmor_array *factors, *filtered;
    double at, least;
    larmor_choice choice;
} search;

/* ---- solutions by filters ---- */

/* out <- transform of E^-1 x, or of E x */
static larmor_status transform(const larmor_circulant *c, const larmor_array *x, int inverse, larmor_array *scratch,
                               larmor_array *out)
{
    const lmr_recon_kernels *kernels;
    LMR_TRY(lmr_recon_kernels_of(x->dev, x->dtype, &kernels));
    LMR_TRY(larmor_copy(x, out));
    if (c->sight) {
        LMR_TRY(larmor_copy(c->sight, scratch));
        if (inverse) LMR_TRY(kernels->power(x->dev->ctx, larmor_array_count(x), -2, 0, scratch->data));
        LMR_TRY(larmor_mul(scratch, 0, out));
    }
    return lmr_circulant_fft(out, -1);
}

static larmor_status prepare_filters(search *s)
{
    LMR_TRY(transform(s->c, s->x, 1, s->factors, s->fx));
    LMR_TRY(transform(s->c, s->J, 1, s->factors, s->fJ));
    LMR_TRY(lmr_circulant_affine(s->c, 1, s->at * s->c->square, s->factors));
    LMR_TRY(larmor_mul(s->factors, 0, s->fx));
    return larmor_mul(s->factors, 0, s->fJ);
}

/* factors <- 1 / (C + weight e) / voxels */
static larmor_status set_factors(search *s, double weight)
{
    const double floor = 1e-7 * s->c->largest; /* rounding makes eigenvalues of 0 negative */
    LMR_TRY(lmr_circulant_affine(s->c, 1, weight * s->c->square + floor, s->factors));
    LMR_TRY(lmr_circulant_invert(s->c->mean > 0 ? s->c->mean : 1, s->factors));
    return larmor_axpby(1 / (double)larmor_array_count(s->factors), s->factors, 0, s->factors);
}

/* out <- the solution at the weight of the factors, from f */
static larmor_status filter(search *s, const larmor_array *f, larmor_array *out)
{
    LMR_TRY(larmor_copy(f, out));
    LMR_TRY(larmor_mul(s->factors, 0, out));
    LMR_TRY(lmr_circulant_fft(out, 1));
    return lmr_circulant_see(s->c, out);
}

/* The estimated error at a weight. Of exact solutions A^H b - N x is weight x, and N J e is A^H e - weight J e. */
static larmor_status estimate(search *s, double weight, double *value)
{
    double misfit, trace;
    LMR_TRY(set_factors(s, weight));
    LMR_TRY(filter(s, s->fx, s->filtered));
    LMR_TRY(larmor_op_forward(s->risk.M, s->filtered, s->risk.work[0]));
    LMR_TRY(larmor_nrm2(s->risk.work[0], &misfit));
    LMR_TRY(larmor_copy(s->fJ, s->filtered));
    LMR_TRY(larmor_mul(s->factors, 0, s->filtered));
    LMR_TRY(lmr_real_dot(s->ft, s->filtered, &trace)); /* Parseval: the factors hold 1 / voxels */
    *value = weight * weight * misfit * misfit - 2 * weight * trace;
    return LARMOR_OK;
}

/* ---- solutions ---- */

/* x, J <- the solutions at a weight, from where they are; to a tenth of the noise in them. */
static larmor_status solve_pair(search *s, double weight)
{
    const double noise = sqrt(s->risk.noise_square);
    larmor_op *M;
    larmor_report report;
    LMR_TRY(larmor_circulant_inverse(s->c, weight, NULL, 0, &M));
    larmor_solve_opts o = {
        .max_iter = PAIR_ITERS, .tol = -1, .lambda = weight, .precondition = M, .error = ENOUGH * noise};
    larmor_status st = lmr_cg_normal(s->risk.A, s->risk.rhs, s->risk.square, s->x, &o, &report);
    s->choice.iters += report.iters;
    if (!st) st = lmr_cg_normal(s->risk.A, s->risk.noise, s->risk.square, s->J, &o, &report);
    s->choice.iters += report.iters;
    larmor_op_free(M);
    s->at = weight;
    return st;
}

/* A weight that is rather too small: a tenth of the noise's power over the image's. */
static larmor_status first_weight(search *s, const larmor_array *noise, double *weight)
{
    double all, deviation;
    LMR_TRY(larmor_nrm2(noise, &deviation));
    LMR_TRY(larmor_op_forward(s->risk.M, s->risk.rhs, s->risk.work[0]));
    LMR_TRY(larmor_nrm2(s->risk.work[0], &all));
    const double image = fmax(all * all - s->risk.noise_square, 0.1 * s->risk.noise_square) / s->c->seen;
    const double power = deviation * deviation / (double)larmor_array_count(noise);
    *weight = image > 0 ? fmax(s->least, 0.1 * power / image) : s->least;
    return LARMOR_OK;
}

/* The weight with the least estimate as far as the filters reach from where the solutions are. */
static larmor_status scan(search *s, double *weight)
{
    const double step = log(10.) / PER_DECADE;
    lmr_curve curve = {.count = 0};
    double value;
    LMR_TRY(prepare_filters(s));
    double at = fmax(log(s->least), log(BELOW * s->at));
    for (int rising = 0; rising < 4; at += step) {
        LMR_TRY(estimate(s, exp(at), &value));
        if (!lmr_curve_add(&curve, at, value)) break;
        s->choice.tried++;
        rising = lmr_curve_index(&curve) < curve.count - 1 ? rising + 1 : 0;
    }
    *weight = exp(lmr_curve_lowest(&curve));
    return LARMOR_OK;
}

/* x, J <- the filters' solutions at a weight. */
static larmor_status move_to(search *s, double weight)
{
    LMR_TRY(set_factors(s, weight));
    LMR_TRY(filter(s, s->fx, s->x));
    LMR_TRY(filter(s, s->fJ, s->J));
    return larmor_nrm2(s->J, &s->choice.image_noise);
}

static larmor_status choose(search *s, const larmor_array *noise)
{
    double weight, best;
    LMR_TRY(transform(s->c, s->risk.twice, 0, s->factors, s->ft));
    LMR_TRY(first_weight(s, noise, &weight));
    for (int round = 0;; round++) {
        LMR_TRY(solve_pair(s, weight));
        LMR_TRY(scan(s, &best));
        LMR_TRY(move_to(s, best));
        s->choice.weight = best;
        const int near = best < 30 * weight && (best > 0.5 * weight || best < 1.01 * s->least);
        if (near || round == ROUNDS - 1) return LARMOR_OK;
        weight = fmax(s->least, 0.2 * best);
    }
}

static larmor_status search_create(larmor_op *A, const larmor_array *b, const larmor_array *noise,
                                   const larmor_circulant *c, larmor_array *x, search *s)
{
    larmor_array **arrays[] = {&s->J, &s->fx, &s->fJ, &s->ft, &s->factors, &s->filtered};
    s->c = c, s->x = x;
    s->least = LEAST * (c->largest > 0 ? c->largest : 1) / c->square;
    LMR_TRY(lmr_risk_create(A, b, noise, c, &s->risk));
    return lmr_arrays_create(A, larmor_op_in_shape(A), 6, arrays);
}

static void search_free(search *s)
{
    larmor_array *all[] = {s->J, s->fx, s->fJ, s->ft, s->factors, s->filtered};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) larmor_array_free(all[i]);
    lmr_risk_free(&s->risk);
}

/* The last solve, from the filters' solution. */
static larmor_status finish(search *s, const larmor_solve_opts *opts, larmor_report *report)
{
    larmor_solve_opts o = *opts;
    larmor_op *M;
    double size;
    LMR_TRY(larmor_circulant_inverse(s->c, s->choice.weight, NULL, 0, &M));
    larmor_status st = larmor_nrm2(s->x, &size);
    if (o.max_iter == 0) o.max_iter = 100;
    if (o.tol == 0) o.tol = -1;
    o.lambda = s->choice.weight;
    o.judge = M;
    if (o.circulant) o.precondition = M;
    o.circulant = NULL;
    if (o.error == 0) o.error = fmax(ENOUGH * s->choice.image_noise, WITHOUT_NOISE * size);
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
    search s = {.at = 0};
    double size;
    if (report) *report = (larmor_report){.objective = NAN};
    if (choice) *choice = (larmor_choice){0};
    LMR_TRY(lmr_run_check("cg", A, b, x, &o));
    if (!noise || !C) return LMR_FAIL(LARMOR_ERR_ARG, "cg: a sample of the noise and a circulant are needed");
    larmor_status st = search_create(A, b, noise, C, x, &s);
    if (!st) st = larmor_nrm2(noise, &size);
    if (!st && size > 0) st = choose(&s, noise);
    if (!st && !(size > 0)) s.choice.weight = s.least;
    s.choice.seconds = lmr_seconds() - begin;
    if (!st) st = finish(&s, &o, report);
    if (choice) *choice = s.choice;
    search_free(&s);
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
