/* check/misfit.c, check/residuals.c. SPDX-License-Identifier: Apache-2.0 */
#include "check/check.h"
#include "tests/pipeline/scan.h"

enum { NOISE_SAMPLES = 20000 };

/* A x of the image that a reconstruction gave, less b; x is in units of the density. */
static larmor_array *left_over(const scan *s, const larmor_array *image)
{
    const larmor_sense_opts opts = {.traj = s->image[0].traj, .nufft_tol = 1e-6};
    OWN(larmor_op, *A, larmor_op_sense(s->maps, &opts, &A));
    OWN(larmor_array, *x, larmor_array_create(dev, LARMOR_C64, larmor_array_shape(image), &x));
    assert_ok(larmor_copy(image, x));
    larmor_array *r =
        MADE(larmor_array, larmor_array_create(dev, LARMOR_C64, larmor_array_shape(s->image[0].kspace), &made));
    assert_ok(larmor_axpby(1. / (N * N), x, 0, x));
    assert_ok(larmor_op_forward(A, x, r));
    assert_ok(larmor_axpby(-1, s->image[0].kspace, 1, r));
    return r;
}

static int ring_of(const double *k)
{
    const double scale = 2. / N; /* samples at an edge are rounded as there */
    const int ring = (int)(sqrt(pow(scale * k[0], 2) + pow(scale * k[1], 2)) * LARMOR_MISFIT_RINGS);
    return ring < LARMOR_MISFIT_RINGS ? ring : LARMOR_MISFIT_RINGS - 1;
}

TEST(it_is_the_residual_of_a_direct_computation)
{
    OWNED(scan) s = scan_of(COILS, 1, 2e-3);
    const char *const methods[] = {"cg", "tv"};
    for (int i = 0; i < 2; i++) {
        const larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = methods[i], .oversample = {1}, .eps = 1e-6);
        OWNED(larmor_recon_result) result = result_of(&s, &opts);
        const larmor_misfit *m = &result.report.misfit;
        OWNED(larmor_array) *r = left_over(&s, result.image[0].data);
        assert_true(m->measured && m->fitted);
        assert_at_most(fabs(m->relative / (norm_of(r) / norm_of(s.image[0].kspace)) - 1), 1e-3);
        HEAP float *left = host_of(r), *b = host_of(s.image[0].kspace);
        double *k, rings[2][LARMOR_MISFIT_RINGS] = {{0}};
        assert_ok(larmor_array_download(s.image[0].traj, LARMOR_F64, &k));
        for (int64_t j = 0; j < (int64_t)SAMPLES * SPOKES * COILS; j++) {
            const int ring = ring_of(k + 2 * (j % (SAMPLES * SPOKES)));
            rings[0][ring] += pow(left[2 * j], 2) + pow(left[2 * j + 1], 2);
            rings[1][ring] += pow(b[2 * j], 2) + pow(b[2 * j + 1], 2);
        }
        for (int j = 0; j < LARMOR_MISFIT_RINGS; j++)
            assert_at_most(fabs(m->by_radius[j] / sqrt(rings[0][j] / rings[1][j]) - 1), 2e-3);
        free(k);
    }
}

/* Samples of the phantom's own pixels on a trajectory, and a noise scan. */
static scan scan_with(const char *name, const larmor_traj_opts *readouts, double sigma)
{
    scan s = {.arrays = {.matrix = {N, N}, .trajectory = "other", .images = 1}};
    larmor_traj_opts opts = *readouts;
    opts.matrix[0] = opts.matrix[1] = N;
    if (!strcmp(name, "cartesian")) opts.acceleration[0] = 2;
    assert_ok(larmor_phantom_create("shepp-logan", 2, &s.phantom));
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, LARMOR_SHAPE(N, N), &s.truth));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(N, N), NULL, COILS, &s.maps));
    assert_ok(larmor_traj_create(dev, name, &opts, &s.image[0].traj));
    const larmor_sense_opts sense = {.traj = s.image[0].traj, .nufft_tol = 1e-6};
    OWN(larmor_op, *A, larmor_op_sense(s.maps, &sense, &A));
    assert_ok(larmor_array_create(dev, LARMOR_C64, larmor_op_out_shape(A), &s.image[0].kspace));
    assert_ok(larmor_op_forward(A, s.truth, s.image[0].kspace));
    assert_ok(larmor_axpby(1. / (N * N), s.image[0].kspace, 0, s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, sigma, 1));
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(NOISE_SAMPLES, COILS), &s.arrays.noise));
    assert_ok(larmor_zero(s.arrays.noise));
    assert_ok(larmor_phantom_noise(s.arrays.noise, sigma, 2));
    return s;
}

