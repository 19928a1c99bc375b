/* recon/maps/coils.c and walsh.c: maps from data whose k-space is known exactly. SPDX-License-Identifier: Apache-2.0
 */
#include "recon/maps/maps.h"
#include "tests/recon/coil_scene.h"

typedef struct scan {
    larmor_shape image;
    double *k;
    cplx *y;
    larmor_array *traj, *kspace;
} scan;

static scan scan_of(larmor_shape image, double *k, int64_t samples, int64_t readouts, larmor_dtype dtype)
{
    const int nd = image.ndim;
    scan s = {image, k, coil_kspace(k, nd, samples * readouts), NULL, NULL};
    s.traj = real_array(LARMOR_SHAPE(nd, samples, readouts), k);
    s.kspace = complex_array(dtype, LARMOR_SHAPE(samples, readouts, COILS), s.y);
    return s;
}

static scan radial_scan(void)
{
    enum { SAMPLES = 128, SPOKES = 64 };
    return scan_of(LARMOR_SHAPE(64, 50), radial_points(64, SAMPLES, SPOKES), SAMPLES, SPOKES, LARMOR_C64);
}

LMR_FREES(end_scan, scan, traj, kspace, k, y)

static cplx *estimate(const scan *s, const larmor_array *weights, const larmor_coils_opts *opts)
{
    OWN(larmor_array, *maps, larmor_coils_estimate(s->kspace, s->traj, weights, s->image, opts, &maps, NULL));
    assert_true(larmor_shape_equal(larmor_array_shape(maps), larmor_shape_append(s->image, COILS)));
    assert_int_equal(larmor_array_dtype(maps), larmor_array_dtype(s->kspace));
    cplx *values = values_of(maps);
    return values;
}

TEST(maps_of_smooth_coils_are_found_in_2d)
{
    OWNED(scan) s = radial_scan();
    OWN(larmor_array, *ramp, larmor_density_ramp(s.traj, s.image, &ramp));
    HEAP cplx *own = estimate(&s, NULL, NULL), *given = estimate(&s, ramp, NULL);
    assert_at_most(map_error_of(s.image, own, 0.2), 0.04);
    assert_at_most(map_error_of(s.image, given, 0.2), 0.04);
}

/* The channels are isometric mixtures of the coils, so that maps of the channels are the same mixtures of the
 * maps. */
TEST(maps_of_many_channels_are_those_of_the_coils_that_they_mix)
{
    enum { SAMPLES = 64, SPOKES = 32, CHANNELS = 150, N = 24 };
    const int64_t voxels = N * N, m = SAMPLES * SPOKES;
    OWNED(scan) s = scan_of(LARMOR_SHAPE(N, N), radial_points(N, SAMPLES, SPOKES), SAMPLES, SPOKES, LARMOR_C128);
    cplx *y = calloc((size_t)(m * CHANNELS), sizeof *y), along = 0;
    assert_non_null(y);
    for (int64_t c = 0; c < CHANNELS; c++)
        for (int64_t i = 0; i < COILS; i++)
            for (int64_t j = 0; j < m; j++)
                y[j + m * c] += cexp(2 * M_PI * I * (double)(c * i) / CHANNELS) / sqrt(CHANNELS) * s.y[j + m * i];
    larmor_array *mixed = complex_array(LARMOR_C128, LARMOR_SHAPE(SAMPLES, SPOKES, CHANNELS), y), *maps;
    larmor_coils_report few, many;
    assert_ok(larmor_coils_estimate(mixed, s.traj, NULL, s.image, NULL, &maps, &many));
    HEAP cplx *b = values_of(maps);
    larmor_array_free(maps);
    assert_ok(larmor_coils_estimate(s.kspace, s.traj, NULL, s.image, NULL, &maps, &few));
    HEAP cplx *a = values_of(maps);
    for (int64_t c = 0; c < CHANNELS; c++)
        for (int64_t v = 0; v < voxels; v++) {
            cplx sum = 0;
            for (int64_t i = 0; i < COILS; i++)
                sum += cexp(2 * M_PI * I * (double)(c * i) / CHANNELS) / sqrt(CHANNELS) * a[v + voxels * i];
            along += conj(sum) * b[v + voxels * c];
        }
    assert_at_most(fabs(cabs(along) / (double)voxels - 1), 1e-9); /* but for one phase of all */
    assert_at_most(fabs(many.dominance - few.dominance), 1e-9);
    LMR_FREE(maps, mixed, y);
}

