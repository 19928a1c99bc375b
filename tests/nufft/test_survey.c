/* How points are spread: what the survey tells apart. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/tune/survey.h"

#include "tests/nufft/direct.h"

static const int64_t modes[3] = {100, 60, 40};

static lmr_survey survey_of(int ndim, int64_t m, const double *k)
{
    lmr_survey in_double, in_single;
    OWNED(larmor_array) *points = points_on_device(ndim, m, k), *singles;
    HEAP float *copy = malloc((size_t)(m * ndim) * sizeof *copy + 1);
    for (int64_t i = 0; i < m * ndim; i++) copy[i] = (float)k[i];
    assert_ok(larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(ndim, m), &singles));
    assert_ok(larmor_array_write(singles, copy, larmor_array_bytes(singles)));
    assert_ok(lmr_survey_points(ndim, modes, points, m, &in_double));
    assert_ok(lmr_survey_points(ndim, modes, singles, m, &in_single));
    assert_int_equal(in_double.crowding, in_single.crowding);
    assert_int_equal(in_double.ordered, in_single.ordered);
    return in_double;
}

/* Random over the central `part` of each dimension, `periods` away. */
static double *random_points(int ndim, int64_t m, double part, double periods)
{
    uint64_t state = 11;
    double *k = malloc((size_t)(m * ndim) * sizeof *k);
    for (int64_t i = 0; i < m * ndim; i++)
        k[i] = (periods + 0.5 * part * test_random(&state)) * (double)modes[i % ndim];
    return k;
}

TEST(uniform_points_are_neither_crowded_nor_ordered)
{
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int64_t m = 800; m <= 50000; m *= 5) {
            HEAP double *k = random_points(ndim, m, 1, ndim - 2);
            const lmr_survey s = survey_of(ndim, m, k);
            assert_int_equal(s.crowding, 0);
            assert_int_equal(s.ordered, 0);
        }
}

TEST(an_eighth_of_the_period_is_eight_times_as_crowded_in_each_dimension)
{
    for (int ndim = 1; ndim <= 3; ndim++) {
        HEAP double *k = random_points(ndim, 20000, 0.125, 0.0625); /* whole bins */
        assert_int_equal(survey_of(ndim, 20000, k).crowding, 3 * ndim);
    }
}

TEST(points_along_a_line_are_ordered_until_they_are_shuffled)
{
    const int64_t m = 30000;
    HEAP double *k = malloc((size_t)m * 2 * sizeof *k);
    for (int64_t i = 0; i < m; i++) {
        const int64_t readout = i / 300, sample = i % 300;
        k[2 * i] = ((double)sample / 300 - 0.5) * (double)modes[0];
        k[2 * i + 1] = ((double)readout / 100 - 0.5) * (double)modes[1];
    }
    assert_int_equal(survey_of(2, m, k).ordered, 1);
    uint64_t seed = 3;
    for (int64_t i = m - 1; i > 0; i--) {
        const int64_t j = (int64_t)(0.5 * (1 + test_random(&seed)) * (double)i);
        for (int d = 0; d < 2; d++) {
            const double kept = k[2 * i + d];
            k[2 * i + d] = k[2 * j + d];
            k[2 * j + d] = kept;
        }
    }
    const lmr_survey s = survey_of(2, m, k);
    assert_int_equal(s.ordered, 0);
    assert_int_equal(s.crowding, 0);
}

/* The share of points at the ends of a box of half-width 1 about 0; at_ends: of 10, in the first dimension alone. */
static void check_ends(int64_t m, int at_ends, int sorted, double expected)
{
    static const double middle[3] = {0}, half[3] = {1, 1, 1};
    uint64_t state = 7;
    double *x = malloc((size_t)(2 * m) * sizeof *x), share[3];
    for (int64_t i = 0; i < m; i++) {
        const double u = sorted ? 2 * (double)i / (double)(m - 1) - 1 : test_random(&state);
        const double end = i % 2 ? -1 : 1;
        x[2 * i] = i % 10 < at_ends ? end : u;
        x[2 * i + 1] = test_random(&state);
    }
    OWNED(larmor_array) *points = points_on_device(2, m, x), *singles;
    assert_ok(larmor_array_convert(points, LARMOR_F32, &singles));
    for (int precision = 0; precision < 2; precision++) {
        assert_ok(lmr_survey_ends(2, precision ? points : singles, m, middle, half, share));
        assert_at_most(fabs(share[0] - expected), expected > 0 ? 0.08 : 0);
        assert_true(share[1] == 0 && share[2] == 0);
    }
    free(x);
}

TEST(points_at_the_ends_of_their_box_are_seen_and_random_or_sorted_ones_are_not)
{
    for (int64_t m = 300; m <= 30000; m *= 10) {
        check_ends(m, 0, 0, 0);
        check_ends(m, 0, 1, 0);
        check_ends(m, 10, 0, 0.875);
        check_ends(m, 5, 0, 0.4);
    }
}

TEST(few_equal_and_infinite_points_do_no_harm)
{
    double k[200] = {0};
    for (int64_t m = 0; m < 3; m++) assert_int_equal(survey_of(1, m, k).crowding, 0);
    for (int ndim = 1; ndim <= 3; ndim++) {
        const lmr_survey s = survey_of(ndim, 60, k);
        assert_int_equal(s.crowding, ndim < 3 ? 8 : LMR_CROWDING_MOST);
        assert_int_equal(s.ordered, 1);
    }
    k[7] = NAN;
    k[8] = INFINITY;
    k[9] = -1e300;
    k[10] = -1e-300;
    survey_of(1, 200, k);
}
