/* Solvers that go on from the state that a monitor kept. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/matrix.h"

enum { ROWS = 24, COLUMNS = 12, ITERS = 19, MOST = 16 };

/* A copy of a state. */
typedef struct kept {
    char solver[16];
    void *array[MOST];
    double number[32];
    int count[8], arrays, numbers, counts;
    int stop_at;
} kept;

static void forget(kept *k)
{
    for (int i = 0; i < k->arrays; i++) free(k->array[i]);
    k->arrays = 0;
}

static int keep(void *user, const larmor_progress *p)
{
    kept *k = user;
    const larmor_solver_state *s = p->state;
    if (p->iter != k->stop_at) return 0;
    assert_non_null(s);
    assert_true(s->arrays <= MOST && s->numbers <= 32 && s->counts <= 8);
    snprintf(k->solver, sizeof k->solver, "%s", s->solver);
    k->arrays = s->arrays;
    k->numbers = s->numbers;
    k->counts = s->counts;
    for (int i = 0; i < s->arrays; i++) {
        k->array[i] = malloc(larmor_array_bytes(s->array[i]));
        assert_ok(larmor_array_read(s->array[i], k->array[i], larmor_array_bytes(s->array[i])));
    }
    for (int i = 0; i < s->numbers; i++) k->number[i] = *s->number[i];
    for (int i = 0; i < s->counts; i++) k->count[i] = *s->count[i];
    return 1;
}

static larmor_status go_on(void *user, const larmor_solver_state *s, int *resumed)
{
    const kept *k = user;
    assert_string_equal(s->solver, k->solver);
    assert_true(s->arrays == k->arrays && s->numbers == k->numbers && s->counts == k->counts);
    for (int i = 0; i < s->arrays; i++)
        assert_ok(larmor_array_write(s->array[i], k->array[i], larmor_array_bytes(s->array[i])));
    for (int i = 0; i < s->numbers; i++) *s->number[i] = k->number[i];
    for (int i = 0; i < s->counts; i++) *s->count[i] = k->count[i];
    *resumed = 1;
    return LARMOR_OK;
}

static larmor_status do_not(void *user LMR_UNUSED, const larmor_solver_state *s LMR_UNUSED, int *resumed)
{
    assert_int_equal(*resumed, 0);
    return LARMOR_OK;
}

static larmor_status fail_to(void *user LMR_UNUSED, const larmor_solver_state *s LMR_UNUSED, int *resumed)
{
    *resumed = 1;
    return larmor_fail(LARMOR_ERR_FORMAT, "the state is damaged");
}

/* ---- the solvers ---- */

typedef larmor_status (*solver)(problem *p, larmor_prox *g, const larmor_solve_opts *opts, larmor_report *report);

static larmor_status by_cg(problem *p, larmor_prox *g LMR_UNUSED, const larmor_solve_opts *o, larmor_report *report)
{
    return larmor_cg(p->A, p->b, p->x, o, report);
}

/* The preconditioner is half the identity. */
static larmor_status by_preconditioned_cg(problem *p, larmor_prox *g LMR_UNUSED, const larmor_solve_opts *o,
                                          larmor_report *report)
{
    cplx half[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) half[i] = 0.5 + 0.02 * i;
    OWNED(larmor_array) *d = complex_array(LARMOR_C128, LARMOR_SHAPE(COLUMNS), half);
    larmor_solve_opts own = *o;
    assert_ok(larmor_op_diag(d, &own.precondition));
    own.error = 1e-12;
    const larmor_status st = larmor_cg(p->A, p->b, p->x, &own, report);
    larmor_op_free(own.precondition);
    return st;
}

static larmor_status by_lsmr(problem *p, larmor_prox *g LMR_UNUSED, const larmor_solve_opts *o, larmor_report *report)
{
    return larmor_lsmr(p->A, p->b, p->x, o, report);
}

static larmor_status by_weighted_lsmr(problem *p, larmor_prox *g, const larmor_solve_opts *o, larmor_report *report)
{
    (void)g;
    double w[ROWS];
    for (int i = 0; i < ROWS; i++) w[i] = 1 + 0.1 * i;
    OWN(larmor_array, *weights, larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(ROWS), LARMOR_F64, w, &weights));
    larmor_solve_opts own = *o;
    own.weights = weights;
    return larmor_lsmr(p->A, p->b, p->x, &own, report);
}

static larmor_status by_admm(problem *p, larmor_prox *g, const larmor_solve_opts *o, larmor_report *report)
{
    return larmor_admm(p->A, p->b, NULL, g, p->x, o, report);
}

static larmor_status by_pdhg(problem *p, larmor_prox *g, const larmor_solve_opts *o, larmor_report *report)
{
    return larmor_pdhg(p->A, p->b, NULL, g, p->x, o, report);
}

static larmor_status by_fista(problem *p, larmor_prox *g, const larmor_solve_opts *o, larmor_report *report)
{
    return larmor_fista(p->A, p->b, g, p->x, o, report);
}

static const solver solvers[] = {by_cg, by_preconditioned_cg, by_lsmr, by_weighted_lsmr, by_admm, by_pdhg, by_fista};
enum { SOLVERS = sizeof solvers / sizeof *solvers };

