/* scan/source_arrays.c. SPDX-License-Identifier: Apache-2.0 */
#include "check/check.h"
#include "scan/source.h"
#include "tests/pipeline/scan.h"

TEST(arrays_give_the_image_of_the_phantom)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    const larmor_recon_opts opts = KNOWN(.maps = s.maps);
    assert_at_most(error_of(&s, &opts), 0.18); /* spokes leave out the corners of k-space */
}

TEST(the_arrays_are_left_as_they_are)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-4);
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(500, COILS), &s.arrays.noise));
    assert_ok(larmor_noise_fill(s.arrays.noise, 1e-4, 3));
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .weighted = 1); /* samples are kept between stages */
    const size_t bytes = larmor_array_bytes(s.image[0].kspace), traj_bytes = larmor_array_bytes(s.image[0].traj);
    HEAP float *before = host_of(s.image[0].kspace), *traj = host_of(s.image[0].traj), *maps = host_of(s.maps);
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    HEAP float *after = host_of(s.image[0].kspace), *traj_after = host_of(s.image[0].traj),
               *maps_after = host_of(s.maps);
    assert_memory_equal(before, after, bytes);
    assert_memory_equal(traj, traj_after, traj_bytes);
    assert_memory_equal(maps, maps_after, larmor_array_bytes(s.maps));
}

TEST(the_type_of_numbers_and_the_unit_of_length_do_not_matter)
{
    OWNED(scan) s = scan_of(COILS, 1, 0), wide = scan_of(COILS, 1, 0);
    larmor_array *converted = MADE(larmor_array, larmor_array_convert(wide.image[0].kspace, LARMOR_C128, &made));
    larmor_array_free(wide.image[0].kspace);
    wide.image[0].kspace = converted;
    wide.arrays.fov_mm[0] = wide.arrays.fov_mm[1] = 250;
    const larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = "grid");
    assert_at_most(apart(&wide, &opts, &s, &opts), 1e-6);
}

/* The part of the image's differences that are along y. */
static double part_along_y(const scan *s, const larmor_recon_opts *opts)
{
    OWNED(larmor_recon_result) result = result_of(s, opts);
    HEAP float *x = host_of(result.image[0].data);
    double along[2] = {0};
    for (int y = 0; y + 1 < N; y++)
        for (int i = 0; i + 1 < N; i++) {
            const float *at = x + 2 * (i + N * y);
            along[0] += hypot(at[2] - at[0], at[3] - at[1]);
            along[1] += hypot(at[2 * N] - at[0], at[2 * N + 1] - at[1]);
        }
    return along[1] / (along[0] + along[1]);
}

TEST(tv_takes_differences_over_the_sides_of_voxels)
{
    OWNED(scan) s = scan_of(COILS, 1, 0), wide = scan_of(COILS, 1, 0), tall = scan_of(COILS, 1, 0);
    wide.arrays.fov_mm[0] = wide.arrays.fov_mm[1] = 250;
    tall.arrays.fov_mm[0] = 100;
    tall.arrays.fov_mm[1] = 700;
    const larmor_recon_opts opts =
        KNOWN(.maps = s.maps, .method = "tv", .lambda = 0.3, .lambda_mode = LARMOR_LAMBDA_RELATIVE);
    const double square = part_along_y(&s, &opts), same = part_along_y(&wide, &opts),
                 longer = part_along_y(&tall, &opts);
    assert_at_most(fabs(same - square), 1e-4);
    assert_at_most(square, 0.5);
    assert_at_most(0.55, longer);
    tall.arrays.fov_mm[1] = 1000; /* as no voxel is */
    assert_at_most(fabs(part_along_y(&tall, &opts) - square), 1e-4);
}

