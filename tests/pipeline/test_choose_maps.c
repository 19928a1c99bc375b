/* pipeline/choose_maps.c: whatever the trajectory, the maps that `auto` chooses give images near those of the true
 * maps. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "tests/pipeline/scan.h"

enum { MATRIX = 48, MATRIX_3D = 16, RING = 8 };

typedef struct scene {
    const char *trajectory, *phantom;
    larmor_traj_opts traj;
    double sigma; /* of the noise */
    const char *said;
    double most; /* of the error, in units of that with the true maps */
} scene;

static int is_volume(const scene *c)
{
    return !strcmp(c->trajectory, "koosh") || !strcmp(c->trajectory, "stars") || c->traj.calibration[1];
}

/* Of a line's time, what its gradient takes to rise, and to fall, while samples are taken. */
#define RAMP .3

/* Where along a line, from 0 to 1, a sample at time t of it lies. */
static double along_line(double t)
{
    const double all = 1 - RAMP;
    if (t < RAMP) return t * t / (2 * RAMP) / all;
    return t > all ? 1 - (1 - t) * (1 - t) / (2 * RAMP) / all : (t - RAMP / 2) / all;
}

static void sample_on_ramps(larmor_array **traj)
{
    const larmor_shape shape = larmor_array_shape(*traj);
    const int64_t nd = shape.dim[0], n = shape.dim[1], points = larmor_shape_count(shape) / nd;
    HEAP double *k = (double *)host_of(*traj);
    for (int64_t i = 0; i < points; i++)
        k[nd * i] = (double)n * (along_line(((double)(i % n) + .5) / (double)n) - .5);
    assert_ok(larmor_array_write(*traj, k, larmor_array_bytes(*traj)));
}

/* lines: those in the centre alone; 0: all. The scene may have sides of its own. */
static scan scan_of_scene(const scene *c, int64_t lines)
{
    const int nd = is_volume(c) ? 3 : 2;
    const int64_t usual = nd > 2 ? MATRIX_3D : MATRIX;
    const int64_t n = c->traj.matrix[0] ? c->traj.matrix[0] : usual;
    const int64_t planes = c->traj.matrix[2] ? c->traj.matrix[2] : n;
    const int64_t side[3] = {n, c->traj.matrix[1] ? c->traj.matrix[1] : n, nd > 2 ? planes : 0};
    const larmor_shape image = larmor_shape_of(nd, side);
    larmor_traj_opts opts = c->traj;
    const int ramps = !strcmp(c->trajectory, "epi");
    scan s = {.arrays = {.trajectory = c->trajectory, .images = 1}};
    memcpy(s.arrays.matrix, side, sizeof side);
    memcpy(opts.matrix, side, sizeof side);
    assert_ok(larmor_phantom_create(c->phantom, nd, &s.phantom));
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, image, &s.truth));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, image, NULL, RING, &s.maps));
    assert_ok(larmor_traj_create(dev, ramps ? "cartesian" : c->trajectory, &opts, &s.image[0].traj));
    if (ramps) sample_on_ramps(&s.image[0].traj);
    if (lines) {
        OWNED(larmor_array) *all = s.image[0].traj;
        assert_ok(larmor_array_slice(all, (MATRIX - lines) / 2, lines, &s.image[0].traj));
    }
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, RING, LARMOR_C64, &s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, c->sigma, 1));
    return s;
}

/* How far the magnitude of the image is from the phantom's, both with the coils' root sum of squares. */
static double error_with(const scan *s, const larmor_recon_opts *opts)
{
    OWNED(larmor_recon_result) result = result_of(s, opts);
    larmor_array *x = result.image[0].data;
    OWN(larmor_array, *shaded, larmor_array_create(dev, LARMOR_C64, larmor_array_shape(s->truth), &shaded));
    assert_ok(larmor_root_sum_of_squares(s->maps, shaded));
    if (opts->maps) assert_ok(larmor_mul(shaded, 0, x));
    assert_ok(larmor_mul(s->truth, 0, shaded));
    assert_ok(larmor_abs(shaded, shaded));
    assert_ok(larmor_abs(x, x));
    return difference(x, shaded);
}

