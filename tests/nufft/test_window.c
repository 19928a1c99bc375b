/* The window: a prolate function, its transform, polynomials and predicted error. SPDX-License-Identifier: Apache-2.0
 */
#include <complex.h>

#include "nufft/window.h"
#include "tests/support/test.h"

static const long double pi_l = 3.14159265358979323846264338327950288L;

/* Integral of the window times cos(2 pi xi u) by Boole's rule, which knows nothing of Legendre. */
static long double integrate(const lmr_window *window, long double xi)
{
    enum { PANELS = 2000 };
    static const long double weight[] = {14, 32, 12, 32};
    const long double step = (long double)window->width / (4 * PANELS);
    long double sum = 0;
    for (int i = 0; i <= 4 * PANELS; i++) {
        const long double u = -0.5L * window->width + i * step;
        const long double w = i == 0 || i == 4 * PANELS ? 7 : weight[i % 4];
        sum += w * lmr_window_value(window, u) * cosl(2 * pi_l * xi * u);
    }
    return sum * step * 2 / 45;
}

TEST(the_window_is_an_eigenfunction_of_the_band_limited_fourier_transform)
{
    for (int width = LMR_WINDOW_MIN; width <= LMR_WINDOW_MAX; width += 7) {
        lmr_window window;
        lmr_window_make(width, 0.75 * 3.14159 * width, &window);
        /* with u = width x / 2 the kernel exp(i c x y) is exp(2 pi i xi u) at xi = c y / (pi width) */
        const long double eigenvalue = integrate(&window, 0);
        for (int i = 1; i <= 8; i++) {
            const long double y = i / 8.0L, xi = window.bandlimit * y / (pi_l * width);
            const long double value = lmr_window_value(&window, 0.5L * width * y);
            assert_at_most((double)fabsl(integrate(&window, xi) / eigenvalue - value), 1e-12);
        }
    }
}

TEST(the_window_is_even_and_one_in_the_centre_and_zero_outside)
{
    lmr_window window;
    lmr_window_make(7, 16, &window);
    assert_true(fabsl(lmr_window_value(&window, 0) - 1) < 1e-18L);
    for (int i = 0; i < 10; i++) {
        const long double u = 0.37L * i;
        assert_true(fabsl(lmr_window_value(&window, u) - lmr_window_value(&window, -u)) < 1e-18L);
    }
    assert_true(lmr_window_value(&window, 3.5001L) == 0);
    assert_true(lmr_window_value(&window, 3.4999L) > 0);
}

TEST(the_transform_is_the_integral_inside_the_band_and_outside)
{
    static const int widths[] = {2, 5, 11, 16};
    for (int k = 0; k < 4; k++) {
        lmr_window window;
        lmr_window_make(widths[k], 0.7 * 3.14159 * widths[k], &window);
        for (int i = 0; i <= 12; i++) {
            const double xi = 0.21 * i;
            assert_at_most(fabs(lmr_window_transform(&window, xi) - (double)integrate(&window, xi)),
                           1e-13 * lmr_window_transform(&window, 0));
        }
    }
}

/* The mean over offsets and modes of |sum_l phi(l - x) exp(2 pi i xi (l - x)) / transform(xi) - 1|^2. The window's
 * values are the same for all modes; each takes a long series of long doubles, which aarch64 has in software
 * alone. */
static double measured_alias(const lmr_window *window, int64_t modes, int64_t cells)
{
    enum { OFFSETS = 256 };
    double sum = 0, phi[OFFSETS][LMR_WINDOW_MAX], place[OFFSETS][LMR_WINDOW_MAX];
    for (int i = 0; i < OFFSETS; i++)
        for (int l = 0; l < window->width; l++) {
            place[i][l] = l + (i + 0.5) / OFFSETS - 0.5 * window->width;
            phi[i][l] = (double)lmr_window_value(window, place[i][l]);
        }
    for (int64_t n = 0; n < modes; n++) {
        const double xi = (double)(n - modes / 2) / (double)cells, transform = lmr_window_transform(window, xi);
        for (int i = 0; i < OFFSETS; i++) {
            double _Complex value = 0;
            for (int l = 0; l < window->width; l++)
                value += phi[i][l] * cexp(2 * (double)pi_l * xi * place[i][l] * I);
            const double error = cabs(value / transform - 1);
            sum += error * error;
        }
    }
    return sqrt(sum / (OFFSETS * (double)modes));
}

TEST(the_predicted_aliasing_is_the_measured_one)
{
    static const struct {
        int width;
        int64_t modes, cells;
    } cases[] = {{2, 20, 40},    {4, 51, 64},   {6, 50, 100}, {7, 120, 150},  {9, 101, 162},
                 {12, 30, 60},   {13, 64, 160}, {10, 65, 80}, {11, 100, 128}, {12, 150, 176},
                 {12, 300, 400}, {14, 98, 120}, {9, 700, 864}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lmr_window window;
        lmr_window_tune(cases[k].width, cases[k].modes, cases[k].cells, &window);
        const double predicted = sqrt(lmr_window_predict(&window, cases[k].modes, cases[k].cells).alias2);
        const double measured = measured_alias(&window, cases[k].modes, cases[k].cells);
        assert_at_most(fabs(predicted / measured - 1), 0.03);
    }
}

