/* recon/maps/espirit.c, hankel.c, region.c and normalise.c: maps from a scene whose coils are known.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/coil_scene.h"

/* ---- regions ---- */

/* Points of a grid around the centre of k-space, spacing apart: [nd, side...] */
static double *grid_points(int nd, const int64_t side[3], double spacing)
{
    const int64_t m = side[0] * side[1] * side[2];
    NEW(double, k, m *nd);
    for (int64_t j = 0; j < m; j++) {
        const int64_t at[3] = {j % side[0], j / side[0] % side[1], j / side[0] / side[1]};
        for (int d = 0; d < nd; d++) k[j * nd + d] = (double)(at[d] - side[d] / 2) * spacing;
    }
    return k;
}

/* The scene's exact k-space on such a grid, [side..., COILS]. */
static larmor_array *exact_region(int nd, const int64_t side[3], double spacing, larmor_dtype dtype)
{
    HEAP double *k = grid_points(nd, side, spacing);
    HEAP cplx *y = coil_kspace(k, nd, side[0] * side[1] * side[2]);
    larmor_array *region = complex_array(dtype, larmor_shape_append(larmor_shape_of(nd, side), COILS), y);
    return region;
}

typedef struct found {
    cplx *maps, *values;
    larmor_espirit_report report;
} found;

static found find(larmor_array *region, larmor_shape image, const larmor_espirit_opts *opts)
{
    OWNED(larmor_array) *maps, *values;
    found f;
    assert_ok(larmor_espirit(region, image, opts, &maps, &values, &f.report));
    assert_int_equal(larmor_array_dtype(maps), larmor_array_dtype(region));
    f.maps = values_of(maps);
    f.values = values_of(values);
    return f;
}

LMR_FREES(end_found, found, maps, values)

static const int64_t square[3] = {24, 24, 1};
static const int64_t cube[3] = {10, 10, 10};

/* ---- aliasing ---- */

static double aliasing_of(const char *name, larmor_traj_opts opts, const double *encoded)
{
    double aliasing;
    opts.matrix[0] = opts.matrix[1] = 64;
    OWN(larmor_array, *traj, larmor_traj_create(dev, name, &opts, &traj));
    assert_ok(larmor_calibration_aliasing(traj, LARMOR_SHAPE(64, 64), encoded, &aliasing));
    return aliasing;
}

TEST(every_rth_line_aliases_r_minus_1_times)
{
    for (int64_t R = 1; R <= 4; R++) {
        const double aliasing = aliasing_of("cartesian", (larmor_traj_opts){.acceleration = {R, 1}}, NULL);
        assert_at_most(fabs(aliasing - (double)(R - 1)), 0.12);
    }
}

TEST(a_dense_centre_does_not_alias)
{
    assert_at_most(aliasing_of("golden", (larmor_traj_opts){.undersampling = 2}, NULL), 0.03);
    assert_at_most(aliasing_of("spiral", (larmor_traj_opts){.density = 2}, NULL), 0.03);
    assert_at_most(0.5, aliasing_of("spiral", (larmor_traj_opts){.undersampling = 2}, NULL));
}

TEST(what_aliases_beyond_the_object_does_not_count)
{
    const double half[3] = {1, 0.5, 1};
    assert_at_most(aliasing_of("cartesian", (larmor_traj_opts){.acceleration = {2, 1}}, half), 0.03);
}

/* ---- maps ---- */

TEST(maps_are_the_coils_up_to_a_factor_in_2d_and_3d)
{
    const larmor_dtype dtype[] = {LARMOR_C64, LARMOR_C128};
    for (int i = 0; i < 2; i++) {
        OWNED(larmor_array) *region = exact_region(2, square, 1, dtype[i]);
        OWNED(found) f = find(region, LARMOR_SHAPE(48, 40), NULL);
        assert_at_most(map_error_of(LARMOR_SHAPE(48, 40), f.maps, 0.2), 0.01);
    }
    OWNED(larmor_array) *region = exact_region(3, cube, 1, LARMOR_C64);
    const larmor_espirit_opts opts = {.kernel = {4, 4, 4}};
    OWNED(found) f = find(region, LARMOR_SHAPE(20, 16, 18), &opts);
    assert_at_most(map_error_of(LARMOR_SHAPE(20, 16, 18), f.maps, 0.2), 0.03);
    assert_int_equal(f.report.rows, 64 * COILS);
}