/* y[o] = sum_t taps[t] x[stride o + shift + (t - count / 2) step], 0 beyond the ends of x. */
static void filter(const cplx *x, int length, const double *taps, int count, int step, int stride, int shift, cplx *y,
                   int n)
{
    for (int o = 0; o < n; o++) {
        y[o] = 0;
        for (int t = 0; t < count; t++) {
            const int at = stride * o + shift + (t - count / 2) * step;
            if (at >= 0 && at < length) y[o] += taps[t] * x[at];
        }
    }
}

/* The covariance: products of two coils' images, halved by a binomial filter, under a window of sin^2 and, by 0.03
 * for every doubling, under ever wider binomial ones. */
TEST(a_map_is_the_dominant_vector_of_the_covariance_under_its_window)
{
    enum { WINDOW = 5, MOST = 12 };
    static const double binomial[5] = {1 / 16., 4 / 16., 6 / 16., 4 / 16., 1 / 16.};
    double taps[WINDOW];
    for (int t = 0; t < WINDOW; t++) taps[t] = pow(sin(M_PI * (t + 1) / (WINDOW + 1)), 2);
    for (int n = MOST - 1; n <= MOST; n++) {
        cplx R[2][2][MOST];
        HEAP cplx *x = random_values(4 * n, 5);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) {
                cplx product[2 * MOST], y[MOST], z[MOST];
                double weight = 1;
                for (int v = 0; v < 2 * n; v++) product[v] = x[v + 2 * n * i] * conj(x[v + 2 * n * j]);
                filter(product, 2 * n, binomial, 5, 1, 2, n % 2, z, n);
                filter(z, n, taps, WINDOW, 1, 1, 0, y, n);
                for (int v = 0; v < n; v++) R[i][j][v] = y[v];
                for (int step = 1; step < n; step *= 2) {
                    filter(y, n, binomial, 5, step, 1, 0, z, n);
                    weight *= 0.03;
                    for (int v = 0; v < n; v++) R[i][j][v] += weight * (y[v] = z[v]);
                }
            }
        OWNED(larmor_array) *images = complex_array(LARMOR_C128, LARMOR_SHAPE(2 * n, 2), x), *maps;
        assert_ok(lmr_walsh(images, (int64_t[]){n, 1, 1}, 2, WINDOW - 1, NULL, &maps)); /* a centre is added */
        HEAP cplx *u = values_of(maps);
        for (int v = 0; v < n; v++) {
            const cplx a = u[v], b = u[v + n];
            const cplx Ra = R[0][0][v] * a + R[0][1][v] * b, Rb = R[1][0][v] * a + R[1][1][v] * b;
            const double trace = creal(R[0][0][v] + R[1][1][v]), value = creal(conj(a) * Ra + conj(b) * Rb);
            assert_at_most(cabs(Ra - value * a) + cabs(Rb - value * b), 1e-12 * trace);
            assert_at_most(trace / 2, value);
        }
    }
}

TEST(odd_sizes_are_as_good_as_even_ones)
{
    enum { SAMPLES = 128, SPOKES = 64 };
    OWNED(scan) s = scan_of(LARMOR_SHAPE(63, 51), radial_points(63, SAMPLES, SPOKES), SAMPLES, SPOKES, LARMOR_C64);
    HEAP cplx *maps = estimate(&s, NULL, &(larmor_coils_opts){.calibration = 31});
    assert_at_most(map_error_of(s.image, maps, 0.2), 0.04);
}

