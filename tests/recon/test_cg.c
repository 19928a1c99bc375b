/* recon/solve/cg.c, on dense matrices. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/matrix.h"

TEST(it_solves_the_regularised_normal_equations)
{
    const double lambda[] = {0, 0.5, 30};
    for (int i = 0; i < 3; i++) {
        OWNED(problem) p = random_problem(20, 8);
        p.A = matrix_op(&p.m);
        cplx expected[8];
        solve_directly(&p.m, p.rhs, lambda[i], expected);
        larmor_report report;
        const larmor_solve_opts opts = {.max_iter = 40, .tol = 1e-13, .lambda = lambda[i]};
        assert_ok(larmor_cg(p.A, p.b, p.x, &opts, &report));
        HEAP cplx *got = values_of(p.x);
        assert_at_most(difference(got, expected, 8), 1e-11);
        assert_at_most(report.residual, 1e-13);
        assert_true(report.seconds >= 0);
        const double objective = misfit(&p.m, p.rhs, expected) + lambda[i] * squares(expected, 8);
        assert_at_most(fabs(report.objective / objective - 1), 1e-10);
    }
}

TEST(as_many_iterations_as_distinct_eigenvalues_are_enough)
{
    enum { N = 24, DISTINCT = 3 };
    cplx d[N];
    for (int i = 0; i < N; i++) d[i] = 1 + i % DISTINCT;
    OWNED(larmor_array) *diagonal = complex_array(LARMOR_C128, LARMOR_SHAPE(N), d),
                        *x = zeros(LARMOR_C128, LARMOR_SHAPE(N));
    OWNED(larmor_array) *b = drawn(LARMOR_C128, LARMOR_SHAPE(N), 3);
    larmor_report report;
    OWN(larmor_op, *D, larmor_op_diag(diagonal, &D));
    assert_ok(larmor_cg(D, b, x, &(larmor_solve_opts){.tol = 1e-12}, &report));
    assert_int_equal(report.iters, DISTINCT);
}

TEST(a_heavy_lambda_leaves_the_adjoint_over_lambda)
{
    OWNED(problem) p = random_problem(20, 8);
    p.A = matrix_op(&p.m);
    const double lambda = 1e9;
    OWNED(larmor_array) *y = zeros(LARMOR_C128, LARMOR_SHAPE(8));
    assert_ok(larmor_op_adjoint(p.A, p.b, y));
    assert_ok(larmor_cg(p.A, p.b, p.x, &(larmor_solve_opts){.lambda = lambda}, NULL));
    HEAP cplx *expected = values_of(y), *got = values_of(p.x);
    for (int i = 0; i < 8; i++) got[i] *= lambda;
    assert_at_most(difference(got, expected, 8), 1e-7);
}

TEST(data_of_zero_give_an_image_of_zero)
{
    OWNED(problem) p = random_problem(20, 8);
    p.A = matrix_op(&p.m);
    HEAP cplx *start = random_values(8, 4);
    assert_ok(larmor_array_write(p.x, start, 8 * sizeof *start));
    assert_ok(larmor_zero(p.b));
    larmor_report report;
    assert_ok(larmor_cg(p.A, p.b, p.x, NULL, &report));
    assert_true(norm_of(p.x) == 0 && report.iters == 0 && report.residual == 0);
}

TEST(the_solution_as_start_needs_no_iteration)
{
    OWNED(problem) p = random_problem(20, 8);
    p.A = matrix_op(&p.m);
    cplx solution[8];
    solve_directly(&p.m, p.rhs, 0.1, solution);
    assert_ok(larmor_array_write(p.x, solution, sizeof solution));
    larmor_report report;
    assert_ok(larmor_cg(p.A, p.b, p.x, &(larmor_solve_opts){.lambda = 0.1}, &report));
    assert_int_equal(report.iters, 0);
}

/* As the solution at a small weight is, where a search goes on to a large one. */
TEST(a_start_far_from_the_solution_is_no_divergence)
{
    OWNED(problem) p = random_problem(20, 8);
    p.A = matrix_op(&p.m);
    cplx solution[8], far[8];
    solve_directly(&p.m, p.rhs, 0.1, solution);
    for (int i = 0; i < 8; i++) far[i] = 1e5 * (1 + i);
    assert_ok(larmor_array_write(p.x, far, sizeof far));
    assert_ok(larmor_cg(p.A, p.b, p.x, &(larmor_solve_opts){.lambda = 0.1, .tol = 1e-10, .max_iter = 100}, NULL));
    HEAP cplx *got = values_of(p.x);
    assert_at_most(difference(got, solution, 8), 1e-8);
}

