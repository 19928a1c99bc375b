/* The weight of a regulariser from the data: the problem of the samples that are kept is iterated while the weight falls,
 * and its images are held against the samples that are not. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/choose/choose.h"
#include "recon/solve/regularised.h"

#define STEP 2.    /* from one weight to the next where they are compared */
#define STRIDE 4.  /* and on the way there */
#define ABOVE 4.   /* times the weight that is expected from the noise, where comparing begins */
#define START 1e-3 /* relative: where the way begins, for what no sample sees is filled in at large weights */
#define LEAST 2e-5 /* the smallest weight, relative to the mean eigenvalue of A^H A and the image */

enum { ON_THE_WAY = 4, FIRST = 10, NEXT = 6, MOST_TRIED = 20, RISEN = 2 };

typedef struct search {
    lmr_trial trial;
    lmr_regularised u; /* the problem of the samples that are kept */
    lmr_admm s;
} search;

static larmor_status iterate(search *w, double weight, int count)
{
    double primal;
    LMR_TRY(lmr_admm_weigh(&w->s, weight));
    for (int i = 0; i < count; i++) {
        LMR_TRY(lmr_admm_step(&w->s, w->u.z, &primal));
        LMR_TRY(lmr_admm_balance(&w->s, primal));
        const larmor_progress progress = {
            .iter = ++w->trial.choice.iters, .residual = primal, .objective = NAN};
        if (lmr_trial_watch(&w->trial, &progress))
            return LMR_FAIL(LARMOR_STOPPED, "admm: stopped by the caller while the weight was chosen");
    }
    return LARMOR_OK;
}

static larmor_status try_weight(search *w, double weight, int iters)
{
    LMR_TRY(iterate(w, weight, iters));
    LMR_TRY(lmr_regularised_image(&w->u, LARMOR_OK));
    return lmr_trial_judge(&w->trial, weight);
}

/* Down until it has risen, or as far as it is of use; up from the first weight where that is the best. */
static larmor_status choose(search *w, double unit, double least, double expected)
{
    lmr_trial *t = &w->trial;
    const double first = expected > 0 ? fmax(ABOVE * expected, least) : fmax(START * unit, least);
    double weight;
    for (weight = START * unit; weight > STRIDE * first; weight /= STRIDE) LMR_TRY(iterate(w, weight, ON_THE_WAY));
    LMR_TRY(try_weight(w, first, FIRST));
    for (weight = first / STEP; lmr_curve_index(&t->curve) < RISEN && weight >= least; weight /= STEP) {
        if (t->choice.tried == MOST_TRIED) break;
        LMR_TRY(try_weight(w, weight, NEXT));
    }
    for (weight = first * STEP; lmr_curve_index(&t->curve) == t->curve.count - 1; weight *= STEP) {
        if (t->choice.tried >= MOST_TRIED) break;
        LMR_TRY(try_weight(w, weight, NEXT));
    }
    t->choice.weight = exp(lmr_curve_lowest(&t->curve));
    return LARMOR_OK;
}

/* Conjugate gradients give an image to begin with. A series begins as it is. */
static larmor_status begin(search *w, larmor_regulariser *r, const larmor_solve_opts *o, double unit)
{
    lmr_trial *t = &w->trial;
    larmor_op *A = t->held->A;
    larmor_solve_opts same = *o;
    same.monitor = NULL;
    if (t->expected > 0) LMR_TRY(lmr_trial_solve(t, t->expected));
    LMR_TRY(lmr_regularised_create(r, A, t->x, &w->u));
    LMR_TRY(lmr_data_create("admm", w->u.AE, t->b, 0, &w->s.f));
    LMR_TRY(lmr_regularised_settings(r, A, &same, &w->u));
    LMR_TRY(lmr_admm_create(r->penalty.K, r->penalty.g, START * unit, &same, &w->s));
    return lmr_admm_start(&w->s, w->u.z);
}

static larmor_status search_weight(search *w, larmor_regulariser *r, const larmor_solve_opts *o)
{
    lmr_trial *t = &w->trial;
    double unit, size;
    LMR_TRY(larmor_lambda_unit(t->A, t->b, &unit));
    larmor_status st = begin(w, r, o, unit);
    if (!st) st = lmr_typical(t->x, &size);
    const double mean = t->c->mean / t->c->square;
    const double least = st || !(size > 0) ? 1e-6 * unit : LEAST * size * mean;
    if (!st) st = choose(w, unit, least, t->deviation * r->kind->strength);
    st = lmr_regularised_image(&w->u, st);
    lmr_admm_free(&w->s), lmr_regularised_free(&w->u);
    return st;
}

larmor_status larmor_regularised_choose(larmor_op *A, const larmor_array *b, const larmor_held_out *held,
                                        const larmor_circulant *C, larmor_regulariser *r, larmor_array *x,
                                        const larmor_solve_opts *opts, larmor_choice *choice, larmor_report *report)
{
    const double start = lmr_seconds();
    const larmor_solve_opts o = opts ? *opts : (larmor_solve_opts){0};
    search w = {.trial = {.monitor = o.monitor, .user = o.user}};
    if (report) *report = (larmor_report){.objective = NAN};
    if (choice) *choice = (larmor_choice){0};
    LMR_TRY(lmr_regularised_check(A, b, r, x));
    LMR_TRY(lmr_run_check(r->kind->name, A, b, x, &o));
    if (!held || !held->A || !held->factors || !C)
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: samples held out and a circulant are needed", r->kind->name);
    larmor_status st = lmr_trial_create(A, b, held, C, x, &w.trial);
    if (!st) st = search_weight(&w, r, &o);
    w.trial.choice.seconds = lmr_seconds() - start;
    if (choice) *choice = w.trial.choice;
    lmr_trial_free(&w.trial);
    if (!st) st = larmor_regulariser_set_weight(r, w.trial.choice.weight);
    return st ? st : larmor_regularised(A, b, r, x, &o, report);
}
