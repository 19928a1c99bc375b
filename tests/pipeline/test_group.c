/* pipeline/group.c. SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>

#include "tests/pipeline/scan.h"

/* ---- trajectories from counters ---- */

/* The same samples with their trajectory, and with numbers of spokes alone, in another order. */
static void expect_the_same_from_counters(const char *kind, const char *traj)
{
    OWNED(scan) with = scan_of(COILS, 1, 0), without = scan_of(COILS, 1, 0);
    const larmor_traj_opts opts = {.matrix = {N, N}, .readouts = SPOKES, .samples = SAMPLES};
    larmor_readouts *r = &with.image[0], *bare = &without.image[0];
    LMR_FREE(r->traj, r->kspace, bare->kspace);
    assert_ok(larmor_traj_create(dev, traj, &opts, &r->traj));
    assert_ok(larmor_phantom_kspace(with.phantom, r->traj, COILS, LARMOR_C64, &r->kspace));
    larmor_array_free(bare->traj);
    bare->traj = NULL;
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(SAMPLES, SPOKES, COILS), &bare->kspace));
    HEAP float *all = host_of(r->kspace), *turned = host_of(r->kspace);
    int step1[SPOKES];
    for (int i = 0; i < SPOKES; i++) {
        step1[i] = (i * 7) % SPOKES; /* 7 and SPOKES have no common divisor */
        for (int c = 0; c < COILS; c++)
            memcpy(turned + 2 * SAMPLES * (i + SPOKES * c), all + 2 * SAMPLES * (step1[i] + SPOKES * c),
                   2 * SAMPLES * sizeof *all);
    }
    assert_ok(larmor_array_write(bare->kspace, turned, larmor_array_bytes(bare->kspace)));
    bare->step1 = step1;
    without.arrays.trajectory = kind;
    notes n = {.text = ""};
    const larmor_recon_opts plain = KNOWN(.maps = with.maps, .method = "grid"),
                            noted = KNOWN(.maps = with.maps, .method = "grid", .listener = take_note, .user = &n);
    assert_at_most(apart(&without, &noted, &with, &plain), 1e-6);
    assert_noted(n, "W:no trajectory is stored; it was made from the counters");
}

TEST(counters_number_golden_spokes)
{
    expect_the_same_from_counters("goldenangle", "golden");
}

TEST(counters_number_uniform_spokes)
{
    expect_the_same_from_counters("radial", "radial");
}

TEST(counters_do_not_define_other_trajectories)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    larmor_array_free(s.image[0].traj);
    s.image[0].traj = NULL;
    s.arrays.trajectory = "spiral";
    const larmor_recon_opts opts = KNOWN(.method = "grid");
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    OWNED(larmor_recon_result) result;
    assert_refused(larmor_recon_run(recon, 0, &result), LARMOR_ERR_FORMAT,
                   "the file stores no trajectory, and counters alone do not define a 2D spiral one");
}

/* ---- density ---- */

TEST(every_density_gives_the_image)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    assert_ok(larmor_density_ramp(s.image[0].traj, LARMOR_SHAPE(N, N), &s.image[0].density));
    const struct {
        larmor_density density;
        double most;
    } ways[] = {{LARMOR_DENSITY_AUTO, 0.2},
                {LARMOR_DENSITY_RAMP, 0.2},
                {LARMOR_DENSITY_PIPE, 0.2},
                {LARMOR_DENSITY_STORED, 0.2}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const larmor_recon_opts grid = KNOWN(.maps = s.maps, .method = "grid", .density = ways[i].density);
        assert_at_most(error_of(&s, &grid), ways[i].most);
    }
    const larmor_recon_opts weighted = KNOWN(.maps = s.maps, .weighted = 1), plain = KNOWN(.maps = s.maps);
    assert_at_most(error_of(&s, &weighted), 1.1 * error_of(&s, &plain));
}

/* Readouts that are not straight have no ramp, which is no error unless it was asked for. */
TEST(a_spiral_has_a_density_of_its_own)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    const larmor_traj_opts spiral = {.matrix = {N, N}};
    larmor_readouts *r = &s.image[0];
    LMR_FREE(r->traj, r->kspace);
    assert_ok(larmor_traj_create(dev, "spiral", &spiral, &r->traj));
    assert_ok(larmor_phantom_kspace(s.phantom, r->traj, COILS, LARMOR_C64, &r->kspace));
    s.arrays.trajectory = "spiral";
    const larmor_recon_opts by_itself = KNOWN(.maps = s.maps, .method = "grid"),
                            ramp = KNOWN(.maps = s.maps, .method = "grid", .density = LARMOR_DENSITY_RAMP);
    assert_at_most(error_of(&s, &by_itself), 0.25);
    OWNED(larmor_recon) *recon = recon_of(&s, &ramp);
    larmor_recon_result result;
    assert_refused(larmor_recon_run(recon, 0, &result), LARMOR_ERR_ARG, "arrays: ");
}