/* of_walsh: the most of the error, in units of that with Walsh's maps; 0: it is not compared. */
static void expect_nearly_the_true_maps_of_lines(const scene *c, int64_t lines, double of_walsh)
{
    notes n = {.text = ""};
    OWNED(scan) s = scan_of_scene(c, lines);
    const larmor_recon_opts given = KNOWN(.method = "cg", .maps = s.maps),
                            opts = KNOWN(.method = "cg", .listener = take_note, .user = &n);
    const double best = error_with(&s, &given), own = error_with(&s, &opts);
    print_message("%s, %s: %.4f with the true maps, %.4f with these\n", c->trajectory, c->phantom, best, own);
    assert_at_most(own, c->most * best);
    assert_noted(n, c->said);
    if (strstr(c->said, "ESPIRiT")) assert_null(strstr(n.text, "cannot be trusted"));
    if (!of_walsh) return;
    const larmor_recon_opts walsh = KNOWN(.method = "cg", .maps_method = "walsh");
    const double by_walsh = error_with(&s, &walsh);
    print_message("%.4f with Walsh's\n", by_walsh);
    assert_at_most(own, of_walsh * by_walsh);
}

static void expect_nearly_the_true_maps(const scene *c)
{
    expect_nearly_the_true_maps_of_lines(c, 0, 0);
}

static const char by_inversion[] = "L:coil maps: by nonlinear inversion, as the centre of k-space is undersampled";

static const char by_inversion_of_samples[] =
    "L:coil maps: by nonlinear inversion, as samples of a readout are 1.33/FOV apart";

TEST(arms_of_a_spiral_that_miss_every_second_turn_are_inverted)
{
    const scene c = {"spiral", "shepp-logan", {.undersampling = 2}, 2e-4, by_inversion, 1.15};
    expect_nearly_the_true_maps(&c);
}

TEST(a_matrix_of_two_voxels_along_an_axis_is_inverted)
{
    const char *said = "L:coil maps: by nonlinear inversion, as fewer than 3 voxels along an axis";
    const scene c = {"radial", "shepp-logan", {.matrix = {MATRIX, 2}, .readouts = 2 * MATRIX}, 2e-4, said, 1.15};
    expect_nearly_the_true_maps(&c);
}

TEST(arms_that_are_denser_in_the_centre_are_inverted_where_that_is_not_dense_enough)
{
    const scene c = {"spiral", "texture", {.undersampling = 3, .density = 1.5}, 2e-4, by_inversion, 1.15};
    expect_nearly_the_true_maps(&c);
}

/* The second set has nothing to explain. By chance it may be the one that explains all. */
TEST(two_sets_of_an_inversion_give_the_image_of_one)
{
    static const char *const methods[] = {"grid", "cg"};
    static const double most[] = {1.25,
                                  1.1}; /* sets that share an image are not orthogonal, as gridding takes them */
    const scene c = {"golden", "shepp-logan", {.matrix = {32, 32}, .readouts = 60}, 2e-4, NULL, 1};
    OWNED(scan) s = scan_of_scene(&c, 0);
    for (int i = 0; i < 2; i++) {
        const larmor_recon_opts one = KNOWN(.method = methods[i], .maps_method = "nlinv"),
                                two = KNOWN(.method = methods[i], .maps_method = "nlinv", .map_sets = 2);
        const double of_one = error_with(&s, &one), of_two = error_with(&s, &two);
        print_message("%s: %.4f of one set, %.4f of two\n", methods[i], of_one, of_two);
        assert_at_most(of_two, most[i] * of_one);
    }
}