/* The exact region with all coils twice, the second time turned by a quarter. */
static larmor_array *doubled_region(void)
{
    const int64_t samples = square[0] * square[1];
    OWNED(larmor_array) *region = exact_region(2, square, 1, LARMOR_C128);
    HEAP cplx *once = values_of(region), *twice = malloc(2 * COILS * (size_t)samples * sizeof *twice);
    assert_non_null(twice);
    for (int64_t i = 0; i < COILS * samples; i++) {
        twice[i] = once[i];
        twice[COILS * samples + i] = I * once[i];
    }
    larmor_array *both = complex_array(LARMOR_C128, LARMOR_SHAPE(square[0], square[1], 2 * COILS), twice);
    return both;
}

/* Its maps are those of the scene, and again turned by a quarter. */
static void assert_doubled(larmor_shape image, const found *f)
{
    const int64_t all = COILS * larmor_shape_count(image);
    for (int64_t i = 0; i < all; i++) assert_at_most(cabs(f->maps[all + i] - I * f->maps[i]), 1e-4);
    assert_at_most(map_error_of(image, f->maps, 0.2), 0.01);
}

TEST(copies_of_coils_take_no_mixtures_of_their_own)
{
    OWNED(larmor_array) *both = doubled_region();
    OWNED(found) f = find(both, LARMOR_SHAPE(40, 40), &(larmor_espirit_opts){.coils = COILS});
    assert_int_equal(f.report.coils, COILS);
    assert_doubled(LARMOR_SHAPE(40, 40), &f);
}

/* Where there are many voxels, eigenvectors of a coarser grid are interpolated. */
TEST(maps_of_many_voxels_are_interpolated_and_still_the_coils)
{
    const larmor_shape image = LARMOR_SHAPE(360, 300);
    OWNED(larmor_array) *both = doubled_region();
    OWNED(found) f = find(both, image, NULL);
    assert_true(f.report.grid[0] < 360 && f.report.grid[1] < 300);
    assert_doubled(image, &f);
}

/* Samples 1/2 apart belong to a field of view of 2. */
TEST(the_grid_of_the_samples_may_be_finer_than_that_of_the_image)
{
    const int64_t side[3] = {40, 24, 1};
    HEAP double *k = grid_points(2, side, 1);
    for (int64_t j = 0; j < side[0] * side[1]; j++) k[2 * j] /= 2;
    HEAP cplx *y = coil_kspace(k, 2, side[0] * side[1]);
    OWNED(larmor_array) *region = complex_array(LARMOR_C128, LARMOR_SHAPE(side[0], side[1], COILS), y);
    const larmor_espirit_opts opts = {.fov = {2, 1}};
    OWNED(found) f = find(region, LARMOR_SHAPE(40, 40), &opts);
    assert_at_most(map_error_of(LARMOR_SHAPE(40, 40), f.maps, 0.2), 0.02);
}