static scan scan_on(const char *name, int readouts, double sigma)
{
    return scan_with(name, &(larmor_traj_opts){.readouts = readouts}, sigma);
}

TEST(chi_squared_of_known_noise_is_1)
{
    const struct {
        const char *traj, *method;
        int readouts;
        double sigma;
    } cases[] = {{"golden", "cg", 20, 1e-3},     {"spiral", "cg", 0, 1e-2},  {"cartesian", "cg", 0, 1e-3},
                 {"golden", "tv", 40, 1e-3},     {"golden", "cg", 60, 1e-3}, {"golden", "cg", 30, 1e-2},
                 {"radial", "cg", 40, 1e-3},     {"spiral", "cg", 0, 1e-3},  {"golden", "tgv", 40, 1e-3},
                 {"golden", "wavelet", 40, 1e-3}};
    for (int i = 0; i < of_all(4, sizeof cases / sizeof *cases); i++) {
        OWNED(scan) s = scan_on(cases[i].traj, cases[i].readouts, cases[i].sigma);
        larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = cases[i].method, .oversample = {1});
        const int is_cg = !strcmp(opts.method, "cg");
        if (is_cg) {
            opts.lambda_mode = LARMOR_LAMBDA_RELATIVE;
            opts.lambda = 1e-4;
            opts.tol = 1e-4;
        }
        OWNED(larmor_recon_result) result = result_of(&s, &opts);
        const larmor_misfit *m = &result.report.misfit;
        const double scatter = 1 / sqrt(m->freedom) + 1 / sqrt((double)NOISE_SAMPLES * COILS);
        assert_true(m->measured && m->freedom < m->samples);
        assert_at_most(fabs(m->chi2 - 1), is_cg ? 3 * scatter : 0.05); /* a penalty's image is not that of a prior */
    }
}

/* The noise that a report without a noise scan has, over the true one. */
static double noise_found(const char *traj, int readouts, int samples, const char *method, double sigma)
{
    OWNED(scan) s = scan_with(traj, &(larmor_traj_opts){.readouts = readouts, .samples = samples}, sigma);
    larmor_array_free(s.arrays.noise);
    s.arrays.noise = NULL;
    const larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = method, .oversample = {1});
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    const larmor_misfit *m = &result.report.misfit;
    assert_true(samples == N ? m->noise_excess > 1.2 : m->noise_excess < 1.5);
    return result.report.noise / sigma;
}

TEST(the_noise_of_samples_1_fov_apart_is_what_the_image_leaves_and_that_of_others_is_by_their_differences)
{
    static const char *const method[] = {"cg", "tv"};
    for (int i = 0; i < of_all(1, 2); i++)
        for (int samples = N; samples <= 2 * N; samples += N) {
            assert_at_most(fabs(noise_found("golden", 60, samples, method[i], 1e-4) - 1), 0.12);
            assert_at_most(fabs(noise_found("radial", 40, samples, method[i], 3e-3) - 1), 0.12);
        }
}

/* Numbers of one readout, or of one coil, turned about. */
static void turn(larmor_array *kspace, int64_t first, int64_t count)
{
    HEAP float *x = host_of(kspace);
    for (int64_t i = 2 * first; i < 2 * (first + count); i++) x[i] = -x[i];
    assert_ok(larmor_array_write(kspace, x, larmor_array_bytes(kspace)));
}

