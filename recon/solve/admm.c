/* Alternating directions (Boyd et al. 2011) with preconditioned inner conjugate gradients. SPDX-License-Identifier:
 * Apache-2.0 */
#include <math.h>

#include "recon/solve/solve.h"

enum { DEFAULT_ITERS = 50, DEFAULT_INNER = 2, POWER_STEPS = 6, BALANCE_EVERY = 2 };

/* N x = (A^H A + lambda) x is carried along through the inner steps: neither their start nor the objective needs a
 * normal map of its own. */
typedef struct state {
    lmr_data f;
    larmor_op *K, *M; /* M: near the inverse of N + penalty K^H K, or NULL */
    larmor_prox *g;
    const larmor_circulant *circulant;
    double penalty;
    larmor_array *Nx, *before, *r, *p, *Np, *Kp, *m; /* like x; Kp: K^H K p, m: M r */
    larmor_array *Kx, *z, *zbefore, *u, *work;       /* like K x; u: the scaled multipliers */
} state;

static larmor_status set_penalty(state *s, double penalty)
{
    if (s->penalty > 0) LMR_TRY(larmor_axpby(s->penalty / penalty, s->u, 0, s->u));
    s->penalty = penalty;
    if (!s->circulant) return LARMOR_OK; /* M is the caller's, or NULL */
    larmor_op_free(s->M), s->M = NULL;
    return larmor_circulant_inverse(s->circulant, s->f.lambda, s->K, penalty, &s->M);
}

/* r <- A^H b - N x - penalty K^H (K x - z + u) */
static larmor_status inner_residual(state *s)
{
    LMR_TRY(larmor_copy(s->z, s->work));
    LMR_TRY(larmor_axpby(-1, s->u, 1, s->work));
    LMR_TRY(larmor_axpby(-1, s->Kx, 1, s->work));
    LMR_TRY(lmr_map_back(s->K, s->work, s->r));
    LMR_TRY(larmor_axpby(1, s->f.rhs, s->penalty, s->r));
    return larmor_axpby(-1, s->Nx, 1, s->r);
}

static larmor_status precondition(state *s, double *product)
{
    if (s->M)
        LMR_TRY(larmor_op_forward(s->M, s->r, s->m));
    else
        LMR_TRY(larmor_copy(s->r, s->m));
    return lmr_real_dot(s->r, s->m, product);
}

/* x, N x <- after some conjugate gradient steps on (N + penalty K^H K) x = A^H b + penalty K^H (z - u) */
static larmor_status solve_x(state *s, larmor_array *x, int steps)
{
    double rm, before, curvature, other;
    LMR_TRY(inner_residual(s));
    LMR_TRY(precondition(s, &rm));
    LMR_TRY(larmor_copy(s->m, s->p));
    for (int i = 0; i < steps && rm > 0; i++) {
        LMR_TRY(lmr_data_normal(&s->f, s->p, s->Np));
        if (s->K)
            LMR_TRY(larmor_op_normal(s->K, s->p, s->Kp));
        else
            LMR_TRY(larmor_copy(s->p, s->Kp));
        LMR_TRY(lmr_real_dot(s->p, s->Np, &curvature));
        LMR_TRY(lmr_real_dot(s->p, s->Kp, &other));
        const double all = curvature + s->penalty * other;
        if (!(curvature > -1e-5 * all && all > 0))
            return LMR_FAIL(LARMOR_ERR_NUMERIC,
                            "admm: p^H A^H A p is %g, expected at least 0; is the adjoint that of the forward map?",
                            curvature);
        const double step = rm / all;
        LMR_TRY(larmor_axpby(step, s->p, 1, x));
        LMR_TRY(larmor_axpby(step, s->Np, 1, s->Nx));
        if (i + 1 == steps) break;
        LMR_TRY(larmor_axpby(-step, s->Np, 1, s->r));
        LMR_TRY(larmor_axpby(-step * s->penalty, s->Kp, 1, s->r));
        before = rm;
        LMR_TRY(precondition(s, &rm));
        LMR_TRY(larmor_axpby(1, s->m, rm / before, s->p));
    }
    return lmr_map(s->K, x, s->Kx);
}

/* z <- prox of g / penalty at h + u, u <- u + h - z, with h = 1.6 K x - 0.6 z */
static larmor_status solve_z(state *s)
{
    const double relax = 1.6;
    LMR_TRY(larmor_copy(s->z, s->zbefore));
    LMR_TRY(larmor_axpby(relax, s->Kx, 1, s->u));
    LMR_TRY(larmor_axpby(relax > 1 ? 1 - relax : 0, s->z, 1, s->u));
    LMR_TRY(larmor_prox_apply(s->g, 1 / s->penalty, s->u, s->z));
    return larmor_axpby(-1, s->z, 1, s->u);
}

/* |K x - z| / max(|K x|, |z|) */
static larmor_status primal_residual(state *s, double *residual)
{
    double apart, long_x, long_z;
    LMR_TRY(larmor_copy(s->Kx, s->work));
    LMR_TRY(larmor_axpby(-1, s->z, 1, s->work));
    LMR_TRY(larmor_nrm2(s->work, &apart));
    LMR_TRY(larmor_nrm2(s->Kx, &long_x));
    LMR_TRY(larmor_nrm2(s->z, &long_z));
    *residual = apart > 0 ? apart / fmax(long_x, long_z) : apart;
    return LARMOR_OK;
}

