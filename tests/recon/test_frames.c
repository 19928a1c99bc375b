/* recon/ops/frames.c. SPDX-License-Identifier: Apache-2.0 */
#include "core/device.h"
#include "tests/recon/support.h"

enum { NX = 6, NY = 5, VOXELS = NX * NY, FRAMES = 3, MOST = 12 };

/* NUFFTs over random points, samples[t] of them in frame t. */
static void random_ops(larmor_dtype dtype, const int samples[FRAMES], larmor_op *ops[FRAMES])
{
    for (int t = 0; t < FRAMES; t++) {
        HEAP double *k = random_points(LARMOR_SHAPE(NX, NY), samples[t], (uint64_t)t + 1);
        OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, samples[t]), k);
        assert_ok(larmor_op_nufft(
            dev, &(larmor_nufft_opts){.ndim = 2, .modes = {NX, NY}, .tol = 1e-4, .dtype = dtype}, traj, &ops[t]));
    }
}

static void free_ops(larmor_op *ops[FRAMES])
{
    for (int t = 0; t < FRAMES; t++) larmor_op_free(ops[t]);
}

static void expect_frame_by_frame(const int samples[FRAMES], larmor_shape out)
{
    /* A GPU's library of matrix products may add in another order from one call to the next. */
    const double rounding = strncmp(larmor_device_spec(dev), "cpu", 3) ? 1e-15 : 0;
    larmor_op *ops[FRAMES], *A;
    random_ops(LARMOR_C128, samples, ops);
    assert_ok(larmor_op_frames(ops, FRAMES, &A));
    assert_true(larmor_shape_equal(larmor_op_in_shape(A), LARMOR_SHAPE(NX, NY, FRAMES)));
    assert_true(larmor_shape_equal(larmor_op_out_shape(A), out));
    HEAP cplx *x = random_values(VOXELS * FRAMES, 4);
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, larmor_op_in_shape(A), x), *y = zeros(LARMOR_C128, out);
    OWNED(larmor_array) *z = zeros(LARMOR_C128, larmor_op_in_shape(A));
    assert_ok(larmor_op_forward(A, in, y));
    assert_ok(larmor_op_adjoint(A, y, z));
    HEAP cplx *got = values_of(y), *back = values_of(z);
    for (int t = 0, first = 0; t < FRAMES; first += samples[t++]) {
        OWNED(larmor_array) *one = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY), x + VOXELS * t);
        OWNED(larmor_array) *samples_of_one = zeros(LARMOR_C128, LARMOR_SHAPE(samples[t]));
        assert_ok(larmor_op_forward(ops[t], one, samples_of_one));
        cplx *expected = values_of(samples_of_one);
        assert_at_most(difference(got + first, expected, samples[t]), rounding);
        free(expected);
        assert_ok(larmor_op_adjoint(ops[t], samples_of_one, one));
        expected = values_of(one);
        assert_at_most(difference(back + VOXELS * t, expected, VOXELS), rounding);
        free(expected);
    }
    larmor_op_free(A);
    free_ops(ops);
}

TEST(every_frame_has_its_own_operator)
{
    expect_frame_by_frame((int[]){9, 9, 9}, LARMOR_SHAPE(9, FRAMES));
}

TEST(ragged_frames_make_one_long_vector)
{
    expect_frame_by_frame((int[]){9, 5, MOST}, LARMOR_SHAPE(26));
}

TEST(the_adjoint_is_exact)
{
    for (int c = 0; c < 4; c++) {
        larmor_op *ops[FRAMES], *A;
        random_ops(c % 2 ? LARMOR_C128 : LARMOR_C64, c / 2 ? (int[]){9, 5, MOST} : (int[]){9, 9, 9}, ops);
        assert_ok(larmor_op_frames(ops, FRAMES, &A));
        free_ops(ops); /* A keeps its own references */
        assert_at_most(adjoint_error(A, 5), c % 2 ? 1e-14 : 1e-6);
        larmor_op_free(A);
    }
}

static larmor_status triple(void *self LMR_UNUSED, const larmor_array *x, larmor_array *y)
{
    return larmor_axpby(3, x, 0, y);
}

TEST(the_operators_own_normal_maps_survive)
{
    static const larmor_op_impl impl = {"triple", triple, triple, NULL, NULL};
    larmor_op *ops[FRAMES], *A, *N;
    random_ops(LARMOR_C128, (int[]){9, 5, MOST}, ops);
    assert_ok(larmor_op_create(dev, &impl, NULL, LARMOR_C128, LARMOR_SHAPE(NX, NY), LARMOR_SHAPE(NX, NY), &N));
    larmor_op *with = MADE(larmor_op, larmor_op_with_normal(ops[1], N, &made));
    LMR_FREE(ops[1], N);
    ops[1] = with;
    assert_ok(larmor_op_frames(ops, FRAMES, &A));
    HEAP cplx *x = random_values(VOXELS * FRAMES, 4);
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, larmor_op_in_shape(A), x);
    OWNED(larmor_array) *y = zeros(LARMOR_C128, larmor_op_out_shape(A)),
                        *z = zeros(LARMOR_C128, larmor_op_in_shape(A));
    OWNED(larmor_array) *normal = zeros(LARMOR_C128, larmor_op_in_shape(A));
    assert_ok(larmor_op_forward(A, in, y));
    assert_ok(larmor_op_adjoint(A, y, z));
    assert_ok(larmor_op_normal(A, in, normal));
    HEAP cplx *got = values_of(normal), *expected = values_of(z);
    for (int v = 0; v < VOXELS; v++) expected[VOXELS + v] = 3 * x[VOXELS + v];
    assert_at_most(difference(got, expected, VOXELS * FRAMES), 1e-15);
    larmor_op_free(A);
    free_ops(ops);
}

