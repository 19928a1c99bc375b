/* What holds for every solver of min_x 1/2 |A x - b|^2 + lambda/2 |x|^2 + weight |x|_1, on dense matrices. A test
 * file defines NAME and SOLVE(A, b, g, x, opts, report) before it includes this one. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "tests/recon/matrix.h"

enum { ROWS = 20, COLUMNS = 12 };

typedef struct proximal {
    problem p;
    lasso l;
    larmor_prox *g;
} proximal;

static void begin(proximal *t, int single)
{
    t->p = random_problem(ROWS, COLUMNS);
    t->p.m.single = single;
    if (single) {
        LMR_FREE(t->p.b, t->p.x);
        t->p.b = complex_array(LARMOR_C64, LARMOR_SHAPE(ROWS), t->p.rhs);
        t->p.x = zeros(LARMOR_C64, LARMOR_SHAPE(COLUMNS));
    }
    t->p.A = normal_matrix_op(&t->p.m);
    t->l = (lasso){.weight = 3};
    t->g = lasso_prox(&t->l, larmor_op_dtype(t->p.A), COLUMNS);
}

static void end_proximal(proximal *t)
{
    larmor_prox_free(t->g);
    end_problem(&t->p);
}

/* How far -(A^H (A x - b) + lambda x) is from the subgradients of weight |x|_1, relative to weight. */
static double subgradient_error(const proximal *t, const cplx *x, double lambda)
{
    const matrix *m = &t->p.m;
    double worst = 0;
    cplx r[ROWS];
    for (int i = 0; i < ROWS; i++) {
        r[i] = -t->p.rhs[i];
        for (int j = 0; j < COLUMNS; j++) r[i] += m->a[i + ROWS * j] * x[j];
    }
    for (int j = 0; j < COLUMNS; j++) {
        cplx g = lambda * x[j];
        for (int i = 0; i < ROWS; i++) g += conj(m->a[i + ROWS * j]) * r[i];
        const double size = cabs(x[j]);
        worst = fmax(worst, size > 0 ? cabs(g + t->l.weight * x[j] / size) : fmax(0, cabs(g) - t->l.weight));
    }
    return worst / t->l.weight;
}

static double objective_of(const proximal *t, const cplx *x, double lambda)
{
    double sum = misfit(&t->p.m, t->p.rhs, x) / 2 + lambda / 2 * squares(x, COLUMNS);
    for (int j = 0; j < COLUMNS; j++) sum += t->l.weight * cabs(x[j]);
    return sum;
}

TEST(the_solution_meets_the_conditions_of_optimality)
{
    for (int single = 0; single < 2; single++) {
        OWNED(proximal) t;
        begin(&t, single);
        const larmor_solve_opts opts = {.max_iter = 3000, .tol = -1, .lambda = 0.3};
        larmor_report report;
        assert_ok(SOLVE(t.p.A, t.p.b, t.g, t.p.x, &opts, &report));
        HEAP cplx *got = values_of(t.p.x);
        assert_at_most(fabs(report.objective / objective_of(&t, got, 0.3) - 1), single ? 1e-5 : 1e-12);
        int kept = 0;
        for (int i = 0; i < COLUMNS; i++) {
            if (cabs(got[i]) < 1e-6) got[i] = 0; /* with a variable z = x the zeros are exact in z alone */
            kept += got[i] != 0;
        }
        assert_true(kept > 0 && kept < COLUMNS);
        assert_at_most(subgradient_error(&t, got, 0.3), single ? 1e-4 : 1e-6);
    }
}

TEST(the_data_are_touched_once_and_then_the_normal_map_is_enough)
{
    OWNED(proximal) t;
    begin(&t, 0);
    const larmor_solve_opts opts = {.max_iter = 10, .tol = -1, .largest = 60, .inner = 2};
    assert_ok(SOLVE(t.p.A, t.p.b, t.g, t.p.x, &opts, NULL));
    assert_int_equal(t.p.m.adjoints, 1);
    assert_int_equal(t.p.m.forwards, 0);
    assert_true(t.p.m.normals >= 10 && t.p.m.normals <= 2 + NORMALS * 10); /* the start, and N x afresh */
}

TEST(data_of_zero_give_an_image_of_zero)
{
    OWNED(proximal) t;
    begin(&t, 0);
    assert_ok(larmor_zero(t.p.b));
    larmor_report report;
    assert_ok(SOLVE(t.p.A, t.p.b, t.g, t.p.x, NULL, &report));
    assert_true(norm_of(t.p.x) == 0 && report.objective == 0);
}

TEST(a_start_at_the_solution_stays_there)
{
    OWNED(proximal) t;
    begin(&t, 0);
    larmor_report first, again;
    const larmor_solve_opts opts = {.max_iter = 3000, .tol = 1e-12};
    assert_ok(SOLVE(t.p.A, t.p.b, t.g, t.p.x, &opts, &first));
    HEAP cplx *before = values_of(t.p.x);
    assert_ok(SOLVE(t.p.A, t.p.b, t.g, t.p.x, &opts, &again));
    HEAP cplx *after = values_of(t.p.x);
    assert_at_most(difference(after, before, COLUMNS), 1e-6);
}

typedef struct watch {
    int calls, stop_at;
    larmor_progress last, best;
} watch;

static int watching(void *user, const larmor_progress *p)
{
    watch *w = user;
    w->calls++;
    assert_int_equal(p->iter, w->calls);
    assert_non_null(p->x);
    assert_true(isfinite(p->residual) && p->seconds >= 0);
    w->last = *p;
    if (w->calls == 1 || p->objective < w->best.objective) w->best = *p;
    return w->calls == w->stop_at;
}