/* Columns that differ by a factor of 30, so that no solver ends early. */
static problem slow_problem(void)
{
    problem p = random_problem(ROWS, COLUMNS);
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 0; i < ROWS; i++) p.values[i + ROWS * j] *= pow(30, -j / (double)COLUMNS);
    return p;
}

/* x is zeros before, and the caller's to free after. */
static larmor_status solve(int which, const larmor_solve_opts *given, cplx **x, larmor_report *report)
{
    OWNED(problem) p = slow_problem();
    p.A = matrix_op(&p.m);
    larmor_solve_opts o = *given;
    o.max_iter = ITERS;
    o.tol = -1;
    o.lambda = 1e-3;
    OWN(larmor_prox, *g, larmor_prox_l1(dev, 0.3, LARMOR_C128, LARMOR_SHAPE(COLUMNS), &g));
    const larmor_status st = solvers[which](&p, g, &o, report);
    *x = values_of(p.x);
    return st;
}

/* ---- laws ---- */

TEST(a_run_that_is_stopped_anywhere_and_resumed_ends_as_one_that_was_not)
{
    for (int which = 0; which < SOLVERS; which++) {
        cplx *got;
        larmor_report whole, part;
        OWN_MEMORY(cplx, *expected, solve(which, &(larmor_solve_opts){0}, &expected, &whole));
        assert_true(whole.iters > 8);
        for (int at = 1; at <= whole.iters; at++) {
            kept k = {.stop_at = at};
            assert_int_equal(solve(which, &(larmor_solve_opts){.monitor = keep, .user = &k}, &got, &part),
                             LARMOR_STOPPED);
            free(got);
            assert_ok(solve(which, &(larmor_solve_opts){.resume = go_on, .user = &k}, &got, &part));
            assert_int_equal(part.iters, whole.iters);
            assert_int_equal(part.end, whole.end);
            assert_at_most(difference(got, expected, COLUMNS), 0);
            assert_true(part.objective == whole.objective && part.residual == whole.residual);
            free(got);
            forget(&k);
        }
    }
}

TEST(without_a_state_the_run_begins_at_x)
{
    for (int which = 0; which < SOLVERS; which++) {
        larmor_report report;
        OWN_MEMORY(cplx, *expected, solve(which, &(larmor_solve_opts){0}, &expected, &report));
        OWN_MEMORY(cplx, *got, solve(which, &(larmor_solve_opts){.resume = do_not}, &got, &report));
        assert_at_most(difference(got, expected, COLUMNS), 0);
    }
}

TEST(a_state_that_cannot_be_had_is_an_error)
{
    for (int which = 0; which < SOLVERS; which++) {
        HEAP cplx *got;
        larmor_report report;
        assert_refused(solve(which, &(larmor_solve_opts){.resume = fail_to}, &got, &report), LARMOR_ERR_FORMAT,
                       "the state is damaged");
    }
}

/* ---- penalties, with an extended variable in tgv ---- */

enum { SIDE = 16, FRAMES = 3 };

static larmor_status penalised(const char *name, larmor_solve_opts o, cplx **x, larmor_report *report)
{
    larmor_penalties listed;
    assert_ok(larmor_regulariser_read(name, &listed));
    const int series = (listed.takes & LARMOR_NEEDS_SERIES) != 0;
    const larmor_shape shape = series ? LARMOR_SHAPE(SIDE, SIDE, FRAMES) : LARMOR_SHAPE(SIDE, SIDE);
    OWNED(larmor_array) *d = drawn(LARMOR_C128, shape, 3), *b = drawn(LARMOR_C128, shape, 4),
                        *image = zeros(LARMOR_C128, shape);
    o.max_iter = ITERS;
    o.tol = -1;
    OWN(larmor_op, *A, larmor_op_diag(d, &A));
    OWN(larmor_regulariser, *r,
        larmor_regulariser_create(dev, name, &(larmor_regulariser_opts){.series = series, .lambda = 0.3}, LARMOR_C128,
                                  shape, &r));
    const larmor_status st = larmor_regularised(A, b, r, image, &o, report);
    *x = values_of(image);
    return st;
}

TEST(so_does_a_run_with_any_penalty)
{
    larmor_regulariser_info info;
    for (int i = 0; (info = larmor_regulariser_entry(i)).name; i++) {
        const int count = SIDE * SIDE * (info.takes & LARMOR_NEEDS_SERIES ? FRAMES : 1);
        cplx *got;
        larmor_report whole, part;
        OWN_MEMORY(cplx, *expected, penalised(info.name, (larmor_solve_opts){0}, &expected, &whole));
        for (int at = 1; at < whole.iters; at += 5) {
            kept k = {.stop_at = at};
            assert_int_equal(penalised(info.name, (larmor_solve_opts){.monitor = keep, .user = &k}, &got, &part),
                             LARMOR_STOPPED);
            free(got);
            assert_ok(penalised(info.name, (larmor_solve_opts){.resume = go_on, .user = &k}, &got, &part));
            assert_int_equal(part.iters, whole.iters);
            assert_at_most(difference(got, expected, count), strncmp(larmor_device_spec(dev), "cpu", 3) ? 1e-12 : 0);
            free(got);
            forget(&k);
        }
    }
}
