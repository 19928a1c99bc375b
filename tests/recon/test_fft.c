/* recon/ops/fft.c against sums over all pairs. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

static const larmor_dtype type[] = {LARMOR_C64, LARMOR_C128};
static const double limit[] = {1e-6, 1e-14};

/* Every kind of stage: leading axes, one between others, several apart, more than three together, extents of 1. */
static const struct {
    larmor_shape shape;
    unsigned axes;
} cases[] = {
    {{1, {7}}, 1},
    {{2, {6, 5}}, 3},
    {{2, {6, 5}}, 1},
    {{2, {40, 33}}, 2},
    {{3, {4, 5, 3}}, 7},
    {{3, {4, 5, 3}}, 5},
    {{3, {4, 5, 3}}, 6},
    {{3, {5, 1, 4}}, 7},
    {{3, {5, 1, 4}}, 4},
    {{4, {2, 3, 4, 5}}, 15},
    {{5, {3, 2, 1, 5, 2}}, 0x1a},
    {{8, {2, 3, 1, 2, 2, 3, 1, 2}}, 0xb9},
    {{2, {6, 5}}, 0},
    {{3, {1, 1, 1}}, 5},
};
enum { CASES = sizeof cases / sizeof *cases };

static void direct_along(larmor_shape shape, int axis, int centred, int sign, const cplx *x, cplx *y)
{
    int64_t step = 1;
    for (int d = 0; d < axis; d++) step *= shape.dim[d];
    const int64_t n = shape.dim[axis];
    const int64_t c = centred ? n / 2 : 0;
    for (int64_t i = 0; i < larmor_shape_count(shape); i++) {
        const int64_t k = i / step % n, first = i - step * k;
        y[i] = 0;
        for (int64_t j = 0; j < n; j++)
            y[i] += x[first + step * j] * cexp(sign * 2 * M_PI * I * (double)((j - c) * (k - c) % n) / (double)n);
    }
}

/* The transform as its definition says. */
static cplx *direct(larmor_shape shape, unsigned axes, larmor_fft_opts opts, int sign, const cplx *x)
{
    const int64_t count = larmor_shape_count(shape);
    cplx *y = malloc((size_t)count * sizeof *y), *z = malloc((size_t)count * sizeof *z);
    assert_true(y && z);
    memcpy(y, x, (size_t)count * sizeof *y);
    for (int d = 0; d < shape.ndim; d++) {
        if (!(axes >> d & 1)) continue;
        direct_along(shape, d, opts.centred, sign, y, z);
        for (int64_t i = 0; i < count; i++) y[i] = opts.unitary ? z[i] / sqrt((double)shape.dim[d]) : z[i];
    }
    free(z);
    return y;
}

static void expect(int p, const larmor_array *x, const cplx *expected)
{
    assert_at_most(away(x, expected, larmor_array_count(x)), limit[p]);
}

TEST(both_directions_are_the_sums_of_their_definition)
{
    for (int c = 0; c < CASES * 2 * 4; c++) {
        const int p = c % 2;
        const larmor_fft_opts opts = {.unitary = c / 2 % 2, .centred = c / 4 % 2};
        const larmor_shape shape = cases[c / 8].shape;
        const unsigned axes = cases[c / 8].axes;
        OWN(larmor_op, *F, larmor_op_fft(dev, type[p], shape, axes, &opts, &F));
        HEAP cplx *x = random_values(larmor_shape_count(shape), 1);
        HEAP cplx *forward = direct(shape, axes, opts, -1, x), *adjoint = direct(shape, axes, opts, 1, x);
        OWNED(larmor_array) *in = complex_array(type[p], shape, x), *out = zeros(type[p], shape);
        assert_ok(larmor_op_forward(F, in, out));
        expect(p, out, forward);
        assert_ok(larmor_op_adjoint(F, in, out));
        expect(p, out, adjoint);
        expect(p, in, x); /* untouched */
    }
}

TEST(a_unitary_transform_keeps_the_norm_and_its_normal_map_is_none)
{
    const larmor_shape shape = LARMOR_SHAPE(9, 4, 6);
    for (int c = 0; c < 8; c++) {
        const int p = c % 2, unitary = c / 2 % 2;
        OWN(larmor_op, *F, larmor_op_fft(dev, type[p], shape, 5, &(larmor_fft_opts){unitary, c / 4}, &F));
        cplx *x = random_values(216, 2), expected[216];
        OWNED(larmor_array) *in = complex_array(type[p], shape, x), *out = zeros(type[p], shape);
        assert_at_most(adjoint_error(F, 3), limit[p]);
        assert_ok(larmor_op_forward(F, in, out));
        assert_at_most(fabs(norm_of(out) / norm_of(in) / (unitary ? 1 : sqrt(54)) - 1), limit[p]);
        for (int i = 0; i < 216; i++) expected[i] = (unitary ? 1 : 54) * x[i];
        assert_ok(larmor_op_normal(F, in, out));
        expect(p, out, expected);
        free(x);
    }
}

TEST(a_view_that_begins_anywhere_can_be_transformed)
{
    OWN(larmor_op, *F, larmor_op_fft(dev, LARMOR_C64, LARMOR_SHAPE(5, 5, 1), 3, NULL, &F));
    HEAP cplx *x = random_values(25, 4), *expected = direct(LARMOR_SHAPE(5, 5), 3, (larmor_fft_opts){0}, -1, x);
    OWNED(larmor_array) *in = complex_array(LARMOR_C64, LARMOR_SHAPE(5, 5, 1), x);
    OWNED(larmor_array) *all = zeros(LARMOR_C64, LARMOR_SHAPE(5, 5, 3)), *middle;
    assert_ok(larmor_array_slice(all, 1, 1, &middle)); /* 200 bytes from the beginning */
    assert_ok(larmor_op_forward(F, in, middle));
    expect(0, middle, expected);
}

TEST(an_image_without_numbers_has_a_transform_without_numbers)
{
    OWN(larmor_op, *F, larmor_op_fft(dev, LARMOR_C64, LARMOR_SHAPE(4, 0, 3), 7, NULL, &F));
    OWNED(larmor_array) *x = zeros(LARMOR_C64, LARMOR_SHAPE(4, 0, 3)), *y = zeros(LARMOR_C64, LARMOR_SHAPE(4, 0, 3));
    assert_ok(larmor_op_forward(F, x, y));
}

TEST(axes_and_types_that_are_not_there_are_refused)
{
    char text[200];
    snprintf(text, sizeof text, "fft: axes are 0x5, expected bits of the 2 dimensions of c64 [4, 4] on %s",
             larmor_device_spec(dev));
    assert_none_made(larmor_op, larmor_op_fft(dev, LARMOR_C64, LARMOR_SHAPE(4, 4), 5, NULL, &made), LARMOR_ERR_ARG,
                     text);
    assert_none_made(larmor_op, larmor_op_fft(dev, LARMOR_F32, LARMOR_SHAPE(4), 1, NULL, &made), LARMOR_ERR_ARG,
                     "fft: dtype is f32, expected c64 or c128");
    assert_none_made(larmor_op, larmor_op_fft(NULL, LARMOR_C64, LARMOR_SHAPE(4), 1, NULL, &made), LARMOR_ERR_ARG,
                     "fft: no device given");
    assert_none_made(larmor_op, larmor_op_fft(dev, LARMOR_C64, LARMOR_SHAPE(-4), 1, NULL, &made), LARMOR_ERR_SHAPE,
                     "fft: c64 [-4] on");
}