/* Shares of cos and sin have the image of one set at the same weight: the one that is chosen is much the same. */
TEST(the_weight_of_cg_does_not_depend_on_how_two_sets_share_an_object)
{
    enum { SIDE = 32 };
    const scene c = {"golden", "shepp-logan", {.matrix = {SIDE, SIDE}, .readouts = 30}, 1e-3, NULL, 1};
    OWNED(scan) s = scan_of_scene(&c, 0);
    const int64_t count = larmor_array_count(s.maps);
    HEAP float complex *map = host_of(s.maps);
    HEAP NEW(float complex, both, 2 * count);
    for (int64_t i = 0; i < count; i++) {
        const float share = (float)M_PI / 2 * (float)(i % SIDE) / SIDE;
        both[i] = map[i] * cosf(share);
        both[i + count] = map[i] * sinf(share);
    }
    const larmor_shape shape = larmor_shape_append(larmor_array_shape(s.maps), 2);
    OWN(larmor_array, *sets, larmor_array_upload(dev, LARMOR_C64, shape, LARMOR_C64, both, &sets));
    const larmor_recon_opts one = KNOWN(.method = "cg", .maps = s.maps, .oversample = {1}),
                            two = KNOWN(.method = "cg", .maps = sets, .map_sets = 2, .oversample = {1});
    OWNED(larmor_recon_result) of_one = result_of(&s, &one), of_two = result_of(&s, &two);
    const double ratio = of_two.report.weight / of_one.report.weight;
    print_message("weight of two sets over that of one: %.3f\n", ratio);
    assert_true(ratio > 0.8 && ratio < 1.25);
    assert_int_equal(of_two.report.lambda_from, LARMOR_LAMBDA_FROM_DATA);
}

/* In the plane and, where only a few spokes are looked at, in a volume. */
TEST(spokes_whose_samples_are_further_apart_than_the_field_of_view_allows_are_inverted)
{
    const scene scenes[] = {
        {"golden", "shepp-logan", {.readouts = 75, .samples = 36}, 2e-4, by_inversion_of_samples, 1.15},
        {"koosh",
         "shepp-logan",
         {.matrix = {12, 12, 12}, .readouts = 200, .samples = 9},
         2e-4,
         by_inversion_of_samples,
         1.15}};
    for (int i = 0; i < 2; i++) expect_nearly_the_true_maps(&scenes[i]);
}

/* Of the field of view .7 are free of copies, and the object ends there. */
TEST(lines_that_are_sampled_on_ramps_are_inverted_where_their_middle_is_sampled_too_far_apart)
{
    const char *said = "L:coil maps: by nonlinear inversion, as samples of a readout are 1.43/FOV apart";
    const scene c = {"epi", "shepp-logan", {.matrix = {32, 32}}, 1e-3, said, 1.1};
    expect_nearly_the_true_maps_of_lines(&c, 0, 0.9);
}

static const char by_missing_lines[] =
    "L:coil maps: by nonlinear inversion, as lines beside the centre of k-space are missing";

TEST(every_second_line_without_calibration_lines_is_inverted)
{
    const scene c = {"cartesian", "shepp-logan",    {.matrix = {64, 64}, .acceleration = {2, 1}},
                     2e-4,        by_missing_lines, 1.4};
    expect_nearly_the_true_maps(&c);
}

/* Differences along lines have several times the noise. */
TEST(the_noise_of_lines_that_leave_others_out_is_that_by_which_they_predict_each_other)
{
    for (double sigma = 1e-5; sigma > 5e-7; sigma /= 10) {
        const scene c = {"cartesian", "shepp-logan", {.acceleration = {2, 1}}, sigma, NULL, 0};
        OWNED(scan) s = scan_of_scene(&c, 0);
        notes n = {.text = ""};
        const larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = "tv", .listener = take_note, .user = &n);
        OWNED(larmor_recon_result) result = result_of(&s, &opts);
        const larmor_recon_report *r = &result.report;
        assert_at_most(fabs(r->noise / sigma - 1), 0.2);
        assert_true(r->misfit.noise_excess > 2);
        assert_noted(n, "a sample: samples beside each other have signal in their differences, which say");
    }
}

/* The second takes its weight of the first. */
TEST(images_that_share_a_weight_share_the_noise_of_their_lines)
{
    const scene c = {"cartesian", "shepp-logan", {.acceleration = {2, 1}}, 1e-5, NULL, 0};
    OWNED(scan) s = scan_of_scene(&c, 0);
    scan two = s;
    larmor_recon_result first, second;
    two.arrays.images = 2;
    two.image[1] = s.image[0];
    two.image[1].meta.repetition = 1;
    OWNED(larmor_recon) *recon = run_of(&two, &KNOWN(.maps = s.maps, .method = "tv"), &first);
    assert_ok(larmor_recon_run(recon, 1, &second));
    assert_int_equal(first.report.lambda_from, LARMOR_LAMBDA_FROM_DATA);
    assert_int_equal(second.report.lambda_from, LARMOR_LAMBDA_FROM_SCAN);
    assert_at_most(fabs(second.report.noise / first.report.noise - 1), 1e-6);
}

