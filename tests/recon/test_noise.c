/* recon/samples/noise.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

/* Unit-variance complex Gaussian noise (each part), by Box and Muller. */
static cplx gaussian(uint64_t *seed)
{
    const double u = (test_random(seed) + 1) / 2, v = test_random(seed);
    return sqrt(-2 * log(1 - u)) * cexp(M_PI * I * v);
}

/* Noise of coils that are coupled by a fixed matrix and have very different levels: [m, coils]. */
static cplx *coupled_noise(int64_t m, int coils, uint64_t seed)
{
    uint64_t matrix_seed = 77;
    cplx mix[16 * 16], *noise = calloc((size_t)(m * coils), sizeof *noise);
    assert_non_null(noise);
    for (int i = 0; i < coils * coils; i++) {
        const double re = test_random(&matrix_seed);
        mix[i] = pow(2, i / coils) * (0.5 * (re + I * test_random(&matrix_seed)) + (i % (coils + 1) == 0));
    }
    for (int64_t t = 0; t < m; t++)
        for (int j = 0; j < coils; j++) {
            const cplx source = gaussian(&seed);
            for (int i = 0; i < coils; i++) noise[t + m * i] += mix[j + coils * i] * source;
        }
    return noise;
}

/* n n^H / (m - 1) */
static void covariance(const cplx *noise, int64_t m, int coils, cplx *cov)
{
    for (int i = 0; i < coils; i++)
        for (int j = 0; j < coils; j++) {
            cov[i + coils * j] = 0;
            for (int64_t t = 0; t < m; t++) cov[i + coils * j] += noise[t + m * i] * conj(noise[t + m * j]);
            cov[i + coils * j] /= (double)(m - 1);
        }
}

/* The largest deviation of a covariance from value times the identity, relative to value. */
static double from_identity(const cplx *cov, int coils, double value)
{
    double worst = 0;
    for (int i = 0; i < coils * coils; i++) {
        const double off = cabs(cov[i] / value - (i % (coils + 1) == 0));
        if (off > worst) worst = off;
    }
    return worst;
}

enum { COILS = 5, M = 400 };

TEST(its_own_noise_becomes_white_to_rounding)
{
    const larmor_dtype dtype[] = {LARMOR_C64, LARMOR_C128};
    const double limit[] = {1e-5, 1e-12}, scale[] = {1, 0.308};
    cplx *noise = coupled_noise(M, COILS, 1), cov[COILS * COILS];
    covariance(noise, M, COILS, cov);
    assert_true(from_identity(cov, COILS, 2) > 0.5);
    for (int i = 0; i < 2; i++)
        for (int s = 0; s < 2; s++) {
            OWNED(larmor_array) *n = complex_array(dtype[i], LARMOR_SHAPE(M, COILS), noise), *W;
            assert_ok(larmor_noise_whitening(n, scale[s], &W));
            assert_ok(larmor_whiten(W, n));
            HEAP cplx *white = values_of(n);
            covariance(white, M, COILS, cov);
            /* variance 1 in each part is 2 together; scale is an amplitude */
            assert_at_most(from_identity(cov, COILS, 2 * scale[s] * scale[s]), limit[i]);
        }
    free(noise);
}

TEST(data_with_another_dwell_time_have_unit_noise_after_scaling)
{
    enum { MANY = 20000 };
    const double dwell = 2.4, noise_dwell = 20, bandwidth = 0.793;
    const double scale = sqrt(dwell / noise_dwell * bandwidth);
    HEAP cplx *scan = coupled_noise(MANY, COILS, 2), *data = coupled_noise(MANY, COILS, 3);
    cplx cov[COILS * COILS];
    for (int i = 0; i < MANY * COILS; i++) data[i] /= scale; /* a wider band has more noise */
    OWNED(larmor_array) *n = complex_array(LARMOR_C64, LARMOR_SHAPE(MANY, COILS), scan), *W;
    OWNED(larmor_array) *y = complex_array(LARMOR_C64, LARMOR_SHAPE(100, MANY / 100, COILS), data);
    assert_ok(larmor_noise_whitening(n, scale, &W));
    assert_ok(larmor_whiten(W, y));
    HEAP cplx *white = values_of(y);
    covariance(white, MANY, COILS, cov);
    assert_at_most(from_identity(cov, COILS, 2), 5 / sqrt(MANY));
    double real = 0;
    for (int i = 0; i < MANY * COILS; i++) real += pow(creal(white[i]), 2) / (MANY * COILS);
    assert_at_most(fabs(real - 1), 0.02);
}

