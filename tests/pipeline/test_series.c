/* scan/series.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

/* Two slices of two repetitions, in the order slice 0, 1, 0, 1. */
static scan two_slices(void)
{
    scan s = scan_of(2, 4, 0);
    for (int i = 0; i < 4; i++) {
        s.image[i].meta.slice = i % 2;
        s.image[i].meta.repetition = i / 2;
    }
    return s;
}

static void expect_plan(const larmor_recon *recon, int series, const char *name, int images, int slice,
                        int repetition)
{
    larmor_recon_plan plan;
    assert_ok(larmor_recon_describe(recon, series, &plan));
    assert_string_equal(plan.name, name);
    assert_int_equal(plan.images, images);
    assert_int_equal(plan.first.slice, slice);
    assert_int_equal(plan.first.repetition, repetition);
}

TEST(each_image_is_a_series_unless_they_are_joint)
{
    OWNED(scan) s = two_slices();
    const larmor_recon_opts opts = KNOWN(.method = "grid");
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    assert_int_equal(larmor_recon_series(recon), 4);
    expect_plan(recon, 0, "image 1 of 4", 1, 0, 0);
    expect_plan(recon, 3, "image 4 of 4", 1, 1, 1);
}

TEST(joint_images_of_a_slice_are_one_series)
{
    OWNED(scan) s = two_slices();
    const char *const methods[] = {"tv", "llr"};
    for (int i = 0; i < 2; i++) {
        const larmor_recon_opts opts = KNOWN(.method = methods[i], .joint = 1, .iters = 2, .maps = s.maps);
        OWNED(larmor_recon) *recon = recon_of(&s, &opts);
        assert_int_equal(larmor_recon_series(recon), 2);
        expect_plan(recon, 0, "series 1 of 2, 2 images", 2, 0, 0);
        expect_plan(recon, 1, "series 2 of 2, 2 images", 2, 1, 0);
        OWN(larmor_recon_result, result, larmor_recon_run(recon, 1, &result));
        assert_int_equal(result.count, 2);
        assert_int_equal(result.image[0].group, 1);
        assert_int_equal(result.image[1].group, 3);
        assert_int_equal(result.image[1].meta.repetition, 1);
    }
}

TEST(only_the_images_that_are_asked_for_are_made)
{
    OWNED(scan) s = two_slices();
    s.image[3].meta.contrast = 1;
    s.image[3].meta.phase = 2;
    s.image[3].meta.set = 3;
    const struct {
        larmor_counters only;
        int series, slice, repetition;
    } asked[] = {
        {{1, -1, -1, -1, -1, 0}, 2, 1, 0}, {{-1, 1, -1, -1, -1, 0}, 1, 1, 1}, {{-1, -1, 2, -1, -1, 0}, 1, 1, 1},
        {{-1, -1, -1, 1, -1, 0}, 2, 0, 1}, {{-1, -1, -1, -1, 0, 0}, 3, 0, 0}, {{0, 0, 0, 1, 0, 0}, 1, 0, 1},
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        larmor_recon_plan plan;
        const larmor_recon_opts opts = KNOWN(.method = "grid", .only = &asked[i].only);
        OWNED(larmor_recon) *recon = recon_of(&s, &opts);
        assert_int_equal(larmor_recon_series(recon), asked[i].series);
        assert_ok(larmor_recon_describe(recon, 0, &plan));
        assert_int_equal(plan.first.slice, asked[i].slice);
        assert_int_equal(plan.first.repetition, asked[i].repetition);
    }
    const larmor_counters nothing = {5, -1, -1, -1, -1, 0};
    const larmor_recon_opts opts = KNOWN(.only = &nothing);
    larmor_recon *recon;
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_ARG,
                   "arrays: no image has the encoding, slice, contrast");
}

TEST(llr_needs_more_than_one_frame)
{
    OWNED(scan) s = two_slices();
    const larmor_counters one = {-1, -1, -1, 1, -1, 0};
    const larmor_recon_opts opts = KNOWN(.method = "llr", .only = &one);
    larmor_recon *recon;
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_ARG, "arrays has one frame of a slice");
}

/* The second image of a scan, which is of another slice, or of the first one. */
static larmor_array *second_of(const scan *s, const larmor_recon_opts *opts)
{
    OWNED(larmor_recon_result) first, second;
    OWNED(larmor_recon) *recon = run_of(s, opts, &first);
    assert_ok(larmor_recon_run(recon, 1, &second));
    return larmor_array_ref(second.image[0].data);
}