/* All lines but that at k. */
static scan scan_without_line(int k)
{
    const scene c = {"cartesian", "shepp-logan", {.readouts = 0}, 2e-4, NULL, 0};
    scan s = scan_of_scene(&c, 0);
    larmor_readouts *r = &s.image[0];
    HEAP double *places = malloc(sizeof *places * 2 * MATRIX * (MATRIX - 1));
    for (int i = 0; i < MATRIX * (MATRIX - 1); i++) {
        const int line = i / MATRIX - MATRIX / 2;
        places[2 * i] = i % MATRIX - MATRIX / 2;
        places[2 * i + 1] = line < k ? line : line + 1;
    }
    LMR_FREE(r->kspace, r->traj);
    assert_ok(
        larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, MATRIX, MATRIX - 1), LARMOR_F64, places, &r->traj));
    assert_ok(larmor_phantom_kspace(s.phantom, r->traj, RING, LARMOR_C64, &r->kspace));
    assert_ok(larmor_phantom_noise(r->kspace, c.sigma, 1));
    return s;
}

/* Maps from the lines on the other side of the centre have holes. */
TEST(a_line_missing_beside_the_centre_leaves_maps_near_the_true_ones)
{
    const int k[] = {-1, -2, 1};
    for (int i = 0; i < of_all(1, 3); i++) {
        notes n = {.text = ""};
        OWNED(scan) s = scan_without_line(k[i]);
        const larmor_recon_opts given = KNOWN(.method = "cg", .maps = s.maps);
        const larmor_recon_opts opts = OPTS(.method = "cg", .listener = take_note, .user = &n);
        const double best = error_with(&s, &given), own = error_with(&s, &opts);
        print_message("without k = %d: %.4f with the true maps, %.4f with these\n", k[i], best, own);
        assert_at_most(own, 2 * best);
        assert_noted(n, "L:coil maps: by nonlinear inversion, as lines beside the centre of k-space are missing");
    }
}

/* Every second line, of which so many in the middle are all there. */
static larmor_recon_report report_of_lines(int coils, int64_t step, int64_t calibration, double sigma, notes *n)
{
    OWNED(scan) s = {.arrays = {.matrix = {N, N}, .trajectory = "cartesian", .images = 1}};
    const larmor_traj_opts lines = {.matrix = {N, N}, .acceleration = {step, 1}, .calibration = {calibration, 0}};
    const larmor_recon_opts opts = OPTS(.listener = take_note, .user = n);
    assert_ok(larmor_phantom_create("shepp-logan", 2, &s.phantom));
    assert_ok(larmor_traj_create(dev, "cartesian", &lines, &s.image[0].traj));
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, coils, LARMOR_C64, &s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, sigma, 1));
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    return result.report;
}

/* They hold to half what smooth maps of another phase explain as well. */
TEST(maps_of_every_second_line_are_not_trusted_without_calibration_lines)
{
    for (int coils = 4; coils <= of_all(4, 8); coils *= 2)
        for (int noisy = 0; noisy < 2; noisy++) {
            notes n = {.text = ""}, unused = {.text = ""};
            const larmor_recon_report none = report_of_lines(coils, 2, 0, noisy ? 2e-3 : 1e-5, &n);
            assert_noted(n, "coil maps cannot be trusted: only 49 % of the centre of k-space");
            assert_int_equal(none.maps.warning, LARMOR_MAPS_UNDERSAMPLED);
            assert_int_equal(none.folded, 0);
            const larmor_recon_report some = report_of_lines(coils, 2, 12, noisy ? 2e-3 : 1e-5, &unused);
            assert_int_equal(some.maps.warning, LARMOR_MAPS_TRUSTED);
        }
}

