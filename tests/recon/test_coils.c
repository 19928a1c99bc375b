/* recon/ops/coils.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

static const larmor_shape image = {2, {5, 3}}, stack = {3, {5, 3, 4}};

static larmor_op *random_coils(larmor_dtype dtype, uint64_t seed)
{
    HEAP cplx *values = random_values(60, seed);
    larmor_array *maps = complex_array(dtype, stack, values);
    larmor_op *S = MADE(larmor_op, larmor_op_coils(maps, &made));
    larmor_array_free(maps); /* the operator has its own reference */
    return S;
}

TEST(every_coil_sees_the_image_times_its_map)
{
    OWNED(larmor_op) *S = random_coils(LARMOR_C128, 1);
    HEAP cplx *maps = random_values(60, 1), *x = random_values(15, 2);
    cplx expected[60];
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, image, x), *out = zeros(LARMOR_C128, stack);
    assert_ok(larmor_op_forward(S, in, out));
    for (int i = 0; i < 60; i++) expected[i] = maps[i] * x[i % 15];
    assert_at_most(away(out, expected, 60), 1e-15);
}

TEST(the_adjoint_is_exact)
{
    const larmor_dtype dtype[] = {LARMOR_C64, LARMOR_C128};
    const double limit[] = {1e-6, 1e-14};
    for (int i = 0; i < 2; i++) {
        OWNED(larmor_op) *S = random_coils(dtype[i], 3);
        assert_at_most(adjoint_error(S, 4), limit[i]);
    }
}

TEST(the_normal_map_multiplies_by_the_sum_of_squares)
{
    OWNED(larmor_op) *S = random_coils(LARMOR_C128, 5);
    HEAP cplx *maps = random_values(60, 5), *x = random_values(15, 6);
    cplx expected[15];
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, image, x), *out = zeros(LARMOR_C128, image);
    assert_ok(larmor_op_normal(S, in, out));
    for (int i = 0; i < 15; i++) {
        expected[i] = 0;
        for (int c = 0; c < 4; c++) expected[i] += pow(cabs(maps[i + 15 * c]), 2) * x[i];
    }
    assert_at_most(away(out, expected, 15), 1e-15);
}

TEST(maps_without_a_coil_dimension_are_refused)
{
    OWNED(larmor_array) *flat = zeros(LARMOR_C64, LARMOR_SHAPE(6));
    assert_none_made(larmor_op, larmor_op_coils(flat, &made), LARMOR_ERR_SHAPE, "coils: maps are c64 [6] on");
    assert_none_made(larmor_op, larmor_op_coils(NULL, &made), LARMOR_ERR_ARG, "coils: no maps given");
}