TEST(density_weights_are_given_to_who_asks)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    larmor_array *ramp, *kept;
    assert_ok(larmor_density_ramp(s.image[0].traj, LARMOR_SHAPE(N, N), &ramp));
    larmor_recon_result result;
    larmor_recon_opts opts =
        KNOWN(.maps = s.maps, .method = "grid", .density = LARMOR_DENSITY_RAMP, .keep_density = 1);
    larmor_recon *recon = recon_of(&s, &opts);
    assert_refused(larmor_recon_density(recon, &kept), LARMOR_ERR_ARG, "no density weights of a series that was run");
    assert_ok(larmor_recon_run(recon, 0, &result));
    assert_ok(larmor_recon_density(recon, &kept));
    HEAP float *a = host_of(ramp), *b = host_of(kept);
    assert_int_equal(larmor_array_bytes(ramp), larmor_array_bytes(kept));
    assert_memory_equal(a, b, larmor_array_bytes(ramp));
    LMR_FREE(kept, ramp);
    larmor_recon_result_free(&result);
    larmor_recon_free(recon);

    opts.keep_density = 0;
    recon = recon_of(&s, &opts);
    assert_ok(larmor_recon_run(recon, 0, &result));
    assert_refused(larmor_recon_density(recon, &kept), LARMOR_ERR_ARG, "keep_density keeps them");
    larmor_recon_result_free(&result);
    larmor_recon_free(recon);
}

TEST(stored_density_that_is_not_there_is_an_error)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    const larmor_recon_opts opts = KNOWN(.method = "grid", .density = LARMOR_DENSITY_STORED);
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    larmor_recon_result result;
    assert_refused(larmor_recon_run(recon, 0, &result), LARMOR_ERR_FORMAT,
                   "opts.density file: the file stores no density");
}

/* ---- coil maps ---- */

TEST(a_single_coil_needs_no_maps)
{
    OWNED(scan) s = scan_of(1, 1, 0);
    larmor_array_free(s.image[0].kspace);
    OWN(larmor_array, *alone, larmor_phantom_kspace(s.phantom, s.image[0].traj, 0, LARMOR_C64, &alone));
    assert_ok(larmor_array_reshape(alone, LARMOR_SHAPE(SAMPLES, SPOKES, 1), &s.image[0].kspace));
    notes n = {.text = ""};
    const larmor_recon_opts cg = KNOWN(.listener = take_note, .user = &n), grid = KNOWN(.method = "grid");
    assert_at_most(error_of(&s, &cg), 0.2);
    assert_noted(n, "one coil, no maps");
    assert_at_most(error_of(&s, &grid), 0.22);
}

/* Maps from the data are given out so that they can be given in again. */
TEST(estimated_maps_give_the_same_image_again)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-4);
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(2000, COILS), &s.arrays.noise));
    assert_ok(larmor_noise_fill(s.arrays.noise, 1e-4, 3));
    const larmor_recon_opts opts = KNOWN(.method = "grid");
    larmor_recon *recon = recon_of(&s, &opts);
    larmor_array *maps;
    larmor_image_meta meta;
    larmor_recon_result result;
    assert_refused(larmor_recon_maps(recon, &maps, NULL), LARMOR_ERR_ARG, "no coil maps of a series that was run");
    assert_ok(larmor_recon_run(recon, 0, &result));
    assert_ok(larmor_recon_maps(recon, &maps, &meta));
    assert_int_equal(larmor_array_shape(maps).dim[2], COILS);
    assert_true(meta.fov_mm[0] == N);
    const larmor_recon_opts again = KNOWN(.method = "grid", .maps = maps);
    OWNED(larmor_recon_result) second = result_of(&s, &again);
    assert_at_most(difference(second.image[0].data, result.image[0].data), 1e-5);
    larmor_recon_result_free(&result);
    larmor_array_free(maps);
    larmor_recon_free(recon);

    const larmor_recon_opts none = KNOWN(.method = "grid", .no_maps = 1);
    recon = recon_of(&s, &none);
    assert_ok(larmor_recon_run(recon, 0, &result));
    assert_refused(larmor_recon_maps(recon, &maps, NULL), LARMOR_ERR_ARG, "no coil maps");
    larmor_recon_result_free(&result);
    larmor_recon_free(recon);
}

