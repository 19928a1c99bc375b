/* recon/compare.c: the error of an image against a reference. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { NX = 9, NY = 6, ALL = NX * NY };

static larmor_comparison compared(larmor_array *a, larmor_array *b, const larmor_compare_opts *opts)
{
    larmor_comparison found;
    assert_ok(larmor_compare(a, b, opts, &found));
    return found;
}

TEST(a_factor_is_no_error_and_is_found)
{
    cplx *x = random_values(ALL, 1), y[ALL];
    for (int i = 0; i < ALL; i++) y[i] = (2 - 3 * I) * x[i];
    OWNED(larmor_array) *a = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY), x);
    OWNED(larmor_array) *b = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, 1, NY, 1), y);
    const larmor_comparison d = compared(a, b, NULL);
    assert_at_most(d.nrmse, 1e-15);
    assert_at_most(d.largest, 1e-15);
    assert_at_most(fabs(d.factor[0] - 2) + fabs(d.factor[1] + 3), 1e-14);
    free(x);
}

/* |s a - b| is least where s a - b is orthogonal to a. */
TEST(what_is_orthogonal_to_the_image_is_the_error)
{
    cplx x[4] = {1, 1, 0, 0}, y[4] = {1, 1, 3, -4};
    OWNED(larmor_array) *a = complex_array(LARMOR_C64, LARMOR_SHAPE(4), x),
                        *b = complex_array(LARMOR_C64, LARMOR_SHAPE(4), y);
    const larmor_comparison d = compared(a, b, NULL);
    assert_at_most(fabs(d.nrmse - sqrt(25. / 27)), 1e-14);
    assert_at_most(fabs(d.largest - 1), 1e-14);
    assert_at_most(fabs(d.factor[0] - 1), 1e-14);
}

TEST(magnitudes_are_compared_where_asked_for_or_where_one_image_has_no_phase)
{
    HEAP cplx *x = random_values(ALL, 1), *y = random_values(ALL, 2);
    cplx size[ALL];
    for (int i = 0; i < ALL; i++) {
        size[i] = cabs(x[i]);
        y[i] = 2 * size[i] * y[i] / cabs(y[i]);
    }
    OWNED(larmor_array) *a = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY), x);
    OWNED(larmor_array) *b = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY), y);
    OWNED(larmor_array) *m = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY), size);
    assert_true(compared(a, b, NULL).nrmse > 0.5);
    assert_int_equal(compared(a, b, NULL).without_phase, 0);
    assert_at_most(compared(a, b, &(larmor_compare_opts){.magnitude = 1}).nrmse, 1e-15);
    assert_int_equal(compared(a, m, NULL).without_phase, 2);
    assert_int_equal(compared(m, a, NULL).without_phase, 1);
    assert_at_most(compared(m, a, NULL).nrmse, 1e-15);
}

TEST(an_image_is_its_transpose_once_two_dimensions_are_swapped)
{
    cplx *x = random_values(2 * ALL, 1), y[2 * ALL];
    for (int i = 0; i < 2 * ALL; i++) y[(i / ALL * NX + i % NX) * NY + i / NX % NY] = x[i];
    OWNED(larmor_array) *a = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY, 2), x), *b;
    larmor_comparison d;
    b = complex_array(LARMOR_C128, LARMOR_SHAPE(NY, NX, 2), y);
    assert_at_most(compared(a, b, &(larmor_compare_opts){.transpose = 1}).nrmse, 1e-15);
    assert_refused(larmor_compare(a, b, NULL, &d), LARMOR_ERR_SHAPE, "both must have one shape");
    free(x);
}

TEST(corners_of_kspace_do_not_count_inside)
{
    cplx x[ALL], y[ALL];
    for (int i = 0; i < ALL; i++) {
        const double corner = 2 * M_PI * (4. * (i % NX) / NX + 2. * (int)(i / NX) / NY);
        x[i] = I; /* with a phase, as the other */
        y[i] = 1 + cexp(I * corner);
    }
    OWNED(larmor_array) *a = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY), x);
    OWNED(larmor_array) *b = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY), y);
    larmor_comparison d;
    assert_at_most(fabs(compared(a, b, NULL).nrmse - sqrt(.5)), 1e-12);
    assert_at_most(compared(a, b, &(larmor_compare_opts){.inside = 2}).nrmse, 1e-12);
    assert_at_most(compared(a, b, &(larmor_compare_opts){.inside = 2, .magnitude = 1}).nrmse, 1e-12);
    assert_refused(larmor_compare(a, b, &(larmor_compare_opts){.inside = 3}, &d), LARMOR_ERR_ARG,
                   "inside is 3, the image has 2 dimensions");
}

TEST(nothing_is_compared_with_nothing)
{
    OWNED(larmor_array) *zero = zeros(LARMOR_C64, LARMOR_SHAPE(NX, NY)), *a = zeros(LARMOR_C64, LARMOR_SHAPE(NX, NY));
    larmor_comparison d;
    assert_ok(larmor_fill(a, 1));
    assert_refused(larmor_compare(a, zero, NULL, &d), LARMOR_ERR_NUMERIC, "compare: the reference is all zero");
    assert_at_most(fabs(compared(zero, a, NULL).nrmse - 1), 0);
    assert_ok(larmor_fill(a, NAN));
    assert_refused(larmor_compare(a, zero, NULL, &d), LARMOR_ERR_NUMERIC, "compare: the image: ");
}
