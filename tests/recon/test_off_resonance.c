/* recon/field/off_resonance.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { NX = 9, NY = 8, VOXELS = NX * NY, SAMPLES = 13, READOUTS = 4, M = SAMPLES * READOUTS, COILS = 2 };

typedef struct scan {
    double *k, field[VOXELS], times[M];
    larmor_array *field_array, *times_array;
    larmor_op *F;
} scan;

/* Frequencies of -150 .. 350 Hz in two humps with a gap, and readouts of 8 ms whose echo times differ. */
static scan random_scan(larmor_dtype dtype, double tol, int64_t coils)
{
    scan s = {.k = random_points(LARMOR_SHAPE(NX, NY), M, 1)};
    uint64_t seed = 2;
    for (int i = 0; i < VOXELS; i++) s.field[i] = (i % 5 ? -100 : 300) + 50 * test_random(&seed);
    for (int j = 0; j < M; j++) s.times[j] = 2e-3 + 8e-3 * (j % SAMPLES) / SAMPLES + 1e-4 * (j / SAMPLES % 2);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, SAMPLES, READOUTS), s.k);
    s.field_array = real_array(LARMOR_SHAPE(NX, NY), s.field);
    s.times_array = real_array(LARMOR_SHAPE(SAMPLES, READOUTS), s.times);
    const larmor_nufft_opts opts = {.ndim = 2, .modes = {NX, NY}, .batch = coils, .tol = tol, .dtype = dtype};
    assert_ok(larmor_op_nufft(dev, &opts, traj, &s.F));
    return s;
}

LMR_FREES(end_scan, scan, F, field_array, times_array, k)

/* One voxel's signal at one sample, with the phase of the definition. */
static cplx signal_of(const scan *s, int i, int j)
{
    return cexp(-2 * M_PI * I * cycles(s->k + 2 * j, LARMOR_SHAPE(NX, NY), i)) *
           cexp(+2 * M_PI * I * s->field[i] * s->times[j]);
}

TEST(it_is_the_sum_with_the_phase_of_the_field)
{
    OWNED(scan) s = random_scan(LARMOR_C128, 1e-10, COILS);
    cplx *x = random_values(VOXELS * COILS, 3), expected[M * COILS] = {0};
    for (int c = 0; c < COILS; c++)
        for (int j = 0; j < M; j++)
            for (int i = 0; i < VOXELS; i++) expected[j + M * c] += signal_of(&s, i, j) * x[i + VOXELS * c];
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY, COILS), x);
    OWNED(larmor_array) *out = zeros(LARMOR_C128, LARMOR_SHAPE(SAMPLES, READOUTS, COILS));
    OWN(larmor_op, *A,
        larmor_op_off_resonance(s.F, s.field_array, s.times_array, &(larmor_off_resonance_opts){.error = 1e-5}, &A));
    assert_ok(larmor_fill(out, NAN));
    assert_ok(larmor_op_forward(A, in, out));
    assert_at_most(away(out, expected, M * COILS), 1e-5);
    free(x);
}

/* The largest error of any voxel's signal at any sample: what the bound is about. */
static double worst(const scan *s, larmor_op *A)
{
    double most = 0;
    for (int i = 0; i < VOXELS; i++) {
        cplx x[VOXELS] = {0};
        x[i] = 1;
        OWNED(larmor_array) *in = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY), x),
                            *out = zeros(LARMOR_C128, larmor_op_out_shape(A));
        assert_ok(larmor_op_forward(A, in, out));
        HEAP cplx *got = values_of(out);
        for (int j = 0; j < M; j++) most = fmax(most, cabs(got[j] - signal_of(s, i, j)));
    }
    return most;
}

/* larmor_op_off_resonance in its two steps, with what the first finds. */
static larmor_op *described(const scan *s, const larmor_array *field, const larmor_off_resonance_opts *opts,
                            larmor_segments_info *info)
{
    OWN(larmor_segments, *segments, larmor_segments_create(field, s->times_array, opts, &segments));
    assert_ok(larmor_segments_describe(segments, info));
    return MADE(larmor_op, larmor_op_segments(s->F, segments, &made));
}

