/* scan/cartesian.c and partial.c: scans whose samples are on the grid. SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "tests/pipeline/scan.h"

/* ---- scans in memory ---- */

/* The scan of this trajectory; the phase is that of the image. */
static scan lines_scan(const larmor_traj_opts *lines, const larmor_phantom_phase *phase, double sigma)
{
    const int64_t *n = lines->matrix;
    const int nd = n[2] > 1 ? 3 : 2;
    const larmor_shape image = larmor_shape_of(nd, n);
    scan s = {.arrays = {.matrix = {n[0], n[1], n[2]}, .trajectory = "cartesian", .images = 1}};
    assert_ok(larmor_phantom_create("shepp-logan", nd, &s.phantom));
    assert_ok(larmor_phantom_bandlimited_phase(s.phantom, phase, dev, LARMOR_C64, image, &s.truth));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, image, NULL, COILS, &s.maps));
    assert_ok(larmor_traj_create(dev, "cartesian", lines, &s.image[0].traj));
    assert_ok(larmor_phantom_kspace_phase(s.phantom, s.image[0].traj, phase, COILS, LARMOR_C64, &s.image[0].kspace));
    if (sigma > 0) assert_ok(larmor_phantom_noise(s.image[0].kspace, sigma, 1));
    return s;
}

static const larmor_phantom_phase none = {0, {0}};

/* Each coil's transform by a NUFFT in double precision, combined by the maps. */
static larmor_array *combined(const scan *s, larmor_shape image)
{
    OWN(larmor_array, *maps, larmor_array_convert(s->maps, LARMOR_C128, &maps));
    OWN(larmor_array, *kspace, larmor_array_convert(s->image[0].kspace, LARMOR_C128, &kspace));
    larmor_array *x = MADE(larmor_array, larmor_array_create(dev, LARMOR_C128, image, &made));
    OWN(larmor_array, *moved,
        larmor_traj_delay(s->image[0].traj, (double[6]){1e-9}, NULL, &moved)); /* off the grid for the operator */
    const larmor_sense_opts opts = {.traj = moved, .nufft_tol = 1e-10, .toeplitz = -1};
    OWN(larmor_op, *A, larmor_op_sense(maps, &opts, &A));
    assert_string_not_equal(larmor_op_name(A), "sense-cartesian");
    assert_ok(larmor_op_adjoint(A, kspace, x));
    assert_ok(larmor_divide_by_energy(maps, x));
    return x;
}

TEST(a_fully_sampled_image_is_the_fft_of_each_coil_combined)
{
    const larmor_traj_opts lines[] = {{.matrix = {32, 24}}, {.matrix = {31, 27}}, {.matrix = {12, 11, 10}}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const larmor_shape image = larmor_shape_of(lines[i].matrix[2] > 1 ? 3 : 2, lines[i].matrix);
        OWNED(scan) s = lines_scan(&lines[i], &none, 1e-3);
        const larmor_recon_opts opts = KNOWN(.method = "cg", .maps = s.maps);
        OWNED(larmor_recon_result) result = result_of(&s, &opts);
        OWNED(larmor_array) *expected = combined(&s, image), *wide;
        assert_ok(larmor_array_convert(result.image[0].data, LARMOR_C128, &wide));
        assert_at_most(difference(wide, expected), 1e-6);
        assert_int_equal(result.report.direct, 1);
        assert_int_equal(result.report.ffts, 1);
        assert_int_equal(result.report.lambda_from, LARMOR_LAMBDA_NONE);
    }
}

