/* Code that all solvers share. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/solve/solve.h"

/* ---- arrays ---- */

larmor_status lmr_arrays_create(larmor_op *A, larmor_shape shape, int count, larmor_array **const *arrays)
{
    for (int i = 0; i < count; i++) *arrays[i] = NULL;
    for (int i = 0; i < count; i++) {
        const larmor_status st = larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), shape, arrays[i]);
        if (!st) continue;
        while (i-- > 0) LMR_CLEAR(*arrays[i]);
        return st;
    }
    return LARMOR_OK;
}

larmor_status lmr_real_dot(const larmor_array *x, const larmor_array *y, double *real)
{
    double both[2];
    LMR_TRY(larmor_dot(x, y, both));
    *real = both[0];
    return LARMOR_OK;
}

larmor_status lmr_add_dot(double a, const larmor_array *x, larmor_array *y, double out[2])
{
    larmor_device *dev = x->dev;
    const larmor_status st = lmr_vec_of(x)->add_dot(dev->ctx, larmor_array_count(x), a, x->data, y->data, out);
    return dev->whole ? dev->total(dev->whole, st, out) : st;
}

larmor_status lmr_advance(double a, const larmor_array *p, const larmor_array *q, larmor_array *x, larmor_array *r,
                          larmor_array *before, double norm[3])
{
    larmor_device *dev = x->dev;
    double square[4] = {0};
    larmor_status st = lmr_vec_of(x)->advance(dev->ctx, larmor_array_count(x), a, p->data, q->data, x->data, r->data,
                                              before ? before->data : NULL, square);
    for (int i = 0; i < 4 && dev->whole; i += 2) st = dev->total(dev->whole, st, square + i);
    LMR_TRY(st);
    for (int i = 0; i < 3; i++) norm[i] = sqrt(square[i]);
    return LARMOR_OK;
}

larmor_status lmr_change(const larmor_array *x, const larmor_array *y, larmor_array *difference, double *relative)
{
    double moved, size;
    LMR_TRY(larmor_copy(x, difference));
    LMR_TRY(larmor_axpby(-1, y, 1, difference));
    LMR_TRY(larmor_nrm2(difference, &moved));
    LMR_TRY(larmor_nrm2(x, &size));
    *relative = 0;
    if (moved != 0) *relative = size > 0 ? moved / size : INFINITY;
    return LARMOR_OK;
}

larmor_status lmr_map(larmor_op *K, const larmor_array *x, larmor_array *y)
{
    return K ? larmor_op_forward(K, x, y) : larmor_copy(x, y);
}

larmor_status lmr_map_back(larmor_op *K, const larmor_array *y, larmor_array *x)
{
    return K ? larmor_op_adjoint(K, y, x) : larmor_copy(y, x);
}

/* With y = M B x / |..|, the Rayleigh quotient of M B in the norm of M^-1 is <B x, M B x> / <x, B x>. */
larmor_status lmr_largest(larmor_op *B, larmor_op *M, int iters, double *largest)
{
    if (!M) return larmor_opnorm(B, iters, largest);
    *largest = 0;
    LMR_OWNED(larmor_array) *x = NULL, *y = NULL;
    LMR_TRY(lmr_arrays_create(B, larmor_op_in_shape(B), 2, (larmor_array * *[]){&x, &y}));
    double norm, below, above;
    LMR_TRY(lmr_random_fill(x, 1));
    for (int i = 0; i < iters; i++) {
        LMR_TRY(larmor_nrm2(x, &norm));
        if (!(norm > 0)) break;
        LMR_TRY(larmor_axpby(1 / norm, x, 0, x));
        LMR_TRY(larmor_op_normal(B, x, y));
        LMR_TRY(lmr_real_dot(x, y, &below));
        LMR_TRY(larmor_op_forward(M, y, x));
        LMR_TRY(lmr_real_dot(x, y, &above));
        if (!(below > 0)) break;
        *largest = above / below;
    }
    return LARMOR_OK;
}

/* ---- the data term ---- */