/* |x - mean of x| / |x| */
static double around_the_mean(const larmor_array *x)
{
    HEAP float *v = host_of(x);
    const int64_t count = larmor_array_count(x);
    double sum[2] = {0}, size = 0;
    for (int64_t i = 0; i < 2 * count; i++) {
        sum[i % 2] += v[i] / (double)count;
        size += (double)v[i] * v[i];
    }
    return sqrt(fmax(0, 1 - (sum[0] * sum[0] + sum[1] * sum[1]) * (double)count / size));
}

static double sinc(double x)
{
    return fabs(x) < 1e-9 ? 1 : sin(M_PI * x) / (M_PI * x);
}

/* A square of one value on all of the field of view, and an object whose sign alternates from readout to readout:
 * what is held out is predicted by a constant and by nothing else. */
static scan scan_of_a_constant(void)
{
    scan s = scan_of(1, 1, 0);
    for (int i = 1; i < SPOKES; i += 2) turn(s.image[0].kspace, (int64_t)SAMPLES * i, SAMPLES);
    float *x = host_of(s.image[0].kspace), most = 0;
    HEAP double *k = (double *)host_of(s.image[0].traj);
    for (int j = 0; j < SAMPLES * SPOKES; j++) most = fmaxf(most, hypotf(x[2 * j], x[2 * j + 1]));
    for (int j = 0; j < SAMPLES * SPOKES; j++)
        x[2 * j] += (float)((double)most * sinc(k[2 * j]) * sinc(k[2 * j + 1]));
    assert_ok(larmor_array_write(s.image[0].kspace, x, larmor_array_bytes(s.image[0].kspace)));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, 1e-4 * (double)most, 1));
    free(x);
    return s;
}

TEST(a_weight_that_leaves_a_constant_is_not_taken_by_itself_and_said_where_it_is_given)
{
    OWNED(scan) s = scan_of_a_constant();
    const char *const methods[] = {"tv", "tgv"};
    for (int i = 0; i < of_all(1, 2); i++) {
        larmor_recon_opts opts = KNOWN(.method = methods[i], .oversample = {1});
        OWNED(larmor_recon_result) chosen = result_of(&s, &opts);
        opts.lambda_mode = LARMOR_LAMBDA_RELATIVE;
        opts.lambda = 1e3;
        OWNED(larmor_recon_result) given = result_of(&s, &opts);
        print_message("%s, around the mean: chosen %.3g, given %.3g\n", methods[i],
                      around_the_mean(chosen.image[0].data), around_the_mean(given.image[0].data));
        assert_true(around_the_mean(chosen.image[0].data) > 0.1);
        assert_false(has_warning(&chosen.report, "nothing but a constant"));
        assert_true(has_warning(&chosen.report, "no image predicts samples that were held out"));
        assert_at_most(around_the_mean(given.image[0].data), i ? 0.1 : 1e-3);
        assert_true(has_warning(&given.report, "nothing but a constant"));
    }
}

TEST(a_readout_that_fits_far_worse_is_named)
{
    enum { READOUT = 7 };
    OWNED(scan) s = scan_of(COILS, 1, 1e-3);
    const larmor_recon_opts opts = KNOWN(.maps = s.maps, .oversample = {1});
    OWNED(larmor_recon_result) right = result_of(&s, &opts);
    for (int c = 0; c < COILS; c++) turn(s.image[0].kspace, SAMPLES * (READOUT + SPOKES * c), SAMPLES);
    OWNED(larmor_recon_result) wrong = result_of(&s, &opts);
    assert_int_equal(right.report.misfit.bad_readouts, 0);
    assert_int_equal(right.report.misfit.worst_readout, -1);
    assert_int_equal(wrong.report.misfit.bad_readouts, 1);
    assert_int_equal(wrong.report.misfit.worst_readout, READOUT);
    assert_true(has_warning(&wrong.report, "1 readout fits far worse than the others, the worst number 7"));
    assert_false(has_warning(&right.report, ""));
}

