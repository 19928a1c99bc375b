/* Spiral arms. SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

static double *make(const larmor_traj_opts *opts, larmor_shape *shape)
{
    OWN(larmor_array, *traj, larmor_traj_create(dev, "spiral", opts, &traj));
    *shape = larmor_array_shape(traj);
    return host_of(traj);
}

/* The angle through which the first arm has turned at each sample, and its radius there. */
static void polar(const double *k, int64_t samples, double *angle, double *radius)
{
    for (int64_t i = 0; i < samples; i++) {
        radius[i] = hypot(k[2 * i], k[2 * i + 1]);
        const double now = atan2(k[2 * i + 1], k[2 * i]);
        angle[i] = i < 2 ? now : angle[i - 1] + remainder(now - angle[i - 1], 2 * M_PI);
    }
    if (samples > 1) angle[0] = 0;
}

static const larmor_traj_opts cases[] = {
    {.matrix = {64}},
    {.matrix = {64}, .readouts = 1},
    {.matrix = {96}, .readouts = 5},
    {.matrix = {64}, .density = 2},
    {.matrix = {64}, .density = 3.5, .readouts = 3},
};
enum { CASES = sizeof cases / sizeof *cases };

TEST(arms_are_at_most_one_apart)
{
    for (int t = 0; t < CASES; t++) {
        larmor_shape s;
        double *k = make(&cases[t], &s), worst = 0;
        const int64_t n = s.dim[1];
        HEAP double *angle = calloc((size_t)n, sizeof *angle), *radius = calloc((size_t)n, sizeof *radius);
        assert_non_null(angle);
        assert_non_null(radius);
        polar(k, n, angle, radius);
        const double apart = 2 * M_PI / (double)s.dim[2]; /* the angle between neighbouring arms */
        for (int64_t i = 1, j = 1; i < n; i++) {          /* from sample i outwards to where the next arm passes */
            while (j < n && angle[j] < angle[i] + apart) j++;
            if (j == n) break;
            const double part = (angle[i] + apart - angle[j - 1]) / (angle[j] - angle[j - 1]);
            worst = fmax(worst, radius[j - 1] + part * (radius[j] - radius[j - 1]) - radius[i]);
        }
        assert_at_most(worst, 1.001);
        assert_true(worst > 0.9); /* nor closer than it needs */
        free(k);
    }
}

TEST(samples_are_equally_far_apart_along_an_arm)
{
    for (int t = 0; t < CASES; t++) {
        larmor_shape s;
        double *k = make(&cases[t], &s), least = 1e9, most = 0;
        for (int64_t i = 1; i < s.dim[1]; i++) {
            const double step = hypot(k[2 * i] - k[2 * i - 2], k[2 * i + 1] - k[2 * i - 1]);
            most = fmax(most, step);
            if (hypot(k[2 * i], k[2 * i + 1]) > 3) least = fmin(least, step); /* chords are shorter in tight bends */
        }
        assert_at_most(most, 0.5 + 1e-9);
        assert_at_most(0.49, least);
        free(k);
    }
}

TEST(arms_reach_the_rim)
{
    for (int t = 0; t < CASES; t++) {
        larmor_shape s;
        HEAP double *k = make(&cases[t], &s);
        const double *last = k + 2 * (s.dim[1] - 1), rim = (double)cases[t].matrix[0] / 2;
        const double reach = hypot(last[0], last[1]);
        assert_true(reach < rim);
        assert_at_most(rim - reach, 0.5);
    }
}

TEST(the_radius_grows_with_the_angle_to_the_power_of_the_density)
{
    for (int t = 0; t < CASES; t++) {
        larmor_shape s;
        HEAP double *k = make(&cases[t], &s);
        const int64_t n = s.dim[1];
        const double density = cases[t].density > 0 ? cases[t].density : 1;
        const double rim = (double)cases[t].matrix[0] / 2;
        const double arms = (double)s.dim[2], turns = density * rim / arms;
        for (int64_t i = 1; i < n; i++) {
            const double radius = hypot(k[2 * i], k[2 * i + 1]);
            const double angle = 2 * M_PI * turns * pow(radius / rim, 1 / density);
            assert_at_most(fabs(k[2 * i] - radius * cos(angle)), 1e-9);
            assert_at_most(fabs(k[2 * i + 1] - radius * sin(angle)), 1e-9);
        }
    }
}

TEST(all_arms_are_the_first_one_turned)
{
    larmor_shape s;
    HEAP double *k = make(&(larmor_traj_opts){.matrix = {40}, .readouts = 6}, &s);
    for (int64_t j = 0; j < 6; j++)
        for (int64_t i = 0; i < s.dim[1]; i++) {
            const double *first = k + 2 * i, *other = k + 2 * (i + s.dim[1] * j), c = cos(M_PI / 3 * (double)j),
                         d = sin(M_PI / 3 * (double)j);
            assert_at_most(fabs(other[0] - (c * first[0] - d * first[1])), 1e-12);
            assert_at_most(fabs(other[1] - (d * first[0] + c * first[1])), 1e-12);
        }
}

TEST(few_samples_still_lie_on_the_spiral_and_reach_out)
{
    larmor_shape s;
    HEAP double *k = make(&(larmor_traj_opts){.matrix = {64}, .readouts = 1, .samples = 4}, &s);
    HEAP double *full = make(&(larmor_traj_opts){.matrix = {64}, .readouts = 1}, &s);
    for (int64_t i = 0; i < 4; i++) { /* at quarters of the length: where the full spiral is then, or beside it */
        const int64_t at = i * s.dim[1] / 4;
        assert_at_most(hypot(k[2 * i] - full[2 * at], k[2 * i + 1] - full[2 * at + 1]), 0.51);
    }
}
