/* recon/prior: images by a denoiser, on dense matrices whose solutions are known.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/matrix.h"

enum { ROWS = 20, COLUMNS = 12, METHODS = 3 };

static double distance(const larmor_array *x, const larmor_array *y)
{
    double norm[3];
    assert_ok(larmor_distance(x, y, norm));
    return norm[2] / norm[1];
}

static double largest_of(larmor_op *A)
{
    double largest;
    assert_ok(larmor_opnorm(A, 60, &largest));
    return largest;
}

/* ---- proximal maps ---- */

static larmor_prox *prox_number(int i)
{
    larmor_prox *g = NULL;
    const larmor_shape shape = LARMOR_SHAPE(COLUMNS);
    if (i == 0) assert_ok(larmor_prox_l1(dev, 3, LARMOR_C128, shape, &g));
    if (i == 1) assert_ok(larmor_prox_l2(dev, 6, LARMOR_C128, shape, &g));
    if (i == 2) assert_ok(larmor_prox_box(dev, 0, 0.2, LARMOR_C128, shape, &g));
    return g;
}

/* The proximal map with a step of its own, whatever sigma is. */
typedef struct stepped {
    larmor_prox *g;
    double step;
} stepped;

static larmor_status map(void *self, double sigma LMR_UNUSED, const larmor_array *x, larmor_array *z)
{
    const stepped *s = self;
    return larmor_prox_apply(s->g, s->step, x, z);
}

static void expect_minimiser(larmor_pnp_method method, int prox, double weight_over_largest)
{
    OWNED(larmor_prox) *g = prox_number(prox);
    OWNED(larmor_denoiser) *d = NULL;
    OWNED(problem) p = random_problem(ROWS, COLUMNS);
    p.A = normal_matrix_op(&p.m);
    OWNED(larmor_array) *least = zeros(LARMOR_C128, LARMOR_SHAPE(COLUMNS));
    const larmor_solve_opts best = {.max_iter = 20000, .tol = 1e-12};
    const double weight = weight_over_largest * largest_of(p.A);
    const larmor_pnp_opts opts = {
        .method = method, .max_iter = 3000, .tol = 1e-9, .sigma = 1, .weight = weight, .inner = 60};
    larmor_pnp_info info;
    assert_ok(larmor_fista(p.A, p.b, g, least, &best, NULL));
    const larmor_denoiser_impl impl = {.name = "map", .apply = map};
    stepped s = {g, 1 / weight};
    assert_ok(larmor_denoiser_create(&impl, &s, &d));
    assert_ok(larmor_solve_pnp(p.A, p.b, d, p.x, &opts, &info));
    assert_at_most(distance(p.x, least), 1e-6);
    assert_int_equal(info.end, LARMOR_PNP_END_TOLERANCE);
    assert_true(info.weight == weight);
}

TEST(with_a_proximal_map_admm_and_fista_reach_the_minimiser_of_its_penalty)
{
    for (int prox = 0; prox < 3; prox++) {
        expect_minimiser(LARMOR_PNP_ADMM, prox, 0.1);
        expect_minimiser(LARMOR_PNP_ADMM, prox, 1.5);
        expect_minimiser(LARMOR_PNP_FISTA, prox, 1.1);
        expect_minimiser(LARMOR_PNP_FISTA, prox, 3);
    }
}

/* ---- linear denoisers ---- */

static larmor_status multiply(void *self, double sigma LMR_UNUSED, const larmor_array *x, larmor_array *z)
{
    return matrix_forward(self, x, z);
}

/* S in the rows below A, and W = I - S^H S, whose eigenvalues are from 0 to 1. */
static void fill_linear(cplx *stacked, const cplx *a, double lambda, cplx *W)
{
    HEAP cplx *S = random_values(COLUMNS * COLUMNS, 7);
    const int rows = ROWS + COLUMNS;
    double size = 0;
    for (int i = 0; i < COLUMNS * COLUMNS; i++) size += creal(S[i] * conj(S[i]));
    for (int i = 0; i < COLUMNS * COLUMNS; i++) S[i] *= 1.5 / sqrt(size);
    for (int j = 0; j < COLUMNS; j++) {
        for (int i = 0; i < ROWS; i++) stacked[i + rows * j] = a[i + ROWS * j];
        for (int i = 0; i < COLUMNS; i++) stacked[ROWS + i + rows * j] = sqrt(lambda) * S[i + COLUMNS * j];
        for (int i = 0; i < COLUMNS; i++) {
            W[i + COLUMNS * j] = i == j;
            for (int r = 0; r < COLUMNS; r++) W[i + COLUMNS * j] -= conj(S[r + COLUMNS * i]) * S[r + COLUMNS * j];
        }
    }
}

