/* recon/solve/fista.c, on dense matrices. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

#define NAME "fista"
#define SOLVE larmor_fista
#define NORMALS 1 /* per iteration at most */
#include "tests/recon/proximal.h"

/* Of a problem whose columns are of very different length, in a box that its solution leaves. */
static problem box_problem(larmor_prox **box)
{
    problem p = random_problem(40, 30);
    for (int j = 0; j < 30; j++)
        for (int i = 0; i < 40; i++) p.values[i + 40 * j] *= pow(10, 1.5 * j / 30 - 1);
    assert_ok(larmor_prox_box(dev, -0.2, 0.3, LARMOR_C128, LARMOR_SHAPE(30), box));
    return p;
}

static double value_in_box(larmor_prox *box, problem *p)
{
    assert_ok(larmor_prox_apply(box, 1, p->x, p->x)); /* others' iterates are near it */
    HEAP cplx *x = values_of(p->x);
    return misfit(&p->m, p->rhs, x) / 2;
}

TEST(in_a_box_it_is_nearer_to_the_optimum_than_admm_and_pdhg_after_as_many_normal_maps)
{
    enum { MAPS = 200 };
    double value[4];
    for (int solver = 0; solver < 4; solver++) {
        OWNED(larmor_prox) *box = NULL;
        OWNED(problem) p = box_problem(&box);
        p.A = normal_matrix_op(&p.m);
        const larmor_solve_opts opts = {.max_iter = solver == 1 ? MAPS / 2 : MAPS, .tol = -1, .inner = 2};
        const larmor_solve_opts optimum = {.max_iter = 200000, .tol = 1e-13};
        if (solver == 0) assert_ok(larmor_fista(p.A, p.b, box, p.x, &opts, NULL));
        if (solver == 1) assert_ok(larmor_admm(p.A, p.b, NULL, box, p.x, &opts, NULL));
        if (solver == 2) assert_ok(larmor_pdhg(p.A, p.b, NULL, box, p.x, &opts, NULL));
        if (solver == 3) assert_ok(larmor_fista(p.A, p.b, box, p.x, &optimum, NULL));
        value[solver] = value_in_box(box, &p);
    }
    const double left = value[0] - value[3];
    assert_true(left >= -1e-9 * value[3]);
    if (!(left < value[1] - value[3] && left < value[2] - value[3]))
        fail_msg("fista %g, admm %g, pdhg %g; least %g", value[0], value[1], value[2], value[3]);
}

/* At the optimum no coordinate can move into the box and lower the misfit. */
TEST(in_a_box_the_solution_meets_the_conditions_of_optimality)
{
    OWNED(larmor_prox) *box = NULL;
    OWNED(problem) p = box_problem(&box);
    p.A = normal_matrix_op(&p.m);
    const larmor_solve_opts opts = {.max_iter = 100000, .tol = 1e-13};
    assert_ok(larmor_fista(p.A, p.b, box, p.x, &opts, NULL));
    HEAP cplx *x = values_of(p.x);
    int at_bounds = 0;
    for (int j = 0; j < 30; j++) {
        cplx slope = 0;
        double scale = 0;
        for (int i = 0; i < 40; i++) {
            cplx r = -p.rhs[i];
            for (int k = 0; k < 30; k++) r += p.values[i + 40 * k] * x[k];
            slope += conj(p.values[i + 40 * j]) * r;
            scale += cabs(p.values[i + 40 * j]) * cabs(r);
        }
        const double v = creal(x[j]), g = creal(slope) / scale;
        assert_true(cimag(x[j]) == 0 && v >= -0.2 && v <= 0.3);
        if (v > -0.2 && v < 0.3) assert_at_most(fabs(g), 1e-5);
        if (v == -0.2) assert_at_most(-1e-5, g);
        if (v == 0.3) assert_at_most(g, 1e-5);
        at_bounds += v == -0.2 || v == 0.3;
    }
    assert_true(at_bounds > 3 && at_bounds < 27);
}

TEST(without_momentum_the_optimum_is_the_same_and_farther_away)
{
    double value[4]; /* with and without momentum, after 100 steps and at the end */
    for (int i = 0; i < 4; i++) {
        OWNED(larmor_prox) *box = NULL;
        OWNED(problem) p = box_problem(&box);
        p.A = normal_matrix_op(&p.m);
        const larmor_solve_opts opts = {
            .max_iter = i < 2 ? 100 : 200000, .tol = i < 2 ? -1 : 1e-13, .no_momentum = i % 2};
        assert_ok(larmor_fista(p.A, p.b, box, p.x, &opts, NULL));
        value[i] = value_in_box(box, &p);
    }
    if (!(value[0] < value[1] && value[3] < value[1] && fabs(value[3] - value[2]) < 1e-6 * value[2]))
        fail_msg("after 100 steps %.12g and %.12g, at the end %.12g and %.12g", value[0], value[1], value[2],
                 value[3]);
}

TEST(a_preconditioner_is_refused)
{
    OWNED(proximal) t;
    begin(&t, 0);
    const larmor_solve_opts opts = {.precondition = t.p.A};
    assert_refused(larmor_fista(t.p.A, t.p.b, t.g, t.p.x, &opts, NULL), LARMOR_ERR_ARG,
                   "fista: a preconditioner changes the proximal map; larmor_pdhg takes one");
    assert_refused(larmor_fista(t.p.A, t.p.b, NULL, t.p.x, NULL, NULL), LARMOR_ERR_ARG,
                   "fista: a proximal map is needed");
}
