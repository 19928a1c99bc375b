/* The weight of a regulariser from the data: the problem of the samples that are kept is iterated while the weight
 * falls, and its images are compared with the samples that are held out. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/choose/choose.h"
#include "recon/solve/regularised.h"

/* The search as a whole is measured over scripts/measure/scenes.py (docs/records/choosing.md, "The criterion"),
 * these steps and ends alone are not. */
#define STEP_FACTOR 2.                /* from one weight to the next where they are compared */
#define FIRST_STEP_FACTOR 4.          /* and before that */
#define SEARCH_START_OVER_EXPECTED 4. /* times the weight that is expected from the noise, where comparing begins */
#define START_WEIGHT 1e-3             /* relative: the first weight; large, because it fills gaps between samples */
#define MIN_WEIGHT 2e-5 /* the smallest weight, relative to the mean eigenvalue of A^H A and the image */

/* Times the noise in the samples held out: with more, gaps decide. The three were tuned on 119 scenes
 * (scripts/measure/scenes.py, seed 33): the error of tv over the best became 1.023 from 1.025, and above 1.04 in 18
 * from 24. */
#define GAPS_MISFIT_OVER_NOISE 1.5
#define GAPS_WEIGHT_OVER_LOWEST 0.85 /* times the weight of the least misfit, where gaps decide */
#define MIN_MISFIT 1e-4              /* of the square of the samples held out: with less they do not decide */
/* Of the least misfit, how much more it is at the second weight where that ends the descent: what the iterations have
 * left of the first image makes a difference of 4 % in tests/recon/test_choose.c. */
#define LEAST_RISE 0.1

enum {
    DESCENT_ITERS = 4, /* at each weight before the first that is compared: each begins at the image before it */
    FIRST_ITERS = 8,   /* at the first weight that is compared */
    /* The same where the search begins at the image of conjugate gradients: after 8 it is still that, which of smooth
     * objects is better than the solution: weights came out 4 to 8 times too large (docs/records/choosing.md). */
    FIRST_ITERS_FROM_IMAGE = 13,
    NEXT_ITERS = 5,   /* at the others, whose images differ little from the one before */
    TIMES_IN_SET = 4, /* as many, where images are held to a set, which is found late */
    MOST_TRIED = 20,  /* weights; steps of 2 from START_WEIGHT to MIN_WEIGHT are 6 */
    LEAST_BEYOND = 2, /* weights beyond the least misfit, so that it is no accident of one */
    /* Steps of an inner problem at most: images that are compared only need not be as near to their solution
     * (docs/records/choosing.md, "Inner problems of the search"). */
    MOST_INNER = 18,
};

typedef struct search {
    lmr_trial *trial;
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
        const larmor_progress progress = {.iter = ++w->trial->choice.iters, .residual = primal, .objective = NAN};
        LMR_REFUSE(lmr_trial_watch(w->trial, &progress), LARMOR_STOPPED,
                   "admm: stopped by the caller while the weight was chosen");
    }
    return LARMOR_OK;
}

static larmor_status try_weight(search *w, double weight, int iters)
{
    lmr_trial *t = w->trial;
    LMR_TRY(iterate(w, weight, w->u.r->set ? TIMES_IN_SET * iters : iters));
    if (w->u.r->set) LMR_TRY(larmor_copy(t->x, t->image)); /* the iterate goes on outside of the set */
    LMR_TRY(lmr_regularised_image(&w->u, LARMOR_OK));
    LMR_TRY(lmr_trial_judge(t, weight));
    return w->u.r->set ? larmor_copy(t->image, t->x) : LARMOR_OK;
}

/* Without the samples held out there are more gaps to fill than with all of them: where gaps decide, and not
 * noise, the weight is smaller than that of the least misfit. */
static double best_weight(const lmr_trial *t)
{
    const double misfit = t->curve.value[lmr_curve_index(&t->curve)];
    const int gaps = !t->disturbed && t->held_noise > 0 && misfit > GAPS_MISFIT_OVER_NOISE * t->held_noise &&
                     misfit > MIN_MISFIT * t->held_square;
    return gaps ? GAPS_WEIGHT_OVER_LOWEST * exp(lmr_curve_lowest(&t->curve)) : lmr_trial_largest(t);
}

static int best_is_largest(const lmr_trial *t)
{
    return lmr_curve_index(&t->curve) == t->curve.count - 1;
}

/* 1 if the misfit has risen with the first step down, by so much that it is no accident. */
static int rises_at_once(const lmr_trial *t)
{
    const lmr_curve *c = &t->curve;
    return c->count == 2 && c->value[0] > (1 + LEAST_RISE) * c->value[1];
}

