/* Fast iterative shrinkage thresholding (Beck and Teboulle 2009), begun anew where the momentum points uphill
 * (O'Donoghue and Candes 2015). SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/solve/solve.h"

enum { DEFAULT_ITERS = 200, POWER_STEPS = 8 };
/* Of the power method, which finds the largest eigenvalue from below. */
#define MARGIN 1.05

/* y = x + momentum (x - before), and N y likewise: one normal map an iteration. */
typedef struct state {
    lmr_data f;
    larmor_prox *g;
    double largest, age; /* largest: eigenvalue of N; age: the t of Beck and Teboulle */
    int plain;           /* without momentum */
    larmor_array *Nx, *before, *Nbefore, *y, *Ny, *r;
} state;

/* y, N y <- the extrapolated ones. */
static larmor_status extrapolate(state *s, const larmor_array *x)
{
    const double next = (1 + sqrt(1 + 4 * s->age * s->age)) / 2, momentum = (s->age - 1) / next;
    s->age = next;
    LMR_TRY(larmor_sum(2, (double[]){1 + momentum, -momentum}, (const larmor_array *[]){x, s->before}, s->y));
    return larmor_sum(2, (double[]){1 + momentum, -momentum}, (const larmor_array *[]){s->Nx, s->Nbefore}, s->Ny);
}

/* x <- prox of g / L at y - (N y - A^H b) / L */
static larmor_status step(state *s, larmor_array *x)
{
    LMR_TRY(larmor_copy(x, s->before));
    LMR_TRY(larmor_copy(s->Nx, s->Nbefore));
    LMR_TRY(larmor_sum(3, (double[]){1, -1 / s->largest, 1 / s->largest},
                       (const larmor_array *[]){s->y, s->Ny, s->f.rhs}, s->r));
    LMR_TRY(larmor_prox_apply(s->g, 1 / s->largest, s->r, x));
    return lmr_data_normal(&s->f, x, s->Nx);
}

/* *curvature <- <x - y, N (x - y)> / |x - y|^2, 0 where they are alike but for rounding. */
static larmor_status curvature_of(state *s, const larmor_array *x, double *curvature)
{
    const double rounding = larmor_op_dtype(s->f.A) == LARMOR_C128 ? 1e-12 : 1e-4;
    double size, length, product;
    *curvature = 0;
    LMR_TRY(larmor_nrm2(x, &size));
    LMR_TRY(larmor_axpby(1, x, -1, s->y));
    LMR_TRY(larmor_axpby(1, s->Nx, -1, s->Ny));
    LMR_TRY(larmor_nrm2(s->y, &length));
    if (length <= rounding * size) return LARMOR_OK;
    LMR_TRY(lmr_real_dot(s->y, s->Ny, &product));
    *curvature = product / (length * length);
    return LARMOR_OK;
}

/* After curvature_of, where y is x - y: the momentum ends where the step goes against it. */
static larmor_status look_back(state *s, const larmor_array *x)
{
    double uphill;
    LMR_TRY(larmor_sum(2, (double[]){1, -1}, (const larmor_array *[]){x, s->before}, s->r));
    LMR_TRY(lmr_real_dot(s->y, s->r, &uphill));
    if (uphill < 0 || s->plain) s->age = 1;
    return LARMOR_OK;
}

/* From x, or from the state that the caller has kept. */
static larmor_status begin(lmr_run *run, state *s, larmor_array *x)
{
    double value, penalty;
    int resumed;
    LMR_STATE_ARRAYS(&run->state, x, s->Nx, s->before, s->Nbefore);
    LMR_STATE_NUMBERS(&run->state, &s->largest, &s->age);
    LMR_TRY(lmr_run_resume(run, &resumed));
    if (resumed) return LARMOR_OK;
    LMR_TRY(lmr_data_normal(&s->f, x, s->Nx));
    LMR_TRY(larmor_copy(x, s->before));
    LMR_TRY(larmor_copy(s->Nx, s->Nbefore));
    LMR_TRY(lmr_data_value(&s->f, x, s->Nx, &value));
    LMR_TRY(larmor_prox_value(s->g, x, &penalty));
    return lmr_run_start(run, x, value + penalty, s->f.square / 2);
}

static larmor_status iterate(lmr_run *run, state *s, larmor_array *x)
{
    double value, penalty, change, curvature;
    LMR_TRY(begin(run, s, x));
    while (!lmr_run_done(run)) {
        LMR_TRY(extrapolate(s, x));
        LMR_TRY(step(s, x));
        LMR_TRY(curvature_of(s, x, &curvature));
        LMR_TRY(look_back(s, x));
        s->largest = fmax(s->largest, MARGIN * curvature);
        LMR_TRY(lmr_data_value(&s->f, x, s->Nx, &value));
        LMR_TRY(larmor_prox_value(s->g, x, &penalty));
        LMR_TRY(lmr_change(x, s->before, s->r, &change));
        LMR_TRY(lmr_run_step(run, x, change, value + penalty));
    }
    return LARMOR_OK;
}

static larmor_status choose_step(const lmr_run *run, state *s)
{
    s->age = 1;
    s->largest = run->o.largest;
    if (s->largest == 0) LMR_TRY(larmor_opnorm(s->f.A, POWER_STEPS, &s->largest));
    s->largest = MARGIN * s->largest + run->o.lambda;
    if (!(s->largest > 0)) s->largest = 1;
    return LARMOR_OK;
}

enum { IMAGES = 6 };

larmor_status larmor_fista(larmor_op *A, const larmor_array *b, larmor_prox *g, larmor_array *x,
                           const larmor_solve_opts *opts, larmor_report *report)
{
    lmr_run run;
    LMR_REFUSE(!g, LARMOR_ERR_ARG, "fista: a proximal map is needed");
    LMR_REFUSE(opts && opts->precondition, LARMOR_ERR_ARG,
               "fista: a preconditioner changes the proximal map; larmor_pdhg takes one");
    larmor_status st = lmr_run_begin("fista", A, b, x, opts, DEFAULT_ITERS, 1e-4, report, &run);
    if (st) return st;
    state s = {.g = g, .plain = run.o.no_momentum};
    larmor_array **images[] = {&s.Nx, &s.before, &s.Nbefore, &s.y, &s.Ny, &s.r};
    LMR_OR(done, lmr_arrays_create(A, larmor_op_in_shape(A), IMAGES, images));
    LMR_OR(done, lmr_data_create("fista", A, b, run.o.lambda, &s.f));
    LMR_OR(done, choose_step(&run, &s));
    st = iterate(&run, &s, x);
done:
    lmr_data_free(&s.f);
    for (int i = 0; i < IMAGES; i++) larmor_array_free(*images[i]);
    return lmr_run_end(&run, st, x, report);
}
