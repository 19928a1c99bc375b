/* recon/solve/lsmr.c, on dense matrices. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/matrix.h"

enum { ROWS = 20, COLUMNS = 8 };

TEST(it_solves_the_regularised_least_squares_problem)
{
    const double lambda[] = {0, 0.5, 30};
    for (int i = 0; i < 3; i++) {
        OWNED(problem) p = random_problem(ROWS, COLUMNS);
        p.A = matrix_op(&p.m);
        cplx expected[COLUMNS];
        solve_directly(&p.m, p.rhs, lambda[i], expected);
        larmor_report report;
        const larmor_solve_opts opts = {.max_iter = 60, .tol = 1e-13, .lambda = lambda[i]};
        assert_ok(larmor_lsmr(p.A, p.b, p.x, &opts, &report));
        HEAP cplx *got = values_of(p.x);
        assert_at_most(difference(got, expected, COLUMNS), 1e-11);
        const double objective = misfit(&p.m, p.rhs, expected) + lambda[i] * squares(expected, COLUMNS);
        assert_at_most(fabs(report.objective / objective - 1), 1e-10);
        assert_at_most(report.residual, 1e-13);
    }
}

TEST(single_precision_gets_as_far_as_it_can)
{
    OWNED(problem) p = random_problem(ROWS, COLUMNS);
    p.m.single = 1;
    p.A = matrix_op(&p.m);
    OWNED(larmor_array) *b = complex_array(LARMOR_C64, LARMOR_SHAPE(ROWS), p.rhs),
                        *x = zeros(LARMOR_C64, LARMOR_SHAPE(COLUMNS));
    cplx expected[COLUMNS];
    solve_directly(&p.m, p.rhs, 0, expected);
    assert_ok(larmor_lsmr(p.A, b, x, &(larmor_solve_opts){.max_iter = 30, .tol = -1}, NULL));
    assert_at_most(away(x, expected, COLUMNS), 1e-5);
}

TEST(weights_make_it_the_weighted_problem)
{
    OWNED(problem) p = random_problem(ROWS, COLUMNS);
    p.A = matrix_op(&p.m);
    double w[ROWS];
    cplx scaled[ROWS * COLUMNS], rhs[ROWS], expected[COLUMNS];
    for (int i = 0; i < ROWS; i++) {
        w[i] = 0.01 + pow(1.2, i);
        rhs[i] = sqrt(w[i]) * p.rhs[i];
        for (int j = 0; j < COLUMNS; j++) scaled[i + ROWS * j] = sqrt(w[i]) * p.values[i + ROWS * j];
    }
    const matrix m = {.rows = ROWS, .columns = COLUMNS, .a = scaled, .back = scaled};
    solve_directly(&m, rhs, 0.7, expected);
    OWNED(larmor_array) *weights = real_array(LARMOR_SHAPE(ROWS), w);
    larmor_report report;
    const larmor_solve_opts opts = {.max_iter = 60, .tol = 1e-13, .lambda = 0.7, .weights = weights};
    assert_ok(larmor_lsmr(p.A, p.b, p.x, &opts, &report));
    HEAP cplx *got = values_of(p.x);
    assert_at_most(difference(got, expected, COLUMNS), 1e-10);
    const double objective = misfit(&m, rhs, expected) + 0.7 * squares(expected, COLUMNS);
    assert_at_most(fabs(report.objective / objective - 1), 1e-10);
}

TEST(any_start_leads_to_the_same_solution)
{
    OWNED(problem) p = random_problem(ROWS, COLUMNS);
    p.A = matrix_op(&p.m);
    cplx expected[COLUMNS], *far = random_values(COLUMNS, 8);
    solve_directly(&p.m, p.rhs, 0.5, expected);
    assert_ok(larmor_array_write(p.x, far, COLUMNS * sizeof *far));
    larmor_solve_opts opts = {.max_iter = 60, .tol = 1e-13, .lambda = 0.5};
    assert_ok(larmor_lsmr(p.A, p.b, p.x, &opts, NULL));
    HEAP cplx *got = values_of(p.x);
    assert_at_most(difference(got, expected, COLUMNS), 1e-11);
    larmor_report report;
    opts.tol = 1e-6; /* and at the solution there is nothing to do */
    assert_ok(larmor_lsmr(p.A, p.b, p.x, &opts, &report));
    assert_int_equal(report.iters, 0);
    free(far);
}