TEST(undersampled_images_are_those_of_nuffts)
{
    const larmor_traj_opts lines[] = {{.matrix = {32, 32}, .acceleration = {2}, .calibration = {8}},
                                      {.matrix = {12, 12, 12}, .acceleration = {2, 2}, .calibration = {4, 4}}};
    const char *const methods[] = {"cg", "tv"};
    for (int i = 0; i < of_all(3, 4); i++) {
        OWNED(scan) s = lines_scan(&lines[i / 2], &none, 1e-3), off = lines_scan(&lines[i / 2], &none, 1e-3);
        larmor_array_free(off.image[0].traj);
        assert_ok(larmor_traj_delay(s.image[0].traj, (double[6]){2e-3}, NULL, &off.image[0].traj));
        const larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = methods[i % 2], .iters = 40, .lambda = 1e-3,
                                             .lambda_mode = LARMOR_LAMBDA_RELATIVE);
        larmor_recon_opts other = opts;
        other.maps = off.maps;
        OWNED(larmor_recon_result) x = result_of(&s, &opts), y = result_of(&off, &other);
        assert_int_equal(x.report.ffts, 1);
        assert_int_equal(x.report.direct, 0);
        assert_int_equal(y.report.ffts, 0);
        assert_at_most(difference(x.image[0].data, y.image[0].data), 0.02);
    }
}

/* ---- partial Fourier ---- */

/* The least |a x - y| / |y| over all factors a, as in larmor compare. */
static double nrmse(const larmor_array *x, const larmor_array *y)
{
    double own, other, product[2];
    assert_ok(larmor_nrm2(x, &own));
    assert_ok(larmor_nrm2(y, &other));
    assert_ok(larmor_dot(x, y, product));
    return sqrt(fmax(0, 1 - pow(hypot(product[0], product[1]) / (own * other), 2)));
}

/* There, samples do not predict each other, and a weight would scale the image alone. */
TEST(one_coil_on_the_grid_gives_its_fft_and_no_warnings)
{
    const larmor_traj_opts lines[] = {{.matrix = {32, 32}, .acceleration = {2}},
                                      {.matrix = {32, 32}, .partial_fourier = .75}};
    for (int i = 0; i < 2; i++) {
        char line[256];
        OWNED(scan) s = lines_scan(&lines[i], &none, 1e-3);
        larmor_op *F;
        OWN(larmor_array, *alone, larmor_phantom_kspace(s.phantom, s.image[0].traj, 0, LARMOR_C64, &alone));
        assert_ok(larmor_phantom_noise(alone, 3e-4, 1));
        larmor_array_free(s.image[0].kspace);
        const larmor_shape shape = larmor_array_shape(alone);
        assert_ok(larmor_array_reshape(alone, larmor_shape_append(shape, 1), &s.image[0].kspace));
        const larmor_recon_opts opts = KNOWN(.method = "cg");
        OWNED(larmor_recon_result) result = result_of(&s, &opts);
        assert_int_equal(larmor_recon_warning(&result.report, 0, line, sizeof line), 0);
        assert_int_equal(result.report.lambda_from, i ? LARMOR_LAMBDA_FROM_NOISE : LARMOR_LAMBDA_NONE);
        if (!i) {
            const larmor_nufft_opts fourier = {.ndim = 2, .modes = {32, 32}};
            assert_ok(larmor_op_cartesian(dev, &fourier, s.image[0].traj, &F));
            OWN(larmor_array, *x, larmor_array_create(dev, LARMOR_C64, larmor_shape_of(2, lines[i].matrix), &x));
            assert_ok(larmor_op_adjoint(F, alone, x));
            double size, own;
            assert_ok(larmor_nrm2(x, &size));
            assert_ok(larmor_nrm2(result.image[0].data, &own));
            assert_at_most(nrmse(x, result.image[0].data), 1e-4);
            assert_at_most(fabs(own / size - 1), 2e-3);
            larmor_op_free(F);
        }
    }
}

/* Lines that are shifted along themselves are as orthogonal as those on the grid: samples held out of one coil
 * have nothing to be predicted by, and a weight chosen by them was .8 of the largest eigenvalue, which took 45 %
 * off the image. */
