/* recon/prox/tv.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/regulariser_support.h"

TEST(a_constant_costs_nothing)
{
    cplx x[60];
    for (int i = 0; i < 60; i++) x[i] = 2 - 3 * I;
    assert_at_most(penalty_of("tv", NULL, LARMOR_SHAPE(60), x), 0);
    assert_at_most(penalty_of("tv", NULL, LARMOR_SHAPE(10, 6), x), 0);
    assert_at_most(penalty_of("tv", NULL, LARMOR_SHAPE(5, 4, 3), x), 0);
}

TEST(it_is_the_sum_of_the_lengths_of_gradients)
{
    enum { NX = 5, NY = 4, NZ = 3 };
    HEAP cplx *x = random_values(NX * NY * NZ, 4);
    double sum = 0;
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int i = 0; i < NX; i++) {
                const cplx *at = x + i + NX * (y + NY * z);
                const cplx dx = i + 1 < NX ? at[1] - at[0] : 0;
                const cplx dy = y + 1 < NY ? at[NX] - at[0] : 0;
                const cplx dz = z + 1 < NZ ? at[NX * NY] - at[0] : 0;
                sum += sqrt(pow(cabs(dx), 2) + pow(cabs(dy), 2) + pow(cabs(dz), 2));
            }
    assert_at_most(fabs(penalty_of("tv", NULL, LARMOR_SHAPE(NX, NY, NZ), x) - sum), 1e-12 * sum);
}

TEST(along_time_it_has_a_weight_of_its_own)
{
    const larmor_shape shape = LARMOR_SHAPE(5, 4, 3);
    cplx x[60], y[60];
    for (int i = 0; i < 60; i++) {
        x[i] = i / 20;
        y[i] = i % 20;
    } /* changes in time alone; in space alone */
    const larmor_regulariser_opts plain = {.series = 1}, heavy = {.series = 1, .time = 4},
                                  none = {.series = 1, .time = -1};
    assert_at_most(fabs(penalty_of("tv", &plain, shape, x) - 40), 1e-12);
    assert_at_most(fabs(penalty_of("tv", &heavy, shape, x) - 160), 1e-12);
    assert_at_most(penalty_of("tv", &none, shape, x), 0);
    const double still = penalty_of("tv", &plain, shape, y);
    assert_at_most(fabs(penalty_of("tv", &heavy, shape, y) - still), 1e-12 * still);
    assert_at_most(fabs(penalty_of("tv", &none, shape, y) - still), 1e-12 * still);
    assert_at_most(fabs(penalty_of("tv", NULL, LARMOR_SHAPE(5, 4), y) - still / 3), 1e-12 * still);
}

/* A surface costs its area, whatever the shape of the voxels: per volume of a voxel. */
TEST(a_step_costs_its_area_whichever_way_it_faces)
{
    enum { NX = 6, NY = 5, NZ = 4 };
    const double side[3] = {2, 3, 8};
    const int64_t size[3] = {NX, NY, NZ};
    for (int axis = 0; axis < 3; axis++) {
        cplx x[NX * NY * NZ];
        const int step[3] = {1, NX, NX * NY};
        double area = 1;
        for (int i = 0; i < NX * NY * NZ; i++) x[i] = i / step[axis] % size[axis] < size[axis] / 2;
        for (int d = 0; d < 3; d++) area *= d == axis ? 1 : side[d] * (double)size[d];
        const larmor_regulariser_opts mm = {.voxel = {side[0], side[1], side[2]}},
                                      m = {.voxel = {side[0] / 1e3, side[1] / 1e3, side[2] / 1e3}};
        const double volume = side[0] * side[1] * side[2] / side[0]; /* differences are over the shortest side */
        assert_at_most(fabs(volume * penalty_of("tv", &mm, LARMOR_SHAPE(NX, NY, NZ), x) - area), 1e-12 * area);
        assert_at_most(fabs(volume * penalty_of("tv", &m, LARMOR_SHAPE(NX, NY, NZ), x) - area), 1e-12 * area);
    }
}

TEST(a_huge_lambda_leaves_the_mean)
{
    cplx *b = random_values(48, 6), mean = 0, expected[48];
    for (int i = 0; i < 48; i++) mean += b[i] / 48;
    for (int i = 0; i < 48; i++) expected[i] = mean;
    HEAP cplx *x = denoise("tv", &(larmor_regulariser_opts){.lambda = 5}, LARMOR_SHAPE(8, 6), b);
    assert_at_most(difference(x, expected, 48), 1e-2);
    free(b);
}

TEST(edges_stay_and_noise_goes)
{
    enum { N = 24 };
    cplx truth[N * N], *noise = random_values(N * N, 8), b[N * N];
    for (int i = 0; i < N * N; i++) {
        truth[i] = i % N < N / 3 ? 1 : 2;
        b[i] = truth[i] + 0.2 * noise[i];
    }
    HEAP cplx *x = denoise("tv", &(larmor_regulariser_opts){.lambda = 0.15}, LARMOR_SHAPE(N, N), b);
    assert_at_most(difference(x, truth, N * N), 0.4 * difference(b, truth, N * N));
    assert_at_most(0.7, creal(x[N / 3 + N * N / 2] - x[N / 3 - 1 + N * N / 2]));
    free(noise);
}

/* The solution of 1D total variation of a step is known: both levels move towards each other by weight / length. */
TEST(a_step_is_lowered_by_the_weight)
{
    cplx b[20], expected[20];
    const double lambda = 0.5, unit = sqrt((10 * 1 + 10 * 81.0) / (10 * 1 + 10 * 9.0)), weight = lambda * unit;
    for (int i = 0; i < 20; i++) {
        b[i] = i < 10 ? 1 : 3;
        expected[i] = i < 10 ? 1 + weight / 10 : 3 - weight / 10;
    }
    HEAP cplx *x = denoise("tv", &(larmor_regulariser_opts){.lambda = lambda}, LARMOR_SHAPE(20), b);
    assert_at_most(difference(x, expected, 20), 1e-5);
}