/* A full grid of the phantom's exact samples in two coils; the line `turned` of one coil has the other sign. */
static larmor_misfit misfit_of_grid(int turned)
{
    OWNED(scan) s = {.arrays = {.matrix = {N, N}, .trajectory = "cartesian", .images = 1}};
    const larmor_traj_opts grid = {.matrix = {N, N}};
    const larmor_recon_opts opts = KNOWN(.oversample = {1});
    assert_ok(larmor_phantom_create("shepp-logan", 2, &s.phantom));
    assert_ok(larmor_traj_create(dev, "cartesian", &grid, &s.image[0].traj));
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, 2, LARMOR_C64, &s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, 1e-5, 1));
    if (turned >= 0) turn(s.image[0].kspace, (int64_t)N * turned, N);
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    const larmor_misfit m = result.report.misfit;
    return m;
}

/* Lines of the phantom, so many times as large, in some coils, with some noise. */
static larmor_recon_report report_of_lines(const larmor_traj_opts *lines, double size, int coils, double noise,
                                           uint64_t seed)
{
    OWNED(scan) s = {.arrays = {.matrix = {N, N}, .trajectory = "cartesian", .images = 1}};
    const larmor_recon_opts opts = KNOWN(.oversample = {1});
    assert_ok(larmor_phantom_create("shepp-logan", 2, &s.phantom));
    assert_ok(larmor_traj_create(dev, "cartesian", lines, &s.image[0].traj));
    OWN(larmor_array, *wider, larmor_array_create(dev, LARMOR_F64, larmor_array_shape(s.image[0].traj), &wider));
    HEAP double *k = (double *)host_of(s.image[0].traj);
    for (int64_t i = 0; i < larmor_array_count(wider); i++) k[i] *= size;
    assert_ok(larmor_array_write(wider, k, larmor_array_bytes(wider)));
    assert_ok(larmor_phantom_kspace(s.phantom, wider, coils, LARMOR_C64, &s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, noise, seed));
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    const larmor_recon_report report = result.report;
    return report;
}

static larmor_recon_report report_of_size(double size, int coils, double noise)
{
    const larmor_traj_opts grid = {.matrix = {N, N}};
    return report_of_lines(&grid, size, coils, noise, 1);
}

TEST(an_object_that_folds_in_is_named)
{
    for (int coils = 1; coils <= 3; coils += 2) {
        const larmor_recon_report right = report_of_size(1, coils, 1e-4), noise = report_of_size(1, coils, 1e2);
        const larmor_recon_report large = report_of_size(1.6, coils, 1e-4);
        assert_int_equal(right.folded, 0);
        assert_false(has_warning(&noise, "the object reaches beyond the field of view"));
        assert_true(large.folded & 2); /* the phantom is longest along y */
        assert_true(has_warning(&large, "the object reaches beyond the field of view along"));
    }
}

/* What a penalty leaves of noise is smooth, so that its edges are alike. */
TEST(noise_alone_is_no_object_that_folds_in)
{
    const larmor_traj_opts grid = {.matrix = {N, N}};
    int alike = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        const larmor_recon_report noise = report_of_lines(&grid, 1, seed > 4 ? 3 : 1, 1e2, 1 + (seed - 1) % 4);
        assert_false(has_warning(&noise, "the object reaches beyond the field of view"));
        alike += noise.folded != 0;
    }
    assert_true(alike > 0);
}

TEST(what_a_penalty_adds_where_no_coil_sees_anything_is_no_fold)
{
    const larmor_traj_opts lines = {.matrix = {N, N}, .acceleration = {3}, .calibration = {12}};
    for (uint64_t seed = 1; seed <= (uint64_t)of_all(1, 2); seed++) {
        assert_int_equal(report_of_lines(&lines, 0.9, 4, 4e-3, seed).folded, 0);
        assert_int_equal(report_of_lines(&lines, 0.7, 8, 8e-3, seed).folded, 0);
        assert_true(report_of_lines(&lines, 1.6, 8, 1e-3, seed).folded & 2);
    }
}

