/* scan/source_arrays.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

TEST(arrays_give_the_image_of_the_phantom)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    const larmor_recon_opts opts = OPTS(.maps = s.maps);
    assert_at_most(error_of(&s, &opts), 0.18); /* spokes leave out the corners of k-space */
}

TEST(the_arrays_are_left_as_they_are)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-4);
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(500, COILS), &s.arrays.noise));
    assert_ok(larmor_noise_fill(s.arrays.noise, 1e-4, 3));
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .weighted = 1);
    const size_t bytes = larmor_array_bytes(s.image[0].kspace), traj_bytes = larmor_array_bytes(s.image[0].traj);
    OWNED(float) *before = values_of(s.image[0].kspace), *traj = values_of(s.image[0].traj),
                 *maps = values_of(s.maps);
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    OWNED(float) *after = values_of(s.image[0].kspace), *traj_after = values_of(s.image[0].traj),
                 *maps_after = values_of(s.maps);
    assert_memory_equal(before, after, bytes);
    assert_memory_equal(traj, traj_after, traj_bytes);
    assert_memory_equal(maps, maps_after, larmor_array_bytes(s.maps));
}

TEST(the_type_of_numbers_and_the_unit_of_length_do_not_matter)
{
    OWNED(scan) s = scan_of(COILS, 1, 0), wide = scan_of(COILS, 1, 0);
    larmor_array *converted;
    assert_ok(larmor_array_convert(wide.image[0].kspace, LARMOR_C128, &converted));
    larmor_array_free(wide.image[0].kspace);
    wide.image[0].kspace = converted;
    wide.arrays.fov_mm[0] = wide.arrays.fov_mm[1] = 250;
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "grid");
    assert_at_most(apart(&wide, &opts, &s, &opts), 1e-6);
}

/* The part of the image's differences that are along y. */
static double part_along_y(const scan *s, const larmor_recon_opts *opts)
{
    OWNED(larmor_recon_result) result = result_of(s, opts);
    OWNED(float) *x = values_of(result.image[0].data);
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
        OPTS(.maps = s.maps, .method = "tv", .lambda = 0.3, .lambda_mode = LARMOR_LAMBDA_RELATIVE);
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
    OWNED(double) *k = (double *)values_of(s.image[0].traj);
    int64_t outside = 0;
    for (int i = 0; i < SAMPLES * SPOKES; i++)
        outside += fabs(k[2 * i]) > small / 2 + .5 || fabs(k[2 * i + 1]) > small / 2 + .5;
    assert_true(outside > 0);
    OWNED(larmor_array) *truth, *maps;
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, LARMOR_SHAPE(small, small), &truth));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(small, small), NULL, COILS, &maps));
    const larmor_recon_opts opts =
        OPTS(.matrix = {small}, .maps = maps, .method = "grid", .density = LARMOR_DENSITY_STORED);
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    assert_int_equal(result.report.outside, outside);
    assert_at_most(difference(result.image[0].data, truth), 0.3);
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
    const larmor_recon_opts opts = OPTS(.method = "grid");
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
    double *k = (double *)values_of(s.image[0].traj);
    k[7] = NAN;
    assert_ok(larmor_array_write(s.image[0].traj, k, larmor_array_bytes(s.image[0].traj)));
    free(k);
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "grid");
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    OWNED(larmor_recon_result) result;
    assert_ok(larmor_recon_run(recon, 0, &result));
    assert_int_equal(result.report.status, LARMOR_ERR_NUMERIC);
    assert_int_equal(result.count, 0);
    assert_string_equal(result.report.message, "arrays: trajectory: point 3 is not finite");
    assert_ok(larmor_recon_run(recon, 1, &result));
    assert_int_equal(result.count, 1);
}

TEST(a_trajectory_beyond_the_k_space_altogether_is_refused)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    assert_ok(larmor_fill(s.image[0].traj, N));
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "grid");
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    larmor_recon_result result;
    assert_refused(larmor_recon_run(recon, 0, &result), LARMOR_ERR_FORMAT, "no sample lies within the k-space");
}

static void refuse(const scan *s, larmor_status status, const char *text)
{
    larmor_scan_arrays arrays = s->arrays;
    larmor_source *source = (larmor_source *)&arrays;
    arrays.image = s->image;
    assert_refused(larmor_source_of_arrays(&arrays, &source), status, text);
    assert_null(source);
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
        double *k = (double *)values_of(s.image[0].traj);
        for (int64_t j = 0; j < larmor_array_count(s.image[0].traj); j++) k[j] *= cases[i].scale;
        assert_ok(larmor_array_write(s.image[0].traj, k, larmor_array_bytes(s.image[0].traj)));
        free(k);
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
    larmor_array *x;
    assert_ok(larmor_array_create(dev, dtype, shape, &x));
    return x;
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
    larmor_array *few = s.image[1].kspace = zeros(LARMOR_C64, LARMOR_SHAPE(SAMPLES, SPOKES, 2));
    refuse(&s, LARMOR_ERR_SHAPE, "expected 4 coils as in the first image");
    s.image[1].kspace = kspace;
    larmor_array_free(few);
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
