/* The search for the weight with the smallest estimated error. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_CHOOSE_H
#define LMR_CHOOSE_H

#include "recon/choose/risk.h"

/* Values of a function of the weight at growing logarithms of it. */
typedef struct lmr_curve {
    double at[32], value[32];
    int count;
} lmr_curve;

/* Insert a point in its place; false if there is no room or the value is not finite. */
int lmr_curve_add(lmr_curve *c, double at, double value);

/* Where the parabola through the lowest point and its neighbours has its lowest; the end itself if that is an end. */
double lmr_curve_lowest(const lmr_curve *c);

/* The number of the lowest point. */
int lmr_curve_index(const lmr_curve *c);

/* ---- solutions for b and for a sample of noise ---- */

typedef struct lmr_pair {
    lmr_risk risk;
    const larmor_circulant *c;
    larmor_array *x, *J;   /* solutions for b and for the noise at weight `at` */
    larmor_array *fx, *fJ; /* (C + at e) times the transforms of E^-1 x and E^-1 J */
    larmor_array *t;       /* the transform of E twice */
    larmor_array *factors;
    double at, least; /* at: 0 before the first */
    double excess;    /* the most that the noise is multiplied by */
    larmor_monitor monitor;
    void *user;
    larmor_choice choice;
} lmr_pair;

/* x is the caller's; its content is the start. */
larmor_status lmr_pair_create(larmor_op *A, const larmor_array *b, const larmor_array *noise,
                              const larmor_circulant *c, larmor_array *x, lmr_pair *s);
void lmr_pair_free(lmr_pair *s);
/* A larmor_monitor of an lmr_pair: shows the caller's that no iterations are counted yet, and asks it whether to stop. */
int lmr_pair_watch(void *pair, const larmor_progress *progress);
/* The noise's power over the image's, which is the best weight where the image's spectrum is flat. */
larmor_status lmr_pair_weight(lmr_pair *s, const larmor_array *noise, double *weight);
/* The deviation of the noise in A^H b, averaged over k-space as it makes the noise of an image. */
larmor_status lmr_pair_deviation(const lmr_pair *s, const larmor_array *noise, double *deviation);
/* x, J <- the solutions at a weight, to a small part of the noise in them. */
larmor_status lmr_pair_solve(lmr_pair *s, double weight);
/* After that: make the noise what the data are off the model. */
larmor_status lmr_pair_rate(lmr_pair *s, const larmor_array *b, const larmor_array *noise);

#endif
