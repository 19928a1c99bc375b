/* Options for the grid, the window and the tiles: they are kept to, or refused with what would do.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/nufft/options.h"

typedef struct grid_asked {
    int64_t grid[3];
    int width, tiles;
} grid_asked;

static larmor_nufft_opts with(larmor_nufft_opts o, grid_asked asked)
{
    for (int d = 0; d < 3; d++) o.grid[d] = asked.grid[d];
    o.width = asked.width;
    o.tiles = asked.tiles;
    return o;
}

TEST(grid_width_and_tiles_are_those_asked_for_and_keep_the_tolerance)
{
    enum { ALL = 6, MOST = 8 * 9 * 7 };
    static const grid_asked asked[3][ALL] = {{{.width = 9},
                                              {.width = 16},
                                              {.tiles = 3},
                                              {.grid = {60}},
                                              {.grid = {160}, .width = 8},
                                              {.grid = {84}, .width = 12, .tiles = 2}},
                                             {{.width = 9},
                                              {.width = 16},
                                              {.tiles = 3},
                                              {.grid = {28, 40}},
                                              {.grid = {36, 32}, .width = 9},
                                              {.grid = {36, 28}, .width = 13, .tiles = 2}},
                                             {{.width = 9},
                                              {.width = 16},
                                              {.tiles = 3},
                                              {.grid = {16, 20, 16}},
                                              {.grid = {20, 24, 20}, .width = 9},
                                              {.grid = {28, 24, 24}, .width = 12, .tiles = 2}}};
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int type = 1; type <= 2; type++)
            for (int i = 0; i < ALL; i++) {
                const grid_asked e = asked[ndim - 1][i];
                const larmor_nufft_opts plain = options(type, ndim, 1e-6), o = with(plain, e);
                const int64_t n = type == 1 ? count_of(o.modes) : M;
                uint64_t seed = 12;
                HEAP double *points = random_points(&o);
                double _Complex *in = random_values(MOST, LARMOR_C128, &seed), out[MOST], truth[MOST];
                const larmor_nufft_info info = apply(o, points, 0, in, out);
                for (int d = 0; d < ndim && e.grid[0]; d++) assert_int_equal(info.grid[d], e.grid[d]);
                if (e.width) assert_int_equal(info.width, e.width);
                assert_int_equal(info.tiles, e.tiles ? e.tiles : 1);
                direct_nufft(type, type == 1 ? 1 : -1, ndim, o.modes, M, points, in, truth);
                assert_at_most(relative_l2(n, out, truth), o.tol);
                assert_at_most(info.error, o.tol);
                free(in);
            }
}

/* On grids of several tiles of each shape, and which do not amplify rounding. */
TEST(shapes_of_tiles_differ_in_rounding_only)
{
    static const int64_t modes[3][3] = {{3000, 1, 1}, {70, 90, 1}, {30, 26, 28}};
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int type = 1; type <= 3; type++) {
            larmor_nufft_opts o = options(type, ndim, 1e-9);
            memcpy(o.modes, modes[ndim - 1], sizeof o.modes);
            o.upsample = 2;
            const int64_t count = count_of(o.modes);
            const int64_t n = type == 1 ? count : M;
            uint64_t seed = 13;
            HEAP double *points = random_points(&o);
            HEAP double _Complex *in = random_values(count, LARMOR_C128, &seed),
                                 *usual = random_values(count, LARMOR_C128, &seed),
                                 *out = random_values(count, LARMOR_C128, &seed);
            assert_int_equal(apply(o, points, 0, in, usual).tiles, 1);
            for (o.tiles = 1; o.tiles <= 3; o.tiles++) {
                assert_int_equal(apply(o, points, 0, in, out).tiles, o.tiles);
                assert_at_most(relative_l2(n, out, usual), 1e-13);
            }
        }
}