TEST(maps_of_smooth_coils_are_found_in_3d)
{
    enum { RAYS = 2000, N = 24 };
    double *k = malloc(3 * RAYS * N * sizeof *k);
    for (int j = 0; j < RAYS * N; j++) { /* directions by the golden angle and even heights */
        const double z = 1 - (2 * (j / N) + 1.) / RAYS, angle = 2.399963 * (j / N), t = 12. * (j % N) / (N - 1);
        k[3 * j] = t * sqrt(1 - z * z) * cos(angle);
        k[3 * j + 1] = t * sqrt(1 - z * z) * sin(angle);
        k[3 * j + 2] = t * z;
    }
    OWNED(scan) s = scan_of(LARMOR_SHAPE(28, 24, 30), k, N, RAYS, LARMOR_C128);
    HEAP cplx *maps = estimate(&s, NULL, &(larmor_coils_opts){.calibration = 24});
    assert_at_most(map_error_of(s.image, maps, 0.2), 0.06);
}

TEST(an_image_of_one_pixel_across_is_no_trouble)
{
    enum { SAMPLES = 64, SPOKES = 4 };
    OWNED(scan) s = scan_of(LARMOR_SHAPE(64, 1), radial_points(64, SAMPLES, SPOKES), SAMPLES, SPOKES, LARMOR_C64);
    for (int j = 0; j < SAMPLES * SPOKES; j++) s.k[2 * j + 1] = 0;
    larmor_array_free(s.traj);
    s.traj = real_array(LARMOR_SHAPE(2, SAMPLES, SPOKES), s.k);
    HEAP cplx *maps = estimate(&s, NULL, NULL);
    for (int i = 0; i < 64 * COILS; i++) assert_true(isfinite(cabs(maps[i])));
}

TEST(maps_have_unit_norm_everywhere_and_go_on_smoothly_outside)
{
    OWNED(scan) s = radial_scan();
    HEAP cplx *maps = estimate(&s, NULL, NULL);
    const int64_t voxels = larmor_shape_count(s.image), nx = s.image.dim[0];
    double roughest = 0;
    for (int64_t i = 0; i < voxels; i++) {
        double energy = 0, step = 0;
        for (int c = 0; c < COILS; c++) {
            energy += pow(cabs(maps[i + voxels * c]), 2);
            if (i % nx) step += pow(cabs(maps[i + voxels * c] - maps[i - 1 + voxels * c]), 2);
        }
        assert_at_most(fabs(energy - 1), 1e-5);
        if (sqrt(step) > roughest) roughest = sqrt(step);
    }
    assert_at_most(roughest, 0.25);
}

TEST(the_phase_of_the_object_is_not_in_the_maps)
{
    OWNED(scan) s = radial_scan();
    HEAP cplx *maps = estimate(&s, NULL, NULL);
    const int64_t m = larmor_array_count(s.kspace);
    for (int64_t i = 0; i < m; i++) s.y[i] *= -3 + 4 * I;
    larmor_array_free(s.kspace);
    s.kspace = complex_array(LARMOR_C64, LARMOR_SHAPE(128, 64, COILS), s.y);
    HEAP cplx *rephased = estimate(&s, NULL, NULL);
    assert_at_most(difference(rephased, maps, larmor_shape_count(s.image) * COILS), 3e-4);
}

TEST(only_the_centre_of_k_space_matters)
{
    OWNED(scan) s = radial_scan();
    HEAP cplx *maps = estimate(&s, NULL, &(larmor_coils_opts){.calibration = 20});
    for (int64_t j = 0; j < 128 * 64; j++)
        for (int c = 0; c < COILS; c++)
            if (hypot(s.k[2 * j], s.k[2 * j + 1]) >= 10) s.y[j + 128 * 64 * c] = 1e6;
    larmor_array_free(s.kspace);
    s.kspace = complex_array(LARMOR_C64, LARMOR_SHAPE(128, 64, COILS), s.y);
    HEAP cplx *same = estimate(&s, NULL, &(larmor_coils_opts){.calibration = 20});
    /* a GPU's sums round differently every time */
    assert_at_most(difference(same, maps, larmor_shape_count(s.image) * COILS), 1e-4);
}

TEST(the_number_of_threads_does_not_change_a_bit)
{
    larmor_device *usual = dev;
    const char *const spec[] = {"cpu:1", "cpu:3"};
    cplx *maps[2];
    for (int i = 0; i < 2; i++) {
        assert_ok(larmor_device_open(spec[i], &dev));
        OWNED(scan) s = radial_scan();
        maps[i] = estimate(&s, NULL, NULL);
        larmor_device_free(dev);
    }
    dev = usual;
    assert_at_most(difference(maps[1], maps[0], 64 * 50 * COILS), 0);
    LMR_FREE(maps[0], maps[1]);
}