TEST(eigenvalues_are_near_1_where_there_is_signal_and_crops_follow_them)
{
    const larmor_shape image = LARMOR_SHAPE(48, 48);
    const int64_t voxels = 48 * 48;
    const larmor_crop_mode crop[] = {LARMOR_CROP_NONE, LARMOR_CROP_SOFT, LARMOR_CROP_HARD};
    OWNED(larmor_array) *region = exact_region(2, square, 1, LARMOR_C128);
    for (int i = 0; i < 3; i++) {
        const larmor_espirit_opts opts = {.crop = crop[i], .cropped_below = 0.9};
        OWNED(found) f = find(region, image, &opts);
        int zeros = 0, between = 0;
        for (int64_t p = 0; p < voxels; p++) {
            double r[2], size = 0;
            for (int d = 0; d < 2; d++) r[d] = position(image, p, d);
            for (int c = 0; c < COILS; c++) size += pow(cabs(f.maps[p + voxels * c]), 2);
            const double value = creal(f.values[p]), x = (sqrt(value) - 0.9) / 0.1;
            double weight = 1;
            if (crop[i] == LARMOR_CROP_HARD) weight = value > 0.9;
            if (crop[i] == LARMOR_CROP_SOFT) weight = x <= -1 ? 0 : 0.5 + x / (1 + x * x);
            assert_in_range((int)(1e6 * value), 0, 1000001);
            if (object(r, 2) > 0.2) assert_true(value > 0.99);
            assert_at_most(fabs(sqrt(size) - weight), 1e-6);
            zeros += weight == 0;
            between += weight > 0.1 && weight < 0.9;
        }
        if (crop[i] != LARMOR_CROP_NONE) assert_true(zeros > 100);
        if (crop[i] == LARMOR_CROP_SOFT) assert_true(between > 10);
    }
}

TEST(a_crop_by_noise_takes_what_a_hard_one_does_but_for_places_that_the_region_shows)
{
    const larmor_shape image = LARMOR_SHAPE(48, 48);
    const int64_t voxels = 48 * 48;
    const double sigma[] = {1e-6, 3e-2}; /* of the largest sample */
    for (int i = 0; i < 2; i++) {
        OWNED(larmor_array) *region = exact_region(2, square, 1, LARMOR_C128);
        HEAP cplx *samples = values_of(region);
        double largest = 0;
        for (int64_t j = 0; j < 24 * 24 * COILS; j++) largest = fmax(largest, cabs(samples[j]));
        HEAP cplx *noise = random_values(24 * 24 * COILS, 3);
        for (int64_t j = 0; j < 24 * 24 * COILS; j++) samples[j] += sigma[i] * largest * noise[j];
        OWNED(larmor_array) *noisy = complex_array(LARMOR_C128, LARMOR_SHAPE(24, 24, COILS), samples);
        const larmor_espirit_opts hard = {.crop = LARMOR_CROP_HARD}, by_noise = {.crop = LARMOR_CROP_NOISE};
        OWNED(found) a = find(noisy, image, &hard), b = find(noisy, image, &by_noise);
        int more = 0, zeros = 0;
        for (int64_t p = 0; p < voxels; p++) {
            double kept[2] = {0, 0}, r[2];
            for (int d = 0; d < 2; d++) r[d] = position(image, p, d);
            for (int c = 0; c < COILS; c++) {
                kept[0] += pow(cabs(a.maps[p + voxels * c]), 2);
                kept[1] += pow(cabs(b.maps[p + voxels * c]), 2);
            }
            assert_true(kept[1] > 0.5 || kept[0] < 0.5);
            if (object(r, 2) > 0.01) assert_true(i || kept[1] > 0.5);
            more += kept[1] > kept[0] + 0.5;
            zeros += kept[1] < 0.5;
        }
        assert_memory_equal(a.values, b.values, sizeof *a.values * (size_t)voxels);
        assert_true(more > 20);
        assert_true(i ? zeros > 1000 : zeros < 20); /* without noise the region shows all of the image */
    }
}

