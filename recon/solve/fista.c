/* Accelerated proximal gradients (Beck and Teboulle 2009) with adaptive restart (O'Donoghue and Candes 2015).
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/solve/solve.h"

enum { DEFAULT_ITERS = 100, POWER_STEPS = 8 };

/* N = A^H A + lambda is linear, so that N y of the extrapolated y comes from N x and N before: one normal map per
 * iteration gives the gradient, the objective and the test of the step. */
typedef struct state {
    lmr_data f;
    larmor_prox *g;
    double L, momentum; /* momentum: t of the paper */
    larmor_array *before, *Nx, *Nbefore, *y, *Ny, *z, *Nz, *d;
} state;

/* y <- x + beta (x - before) */
static larmor_status extrapolate(double beta, const larmor_array *x, const larmor_array *before, larmor_array *y)
{
    LMR_TRY(larmor_axpby(1 + beta, x, 0, y));
    return larmor_axpby(-beta, before, 1, y);
}

/* z <- prox of y - (N y - A^H b) / L. Where |d|_N^2 > L |d|^2 for d = z - y, the step is too long: L grows. */
static larmor_status proximal_step(state *s)
{
    double size, curvature;
    for (int attempt = 0; attempt < 60; attempt++) {
        LMR_TRY(larmor_axpby(1, s->y, 0, s->z));
        LMR_TRY(larmor_axpby(-1 / s->L, s->Ny, 1, s->z));
        LMR_TRY(larmor_axpby(1 / s->L, s->f.rhs, 1, s->z));
        LMR_TRY(larmor_prox_apply(s->g, 1 / s->L, s->z, s->z));
        LMR_TRY(lmr_data_normal(&s->f, s->z, s->Nz));
        LMR_TRY(larmor_axpby(1, s->z, 0, s->d));
        LMR_TRY(larmor_axpby(-1, s->y, 1, s->d));
        LMR_TRY(larmor_nrm2(s->d, &size));
        double ahead, behind;
        LMR_TRY(lmr_real_dot(s->d, s->Nz, &ahead));
        LMR_TRY(lmr_real_dot(s->d, s->Ny, &behind));
        curvature = ahead - behind;
        /* the difference of N z and N y is known to rounding only */
        double scale;
        LMR_TRY(larmor_nrm2(s->Nz, &scale));
        const double rounding = (larmor_op_dtype(s->f.A) == LARMOR_C128 ? 1e-13 : 1e-5) * scale * size;
        if (!(curvature > s->L * size * size * (1 + 1e-6) + rounding) || !isfinite(curvature)) return LARMOR_OK;
        s->L = fmax(1.1 * s->L, 1.02 * curvature / (size * size));
    }
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "fista: no step is short enough, L = %g; is A linear?", s->L);
}

static larmor_status iterate(lmr_run *run, state *s, larmor_array *x)
{
    double value, penalty, change, turned[2];
    LMR_TRY(lmr_data_normal(&s->f, x, s->Nx));
    LMR_TRY(lmr_data_value(&s->f, x, s->Nx, &value));
    LMR_TRY(larmor_prox_value(s->g, x, &penalty));
    LMR_TRY(lmr_run_start(run, x, value + penalty, s->f.square / 2));
    LMR_TRY(larmor_copy(x, s->before));
    LMR_TRY(larmor_copy(s->Nx, s->Nbefore));
    s->momentum = 1;
    double beta = 0;
    while (!lmr_run_done(run)) {
        LMR_TRY(extrapolate(beta, x, s->before, s->y));
        LMR_TRY(extrapolate(beta, s->Nx, s->Nbefore, s->Ny));
        LMR_TRY(proximal_step(s));
        LMR_TRY(larmor_copy(x, s->before));
        LMR_TRY(larmor_copy(s->Nx, s->Nbefore));
        LMR_TRY(larmor_copy(s->z, x));
        LMR_TRY(larmor_copy(s->Nz, s->Nx));
        /* d = z - y; the momentum points uphill where <y - z, x - before> > 0 */
        LMR_TRY(larmor_dot(s->d, x, turned));
        double towards = -turned[0];
        LMR_TRY(larmor_dot(s->d, s->before, turned));
        towards += turned[0];
        const double next = (1 + sqrt(1 + 4 * s->momentum * s->momentum)) / 2;
        beta = towards > 0 ? 0 : (s->momentum - 1) / next;
        s->momentum = towards > 0 ? 1 : next;
        LMR_TRY(lmr_change(x, s->before, s->d, &change));
        LMR_TRY(lmr_data_value(&s->f, x, s->Nx, &value));
        LMR_TRY(larmor_prox_value(s->g, x, &penalty));
        LMR_TRY(lmr_run_step(run, x, change, value + penalty));
    }
    return LARMOR_OK;
}

larmor_status larmor_fista(larmor_op *A, const larmor_array *b, larmor_prox *g, larmor_array *x,
                           const larmor_solve_opts *opts, larmor_report *report)
{
    lmr_run run;
    state s = {.g = g};
    larmor_array **work[] = {&s.before, &s.Nx, &s.Nbefore, &s.y, &s.Ny, &s.z, &s.Nz, &s.d};
    enum { ARRAYS = sizeof work / sizeof *work };
    if (!g) return LMR_FAIL(LARMOR_ERR_ARG, "fista: a proximal map is needed");
    larmor_status st = lmr_run_begin("fista", A, b, x, opts, DEFAULT_ITERS, 1e-4, report, &run);
    if (st) return st;
    LMR_OR(done, lmr_arrays_create(A, larmor_op_in_shape(A), ARRAYS, work));
    LMR_OR(done, lmr_data_create("fista", A, b, run.o.lambda, &s.f));
    s.L = run.o.largest;
    if (s.L == 0) LMR_OR(done, larmor_opnorm(A, POWER_STEPS, &s.L));
    s.L = 1.01 * s.L + run.o.lambda;
    if (!(s.L > 0)) s.L = 1; /* A is zero: any step will do */
    st = iterate(&run, &s, x);
done:
    lmr_data_free(&s.f);
    for (int i = 0; i < ARRAYS; i++) larmor_array_free(*work[i]);
    return lmr_run_end(&run, st, x, report);
}