TEST(the_error_keeps_its_bound_with_as_few_segments_as_can)
{
    OWNED(scan) s = random_scan(LARMOR_C128, 1e-12, 0);
    const double bound[] = {0.3, 2e-2, 1e-3, 1e-5};
    int before = 0;
    for (int c = 0; c < 4; c++) {
        larmor_segments_info found, fewer;
        const larmor_off_resonance_opts opts = {.error = c == 2 ? 0 : bound[c]}; /* 1e-3 is the default */
        larmor_op *A = described(&s, s.field_array, &opts, &found);
        assert_at_most(found.error, bound[c]);
        assert_at_most(worst(&s, A), found.error + 1e-10);
        assert_true(found.segments > before);
        before = found.segments;
        larmor_op_free(A);
        A = described(&s, s.field_array, &(larmor_off_resonance_opts){.segments = before - 1}, &fewer);
        assert_int_equal(fewer.segments, before - 1);
        assert_true(fewer.error > bound[c]);
        assert_at_most(worst(&s, A), fewer.error + 1e-10); /* the error that it reports is true */
        assert_at_most(fewer.error, 1.5 * worst(&s, A));
        larmor_op_free(A);
    }
}

TEST(a_constant_frequency_is_one_segment_and_a_pure_phase)
{
    OWNED(scan) s = random_scan(LARMOR_C128, 1e-6, COILS);
    for (int i = 0; i < VOXELS; i++) s.field[i] = -123.25;
    OWNED(larmor_array) *field = real_array(LARMOR_SHAPE(NX, NY), s.field);
    OWNED(larmor_array) *in = drawn(LARMOR_C128, LARMOR_SHAPE(NX, NY, COILS), 3);
    OWNED(larmor_array) *out = zeros(LARMOR_C128, larmor_op_out_shape(s.F));
    larmor_segments_info found;
    OWNED(larmor_op) *A = described(&s, field, NULL, &found);
    assert_int_equal(found.segments, 1);
    assert_at_most(found.error, 1e-13);
    assert_ok(larmor_op_forward(s.F, in, out));
    HEAP cplx *expected = values_of(out);
    for (int j = 0; j < M * COILS; j++) expected[j] *= cexp(2 * M_PI * I * -123.25 * s.times[j % M]);
    assert_ok(larmor_op_forward(A, in, out));
    assert_at_most(away(out, expected, M * COILS), 1e-13);
}

/* As wide as a number can be narrow, too. */
TEST(a_constant_frequency_is_one_term_of_the_toeplitz_normal_map)
{
    const double wider[] = {0, 5e-324};
    for (int c = 0; c < 2; c++) {
        OWNED(scan) s = random_scan(LARMOR_C128, 1e-9, COILS);
        for (int i = 0; i < VOXELS; i++) s.field[i] = i ? 0 : wider[c];
        OWNED(larmor_array) *field = real_array(LARMOR_SHAPE(NX, NY), s.field);
        OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, SAMPLES, READOUTS), s.k);
        const larmor_nufft_opts nufft = {
            .ndim = 2, .modes = {NX, NY}, .batch = COILS, .tol = 1e-9, .dtype = LARMOR_C128};
        larmor_segments_info info;
        OWN(larmor_segments, *segments, larmor_segments_create(field, s.times_array, NULL, &segments));
        OWN(larmor_op, *A, larmor_op_segments(s.F, segments, &A));
        OWN(larmor_op, *N, larmor_op_segments_toeplitz(&nufft, traj, NULL, segments, &N));
        assert_ok(larmor_segments_describe(segments, &info));
        assert_int_equal(info.terms, 1);
        OWN(larmor_op, *both, larmor_op_with_normal(A, N, &both));
        assert_at_most(normal_apart(both), 1e-8);
    }
}

