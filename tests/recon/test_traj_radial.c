/* Spokes in the plane and in space. SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

static double *make(const char *name, const larmor_traj_opts *opts, larmor_shape *shape)
{
    OWN(larmor_array, *traj, larmor_traj_create(dev, name, opts, &traj));
    *shape = larmor_array_shape(traj);
    return host_of(traj);
}

/* The direction of readout j in the plane: of its samples after the centre. */
static double angle_of(const double *k, int64_t samples, int64_t j)
{
    const double *last = k + 2 * (samples - 1 + samples * j);
    return atan2(last[1], last[0]);
}

/* The difference of two angles, in (-pi, pi]. */
static double rotation(double from, double to)
{
    return remainder(to - from, 2 * M_PI);
}

TEST(spokes_are_sampled_evenly_from_minus_half_the_matrix)
{
    larmor_shape s;
    HEAP double *k = make("radial", &(larmor_traj_opts){.matrix = {48}, .samples = 100, .readouts = 7}, &s);
    for (int j = 0; j < 7; j++)
        for (int i = 0; i < 100; i++) {
            const double r = -24 + 0.48 * i, angle = M_PI * j / 7;
            assert_at_most(fabs(k[2 * (i + 100 * j)] - r * cos(angle)), 1e-13);
            assert_at_most(fabs(k[2 * (i + 100 * j) + 1] - r * sin(angle)), 1e-13);
        }
}

TEST(default_spokes_are_at_most_one_apart_at_the_rim)
{
    larmor_shape s;
    HEAP double *k = make("radial", &(larmor_traj_opts){.matrix = {64}}, &s);
    assert_int_equal(s.dim[1], 128);
    assert_at_most(fabs(rotation(angle_of(k, 128, 0), angle_of(k, 128, 1))) * 32, 1);
    assert_true((double)(s.dim[2] - 1) < M_PI * 32); /* and no more of them than needed */
}

TEST(golden_spokes_are_the_golden_angle_apart)
{
    const struct {
        int64_t tiny;
        double degrees;
    } published[] = {{0, 111.2461}, {1, 111.2461}, {2, 68.7539}, {3, 49.7508}, {5, 32.0397}, {7, 23.6281}};
    for (int t = 0; t < 6; t++) {
        larmor_shape s;
        HEAP double *k =
            make("golden", &(larmor_traj_opts){.matrix = {32}, .readouts = 500, .tiny = published[t].tiny}, &s);
        for (int64_t j = 0; j + 1 < 500; j++) {
            const double step = rotation(angle_of(k, s.dim[1], j), angle_of(k, s.dim[1], j + 1)) * 180 / M_PI;
            assert_at_most(fabs(step - published[t].degrees), 5e-5);
        }
        assert_at_most(fabs(angle_of(k, s.dim[1], 0)), 1e-15);
    }
}

TEST(a_longer_voxel_stretches_the_spokes)
{
    larmor_shape s;
    HEAP double *k = make("golden", &(larmor_traj_opts){.matrix = {64, 32}, .samples = 64, .readouts = 20}, &s);
    for (int j = 0; j < 20; j++) assert_at_most(fabs(hypot(k[128 * j] / 32, k[128 * j + 1] / 16) - 1), 1e-14);
}

TEST(uniform_spokes_know_no_tiny_angle)
{
    larmor_array *traj;
    assert_refused(larmor_traj_create(dev, "radial", &(larmor_traj_opts){.matrix = {32}, .tiny = 7}, &traj),
                   LARMOR_ERR_ARG, "traj: radial got tiny 7, but its spokes are uniform over pi; use golden");
}

TEST(koosh_directions_are_uniform_over_the_half_sphere)
{
    enum { SPOKES = 4000, BANDS = 10, SECTORS = 20 };
    larmor_shape s;
    HEAP double *k = make("koosh", &(larmor_traj_opts){.matrix = {32}, .samples = 8, .readouts = SPOKES}, &s);
    int box[BANDS * SECTORS] = {0};
    double moment[3][3] = {{0}};
    for (int j = 0; j < SPOKES; j++) {
        double u[3];
        for (int d = 0; d < 3; d++) u[d] = k[d + 24 * j] / -16; /* the first sample is at -N / 2 */
        assert_at_most(fabs(sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) - 1), 1e-14);
        assert_true(u[2] >= 0);
        const int sector = (int)floor((atan2(u[1], u[0]) / (2 * M_PI) + 0.5) * SECTORS) % SECTORS;
        box[(int)(u[2] * BANDS) + BANDS * sector]++; /* equal heights are equal areas */
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) moment[a][b] += u[a] * u[b] / SPOKES;
    }
    for (int i = 0; i < BANDS * SECTORS; i++) assert_in_range(box[i], 14, 26); /* 20 each; by chance 5 to 38 */
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) assert_at_most(fabs(moment[a][b] - (a == b ? 1 / 3.0 : 0)), 2e-3);
}

TEST(default_koosh_spokes_cover_the_sphere)
{
    larmor_shape s;
    HEAP double *k = make("koosh", &(larmor_traj_opts){.matrix = {16}}, &s);
    assert_int_equal(s.dim[1], 32);
    assert_int_equal(s.dim[2], (int64_t)ceil(2 * M_PI * 8 * 8)); /* one per unit of the half sphere's area */
}

TEST(phyllotaxis_has_a_spoke_along_z_in_each_22_and_the_others_turn_by_the_golden_angle_from_the_pole_to_the_equator)
{
    enum { EACH = 22, LEAVES = 13, SPOKES = EACH * LEAVES, POINTS = (EACH - 1) * LEAVES };
    larmor_shape s;
    HEAP double *k = make("phyllotaxis", &(larmor_traj_opts){.matrix = {32}, .samples = 8, .readouts = SPOKES}, &s);
    const double golden = M_PI * (3 - sqrt(5));
    for (int j = 0; j < SPOKES; j++) {
        double u[3];
        for (int d = 0; d < 3; d++) u[d] = k[d + 24 * j] / -16;
        const int point = j / EACH + (j % EACH - 1) * LEAVES;
        const double polar = j % EACH ? M_PI / 2 * sqrt((double)point / POINTS) : 0;
        assert_at_most(fabs(sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) - 1), 1e-14);
        assert_at_most(fabs(u[2] - cos(polar)), 1e-13);
        if (polar > 0) assert_at_most(fabs(remainder(atan2(u[1], u[0]) - golden * point, 2 * M_PI)), 1e-10);
    }
}
