/* What the solvers share: options, the data term through its normal map, and the watch over each iteration. Public
 * operators and arrays alone. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/clock.h"
#include "core/status.h"
#include "larmor/solve.h"

/* ---- the data term ---- */

/* f(x) = 1/2 |A x - b|^2 + lambda/2 |x|^2, known from N = A^H A + lambda, A^H b and |b|^2. */
typedef struct lmr_data {
    const char *who;
    larmor_op *A;
    double lambda, square; /* square: |b|^2 */
    larmor_array *rhs;     /* A^H b */
} lmr_data;

/* Errors: LARMOR_ERR_NUMERIC if b or A^H b is not finite. */
larmor_status lmr_data_create(const char *who, larmor_op *A, const larmor_array *b, double lambda, lmr_data *f);
void lmr_data_free(lmr_data *f);
larmor_status lmr_data_normal(const lmr_data *f, const larmor_array *x, larmor_array *z); /* z <- N x */
/* f(x) from x and N x. Errors: LARMOR_ERR_NUMERIC if it is negative, as only a wrong adjoint makes it. */
larmor_status lmr_data_value(const lmr_data *f, const larmor_array *x, const larmor_array *Nx, double *value);

/* ---- the state ---- */

/* The room for a larmor_solver_state, and that state. */
typedef struct lmr_state {
    larmor_solver_state list;
    larmor_array *array[16];
    double *number[32];
    int *count[8];
} lmr_state;

/* Add to the list: each entry is named once, for monitors and for resuming. The arrays may be there already. */
#define LMR_STATE_ARRAYS(state, ...)                                                                                 \
    lmr_state_arrays(state, (larmor_array *[]){__VA_ARGS__}, sizeof((larmor_array *[]){__VA_ARGS__}))
#define LMR_STATE_NUMBERS(state, ...)                                                                                \
    lmr_state_numbers(state, (double *[]){__VA_ARGS__}, sizeof((double *[]){__VA_ARGS__}))
#define LMR_STATE_COUNTS(state, ...) lmr_state_counts(state, (int *[]){__VA_ARGS__}, sizeof((int *[]){__VA_ARGS__}))
void lmr_state_begin(lmr_state *state, const char *solver);
void lmr_state_arrays(lmr_state *state, larmor_array *const *array, size_t bytes);
void lmr_state_numbers(lmr_state *state, double *const *number, size_t bytes);
void lmr_state_counts(lmr_state *state, int *const *count, size_t bytes);

/* *resumed <- 1 if opts.resume has set the state. */
larmor_status lmr_state_resume(const lmr_state *state, const larmor_solve_opts *opts, int *resumed);

/* ---- the run ---- */

/* One run of a solver: the iterate with the smallest objective is kept for the case of divergence. */
typedef struct lmr_run {
    const char *name;
    larmor_solve_opts o; /* with the solver's defaults in it */
    double begin;
    int iters;
    double residual, objective, limit; /* limit: of the objective */
    int near;                          /* 1: near enough, as opts.change and relative have it */
    int unresolved;                    /* 1: the iterates are those of rounding, as opts.resolve has it */
    double left;                       /* what further steps are expected to change x by, over |x|; 0: not known */
    larmor_array *best;
    double best_residual, best_objective;
    int kept;        /* 1 if best holds an iterate */
    lmr_state state; /* the solver's and that of the run */
} lmr_run;

/* Checks what every solver is given. */
larmor_status lmr_run_check(const char *name, larmor_op *A, const larmor_array *b, const larmor_array *x,
                            const larmor_solve_opts *opts);
/* lmr_run_check; fills defaults, zeroes the report. */
larmor_status lmr_run_begin(const char *name, larmor_op *A, const larmor_array *b, const larmor_array *x,
                            const larmor_solve_opts *opts, int max_iter, double tol, larmor_report *report,
                            lmr_run *run);
/* The start's objective, before the first iteration; ceiling: the objective of x = 0, or thereabouts. */
larmor_status lmr_run_start(lmr_run *run, const larmor_array *x, double objective, double ceiling);
/* Add the run's own to run->state, in which the solver has listed what it has; and resume. */
larmor_status lmr_run_resume(lmr_run *run, int *resumed);
/* Calls the monitor, if there is one. LARMOR_STOPPED if it stops the run. begin: lmr_seconds at the start of the run.
 * */
larmor_status lmr_run_report(const lmr_state *state, const larmor_solve_opts *opts, int iters, double residual,
                             double objective, double begin, const larmor_array *x);
/* After an iteration: counts, checks, keeps, reports. LARMOR_STOPPED if the monitor stops the run. */
larmor_status lmr_run_step(lmr_run *run, const larmor_array *x, double residual, double objective);
/* Nothing more to do: the tolerance or the number of iterations is reached. */
int lmr_run_done(const lmr_run *run);
/* After all: after LARMOR_ERR_NUMERIC x becomes the best iterate. Fills the report, frees; returns the run's status.
 */
larmor_status lmr_run_end(lmr_run *run, larmor_status st, larmor_array *x, larmor_report *report);

/* ---- conjugate gradients ---- */

/* larmor_cg from rhs = A^H b and square = |b|^2; opts without defaults: max_iter and tol are needed. */
larmor_status lmr_cg_normal(larmor_op *A, const larmor_array *rhs, double square, larmor_array *x,
                            const larmor_solve_opts *opts, larmor_report *report);

/* ---- arrays ---- */

/* count arrays of zeros on A's device; all or none. */
larmor_status lmr_arrays_create(larmor_op *A, larmor_shape shape, int count, larmor_array **const *arrays);
/* |x - y| / |x|; difference is overwritten with x - y */
larmor_status lmr_change(const larmor_array *x, const larmor_array *y, larmor_array *difference, double *relative);
larmor_status lmr_real_dot(const larmor_array *x, const larmor_array *y, double *real);
/* y <- a x + y; out <- x^H y of the new y. Arrays alike. */
larmor_status lmr_add_dot(double a, const larmor_array *x, larmor_array *y, double out[2]);
/* A step of conjugate gradients: before <- x, where it is not NULL; x <- x + a p; r <- r - a q;
 * norm <- |x|, |r|, |p|. Arrays alike. */
larmor_status lmr_advance(double a, const larmor_array *p, const larmor_array *q, larmor_array *x, larmor_array *r,
                          larmor_array *before, double norm[3]);
/* y <- K x or K^H x; a copy if K is NULL */
larmor_status lmr_map(larmor_op *K, const larmor_array *x, larmor_array *y);
larmor_status lmr_map_back(larmor_op *K, const larmor_array *y, larmor_array *x);

/* The largest eigenvalue of M B, both self-adjoint and positive, by the power method in the norm of M; M may be NULL.
 * B(x) is K^H K, or A^H A through larmor_op_normal. */
larmor_status lmr_largest(larmor_op *B, larmor_op *M, int iters, double *largest);