/* Every second sample of a field of view that is twice as wide: halves of the object lie on each other. */
TEST(an_object_that_folds_needs_two_sets_which_hold_both_coils)
{
    const larmor_shape half = LARMOR_SHAPE(16, 32);
    const int64_t voxels = 16 * 32;
    HEAP double *k = grid_points(2, square, 1);
    for (int64_t j = 0; j < 24 * 24; j++) k[2 * j] *= 2;
    HEAP cplx *y = coil_kspace(k, 2, 24 * 24);
    OWNED(larmor_array) *region = complex_array(LARMOR_C128, LARMOR_SHAPE(24, 24, COILS), y);
    const larmor_espirit_opts opts = {.sets = 2, .threshold = 1e-7}; /* the coils differ by little */
    OWNED(found) f = find(region, half, &opts);
    assert_true(f.report.folded > 0.3);
    double left[2] = {0, 0}, count = 0;
    for (int64_t p = 0; p < voxels; p++) {
        double r[2] = {position(half, p, 0) / 2, position(half, p, 1)};
        for (int other = 0; other < 2; other++) {
            const double at[2] = {r[0] + (r[0] < 0 ? 0.5 : -0.5) * other, r[1]};
            if (object(at, 2) < 0.3) continue;
            double size = 0, inside[2] = {0, 0};
            for (int set = 0; set < 2; set++) {
                cplx along = 0;
                for (int c = 0; c < COILS; c++)
                    along += conj(f.maps[p + voxels * (c + COILS * set)]) * sensitivity(c, at, 2);
                inside[set] = pow(cabs(along), 2);
            }
            for (int c = 0; c < COILS; c++) size += pow(cabs(sensitivity(c, at, 2)), 2);
            left[0] += 1 - inside[0] / size;
            left[1] += 1 - (inside[0] + inside[1]) / size;
            count++;
        }
    }
    assert_true(count > 50);
    assert_true(sqrt(left[0] / count) > 0.05);   /* one set does not hold them */
    assert_at_most(sqrt(left[1] / count), 0.01); /* two do */
}

TEST(an_object_that_does_not_fold_has_one_set)
{
    OWNED(larmor_array) *region = exact_region(2, square, 1, LARMOR_C64);
    OWNED(found) f = find(region, LARMOR_SHAPE(32, 32), NULL);
    assert_at_most(f.report.folded, 0.05);
}

/* Noise of a fifth of the region's energy, far above the threshold of 0.001, spans the whole space of windows. */
/* As slabs of a volume need them, on the image's own grid and on one that is interpolated from a coarser one. */
TEST(planes_of_maps_are_those_of_the_whole)
{
    static const int64_t side[2] = {12, 52};
    for (int i = 0; i < 2; i++)
        for (int crop = LARMOR_CROP_SOFT; crop <= LARMOR_CROP_NOISE; crop++) {
            const int64_t n = side[i], first = n / 3, planes = n / 4, plane = n * n;
            const larmor_shape image = LARMOR_SHAPE(n, n, n);
            const larmor_espirit_opts all = {.kernel = {3, 3, 3}, .crop = (larmor_crop_mode)crop};
            larmor_espirit_opts some = all;
            some.first = first;
            some.planes = planes;
            OWNED(larmor_array) *region = exact_region(3, cube, 1, LARMOR_C64);
            OWNED(found) whole = find(region, image, &all), part = find(region, image, &some);
            assert_int_equal(part.report.grid[2], whole.report.grid[2]);
            assert_true((part.report.grid[2] < n) == i);
            assert_memory_equal(part.values, whole.values + first * plane,
                                sizeof *part.values * (size_t)(planes * plane));
            for (int64_t c = 0; c < COILS; c++)
                assert_memory_equal(part.maps + c * planes * plane, whole.maps + (first + c * n) * plane,
                                    sizeof *part.maps * (size_t)(planes * plane));
        }
}