/* Directly: how many points are beyond half a sample outside of the smaller k-space. */
TEST(samples_beyond_the_k_space_of_the_grid_are_left_out)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    assert_ok(larmor_density_ramp(s.image[0].traj, LARMOR_SHAPE(N, N), &s.image[0].density));
    const int small = N / 2;
    HEAP double *k = (double *)host_of(s.image[0].traj);
    int64_t outside = 0;
    for (int i = 0; i < SAMPLES * SPOKES; i++)
        outside += fabs(k[2 * i]) > small / 2 + .5 || fabs(k[2 * i + 1]) > small / 2 + .5;
    assert_true(outside > 0);
    OWNED(larmor_array) *truth, *maps;
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, LARMOR_SHAPE(small, small), &truth));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(small, small), NULL, COILS, &maps));
    const larmor_recon_opts opts =
        KNOWN(.matrix = {small}, .maps = maps, .method = "grid", .density = LARMOR_DENSITY_STORED);
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    assert_int_equal(result.report.outside, outside);
    assert_at_most(difference(result.image[0].data, truth), 0.3);
}

/* Spokes with half of the resolution along y, for a matrix of so many voxels. */
static int says_order_of_axes(int64_t x, int64_t y)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    HEAP double *k = (double *)host_of(s.image[0].traj);
    notes n = {.text = ""};
    const larmor_recon_opts opts = OPTS(.method = "cg", .oversample = {1}, .listener = take_note, .user = &n);
    for (int i = 0; i < SAMPLES * SPOKES; i++) k[2 * i + 1] /= 2;
    assert_ok(larmor_array_write(s.image[0].traj, k, larmor_array_bytes(s.image[0].traj)));
    larmor_array_free(s.image[0].kspace);
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, COILS, LARMOR_C64, &s.image[0].kspace));
    s.arrays.matrix[0] = x;
    s.arrays.matrix[1] = y;
    for (int d = 0; d < 2; d++) s.arrays.fov_mm[d] = (double)s.arrays.matrix[d];
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    return strstr(n.text, "check whether the trajectory's axes are in the order of the matrix's") != NULL;
}

TEST(axes_in_another_order_than_the_matrix_are_a_warning_and_a_smaller_matrix_is_not)
{
    assert_true(says_order_of_axes(N / 2, N));
    assert_false(says_order_of_axes(N, N / 2));
    assert_false(says_order_of_axes(N / 2, N / 4));
}

TEST(counters_and_geometry_come_with_the_image)
{
    OWNED(scan) s = scan_of(COILS, 2, 0);
    s.image[1].meta = (larmor_image_meta){.repetition = 1,
                                          .slice = 3,
                                          .position_mm = {1, 2, 3},
                                          .read_dir = {0, 1, 0},
                                          .phase_dir = {0, 0, 1},
                                          .slice_dir = {1, 0, 0}};
    s.arrays.fov_mm[0] = 200;
    s.arrays.fov_mm[1] = 100;
    const larmor_recon_opts opts = KNOWN(.method = "grid");
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    larmor_recon_result result[2];
    for (int i = 0; i < 2; i++) assert_ok(larmor_recon_run(recon, i, &result[i]));
    const larmor_image_meta *plain = &result[0].image[0].meta, *turned = &result[1].image[0].meta;
    assert_true(plain->read_dir[0] == 1 && plain->phase_dir[1] == 1 && plain->slice_dir[2] == 1);
    assert_true(turned->read_dir[1] == 1 && turned->phase_dir[2] == 1 && turned->slice_dir[0] == 1);
    assert_true(turned->position_mm[2] == 3 && turned->slice == 3 && turned->repetition == 1);
    assert_true(turned->fov_mm[0] == 200 && turned->fov_mm[1] == 100);
    assert_int_equal(result[1].image[0].group, 1);
    for (int i = 0; i < 2; i++) larmor_recon_result_free(&result[i]);
}

TEST(a_point_that_is_not_finite_spoils_its_image_alone)
{
    OWNED(scan) s = scan_of(COILS, 2, 0);
    HEAP double *k = (double *)host_of(s.image[0].traj);
    k[7] = NAN;
    assert_ok(larmor_array_write(s.image[0].traj, k, larmor_array_bytes(s.image[0].traj)));
    const larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = "grid");
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
    assert_int_equal(result.report.status, LARMOR_ERR_NUMERIC);
    assert_int_equal(result.count, 0);
    assert_string_equal(result.report.message, "arrays: trajectory: point 3 is not finite");
    assert_ok(larmor_recon_run(recon, 1, &result));
    assert_int_equal(result.count, 1);
}