/* What one coil cannot tell apart is no object that is too large. */
TEST(lines_of_one_coil_that_are_far_apart_have_a_warning_of_their_own)
{
    for (int64_t step = 1; step <= 3; step++)
        for (int64_t calibration = 0; calibration <= 8; calibration += 8) {
            notes n = {.text = ""};
            const larmor_recon_report report = report_of_lines(1, step, calibration, 1e-4, &n);
            const int apart = step > 1 && !calibration;
            char line[256];
            snprintf(line, sizeof line,
                     "lines are %d/FOV apart along y, which one coil cannot make up for: each place of the image has "
                     "those 1/%d of the field of view away folded in. Scan all lines, or with more coils.",
                     (int)step, (int)step);
            assert_int_equal(strstr(n.text, line) != NULL, apart);
            assert_int_equal(report.folded & (apart ? 2 : 0), 0);
            assert_null(strstr(n.text, "reaches beyond the field of view along y"));
        }
}

TEST(a_few_calibration_lines_are_enough_for_espirit)
{
    const char *said = "L:coil maps: by ESPIRiT, as lines are missing";
    const scene c = {"cartesian", "shepp-logan", {.acceleration = {3, 1}, .calibration = {8, 0}}, 2e-4, said, 1.3};
    expect_nearly_the_true_maps(&c);
}

/* Covariances of so few lines hold the noise of all coils. */
TEST(maps_of_a_short_block_of_lines_are_better_than_those_of_walsh)
{
    static const char said[] = "L:coil maps: by ESPIRiT, as lines are missing";
    const scene c = {"cartesian", "shepp-logan", {.acceleration = {1, 1}}, 4e-3, said, 1.15};
    for (int64_t lines = 12; lines <= of_all(12, 20); lines += 8)
        expect_nearly_the_true_maps_of_lines(&c, lines, 0.95);
}

/* The error of the magnitude in the tissue around the others, relative to it; both with the coils' root sum of
 * squares. */
static double error_in_dim_tissue(const scan *s, double density, const larmor_recon_opts *opts)
{
    OWNED(larmor_array) *shaded;
    OWNED(larmor_recon_result) result = result_of(s, opts);
    const int64_t voxels = larmor_array_count(s->truth);
    double wrong = 0, all = 0;
    assert_ok(larmor_array_create(dev, LARMOR_C64, larmor_array_shape(s->truth), &shaded));
    assert_ok(larmor_root_sum_of_squares(s->maps, shaded));
    HEAP float *x = host_of(result.image[0].data), *truth = host_of(s->truth), *rss = host_of(shaded);
    for (int64_t i = 0; i < voxels; i++) {
        const double here = hypot(truth[2 * i], truth[2 * i + 1]), want = here * rss[2 * i];
        if (!(here > 0.8 * density && here < 1.2 * density)) continue;
        wrong += pow(hypot(x[2 * i], x[2 * i + 1]) - want, 2);
        all += want * want;
    }
    assert_true(all > 0);
    return sqrt(wrong / all);
}

/* Lines of which every second one is left out, or those of one side, of tissues that another one is around. */
static scan scan_of_dim_tissue(double dim, int is_partial, double sigma)
{
    const double density[LARMOR_TISSUES] = {dim, dim, 1, 1, 1, 1};
    const larmor_shape image = LARMOR_SHAPE(MATRIX, MATRIX);
    const larmor_traj_opts half = {.matrix = {MATRIX, MATRIX}, .partial_fourier = 0.65};
    const larmor_traj_opts second = {.matrix = {MATRIX, MATRIX}, .acceleration = {2, 1}, .calibration = {20, 0}};
    scan s = {.arrays = {.matrix = {MATRIX, MATRIX}, .trajectory = "cartesian", .images = 1}};
    assert_ok(larmor_phantom_of_tissues(2, density, &s.phantom));
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, image, &s.truth));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, image, NULL, RING, &s.maps));
    assert_ok(larmor_traj_create(dev, "cartesian", is_partial ? &half : &second, &s.image[0].traj));
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, RING, LARMOR_C64, &s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, sigma, 1));
    return s;
}

/* Of 3 % of the others: its singular values are below the threshold, which no noise asks for. */
TEST(dim_tissue_is_not_cropped_where_lines_are_missing)
{
    for (int is_partial = 0; is_partial < 2; is_partial++) {
        OWNED(scan) s = scan_of_dim_tissue(0.03, is_partial, 2e-5);
        const double own = error_in_dim_tissue(&s, 0.03, &KNOWN(.method = "cg"));
        const double cropped = error_in_dim_tissue(&s, 0.03, &KNOWN(.method = "cg", .crop = LARMOR_CROP_HARD));
        print_message("%g, %g cropped\n", own, cropped);
        assert_at_most(own, 0.2);
        assert_true(cropped > 0.5); /* so that there was something to lose */
    }
}

