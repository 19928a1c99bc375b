/* recon/ops/wavelet.c and its filters, against the transform done line by line. SPDX-License-Identifier: Apache-2.0
 */
#include "recon/ops/ops.h"
#include "recon/sparse.h"
#include "tests/recon/support.h"

static const larmor_dtype type[] = {LARMOR_C64, LARMOR_C128};
static const double limit[] = {2e-6, 1e-14};

TEST(filters_are_orthonormal_and_their_moments_vanish)
{
    for (int order = 1; order <= LMR_DAUBECHIES; order++) {
        const double *h = lmr_daubechies[order - 1];
        double sum = 0;
        for (int t = 0; t < 2 * order; t++) sum += h[t];
        assert_at_most(fabs(sum - sqrt(2)), 1e-15 * order);
        for (int k = 0; k < order; k++) {
            double product = 0, moment = 0, size = 0;
            for (int t = 0; t + 2 * k < 2 * order; t++) product += h[t] * h[t + 2 * k];
            assert_at_most(fabs(product - (k == 0)), 1e-15);
            for (int t = 0; t < 2 * order; t++) {
                const double term = (t % 2 ? -1 : 1) * pow(t - order, k) * h[2 * order - 1 - t];
                moment += term;
                size += fabs(term);
            }
            assert_at_most(fabs(moment), 1e-15 * size * order);
        }
    }
    const double three = sqrt(3), two[] = {1 + three, 3 + three, 3 - three, 1 - three};
    for (int t = 0; t < 4; t++) assert_at_most(fabs(lmr_daubechies[1][t] - two[t] / (4 * sqrt(2))), 4e-16);
}

/* ---- the transform done line by line ---- */

static int64_t mod(int64_t i, int64_t n)
{
    return (i % n + n) % n;
}

static void split_line(int order, int64_t n, int64_t step, cplx *x)
{
    const double *h = lmr_daubechies[order - 1];
    const int64_t m = n - n % 2, low = n - n / 2;
    HEAP NEW_ZEROS(cplx, y, n);
    for (int64_t k = 0; k < m / 2; k++)
        for (int t = 0; t < 2 * order; t++) {
            const cplx v = x[step * mod(2 * k + t - (order - 1), m)];
            y[k] += h[t] * v;
            y[low + k] += (t % 2 ? -1 : 1) * h[2 * order - 1 - t] * v;
        }
    if (n % 2) y[m / 2] = x[step * (n - 1)];
    for (int64_t i = 0; i < n; i++) x[step * i] = y[i];
}

/* Does f to every line along axis that begins in the box of these extents. */
static void split_axis(larmor_shape shape, const int64_t *extent, int axis, int order, cplx *x)
{
    int64_t step = 1;
    for (int d = 0; d < axis; d++) step *= shape.dim[d];
    for (int64_t i = 0; i < larmor_shape_count(shape); i++) {
        int64_t rest = i;
        int begins = 1;
        for (int d = 0; d < shape.ndim; d++) {
            const int64_t at = rest % shape.dim[d];
            begins = begins && (d == axis ? at == 0 : at < extent[d]);
            rest /= shape.dim[d];
        }
        if (begins) split_line(order, extent[axis], step, x + i);
    }
}

static cplx *rolled(larmor_shape shape, int axis, int64_t shift, const cplx *x)
{
    const int64_t count = larmor_shape_count(shape), n = shape.dim[axis];
    int64_t step = 1;
    for (int d = 0; d < axis; d++) step *= shape.dim[d];
    NEW(cplx, y, count);
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = i / step % n;
        y[i] = x[i + step * (mod(at + shift, n) - at)];
    }
    return y;
}

/* opts with every default filled in. */
static cplx *direct(larmor_shape shape, larmor_wavelet_opts o, int64_t least, const cplx *x)
{
    const int64_t count = larmor_shape_count(shape);
    int64_t extent[LARMOR_MAX_DIMS];
    NEW(cplx, y, count);
    memcpy(y, x, (size_t)count * sizeof *y);
    memcpy(extent, shape.dim, sizeof extent);
    for (int d = 0, a = 0; d < shape.ndim; d++)
        if (o.axes >> d & 1 && shape.dim[d] >= least) {
            cplx *moved = rolled(shape, d, o.shift[a++], y);
            free(y);
            y = moved;
        } else if (o.axes >> d & 1) {
            a++; /* what is not split is not moved */
        }
    for (int l = 0; l < o.levels; l++) {
        int64_t next[LARMOR_MAX_DIMS];
        memcpy(next, extent, sizeof next);
        for (int d = 0; d < shape.ndim; d++)
            if (o.axes >> d & 1 && extent[d] >= least) {
                split_axis(shape, extent, d, o.order, y);
                next[d] = extent[d] - extent[d] / 2;
            }
        memcpy(extent, next, sizeof extent);
    }
    return y;
}

