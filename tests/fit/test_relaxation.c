/* fit/fit.c, fit/exponential.c and fit/rician.c against curves of known parameters.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/fit/support.h"

enum { GRID = 8, MOST_DRAWS = 1000 };
static int draws = MOST_DRAWS;

/* Claims that are no statistics, of fewer voxels. */
static int few_draws(__attribute__((unused)) void **state)
{
    draws = 20;
    return 0;
}

static int all_draws(__attribute__((unused)) void **state)
{
    draws = MOST_DRAWS;
    return 0;
}
#define FEW(claim) TEST_IN(claim, few_draws, all_draws)

static const double echoes[] = {10, 20, 40, 60, 80, 120, 160, 240, 320, 400};
static const double inversions[] = {50, 150, 300, 500, 800, 1200, 1800, 2600, 4000, 7000};
enum { TIMES = 10 };

/* What a model's first map is for a voxel, and its signal. */
typedef struct truth {
    larmor_fit_model model;
    double low, high; /* ms of the time constant, over the grid */
    const double *ms;
} truth;
static const truth truths[] = {
    {LARMOR_FIT_T2, 20, 300, echoes},
    {LARMOR_FIT_T2_STAR, 20, 300, echoes},
    {LARMOR_FIT_T1_IR, 200, 3000, inversions},
    {LARMOR_FIT_T1_LL, 200, 3000, inversions},
};
enum { MODELS = sizeof truths / sizeof *truths };

static double constant_of(const truth *t, int g)
{
    return t->low * pow(t->high / t->low, (double)g / (GRID - 1));
}

static double signal_of(const truth *t, double T, double ms)
{
    if (t->model == LARMOR_FIT_T1_IR) return 1 - 1.9 * exp(-ms / T);
    if (t->model == LARMOR_FIT_T1_LL) return 0.7 - 1.7 * exp(-ms / (0.7 * T)); /* T1* = a T1, a + b = 1 + 2 a */
    return exp(-ms / T);
}

/* What the model makes of that signal: T1 of Look-Locker is 0.7 T (1.7 / 0.7 - 1) = T. */
static larmor_array *make_images(const truth *t, double noise, cplx factor, int magnitude, const double *ms,
                                 uint64_t seed)
{
    const int64_t voxels = GRID * draws;
    HEAP cplx *x = malloc((size_t)(voxels * TIMES) * sizeof *x);
    HEAP double *size = malloc((size_t)(voxels * TIMES) * sizeof *size);
    assert_true(x && size);
    for (int64_t i = 0; i < voxels * TIMES; i++) {
        const double T = constant_of(t, (int)(i % voxels / draws)), re = gauss(&seed);
        x[i] = factor * (signal_of(t, T, ms[i / voxels]) + noise * (re + I * gauss(&seed)));
        size[i] = cabs(x[i]);
    }
    return MADE(larmor_array, larmor_array_upload(
                                  dev, magnitude ? LARMOR_F32 : LARMOR_C64, LARMOR_SHAPE(draws, GRID, TIMES),
                                  magnitude ? LARMOR_F64 : LARMOR_C128, magnitude ? (void *)size : (void *)x, &made));
}

/* Everywhere, so that the threshold leaves nothing out. */
static larmor_array *whole(void)
{
    larmor_array *mask = MADE(larmor_array, larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(draws, GRID), &made));
    assert_ok(larmor_fill(mask, 1));
    return mask;
}

static larmor_fit_maps fit(const larmor_array *images, const truth *t, double noise)
{
    OWNED(larmor_array) *mask = whole();
    larmor_fit_maps maps;
    const larmor_fit_opts opts = {.noise = noise, .mask = mask};
    assert_ok(larmor_fit(images, t->model, t->ms, &opts, &maps));
    return maps;
}

static double deviation(const double *x, int count)
{
    double mean = 0, sum = 0;
    for (int i = 0; i < count; i++) mean += x[i] / count;
    for (int i = 0; i < count; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / (count - 1));
}