TEST(noise_is_no_signal)
{
    OWNED(larmor_array) *region = exact_region(2, square, 1, LARMOR_C64);
    OWNED(larmor_array) *noise = zeros(LARMOR_C64, LARMOR_SHAPE(24, 24, COILS));
    assert_ok(larmor_noise_fill(noise, norm_of(region) * sqrt(0.1 / (24 * 24 * COILS)), 5));
    OWNED(found) clean = find(region, LARMOR_SHAPE(32, 32), NULL);
    assert_ok(larmor_axpby(1, noise, 1, region));
    OWNED(found) noisy = find(region, LARMOR_SHAPE(32, 32), NULL);
    assert_in_range(noisy.report.signal, 1, clean.report.signal);
    assert_at_most(noisy.report.folded, 0.05);
    assert_at_most(map_error_of(LARMOR_SHAPE(32, 32), noisy.maps, 0.3), 0.1);
    OWNED(larmor_array) *maps = NULL;
    assert_ok(larmor_zero(region));
    assert_ok(larmor_axpby(1, noise, 0, region));
    const larmor_status st = larmor_espirit(region, LARMOR_SHAPE(32, 32), NULL, &maps, NULL, &noisy.report);
    assert_true(st == LARMOR_ERR_NUMERIC || noisy.report.signal < 10); /* the edge is of many, not of each */
}

TEST(neither_the_phase_nor_the_size_of_the_object_is_in_the_maps)
{
    const larmor_shape image = LARMOR_SHAPE(32, 32);
    OWNED(larmor_array) *region = exact_region(2, square, 1, LARMOR_C128);
    OWNED(found) f = find(region, image, NULL);
    const double factor[2] = {-3e-9, 4e-9}, none[2] = {0, 0};
    assert_ok(larmor_axpby_complex(factor, region, none, region));
    OWNED(found) same = find(region, image, NULL);
    assert_at_most(difference(same.maps, f.maps, 32 * 32 * COILS), 1e-3);
}

TEST(the_number_of_threads_does_not_change_a_bit)
{
    larmor_device *usual = dev;
    const char *const spec[] = {"cpu:1", "cpu:3"};
    found f[2];
    for (int i = 0; i < 2; i++) {
        assert_ok(larmor_device_open(spec[i], &dev));
        OWNED(larmor_array) *region = exact_region(2, square, 1, LARMOR_C64);
        f[i] = find(region, LARMOR_SHAPE(32, 20), NULL);
        larmor_device_free(dev);
    }
    dev = usual;
    assert_at_most(difference(f[1].maps, f[0].maps, 32 * 20 * COILS), 0);
    end_found(&f[0]);
    end_found(&f[1]);
}