/* On a grid larger than what was encoded: lines are farther apart than at 1/FOV of it, and copies of the object
 * meet its edges. */
TEST(a_right_scan_on_a_larger_grid_gets_no_warning)
{
    const larmor_traj_opts grid = {.matrix = {N, N}};
    for (int coils = 1; coils <= 3; coils += of_all(2, 1))
        for (int i = 0; i < 2; i++) {
            OWNED(scan) s = {.arrays = {.matrix = {N, N}, .trajectory = "cartesian", .images = 1}};
            const larmor_recon_opts opts = OPTS(.oversample = {2}, .method = i ? "cg" : NULL);
            assert_ok(larmor_phantom_create("shepp-logan", 2, &s.phantom));
            assert_ok(larmor_traj_create(dev, "cartesian", &grid, &s.image[0].traj));
            assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, coils, LARMOR_C64, &s.image[0].kspace));
            OWNED(larmor_recon_result) result = result_of(&s, &opts);
            assert_int_equal(result.report.grid[0], 2 * N);
            assert_false(has_warning(&result.report, ""));
        }
}

/* Maps carry signal beyond one edge of the grid over to the other, so that no image explains the lines there. */
TEST(lines_at_the_edge_of_a_grid_get_no_warning_and_others_do)
{
    const int turned = N / 2 + 5;
    assert_int_equal(misfit_of_grid(-1).bad_readouts, 0);
    assert_int_equal(misfit_of_grid(turned).bad_readouts, 1);
    assert_int_equal(misfit_of_grid(turned).worst_readout, turned);
}

TEST(a_coil_that_fits_far_worse_is_named)
{
    enum { COIL = 2 };
    OWNED(scan) s = scan_of(COILS, 1, 1e-3);
    const larmor_recon_opts opts = KNOWN(.maps = s.maps, .oversample = {1});
    float *x = host_of(s.image[0].kspace), *coil = x + 2 * (int64_t)COIL * SAMPLES * SPOKES;
    for (int64_t i = 0; i < SAMPLES * SPOKES; i++) /* as strong, but of no object */
        for (int part = 0; part < 2; part++) coil[2 * i + part] *= (i * i / 7) % 2 ? 1 : -1;
    assert_ok(larmor_array_write(s.image[0].kspace, x, larmor_array_bytes(s.image[0].kspace)));
    free(x);
    OWNED(larmor_recon_result) wrong = result_of(&s, &opts);
    assert_int_equal(wrong.report.misfit.bad_coils, 1);
    assert_int_equal(wrong.report.misfit.worst_coil, COIL);
    assert_true(has_warning(&wrong.report, "1 coil fits far worse than the others, the worst number 2"));
}

/* k-space that is said to reach further than it does. */
TEST(samples_that_are_not_explained_get_a_warning)
{
    const double sigma[] = {0, 1e-3, 1e-2}; /* the last one is stronger than most samples */
    for (int i = 0; i < 3; i++) {
        OWNED(scan) s = scan_of(COILS, 1, sigma[i]);
        const larmor_recon_opts opts = KNOWN(.maps = s.maps, .oversample = {1});
        OWNED(larmor_recon_result) right = result_of(&s, &opts);
        assert_true(right.report.misfit.measured);
        assert_false(has_warning(&right.report, ""));
    }
    OWNED(scan) s = scan_of(COILS, 1, 1e-3);
    const larmor_recon_opts opts = KNOWN(.maps = s.maps, .oversample = {1});
    OWN_MEMORY(double, *k, larmor_array_download(s.image[0].traj, LARMOR_F64, &k));
    for (int64_t i = 0; i < larmor_array_count(s.image[0].traj); i++) k[i] *= i % 2 ? 0.6 : 1;
    assert_ok(larmor_array_write(s.image[0].traj, k, larmor_array_bytes(s.image[0].traj)));
    OWNED(larmor_recon_result) wrong = result_of(&s, &opts);
    assert_true(has_warning(&wrong.report, "the image does not explain its samples"));
}

