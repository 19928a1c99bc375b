/* recon/slabs/sense_turns.c: the same operator as one of each frame, with the memory of one. SPDX-License-Identifier:
 * Apache-2.0 */
#include "tests/recon/support.h"

enum { FRAMES = 4, COILS = 4 };

/* Readouts of 6 samples of each frame. */
typedef struct series {
    larmor_array *maps, *traj[FRAMES], *weights[FRAMES];
    larmor_op *apart, *in_turn;
} series;

static series series_of(larmor_dtype dtype, larmor_shape image, const int readouts[FRAMES], int weighted,
                        int64_t block, double tol)
{
    HEAP cplx *maps = random_values(larmor_shape_count(image) * COILS, 1);
    series s = {.maps = complex_array(dtype, larmor_shape_append(image, COILS), maps)};
    larmor_sense_opts opts[FRAMES] = {{.traj = NULL}};
    larmor_op *ops[FRAMES];
    for (int t = 0; t < FRAMES; t++) {
        const int m = 6 * readouts[t];
        HEAP double *k = random_points(image, m, (uint64_t)t + 2), *w = malloc((size_t)m * sizeof *w);
        uint64_t seed = (uint64_t)t + 9;
        for (int j = 0; j < m; j++) w[j] = 1 + test_random(&seed);
        w[3] = 0;
        s.traj[t] = real_array(LARMOR_SHAPE(image.ndim, 6, readouts[t]), k);
        if (weighted) s.weights[t] = real_array(LARMOR_SHAPE(6, readouts[t]), w);
        opts[t] = (larmor_sense_opts){
            .traj = s.traj[t], .weights = s.weights[t], .nufft_tol = tol, .block = block, .toeplitz = -1};
        assert_ok(larmor_op_sense(s.maps, &opts[t], &ops[t]));
    }
    assert_ok(larmor_op_frames(ops, FRAMES, &s.apart));
    assert_ok(larmor_op_sense_turns(s.maps, opts, FRAMES, &s.in_turn));
    for (int t = 0; t < FRAMES; t++) larmor_op_free(ops[t]);
    return s;
}

static void end_series(series *s)
{
    for (int t = 0; t < FRAMES; t++) LMR_FREE(s->traj[t], s->weights[t]);
    LMR_FREE(s->maps, s->apart, s->in_turn);
}

static const int even[FRAMES] = {5, 5, 5, 5};
static const int ragged[FRAMES] = {3, 9, 1, 4};

typedef larmor_status (*map)(larmor_op *A, const larmor_array *x, larmor_array *y);

static void expect_same(const series *s, map f, larmor_shape in, larmor_shape out, double tol)
{
    OWNED(larmor_array) *from = drawn(LARMOR_C128, in, 5), *a = zeros(LARMOR_C128, out), *b = zeros(LARMOR_C128, out);
    assert_ok(f(s->apart, from, a));
    assert_ok(f(s->in_turn, from, b));
    assert_at_most(apart(b, a), tol);
}

TEST(frames_in_turn_have_the_maps_of_sense_of_each)
{
    for (int c = 0; c < 16; c++) {
        const larmor_shape image = c % 2 ? LARMOR_SHAPE(6, 5, 8) : LARMOR_SHAPE(10, 7);
        const int64_t block[] = {0, 1, 2, 3}; /* 3 is no part of 4 coils: 2 are taken */
        OWNED(series) s = series_of(LARMOR_C128, image, c / 2 % 2 ? ragged : even, c / 8, block[c / 4], 1e-10);
        const larmor_shape in = larmor_op_in_shape(s.apart), out = larmor_op_out_shape(s.apart);
        assert_true(larmor_shape_equal(in, larmor_op_in_shape(s.in_turn)));
        assert_true(larmor_shape_equal(out, larmor_op_out_shape(s.in_turn)));
        expect_same(&s, larmor_op_forward, in, out, 1e-9);
        expect_same(&s, larmor_op_adjoint, out, in, 1e-9);
        expect_same(&s, larmor_op_normal, in, in, 1e-9);
    }
}

TEST(the_adjoint_of_frames_in_turn_is_exact_whatever_their_numbers_of_samples)
{
    const int far[FRAMES] = {1, 400, 1, 60};
    for (int c = 0; c < 4; c++) {
        OWNED(series) s =
            series_of(c % 2 ? LARMOR_C128 : LARMOR_C64, LARMOR_SHAPE(12, 10), c / 2 ? far : ragged, 1, 2, 1e-4);
        assert_at_most(adjoint_error(s.in_turn, 5), c % 2 ? 1e-13 : 1e-6);
    }
}

TEST(frames_in_turn_refuse_what_is_not_of_points_alone)
{
    OWNED(series) s = series_of(LARMOR_C64, LARMOR_SHAPE(8, 8), even, 0, 0, 0);
    OWNED(larmor_array) *moved = zeros(LARMOR_F64, LARMOR_SHAPE(8, 8, 2));
    const larmor_sense_opts opts = {.traj = s.traj[0], .displacement = moved};
    OWNED(larmor_op) *A = NULL;
    assert_refused(larmor_op_sense_turns(s.maps, &opts, 1, &A), LARMOR_ERR_UNSUPPORTED,
                   "sense: frames in turn have no segments, no displacement and one set of maps");
}