/* The whole image, at three levels of noise. */
TEST(a_crop_by_noise_is_as_good_as_the_better_one_of_a_hard_crop_and_none)
{
    const double sigma[] = {2e-5, 4e-4, 4e-3};
    for (int i = 0; i < 3; i++) {
        OWNED(scan) s = scan_of_dim_tissue(0.03, 0, sigma[i]);
        const double own = error_with(&s, &KNOWN(.method = "cg"));
        const double hard = error_with(&s, &KNOWN(.method = "cg", .crop = LARMOR_CROP_HARD));
        const double none = error_with(&s, &KNOWN(.method = "cg", .crop = LARMOR_CROP_NONE));
        print_message("%g: %g, %g by a hard crop, %g by none\n", sigma[i], own, hard, none);
        assert_at_most(own, 1.1 * fmin(hard, none));
    }
}

/* Adds a Gaussian of this height at a corner to the samples of the first coil, which alone sees it. */
static void add_object_of_one_coil(scan *s, double height, double width, double at)
{
    larmor_array *kspace = s->image[0].kspace;
    const int64_t samples = larmor_array_count(s->image[0].traj) / 2;
    HEAP float *y = host_of(kspace);
    HEAP double *k = NULL;
    assert_ok(larmor_array_download(s->image[0].traj, LARMOR_F64, &k));
    for (int64_t i = 0; i < samples; i++) {
        const double kx = k[2 * i], ky = k[2 * i + 1], phase = -2 * M_PI * at * (kx + ky);
        const double size = height * 2 * M_PI * width * width * exp(-2 * pow(M_PI * width, 2) * (kx * kx + ky * ky));
        y[2 * i] += (float)(size * cos(phase));
        y[2 * i + 1] += (float)(size * sin(phase));
    }
    assert_ok(larmor_array_write(kspace, y, larmor_array_bytes(kspace)));
}

/* 2 % of the others: where a thousandth of the largest eigenvalue was the least, half of its height was left. */
TEST(an_object_that_one_coil_alone_sees_is_in_the_image)
{
    OWNED(scan) s = scan_of_dim_tissue(1, 0, 2e-6);
    const int64_t at = MATRIX / 2 + MATRIX * 7 / 16;
    const double sigma = 2e-6;
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(2000, RING), &s.arrays.noise));
    assert_ok(larmor_phantom_noise(s.arrays.noise, sigma, 7));
    add_object_of_one_coil(&s, 0.02, 0.02, 7. / 16);
    OWNED(larmor_recon_result) result = result_of(&s, &KNOWN(.method = "cg"));
    HEAP float *x = host_of(result.image[0].data);
    const double height = hypot(x[2 * (at + MATRIX * at)], x[2 * (at + MATRIX * at) + 1]) / 0.02;
    print_message("%g of its height\n", height);
    assert_in_range(100 * height, 80, 120);
}

static const char off_the_grid[] = "L:coil maps: by ESPIRiT, as readouts are off the grid";

TEST(maps_of_spokes_are_as_good_as_the_true_ones)
{
    const scene c = {"golden", "texture", {.undersampling = 4}, 2e-4, off_the_grid, 1.1};
    expect_nearly_the_true_maps(&c);
}

/* What folds along spokes of one sample a voxel is in the covariances of Walsh's neighbourhoods, and in no window. */
TEST(spokes_of_one_sample_a_voxel_have_better_maps_than_those_of_walsh)
{
    const scene c = {"golden", "shepp-logan", {.matrix = {64, 64}, .undersampling = 2, .samples = 64},
                     2e-4,     off_the_grid,  1.3};
    expect_nearly_the_true_maps_of_lines(&c, 0, 0.9);
}

TEST(maps_of_a_volume_whose_lines_are_missing_are_better_than_those_of_walsh)
{
    const larmor_traj_opts second = {.matrix = {20, 20, 20}, .acceleration = {2, 1}, .calibration = {12, 12}};
    const scene c = {"cartesian", "texture", second, 1e-5, "L:coil maps: ESPIRiT, calibration region", 1.2};
    expect_nearly_the_true_maps_of_lines(&c, 0, 0.9);
}