static void expect(int p, const larmor_array *x, const cplx *expected)
{
    assert_at_most(away(x, expected, larmor_array_count(x)), limit[p]);
}

/* Even and odd sizes, one to three axes, between other dimensions, and several threads. */
static const struct {
    larmor_shape shape;
    larmor_wavelet_opts opts;
} cases[] = {
    {{1, {16}}, {1, 4, 1, {0}}},
    {{1, {37}}, {2, 3, 1, {5}}},
    {{1, {45}}, {10, 2, 1, {-3}}},
    {{1, {49}}, {6, 2, 1, {1}}},
    {{2, {16, 12}}, {2, 2, 3, {0, 0}}},
    {{2, {19, 22}}, {3, 9, 3, {18, -30}}},
    {{2, {14, 27}}, {4, 2, 2, {7}}},
    {{2, {6, 40}}, {5, 3, 3, {2, 9}}}, /* the first is never split */
    {{3, {11, 8, 9}}, {2, 2, 7, {1, 2, 3}}},
    {{3, {12, 20, 16}}, {1, 3, 7, {0, 4, 0}}},
    {{3, {5, 17, 3}}, {2, 2, 2, {4}}},
    {{5, {2, 9, 1, 3, 13}}, {2, 2, 0x16, {3, 100, 5}}}, /* an axis of extent 1 */
    {{2, {160, 131}}, {2, 6, 3, {20, 50}}},
};
enum { CASES = sizeof cases / sizeof *cases };

static larmor_op *wavelet_of(int p, larmor_shape shape, larmor_wavelet_opts opts)
{
    return MADE(larmor_op, larmor_op_wavelet(dev, type[p], shape, &opts, &made));
}

TEST(coefficients_are_those_of_every_line_filtered_level_by_level)
{
    for (int c = 0; c < 2 * CASES; c++) {
        const int p = c % 2;
        const larmor_shape shape = cases[c / 2].shape;
        const larmor_wavelet_opts opts = cases[c / 2].opts;
        OWNED(larmor_op) *W = wavelet_of(p, shape, opts);
        HEAP cplx *x = random_values(larmor_shape_count(shape), 1),
                  *expected = direct(shape, opts, 2 * opts.order, x);
        OWNED(larmor_array) *in = complex_array(type[p], shape, x), *out = zeros(type[p], shape);
        assert_ok(larmor_op_forward(W, in, out));
        expect(p, out, expected);
        expect(p, in, x);
    }
}

TEST(the_adjoint_is_the_inverse_on_both_sides)
{
    for (int c = 0; c < 2 * CASES; c++) {
        const int p = c % 2;
        const larmor_shape shape = cases[c / 2].shape;
        OWNED(larmor_op) *W = wavelet_of(p, shape, cases[c / 2].opts);
        HEAP cplx *x = random_values(larmor_shape_count(shape), 2);
        OWNED(larmor_array) *in = complex_array(type[p], shape, x);
        OWNED(larmor_array) *out = zeros(type[p], shape), *back = zeros(type[p], shape);
        assert_at_most(adjoint_error(W, 3), limit[p]);
        assert_ok(larmor_op_forward(W, in, out));
        assert_ok(larmor_op_adjoint(W, out, back));
        expect(p, back, x);
        assert_ok(larmor_op_adjoint(W, in, out));
        assert_ok(larmor_op_forward(W, out, back));
        expect(p, back, x);
        assert_ok(larmor_op_normal(W, in, back));
        expect(p, back, x);
    }
}

/* Images of less than sixteen along each axis are split down to eight. */
TEST(the_defaults_are_four_taps_on_all_axes_down_to_sixteen_numbers)
{
    static const struct {
        larmor_shape shape;
        larmor_wavelet_opts opts;
        int64_t least;
    } each[] = {{{4, {1, 70, 33, 3}}, {2, 3, 0x6, {0}}, 16},
                {{3, {14, 15, 6}}, {2, 2, 0x3, {0}}, 8},
                {{2, {7, 6}}, {2, 0, 0x3, {0}}, 8}};
    for (int i = 0; i < 3; i++) {
        const larmor_shape shape = each[i].shape;
        OWN(larmor_op, *W, larmor_op_wavelet(dev, LARMOR_C128, shape, NULL, &W));
        HEAP cplx *x = random_values(larmor_shape_count(shape), 4),
                  *expected = direct(shape, each[i].opts, each[i].least, x);
        OWNED(larmor_array) *in = complex_array(LARMOR_C128, shape, x), *out = zeros(LARMOR_C128, shape);
        assert_ok(larmor_op_forward(W, in, out));
        expect(1, out, expected);
    }
}