TEST(data_without_a_centre_or_signal_are_refused)
{
    OWNED(scan) s = radial_scan();
    OWNED(larmor_array) *zero = zeros(LARMOR_C64, LARMOR_SHAPE(128, 64, COILS));
    assert_none_made(larmor_array, larmor_coils_estimate(zero, s.traj, NULL, s.image, NULL, &made, NULL),
                     LARMOR_ERR_NUMERIC, "coils: the centre of k-space has energy 0");
    OWNED(larmor_array) *few = zeros(LARMOR_C64, LARMOR_SHAPE(128, 63, COILS));
    assert_none_made(larmor_array, larmor_coils_estimate(few, s.traj, NULL, s.image, NULL, &made, NULL),
                     LARMOR_ERR_SHAPE, "coils: k-space is c64 [128, 63, 6]");
    for (int64_t j = 0; j < 128 * 64; j++) s.k[2 * j] = 20 + s.k[2 * j] / 64;
    OWNED(larmor_array) *far = real_array(LARMOR_SHAPE(2, 128, 64), s.k);
    assert_none_made(larmor_array, larmor_coils_estimate(s.kspace, far, NULL, s.image, NULL, &made, NULL),
                     LARMOR_ERR_NUMERIC, "coils: no samples within 16/FOV");
    assert_none_made(
        larmor_array,
        larmor_coils_estimate(s.kspace, s.traj, NULL, s.image, &(larmor_coils_opts){.window = -1}, &made, NULL),
        LARMOR_ERR_ARG, "coils: calibration 0 and window -1");
}

/* To the bit, and twice by the same weights, which are read only. */
TEST(maps_by_the_density_of_their_trajectory_are_those_without)
{
    OWNED(scan) s = radial_scan();
    const larmor_coils_opts plain = {.calibration = 20};
    larmor_coils_opts opts = plain;
    OWN(larmor_array, *density, larmor_coils_density(s.traj, s.image, &plain, &density));
    opts.density = density;
    HEAP cplx *expected = estimate(&s, NULL, &plain);
    for (int i = 0; i < 2; i++) {
        HEAP cplx *got = estimate(&s, NULL, &opts);
        if (!strncmp(larmor_device_spec(dev), "cpu", 3))
            assert_memory_equal(got, expected, sizeof *got * 64 * 50 * COILS);
        assert_at_most(difference(got, expected, 64 * 50 * COILS), 1e-3);
    }
    opts.calibration = 24;
    assert_none_made(larmor_array, larmor_coils_estimate(s.kspace, s.traj, NULL, s.image, &opts, &made, NULL),
                     LARMOR_ERR_SHAPE, "coils: density array is f64");
    OWN(larmor_array, *other, larmor_coils_density(s.traj, s.image, NULL, &other));
    assert_true(larmor_array_count(other) > larmor_array_count(density));
    assert_none_made(larmor_array,
                     larmor_coils_density(s.traj, s.image, &(larmor_coils_opts){.calibration = -1}, &made),
                     LARMOR_ERR_ARG, "coils: calibration -1");
    for (int64_t j = 0; j < 128 * 64; j++) s.k[2 * j] = 20 + s.k[2 * j] / 64;
    OWNED(larmor_array) *far = real_array(LARMOR_SHAPE(2, 128, 64), s.k);
    assert_none_made(larmor_array, larmor_coils_density(far, s.image, NULL, &made), LARMOR_ERR_NUMERIC,
                     "coils: no samples within 16");
}

/* ---- trust ---- */

typedef struct judged {
    const char *name;
    larmor_traj_opts opts;
} judged;