TEST(maps_of_volumes_are_better_than_those_of_walsh_and_as_good_as_the_true_ones)
{
    static const char said[] = "L:coil maps: ESPIRiT, calibration region";
    static const scene scenes[] = {
        {"koosh", "shepp-logan", {.matrix = {18, 18, 18}, .undersampling = 2, .samples = 18}, 1e-5, said, 1.1},
        {"koosh", "texture", {.matrix = {20, 20, 20}, .undersampling = 4}, 1e-5, said, 1.1},
    };
    const double of_walsh[] = {0.9, 0.8};
    for (int i = 0; i < of_all(1, 2); i++) expect_nearly_the_true_maps_of_lines(&scenes[i], 0, of_walsh[i]);
}

TEST(a_small_region_of_a_volume_that_is_as_sampled_has_maps_by_espirit_without_a_warning)
{
    const larmor_traj_opts few = {.matrix = {20, 20, 20}, .acceleration = {2, 2}, .calibration = {8, 8}};
    const scene c = {"cartesian", "texture", few, 1e-4, "L:coil maps: ESPIRiT, calibration region 20x8x8", 1.1};
    expect_nearly_the_true_maps_of_lines(&c, 0, 0.95);
}

/* Of spokes so far apart that images of their centre alias. */
TEST(maps_of_a_volume_whose_centre_is_undersampled_are_those_of_walsh)
{
    const scene c = {"stars", "shepp-logan", {.undersampling = 5}, 1e-5, NULL, 0};
    const larmor_recon_opts walsh = KNOWN(.method = "cg", .maps_method = "walsh");
    notes n = {.text = ""};
    const larmor_recon_opts own = KNOWN(.method = "cg", .listener = take_note, .user = &n);
    OWNED(scan) s = scan_of_scene(&c, 0);
    s.arrays.trajectory = "radial";
    const double by_walsh = error_with(&s, &walsh), by_own = error_with(&s, &own);
    assert_noted(n, "L:coil maps: by Walsh's method, as the centre of k-space is undersampled");
    assert_at_most(fabs(by_own - by_walsh), is_cpu() ? 0 : 1e-3 * by_walsh);
}

/* Windows along the partitions need some. */
TEST(maps_of_a_volume_of_few_partitions_are_those_of_walsh_without_a_warning)
{
    for (int planes = 2; planes < 4; planes++) {
        const scene c = {"stars", "shepp-logan", {.matrix = {0, 0, planes}}, 1e-5, NULL, 0};
        const larmor_recon_opts walsh = KNOWN(.method = "cg", .maps_method = "walsh");
        notes n = {.text = ""};
        const larmor_recon_opts own = KNOWN(.method = "cg", .listener = take_note, .user = &n);
        OWNED(scan) s = scan_of_scene(&c, 0);
        const double by_walsh = error_with(&s, &walsh), by_own = error_with(&s, &own);
        assert_null(strstr(n.text, "cannot be trusted"));
        assert_at_most(by_own, 1.02 * by_walsh);
    }
}

/* The log of lines of the phantom, `size` times as large as that of the scans above; every second line against its
 * order, or not; sigma, loud: of the noise, and of what one coil has in addition. */
static notes notes_of_lines(double size, int reversed, double sigma, double loud)
{
    OWNED(scan) s = {.arrays = {.matrix = {MATRIX, MATRIX}, .trajectory = "cartesian", .images = 1}};
    const larmor_traj_opts grid = {.matrix = {MATRIX, MATRIX}};
    notes n = {.text = ""};
    const larmor_recon_opts opts = OPTS(.method = "cg", .listener = take_note, .user = &n);
    assert_ok(larmor_phantom_create("shepp-logan", 2, &s.phantom));
    assert_ok(larmor_traj_create(dev, "cartesian", &grid, &s.image[0].traj));
    OWN(larmor_array, *wider, larmor_array_create(dev, LARMOR_F64, larmor_array_shape(s.image[0].traj), &wider));
    HEAP double *k = (double *)host_of(s.image[0].traj);
    for (int64_t i = 0; i < larmor_array_count(wider); i++) k[i] *= size;
    for (int64_t r = 0; r < MATRIX && reversed; r += 2)
        for (int64_t i = 0; i < MATRIX; i++) k[2 * (i + MATRIX * r)] *= -1;
    assert_ok(larmor_array_write(wider, k, larmor_array_bytes(wider)));
    assert_ok(larmor_phantom_kspace(s.phantom, wider, RING, LARMOR_C64, &s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, sigma, 1));
    OWN(larmor_array, *coil, larmor_array_part(s.image[0].kspace, RING / 2, 1, LARMOR_SHAPE(MATRIX, MATRIX), &coil));
    if (loud > 0) assert_ok(larmor_phantom_noise(coil, loud, 2));
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    return n;
}

