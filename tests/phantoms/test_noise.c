/* Noise: its moments, its reproducibility. SPDX-License-Identifier: Apache-2.0 */
#include "tests/phantoms/support.h"

enum { COUNT = 200000 };

static double complex *noise(larmor_device *where, larmor_dtype dtype, double sigma, uint64_t seed)
{
    OWN(larmor_array, *x, larmor_array_create(where, dtype, LARMOR_SHAPE(COUNT), &x));
    assert_ok(larmor_phantom_noise(x, sigma, seed));
    double complex *v = values_of(x);
    return v;
}

/* Standard errors of these means over COUNT samples, times 5: all of them hold, or this generator is not Gaussian. */
TEST(noise_has_the_moments_of_a_gaussian)
{
    HEAP double complex *v = noise(dev, LARMOR_C128, 3, 11);
    double mean = 0, square = 0, fourth = 0, cross = 0, next = 0, radius = 0;
    for (int i = 0; i < COUNT; i++) {
        const double re = creal(v[i]) / 3, im = cimag(v[i]) / 3;
        mean += re + im;
        square += re * re + im * im;
        fourth += pow(re, 4) + pow(im, 4);
        cross += re * im;
        if (!i) continue;
        next += re * creal(v[i - 1]) / 3;
        radius += (re * re + im * im - 2) * creal(v[i - 1]) / cabs(v[i - 1]); /* one's size, the other's direction */
    }
    const double n = COUNT;
    assert_at_most(fabs(mean / (2 * n)), 5 / sqrt(2 * n));
    assert_at_most(fabs(square / (2 * n) - 1), 5 * sqrt(2 / (2 * n)));
    assert_at_most(fabs(fourth / (2 * n) - 3), 5 * sqrt(96 / (2 * n)));
    assert_at_most(fabs(cross / n), 5 / sqrt(n));
    assert_at_most(fabs(next / n), 5 / sqrt(n));
    assert_at_most(fabs(radius / n), 5 * sqrt(2 / n));
}

TEST(the_same_seed_gives_the_same_noise_for_any_number_of_threads)
{
    HEAP double complex *first = noise(dev, LARMOR_C128, 1, 42);
    const char *spec[] = {"cpu:1", "cpu:3"};
    for (int i = 0; i < 2; i++) {
        OWN(larmor_device, *other, larmor_device_open(spec[i], &other));
        HEAP double complex *again = noise(other, LARMOR_C128, 1, 42);
        assert_memory_equal(first, again, COUNT * sizeof *first);
    }
    HEAP double complex *single = noise(dev, LARMOR_C64, 1, 42);
    for (int i = 0; i < COUNT; i++) assert_at_most(cabs(single[i] - first[i]), 1e-7 * cabs(first[i]) + 1e-30);
}

TEST(different_seeds_give_unrelated_noise)
{
    const uint64_t seeds[] = {0, 1, 2, UINT64_C(1) << 63};
    double complex *v[4];
    for (int i = 0; i < 4; i++) v[i] = noise(dev, LARMOR_C128, 1, seeds[i]);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) {
            double complex product = 0;
            for (int k = 0; k < COUNT; k++) product += conj(v[i][k]) * v[j][k] / 2;
            assert_at_most(cabs(product) / COUNT, 5 / sqrt((double)COUNT));
        }
    for (int i = 0; i < 4; i++) free(v[i]);
}

TEST(noise_is_added_in_proportion_to_sigma)
{
    double complex *unit = noise(dev, LARMOR_C128, 1, 5), some[3] = {1, 2 - 3 * I, -4 * I};
    OWN(larmor_array, *x, larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(3), &x));
    assert_ok(larmor_array_write(x, some, sizeof some));
    assert_ok(larmor_phantom_noise(x, 0.25, 5));
    double complex *v = values_of(x);
    for (int i = 0; i < 3; i++) assert_at_most(cabs(v[i] - some[i] - 0.25 * unit[i]), 1e-15);
    free(v);
    assert_ok(larmor_array_write(x, some, sizeof some));
    assert_ok(larmor_phantom_noise(x, 0, 5));
    v = values_of(x);
    assert_memory_equal(v, some, sizeof some);
    LMR_FREE(v, unit);
}

