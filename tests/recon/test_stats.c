/* recon/stats.c: statistics of an image in regions. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

static larmor_region region[LARMOR_MAX_REGIONS];
static int count;

TEST(magnitudes_have_their_mean_deviation_range_and_median)
{
    const double label[6] = {1, 1, 0, 1, 1, 0.5};
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, LARMOR_SHAPE(3, 2), (cplx[]){3 * I, -5, 100, 1, 7, 100});
    OWNED(larmor_array) *m = real_array(LARMOR_SHAPE(3, 1, 2), label);
    assert_ok(larmor_region_stats(x, NULL, m, region, &count));
    assert_int_equal(count, 1);
    assert_int_equal(region[0].label, 1);
    assert_int_equal(region[0].voxels, 4);
    assert_at_most(fabs(region[0].mean - 4), 1e-15);
    assert_at_most(fabs(region[0].deviation - sqrt(20. / 3)), 1e-15);
    assert_at_most(fabs(region[0].lowest - 1) + fabs(region[0].highest - 7) + fabs(region[0].median - 4), 0);
    assert_at_most(fabs(region[0].phase - carg(3 + 3 * I)), 1e-15);
    assert_at_most(fabs(region[0].coherence - cabs(3 + 3 * I) / 16), 1e-15);
    assert_true(isnan(region[0].snr));
}

TEST(a_region_of_one_phase_has_it_and_is_coherent_and_a_real_image_has_no_coherence)
{
    cplx x[5];
    double size[5];
    for (int i = 0; i < 5; i++) x[i] = (size[i] = i + 1) * cexp(2 * I);
    OWNED(larmor_array) *a = complex_array(LARMOR_C128, LARMOR_SHAPE(5), x);
    OWNED(larmor_array) *b = real_array(LARMOR_SHAPE(5), size);
    assert_ok(larmor_region_stats(a, NULL, NULL, region, &count));
    assert_at_most(fabs(region[0].phase - 2) + fabs(region[0].coherence - 1), 1e-14);
    assert_at_most(fabs(region[0].median - 3), 1e-14);
    assert_ok(larmor_region_stats(b, NULL, NULL, region, &count));
    assert_true(isnan(region[0].coherence));
    assert_at_most(fabs(region[0].phase), 0);
}

TEST(each_label_is_a_row_in_their_order_and_its_ratio_is_to_the_first)
{
    const double label[6] = {1000.5, 3, 1, 1.5, -4, 2.6};
    OWNED(larmor_array) *x = complex_array(LARMOR_C64, LARMOR_SHAPE(6), (cplx[]){16, 2, 4, 12, 1e6, 4});
    OWNED(larmor_array) *m = real_array(LARMOR_SHAPE(6), label);
    assert_ok(larmor_region_stats(x, NULL, m, region, &count));
    assert_int_equal(count, 3);
    assert_int_equal(region[0].voxels, 2);
    assert_int_equal(region[1].label, 3);
    assert_int_equal(region[1].voxels, 2);
    assert_at_most(fabs(region[1].ratio - 3. / 8), 1e-15);
    assert_int_equal(region[2].label, 1000);
    assert_at_most(fabs(region[2].ratio - 2), 1e-15);
    assert_true(isnan(region[2].deviation));
}

/* Differences +d and -d in turn: their deviation is d sqrt(n / (n - 1)). */
TEST(the_snr_is_that_of_half_the_sum_over_the_difference)
{
    enum { N = 8 };
    const double d = 0.25;
    double a[N], b[N];
    for (int i = 0; i < N; i++) {
        a[i] = 10 + i;
        b[i] = a[i] - (i % 2 ? d : -d);
    }
    OWNED(larmor_array) *x = real_array(LARMOR_SHAPE(N), a), *y = real_array(LARMOR_SHAPE(N), b);
    assert_ok(larmor_region_stats(x, y, NULL, region, &count));
    assert_at_most(fabs(region[0].snr - 13.5 * sqrt(2) / (d * sqrt(N / (N - 1.)))), 1e-12);
    assert_ok(larmor_region_stats(x, x, NULL, region, &count));
    assert_true(isinf(region[0].snr));
}

TEST(without_a_mask_what_is_above_a_tenth_of_the_largest_magnitude_counts)
{
    const double values[5] = {0, 1, 1.001, -10, 0.5};
    OWNED(larmor_array) *x = real_array(LARMOR_SHAPE(5), values), *zero = zeros(LARMOR_F64, LARMOR_SHAPE(5));
    assert_ok(larmor_region_stats(x, NULL, NULL, region, &count));
    assert_int_equal(region[0].voxels, 2);
    assert_refused(larmor_region_stats(zero, NULL, NULL, region, &count), LARMOR_ERR_ARG,
                   "stats: the image is all zero, and there is no mask");
}

