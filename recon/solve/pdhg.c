/* Primal-dual splitting that uses the gradient of the data term (Condat 2013, Vu 2013), with balanced steps
 * (Goldstein, Li, Yuan 2015). SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/solve/solve.h"

enum { DEFAULT_ITERS = 200, POWER_STEPS = 8 };

/* The steps fulfil 1/t - s norm_K >= norm_A / 2, norms being of M A^H A and M K^H K: all in the norm of M^-1. */
typedef struct state {
    lmr_data f;
    larmor_op *K, *M;
    larmor_prox *g;
    double norm_A, norm_K, primal_step, dual_step, adapt;
    double unit;                                 /* of gradients: |A^H b| in the norm of M */
    larmor_array *Nx, *Nbefore, *before, *r, *v; /* like x; v: K^H u */
    larmor_array *Kx, *Kbefore, *u, *ubefore;    /* like K x */
} state;

static void set_steps(state *s, double dual)
{
    s->dual_step = dual;
    s->primal_step = 0.99 / (s->norm_A / 2 + dual * s->norm_K);
}

/* u <- prox of s g* at u + s (2 K x - K before), by Moreau: a - s prox_{g/s}(a/s) */
static larmor_status dual_update(state *s)
{
    const double step = s->dual_step;
    LMR_TRY(larmor_copy(s->u, s->ubefore));
    LMR_TRY(larmor_axpby(2 * step, s->Kx, 1, s->u));
    LMR_TRY(larmor_axpby(-step, s->Kbefore, 1, s->u));
    LMR_TRY(larmor_axpby(1 / step, s->u, 0, s->Kbefore));
    LMR_TRY(larmor_prox_apply(s->g, 1 / step, s->Kbefore, s->Kbefore));
    return larmor_axpby(-step, s->Kbefore, 1, s->u);
}

/* x <- x - t M (N x - A^H b + K^H u); r <- x - before; size: of that in the norm of M^-1, squared */
static larmor_status primal_update(state *s, larmor_array *x, double *size)
{
    LMR_TRY(larmor_copy(x, s->before));
    LMR_TRY(larmor_copy(s->Kx, s->Kbefore));
    LMR_TRY(larmor_copy(s->Nx, s->Nbefore));
    LMR_TRY(larmor_axpby(-1, s->f.rhs, 1, s->v));
    LMR_TRY(larmor_axpby(1, s->Nx, 1, s->v));
    if (s->M)
        LMR_TRY(larmor_op_forward(s->M, s->v, s->r));
    else
        LMR_TRY(larmor_copy(s->v, s->r));
    LMR_TRY(larmor_axpby(-s->primal_step, s->r, 0, s->r));
    LMR_TRY(lmr_real_dot(s->r, s->v, size));
    *size *= -s->primal_step;
    LMR_TRY(larmor_axpby(1, s->r, 1, x));
    LMR_TRY(lmr_map(s->K, x, s->Kx));
    return lmr_data_normal(&s->f, x, s->Nx);
}

/* The power method finds norms from below, so a step may show that they are larger. */
static larmor_status raise_norms(state *s, double size)
{
    const double rounding = larmor_op_dtype(s->f.A) == LARMOR_C128 ? 1e-12 : 1e-4;
    double scale, step, ahead, behind, dual_change;
    if (!(size > 0)) return LARMOR_OK;
    LMR_TRY(larmor_nrm2(s->before, &scale));
    LMR_TRY(larmor_nrm2(s->r, &step));
    if (step <= rounding * scale) return LARMOR_OK; /* differences of N x and K x are rounding */
    LMR_TRY(lmr_real_dot(s->r, s->Nx, &ahead));
    LMR_TRY(lmr_real_dot(s->r, s->Nbefore, &behind));
    LMR_TRY(larmor_copy(s->Kx, s->ubefore));
    LMR_TRY(larmor_axpby(-1, s->Kbefore, 1, s->ubefore));
    LMR_TRY(larmor_nrm2(s->ubefore, &dual_change));
    s->norm_A = fmax(s->norm_A, 1.02 * (ahead - behind) / size);
    s->norm_K = fmax(s->norm_K, 1.02 * dual_change * dual_change / size);
    return LARMOR_OK;
}

/* The dual step grows where K x - z, its residual, is relatively larger than that of the gradient; and the reverse.
 */
static larmor_status balance(state *s, double size)
{
    double dual_change, length;
    LMR_TRY(larmor_axpby(-1, s->u, 1, s->ubefore));
    LMR_TRY(larmor_nrm2(s->ubefore, &dual_change));
    LMR_TRY(larmor_nrm2(s->Kx, &length));
    const double primal = sqrt(fmax(0, size)) / s->primal_step * length, dual = dual_change / s->dual_step * s->unit;
    double step = s->dual_step;
    if (primal > 1.5 * dual) {
        step *= 1 - s->adapt;
        s->adapt *= 0.95;
    } else if (dual > 1.5 * primal) {
        step /= 1 - s->adapt;
        s->adapt *= 0.95;
    }
    set_steps(s, step);
    return LARMOR_OK;
}

