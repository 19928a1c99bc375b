/* recon/ops/sense.c: several sets of maps. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/sense_support.h"

/* Maps [image..., coils, sets] and, of each set, maps [image..., coils] and their operator. */
enum { SETS = 3 };

typedef struct sets {
    larmor_array *maps, *own[SETS];
    larmor_op *A[SETS];
} sets;

static sets random_sets(const scan *s, larmor_dtype dtype, const larmor_sense_opts *opts)
{
    sets all;
    const int64_t each = s->voxels * COILS;
    HEAP cplx *values = random_values(each * SETS, 11);
    all.maps = complex_array(dtype, larmor_shape_append(s->maps_shape, SETS), values);
    for (int m = 0; m < SETS; m++) {
        all.own[m] = complex_array(dtype, s->maps_shape, values + m * each);
        assert_ok(larmor_op_sense(all.own[m], opts, &all.A[m]));
    }
    return all;
}

static void end_sets(sets *all)
{
    larmor_array_free(all->maps);
    for (int m = 0; m < SETS; m++) LMR_FREE(all->own[m], all->A[m]);
}

/* Coil images of several sets add up; the adjoint gives each set its own. */
TEST(several_sets_of_maps_are_a_sum_of_operators)
{
    const larmor_shape images[] = {LARMOR_SHAPE(12), LARMOR_SHAPE(10, 7), LARMOR_SHAPE(6, 5, 4)};
    for (int c = 0; c < 3 * (COILS + 1) * 2; c++) {
        OWNED(scan) s = random_scan(LARMOR_C128, images[c % 3], 1e-6);
        const larmor_sense_opts opts = {.traj = s.traj,
                                        .weights = s.weights_array,
                                        .nufft_tol = 1e-6,
                                        .block = c / 3 % (COILS + 1),
                                        .toeplitz = c / 3 / (COILS + 1) ? 1 : -1};
        OWNED(sets) all = random_sets(&s, LARMOR_C128, &opts);
        OWN(larmor_op, *A, larmor_op_sense(all.maps, &opts, &A));
        const larmor_shape in = larmor_shape_append(s.image, SETS);
        assert_true(larmor_shape_equal(larmor_op_in_shape(A), in));
        assert_true(larmor_shape_equal(larmor_op_out_shape(A), s.kspace_shape));
        assert_at_most(adjoint_error(A, 5), 1e-14);

        HEAP cplx *x = random_values(s.voxels * SETS, 6);
        OWNED(larmor_array) *X = complex_array(LARMOR_C128, in, x), *y = zeros(LARMOR_C128, s.kspace_shape);
        OWNED(larmor_array) *sum = zeros(LARMOR_C128, s.kspace_shape), *part = zeros(LARMOR_C128, s.kspace_shape);
        OWNED(larmor_array) *back = zeros(LARMOR_C128, in), *normal = zeros(LARMOR_C128, in);
        assert_ok(larmor_op_forward(A, X, y));
        assert_ok(larmor_op_adjoint(A, y, back));
        assert_ok(larmor_op_normal(A, X, normal));
        HEAP cplx *got = values_of(back), *quick = values_of(normal);
        for (int m = 0; m < SETS; m++) {
            OWNED(larmor_array) *one = complex_array(LARMOR_C128, s.image, x + m * s.voxels),
                                *z = zeros(LARMOR_C128, s.image);
            assert_ok(larmor_op_forward(all.A[m], one, part));
            assert_ok(larmor_axpby(1, part, 1, sum));
            assert_ok(larmor_op_adjoint(all.A[m], y, z));
            HEAP cplx *expected = values_of(z);
            assert_at_most(difference(got + m * s.voxels, expected, (int)s.voxels), 1e-13);
            assert_at_most(difference(quick + m * s.voxels, expected, (int)s.voxels),
                           opts.toeplitz > 0 ? 1e-5 : 1e-13);
        }
        assert_at_most(apart(y, sum), 1e-13);
    }
}

/* An object that folds: two sets of maps separate what two places have put into one voxel, one set does not. */
TEST(two_sets_unfold_what_one_cannot)
{
    OWNED(scan) s = random_scan(LARMOR_C128, LARMOR_SHAPE(5, 4), 1e-10);
    HEAP cplx *maps = random_values(s.voxels * COILS * 2, 11), *x = random_values(s.voxels * 2, 6);
    const larmor_shape shape = larmor_shape_append(s.maps_shape, 2), in = larmor_shape_append(s.image, 2);
    const larmor_sense_opts opts = {.traj = s.traj, .nufft_tol = 1e-10};
    const larmor_solve_opts solve = {.max_iter = 500, .tol = 1e-8};
    OWNED(larmor_array) *both = complex_array(LARMOR_C128, shape, maps),
                        *one = complex_array(LARMOR_C128, s.maps_shape, maps);
    OWNED(larmor_array) *X = complex_array(LARMOR_C128, in, x), *y = zeros(LARMOR_C128, s.kspace_shape);
    OWNED(larmor_array) *found = zeros(LARMOR_C128, in), *single = zeros(LARMOR_C128, s.image);
    OWNED(larmor_array) *rest = zeros(LARMOR_C128, s.kspace_shape);
    larmor_report report;
    double left = 0, all = 0;
    OWN(larmor_op, *A, larmor_op_sense(both, &opts, &A));
    OWN(larmor_op, *B, larmor_op_sense(one, &opts, &B));
    assert_ok(larmor_op_forward(A, X, y));
    assert_ok(larmor_cg(A, y, found, &solve, &report));
    assert_at_most(away(found, x, (int)s.voxels * 2), 1e-5);
    assert_ok(larmor_cg(B, y, single, &solve, &report));
    assert_ok(larmor_op_forward(B, single, rest));
    assert_ok(larmor_axpby(1, y, -1, rest));
    assert_ok(larmor_nrm2(rest, &left));
    assert_ok(larmor_nrm2(y, &all));
    assert_true(left > 0.2 * all);
}
