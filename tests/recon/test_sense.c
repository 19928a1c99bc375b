/* recon/ops/sense.c: the operator as a sum, its adjoint, its normal map and its weights. SPDX-License-Identifier:
 * Apache-2.0 */
#include "tests/recon/sense_support.h"

static void expect_direct_sum(larmor_shape image)
{
    OWNED(scan) s = random_scan(LARMOR_C128, image, 1e-10);
    HEAP cplx *x = random_values(s.voxels, 4), *seen = malloc((size_t)s.voxels * sizeof *seen);
    cplx expected[M * COILS];
    for (int c = 0; c < COILS; c++) {
        for (int64_t i = 0; i < s.voxels; i++) seen[i] = s.maps[i + s.voxels * c] * x[i];
        direct_forward(seen, image, s.k, M, expected + M * c);
        for (int j = 0; j < M; j++) expected[j + M * c] *= sqrt(s.weights[j]);
    }
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, image, x), *out = zeros(LARMOR_C128, s.kspace_shape);
    assert_ok(larmor_op_forward(s.A, in, out));
    assert_at_most(away(out, expected, M * COILS), 2e-10);
}

TEST(it_is_the_weighted_fourier_sum_of_the_coil_images_in_2d)
{
    expect_direct_sum(LARMOR_SHAPE(10, 7));
}

TEST(it_is_the_weighted_fourier_sum_of_the_coil_images_in_3d)
{
    expect_direct_sum(LARMOR_SHAPE(6, 5, 8));
}

TEST(the_adjoint_is_exact)
{
    const larmor_dtype dtype[] = {LARMOR_C64, LARMOR_C128};
    const double limit[] = {1e-6, 1e-14};
    for (int i = 0; i < 2; i++) {
        OWNED(scan) s = random_scan(dtype[i], LARMOR_SHAPE(10, 7), i ? 1e-10 : 1e-4);
        assert_at_most(adjoint_error(s.A, 5), limit[i]);
    }
}

static larmor_op *sense_of(const scan *s, int weighted, double tol, int64_t block, int toeplitz)
{
    const larmor_sense_opts opts = {.traj = s->traj,
                                    .weights = weighted ? s->weights_array : NULL,
                                    .nufft_tol = tol,
                                    .block = block,
                                    .toeplitz = toeplitz};
    larmor_op *A = MADE(larmor_op, larmor_op_sense(s->maps_array, &opts, &made));
    assert_int_equal(larmor_sense_uses_toeplitz(A), toeplitz > 0);
    return A;
}

TEST(the_normal_map_is_the_adjoint_after_the_forward_map)
{
    for (int c = 0; c < 2 * 2 * 3; c++) { /* for Toeplitz to the tolerance, else to rounding */
        OWNED(scan) s = random_scan(LARMOR_C128, LARMOR_SHAPE(10, 7), 1e-10);
        OWNED(larmor_op) *A = sense_of(&s, c % 2, 1e-10, c / 4, c / 2 % 2 ? 1 : -1);
        assert_at_most(normal_apart(A), c / 2 % 2 ? 2e-10 : 1e-14);
    }
}

TEST(it_is_the_chain_of_a_nufft_with_a_toeplitz_normal_map_and_the_coils)
{
    OWNED(scan) s = random_scan(LARMOR_C128, LARMOR_SHAPE(10, 7), 1e-10);
    const larmor_nufft_opts nufft = {.ndim = 2, .modes = {10, 7}, .batch = COILS, .tol = 1e-10, .dtype = LARMOR_C128};
    larmor_op *F, *T, *FT, *S, *chain, *A[2] = {sense_of(&s, 0, 1e-10, 0, 1), sense_of(&s, 0, 1e-10, 2, -1)};
    assert_ok(larmor_op_nufft(dev, &nufft, s.traj, &F));
    assert_ok(larmor_op_toeplitz(dev, &nufft, s.traj, NULL, &T));
    assert_ok(larmor_op_with_normal(F, T, &FT));
    assert_ok(larmor_op_coils(s.maps_array, &S));
    assert_ok(larmor_op_chain(FT, S, &chain));
    OWNED(larmor_array) *in = drawn(LARMOR_C128, s.image, 6), *z = zeros(LARMOR_C128, s.image);
    assert_ok(larmor_op_normal(chain, in, z));
    HEAP cplx *expected = values_of(z);
    for (int i = 0; i < 2; i++) {
        assert_ok(larmor_op_normal(A[i], in, z));
        assert_at_most(away(z, expected, 70), i ? 2e-10 : 1e-14);
        larmor_op_free(A[i]);
    }
    assert_int_equal(larmor_sense_uses_toeplitz(chain), 0);
    LMR_FREE(chain, S, FT, T, F);
}

