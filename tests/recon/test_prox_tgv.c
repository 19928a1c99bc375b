/* recon/prox/tgv.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/regulariser_support.h"

enum { NX = 12, NY = 10 };
#define SHAPE LARMOR_SHAPE(NX, NY)

static void ramp(cplx *x)
{
    for (int i = 0; i < NX * NY; i++) x[i] = 1 + 0.3 * (i % NX) - 0.2 * I * (i / NX);
}

/* With v the gradient of x both terms vanish. */
TEST(an_affine_ramp_costs_nothing)
{
    OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, "tgv", NULL, LARMOR_C128, SHAPE, &r));
    OWN(larmor_op, *G, larmor_op_gradient(dev, LARMOR_C128, SHAPE, 3, NULL, &G));
    const larmor_penalty p = larmor_regulariser_penalty(r);
    cplx x[NX * NY], z[3 * NX * NY];
    ramp(x);
    OWNED(larmor_array) *image = complex_array(LARMOR_C128, SHAPE, x),
                        *field = zeros(LARMOR_C128, LARMOR_SHAPE(NX, NY, 2));
    assert_ok(larmor_op_forward(G, image, field));
    HEAP cplx *v = values_of(field);
    memcpy(z, x, sizeof x);
    memcpy(z + NX * NY, v, 2 * sizeof x);
    OWNED(larmor_array) *extended = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY, 3), z),
                        *y = zeros(LARMOR_C128, larmor_op_out_shape(p.K));
    double g;
    assert_ok(larmor_op_forward(p.K, extended, y));
    assert_ok(larmor_prox_value(p.g, y, &g));
    assert_at_most(g, 1e-12);
}

TEST(it_leaves_ramps_alone_where_total_variation_does_not)
{
    cplx b[NX * NY];
    ramp(b);
    const larmor_regulariser_opts opts = {.lambda = 0.3};
    HEAP cplx *tgv = denoise("tgv", &opts, SHAPE, b), *tv = denoise("tv", &opts, SHAPE, b);
    assert_at_most(difference(tgv, b, NX * NY), 1e-3);
    assert_at_most(0.1, difference(tv, b, NX * NY));
}

TEST(the_ratio_weighs_the_second_term)
{
    double g[2];
    for (int i = 0; i < 2; i++) {
        OWN(larmor_regulariser, *r,
            larmor_regulariser_create(dev, "tgv", &(larmor_regulariser_opts){.ratio = i ? 5 : 0}, LARMOR_C128, SHAPE,
                                      &r));
        const larmor_penalty p = larmor_regulariser_penalty(r);
        cplx z[3 * NX * NY] = {0};
        z[NX * NY + 3 * NX + 4] = 1; /* v alone: the first term is 1 */
        OWNED(larmor_array) *in = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY, 3), z),
                            *y = zeros(LARMOR_C128, larmor_op_out_shape(p.K));
        assert_ok(larmor_op_forward(p.K, in, y));
        assert_ok(larmor_prox_value(p.g, y, &g[i]));
    }
    assert_at_most(fabs((g[1] - 1) - 2.5 * (g[0] - 1)), 1e-12);
}

/* The second image has as much in it as the first, so that lambda has one unit. */
TEST(of_a_series_each_image_is_by_itself)
{
    enum { COUNT = NX * NY };
    const larmor_regulariser_opts one = {.lambda = 0.3}, both = {.lambda = 0.3, .series = 1};
    cplx b[2 * COUNT];
    ramp(b);
    for (int i = 0; i < COUNT; i++) b[i] += 0.5 * (i % 7 == 3);
    for (int i = 0; i < COUNT; i++) b[2 * COUNT - 1 - i] = I * b[i];
    HEAP cplx *series = denoise("tgv", &both, LARMOR_SHAPE(NX, NY, 2), b);
    for (int i = 0; i < 2; i++) {
        HEAP cplx *alone = denoise("tgv", &one, SHAPE, b + (ptrdiff_t)i * COUNT);
        assert_at_most(difference(series + (ptrdiff_t)i * COUNT, alone, COUNT), 1e-3);
        assert_at_most(0.01, difference(alone, b + (ptrdiff_t)i * COUNT, COUNT));
    }
}
