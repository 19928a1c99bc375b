/* recon/samples/noise_level.c, larmor_noise_level. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { COILS = 3 };

static cplx gaussian(uint64_t *seed)
{
    const double u = (test_random(seed) + 1) / 2, v = test_random(seed);
    return sqrt(-2 * log(1 - u)) * cexp(M_PI * I * v);
}

/* A disc off the centre, of this radius in fields of view, with noise, on spokes of n samples from edge to edge. */
static double level_of_disc(double radius, double matrix, int64_t n, int64_t spokes, double signal,
                            const double noise[COILS])
{
    double *k = radial_points(matrix, n, spokes), level;
    const int64_t all = n * spokes;
    uint64_t seed = 11;
    HEAP cplx *y = malloc((size_t)(all * COILS) * sizeof *y);
    for (int64_t i = 0; i < all * COILS; i++) {
        const double *at = k + 2 * (i % all), r = 2 * M_PI * radius * hypot(at[0], at[1]);
        y[i] = signal * radius * radius * (r > 0 ? j1(r) / r : 0.5) * cexp(-2 * M_PI * I * 0.1 * at[0]) +
               noise[i / all] * gaussian(&seed);
    }
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, n, spokes), k);
    OWNED(larmor_array) *kspace = complex_array(LARMOR_C64, LARMOR_SHAPE(n, spokes, COILS), y);
    assert_ok(larmor_noise_level(kspace, traj, &level));
    free(k);
    return level;
}

static double level_of(double matrix, int64_t n, int64_t spokes, double signal, const double noise[COILS])
{
    return level_of_disc(0.3, matrix, n, spokes, signal, noise);
}

TEST(of_noise_alone_it_is_the_deviation)
{
    const double deviation[] = {1e-6, 1, 3e4};
    for (int i = 0; i < 3; i++) {
        const double noise[COILS] = {deviation[i], deviation[i], deviation[i]};
        assert_at_most(fabs(level_of(64, 128, 100, 0, noise) / deviation[i] - 1), 0.05);
        assert_at_most(fabs(level_of(64, 64, 100, 0, noise) / deviation[i] - 1), 0.1);
    }
}

TEST(of_coils_it_is_the_root_of_the_mean_square)
{
    const double noise[COILS] = {1, 2, 5};
    assert_at_most(fabs(level_of(64, 128, 200, 0, noise) / sqrt(10) - 1), 0.05);
}

TEST(signal_at_the_rim_hardly_adds_to_it)
{
    const double noise[COILS] = {1, 1, 1};
    /* in the centre of k-space the signal is 3000 times the noise; at the rim of 128 voxels it is as large */
    assert_at_most(fabs(level_of(128, 256, 200, 7e4, noise) - 1), 0.1);
    assert_at_most(fabs(level_of(128, 512, 200, 7e4, noise) - 1), 0.1);
}

/* As strong as the noise at the rim, and from -0.3 to 0.5 of the field of view. */
TEST(of_oversampled_readouts_signal_does_not_add_to_it)
{
    const double noise[COILS] = {1, 1, 1};
    assert_at_most(fabs(level_of_disc(0.4, 128, 256, 200, 7e4, noise) - 1), 0.03);
    assert_true(level_of_disc(0.4, 128, 128, 200, 7e4, noise) > 2); /* where they are not */
}

TEST(short_readouts_have_a_level_too)
{
    const double noise[COILS] = {1, 1, 1};
    const int64_t samples[] = {8, 12, 20, 40};
    for (int i = 0; i < 4; i++) assert_at_most(fabs(level_of(20, samples[i], 300, 0, noise) - 1), 0.1);
}

/* Lines of an ellipse of .7 by .5 fields of view that coils see with waves of half a period, every second one stored
 * backwards; `step` lines from one to the next. */
