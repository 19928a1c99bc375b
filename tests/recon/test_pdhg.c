/* recon/solve/pdhg.c, on dense matrices. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

static larmor_status with_identity(larmor_op *A, const larmor_array *b, larmor_prox *g, larmor_array *x,
                                   const larmor_solve_opts *opts, larmor_report *report)
{
    return larmor_pdhg(A, b, NULL, g, x, opts, report);
}

#define NAME "pdhg"
#define SOLVE with_identity
#define NORMALS 1 /* per iteration at most */
#include "tests/recon/proximal.h"

TEST(a_preconditioner_saves_iterations_and_keeps_the_solution)
{
    int iters[2];
    cplx *got[2];
    for (int with = 0; with < 2; with++) {
        OWNED(proximal) t;
        begin(&t, 0);
        cplx inverse[COLUMNS];
        for (int j = 0; j < COLUMNS; j++) { /* Jacobi's, of columns of very different length */
            for (int i = 0; i < ROWS; i++) t.p.values[i + ROWS * j] *= pow(10, 1.5 * j / COLUMNS - 1);
            inverse[j] = 1 / (squares(t.p.values + ROWS * j, ROWS));
        }
        t.l.weight = 0.05;
        OWNED(larmor_array) *d = complex_array(LARMOR_C128, LARMOR_SHAPE(COLUMNS), inverse);
        OWN(larmor_op, *M, larmor_op_diag(d, &M));
        larmor_report report;
        const larmor_solve_opts opts = {.max_iter = 20000, .tol = 1e-10, .precondition = with ? M : NULL};
        assert_ok(SOLVE(t.p.A, t.p.b, t.g, t.p.x, &opts, &report));
        iters[with] = report.iters;
        got[with] = values_of(t.p.x);
    }
    assert_true(iters[1] < iters[0] / 2);
    assert_at_most(difference(got[1], got[0], COLUMNS), 1e-6);
    LMR_FREE(got[0], got[1]);
}