TEST(samples_that_are_not_finite_spoil_their_image_alone_and_noise_that_is_not_is_refused)
{
    OWNED(scan) s = scan_of(COILS, 2, 0);
    HEAP float *y = (float *)host_of(s.image[0].kspace);
    y[6] = NAN;
    y[11] = INFINITY;
    assert_ok(larmor_array_write(s.image[0].kspace, y, larmor_array_bytes(s.image[0].kspace)));
    const larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = "grid");
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
    assert_int_equal(result.report.status, LARMOR_ERR_NUMERIC);
    assert_string_equal(result.report.message, "arrays: kspace: 2 values are not finite, the first at [3, 0, 0].");
    assert_ok(larmor_recon_run(recon, 1, &result));
    assert_int_equal(result.count, 1);
    OWNED(larmor_recon) *refused = NULL;
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(8, COILS), &s.arrays.noise));
    assert_ok(larmor_fill(s.arrays.noise, NAN));
    assert_int_equal(try_recon(&s, &opts, &refused), LARMOR_ERR_NUMERIC);
    assert_non_null(strstr(larmor_last_error(), "arrays: noise: 32 values are not finite, the first at [0, 0]."));
}

TEST(a_trajectory_beyond_the_k_space_altogether_is_refused)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    assert_ok(larmor_fill(s.image[0].traj, N));
    const larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = "grid");
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    larmor_recon_result result;
    assert_refused(larmor_recon_run(recon, 0, &result), LARMOR_ERR_FORMAT, "no sample lies within the k-space");
}

static void refuse(const scan *s, larmor_status status, const char *text)
{
    larmor_scan_arrays arrays = s->arrays;
    arrays.image = s->image;
    assert_none_made(larmor_source, larmor_source_of_arrays(&arrays, &made), status, text);
}

