/* recon/prox/constraint.c, and sums of penalties with and without a set against another method.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/regulariser_support.h"

enum { N = 10, COUNT = N * N, KEPT = 60, FRAMES = 3, MOST = 4 };
#define IMAGE LARMOR_SHAPE(N, N)
#define SERIES LARMOR_SHAPE(N, N, FRAMES)
#define WEIGHT 0.05

/* ---- names ---- */

TEST(a_constraint_is_what_its_names_leave)
{
    larmor_constraint c;
    assert_ok(larmor_constraint_read("nonnegative", &c));
    assert_true(c.real && c.low == 0 && isinf(c.high) && !c.support);
    assert_ok(larmor_constraint_read("real", &c));
    assert_true(c.real && isinf(c.low) && isinf(c.high));
    assert_ok(larmor_constraint_read("box:-1,2.5+nonnegative+support:a.npy", &c));
    assert_true(c.real && c.low == 0 && c.high == 2.5 && !strncmp(c.support, "a.npy", (size_t)c.support_length));
    assert_ok(larmor_constraint_read("support", &c));
    assert_true(!c.real && c.support && !c.support_length);
}

TEST(a_constraint_that_is_none_is_refused_in_a_line)
{
    static const struct {
        const char *text, *message;
    } cases[] = {{"positive", "constraint: got \"positive\", expected nonnegative, real, box:LOW,HIGH or support"},
                 {"", "constraint: got \"\", expected nonnegative"},
                 {"box:1", "constraint: got box:1, expected two numbers in order"},
                 {"box:2,1", "constraint: got box:2,1, expected two numbers in order"},
                 {"nonnegative+box:-2,-1", "constraint: \"nonnegative+box:-2,-1\" leaves no number, from 0 to -1"}};
    larmor_constraint c;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(larmor_constraint_read(cases[i].text, &c), LARMOR_ERR_ARG, cases[i].message);
}

static larmor_prox *set_of(const char *text, const larmor_array *mask, larmor_shape shape)
{
    larmor_constraint c;
    assert_ok(larmor_constraint_read(text, &c));
    return MADE(larmor_prox, larmor_prox_constraint(dev, &c, mask, LARMOR_C128, shape, &made));
}

TEST(the_projection_on_box_and_support_is_both)
{
    double inside[COUNT];
    for (int i = 0; i < COUNT; i++) inside[i] = i % 3 > 0;
    OWNED(larmor_array) *mask = real_array(IMAGE, inside);
    HEAP cplx *values = random_values(COUNT, 3);
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, IMAGE, values);
    OWNED(larmor_prox) *p = set_of("box:-0.5,0.25+support", mask, IMAGE);
    assert_ok(larmor_prox_apply(p, 1, x, x));
    HEAP cplx *found = values_of(x);
    for (int i = 0; i < COUNT; i++)
        assert_true(found[i] == (inside[i] > 0 ? fmin(0.25, fmax(-0.5, creal(values[i]))) : 0));
}

/* ---- a reference: Condat, J. Optim. Theory Appl. 158, 460 (2013), with a dual variable for each penalty ---- */

typedef struct row {
    larmor_op *K;
    larmor_prox *g;
    double weight; /* 0: of a set */
    larmor_array *dual, *work;
} row;

typedef struct reference {
    larmor_op *A;
    larmor_array *rhs, *b, *x, *before, *g, *one;
    row row[MOST + 1];
    int rows;
} reference;

/* K after E, of which each may be NULL. */
static larmor_op *row_op(larmor_op *K, larmor_op *E, int has_own, larmor_shape shape)
{
    if (has_own || !E) return K ? larmor_op_ref(K) : identity(LARMOR_C128, shape);
    if (!K) return larmor_op_ref(E);
    return MADE(larmor_op, larmor_op_chain(K, E, &made));
}

static void add_row(reference *r, larmor_op *K, larmor_prox *g, double weight)
{
    const larmor_shape out = larmor_op_out_shape(K);
    r->row[r->rows++] = (row){K, g, weight, zeros(LARMOR_C128, out), zeros(LARMOR_C128, out)};
}