/* The largest relative error of the medians over the grid. */
static double median_error(const larmor_fit_maps *maps, const truth *t)
{
    HEAP double *T = numbers(maps->map[0].value);
    double worst = 0;
    for (int g = 0; g < GRID; g++)
        worst = fmax(worst, fabs(median(T + (int64_t)g * draws, draws) / constant_of(t, g) - 1));
    return worst;
}

FEW(without_noise_complex_images_give_the_truth)
{
    for (int m = 0; m < MODELS; m++) {
        OWNED(larmor_array) *images = make_images(&truths[m], 0, 3 * cexp(0.7 * I), 0, truths[m].ms, 1);
        OWNED(larmor_fit_maps) maps = fit(images, &truths[m], 0);
        HEAP double *M0 = numbers(maps.map[1].value);
        assert_int_equal(maps.failed, 0);
        assert_at_most(median_error(&maps, &truths[m]), 1e-5);
        for (int64_t i = 0; i < GRID * draws; i++) assert_at_most(fabs(M0[i] / 3 - 1), 1e-4);
    }
}

TEST(at_an_snr_of_50_medians_are_within_a_hundredth_of_the_truth)
{
    for (int m = 0; m < MODELS; m++)
        for (int magnitude = of_all(m % 2, 0); magnitude <= of_all(m % 2, 1); magnitude++) {
            OWNED(larmor_array) *images = make_images(&truths[m], 0.02, 1, magnitude, truths[m].ms, 7);
            OWNED(larmor_fit_maps) maps = fit(images, &truths[m], 0.02);
            const double error = median_error(&maps, &truths[m]);
            if (error > 0.01) print_message("%d magnitude %d: %g\n", m, magnitude, error);
            assert_at_most(error, 0.01);
        }
}

/* Image j turned by an angle of its own, or by a frequency's at its time. */
static larmor_array *turned(const larmor_array *images, const double *ms, double hz, const double *angle)
{
    const int64_t count = larmor_array_count(images), voxels = count / TIMES;
    OWN_MEMORY(cplx, *x, larmor_array_download(images, LARMOR_C128, &x));
    for (int64_t i = 0; i < count; i++)
        x[i] *= cexp(I * (angle ? angle[i / voxels] : 2 * M_PI * hz * ms[i / voxels] / 1000));
    return MADE(larmor_array,
                larmor_array_upload(dev, LARMOR_C64, larmor_array_shape(images), LARMOR_C128, x, &made));
}

TEST(t2star_of_complex_images_has_a_frequency_in_each_voxel)
{
    const double hz[] = {0, -2, 13, 50}, noise[] = {0, 0.02};
    const truth *t = &truths[LARMOR_FIT_T2_STAR];
    for (int i = of_all(2, 0); i < 4; i++)
        for (int j = of_all(3 - i, 0); j <= of_all(3 - i, 1); j++) {
            OWNED(larmor_array) *images = make_images(t, noise[j], cexp(0.7 * I), 0, t->ms, 3 + (unsigned)i);
            OWNED(larmor_array) *z = turned(images, t->ms, hz[i], NULL);
            OWNED(larmor_fit_maps) maps = fit(z, t, noise[j]);
            const double error = median_error(&maps, t);
            if (error > 1e-5) print_message("%g Hz, noise %g: %g\n", hz[i], noise[j], error);
            assert_at_most(error, j ? 0.01 : 1e-5);
            assert_int_equal(maps.failed, 0);
        }
}

TEST(t2_of_complex_images_does_not_depend_on_their_phases)
{
    const double angle[TIMES] = {0.1, 3, -2, 1, 0.4, -1, 2, 2.5};
    const truth *t = &truths[LARMOR_FIT_T2];
    for (int j = 0; j < 2; j++) {
        OWNED(larmor_array) *images = make_images(t, 0.02 * j, 1, 0, t->ms, 5);
        OWNED(larmor_array) *z = turned(images, t->ms, 0, angle);
        OWNED(larmor_fit_maps) maps = fit(z, t, 0.02 * j);
        assert_at_most(median_error(&maps, t), j ? 0.01 : 1e-5);
    }
}