/* The trajectory of each unit, which ends where its largest value is; the third is one that no other unit fits. */
TEST(a_trajectory_in_another_unit_is_refused_and_a_short_one_is_a_warning)
{
    static const struct {
        double scale;
        const char *refusal, *warning;
    } cases[] = {
        {1. / N,
         "expected cycles per field of view, up to 16; they are in \"norm\", multiply them by 32, 32 along x, y",
         NULL},
        {2. / N, "they are in \"pm1\", multiply them by 16, 16 along x, y", NULL},
        {2 * M_PI / N, "arrays: trajectory: got values up to 3.1", NULL},
        {1, NULL, NULL},
        {.5, NULL, NULL},
        {.075, NULL, "trajectory in cycles per field of view reaches only 0.075 of the matrix's k-space."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(scan) s = scan_of(COILS, 1, 0);
        larmor_source *source;
        HEAP double *k = (double *)host_of(s.image[0].traj);
        for (int64_t j = 0; j < larmor_array_count(s.image[0].traj); j++) k[j] *= cases[i].scale;
        assert_ok(larmor_array_write(s.image[0].traj, k, larmor_array_bytes(s.image[0].traj)));
        s.arrays.image = s.image;
        if (cases[i].refusal) {
            refuse(&s, LARMOR_ERR_FORMAT, cases[i].refusal);
        } else {
            assert_ok(larmor_source_of_arrays(&s.arrays, &source));
            const larmor_raw_info info = larmor_source_describe(source);
            if (cases[i].warning)
                assert_non_null(strstr(info.warnings, cases[i].warning));
            else
                assert_string_equal(info.warnings, "");
            larmor_source_free(source);
        }
    }
}

static larmor_array *zeros(larmor_dtype dtype, larmor_shape shape)
{
    return MADE(larmor_array, larmor_array_create(dev, dtype, shape, &made));
}

TEST(what_does_not_fit_is_refused)
{
    static const struct wrong {
        larmor_dtype dtype;
        larmor_shape shape;
        size_t at;
        const char *text;
    } wrong[] = {
        {LARMOR_F32,
         {3, {SAMPLES, SPOKES, COILS}},
         offsetof(larmor_readouts, kspace),
         "expected complex numbers in 3"},
        {LARMOR_C64, {2, {SAMPLES, SPOKES}}, offsetof(larmor_readouts, kspace), "expected complex numbers in 3"},
        {LARMOR_C64, {3, {SAMPLES, SPOKES, 0}}, offsetof(larmor_readouts, kspace), "kspace has 0 coils"},
        {LARMOR_C64, {3, {1, 1, 2000}}, offsetof(larmor_readouts, kspace), "kspace has 2000 coils"},
        {LARMOR_C64, {3, {2, SAMPLES, SPOKES}}, offsetof(larmor_readouts, traj), "traj is c64"},
        {LARMOR_F64,
         {3, {3, SAMPLES, SPOKES}},
         offsetof(larmor_readouts, traj),
         "expected 64 samples of 60 readouts in 2D"},
        {LARMOR_F64, {3, {2, SAMPLES, 1}}, offsetof(larmor_readouts, traj), "expected 64 samples"},
        {LARMOR_F64, {2, {1, SPOKES}}, offsetof(larmor_readouts, density), "density is f64 [1, 60]"},
        {LARMOR_C64, {3, {4, 4, 3}}, offsetof(larmor_readouts, calibration), "expected 4 coils and a trajectory"},
        {LARMOR_C64, {3, {4, 4, COILS}}, offsetof(larmor_readouts, calibration), "expected 4 coils and a trajectory"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        OWNED(scan) s = scan_of(COILS, 1, 0);
        larmor_array **at = (larmor_array **)((char *)&s.image[0] + wrong[i].at);
        larmor_array_free(*at);
        *at = zeros(wrong[i].dtype, wrong[i].shape);
        refuse(&s, LARMOR_ERR_SHAPE, wrong[i].text);
    }
    OWNED(scan) s = scan_of(COILS, 2, 0);
    larmor_array *kspace = s.image[1].kspace;
    s.image[1].kspace = NULL;
    refuse(&s, LARMOR_ERR_ARG, "an image without samples");
    OWNED(larmor_array) *few = s.image[1].kspace = zeros(LARMOR_C64, LARMOR_SHAPE(SAMPLES, SPOKES, 2));
    refuse(&s, LARMOR_ERR_SHAPE, "expected 4 coils as in the first image");
    s.image[1].kspace = kspace;
    s.image[1].meta.slice = -1;
    refuse(&s, LARMOR_ERR_ARG, "counter below 0");
    s.image[1].meta.slice = 0;
    const int steps[SPOKES] = {0, -4};
    s.image[1].step1 = steps;
    refuse(&s, LARMOR_ERR_ARG, "step1 is -4");
    s.image[1].step1 = NULL;
    s.arrays.noise = zeros(LARMOR_C64, LARMOR_SHAPE(100, 3));
    refuse(&s, LARMOR_ERR_SHAPE, "noise is c64 [100, 3]");
    s.arrays.matrix[1] = 0;
    refuse(&s, LARMOR_ERR_ARG, "axis 1 has 0 voxels");
    s.arrays.matrix[1] = N;
    s.arrays.fov_mm[0] = -1;
    refuse(&s, LARMOR_ERR_ARG, "axis 0 has 32 voxels on -1 mm");
    s.arrays.trajectory = "a trajectory of a very long name";
    refuse(&s, LARMOR_ERR_ARG, "at most 15 characters");
    larmor_source *source;
    assert_refused(larmor_source_of_arrays(NULL, &source), LARMOR_ERR_ARG, "one image at least");
    assert_refused(larmor_source_of_arrays(&s.arrays, NULL), LARMOR_ERR_ARG, "nowhere to put it");
}

/* x [before..., coils] with channels of zeros between: 0, 1, a channel of zeros, 2, 3, another one. */
static larmor_array *with_dead_channels(const larmor_array *x)
{
    larmor_shape shape = larmor_array_shape(x);
    HEAP float *coils = host_of(x);
    const int64_t each = 2 * larmor_shape_count(shape) / COILS;
    HEAP float *channels = calloc((size_t)(each * (COILS + 2)), sizeof *channels);
    assert_non_null(channels);
    memcpy(channels, coils, (size_t)(2 * each) * sizeof *channels);
    memcpy(channels + 3 * each, coils + 2 * each, (size_t)(2 * each) * sizeof *channels);
    shape.dim[shape.ndim - 1] = COILS + 2;
    larmor_array *wide = MADE(larmor_array, larmor_array_create(dev, LARMOR_C64, shape, &made));
    assert_ok(larmor_array_write(wide, channels, larmor_array_bytes(wide)));
    return wide;
}

static void widen(larmor_array **x)
{
    larmor_array *wide = with_dead_channels(*x);
    larmor_array_free(*x);
    *x = wide;
}

static scan noisy_scan(void)
{
    scan s = scan_of(COILS, 1, 1e-4);
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(500, COILS), &s.arrays.noise));
    assert_ok(larmor_noise_fill(s.arrays.noise, 1e-4, 3));
    return s;
}