TEST(few_samples_keep_the_variances_and_shrink_the_correlations)
{
    enum { FEW = 3 }; /* the covariance of 5 coils has rank 3 */
    cplx *noise = coupled_noise(FEW, COILS, 4), cov[COILS * COILS], white[COILS * COILS] = {0};
    covariance(noise, FEW, COILS, cov);
    for (int i = 0; i < COILS * COILS; i++)
        if (i % (COILS + 1)) cov[i] /= 1 + (double)COILS / FEW;
    OWNED(larmor_array) *n = complex_array(LARMOR_C128, LARMOR_SHAPE(FEW, COILS), noise), *W;
    assert_ok(larmor_noise_whitening(n, 1, &W));
    HEAP cplx *w = values_of(W);
    for (int i = 0; i < COILS; i++)
        for (int j = 0; j < COILS; j++)
            for (int a = 0; a < COILS; a++)
                for (int b = 0; b < COILS; b++)
                    white[i + COILS * j] += w[i + COILS * a] * cov[a + COILS * b] * conj(w[j + COILS * b]);
    assert_at_most(from_identity(white, COILS, 2), 1e-12);
    free(noise);
}

TEST(noise_that_cannot_be_used_is_named)
{
    HEAP cplx *noise = coupled_noise(M, COILS, 5);
    larmor_array *W, *one = complex_array(LARMOR_C64, LARMOR_SHAPE(1, COILS), noise);
    assert_refused(larmor_noise_whitening(one, 1, &W), LARMOR_ERR_NUMERIC, "noise: 1 samples, expected at least 2");
    for (int64_t t = 0; t < M; t++) noise[t + M * 3] = noise[t + M * 1];
    OWNED(larmor_array) *copies = complex_array(LARMOR_C128, LARMOR_SHAPE(M, COILS), noise);
    assert_refused(larmor_noise_whitening(copies, 1, &W), LARMOR_ERR_NUMERIC, "is singular");
    for (int64_t t = 0; t < M; t++) noise[t + M * 3] = 0;
    OWNED(larmor_array) *dead = complex_array(LARMOR_C64, LARMOR_SHAPE(M, COILS), noise);
    assert_refused(larmor_noise_whitening(dead, 1, &W), LARMOR_ERR_NUMERIC, "noise: coil 3 has variance 0");
    noise[7] = NAN;
    OWNED(larmor_array) *bad = complex_array(LARMOR_C64, LARMOR_SHAPE(M, COILS), noise);
    assert_refused(larmor_noise_whitening(bad, 1, &W), LARMOR_ERR_NUMERIC, "noise: coil 0 has variance nan");
    assert_null(W);
    assert_refused(larmor_noise_whitening(bad, 0, &W), LARMOR_ERR_ARG, "noise: scale is 0");
    larmor_array_free(one);
}

TEST(colouring_takes_whitening_back)
{
    const larmor_dtype dtype[] = {LARMOR_C64, LARMOR_C128};
    const double limit[] = {1e-5, 1e-13};
    HEAP cplx *noise = coupled_noise(M, COILS, 1);
    for (int i = 0; i < 2; i++) {
        OWNED(larmor_array) *n = complex_array(dtype[i], LARMOR_SHAPE(M, COILS), noise), *W, *C;
        assert_ok(larmor_noise_whitening(n, 0.3, &W));
        assert_ok(larmor_noise_colouring(W, &C));
        assert_ok(larmor_whiten(W, n));
        assert_ok(larmor_whiten(C, n));
        HEAP cplx *back = values_of(n);
        double rest = 0, all = 0;
        for (int j = 0; j < M * COILS; j++) {
            rest += pow(cabs(back[j] - noise[j]), 2);
            all += pow(cabs(noise[j]), 2);
        }
        assert_at_most(sqrt(rest / all), limit[i]);
    }
    const cplx singular[4] = {1, 2, 2, 4};
    larmor_array *W = complex_array(LARMOR_C64, LARMOR_SHAPE(2, 2), singular), *C;
    assert_refused(larmor_noise_colouring(W, &C), LARMOR_ERR_NUMERIC, "has no inverse");
    assert_null(C);
    larmor_array_free(W);
    W = complex_array(LARMOR_C64, LARMOR_SHAPE(4, 1), singular);
    assert_refused(larmor_noise_colouring(W, &C), LARMOR_ERR_SHAPE, "expected complex [coils, coils]");
    larmor_array_free(W);
}

TEST(whitening_mixes_the_coils_of_every_sample)
{
    enum { SAMPLES = 70001, N = 3 }; /* more than are mixed at a time */
    HEAP cplx *data = random_values(SAMPLES * N, 6), *w = random_values(N * N, 7);
    HEAP cplx *expected = calloc(SAMPLES * N, sizeof *expected);
    for (int64_t t = 0; t < SAMPLES; t++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) expected[t + SAMPLES * i] += w[i + N * j] * data[t + SAMPLES * j];
    OWNED(larmor_array) *W = complex_array(LARMOR_C128, LARMOR_SHAPE(N, N), w);
    OWNED(larmor_array) *y = complex_array(LARMOR_C128, LARMOR_SHAPE(SAMPLES, 1, N), data);
    assert_ok(larmor_whiten(W, y));
    assert_at_most(away(y, expected, SAMPLES * N), 1e-15);
    OWNED(larmor_array) *other = zeros(LARMOR_C128, LARMOR_SHAPE(4, 2));
    assert_refused(larmor_whiten(W, other), LARMOR_ERR_SHAPE, "whiten: matrix is c128 [3, 3]");
}