TEST(without_maps_it_is_the_root_sum_of_squares)
{
    OWNED(scan) s = scan_of(1, 1, 0);
    const larmor_recon_opts rss = KNOWN(.method = "grid", .no_maps = 1), one = KNOWN(.method = "grid");
    OWNED(larmor_recon_result) a = result_of(&s, &rss), b = result_of(&s, &one);
    HEAP float *magnitude = host_of(a.image[0].data), *complex = host_of(b.image[0].data);
    for (int i = 0; i < N * N; i++)
        assert_at_most(fabs(magnitude[2 * i] - hypot(complex[2 * i], complex[2 * i + 1])), 1e-5);
}

/* The image has too few spokes for maps, the calibration enough; it serves all images of its slice. */
TEST(calibration_readouts_give_the_maps)
{
    OWNED(scan) s = scan_of(COILS, 2, 0), full = scan_of(COILS, 1, 0);
    s.image[1].calibration = larmor_array_ref(full.image[0].kspace);
    s.image[1].calibration_traj = larmor_array_ref(full.image[0].traj);
    for (int i = 0; i < 2; i++) {
        const larmor_traj_opts opts = {.matrix = {N, N}, .readouts = 6, .samples = SAMPLES};
        larmor_readouts *r = &s.image[i];
        LMR_FREE(r->kspace, r->traj);
        assert_ok(larmor_traj_create(dev, "golden", &opts, &r->traj));
        assert_ok(larmor_phantom_kspace(s.phantom, r->traj, COILS, LARMOR_C64, &r->kspace));
    }
    const larmor_recon_opts opts = KNOWN(.method = "grid", .oversample = {1});
    larmor_recon *recon = recon_of(&s, &opts), *of_full = recon_of(&full, &opts);
    larmor_recon_result result;
    larmor_array *maps, *wanted;
    assert_ok(larmor_recon_run(recon, 0, &result));
    OWN(larmor_recon_result, expected, larmor_recon_run(of_full, 0, &expected));
    assert_ok(larmor_recon_maps(recon, &maps, NULL));
    assert_ok(larmor_recon_maps(of_full, &wanted, NULL));
    assert_at_most(difference(maps, wanted), is_cpu() ? 1e-6 : 1e-3);
    assert_int_equal(result.report.maps.warning, LARMOR_MAPS_TRUSTED);
    LMR_FREE(maps, wanted);
    larmor_recon_result_free(&result);
    larmor_recon_free(recon);
    larmor_recon_free(of_full);

    /* without it they cannot be trusted, which is said once; and so few spokes are gridded to no image */
    LMR_FREE(s.image[1].calibration, s.image[1].calibration_traj);
    s.image[1].calibration = s.image[1].calibration_traj = NULL;
    notes n = {.text = ""};
    const larmor_recon_opts noted = KNOWN(.method = "grid", .oversample = {1}, .listener = take_note, .user = &n);
    char line[512];
    recon = recon_of(&s, &noted);
    assert_ok(larmor_recon_run(recon, 0, &result));
    assert_int_equal(larmor_recon_warning(&result.report, 0, line, sizeof line), LARMOR_MAPS_UNDERSAMPLED);
    assert_non_null(strstr(line, "coil maps cannot be trusted: only"));
    assert_int_not_equal(larmor_recon_warning(&result.report, 1, line, sizeof line), 0);
    assert_non_null(strstr(line, "the gridded image does not explain its samples"));
    assert_int_equal(larmor_recon_warning(&result.report, 2, line, sizeof line), 0);
    assert_int_equal(larmor_recon_warning(&result.report, INT_MIN, line, sizeof line), 0);
    larmor_recon_result_free(&result);
    assert_ok(larmor_recon_run(recon, 1, &result));
    assert_noted(n, "W:image 1 of 2: coil maps cannot be trusted");
    assert_null(strstr(n.text, "W:image 2 of 2: coil maps"));
    larmor_recon_result_free(&result);
    larmor_recon_free(recon);
}

