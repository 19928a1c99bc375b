/* recon/ops/subspace.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { FRAMES = 7, RANK = 3, VOXELS = 20 };
static const larmor_dtype type[] = {LARMOR_C64, LARMOR_C128};
static const double limit[] = {1e-6, 1e-14};

static larmor_op *subspace(larmor_dtype dtype, const cplx *basis)
{
    OWNED(larmor_array) *b = complex_array(dtype, LARMOR_SHAPE(FRAMES, RANK), basis);
    return MADE(larmor_op, larmor_op_subspace(dev, dtype, LARMOR_SHAPE(5, 4), b, &made));
}

TEST(frames_are_sums_of_coefficients_times_the_basis)
{
    HEAP cplx *basis = random_values(FRAMES * RANK, 1), *x = random_values(VOXELS * RANK, 2);
    cplx expected[VOXELS * FRAMES];
    for (int t = 0; t < FRAMES; t++)
        for (int v = 0; v < VOXELS; v++) {
            expected[v + VOXELS * t] = 0;
            for (int k = 0; k < RANK; k++) expected[v + VOXELS * t] += basis[t + FRAMES * k] * x[v + VOXELS * k];
        }
    for (int p = 0; p < 2; p++) {
        OWNED(larmor_op) *B = subspace(type[p], basis);
        OWNED(larmor_array) *in = complex_array(type[p], LARMOR_SHAPE(5, 4, RANK), x);
        OWNED(larmor_array) *out = zeros(type[p], LARMOR_SHAPE(5, 4, FRAMES));
        assert_ok(larmor_op_forward(B, in, out));
        assert_at_most(away(out, expected, VOXELS * FRAMES), limit[p]);
    }
}

TEST(the_adjoint_is_exact)
{
    HEAP cplx *basis = random_values(FRAMES * RANK, 1);
    for (int p = 0; p < 2; p++) {
        OWNED(larmor_op) *B = subspace(type[p], basis);
        assert_at_most(adjoint_error(B, 3), limit[p]);
    }
}

TEST(the_normal_map_is_the_adjoint_after_the_forward_map)
{
    HEAP cplx *basis = random_values(FRAMES * RANK, 1), *x = random_values(VOXELS * RANK, 2);
    OWNED(larmor_op) *B = subspace(LARMOR_C128, basis);
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, LARMOR_SHAPE(5, 4, RANK), x);
    OWNED(larmor_array) *y = zeros(LARMOR_C128, LARMOR_SHAPE(5, 4, FRAMES)),
                        *z = zeros(LARMOR_C128, larmor_op_in_shape(B));
    OWNED(larmor_array) *normal = zeros(LARMOR_C128, larmor_op_in_shape(B));
    assert_ok(larmor_op_forward(B, in, y));
    assert_ok(larmor_op_adjoint(B, y, z));
    assert_ok(larmor_op_normal(B, in, normal));
    assert_at_most(apart(normal, z), 1e-14);
}

TEST(a_basis_is_taken_to_a_wider_type_but_not_a_narrower_one)
{
    HEAP cplx *basis = random_values(FRAMES * RANK, 1);
    OWNED(larmor_array) *b = complex_array(LARMOR_C64, LARMOR_SHAPE(FRAMES, RANK), basis);
    OWNED(larmor_array) *in_double = complex_array(LARMOR_C128, LARMOR_SHAPE(FRAMES, RANK), basis);
    OWN(larmor_op, *B, larmor_op_subspace(dev, LARMOR_C128, LARMOR_SHAPE(5, 4), b, &B));
    assert_int_equal(larmor_op_dtype(B), LARMOR_C128);
    assert_none_made(larmor_op, larmor_op_subspace(dev, LARMOR_C64, LARMOR_SHAPE(5, 4), in_double, &made),
                     LARMOR_ERR_SHAPE, "subspace: basis is c128 [7, 3] on");
}

TEST(unusable_inputs_are_named)
{
    OWNED(larmor_array) *flat = zeros(LARMOR_C64, LARMOR_SHAPE(FRAMES)),
                        *b = zeros(LARMOR_C64, LARMOR_SHAPE(FRAMES, RANK));
    assert_none_made(larmor_op, larmor_op_subspace(dev, LARMOR_C64, LARMOR_SHAPE(5, 4), flat, &made),
                     LARMOR_ERR_SHAPE, "subspace: basis is c64 [7] on");
    assert_none_made(larmor_op, larmor_op_subspace(dev, LARMOR_C64, LARMOR_SHAPE(5, 4), NULL, &made),
                     LARMOR_ERR_SHAPE, "subspace: basis is NULL, expected c64 [frames, coefficients]");
    assert_none_made(larmor_op, larmor_op_subspace(dev, LARMOR_F32, LARMOR_SHAPE(5, 4), b, &made), LARMOR_ERR_ARG,
                     "subspace: a device and a complex type are needed");
    assert_none_made(larmor_op, larmor_op_subspace(dev, LARMOR_C64, LARMOR_SHAPE(5, 0), b, &made), LARMOR_ERR_SHAPE,
                     "expected at least one voxel");
}