TEST(without_weights_they_are_one)
{
    OWNED(scan) s = random_scan(LARMOR_C128, LARMOR_SHAPE(10, 7), 1e-10);
    double ones[M];
    for (int j = 0; j < M; j++) ones[j] = 1;
    OWNED(larmor_array) *w = real_array(LARMOR_SHAPE(SAMPLES, READOUTS), ones);
    OWNED(larmor_array) *in = drawn(LARMOR_C128, s.image, 6);
    larmor_array *y[2] = {zeros(LARMOR_C128, s.kspace_shape), zeros(LARMOR_C128, s.kspace_shape)};
    cplx *values[2];
    for (int i = 0; i < 2; i++) {
        OWN(larmor_op, *A,
            larmor_op_sense(s.maps_array, &(larmor_sense_opts){.traj = s.traj, .weights = i ? w : NULL}, &A));
        assert_ok(larmor_op_forward(A, in, y[i]));
        values[i] = values_of(y[i]);
    }
    assert_at_most(difference(values[1], values[0], M * COILS), 0);
    for (int i = 0; i < 2; i++) LMR_FREE(values[i], y[i]);
}

TEST(unusable_inputs_are_named)
{
    OWNED(scan) s = random_scan(LARMOR_C64, LARMOR_SHAPE(10, 7), 0);
    assert_none_made(larmor_op, larmor_op_sense(s.maps_array, NULL, &made), LARMOR_ERR_ARG,
                     "sense: no trajectory given");
    assert_none_made(larmor_op,
                     larmor_op_sense(s.maps_array, &(larmor_sense_opts){.traj = s.traj, .iters = -1}, &made),
                     LARMOR_ERR_ARG, "sense: iters is -1");
    const larmor_sense_opts backwards = {.traj = s.traj, .block = -1};
    assert_none_made(larmor_op, larmor_op_sense(s.maps_array, &backwards, &made), LARMOR_ERR_ARG,
                     "sense: block is -1 coils");
    OWNED(larmor_array) *image; /* maps without coils */
    assert_ok(larmor_array_reshape(s.maps_array, LARMOR_SHAPE(10, larmor_array_count(s.maps_array) / 10), &image));
    for (int toeplitz = -1; toeplitz <= 1; toeplitz++) {
        const larmor_sense_opts opts = {.traj = s.traj, .toeplitz = toeplitz};
        assert_none_made(larmor_op, larmor_op_sense(image, &opts, &made), LARMOR_ERR_SHAPE,
                         "sense: maps are c64 [10, ");
    }
    OWNED(larmor_array) *no_coils = zeros(LARMOR_C64, LARMOR_SHAPE(10, 7, 0));
    assert_none_made(larmor_op, larmor_op_sense(no_coils, &(larmor_sense_opts){.traj = s.traj}, &made),
                     LARMOR_ERR_SHAPE, "sense: maps are c64 [10, 7, 0]");
    s.weights[11] = -2;
    OWNED(larmor_array) *negative = real_array(LARMOR_SHAPE(SAMPLES, READOUTS), s.weights);
    const larmor_sense_opts bad = {.traj = s.traj, .weights = negative};
    assert_none_made(larmor_op, larmor_op_sense(s.maps_array, &bad, &made), LARMOR_ERR_ARG,
                     "sense: element 11 of the weights is -2, expected");
    OWNED(larmor_array) *few = real_array(LARMOR_SHAPE(SAMPLES, READOUTS - 1), s.weights);
    const larmor_sense_opts short_weights = {.traj = s.traj, .weights = few};
    assert_none_made(larmor_op, larmor_op_sense(s.maps_array, &short_weights, &made), LARMOR_ERR_SHAPE,
                     "sense: weight array is f64 [6, 4] on");
}

TEST(data_are_weighed_by_the_root_of_the_weights)
{
    const larmor_dtype dtype[] = {LARMOR_C64, LARMOR_C128};
    for (int p = 0; p < 2; p++) {
        OWNED(scan) s = random_scan(dtype[p], LARMOR_SHAPE(10, 7), 1e-5);
        HEAP cplx *values = random_values(M * COILS, 5);
        OWNED(larmor_array) *b = complex_array(dtype[p], s.kspace_shape, values);
        assert_ok(larmor_sense_weigh(NULL, b));
        assert_at_most(away(b, values, M * COILS), 1e-7);
        assert_ok(larmor_sense_weigh(s.weights_array, b));
        for (int i = 0; i < M * COILS; i++) values[i] *= sqrt(s.weights[i % M]);
        HEAP cplx *got = values_of(b);
        assert_at_most(difference(got, values, M * COILS), p ? 1e-15 : 2e-7);
        assert_true(got[7] == 0);
    }
}

/* Data without noise and off the model have one solution, whatever their weights. */
TEST(weights_do_not_move_the_solution_of_data_that_fit)
{
    OWNED(scan) s = random_scan(LARMOR_C128, LARMOR_SHAPE(5, 4), 1e-10);
    HEAP cplx *truth = random_values(s.voxels, 4);
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, s.image, truth), *b = zeros(LARMOR_C128, s.kspace_shape);
    OWNED(larmor_array) *x = zeros(LARMOR_C128, s.image);
    OWN(larmor_op, *plain,
        larmor_op_sense(s.maps_array, &(larmor_sense_opts){.traj = s.traj, .nufft_tol = 1e-10}, &plain));
    assert_ok(larmor_op_forward(plain, in, b));
    assert_ok(larmor_sense_weigh(s.weights_array, b));
    assert_ok(larmor_cg(s.A, b, x, &(larmor_solve_opts){.max_iter = 200, .tol = 1e-10}, NULL));
    assert_at_most(away(x, truth, s.voxels), 1e-6);
}