/* What the monitor is told, against what the iterate says. */
static int checking(void *user, const larmor_progress *p)
{
    const problem *q = user;
    HEAP cplx *x = values_of(p->x);
    assert_at_most(fabs(p->objective / (misfit(&q->m, q->rhs, x) + 0.5 * squares(x, COLUMNS)) - 1), 1e-10);
    cplx r[ROWS];
    for (int i = 0; i < ROWS; i++) {
        r[i] = q->rhs[i];
        for (int j = 0; j < COLUMNS; j++) r[i] -= q->values[i + ROWS * j] * x[j];
    }
    double gradient = 0, rhs = 0;
    for (int j = 0; j < COLUMNS; j++) {
        cplx g = -0.5 * x[j], h = 0;
        for (int i = 0; i < ROWS; i++) {
            g += conj(q->values[i + ROWS * j]) * r[i];
            h += conj(q->values[i + ROWS * j]) * q->rhs[i];
        }
        gradient += pow(cabs(g), 2);
        rhs += pow(cabs(h), 2);
    }
    assert_at_most(fabs(p->residual - sqrt(gradient / rhs)), 1e-10);
    return p->iter == 5;
}

TEST(residual_and_objective_are_those_of_the_iterate_and_the_monitor_may_stop)
{
    OWNED(problem) p = random_problem(ROWS, COLUMNS);
    p.A = matrix_op(&p.m);
    larmor_report report;
    const larmor_solve_opts opts = {.lambda = 0.5, .tol = -1, .monitor = checking, .user = &p};
    assert_refused(larmor_lsmr(p.A, p.b, p.x, &opts, &report), LARMOR_STOPPED, "lsmr: stopped by the caller after 5");
    assert_int_equal(report.iters, 5);
}

TEST(a_wrong_adjoint_is_seen_in_the_first_iteration)
{
    OWNED(problem) p = random_problem(ROWS, COLUMNS);
    cplx wrong[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) wrong[i] = conj(p.values[i]);
    p.m.back = wrong;
    p.A = matrix_op(&p.m);
    assert_refused(larmor_lsmr(p.A, p.b, p.x, NULL, NULL), LARMOR_ERR_NUMERIC,
                   "is the adjoint that of the forward map");
    assert_true(norm_of(p.x) == 0);
}

TEST(what_is_not_finite_is_an_error_and_never_in_the_result)
{
    OWNED(problem) data = random_problem(ROWS, COLUMNS), late = random_problem(ROWS, COLUMNS);
    data.A = matrix_op(&data.m);
    late.A = matrix_op(&late.m);
    data.rhs[5] = NAN;
    assert_ok(larmor_array_write(data.b, data.rhs, ROWS * sizeof *data.rhs));
    assert_refused(larmor_lsmr(data.A, data.b, data.x, NULL, NULL), LARMOR_ERR_NUMERIC, "lsmr: |A^H r| is nan");
    late.m.nan_after = 4;
    larmor_report report;
    assert_refused(larmor_lsmr(late.A, late.b, late.x, &(larmor_solve_opts){.tol = -1}, &report), LARMOR_ERR_NUMERIC,
                   "lsmr: |u| is nan");
    assert_true(report.iters == 3 && isfinite(report.residual));
    double norm;
    assert_ok(larmor_nrm2(late.x, &norm));
    assert_true(isfinite(norm) && norm > 0);
}

TEST(data_of_zero_and_odd_options_are_handled)
{
    OWNED(problem) p = random_problem(ROWS, COLUMNS);
    p.A = matrix_op(&p.m);
    larmor_report report;
    assert_refused(larmor_lsmr(p.A, p.b, p.x, &(larmor_solve_opts){.weights = p.b}, NULL), LARMOR_ERR_ARG,
                   "lsmr: weights are c128, expected real ones");
    assert_refused(larmor_lsmr(p.A, p.b, p.x, &(larmor_solve_opts){.lambda = -1}, NULL), LARMOR_ERR_ARG,
                   "lsmr: lambda is -1");
    assert_ok(larmor_zero(p.b));
    assert_ok(larmor_lsmr(p.A, p.b, p.x, NULL, &report));
    assert_true(norm_of(p.x) == 0 && report.iters == 0 && report.residual == 0);
}
