/* The planner: what estimates and measurements choose, and what they leave alone. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/plan.h"
#include "nufft/wisdom.h"
#include "tests/nufft/direct.h"

/* A problem, its points on the device, and what the direct sum gives for it. */
typedef struct problem {
    larmor_nufft_opts opts;
    int64_t m, count; /* points, modes */
    double *host;
    larmor_array *points;
    double _Complex *in;
} problem;

static problem problem_of(larmor_nufft_opts opts, int64_t m)
{
    uint64_t state = 4 + (uint64_t)m;
    if (!opts.dtype) opts.dtype = LARMOR_C128;
    if (opts.effort && dev->be->threads(dev->ctx)) opts.threads = 1; /* which never waits for others */
    problem p = {.opts = opts, .m = m, .count = 1};
    for (int d = 0; d < opts.ndim; d++) p.count *= opts.modes[d];
    p.host = malloc((size_t)(m * opts.ndim) * sizeof *p.host);
    for (int64_t i = 0; i < m * opts.ndim; i++)
        p.host[i] = test_random(&state) * (double)opts.modes[i % opts.ndim] / 2;
    p.points = points_on_device(opts.ndim, m, p.host);
    const int64_t batch = opts.batch ? opts.batch : 1;
    p.in = random_values(batch * (m > p.count ? m : p.count), opts.dtype, &state);
    return p;
}

static void problem_free(problem *p)
{
    larmor_array_free(p->points);
    free(p->host), free(p->in);
}

static larmor_nufft *plan_of(const problem *p)
{
    larmor_nufft *plan;
    assert_ok(larmor_nufft_create(dev, &p->opts, &plan));
    assert_ok(larmor_nufft_set_points(plan, p->points, NULL));
    return plan;
}

/* The output, to be freed; *n is its length. */
static double _Complex *execute(larmor_nufft *plan, const problem *p, int64_t *n)
{
    const int64_t batch = p->opts.batch ? p->opts.batch : 1;
    const int64_t from = batch * (p->opts.type == 1 ? p->m : p->count);
    *n = batch * (p->opts.type == 1 ? p->count : p->m);
    larmor_array *x = to_device(p->opts.dtype, from, p->in), *y;
    assert_ok(larmor_array_create(dev, p->opts.dtype, LARMOR_SHAPE(*n), &y));
    assert_ok(larmor_nufft_execute(plan, x, y));
    double _Complex *out = malloc((size_t)*n * sizeof *out);
    to_host(y, out);
    larmor_array_free(x), larmor_array_free(y);
    return out;
}

/* Of batch 1. */
static void expect_tolerance(larmor_nufft *plan, const problem *p)
{
    int64_t n;
    double _Complex *out = execute(plan, p, &n), *truth = malloc((size_t)n * sizeof *truth);
    int64_t modes[3] = {1, 1, 1};
    for (int d = 0; d < p->opts.ndim; d++) modes[d] = p->opts.modes[d];
    direct_nufft(p->opts.type, p->opts.type == 1 ? 1 : -1, p->opts.ndim, modes, p->m, p->host, p->in, truth);
    assert_at_most(relative_l2(n, out, truth), p->opts.tol);
    assert_at_most(larmor_nufft_describe(plan).error, p->opts.tol);
    free(out), free(truth);
}

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

static void a_grid_that_is_chosen_for_the_points_keeps_the_tolerance(void **state)
{
    (void)state;
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
                problem p = problem_of(o, m);
                larmor_nufft *plan = plan_of(&p);
                expect_tolerance(plan, &p);
                larmor_nufft_free(plan), problem_free(&p);
            }
}

static void few_points_take_a_smaller_grid_than_many(void **state)
{
    (void)state;
    problem few = problem_of((larmor_nufft_opts){.type = 1, .ndim = 3, .modes = {24, 24, 24}, .tol = 1e-8}, 10);
    problem many = problem_of(few.opts, 200000);
    larmor_nufft *a = plan_of(&few), *b = plan_of(&many);
    assert_true(cells_of(a) < cells_of(b));
    assert_true(larmor_nufft_describe(a).width > larmor_nufft_describe(b).width);
    larmor_nufft_free(a), larmor_nufft_free(b);
    problem_free(&few), problem_free(&many);
}

