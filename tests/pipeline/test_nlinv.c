/* pipeline/maps.c: maps by nonlinear inversion; check/map_trust.c: how far they can be trusted;
 * pipeline/nlinv_frames.c: frames by it. SPDX-License-Identifier: Apache-2.0 */
#include "check/map_trust.h"
#include "tests/pipeline/scan.h"

/* How far the image is from the truth with the shading that maps of unit energy leave. */
static double shaded_error(const scan *s, const larmor_recon_opts *opts)
{
    OWN(larmor_array, *shaded, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(N, N), &shaded));
    assert_ok(larmor_root_sum_of_squares(s->maps, shaded));
    OWNED(larmor_recon_result) result = result_of(s, opts);
    if (opts->maps) assert_ok(larmor_mul(shaded, 0, result.image[0].data));
    assert_ok(larmor_mul(s->truth, 0, shaded));
    assert_ok(larmor_abs(shaded, shaded));
    assert_ok(larmor_abs(result.image[0].data, result.image[0].data));
    return difference(result.image[0].data, shaded);
}

TEST(its_maps_are_nearly_as_good_as_the_true_ones)
{
    notes n = {.text = ""};
    OWNED(scan) s = scan_of(COILS, 1, 2e-4);
    const larmor_recon_opts given = OPTS(.maps = s.maps);
    const larmor_recon_opts opts = OPTS(.maps_method = "nlinv", .listener = take_note, .user = &n);
    const double best = shaded_error(&s, &given), own = shaded_error(&s, &opts);
    print_message("%.4f with the true maps, %.4f with these\n", best, own);
    assert_at_most(own, 1.1 * best);
    assert_noted(n, "L:coil maps: nonlinear inversion, ");
}

/* Five spokes alias, all of them do not. */
TEST(an_image_by_it_whose_centre_is_undersampled_is_not_trusted)
{
    for (int part = 0; part < 2; part++) {
        OWNED(scan) s = scan_of(COILS, 1, 2e-4);
        const larmor_recon_opts opts = OPTS(.method = "nlinv");
        if (part) {
            const larmor_traj_opts five = {.matrix = {N, N}, .readouts = 5, .samples = SAMPLES};
            LMR_FREE(s.image[0].traj, s.image[0].kspace);
            assert_ok(larmor_traj_create(dev, "golden", &five, &s.image[0].traj));
            assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, COILS, LARMOR_C64, &s.image[0].kspace));
        }
        OWNED(larmor_recon_result) result = result_of(&s, &opts);
        assert_int_equal(result.report.maps.warning, part ? LARMOR_MAPS_UNDERSAMPLED : LARMOR_MAPS_TRUSTED);
    }
}

TEST(the_listener_stops_it)
{
    notes n = {.text = "", .stop_at_step = 2};
    OWNED(scan) s = scan_of(COILS, 1, 2e-4);
    const larmor_recon_opts opts = OPTS(.maps_method = "nlinv", .listener = take_note, .user = &n);
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    larmor_recon_result result;
    assert_int_equal(larmor_recon_run(recon, 0, &result), LARMOR_STOPPED);
    assert_int_equal(n.steps, 2);
}

/* ---- frames ---- */

enum { FRAMES = 3 };

/* The readouts of all frames, as of one. */
static void add_all(larmor_nlinv_series *series, const scan *s)
{
    const int64_t own = SAMPLES * SPOKES, points = FRAMES * own;
    HEAP float *all = malloc(sizeof *all * (size_t)(2 * points * COILS));
    HEAP double *k = malloc(sizeof *k * (size_t)(2 * points));
    OWNED(larmor_array) *kspace = NULL, *traj = NULL;
    assert_true(all && k);
    for (int i = 0; i < FRAMES; i++) {
        HEAP float *y = NULL;
        HEAP double *at = NULL;
        assert_ok(larmor_array_download(s->image[i].kspace, LARMOR_C64, &y));
        assert_ok(larmor_array_download(s->image[i].traj, LARMOR_F64, &at));
        memcpy(k + 2 * i * own, at, sizeof *k * (size_t)(2 * own));
        for (int c = 0; c < COILS; c++)
            memcpy(all + 2 * (c * points + i * own), y + 2 * c * own, sizeof *all * (size_t)(2 * own));
    }
    assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(points, 1, COILS), LARMOR_C64, all, &kspace));
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, points, 1), LARMOR_F64, k, &traj));
    assert_ok(larmor_nlinv_series_add(series, kspace, traj, NULL, NULL, NULL));
}

TEST(frames_are_those_of_the_series_that_begins_at_the_first_ones_together)
{
    OWNED(scan) s = scan_of(COILS, FRAMES, 2e-4);
    const larmor_recon_opts opts =
        OPTS(.method = "nlinv", .iters = 3, .damping = 0.8, .median = 3, .oversample = {1});
    const larmor_nlinv_series_opts same = {.steps = 3, .damping = 0.8, .median = 3};
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    assert_int_equal(result.count, FRAMES);
    assert_string_equal(result.report.method.name, "nlinv");
    assert_int_equal(result.report.solver.iters, 3 * FRAMES);
    assert_int_equal(result.report.lambda_from, LARMOR_LAMBDA_NONE);
    larmor_nlinv_series *series =
        MADE(larmor_nlinv_series, larmor_nlinv_series_create(LARMOR_SHAPE(N, N), &same, &made));
    add_all(series, &s);
    for (int i = 0; i < FRAMES; i++) {
        OWNED(larmor_array) *x = NULL;
        assert_ok(larmor_nlinv_series_add(series, s.image[i].kspace, s.image[i].traj, &x, NULL, NULL));
        assert_ok(larmor_axpby(N * N, x, 0, x)); /* the Fourier integral, not the sum over voxels */
        assert_at_most(difference(result.image[i].data, x), is_cpu() ? 1e-5 : 1e-2);
        assert_int_equal(result.image[i].meta.repetition, i);
    }
    larmor_nlinv_series_free(series);
}

