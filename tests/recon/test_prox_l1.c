/* recon/prox/l1.c and stack.c. SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>

#include "tests/recon/prox_support.h"

#define SHAPE LARMOR_SHAPE(5, 4, 3)

static const larmor_dtype both[] = {LARMOR_C64, LARMOR_C128};

TEST(l1_is_the_sum_of_magnitudes)
{
    for (int i = 0; i < 2; i++) {
        OWN(larmor_prox, *p, larmor_prox_l1(dev, 0.7, both[i], SHAPE, &p));
        HEAP cplx *x = random_values(60, 3);
        double sum = 0;
        for (int j = 0; j < 60; j++) sum += 0.7 * cabs(x[j]);
        assert_at_most(fabs(value_at(p, both[i], SHAPE, x) - sum), 1e-6 * sum);
        free(expect_minimum(p, both[i], SHAPE, 0.9, 11));
    }
}

TEST(l1_shrinks_every_number_by_weight_times_step)
{
    OWN(larmor_prox, *p, larmor_prox_l1(dev, 0.5, LARMOR_C128, LARMOR_SHAPE(3), &p));
    const cplx x[3] = {3 + 4 * I, 0.1, -2 * I};
    OWNED(larmor_array) *a = complex_array(LARMOR_C128, LARMOR_SHAPE(3), x);
    assert_ok(larmor_prox_apply(p, 2, a, a));
    HEAP cplx *z = values_of(a);
    const cplx expected[3] = {2.4 + 3.2 * I, 0, -1 * I};
    assert_at_most(difference(z, expected, 3), 1e-15);
}

TEST(groups_are_those_of_the_last_dimension)
{
    for (int i = 0; i < 2; i++) {
        OWN(larmor_prox, *p, larmor_prox_group_l1(dev, 0.7, both[i], SHAPE, &p));
        HEAP cplx *x = random_values(60, 3);
        double sum = 0;
        for (int j = 0; j < 20; j++)
            sum += 0.7 * sqrt(pow(cabs(x[j]), 2) + pow(cabs(x[j + 20]), 2) + pow(cabs(x[j + 40]), 2));
        assert_at_most(fabs(value_at(p, both[i], SHAPE, x) - sum), 1e-6 * sum);
        free(expect_minimum(p, both[i], SHAPE, 0.9, 13));
    }
}

TEST(a_stack_treats_every_range_by_its_own_part)
{
    larmor_prox *part[2], *stack;
    assert_ok(larmor_prox_group_l1(dev, 0.5, LARMOR_C128, LARMOR_SHAPE(5, 4, 2), &part[0]));
    assert_ok(larmor_prox_l1(dev, 2, LARMOR_C128, LARMOR_SHAPE(5, 4, 1), &part[1]));
    assert_ok(larmor_prox_stack(part, 2, &stack));
    assert_true(larmor_shape_equal(larmor_prox_shape(stack), SHAPE));
    HEAP cplx *x = random_values(60, 31), *z = expect_minimum(stack, LARMOR_C128, SHAPE, 0.3, 31);
    assert_at_most(fabs(value_at(stack, LARMOR_C128, SHAPE, x) -
                        value_at(part[0], LARMOR_C128, LARMOR_SHAPE(5, 4, 2), x) -
                        value_at(part[1], LARMOR_C128, LARMOR_SHAPE(5, 4, 1), x + 40)),
                   1e-12);
    for (int i = 40; i < 60; i++) assert_at_most(cabs(z[i] - fmax(0, 1 - 0.6 / cabs(x[i])) * x[i]), 1e-15);
    for (int i = 0; i < 2; i++) larmor_prox_free(part[i]);
    larmor_prox_free(stack);
}

TEST(what_makes_no_sense_is_refused)
{
    OWNED(larmor_prox) *p = (larmor_prox *)1, *q;
    assert_refused(larmor_prox_l1(dev, -1, LARMOR_C64, SHAPE, &p), LARMOR_ERR_ARG,
                   "l1: weight is -1, expected a finite number >= 0");
    assert_null(p);
    assert_refused(larmor_prox_l1(dev, NAN, LARMOR_C64, SHAPE, &p), LARMOR_ERR_ARG, "l1: weight is nan");
    assert_refused(larmor_prox_group_l1(dev, 1, LARMOR_F32, SHAPE, &p), LARMOR_ERR_ARG, "complex type");
    assert_refused(larmor_prox_group_l1(dev, 1, LARMOR_C64, larmor_shape_of(0, NULL), &p), LARMOR_ERR_SHAPE,
                   "expected groups in the last dimension");
    assert_refused(larmor_prox_group_l1(dev, 1, LARMOR_C64, (larmor_shape){INT_MAX, {2, 2}}, &p), LARMOR_ERR_SHAPE,
                   "expected groups in the last dimension");
    assert_ok(larmor_prox_l1(dev, 1, LARMOR_C64, SHAPE, &p));
    assert_ok(larmor_prox_l1(dev, 1, LARMOR_C64, LARMOR_SHAPE(5, 3, 3), &q));
    larmor_prox *stack;
    assert_refused(larmor_prox_stack((larmor_prox *[]){p, q}, 2, &stack), LARMOR_ERR_SHAPE,
                   "stack: part 1 has size 3 in dimension 1, expected 4");
}
