/* From a tolerance to a grid and a window: good sizes, and what may be asked for. SPDX-License-Identifier:
 * Apache-2.0 */
#include "nufft/choose/choose.h"

#include "nufft/choose/cost.h"
#include "tests/support/test.h"

TEST(good_sizes_have_small_factors_and_are_multiples_of_four)
{
    int64_t before = 0;
    for (int64_t n = 1; n <= 3000; n++) {
        int64_t rest = n;
        for (int prime = 2; prime <= 7; prime++)
            while (rest % prime == 0) rest /= prime;
        const int good = rest == 1 && n % (n > 16 ? 4 : 2) == 0;
        assert_int_equal(lmr_nufft_is_good_size(n), good);
        if (!good) continue;
        for (int64_t below = before + 1; below <= n; below++) assert_int_equal(lmr_nufft_good_size(below), n);
        before = n;
    }
}

TEST(the_nearest_size_is_the_nearest_good_one_in_its_range)
{
    static const int64_t ranges[][2] = {{2, 5000}, {46, 168}, {74, 230}, {97, 99}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        for (int64_t n = -5; n < 400; n++) {
            int64_t best = 0;
            for (int64_t size = ranges[i][0]; size <= ranges[i][1]; size++)
                if (lmr_nufft_is_good_size(size) && (!best || llabs(size - n) <= llabs(best - n))) best = size;
            assert_int_equal(lmr_nufft_nearest_size(n, ranges[i][0], ranges[i][1]), best);
        }
    assert_int_equal(lmr_nufft_nearest_size(INT64_MIN, 74, INT64_C(1) << 58), 80);
    assert_int_equal(lmr_nufft_nearest_size(INT64_MAX, 74, INT64_C(1) << 58), INT64_C(1) << 58);
}

static void expect_same(const lmr_nufft_choice *a, const lmr_nufft_choice *b)
{
    for (int d = 0; d < 3; d++) assert_int_equal(a->cells[d], b->cells[d]);
    assert_int_equal(a->window.width, b->window.width);
    assert_true(a->bound == b->bound && a->window.bandlimit == b->window.bandlimit);
}

/* Asked for again, the same grid, width or both give the same choice. */
TEST(what_is_chosen_may_be_asked_for)
{
    static const int64_t sizes[][3] = {{1, 1, 1}, {2, 3, 5}, {17, 40, 9}, {64, 63, 65}, {1000, 1, 30}, {4099, 8, 8}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int ndim = 1; ndim <= 3; ndim++)
            for (int factor = 0; factor < 4; factor++)
                for (double tol = 1e-1; tol > 1e-9; tol *= 0.05) {
                    static const double factors[] = {0, 1.15, 1.5, 2.5};
                    const int64_t *modes = sizes[i];
                    lmr_nufft_request r = {.ndim = ndim, .tol = tol, .upsample = factors[factor]};
                    lmr_nufft_choice chosen, again;
                    if (lmr_nufft_choose(&r, modes, &chosen)) continue; /* 1.15 does not reach all of them */
                    r.upsample = 0;
                    for (int d = 0; d < ndim; d++) {
                        int64_t least, most;
                        r.cells[d] = chosen.cells[d];
                        lmr_nufft_sides(modes[d], chosen.window.width, &least, &most);
                        assert_in_range(chosen.cells[d], least, most);
                    }
                    assert_int_equal(lmr_nufft_choose(&r, modes, &again), LARMOR_OK);
                    assert_int_equal(lmr_nufft_choose_at(&r, modes, chosen.cells, again.window.width, &again), 1);
                    r.width = chosen.window.width;
                    assert_int_equal(lmr_nufft_choose(&r, modes, &again), LARMOR_OK);
                    expect_same(&chosen, &again);
                }
}

/* A choice that is remembered is that of the request itself, whatever was asked for before it: requests that
 * differ in one member alone, in an order in which each finds what another one has left, and more of them than are
 * kept. */
TEST(what_is_remembered_is_the_choice_of_the_same_request)
{
    enum { KINDS = 14, ROUNDS = 3 };
    static lmr_nufft_choice fresh[KINDS];
    const lmr_nufft_rates usual = lmr_nufft_builtin_rates(LMR_NUFFT_PROCESSOR, LMR_F64, 1);
    lmr_nufft_rates dear = usual;
    for (int d = 0; d < 3; d++) dear.cell[d] = 1e6;
    const lmr_nufft_request base = {.ndim = 2, .tol = 1e-5, .points = 1e7, .rates = &usual};
    for (int round = 0; round < ROUNDS; round++)
        for (int kind = 0; kind < KINDS; kind++) {
            const int64_t modes[3] = {kind == 1 ? 60 : 64, kind == 2 ? 80 : 64, kind == 3 ? 9 : 1};
            lmr_nufft_request r = base;
            lmr_nufft_choice remembered;
            if (kind == 3) r.ndim = 3;
            if (kind == 4) r.single = 1;
            if (kind == 5) r.tol = 2e-5;
            if (kind == 6) r.upsample = 1.5;
            if (kind == 7) r.width = 9;
            if (kind == 8) r.points = 1e3;
            if (kind == 9) r.cells[0] = r.cells[1] = 144;
            if (kind == 10) r.rates = &dear;
            if (kind == 11) r.lattice = 1;
            if (kind == 12) r.batch = 32;
            if (kind == 13) r.full = 1;
            assert_int_equal(lmr_nufft_choose(&r, modes, &remembered), LARMOR_OK);
            if (!round) fresh[kind] = remembered;
            expect_same(&fresh[kind], &remembered);
            for (int d = 0; d < 3; d++) assert_true(remembered.cells[d] >= modes[d]);
            assert_true(remembered.bound <= r.tol);
            if (kind == 6) assert_int_equal(remembered.cells[0], 96);
            if (kind == 7) assert_int_equal(remembered.window.width, 9);
            if (kind == 9) assert_int_equal(remembered.cells[1], 144);
            for (int other = 0; other < 40 && round; other++) { /* of other requests, which take its place */
                const int64_t one[3] = {100 + other + 40 * kind, 1, 1};
                const lmr_nufft_request line = {.ndim = 1, .tol = 1e-3};
                assert_int_equal(lmr_nufft_choose(&line, one, &remembered), LARMOR_OK);
                assert_true(remembered.cells[0] >= one[0] && remembered.cells[0] < 3 * one[0]);
            }
        }
    assert_true(fresh[10].cells[0] < fresh[0].cells[0] || fresh[10].window.width != fresh[0].window.width);
}

TEST(a_width_is_kept_by_the_smallest_grid_that_lets_it)
{
    const int64_t modes[3] = {40, 30, 1};
    int64_t before = INT64_MAX;
    int first = 0;
    for (int width = LMR_WINDOW_MIN; width <= LMR_WINDOW_MAX; width++) {
        const lmr_nufft_request r = {.ndim = 2, .tol = 1e-6, .width = width};
        lmr_nufft_choice choice;
        const larmor_status st = lmr_nufft_choose(&r, modes, &choice);
        if (st) assert_int_equal(first, 0);
        if (st) continue;
        first = first ? first : width;
        assert_int_equal(choice.window.width, width);
        assert_true(choice.bound <= 1e-6 && choice.cells[0] * choice.cells[1] <= before);
        before = choice.cells[0] * choice.cells[1];
    }
    assert_int_equal(first, 7);
}

TEST(a_grid_takes_no_window_that_it_cannot_hold_twice)
{
    const int64_t modes[3] = {5, 1, 1};
    lmr_nufft_request r = {.ndim = 1, .tol = 1e-6, .cells = {16}};
    lmr_nufft_choice choice;
    assert_int_equal(lmr_nufft_choose(&r, modes, &choice), LARMOR_OK);
    assert_in_range(choice.window.width, 6, 8);
    r.cells[0] = 10;
    assert_refused(lmr_nufft_choose(&r, modes, &choice), LARMOR_ERR_NUMERIC, "nufft: grid: got 10, which keeps ");
    r.tol = 1e-2;
    assert_int_equal(lmr_nufft_choose(&r, modes, &choice), LARMOR_OK);
}

TEST(a_choice_at_another_grid_or_width_than_asked_for_is_none)
{
    const int64_t modes[3] = {40, 30, 1}, cells[3] = {80, 60, 1}, other[3] = {80, 64, 1};
    lmr_nufft_request r = {.ndim = 2, .tol = 1e-6};
    lmr_nufft_choice choice;
    assert_int_equal(lmr_nufft_choose_at(&r, modes, cells, 9, &choice), 1);
    r.width = 9;
    assert_int_equal(lmr_nufft_choose_at(&r, modes, cells, 9, &choice), 1);
    assert_int_equal(lmr_nufft_choose_at(&r, modes, cells, 10, &choice), 0);
    r.cells[0] = 80;
    r.cells[1] = 60;
    assert_int_equal(lmr_nufft_choose_at(&r, modes, cells, 9, &choice), 1);
    assert_int_equal(lmr_nufft_choose_at(&r, modes, other, 9, &choice), 0);
}

/* A GPU's FFT leaves out lines without wanted modes: in three dimensions all lines of the first axis are left, of
 * the second those of wanted modes along the first, and so on. */
TEST(a_grid_costs_what_lines_of_wanted_modes_cost)
{
    for (int precision = 0; precision < LMR_PRECISIONS; precision++) {
        const lmr_nufft_rates processor = lmr_nufft_builtin_rates(LMR_NUFFT_PROCESSOR, precision, 1);
        lmr_nufft_rates gpu = lmr_nufft_builtin_rates(LMR_NUFFT_GPU, precision, 1);
        const lmr_nufft_work all = {.ndim = 3, .cells = {320, 240, 200}, .batch = 2};
        lmr_nufft_work part = all;
        gpu.start[2] = 0;
        for (int d = 0; d < 3; d++) part.modes[d] = all.cells[d] / (d + 2);
        const double ratio = lmr_nufft_cost_grid(&gpu, &part) / lmr_nufft_cost_grid(&gpu, &all);
        assert_true(fabs(ratio - (1 + 1. / 2 + 1. / 6) / 3) < 1e-12);
        assert_true(lmr_nufft_cost_grid(&processor, &part) == lmr_nufft_cost_grid(&processor, &all));
    }
}