TEST(one_coil_beside_the_grid_keeps_its_intensity)
{
    double norm[2];
    OWNED(scan) s = lines_scan(&(larmor_traj_opts){.matrix = {32, 32}}, &none, 0);
    larmor_array *moved = MADE(larmor_array, larmor_traj_delay(s.image[0].traj, (double[6]){0.2}, NULL, &made));
    OWN(larmor_array, *alone, larmor_phantom_kspace(s.phantom, moved, 0, LARMOR_C64, &alone));
    assert_ok(larmor_phantom_noise(alone, 3e-4, 1));
    LMR_FREE(s.image[0].traj, s.image[0].kspace);
    s.image[0].traj = moved;
    assert_ok(larmor_array_reshape(alone, larmor_shape_append(larmor_array_shape(alone), 1), &s.image[0].kspace));
    const larmor_recon_opts opts[] = {KNOWN(.method = "cg"),
                                      KNOWN(.method = "cg", .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-4)};
    for (int i = 0; i < 2; i++) {
        OWNED(larmor_recon_result) result = result_of(&s, &opts[i]);
        if (!i) assert_int_equal(result.report.lambda_from, LARMOR_LAMBDA_NONE);
        assert_ok(larmor_nrm2(result.image[0].data, &norm[i]));
    }
    assert_at_most(fabs(norm[0] / norm[1] - 1), 0.03);
}

/* As echo-planar lines of one coil have them: about as many samples as voxels, beside the grid, some of the lines. */
static scan jittered_lines(int lines, double jitter)
{
    enum { SIDE = 32 };
    scan s = lines_scan(&(larmor_traj_opts){.matrix = {SIDE, SIDE}}, &none, 0);
    larmor_readouts *r = &s.image[0];
    uint32_t state = 1;
    OWN_MEMORY(double, *points, larmor_array_download(r->traj, LARMOR_F64, &points));
    LMR_FREE(r->traj, r->kspace);
    for (int i = 0; i < 2 * SIDE * SIDE; i++) {
        state = state * 1664525U + 1013904223U;
        points[i] = fmax(-SIDE / 2, fmin(SIDE / 2, points[i] + jitter * (state / 4294967296.0 - 0.5)));
    }
    const larmor_shape some = LARMOR_SHAPE(2, SIDE, lines);
    double *from = points + (int64_t)2 * SIDE * (SIDE - lines) / 2; /* those about the centre */
    assert_ok(larmor_array_create(dev, LARMOR_F64, some, &r->traj));
    assert_ok(larmor_array_write(r->traj, from, larmor_array_bytes(r->traj)));
    OWN(larmor_array, *alone, larmor_phantom_kspace(s.phantom, r->traj, 0, LARMOR_C64, &alone));
    assert_ok(larmor_phantom_noise(alone, 3e-4, 1));
    assert_ok(larmor_array_reshape(alone, larmor_shape_append(larmor_array_shape(alone), 1), &r->kspace));
    return s;
}

/* Held-out samples of one coil are hardly predicted by as few others as there are voxels, which says nothing of the
 * intensity of an image that has all of them. */
TEST(one_coil_with_as_many_samples_as_voxels_has_no_intensity_by_held_out_samples)
{
    static const struct {
        int lines;
        double jitter;
        int is_full;
    } cases[] = {{32, 0.8, 1}, {20, 1.6, 0}}; /* of 32 lines */
    const larmor_recon_opts opts = KNOWN(.method = "cg");
    for (int i = 0; i < 2; i++) {
        OWNED(scan) s = jittered_lines(cases[i].lines, cases[i].jitter);
        OWNED(larmor_recon_result) result = result_of(&s, &opts);
        assert_int_equal(result.report.lambda_from, LARMOR_LAMBDA_FROM_DATA);
        assert_int_equal(result.report.choice.intensity > 0, !cases[i].is_full);
    }
}

static const larmor_phantom_phase smooth = {1, {0.5, 0.5, 0}}, rough = {2.5, {1.5, 2, 0}};