static double levels_of_lines(int n, int coils, int step, double signal, const double *noise, int of_lines,
                              double *of_coil)
{
    const int count = n / step;
    HEAP double *k = malloc(sizeof *k * 2 * (size_t)(n * count));
    HEAP cplx *y = malloc(sizeof *y * (size_t)(n * count * coils));
    uint64_t seed = 5;
    double level;
    for (int i = 0; i < n * count; i++) {
        const int line = i / n;
        const int at = line % 2 ? n - 1 - i % n : i % n;
        k[2 * i] = at - n / 2;
        k[2 * i + 1] = step * line - n / 2;
    }
    for (int i = 0; i < n * count * coils; i++) {
        y[i] = (noise ? noise[i / (n * count)] : 1) * gaussian(&seed);
        for (int side = -1; side < 2 && coils > 1; side += 2) {
            const double *at = k + 2 * (i % (n * count)), turn = 2 * M_PI * (double)(i / (n * count)) / coils;
            const double r =
                2 * M_PI * hypot(.35 * (at[0] + side * .5 * cos(turn)), .25 * (at[1] + side * .5 * sin(turn)));
            y[i] += signal * (r > 0 ? j1(r) / r : 0.5) * cexp(I * (double)side * turn);
        }
        if (coils > 1) continue;
        const double r = 2 * M_PI * hypot(.35 * k[2 * i], .25 * k[2 * i + 1]);
        y[i] += signal * (r > 0 ? j1(r) / r : 0.5);
    }
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, n, count), k);
    OWNED(larmor_array) *kspace = complex_array(LARMOR_C64, LARMOR_SHAPE(n, count, coils), y);
    if (of_lines)
        assert_ok(larmor_noise_of_lines(kspace, traj, &level, of_coil));
    else
        assert_ok(larmor_noise_level(kspace, traj, &level));
    return level;
}

static double level_of_lines(int n, int coils, int step, double signal, int of_lines)
{
    return levels_of_lines(n, coils, step, signal, NULL, of_lines, NULL);
}

/* Differences have 50 times the noise and more where there is so little. */
TEST(of_lines_it_is_the_deviation_however_little_noise_there_is)
{
    static const double signal[] = {0, 1e3, 1e5};
    for (int i = 0; i < 3; i++)
        for (int step = 1; step <= 2; step++)
            assert_at_most(fabs(level_of_lines(48, 6, step, signal[i], 1) - 1), 0.1);
    for (int i = 0; i < 2; i++) assert_at_most(fabs(level_of_lines(48, 1, 1, signal[i], 1) - 1), 0.1);
    assert_true(level_of_lines(48, 6, 1, 1e5, 0) > 50);
}

/* Those of ten coils, more than are looked at for all; that of the noisy one is too small, as it is a mean with the
 * coils from which it is predicted. */
TEST(of_lines_each_coil_has_its_own)
{
    enum { MANY = 10, NOISY = 3 };
    double noise[MANY], level[MANY];
    for (int c = 0; c < MANY; c++) noise[c] = c == NOISY ? 4 : 1;
    for (double signal = 0; signal < 2e4; signal += 1e4) {
        levels_of_lines(48, MANY, 1, signal, noise, 1, level);
        for (int c = 0; c < MANY; c++)
            if (c != NOISY) assert_at_most(fabs(level[c] - 1), 0.2);
        assert_true(level[NOISY] > 1.9 && level[NOISY] < 4);
    }
}

TEST(of_spokes_there_is_no_level_of_lines)
{
    double *k = radial_points(48, 48, 60), level;
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, 48, 60), k);
    OWNED(larmor_array) *kspace = zeros(LARMOR_C64, LARMOR_SHAPE(48, 60, 2));
    free(k);
    assert_ok(larmor_noise_of_lines(kspace, traj, &level, NULL));
    assert_true(level == 0);
}

TEST(what_does_not_fit_is_refused)
{
    OWNED(larmor_array) *kspace = zeros(LARMOR_C64, LARMOR_SHAPE(8, 2, 1)),
                        *traj = zeros(LARMOR_F64, LARMOR_SHAPE(2, 8, 3));
    double level;
    assert_refused(larmor_noise_level(kspace, traj, &level), LARMOR_ERR_SHAPE, "noise level: trajectory is");
    assert_refused(larmor_noise_level(NULL, traj, &level), LARMOR_ERR_SHAPE, "noise level: k-space is missing");
    assert_refused(larmor_noise_of_lines(kspace, traj, &level, NULL), LARMOR_ERR_SHAPE,
                   "noise of lines: trajectory is");
}
