/* The NUFFT as an operator: shapes and the adjoint. SPDX-License-Identifier: Apache-2.0 */
#include "tests/nufft/direct.h"

static larmor_array *random_traj(int ndim, const int64_t *modes, int64_t samples, int64_t readouts)
{
    uint64_t state = 31;
    HEAP double *points = malloc((size_t)(ndim * samples * readouts) * sizeof *points);
    for (int64_t i = 0; i < ndim * samples * readouts; i++)
        points[i] = test_random(&state) * (double)modes[i % ndim] / 2;
    larmor_array *traj =
        MADE(larmor_array, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(ndim, samples, readouts), &made));
    assert_ok(larmor_array_write(traj, points, larmor_array_bytes(traj)));
    return traj;
}

TEST(forward_and_adjoint_are_adjoint_to_rounding)
{
    static const int64_t sizes[3][3] = {{200, 1, 1}, {40, 37, 1}, {6, 15, 16}};
    static const double tolerances[2][3] = {{1e-2, 1e-4, 1e-6}, {1e-3, 1e-8, 1e-13}};
    for (int precision = 0; precision < 2; precision++)
        for (int ndim = 1; ndim <= 3; ndim++)
            for (int i = 0; i < 3; i++) {
                larmor_nufft_opts o = {.ndim = ndim,
                                       .batch = 2,
                                       .tol = tolerances[precision][i],
                                       .dtype = precision ? LARMOR_C128 : LARMOR_C64};
                memcpy(o.modes, sizes[ndim - 1], sizeof o.modes);
                OWNED(larmor_array) *traj = random_traj(ndim, o.modes, 500, 100);
                OWN(larmor_op, *A, larmor_op_nufft(dev, &o, traj, &A));
                assert_at_most(adjoint_error(A, 17 + (uint64_t)i), precision ? 1e-14 : 1e-6);
            }
}

/* tol at which deconvolution by the widest windows amplifies no rounding, and one at which it may. */
TEST(wide_windows_at_a_low_upsampling_are_adjoint_to_rounding_where_tol_leaves_room)
{
    static const int64_t sizes[3][3] = {{200, 1, 1}, {60, 57, 1}, {24, 22, 20}};
    static const double factors[] = {1.15, 1.25, 1.35}, tolerances[] = {1e-2, 1e-6}, limits[] = {1e-14, 1e-10};
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int i = 0; i < 3; i++)
            for (int width = 12; width <= 16; width += 2)
                for (int k = 0; k < 2; k++) {
                    larmor_nufft_opts o = {
                        .ndim = ndim, .width = width, .upsample = factors[i], .tol = tolerances[k]};
                    o.dtype = LARMOR_C128;
                    memcpy(o.modes, sizes[ndim - 1], sizeof o.modes);
                    OWNED(larmor_array) *traj = random_traj(ndim, o.modes, 200, 4);
                    OWN(larmor_op, *A, larmor_op_nufft(dev, &o, traj, &A));
                    assert_at_most(adjoint_error(A, 17), limits[k]);
                }
}

TEST(the_shapes_are_those_of_the_image_and_of_the_trajectory)
{
    larmor_nufft_opts o = {.ndim = 2, .modes = {12, 10}};
    OWNED(larmor_array) *traj = random_traj(2, o.modes, 7, 5), *flat;
    larmor_op *A = MADE(larmor_op, larmor_op_nufft(dev, &o, traj, &made));
    assert_true(larmor_shape_equal(larmor_op_in_shape(A), LARMOR_SHAPE(12, 10)));
    assert_true(larmor_shape_equal(larmor_op_out_shape(A), LARMOR_SHAPE(7, 5)));
    assert_int_equal(larmor_op_dtype(A), LARMOR_C64);
    larmor_op_free(A);
    o.batch = 3;
    o.dtype = LARMOR_F64;
    assert_ok(larmor_array_reshape(traj, LARMOR_SHAPE(2, 35), &flat));
    assert_ok(larmor_op_nufft(dev, &o, flat, &A));
    assert_true(larmor_shape_equal(larmor_op_in_shape(A), LARMOR_SHAPE(12, 10, 3)));
    assert_true(larmor_shape_equal(larmor_op_out_shape(A), LARMOR_SHAPE(35, 3)));
    assert_int_equal(larmor_op_dtype(A), LARMOR_C128);
    larmor_op_free(A);
}

TEST(forward_is_the_direct_sum_with_a_minus_sign)
{
    const larmor_nufft_opts o = {.ndim = 2, .modes = {9, 8}, .tol = 1e-10, .dtype = LARMOR_C128};
    OWNED(larmor_array) *traj = random_traj(2, o.modes, 11, 3), *y;
    uint64_t seed = 3;
    double points[2 * 33];
    double _Complex *x = random_values(72, LARMOR_C128, &seed), truth[33], got[33];
    assert_ok(larmor_array_read(traj, points, sizeof points));
    direct_nufft(2, -1, 2, o.modes, 33, points, x, truth);
    OWN(larmor_op, *A, larmor_op_nufft(dev, &o, traj, &A));
    OWNED(larmor_array) *in = to_device(LARMOR_C128, 72, x), *image;
    assert_ok(larmor_array_reshape(in, LARMOR_SHAPE(9, 8), &image));
    assert_ok(larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(11, 3), &y));
    assert_ok(larmor_op_forward(A, image, y));
    to_host(y, got);
    assert_at_most(relative_l2(33, got, truth), 1e-10);
    free(x);
}

TEST(trajectories_that_do_not_fit_are_refused)
{
    const larmor_nufft_opts o = {.ndim = 3, .modes = {9, 8, 7}};
    OWNED(larmor_array) *traj = random_traj(2, o.modes, 11, 3);
    assert_none_made(larmor_op, larmor_op_nufft(dev, &o, traj, &made), LARMOR_ERR_SHAPE,
                     "nufft: traj is f64 [2, 11, 3] on ");
}