TEST(going_on_past_convergence_does_no_harm)
{
    OWNED(problem) p = random_problem(20, 8);
    p.A = matrix_op(&p.m);
    cplx expected[8];
    solve_directly(&p.m, p.rhs, 0, expected);
    assert_ok(larmor_cg(p.A, p.b, p.x, &(larmor_solve_opts){.max_iter = 400, .tol = -1}, NULL));
    HEAP cplx *got = values_of(p.x);
    assert_at_most(difference(got, expected, 8), 1e-11);
}

typedef struct watch {
    int calls, stop_at;
    double last;
} watch;

static int watching(void *user, const larmor_progress *p)
{
    watch *w = user;
    w->calls++;
    assert_int_equal(p->iter, w->calls);
    assert_int_equal(p->max_iter, 6);
    assert_non_null(p->x);
    w->last = p->residual;
    return w->calls == w->stop_at;
}

TEST(the_monitor_sees_every_iteration_and_may_stop)
{
    OWNED(problem) all = random_problem(20, 8), stopped = random_problem(20, 8), three = random_problem(20, 8);
    all.A = matrix_op(&all.m);
    stopped.A = matrix_op(&stopped.m);
    three.A = matrix_op(&three.m);
    watch w = {0}, s = {.stop_at = 3};
    larmor_report report;
    larmor_solve_opts opts = {.max_iter = 6, .tol = -1, .monitor = watching, .user = &w};
    assert_ok(larmor_cg(all.A, all.b, all.x, &opts, &report));
    assert_int_equal(w.calls, 6);
    assert_true(w.last == report.residual);
    opts.user = &s;
    assert_refused(larmor_cg(stopped.A, stopped.b, stopped.x, &opts, &report), LARMOR_STOPPED, "after 3 iterations");
    assert_int_equal(report.iters, 3);
    assert_ok(larmor_cg(three.A, three.b, three.x, &(larmor_solve_opts){.max_iter = 3, .tol = -1}, NULL));
    HEAP cplx *got = values_of(stopped.x), *expected = values_of(three.x);
    assert_at_most(difference(got, expected, 8), 0);
}

typedef struct record {
    double best;
    cplx x[8];
} record;

static int keep_best(void *user, const larmor_progress *p)
{
    record *r = user;
    if (p->residual < r->best) {
        r->best = p->residual;
        assert_ok(larmor_array_read(p->x, r->x, sizeof r->x));
    }
    return 0;
}

/* Near the identity, with an adjoint that is off by so much of random numbers. */
static problem wrong_problem(uint64_t seed, double wrong)
{
    problem p = random_problem(8, 8);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) p.values[i + 8 * j] = (i == j ? 1 : 0) + 0.2 * p.values[i + 8 * j];
    p.m.back = random_values(64, seed);
    for (int i = 0; i < 64; i++) p.m.back[i] = p.values[i] + wrong * p.m.back[i];
    p.A = NULL;
    return p;
}

TEST(a_wrong_adjoint_diverges_and_the_best_iterate_is_given_back)
{
    OWNED(problem) p = wrong_problem(1, 0.5);
    p.A = matrix_op(&p.m);
    record best = {.best = 1};
    larmor_report report;
    const larmor_solve_opts opts = {.max_iter = 100000, .tol = -1, .monitor = keep_best, .user = &best};
    assert_refused(larmor_cg(p.A, p.b, p.x, &opts, &report), LARMOR_ERR_NUMERIC, "cg: diverges: residual");
    assert_true(report.iters > 5 && report.iters < 100000);
    assert_true(best.best < 1 && report.residual == best.best);
    HEAP cplx *got = values_of(p.x);
    assert_at_most(difference(got, best.x, 8), 0);
    free(p.m.back);
}

TEST(residuals_that_grow_for_a_while_are_no_divergence)
{
    for (uint64_t seed = 1; seed < 9; seed++) {
        OWNED(problem) p = wrong_problem(seed, 0.2);
        p.A = matrix_op(&p.m);
        record best = {.best = 1};
        larmor_report report;
        const larmor_solve_opts opts = {.max_iter = 100, .tol = -1, .monitor = keep_best, .user = &best};
        assert_ok(larmor_cg(p.A, p.b, p.x, &opts, &report));
        assert_true(best.best < 1 && report.residual <= 2 * best.best);
        free(p.m.back);
    }
}

