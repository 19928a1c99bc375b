/* recon/ops/weights.c: masks and weights. SPDX-License-Identifier: Apache-2.0 */
#include "recon/ops/ops.h"
#include "tests/recon/support.h"

static const larmor_dtype type[] = {LARMOR_C64, LARMOR_C128};
static const double limit[] = {1e-6, 1e-14};

enum { N = 12, CHANNELS = 3 };
static const double w[N] = {0, 1, 0.5, 1, 2, 0, 0, 1, 1e-3, 7, 1, 0.25};

/* How op's three maps should act: by w, w and w^2. */
static void expect_products(int p, larmor_op *op, int64_t batch)
{
    const larmor_shape shape = larmor_op_in_shape(op);
    cplx *x = random_values(N * batch, 1), once[N * CHANNELS], twice[N * CHANNELS];
    for (int i = 0; i < N * batch; i++) {
        once[i] = w[i % N] * x[i];
        twice[i] = w[i % N] * once[i];
    }
    OWNED(larmor_array) *in = complex_array(type[p], shape, x), *out = zeros(type[p], shape);
    larmor_status (*const maps[])(larmor_op *, const larmor_array *,
                                  larmor_array *) = {larmor_op_forward, larmor_op_adjoint, larmor_op_normal};
    for (int map = 0; map < 3; map++) {
        assert_ok(maps[map](op, in, out));
        assert_at_most(away(out, map < 2 ? once : twice, N * batch), limit[p]);
    }
    free(x);
}

TEST(a_mask_multiplies_the_image)
{
    for (int p = 0; p < 2; p++) {
        OWNED(larmor_array) *mask = real_array(LARMOR_SHAPE(4, 3), w);
        OWN(larmor_op, *M, larmor_op_mask(mask, type[p], &M));
        assert_ok(larmor_zero(mask)); /* it has a copy */
        assert_true(larmor_shape_equal(larmor_op_out_shape(M), LARMOR_SHAPE(4, 3)));
        expect_products(p, M, 1);
    }
}

TEST(weights_multiply_every_channel)
{
    for (int c = 0; c < 4; c++) {
        OWNED(larmor_array) *weights = real_array(LARMOR_SHAPE(6, 2), w);
        OWN(larmor_op, *W, larmor_op_weights(weights, type[c % 2], c / 2 ? CHANNELS : 0, &W));
        assert_int_equal(larmor_op_in_shape(W).ndim, c / 2 ? 3 : 2);
        expect_products(c % 2, W, c / 2 ? CHANNELS : 1);
        assert_at_most(adjoint_error(W, 2), limit[c % 2]);
    }
}

TEST(roots_of_weights_are_a_copy)
{
    for (int p = 0; p < 2; p++) {
        OWNED(larmor_array) *weights = real_array(LARMOR_SHAPE(N), w), *root;
        assert_ok(lmr_weights_copy("test", "weights", weights, type[p], 1, &root));
        assert_int_equal(larmor_array_dtype(root), p ? LARMOR_F64 : LARMOR_F32);
        HEAP cplx *got = values_of(root), *kept = values_of(weights);
        for (int i = 0; i < N; i++) {
            assert_at_most(cabs(got[i] - sqrt(w[i])), limit[p]);
            assert_true(creal(kept[i]) == w[i]);
        }
    }
}

TEST(what_is_no_weight_is_refused)
{
    double bad[] = {1, -0.5, NAN};
    OWNED(larmor_array) *negative = real_array(LARMOR_SHAPE(2), bad), *none = real_array(LARMOR_SHAPE(1), bad + 2);
    OWNED(larmor_array) *phases = zeros(LARMOR_C64, LARMOR_SHAPE(2));
    assert_none_made(larmor_op, larmor_op_weights(negative, LARMOR_C64, 1, &made), LARMOR_ERR_ARG,
                     "weights: element 1 of the weights is -0.5, expected at least 0");
    assert_none_made(larmor_op, larmor_op_mask(negative, LARMOR_C64, &made), LARMOR_ERR_ARG,
                     "mask: element 1 of the mask is -0.5, expected at least 0");
    assert_none_made(larmor_op, larmor_op_mask(none, LARMOR_C64, &made), LARMOR_ERR_NUMERIC,
                     "mask: mask holds nan at element 0, expected finite numbers");
    assert_none_made(larmor_op, larmor_op_mask(phases, LARMOR_C64, &made), LARMOR_ERR_ARG, "expected f32 or f64");
    assert_none_made(larmor_op, larmor_op_mask(NULL, LARMOR_C64, &made), LARMOR_ERR_ARG,
                     "mask: no mask given, expected a real array");
    assert_none_made(larmor_op, larmor_op_mask(negative, LARMOR_F64, &made), LARMOR_ERR_ARG,
                     "mask: dtype is f64, expected c64 or c128");
    assert_none_made(larmor_op, larmor_op_weights(negative, LARMOR_C64, -1, &made), LARMOR_ERR_ARG,
                     "weights: batch is -1, expected at least 0");
}