typedef enum spoiling { NOTHING, CARRIER, COPIES, ZEROS, NOISY, QUIET } spoiling;

/* Sample i of readout r, of all of whose samples x is the coil's. */
static void spoil(spoiling how, float *x, int coil, int r, int i)
{
    float *at = x + 2 * (i + SAMPLES * r);
    const double noise =
        how == NOISY ? 0.2 : 1e-3; /* of a coil without signal: as loud as signal, or as the others' noise */
    const double turn = 2 * M_PI * (0.23 * i + 0.37 * r * r), size = 0.6;
    if (how == CARRIER) {
        at[0] += (float)(size * cos(turn));
        at[1] += (float)(size * sin(turn));
    }
    if ((how == NOISY || how == QUIET) && coil == 1)
        for (int part = 0; part < 2; part++)
            at[part] = (float)(noise * sin(1e4 * sin(1 + i + SAMPLES * r + 0.3 * part)));
    if (how == COPIES && r % 10 == 5) memcpy(at, at - 2 * SAMPLES, 2 * sizeof *at);
    if (how == ZEROS && abs(i - SAMPLES / 2) < 2) at[0] = at[1] = 0;
}

TEST(samples_that_are_no_measurement_are_named)
{
    const char *const said[] = {"one frequency, 0.23 cycles per sample",
                                "6 readouts have just the samples of the one before",
                                "180 samples near the centre are exactly 0",
                                "1 coil has far more noise than the others, as the edge of k-space shows, the "
                                "loudest number 1 (from 0), and"};
    for (spoiling how = NOTHING; how <= QUIET; how++) {
        OWNED(scan) s = scan_of(COILS, 1, 1e-3);
        const larmor_recon_opts opts = KNOWN(.maps = s.maps, .oversample = {1});
        HEAP float *x = host_of(s.image[0].kspace);
        for (int c = 0; c < COILS; c++)
            for (int r = 0; r < SPOKES; r++)
                for (int i = 0; i < SAMPLES; i++) spoil(how, x + 2 * SAMPLES * SPOKES * c, c, r, i);
        assert_ok(larmor_array_write(s.image[0].kspace, x, larmor_array_bytes(s.image[0].kspace)));
        OWNED(larmor_recon_result) result = result_of(&s, &opts);
        for (int i = 0; i < 4; i++) assert_int_equal(has_warning(&result.report, said[i]), how == (spoiling)(i + 1));
    }
}

/* A noise scan of some samples whose noise is so many times that of the readouts. */
static int doubts_noise_scan(const char *traj, int readouts, double sigma, int samples, double factor)
{
    const larmor_recon_opts opts = KNOWN(.oversample = {1});
    OWNED(scan) s = scan_on(traj, readouts, sigma);
    larmor_array_free(s.arrays.noise);
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(samples, COILS), &s.arrays.noise));
    assert_ok(larmor_zero(s.arrays.noise));
    assert_ok(larmor_phantom_noise(s.arrays.noise, factor * sigma, 3));
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    if (factor > 1) assert_false(has_warning(&result.report, "the object reaches beyond the field of view"));
    return has_warning(&result.report, "the noise scan does not fit the samples");
}

TEST(a_noise_scan_with_far_more_noise_than_the_samples_is_a_warning)
{
    const double sigma[] = {1e-5, 1e-3, 1e-2};
    const char *const traj[] = {"golden", "spiral", "cartesian"};
    for (int i = 0; i < 3; i++)
        for (int j = of_all(i, 0); j <= of_all(i, 2); j++) {
            const int readouts = i ? 0 : 30;
            assert_false(doubts_noise_scan(traj[i], readouts, sigma[j], j == 1 ? 24 : 400, 1));
            assert_true(doubts_noise_scan(traj[i], readouts, sigma[j], 400, j == 2 ? 5 : 30));
        }
}

