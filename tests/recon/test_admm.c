/* recon/solve/admm.c, on dense matrices. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

static larmor_status with_identity(larmor_op *A, const larmor_array *b, larmor_prox *g, larmor_array *x,
                                   const larmor_solve_opts *opts, larmor_report *report)
{
    return larmor_admm(A, b, NULL, g, x, opts, report);
}

#define NAME "admm"
#define SOLVE with_identity
#define NORMALS 2 /* per iteration at most, with inner = 2 */
#include "tests/recon/proximal.h"

TEST(admm_and_pdhg_agree_on_a_map_before_the_penalty)
{
    enum { LENGTH = 17 };
    OWNED(proximal) t;
    begin(&t, 0);
    t.l.weight = 0.3;
    HEAP cplx *values = random_values(LENGTH * COLUMNS, 5);
    matrix k = {.rows = LENGTH, .columns = COLUMNS, .a = values, .back = values};
    OWNED(larmor_op) *K = matrix_op(&k);
    OWNED(larmor_prox) *g = lasso_prox(&t.l, LARMOR_C128, LENGTH);
    OWNED(larmor_array) *y = zeros(LARMOR_C128, LARMOR_SHAPE(COLUMNS));
    larmor_report admm, pdhg;
    const larmor_solve_opts opts = {.max_iter = 5000, .tol = 1e-10};
    assert_ok(larmor_admm(t.p.A, t.p.b, K, g, t.p.x, &opts, &admm));
    assert_ok(larmor_pdhg(t.p.A, t.p.b, K, g, y, &opts, &pdhg));
    HEAP cplx *a = values_of(t.p.x), *p = values_of(y);
    assert_true(squares(a, COLUMNS) > 1e-4);
    assert_at_most(difference(a, p, COLUMNS), 1e-5);
    assert_at_most(fabs(admm.objective / pdhg.objective - 1), 1e-8);
}

TEST(the_penalty_s_first_value_does_not_move_the_solution)
{
    const double penalty[] = {1e-2, 1, 1e2, 1e4};
    for (int i = 0; i < 4; i++) {
        OWNED(proximal) t;
        begin(&t, 0);
        const larmor_solve_opts opts = {.max_iter = 1000, .tol = 1e-11, .penalty = penalty[i]};
        assert_ok(SOLVE(t.p.A, t.p.b, t.g, t.p.x, &opts, NULL));
        HEAP cplx *got = values_of(t.p.x);
        for (int j = 0; j < COLUMNS; j++)
            if (cabs(got[j]) < 1e-6) got[j] = 0;
        assert_at_most(subgradient_error(&t, got, 0), 1e-5);
    }
}

/* The distance from the solution is of the size that was allowed, and falls with it. */
TEST(the_run_ends_where_further_steps_change_x_by_no_more_than_is_allowed)
{
    OWNED(proximal) t;
    begin(&t, 0);
    OWNED(larmor_array) *y = zeros(LARMOR_C128, LARMOR_SHAPE(COLUMNS));
    const larmor_solve_opts exact = {.max_iter = 5000, .tol = 1e-12};
    assert_ok(SOLVE(t.p.A, t.p.b, t.g, y, &exact, NULL));
    HEAP cplx *solution = values_of(y);
    const double size = sqrt(squares(solution, COLUMNS));
    int iters[2] = {0};
    for (double part = 1e-2; part > 1e-7; part /= 10) {
        for (int relative = 0; relative < 2; relative++) {
            larmor_report report;
            const larmor_solve_opts opts = {
                .max_iter = 5000, .tol = -1, .change = relative ? 0 : part * size, .relative = relative ? part : 0};
            assert_ok(larmor_zero(t.p.x));
            assert_ok(SOLVE(t.p.A, t.p.b, t.g, t.p.x, &opts, &report));
            HEAP cplx *got = values_of(t.p.x);
            assert_int_equal(report.end, LARMOR_END_TOLERANCE);
            assert_true(report.left > 0 && report.left <= 1.01 * part);
            assert_true(report.iters < 2000);
            assert_at_most(difference(got, solution, COLUMNS), 3 * part);
            assert_true(report.iters >= iters[relative]);
            iters[relative] = report.iters;
        }
    }
    assert_true(iters[0] > 20);
}