/* A second set of zeros has nothing to say, so the image is the magnitude of that of the first. */
TEST(a_second_set_of_maps_without_signal_changes_nothing)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-5);
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(800, COILS), &s.arrays.noise));
    assert_ok(larmor_noise_fill(s.arrays.noise, 1e-5, 3));
    OWN(larmor_array, *two, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(N, N, 1, COILS, 2), &two));
    OWN(larmor_array, *first, larmor_array_slice(two, 0, 1, &first));
    OWN(larmor_array, *as_first, larmor_array_reshape(first, LARMOR_SHAPE(N, N, COILS), &as_first));
    assert_ok(larmor_copy(s.maps, as_first));
    for (int grid = 0; grid < 2; grid++) {
        const larmor_recon_opts ordinary = KNOWN(.maps = s.maps, .method = grid ? "grid" : "cg", .precondition = -1,
                                                 .iters = 20, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-4);
        larmor_recon_opts soft = ordinary;
        soft.maps = two;
        OWNED(larmor_recon_result) a = result_of(&s, &soft), b = result_of(&s, &ordinary);
        HEAP float *magnitude = host_of(a.image[0].data), *complex = host_of(b.image[0].data);
        for (int i = 0; i < N * N; i++)
            assert_at_most(fabs(magnitude[2 * i] - hypot(complex[2 * i], complex[2 * i + 1])), 1e-4);
    }
}

TEST(lambda_is_chosen_by_the_first_set)
{
    OWNED(scan) s = scan_of(COILS, 2, 1e-3);
    OWN(larmor_array, *two, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(N, N, 1, COILS, 2), &two));
    OWN(larmor_array, *first, larmor_array_slice(two, 0, 1, &first));
    OWN(larmor_array, *as_first, larmor_array_reshape(first, LARMOR_SHAPE(N, N, COILS), &as_first));
    assert_ok(larmor_copy(s.maps, as_first));
    notes n = {.text = ""};
    const larmor_recon_opts soft = KNOWN(.maps = two, .listener = take_note, .user = &n),
                            ordinary = KNOWN(.maps = s.maps);
    larmor_recon_result one = result_of(&s, &ordinary), result;
    larmor_recon *recon = recon_of(&s, &soft);
    assert_ok(larmor_recon_run(recon, 0, &result));
    assert_int_equal(result.report.lambda_from, LARMOR_LAMBDA_FROM_DATA);
    assert_at_most(fabs(result.report.weight / one.report.weight - 1), 1e-3);
    larmor_recon_result_free(&result);
    larmor_recon_result_free(&one);
    assert_ok(larmor_recon_run(recon, 1, &result));
    assert_int_equal(result.report.lambda_from, LARMOR_LAMBDA_FROM_SCAN);
    larmor_recon_result_free(&result);
    larmor_recon_free(recon);

    recon = recon_of(&s, &soft); /* stopped while it is chosen, there is no image yet */
    n.steps = 0;
    n.stop_at_step = 1;
    n.fraction = 0;
    assert_refused(larmor_recon_run(recon, 0, &result), LARMOR_STOPPED, "stopped by the caller");
    assert_int_equal(result.count, 0);
    larmor_recon_free(recon);
}

/* ---- noise ---- */

TEST(maps_of_nothing_but_noise_get_a_warning)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    assert_ok(larmor_noise_fill(s.image[0].kspace, 1, 7));
    const larmor_recon_opts opts = KNOWN(.method = "grid", .oversample = {1});
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    char line[512];
    assert_int_equal(larmor_recon_warning(&result.report, 0, line, sizeof line), LARMOR_MAPS_AMBIGUOUS);
    assert_non_null(strstr(line, "which is mostly noise or has signal folded in"));
}

/* Data whose coils have noise of very different size, and a noise scan that says so. */
TEST(whitening_uses_the_noise_scan)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(4000, COILS), &s.arrays.noise));
    for (int c = 0; c < COILS; c++) {
        const double sigma = c ? 1e-4 : 2e-2;
        OWN(larmor_array, *data, larmor_array_slice(s.image[0].kspace, c, 1, &data));
        OWN(larmor_array, *noise, larmor_array_slice(s.arrays.noise, c, 1, &noise));
        assert_ok(larmor_phantom_noise(data, sigma, 5 + (uint64_t)c));
        assert_ok(larmor_noise_fill(noise, sigma, 10 + (uint64_t)c));
    }
    notes n = {.text = ""};
    const larmor_recon_opts with = KNOWN(.maps = s.maps, .listener = take_note, .user = &n),
                            without = KNOWN(.maps = s.maps, .no_whitening = 1);
    assert_at_most(error_of(&s, &with), 0.6 * error_of(&s, &without));
    assert_noted(n, "S:whitening\nL:whitening: 4000 noise samples");
    n.fraction = 0;
    OWNED(larmor_recon_result) result = result_of(&s, &with);
    assert_at_most(fabs(result.report.noise - 1), 0.3);
}