TEST(frames_apart_give_the_same_bits)
{
    enum { MANY = 13 };
    const larmor_dtype dtype[] = {LARMOR_C64, LARMOR_C128};
    for (int c = 0; c < 4; c++) {
        const int ragged = c / 2;
        larmor_op *ops[MANY], *A[2];
        for (int t = 0; t < MANY; t++) {
            const int64_t samples = ragged ? 5 + t : 9;
            HEAP double *k = random_points(LARMOR_SHAPE(NX, NY), samples, (uint64_t)t + 1);
            OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, samples), k);
            const larmor_nufft_opts opts = {.ndim = 2, .modes = {NX, NY}, .tol = 1e-4, .dtype = dtype[c % 2]};
            OWN(larmor_op, *F, larmor_op_nufft(dev, &opts, traj, &F));
            OWN(larmor_op, *N, larmor_op_toeplitz(dev, &opts, traj, NULL, &N));
            assert_ok(larmor_op_with_normal(F, N, &ops[t]));
        }
        assert_ok(larmor_op_frames(ops, MANY, &A[0]));
        assert_ok(larmor_op_frames_apart(ops, MANY, &A[1]));
        for (int t = 0; t < MANY; t++) larmor_op_free(ops[t]);
        const larmor_shape in = larmor_op_in_shape(A[0]), out = larmor_op_out_shape(A[0]);
        assert_true(larmor_shape_equal(out, larmor_op_out_shape(A[1])));
        cplx *x = random_values(VOXELS * MANY, 4), *got[2][3];
        for (int i = 0; i < 2; i++) {
            OWNED(larmor_array) *image = complex_array(dtype[c % 2], in, x);
            OWNED(larmor_array) *y = zeros(dtype[c % 2], out), *z = zeros(dtype[c % 2], in),
                                *n = zeros(dtype[c % 2], in);
            assert_ok(larmor_op_forward(A[i], image, y));
            assert_ok(larmor_op_adjoint(A[i], y, z));
            assert_ok(larmor_op_normal(A[i], image, n));
            got[i][0] = values_of(y);
            got[i][1] = values_of(z);
            got[i][2] = values_of(n);
            larmor_op_free(A[i]);
        }
        /* a GPU adds in another order each time */
        const double rounding = c % 2 ? 1e-13 : 1e-5;
        const double limit = lmr_device_is_processor(dev) ? 0 : rounding;
        const int64_t counts[3] = {larmor_shape_count(out), VOXELS * MANY, VOXELS * MANY};
        for (int k = 0; k < 3; k++) {
            assert_at_most(difference(got[1][k], got[0][k], (int)counts[k]), limit);
            LMR_FREE(got[0][k], got[1][k]);
        }
        free(x);
    }
}

static larmor_status refuse(void *self, const larmor_array *x LMR_UNUSED, larmor_array *y LMR_UNUSED)
{
    return larmor_fail(LARMOR_ERR_NUMERIC, "frame %d is not for this", *(const int *)self);
}

/* The first frame in their order that fails is named, whichever thread had it. */
TEST(the_first_frame_that_fails_is_named)
{
    enum { MANY = 8 };
    static const larmor_op_impl good = {"triple", triple, triple, NULL, NULL},
                                bad = {"refuse", refuse, refuse, NULL, NULL};
    static int number[MANY] = {0, 1, 2, 3, 4, 5, 6, 7};
    const larmor_shape shape = LARMOR_SHAPE(NX, NY), all = LARMOR_SHAPE(NX, NY, MANY);
    for (int apart = 0; apart < 2; apart++) {
        larmor_op *ops[MANY], *A;
        for (int t = 0; t < MANY; t++)
            assert_ok(larmor_op_create(dev, t < 3 ? &good : &bad, &number[t], LARMOR_C64, shape, shape, &ops[t]));
        assert_ok((apart ? larmor_op_frames_apart : larmor_op_frames)(ops, MANY, &A));
        OWNED(larmor_array) *x = zeros(LARMOR_C64, all), *y = zeros(LARMOR_C64, all);
        for (int i = 0; i < 5; i++)
            assert_refused(larmor_op_forward(A, x, y), LARMOR_ERR_NUMERIC, "frame 3 is not for this");
        larmor_op_free(A);
        for (int t = 0; t < MANY; t++) larmor_op_free(ops[t]);
    }
}

TEST(unusable_operators_are_named)
{
    larmor_op *ops[FRAMES], *A;
    random_ops(LARMOR_C128, (int[]){9, 9, 9}, ops);
    assert_refused(larmor_op_frames(ops, 0, &A), LARMOR_ERR_ARG, "frames: got 0 operators, expected at least 1");
    assert_null(A);
    larmor_op *gap[] = {ops[0], NULL};
    assert_refused(larmor_op_frames(gap, 2, &A), LARMOR_ERR_ARG, "frames: operator 1 is NULL");
    OWNED(larmor_array) *d = zeros(LARMOR_C128, LARMOR_SHAPE(NY, NX));
    OWN(larmor_op, *D, larmor_op_diag(d, &D));
    larmor_op *mixed[] = {ops[0], D};
    assert_refused(larmor_op_frames(mixed, 2, &A), LARMOR_ERR_SHAPE, "frames: input of operator 1 is c128 [5, 6] on");
    assert_null(A);
    free_ops(ops);
}
