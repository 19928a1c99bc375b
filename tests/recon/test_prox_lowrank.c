/* recon/prox/llr.c, recon/prox/lowrank_sparse.c: whole series of low rank, by themselves and beside sparse ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/regulariser_support.h"

enum { NX = 16, NY = 16, VOXELS = NX * NY, FRAMES = 24, N = VOXELS * FRAMES, RANK = 2 };
#define SERIES LARMOR_SHAPE(NX, NY, FRAMES)

static const double pi = 3.14159265358979323846;

/* Orthonormal courses in time that no frequency has to itself. */
static void make_courses(cplx v[RANK][FRAMES])
{
    HEAP cplx *values = random_values(RANK * FRAMES, 3);
    for (int k = 0; k < RANK; k++) {
        double norm = 0;
        memcpy(v[k], values + (ptrdiff_t)k * FRAMES, sizeof v[k]);
        for (int before = 0; before < k; before++) {
            cplx inner = 0;
            for (int t = 0; t < FRAMES; t++) inner += conj(v[before][t]) * v[k][t];
            for (int t = 0; t < FRAMES; t++) v[k][t] -= inner * v[before][t];
        }
        for (int t = 0; t < FRAMES; t++) norm += pow(cabs(v[k][t]), 2);
        for (int t = 0; t < FRAMES; t++) v[k][t] /= sqrt(norm);
    }
}

/* Of these singular values. */
static void make_low_rank(double first, double second, cplx *x)
{
    cplx v[RANK][FRAMES];
    make_courses(v);
    for (int i = 0; i < N; i++) {
        const int voxel = i % VOXELS, t = i / VOXELS;
        x[i] = (first * cexp(2 * pi * I * 3 * voxel / VOXELS) * v[0][t] +
                second * cexp(2 * pi * I * 7 * voxel / VOXELS) * v[1][t]) /
               sqrt(VOXELS);
    }
}

/* So many frequencies of voxels here and there. */
static void make_sparse(int count, cplx *x)
{
    uint64_t seed = 8;
    memset(x, 0, N * sizeof *x);
    for (int k = 0; k < count; k++) {
        const int voxel = (int)((test_random(&seed) + 1) / 2 * (VOXELS - 1));
        const int frequency = (int)((test_random(&seed) + 1) / 2 * (FRAMES - 1));
        const cplx value = 2 * cexp(pi * I * test_random(&seed)) / sqrt(FRAMES);
        for (int t = 0; t < FRAMES; t++) x[voxel + t * VOXELS] += value * cexp(2 * pi * I * frequency * t / FRAMES);
    }
}

TEST(a_series_costs_the_sum_of_its_singular_values)
{
    HEAP cplx *x = malloc(N * sizeof *x);
    make_low_rank(5, 2, x);
    const double cost = penalty_of("lowrank", NULL, SERIES, x);
    assert_at_most(fabs(cost / ((sqrt(VOXELS) + sqrt(FRAMES)) * 7) - 1), 1e-7);
}

TEST(its_proximal_map_lowers_each_singular_value_alike_down_to_0)
{
    const double unit = sqrt(VOXELS) + sqrt(FRAMES);
    OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, "lowrank", NULL, LARMOR_C128, SERIES, &r));
    const larmor_penalty p = larmor_regulariser_penalty(r);
    for (int i = 0; i < 2; i++) {
        const double by = i ? 3 : 1;
        HEAP cplx *x = malloc(N * sizeof *x), *expected = malloc(N * sizeof *expected);
        make_low_rank(5, 2, x);
        make_low_rank(5 - by, fmax(0, 2 - by), expected);
        OWNED(larmor_array) *in = complex_array(LARMOR_C128, larmor_prox_shape(p.g), x),
                            *out = zeros(LARMOR_C128, larmor_prox_shape(p.g));
        assert_ok(larmor_prox_apply(p.g, by / unit, in, out));
        assert_at_most(away(out, expected, N), 1e-12);
    }
}

/* The pair of z = sqrt(2) [L, S]. */
static cplx *solve_pair(larmor_regulariser *r, const cplx *x, larmor_shape shape, double weight, int pdhg,
                        double *value)
{
    const larmor_penalty p = larmor_regulariser_penalty(r);
    const int64_t count = larmor_shape_count(shape);
    HEAP cplx *scaled = malloc((size_t)count * sizeof *scaled);
    for (int64_t i = 0; i < count; i++) scaled[i] = x[i] / weight;
    OWNED(larmor_array) *b = complex_array(LARMOR_C128, shape, scaled),
                        *z = zeros(LARMOR_C128, larmor_op_in_shape(p.E)),
                        *y = zeros(LARMOR_C128, larmor_op_out_shape(p.K));
    const larmor_solve_opts opts = {
        .max_iter = pdhg ? 20000 : 600, .tol = 1e-7, .penalty = pdhg ? 0 : 0.01, .inner = 8};
    double g, norm;
    assert_ok((pdhg ? larmor_pdhg : larmor_admm)(p.E, b, p.K, p.g, z, &opts, NULL));
    assert_ok(larmor_op_forward(p.K, z, y));
    assert_ok(larmor_prox_value(p.g, y, &g));
    cplx *pair = values_of(z);
    OWNED(larmor_array) *sum = zeros(LARMOR_C128, shape);
    assert_ok(larmor_op_forward(p.E, z, sum));
    assert_ok(larmor_axpby(-1, b, 1, sum));
    assert_ok(larmor_nrm2(sum, &norm));
    *value = g + norm * norm / 2;
    for (int64_t i = 0; i < 2 * count; i++) pair[i] *= weight / sqrt(2);
    return pair;
}

