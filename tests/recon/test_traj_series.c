/* Trajectories of a series go on from one repetition to the next; late gradients shift them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

static double *make(const char *name, larmor_traj_opts opts, int64_t first, larmor_shape *shape)
{
    opts.first = first;
    OWN(larmor_array, *traj, larmor_traj_create(dev, name, &opts, &traj));
    *shape = larmor_array_shape(traj);
    return host_of(traj);
}

TEST(golden_angles_and_means_go_on)
{
    enum { N = 13, REPETITIONS = 3 };
    const char *names[] = {"golden", "koosh", "golden"};
    for (int i = 0; i < 3; i++) {
        larmor_traj_opts opts = {.matrix = {10}, .samples = 6, .readouts = N, .tiny = i == 2 ? 5 : 0};
        larmor_shape s;
        opts.readouts = REPETITIONS * N;
        HEAP double *all = make(names[i], opts, 0, &s);
        const size_t each = (size_t)(s.dim[0] * s.dim[1] * N);
        opts.readouts = N;
        for (int r = 0; r < REPETITIONS; r++) {
            HEAP double *k = make(names[i], opts, (int64_t)r * N, &s);
            assert_memory_equal(k, all + each * (size_t)r, each * sizeof *k);
        }
    }
}

TEST(the_stars_of_a_stack_go_on)
{
    enum { SPOKES = 7, NZ = 3, SAMPLES = 8 };
    larmor_shape s;
    HEAP double *stack =
        make("stars", (larmor_traj_opts){.matrix = {8, 8, NZ}, .samples = SAMPLES, .readouts = SPOKES},
             2 * SPOKES * NZ, &s);
    HEAP double *star =
        make("golden", (larmor_traj_opts){.matrix = {8}, .samples = SAMPLES, .readouts = SPOKES}, 2 * SPOKES, &s);
    for (int i = 0; i < SAMPLES * SPOKES * NZ; i++)
        for (int d = 0; d < 2; d++) assert_true(stack[3 * i + d] == star[2 * (i % (SAMPLES * SPOKES)) + d]);
}

static double angle_at(const double *k, const larmor_shape *s, int64_t readout)
{
    const double *last = k + 2 * (s->dim[1] - 1 + s->dim[1] * readout);
    return atan2(last[1], last[0]);
}

/* Even readouts keep their distance, and each repetition is rotated into the gaps that the others have left. */
TEST(even_spokes_and_arms_turn_into_the_gaps)
{
    enum { N = 9, REPETITIONS = 8 };
    const char *names[] = {"radial", "spiral"};
    for (int i = 0; i < 2; i++) {
        const double spacing = (i ? 2 : 1) * M_PI / N;
        double angle[REPETITIONS];
        for (int r = 0; r < REPETITIONS; r++) {
            larmor_shape s;
            const larmor_traj_opts opts = {.matrix = {24}, .samples = 50, .readouts = N};
            HEAP double *k = make(names[i], opts, (int64_t)r * N, &s), *still = make(names[i], opts, 0, &s);
            for (int j = 0; j < N; j++) {
                const double moved = remainder(angle_at(k, &s, j) - angle_at(still, &s, j), 2 * M_PI) / spacing;
                assert_at_most(fabs(moved - fmod(r * 0.6180339887498949, 1)), 1e-9);
                angle[r] = moved;
            }
        }
        for (int r = 0; r < REPETITIONS; r++)
            for (int q = 0; q < r; q++) assert_true(fabs(remainder(angle[r] - angle[q], 1)) > 0.5 / REPETITIONS);
    }
}

TEST(cartesian_lines_stay)
{
    larmor_shape s;
    HEAP double *a = make("cartesian", (larmor_traj_opts){.matrix = {4, 6}}, 0, &s);
    HEAP double *b = make("cartesian", (larmor_traj_opts){.matrix = {4, 6}}, 12, &s);
    assert_memory_equal(a, b, (size_t)larmor_shape_count(s) * sizeof *a);
}

TEST(a_start_out_of_range_is_refused)
{
    larmor_array *traj;
    assert_refused(larmor_traj_create(dev, "golden", &(larmor_traj_opts){.matrix = {8}, .first = -1}, &traj),
                   LARMOR_ERR_ARG, "traj: got -1 readouts before the first, expected 0 to 2^40");
}

static double *delayed(const char *name, larmor_traj_opts opts, const double delay[6], larmor_shape *shape)
{
    OWN(larmor_array, *traj, larmor_traj_create(dev, name, &opts, &traj));
    OWN(larmor_array, *late, larmor_traj_delay(traj, delay, NULL, &late));
    *shape = larmor_array_shape(late);
    return host_of(late);
}

