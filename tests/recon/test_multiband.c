/* recon/ops/multiband.c: slices that are excited together. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { N = 8, BANDS = 3, COILS = 2, SAMPLES = 5, READOUTS = 7 };

typedef struct scene {
    cplx *maps[BANDS];
    double k[2 * SAMPLES * READOUTS], phase[READOUTS * BANDS];
    larmor_op *A[BANDS];
    larmor_array *phases;
} scene;

static void end_scene(scene *s)
{
    for (int b = 0; b < BANDS; b++) LMR_FREE(s->A[b], s->maps[b]);
    larmor_array_free(s->phases);
}

/* Phases of no order, which no place along kz gives. */
static scene new_scene(void)
{
    scene s = {.phases = NULL};
    uint64_t seed = 11;
    for (int i = 0; i < 2 * SAMPLES * READOUTS; i++) s.k[i] = N * (test_random(&seed) / 2);
    for (int i = 0; i < READOUTS * BANDS; i++) s.phase[i] = 3 * test_random(&seed);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, SAMPLES, READOUTS), s.k);
    for (int b = 0; b < BANDS; b++) {
        s.maps[b] = random_values(N * N * COILS, 20 + (uint64_t)b);
        OWNED(larmor_array) *maps = complex_array(LARMOR_C128, LARMOR_SHAPE(N, N, COILS), s.maps[b]);
        assert_ok(larmor_op_sense(maps, &(larmor_sense_opts){.traj = traj, .nufft_tol = 1e-12}, &s.A[b]));
    }
    s.phases = real_array(LARMOR_SHAPE(READOUTS, BANDS), s.phase);
    return s;
}

/* Sample i of readout j and coil c, slice by slice and voxel by voxel. */
static cplx sum_at(const scene *s, const cplx *x, int i, int j, int c)
{
    const double *k = s->k + 2 * (i + SAMPLES * j);
    cplx sum = 0;
    for (int b = 0; b < BANDS; b++)
        for (int v = 0; v < N * N; v++) {
            const double cycles = (k[0] * (v % N - N / 2) + k[1] * (v / N - N / 2)) / N;
            const double angle = s->phase[j + READOUTS * b] - 2 * M_PI * cycles;
            sum += x[v + N * N * b] * s->maps[b][v + N * N * c] * cexp(I * angle);
        }
    return sum;
}

TEST(samples_are_the_sum_over_slices_each_with_its_maps_and_the_phases_of_its_readouts)
{
    OWNED(scene) s = new_scene();
    OWNED(larmor_op) *A = NULL;
    assert_ok(larmor_op_multiband(s.A, BANDS, s.phases, &A));
    HEAP cplx *in = random_values(N * N * BANDS, 5);
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, LARMOR_SHAPE(N, N, BANDS), in);
    OWNED(larmor_array) *y = zeros(LARMOR_C128, LARMOR_SHAPE(SAMPLES, READOUTS, COILS));
    assert_ok(larmor_op_forward(A, x, y));
    HEAP cplx *out = values_of(y);
    double wrong = 0, all = 0;
    for (int c = 0; c < COILS; c++)
        for (int j = 0; j < READOUTS; j++)
            for (int i = 0; i < SAMPLES; i++) {
                const cplx expected = sum_at(&s, in, i, j, c);
                wrong += pow(cabs(out[i + SAMPLES * (j + READOUTS * c)] - expected), 2);
                all += pow(cabs(expected), 2);
            }
    assert_at_most(sqrt(wrong / all), 1e-10);
}

TEST(the_adjoint_is_that_of_the_sum_to_rounding)
{
    OWNED(scene) s = new_scene();
    OWNED(larmor_op) *A = NULL;
    assert_ok(larmor_op_multiband(s.A, BANDS, s.phases, &A));
    assert_at_most(adjoint_error(A, 3), 1e-14);
}