TEST(a_background_of_low_rank_and_sparse_frequencies_come_apart)
{
    HEAP cplx *L = malloc(N * sizeof *L), *S = malloc(N * sizeof *S), *x = malloc(N * sizeof *x);
    double value;
    make_low_rank(30, 20, L);
    make_sparse(N / 33, S);
    for (int i = 0; i < N; i++) x[i] = L[i] + S[i];
    OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, "lowrank-sparse", NULL, LARMOR_C128, SERIES, &r));
    HEAP cplx *pair = solve_pair(r, x, SERIES, 1e-3, 0, &value);
    assert_at_most(difference(pair, L, N), 0.05);
    assert_at_most(difference(pair + N, S, N), 0.1);
}

/* SIDE voxels a side: lowrank-multiscale has single voxels and the whole. */
static void functional_has_its_least_value(const char *name, double ratio)
{
    enum { SIDE = 6, FEW = 4, COUNT = SIDE * SIDE * FEW };
    const larmor_shape small = LARMOR_SHAPE(SIDE, SIDE, FEW);
    HEAP cplx *x = random_values(COUNT, 9);
    double value, reference;
    OWN(larmor_regulariser, *r,
        larmor_regulariser_create(dev, name, &(larmor_regulariser_opts){.ratio = ratio}, LARMOR_C128, small, &r));
    HEAP cplx *pair = solve_pair(r, x, small, 0.1, 0, &value), *other = solve_pair(r, x, small, 0.1, 1, &reference);
    assert_at_most(fabs(value / reference - 1), 1e-4);
}

TEST(the_functional_of_both_has_its_least_value)
{
    functional_has_its_least_value("lowrank-sparse", 0);
    functional_has_its_least_value("lowrank-sparse", 3);
}

TEST(the_functional_of_several_scales_has_its_least_value)
{
    functional_has_its_least_value("lowrank-multiscale", 0);
}

TEST(a_pair_costs_the_singular_values_of_one_and_the_frequencies_of_the_other)
{
    const double ratios[] = {2 + 2 * sqrt((double)FRAMES / VOXELS), 3};
    HEAP cplx *z = malloc(2 * N * sizeof *z);
    make_low_rank(5, 2, z);
    make_sparse(1, z + N);
    for (int i = 0; i < 2 * N; i++) z[i] *= sqrt(2);
    for (int i = 0; i < 2; i++) {
        double value;
        OWN(larmor_regulariser, *r,
            larmor_regulariser_create(dev, "lowrank-sparse", &(larmor_regulariser_opts){.ratio = i ? 3 : 0},
                                      LARMOR_C128, SERIES, &r));
        const larmor_penalty p = larmor_regulariser_penalty(r);
        OWNED(larmor_array) *in = complex_array(LARMOR_C128, larmor_op_in_shape(p.E), z),
                            *y = zeros(LARMOR_C128, larmor_op_out_shape(p.K));
        assert_ok(larmor_op_forward(p.K, in, y));
        assert_ok(larmor_prox_value(p.g, y, &value));
        assert_at_most(fabs(value / ((sqrt(VOXELS) + sqrt(FRAMES)) * 7 + ratios[i] * 2) - 1), 1e-7);
    }
}

/* One voxel in one frame, one block of 8 x 8 at the first shift, and a series of rank 2. */
static void make_scales(double voxel, double block, cplx *z)
{
    cplx v[RANK][FRAMES];
    make_courses(v);
    memset(z, 0, 3 * N * sizeof *z);
    z[37 + 5 * VOXELS] = voxel;
    for (int t = 0; t < FRAMES; t++)
        for (int i = 0; i < 64; i++) z[N + i % 8 + NX * (i / 8) + t * VOXELS] = block / 8 * v[1][t];
    make_low_rank(5, 2, z + 2 * N);
    for (int i = 0; i < 3 * N; i++) z[i] *= sqrt(3);
}

/* The block lies in four of those half a block away, each with half of its norm. */
TEST(parts_cost_the_singular_values_of_blocks_of_their_size)
{
    HEAP cplx *z = malloc(3 * N * sizeof *z);
    double value;
    make_scales(3, 4, z);
    OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, "lowrank-multiscale", NULL, LARMOR_C128, SERIES, &r));
    const larmor_penalty p = larmor_regulariser_penalty(r);
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, larmor_op_in_shape(p.E), z),
                        *y = zeros(LARMOR_C128, larmor_op_out_shape(p.K));
    assert_ok(larmor_op_forward(p.K, in, y));
    assert_ok(larmor_prox_value(p.g, y, &value));
    const double of_voxels = 1 + sqrt(FRAMES) + sqrt(2 * log(VOXELS)), of_whole = sqrt(VOXELS) + sqrt(FRAMES);
    const double of_blocks = 8 + sqrt(FRAMES) + sqrt(2 * log(4));
    const double expected = 1.3 * of_voxels * 3 + of_blocks * (4 + 4 * 2) / 2 + 1.5 * of_whole * 7;
    assert_at_most(fabs(value / expected - 1), 1e-7);
}

TEST(one_frame_is_refused)
{
    assert_none_made(larmor_regulariser,
                     larmor_regulariser_create(dev, "lowrank-sparse", NULL, LARMOR_C64, LARMOR_SHAPE(8, 8, 1), &made),
                     LARMOR_ERR_SHAPE, "lowrank: got c64 [8, 8, 1] on");
    assert_none_made(
        larmor_regulariser,
        larmor_regulariser_create(dev, "lowrank-multiscale", NULL, LARMOR_C64, LARMOR_SHAPE(8, 8, 1), &made),
        LARMOR_ERR_SHAPE, "lowrank-multiscale: got c64 [8, 8, 1] on");
}
