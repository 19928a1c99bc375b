/* recon/prox/conjugate.c, nuclear.c and simplex.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/matrix.h"
#include "tests/recon/prox_support.h"

#define SHAPE LARMOR_SHAPE(5, 4, 3)
enum { COUNT = 60 };

static const larmor_dtype both[] = {LARMOR_C64, LARMOR_C128};

static double rounding(larmor_dtype dtype)
{
    return dtype == LARMOR_C128 ? 1e-12 : 1e-5;
}

static cplx *applied(larmor_prox *p, larmor_dtype dtype, larmor_shape shape, double t, const cplx *x)
{
    OWNED(larmor_array) *from = complex_array(dtype, shape, x), *to = zeros(dtype, shape);
    assert_ok(larmor_prox_apply(p, t, from, to));
    assert_ok(larmor_prox_apply(p, t, from, from)); /* in place it is the same */
    cplx *z = values_of(to);
    HEAP cplx *same = values_of(from);
    for (int64_t i = 0; i < larmor_shape_count(shape); i++) assert_true(same[i] == z[i]);
    return z;
}

TEST(the_conjugate_of_a_square_has_the_minimum_that_defines_it_and_is_the_square_over_the_weight)
{
    for (int i = 0; i < 2; i++) {
        OWN(larmor_prox, *square, larmor_prox_square(dev, 0.4, both[i], SHAPE, &square));
        OWN(larmor_prox, *p, larmor_prox_conjugate(square, &p));
        HEAP cplx *x = random_values(COUNT, 3), *z = applied(p, both[i], SHAPE, 0.7, x);
        for (int j = 0; j < COUNT; j++)
            assert_at_most(cabs(z[j] - x[j] / (1 + 0.7 / 0.4)), rounding(both[i]) * cabs(x[j]));
        const double expected = squares(x, COUNT) / (2 * 0.4);
        assert_at_most(fabs(value_at(p, both[i], SHAPE, x) - expected), 1e-4 * expected);
    }
}

TEST(conjugates_of_norms_are_projections_onto_balls)
{
    for (int i = 0; i < 2; i++) {
        OWN(larmor_prox, *l1, larmor_prox_l1(dev, 0.5, both[i], SHAPE, &l1));
        OWN(larmor_prox, *l2, larmor_prox_l2(dev, 0.5, both[i], SHAPE, &l2));
        OWN(larmor_prox, *largest, larmor_prox_conjugate(l1, &largest));
        OWN(larmor_prox, *ball, larmor_prox_conjugate(l2, &ball));
        HEAP cplx *x = random_values(COUNT, 3), *a = applied(largest, both[i], SHAPE, 0.3, x),
                  *b = applied(ball, both[i], SHAPE, 0.3, x);
        const double norm = sqrt(squares(x, COUNT));
        for (int j = 0; j < COUNT; j++) {
            const double magnitude = cabs(x[j]);
            assert_at_most(cabs(a[j] - x[j] * fmin(1, 0.5 / magnitude)), rounding(both[i]));
            assert_at_most(cabs(b[j] - x[j] * 0.5 / norm), rounding(both[i]));
        }
        assert_at_most(fabs(value_at(largest, both[i], SHAPE, a)), 10 * rounding(both[i]));
        assert_at_most(fabs(value_at(largest, both[i], SHAPE, x)), 10 * rounding(both[i])); /* outside */
    }
}

TEST(the_conjugate_of_the_conjugate_is_the_function)
{
    OWN(larmor_prox, *g, larmor_prox_group_l1(dev, 0.5, LARMOR_C128, SHAPE, &g));
    OWN(larmor_prox, *once, larmor_prox_conjugate(g, &once));
    OWN(larmor_prox, *twice, larmor_prox_conjugate(once, &twice));
    HEAP cplx *x = random_values(COUNT, 8), *a = applied(g, LARMOR_C128, SHAPE, 0.9, x),
              *b = applied(twice, LARMOR_C128, SHAPE, 0.9, x);
    assert_at_most(difference(a, b, COUNT), 1e-13);
    free(expect_minimum(g, LARMOR_C128, SHAPE, 0.9, 8));
}

TEST(the_nuclear_norm_of_each_matrix_has_the_minimum_that_defines_it)
{
    for (int i = 0; i < 2; i++) {
        OWN(larmor_prox, *one, larmor_prox_nuclear(dev, 0.3, both[i], LARMOR_SHAPE(6, 4), &one));
        OWN(larmor_prox, *stack, larmor_prox_nuclear(dev, 0.3, both[i], SHAPE, &stack));
        free(expect_minimum(one, both[i], LARMOR_SHAPE(6, 4), 0.5, 11));
        free(expect_minimum(stack, both[i], SHAPE, 0.5, 12));
    }
    OWN(larmor_prox, *p, larmor_prox_nuclear(dev, 2, LARMOR_C128, LARMOR_SHAPE(2, 2), &p));
    assert_at_most(fabs(value_at(p, LARMOR_C128, LARMOR_SHAPE(2, 2), (cplx[]){3, 0, 0, -4 * I}) - 14), 1e-12);
}

/* Of the set the nearest: <x - z, y - z> <= 0 for all y in it, those with one number that is not 0 among them. */
TEST(the_simplex_holds_real_numbers_of_its_sum_and_the_nearest_of_them)
{
    for (int i = 0; i < 8; i++) {
        const double sum = pow(10, i / 2 - 1);
        const larmor_dtype dtype = both[i % 2];
        OWN(larmor_prox, *p, larmor_prox_simplex(dev, sum, dtype, SHAPE, &p));
        HEAP cplx *x = random_values(COUNT, 20 + (uint64_t)i), *z = applied(p, dtype, SHAPE, 0.7, x);
        double total = 0, along = 0, most = -INFINITY;
        for (int j = 0; j < COUNT; j++) {
            assert_true(cimag(z[j]) == 0 && creal(z[j]) >= 0);
            total += creal(z[j]);
            along += creal(x[j] - z[j]) * creal(z[j]);
            most = fmax(most, sum * creal(x[j] - z[j]));
        }
        assert_at_most(fabs(total - sum), (dtype == LARMOR_C128 ? 1e-13 : 1e-5) * fmax(sum, 1));
        assert_at_most(most - along, (dtype == LARMOR_C128 ? 1e-11 : 1e-4) * sum * fmax(sum, 1));
        HEAP cplx *again = applied(p, dtype, SHAPE, 0.7, z);
        assert_at_most(difference(again, z, COUNT), dtype == LARMOR_C128 ? 1e-13 : 1e-5);
    }
}

TEST(maps_that_are_none_are_refused)
{
    larmor_prox *p;
    assert_refused(larmor_prox_simplex(dev, 0, LARMOR_C64, SHAPE, &p), LARMOR_ERR_ARG,
                   "simplex: the sum is 0, expected a finite number > 0");
    assert_refused(larmor_prox_nuclear(dev, 1, LARMOR_C64, LARMOR_SHAPE(4), &p), LARMOR_ERR_SHAPE,
                   ", expected [m, n] or [m, n, matrices]");
    assert_refused(larmor_prox_nuclear(dev, -1, LARMOR_C64, SHAPE, &p), LARMOR_ERR_ARG, "nuclear: weight is -1");
    assert_refused(larmor_prox_conjugate(NULL, &p), LARMOR_ERR_ARG, "g");
}