/* Eigenvalues of A^H A over ten decades in single precision, no lambda, and a tolerance far below the rounding. */
TEST(at_the_floor_of_its_rounding_it_ends_well)
{
    enum { N = 200 };
    HEAP cplx *d = calloc(N, sizeof *d), *x0 = random_values(N, 5), *rhs = calloc(N, sizeof *rhs);
    for (int i = 0; i < N; i++) {
        d[i] = pow(10, -5. * i / N);
        rhs[i] = d[i] * x0[i];
    }
    for (int with = 0; with < 2; with++) {
        const larmor_dtype dtype = with ? LARMOR_C128 : LARMOR_C64;
        OWNED(larmor_array) *diagonal = complex_array(dtype, LARMOR_SHAPE(N), d), *x = zeros(dtype, LARMOR_SHAPE(N));
        OWNED(larmor_array) *b = complex_array(dtype, LARMOR_SHAPE(N), rhs);
        larmor_report report;
        OWN(larmor_op, *D, larmor_op_diag(diagonal, &D));
        assert_ok(larmor_cg(D, b, x, &(larmor_solve_opts){.max_iter = 2000, .tol = -1}, &report));
        assert_at_most(away(x, x0, N / 4), 1e-2); /* what the data determine well */
        assert_at_most(report.residual, 1e-3);
    }
}

TEST(the_end_says_why)
{
    OWNED(problem) p = random_problem(20, 8);
    p.A = matrix_op(&p.m);
    larmor_report report;
    assert_ok(larmor_cg(p.A, p.b, p.x, &(larmor_solve_opts){.max_iter = 40, .tol = 1e-6}, &report));
    assert_int_equal(report.end, LARMOR_END_TOLERANCE);
    assert_ok(larmor_zero(p.x));
    assert_ok(larmor_cg(p.A, p.b, p.x, &(larmor_solve_opts){.max_iter = 2, .tol = 1e-6}, &report));
    assert_int_equal(report.end, LARMOR_END_ITERATIONS);
}

/* Eigenvalues of D^H D over `decades`, b random, D x = b solved until further steps change x by so much. */
static void solve_to(int n, double decades, double change, double relative, cplx *apart, larmor_report *report,
                     double *distance, double *size)
{
    HEAP cplx *d = calloc((size_t)n, sizeof *d), *solution = random_values(n, 5),
              *rhs = calloc((size_t)n, sizeof *rhs);
    for (int i = 0; i < n; i++) {
        d[i] = pow(10, -decades / 2 * i / n);
        rhs[i] = d[i] * solution[i];
    }
    OWNED(larmor_array) *diagonal = complex_array(LARMOR_C128, LARMOR_SHAPE(n), d),
                        *x = zeros(LARMOR_C128, LARMOR_SHAPE(n));
    OWNED(larmor_array) *b = complex_array(LARMOR_C128, LARMOR_SHAPE(n), rhs);
    OWN(larmor_op, *D, larmor_op_diag(diagonal, &D));
    const larmor_solve_opts opts = {.max_iter = 5000, .tol = -1, .change = change, .relative = relative};
    assert_ok(larmor_cg(D, b, x, &opts, report));
    HEAP cplx *got = values_of(x);
    *distance = *size = 0;
    for (int i = 0; i < n; i++) {
        apart[i] = got[i] - solution[i];
        *distance += pow(cabs(apart[i]), 2);
        *size += pow(cabs(solution[i]), 2);
    }
    *distance = sqrt(*distance);
    *size = sqrt(*size);
}

TEST(it_ends_where_further_steps_change_little)
{
    enum { SIZE = 500 };
    cplx apart[SIZE];
    double distance, size;
    const double decades[] = {1, 2, 3};
    for (int i = 0; i < 3; i++) {
        larmor_report all, report;
        solve_to(SIZE, decades[i], 0, 0, apart, &all, &distance, &size);
        assert_true(all.left == 0);
        for (double part = 0.1; part > 1e-4; part /= 10) {
            for (int relative = 0; relative < 2; relative++) {
                solve_to(SIZE, decades[i], relative ? 0 : part * size, relative ? part : 0, apart, &report, &distance,
                         &size);
                assert_int_equal(report.end, LARMOR_END_TOLERANCE);
                assert_true(report.iters < all.iters && report.left > 0);
                assert_at_most(report.left, part * 1.2); /* |x| is not yet that of the solution */
                assert_at_most(distance, 1.5 * part * size);
                assert_true(distance > 0.05 * part * size); /* and not long before */
            }
        }
    }
}

