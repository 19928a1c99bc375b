/* schedule/plan.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

static larmor_recon_plan plan_of(const scan *s, const larmor_recon_opts *opts)
{
    larmor_recon_plan plan;
    OWNED(larmor_recon) *recon = recon_of(s, opts);
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    return plan;
}

TEST(the_limit_is_kept_by_fewer_coils_at_a_time)
{
    OWNED(scan) s = scan_of(16, 1, 0);
    larmor_recon_opts opts = OPTS(.maps = s.maps, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3, .iters = 4,
                                  .precondition = -1, .compress = -1, .memory = INT64_C(1) << 40);
    const larmor_recon_plan all = plan_of(&s, &opts);
    const larmor_recon_opts free_opts = opts;
    assert_int_equal(all.block, 16);
    opts.memory = all.bytes - 1;
    const larmor_recon_plan fewer = plan_of(&s, &opts);
    assert_true(fewer.block < 16);
    assert_true(fewer.bytes <= opts.memory);
    assert_int_equal(fewer.limit, opts.memory);
    assert_at_most(apart(&s, &opts, &s, &free_opts), 1e-5);
}

/* What nobody insists on goes first: the choice of lambda, the preconditioner, Toeplitz. */
TEST(what_is_optional_is_given_up_before_the_scan_is_refused)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    notes n = {.text = ""};
    larmor_recon_opts opts = OPTS(.maps = s.maps, .memory = INT64_C(1) << 40, .delays = LARMOR_DELAYS_OFF,
                                  .oversample = {1, 1}, .listener = take_note, .user = &n);
    int64_t least = plan_of(&s, &opts).bytes, seen_choice = 0, seen_precondition = 0;
    larmor_status st = LARMOR_OK;
    larmor_recon *recon;
    for (; !st; least -= least / 40) {
        opts.memory = least;
        n.text[0] = 0;
        st = try_recon(&s, &opts, &recon);
        larmor_recon_free(recon);
        seen_choice |= !st && strstr(n.text, "L:memory: to choose lambda from the data does not fit") != NULL;
        seen_precondition |= !st && strstr(n.text, "L:memory: the preconditioner does not fit") != NULL;
        if (st) break;
        if (seen_precondition) assert_true(seen_choice);
    }
    assert_int_equal(st, LARMOR_ERR_MEMORY);
    assert_non_null(strstr(larmor_last_error(), "of memory needed with one coil at a time"));
    assert_non_null(strstr(larmor_last_error(), "missing. Raise opts.memory."));
    assert_true(seen_choice && seen_precondition);
}

TEST(without_memory_to_choose_lambda_it_is_expected_from_the_noise)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-4);
    larmor_recon_opts opts = OPTS(.maps = s.maps, .memory = INT64_C(1) << 40);
    for (opts.memory = plan_of(&s, &opts).bytes; plan_of(&s, &opts).chooses; opts.memory -= opts.memory / 40) {
    }
    notes n = {.text = ""};
    opts.listener = take_note;
    opts.user = &n;
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    assert_int_equal(result.report.lambda_from, LARMOR_LAMBDA_FROM_NOISE);
    assert_true(result.report.lambda > 0);
    assert_noted(n, "no memory to choose it from the data");
}

TEST(frames_take_turns_on_one_grid_before_anything_is_given_up_and_make_the_same_images)
{
    OWNED(scan) s = scan_of(COILS, 4, 1e-3);
    notes n = {.text = ""};
    larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "tv", .joint = 1, .delays = LARMOR_DELAYS_OFF,
                                  .oversample = {1, 1}, .compress = -1, .memory = INT64_C(1) << 40);
    const larmor_recon_opts enough = opts;
    opts.listener = take_note;
    opts.user = &n;
    opts.memory = plan_of(&s, &opts).bytes;
    while (!strstr(n.text, "; frames in turn on one grid")) {
        opts.memory -= opts.memory / 40;
        plan_of(&s, &opts);
    }
    assert_null(strstr(n.text, "does not fit"));
    n = (notes){.text = ""};
    OWNED(larmor_recon_result) few = result_of(&s, &opts), all = result_of(&s, &enough);
    assert_int_equal(few.report.lambda_from, LARMOR_LAMBDA_FROM_DATA);
    assert_int_equal(few.count, 4);
    /* rounding moves the weight that is found, and images by .006 on one kind of processor, .002 on others */
    assert_at_most(fabs(few.report.weight / all.report.weight - 1), 1e-2);
    for (int i = 0; i < 4; i++) assert_at_most(difference(few.image[i].data, all.image[i].data), 1e-2);
}

TEST(what_is_insisted_on_is_not_given_up)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    larmor_recon_opts with =
        OPTS(.maps = s.maps, .precondition = 1, .toeplitz = 1, .memory = INT64_C(1) << 40,
             .delays = LARMOR_DELAYS_OFF, .oversample = {1, 1}, .lambda_mode = LARMOR_LAMBDA_RELATIVE);
    larmor_recon_opts without = with;
    larmor_recon *recon;
    without.precondition = -1;
    without.toeplitz = -1;
    /* a limit that is enough without them, and not with them */
    for (without.memory = plan_of(&s, &with).bytes; !try_recon(&s, &without, &recon);
         without.memory -= without.memory / 40)
        larmor_recon_free(recon);
    with.memory = without.memory + without.memory / 20;
    assert_refused(try_recon(&s, &with, &recon), LARMOR_ERR_MEMORY, "of memory needed with one coil at a time");
}

TEST(more_takes_more)
{
    OWNED(scan) one = scan_of(COILS, 1, 0), four = scan_of(COILS, 4, 0);
    const larmor_recon_opts grid = KNOWN(.method = "grid"), rss = KNOWN(.method = "grid", .no_maps = 1),
                            cg = KNOWN(.maps = one.maps), fine = KNOWN(.maps = one.maps, .eps = 1e-9),
                            joint = KNOWN(.method = "tv", .joint = 1), tv = KNOWN(.method = "tv"),
                            pipe = KNOWN(.method = "grid", .density = LARMOR_DENSITY_PIPE),
                            none = KNOWN(.method = "grid", .density = LARMOR_DENSITY_NONE);
    assert_true(plan_of(&one, &rss).bytes <= plan_of(&one, &grid).bytes);
    assert_true(plan_of(&one, &none).bytes <= plan_of(&one, &pipe).bytes);
    assert_true(plan_of(&one, &cg).bytes < plan_of(&one, &fine).bytes);
    assert_true(plan_of(&one, &tv).bytes < plan_of(&four, &joint).bytes);
}

TEST(images_that_are_alike_need_alike)
{
    OWNED(scan) s = scan_of(COILS, 3, 0);
    larmor_array *few =
        MADE(larmor_array, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(SAMPLES, 2, COILS), &made));
    LMR_FREE(s.image[2].kspace, s.image[2].traj);
    s.image[2].kspace = few;
    assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(2, SAMPLES, 2), &s.image[2].traj));
    const larmor_recon_opts opts = KNOWN(.maps = s.maps, .oversample = {1});
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    larmor_recon_plan plan[3];
    for (int i = 0; i < 3; i++) assert_ok(larmor_recon_describe(recon, i, &plan[i]));
    assert_int_equal(plan[0].bytes, plan[1].bytes);
    assert_true(plan[2].bytes < plan[1].bytes);
}