static double error_with(const scan *s, larmor_partial_fourier how, larmor_partial_fourier *done)
{
    const larmor_recon_opts opts = KNOWN(.method = "cg", .maps = s->maps, .partial_fourier = how);
    OWNED(larmor_recon_result) result = result_of(s, &opts);
    const double error = nrmse(result.image[0].data, s->truth);
    char line[512];
    *done = result.report.partial_fourier;
    assert_int_equal(larmor_recon_warning(&result.report, 0, line, sizeof line) != 0, *done == LARMOR_PARTIAL_ZERO);
    return error;
}

TEST(half_the_lines_and_more_are_nearly_as_good_as_all)
{
    static const struct {
        int64_t matrix[3];
        int R;
        double part, sigma; /* of 5e-5 the image's signal-to-noise ratio is about 100 */
    } cases[] = {{{32, 64}, 1, 0.625, 2e-4}, {{32, 64}, 1, 0.625, 5e-5}, {{32, 64}, 2, 0.625, 5e-5},
                 {{32, 48}, 1, 0.75, 5e-5},  {{32, 48}, 1, 0.875, 0},    {{12, 32, 12}, 1, 0.75, 0}};
    for (int c = of_all(1, 0); c < of_all(3, sizeof cases / sizeof *cases); c++) {
        const int64_t *n = cases[c].matrix;
        const int R = cases[c].R;
        larmor_traj_opts all = {.matrix = {n[0], n[1], n[2]}, .acceleration = {R}, .calibration = {R > 1 ? 16 : 0}};
        larmor_traj_opts part = all;
        larmor_partial_fourier done;
        part.partial_fourier = cases[c].part;
        scan s = lines_scan(&all, &smooth, cases[c].sigma);
        const double whole = error_with(&s, LARMOR_PARTIAL_AUTO, &done);
        assert_int_equal(done, LARMOR_PARTIAL_AUTO);
        end_scan(&s);
        s = lines_scan(&part, &smooth, cases[c].sigma);
        const double filled = error_with(&s, LARMOR_PARTIAL_AUTO, &done);
        assert_int_equal(done, LARMOR_PARTIAL_HOMODYNE);
        const double zero = error_with(&s, LARMOR_PARTIAL_ZERO, &done);
        assert_int_equal(done, LARMOR_PARTIAL_ZERO);
        assert_at_most(filled, 1.15 * whole);
        assert_at_most(filled, zero / 1.5);
        if (c < 2) {
            const double projected = error_with(&s, LARMOR_PARTIAL_POCS, &done);
            assert_int_equal(done, LARMOR_PARTIAL_POCS);
            assert_at_most(projected, 1.4 * whole);
        }
        end_scan(&s);
    }
}

/* With noise homodyne, also where the shorter side has 3 lines; without it projections, where the phase is rough. */
TEST(the_way_that_is_taken_is_nearly_the_best)
{
    static const struct {
        double part, sigma;
        const larmor_phantom_phase *phase;
        larmor_partial_fourier taken;
    } cases[] = {{0.5625, 4e-4, &smooth, LARMOR_PARTIAL_HOMODYNE},
                 {0.75, 0, &rough, LARMOR_PARTIAL_POCS},
                 {0.75, 4e-4, &smooth, LARMOR_PARTIAL_HOMODYNE},
                 {0.75, 1.5e-3, &rough, LARMOR_PARTIAL_HOMODYNE}};
    static const larmor_partial_fourier ways[] = {LARMOR_PARTIAL_HOMODYNE, LARMOR_PARTIAL_POCS, LARMOR_PARTIAL_ZERO};
    for (int c = 0; c < of_all(2, sizeof cases / sizeof *cases); c++) {
        const larmor_traj_opts part = {.matrix = {32, 48}, .partial_fourier = cases[c].part};
        larmor_partial_fourier done;
        double best = INFINITY;
        OWNED(scan) s = lines_scan(&part, cases[c].phase, cases[c].sigma);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) best = fmin(best, error_with(&s, ways[w], &done));
        const double error = error_with(&s, LARMOR_PARTIAL_AUTO, &done);
        assert_int_equal(done, cases[c].taken);
        assert_at_most(error, 1.1 * best);
    }
}