typedef struct foresight {
    double done;
    int last;
} foresight;

static int look_at_the_end(void *user, const larmor_progress *p)
{
    foresight *f = user;
    if (p->iter < 3) assert_int_equal(p->max_iter, 0);
    if (p->max_iter == 0) return 0;
    assert_true(p->max_iter >= p->iter && (double)p->iter / p->max_iter >= f->done);
    f->done = (double)p->iter / p->max_iter;
    f->last = p->max_iter;
    return 0;
}

TEST(the_monitor_is_told_when_it_will_end)
{
    OWNED(problem) p = random_problem(40, 30);
    p.A = matrix_op(&p.m);
    foresight f = {.done = 0};
    larmor_report report;
    const larmor_solve_opts opts = {
        .max_iter = 500, .lambda = 1e-3, .tol = -1, .relative = 1e-6, .monitor = look_at_the_end, .user = &f};
    assert_ok(larmor_cg(p.A, p.b, p.x, &opts, &report));
    assert_true(report.iters > 8 && report.end == LARMOR_END_TOLERANCE);
    assert_true(f.done > 0.9 && f.last < 1.2 * report.iters);
}

TEST(an_adjoint_of_the_wrong_sign_is_named)
{
    OWNED(problem) p = random_problem(20, 8);
    cplx wrong[160];
    for (int i = 0; i < 160; i++) wrong[i] = -p.values[i];
    p.m.back = wrong;
    p.A = matrix_op(&p.m);
    assert_refused(larmor_cg(p.A, p.b, p.x, NULL, NULL), LARMOR_ERR_NUMERIC, "normal map is not positive");
}

TEST(what_is_not_finite_is_an_error_and_never_in_the_result)
{
    OWNED(problem) data = random_problem(20, 8), late = random_problem(20, 8);
    data.A = matrix_op(&data.m);
    late.A = matrix_op(&late.m);
    data.rhs[5] = NAN;
    assert_ok(larmor_array_write(data.b, data.rhs, 20 * sizeof *data.rhs));
    assert_refused(larmor_cg(data.A, data.b, data.x, NULL, NULL), LARMOR_ERR_NUMERIC, "cg: |A^H b| is nan");
    late.m.nan_after = 3;
    larmor_report report;
    assert_refused(larmor_cg(late.A, late.b, late.x, &(larmor_solve_opts){.tol = -1}, &report), LARMOR_ERR_NUMERIC,
                   "cg: ");
    assert_true(report.iters >= 2 && isfinite(report.residual) && report.residual < 1);
    double norm;
    assert_ok(larmor_nrm2(data.x, &norm));
    assert_true(norm == 0);
    assert_ok(larmor_nrm2(late.x, &norm));
    assert_true(isfinite(norm) && norm > 0);
}

TEST(options_that_make_no_sense_are_refused)
{
    OWNED(problem) p = random_problem(20, 8);
    p.A = matrix_op(&p.m);
    assert_refused(larmor_cg(p.A, p.b, p.x, &(larmor_solve_opts){.lambda = -1}, NULL), LARMOR_ERR_ARG,
                   "cg: lambda is -1, expected");
    assert_refused(larmor_cg(p.A, p.b, p.x, &(larmor_solve_opts){.max_iter = -3}, NULL), LARMOR_ERR_ARG,
                   "cg: max_iter is -3, expected");
    assert_refused(larmor_cg(p.A, p.b, p.x, &(larmor_solve_opts){.change = -1}, NULL), LARMOR_ERR_ARG,
                   "cg: change is -1, relative 0 and noise 0, expected at least 0");
    assert_refused(larmor_cg(p.A, p.x, p.x, NULL, NULL), LARMOR_ERR_SHAPE, "c128 [8]");
    assert_refused(larmor_cg(NULL, p.b, p.x, NULL, NULL), LARMOR_ERR_ARG, "cg: A, b and x are needed");
    OWNED(larmor_array) *longer = zeros(LARMOR_C128, LARMOR_SHAPE(9));
    assert_refused(larmor_cg(p.A, p.b, longer, NULL, NULL), LARMOR_ERR_SHAPE, "cg: x is c128 [9]");
}

