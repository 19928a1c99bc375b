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
    OWNED(cplx) *y = malloc((size_t)(all * COILS) * sizeof *y);
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

TEST(what_does_not_fit_is_refused)
{
    OWNED(larmor_array) *kspace = zeros(LARMOR_C64, LARMOR_SHAPE(8, 2, 1)),
                        *traj = zeros(LARMOR_F64, LARMOR_SHAPE(2, 8, 3));
    double level;
    assert_refused(larmor_noise_level(kspace, traj, &level), LARMOR_ERR_SHAPE, "noise level: trajectory is");
    assert_refused(larmor_noise_level(NULL, traj, &level), LARMOR_ERR_SHAPE, "noise level: k-space is missing");
}