larmor_status lmr_data_create(const char *who, larmor_op *A, const larmor_array *b, double lambda, lmr_data *f)
{
    double data, adjoint;
    *f = (lmr_data){.who = who, .A = A, .lambda = lambda};
    larmor_status st;
    LMR_OR(fail, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &f->rhs));
    LMR_OR(fail, larmor_op_adjoint(A, b, f->rhs));
    LMR_OR(fail, larmor_nrm2(b, &data));
    LMR_OR(fail, larmor_nrm2(f->rhs, &adjoint));
    f->square = data * data;
    if (isfinite(f->square) && isfinite(adjoint)) return LARMOR_OK;
    st = LMR_FAIL(LARMOR_ERR_NUMERIC,
                  "%s: |b| is %g and |A^H b| is %g, expected finite numbers; look for NaN or Inf in the data and the "
                  "maps",
                  who, data, adjoint);
fail:
    lmr_data_free(f);
    return st;
}

void lmr_data_free(lmr_data *f)
{
    LMR_CLEAR(f->rhs);
}

larmor_status lmr_data_normal(const lmr_data *f, const larmor_array *x, larmor_array *z)
{
    LMR_TRY(larmor_op_normal(f->A, x, z));
    return f->lambda > 0 ? larmor_axpby(f->lambda, x, 1, z) : LARMOR_OK;
}

larmor_status lmr_data_value(const lmr_data *f, const larmor_array *x, const larmor_array *Nx, double *value)
{
    double quadratic, linear;
    LMR_TRY(lmr_real_dot(x, Nx, &quadratic));
    LMR_TRY(lmr_real_dot(x, f->rhs, &linear));
    *value = quadratic / 2 - linear + f->square / 2;
    const double scale = f->square + fabs(linear); /* where x is rounding alone, quadratic may have any sign */
    if (!(quadratic < -1e-6 * scale || *value < -1e-3 * scale)) return LARMOR_OK;
    return LMR_FAIL(
        LARMOR_ERR_NUMERIC,
        "%s: x^H A^H A x is %g and |A x - b|^2 / 2 comes out as %g, expected at least 0; A's normal map is "
        "not that of its forward map",
        f->who, quadratic, *value);
}

/* ---- the state ---- */

void lmr_state_begin(lmr_state *s, const char *solver)
{
    *s = (lmr_state){.list = {.solver = solver}};
}

void lmr_state_arrays(lmr_state *s, larmor_array *const *array, size_t bytes)
{
    memcpy(s->array + s->list.arrays, array, bytes);
    s->list.array = s->array;
    s->list.arrays += (int)(bytes / sizeof *array);
}

void lmr_state_numbers(lmr_state *s, double *const *number, size_t bytes)
{
    memcpy(s->number + s->list.numbers, number, bytes);
    s->list.number = s->number;
    s->list.numbers += (int)(bytes / sizeof *number);
}

void lmr_state_counts(lmr_state *s, int *const *count, size_t bytes)
{
    memcpy(s->count + s->list.counts, count, bytes);
    s->list.count = s->count;
    s->list.counts += (int)(bytes / sizeof *count);
}

larmor_status lmr_state_resume(const lmr_state *s, const larmor_solve_opts *o, int *resumed)
{
    *resumed = 0;
    return o->resume ? o->resume(o->user, &s->list, resumed) : LARMOR_OK;
}

/* ---- the run ---- */

larmor_status lmr_run_check(const char *name, larmor_op *A, const larmor_array *b, const larmor_array *x,
                            const larmor_solve_opts *o)
{
    LMR_REFUSE(!A || !b || !x, LARMOR_ERR_ARG, "%s: A, b and x are needed", name);
    LMR_REFUSE(o->max_iter < 0, LARMOR_ERR_ARG, "%s: max_iter is %d, expected at least 0", name, o->max_iter);
    LMR_REFUSE(o->inner < 0, LARMOR_ERR_ARG, "%s: inner is %d, expected at least 0", name, o->inner);
    const double at_least_0[] = {o->lambda, o->largest, o->penalty};
    const char *const what[] = {"lambda", "largest", "penalty"};
    for (int i = 0; i < 3; i++)
        LMR_REFUSE(!(at_least_0[i] >= 0) || !isfinite(at_least_0[i]), LARMOR_ERR_ARG,
                   "%s: %s is %g, expected a finite number >= 0", name, what[i], at_least_0[i]);
    return isnan(o->tol) ? LMR_FAIL(LARMOR_ERR_ARG, "%s: tol is not a number", name) : LARMOR_OK;
}