/* The samples' noise over that of a noise scan, which has so many times theirs; 0: nothing is said. */
static double noise_ratio(const char *traj, int readouts, double sigma, double factor)
{
    const larmor_recon_opts opts = KNOWN(.oversample = {1});
    char line[64];
    OWNED(scan) s = scan_on(traj, readouts, sigma);
    HEAP float *noise = host_of(s.arrays.noise);
    for (int64_t i = 0; i < 2 * (int64_t)NOISE_SAMPLES * COILS; i++) noise[i] *= (float)factor;
    assert_ok(larmor_array_write(s.arrays.noise, noise, larmor_array_bytes(s.arrays.noise)));
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    const larmor_misfit *m = &result.report.misfit;
    snprintf(line, sizeof line, "the samples of %d coil%s have up to %.3g times the noise", m->noisier_coils,
             m->noisier_coils == 1 ? "" : "s", m->noise_ratio);
    assert_int_equal(has_warning(&result.report, line), m->noisier_coils > 0);
    assert_int_equal(has_warning(&result.report, "times the noise that the noise scan predicts"),
                     m->noisier_coils > 0);
    if (m->noisier_coils) assert_false(has_warning(&result.report, "the image does not explain its samples"));
    return m->noisier_coils ? m->noise_ratio : 0;
}

TEST(samples_with_far_more_noise_than_a_noise_scan_are_said_with_the_ratio)
{
    const char *const traj[] = {"golden", "cartesian"};
    for (int i = 0; i < 2; i++) {
        assert_at_most(fabs(noise_ratio(traj[i], i ? 0 : 30, 4e-3, 0.1) - 10), 1);
        assert_true(noise_ratio(traj[i], i ? 0 : 30, 4e-3, 1) == 0);
        assert_true(noise_ratio(traj[i], i ? 0 : 30, 4e-5, 1) == 0);
    }
}

/* Every method, of one image and of a series, on the grid and off it; the line of the log stands for each. */
TEST(every_image_has_a_misfit_or_a_line_that_says_why_not)
{
    OWNED(scan) s = scan_of(COILS, 3, 1e-3);
    const larmor_recon_opts cases[] = {
        KNOWN(.maps = s.maps),
        KNOWN(.maps = s.maps, .eps = 1e-8),
        KNOWN(.maps = s.maps, .toeplitz = -1, .precondition = -1),
        KNOWN(.maps = s.maps, .weighted = 1),
        KNOWN(.maps = s.maps, .method = "grid"),
        KNOWN(.maps = s.maps, .method = "tv"),
        KNOWN(.maps = s.maps, .method = "tv", .joint = 1),
        KNOWN(.maps = s.maps, .method = "tgv"),
        KNOWN(.maps = s.maps, .method = "wavelet"),
        KNOWN(.maps = s.maps, .method = "llr"),
        KNOWN(.map_sets = 2, .maps_method = "espirit"),
        KNOWN(.maps_method = "nlinv"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        notes n = {.text = ""};
        larmor_recon_opts opts = cases[i];
        opts.listener = take_note;
        opts.user = &n;
        OWNED(larmor_recon_result) result = result_of(&s, &opts);
        const larmor_misfit *m = &result.report.misfit;
        assert_true(m->measured);
        assert_at_most(m->relative, 0.4); /* weighted, the noise of the rim counts more */
        assert_int_equal(m->fitted, !opts.method || strcmp(opts.method, "grid"));
        assert_at_most(m->beyond_noise, m->relative);
        assert_noted(n, "misfit: ");
    }
    notes n = {.text = ""};
    const larmor_recon_opts rss = KNOWN(.method = "grid", .no_maps = 1, .listener = take_note, .user = &n);
    OWNED(larmor_recon_result) result = result_of(&s, &rss);
    assert_false(result.report.misfit.measured);
    assert_noted(n, "misfit: not measured, as a root sum of squares is no image of a model");
}

/* An object so many times as large, with maps of a part of the field of view; SNR of about 1/noise. */
static larmor_recon_report report_of_maps(double size, double part, double noise)
{
    const larmor_phantom_state state = {.size = size};
    const double extent[2] = {part, part};
    const int64_t voxels = llround(part * N);
    OWNED(larmor_array) *maps;
    OWNED(scan) s = scan_of(COILS, 1, 0);
    for (int d = 0; d < 2; d++) s.arrays.fov_mm[d] = N;
    OWN(larmor_phantom, *object, larmor_phantom_change(s.phantom, &state, &object));
    larmor_array_free(s.image[0].kspace);
    assert_ok(larmor_phantom_kspace(object, s.image[0].traj, COILS, LARMOR_C64, &s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, noise * size * size / N, 1));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(voxels, voxels), extent, COILS, &maps));
    larmor_recon_opts opts = KNOWN(.method = "cg", .maps = maps, .oversample = {1});
    for (int d = 0; d < 2; d++) opts.maps_place.fov_mm[d] = part * N;
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    return result.report;
}

