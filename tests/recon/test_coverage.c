/* recon/samples/coverage.c: scans with a side of k-space missing, and scans that only look so.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

typedef struct made {
    const char *name;
    larmor_traj_opts opts;
} made;

static larmor_array *trajectory(const made *t)
{
    larmor_array *k;
    assert_ok(larmor_traj_create(dev, t->name, &t->opts, &k));
    return k;
}

/* The axes with a missing side, as digits: 10 is y alone, 1 is x alone. */
static int missing(const larmor_array *traj)
{
    larmor_coverage c;
    assert_ok(larmor_traj_coverage(traj, &c));
    return c.partial[0] + 10 * c.partial[1] + 100 * c.partial[2];
}

static void assert_missing(const made *t, int axes)
{
    OWNED(larmor_array) *traj = trajectory(t);
    if (missing(traj) != axes)
        fail_msg("%s, matrix %lld, %lld readouts, acceleration %lld: missing %d, expected %d", t->name,
                 (long long)t->opts.matrix[1], (long long)t->opts.readouts, (long long)t->opts.acceleration[0],
                 missing(traj), axes);
}

TEST(partial_fourier_is_recognised_in_2d_and_3d)
{
    const double part[] = {5 / 8., 6 / 8., 7 / 8.};
    const int64_t matrix[] = {64, 96, 97};
    for (int p = 0; p < 3; p++)
        for (int n = 0; n < 3; n++)
            for (int64_t every = 1; every <= 3; every++)
                for (int64_t calibration = 0; calibration <= 16; calibration += 16)
                    for (int64_t z = 1; z <= 8; z += 7) {
                        const made t = {"cartesian",
                                        {.matrix = {8, matrix[n], z},
                                         .partial_fourier = part[p],
                                         .acceleration = {every, 1},
                                         .calibration = {calibration, 0}}};
                        assert_missing(&t, 10);
                    }
}

TEST(skipped_lines_are_no_partial_fourier)
{
    const int64_t matrix[] = {24, 32, 50, 64, 97};
    for (int n = 0; n < 5; n++)
        for (int64_t every = 1; every <= 8; every++) {
            for (int64_t calibration = 0; calibration <= 12; calibration += 12)
                assert_missing(
                    &(made){"cartesian",
                            {.matrix = {8, matrix[n]}, .acceleration = {every, 1}, .calibration = {calibration, 0}}},
                    0);
            assert_missing(&(made){"cartesian", {.matrix = {8, matrix[n]}, .readouts = matrix[n] / every}}, 0);
            assert_missing(&(made){"cartesian", {.matrix = {8, 16, matrix[n]}, .acceleration = {2, every}}}, 0);
        }
}

TEST(few_spokes_and_arms_are_no_partial_fourier)
{
    static const char *const name[] = {"golden", "radial", "spiral", "koosh"};
    for (int i = 0; i < 4; i++)
        for (int64_t readouts = 1; readouts <= 13; readouts++) {
            const int64_t z = i == 3 ? 32 : 1;
            assert_missing(&(made){name[i], {.matrix = {32, 32, z}, .readouts = readouts}}, 0);
            assert_missing(&(made){name[i], {.matrix = {33, 33, z}, .readouts = readouts, .samples = 40}}, 0);
        }
}

/* turns of an arm that ends at the angle `last` */
static larmor_array *arm_of(double turns, double last, double reach)
{
    enum { SAMPLES = 1000 };
    double k[2 * SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        const double u = i / (SAMPLES - 1.), angle = 2 * M_PI * turns * (u - 1) + last;
        k[2 * i] = reach * u * cos(angle);
        k[2 * i + 1] = reach * u * sin(angle);
    }
    return real_array(LARMOR_SHAPE(2, SAMPLES, 1), k);
}

TEST(a_single_arm_of_few_turns_is_no_partial_fourier)
{
    for (double turns = 2; turns < 12; turns += 0.5)
        for (double last = 0; last < 6; last += 0.3) {
            OWNED(larmor_array) *arm = arm_of(turns, last, 32);
            assert_int_equal(missing(arm), 0);
        }
}

/* Spokes that begin before the centre by a part of their length, over `span` of a turn. */
static larmor_array *asymmetric_spokes(double before, double span)
{
    enum { SAMPLES = 64, SPOKES = 60 };
    static double k[2 * SAMPLES * SPOKES];
    for (int j = 0; j < SPOKES; j++)
        for (int i = 0; i < SAMPLES; i++) {
            const double r = 32 * (i / (SAMPLES - 1.) * (1 + before) - before), angle = 2 * M_PI * span * j / SPOKES;
            k[2 * (i + SAMPLES * j)] = r * cos(angle);
            k[2 * (i + SAMPLES * j) + 1] = r * sin(angle);
        }
    return real_array(LARMOR_SHAPE(2, SAMPLES, SPOKES), k);
}

TEST(half_echoes_are_partial_fourier_where_a_side_of_the_plane_is_missing)
{
    OWNED(larmor_array) *all_round = asymmetric_spokes(0.2, 1), *half = asymmetric_spokes(0.2, 0.5);
    assert_int_equal(missing(all_round), 0);
    assert_int_equal(missing(half), 10);
    double k[3 * 40 * 16];
    for (int i = 0; i < 40 * 16; i++) {
        k[3 * i] = i % 40 - 8;
        k[3 * i + 1] = i / 40 % 4 - 2;
        k[3 * i + 2] = i / 160 - 2;
    }
    OWNED(larmor_array) *lines = real_array(LARMOR_SHAPE(3, 40, 16), k);
    assert_int_equal(missing(lines), 1);
}

TEST(sides_are_counted_from_the_centre_of_k_space)
{
    OWNED(larmor_array) *k = real_array(LARMOR_SHAPE(2, 3, 1), (double[]){3, -7, 5, 1, 4, 2});
    larmor_coverage c;
    assert_ok(larmor_traj_coverage(k, &c));
    assert_true(c.low[0] == 0 && c.high[0] == 5 && c.low[1] == -7 && c.high[1] == 2);
    assert_refused(larmor_traj_coverage(NULL, &c), LARMOR_ERR_SHAPE, "coverage: trajectory is missing");
}