TEST(errors_of_regions_add_up_to_that_of_the_image_and_a_factor_is_taken_as_it_is)
{
    enum { N = 60 };
    cplx a[N], b[N];
    double label[N], rest = 0, energy = 0;
    larmor_region_error row[LARMOR_MAX_REGIONS];
    larmor_comparison whole;
    int rows;
    for (int i = 0; i < N; i++) {
        b[i] = 1 + i % 7 + 0.3 * I * (i % 4);
        a[i] = (b[i] + 0.1 * (i % 3) - 0.2 * I * (i % 5)) / (2 + I);
        label[i] = 1 + i % 3;
    }
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, LARMOR_SHAPE(N), a),
                        *y = complex_array(LARMOR_C128, LARMOR_SHAPE(N), b), *m = real_array(LARMOR_SHAPE(N), label);
    assert_ok(larmor_compare(x, y, NULL, &whole));
    assert_ok(larmor_compare_regions(x, y, m, 0, NULL, row, &rows));
    assert_int_equal(rows, 3);
    for (int n = 0; n < rows; n++) {
        const double error = row[n].rmse * row[n].rmse * (double)row[n].voxels;
        assert_int_equal(row[n].label, n + 1);
        assert_int_equal(row[n].voxels, N / 3);
        rest += error;
        energy += error / (row[n].nrmse * row[n].nrmse);
    }
    assert_at_most(fabs(sqrt(rest / energy) - whole.nrmse), 1e-13);
    const double factor[2] = {4, 2};
    assert_ok(larmor_compare_regions(x, y, m, 0, factor, row, &rows));
    double most = 0, sum = 0, reference = 0;
    for (int i = 0; i < N; i += 3) {
        most = fmax(most, cabs((4 + 2 * I) * a[i] - b[i]));
        sum += cabs((4 + 2 * I) * a[i]);
        reference += cabs(b[i]);
    }
    assert_at_most(fabs(row[0].largest - most), 1e-13);
    assert_at_most(fabs(row[0].ratio - sum / reference), 1e-13);
}

TEST(errors_of_magnitudes_do_not_see_phase_and_those_of_zeros_are_infinite)
{
    larmor_region_error row[LARMOR_MAX_REGIONS];
    int rows;
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, LARMOR_SHAPE(4), (cplx[]){2, 2 * I, -4, 1}),
                        *y = complex_array(LARMOR_C128, LARMOR_SHAPE(4), (cplx[]){I, 1, 2, 0}),
                        *m = real_array(LARMOR_SHAPE(4), (double[]){1, 1, 1, 2}),
                        *longer = zeros(LARMOR_F64, LARMOR_SHAPE(5));
    assert_ok(larmor_compare_regions(x, y, m, 1, (double[]){0.5, 0}, row, &rows));
    assert_at_most(row[0].nrmse, 1e-15);
    assert_true(isinf(row[1].nrmse) && isnan(row[1].ratio));
    assert_at_most(fabs(row[1].rmse - 0.5), 1e-15);
    assert_ok(larmor_compare_regions(x, y, NULL, 1, NULL, row, &rows));
    assert_int_equal(rows, 1);
    assert_int_equal(row[0].voxels, 3);
    assert_refused(larmor_compare_regions(x, longer, NULL, 0, NULL, row, &rows), LARMOR_ERR_SHAPE,
                   "the reference f64 [5] on ");
    assert_refused(larmor_compare_regions(x, y, longer, 0, NULL, row, &rows), LARMOR_ERR_SHAPE,
                   "the mask f64 [5] on ");
}

TEST(masks_and_images_that_do_not_fit_are_refused)
{
    const double nan[2] = {1, NAN}, far[2] = {1, 1e9}, none[2] = {0.5, -3}, large[2] = {1e200, 1};
    OWNED(larmor_array) *x = complex_array(LARMOR_C64, LARMOR_SHAPE(2), (cplx[]){1, 2}), *bad, *short_one;
    bad = real_array(LARMOR_SHAPE(2), nan);
    short_one = zeros(LARMOR_F64, LARMOR_SHAPE(3));
    OWNED(larmor_array) *far_one = real_array(LARMOR_SHAPE(2), far), *empty = real_array(LARMOR_SHAPE(2), none);
    OWNED(larmor_array) *wide = real_array(LARMOR_SHAPE(2), large);
    assert_refused(larmor_region_stats(x, NULL, bad, region, &count), LARMOR_ERR_NUMERIC,
                   "stats: the mask holds nan at element 1, expected finite numbers");
    assert_refused(larmor_region_stats(x, NULL, far_one, region, &count), LARMOR_ERR_ARG,
                   "stats: the mask has the label 1000000000, expected at most 1000");
    assert_refused(larmor_region_stats(x, NULL, empty, region, &count), LARMOR_ERR_ARG,
                   "stats: the mask has no voxel above 0.5");
    assert_int_equal(count, 0);
    assert_refused(larmor_region_stats(x, NULL, short_one, region, &count), LARMOR_ERR_SHAPE, "the mask f64 [3] on ");
    assert_refused(larmor_region_stats(x, short_one, NULL, region, &count), LARMOR_ERR_SHAPE,
                   "the second image f64 [3] on ");
    assert_refused(larmor_region_stats(wide, NULL, NULL, region, &count), LARMOR_ERR_NUMERIC,
                   "stats: the image holds values that are too large");
    assert_refused(larmor_region_stats(x, NULL, x, region, &count), LARMOR_ERR_ARG, "expected f32 or f64");
    assert_refused(larmor_region_stats(bad, NULL, NULL, region, &count), LARMOR_ERR_NUMERIC, "stats: the image: ");
}
