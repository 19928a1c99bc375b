/* fit/spread.c: exact values, maps of noise alone, and intervals over blurred maps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/fit/support.h"

enum { SIDE = 48, VOXELS = SIDE * SIDE, REACH = 4 };

static larmor_array *map_of(const double *x, larmor_shape shape)
{
    return MADE(larmor_array, larmor_array_upload(dev, LARMOR_F32, shape, LARMOR_F64, x, &made));
}

static double *spread_of(const double *value, const double *deviation, larmor_shape shape, double *ratio)
{
    OWNED(larmor_array) *v = map_of(value, shape), *s = map_of(deviation, shape), *spread;
    assert_ok(larmor_fit_spread(v, s, &spread, ratio));
    return MADE(double, larmor_array_download(spread, LARMOR_F64, &made));
}

TEST(a_spread_is_the_mean_square_of_differences_beyond_both_deviations)
{
    const double value[] = {0, 2, 9, 1, 5, 1}, deviation[] = {.5, 1, 0, .5, 1, 1};
    double ratio;
    HEAP double *spread = spread_of(value, deviation, LARMOR_SHAPE(3, 2), &ratio);
    const double expected[] = {sqrt((4 - 1.25 + 1 - .5) / 2),  sqrt((4 - 1.25 + 9 - 2) / 2),           0,
                               sqrt((1 - .5 + 16 - 1.25) / 2), sqrt((9 - 2 + 16 - 1.25 + 16 - 2) / 3), sqrt(16 - 2)};
    for (int i = 0; i < 6; i++) assert_at_most(fabs(spread[i] - expected[i]), 1e-6);
    assert_at_most(fabs(ratio - expected[4]), 1e-6); /* the median of 2.55, 2.21, 5.52, 3.45 and 3.74 */
}

TEST(neighbours_lie_along_three_dimensions)
{
    double value[8] = {0}, deviation[8];
    for (int i = 0; i < 8; i++) deviation[i] = .1;
    value[7] = 3;
    HEAP double *spread = spread_of(value, deviation, LARMOR_SHAPE(2, 2, 2), NULL);
    assert_at_most(fabs(spread[7] - sqrt(9 - .02)), 1e-6);
    assert_at_most(fabs(spread[3] - sqrt((9 - .02 * 3) / 3)), 1e-6);
    assert_at_most(fabs(spread[0]), 1e-6);
}

TEST(noise_alone_has_hardly_any)
{
    HEAP double *value = malloc(VOXELS * sizeof *value), *deviation = malloc(VOXELS * sizeof *deviation);
    for (uint64_t seed = 1; seed < 4; seed++) {
        uint64_t drawn = seed;
        double ratio, square = 0;
        for (int i = 0; i < VOXELS; i++) value[i] = (deviation[i] = 0.02 * (1 + i % SIDE)) * gauss(&drawn);
        HEAP double *spread = spread_of(value, deviation, LARMOR_SHAPE(SIDE, SIDE), &ratio);
        for (int i = 0; i < VOXELS; i++) square += pow(spread[i] / deviation[i], 2) / VOXELS;
        assert_at_most(ratio, 0.5);
        assert_at_most(square, 1.2);
    }
}

/* ---- blurred maps ---- */

enum { GAUSSIAN, BOX, BAND, BLURS };

static double weight_of(int blur, int at)
{
    if (blur == GAUSSIAN) return exp(-at * at / (2 * .7 * .7));
    if (blur == BOX) return at == 0 ? 1 : .25 * (abs(at) == 1);
    return at ? sin(.8 * M_PI * at) / (M_PI * at) : .8;
}

/* Along one axis, whose neighbours are `step` apart; what lies beyond the edge is 0. */
static void blur_along(int blur, int step, double *x)
{
    double sum = 0, y[VOXELS];
    for (int j = -REACH; j <= REACH; j++) sum += weight_of(blur, j);
    for (int i = 0; i < VOXELS; i++) {
        y[i] = 0;
        for (int j = -REACH; j <= REACH; j++) {
            const int at = i / step % SIDE + j;
            if (at >= 0 && at < SIDE) y[i] += weight_of(blur, j) / sum * x[i + j * step];
        }
    }
    memcpy(x, y, sizeof y);
}

/* Regions of several sizes, the smallest of two voxels. */
static double truth_at(int i)
{
    const int x = i % SIDE, y = i / SIDE;
    double value = .3 * (hypot(x - 23.5, y - 23.5) < 20);
    value += .5 * (hypot(x - 15, y - 20) < 6) - .2 * (x > 28 && x < 36 && y > 12 && y < 31);
    return value + .4 * (x > 20 && x < 23 && y > 30 && y < 40);
}

/* The part of voxels whose truth lies within 1.96 deviations, of noise alone and with the spread. */
static void find_coverage(int blur, double noise, uint64_t seed, double *alone, double *with)
{
    HEAP double *truth = malloc(VOXELS * sizeof *truth), *value = malloc(VOXELS * sizeof *value),
                *deviation = malloc(VOXELS * sizeof *deviation);
    for (int i = 0; i < VOXELS; i++) value[i] = truth[i] = truth_at(i);
    blur_along(blur, 1, value);
    blur_along(blur, SIDE, value);
    for (int i = 0; i < VOXELS; i++) value[i] += (deviation[i] = noise) * gauss(&seed);
    HEAP double *spread = spread_of(value, deviation, LARMOR_SHAPE(SIDE, SIDE), NULL);
    *alone = *with = 0;
    for (int i = 0; i < VOXELS; i++) {
        const double error = fabs(value[i] - truth[i]);
        *alone += (error < 1.96 * noise) / (double)VOXELS;
        *with += (error < 1.96 * hypot(noise, spread[i])) / (double)VOXELS;
    }
}

TEST(intervals_with_the_spread_hold_truths_that_blur_has_moved)
{
    for (int blur = 0; blur < BLURS; blur++)
        for (int n = 0; n < 3; n++)
            for (uint64_t seed = 1; seed < 3; seed++) {
                const double noise[] = {.003, .01, .03};
                double alone, with;
                find_coverage(blur, noise[n], seed, &alone, &with);
                assert_at_most(1 - with, 0.05);
                if (n == 0) assert_at_most(alone, 0.9);
            }
}

TEST(maps_that_do_not_fit_are_refused)
{
    const double x[6] = {0, 1, 2, 3, 4, NAN};
    OWNED(larmor_array) *six = map_of(x, LARMOR_SHAPE(6)), *five = map_of(x, LARMOR_SHAPE(5));
    larmor_array *spread;
    assert_refused(larmor_fit_spread(five, six, &spread, NULL), LARMOR_ERR_SHAPE, "spread: deviation is f32 [6]");
    assert_refused(larmor_fit_spread(six, six, &spread, NULL), LARMOR_ERR_NUMERIC, "value");
    assert_refused(larmor_fit_spread(NULL, six, &spread, NULL), LARMOR_ERR_ARG, "value is NULL");
    assert_null(spread);
}