/* (A^H A + lambda (I - W)) x = A^H b, by Gaussian elimination. */
static larmor_array *solve_linear(const cplx *a, const cplx *b, double lambda, cplx *W)
{
    HEAP cplx *stacked = random_values((ROWS + COLUMNS) * COLUMNS, 1);
    HEAP cplx *rhs = calloc(ROWS + COLUMNS, sizeof *rhs);
    cplx x[COLUMNS];
    fill_linear(stacked, a, lambda, W);
    for (int i = 0; i < ROWS; i++) rhs[i] = b[i];
    const matrix all = {.rows = ROWS + COLUMNS, .columns = COLUMNS, .a = stacked, .back = stacked};
    solve_directly(&all, rhs, 0, x);
    return complex_array(LARMOR_C128, LARMOR_SHAPE(COLUMNS), x);
}

/* |A|^-2 on the diagonal: no close inverse, but a positive one. */
static larmor_op *diagonal_inverse(const matrix *m, double lambda)
{
    cplx inverse[COLUMNS];
    for (int j = 0; j < COLUMNS; j++) {
        double square = lambda;
        for (int i = 0; i < ROWS; i++) square += creal(m->a[i + ROWS * j] * conj(m->a[i + ROWS * j]));
        inverse[j] = 1 / square;
    }
    OWNED(larmor_array) *d = complex_array(LARMOR_C128, LARMOR_SHAPE(COLUMNS), inverse);
    return MADE(larmor_op, larmor_op_diag(d, &made));
}

TEST(red_with_a_linear_symmetric_denoiser_solves_its_linear_equations)
{
    for (int run = 0; run < 4; run++) {
        const double lambda = run < 2 ? 3 : 40;
        HEAP cplx *W = random_values(COLUMNS * COLUMNS, 1);
        OWNED(larmor_denoiser) *d = NULL;
        matrix linear = {.rows = COLUMNS, .columns = COLUMNS, .a = W, .back = W};
        OWNED(problem) p = random_problem(ROWS, COLUMNS);
        p.A = normal_matrix_op(&p.m);
        OWNED(larmor_array) *expected = solve_linear(p.values, p.rhs, lambda, W);
        OWNED(larmor_op) *M = run % 2 ? diagonal_inverse(&p.m, lambda) : NULL;
        const larmor_denoiser_impl impl = {.name = "linear", .apply = multiply};
        const larmor_pnp_opts opts = {.method = LARMOR_PNP_RED,
                                      .max_iter = 5000,
                                      .tol = 1e-12,
                                      .sigma = 1,
                                      .weight = lambda,
                                      .precondition = M};
        assert_ok(larmor_denoiser_create(&impl, &linear, &d));
        assert_ok(larmor_solve_pnp(p.A, p.b, d, p.x, &opts, NULL));
        assert_at_most(distance(p.x, expected), 1e-8);
    }
}

static larmor_status keep(void *self, double sigma LMR_UNUSED, const larmor_array *x, larmor_array *z)
{
    if (self) ++*(int *)self;
    return larmor_copy(x, z);
}

/* Gives the noise, which is none. */
static larmor_status find_none(void *self LMR_UNUSED, double sigma LMR_UNUSED, const larmor_array *x LMR_UNUSED,
                               larmor_array *z)
{
    return larmor_zero(z);
}

TEST(a_denoiser_that_keeps_everything_gives_least_squares_by_each_method)
{
    for (int run = 0; run < 2 * METHODS; run++) {
        const larmor_denoiser_impl impl = {
            .name = "keep", .apply = run % 2 ? find_none : keep, .is_residual = run % 2};
        OWNED(larmor_denoiser) *d = NULL;
        OWNED(problem) p = random_problem(ROWS, COLUMNS);
        cplx x[COLUMNS];
        p.A = normal_matrix_op(&p.m);
        solve_directly(&p.m, p.rhs, 0, x);
        OWNED(larmor_array) *expected = complex_array(LARMOR_C128, LARMOR_SHAPE(COLUMNS), x);
        const larmor_pnp_opts opts = {
            .method = (larmor_pnp_method)(run / 2), .max_iter = 9000, .tol = 1e-12, .sigma = 1};
        assert_ok(larmor_denoiser_create(&impl, NULL, &d));
        assert_ok(larmor_solve_pnp(p.A, p.b, d, p.x, &opts, NULL));
        assert_at_most(distance(p.x, expected), 1e-7);
    }
}