/* From x, or from the state that the caller has kept: K x and K^H u follow from it. */
static larmor_status begin(lmr_run *run, state *s, larmor_array *x)
{
    double value, penalty;
    int resumed;
    LMR_STATE_ARRAYS(&run->state, x, s->Nx, s->u);
    LMR_STATE_NUMBERS(&run->state, &s->norm_A, &s->norm_K, &s->primal_step, &s->dual_step, &s->adapt);
    LMR_TRY(lmr_run_resume(run, &resumed));
    LMR_TRY(lmr_map(s->K, x, s->Kx));
    if (resumed) return lmr_map_back(s->K, s->u, s->v);
    LMR_TRY(lmr_data_normal(&s->f, x, s->Nx));
    LMR_TRY(lmr_data_value(&s->f, x, s->Nx, &value));
    LMR_TRY(larmor_prox_value(s->g, s->Kx, &penalty));
    return lmr_run_start(run, x, value + penalty, s->f.square / 2);
}

static larmor_status iterate(lmr_run *run, state *s, larmor_array *x)
{
    double value, penalty, change, size;
    LMR_TRY(begin(run, s, x));
    while (!lmr_run_done(run)) {
        LMR_TRY(primal_update(s, x, &size));
        LMR_TRY(raise_norms(s, size));
        LMR_TRY(lmr_data_value(&s->f, x, s->Nx, &value));
        LMR_TRY(larmor_prox_value(s->g, s->Kx, &penalty));
        LMR_TRY(dual_update(s));
        LMR_TRY(lmr_map_back(s->K, s->u, s->v));
        LMR_TRY(balance(s, size));
        LMR_TRY(lmr_change(x, s->before, s->r, &change));
        LMR_TRY(lmr_run_step(run, x, change, value + penalty));
    }
    return LARMOR_OK;
}

static larmor_status choose_steps(lmr_run *run, state *s)
{
    if (s->M)
        LMR_TRY(larmor_op_forward(s->M, s->f.rhs, s->r));
    else
        LMR_TRY(larmor_copy(s->f.rhs, s->r));
    LMR_TRY(lmr_real_dot(s->f.rhs, s->r, &s->unit));
    s->unit = sqrt(fmax(0, s->unit));
    s->norm_A = run->o.largest;
    s->norm_K = 1;
    s->adapt = 0.5;
    if (s->norm_A == 0 || s->M) LMR_TRY(lmr_largest(s->f.A, s->M, POWER_STEPS, &s->norm_A));
    if (s->K) LMR_TRY(lmr_largest(s->K, s->M, 2 * POWER_STEPS, &s->norm_K));
    s->norm_A = 1.05 * s->norm_A + (s->M ? 0 : run->o.lambda);
    s->norm_K *= 1.05;
    if (!(s->norm_A > 0)) s->norm_A = 1;
    if (!(s->norm_K > 0)) s->norm_K = 1;
    set_steps(s, run->o.penalty > 0 ? run->o.penalty : 0.1 * s->norm_A / s->norm_K);
    return LARMOR_OK;
}

enum { IMAGES = 5, DUALS = 4 }; /* arrays like x and like K x */

larmor_status larmor_pdhg(larmor_op *A, const larmor_array *b, larmor_op *K, larmor_prox *g, larmor_array *x,
                          const larmor_solve_opts *opts, larmor_report *report)
{
    lmr_run run;
    LMR_REFUSE(!g, LARMOR_ERR_ARG, "pdhg: a proximal map is needed");
    larmor_status st = lmr_run_begin("pdhg", A, b, x, opts, DEFAULT_ITERS, 1e-4, report, &run);
    if (st) return st;
    state s = {.K = K, .g = g, .M = run.o.precondition};
    larmor_array **images[] = {&s.Nx, &s.Nbefore, &s.before, &s.r, &s.v};
    larmor_array **duals[] = {&s.Kx, &s.Kbefore, &s.u, &s.ubefore};
    LMR_OR(done, lmr_arrays_create(A, larmor_op_in_shape(A), IMAGES, images));
    LMR_OR(done, lmr_arrays_create(A, K ? larmor_op_out_shape(K) : larmor_op_in_shape(A), DUALS, duals));
    LMR_OR(done, lmr_data_create("pdhg", A, b, run.o.lambda, &s.f));
    LMR_OR(done, choose_steps(&run, &s));
    st = iterate(&run, &s, x);
done:
    lmr_data_free(&s.f);
    for (int i = 0; i < IMAGES; i++) larmor_array_free(*images[i]);
    for (int i = 0; i < DUALS; i++) larmor_array_free(*duals[i]);
    return lmr_run_end(&run, st, x, report);
}