TEST(conjugate_gradients_separate_the_slices)
{
    enum { MANY = 40 };
    OWNED(scene) s = {.phases = NULL};
    uint64_t seed = 4;
    double k[2 * SAMPLES * MANY * 4], phase[MANY * BANDS];
    for (size_t i = 0; i < sizeof k / sizeof *k; i++) k[i] = N * (test_random(&seed) / 2);
    for (int i = 0; i < MANY * BANDS; i++) phase[i] = 3 * test_random(&seed);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, SAMPLES * 4, MANY), k);
    for (int b = 0; b < BANDS; b++) {
        s.maps[b] = random_values(N * N * COILS, 20 + (uint64_t)b);
        OWNED(larmor_array) *maps = complex_array(LARMOR_C128, LARMOR_SHAPE(N, N, COILS), s.maps[b]);
        assert_ok(larmor_op_sense(maps, &(larmor_sense_opts){.traj = traj, .nufft_tol = 1e-12}, &s.A[b]));
    }
    s.phases = real_array(LARMOR_SHAPE(MANY, BANDS), phase);
    OWNED(larmor_op) *A = NULL;
    assert_ok(larmor_op_multiband(s.A, BANDS, s.phases, &A));
    OWNED(larmor_array) *x = drawn(LARMOR_C128, LARMOR_SHAPE(N, N, BANDS), 5);
    OWNED(larmor_array) *y = zeros(LARMOR_C128, larmor_op_out_shape(A)),
                        *found = zeros(LARMOR_C128, LARMOR_SHAPE(N, N, BANDS));
    assert_ok(larmor_op_forward(A, x, y));
    assert_ok(larmor_cg(A, y, found, &(larmor_solve_opts){.max_iter = 400, .tol = 1e-10}, NULL));
    larmor_comparison c;
    assert_ok(larmor_compare(found, x, NULL, &c));
    assert_at_most(c.nrmse, 1e-6);
}

TEST(what_does_not_fit_is_refused)
{
    OWNED(scene) s = new_scene();
    OWNED(larmor_array) *few = real_array(LARMOR_SHAPE(READOUTS - 1, BANDS), s.phase);
    larmor_op *A = NULL;
    assert_refused(larmor_op_multiband(s.A, BANDS, few, &A), LARMOR_ERR_SHAPE,
                   ", expected real [7 readouts, 3 bands]");
    assert_refused(larmor_op_multiband(s.A, 0, s.phases, &A), LARMOR_ERR_ARG,
                   "multiband: got 0 bands, expected 1 to 16");
    s.phase[4] = NAN;
    OWNED(larmor_array) *wrong = real_array(LARMOR_SHAPE(READOUTS, BANDS), s.phase);
    assert_refused(larmor_op_multiband(s.A, BANDS, wrong, &A), LARMOR_ERR_NUMERIC,
                   "multiband: the phase of readout 4 is not finite");
    assert_null(A);
}

/* ---- gradients in waves ---- */

enum { SLAB = 6, ALONG = 2 * N, LINES = N * SLAB / 2 };

/* Half of the lines along x of a slab of N x N x SLAB voxels, each a helix of radius 1.3 about its place. */
static void fill_helices(double *k)
{
    for (int j = 0; j < LINES; j++)
        for (int i = 0; i < ALONG; i++) {
            const double turn = 2 * M_PI * 3 * i / ALONG;
            double *at = k + 3 * (i + ALONG * j);
            at[0] = i / 2. - N / 2.;
            at[1] = j % N - N / 2. + 1.3 * cos(turn);
            at[2] = 2 * (j / N) - SLAB / 2. + j % 2 + 1.3 * sin(turn);
        }
}

TEST(helices_through_a_slab_are_readouts_like_others)
{
    enum { VOXELS = N * N * SLAB, MANY = ALONG * LINES, WAVE_COILS = 4 };
    static double k[3 * MANY];
    static cplx samples[MANY * WAVE_COILS];
    HEAP cplx *in = random_values(VOXELS, 5), *map = random_values(VOXELS * WAVE_COILS, 6);
    fill_helices(k);
    for (int j = 0; j < MANY; j++)
        for (int v = 0; v < VOXELS; v++) {
            const double y = v / N % N - N / 2., z = v / (N * N) - SLAB / 2;
            const double cycles = (k[3 * j] * (v % N - N / 2.) + k[3 * j + 1] * y) / N + k[3 * j + 2] * z / SLAB;
            const cplx wave = in[v] * cexp(-2 * M_PI * I * cycles);
            for (int c = 0; c < WAVE_COILS; c++) samples[j + MANY * c] += map[v + VOXELS * c] * wave;
        }
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(3, ALONG, LINES), k);
    OWNED(larmor_array) *maps = complex_array(LARMOR_C128, LARMOR_SHAPE(N, N, SLAB, WAVE_COILS), map);
    OWNED(larmor_array) *b = complex_array(LARMOR_C128, LARMOR_SHAPE(ALONG, LINES, WAVE_COILS), samples);
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, LARMOR_SHAPE(N, N, SLAB), in),
                        *found = zeros(LARMOR_C128, LARMOR_SHAPE(N, N, SLAB));
    OWNED(larmor_op) *A = NULL;
    larmor_comparison c;
    assert_ok(larmor_op_sense(maps, &(larmor_sense_opts){.traj = traj, .nufft_tol = 1e-10}, &A));
    assert_ok(larmor_cg(A, b, found, &(larmor_solve_opts){.max_iter = 200, .tol = 1e-10}, NULL));
    assert_ok(larmor_compare(found, x, NULL, &c));
    assert_at_most(c.nrmse, 1e-5);
}