larmor_status lmr_run_begin(const char *name, larmor_op *A, const larmor_array *b, const larmor_array *x,
                            const larmor_solve_opts *opts, int max_iter, double tol, larmor_report *report,
                            lmr_run *run)
{
    *run = (lmr_run){.name = name, .begin = lmr_seconds(), .objective = NAN};
    lmr_state_begin(&run->state, name);
    if (opts) run->o = *opts;
    if (report) *report = (larmor_report){.objective = NAN};
    LMR_TRY(lmr_run_check(name, A, b, x, &run->o));
    if (run->o.max_iter == 0) run->o.max_iter = max_iter;
    if (run->o.tol == 0) run->o.tol = tol;
    /* below its rounding an iterate gets no better */
    run->o.tol = fmax(run->o.tol, larmor_op_dtype(A) == LARMOR_C128 ? 0x1p-52 : 0x1p-23);
    return larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &run->best);
}

static larmor_status keep(lmr_run *run, const larmor_array *x)
{
    run->kept = 1;
    run->best_objective = run->objective;
    run->best_residual = run->residual;
    return larmor_copy(x, run->best);
}

larmor_status lmr_run_start(lmr_run *run, const larmor_array *x, double objective, double ceiling)
{
    LMR_REFUSE(isnan(objective), LARMOR_ERR_NUMERIC,
               "%s: the start's objective is not a number; look for NaN or Inf in the start and the maps", run->name);
    run->objective = objective;
    run->residual = 1;
    run->limit = 10 * (isfinite(objective) ? fmax(objective, ceiling) : INFINITY);
    return keep(run, x);
}

larmor_status lmr_run_resume(lmr_run *run, int *resumed)
{
    LMR_STATE_ARRAYS(&run->state, run->best);
    LMR_STATE_NUMBERS(&run->state, &run->residual, &run->objective, &run->limit, &run->best_residual,
                      &run->best_objective);
    LMR_STATE_COUNTS(&run->state, &run->iters, &run->kept);
    return lmr_state_resume(&run->state, &run->o, resumed);
}

larmor_status lmr_run_report(const lmr_state *state, const larmor_solve_opts *o, int iters, double residual,
                             double objective, double begin, const larmor_array *x)
{
    const larmor_progress progress = {.iter = iters,
                                      .max_iter = o->max_iter,
                                      .residual = residual,
                                      .objective = objective,
                                      .seconds = lmr_seconds() - begin,
                                      .x = x,
                                      .state = &state->list};
    LMR_REFUSE(o->monitor && o->monitor(o->user, &progress), LARMOR_STOPPED,
               "%s: stopped by the caller after %d iterations", state->list.solver, iters);
    return lmr_go_on();
}

larmor_status lmr_run_step(lmr_run *run, const larmor_array *x, double residual, double objective)
{
    run->iters++;
    run->residual = residual;
    run->objective = objective;
    LMR_REFUSE(isnan(residual) || isnan(objective) || objective > run->limit, LARMOR_ERR_NUMERIC,
               "%s: diverges: objective %.3e after %d iterations, smallest %.3e; A's normal map is not "
               "positive, or not that of its forward map",
               run->name, objective, run->iters, run->best_objective);
    if (objective <= run->best_objective) LMR_TRY(keep(run, x));
    return lmr_run_report(&run->state, &run->o, run->iters, residual, objective, run->begin, x);
}

int lmr_run_done(const lmr_run *run)
{
    return run->iters >= run->o.max_iter || run->near || run->unresolved ||
           (run->iters > 0 && run->residual <= run->o.tol);
}

larmor_status lmr_run_end(lmr_run *run, larmor_status st, larmor_array *x, larmor_report *report)
{
    if (st == LARMOR_ERR_NUMERIC && run->kept) {
        const larmor_status restored = larmor_copy(run->best, x);
        if (restored) st = restored;
        run->residual = run->best_residual;
        run->objective = run->best_objective;
    }
    larmor_array_free(run->best);
    const int is_there = run->near || run->residual <= run->o.tol;
    const larmor_end other = run->unresolved ? LARMOR_END_PRECISION : LARMOR_END_ITERATIONS;
    if (report)
        *report = (larmor_report){.iters = run->iters,
                                  .residual = run->residual,
                                  .objective = run->objective,
                                  .seconds = lmr_seconds() - run->begin,
                                  .end = is_there ? LARMOR_END_TOLERANCE : other,
                                  .left = isfinite(run->left) ? run->left : 0};
    return st;
}