/* |K^H (z - before)| / |K^H u| */
static larmor_status dual_residual(state *s, double *residual)
{
    double moved, multipliers;
    LMR_TRY(larmor_axpby(-1, s->z, 1, s->zbefore));
    LMR_TRY(lmr_map_back(s->K, s->zbefore, s->p));
    LMR_TRY(larmor_nrm2(s->p, &moved));
    LMR_TRY(lmr_map_back(s->K, s->u, s->p));
    LMR_TRY(larmor_nrm2(s->p, &multipliers));
    *residual = multipliers > 0 ? moved / multipliers : 0;
    return LARMOR_OK;
}

/* The penalty grows where the primal residual is larger than the dual one, and the reverse. */
static larmor_status balance(state *s, double primal)
{
    const double most = 3, enough = 1.5;
    double dual;
    LMR_TRY(dual_residual(s, &dual));
    if (!(primal > 0 || dual > 0)) return LARMOR_OK;
    const double factor = sqrt(primal / dual); /* one of them may be 0 */
    if (factor < enough && factor > 1 / enough) return LARMOR_OK;
    return set_penalty(s, s->penalty * fmin(most, fmax(1 / most, factor)));
}

/* Where nothing is known: the scale of N over that of K^H K. It is the balance that finds the right one. */
static larmor_status first_penalty(lmr_run *run, state *s)
{
    double data = run->o.largest, map = 1, penalty = run->o.penalty;
    if (penalty == 0) {
        if (data == 0) LMR_TRY(larmor_opnorm(s->f.A, POWER_STEPS, &data));
        if (s->K) LMR_TRY(larmor_opnorm(s->K, POWER_STEPS, &map));
        penalty = data > 0 && map > 0 ? 0.08 * data / map : 1;
    }
    return set_penalty(s, penalty);
}

static larmor_status iterate(lmr_run *run, state *s, larmor_array *x)
{
    double value, penalty, change, primal;
    LMR_TRY(lmr_map(s->K, x, s->Kx));
    LMR_TRY(larmor_copy(s->Kx, s->z));
    LMR_TRY(lmr_data_normal(&s->f, x, s->Nx));
    LMR_TRY(lmr_data_value(&s->f, x, s->Nx, &value));
    LMR_TRY(larmor_prox_value(s->g, s->Kx, &penalty));
    LMR_TRY(lmr_run_start(run, x, value + penalty, s->f.square / 2));
    const int steps = run->o.inner ? run->o.inner : DEFAULT_INNER;
    while (!lmr_run_done(run)) {
        LMR_TRY(larmor_copy(x, s->before));
        LMR_TRY(solve_x(s, x, steps));
        LMR_TRY(solve_z(s));
        LMR_TRY(primal_residual(s, &primal));
        if (run->iters % BALANCE_EVERY == BALANCE_EVERY - 1) LMR_TRY(balance(s, primal));
        LMR_TRY(lmr_change(x, s->before, s->r, &change));
        LMR_TRY(lmr_data_value(&s->f, x, s->Nx, &value));
        LMR_TRY(larmor_prox_value(s->g, s->Kx, &penalty));
        if (run->iters == 0) run->limit = fmax(run->limit, 10 * (value + penalty)); /* g may weigh any amount */
        LMR_TRY(lmr_run_step(run, x, isnan(primal) ? primal : fmax(change, primal), value + penalty));
    }
    return LARMOR_OK;
}

larmor_status larmor_admm(larmor_op *A, const larmor_array *b, larmor_op *K, larmor_prox *g, larmor_array *x,
                          const larmor_solve_opts *opts, larmor_report *report)
{
    lmr_run run;
    if (!g) return LMR_FAIL(LARMOR_ERR_ARG, "admm: a proximal map is needed");
    LMR_TRY(lmr_run_begin("admm", A, b, x, opts, DEFAULT_ITERS, 1e-4, report, &run));
    state s = {.K = K, .g = g, .circulant = run.o.circulant};
    if (!s.circulant) s.M = larmor_op_ref(run.o.precondition);
    larmor_array **images[] = {&s.Nx, &s.before, &s.r, &s.p, &s.Np, &s.Kp, &s.m};
    larmor_array **splits[] = {&s.Kx, &s.z, &s.zbefore, &s.u, &s.work};
    larmor_status st;
    LMR_OR(done, lmr_arrays_create(A, larmor_op_in_shape(A), 7, images));
    LMR_OR(done, lmr_arrays_create(A, K ? larmor_op_out_shape(K) : larmor_op_in_shape(A), 5, splits));
    LMR_OR(done, lmr_data_create("admm", A, b, run.o.lambda, &s.f));
    LMR_OR(done, first_penalty(&run, &s));
    st = iterate(&run, &s, x);
done:
    lmr_data_free(&s.f);
    larmor_op_free(s.M);
    for (int i = 0; i < 7; i++) larmor_array_free(*images[i]);
    for (int i = 0; i < 5; i++) larmor_array_free(*splits[i]);
    return lmr_run_end(&run, st, x, report);
}
