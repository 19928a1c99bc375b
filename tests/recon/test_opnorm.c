/* recon/solve/opnorm.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

static larmor_op *diagonal(larmor_dtype dtype, const cplx *values, int n)
{
    OWNED(larmor_array) *d = complex_array(dtype, LARMOR_SHAPE(n), values);
    return MADE(larmor_op, larmor_op_diag(d, &made));
}

TEST(it_is_the_largest_eigenvalue_of_the_normal_map)
{
    const cplx d[] = {1, -2 * I, 3 + 4 * I, 0.5, 2};
    const larmor_dtype dtype[] = {LARMOR_C64, LARMOR_C128};
    for (int i = 0; i < 2; i++) {
        OWNED(larmor_op) *D = diagonal(dtype[i], d, 5);
        double largest;
        assert_ok(larmor_opnorm(D, 0, &largest));
        assert_at_most(fabs(largest - 25), 1e-4);
    }
}

TEST(more_steps_come_closer_from_below)
{
    cplx d[40];
    for (int i = 0; i < 40; i++) d[i] = sqrt(1 + i / 39.);
    OWNED(larmor_op) *D = diagonal(LARMOR_C128, d, 40);
    double before = 0, largest;
    for (int iters = 1; iters <= 1024; iters *= 4) {
        assert_ok(larmor_opnorm(D, iters, &largest));
        assert_true(largest > before && largest <= 2 * (1 + 1e-14));
        before = largest;
    }
    assert_at_most(2 - largest, 1e-6);
}

TEST(two_runs_agree_to_the_last_bit)
{
    HEAP cplx *d = random_values(33, 7);
    OWNED(larmor_op) *D = diagonal(LARMOR_C64, d, 33);
    double first, second;
    assert_ok(larmor_opnorm(D, 9, &first));
    assert_ok(larmor_opnorm(D, 9, &second));
    assert_true(first == second);
}

TEST(the_zero_operator_has_norm_zero)
{
    const cplx d[3] = {0};
    OWNED(larmor_op) *D = diagonal(LARMOR_C64, d, 3);
    double largest = 1;
    assert_ok(larmor_opnorm(D, 0, &largest));
    assert_true(largest == 0);
}

TEST(operators_that_are_not_finite_are_refused)
{
    const cplx d[3] = {1, NAN, 2};
    OWNED(larmor_op) *D = diagonal(LARMOR_C64, d, 3);
    double largest = 1;
    assert_refused(larmor_opnorm(D, 0, &largest), LARMOR_ERR_NUMERIC, "opnorm: |A^H A x| is nan");
    assert_true(largest == 0);
    assert_refused(larmor_opnorm(D, -1, &largest), LARMOR_ERR_ARG, "opnorm: -1 iterations");
}

static int always(void *user LMR_UNUSED)
{
    return 1;
}

TEST(it_ends_when_the_caller_asks_to_stop)
{
    const cplx d[2] = {1, 2};
    OWNED(larmor_op) *D = diagonal(LARMOR_C64, d, 2);
    double largest = 1;
    larmor_stop_when(always, NULL);
    const larmor_status st = larmor_opnorm(D, 0, &largest);
    larmor_stop_when(NULL, NULL);
    assert_int_equal(st, LARMOR_STOPPED);
    assert_true(largest == 0);
}
