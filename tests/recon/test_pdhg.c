/* recon/solve/pdhg.c, on dense matrices. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/matrix.h"

/* How far -(A^H (A x - b) + lambda x) is from the subgradients of weight |x|_1, relative to weight. */
static double subgradient_error(const matrix *m, const cplx *b, const cplx *x, double lambda, double weight)
{
    double worst = 0;
    cplx *r = calloc((size_t)m->rows, sizeof *r);
    for (int i = 0; i < m->rows; i++) {
        r[i] = -b[i];
        for (int j = 0; j < m->columns; j++) r[i] += m->a[i + m->rows * j] * x[j];
    }
    for (int j = 0; j < m->columns; j++) {
        cplx g = lambda * x[j];
        for (int i = 0; i < m->rows; i++) g += conj(m->a[i + m->rows * j]) * r[i];
        const double size = cabs(x[j]);
        const double error = size > 0 ? cabs(g + weight * x[j] / size) : fmax(0, cabs(g) - weight);
        worst = fmax(worst, error / weight);
    }
    free(r);
    return worst;
}

static void the_solution_meets_the_conditions_of_optimality(void **state)
{
    (void)state;
    for (int single = 0; single < 2; single++) {
        problem p = random_problem(20, 12);
        p.m.single = single;
        p.A = matrix_op(&p.m);
        larmor_array *b, *x;
        const larmor_dtype dtype = larmor_op_dtype(p.A);
        b = complex_array(dtype, LARMOR_SHAPE(20), p.rhs), x = zeros(dtype, LARMOR_SHAPE(12));
        lasso l = {.weight = 3};
        larmor_prox *g = lasso_prox(&l, dtype, 12);
        larmor_report report;
        const larmor_solve_opts opts = {.max_iter = 5000, .tol = -1, .lambda = 0.3};
        assert_ok(larmor_pdhg(p.A, b, NULL, g, x, &opts, &report));
        cplx *got = values_of(x);
        int kept = 0;
        for (int i = 0; i < 12; i++) {
            if (cabs(got[i]) < 1e-5) got[i] = 0; /* K x has the zeros only in the limit */
            kept += got[i] != 0;
        }
        assert_true(kept > 0 && kept < 12);
        assert_at_most(subgradient_error(&p.m, p.rhs, got, 0.3, 3), single ? 1e-4 : 1e-6);
        free(got);
        larmor_prox_free(g), larmor_array_free(b), larmor_array_free(x);
        free_problem(&p);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_solution_meets_the_conditions_of_optimality),
};

int main(void)
{
    RUN_TESTS(tests);
}