TEST(noise_that_makes_no_sense_is_refused)
{
    OWN(larmor_array, *real, larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(3), &real));
    OWN(larmor_array, *x, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(3), &x));
    assert_refused(larmor_phantom_noise(real, 1, 0), LARMOR_ERR_ARG, "phantom noise: got f32 [3]");
    assert_refused(larmor_phantom_noise(x, -1, 0), LARMOR_ERR_ARG,
                   "phantom noise: got sigma -1, expected a number >= 0");
    assert_refused(larmor_phantom_noise(x, NAN, 0), LARMOR_ERR_ARG, "expected a number >= 0");
}

/* x <- the image of Cartesian k-space y [n, n], by a direct sum */
static void image_of(const double complex *y, int n, double complex *x)
{
    double complex wave[64];
    for (int j = 0; j < n; j++) wave[j] = cexp(2 * M_PI * I * j / n);
    for (int i = 0; i < n * n; i++) {
        x[i] = 0;
        for (int j = 0; j < n * n; j++) {
            const int cycles = (i % n - n / 2) * (j % n - n / 2) + (i / n - n / 2) * (j / n - n / 2);
            x[i] += y[j] * wave[((cycles % n) + n) % n];
        }
    }
}

TEST(an_image_has_the_signal_to_noise_ratio_that_was_asked_for)
{
    enum { N = 24, COILS = 3, ROUNDS = 4 };
    const double snr = 7;
    OWNED(larmor_array) *picture, *maps;
    double sigma;
    OWN(larmor_phantom, *p, larmor_phantom_create("texture", 2, &p));
    assert_ok(larmor_phantom_noise_level(p, dev, LARMOR_SHAPE(N, N), COILS, snr, &sigma));
    assert_ok(larmor_phantom_image(p, dev, LARMOR_C128, LARMOR_SHAPE(N, N), &picture));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C128, LARMOR_SHAPE(N, N), NULL, COILS, &maps));
    HEAP double complex *rho = values_of(picture), *s = values_of(maps);
    double complex x[COILS][N * N];
    double square[N * N] = {0}, ratio = 0, largest = 0;
    int inside = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) { /* of noise alone, combined with the true maps */
        OWN(larmor_array, *noise, larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(N * N, COILS), &noise));
        assert_ok(larmor_phantom_noise(noise, sigma, round));
        HEAP double complex *y = values_of(noise);
        for (int c = 0; c < COILS; c++) image_of(y + N * N * c, N, x[c]);
        for (int i = 0; i < N * N; i++) {
            double complex sum = 0;
            double energy = 0;
            for (int c = 0; c < COILS; c++) {
                sum += conj(s[i + N * N * c]) * x[c][i];
                energy += pow(cabs(s[i + N * N * c]), 2);
            }
            square[i] += pow(creal(sum / energy), 2) * energy / ROUNDS;
        }
    }
    double variance =
        0; /* of the combined image's real part, times sum_c |s_c|^2, which makes it the same everywhere */
    for (int i = 0; i < N * N; i++) {
        variance += square[i] / (N * N);
        largest = fmax(largest, creal(rho[i]));
    }
    for (int i = 0; i < N * N; i++) {
        if (creal(rho[i]) <= 0.05 * largest) continue;
        double energy = 0;
        for (int c = 0; c < COILS; c++) energy += pow(cabs(s[i + N * N * c]), 2);
        ratio += creal(rho[i]) * sqrt(energy / variance);
        inside++;
    }
    assert_at_most(fabs(ratio / inside / snr - 1), 0.05);
}

TEST(a_ratio_of_signal_to_noise_is_above_zero)
{
    double sigma = 1;
    OWN(larmor_phantom, *p, larmor_phantom_create("disc", 2, &p));
    assert_refused(larmor_phantom_noise_level(p, dev, LARMOR_SHAPE(8, 8), 0, 0, &sigma), LARMOR_ERR_ARG,
                   "phantom noise: got a signal-to-noise ratio of 0, expected a number > 0");
    assert_refused(larmor_phantom_noise_level(p, dev, LARMOR_SHAPE(8, 8, 8), 0, 5, &sigma), LARMOR_ERR_SHAPE,
                   "expected 2");
}