TEST(error_bars_are_the_deviation_over_draws_of_noise)
{
    for (int m = 0; m < MODELS; m++)
        for (int known = 0; known < 2; known++) {
            OWNED(larmor_array) *images = make_images(&truths[m], 0.005, cexp(I), 0, truths[m].ms, 11);
            OWNED(larmor_fit_maps) maps = fit(images, &truths[m], known ? 0.005 : 0);
            for (int k = 0; k < maps.count; k++) {
                HEAP double *value = numbers(maps.map[k].value), *bar = numbers(maps.map[k].deviation);
                double ratio = 0;
                for (int g = 0; g < GRID; g++)
                    ratio +=
                        deviation(value + (int64_t)g * draws, draws) / median(bar + (int64_t)g * draws, draws) / GRID;
                if (fabs(ratio - 1) > 0.1) print_message("%d map %d known %d: %g\n", m, k, known, ratio);
                assert_at_most(fabs(ratio - 1), 0.1);
            }
        }
}

TEST(the_mean_of_magnitudes_in_noise_is_taken_from_their_distribution)
{
    const truth t = {LARMOR_FIT_T2, 20, 40, echoes}; /* late echoes are noise alone */
    OWNED(larmor_array) *images = make_images(&t, 0.05, 1, 1, echoes, 5);
    OWNED(larmor_fit_maps) known = fit(images, &t, 0.05);
    assert_int_equal(known.lowered, 1);
    assert_at_most(median_error(&known, &t), 0.03);
}

TEST(magnitudes_in_noise_that_is_not_given_are_lowered_by_that_of_their_residual)
{
    for (int m = 0; m < 2; m++)
        for (int level = of_all(m + 1, 1); level <= of_all(m + 1, 2); level++) { /* SNR 20 and 10 */
            const truth t = {truths[m].model, 20, 160, echoes};
            OWNED(larmor_array) *images = make_images(&t, 0.05 * level, 1, 1, echoes, 5);
            OWNED(larmor_fit_maps) maps = fit(images, &t, 0);
            assert_int_equal(maps.lowered, 2);
            assert_at_most(median_error(&maps, &t), level > 1 ? 0.06 : 0.02);
        }
}

TEST(magnitudes_of_recovery_are_lowered_by_what_noise_has_lifted_them)
{
    const truth t = {LARMOR_FIT_T1_IR, 200, 3000, inversions}; /* some times are near the zero of the signal */
    OWNED(larmor_array) *images = make_images(&t, 0.1, 1, 1, inversions, 9);
    OWNED(larmor_fit_maps) maps = fit(images, &t, 0.1);
    assert_at_most(median_error(&maps, &t), 0.03);
}

FEW(a_factor_of_the_images_is_one_of_m0_and_of_no_time)
{
    for (int m = 0; m < MODELS; m++) {
        OWNED(larmor_array) *a = make_images(&truths[m], 0.02, 1, 0, truths[m].ms, 3);
        OWNED(larmor_array) *b = make_images(&truths[m], 0.02, 50 * cexp(-2 * I), 0, truths[m].ms, 3);
        OWNED(larmor_fit_maps) x = fit(a, &truths[m], 0), y = fit(b, &truths[m], 0);
        HEAP double *T = numbers(x.map[0].value), *U = numbers(y.map[0].value);
        HEAP double *M = numbers(x.map[1].value), *N = numbers(y.map[1].value);
        for (int64_t i = 0; i < GRID * draws; i++) {
            assert_at_most(fabs(U[i] - T[i]), 1e-3 * T[i]);
            assert_at_most(fabs(N[i] - 50 * M[i]), 1e-3 * N[i]);
        }
    }
}

