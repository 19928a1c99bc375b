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
    double tol;                    /* at which to stop the residual; default: the solver's; negative: at rounding */
    double lambda;                 /* Tikhonov weight, absolute; 0 for none */
    larmor_monitor monitor;
    void *user;
    /* larmor_cg, larmor_admm, larmor_pdhg: self-adjoint, positive definite and close to the inverse of A^H A +
     * lambda, such as larmor_precondition_circulant makes; or NULL */
    larmor_op *precondition;
    double largest; /* larmor_fista, larmor_pdhg: the largest eigenvalue of A^H A; 0: found by the power method */
    double penalty; /* larmor_admm, larmor_pdhg: the first weight of |K x - z|^2, or dual step; 0: chosen */
    int inner;      /* larmor_admm: conjugate gradient steps per iteration; default 2 */
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

/* ---- proximal solvers: min_x 1/2 |A x - b|^2 + lambda/2 |x|^2 + g(K x) ----
 *
 * K        from A's domain to that of g; NULL for the identity.
 * x        start in, solution out; zeros are a good start. After LARMOR_STOPPED it holds the current iterate.
 * opts     The residual is the relative change of the iterate, |x - x_before| / |x|. The objective is that of the
 *          problem, at no extra application of A.
 * report   may be NULL.
 * Errors   LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for non-finite values or an objective that passes 10 times its value
 *          at the start and at 0 data: x is then the iterate with the smallest objective. LARMOR_STOPPED if the
 *          monitor said so.
 * A is used through larmor_op_normal, and its adjoint once, so that a Toeplitz normal map serves. */

/* K the identity: accelerated proximal gradients with restart, step 1 / L. L grows where it proves too small.
 *
 * opts     100 iterations and tol 1e-4 by default.
 * Source   Beck and Teboulle, SIAM J. Imaging Sci. 2, 183 (2009), section 4; restart: O'Donoghue and Candes, Found.
 *          Comput. Math. 15, 715 (2015), gradient scheme. */
LARMOR_API larmor_status larmor_fista(larmor_op *A, const larmor_array *b, larmor_prox *g, larmor_array *x,
                                      const larmor_solve_opts *opts, larmor_report *report);

/* Primal-dual splitting, the data by their gradient: one normal map, one K and one K^H per iteration. The dual step
 * s is balanced against the primal one, t = 0.99 / (L / 2 + s |K|^2), in the norm of the preconditioner's inverse.
 *
 * opts     200 iterations and tol 1e-4 by default.
 * Source   Condat, J. Optim. Theory Appl. 158, 460 (2013), algorithm 3.1; Vu, Adv. Comput. Math. 38, 667 (2013);
 *          balance: Goldstein, Li, Yuan, NIPS 2015. */
LARMOR_API larmor_status larmor_pdhg(larmor_op *A, const larmor_array *b, larmor_op *K, larmor_prox *g,
                                     larmor_array *x, const larmor_solve_opts *opts, larmor_report *report);

/* ---- preconditioners ---- */

/* ---- regularisers ---- */

#ifdef __cplusplus
}
#endif
#endif