TEST(what_makes_no_sense_is_refused)
{
    larmor_array *maps, *zero = zeros(LARMOR_C64, LARMOR_SHAPE(12, 12, COILS));
    OWNED(larmor_array) *thin = zeros(LARMOR_C64, LARMOR_SHAPE(12, 2, COILS));
    const larmor_shape image = LARMOR_SHAPE(32, 32);
    assert_refused(larmor_espirit(zero, image, NULL, &maps, NULL, NULL), LARMOR_ERR_NUMERIC,
                   "espirit: the calibration region has energy 0");
    assert_null(maps);
    assert_refused(larmor_espirit(thin, image, NULL, &maps, NULL, NULL), LARMOR_ERR_NUMERIC,
                   "espirit: the calibration region has 2 samples along axis 1, expected at least 3; maps by nlinv "
                   "need no region");
    assert_refused(larmor_espirit(zero, LARMOR_SHAPE(32), NULL, &maps, NULL, NULL), LARMOR_ERR_SHAPE,
                   "espirit: the region is c64 [12, 12, 6]");
    assert_refused(larmor_espirit(zero, image, &(larmor_espirit_opts){.sets = 3}, &maps, NULL, NULL), LARMOR_ERR_ARG,
                   "espirit: 3 sets of maps of 6 coils");
    assert_refused(larmor_espirit(zero, image, &(larmor_espirit_opts){.threshold = 1}, &maps, NULL, NULL),
                   LARMOR_ERR_ARG, "espirit: threshold 1");
    const struct {
        larmor_espirit_opts opts;
        const char *says;
    } refused[] = {{{.kernel = {0, 33}}, "espirit: kernel 33 along axis 1, expected 0 to 32"},
                   {{.fov = {-1}}, "espirit: field of view -1 along axis 0"},
                   {{.cropped_below = NAN}, "espirit: cropped below nan"},
                   {{.coils = -1}, "espirit: -1 mixtures of coils"},
                   {{.crop = LARMOR_CROP_NOISE + 1}, "espirit: crop 5 is unknown"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_refused(larmor_espirit(zero, image, &refused[i].opts, &maps, NULL, NULL), LARMOR_ERR_ARG,
                       refused[i].says);
    larmor_array_free(zero);
}

/* ---- the calibration region ---- */

typedef struct sampled {
    larmor_array *traj, *kspace;
} sampled;

/* The scene's samples at points [2, n, lines]. */
static sampled sample(const double *k, int64_t n, int64_t lines)
{
    HEAP cplx *y = coil_kspace(k, 2, n * lines);
    const sampled s = {real_array(LARMOR_SHAPE(2, n, lines), k),
                       complex_array(LARMOR_C64, LARMOR_SHAPE(n, lines, COILS), y)};
    return s;
}

LMR_FREES(end_sampled, sampled, traj, kspace)

/* Every third line, all lines from -9 to 7, and line 2 twice. */
TEST(lines_on_the_grid_are_taken_as_they_are)
{
    enum { N = 48 };
    HEAP double *k = malloc(2 * N * (N + 1) * sizeof *k);
    int64_t lines = 0;
    for (int64_t ky = -24; ky <= 24; ky++) {
        const int64_t line = ky < 24 ? ky : 2;
        if (line % 3 && (line < -9 || line > 7)) continue;
        for (int64_t i = 0; i < N; i++) {
            k[2 * (i + N * lines)] = (double)(i - N / 2);
            k[2 * (i + N * lines) + 1] = (double)line;
        }
        lines++;
    }
    OWNED(sampled) s = sample(k, N, lines);
    OWNED(larmor_array) *region;
    larmor_region_report report;
    assert_ok(larmor_calibration_region(s.kspace, s.traj, LARMOR_SHAPE(N, N), NULL, &region, &report));
    assert_true(report.cartesian && report.fov[0] == 1 && report.fov[1] == 1);
    const larmor_shape shape = larmor_array_shape(region);
    assert_int_equal(shape.dim[0], 24);
    assert_int_equal(shape.dim[1], 17); /* -9 to 7: lines 8 and -10 are missing */
    cplx *got = values_of(region), *expected = malloc(24 * 17 * COILS * sizeof *expected);
    double at[2 * 24 * 17];
    for (int j = 0; j < 24 * 17; j++) {
        at[2 * j] = j % 24 - 12;
        at[2 * j + 1] = j / 24 - 9;
    }
    free(expected);
    expected = coil_kspace(at, 2, 24 * 17);
    assert_at_most(difference(got, expected, 24 * 17 * COILS), 1e-6);
    LMR_FREE(expected, got);
}

TEST(samples_anywhere_are_solved_for_the_same_region)
{
    enum { SAMPLES = 128, SPOKES = 80 };
    HEAP double *k = radial_points(64, SAMPLES, SPOKES);
    OWNED(sampled) s = sample(k, SAMPLES, SPOKES);
    OWNED(larmor_array) *region, *exact;
    larmor_region_report report;
    const larmor_region_opts opts = {.side = {16, 16}};
    assert_ok(larmor_calibration_region(s.kspace, s.traj, LARMOR_SHAPE(64, 64), &opts, &region, &report));
    assert_false(report.cartesian);
    const int64_t side[3] = {16, 16, 1};
    exact = exact_region(2, side, 1, LARMOR_C64);
    HEAP cplx *a = values_of(region), *b = values_of(exact);
    assert_true(larmor_shape_equal(larmor_array_shape(region), larmor_array_shape(exact)));
    assert_at_most(difference(a, b, 16 * 16 * COILS), 0.02);
}

TEST(the_region_of_few_spokes_is_smaller)
{
    enum { SAMPLES = 128, SPOKES = 13 };
    HEAP double *k = radial_points(64, SAMPLES, SPOKES);
    OWNED(sampled) s = sample(k, SAMPLES, SPOKES);
    OWN(larmor_array, *region,
        larmor_calibration_region(s.kspace, s.traj, LARMOR_SHAPE(64, 64), NULL, &region, NULL));
    assert_in_range(larmor_array_shape(region).dim[0], 4, 16);
}

TEST(a_region_that_nobody_wants_has_the_same_report)
{
    enum { SAMPLES = 128 };
    for (int spokes = 13; spokes <= 80; spokes += 67) {
        HEAP double *k = radial_points(64, SAMPLES, spokes);
        OWNED(sampled) s = sample(k, SAMPLES, spokes);
        OWNED(larmor_array) *region;
        larmor_region_report wanted, got;
        assert_ok(larmor_calibration_region(s.kspace, s.traj, LARMOR_SHAPE(64, 64), NULL, &region, &wanted));
        assert_ok(larmor_calibration_region(s.kspace, s.traj, LARMOR_SHAPE(64, 64), NULL, NULL, &got));
        assert_memory_equal(&got, &wanted, sizeof got);
        for (int d = 0; d < 3; d++) assert_int_equal(got.side[d], d < 2 ? larmor_array_shape(region).dim[d] : 1);
    }
}

/* ---- normalisation ---- */

TEST(each_normalisation_keeps_its_own_sum)
{
    enum { VOXELS = 60 };
    HEAP cplx *random = random_values(VOXELS * COILS * 2, 3);
    const larmor_normalise_mode mode[] = {LARMOR_NORMALISE_RSS, LARMOR_NORMALISE_SUM, LARMOR_NORMALISE_BODY};
    for (int i = 0; i < 6; i++) {
        const int sets = 1 + i / 3, all = VOXELS * COILS * sets;
        HEAP cplx *x = malloc((size_t)all * sizeof *x);
        for (int j = 0; j < all; j++) /* a body coil that sees all, and a voxel of zeros */
            x[j] = j % VOXELS ? 2 + random[j] : 0;
        OWNED(larmor_array) *maps = complex_array(LARMOR_C128, LARMOR_SHAPE(12, 5, COILS, sets), x), *of_one = NULL;
        if (sets == 1) assert_ok(larmor_array_reshape(maps, LARMOR_SHAPE(12, 5, COILS), &of_one));
        assert_ok(larmor_maps_normalise(of_one ? of_one : maps, sets, mode[i % 3]));
        cplx *y = values_of(maps), factor = 1;
        double spread[2] = {1e9, 0};
        for (int v = 0; v < VOXELS; v++) {
            double sum = 0;
            cplx body = 0;
            for (int c = 0; c < COILS; c++) {
                sum += cabs(y[v + VOXELS * c]);
                body += y[v + VOXELS * c];
            }
            if (v == 0) assert_true(sum == 0);
            if (v == 0) continue;
            factor = y[v] / x[v];
            for (int j = v; j < all; j += VOXELS) assert_at_most(cabs(y[j] - factor * x[j]), 1e-12);
            assert_true(creal(factor) > 0 && fabs(cimag(factor)) < 1e-12);
            if (mode[i % 3] == LARMOR_NORMALISE_RSS) assert_at_most(cabs(factor - 1), 1e-15);
            if (mode[i % 3] == LARMOR_NORMALISE_SUM) assert_at_most(fabs(sum - sqrt(COILS)), 1e-12);
            spread[0] = fmin(spread[0], cabs(body));
            spread[1] = fmax(spread[1], cabs(body));
        }
        /* of coils that are nearly alike the dominant combination is nearly their mean */
        if (mode[i % 3] == LARMOR_NORMALISE_BODY) assert_at_most(spread[1] / spread[0], 1.1);
        free(y);
    }
}