TEST(frames_take_no_more_memory_than_planned)
{
    OWNED(scan) s = scan_of(COILS, FRAMES, 2e-4);
    const larmor_recon_opts opts = OPTS(.method = "nlinv", .iters = 1), little = OPTS(.method = "nlinv", .memory = 1);
    OWNED(larmor_recon) *recon = recon_of(&s, &opts), *none = NULL;
    larmor_recon_plan plan;
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    assert_string_equal(plan.method, "nlinv");
    assert_int_equal(plan.images, FRAMES);
    assert_true(plan.bytes > 8 * FRAMES * (SAMPLES * SPOKES * COILS + N * N));
    assert_refused(try_recon(&s, &little, &none), LARMOR_ERR_MEMORY, "");
}

TEST(what_frames_by_nonlinear_inversion_have_not_is_refused)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    const struct {
        larmor_recon_opts opts;
        const char *line;
    } cases[] = {{OPTS(.method = "nlinv", .maps = s.maps),
                  "opts.maps: has no effect with opts.method nlinv; it is an option of"},
                 {OPTS(.method = "nlinv", .maps_method = "walsh"),
                  "opts.method nlinv: finds its own coil maps; leave out those by walsh."},
                 {OPTS(.method = "nlinv", .weighted = 1), "opts.weighted: has no effect with"},
                 {OPTS(.method = "cg", .damping = 0.5),
                  "opts.damping: has no effect with opts.method cg; it is an option of opts.method nlinv."},
                 {OPTS(.method = "tv", .median = 3), "opts.median: has no effect with opts.method tv"},
                 {OPTS(.method = "nlinv", .damping = 1.5), "opts.damping: got 1.5, expected 0 to 1"},
                 {OPTS(.method = "nlinv", .median = 65), "opts.median: got 65, expected 0 to 64"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        larmor_recon *recon;
        assert_refused(try_recon(&s, &cases[i].opts, &recon), LARMOR_ERR_ARG, cases[i].line);
    }
}

/* The spacing of two readouts [length] along x, `apart` along y, in a field of view of which a part was encoded. */
static double spacing_of(int length, const double *x, double apart, double part)
{
    const double encoded[3] = {part, part, 1};
    double spacing;
    HEAP double *k = calloc((size_t)(4 * length), sizeof *k);
    for (int i = 0; i < 2 * length; i++) {
        k[2 * i] = x[i % length] / part;
        k[2 * i + 1] = apart * (i / length) / part;
    }
    OWN(larmor_array, *traj,
        larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, length, apart > 0 ? 2 : 1), LARMOR_F64, k, &traj));
    assert_ok(lmr_maps_spacing(traj, encoded, &spacing));
    return spacing;
}

TEST(the_spacing_of_samples_is_the_median_along_readouts_within_16_of_the_centre_of_the_encoded_field_of_view)
{
    enum { LENGTH = 20 };
    const double x[LENGTH] = {0, 1, 2, 3, 6, 9, 12, 15, 31, 37, 43, 49, 55, 61, 67, 73, 79, 85, 91, 97};
    assert_at_most(fabs(spacing_of(LENGTH, x, 1, 1) - 3), 1e-6);
    assert_at_most(fabs(spacing_of(LENGTH, x, 1, 0.5) - 3), 1e-6);
    assert_true(spacing_of(LENGTH, x, 0, 1) == 0);                   /* one readout may be in any order */
    assert_true(spacing_of(2, (const double[]){20, 14}, 1, 1) == 0); /* from one to the next is no step */
}

/* Of readouts; missed: what the inversion leaves of them. */
static larmor_maps_warning judged(const char *name, const larmor_traj_opts *opts, double missed)
{
    const double whole[3] = {1, 1, 1};
    larmor_coils_report report;
    OWNED(larmor_array) *traj;
    assert_ok(larmor_traj_create(dev, name, opts, &traj));
    assert_ok(lmr_maps_judge_inversion(traj, LARMOR_SHAPE(N, N), whole, missed, &report));
    print_message("%s: %g sampled, %g explained, %d\n", name, report.sampled, report.dominance, report.warning);
    return report.warning;
}

TEST(maps_by_inversion_are_trusted_where_samples_are_close_enough_and_explained)
{
    const larmor_traj_opts near = {.matrix = {N, N}, .readouts = SPOKES, .samples = N * 2 / 3},
                           far = {.matrix = {N, N}, .readouts = SPOKES, .samples = N / 2},
                           every_second = {.matrix = {N, N}, .acceleration = {2, 1}},
                           arms = {.matrix = {N, N}, .undersampling = 2};
    assert_int_equal(judged("golden", &near, 0.5), LARMOR_MAPS_TRUSTED);
    assert_int_equal(judged("golden", &far, 0.5), LARMOR_MAPS_UNDERSAMPLED);
    assert_int_equal(judged("golden", &near, 0.95), LARMOR_MAPS_AMBIGUOUS);
    assert_int_equal(judged("cartesian", &every_second, 0.5), LARMOR_MAPS_UNDERSAMPLED);
    assert_int_equal(judged("spiral", &arms, 0.5), LARMOR_MAPS_TRUSTED);
}
