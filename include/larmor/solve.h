/* Solvers, and the proximal maps, regularisers and preconditioners that they take. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LARMOR_SOLVE_H
#define LARMOR_SOLVE_H

#include "larmor/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what all solvers share ---- */

typedef struct larmor_progress {
    int iter, max_iter;
    double residual;  /* relative; each solver says of what */
    double objective; /* of the problem that the solver minimises; NAN where it does not compute it */
    double seconds;
    const larmor_array *x; /* the iterate; read only */
} larmor_progress;
typedef int (*larmor_monitor)(void *user, const larmor_progress *p); /* non-zero stops: LARMOR_STOPPED */

typedef struct larmor_solve_opts { /* zero means default */
    int max_iter;                  /* default: the solver's */
    double tol;    /* relative residual at which to stop; default: the solver's; negative: at rounding */
    double lambda; /* Tikhonov weight, absolute; 0 for none. Of larmor_cg and larmor_lsmr */
    larmor_monitor monitor;
    void *user;
    larmor_op
        *precondition; /* larmor_cg: positive definite and self-adjoint, close to (A^H A + lambda)^-1, or NULL */
} larmor_solve_opts;

typedef struct larmor_report {
    int iters;
    double residual, objective, seconds;
} larmor_report;

/* The largest eigenvalue of A^H A by iters steps of the power method from a seeded start (default 15 if iters is 0).
 */
LARMOR_API larmor_status larmor_opnorm(larmor_op *A, int iters, double *largest);

/* ---- proximal maps ---- */

typedef struct larmor_prox larmor_prox; /* of a function g; refcounted; one thread at a time */

typedef struct larmor_prox_impl {
    const char *name;
    /* z <- argmin_z g(z) + |z - x|^2 / (2 t), t > 0; z may be x */
    larmor_status (*apply)(void *self, double t, const larmor_array *x, larmor_array *z);
    larmor_status (*value)(void *self, const larmor_array *x, double *g); /* g(x) */
    void (*destroy)(void *self);                                          /* or NULL */
} larmor_prox_impl;

/* A function of your own, of complex arrays of this shape. self belongs to it from a successful return on. */
LARMOR_API larmor_status larmor_prox_create(larmor_device *dev, const larmor_prox_impl *impl, void *self,
                                            larmor_dtype dtype, larmor_shape shape, larmor_prox **p);
LARMOR_API larmor_status larmor_prox_apply(larmor_prox *p, double t, const larmor_array *x, larmor_array *z);
LARMOR_API larmor_status larmor_prox_value(larmor_prox *p, const larmor_array *x, double *g);
LARMOR_API larmor_prox *larmor_prox_ref(larmor_prox *p);
LARMOR_API void larmor_prox_free(larmor_prox *p); /* NULL is fine */

/* ---- least squares ---- */

/* min_x |A x - b|^2 + lambda |x|^2 by conjugate gradients on (A^H A + lambda) x = A^H b.
 *
 * x        start in, solution out; zeros are a good start. After LARMOR_STOPPED it holds the current iterate.
 * opts     12 iterations and tol 1e-4 by default; the residual is |r| / |A^H b| of the normal equations.
 * report   may be NULL.
 * Errors   LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for non-finite values or a residual that grows 5 times running: x is
 *          then the best iterate. LARMOR_STOPPED if the monitor said so.
 * Source   Hestenes and Stiefel, J. Res. Natl. Bur. Stand. 49, 409 (1952). */
LARMOR_API larmor_status larmor_cg(larmor_op *A, const larmor_array *b, larmor_array *x,
                                   const larmor_solve_opts *opts, larmor_report *report);

/* ---- proximal solvers: min_x 1/2 |A x - b|^2 + g(K x) ---- */

/* ---- preconditioners ---- */

/* ---- regularisers ---- */

#ifdef __cplusplus
}
#endif
#endif
