/* recon/field/states.c: samples of one image in several states. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { NX = 6, NY = 5, VOXELS = NX * NY, COILS = 2, STATES = 3, MOST = 60 };

/* SENSE with maps of its own over random points [samples, readouts]. */
static larmor_op *random_op(int64_t samples, int64_t readouts, int64_t coils, uint64_t seed)
{
    HEAP double *k = random_points(LARMOR_SHAPE(NX, NY), samples * readouts, seed);
    HEAP cplx *s = random_values(VOXELS * coils, seed + 10);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, samples, readouts), k);
    OWNED(larmor_array) *maps = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY, coils), s);
    return MADE(larmor_op, larmor_op_sense(maps, &(larmor_sense_opts){.traj = traj, .toeplitz = -1}, &made));
}

/* Forward, adjoint and normal map of all are those of each state, whose samples follow each other in each coil. */
static void expect_each_state(const int64_t samples[STATES], const int64_t readouts[STATES], larmor_shape out)
{
    larmor_op *ops[STATES], *A;
    for (int m = 0; m < STATES; m++) ops[m] = random_op(samples[m], readouts[m], COILS, (uint64_t)m + 1);
    assert_ok(larmor_op_states(ops, STATES, &A));
    assert_true(larmor_shape_equal(larmor_op_out_shape(A), out));
    const int64_t all = out.dim[0] * out.dim[1];
    HEAP cplx *of_y = random_values(all * COILS, 5);
    OWNED(larmor_array) *in = drawn(LARMOR_C128, LARMOR_SHAPE(NX, NY), 4), *y = zeros(LARMOR_C128, out);
    OWNED(larmor_array) *given = complex_array(LARMOR_C128, out, of_y),
                        *back = zeros(LARMOR_C128, LARMOR_SHAPE(NX, NY));
    OWNED(larmor_array) *both = zeros(LARMOR_C128, LARMOR_SHAPE(NX, NY));
    assert_ok(larmor_op_forward(A, in, y));
    assert_ok(larmor_op_adjoint(A, given, back));
    assert_ok(larmor_op_normal(A, in, both));
    HEAP cplx *got = values_of(y), *z = values_of(back), *n = values_of(both);
    cplx sum[VOXELS] = {0}, squares[VOXELS] = {0};
    for (int64_t m = 0, first = 0; m < STATES; first += samples[m] * readouts[m], m++) {
        const int64_t own = samples[m] * readouts[m];
        cplx part[MOST * COILS];
        for (int64_t i = 0; i < own * COILS; i++) part[i] = of_y[first + i % own + all * (i / own)];
        OWNED(larmor_array) *one = zeros(LARMOR_C128, larmor_op_out_shape(ops[m]));
        OWNED(larmor_array) *other = complex_array(LARMOR_C128, larmor_op_out_shape(ops[m]), part);
        OWNED(larmor_array) *image = zeros(LARMOR_C128, LARMOR_SHAPE(NX, NY));
        assert_ok(larmor_op_forward(ops[m], in, one));
        HEAP cplx *expected = values_of(one);
        for (int c = 0; c < COILS; c++)
            assert_at_most(difference(got + first + all * c, expected + own * c, own), 1e-14);
        assert_ok(larmor_op_adjoint(ops[m], other, image));
        HEAP cplx *adjoint = values_of(image);
        assert_ok(larmor_op_normal(ops[m], in, image));
        HEAP cplx *normal = values_of(image);
        for (int i = 0; i < VOXELS; i++) {
            sum[i] += adjoint[i];
            squares[i] += normal[i];
        }
    }
    assert_at_most(difference(z, sum, VOXELS), 1e-13);
    assert_at_most(difference(n, squares, VOXELS), 1e-13);
    for (int m = 0; m < STATES; m++) larmor_op_free(ops[m]);
    larmor_op_free(A);
}

TEST(states_follow_each_other_in_each_coil)
{
    expect_each_state((int64_t[]){4, 4, 4}, (int64_t[]){2, 5, 1}, LARMOR_SHAPE(4, 8, COILS));
}

TEST(states_of_other_numbers_of_samples_make_one_long_readout)
{
    expect_each_state((int64_t[]){4, 6, 3}, (int64_t[]){2, 5, 1}, LARMOR_SHAPE(41, 1, COILS));
}

TEST(states_that_do_not_fit_are_refused)
{
    larmor_op *A = NULL, *ops[2] = {random_op(4, 2, COILS, 1), random_op(4, 2, COILS + 1, 2)};
    assert_refused(larmor_op_states(ops, 2, &A), LARMOR_ERR_SHAPE,
                   "states: operator 1 is of another device, type, image or number of coils than the first");
    assert_refused(larmor_op_states(ops, 0, &A), LARMOR_ERR_ARG, "states: got 0 operators, expected at least 1");
    assert_refused(larmor_op_states((larmor_op *[]){ops[0], NULL}, 2, &A), LARMOR_ERR_ARG,
                   "states: operator 1 is missing");
    assert_null(A);
    for (int m = 0; m < 2; m++) larmor_op_free(ops[m]);
}