static void the_same_points_give_the_same_plan_whatever_there_was_before(void **state)
{
    (void)state;
    problem few = problem_of((larmor_nufft_opts){.type = 2, .ndim = 3, .modes = {24, 24, 24}, .tol = 1e-9}, 10);
    problem many = problem_of(few.opts, 200000);
    larmor_nufft *a = plan_of(&many), *b = plan_of(&many), *c = plan_of(&few), *d = plan_of(&few);
    expect_same_grid(a, b);
    expect_same_grid(c, d);
    assert_ok(larmor_nufft_set_points(c, many.points, NULL)); /* much better with another grid */
    expect_same_grid(a, c);
    larmor_nufft_free(a), larmor_nufft_free(b), larmor_nufft_free(c), larmor_nufft_free(d);
    problem_free(&few), problem_free(&many);
}

static void results_are_those_of_a_plan_with_the_same_factor_asked_for(void **state)
{
    (void)state;
    for (int type = 1; type <= 2; type++)
        for (int64_t m = 30; m <= 100000; m *= 50) {
            problem p = problem_of(
                (larmor_nufft_opts){.type = type, .ndim = 2, .modes = {60, 60}, .tol = 1e-8, .batch = 3}, m);
            larmor_nufft *chosen = plan_of(&p);
            p.opts.upsample = fmin(larmor_nufft_describe(chosen).upsample, 2.5); /* beyond it by rounding up */
            larmor_nufft *asked = plan_of(&p);
            int64_t n;
            double _Complex *a = execute(chosen, &p, &n), *b = execute(asked, &p, &n);
            expect_same_grid(chosen, asked);
            /* on a GPU they agree far better than the tolerance, and not to rounding */
            assert_at_most(relative_l2(n, a, b), dev->be->threads(dev->ctx) ? 1e-14 : 1e-11);
            free(a), free(b);
            larmor_nufft_free(chosen), larmor_nufft_free(asked), problem_free(&p);
        }
}

static void points_that_are_refused_leave_grid_and_points_as_they_were(void **state)
{
    (void)state;
    problem p = problem_of((larmor_nufft_opts){.type = 1, .ndim = 2, .modes = {40, 40}, .tol = 1e-9}, 50);
    problem bad = problem_of(p.opts, 100000);
    bad.host[777] = NAN;
    assert_ok(larmor_array_write(bad.points, bad.host, (size_t)bad.m * 2 * sizeof(double)));
    for (int effort = LARMOR_PLAN_ESTIMATE; effort <= LARMOR_PLAN_MEASURE; effort++) {
        p.opts.effort = (larmor_plan_effort)effort;
        larmor_nufft *plan = plan_of(&p);
        assert_refused(larmor_nufft_set_points(plan, bad.points, NULL), LARMOR_ERR_NUMERIC, "point 388");
        expect_tolerance(plan, &p);
        larmor_nufft_free(plan);
    }
    problem_free(&p), problem_free(&bad);
}

/* ---- explicit options ---- */