/* Lines that are not what they are described as look like an object that folds. */
TEST(a_second_set_of_maps_is_made_for_an_object_that_folds_and_not_for_a_fault)
{
    const notes right = notes_of_lines(1, 0, 1e-5, 0), folded = notes_of_lines(1.5, 0, 1e-5, 0),
                fault = notes_of_lines(1, 1, 1e-5, 0);
    assert_null(strstr(right.text, "sets"));
    assert_noted(folded, "two sets of maps are found");
    assert_noted(folded, "(ESPIRiT), 2 sets");
    assert_null(strstr(folded.text, "one set after all"));
    assert_noted(fault, "every second line reversed");
    assert_noted(fault, "coil maps: one set after all");
    assert_null(strstr(fault.text, "2 sets"));
}

/* One coil's noise, of four times that of others, has windows of its own, as a second set of maps. */
TEST(a_noisy_coil_is_no_object_that_folds)
{
    const double sigma = 8e-4;
    const notes right = notes_of_lines(1, 0, sigma, 4 * sigma), folded = notes_of_lines(1.6, 0, sigma, 4 * sigma);
    assert_null(strstr(right.text, "sets"));
    assert_noted(folded, "two sets of maps are found");
}

/* The error of a slice that lacks every second line, or arm, alone or beside a whole one. */
static double error_of_lossy_slice(const scene *c, int beside)
{
    OWNED(scan) s = scan_of_scene(c, 0);
    scene lossy = *c;
    lossy.traj.acceleration[0] = lossy.traj.acceleration[0] ? 2 : 0;
    lossy.traj.undersampling = lossy.traj.acceleration[0] ? 0 : 2;
    OWNED(scan) other = scan_of_scene(&lossy, 0);
    s.arrays.images = 1 + beside;
    if (beside) {
        s.image[1] = other.image[0];
        s.image[1].meta.slice = 1;
        s.image[1].meta.position_mm[2] = 5;
    } else {
        const larmor_readouts whole = s.image[0];
        s.image[0] = other.image[0];
        other.image[0] = whole;
    }
    const larmor_recon_opts opts = KNOWN();
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    for (int i = 0; i < beside; i++) {
        OWN(larmor_recon_result, first, larmor_recon_run(recon, i, &first));
    }
    OWN(larmor_recon_result, result, larmor_recon_run(recon, beside, &result));
    OWN(larmor_array, *shaded, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(MATRIX, MATRIX), &shaded));
    assert_ok(larmor_root_sum_of_squares(s.maps, shaded));
    assert_ok(larmor_mul(s.truth, 0, shaded));
    assert_ok(larmor_abs(shaded, shaded));
    assert_ok(larmor_abs(result.image[0].data, result.image[0].data));
    const double error = difference(result.image[0].data, shaded);
    if (beside) other.arrays.images = 0;
    return error;
}

TEST(a_slice_that_lost_pieces_is_as_good_beside_whole_ones_as_alone)
{
    static const scene scenes[] = {{"cartesian", "texture", {.acceleration = {1}}, 1e-4, NULL, 0},
                                   {"spiral", "shepp-logan", {.undersampling = 1}, 2e-4, NULL, 0}};
    for (int i = 0; i < of_all(1, 2); i++) {
        const double alone = error_of_lossy_slice(&scenes[i], 0), beside = error_of_lossy_slice(&scenes[i], 1);
        print_message("%s: %.4f alone, %.4f beside a whole slice\n", scenes[i].trajectory, alone, beside);
        assert_at_most(beside, 1.1 * alone);
    }
}
