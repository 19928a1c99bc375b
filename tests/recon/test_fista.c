/* recon/solve/fista.c, on dense matrices. SPDX-License-Identifier: Apache-2.0 */
#define NAME "fista"
#define SOLVE larmor_fista
#define NORMALS 1 /* per iteration at most */
#include "tests/recon/proximal.h"

static void a_step_that_is_too_long_is_shortened(void **state)
{
    (void)state;
    proximal t;
    begin(&t, 0);
    const larmor_solve_opts opts = {.max_iter = 3000, .tol = -1, .largest = 1e-3};
    assert_ok(larmor_fista(t.p.A, t.p.b, t.g, t.p.x, &opts, NULL));
    cplx *got = values_of(t.p.x);
    assert_at_most(subgradient_error(&t, got, 0), 1e-9);
    free(got);
    end(&t);
}

/* Columns of very different length: without restart the momentum makes it swing about the solution. */
static void restarts_make_it_converge_linearly(void **state)
{
    (void)state;
    proximal t;
    begin(&t, 0);
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 0; i < ROWS; i++) t.p.values[i + ROWS * j] *= pow(10, -1.5 * j / COLUMNS);
    t.l.weight = 1e-3;
    larmor_report report;
    const larmor_solve_opts opts = {.max_iter = 2500, .tol = 1e-13};
    assert_ok(larmor_fista(t.p.A, t.p.b, t.g, t.p.x, &opts, &report));
    assert_true(report.iters < 2500);
    cplx *got = values_of(t.p.x);
    assert_at_most(subgradient_error(&t, got, 0), 1e-7);
    free(got);
    end(&t);
}

static const struct CMUnitTest tests[] = {
    PROXIMAL_TESTS,
    cmocka_unit_test(a_step_that_is_too_long_is_shortened),
    cmocka_unit_test(restarts_make_it_converge_linearly),
};

int main(void)
{
    RUN_TESTS(tests);
}
