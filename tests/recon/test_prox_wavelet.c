/* recon/prox/wavelet.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/prox_support.h"

#define SHAPE LARMOR_SHAPE(16, 12)
enum { N = 192 };

TEST(its_transforms_are_a_tight_frame)
{
    for (int i = 0; i < 2; i++) {
        const larmor_dtype dtype = i ? LARMOR_C128 : LARMOR_C64;
        const double limit = i ? 1e-14 : 1e-6;
        OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, "wavelet", NULL, dtype, SHAPE, &r));
        larmor_op *K = larmor_regulariser_penalty(r).K;
        assert_at_most(adjoint_error(K, 3), limit);
        HEAP cplx *x = random_values(N, 7);
        OWNED(larmor_array) *in = complex_array(dtype, SHAPE, x), *c = zeros(dtype, larmor_op_out_shape(K)),
                            *out = zeros(dtype, SHAPE), *normal = zeros(dtype, SHAPE);
        assert_ok(larmor_op_forward(K, in, c));
        assert_ok(larmor_op_adjoint(K, c, out));
        assert_ok(larmor_op_normal(K, in, normal));
        HEAP cplx *back = values_of(out), *same = values_of(normal);
        assert_at_most(difference(back, x, N), 10 * limit);
        assert_at_most(difference(same, x, N), 10 * limit);
    }
}

TEST(images_of_a_series_are_transformed_by_themselves)
{
    enum { IMAGES = 3 };
    const larmor_regulariser_opts opts = {.series = 1};
    const larmor_shape shape = LARMOR_SHAPE(16, 12, IMAGES);
    OWN(larmor_regulariser, *one, larmor_regulariser_create(dev, "wavelet", NULL, LARMOR_C128, SHAPE, &one));
    OWN(larmor_regulariser, *all, larmor_regulariser_create(dev, "wavelet", &opts, LARMOR_C128, shape, &all));
    const larmor_penalty single = larmor_regulariser_penalty(one), series = larmor_regulariser_penalty(all);
    HEAP cplx *x = random_values(N * IMAGES, 11);
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, shape, x),
                        *c = zeros(LARMOR_C128, larmor_op_out_shape(series.K));
    double g, sum = 0, each;
    assert_ok(larmor_op_forward(series.K, in, c));
    assert_ok(larmor_prox_value(series.g, c, &g));
    for (int i = 0; i < IMAGES; i++) {
        OWNED(larmor_array) *image = complex_array(LARMOR_C128, SHAPE, x + N * i);
        OWNED(larmor_array) *own = zeros(LARMOR_C128, larmor_op_out_shape(single.K));
        assert_ok(larmor_op_forward(single.K, image, own));
        assert_ok(larmor_prox_value(single.g, own, &each));
        sum += each;
    }
    assert_at_most(fabs(g - sum), 1e-12 * sum);
}

TEST(its_penalty_is_the_mean_of_four_shifts)
{
    OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, "wavelet", NULL, LARMOR_C128, SHAPE, &r));
    OWN(larmor_op, *W, larmor_op_wavelet(dev, LARMOR_C128, SHAPE, NULL, &W));
    const larmor_penalty penalty = larmor_regulariser_penalty(r);
    OWNED(larmor_array) *in = drawn(LARMOR_C128, SHAPE, 9), *c = zeros(LARMOR_C128, larmor_op_out_shape(penalty.K)),
                        *y = zeros(LARMOR_C128, SHAPE);
    double g, sum = 0;
    assert_ok(larmor_op_forward(penalty.K, in, c));
    assert_ok(larmor_prox_value(penalty.g, c, &g));
    for (int s = 0; s < 4; s++) {
        assert_ok(larmor_op_wavelet_shift(W, (int64_t[]){s, s, 0}));
        assert_ok(larmor_op_forward(W, in, y));
        HEAP cplx *values = values_of(y);
        for (int i = 0; i < N; i++) sum += cabs(values[i]) / 4;
    }
    assert_at_most(fabs(g - sum), 1e-12 * sum);
}
