/* Images without coil maps: pipeline/problem.c, recon/maps/combine.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

#define QUICK(...) KNOWN(.oversample = {1, 1}, ##__VA_ARGS__)

/* Every R-th spoke of the scan's image, or lines of a grid: all within 4 of the centre, the others by chance. */
static scan undersampled(int lines, int R, double sigma, uint64_t seed)
{
    scan s = scan_of(COILS, 1, 0);
    larmor_readouts *r = &s.image[0];
    LMR_FREE(r->kspace, r->traj);
    HEAP double *k = calloc((size_t)2 * N * N, sizeof *k);
    int64_t count = 0;
    uint64_t state = seed;
    for (int y = -N / 2; y < N / 2 && lines; y++) {
        if (abs(y) > 4 && test_random(&state) > 2. / R - 1) continue;
        for (int i = 0; i < N; i++) {
            k[2 * (count * N + i)] = i - N / 2;
            k[2 * (count * N + i) + 1] = y;
        }
        count++;
    }
    if (lines) {
        assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, N, count), LARMOR_F64, k, &r->traj));
        s.arrays.trajectory = "cartesian";
    } else {
        const larmor_traj_opts opts = {
            .matrix = {N, N}, .readouts = 50 / R, .samples = SAMPLES, .first = 7 * (int64_t)seed};
        assert_ok(larmor_traj_create(dev, "golden", &opts, &r->traj));
    }
    assert_ok(larmor_phantom_kspace(s.phantom, r->traj, COILS, LARMOR_C64, &r->kspace));
    assert_ok(larmor_phantom_noise(r->kspace, sigma, seed));
    return s;
}

/* | |x| - |y| | / |y| at the best scale. */
static double error_of_magnitude(const larmor_array *x, const larmor_array *y)
{
    const larmor_compare_opts opts = {.magnitude = 1};
    larmor_comparison c;
    assert_ok(larmor_compare(x, y, &opts, &c));
    return c.nrmse;
}

static double error_by(const scan *s, const larmor_recon_opts *opts)
{
    OWNED(larmor_recon_result) result = result_of(s, opts);
    return error_of_magnitude(result.image[0].data, s->truth);
}

TEST(images_are_nearer_the_truth_than_gridding_and_no_farther_than_by_maps)
{
    const larmor_recon_opts clear = QUICK(.method = "clear"), cg = QUICK(.method = "cg"),
                            rss = QUICK(.method = "grid", .no_maps = 1);
    for (int lines = 0; lines < 2; lines++)
        for (int noisy = 0; noisy < 2; noisy++)
            for (uint64_t seed = 1; seed < 3; seed++) {
                OWNED(scan) s = undersampled(lines, 2 + noisy, noisy ? 4e-3 : 1e-3, seed);
                const double error = error_by(&s, &clear);
                assert_at_most(error, 0.8 * error_by(&s, &rss));
                assert_at_most(error, 1.1 * error_by(&s, &cg));
            }
}

TEST(the_image_explains_its_samples_to_their_noise)
{
    OWNED(scan) s = undersampled(0, 2, 1e-3, 1);
    const larmor_recon_opts clear = QUICK(.method = "clear");
    OWNED(larmor_recon_result) result = result_of(&s, &clear);
    assert_string_equal(result.report.method.name, "clear");
    assert_int_equal(result.report.lambda_from, LARMOR_LAMBDA_FROM_DATA);
    assert_int_equal(result.count, 1);
    assert_true(result.report.misfit.measured);
    assert_at_most(fabs(result.report.misfit.chi2 - 1), 0.5);
}

TEST(frames_are_those_of_each_by_itself)
{
    OWNED(scan) s = scan_of(COILS, 2, 1e-3), second = scan_of(COILS, 2, 1e-3);
    const larmor_recon_opts opts = QUICK(.method = "clear", .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 5e-3);
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    assert_int_equal(larmor_recon_series(recon), 2);
    OWNED(larmor_recon_result) first = {0}, both = {0};
    assert_ok(larmor_recon_run(recon, 0, &first));
    assert_ok(larmor_recon_run(recon, 1, &both));
    LMR_FREE(second.image[0].kspace, second.image[0].traj);
    second.image[0] = second.image[1];
    second.image[0].meta.repetition = 0;
    second.arrays.images = 1;
    OWNED(larmor_recon_result) alone = result_of(&second, &opts);
    assert_at_most(difference(both.image[0].data, alone.image[0].data), 1e-5);
    assert_true(difference(both.image[0].data, first.image[0].data) > 1e-4);
}

