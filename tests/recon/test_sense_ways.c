/* recon/ops/sense.c: the ways to compute it, by Toeplitz, by planes and some coils at a time, are the same operator.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/sense_support.h"

/* Of three trajectories that differ in kz alone: partitions with the same angles, with their own, and none. On a
 * processor the first two go by planes; all are the NUFFT in 3D within the tolerance. */
TEST(partitions_go_by_planes_and_the_rest_by_the_volume)
{
    enum { NZ = 4, SPOKES = 5, ALL = NZ * SPOKES };
    const larmor_shape image = LARMOR_SHAPE(10, 8, NZ);
    const larmor_nufft_opts nufft = {.ndim = 3, .modes = {10, 8, NZ}, .batch = COILS, .dtype = LARMOR_C128};
    OWNED(larmor_array) *m = drawn(LARMOR_C128, larmor_shape_append(image, COILS), 1);
    OWNED(larmor_array) *x = drawn(LARMOR_C128, image, 2);
    for (int t = 0; t < 3; t++) {
        double k[ALL][SAMPLES][3];
        for (int j = 0; j < ALL; j++)
            for (int i = 0; i < SAMPLES; i++) {
                const double angle = 1.9 * (j / NZ) + (t ? j % NZ : 0);
                const double r = 8.0 * i / SAMPLES - 4;
                k[j][i][0] = r * cos(angle);
                k[j][i][1] = r * sin(angle);
                k[j][i][2] = j % NZ - NZ / 2 + (t == 2 && j == 7 ? 0.25 : 0);
            }
        OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(3, SAMPLES, ALL), &k[0][0][0]);
        larmor_op *A, *S, *F[2] = {NULL, NULL}, *chain;
        OWNED(larmor_array) *y = zeros(LARMOR_C128, LARMOR_SHAPE(SAMPLES, ALL, COILS));
        assert_ok(larmor_op_sense(m, &(larmor_sense_opts){.traj = traj, .nufft_tol = 1e-6, .toeplitz = -1}, &A));
        assert_ok(larmor_op_forward(A, x, y));
        HEAP cplx *got = values_of(y);
        assert_ok(larmor_op_coils(m, &S));
        larmor_nufft_opts opts = nufft;
        opts.tol = 1e-6;
        assert_ok(larmor_op_nufft(dev, &opts, traj, &F[0]));
        if (t < 2) assert_ok(larmor_op_stack_of_stars(dev, &opts, traj, &F[1]));
        const int is_cpu = !strncmp(larmor_device_spec(dev), "cpu", 3), planes = t < 2 && is_cpu;
        for (int i = 0; i < 2 && F[i]; i++) {
            assert_ok(larmor_op_chain(F[i], S, &chain));
            assert_ok(larmor_op_forward(chain, x, y));
            HEAP cplx *expected = values_of(y);
            assert_at_most(difference(got, expected, SAMPLES * ALL * COILS), 2e-6);
            if (is_cpu) /* the same bits say which way was taken */
                assert_int_equal(!memcmp(got, expected, sizeof *got * SAMPLES * ALL * COILS), i == planes);
            LMR_FREE(chain, F[i]);
        }
        LMR_FREE(S, A);
    }
}

TEST(toeplitz_is_chosen_where_it_pays)
{
    const struct {
        int64_t side, coils, samples, iters;
        int expected;
    } cases[] = {{32, 4, 40000, 30, 1}, {32, 4, 40000, 0, 1}, {32, 1, 40000, 1, 0}, {128, 2, 50, 30, 0}};
    for (int i = 0; i < 4; i++) {
        const larmor_shape image = LARMOR_SHAPE(cases[i].side, cases[i].side);
        HEAP double *k = random_points(image, cases[i].samples, 2);
        OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, cases[i].samples, 1), k);
        OWNED(larmor_array) *maps = zeros(LARMOR_C64, larmor_shape_append(image, cases[i].coils));
        OWN(larmor_op, *A, larmor_op_sense(maps, &(larmor_sense_opts){.traj = traj, .iters = cases[i].iters}, &A));
        assert_int_equal(larmor_sense_uses_toeplitz(A), cases[i].expected);
    }
}