TEST(the_inverse_as_preconditioner_needs_one_iteration)
{
    enum { N = 24 };
    cplx d[N], inverse[N], *rhs = random_values(N, 3);
    for (int i = 0; i < N; i++) {
        d[i] = 1 + i;
        inverse[i] = 1 / ((1. + i) * (1 + i) + 0.5);
    }
    OWNED(larmor_array) *diagonal = complex_array(LARMOR_C128, LARMOR_SHAPE(N), d),
                        *x = zeros(LARMOR_C128, LARMOR_SHAPE(N));
    OWNED(larmor_array) *m = complex_array(LARMOR_C128, LARMOR_SHAPE(N), inverse);
    OWNED(larmor_array) *b = complex_array(LARMOR_C128, LARMOR_SHAPE(N), rhs);
    larmor_report plain, report;
    OWN(larmor_op, *D, larmor_op_diag(diagonal, &D));
    OWN(larmor_op, *M, larmor_op_diag(m, &M));
    larmor_solve_opts opts = {.max_iter = 100, .tol = 1e-12, .lambda = 0.5};
    assert_ok(larmor_cg(D, b, x, &opts, &plain));
    assert_true(plain.iters > 10);
    assert_ok(larmor_zero(x));
    opts.precondition = M;
    assert_ok(larmor_cg(D, b, x, &opts, &report));
    assert_int_equal(report.iters, 1);
    assert_at_most(fabs(report.objective / plain.objective - 1), 1e-12);
    free(rhs);
}

TEST(a_preconditioner_that_is_not_positive_is_refused)
{
    OWNED(problem) p = random_problem(20, 8);
    p.A = matrix_op(&p.m);
    const cplx d[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    OWNED(larmor_array) *diagonal = complex_array(LARMOR_C128, LARMOR_SHAPE(8), d);
    OWN(larmor_op, *M, larmor_op_diag(diagonal, &M));
    assert_refused(larmor_cg(p.A, p.b, p.x, &(larmor_solve_opts){.precondition = M}, NULL), LARMOR_ERR_NUMERIC,
                   "must be positive definite");
}

/* An operator that scales. */
static larmor_op *scaling(double by)
{
    cplx d[8];
    for (int i = 0; i < 8; i++) d[i] = by * (1 + i);
    OWNED(larmor_array) *diagonal = complex_array(LARMOR_C128, LARMOR_SHAPE(8), d);
    return MADE(larmor_op, larmor_op_diag(diagonal, &made));
}

/* By |judge r|, and where no other map is given by that of the preconditioner. */
TEST(the_error_is_judged_by_the_map_that_is_given)
{
    OWNED(larmor_op) *M = scaling(1), *tenfold = scaling(10), *same = scaling(1);
    const struct {
        larmor_op *precondition, *judge;
        double error;
    } cases[] = {{M, NULL, 3}, {M, M, 3}, {M, same, 3}, {M, tenfold, 30}, {M, tenfold, 1e-3}, {NULL, M, .1}};
    int iters[6];
    for (int i = 0; i < 6; i++) {
        OWNED(problem) p = random_problem(20, 8);
        larmor_report report;
        p.A = matrix_op(&p.m);
        const larmor_solve_opts opts = {.max_iter = 40,
                                        .tol = -1,
                                        .precondition = cases[i].precondition,
                                        .judge = cases[i].judge,
                                        .error = cases[i].error};
        assert_ok(larmor_cg(p.A, p.b, p.x, &opts, &report));
        OWNED(larmor_array) *r = zeros(LARMOR_C128, LARMOR_SHAPE(8)), *judged = zeros(LARMOR_C128, LARMOR_SHAPE(8));
        OWNED(larmor_array) *Nx = zeros(LARMOR_C128, LARMOR_SHAPE(8));
        assert_ok(larmor_op_adjoint(p.A, p.b, r));
        assert_ok(larmor_op_normal(p.A, p.x, Nx));
        assert_ok(larmor_axpby(-1, Nx, 1, r));
        assert_ok(larmor_op_forward(cases[i].judge ? cases[i].judge : M, r, judged));
        assert_at_most(norm_of(judged), cases[i].error);
        iters[i] = report.iters;
    }
    for (int i = 1; i < 4; i++) assert_int_equal(iters[i], iters[0]);
    assert_true(iters[0] > 0 && iters[4] > iters[0]);
}