TEST(the_monitor_sees_every_iteration_and_may_stop)
{
    OWNED(proximal) stopped, four;
    begin(&stopped, 0);
    begin(&four, 0);
    watch w = {.stop_at = 4};
    larmor_solve_opts opts = {.max_iter = 9, .tol = -1, .monitor = watching, .user = &w};
    larmor_report report;
    assert_refused(SOLVE(stopped.p.A, stopped.p.b, stopped.g, stopped.p.x, &opts, &report), LARMOR_STOPPED,
                   NAME ": stopped by the caller after 4 iterations");
    assert_int_equal(report.iters, 4);
    assert_true(report.residual == w.last.residual && report.objective == w.last.objective);
    assert_int_equal(w.last.max_iter, 9);
    assert_ok(SOLVE(four.p.A, four.p.b, four.g, four.p.x, &(larmor_solve_opts){.max_iter = 4, .tol = -1}, NULL));
    HEAP cplx *got = values_of(stopped.p.x), *expected = values_of(four.p.x);
    assert_at_most(difference(got, expected, COLUMNS), 0);
    assert_at_most(fabs(report.objective - objective_of(&stopped, got, 0)), 1e-10 * report.objective);
}

TEST(a_tolerance_stops_it)
{
    OWNED(proximal) t;
    begin(&t, 0);
    larmor_report report;
    assert_ok(SOLVE(t.p.A, t.p.b, t.g, t.p.x, &(larmor_solve_opts){.max_iter = 900, .tol = 1e-3}, &report));
    assert_true(report.iters > 1 && report.iters < 900);
    assert_at_most(report.residual, 1e-3);
}

/* A matrix that has nothing to do with A, and A with the wrong sign. */
TEST(a_wrong_adjoint_is_an_error_and_the_best_iterate_is_given_back)
{
    for (int negative = 0; negative < 2; negative++) {
        OWNED(proximal) t;
        begin(&t, 0);
        HEAP cplx *wrong = random_values(ROWS * COLUMNS, 9);
        for (int i = 0; i < ROWS * COLUMNS; i++) wrong[i] = negative ? -t.p.values[i] : 3 * wrong[i];
        t.p.m.back = wrong;
        larmor_report report;
        const larmor_status st =
            SOLVE(t.p.A, t.p.b, t.g, t.p.x, &(larmor_solve_opts){.max_iter = 5000, .tol = -1}, &report);
        assert_int_equal(st, LARMOR_ERR_NUMERIC);
        assert_non_null(strstr(larmor_last_error(), NAME ": "));
        assert_non_null(strstr(larmor_last_error(), "normal map is not"));
        HEAP cplx *got = values_of(t.p.x);
        for (int i = 0; i < COLUMNS; i++) assert_true(isfinite(cabs(got[i])));
        assert_true(isfinite(report.objective) && report.iters < 5000);
    }
}

TEST(what_is_not_finite_is_an_error_and_never_in_the_result)
{
    OWNED(proximal) data, late, penalty;
    begin(&data, 0);
    begin(&late, 0);
    begin(&penalty, 0);
    data.p.rhs[5] = NAN;
    assert_ok(larmor_array_write(data.p.b, data.p.rhs, ROWS * sizeof *data.p.rhs));
    assert_refused(SOLVE(data.p.A, data.p.b, data.g, data.p.x, NULL, NULL), LARMOR_ERR_NUMERIC, NAME ": |b| is nan");
    larmor_report report;
    const larmor_solve_opts opts = {.tol = -1, .largest = 60};
    late.p.m.nan_after = 8;
    assert_refused(SOLVE(late.p.A, late.p.b, late.g, late.p.x, &opts, &report), LARMOR_ERR_NUMERIC, NAME ": ");
    assert_true(report.iters >= 1 && isfinite(report.objective));
    penalty.l.nan_after = 4;
    assert_refused(SOLVE(penalty.p.A, penalty.p.b, penalty.g, penalty.p.x, &opts, &report), LARMOR_ERR_NUMERIC,
                   NAME ": ");
    assert_true(report.iters == 3 && isfinite(report.objective));
    double norm;
    assert_ok(larmor_nrm2(data.p.x, &norm));
    assert_true(norm == 0);
    assert_ok(larmor_nrm2(late.p.x, &norm));
    assert_true(isfinite(norm));
    assert_ok(larmor_nrm2(penalty.p.x, &norm));
    assert_true(isfinite(norm));
}

TEST(options_that_make_no_sense_are_refused)
{
    OWNED(proximal) t;
    begin(&t, 0);
    assert_refused(SOLVE(t.p.A, t.p.b, t.g, t.p.x, &(larmor_solve_opts){.lambda = -1}, NULL), LARMOR_ERR_ARG,
                   NAME ": lambda is -1, expected");
    assert_refused(SOLVE(t.p.A, t.p.b, t.g, t.p.x, &(larmor_solve_opts){.max_iter = -3}, NULL), LARMOR_ERR_ARG,
                   NAME ": max_iter is -3, expected");
    assert_refused(SOLVE(t.p.A, t.p.b, t.g, t.p.x, &(larmor_solve_opts){.largest = NAN}, NULL), LARMOR_ERR_ARG,
                   NAME ": largest is nan, expected");
    assert_refused(SOLVE(t.p.A, t.p.x, t.g, t.p.x, NULL, NULL), LARMOR_ERR_SHAPE, "c128 [12]");
    assert_refused(SOLVE(NULL, t.p.b, t.g, t.p.x, NULL, NULL), LARMOR_ERR_ARG, NAME ": A, b and x are needed");
    assert_refused(SOLVE(t.p.A, t.p.b, NULL, t.p.x, NULL, NULL), LARMOR_ERR_ARG, NAME ": a proximal map is needed");
}