TEST(the_adjoint_is_exact_and_the_normal_map_follows)
{
    for (int p = 0; p < 2; p++) {
        const larmor_dtype dtype = p ? LARMOR_C128 : LARMOR_C64;
        OWNED(scan) s = random_scan(dtype, 1e-4, COILS);
        OWN(larmor_op, *A, larmor_op_off_resonance(s.F, s.field_array, s.times_array, NULL, &A));
        assert_at_most(adjoint_error(A, 5), p ? 1e-14 : 2e-6);
        assert_at_most(normal_apart(A), p ? 1e-14 : 1e-6);
    }
}

/* With weights, of several coils, and of readouts whose times differ; the segments of the operator itself are more
 * exact than the terms, so that the difference is theirs. */
TEST(the_toeplitz_normal_map_is_that_of_the_operator_to_its_own_error)
{
    const double bounds[] = {1e-2, 1e-3, 1e-5};
    int before = 0;
    for (int c = 0; c < 6; c++) {
        const double bound = bounds[c / 2];
        OWNED(scan) s = random_scan(LARMOR_C128, 1e-9, COILS);
        OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, SAMPLES, READOUTS), s.k), *w = NULL;
        double weights[M];
        uint64_t seed = 7;
        for (int j = 0; j < M; j++) weights[j] = test_random(&seed) + 1.5;
        w = real_array(LARMOR_SHAPE(SAMPLES, READOUTS), weights);
        const larmor_nufft_opts nufft = {
            .ndim = 2, .modes = {NX, NY}, .batch = COILS, .tol = 1e-9, .dtype = LARMOR_C128};
        const larmor_off_resonance_opts opts = {.error = 1e-5, .normal_error = bound};
        larmor_segments_info info;
        OWN(larmor_segments, *segments, larmor_segments_create(s.field_array, s.times_array, &opts, &segments));
        assert_ok(larmor_segments_describe(segments, &info));
        assert_int_equal(info.terms, 0);
        OWN(larmor_op, *A, larmor_op_segments(s.F, segments, &A));
        OWN(larmor_op, *N, larmor_op_segments_toeplitz(&nufft, traj, c % 2 ? w : NULL, segments, &N));
        assert_ok(larmor_segments_describe(segments, &info));
        assert_true(info.terms > info.segments / 2 && info.terms <= 2 * info.segments + 4);
        assert_at_most(info.terms_error, bound);
        if (c % 2 == 0) assert_true(info.terms > before);
        before = info.terms;
        for (int j = 0; j < M; j++) weights[j] = c % 2 ? sqrt(weights[j]) : 1;
        OWNED(larmor_array) *root = real_array(LARMOR_SHAPE(SAMPLES, READOUTS), weights);
        OWN(larmor_op, *W, larmor_op_weights(root, LARMOR_C128, COILS, &W));
        OWN(larmor_op, *WA, larmor_op_chain(W, A, &WA));
        OWN(larmor_op, *both, larmor_op_with_normal(WA, N, &both));
        assert_at_most(normal_apart(both), bound);
    }
}

/* SENSE in blocks, the last one smaller, with and without Toeplitz, against SENSE without off-resonance where the
 * field is constant, and against itself. */
TEST(sense_has_the_phases_between_coils_and_samples)
{
    for (int c = 0; c < 4; c++) {
        OWNED(scan) s = random_scan(LARMOR_C128, 1e-9, COILS);
        enum { MANY = 3 };
        HEAP cplx *m = random_values(VOXELS * MANY, 11), *x = random_values(VOXELS, 12);
        OWNED(larmor_array) *maps = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY, MANY), m);
        OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, SAMPLES, READOUTS), s.k);
        OWNED(larmor_array) *in = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY), x);
        OWN(larmor_segments, *segments,
            larmor_segments_create(s.field_array, s.times_array,
                                   &(larmor_off_resonance_opts){.error = 1e-5, .normal_error = 1e-5}, &segments));
        const larmor_sense_opts opts = {.traj = traj,
                                        .nufft_tol = 1e-9,
                                        .off_resonance = segments,
                                        .block = c % 2 ? 2 : 0,
                                        .toeplitz = c / 2 ? 1 : -1};
        OWN(larmor_op, *A, larmor_op_sense(maps, &opts, &A));
        assert_int_equal(larmor_sense_uses_toeplitz(A), c / 2);
        OWNED(larmor_array) *out = zeros(LARMOR_C128, larmor_op_out_shape(A));
        assert_ok(larmor_op_forward(A, in, out));
        cplx *got = values_of(out), expected[M * MANY] = {0};
        for (int j = 0; j < M * MANY; j++)
            for (int i = 0; i < VOXELS; i++) expected[j] += signal_of(&s, i, j % M) * m[i + VOXELS * (j / M)] * x[i];
        assert_at_most(difference(got, expected, M * MANY), 2e-5);
        assert_at_most(normal_apart(A), c / 2 ? 2e-5 : 1e-14);
        free(got);
    }
}

