/* recon/ops/cartesian.c: samples on the grid, by FFTs. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { BATCH = 2 };

/* Samples on a grid, some of its places several times, some beyond its edge. */
typedef struct design {
    int nd;
    int64_t n[3], m;
    int repeats;
} design;

static const design designs[] = {
    {1, {7}, 5, 1},        {2, {8, 9}, 40, 1},     {2, {6, 5}, 75, 4},
    {3, {4, 5, 6}, 60, 1}, {3, {3, 8, 2}, 130, 3}, {2, {1, 4}, 3, 1},
};
enum { DESIGNS = sizeof designs / sizeof *designs };

static double *points_of(const design *g)
{
    uint64_t seed = 11;
    NEW(double, k, g->nd * g->m);
    for (int64_t i = 0; i < g->nd * g->m; i++)
        k[i] = nearbyint((double)g->n[i % g->nd] * (g->repeats > 1 ? 0.3 : 0.7) * test_random(&seed));
    return k;
}

static larmor_nufft_opts opts_of(const design *g, larmor_dtype dtype)
{
    return (larmor_nufft_opts){
        .ndim = g->nd, .modes = {g->n[0], g->n[1], g->n[2]}, .batch = BATCH, .tol = 1e-9, .dtype = dtype};
}

TEST(it_is_the_fourier_sum_to_rounding)
{
    for (int i = 0; i < DESIGNS; i++) {
        const design *g = &designs[i];
        const larmor_shape image = larmor_shape_of(g->nd, g->n);
        const int64_t voxels = larmor_shape_count(image);
        const larmor_nufft_opts opts = opts_of(g, LARMOR_C128);
        double *k = points_of(g);
        HEAP cplx *x = random_values(voxels * BATCH, 1),
                  *expected = malloc((size_t)(g->m * BATCH) * sizeof *expected);
        assert_non_null(expected);
        for (int b = 0; b < BATCH; b++) direct_forward(x + voxels * b, image, k, g->m, expected + g->m * b);
        OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(g->nd, g->m), k);
        OWNED(larmor_array) *in = complex_array(LARMOR_C128, larmor_shape_append(image, BATCH), x);
        OWNED(larmor_array) *out = zeros(LARMOR_C128, LARMOR_SHAPE(g->m, BATCH));
        OWN(larmor_op, *A, larmor_op_cartesian(dev, &opts, traj, &A));
        assert_ok(larmor_op_forward(A, in, out));
        assert_at_most(away(out, expected, g->m * BATCH), 1e-13);
        assert_at_most(adjoint_error(A, 5), 1e-13);
        assert_at_most(normal_apart(A), 1e-13);
        free(k);
    }
}

/* A is made of two halves of the samples, so that weights of 0 and 2 are a normal map of one of them. */
TEST(the_weighted_normal_map_counts_each_sample_with_its_weight)
{
    const design *g = &designs[2];
    const larmor_shape image = larmor_shape_of(g->nd, g->n);
    const larmor_nufft_opts opts = opts_of(g, LARMOR_C128);
    const int64_t half = g->m / 2, voxels = larmor_shape_count(image);
    HEAP double *k = points_of(g), *w = calloc((size_t)g->m, sizeof *w);
    assert_non_null(w);
    for (int64_t j = 0; j < half; j++) w[j] = 2;
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(g->nd, g->m), k),
                        *weights = real_array(LARMOR_SHAPE(g->m), w), *part;
    OWNED(larmor_array) *x = drawn(LARMOR_C128, larmor_shape_append(image, BATCH), 3);
    OWNED(larmor_array) *a = zeros(LARMOR_C128, larmor_array_shape(x)),
                        *b = zeros(LARMOR_C128, larmor_array_shape(x));
    assert_ok(larmor_array_slice(traj, 0, half, &part));
    OWN(larmor_op, *N, larmor_op_cartesian_normal(dev, &opts, traj, weights, &N));
    OWN(larmor_op, *A, larmor_op_cartesian(dev, &opts, part, &A));
    assert_ok(larmor_op_forward(N, x, a));
    assert_ok(larmor_op_normal(A, x, b));
    HEAP cplx *got = values_of(a), *once = values_of(b);
    for (int64_t i = 0; i < voxels * BATCH; i++) once[i] *= 2;
    assert_at_most(difference(got, once, voxels * BATCH), 1e-13);
}

