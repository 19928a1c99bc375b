/* Alternating directions as an object, so that it can be stepped and its weight changed between steps.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/solve/solve.h"

/* *M <- near the inverse of N + penalty K^H K. */
typedef larmor_status (*lmr_admm_inverse)(const void *maker, double penalty, larmor_op **M);

enum { LMR_ADMM_STEPS = 8 };

/* N x = (A^H A + lambda) x is updated in the inner steps, so that neither their start nor the objective needs another
 * normal map, except in every eighth iteration. */
typedef struct lmr_admm {
    lmr_data f;
    larmor_op *K, *M; /* M: near the inverse of N + penalty K^H K, or NULL */
    larmor_prox *g;
    double weight;         /* of g */
    int64_t unweighted;    /* so many numbers at the end of K x are held to a set, and not weighed */
    lmr_admm_inverse make; /* of M, with each penalty; NULL: M stays */
    const void *maker;
    double penalty;
    int least, most; /* inner steps */
    double fall;     /* of the inner residual, at least, between them */
    double rounding; /* a penalty at which rounding in N x moves x as much as x is; 0: not looked at */
    int unresolved;  /* 1: less than a penalty that can be resolved is asked for */
    int steps;
    double length[LMR_ADMM_STEPS];               /* of the last steps of x in a run, the last one first */
    int easy;                                    /* steps in a row whose inner problem took few steps */
    int may_be_rough;                            /* 1: inner problems need not be solved as well where x need not */
    int deep;                                    /* 1: each LMR_ADMM_STEPS-th inner problem takes as many steps */
    int near;                                    /* iterations in a row after which x is near enough */
    larmor_array *Nx, *before, *r, *p, *Np, *Kp; /* like x; Np: or M r, Kp: K^H K p */
    larmor_array *Kx, *z, *u;                    /* like K x; u: the scaled multipliers */
} lmr_admm;

/* All but f, which must be there and belongs to s, also after an error, and make and its maker, which outlives s. */
larmor_status lmr_admm_create(larmor_op *K, larmor_prox *g, double weight, const larmor_solve_opts *o, lmr_admm *s);
void lmr_admm_free(lmr_admm *s);

/* Begin at x, with the multipliers that are there. */
larmor_status lmr_admm_start(lmr_admm *s, const larmor_array *x);
/* One iteration; s->before is the x before it, primal |K x - z| / max(|K x|, |z|). */
larmor_status lmr_admm_step(lmr_admm *s, larmor_array *x, double *primal);
/* After each step: every second call moves the penalty towards balance, and after 40 the 64th, the 128th and so
 * on. */
larmor_status lmr_admm_balance(lmr_admm *s, double primal);
/* Another weight from now on, near whose solution the multipliers are scaled. */
larmor_status lmr_admm_weigh(lmr_admm *s, double weight);
/* From x, as opts say. b: |b| is that of s->f. */
larmor_status lmr_admm_run(lmr_admm *s, const larmor_array *b, larmor_array *x, const larmor_solve_opts *opts,
                           larmor_report *report);