TEST(tuning_finds_the_least_aliasing)
{
    for (int width = 3; width <= 15; width += 4)
        for (int64_t cells = 128; cells <= 220; cells += 30) {
            lmr_window tuned, other;
            lmr_window_tune(width, 100, cells, &tuned);
            for (int i = -1; i <= 1; i += 2) {
                lmr_window_make(width, tuned.bandlimit * (1 + i * 0.06 / width), &other);
                assert_true(lmr_window_predict(&other, 100, cells).alias2 >
                            lmr_window_predict(&tuned, 100, cells).alias2);
            }
        }
}

/* The least aliasing within reach of the usual place, by small steps. */
static double searched_alias(int width, int64_t modes, int64_t cells)
{
    const double band = (double)pi_l * width * (1 - 0.5 * (double)modes / (double)cells);
    double least = INFINITY;
    for (double gap = 0.01; gap < 0.19; gap += 0.01) {
        lmr_window window;
        lmr_window_make(width, (1 - gap / width) * band, &window);
        least = fmin(least, lmr_window_predict(&window, modes, cells).alias2);
    }
    return sqrt(least);
}

TEST(for_many_modes_the_formula_loses_at_most_3_percent_to_a_search)
{
    for (int width = LMR_WINDOW_MIN; width <= LMR_WINDOW_MAX; width++)
        for (int64_t cells = 1200; cells <= 2500; cells += 100) {
            lmr_window window;
            lmr_window_tune(width, 1000, cells, &window);
            const double alias = sqrt(lmr_window_predict(&window, 1000, cells).alias2);
            if (alias < 1e-15) continue; /* the double precision of the sums */
            assert_at_most(alias / searched_alias(width, 1000, cells), 1.03);
        }
}

TEST(the_inverse_is_that_of_the_transform)
{
    static const struct {
        int64_t first, count;
    } ranges[] = {{0, 1}, {0, 20}, {1000, 157}, {4000, 100}, {2345, 29}};
    for (int width = LMR_WINDOW_MIN; width <= LMR_WINDOW_MAX; width += 7)
        for (int k = 0; k < 5; k++) {
            enum { CELLS = 10000 };
            double inverse[157];
            lmr_window window;
            lmr_window_tune(width, 8200, CELLS, &window);
            lmr_window_invert(&window, ranges[k].first, ranges[k].count, CELLS, inverse);
            for (int64_t i = 0; i < ranges[k].count; i++) {
                const double xi = (double)(ranges[k].first + i) / CELLS;
                assert_at_most(fabs(inverse[i] * lmr_window_transform(&window, xi) - 1), 5e-15);
            }
        }
}

TEST(the_series_of_the_logarithm_keeps_the_error_that_was_asked_for)
{
    static const double errors[] = {1e-3, 1e-6, 1e-10, 1e-16}, highest = 0.4;
    for (int width = LMR_WINDOW_MIN; width <= LMR_WINDOW_MAX; width += 7) {
        int before = 0;
        for (int k = 0; k < 4; k++) {
            double series[LMR_WINDOW_LOG_TERMS];
            lmr_window window;
            lmr_window_tune(width, 8000, 10000, &window);
            const int terms = lmr_window_fit_log_transform(&window, highest, errors[k], series);
            assert_in_range(terms, before + 1, LMR_WINDOW_LOG_TERMS);
            before = terms;
            for (int i = 0; i <= 40; i++) {
                const double v = i / 40.0, angle = acos(2 * v * v - 1);
                double sum = 0;
                for (int j = 0; j < terms; j++) sum += series[j] * cos(j * angle);
                assert_at_most(fabs(sum - log(lmr_window_transform(&window, highest * v))), errors[k] + 1e-14);
            }
        }
    }
}

/* Energy of white noise after division by the transform, against the sum over all modes. */
TEST(the_predicted_gain_is_that_of_white_noise)
{
    lmr_window window;
    lmr_window_make(8, 15, &window);
    double inverse = 0, energy = 0;
    for (int n = -20; n < 20; n++) inverse += pow(lmr_window_transform(&window, n / 64.0), -2) / 40;
    for (int i = 0; i < 8000; i++) energy += pow((double)lmr_window_value(&window, (i + 0.5) / 1000 - 4), 2) / 1000;
    assert_at_most(fabs(lmr_window_predict(&window, 40, 64).gain2 / (energy * inverse) - 1), 1e-6);
}

TEST(the_polynomials_keep_the_error_that_was_asked_for)
{
    static const double errors[] = {1e-2, 1e-5, 1e-9, 1e-15};
    for (int width = LMR_WINDOW_MIN; width <= LMR_WINDOW_MAX; width++)
        for (int k = 0; k < 4; k++) {
            lmr_window window;
            double coefficients[LMR_WINDOW_MAX * (LMR_WINDOW_DEGREE + 1)];
            lmr_window_make(width, 0.75 * 3.14159 * width, &window);
            const int degree = lmr_window_fit(&window, errors[k], coefficients);
            assert_in_range(degree, 1, LMR_WINDOW_DEGREE);
            for (int l = 0; l < width; l++)
                for (int i = 0; i <= 20; i++) {
                    const long double t = 0.1L * i - 1, u = l + 0.5L * (1 + t) - 0.5L * width;
                    long double value = 0;
                    for (int power = degree; power >= 0; power--)
                        value = value * t + coefficients[l * (degree + 1) + power];
                    /* at the two ends of the window t = -1 and 1 round to just outside */
                    if (fabsl(u) < 0.5L * width)
                        assert_at_most((double)fabsl(value - lmr_window_value(&window, u)), errors[k] + 3e-16);
                }
        }
}
