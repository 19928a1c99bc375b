/* recon/solve/posterior.c, on dense matrices: against the distributions that it draws from. SPDX-License-Identifier:
 * Apache-2.0 */
#include "tests/recon/matrix.h"

ENDS_BY(larmor_posterior_free, larmor_posterior)

enum { DATA = 10, IMAGE = 8 };
#define SIGMA 0.3
#define WEIGHT 0.7

static double normal(uint64_t *seed)
{
    const double u = fabs(test_random(seed)), v = test_random(seed);
    return sqrt(-2 * log(fmax(u, 1e-300))) * cos(M_PI * v);
}

static cplx complex_normal(double deviation, uint64_t *seed)
{
    const double re = normal(seed);
    return deviation * (re + I * normal(seed));
}

/* The mean and the deviation of the real and of the imaginary part of so many samples at each place. */
typedef struct moments {
    double mean[2 * IMAGE], deviation[2 * IMAGE];
} moments;

static moments moments_of(larmor_posterior *p, larmor_array *x, int before, int samples)
{
    moments m = {.mean = {0}};
    double square[2 * IMAGE] = {0};
    for (int i = 0; i < before; i++) assert_ok(larmor_posterior_next(p, x));
    for (int i = 0; i < samples; i++) {
        assert_ok(larmor_posterior_next(p, x));
        HEAP cplx *value = values_of(x);
        const double *part = (const double *)value;
        for (int64_t j = 0; j < 2 * larmor_array_count(x); j++) {
            m.mean[j] += part[j] / samples;
            square[j] += part[j] * part[j];
        }
    }
    for (int64_t j = 0; j < 2 * larmor_array_count(x); j++)
        m.deviation[j] = sqrt((square[j] - samples * m.mean[j] * m.mean[j]) / (samples - 1));
    return m;
}

static int covers(const moments *m, int part, double truth)
{
    return fabs(truth - m->mean[part]) <= 1.96 * m->deviation[part];
}

/* x of the prior, b = A x + noise, and intervals from b alone. */
TEST(intervals_of_95_percent_cover_as_many_truths_of_a_gaussian_prior)
{
    enum { TRUTHS = 100, SAMPLES = 100 };
    uint64_t seed = 11;
    int covered = 0;
    for (int t = 0; t < TRUTHS; t++) {
        OWNED(problem) p = random_problem(DATA, IMAGE);
        HEAP cplx *truth = calloc(IMAGE, sizeof *truth), *b = calloc(DATA, sizeof *b);
        for (int j = 0; j < IMAGE; j++) truth[j] = complex_normal(SIGMA / sqrt(WEIGHT), &seed);
        for (int i = 0; i < DATA; i++) {
            b[i] = complex_normal(SIGMA, &seed);
            for (int j = 0; j < IMAGE; j++) b[i] += p.values[i + DATA * j] * truth[j];
        }
        p.A = matrix_op(&p.m);
        assert_ok(write_values(p.b, b));
        const larmor_posterior_opts opts = {.weight = WEIGHT, .deviation = SIGMA, .seed = 1000u * (uint64_t)t};
        OWN(larmor_posterior, *chain, larmor_posterior_create(p.A, p.b, NULL, &opts, &chain));
        const moments m = moments_of(chain, p.x, 0, SAMPLES);
        for (int j = 0; j < IMAGE; j++) {
            covered += covers(&m, 2 * j, creal(truth[j]));
            covered += covers(&m, 2 * j + 1, cimag(truth[j]));
        }
    }
    const double part = covered / (2. * TRUTHS * IMAGE);
    if (fabs(part - 0.95) > 0.02) fail_msg("%g of the truths are covered", part);
}

TEST(the_mean_of_gaussian_samples_is_the_image_of_conjugate_gradients)
{
    enum { SAMPLES = 4000 };
    OWNED(problem) p = random_problem(DATA, IMAGE);
    p.A = matrix_op(&p.m);
    HEAP cplx *expected = calloc(IMAGE, sizeof *expected);
    solve_directly(&p.m, p.rhs, WEIGHT, expected);
    const larmor_posterior_opts opts = {.weight = WEIGHT, .deviation = SIGMA};
    OWN(larmor_posterior, *chain, larmor_posterior_create(p.A, p.b, NULL, &opts, &chain));
    const moments m = moments_of(chain, p.x, 0, SAMPLES);
    for (int j = 0; j < IMAGE; j++) {
        assert_at_most(fabs(m.mean[2 * j] - creal(expected[j])), 4 * m.deviation[2 * j] / sqrt(SAMPLES));
        assert_at_most(fabs(m.mean[2 * j + 1] - cimag(expected[j])), 4 * m.deviation[2 * j + 1] / sqrt(SAMPLES));
    }
}

/* Two voxels that are measured as they are: their difference u has the density
 * exp(-|u - d|^2 / (4 sigma^2) - weight |u| / sigma^2) in the plane, which is summed up on a lattice. */