static scan scan_with_dead_channels(void)
{
    scan s = noisy_scan();
    OWNED(larmor_array) *all, *last;
    widen(&s.image[0].kspace);
    widen(&s.arrays.noise);
    widen(&s.maps);
    /* the last channel has signal, but no noise */
    assert_ok(larmor_array_slice(s.image[0].kspace, 0, 1, &all));
    assert_ok(larmor_array_slice(s.image[0].kspace, COILS + 1, 1, &last));
    assert_ok(larmor_copy(all, last));
    return s;
}

static void expect_same(const scan *wide, const larmor_recon_opts *with, const scan *s,
                        const larmor_recon_opts *without)
{
    const double difference = apart(wide, with, s, without);
    assert_true(is_cpu() ? difference == 0 : difference < 1e-3);
}

TEST(channels_without_signal_or_noise_are_left_out_as_those_of_files_are)
{
    OWNED(scan) s = noisy_scan(), wide = scan_with_dead_channels();
    notes n = {.text = ""};
    const larmor_recon_opts with = KNOWN(.maps = wide.maps, .method = "cg", .listener = take_note, .user = &n),
                            without = KNOWN(.maps = s.maps, .method = "cg");
    expect_same(&wide, &with, &s, &without);
    assert_noted(n, "W:channel 2 has no signal; left out.\nW:channel 5 has no noise; left out.\n");
    /* with maps from the calibration */
    for (int i = 0; i < 2; i++) {
        scan *one = i ? &wide : &s;
        one->image[0].calibration = larmor_array_ref(one->image[0].kspace);
        one->image[0].calibration_traj = larmor_array_ref(one->image[0].traj);
    }
    expect_same(&wide, &KNOWN(.method = "grid"), &s, &KNOWN(.method = "grid"));
}

/* Some readouts of the scan, as frames have them. */
static larmor_array *samples_of_some(scan *s)
{
    static const int64_t some[] = {3, 4, 9};
    larmor_grid grid;
    s->arrays.image = s->image;
    OWN(larmor_source, *source, larmor_source_of_arrays(&s->arrays, &source));
    assert_ok(lmr_source_grid(source, 0, NULL, &grid));
    OWN(larmor_samples, x, lmr_source_readouts(source, 0, some, 3, &grid, dev, &x));
    return larmor_array_ref(x.kspace);
}

TEST(single_readouts_are_without_these_channels_too)
{
    OWNED(scan) s = noisy_scan(), wide = scan_with_dead_channels();
    OWNED(larmor_array) *expected = samples_of_some(&s), *some = samples_of_some(&wide);
    assert_true(larmor_shape_equal(larmor_array_shape(some), LARMOR_SHAPE(SAMPLES, 3, COILS)));
    assert_true(difference(some, expected) == 0);
}