TEST(what_the_methods_cannot_do_is_refused)
{
    const larmor_traj_opts lines = {.matrix = {16, 16}};
    OWNED(scan) s = lines_scan(&lines, &none, 0);
    larmor_recon *recon;
    larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = "tv", .partial_fourier = LARMOR_PARTIAL_POCS);
    assert_refused(
        try_recon(&s, &opts, &recon), LARMOR_ERR_ARG,
        "opts.partial_fourier pocs: has no effect with opts.method tv; it is an option of opts.method auto and cg.");
    opts.method = "grid";
    opts.partial_fourier = LARMOR_PARTIAL_HOMODYNE;
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_ARG,
                   "opts.partial_fourier homodyne: has no effect with opts.method grid");
}

/* ---- scans in files ---- */

enum { LINES = 24 };

/* How a scan is stored. */
typedef struct store {
    int oversampling, reverse, averages, first; /* first: sample that is there */
    double noise;                               /* with the other sign in the other average */
} store;

static void append_line(larmor_raw_writer *w, const store *how, int64_t samples, const float *line, int step,
                        int average)
{
    const int64_t kept = samples - how->first;
    HEAP float *data = malloc(2 * sizeof *data * (size_t)(kept * COILS));
    uint64_t seed = (uint64_t)step + 1;
    const int turned = how->reverse && step % 2;
    assert_non_null(data);
    for (int64_t c = 0; c < COILS; c++)
        for (int64_t i = 0; i < kept; i++)
            for (int part = 0; part < 2; part++) {
                const int64_t from = turned ? samples - 1 - i : how->first + i;
                const double noise = how->noise * test_random(&seed) * (average ? -1 : 1);
                data[2 * (i + kept * c) + part] = line[2 * (from + samples * LINES * c) + part] + (float)noise;
            }
    const larmor_acquisition a = {.flags = turned ? LARMOR_ACQ_REVERSE : 0,
                                  .samples = (int)kept,
                                  .coils = COILS,
                                  .center_sample = (int)(samples / 2) - how->first,
                                  .step1 = step,
                                  .average = average,
                                  .read_dir = {1, 0, 0},
                                  .phase_dir = {0, 1, 0},
                                  .slice_dir = {0, 0, 1},
                                  .data = data};
    assert_ok(larmor_raw_append(w, &a));
}

static void write_scan(const char *path, const larmor_phantom *phantom, const store *how)
{
    const int64_t samples = (int64_t)N * how->oversampling;
    const larmor_scan scan_of_file = {.encoding = {.matrix = {samples, LINES, 1},
                                                   .recon_matrix = {N, LINES, 1},
                                                   .fov_mm = {10. * (double)samples, 10. * LINES, 5},
                                                   .recon_fov_mm = {10. * N, 10. * LINES, 5},
                                                   .trajectory = "cartesian",
                                                   .ndim = 2},
                                      .coils = COILS,
                                      .readouts = LINES,
                                      .averages = how->averages};
    HEAP double *k = malloc(2 * sizeof *k * (size_t)(samples * LINES));
    OWNED(larmor_array) *traj, *kspace;
    assert_non_null(k);
    for (int64_t i = 0; i < samples * LINES; i++) {
        k[2 * i] = (double)(i % samples - samples / 2) / how->oversampling;
        k[2 * i + 1] = (double)(i / samples - LINES / 2);
    }
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, samples, LINES), LARMOR_F64, k, &traj));
    assert_ok(larmor_phantom_kspace(phantom, traj, COILS, LARMOR_C64, &kspace));
    assert_ok(larmor_axpby(1. / how->oversampling, kspace, 0, kspace)); /* density in the encoded field of view */
    OWN_MEMORY(float, *values, larmor_array_download(kspace, LARMOR_C64, &values));
    OWN(larmor_output, *out, larmor_output_open(path, 1, &out));
    OWN(larmor_raw_writer, *w, larmor_raw_create(out, &scan_of_file, &w));
    for (int average = 0; average < how->averages; average++)
        for (int step = 0; step < LINES; step++)
            append_line(w, how, samples, values + 2 * samples * step, step, average);
    assert_ok(larmor_raw_finish(w));
}