/* x moves against A^H (A x - b) + sum K^H p, each p by K of the extrapolated x, within the dual of its penalty. */
static void step(reference *r, double tau, double sigma)
{
    assert_ok(larmor_copy(r->x, r->before));
    assert_ok(larmor_op_normal(r->A, r->x, r->g));
    assert_ok(larmor_axpby(-1, r->rhs, 1, r->g));
    for (int i = 0; i < r->rows; i++) {
        assert_ok(larmor_op_adjoint(r->row[i].K, r->row[i].dual, r->one));
        assert_ok(larmor_axpby(1, r->one, 1, r->g));
    }
    assert_ok(larmor_axpby(-tau, r->g, 1, r->x));
    assert_ok(larmor_axpby(2, r->x, -1, r->before));
    for (int i = 0; i < r->rows; i++) {
        row *k = &r->row[i];
        assert_ok(larmor_op_forward(k->K, r->before, k->work));
        assert_ok(larmor_axpby(sigma, k->work, 1, k->dual)); /* p + sigma K x, less sigma times its proximal map */
        assert_ok(larmor_axpby(1 / sigma, k->dual, 0, k->work));
        assert_ok(larmor_prox_apply(k->g, (k->weight > 0 ? k->weight : 1) / sigma, k->work, k->work));
        assert_ok(larmor_axpby(-sigma, k->work, 1, k->dual));
    }
}

static double objective_of(reference *r)
{
    OWNED(larmor_array) *y = zeros(LARMOR_C128, larmor_op_out_shape(r->A));
    double norm, value, all;
    assert_ok(larmor_op_forward(r->A, r->x, y));
    assert_ok(larmor_axpby(-1, r->b, 1, y));
    assert_ok(larmor_nrm2(y, &norm));
    all = norm * norm / 2;
    for (int i = 0; i < r->rows; i++) {
        assert_ok(larmor_op_forward(r->row[i].K, r->x, r->row[i].work));
        assert_ok(larmor_prox_value(r->row[i].g, r->row[i].work, &value));
        all += r->row[i].weight * value;
    }
    return all;
}

/* ---- the problem ---- */

/* Discs with a phase, some negative, from a part of their frequencies. */
static problem problem_of(larmor_shape shape)
{
    const int count = (int)larmor_shape_count(shape);
    HEAP NEW(double, kept, count);
    HEAP NEW(cplx, truth, count);
    for (int i = 0; i < count; i++) {
        kept[i] = i * 37 % COUNT < KEPT;
        truth[i] = hypot(i % N - 4, i / N % N - 5) < 3 + 0.5 * (i / COUNT) ? 1 + 0.2 * I : -0.2;
    }
    return problem_from(shape, truth, kept);
}

/* The least value by the reference; parts: of the sum. */
static double least_of(const problem *p, const char *const *parts, int count, larmor_prox *set)
{
    enum { STEPS = 4000 };
    const double sigma = 0.3;
    larmor_regulariser *one[MOST] = {NULL};
    larmor_op *E = NULL;
    reference r = {.rows = 0};
    double bound = 0, norm;
    for (int i = 0; i < count; i++) {
        const larmor_regulariser_opts series = {.series = p->shape.ndim == 3};
        assert_ok(larmor_regulariser_create(dev, parts[i], &series, LARMOR_C128, p->shape, &one[i]));
        if (larmor_regulariser_penalty(one[i]).E) E = larmor_regulariser_penalty(one[i]).E;
    }
    for (int i = 0; i < count; i++) {
        const larmor_penalty g = larmor_regulariser_penalty(one[i]);
        add_row(&r, row_op(g.K, E, g.E != NULL, p->shape), g.g, WEIGHT);
    }
    if (set) add_row(&r, row_op(NULL, E, 0, p->shape), set, 0);
    if (E)
        assert_ok(larmor_op_chain(p->A, E, &r.A));
    else
        r.A = larmor_op_ref(p->A);
    const larmor_shape in = larmor_op_in_shape(r.A);
    larmor_array **arrays[] = {&r.rhs, &r.x, &r.before, &r.g, &r.one};
    for (int i = 0; i < 5; i++) *arrays[i] = zeros(LARMOR_C128, in);
    r.b = p->b;
    assert_ok(larmor_op_adjoint(r.A, p->b, r.rhs));
    for (int i = 0; i < r.rows; i++) {
        assert_ok(larmor_opnorm(r.row[i].K, 40, &norm));
        bound += 1.05 * norm;
    }
    for (int i = 0; i < STEPS; i++) step(&r, 1 / (0.55 + sigma * bound), sigma);
    const double least = objective_of(&r);
    for (int i = 0; i < r.rows; i++) LMR_FREE(r.row[i].K, r.row[i].dual, r.row[i].work);
    for (int i = 0; i < 5; i++) larmor_array_free(*arrays[i]);
    larmor_op_free(r.A);
    for (int i = 0; i < count; i++) larmor_regulariser_free(one[i]);
    return least;
}

