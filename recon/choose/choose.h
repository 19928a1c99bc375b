/* The search for the weight whose image predicts samples that were held out. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/solve.h"
#include "recon/precond/circulant.h"

#define LMR_DISTURBED 1.25 /* times the noise's power, that of data to which half of a sample of it was added */

/* Values of a function of the weight at growing logarithms of it. */
typedef struct lmr_curve {
    double at[LARMOR_CHOICE_POINTS], value[LARMOR_CHOICE_POINTS];
    int count;
} lmr_curve;

/* Insert a point in its place, or replace the value of the one that is there; false if there is no room or the value
 * is not finite. */
int lmr_curve_add(lmr_curve *c, double at, double value);

/* Where the parabola through the lowest point and its neighbours has its lowest; the end itself if that is an end. */
double lmr_curve_lowest(const lmr_curve *c);
/* The largest place, at or above the lowest, where the curve rises by no more than so much. */
double lmr_curve_within(const lmr_curve *c, double rise);

/* Between the points, of which there is one at least, along straight lines; beyond them as at the ends. */
double lmr_curve_value(const lmr_curve *c, double at);

/* The number of the lowest point. */
int lmr_curve_index(const lmr_curve *c);

/* ---- samples that are held out ---- */

/* For each readout the first one whose samples all lie within `side` of its own, itself where there is none before
 * it: repeated readouts, and arms side by side. Of k [nd, samples, ways, readouts], nd 2 or 3: a readout and other
 * ways to take it, as in the opposite direction; way [readouts] gets the one that lies beside the first readout as it
 * is. first [readouts]; *distinct: how many are their own first one. Once there are more than `most` it ends, and the
 * rest of first is not set. Errors: LARMOR_ERR_MEMORY. */
larmor_status lmr_find_repeats(const double *k, int nd, int64_t samples, int ways, int64_t readouts, double side,
                               int64_t most, int64_t *first, int *way, int64_t *distinct);

/* ---- solutions from the samples that are kept ---- */

typedef struct lmr_trial {
    larmor_op *A;          /* of all samples */
    const larmor_array *b; /* what images are from */
    const larmor_held_out *held;
    const larmor_circulant *c;
    larmor_op *kept;               /* of the samples that are kept; A where none are held out */
    larmor_array *disturbed;       /* b and some noise, where none are held out; or NULL */
    larmor_array *x;               /* the solution from the samples that are kept */
    larmor_array *rhs;             /* A^H b of them */
    larmor_array *image, *factors; /* like x */
    larmor_array *residual;        /* like b, or like the part of it that images are compared with */
    larmor_array *best;            /* like x: becomes the image of the least misfit; or NULL */
    double square;                 /* |b|^2 */
    larmor_prox *set;              /* what x is held to, without a regulariser; or NULL */
    int has_penalty;               /* 1: a regulariser's weight is chosen */
    int there;                     /* 1: x is near enough to the solution */
    double least;                  /* the smallest weight */
    double expected;               /* the weight that the noise alone would ask for; 0 where there is none */
    double floor;                  /* the weight of the rough image, where one is expected */
    double excess;                 /* its misfit over that of the noise alone, or 1 */
    double held_noise;      /* the part of the noise in the misfit of the samples held out; 0 where not known */
    double deviation;       /* of the noise in A^H b, averaged over k-space as it makes that of an image; or 0 */
    double held_square;     /* of the samples held out: the misfit of no image at all */
    double size;            /* the norm of an image, about */
    double noise;           /* the norm of the noise in an image, about; 0 where it is not known */
    double compared_square; /* of the samples that images are compared with; the part of the noise in it, or 0: */
    double compared_noise;
    double compared_error;      /* and the deviation of that part */
    lmr_curve curve, intensity; /* of the misfit, and of the part of the object's intensity that images have */
    larmor_monitor monitor;
    void *user;
    larmor_choice choice;
} lmr_trial;

larmor_status lmr_trial_create(larmor_op *A, const larmor_array *b, const larmor_held_out *held,
                               const larmor_circulant *c, lmr_trial *t);
void lmr_trial_free(lmr_trial *t);
/* A larmor_monitor of an lmr_trial: shows the caller's that no iterations are counted yet, and asks it whether to
 * stop. */
int lmr_trial_watch(void *trial, const larmor_progress *progress);
/* Where samples are so few that gaps between them, not the noise, decide, the best weight is far above the one
 * that the noise asks for, and its solution takes fewer steps: a weight near it, of at most so many times the
 * rough image's. */
double lmr_trial_gaps(const lmr_trial *t, double times);
/* x <- the solution with weight |x|^2 / 2 from the samples that are kept. */
larmor_status lmr_trial_solve(lmr_trial *t, double weight);
/* Enter how far x is from the samples that are held out. */
larmor_status lmr_trial_judge(lmr_trial *t, double weight);
/* The largest weight that does not differ from the one of the least misfit as far as the samples held out decide. */
double lmr_trial_largest(const lmr_trial *t);
/* The weight of |x|^2 / 2, into t->choice. */
larmor_status lmr_choose_tikhonov(lmr_trial *t);
/* The weight of a regulariser, into t->choice. */
larmor_status lmr_choose_regularised(lmr_trial *t, const larmor_regulariser *r, const larmor_solve_opts *o);
