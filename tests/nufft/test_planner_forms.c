/* The planner and precomputed forms: what is timed, what is remembered, what it takes of the memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/nufft/planner.h"

/* One grid, way and shape alone is in question, so that how many plans are timed does not depend on the times. */
static problem one_grid(int64_t memory)
{
    const int processor = dev->be->threads(dev->ctx) > 0;
    return problem_of((larmor_nufft_opts){.type = 1,
                                          .ndim = 2,
                                          .modes = {32, 32},
                                          .tol = 1e-6,
                                          .upsample = 1.5,
                                          .method = processor ? LARMOR_NUFFT_AUTO : LARMOR_NUFFT_SM,
                                          .tiles = 1,
                                          .effort = LARMOR_PLAN_MEASURE,
                                          .precompute_memory = memory},
                      1500);
}

static larmor_nufft_info info_with(int64_t memory)
{
    larmor_wisdom_forget(dev);
    OWNED(problem) p = one_grid(memory);
    OWNED(larmor_nufft) *plan = plan_of(&p);
    const larmor_nufft_info info = larmor_nufft_describe(plan);
    expect_tolerance(plan, &p);
    return info;
}

TEST(forms_are_timed_as_far_as_the_memory_that_is_granted)
{
    const larmor_nufft_info none = info_with(0), too_little = info_with(1000), all = info_with(INT64_C(1) << 30);
    assert_int_equal(none.precompute, LARMOR_PRECOMPUTE_NONE);
    assert_int_equal(too_little.precompute, LARMOR_PRECOMPUTE_NONE);
    assert_int_equal(too_little.tried, none.tried);
    assert_int_equal(all.tried, none.tried + 2);
    assert_true(all.precompute >= LARMOR_PRECOMPUTE_NONE && all.precompute <= LARMOR_PRECOMPUTE_FULL);
    assert_int_equal(all.precompute_bytes > 0, all.precompute != LARMOR_PRECOMPUTE_NONE);
    larmor_wisdom_forget(dev);
}

TEST(a_form_that_is_asked_for_is_kept_whatever_the_effort)
{
    for (int form = LARMOR_PRECOMPUTE_NONE; form <= LARMOR_PRECOMPUTE_FULL; form++) {
        larmor_wisdom_forget(dev);
        OWNED(problem) p = one_grid(form == LARMOR_PRECOMPUTE_PARTIAL ? 0 : INT64_C(1) << 30);
        p.opts.precompute = (larmor_precompute)form;
        OWNED(larmor_nufft) *plan = plan_of(&p), *again = plan_of(&p);
        assert_int_equal(larmor_nufft_describe(plan).precompute, form);
        assert_int_equal(larmor_nufft_describe(again).precompute, form);
        expect_tolerance(plan, &p);
    }
    larmor_wisdom_forget(dev);
}

TEST(a_form_comes_from_wisdom_only_where_these_points_leave_it_the_memory)
{
    OWNED(problem) many = one_grid(0);
    many.opts.precompute = LARMOR_PRECOMPUTE_FULL;
    OWNED(larmor_nufft) *full = plan_of(&many);
    const larmor_nufft_info all = larmor_nufft_describe(full);
    many.opts.precompute = LARMOR_PRECOMPUTE_AUTO;
    OWNED(problem) few = problem_of(many.opts, 1100); /* of the same power of two */
    const lmr_wisdom_plan known = {.effort = LARMOR_PLAN_MEASURE,
                                   .cells = {all.grid[0], all.grid[1], 1},
                                   .width = all.width,
                                   .method = (int)many.opts.method,
                                   .precompute = LARMOR_PRECOMPUTE_FULL};
    larmor_wisdom_forget(dev);
    few.opts.precompute_memory = many.opts.precompute_memory = all.precompute_bytes - 1;
    lmr_wisdom_key key = key_of(&few);
    key.upsample = 1.5;
    key.precompute = LARMOR_PRECOMPUTE_AUTO;
    key.precompute_memory = few.opts.precompute_memory;
    key.method = (int)few.opts.method;
    key.tiles = few.opts.tiles;
    lmr_wisdom_add(dev, &key, &known);
    OWNED(larmor_nufft) *fits = plan_of(&few);
    const larmor_nufft_info info = larmor_nufft_describe(fits);
    assert_int_equal(info.source, LARMOR_PLAN_BY_WISDOM);
    assert_int_equal(info.precompute, LARMOR_PRECOMPUTE_FULL);
    assert_true(info.precompute_bytes > 0 && info.precompute_bytes <= few.opts.precompute_memory);
    expect_tolerance(fits, &few);
    OWNED(larmor_nufft) *too_many = plan_of(&many);
    assert_int_equal(larmor_nufft_describe(too_many).source, LARMOR_PLAN_BY_MEASUREMENT);
    assert_true(larmor_nufft_describe(too_many).precompute != LARMOR_PRECOMPUTE_FULL);
    expect_tolerance(too_many, &many);
    larmor_wisdom_forget(dev);
}

TEST(the_estimate_of_memory_counts_forms_that_may_be_chosen)
{
    OWNED(problem) p = one_grid(0);
    int64_t none, little, full;
    assert_ok(larmor_nufft_memory(dev, &p.opts, p.m, &none));
    p.opts.precompute_memory = 1;
    assert_ok(larmor_nufft_memory(dev, &p.opts, p.m, &little));
    p.opts.precompute_memory = INT64_C(1) << 30;
    assert_ok(larmor_nufft_memory(dev, &p.opts, p.m, &full));
    larmor_nufft_opts plain = p.opts;
    plain.effort = LARMOR_PLAN_ESTIMATE;
    plain.precompute = LARMOR_PRECOMPUTE_FULL;
    problem q = {.opts = plain, .points = p.points};
    OWNED(larmor_nufft) *plan = plan_of(&q);
    assert_int_equal(little, none);
    assert_true(full - none >= 2 * larmor_nufft_describe(plan).precompute_bytes); /* two plans at a time */
}