/* Down from the first weight until the misfit has risen, or as far as it is of use. */
static larmor_status descend(search *w, double first, double least)
{
    lmr_trial *t = w->trial;
    for (double weight = first / STEP_FACTOR; lmr_curve_index(&t->curve) < LEAST_BEYOND && weight >= least;
         weight /= STEP_FACTOR) {
        if (t->choice.tried == MOST_TRIED || rises_at_once(t)) break;
        LMR_TRY(try_weight(w, weight, NEXT_ITERS));
    }
    return LARMOR_OK;
}

/* Up from the first weight while that lowers the misfit. Images have the noise of smaller weights there: a rise ends
 * it only if it is left after as many iterations more. */
static larmor_status ascend(search *w, double first)
{
    lmr_trial *t = w->trial;
    for (double weight = first * STEP_FACTOR; best_is_largest(t); weight *= STEP_FACTOR) {
        if (t->choice.tried >= MOST_TRIED) break;
        LMR_TRY(try_weight(w, weight, NEXT_ITERS));
        if (!best_is_largest(t)) LMR_TRY(try_weight(w, weight, NEXT_ITERS));
    }
    return LARMOR_OK;
}

static larmor_status choose(search *w, double unit, double least, double expected)
{
    lmr_trial *t = w->trial;
    const double first =
        expected > 0 ? fmax(SEARCH_START_OVER_EXPECTED * expected, least) : fmax(START_WEIGHT * unit, least);
    for (double weight = START_WEIGHT * unit; weight > FIRST_STEP_FACTOR * first; weight /= FIRST_STEP_FACTOR)
        LMR_TRY(iterate(w, weight, DESCENT_ITERS));
    LMR_TRY(try_weight(w, first, t->expected > 0 ? FIRST_ITERS_FROM_IMAGE : FIRST_ITERS));
    LMR_TRY(descend(w, first, least));
    LMR_TRY(ascend(w, first));
    t->choice.weight = best_weight(t) / (t->disturbed ? sqrt(LMR_DISTURBED) : 1);
    return LARMOR_OK;
}

/* A^H b is that of the trial, where images are not changed before A. */
static larmor_status take_data(search *w)
{
    const lmr_trial *t = w->trial;
    if (w->u.AE != t->kept) return lmr_data_create("admm", w->u.AE, t->b, 0, &w->s.f);
    w->s.f = (lmr_data){.who = "admm", .A = t->kept, .rhs = larmor_array_ref(t->rhs), .square = t->square};
    return LARMOR_OK;
}

/* Conjugate gradients give an image to begin with, soon where gaps ask for a larger weight than the noise. A series
 * begins as it is. */
static larmor_status begin(search *w, const larmor_regulariser *r, const larmor_solve_opts *o, double unit)
{
    lmr_trial *t = w->trial;
    larmor_op *A = t->kept;
    larmor_solve_opts same = *o;
    same.monitor = NULL;
    same.resume = NULL;
    same.circulant = t->c;
    if (t->expected > 0)
        LMR_TRY(lmr_trial_solve(t, fmax(t->expected, lmr_trial_gaps(t, 1) / SEARCH_START_OVER_EXPECTED)));
    LMR_TRY(lmr_regularised_create(r, A, t->x, &w->u));
    w->u.by_mean = 1; /* weights were tuned on images of few steps by it */
    LMR_TRY(take_data(w));
    LMR_TRY(lmr_regularised_settings(A, &same, &w->u));
    w->s.make = lmr_regularised_inverse;
    w->s.maker = &w->u;
    LMR_TRY(lmr_admm_create(r->penalty.K, r->penalty.g, START_WEIGHT * unit, &same, &w->s));
    if (!same.inner) w->s.most = MOST_INNER;
    if (r->set) w->s.unweighted = larmor_array_count(t->x);
    if (r->set && !t->image)
        LMR_TRY(larmor_array_create(larmor_op_device(A), t->x->dtype, larmor_op_in_shape(A), &t->image));
    return lmr_admm_start(&w->s, w->u.z);
}

larmor_status lmr_choose_regularised(lmr_trial *t, const larmor_regulariser *r, const larmor_solve_opts *o)
{
    search w = {.trial = t};
    double unit = t->held->unit, size;
    LMR_TRY(lmr_regularised_check(t->A, t->b, r, t->x));
    if (t->disturbed || !(unit > 0)) LMR_TRY(larmor_lambda_unit(t->A, t->b, &unit));
    larmor_status st = begin(&w, r, o, unit);
    if (!st) st = lmr_typical(t->x, &size);
    const double least = st || !(size > 0) ? 1e-6 * unit : MIN_WEIGHT * size * t->c->mean / t->c->square;
    if (!st) st = choose(&w, unit, least, t->deviation * r->kind.strength);
    lmr_admm_free(&w.s);
    lmr_regularised_free(&w.u);
    return st;
}