TEST(spreading_alone_takes_the_width_that_is_asked_for)
{
    larmor_nufft_opts o = options(1, 1, 1e-4);
    o.spread_only = 1;
    o.modes[0] = 64;
    HEAP double *points = calloc(M, sizeof *points);
    double _Complex in[M] = {1}, out[64];
    for (o.width = 8; o.width <= 16; o.width++) {
        assert_int_equal(apply(o, points, 0, in, out).width, o.width);
        int touched = 0;
        for (int i = 0; i < 64; i++) touched += out[i] != 0;
        assert_in_range(touched, o.width - 1, o.width); /* an even window may be 0 in its outermost cell */
    }
    o.width = 3;
    expect_refusal(o, LARMOR_ERR_NUMERIC,
                   "nufft: width: got 3, which keeps 4e-03 at best, and tol is 0.0001; use 5, or leave it 0");
    o.width = 16;
    o.modes[0] = 30;
    expect_refusal(
        o, LARMOR_ERR_ARG,
        "nufft: modes[0]: got 30 with spread_only, expected at least 32, twice the window; use a smaller width");
}

TEST(what_cannot_keep_the_tolerance_is_refused_with_what_would)
{
    static const struct {
        larmor_nufft_opts opts;
        const char *text;
    } cases[] = {
        {{.type = 1, .tol = 1e-6, .width = 3},
         "nufft: width: got 3, which keeps 4e-03 at best, and tol is 1e-06; use 7, or leave it 0"},
        {{.type = 1, .tol = 1e-6, .width = 7, .upsample = 1.25},
         "nufft: tolerance 1e-06 is out of reach in single precision; 3e-05 is the least with this width, 7e-06 "
         "without "
         "it, or use c128"},
        {{.type = 2,
          .tol = 1e-12,
          .grid = {48, 36},
          .dtype = LARMOR_C128}, /* and a grid that the device's rates say */
         "nufft: grid: got 48 x 36, which keeps 8e-10 at best, and tol is 1e-12; use "},
        {{.type = 2, .tol = 1e-6, .grid = {48, 36}, .width = 5, .dtype = LARMOR_C128},
         "nufft: width: got 5, which keeps 3e-03 at best, and tol is 1e-06; use 11, or leave it 0"},
        {{.type = 1, .tol = 1e-9, .width = 8},
         "nufft: tolerance 1e-09 is out of reach in single precision; 3e-07 is the least with this width, 3e-07 "
         "without it, or use c128"},
        {{.type = 1, .tol = 1e-9, .grid = {80, 60}},
         "nufft: tolerance 1e-09 is out of reach in single precision; 4e-07 is the least with this grid, 3e-07 "
         "without "
         "it, or use c128"},
        {{.type = 1, .tol = 1e-9, .grid = {80, 60}, .width = 6},
         "nufft: tolerance 1e-09 is out of reach in single precision; 7e-06 is the least with this grid and width, "
         "3e-07 without it, or use c128"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        larmor_nufft_opts o = cases[i].opts;
        int64_t bytes;
        o.ndim = 2;
        o.modes[0] = 40;
        o.modes[1] = 30;
        expect_refusal(o, LARMOR_ERR_NUMERIC, cases[i].text);
        assert_refused(larmor_nufft_memory(dev, &o, M, &bytes), LARMOR_ERR_NUMERIC, cases[i].text);
    }
}

/* Types 1 and 2: what is asked for beside the tolerance, in 1 to 3 dimensions. */
TEST(the_least_tolerance_is_taken_and_less_is_not)
{
    static const larmor_nufft_opts cases[] = {
        {.type = 1, .ndim = 3, .modes = {12, 11, 10}, .upsample = 1.25},
        {.type = 2, .ndim = 3, .modes = {12, 11, 10}},
        {.type = 1, .ndim = 3, .modes = {12, 11, 10}, .width = 5},
        {.type = 1, .ndim = 1, .modes = {50}, .upsample = 1.15},
        {.type = 2, .ndim = 2, .modes = {40, 30}, .upsample = 1.3},
        {.type = 2, .ndim = 2, .modes = {40, 30}, .grid = {48, 36}},
        {.type = 1, .ndim = 2, .modes = {40, 30}, .grid = {80, 60}, .width = 7},
        {.type = 1, .ndim = 2, .modes = {300, 7}, .upsample = 2},
        {.type = 1, .ndim = 1, .modes = {5000}, .width = 3},
        {.type = 2, .ndim = 1, .modes = {1}},
        {.type = 1, .ndim = 2, .modes = {64, 64}, .spread_only = 1},
        {.type = 1, .ndim = 2, .modes = {64, 64}, .spread_only = 1, .width = 4, .upsample = 1.5},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        larmor_nufft_opts o = cases[i / 2];
        larmor_nufft *plan;
        double least;
        o.dtype = i % 2 ? LARMOR_C128 : LARMOR_C64;
        assert_ok(larmor_nufft_least_tol(dev, &o, &least));
        o.tol = least;
        assert_ok(larmor_nufft_create(dev, &o, &plan));
        larmor_nufft_free(plan);
        o.tol = 0.95 * least;
        assert_int_equal(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_NUMERIC);
        o.tol = 1e-30; /* and what the message says is its first digit, rounded up */
        assert_int_equal(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_NUMERIC);
        const char *keeps = strstr(larmor_last_error(), "which keeps "),
                   *said = strstr(larmor_last_error(), "double precision; ");
        if (!said) said = strstr(larmor_last_error(), "single precision; ");
        o.tol = strtod(keeps ? keeps + strlen("which keeps ") : said + strlen("double precision; "), NULL);
        assert_true(o.tol >= least && o.tol <= 2 * least);
        assert_ok(larmor_nufft_create(dev, &o, &plan));
        larmor_nufft_free(plan);
    }
    larmor_nufft_opts o = {.type = 3, .ndim = 2};
    double least;
    assert_ok(larmor_nufft_least_tol(dev, &o, &least));
    assert_in_range((int)(1e9 * least), 200, 2000);
}

/* As a program was compiled with fewer members, or with more. */
TEST(options_of_other_versions_are_understood)
{
    struct {
        larmor_nufft_opts known;
        char more[24];
    } o = {.known = {.type = 1, .ndim = 1, .modes = {64}, .both_directions = 7, .effort = (larmor_plan_effort)9}};
    o.known.size = offsetof(larmor_nufft_opts, effort);
    larmor_nufft *plan =
        MADE(larmor_nufft, larmor_nufft_create(dev, &o.known, &made)); /* what comes after is not looked at */
    larmor_nufft_free(plan);
    o.known.both_directions = 0;
    o.known.effort = LARMOR_PLAN_ESTIMATE;
    o.known.size = sizeof o;
    assert_ok(larmor_nufft_create(dev, &o.known, &plan));
    larmor_nufft_free(plan);
    o.more[5] = 1;
    assert_refused(larmor_nufft_create(dev, &o.known, &plan), LARMOR_ERR_ARG, "of the options is not 0");
    o.known.size = 3;
    expect_refusal(o.known, LARMOR_ERR_ARG, "nufft: size: got 3, expected sizeof(larmor_nufft_opts)");
}

TEST(what_a_message_offers_is_taken)
{
    larmor_nufft *plan;
    larmor_nufft_opts o = {.type = 1, .ndim = 2, .modes = {40, 30}, .dtype = LARMOR_C128};
    for (int i = 0; i < 3; i++) {
        int width = 0;
        long long grid[2] = {0};
        o.width = i != 1 ? 3 : 0;
        o.grid[0] = i ? 48 : 0;
        o.grid[1] = i ? 36 : 0;
        o.tol = i == 1 ? 1e-12 : 1e-6;
        assert_int_equal(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_NUMERIC);
        const char *use = strstr(larmor_last_error(), "; use ");
        assert_non_null(use);
        if (i == 1)
            assert_int_equal(sscanf(use, "; use %lld x %lld,", &grid[0], &grid[1]), 2);
        else
            assert_int_equal(sscanf(use, "; use %d,", &width), 1);
        for (int d = 0; d < 2 && i == 1; d++) o.grid[d] = grid[d];
        o.width = width;
        assert_ok(larmor_nufft_create(dev, &o, &plan));
        larmor_nufft_free(plan);
    }
}