/* Whether it comes first or not. Slices have their own maps; a repetition of next to nothing gives none. */
TEST(an_image_of_noise_alone_does_not_decide_for_the_others)
{
    static const char *const methods[] = {"auto", "cg"};
    for (int m = 0; m < 2; m++)
        for (int slices = 0; slices < 2; slices++)
            for (int at_once = 1; at_once < 3; at_once++) {
                if (!of_all(at_once == 1 + (m + slices) % 2, 1)) continue;
                OWNED(scan) s = scan_of(COILS, 2, 1e-3);
                OWNED(scan) own = scan_of(COILS, 2, 1e-3);
                const larmor_recon_opts opts = OPTS(.method = methods[m], .at_once = at_once);
                assert_ok(larmor_fill(s.image[0].kspace, 0));
                assert_ok(larmor_phantom_noise(s.image[0].kspace, 1e-3, 7));
                for (int i = 0; i < 2; i++) s.image[i].meta.slice = slices ? i : 0;
                own.arrays.images = 1;
                const larmor_readouts kept = own.image[0];
                own.image[0] = own.image[1];
                OWNED(larmor_recon_result) alone = result_of(&own, &opts);
                own.image[0] = kept;
                own.arrays.images = 2;
                OWNED(larmor_array) *x = second_of(&s, &opts);
                assert_at_most(difference(x, alone.image[0].data), 5e-3);
            }
}

/* Whether it comes before the image that has signal or behind it. */
TEST(delays_are_those_of_images_with_signal)
{
    for (int noisy = 0; noisy < 2; noisy++) {
        OWNED(scan) s = scan_of(COILS, 2, 0);
        OWN(larmor_array, *moved, larmor_traj_delay(s.image[!noisy].traj, (double[6]){.7, .7}, NULL, &moved));
        larmor_array_free(s.image[!noisy].kspace);
        assert_ok(larmor_phantom_kspace(s.phantom, moved, COILS, LARMOR_C64, &s.image[!noisy].kspace));
        assert_ok(larmor_fill(s.image[noisy].kspace, 0));
        for (int i = 0; i < 2; i++) assert_ok(larmor_phantom_noise(s.image[i].kspace, 1e-3, 3 + (uint64_t)i));
        const larmor_recon_opts opts = OPTS(.method = "grid");
        OWNED(larmor_recon) *recon = recon_of(&s, &opts);
        larmor_recon_plan plan;
        assert_ok(larmor_recon_describe(recon, 0, &plan));
        for (int d = 0; d < 2; d++) assert_at_most(fabs(plan.delay[d] - .7), .05);
    }
}

/* Three volumes of one content, of which one has a hundredth. */
static larmor_recon_result result_of_series(scan *s, int weak, notes *n)
{
    const larmor_recon_opts opts = KNOWN(.method = "tv:xy+tv:t", .joint = 1, .iters = 10, .listener = take_note,
                                         .user = n, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 0.01);
    for (int i = 1; i < 3; i++) {
        assert_ok(larmor_copy(s->image[0].traj, s->image[i].traj));
        assert_ok(larmor_copy(s->image[0].kspace, s->image[i].kspace));
    }
    assert_ok(larmor_axpby(0.01, s->image[weak].kspace, 0, s->image[weak].kspace));
    return result_of(s, &opts);
}

TEST(a_series_is_the_same_backwards_where_its_first_volume_has_next_to_no_signal)
{
    for (int scaled = 0; scaled < 2; scaled++) {
        notes forth = {.text = ""}, back = {.text = ""};
        OWNED(scan) last = scan_of(COILS, 3, 1e-4), first = scan_of(COILS, 3, 1e-4);
        for (int i = 0; i < 3 && scaled; i++) { /* too small for single precision as they are */
            assert_ok(larmor_axpby(0x1p-70, last.image[i].kspace, 0, last.image[i].kspace));
            assert_ok(larmor_axpby(0x1p-70, first.image[i].kspace, 0, first.image[i].kspace));
        }
        OWNED(larmor_recon_result) forwards = result_of_series(&last, 2, &forth);
        OWNED(larmor_recon_result) backwards = result_of_series(&first, 0, &back);
        assert_int_equal(backwards.count, 3);
        for (int i = 1; i < 3; i++)
            assert_at_most(difference(backwards.image[i].data, forwards.image[2 - i].data), 1e-3);
        assert_null(strstr(back.text, "the signal of readouts peaks"));
        assert_null(strstr(forth.text, "the signal of readouts peaks"));
    }
}