TEST(no_maps_is_what_the_method_means)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-3);
    const larmor_recon_opts plain = QUICK(.method = "clear"), said = QUICK(.method = "clear", .no_maps = 1);
    assert_at_most(apart(&s, &plain, &s, &said), strncmp(larmor_device_spec(dev), "cpu", 3) ? 1e-5 : 1e-6);
}

/* The images of a mixture of coils are the mixture of the coils' images, and have the same nuclear norms. */
TEST(coils_that_are_mixed_make_the_same_magnitudes)
{
    OWNED(scan) s = undersampled(0, 2, 1e-3, 1), mixed = undersampled(0, 2, 1e-3, 1);
    const larmor_recon_opts opts = QUICK(.method = "clear", .compress = -1);
    double hadamard[2 * COILS * COILS] = {0};
    for (int i = 0; i < COILS * COILS; i++)
        hadamard[2 * i] = __builtin_popcount(i / COILS & i % COILS) % 2 ? -0.5 : 0.5;
    OWN(larmor_array, *H,
        larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(COILS, COILS), LARMOR_C128, hadamard, &H));
    assert_ok(larmor_whiten(H, mixed.image[0].kspace));
    assert_true(difference(mixed.image[0].kspace, s.image[0].kspace) > 0.5);
    OWNED(larmor_recon_result) a = result_of(&s, &opts), b = result_of(&mixed, &opts);
    assert_at_most(error_of_magnitude(b.image[0].data, a.image[0].data), 1e-2);
}

TEST(memory_is_planned_for_all_coils)
{
    double bytes[2];
    for (int i = 0; i < 2; i++) {
        OWNED(scan) s = scan_of((i + 1) * COILS, 1, 1e-3);
        const larmor_recon_opts opts = QUICK(.method = "clear", .compress = -1);
        OWNED(larmor_recon) *recon = recon_of(&s, &opts);
        larmor_recon_plan plan;
        assert_ok(larmor_recon_describe(recon, 0, &plan));
        bytes[i] = (double)plan.bytes;
        assert_int_equal(plan.images, 1);
        assert_false(plan.maps);
    }
    assert_true(bytes[1] - bytes[0] > 6. * COILS * N * N * 8); /* the solver has more of each coil than 6 images */
}

TEST(what_is_of_maps_is_refused)
{
    OWNED(scan) s = scan_of(COILS, 1, 0), one = scan_of(1, 1, 0);
    larmor_recon *recon;
    const struct {
        larmor_recon_opts opts;
        const char *said;
    } cases[] = {
        {QUICK(.method = "clear", .maps = s.maps), "opts.maps: has no effect with opts.method clear"},
        {QUICK(.method = "clear", .maps_method = "walsh"),
         "opts.method clear: needs no coil maps; leave out those by walsh."},
        {QUICK(.method = "clear", .map_sets = 2), "opts.map_sets: has no effect with opts.method clear"},
        {QUICK(.method = "clear", .joint = 1), "opts.joint: has no effect with opts.method clear"},
        {QUICK(.method = "clear", .constraint = "real"), "opts.constraint: has no effect with opts.method clear"},
        {KNOWN(.method = "clear+tv:xy"),
         "regulariser: \"clear+tv:xy\" has clear in a sum, which is of coil images; leave it out"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(try_recon(&s, &cases[i].opts, &recon), LARMOR_ERR_ARG, cases[i].said);
    const larmor_recon_opts opts = QUICK(.method = "clear");
    assert_refused(try_recon(&one, &opts, &recon), LARMOR_ERR_ARG,
                   "opts.method clear: arrays has one coil, clear needs several; use tv or wavelet.");
}

TEST(there_is_no_map_of_its_noise)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-3);
    const larmor_recon_opts opts = QUICK(.method = "clear");
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    OWNED(larmor_recon_result) result = {0};
    larmor_noise_maps maps;
    assert_ok(larmor_recon_run(recon, 0, &result));
    assert_refused(larmor_recon_noise(recon, 0, &result, NULL, &maps), LARMOR_ERR_ARG,
                   "noise: images without coil maps by opts.method clear have no such maps");
}