/* ---- the run ---- */

typedef struct seen {
    double sigma[64];
    int calls, fails_at, gives_nan;
} seen;

static larmor_status record(void *self, double sigma, const larmor_array *x, larmor_array *z)
{
    seen *s = self;
    if (s->calls < 64) s->sigma[s->calls] = sigma;
    if (++s->calls == s->fails_at && s->gives_nan) return larmor_fill(z, NAN);
    if (s->calls == s->fails_at) return larmor_fail(LARMOR_ERR_UNSUPPORTED, "prior record: no licence");
    return larmor_copy(x, z);
}

static const larmor_denoiser_impl recorder = {.name = "record", .apply = record};

TEST(sigma_falls_by_one_factor_to_the_one_that_is_asked_for)
{
    for (int method = 0; method < METHODS; method++) {
        OWNED(larmor_denoiser) *d = NULL;
        OWNED(problem) p = random_problem(ROWS, COLUMNS);
        p.A = normal_matrix_op(&p.m);
        seen s = {.calls = 0};
        const larmor_pnp_opts opts = {.method = (larmor_pnp_method)method,
                                      .max_iter = 6,
                                      .tol = -1,
                                      .sigma = 1,
                                      .first = 16,
                                      .falling = 4,
                                      .deviation = 2};
        larmor_pnp_info info;
        assert_ok(larmor_denoiser_create(&recorder, &s, &d));
        assert_ok(larmor_solve_pnp(p.A, p.b, d, p.x, &opts, &info));
        for (int i = 0; i < 6 && method != LARMOR_PNP_FISTA; i++)
            assert_at_most(fabs(s.sigma[i] - (i < 4 ? 16 / pow(2, i) : 1)), 1e-12);
        assert_int_equal(s.calls, 6);
        assert_int_equal(info.denoised, 6);
        if (method == LARMOR_PNP_FISTA) assert_true(info.weight > 0.99 * largest_of(p.A) && s.sigma[5] < 1);
        assert_at_most(fabs(info.weight * s.sigma[5] * s.sigma[5] - 4), 1e-12);
    }
}

TEST(it_ends_where_the_residual_is_the_noise_and_not_before)
{
    for (int method = 0; method < METHODS; method++) {
        OWNED(larmor_denoiser) *d = NULL;
        OWNED(problem) p = random_problem(ROWS, COLUMNS);
        p.A = normal_matrix_op(&p.m);
        cplx x[COLUMNS];
        double b;
        solve_directly(&p.m, p.rhs, 0, x);
        assert_ok(larmor_nrm2(p.b, &b));
        const double least = sqrt(misfit(&p.m, p.rhs, x)), noise = least + 0.02 * (b - least);
        larmor_pnp_opts opts = {.method = (larmor_pnp_method)method, .max_iter = 2000, .sigma = 1, .noise = noise};
        larmor_pnp_info info, before;
        seen s = {.calls = 0};
        assert_ok(larmor_denoiser_create(&recorder, &s, &d));
        assert_ok(larmor_solve_pnp(p.A, p.b, d, p.x, &opts, &info));
        HEAP cplx *got = values_of(p.x);
        assert_int_equal(info.end, LARMOR_PNP_END_NOISE);
        assert_at_most(info.residual, noise);
        assert_at_most(fabs(info.residual - sqrt(misfit(&p.m, p.rhs, got))), 1e-9 * b);
        opts.max_iter = info.iters - 1;
        assert_ok(larmor_zero(p.x));
        if (opts.max_iter > 0) assert_ok(larmor_solve_pnp(p.A, p.b, d, p.x, &opts, &before));
        if (opts.max_iter > 0) assert_true(before.residual > noise && before.end == LARMOR_PNP_END_ITERATIONS);
    }
}

static int stop_at_3(void *user, const larmor_progress *progress)
{
    *(int *)user = progress->iter;
    return progress->iter == 3;
}