TEST(maps_of_arrays_are_given_out_with_zeros_for_channels_that_are_left_out)
{
    OWNED(scan) wide = scan_with_dead_channels();
    OWNED(larmor_recon) *recon = recon_of(&wide, &KNOWN(.maps = wide.maps, .method = "grid"));
    OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
    OWN(larmor_array, *maps, larmor_recon_maps(recon, &maps, NULL));
    assert_int_equal(larmor_array_shape(maps).dim[2], COILS + 2);
    HEAP float *got = host_of(maps);
    for (int c = 0; c < COILS + 2; c++) {
        int zero = 1;
        for (int i = 0; i < 2 * N * N; i++) zero &= got[2 * N * N * c + i] == 0;
        assert_int_equal(zero, c == 2 || c == COILS + 1);
    }
}

TEST(a_noise_scan_without_noise_is_not_used_and_samples_without_signal_are_refused)
{
    OWNED(scan) s = noisy_scan();
    assert_ok(larmor_zero(s.arrays.noise));
    s.arrays.image = s.image;
    larmor_source *source = MADE(larmor_source, larmor_source_of_arrays(&s.arrays, &made));
    const larmor_raw_info info = larmor_source_describe(source);
    assert_string_equal(info.warnings, "the noise scan holds no noise; it is not used.\n");
    assert_true(info.coils == COILS && info.dead_coils == 0 && info.noise == 0 && info.noise_samples == 0);
    larmor_source_free(source);
    assert_ok(larmor_zero(s.image[0].kspace));
    refuse(&s, LARMOR_ERR_FORMAT, "arrays: all data is zero.");
}

/* The noise scan of 500 samples as `readouts` ones of so many samples, each the first one plus a constant. */
static void repeat_noise(scan *s, int64_t readouts, int64_t samples, float constant)
{
    HEAP float *all = host_of(s->arrays.noise);
    HEAP float *made = malloc((size_t)(2 * readouts * samples * COILS) * sizeof *made);
    for (int64_t c = 0; c < COILS; c++)
        for (int64_t i = 0; i < 2 * readouts * samples; i++)
            made[2 * readouts * samples * c + i] = all[2 * 500 * c + i % (2 * samples)] + (i % 2 ? 0 : constant);
    larmor_array_free(s->arrays.noise);
    s->arrays.noise = NULL;
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(readouts * samples, COILS), &s->arrays.noise));
    assert_ok(larmor_array_write(s->arrays.noise, made, larmor_array_bytes(s->arrays.noise)));
}

TEST(a_noise_scan_that_has_no_covariance_of_the_coils_is_warned_of)
{
    static const struct {
        int64_t readouts, samples;
        float constant; /* noise has 1e-4 in the real and in the imaginary part */
        const char *line;
    } cases[] = {
        {1, 500, 0, ""},
        {1, 20, 0, ""},
        {1, 500, 5e-5f, ""},
        {1, 19, 0,
         "W:the noise scan has 19 samples for 4 coils, at least 20 expected: the covariance of the coils is hardly "
         "known from it. opts.no_whitening may be better.\n"},
        {1, 500, 1e-3f, "W:the noise scan has a constant of 7.05 of its standard deviation: that is no noise, and "},
        {3, 500, 0, ""},
        {30, 8, 0,
         "W:the noise scan has 8 samples, 29 of its readouts being copies, for 4 coils, at least 20 expected: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[512];
        OWNED(scan) s = noisy_scan();
        notes n = {.text = ""};
        repeat_noise(&s, cases[i].readouts, cases[i].samples, cases[i].constant);
        assert_ok(lmr_noise_scan_describe(s.arrays.noise, cases[i].readouts, line, sizeof line));
        const char *expected = *cases[i].line ? cases[i].line + 2 : "";
        const size_t length = strcspn(expected, "\n");
        if (strncmp(line, expected, length ? length : 1) != 0) fail_msg("%s, expected %s", line, expected);
        if (cases[i].readouts > 1) continue; /* arrays do not say where readouts end */
        OWNED(larmor_recon_result) result =
            result_of(&s, &KNOWN(.maps = s.maps, .method = "grid", .listener = take_note, .user = &n));
        if (*cases[i].line)
            assert_noted(n, cases[i].line);
        else
            assert_null(strstr(n.text, "W:the noise scan"));
    }
}