/* What the library finds, whose image lies in the set. */
static double found_by_larmor(const problem *p, const char *name, larmor_prox *set)
{
    const larmor_regulariser_opts opts = {.set = set, .series = p->shape.ndim == 3};
    const larmor_solve_opts solve = {.max_iter = 3000, .tol = 1e-8};
    larmor_report report;
    OWNED(larmor_regulariser) *r = NULL;
    OWNED(larmor_array) *x = zeros(LARMOR_C128, p->shape);
    assert_ok(larmor_regulariser_create(dev, name, &opts, LARMOR_C128, p->shape, &r));
    assert_ok(larmor_regulariser_set_weight(r, WEIGHT));
    assert_ok(larmor_regularised(p->A, p->b, r, x, &solve, &report));
    HEAP cplx *values = values_of(x);
    for (int64_t i = 0; set && i < larmor_shape_count(p->shape); i++)
        assert_true(creal(values[i]) >= 0 && cimag(values[i]) == 0);
    return report.objective;
}

static void compare(const problem *p, const char *const *parts, int count)
{
    char name[96] = "";
    for (int i = 0; i < count; i++)
        snprintf(name + strlen(name), sizeof name - strlen(name), "%s%s", i ? "+" : "", parts[i]);
    for (int held = 0; held < 2; held++) {
        OWNED(larmor_prox) *set = held ? set_of("nonnegative", NULL, p->shape) : NULL;
        const double least = least_of(p, parts, count, set), found = found_by_larmor(p, name, set);
        if (!(fabs(found / least - 1) < 1e-4))
            fail_msg("%s%s: %.9g, by the reference %.9g", name, held ? ", nonnegative" : "", found, least);
    }
}

TEST(every_pair_of_penalties_has_its_least_value_with_a_set_and_without)
{
    static const char *const all[] = {"tv:xy", "wavelet", "l1", "fft", "tgv"};
    OWNED(problem) p = problem_of(IMAGE);
    for (int i = 1; i < 5; i++)
        for (int j = of_all(i - 1, 0); j < i; j++) compare(&p, (const char *const[]){all[i], all[j]}, 2);
}

TEST(so_have_three_of_a_series)
{
    OWNED(problem) p = problem_of(SERIES);
    static const char *const names[][3] = {
        {"tv:xy", "wavelet:xy", "tv:t"}, {"tv:xy", "l1", "tv:t"}, {"wavelet:xy", "l1", "tv:t"}};
    for (int i = 0; i < of_all(1, 3); i++) compare(&p, names[i], 3);
}

TEST(a_set_holds_without_any_weight_and_in_a_single_penalty)
{
    OWNED(problem) p = problem_of(IMAGE);
    OWNED(larmor_prox) *set = set_of("nonnegative", NULL, IMAGE);
    const larmor_regulariser_opts opts = {.set = set, .lambda = -1};
    OWNED(larmor_regulariser) *r = NULL;
    OWNED(larmor_array) *x = zeros(LARMOR_C128, IMAGE), *y = zeros(LARMOR_C128, IMAGE);
    const larmor_solve_opts solve = {.max_iter = 4000, .tol = 1e-10};
    assert_ok(larmor_regulariser_create(dev, "tv", &opts, LARMOR_C128, IMAGE, &r));
    assert_ok(larmor_regularised(p.A, p.b, r, x, &solve, NULL));
    assert_ok(larmor_fista(p.A, p.b, set, y, &solve, NULL));
    /* many images have the least misfit: their samples are alike */
    OWNED(larmor_array) *Ax = zeros(LARMOR_C128, IMAGE), *Ay = zeros(LARMOR_C128, IMAGE);
    assert_ok(larmor_op_forward(p.A, x, Ax));
    assert_ok(larmor_op_forward(p.A, y, Ay));
    HEAP cplx *a = values_of(Ax), *b = values_of(Ay);
    assert_at_most(difference(a, b, COUNT), 1e-3);
}
