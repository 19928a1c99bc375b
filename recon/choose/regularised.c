/* The weight of a regulariser from the data. Two problems are iterated side by side, one with a little more noise in its
 * data, while the weight falls; what they differ by is how the image follows the noise, at every stage of convergence.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/choose/choose.h"
#include "recon/solve/regularised.h"

#define NUDGE 0.1    /* of the noise: what the second problem has more of it */
#define STEP 2.      /* from one weight to the next where they are compared */
#define STRIDE 4.    /* and on the way there */
#define ABOVE 2.     /* times the expected weight, where comparing begins */
#define START 1e-3   /* relative: where the way begins, for what no sample sees is filled in at large weights */
#define LEAST 2e-4   /* the smallest weight, relative to the mean eigenvalue of A^H A and the image */
#define FIRM 0.1     /* the change in an iteration relative to the noise of the image, at which the last run ends */
#define LOOSEST 5e-3 /* and relative to the image, at most and at least */
#define TIGHTEST 2e-4

enum { ON_THE_WAY = 4, FIRST = 10, NEXT = 6, MOST_TRIED = 14, LAST_ITERS = 100 };

typedef struct search {
    lmr_pair pair;
    lmr_regularised u, v; /* the problem, and that with more noise */
    lmr_admm s, t;
    larmor_array *moved, *change; /* images: v's, and how far it is from u's */
    lmr_curve curve;
    double expected, least, unit;
} search;

/* ---- both problems ---- */

static larmor_status weigh(search *w, double weight)
{
    LMR_TRY(lmr_admm_weigh(&w->s, weight));
    return lmr_admm_weigh(&w->t, weight);
}

static larmor_status iterate(search *w, int count)
{
    double primal, other;
    for (int i = 0; i < count; i++) {
        LMR_TRY(lmr_admm_step(&w->s, w->u.z, &primal));
        LMR_TRY(lmr_admm_follow(&w->t, &w->s));
        LMR_TRY(lmr_admm_step(&w->t, w->v.z, &other));
        LMR_TRY(lmr_admm_balance(&w->s, primal));
        w->pair.choice.iters += 2;
        const larmor_progress progress = {.iter = w->pair.choice.iters, .residual = primal, .objective = NAN};
        if (lmr_pair_watch(&w->pair, &progress))
            return LMR_FAIL(LARMOR_STOPPED, "admm: stopped by the caller while the weight was chosen");
    }
    return LARMOR_OK;
}

/* change <- J e */
static larmor_status find_change(search *w)
{
    LMR_TRY(lmr_regularised_image(&w->u, LARMOR_OK));
    LMR_TRY(lmr_regularised_image(&w->v, LARMOR_OK));
    LMR_TRY(larmor_copy(w->v.x, w->change));
    LMR_TRY(larmor_axpby(-1 / NUDGE, w->u.x, 1 / NUDGE, w->change));
    return larmor_nrm2(w->change, &w->pair.choice.image_noise);
}

static larmor_status try_weight(search *w, double weight, int iters)
{
    double value;
    LMR_TRY(weigh(w, weight));
    LMR_TRY(iterate(w, iters));
    LMR_TRY(find_change(w));
    LMR_TRY(lmr_risk_value(&w->pair.risk, w->u.x, w->change, &value));
    w->pair.choice.tried++;
    if (lmr_curve_add(&w->curve, log(weight), value)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "choose: the estimated error at weight %g is %g", weight, value);
}

/* ---- the way down ---- */

static larmor_status choose(search *w)
{
    const double first = fmax(ABOVE * w->expected, w->least);
    double weight;
    for (weight = START * w->unit; weight > STRIDE * first; weight /= STRIDE) {
        LMR_TRY(weigh(w, weight));
        LMR_TRY(iterate(w, ON_THE_WAY));
    }
    LMR_TRY(try_weight(w, first, FIRST));
    for (weight = first / STEP; lmr_curve_index(&w->curve) == 0 && weight >= w->least; weight /= STEP) {
        if (w->pair.choice.tried == MOST_TRIED) break;
        LMR_TRY(try_weight(w, weight, NEXT));
    }
    for (weight = first * STEP; lmr_curve_index(&w->curve) == w->curve.count - 1; weight *= STEP) {
        if (w->pair.choice.tried == MOST_TRIED) break;
        LMR_TRY(try_weight(w, weight, NEXT));
    }
    w->pair.choice.weight = exp(lmr_curve_lowest(&w->curve));
    return LARMOR_OK;
}

/* ---- begin and end ---- */

/* rhs of v: A^H b and some noise. */
static larmor_status nudge(search *w, larmor_op *A)
{
    larmor_array *rhs;
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &rhs));
    larmor_status st = larmor_copy(w->pair.risk.rhs, rhs);
    if (!st) st = larmor_axpby(NUDGE, w->pair.risk.noise, 1, rhs);
    larmor_array *all[] = {w->pair.risk.rhs, rhs};
    lmr_regularised *problem[] = {&w->u, &w->v};
    lmr_admm *solver[] = {&w->s, &w->t};
    for (int i = 0; i < 2 && !st; i++) {
        larmor_array *own = larmor_array_ref(all[i]);
        if (problem[i]->E) {
            larmor_array_free(own), own = NULL;
            st =
                larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(problem[i]->E), &own);
            if (!st) st = larmor_op_adjoint(problem[i]->E, all[i], own);
        }
        if (!st) st = lmr_data_of("admm", problem[i]->AE, own, w->pair.risk.square, 0, &solver[i]->f);
        larmor_array_free(own);
    }
    larmor_array_free(rhs);
    return st;
}