TEST(sense_takes_ffts_where_all_samples_are_on_the_grid)
{
    const larmor_traj_opts lines = {.matrix = {8, 6}, .acceleration = {2}, .calibration = {2}};
    OWNED(larmor_array) *traj, *maps = zeros(LARMOR_C64, LARMOR_SHAPE(8, 6, 3));
    larmor_op *A;
    assert_ok(larmor_traj_create(dev, "cartesian", &lines, &traj));
    OWNED(larmor_array) *other = drawn(LARMOR_C64, LARMOR_SHAPE(8, 6, 3), 8);
    assert_ok(larmor_copy(other, maps));
    for (int block = 0; block < 3; block++)
        for (int toeplitz = -1; toeplitz <= 1; toeplitz++) {
            const larmor_sense_opts opts = {.traj = traj, .block = block, .toeplitz = toeplitz};
            assert_ok(larmor_op_sense(maps, &opts, &A));
            assert_string_equal(larmor_op_name(A), "sense-cartesian");
            assert_int_equal(larmor_sense_uses_toeplitz(A), 0);
            assert_at_most(normal_apart(A), 1e-5);
            larmor_op_free(A);
        }
    OWN(larmor_array, *delayed, larmor_traj_delay(traj, (double[6]){1e-3}, NULL, &delayed));
    assert_ok(larmor_op_sense(maps, &(larmor_sense_opts){.traj = delayed}, &A));
    assert_string_not_equal(larmor_op_name(A), "sense-cartesian");
    larmor_op_free(A);
}

TEST(the_phase_of_an_image_needs_a_reach)
{
    OWNED(larmor_array) *x = drawn(LARMOR_C64, LARMOR_SHAPE(8, 8), 1), *phase;
    const double reach[3] = {2, 2, 0};
    double off, all;
    assert_ok(larmor_centre_phase(x, reach, &phase));
    assert_ok(larmor_off_phase(x, reach, phase, &off, &all));
    assert_int_equal(larmor_off_phase(x, NULL, phase, &off, &all), LARMOR_ERR_ARG);
    larmor_array *none;
    assert_int_equal(larmor_centre_phase(x, NULL, &none), LARMOR_ERR_ARG);
    assert_null(none);
}

TEST(what_is_off_the_grid_is_refused)
{
    const larmor_nufft_opts opts = {.ndim = 2, .modes = {4, 4}};
    const double near[] = {0, 1, -2, 1 + 1e-6}, off[] = {0, 1, -2, 1.25};
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, 2), near), *away = real_array(LARMOR_SHAPE(2, 2), off);
    OWNED(larmor_array) *none = zeros(LARMOR_F64, LARMOR_SHAPE(2, 0));
    int is;
    larmor_op *A = MADE(larmor_op, larmor_op_cartesian(dev, &opts, traj, &made));
    larmor_op_free(A);
    assert_refused(larmor_op_cartesian(dev, &opts, away, &A), LARMOR_ERR_ARG,
                   "cartesian: sample 1 is at -2, 1.25, 0, not on the grid to 3.3e-06");
    assert_null(A);
    assert_ok(larmor_traj_is_cartesian(traj, 1e-5, &is));
    assert_int_equal(is, 1);
    assert_ok(larmor_traj_is_cartesian(traj, 1e-7, &is));
    assert_int_equal(is, 0);
    assert_ok(larmor_traj_is_cartesian(none, 1, &is));
    assert_int_equal(is, 0);
    assert_ok(larmor_op_cartesian(dev, &opts, none, &A));
    OWNED(larmor_array) *y = zeros(LARMOR_C64, LARMOR_SHAPE(0)), *x = zeros(LARMOR_C64, LARMOR_SHAPE(4, 4));
    assert_ok(larmor_fill(x, 1));
    assert_ok(larmor_op_adjoint(A, y, x));
    assert_true(norm_of(x) == 0);
    larmor_op_free(A);
}