/* noise: its standard deviation relative to the root mean square of the samples; below 0 there is nothing else. */
static larmor_coils_report report_of(const judged *j, double noise)
{
    larmor_coils_report report;
    uint64_t seed = 3;
    larmor_array *traj = MADE(larmor_array, larmor_traj_create(dev, j->name, &j->opts, &made));
    const larmor_shape shape = larmor_array_shape(traj);
    double *k = malloc(larmor_array_bytes(traj)), energy = 0;
    assert_non_null(k);
    assert_ok(larmor_array_read(traj, k, larmor_array_bytes(traj)));
    larmor_array_free(traj);
    OWNED(scan) s =
        scan_of(larmor_shape_of((int)shape.dim[0], j->opts.matrix), k, shape.dim[1], shape.dim[2], LARMOR_C64);
    const int64_t count = larmor_array_count(s.kspace);
    for (int64_t i = 0; i < count; i++) energy += pow(cabs(s.y[i]), 2) / (double)count;
    for (int64_t i = 0; i < count; i++) {
        const double re = test_random(&seed);
        s.y[i] = (noise < 0 ? 0 : s.y[i]) + fabs(noise) * sqrt(energy) * (re + I * test_random(&seed));
    }
    larmor_array_free(s.kspace);
    s.kspace = complex_array(LARMOR_C64, LARMOR_SHAPE(shape.dim[1], shape.dim[2], COILS), s.y);
    OWN(larmor_array, *maps, larmor_coils_estimate(s.kspace, s.traj, NULL, s.image, NULL, &maps, &report));
    return report;
}

static void assert_judged(const judged *j, double noise, larmor_maps_warning warning)
{
    const larmor_coils_report r = report_of(j, noise);
    if (r.warning != warning)
        fail_msg("%s, undersampling %g, acceleration %lld, noise %g: warning %d, sampled %.3f, dominance %.3f",
                 j->name, j->opts.undersampling, (long long)j->opts.acceleration[0], noise, (int)r.warning, r.sampled,
                 r.dominance);
}

TEST(maps_of_a_sampled_centre_are_trusted)
{
    static const judged good[] = {
        {"golden", {.matrix = {48, 48}}},
        {"golden", {.matrix = {48, 48}, .undersampling = 4}},
        {"radial", {.matrix = {48, 48}, .undersampling = 4}},
        {"spiral", {.matrix = {48, 48}}},
        {"spiral", {.matrix = {48, 48}, .undersampling = 2}},
        {"spiral", {.matrix = {48, 48}, .density = 2, .undersampling = 4}},
        {"koosh", {.matrix = {20, 20, 20}, .undersampling = 4}},
        {"stars", {.matrix = {24, 24, 12}, .undersampling = 4}},
        {"cartesian", {.matrix = {48, 48}}},
        {"cartesian", {.matrix = {48, 48}, .acceleration = {4, 1}, .calibration = {12, 0}}},
        {"cartesian", {.matrix = {48, 48}, .partial_fourier = 0.625}},
    };
    for (int i = 0; i < (int)(sizeof good / sizeof *good); i++)
        for (double noise = 0; noise < 1; noise += 0.8) assert_judged(&good[i], noise, LARMOR_MAPS_TRUSTED);
}

TEST(maps_of_an_undersampled_centre_are_not_trusted)
{
    static const judged bad[] = {
        {"cartesian", {.matrix = {48, 48}, .acceleration = {2, 1}}},
        {"cartesian", {.matrix = {48, 49}, .acceleration = {3, 1}}},
        {"cartesian", {.matrix = {48, 50}, .readouts = 12}},
        {"cartesian", {.matrix = {24, 24, 24}, .acceleration = {2, 2}}},
        {"spiral", {.matrix = {96, 96}, .undersampling = 4}},
        {"golden", {.matrix = {48, 48}, .readouts = 3}},
        {"koosh", {.matrix = {20, 20, 20}, .readouts = 20}},
    };
    for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++)
        for (double noise = 0; noise < 1; noise += 0.8) assert_judged(&bad[i], noise, LARMOR_MAPS_UNDERSAMPLED);
}

TEST(maps_of_noise_are_not_trusted)
{
    static const judged scans[] = {
        {"golden", {.matrix = {48, 48}}}, {"cartesian", {.matrix = {48, 48}}}, {"koosh", {.matrix = {20, 20, 20}}}};
    for (int i = 0; i < 3; i++) assert_judged(&scans[i], -1, LARMOR_MAPS_AMBIGUOUS);
}