/* A start for both from conjugate gradients, which also says how large the noise is. Series begin as they are. */
static larmor_status begin_images(search *w, const larmor_array *b, const larmor_array *noise, int series)
{
    double weight;
    if (!series) {
        LMR_TRY(lmr_pair_weight(&w->pair, noise, &weight));
        LMR_TRY(lmr_pair_solve(&w->pair, weight));
        LMR_TRY(lmr_pair_rate(&w->pair, b, noise));
    }
    LMR_TRY(larmor_copy(w->pair.x, w->moved));
    return larmor_axpby(NUDGE, w->pair.J, 1, w->moved);
}

static larmor_status begin(search *w, larmor_op *A, const larmor_regulariser *r, const larmor_solve_opts *o)
{
    larmor_solve_opts same = *o;
    same.circulant = w->pair.c;
    LMR_TRY(lmr_regularised_create(r, A, w->pair.x, &w->u));
    LMR_TRY(lmr_regularised_create(r, A, w->moved, &w->v));
    LMR_TRY(nudge(w, A));
    same.monitor = NULL;
    LMR_TRY(lmr_regularised_settings(r, A, &same, &w->u));
    w->s.make = lmr_regularised_inverse, w->s.maker = &w->u;
    LMR_TRY(lmr_admm_create(r->penalty.K, r->penalty.g, START * w->unit, &same, &w->s));
    same.precondition = w->s.M;
    LMR_TRY(lmr_admm_create(r->penalty.K, r->penalty.g, START * w->unit, &same, &w->t));
    LMR_TRY(lmr_admm_start(&w->s, w->u.z));
    return lmr_admm_start(&w->t, w->v.z);
}

/* The last run, of the problem itself. */
static larmor_status finish(search *w, const larmor_array *b, const larmor_regulariser *r,
                            const larmor_solve_opts *opts, larmor_report *report)
{
    larmor_solve_opts o = *opts;
    double size;
    LMR_TRY(larmor_nrm2(w->u.x, &size));
    if (o.max_iter == 0) o.max_iter = LAST_ITERS;
    if (o.tol == 0 && size > 0) o.tol = fmin(LOOSEST, fmax(TIGHTEST, FIRM * w->pair.choice.image_noise / size));
    if (o.tol == 0) o.tol = r->kind->tol;
    lmr_regularised_watch(&w->u, &o);
    if (!opts->circulant) {
        larmor_op_free(w->s.M);
        w->s.M = larmor_op_ref(opts->precondition), w->s.make = NULL;
    }
    LMR_TRY(lmr_admm_weigh(&w->s, w->pair.choice.weight));
    const larmor_status st = lmr_admm_go_on(&w->s, b, w->u.z, &o, report);
    return lmr_regularised_image(&w->u, st);
}

static void search_free(search *w)
{
    lmr_admm_free(&w->s), lmr_admm_free(&w->t);
    lmr_regularised_free(&w->u), lmr_regularised_free(&w->v);
    larmor_array_free(w->moved), larmor_array_free(w->change);
    lmr_pair_free(&w->pair);
}

static larmor_status run(search *w, larmor_op *A, const larmor_array *b, const larmor_array *noise,
                         const larmor_circulant *c, larmor_regulariser *r, larmor_array *x,
                         const larmor_solve_opts *o, larmor_report *report)
{
    const double start = lmr_seconds();
    double size;
    const int series = c->eigenvalues->shape.ndim < larmor_op_in_shape(A).ndim;
    LMR_TRY(lmr_pair_create(A, b, noise, c, x, &w->pair));
    LMR_TRY(lmr_arrays_create(A, larmor_op_in_shape(A), 2, (larmor_array * *[]){&w->moved, &w->change}));
    LMR_TRY(larmor_lambda_unit(A, b, &w->unit));
    LMR_TRY(begin_images(w, b, noise, series));
    LMR_TRY(lmr_typical(w->pair.x, &size));
    w->least = size > 0 ? LEAST * size * c->mean / c->square : 1e-5 * w->unit;
    LMR_TRY(lmr_pair_deviation(&w->pair, noise, &w->expected));
    w->expected *= r->kind->strength;
    LMR_TRY(begin(w, A, r, o));
    LMR_TRY(lmr_regularised_image(&w->u, choose(w)));
    r->weight = w->pair.choice.weight;
    w->pair.choice.seconds = lmr_seconds() - start;
    return finish(w, b, r, o, report);
}

larmor_status larmor_regularised_choose(larmor_op *A, const larmor_array *b, const larmor_array *noise,
                                        const larmor_circulant *C, larmor_regulariser *r, larmor_array *x,
                                        const larmor_solve_opts *opts, larmor_choice *choice, larmor_report *report)
{
    const larmor_solve_opts o = opts ? *opts : (larmor_solve_opts){0};
    search w = {
        .pair = {
            .choice = {.noise = 1}, .excess = o.excess > 1 ? o.excess : 1, .monitor = o.monitor, .user = o.user}};
    if (report) *report = (larmor_report){.objective = NAN};
    if (choice) *choice = (larmor_choice){0};
    LMR_TRY(lmr_regularised_check(A, b, r, x));
    LMR_TRY(lmr_run_check(r->kind->name, A, b, x, &o));
    if (!noise || !C)
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: a sample of the noise and a circulant are needed", r->kind->name);
    const larmor_status st = run(&w, A, b, noise, C, r, x, &o, report);
    if (choice) *choice = w.pair.choice;
    search_free(&w);
    return st;
}