TEST(polynomials_leave_no_details_away_from_the_edges)
{
    enum { N = 64 };
    for (int order = 1; order <= LMR_DAUBECHIES; order++) {
        OWNED(larmor_op) *W = wavelet_of(1, LARMOR_SHAPE(N), (larmor_wavelet_opts){.order = order, .levels = 1});
        cplx x[N];
        for (int i = 0; i < N; i++) x[i] = pow((i - 32.0) / 32, order - 1);
        OWNED(larmor_array) *in = complex_array(LARMOR_C128, LARMOR_SHAPE(N), x),
                            *out = zeros(LARMOR_C128, LARMOR_SHAPE(N));
        assert_ok(larmor_op_forward(W, in, out));
        HEAP cplx *y = values_of(out);
        for (int k = order; k < N / 2 - order; k++) assert_at_most(cabs(y[N / 2 + k]), 1e-13);
    }
}

/* ---- cycle spinning ---- */

/* The mean over all shifts of W^H shrink(W x), through a chain that holds W. */
static cplx *denoised(larmor_op *W, larmor_op *chain, larmor_shape shape, int64_t period, const cplx *x)
{
    const lmr_sparse_kernels *kernels;
    const int64_t count = larmor_shape_count(shape);
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, shape, x), *out = zeros(LARMOR_C128, shape);
    OWNED(larmor_array) *back = zeros(LARMOR_C128, shape), *sum = zeros(LARMOR_C128, shape);
    assert_ok(lmr_sparse_kernels_of(dev, LARMOR_C128, &kernels));
    for (int64_t s = 0; s < period * period; s++) {
        assert_ok(larmor_op_wavelet_shift(W, (int64_t[]){s % period, s / period, 0}));
        assert_ok(larmor_op_forward(chain, in, out));
        assert_ok(kernels->shrink_groups(dev->ctx, count, 1, 0.8, out->data, out->data));
        assert_ok(larmor_op_adjoint(chain, out, back));
        assert_ok(larmor_axpby(1 / (double)(period * period), back, 1, sum));
    }
    cplx *y = values_of(sum);
    return y;
}

TEST(averaged_over_all_shifts_denoising_does_not_see_where_the_image_is)
{
    const larmor_shape shape = LARMOR_SHAPE(16, 8);
    const int64_t period = 4; /* of two levels */
    OWNED(larmor_op) *W = wavelet_of(1, shape, (larmor_wavelet_opts){.order = 1, .levels = 2}), *same, *chain;
    assert_ok(larmor_op_fft(dev, LARMOR_C128, shape, 0, NULL, &same)); /* the identity */
    assert_ok(larmor_op_chain(same, W, &chain));
    HEAP cplx *x = random_values(128, 5), *y = denoised(W, chain, shape, period, x);
    for (int64_t shift = 1; shift < 4; shift++)
        for (int axis = 0; axis < 2; axis++) {
            HEAP cplx *moved = rolled(shape, axis, shift, x), *expected = rolled(shape, axis, shift, y);
            HEAP cplx *got = denoised(W, chain, shape, period, moved);
            assert_at_most(difference(got, expected, 128), 1e-14);
        }
    assert_true(difference(y, x, 128) > 0.1); /* it did something */
}

TEST(options_that_are_none_are_refused)
{
    OWNED(larmor_op) *W;
    const larmor_shape shape = LARMOR_SHAPE(4, 4, 4, 4);
    assert_refused(larmor_op_wavelet(dev, LARMOR_C64, shape, &(larmor_wavelet_opts){.order = 11}, &W), LARMOR_ERR_ARG,
                   "wavelet: order is 11, expected 1 to 10 vanishing moments, or 0 for 2");
    assert_null(W);
    assert_refused(larmor_op_wavelet(dev, LARMOR_C64, shape, &(larmor_wavelet_opts){.levels = -1}, &W),
                   LARMOR_ERR_ARG, "wavelet: -1 levels, expected at least 1, or 0 for the default");
    assert_refused(larmor_op_wavelet(dev, LARMOR_C64, shape, &(larmor_wavelet_opts){.axes = 15}, &W), LARMOR_ERR_ARG,
                   "wavelet: axes are 0xf, expected at most 3 of them");
    assert_refused(larmor_op_wavelet(dev, LARMOR_C64, shape, &(larmor_wavelet_opts){.axes = 16}, &W), LARMOR_ERR_ARG,
                   "wavelet: axes are 0x10, expected bits of the 4 dimensions of c64 [4, 4, 4, 4] on");
    assert_ok(larmor_op_fft(dev, LARMOR_C64, shape, 1, NULL, &W));
    assert_refused(larmor_op_wavelet_shift(W, (int64_t[3]){0}), LARMOR_ERR_ARG,
                   "wavelet: shift of fft, expected three numbers for a wavelet transform");
    assert_refused(larmor_op_wavelet_shift(NULL, (int64_t[3]){0}), LARMOR_ERR_ARG, "wavelet: shift of NULL");
}