static void expect_differences(double d, double mean[2], double deviation[2])
{
    double sum = 0, first[2] = {0}, second[2] = {0};
    const double step = 0.02, reach = 4;
    for (double y = -reach + step / 2; y < reach; y += step)
        for (double x = -reach + step / 2; x < reach; x += step) {
            const double away = (x - d) * (x - d) + y * y;
            const double p = exp(-away / (4 * SIGMA * SIGMA) - WEIGHT * hypot(x, y) / (SIGMA * SIGMA));
            sum += p;
            first[0] += x * p;
            second[0] += x * x * p;
            second[1] += y * y * p;
        }
    for (int k = 0; k < 2; k++) {
        mean[k] = first[k] / sum;
        deviation[k] = sqrt(second[k] / sum - mean[k] * mean[k]);
    }
}

static larmor_status same(void *self LMR_UNUSED, const larmor_array *x, larmor_array *y)
{
    return larmor_copy(x, y);
}

static larmor_op *identity(larmor_shape shape)
{
    static const larmor_op_impl impl = {"identity", same, same, same, NULL};
    return MADE(larmor_op, larmor_op_create(dev, &impl, NULL, LARMOR_C128, shape, shape, &made));
}

TEST(samples_of_total_variation_have_the_moments_of_their_density)
{
    enum { SAMPLES = 8000 };
    const double difference[] = {0, 1, 2};
    for (int i = 0; i < 3; i++) {
        const double d = difference[i];
        const larmor_shape shape = LARMOR_SHAPE(2);
        OWNED(larmor_op) *A = identity(shape);
        OWNED(larmor_array) *b = complex_array(LARMOR_C128, shape, (cplx[]){-d / 2, d / 2});
        OWNED(larmor_array) *x = zeros(LARMOR_C128, shape);
        const larmor_posterior_opts opts = {.weight = WEIGHT, .deviation = SIGMA, .seed = 7};
        OWN(larmor_regulariser, *tv, larmor_regulariser_create(dev, "tv", NULL, LARMOR_C128, shape, &tv));
        OWN(larmor_posterior, *chain, larmor_posterior_create(A, b, tv, &opts, &chain));
        double mean[2], deviation[2], sum[2] = {0}, square[2] = {0};
        expect_differences(d, mean, deviation);
        for (int s = 0; s < SAMPLES; s++) {
            assert_ok(larmor_posterior_next(chain, x));
            HEAP cplx *value = values_of(x);
            const cplx u = value[1] - value[0];
            sum[0] += creal(u) / SAMPLES;
            sum[1] += cimag(u) / SAMPLES;
            square[0] += creal(u) * creal(u) / SAMPLES;
            square[1] += cimag(u) * cimag(u) / SAMPLES;
        }
        for (int k = 0; k < 2; k++) {
            const double found = sqrt(square[k] - sum[k] * sum[k]);
            if (fabs(sum[k] - mean[k]) > 0.06 * deviation[k])
                fail_msg("%g apart: a mean of %g, not %g", d, sum[k], mean[k]);
            if (fabs(found / deviation[k] - 1) > 0.04)
                fail_msg("%g apart: a deviation of %g, not %g", d, found, deviation[k]);
        }
    }
}

TEST(posteriors_that_have_no_samples_are_refused)
{
    const larmor_shape shape = LARMOR_SHAPE(8, 8);
    OWNED(larmor_op) *A = identity(shape);
    OWNED(larmor_array) *b = zeros(LARMOR_C128, shape);
    larmor_posterior *p;
    larmor_posterior_opts opts = {.weight = WEIGHT, .deviation = SIGMA};
    OWN(larmor_regulariser, *tgv, larmor_regulariser_create(dev, "tgv", NULL, LARMOR_C128, shape, &tgv));
    assert_refused(larmor_posterior_create(A, b, tgv, &opts, &p), LARMOR_ERR_ARG,
                   "posterior: tgv is no sum of magnitudes; tv, wavelet and conjugate gradients have samples");
    opts.weight = 0;
    assert_refused(larmor_posterior_create(A, b, NULL, &opts, &p), LARMOR_ERR_ARG,
                   "posterior: a weight of 0 and a deviation of 0.3, expected finite numbers above 0");
    opts = (larmor_posterior_opts){.weight = 1, .deviation = NAN};
    assert_refused(larmor_posterior_create(A, b, NULL, &opts, &p), LARMOR_ERR_ARG, "a deviation of nan");
    opts = (larmor_posterior_opts){.weight = 1, .deviation = 1};
    OWNED(larmor_array) *other = zeros(LARMOR_C128, LARMOR_SHAPE(9, 8));
    assert_refused(larmor_posterior_create(A, other, NULL, &opts, &p), LARMOR_ERR_SHAPE, "posterior: data is");
    OWN(larmor_posterior, *chain, larmor_posterior_create(A, b, NULL, &opts, &chain));
    assert_refused(larmor_posterior_next(chain, other), LARMOR_ERR_SHAPE, "posterior: image is");
    assert_refused(larmor_posterior_next(NULL, other), LARMOR_ERR_ARG, "posterior: p and x are needed");
}
