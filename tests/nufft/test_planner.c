/* The planner: what estimates and measurements choose, and what they leave alone. SPDX-License-Identifier:
 * Apache-2.0 */
#include "nufft/tune/tune.h"
#include "tests/nufft/planner.h"

static int64_t cells_of(const larmor_nufft *plan)
{
    const larmor_nufft_info info = larmor_nufft_describe(plan);
    return info.grid[0] * info.grid[1] * info.grid[2];
}

static void expect_same_grid(const larmor_nufft *plan, const larmor_nufft *other)
{
    const larmor_nufft_info a = larmor_nufft_describe(plan), b = larmor_nufft_describe(other);
    for (int d = 0; d < 3; d++) assert_int_equal(a.grid[d], b.grid[d]);
    assert_int_equal(a.width, b.width);
}

/* ---- estimates ---- */

TEST(a_grid_that_is_chosen_for_the_points_keeps_the_tolerance)
{
    static const larmor_nufft_opts cases[] = {{.ndim = 1, .modes = {500}, .tol = 1e-3, .dtype = LARMOR_C64},
                                              {.ndim = 1, .modes = {500}, .tol = 1e-12},
                                              {.ndim = 2, .modes = {21, 30}, .tol = 1e-5, .dtype = LARMOR_C64},
                                              {.ndim = 2, .modes = {30, 21}, .tol = 1e-9},
                                              {.ndim = 3, .modes = {10, 7, 8}, .tol = 1e-6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int type = 1; type <= 2; type++)
            for (int64_t m = 40; m <= 1000; m *= 5) {
                larmor_nufft_opts o = cases[i];
                o.type = type;
                OWNED(problem) p = problem_of(o, m);
                OWNED(larmor_nufft) *plan = plan_of(&p);
                expect_tolerance(plan, &p);
            }
}

TEST(few_points_take_a_smaller_grid_than_many)
{
    OWNED(problem) few =
        problem_of((larmor_nufft_opts){.type = 1, .ndim = 3, .modes = {24, 24, 24}, .tol = 1e-8}, 10);
    OWNED(problem) many = problem_of(few.opts, 200000);
    OWNED(larmor_nufft) *a = plan_of(&few), *b = plan_of(&many);
    assert_true(cells_of(a) < cells_of(b));
    assert_true(larmor_nufft_describe(a).width > larmor_nufft_describe(b).width);
}

TEST(the_same_points_give_the_same_plan_whatever_there_was_before)
{
    OWNED(problem) few =
        problem_of((larmor_nufft_opts){.type = 2, .ndim = 3, .modes = {24, 24, 24}, .tol = 1e-9}, 10);
    OWNED(problem) many = problem_of(few.opts, 200000);
    OWNED(larmor_nufft) *a = plan_of(&many), *b = plan_of(&many), *c = plan_of(&few), *d = plan_of(&few);
    expect_same_grid(a, b);
    expect_same_grid(c, d);
    assert_ok(larmor_nufft_set_points(c, many.points, NULL)); /* much better with another grid */
    expect_same_grid(a, c);
}

TEST(results_are_those_of_a_plan_with_the_same_factor_asked_for)
{
    for (int type = 1; type <= 2; type++)
        for (int64_t m = 30; m <= 100000; m *= 50) {
            OWNED(problem) p = problem_of(
                (larmor_nufft_opts){.type = type, .ndim = 2, .modes = {60, 60}, .tol = 1e-8, .batch = 3}, m);
            OWNED(larmor_nufft) *chosen = plan_of(&p);
            p.opts.upsample = fmin(larmor_nufft_describe(chosen).upsample, 2.5); /* beyond it by rounding up */
            OWNED(larmor_nufft) *asked = plan_of(&p);
            int64_t n;
            HEAP double _Complex *a = execute(chosen, &p, &n), *b = execute(asked, &p, &n);
            expect_same_grid(chosen, asked);
            /* on a GPU they agree far better than the tolerance, and not to rounding */
            assert_at_most(relative_l2(n, a, b), dev->be->threads(dev->ctx) ? 1e-14 : 1e-11);
        }
}

TEST(points_that_are_refused_leave_grid_and_points_as_they_were)
{
    OWNED(problem) p = problem_of((larmor_nufft_opts){.type = 1, .ndim = 2, .modes = {40, 40}, .tol = 1e-9}, 50);
    OWNED(problem) bad = problem_of(p.opts, 100000);
    bad.host[777] = NAN;
    assert_ok(larmor_array_write(bad.points, bad.host, (size_t)bad.m * 2 * sizeof(double)));
    for (int effort = LARMOR_PLAN_ESTIMATE; effort <= LARMOR_PLAN_MEASURE; effort++) {
        p.opts.effort = (larmor_plan_effort)effort;
        OWNED(larmor_nufft) *plan = plan_of(&p);
        assert_refused(larmor_nufft_set_points(plan, bad.points, NULL), LARMOR_ERR_NUMERIC, "point 388");
        expect_tolerance(plan, &p);
    }
}

/* ---- explicit options ---- */

TEST(what_is_asked_for_is_kept_whatever_the_effort)
{
    for (int effort = LARMOR_PLAN_ESTIMATE; effort <= LARMOR_PLAN_EXHAUSTIVE; effort++) {
        larmor_wisdom_forget(dev);
        OWNED(problem) p = problem_of((larmor_nufft_opts){.type = 1,
                                                          .ndim = 2,
                                                          .modes = {50, 100},
                                                          .batch = 7,
                                                          .tol = 1e-6,
                                                          .upsample = 1.7,
                                                          .max_batch = 2,
                                                          .effort = (larmor_plan_effort)effort},
                                      3000);
        const int gpu = !dev->be->threads(dev->ctx);
        if (gpu) p.opts.method = LARMOR_NUFFT_GM_SORT;
        OWNED(larmor_nufft) *plan = plan_of(&p);
        const larmor_nufft_info info = larmor_nufft_describe(plan);
        assert_int_equal(info.grid[0], lmr_nufft_good_size(85));
        assert_int_equal(info.grid[1], lmr_nufft_good_size(170));
        assert_int_equal(info.per_pass, 2);
        assert_int_equal(info.spread_method, gpu ? LARMOR_NUFFT_GM_SORT : LARMOR_NUFFT_AUTO);
    }
    larmor_wisdom_forget(dev);
}

TEST(grid_width_and_tiles_are_kept_whatever_the_effort)
{
    static const struct {
        int64_t grid[3];
        int width, tiles;
    } cases[] = {{.width = 10, .tiles = 1}, {.grid = {84, 72}, .tiles = 2}, {.grid = {80, 64}, .width = 11}};
    for (int effort = LARMOR_PLAN_ESTIMATE; effort <= LARMOR_PLAN_EXHAUSTIVE; effort++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            larmor_wisdom_forget(dev);
            OWNED(problem) p = problem_of((larmor_nufft_opts){.type = 1 + effort % 2,
                                                              .ndim = 2,
                                                              .modes = {50, 40},
                                                              .tol = 1e-6,
                                                              .grid = {cases[i].grid[0], cases[i].grid[1]},
                                                              .width = cases[i].width,
                                                              .tiles = cases[i].tiles,
                                                              .effort = (larmor_plan_effort)effort},
                                          1000);
            OWNED(larmor_nufft) *plan = plan_of(&p), *again = plan_of(&p);
            const larmor_nufft_info info = larmor_nufft_describe(plan), second = larmor_nufft_describe(again);
            for (int d = 0; d < 2 && cases[i].grid[0]; d++) assert_int_equal(info.grid[d], cases[i].grid[d]);
            if (cases[i].width) assert_int_equal(info.width, cases[i].width);
            if (cases[i].tiles) assert_int_equal(info.tiles, cases[i].tiles);
            assert_int_equal(second.source, effort ? LARMOR_PLAN_BY_WISDOM : LARMOR_PLAN_BY_MODEL);
            assert_int_equal(second.tiles, info.tiles);
            expect_same_grid(plan, again);
            expect_tolerance(plan, &p);
        }
    larmor_wisdom_forget(dev);
}

TEST(a_width_that_is_asked_for_leaves_the_grid_to_be_timed)
{
    const int64_t modes[3] = {50, 40, 1};
    lmr_tune_grid grids[LMR_TUNE_GRIDS];
    lmr_nufft_request r = {.ndim = 2, .tol = 1e-6, .width = 10};
    for (int effort = LARMOR_PLAN_MEASURE; effort <= LARMOR_PLAN_EXHAUSTIVE; effort++) {
        const int count = lmr_tune_grids(&r, modes, effort, grids);
        assert_true(count > 1);
        for (int i = 0; i < count; i++) assert_int_equal(grids[i].width, 10);
    }
    r.width = 0;
    r.cells[0] = 80;
    r.cells[1] = 64;
    assert_int_equal(lmr_tune_grids(&r, modes, LARMOR_PLAN_MEASURE, grids), 1);
    assert_int_equal(lmr_tune_grids(&r, modes, LARMOR_PLAN_EXHAUSTIVE, grids), 2); /* and a window that is wider */
    for (int i = 0; i < 2; i++) assert_true(grids[i].cells[0] == 80 && grids[i].cells[1] == 64);
    r.width = 9;
    assert_int_equal(lmr_tune_grids(&r, modes, LARMOR_PLAN_EXHAUSTIVE, grids), 1);
}

/* The estimate is one from above: what is explicit takes from it, and no plan takes more. */
TEST(the_estimate_of_memory_is_that_of_what_is_asked_for)
{
    larmor_nufft_opts o = {.type = 1, .ndim = 2, .modes = {300, 300}, .tol = 1e-6};
    int64_t small, large, bytes;
    o.grid[0] = o.grid[1] = 480;
    assert_ok(larmor_nufft_memory(dev, &o, 1000, &small));
    o.grid[0] = o.grid[1] = 800;
    assert_ok(larmor_nufft_memory(dev, &o, 1000, &large));
    assert_in_range(large - small, (800 * 800 - 480 * 480) * 8, 3 * (800 * 800 - 480 * 480) * 8);
    o.spread_only = 1;
    o.grid[0] = o.grid[1] = 0;
    o.width = 16;
    assert_ok(larmor_nufft_memory(dev, &o, 1000, &large));
    o.width = 0;
    assert_ok(larmor_nufft_memory(dev, &o, 1000, &bytes));
    assert_true(large >= bytes);
}

TEST(values_out_of_range_are_refused)
{
    larmor_nufft *plan;
    larmor_nufft_opts o = {.type = 1, .ndim = 1, .modes = {8}, .effort = (larmor_plan_effort)3};
    assert_refused(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_ARG, "effort: got 3");
    o.effort = LARMOR_PLAN_ESTIMATE;
    o.both_directions = 2;
    assert_refused(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_ARG, "both_directions: got 2");
}

/* ---- measurements ---- */

TEST(measured_plans_keep_the_tolerance_and_are_remembered)
{
    for (int effort = LARMOR_PLAN_MEASURE; effort <= LARMOR_PLAN_EXHAUSTIVE; effort++) {
        larmor_wisdom_forget(dev);
        OWNED(problem) p = problem_of(
            (larmor_nufft_opts){
                .type = effort, .ndim = 2, .modes = {24, 31}, .tol = 1e-7, .effort = (larmor_plan_effort)effort},
            3000);
        OWNED(larmor_nufft) *first = plan_of(&p), *second = plan_of(&p);
        const larmor_nufft_info a = larmor_nufft_describe(first), b = larmor_nufft_describe(second);
        assert_int_equal(a.source, LARMOR_PLAN_BY_MEASUREMENT);
        assert_int_equal(b.source, LARMOR_PLAN_BY_WISDOM);
        assert_true(a.tried >= 1 && a.seconds > 0);
        assert_int_equal(b.tried, 0);
        expect_same_grid(first, second);
        expect_tolerance(first, &p);
        expect_tolerance(second, &p);
    }
    larmor_wisdom_forget(dev);
}

TEST(a_batch_is_tuned_and_its_results_are_those_of_the_estimate)
{
    larmor_wisdom_forget(dev);
    OWNED(problem) p =
        problem_of((larmor_nufft_opts){.type = 1, .ndim = 2, .modes = {30, 20}, .batch = 5, .tol = 1e-10}, 500);
    OWNED(larmor_nufft) *estimate = plan_of(&p);
    p.opts.effort = LARMOR_PLAN_EXHAUSTIVE;
    OWNED(larmor_nufft) *tuned = plan_of(&p);
    int64_t n;
    HEAP double _Complex *a = execute(estimate, &p, &n), *b = execute(tuned, &p, &n);
    assert_at_most(relative_l2(n, b, a), 2e-10);
    larmor_wisdom_forget(dev);
}

TEST(wisdom_that_would_break_the_tolerance_is_not_followed)
{
    OWNED(problem) p = problem_of(
        (larmor_nufft_opts){.type = 1, .ndim = 2, .modes = {32, 32}, .tol = 1e-9, .effort = LARMOR_PLAN_MEASURE},
        1500);
    const lmr_wisdom_key key = key_of(&p);
    static const lmr_wisdom_plan wrong[] = {
        {.cells = {64, 64, 1}, .width = 4},                           /* too narrow */
        {.cells = {32, 32, 1}, .width = 12},                          /* no upsampling */
        {.cells = {66, 64, 1}, .width = 12},                          /* no good size for the FFT */
        {.cells = {1 << 20, 1 << 20, 1}, .width = 12},                /* without measure */
        {.cells = {64, 64, 1}, .width = 12, .method = 2, .tiles = 1}, /* of another kind of device */
        {.cells = {64, 64, 1}, .width = 12},                          /* precomputed, which was not allowed */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (wrong[i].method && !dev->be->threads(dev->ctx)) continue; /* of this kind */
        larmor_wisdom_forget(dev);
        lmr_wisdom_plan known = wrong[i];
        known.effort = LARMOR_PLAN_MEASURE;
        known.precompute = LARMOR_PRECOMPUTE_NONE + (i == 5);
        lmr_wisdom_add(dev, &key, &known);
        assert_non_null(lmr_wisdom_find(dev, &key, LARMOR_PLAN_MEASURE));
        OWNED(larmor_nufft) *plan = plan_of(&p);
        assert_int_equal(larmor_nufft_describe(plan).source, LARMOR_PLAN_BY_MEASUREMENT);
        expect_tolerance(plan, &p);
    }
    larmor_wisdom_forget(dev);
    lmr_wisdom_plan right = {
        .effort = LARMOR_PLAN_MEASURE, .cells = {64, 64, 1}, .width = 12, .precompute = LARMOR_PRECOMPUTE_NONE};
    lmr_wisdom_add(dev, &key, &right);
    OWNED(larmor_nufft) *plan = plan_of(&p);
    assert_int_equal(larmor_nufft_describe(plan).source, LARMOR_PLAN_BY_WISDOM);
    assert_int_equal(larmor_nufft_describe(plan).width, 12);
    expect_tolerance(plan, &p);
    larmor_wisdom_forget(dev);
}

TEST(wisdom_does_not_change_what_is_asked_for)
{
    larmor_wisdom_forget(dev);
    OWNED(problem) p = problem_of((larmor_nufft_opts){.type = 1,
                                                      .ndim = 2,
                                                      .modes = {32, 32},
                                                      .tol = 1e-6,
                                                      .upsample = 1.5,
                                                      .max_batch = 1,
                                                      .effort = LARMOR_PLAN_MEASURE},
                                  1500);
    lmr_wisdom_key key = key_of(&p);
    key.upsample = 1.5;
    key.max_batch = 1;
    lmr_wisdom_plan known[6];
    for (int i = 0; i < 6; i++)
        known[i] = (lmr_wisdom_plan){.effort = LARMOR_PLAN_MEASURE,
                                     .cells = {48, 48, 1},
                                     .width = 9,
                                     .max_batch = 1,
                                     .precompute = LARMOR_PRECOMPUTE_NONE};
    known[0].cells[0] = known[0].cells[1] = 64;
    known[0].width = 12;
    known[1].max_batch = 4;
    known[2].width = 11;
    known[3].tiles = 1;
    known[4].cells[0] = 64;
    known[5].cells[1] = 64;
    for (int i = 0; i < 6; i++) {
        larmor_wisdom_forget(dev);
        p.opts.width = i == 2 ? 10 : 0;
        p.opts.tiles = i == 3 ? 3 : 0;
        p.opts.upsample = i < 4 ? 1.5 : 0;
        p.opts.grid[0] = p.opts.grid[1] = i < 4 ? 0 : 48;
        key.upsample = p.opts.upsample;
        key.width = p.opts.width;
        key.tiles = p.opts.tiles;
        key.grid[0] = key.grid[1] = p.opts.grid[0];
        lmr_wisdom_add(dev, &key, &known[i]);
        assert_non_null(lmr_wisdom_find(dev, &key, LARMOR_PLAN_MEASURE));
        OWNED(larmor_nufft) *plan = plan_of(&p);
        const larmor_nufft_info info = larmor_nufft_describe(plan);
        assert_int_equal(info.source, LARMOR_PLAN_BY_MEASUREMENT);
        assert_true(info.grid[0] == 48 && info.grid[1] == 48);
        if (i == 2) assert_int_equal(info.width, 10);
        if (i == 3) assert_int_equal(info.tiles, 3);
    }
    larmor_wisdom_forget(dev);
}

TEST(a_search_that_was_less_thorough_is_not_enough)
{
    larmor_wisdom_forget(dev);
    OWNED(problem) p = problem_of(
        (larmor_nufft_opts){.type = 1, .ndim = 2, .modes = {16, 16}, .tol = 1e-4, .effort = LARMOR_PLAN_MEASURE},
        1500);
    OWNED(larmor_nufft) *measured = plan_of(&p);
    p.opts.effort = LARMOR_PLAN_EXHAUSTIVE;
    OWNED(larmor_nufft) *searched = plan_of(&p);
    p.opts.effort = LARMOR_PLAN_MEASURE;
    OWNED(larmor_nufft) *again = plan_of(&p);
    assert_int_equal(larmor_nufft_describe(measured).source, LARMOR_PLAN_BY_MEASUREMENT);
    assert_int_equal(larmor_nufft_describe(searched).source, LARMOR_PLAN_BY_MEASUREMENT);
    assert_int_equal(larmor_nufft_describe(again).source, LARMOR_PLAN_BY_WISDOM);
    expect_same_grid(searched, again);
    larmor_wisdom_forget(dev);
}

TEST(points_set_again_are_planned_as_the_first_time)
{
    larmor_wisdom_forget(dev);
    OWNED(problem) p = problem_of(
        (larmor_nufft_opts){
            .type = 2, .ndim = 2, .modes = {40, 40}, .batch = 4, .tol = 1e-5, .effort = LARMOR_PLAN_MEASURE},
        3000);
    OWNED(larmor_nufft) *plan = plan_of(&p);
    const larmor_nufft_info first = larmor_nufft_describe(plan);
    assert_ok(larmor_nufft_set_points(plan, p.points, NULL));
    const larmor_nufft_info second = larmor_nufft_describe(plan);
    assert_int_equal(first.source, LARMOR_PLAN_BY_MEASUREMENT);
    assert_int_equal(second.source, LARMOR_PLAN_BY_WISDOM);
    for (int d = 0; d < 2; d++) assert_int_equal(first.grid[d], second.grid[d]);
    assert_int_equal(first.width, second.width);
    assert_int_equal(first.per_pass, second.per_pass);
    assert_int_equal(first.spread_method, second.spread_method);
    assert_int_equal(first.interp_method, second.interp_method);
    larmor_wisdom_forget(dev);
}

TEST(wisdom_of_uniform_points_is_not_for_crowded_ones)
{
    larmor_wisdom_forget(dev);
    OWNED(problem) p = problem_of(
        (larmor_nufft_opts){.type = 1, .ndim = 2, .modes = {32, 32}, .tol = 1e-6, .effort = LARMOR_PLAN_MEASURE},
        1500);
    OWNED(larmor_nufft) *uniform = plan_of(&p);
    for (int64_t i = 0; i < 2 * p.m; i++) p.host[i] *= 0.1;
    assert_ok(larmor_array_write(p.points, p.host, (size_t)p.m * 2 * sizeof(double)));
    OWNED(larmor_nufft) *crowded = plan_of(&p);
    assert_int_equal(larmor_nufft_describe(crowded).source, LARMOR_PLAN_BY_MEASUREMENT);
    expect_tolerance(crowded, &p);
    larmor_wisdom_forget(dev);
}

/* ---- calibration ---- */

TEST(a_calibrated_device_still_keeps_the_tolerance)
{
    larmor_wisdom_forget(dev);
    assert_ok(larmor_nufft_calibrate(dev));
    for (int precision = 0; precision < LMR_PRECISIONS; precision++) {
        const lmr_nufft_scales *s = lmr_wisdom_scales(dev, precision);
        assert_non_null(s);
        for (int d = 0; d < 3; d++) assert_true(s->points[0][d] > 0 && s->points[1][d] > 0 && s->grid[d] > 0);
    }
    OWNED(problem) p = problem_of((larmor_nufft_opts){.type = 2, .ndim = 2, .modes = {24, 31}, .tol = 1e-7}, 3000);
    OWNED(larmor_nufft) *plan = plan_of(&p);
    expect_tolerance(plan, &p);
    larmor_wisdom_forget(dev);
}

TEST(a_calibration_moves_the_balance_between_points_and_grid)
{
    problem p = problem_of((larmor_nufft_opts){.type = 1, .ndim = 3, .modes = {24, 24, 24}, .tol = 1e-9}, 20000);
    lmr_nufft_scales slow_points = {{{100, 100, 100}, {100, 100, 100}}, {1, 1, 1}},
                     slow_grid = {{{1, 1, 1}, {1, 1, 1}}, {100, 100, 100}};
    assert_ok(lmr_wisdom_set_scales(dev, LMR_F64, &slow_points));
    OWNED(larmor_nufft) *a = plan_of(&p);
    assert_ok(lmr_wisdom_set_scales(dev, LMR_F64, &slow_grid));
    OWNED(larmor_nufft) *b = plan_of(&p);
    assert_true(cells_of(a) > cells_of(b));
    end_problem(&p);
    larmor_wisdom_forget(dev);
}