TEST(an_object_beyond_the_given_maps_is_named_and_noise_beyond_them_is_not)
{
    static const double noise[] = {.3, 0, .05};
    for (int i = 0; i < of_all(1, 3); i++) {
        const larmor_recon_report beyond = report_of_maps(1, .5, noise[i]);
        const larmor_recon_report within = report_of_maps(.5, .5, noise[i]), all = report_of_maps(1, 1, noise[i]);
        assert_true(beyond.beyond_maps > .2);
        assert_true(has_warning(&beyond, "% of the image's energy is beyond what the given maps cover"));
        assert_at_most(within.beyond_maps, .015);
        assert_false(has_warning(&within, "beyond what the given maps cover"));
        assert_true(all.beyond_maps == 0);
    }
}

/* Of a noise scan whose first samples are the scan's at ten times the gain, and whose coil 1 has a part of its
 * noise. */
static void describe_noise(const scan *s, int of_signal, double part, char line[512])
{
    enum { MANY = 400, SIGMA = 2 };
    const larmor_samples samples = {.kspace = s->image[0].kspace, .traj = s->image[0].traj};
    HEAP float *x = NULL, *signal = host_of(s->image[0].kspace);
    OWNED(larmor_array) *noise, *white;
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(MANY, COILS), &noise));
    assert_ok(larmor_noise_fill(noise, SIGMA, 9));
    assert_ok(larmor_array_download(noise, LARMOR_C64, &x));
    for (int i = 0; i < 2 * MANY; i++) x[2 * MANY + i] *= (float)part;
    for (int c = 0; c < COILS; c++)
        for (int i = 0; i < 2 * of_signal; i++) x[2 * MANY * c + i] = 10 * signal[2 * SAMPLES * SPOKES * c + i];
    OWN(larmor_array, *scanned,
        larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(MANY, COILS), LARMOR_C64, x, &scanned));
    OWN(larmor_array, *W, larmor_noise_whitening(scanned, 1, &W));
    assert_ok(larmor_array_create(dev, LARMOR_C64, larmor_array_shape(samples.kspace), &white));
    assert_ok(larmor_copy(samples.kspace, white));
    assert_ok(larmor_whiten(W, white));
    assert_ok(lmr_noise_scan_at_rim(&(larmor_samples){.kspace = white, .traj = samples.traj}, W, line, 512));
}

TEST(a_noise_scan_that_holds_signal_or_too_little_noise_of_a_coil_is_named)
{
    char line[512];
    OWNED(scan) s = scan_of(COILS, 1, 0);
    assert_ok(larmor_axpby(1e3, s.image[0].kspace, 0, s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, 2, 1));
    describe_noise(&s, 0, 1, line);
    assert_string_equal(line, "");
    describe_noise(&s, SAMPLES, 1, line);
    assert_true(strstr(line, "the noise scan holds signal") == line);
    describe_noise(&s, 0, 0.01, line);
    assert_true(strstr(line, "coil 1 (from 0) has ") == line);
}