/* The images of repetitions, of which number `silent` is noise alone, or zeros. */
TEST(a_volume_without_signal_changes_no_other_of_a_joint_series)
{
    for (int silent = 0; silent < 3; silent++) {
        OWNED(scan) all = scan_of(COILS, 3, 1e-3), rest = scan_of(COILS, 3, 1e-3);
        const larmor_readouts last = rest.image[2];
        notes n = {.text = ""};
        larmor_recon_opts opts = KNOWN(.method = "tv", .joint = 1, .time_weight = 1, .iters = 10,
                                       .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 0.01);
        assert_ok(larmor_zero(all.image[silent].kspace));
        if (silent < 2) assert_ok(larmor_phantom_noise(all.image[silent].kspace, 1e-3, 9));
        rest.image[2] = rest.image[silent];
        for (int i = silent; i < 2; i++) rest.image[i] = i < 1 ? rest.image[1] : last;
        rest.arrays.images = 2;
        OWNED(larmor_recon_result) without = result_of(&rest, &opts);
        rest.arrays.images = 3;
        opts.listener = take_note;
        opts.user = &n;
        OWNED(larmor_recon) *recon = recon_of(&all, &opts);
        assert_int_equal(larmor_recon_series(recon), 2);
        OWNED(larmor_recon_result) with, alone;
        assert_ok(larmor_recon_run(recon, 0, &with));
        assert_ok(larmor_recon_run(recon, 1, &alone));
        assert_int_equal(with.count, 2);
        for (int i = 0; i < 2; i++)
            assert_at_most(difference(with.image[i].data, without.image[i].data), is_cpu() ? 0 : 1e-3);
        assert_int_equal(alone.image[0].meta.repetition, silent);
        char line[80];
        snprintf(line, sizeof line, "image %d of the 3 of a joint series has no signal: it is made by itself",
                 silent + 1);
        assert_noted(n, line);
    }
}

/* Two images with one of the opposite sign between them. */
static scan scan_with_a_negative(const char *phantom, double sigma)
{
    scan s = {.arrays = {.matrix = {N, N}, .trajectory = "goldenangle", .images = 3}};
    assert_ok(larmor_phantom_create(phantom, 2, &s.phantom));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(N, N), NULL, 2, &s.maps));
    for (int i = 0; i < 3; i++) {
        const larmor_traj_opts opts = {.matrix = {N, N}, .readouts = SPOKES, .samples = SAMPLES, .first = i * SPOKES};
        larmor_readouts *r = &s.image[i];
        assert_ok(larmor_traj_create(dev, "golden", &opts, &r->traj));
        assert_ok(larmor_phantom_kspace(s.phantom, r->traj, 2, LARMOR_C64, &r->kspace));
        assert_ok(larmor_phantom_noise(r->kspace, sigma, 1 + (uint64_t)i));
        r->meta.repetition = i;
    }
    assert_ok(larmor_axpby(-1, s.image[1].kspace, 0, s.image[1].kspace));
    return s;
}

static larmor_choice choice_of(const scan *s, const char *method, double time_weight)
{
    const larmor_recon_opts opts = KNOWN(.method = method, .joint = 1, .maps = s->maps, .time_weight = time_weight);
    OWNED(larmor_recon_result) result = result_of(s, &opts);
    return result.report.choice;
}

/* From 4 to 1, which is better, and to 1/4, which is not; then no larger one is tried. */
TEST(smaller_weights_in_time_are_tried_first)
{
    OWNED(scan) s = scan_with_a_negative("shepp-logan", 1e-4);
    const larmor_choice found = choice_of(&s, "tv", 0), four = choice_of(&s, "tv", 4), one = choice_of(&s, "tv", 1),
                        quarter = choice_of(&s, "tv", 0.25);
    assert_true(found.time_weight == 1);
    assert_true(one.misfit < four.misfit && one.misfit < quarter.misfit);
    assert_int_equal(found.tried, four.tried + one.tried + quarter.tried);
}

/* The less differences in time weigh the better, so that the last of them that is tried is taken. */
TEST(no_penalty_beside_the_first_weighs_less_than_a_64th)
{
    OWNED(scan) s = scan_with_a_negative("texture", 1e-3);
    const larmor_choice found = choice_of(&s, "l1+tv:t", 0);
    assert_true(found.ratios[1] == 1 / 64.);
}