TEST(what_a_denoiser_fails_with_ends_the_run_and_so_do_nan_and_the_monitor)
{
    OWNED(problem) p = random_problem(ROWS, COLUMNS);
    p.A = normal_matrix_op(&p.m);
    for (int method = 0; method < METHODS; method++) {
        OWNED(larmor_denoiser) *d = NULL;
        int last = 0;
        seen s = {.fails_at = 2};
        larmor_pnp_opts opts = {.method = (larmor_pnp_method)method, .tol = -1, .sigma = 1};
        assert_ok(larmor_denoiser_create(&recorder, &s, &d));
        assert_refused(larmor_solve_pnp(p.A, p.b, d, p.x, &opts, NULL), LARMOR_ERR_UNSUPPORTED,
                       "prior record: no licence");
        s = (seen){.fails_at = 2, .gives_nan = 1};
        assert_refused(larmor_solve_pnp(p.A, p.b, d, p.x, &opts, NULL), LARMOR_ERR_NUMERIC,
                       "prior record: 12 values are not finite, the first at [0]");
        assert_int_equal(s.calls, 2);
        s = (seen){.calls = 0};
        opts.monitor = stop_at_3;
        opts.user = &last;
        assert_ok(larmor_zero(p.x));
        assert_refused(larmor_solve_pnp(p.A, p.b, d, p.x, &opts, NULL), LARMOR_STOPPED,
                       "pnp: stopped by the caller after 3 iterations");
        assert_int_equal(last, 3);
    }
}

/* Twice as much of everything. */
static larmor_status enlarge(void *self LMR_UNUSED, double sigma LMR_UNUSED, const larmor_array *x, larmor_array *z)
{
    return larmor_axpby(3, x, 0, z);
}

TEST(a_denoiser_that_enlarges_is_found_to_diverge)
{
    const larmor_denoiser_impl impl = {.name = "enlarge", .apply = enlarge};
    for (int method = 0; method < METHODS; method++) {
        OWNED(larmor_denoiser) *d = NULL;
        OWNED(problem) p = random_problem(ROWS, COLUMNS);
        p.A = normal_matrix_op(&p.m);
        const larmor_pnp_opts opts = {
            .method = (larmor_pnp_method)method, .max_iter = 500, .sigma = 1, .weight = 3 * largest_of(p.A)};
        assert_ok(larmor_denoiser_create(&impl, NULL, &d));
        assert_refused(larmor_solve_pnp(p.A, p.b, d, p.x, &opts, NULL), LARMOR_ERR_NUMERIC,
                       "pnp: diverges with prior enlarge");
    }
}

TEST(numbers_out_of_range_are_refused_in_a_line)
{
    OWNED(larmor_denoiser) *d = NULL;
    OWNED(larmor_array) *other = zeros(LARMOR_C128, LARMOR_SHAPE(COLUMNS + 1));
    OWNED(problem) p = random_problem(ROWS, COLUMNS);
    p.A = normal_matrix_op(&p.m);
    seen s = {.calls = 0};
    assert_ok(larmor_denoiser_create(&recorder, &s, &d));
    const struct {
        larmor_pnp_opts opts;
        const char *said;
    } wrong[] = {
        {{.sigma = 0}, "pnp: sigma is 0, expected a finite number > 0"},
        {{.sigma = 1, .noise = -1}, "pnp: noise is -1, expected a finite number >= 0"},
        {{.sigma = 2, .first = 1}, "pnp: first is 1, expected at least sigma, 2, to which it falls"},
        {{.sigma = 1, .falling = -1}, "pnp: falling is -1, expected at least 0"},
        {{.sigma = 1, .max_iter = -1}, "pnp: max_iter is -1, expected at least 0"},
        {{.sigma = 1, .method = (larmor_pnp_method)3}, "pnp: method is 3, expected 0 to 2"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(larmor_solve_pnp(p.A, p.b, d, p.x, &wrong[i].opts, NULL), LARMOR_ERR_ARG, wrong[i].said);
    assert_refused(larmor_solve_pnp(p.A, p.b, d, p.x, NULL, NULL), LARMOR_ERR_ARG, "pnp: sigma is 0");
    assert_refused(larmor_solve_pnp(p.A, p.b, NULL, p.x, NULL, NULL), LARMOR_ERR_ARG, "pnp: a denoiser is needed");
    const larmor_pnp_opts fine = {.sigma = 1};
    assert_refused(larmor_solve_pnp(p.A, p.b, d, other, &fine, NULL), LARMOR_ERR_SHAPE, "x");
    assert_int_equal(s.calls, 0);
}
