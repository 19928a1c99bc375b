/* What density, coil maps and the search of the field of view say of their bytes, against what is really allocated.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/allocated.h"
#include "tests/recon/memory_scan.h"

TEST(density_takes_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        OWNED(scan) s = scan_case(c);
        int64_t estimate;
        assert_ok(larmor_density_memory(dev, &s.problem, &estimate));
        begin();
        OWN(larmor_array, *w, larmor_density_pipe(s.traj, s.problem.image, 1, &w));
        expect_estimate(cases[c].name, estimate, (int64_t)larmor_array_bytes(w), 2.3);
    }
}

TEST(coil_maps_take_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        OWNED(scan) s = scan_case(c);
        int64_t estimate;
        assert_ok(larmor_coils_memory(dev, &s.problem, NULL, &estimate));
        begin();
        OWN(larmor_array, *maps, larmor_coils_estimate(s.kspace, s.traj, NULL, s.problem.image, NULL, &maps, NULL));
        const int64_t result = (int64_t)larmor_array_bytes(maps);
        expect_estimate(cases[c].name, estimate + result, 0, 5); /* all samples might be in the centre */
    }
}

TEST(combining_coils_takes_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        OWNED(scan) s = scan_case(c);
        const larmor_shape shape = larmor_shape_append(s.problem.image, s.problem.coils);
        int64_t estimate;
        OWN(larmor_array, *images, larmor_array_create(dev, s.problem.dtype, shape, &images));
        assert_ok(larmor_fill(images, 1));
        assert_ok(larmor_coils_combine_memory(dev, &s.problem, &estimate));
        begin();
        OWN(larmor_array, *combined, larmor_coils_combine(images, &combined));
        expect_estimate(cases[c].name, estimate, 0, 3);
    }
}

TEST(espirit_takes_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        if (cases[c].readouts < 10) continue; /* no region to find maps from */
        OWNED(scan) s = scan_case(c);
        OWNED(larmor_array) *region, *maps;
        larmor_region_report found;
        int64_t estimate;
        assert_ok(larmor_noise_fill(s.kspace, 0.1, 1)); /* a point in the centre, and noise */
        const larmor_espirit_opts opts = {.kernel = {4, 4, 4}};
        assert_ok(larmor_espirit_memory(dev, &s.problem, NULL, &opts, &estimate));
        begin();
        assert_ok(larmor_calibration_region(s.kspace, s.traj, s.problem.image, NULL, &region, &found));
        assert_ok(larmor_fill(region, 1));
        assert_ok(larmor_espirit(region, s.problem.image, &opts, &maps, NULL, NULL));
        expect_estimate(cases[c].name, estimate, (int64_t)larmor_array_bytes(maps), 12); /* the region may be small */
    }
}

TEST(maps_of_a_thousand_channels_take_less_than_half_a_gigabyte)
{
    const larmor_problem p = {.image = LARMOR_SHAPE(32, 32), .samples = 160, .coils = 1024, .dtype = LARMOR_C64};
    int64_t estimate;
    assert_ok(larmor_coils_memory(dev, &p, NULL, &estimate));
    assert_in_range(estimate, 64 << 20, 512 << 20);
}

TEST(maps_of_many_channels_take_no_more_than_estimated)
{
    only_for_processors();
    OWNED(scan) s = scan_of(LARMOR_SHAPE(12, 12), 24, 16, 200, LARMOR_C64, 0);
    int64_t estimate;
    assert_ok(larmor_coils_memory(dev, &s.problem, NULL, &estimate));
    begin();
    OWN(larmor_array, *maps, larmor_coils_estimate(s.kspace, s.traj, NULL, s.problem.image, NULL, &maps, NULL));
    expect_estimate("200 channels", estimate + (int64_t)larmor_array_bytes(maps), 0, 2);
}

TEST(nonlinear_inversion_takes_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < 2 * CASES; c++) {
        OWNED(scan) s = scan_case(c / 2);
        const larmor_nlinv_opts opts = {
            .steps = 1, .inner = 1, .weights = c % 2 ? s.weights : NULL, .sets = 1 + c % 2};
        OWNED(larmor_array) *x, *maps;
        int64_t estimate;
        assert_ok(larmor_nlinv_memory(dev, &s.problem, &opts, &estimate));
        begin();
        assert_ok(larmor_nlinv(s.kspace, s.traj, s.problem.image, &opts, &x, &maps, NULL));
        const int64_t result = (int64_t)(larmor_array_bytes(x) + larmor_array_bytes(maps));
        expect_estimate(cases[c / 2].name, estimate + result, 0, 3);
    }
}

TEST(inversion_of_frames_takes_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        OWNED(scan) s = scan_case(c);
        const larmor_nlinv_series_opts opts = {.all = {.steps = 1, .inner = 1}, .steps = 1, .inner = 1};
        larmor_nlinv_series *series;
        int64_t estimate;
        assert_ok(larmor_nlinv_series_memory(dev, &s.problem, &opts, &estimate));
        begin();
        assert_ok(larmor_nlinv_series_create(s.problem.image, &opts, &series));
        for (int i = 0; i < 2; i++) assert_ok(larmor_nlinv_series_add(series, s.kspace, s.traj, NULL, NULL, NULL));
        expect_estimate(cases[c].name, estimate, 0, 3);
        larmor_nlinv_series_free(series);
    }
}

TEST(inversion_of_less_resolution_takes_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        OWNED(scan) s = scan_case(c);
        const larmor_nlinv_opts opts = {.steps = 1, .inner = 1, .weights = s.weights, .side = 6};
        int64_t estimate;
        assert_ok(larmor_nlinv_memory(dev, &s.problem, &opts, &estimate));
        begin();
        OWN(larmor_array, *maps, larmor_nlinv(s.kspace, s.traj, s.problem.image, &opts, NULL, &maps, NULL));
        const int64_t result = (int64_t)larmor_array_bytes(maps);
        expect_estimate(cases[c].name, estimate + result, 0, 12); /* all samples might be in the centre */
    }
}

TEST(the_search_beyond_the_field_of_view_takes_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        OWNED(scan) s = scan_case(c);
        larmor_extent extent;
        int64_t estimate;
        assert_ok(larmor_extent_memory(dev, &s.problem, NULL, &estimate));
        begin();
        assert_ok(larmor_field_of_view_extent(s.kspace, s.traj, s.problem.image, NULL, &extent));
        expect_estimate(cases[c].name, estimate, 0, 5); /* all samples might be in the centre */
    }
}

TEST(the_prediction_of_the_field_of_view_takes_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        OWNED(scan) s = scan_case(c);
        larmor_prediction prediction;
        int64_t estimate;
        if (s.problem.image.ndim == 2) {
            assert_ok(larmor_predict_field_of_view_memory(dev, &s.problem, &estimate));
            begin();
            assert_ok(larmor_predict_field_of_view(s.kspace, s.traj, s.problem.image, &prediction));
            expect_estimate(cases[c].name, estimate, 0, 8); /* all samples might be in the centre */
        }
    }
}