/* With an effort either may win; both are the same map within the tolerance. */
TEST(what_is_timed_is_adjoint_of_forward_still)
{
    const int64_t block[] = {0, 2};
    for (int effort = LARMOR_PLAN_MEASURE; effort <= LARMOR_PLAN_EXHAUSTIVE; effort++)
        for (int i = 0; i < 2; i++)
            for (int toeplitz = -1; toeplitz <= 1; toeplitz++) {
                OWNED(scan) s = random_scan(LARMOR_C128, LARMOR_SHAPE(10, 7), 1e-10);
                const larmor_sense_opts opts = {.traj = s.traj,
                                                .weights = i ? s.weights_array : NULL,
                                                .nufft_tol = 1e-8,
                                                .block = block[i],
                                                .toeplitz = toeplitz,
                                                .effort = (larmor_plan_effort)effort};
                OWN(larmor_op, *A, larmor_op_sense(s.maps_array, &opts, &A));
                if (toeplitz) assert_int_equal(larmor_sense_uses_toeplitz(A), toeplitz > 0);
                const larmor_shape image = larmor_op_in_shape(A);
                OWNED(larmor_array) *x = zeros(LARMOR_C128, image), *y = zeros(LARMOR_C128, larmor_op_out_shape(A)),
                                    *z = zeros(LARMOR_C128, image), *two = zeros(LARMOR_C128, image);
                assert_ok(larmor_fill(x, 1.5));
                assert_ok(larmor_op_normal(A, x, z));
                assert_ok(larmor_op_forward(A, x, y));
                assert_ok(larmor_op_adjoint(A, y, two));
                double norm;
                assert_ok(larmor_nrm2(two, &norm));
                assert_ok(larmor_axpby(-1, two, 1, z));
                assert_at_most(norm_of(z), 4e-8 * norm);
            }
    larmor_wisdom_forget(dev);
}

TEST(what_may_be_timed_is_in_the_estimate_of_memory)
{
    const larmor_problem p = {
        .image = LARMOR_SHAPE(64, 64), .samples = 40000, .coils = 4, .dtype = LARMOR_C64, .weighted = 1};
    larmor_sense_opts opts = {.iters = 30, .toeplitz = -1, .effort = LARMOR_PLAN_MEASURE};
    int64_t pair, on, open;
    assert_ok(larmor_sense_memory(dev, &p, &opts, &pair));
    opts.toeplitz = 1;
    assert_ok(larmor_sense_memory(dev, &p, &opts, &on));
    opts.toeplitz = 0;
    assert_ok(larmor_sense_memory(dev, &p, &opts, &open));
    assert_true(open > on && open > pair); /* both are there at a time */
}

TEST(some_coils_at_a_time_give_the_same_to_rounding)
{
    for (int c = 0; c < 2 * 2 * COILS * 2; c++) { /* a block of COILS and more is all coils at once */
        const larmor_dtype dtype = c % 2 ? LARMOR_C128 : LARMOR_C64;
        const double limit = c % 2 ? 1e-14 : 2e-6;
        OWNED(scan) s = random_scan(dtype, LARMOR_SHAPE(10, 7), 1e-4);
        const larmor_sense_opts opts = {.traj = s.traj,
                                        .weights = c / 2 % 2 ? s.weights_array : NULL,
                                        .nufft_tol = 1e-4,
                                        .block = c / 4 % COILS + 1,
                                        .toeplitz = c / 4 / COILS ? 1 : -1};
        larmor_sense_opts all = opts;
        all.block = 0;
        larmor_op *A[2];
        cplx *x = random_values(70, 6), *y[2], *back[2], *normal[2];
        OWNED(larmor_array) *in = complex_array(dtype, s.image, x);
        for (int i = 0; i < 2; i++) {
            larmor_array *out = zeros(dtype, s.kspace_shape), *z = zeros(dtype, s.image);
            assert_ok(larmor_op_sense(s.maps_array, i ? &opts : &all, &A[i]));
            assert_true(larmor_shape_equal(larmor_op_out_shape(A[i]), s.kspace_shape));
            assert_ok(larmor_op_forward(A[i], in, out));
            assert_ok(larmor_op_adjoint(A[i], out, z));
            y[i] = values_of(out);
            back[i] = values_of(z);
            assert_ok(larmor_op_normal(A[i], in, z));
            normal[i] = values_of(z);
            LMR_FREE(out, z, A[i]);
        }
        assert_at_most(difference(y[1], y[0], M * COILS), limit);
        assert_at_most(difference(back[1], back[0], 70), limit);
        assert_at_most(difference(normal[1], normal[0], 70), limit);
        for (int i = 0; i < 2; i++) LMR_FREE(y[i], back[i], normal[i]);
        free(x);
    }
}

/* y, A^H y and A^H A x, one after the other. */
static cplx *all_maps(larmor_op *A, larmor_array *x)
{
    const larmor_shape in = larmor_op_in_shape(A), out = larmor_op_out_shape(A);
    const int64_t voxels = larmor_shape_count(in), samples = larmor_shape_count(out);
    cplx *all = malloc(sizeof *all * (size_t)(samples + 2 * voxels));
    OWNED(larmor_array) *y = zeros(larmor_op_dtype(A), out), *z = zeros(larmor_op_dtype(A), in);
    assert_ok(larmor_op_forward(A, x, y));
    cplx *values = values_of(y);
    memcpy(all, values, sizeof *all * (size_t)samples);
    free(values);
    for (int i = 0; i < 2; i++) {
        assert_ok(i ? larmor_op_normal(A, x, z) : larmor_op_adjoint(A, y, z));
        values = values_of(z);
        memcpy(all + samples + i * voxels, values, sizeof *all * (size_t)voxels);
        free(values);
    }
    return all;
}