static void what_is_asked_for_is_kept_whatever_the_effort(void **state)
{
    (void)state;
    for (int effort = LARMOR_PLAN_ESTIMATE; effort <= LARMOR_PLAN_EXHAUSTIVE; effort++) {
        larmor_wisdom_forget(dev);
        problem p = problem_of((larmor_nufft_opts){.type = 1,
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
        larmor_nufft *plan = plan_of(&p);
        const larmor_nufft_info info = larmor_nufft_describe(plan);
        assert_int_equal(info.grid[0], lmr_nufft_good_size(85));
        assert_int_equal(info.grid[1], lmr_nufft_good_size(170));
        assert_int_equal(info.together, 2);
        assert_int_equal(info.spread_method, gpu ? LARMOR_NUFFT_GM_SORT : LARMOR_NUFFT_AUTO);
        larmor_nufft_free(plan), problem_free(&p);
    }
    larmor_wisdom_forget(dev);
}

static void values_out_of_range_are_refused(void **state)
{
    (void)state;
    larmor_nufft *plan;
    larmor_nufft_opts o = {.type = 1, .ndim = 1, .modes = {8}, .effort = (larmor_plan_effort)3};
    assert_refused(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_ARG, "effort: got 3");
    o.effort = LARMOR_PLAN_ESTIMATE, o.both_directions = 2;
    assert_refused(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_ARG, "both_directions: got 2");
}

/* ---- measurements ---- */

static void measured_plans_keep_the_tolerance_and_are_remembered(void **state)
{
    (void)state;
    for (int effort = LARMOR_PLAN_MEASURE; effort <= LARMOR_PLAN_EXHAUSTIVE; effort++) {
        larmor_wisdom_forget(dev);
        problem p = problem_of(
            (larmor_nufft_opts){
                .type = effort, .ndim = 2, .modes = {24, 31}, .tol = 1e-7, .effort = (larmor_plan_effort)effort},
            3000);
        larmor_nufft *first = plan_of(&p), *second = plan_of(&p);
        const larmor_nufft_info a = larmor_nufft_describe(first), b = larmor_nufft_describe(second);
        assert_int_equal(a.source, LARMOR_PLAN_BY_MEASUREMENT);
        assert_int_equal(b.source, LARMOR_PLAN_BY_WISDOM);
        assert_true(a.tried >= 1 && a.seconds > 0);
        assert_int_equal(b.tried, 0);
        expect_same_grid(first, second);
        expect_tolerance(first, &p);
        expect_tolerance(second, &p);
        larmor_nufft_free(first), larmor_nufft_free(second), problem_free(&p);
    }
    larmor_wisdom_forget(dev);
}

static void a_batch_is_tuned_and_its_results_are_those_of_the_estimate(void **state)
{
    (void)state;
    larmor_wisdom_forget(dev);
    problem p =
        problem_of((larmor_nufft_opts){.type = 1, .ndim = 2, .modes = {30, 20}, .batch = 5, .tol = 1e-10}, 500);
    larmor_nufft *estimate = plan_of(&p);
    p.opts.effort = LARMOR_PLAN_EXHAUSTIVE;
    larmor_nufft *tuned = plan_of(&p);
    int64_t n;
    double _Complex *a = execute(estimate, &p, &n), *b = execute(tuned, &p, &n);
    assert_at_most(relative_l2(n, b, a), 2e-10);
    free(a), free(b);
    larmor_nufft_free(estimate), larmor_nufft_free(tuned), problem_free(&p);
    larmor_wisdom_forget(dev);
}

/* Of the measurement that a plan for p would look up. */
static lmr_wisdom_key key_of(const problem *p)
{
    return (lmr_wisdom_key){.types = p->opts.type,
                            .ndim = 2,
                            .precision = LMR_F64,
                            .threads = p->opts.threads,
                            .modes = {p->opts.modes[0], p->opts.modes[1], 1},
                            .batch = 1,
                            .tol = p->opts.tol,
                            .precompute = LARMOR_PRECOMPUTE_NONE,
                            .points_log2 = 10};
}

static void wisdom_that_would_break_the_tolerance_is_not_followed(void **state)
{
    (void)state;
    problem p = problem_of(
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
        lmr_wisdom_plan told = wrong[i];
        told.effort = LARMOR_PLAN_MEASURE, told.precompute = LARMOR_PRECOMPUTE_NONE + (i == 5);
        lmr_wisdom_add(dev, &key, &told);
        assert_non_null(lmr_wisdom_find(dev, &key, LARMOR_PLAN_MEASURE));
        larmor_nufft *plan = plan_of(&p);
        assert_int_equal(larmor_nufft_describe(plan).source, LARMOR_PLAN_BY_MEASUREMENT);
        expect_tolerance(plan, &p);
        larmor_nufft_free(plan);
    }
    larmor_wisdom_forget(dev);
    lmr_wisdom_plan right = {
        .effort = LARMOR_PLAN_MEASURE, .cells = {64, 64, 1}, .width = 12, .precompute = LARMOR_PRECOMPUTE_NONE};
    lmr_wisdom_add(dev, &key, &right);
    larmor_nufft *plan = plan_of(&p);
    assert_int_equal(larmor_nufft_describe(plan).source, LARMOR_PLAN_BY_WISDOM);
    assert_int_equal(larmor_nufft_describe(plan).width, 12);
    expect_tolerance(plan, &p);
    larmor_nufft_free(plan), problem_free(&p);
    larmor_wisdom_forget(dev);
}

static void wisdom_does_not_change_what_is_asked_for(void **state)
{
    (void)state;
    larmor_wisdom_forget(dev);
    problem p = problem_of((larmor_nufft_opts){.type = 1,
                                               .ndim = 2,
                                               .modes = {32, 32},
                                               .tol = 1e-6,
                                               .upsample = 1.5,
                                               .max_batch = 1,
                                               .effort = LARMOR_PLAN_MEASURE},
                           1500);
    lmr_wisdom_key key = key_of(&p);
    key.upsample = 1.5, key.max_batch = 1;
    const lmr_wisdom_plan grid = {.effort = LARMOR_PLAN_MEASURE,
                                  .cells = {64, 64, 1},
                                  .width = 12,
                                  .max_batch = 1,
                                  .precompute = LARMOR_PRECOMPUTE_NONE};
    lmr_wisdom_plan together = grid;
    together.cells[0] = together.cells[1] = 48, together.max_batch = 4;
    for (int i = 0; i < 2; i++) {
        larmor_wisdom_forget(dev);
        lmr_wisdom_add(dev, &key, i ? &together : &grid);
        larmor_nufft *plan = plan_of(&p);
        assert_int_equal(larmor_nufft_describe(plan).source, LARMOR_PLAN_BY_MEASUREMENT);
        assert_int_equal(larmor_nufft_describe(plan).grid[0], 48);
        larmor_nufft_free(plan);
    }
    problem_free(&p);
    larmor_wisdom_forget(dev);
}

static void a_search_that_was_less_thorough_is_not_enough(void **state)
{
    (void)state;
    larmor_wisdom_forget(dev);
    problem p = problem_of(
        (larmor_nufft_opts){.type = 1, .ndim = 2, .modes = {16, 16}, .tol = 1e-4, .effort = LARMOR_PLAN_MEASURE},
        1500);
    larmor_nufft *measured = plan_of(&p);
    p.opts.effort = LARMOR_PLAN_EXHAUSTIVE;
    larmor_nufft *searched = plan_of(&p);
    p.opts.effort = LARMOR_PLAN_MEASURE;
    larmor_nufft *again = plan_of(&p);
    assert_int_equal(larmor_nufft_describe(measured).source, LARMOR_PLAN_BY_MEASUREMENT);
    assert_int_equal(larmor_nufft_describe(searched).source, LARMOR_PLAN_BY_MEASUREMENT);
    assert_int_equal(larmor_nufft_describe(again).source, LARMOR_PLAN_BY_WISDOM);
    expect_same_grid(searched, again);
    larmor_nufft_free(measured), larmor_nufft_free(searched), larmor_nufft_free(again), problem_free(&p);
    larmor_wisdom_forget(dev);
}

static void points_set_again_are_planned_as_the_first_time(void **state)
{
    (void)state;
    larmor_wisdom_forget(dev);
    problem p = problem_of(
        (larmor_nufft_opts){
            .type = 2, .ndim = 2, .modes = {40, 40}, .batch = 4, .tol = 1e-5, .effort = LARMOR_PLAN_MEASURE},
        3000);
    larmor_nufft *plan = plan_of(&p);
    const larmor_nufft_info first = larmor_nufft_describe(plan);
    assert_ok(larmor_nufft_set_points(plan, p.points, NULL));
    const larmor_nufft_info second = larmor_nufft_describe(plan);
    assert_int_equal(first.source, LARMOR_PLAN_BY_MEASUREMENT);
    assert_int_equal(second.source, LARMOR_PLAN_BY_WISDOM);
    for (int d = 0; d < 2; d++) assert_int_equal(first.grid[d], second.grid[d]);
    assert_int_equal(first.width, second.width);
    assert_int_equal(first.together, second.together);
    assert_int_equal(first.spread_method, second.spread_method);
    assert_int_equal(first.interp_method, second.interp_method);
    larmor_nufft_free(plan), problem_free(&p);
    larmor_wisdom_forget(dev);
}

static void wisdom_of_uniform_points_is_not_for_crowded_ones(void **state)
{
    (void)state;
    larmor_wisdom_forget(dev);
    problem p = problem_of(
        (larmor_nufft_opts){.type = 1, .ndim = 2, .modes = {32, 32}, .tol = 1e-6, .effort = LARMOR_PLAN_MEASURE},
        1500);
    larmor_nufft *uniform = plan_of(&p);
    for (int64_t i = 0; i < 2 * p.m; i++) p.host[i] *= 0.1;
    assert_ok(larmor_array_write(p.points, p.host, (size_t)p.m * 2 * sizeof(double)));
    larmor_nufft *crowded = plan_of(&p);
    assert_int_equal(larmor_nufft_describe(crowded).source, LARMOR_PLAN_BY_MEASUREMENT);
    expect_tolerance(crowded, &p);
    larmor_nufft_free(uniform), larmor_nufft_free(crowded), problem_free(&p);
    larmor_wisdom_forget(dev);
}

/* ---- precomputed forms ---- */

/* One grid alone is in question, so that how many plans are timed does not depend on the times. */
static problem one_grid(int64_t memory)
{
    return problem_of((larmor_nufft_opts){.type = 1,
                                          .ndim = 2,
                                          .modes = {32, 32},
                                          .tol = 1e-6,
                                          .upsample = 1.5,
                                          .effort = LARMOR_PLAN_MEASURE,
                                          .precompute_memory = memory},
                      1500);
}

static larmor_nufft_info info_with(int64_t memory)
{
    larmor_wisdom_forget(dev);
    problem p = one_grid(memory);
    larmor_nufft *plan = plan_of(&p);
    const larmor_nufft_info info = larmor_nufft_describe(plan);
    expect_tolerance(plan, &p);
    larmor_nufft_free(plan), problem_free(&p);
    return info;
}

static void forms_are_timed_as_far_as_the_memory_that_is_granted(void **state)
{
    (void)state;
    const larmor_nufft_info none = info_with(0), too_little = info_with(1000), all = info_with(INT64_C(1) << 30);
    assert_int_equal(none.precompute, LARMOR_PRECOMPUTE_NONE);
    assert_int_equal(too_little.precompute, LARMOR_PRECOMPUTE_NONE);
    assert_int_equal(too_little.tried, none.tried);
    assert_int_equal(all.tried, none.tried + 2);
    assert_true(all.precompute >= LARMOR_PRECOMPUTE_NONE && all.precompute <= LARMOR_PRECOMPUTE_FULL);
    assert_int_equal(all.precompute_bytes > 0, all.precompute != LARMOR_PRECOMPUTE_NONE);
    larmor_wisdom_forget(dev);
}

static void a_form_that_is_asked_for_is_kept_whatever_the_effort(void **state)
{
    (void)state;
    for (int form = LARMOR_PRECOMPUTE_NONE; form <= LARMOR_PRECOMPUTE_FULL; form++) {
        larmor_wisdom_forget(dev);
        problem p = one_grid(form == LARMOR_PRECOMPUTE_PARTIAL ? 0 : INT64_C(1) << 30);
        p.opts.precompute = (larmor_precompute)form;
        larmor_nufft *plan = plan_of(&p), *again = plan_of(&p);
        assert_int_equal(larmor_nufft_describe(plan).precompute, form);
        assert_int_equal(larmor_nufft_describe(again).precompute, form);
        expect_tolerance(plan, &p);
        larmor_nufft_free(plan), larmor_nufft_free(again), problem_free(&p);
    }
    larmor_wisdom_forget(dev);
}

static void a_form_comes_from_wisdom_only_where_these_points_leave_it_the_memory(void **state)
{
    (void)state;
    problem many = one_grid(0);
    many.opts.precompute = LARMOR_PRECOMPUTE_FULL;
    larmor_nufft *full = plan_of(&many);
    const larmor_nufft_info all = larmor_nufft_describe(full);
    larmor_nufft_free(full);
    many.opts.precompute = LARMOR_PRECOMPUTE_AUTO;
    problem few = problem_of(many.opts, 1100); /* of the same power of two */
    const lmr_wisdom_plan known = {.effort = LARMOR_PLAN_MEASURE,
                                   .cells = {all.grid[0], all.grid[1], 1},
                                   .width = all.width,
                                   .precompute = LARMOR_PRECOMPUTE_FULL};
    larmor_wisdom_forget(dev);
    few.opts.precompute_memory = many.opts.precompute_memory = all.precompute_bytes - 1;
    lmr_wisdom_key key = key_of(&few);
    key.upsample = 1.5, key.precompute = LARMOR_PRECOMPUTE_AUTO, key.precompute_memory = few.opts.precompute_memory;
    lmr_wisdom_add(dev, &key, &known);
    larmor_nufft *fits = plan_of(&few);
    const larmor_nufft_info info = larmor_nufft_describe(fits);
    assert_int_equal(info.source, LARMOR_PLAN_BY_WISDOM);
    assert_int_equal(info.precompute, LARMOR_PRECOMPUTE_FULL);
    assert_true(info.precompute_bytes > 0 && info.precompute_bytes <= few.opts.precompute_memory);
    expect_tolerance(fits, &few);
    larmor_nufft *too_many = plan_of(&many);
    assert_int_equal(larmor_nufft_describe(too_many).source, LARMOR_PLAN_BY_MEASUREMENT);
    assert_true(larmor_nufft_describe(too_many).precompute != LARMOR_PRECOMPUTE_FULL);
    expect_tolerance(too_many, &many);
    larmor_nufft_free(fits), larmor_nufft_free(too_many), problem_free(&many), problem_free(&few);
    larmor_wisdom_forget(dev);
}

static void the_estimate_of_memory_counts_forms_that_may_be_chosen(void **state)
{
    (void)state;
    problem p = one_grid(0);
    int64_t none, little, full;
    assert_ok(larmor_nufft_memory(dev, &p.opts, p.m, &none));
    p.opts.precompute_memory = 1;
    assert_ok(larmor_nufft_memory(dev, &p.opts, p.m, &little));
    p.opts.precompute_memory = INT64_C(1) << 30;
    assert_ok(larmor_nufft_memory(dev, &p.opts, p.m, &full));
    larmor_nufft_opts plain = p.opts;
    plain.effort = LARMOR_PLAN_ESTIMATE, plain.precompute = LARMOR_PRECOMPUTE_FULL;
    problem q = {.opts = plain, .points = p.points};
    larmor_nufft *plan = plan_of(&q);
    assert_int_equal(little, none);
    assert_true(full - none >= 2 * larmor_nufft_describe(plan).precompute_bytes); /* two plans at a time */
    larmor_nufft_free(plan), problem_free(&p);
}

/* ---- type 3 ---- */

static void type_3_is_timed_and_keeps_the_tolerance(void **state)
{
    (void)state;
    for (int ndim = 1; ndim <= 3; ndim++) {
        sweep3 s = sweep3_create(ndim, LARMOR_C128);
        for (int effort = LARMOR_PLAN_MEASURE; effort <= (ndim == 1 ? 2 : 1); effort++)
            for (double upsample = 0; upsample < (ndim == 1 ? 2 : 1); upsample += 1.6) {
                const larmor_nufft_opts opts = {.type = 3,
                                                .ndim = ndim,
                                                .tol = 1e-7,
                                                .upsample = upsample,
                                                .dtype = LARMOR_C128,
                                                .effort = (larmor_plan_effort)effort,
                                                .both_directions = effort == LARMOR_PLAN_EXHAUSTIVE};
                larmor_nufft *plan;
                larmor_array *y[2];
                assert_ok(larmor_nufft_create(dev, &opts, &plan));
                assert_ok(larmor_nufft_set_points(plan, s.on_device[0], s.on_device[1]));
                const larmor_nufft_info info = larmor_nufft_describe(plan);
                assert_int_equal(info.source, upsample > 0 ? LARMOR_PLAN_BY_MODEL : LARMOR_PLAN_BY_MEASUREMENT);
                assert_int_equal(info.tried > 1, upsample == 0);
                assert_at_most(info.error, opts.tol);
                for (int i = 0; i < 2; i++) {
                    const int64_t n = i ? s.m : s.n;
                    double _Complex *out = malloc((size_t)n * sizeof *out);
                    assert_ok(larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(n), &y[i]));
                    assert_ok((i ? larmor_nufft_execute_adjoint : larmor_nufft_execute)(plan, s.input[i], y[i]));
                    to_host(y[i], out);
                    assert_at_most(relative_l2(n, out, s.truth[i]), opts.tol);
                    larmor_array_free(y[i]), free(out);
                }
                larmor_nufft_free(plan);
            }
        sweep3_free(&s);
    }
}

static void type_3_without_points_or_targets_is_legal_whatever_the_effort(void **state)
{
    (void)state;
    const double x[3] = {0.1, 0.2, 0.3};
    larmor_array *some = points_on_device(1, 3, x), *none = points_on_device(1, 0, x);
    const larmor_nufft_opts opts = {.type = 3, .ndim = 1, .tol = 1e-4, .effort = LARMOR_PLAN_MEASURE};
    larmor_nufft *plan;
    assert_ok(larmor_nufft_create(dev, &opts, &plan));
    assert_ok(larmor_nufft_set_points(plan, some, none));
    assert_ok(larmor_nufft_set_points(plan, none, some));
    assert_ok(larmor_nufft_set_points(plan, some, some));
    larmor_nufft_free(plan);
    larmor_array_free(some), larmor_array_free(none);
}

/* ---- calibration ---- */

static void a_calibrated_device_still_keeps_the_tolerance(void **state)
{
    (void)state;
    larmor_wisdom_forget(dev);
    assert_ok(larmor_nufft_calibrate(dev));
    for (int precision = 0; precision < LMR_PRECISIONS; precision++) {
        const lmr_nufft_scales *s = lmr_wisdom_scales(dev, precision);
        assert_non_null(s);
        for (int d = 0; d < 3; d++) assert_true(s->points[0][d] > 0 && s->points[1][d] > 0 && s->grid[d] > 0);
    }
    problem p = problem_of((larmor_nufft_opts){.type = 2, .ndim = 2, .modes = {24, 31}, .tol = 1e-7}, 3000);
    larmor_nufft *plan = plan_of(&p);
    expect_tolerance(plan, &p);
    larmor_nufft_free(plan), problem_free(&p);
    larmor_wisdom_forget(dev);
}

static void a_calibration_moves_the_balance_between_points_and_grid(void **state)
{
    (void)state;
    problem p = problem_of((larmor_nufft_opts){.type = 1, .ndim = 3, .modes = {24, 24, 24}, .tol = 1e-9}, 20000);
    lmr_nufft_scales slow_points = {{{100, 100, 100}, {100, 100, 100}}, {1, 1, 1}},
                     slow_grid = {{{1, 1, 1}, {1, 1, 1}}, {100, 100, 100}};
    assert_ok(lmr_wisdom_set_scales(dev, LMR_F64, &slow_points));
    larmor_nufft *a = plan_of(&p);
    assert_ok(lmr_wisdom_set_scales(dev, LMR_F64, &slow_grid));
    larmor_nufft *b = plan_of(&p);
    assert_true(cells_of(a) > cells_of(b));
    larmor_nufft_free(a), larmor_nufft_free(b), problem_free(&p);
    larmor_wisdom_forget(dev);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_grid_that_is_chosen_for_the_points_keeps_the_tolerance),
    cmocka_unit_test(few_points_take_a_smaller_grid_than_many),
    cmocka_unit_test(the_same_points_give_the_same_plan_whatever_there_was_before),
    cmocka_unit_test(results_are_those_of_a_plan_with_the_same_factor_asked_for),
    cmocka_unit_test(points_that_are_refused_leave_grid_and_points_as_they_were),
    cmocka_unit_test(what_is_asked_for_is_kept_whatever_the_effort),
    cmocka_unit_test(values_out_of_range_are_refused),
    cmocka_unit_test(measured_plans_keep_the_tolerance_and_are_remembered),
    cmocka_unit_test(a_batch_is_tuned_and_its_results_are_those_of_the_estimate),
    cmocka_unit_test(wisdom_that_would_break_the_tolerance_is_not_followed),
    cmocka_unit_test(wisdom_does_not_change_what_is_asked_for),
    cmocka_unit_test(a_search_that_was_less_thorough_is_not_enough),
    cmocka_unit_test(points_set_again_are_planned_as_the_first_time),
    cmocka_unit_test(wisdom_of_uniform_points_is_not_for_crowded_ones),
    cmocka_unit_test(forms_are_timed_as_far_as_the_memory_that_is_granted),
    cmocka_unit_test(a_form_that_is_asked_for_is_kept_whatever_the_effort),
    cmocka_unit_test(a_form_comes_from_wisdom_only_where_these_points_leave_it_the_memory),
    cmocka_unit_test(the_estimate_of_memory_counts_forms_that_may_be_chosen),
    cmocka_unit_test(type_3_is_timed_and_keeps_the_tolerance),
    cmocka_unit_test(type_3_without_points_or_targets_is_legal_whatever_the_effort),
    cmocka_unit_test(a_calibrated_device_still_keeps_the_tolerance),
    cmocka_unit_test(a_calibration_moves_the_balance_between_points_and_grid),
};

int main(void)
{
    RUN_TESTS(tests);
}