TEST(a_late_gradient_shifts_straight_readouts_exactly)
{
    const double delay[6] = {0.7, -1.3, 2.25};
    const char *names[] = {"golden", "koosh", "cartesian"};
    for (int i = 0; i < 3; i++)
        for (int64_t samples = 3; samples < 40; samples += 7) {
            const larmor_traj_opts opts = {.matrix = {16}, .samples = samples, .readouts = 5};
            larmor_shape s;
            HEAP double *late = delayed(names[i], opts, delay, &s), *k = make(names[i], opts, 0, &s);
            const int64_t nd = s.dim[0], n = s.dim[1];
            for (int64_t j = 0; j < larmor_shape_count(s); j++) {
                const int64_t d = j % nd, readout = j / (nd * n);
                const double *line = k + nd * n * readout + d;
                const double step = line[nd] - line[0];
                assert_at_most(fabs(late[j] - (k[j] - step * delay[d])), 1e-12);
            }
        }
}

/* By minus the symmetric matrix of delays times the readout's step, in the units in which the axes are alike. */
TEST(a_coupling_shifts_each_axis_by_what_the_other_does)
{
    const double delay[6] = {0.7, -1.3, 2.25, 0.4, -0.3, 0.2}, fov[3] = {1, 2, 0.5};
    const double S[3][3] = {{0.7, 0.4, -0.3}, {0.4, -1.3, 0.2}, {-0.3, 0.2, 2.25}};
    const char *names[] = {"golden", "koosh"};
    for (int i = 0; i < 2; i++) {
        OWN(larmor_array, *traj,
            larmor_traj_create(dev, names[i], &(larmor_traj_opts){.matrix = {16}, .samples = 20, .readouts = 7},
                               &traj));
        OWN(larmor_array, *late, larmor_traj_delay(traj, delay, fov, &late));
        OWN_MEMORY(double, *k, larmor_array_download(traj, LARMOR_F64, &k));
        OWN_MEMORY(double, *moved, larmor_array_download(late, LARMOR_F64, &moved));
        const larmor_shape s = larmor_array_shape(traj);
        const int64_t nd = s.dim[0], n = s.dim[1];
        for (int64_t j = 0; j < nd * n * s.dim[2]; j++) {
            const double *line = k + nd * n * (j / (nd * n));
            double shift = 0;
            for (int d = 0; d < nd; d++) shift += S[j % nd][d] * (line[nd + d] - line[d]) * fov[j % nd] / fov[d];
            assert_at_most(fabs(moved[j] - (k[j] - shift)), 1e-12);
        }
    }
}

/* A spiral between its samples is another, denser sampling of the same spiral. */
TEST(a_late_gradient_keeps_to_a_curved_readout)
{
    larmor_shape s, dense;
    const double half[6] = {0.5, 0.5}; /* half a sample is one of the doubled number */
    larmor_traj_opts opts = {.matrix = {32}, .samples = 700, .readouts = 4};
    HEAP double *late = delayed("spiral", opts, half, &s);
    opts.samples = 1400;
    HEAP double *k = make("spiral", opts, 0, &dense);
    for (int64_t readout = 0; readout < 4; readout++)
        for (int64_t i = 20; i < 700; i++)
            for (int d = 0; d < 2; d++)
                assert_at_most(fabs(late[d + 2 * (i + 700 * readout)] - k[d + 2 * (2 * i - 1 + 1400 * readout)]),
                               1e-3);
}

TEST(delays_out_of_range_are_refused)
{
    larmor_array *traj, *late;
    assert_ok(larmor_traj_create(dev, "golden", &(larmor_traj_opts){.matrix = {8}, .readouts = 2}, &traj));
    assert_refused(larmor_traj_delay(traj, (double[6]){17, 0, 0}, NULL, &late), LARMOR_ERR_ARG,
                   "traj delay: got 17 samples, expected at most the 16 of a readout");
    assert_null(late);
    assert_refused(larmor_traj_delay(traj, (double[6]){0, NAN, 0}, NULL, &late), LARMOR_ERR_ARG,
                   "traj delay: got nan");
    larmor_array_free(traj);
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(2, 3, 4), &traj));
    assert_refused(larmor_traj_delay(traj, (double[6]){0, 0, 0}, NULL, &late), LARMOR_ERR_SHAPE,
                   "traj delay: got c64 [2, 3, 4]");
    larmor_array_free(traj);
}
