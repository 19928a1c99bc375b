/* recon/ops/subspace.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { FRAMES = 7, RANK = 3, VOXELS = 20 };
static const larmor_dtype type[] = {LARMOR_C64, LARMOR_C128};
static const double limit[] = {1e-6, 1e-14};

static larmor_op *subspace(larmor_dtype dtype, const cplx *basis)
{
    larmor_array *b = complex_array(dtype, LARMOR_SHAPE(FRAMES, RANK), basis);
    larmor_op *B;
    assert_ok(larmor_op_subspace(dev, dtype, LARMOR_SHAPE(5, 4), b, &B));
    larmor_array_free(b);
    return B;
}

static void frames_are_sums_of_coefficients_times_the_basis(void **state)
{
    (void)state;
    cplx *basis = random_values(FRAMES * RANK, 1), *x = random_values(VOXELS * RANK, 2), expected[VOXELS * FRAMES];
    for (int t = 0; t < FRAMES; t++)
        for (int v = 0; v < VOXELS; v++) {
            expected[v + VOXELS * t] = 0;
            for (int k = 0; k < RANK; k++) expected[v + VOXELS * t] += basis[t + FRAMES * k] * x[v + VOXELS * k];
        }
    for (int p = 0; p < 2; p++) {
        larmor_op *B = subspace(type[p], basis);
        larmor_array *in = complex_array(type[p], LARMOR_SHAPE(5, 4, RANK), x);
        larmor_array *out = zeros(type[p], LARMOR_SHAPE(5, 4, FRAMES));
        assert_ok(larmor_op_forward(B, in, out));
        cplx *got = values_of(out);
        assert_at_most(difference(got, expected, VOXELS * FRAMES), limit[p]);
        free(got);
        larmor_array_free(out);
        larmor_array_free(in);
        larmor_op_free(B);
    }
    free(x);
    free(basis);
}

static void the_adjoint_is_exact(void **state)
{
    (void)state;
    cplx *basis = random_values(FRAMES * RANK, 1);
    for (int p = 0; p < 2; p++) {
        double error;
        larmor_op *B = subspace(type[p], basis);
        assert_ok(larmor_op_adjoint_error(B, 3, &error));
        assert_at_most(error, limit[p]);
        larmor_op_free(B);
    }
    free(basis);
}

static void the_normal_map_is_the_adjoint_after_the_forward_map(void **state)
{
    (void)state;
    cplx *basis = random_values(FRAMES * RANK, 1), *x = random_values(VOXELS * RANK, 2);
    larmor_op *B = subspace(LARMOR_C128, basis);
    larmor_array *in = complex_array(LARMOR_C128, LARMOR_SHAPE(5, 4, RANK), x);
    larmor_array *y = zeros(LARMOR_C128, LARMOR_SHAPE(5, 4, FRAMES)), *z = zeros(LARMOR_C128, larmor_op_in_shape(B));
    larmor_array *normal = zeros(LARMOR_C128, larmor_op_in_shape(B));
    assert_ok(larmor_op_forward(B, in, y));
    assert_ok(larmor_op_adjoint(B, y, z));
    assert_ok(larmor_op_normal(B, in, normal));
    cplx *expected = values_of(z), *got = values_of(normal);
    assert_at_most(difference(got, expected, VOXELS * RANK), 1e-14);
    free(got);
    free(expected);
    free(x);
    free(basis);
    larmor_array_free(normal);
    larmor_array_free(z);
    larmor_array_free(y);
    larmor_array_free(in);
    larmor_op_free(B);
}

static void a_basis_is_taken_to_a_wider_type_but_not_a_narrower_one(void **state)
{
    (void)state;
    cplx *basis = random_values(FRAMES * RANK, 1);
    larmor_array *b = complex_array(LARMOR_C64, LARMOR_SHAPE(FRAMES, RANK), basis);
    larmor_array *in_double = complex_array(LARMOR_C128, LARMOR_SHAPE(FRAMES, RANK), basis);
    larmor_op *B;
    assert_ok(larmor_op_subspace(dev, LARMOR_C128, LARMOR_SHAPE(5, 4), b, &B));
    assert_int_equal(larmor_op_dtype(B), LARMOR_C128);
    larmor_op_free(B);
    assert_refused(larmor_op_subspace(dev, LARMOR_C64, LARMOR_SHAPE(5, 4), in_double, &B), LARMOR_ERR_SHAPE,
                   "subspace: basis is c128 [7, 3] on");
    assert_null(B);
    larmor_array_free(in_double);
    larmor_array_free(b);
    free(basis);
}

static void unusable_inputs_are_named(void **state)
{
    (void)state;
    larmor_op *B;
    larmor_array *flat = zeros(LARMOR_C64, LARMOR_SHAPE(FRAMES)), *b = zeros(LARMOR_C64, LARMOR_SHAPE(FRAMES, RANK));
    assert_refused(larmor_op_subspace(dev, LARMOR_C64, LARMOR_SHAPE(5, 4), flat, &B), LARMOR_ERR_SHAPE,
                   "subspace: basis is c64 [7] on");
    assert_null(B);
    assert_refused(larmor_op_subspace(dev, LARMOR_C64, LARMOR_SHAPE(5, 4), NULL, &B), LARMOR_ERR_SHAPE,
                   "subspace: basis is NULL, expected c64 [frames, coefficients]");
    assert_refused(larmor_op_subspace(dev, LARMOR_F32, LARMOR_SHAPE(5, 4), b, &B), LARMOR_ERR_ARG,
                   "subspace: a device and a complex type are needed");
    assert_refused(larmor_op_subspace(dev, LARMOR_C64, LARMOR_SHAPE(5, 0), b, &B), LARMOR_ERR_SHAPE,
                   "expected at least one voxel");
    larmor_array_free(b);
    larmor_array_free(flat);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(frames_are_sums_of_coefficients_times_the_basis),
    cmocka_unit_test(the_adjoint_is_exact),
    cmocka_unit_test(the_normal_map_is_the_adjoint_after_the_forward_map),
    cmocka_unit_test(a_basis_is_taken_to_a_wider_type_but_not_a_narrower_one),
    cmocka_unit_test(unusable_inputs_are_named),
};

int main(void)
{
    RUN_TESTS(tests);
}