static larmor_array *image_of_file(const larmor_phantom *phantom, const store *how, const larmor_recon_opts *opts,
                                   larmor_recon_report *report)
{
    char folder[] = "/tmp/larmor-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/scan.h5", folder);
    write_scan(path, phantom, how);
    OWN(larmor_raw, *raw, larmor_raw_open(path, NULL, &raw));
    larmor_source *source = MADE(larmor_source, larmor_source_of_raw(raw, "scan", &made));
    larmor_recon *recon = MADE(larmor_recon, larmor_recon_create(source, dev, opts, &made));
    OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
    larmor_array *image = larmor_array_ref(result.image[0].data);
    *report = result.report;
    larmor_recon_free(recon);
    larmor_source_free(source);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    return image;
}

TEST(storage_does_not_show_in_the_image)
{
    const struct {
        store how;
        double most;
    } cases[] = {
        {{.oversampling = 1, .averages = 1, .reverse = 1}, 1e-6},
        {{.oversampling = 1, .averages = 2, .noise = 0.01}, 1e-5},
        {{.oversampling = 2, .averages = 1},
         0.03}, /* of the ringing of an object that ends at once, beyond the image */
        {{.oversampling = 3, .averages = 1, .reverse = 1}, 0.03},
        {{.oversampling = 2, .averages = 1, .first = 24}, 0.12}, /* 8 of 32 samples before the centre */
    };
    const store simple = {.oversampling = 1, .averages = 1};
    OWNED(larmor_array) *maps;
    larmor_recon_report report;
    OWN(larmor_phantom, *phantom, larmor_phantom_create("texture", 2, &phantom));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(N, LINES), NULL, COILS, &maps));
    const larmor_recon_opts opts = KNOWN(.method = "cg", .maps = maps);
    OWNED(larmor_array) *plain = image_of_file(phantom, &simple, &opts, &report);
    assert_int_equal(report.direct, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(larmor_array) *image = image_of_file(phantom, &cases[i].how, &opts, &report);
        assert_at_most(difference(image, plain), cases[i].most);
        assert_int_equal(report.ffts, 1);
        assert_int_equal(report.grid[0], N);
        assert_int_equal(report.direct, cases[i].how.first == 0);
    }
}

/* Voxels of 5 mm of readouts whose samples are 10 mm of 640 mm: the object reaches beyond the smaller image, whose
 * readouts cannot be cropped to it before what lies between samples is computed. */
TEST(an_image_of_a_part_is_that_part_of_the_image)
{
    static const store twice = {.oversampling = 2, .averages = 1};
    const larmor_recon_opts part = KNOWN(.method = "grid", .matrix = {40, 40}, .fov_mm = {200, 200});
    const larmor_recon_opts all = KNOWN(.method = "grid", .matrix = {64, 48}, .fov_mm = {320, 240});
    larmor_recon_report report;
    OWN(larmor_phantom, *phantom, larmor_phantom_create("texture", 2, &phantom));
    OWNED(larmor_array) *image = image_of_file(phantom, &twice, &part, &report);
    OWNED(larmor_array) *whole = image_of_file(phantom, &twice, &all, &report);
    OWN(larmor_array, *expected, larmor_crop(whole, LARMOR_SHAPE(40, 40), 1, &expected));
    assert_at_most(difference(image, expected), 1e-5);
}