FEW(times_may_come_in_any_order)
{
    for (int m = 0; m < MODELS; m++) {
        truth turned = truths[m];
        double ms[TIMES];
        for (int j = 0; j < TIMES; j++) ms[j] = truths[m].ms[(3 * j + 1) % TIMES];
        turned.ms = ms;
        OWNED(larmor_array) *a = make_images(&truths[m], 0, 1, 1, truths[m].ms, 1);
        OWNED(larmor_array) *b = make_images(&turned, 0, 1, 1, ms, 1);
        OWNED(larmor_fit_maps) x = fit(a, &truths[m], 0), y = fit(b, &turned, 0);
        HEAP double *T = numbers(x.map[0].value), *U = numbers(y.map[0].value);
        for (int64_t i = 0; i < GRID * draws; i++) assert_true(T[i] == U[i]);
    }
}

TEST(what_cannot_be_fitted_is_0_and_counted)
{
    const double rising[] = {1, 2, 4, 1, 0.5, 0.25}; /* voxel 0 grows, voxel 1 decays */
    const double x[] = {rising[0], rising[3], rising[1], rising[4], rising[2], rising[5]}, ms[] = {10, 20, 30};
    OWNED(larmor_array) *images;
    larmor_array *made;
    assert_ok(larmor_array_upload(dev, LARMOR_F32, LARMOR_SHAPE(2, 3), LARMOR_F64, x, &made));
    images = made;
    OWN(larmor_fit_maps, maps, larmor_fit(images, LARMOR_FIT_T2, ms, NULL, &maps));
    HEAP double *T = numbers(maps.map[0].value), *bar = numbers(maps.map[0].deviation);
    assert_int_equal(maps.inside, 2);
    assert_int_equal(maps.failed, 1);
    assert_true(T[0] == 0 && bar[0] == 0);
    assert_at_most(fabs(T[1] - 10 / log(2)), 1e-4);
}

TEST(nonsense_is_refused_with_what_was_expected)
{
    const double same[] = {10, 10, 10}, below[] = {10, -1, 30}, none[] = {10, NAN, 30}, good[] = {10, 20, 30};
    const double x[] = {1, 1, 1, 1, 1, 1}, bad[] = {1, NAN, 1, 1, 1, 1}, zero[6] = {0};
    larmor_array *made;
    larmor_fit_maps maps;
    const larmor_shape shape = LARMOR_SHAPE(2, 3);
    assert_ok(larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, x, &made));
    OWNED(larmor_array) *images = made;
    assert_ok(larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, bad, &made));
    OWNED(larmor_array) *not_finite = made;
    assert_ok(larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, zero, &made));
    OWNED(larmor_array) *empty = made;
    const larmor_fit_opts wide = {.mask = images}, negative = {.noise = -1}, high = {.threshold = 1};
    assert_refused(larmor_fit(images, LARMOR_FIT_T2, same, NULL, &maps), LARMOR_ERR_ARG,
                   "ms: got 1 different time, expected at least 2 for t2");
    assert_refused(larmor_fit(images, LARMOR_FIT_T2, below, NULL, &maps), LARMOR_ERR_ARG,
                   "ms[1]: got -1, expected a time in ms, finite and not negative");
    assert_refused(larmor_fit(images, LARMOR_FIT_T2, none, NULL, &maps), LARMOR_ERR_ARG, "ms[1]: got nan");
    assert_refused(larmor_fit(not_finite, LARMOR_FIT_T2, good, NULL, &maps), LARMOR_ERR_NUMERIC,
                   "images: 1 value is not finite");
    assert_refused(larmor_fit(empty, LARMOR_FIT_T2, good, NULL, &maps), LARMOR_ERR_NUMERIC,
                   "fit: got no voxel above the threshold");
    assert_refused(larmor_fit(images, LARMOR_FIT_T2, good, &wide, &maps), LARMOR_ERR_SHAPE,
                   "expected real numbers for 2 voxels");
    assert_refused(larmor_fit(images, LARMOR_FIT_T2, good, &negative, &maps), LARMOR_ERR_ARG, "opts.noise: got -1");
    assert_refused(larmor_fit(images, LARMOR_FIT_T2, good, &high, &maps), LARMOR_ERR_ARG, "opts.threshold: got 1");
    assert_refused(larmor_fit(images, (larmor_fit_model)9, good, NULL, &maps), LARMOR_ERR_ARG,
                   "model: got 9, expected 0 to 4");
}
