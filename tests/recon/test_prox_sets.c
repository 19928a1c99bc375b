/* recon/prox/sets.c and norms.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/matrix.h"
#include "tests/recon/prox_support.h"

#define SHAPE LARMOR_SHAPE(5, 4, 3)
enum { COUNT = 60 };

static const larmor_dtype both[] = {LARMOR_C64, LARMOR_C128};

static cplx *applied(larmor_prox *p, larmor_dtype dtype, const cplx *x)
{
    OWNED(larmor_array) *from = complex_array(dtype, SHAPE, x), *to = zeros(dtype, SHAPE);
    assert_ok(larmor_prox_apply(p, 0.7, from, to));
    assert_ok(larmor_prox_apply(p, 0.7, from, from)); /* in place it is the same */
    cplx *z = values_of(to);
    HEAP cplx *same = values_of(from);
    for (int i = 0; i < COUNT; i++) assert_true(same[i] == z[i]);
    return z;
}

/* Twice is once, and |P x - P y|^2 <= re <P x - P y, x - y>, which projections onto convex sets fulfil. */
static void expect_projection(larmor_prox *p, larmor_dtype dtype)
{
    HEAP cplx *x = random_values(COUNT, 3), *y = random_values(COUNT, 4);
    HEAP cplx *a = applied(p, dtype, x), *b = applied(p, dtype, y), *again = applied(p, dtype, a);
    assert_at_most(difference(again, a, COUNT), 0);
    double square = 0, product = 0;
    for (int i = 0; i < COUNT; i++) {
        square += pow(cabs(a[i] - b[i]), 2);
        product += creal(conj(a[i] - b[i]) * (x[i] - y[i]));
    }
    assert_true(square > 0);
    assert_at_most(square, product * (1 + 1e-5));
}

TEST(a_box_holds_real_parts_between_its_bounds)
{
    const double bounds[][2] = {{-0.3, 0.4}, {0, INFINITY}, {-INFINITY, INFINITY}, {0.2, 0.2}};
    for (int i = 0; i < 8; i++) {
        const double low = bounds[i / 2][0], high = bounds[i / 2][1];
        OWN(larmor_prox, *p, larmor_prox_box(dev, low, high, both[i % 2], SHAPE, &p));
        if (low < high) expect_projection(p, both[i % 2]);
        HEAP cplx *x = random_values(COUNT, 9), *z = applied(p, both[i % 2], x);
        for (int j = 0; j < COUNT; j++) {
            assert_true(cimag(z[j]) == 0);
            assert_at_most(fabs(creal(z[j]) - fmin(fmax(creal(x[j]), low), high)), 1e-7);
        }
        assert_true(value_at(p, both[i % 2], SHAPE, x) == 0);
    }
}

TEST(a_support_holds_what_its_mask_has_and_nothing_else)
{
    const double mask[20] = {1, 0, 0.5, 0, -3};
    OWNED(larmor_array) *m = real_array(LARMOR_SHAPE(5, 4), mask);
    for (int i = 0; i < 2; i++) {
        OWN(larmor_prox, *p, larmor_prox_support(m, both[i], SHAPE, &p));
        expect_projection(p, both[i]);
        HEAP cplx *x = random_values(COUNT, 9), *z = applied(p, both[i], x);
        for (int j = 0; j < COUNT; j++) assert_at_most(cabs(z[j] - (mask[j % 20] != 0 ? x[j] : 0)), 1e-7);
    }
}

TEST(the_norm_and_its_square_have_the_minimum_that_defines_them)
{
    for (int i = 0; i < 2; i++) {
        OWN(larmor_prox, *norm, larmor_prox_l2(dev, 0.6, both[i], SHAPE, &norm));
        OWN(larmor_prox, *square, larmor_prox_square(dev, 0.6, both[i], SHAPE, &square));
        HEAP cplx *x = random_values(COUNT, 3);
        const double size = sqrt(squares(x, COUNT));
        assert_at_most(fabs(value_at(norm, both[i], SHAPE, x) - 0.6 * size), 1e-6 * size);
        assert_at_most(fabs(value_at(square, both[i], SHAPE, x) - 0.3 * size * size), 1e-6 * size * size);
        free(expect_minimum(norm, both[i], SHAPE, 0.9, 11));
        free(expect_minimum(square, both[i], SHAPE, 0.9, 12));
    }
    OWN(larmor_prox, *strong, larmor_prox_l2(dev, 1e6, LARMOR_C128, SHAPE, &strong));
    HEAP cplx *x = random_values(COUNT, 3), *z = applied(strong, LARMOR_C128, x);
    assert_true(squares(z, COUNT) == 0);
}

TEST(a_function_that_is_moved_has_the_minimum_that_defines_it)
{
    HEAP cplx *centre = random_values(COUNT, 77);
    OWNED(larmor_array) *c = complex_array(LARMOR_C128, SHAPE, centre);
    OWN(larmor_prox, *l1, larmor_prox_l1(dev, 0.5, LARMOR_C128, SHAPE, &l1));
    OWN(larmor_prox, *p, larmor_prox_translate(l1, c, &p));
    free(expect_minimum(p, LARMOR_C128, SHAPE, 0.8, 5));
    assert_true(value_at(p, LARMOR_C128, SHAPE, centre) == 0);
}

TEST(sets_and_norms_that_are_none_are_refused)
{
    larmor_prox *p;
    OWNED(larmor_array) *wide = real_array(LARMOR_SHAPE(2), (double[]){1, 1}),
                        *bad = real_array(LARMOR_SHAPE(5), (double[]){1, NAN, 0, 0, 0});
    assert_refused(larmor_prox_box(dev, 1, 0, LARMOR_C64, SHAPE, &p), LARMOR_ERR_ARG,
                   "box: from 1 to 0, expected bounds in order");
    assert_refused(larmor_prox_box(dev, NAN, 0, LARMOR_C64, SHAPE, &p), LARMOR_ERR_ARG, "box: from nan to 0");
    assert_refused(larmor_prox_support(wide, LARMOR_C64, SHAPE, &p), LARMOR_ERR_SHAPE,
                   "expected the leading dimensions of");
    assert_refused(larmor_prox_support(bad, LARMOR_C64, SHAPE, &p), LARMOR_ERR_NUMERIC,
                   "support: number 1 of the mask is not finite");
    assert_refused(larmor_prox_support(NULL, LARMOR_C64, SHAPE, &p), LARMOR_ERR_ARG, "a device and a complex type");
    assert_refused(larmor_prox_l2(dev, -1, LARMOR_C64, SHAPE, &p), LARMOR_ERR_ARG, "l2: weight is -1");
    OWN(larmor_prox, *l1, larmor_prox_l1(dev, 1, LARMOR_C64, LARMOR_SHAPE(3), &l1));
    OWNED(larmor_array) *c = zeros(LARMOR_C64, LARMOR_SHAPE(4));
    assert_refused(larmor_prox_translate(l1, c, &p), LARMOR_ERR_SHAPE, "translate: centre is");
}