static int is_processor(void)
{
    return !strncmp(larmor_device_spec(dev), "cpu", 3);
}

/* All coils and some at a time, by Toeplitz and without, on the grid, and two sets of maps: an operator that gets
 * other maps is that which is made of them, and its adjoint is what it is in two steps. */
TEST(other_maps_make_the_operator_of_these_maps)
{
    const larmor_shape image = LARMOR_SHAPE(9, 8);
    if (larmor_device_members(dev)) return; /* which share the coils */
    for (int kind = 0; kind < 8; kind++) {
        const larmor_dtype dtype = kind % 2 ? LARMOR_C128 : LARMOR_C64;
        const int sets = kind == 6 ? 2 : 1;
        OWNED(scan) s = random_scan(dtype, image, 1e-5);
        if (kind == 7) { /* on the grid */
            double k[2 * M];
            for (int j = 0; j < 2 * M; j++) k[j] = j % 2 ? j / 12 - 2 : j / 2 % 6 - 3;
            larmor_array_free(s.traj);
            s.traj = real_array(LARMOR_SHAPE(2, SAMPLES, READOUTS), k);
        }
        const larmor_sense_opts opts = {.traj = s.traj,
                                        .weights = kind < 4 ? s.weights_array : NULL,
                                        .block = kind / 2 == 1 ? 2 : 0,
                                        .toeplitz = kind / 4 ? -1 : 1};
        larmor_shape shape = s.maps_shape, in = s.image;
        if (sets > 1) shape = larmor_shape_append(shape, sets);
        if (sets > 1) in = larmor_shape_append(in, sets);
        OWNED(larmor_array) *before = drawn(dtype, shape, 11), *after = drawn(dtype, shape, 12);
        OWNED(larmor_array) *x = drawn(dtype, in, 13);
        larmor_op *A, *B;
        assert_ok(larmor_op_sense(before, &opts, &A));
        free(all_maps(A, x)); /* whose work arrays are not empty */
        assert_ok(larmor_sense_set_maps(A, after));
        assert_ok(larmor_op_sense(after, &opts, &B));
        HEAP cplx *got = all_maps(A, x), *expected = all_maps(B, x);
        const int64_t voxels = larmor_shape_count(in), count = M * COILS + 2 * voxels;
        if (is_processor()) assert_memory_equal(got, expected, sizeof *got * (size_t)count);
        assert_at_most(difference(got, expected, count), 1e-5);

        OWNED(larmor_array) *y = zeros(dtype, s.kspace_shape), *images = zeros(dtype, s.maps_shape),
                            *z = zeros(dtype, in);
        assert_ok(larmor_op_forward(B, x, y));
        assert_ok(larmor_sense_coil_images(B, y, images));
        larmor_op_free(B);
        assert_ok(larmor_sense_combine(A, images, z));
        HEAP cplx *two = values_of(z);
        if (is_processor()) assert_memory_equal(two, expected + M * COILS, sizeof *two * (size_t)voxels);
        assert_at_most(difference(two, expected + M * COILS, voxels), 1e-5);

        OWNED(larmor_array) *fewer = zeros(dtype, LARMOR_SHAPE(9, 8, COILS - 1));
        assert_int_equal(larmor_sense_set_maps(A, fewer), LARMOR_ERR_SHAPE);
        assert_int_equal(larmor_sense_coil_images(A, y, fewer), LARMOR_ERR_SHAPE);
        assert_int_equal(larmor_sense_combine(A, fewer, z), LARMOR_ERR_SHAPE);
        HEAP cplx *still = all_maps(A, x);
        assert_at_most(difference(still, expected, count), 1e-5);
        larmor_op_free(A);
    }
}

TEST(operators_of_another_kind_get_no_other_maps)
{
    OWNED(scan) s = random_scan(LARMOR_C64, LARMOR_SHAPE(9, 8), 1e-5);
    OWNED(larmor_array) *x = zeros(LARMOR_C64, s.image);
    OWN(larmor_op, *S, larmor_op_coils(s.maps_array, &S));
    assert_int_equal(larmor_sense_set_maps(S, s.maps_array), LARMOR_ERR_UNSUPPORTED);
    assert_int_equal(larmor_sense_coil_images(S, s.maps_array, s.maps_array), LARMOR_ERR_UNSUPPORTED);
    assert_refused(larmor_sense_combine(S, s.maps_array, x), LARMOR_ERR_UNSUPPORTED,
                   "sense: the operator is coils, expected one of larmor_op_sense whose coils are on one device");
}
