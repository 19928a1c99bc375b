/* recon/prox/wavelet.c. SPDX-License-Identifier: Apache-2.0 */
#include "recon/prox/prox.h"
#include "tests/recon/prox_support.h"

#define SHAPE LARMOR_SHAPE(16, 12)
enum { N = 192 };

/* Column j of the matrix is W e_j; free it. */
static cplx *dense(larmor_op *W)
{
    cplx *matrix = malloc(sizeof *matrix * N * N);
    larmor_array *y = zeros(LARMOR_C128, SHAPE);
    for (int j = 0; j < N; j++) {
        cplx unit[N] = {0};
        unit[j] = 1;
        larmor_array *x = complex_array(LARMOR_C128, SHAPE, unit);
        assert_ok(larmor_op_forward(W, x, y));
        cplx *column = values_of(y);
        memcpy(matrix + (size_t)N * (size_t)j, column, N * sizeof *column);
        free(column);
        larmor_array_free(x);
    }
    larmor_array_free(y);
    return matrix;
}

/* W^H shrink W x by the matrix. */
static void shrink_dense(const cplx *W, double t, const cplx *x, cplx *z)
{
    cplx c[N] = {0};
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) c[i] += W[i + N * j] * x[j];
    for (int i = 0; i < N; i++) c[i] *= cabs(c[i]) > t ? 1 - t / cabs(c[i]) : 0;
    for (int j = 0; j < N; j++) {
        z[j] = 0;
        for (int i = 0; i < N; i++) z[j] += conj(W[i + N * j]) * c[i];
    }
}

static void it_shrinks_the_coefficients_of_a_shifted_transform(void **state)
{
    (void)state;
    const larmor_wavelet_opts opts = {.order = 2, .levels = 2};
    larmor_prox *p;
    larmor_op *W;
    assert_ok(larmor_prox_wavelet(dev, 0.4, LARMOR_C128, SHAPE, &opts, &p));
    assert_ok(larmor_op_wavelet(dev, LARMOR_C128, SHAPE, &opts, &W));
    cplx *x = random_values(N, 5), expected[N];
    larmor_array *in = complex_array(LARMOR_C128, SHAPE, x), *out = zeros(LARMOR_C128, SHAPE);
    for (uint64_t k = 0; k < 3; k++) {
        int64_t shift[3];
        lmr_prox_shift(k, 2, (int64_t[]){16, 12}, shift);
        assert_ok(larmor_op_wavelet_shift(W, shift));
        cplx *matrix = dense(W);
        shrink_dense(matrix, 0.4 * 1.5, x, expected);
        assert_ok(larmor_prox_apply(p, 1.5, in, out));
        cplx *z = values_of(out);
        assert_at_most(difference(z, expected, N), 1e-13);
        free(z), free(matrix);
    }
    free(x);
    larmor_array_free(in), larmor_array_free(out);
    larmor_op_free(W), larmor_prox_free(p);
}

static void it_is_a_proximal_map_at_every_shift(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const larmor_dtype dtype = i ? LARMOR_C128 : LARMOR_C64;
        larmor_prox *p;
        assert_ok(larmor_prox_wavelet(dev, 0.4, dtype, SHAPE, NULL, &p));
        for (uint64_t seed = 1; seed < 4; seed++) free(expect_minimum(p, dtype, SHAPE, 0.7, seed));
        larmor_prox_free(p);
    }
}

static void shifts_stay_inside_and_differ(void **state)
{
    (void)state;
    const int64_t dim[3] = {7, 1, 300};
    int64_t before[3] = {-1, -1, -1}, shift[3];
    int moved = 0;
    for (uint64_t k = 0; k < 200; k++) {
        lmr_prox_shift(k, 3, dim, shift);
        for (int d = 0; d < 3; d++) assert_true(shift[d] >= 0 && shift[d] < dim[d]);
        moved += memcmp(before, shift, sizeof shift) != 0;
        memcpy(before, shift, sizeof shift);
    }
    assert_true(moved > 190);
    lmr_prox_shift(3, 2, dim, shift);
    assert_int_equal(shift[2], 0);
}

/* ---- the regulariser ---- */

static void its_transforms_are_a_tight_frame(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const larmor_dtype dtype = i ? LARMOR_C128 : LARMOR_C64;
        const double limit = i ? 1e-14 : 1e-6;
        larmor_regulariser *r;
        assert_ok(larmor_regulariser_create(dev, "wavelet", NULL, dtype, SHAPE, &r));
        larmor_op *K = larmor_regulariser_penalty(r).K;
        double error;
        assert_ok(larmor_op_adjoint_error(K, 3, &error));
        assert_at_most(error, limit);
        cplx *x = random_values(N, 7);
        larmor_array *in = complex_array(dtype, SHAPE, x), *c = zeros(dtype, larmor_op_out_shape(K)),
                     *out = zeros(dtype, SHAPE), *normal = zeros(dtype, SHAPE);
        assert_ok(larmor_op_forward(K, in, c));
        assert_ok(larmor_op_adjoint(K, c, out));
        assert_ok(larmor_op_normal(K, in, normal));
        cplx *back = values_of(out), *same = values_of(normal);
        assert_at_most(difference(back, x, N), 10 * limit);
        assert_at_most(difference(same, x, N), 10 * limit);
        free(x), free(back), free(same);
        larmor_array_free(in), larmor_array_free(c), larmor_array_free(out), larmor_array_free(normal);
        larmor_regulariser_free(r);
    }
}

static void its_penalty_is_the_mean_of_four_shifts(void **state)
{
    (void)state;
    larmor_regulariser *r;
    larmor_op *W;
    assert_ok(larmor_regulariser_create(dev, "wavelet", NULL, LARMOR_C128, SHAPE, &r));
    assert_ok(larmor_op_wavelet(dev, LARMOR_C128, SHAPE, NULL, &W));
    const larmor_penalty penalty = larmor_regulariser_penalty(r);
    cplx *x = random_values(N, 9);
    larmor_array *in = complex_array(LARMOR_C128, SHAPE, x), *c = zeros(LARMOR_C128, larmor_op_out_shape(penalty.K)),
                 *y = zeros(LARMOR_C128, SHAPE);
    double g, sum = 0;
    assert_ok(larmor_op_forward(penalty.K, in, c));
    assert_ok(larmor_prox_value(penalty.g, c, &g));
    for (int s = 0; s < 4; s++) {
        assert_ok(larmor_op_wavelet_shift(W, (int64_t[]){s, s, 0}));
        assert_ok(larmor_op_forward(W, in, y));
        cplx *values = values_of(y);
        for (int i = 0; i < N; i++) sum += cabs(values[i]) / 4;
        free(values);
    }
    assert_at_most(fabs(g - sum), 1e-12 * sum);
    free(x);
    larmor_array_free(in), larmor_array_free(c), larmor_array_free(y);
    larmor_op_free(W), larmor_regulariser_free(r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_shrinks_the_coefficients_of_a_shifted_transform),
    cmocka_unit_test(it_is_a_proximal_map_at_every_shift),
    cmocka_unit_test(shifts_stay_inside_and_differ),
    cmocka_unit_test(its_transforms_are_a_tight_frame),
    cmocka_unit_test(its_penalty_is_the_mean_of_four_shifts),
};

int main(void)
{
    RUN_TESTS(tests);
}