TEST(times_of_one_readout_stand_for_all)
{
    OWNED(scan) s = random_scan(LARMOR_C128, 1e-6, COILS);
    for (int j = 0; j < M; j++) s.times[j] = s.times[j % SAMPLES];
    OWNED(larmor_array) *one = real_array(LARMOR_SHAPE(SAMPLES), s.times);
    OWNED(larmor_array) *all = real_array(LARMOR_SHAPE(SAMPLES, READOUTS), s.times);
    cplx *x = random_values(VOXELS * COILS, 3), *y[2];
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY, COILS), x);
    for (int i = 0; i < 2; i++) {
        OWNED(larmor_array) *out = zeros(LARMOR_C128, larmor_op_out_shape(s.F));
        OWN(larmor_op, *A, larmor_op_off_resonance(s.F, s.field_array, i ? one : all, NULL, &A));
        assert_ok(larmor_op_forward(A, in, out));
        y[i] = values_of(out);
    }
    assert_at_most(difference(y[1], y[0], M * COILS), 1e-15);
    LMR_FREE(y[0], y[1], x);
}

TEST(unusable_inputs_are_named)
{
    OWNED(scan) s = random_scan(LARMOR_C64, 1e-4, COILS);
    const larmor_off_resonance_opts negative = {.segments = -1}, none = {0}, tight = {.error = 1e-20};
    assert_none_made(larmor_op, larmor_op_off_resonance(NULL, s.field_array, s.times_array, NULL, &made),
                     LARMOR_ERR_ARG, "off-resonance: no operator given");
    assert_none_made(larmor_op, larmor_op_off_resonance(s.F, NULL, s.times_array, NULL, &made), LARMOR_ERR_ARG,
                     "off-resonance: no field map given");
    assert_none_made(larmor_op, larmor_op_off_resonance(s.F, s.times_array, s.times_array, &none, &made),
                     LARMOR_ERR_SHAPE, "off-resonance: field map is f64 [13, 4] on");
    assert_none_made(larmor_op, larmor_op_off_resonance(s.F, s.field_array, s.field_array, NULL, &made),
                     LARMOR_ERR_SHAPE, "off-resonance: array of times is f64 [9, 8] on");
    assert_none_made(larmor_op, larmor_op_off_resonance(s.F, s.field_array, s.times_array, &negative, &made),
                     LARMOR_ERR_ARG, "off-resonance: got -1 segments");
    assert_none_made(larmor_op, larmor_op_off_resonance(s.F, s.field_array, s.times_array, &tight, &made),
                     LARMOR_ERR_NUMERIC, "expected at most 1.0e-20; allow a larger error");
    s.field[3] = NAN;
    larmor_array *bad = real_array(LARMOR_SHAPE(NX, NY), s.field);
    assert_none_made(larmor_op, larmor_op_off_resonance(s.F, bad, s.times_array, NULL, &made), LARMOR_ERR_NUMERIC,
                     "off-resonance: field map holds nan at element 3");
    larmor_array_free(bad);
    for (int i = 0; i < VOXELS; i++) s.field[i] = 1e9 * i;
    bad = real_array(LARMOR_SHAPE(NX, NY), s.field);
    assert_none_made(larmor_op, larmor_op_off_resonance(s.F, bad, s.times_array, NULL, &made), LARMOR_ERR_NUMERIC,
                     "are too many cycles; frequencies are in Hz and times in s");
    larmor_array_free(bad);
}
