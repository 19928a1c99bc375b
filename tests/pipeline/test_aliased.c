/* Images of lines that leave out a part of k-space: regular undersampling without calibration lines, middle lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

#include <complex.h>

enum { RING = 8 };

/* Of three plane waves along x and along y each, .45 / FOV apart: maps that hardly separate three aliased places of
 * the image. beyond: that many voxels along y. */
static larmor_array *take_waves(int beyond)
{
    static float complex maps[RING][N][N];
    for (int c = 0; c < RING; c++) {
        const double at = 2 * M_PI * c / RING + 0.3, dx = cos(at), dy = sin(at),
                     odd = 0.1 * cos(2.1 * (double)(c * c) + c);
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++) {
                const double px = 0.9 * M_PI * (x - N / 2) / N, py = 0.9 * M_PI * (y + beyond - N / 2) / N;
                const double complex wave = 1 + dx * sin(px) + dy * sin(py) + odd * (cos(py) + I * sin(px));
                maps[c][y][x] = (float complex)(0.5 * wave * cexp(2.4 * I * (double)c));
            }
    }
    return MADE(larmor_array,
                larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(N, N, RING), LARMOR_C64, maps, &made));
}

static scan scan_of_lines(int64_t step, double sigma, uint64_t seed)
{
    const larmor_traj_opts lines = {.matrix = {N, N}, .acceleration = {step, 1}};
    scan s = {.arrays = {.matrix = {N, N}, .trajectory = "cartesian", .images = 1}, .maps = take_waves(0)};
    assert_ok(larmor_phantom_create("shepp-logan", 2, &s.phantom));
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, LARMOR_SHAPE(N, N), &s.truth));
    assert_ok(larmor_traj_create(dev, "cartesian", &lines, &s.image[0].traj));
    const larmor_sense_opts sense = {.traj = s.image[0].traj};
    OWN(larmor_op, *A, larmor_op_sense(s.maps, &sense, &A));
    assert_ok(larmor_array_create(dev, LARMOR_C64, larmor_op_out_shape(A), &s.image[0].kspace));
    OWN(larmor_array, *sums, larmor_array_create(dev, LARMOR_C64, larmor_op_out_shape(A), &sums));
    assert_ok(larmor_op_forward(A, s.truth, sums));
    assert_ok(larmor_axpby(1. / (N * N), sums, 0, s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, sigma, seed));
    return s;
}

/* The bound holds for any direction, however small its eigenvalue. */
TEST(images_of_regular_lines_end_within_a_twentieth_of_their_noise_of_the_solution)
{
    static const double lambda[] = {1e-2, 1e-4, 1e-5};
    for (int64_t step = 2; step <= 5; step++)
        for (int i = of_all((int)step % 3, 0); i <= of_all((int)step % 3, 2); i++) {
            OWNED(scan) s = scan_of_lines(step, 1e-3, 1 + (uint64_t)i);
            larmor_recon_opts opts =
                KNOWN(.maps = s.maps, .method = "cg", .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = lambda[i]);
            OWNED(larmor_recon_result) x = result_of(&s, &opts);
            opts.tol = 1e-10;
            opts.iters = 3000;
            OWNED(larmor_recon_result) solution = result_of(&s, &opts);
            const double apart = difference(x.image[0].data, solution.image[0].data);
            print_message("R %d lambda %g: %.4f of the noise after %d, of %d\n", (int)step, lambda[i],
                          apart / x.report.image_noise, x.report.solver.iters, solution.report.solver.iters);
            assert_at_most(apart, 0.0501 * x.report.image_noise + 2e-4);
            assert_at_most(apart, 1.01 * x.report.solver.left + 1e-6);
        }
}

static double error_at(const scan *s, int mode, double lambda)
{
    const larmor_recon_opts opts = KNOWN(.maps = s->maps, .method = "cg", .lambda_mode = mode, .lambda = lambda);
    return error_of(s, &opts);
}

TEST(the_weight_of_regular_lines_is_near_the_best)
{
    static const double sigma[] = {3e-5, 2e-4, 1e-3};
    for (int64_t step = 2; step <= 4; step++)
        for (int i = of_all((int)step % 3, 0); i <= of_all((int)step % 3, 2); i++) {
            OWNED(scan) s = scan_of_lines(step, sigma[i], 11 + (uint64_t)step);
            const double chosen = error_at(&s, LARMOR_LAMBDA_AUTO, 0);
            double best = INFINITY;
            for (double lambda = 1e-6; lambda < 0.2; lambda *= 10)
                best = fmin(best, error_at(&s, LARMOR_LAMBDA_RELATIVE, lambda));
            print_message("R %d sigma %g: %.4f, best %.4f\n", (int)step, sigma[i], chosen, best);
            assert_at_most(chosen, 1.06 * best);
        }
}

/* The middle ones of the lines of a grid. */
static void keep_middle(scan *s, int64_t count)
{
    OWNED(larmor_array) *lines = s->image[0].traj, *kspace = s->image[0].kspace;
    const larmor_shape all = larmor_array_shape(lines);
    const int64_t coils = larmor_array_count(kspace) / (all.dim[1] * all.dim[2]), first = (all.dim[2] - count) / 2;
    const int64_t a = 2 * all.dim[1], b = 2 * all.dim[1];
    HEAP double *k = NULL;
    HEAP float *y = host_of(kspace);
    assert_ok(larmor_array_download(lines, LARMOR_F64, &k));
    for (int64_t c = 0; c < coils; c++)
        memmove(y + b * count * c, y + b * (first + all.dim[2] * c), (size_t)(b * count) * sizeof *y);
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, all.dim[1], count), LARMOR_F64, k + a * first,
                                  &s->image[0].traj));
    assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(all.dim[1], count, coils), LARMOR_C64, y,
                                  &s->image[0].kspace));
}

/* The object goes on for eight voxels beyond the field of view, with .3 of its brightness, which are folded
 * in. */
static void reach_beyond(scan *s)
{
    enum { ROWS = 8 };
    OWNED(larmor_array) *maps = take_waves(N), *outside, *sums;
    HEAP float *x = host_of(s->truth);
    const larmor_sense_opts sense = {.traj = s->image[0].traj};
    memmove(x, x + N * N, sizeof *x * 2 * ROWS * N);
    memset(x + 2 * ROWS * N, 0, sizeof *x * 2 * (N - ROWS) * N);
    assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(N, N), LARMOR_C64, x, &outside));
    OWN(larmor_op, *A, larmor_op_sense(maps, &sense, &A));
    assert_ok(larmor_array_create(dev, LARMOR_C64, larmor_op_out_shape(A), &sums));
    assert_ok(larmor_op_forward(A, outside, sums));
    assert_ok(larmor_axpby(0.3 / (N * N), sums, 1, s->image[0].kspace));
}

/* Beside the image of all lines by one FFT. */
TEST(what_is_folded_is_not_fitted_beyond_the_lines_that_are_sampled)
{
    static const int64_t lines[] = {20, 26, 28}; /* of 32 */
    for (int i = 0; i < 3; i++) {
        OWNED(scan) s = scan_of_lines(1, 0, 1);
        larmor_recon_opts opts = KNOWN(.maps = s.maps, .oversample = {1}, .method = "cg");
        reach_beyond(&s);
        assert_ok(larmor_phantom_noise(s.image[0].kspace, 2e-4, 1));
        OWNED(larmor_recon_result) full = result_of(&s, &opts);
        keep_middle(&s, lines[i]);
        OWNED(larmor_recon_result) linear = result_of(&s, &opts);
        opts.method = "tv";
        OWNED(larmor_recon_result) fitted = result_of(&s, &opts);
        opts.method = NULL;
        OWNED(larmor_recon_result) x = result_of(&s, &opts);
        print_message("%lld lines: %.3f by tv, %.3f\n", (long long)lines[i],
                      difference(fitted.image[0].data, full.image[0].data),
                      difference(x.image[0].data, full.image[0].data));
        assert_string_equal(x.report.method.name, "cg");
        assert_int_equal(x.report.method.from, LARMOR_METHOD_FROM_MODEL);
        assert_true(difference(x.image[0].data, linear.image[0].data) == 0);
        assert_true(difference(fitted.image[0].data, full.image[0].data) >
                    2 * difference(x.image[0].data, full.image[0].data));
    }
}

/* Gaussians of 3 voxels, of which next to nothing lies beyond 8 / FOV, in the place of the object. */
static void take_smooth_object(scan *s)
{
    HEAP float *x = host_of(s->truth);
    const larmor_sense_opts sense = {.traj = s->image[0].traj};
    for (int i = 0; i < N * N; i++) {
        const double across = i % N - N / 2, along = i / N - N / 2;
        x[2 * i] = (float)(exp(-(pow(across - 3, 2) + pow(along, 2)) / 18) +
                           exp(-(pow(across + 4, 2) + pow(along - 2, 2)) / 18));
        x[2 * i + 1] = 0;
    }
    assert_ok(larmor_array_write(s->truth, x, larmor_array_bytes(s->truth)));
    OWN(larmor_op, *A, larmor_op_sense(s->maps, &sense, &A));
    assert_ok(larmor_op_forward(A, s->truth, s->image[0].kspace));
    assert_ok(larmor_axpby(1. / (N * N), s->image[0].kspace, 0, s->image[0].kspace));
}

TEST(with_little_noise_a_penalty_fills_in_what_an_object_has_beyond_middle_lines)
{
    enum { NOISE_SAMPLES = 4000 };
    static const int64_t lines[] = {16, 20, 24}; /* of 32 */
    for (int i = 0; i < 3; i++)
        for (uint64_t seed = 1; seed <= 2; seed++) {
            OWNED(scan) s = scan_of_lines(1, 3e-5, seed);
            assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(NOISE_SAMPLES, RING), &s.arrays.noise));
            assert_ok(larmor_zero(s.arrays.noise));
            assert_ok(larmor_phantom_noise(s.arrays.noise, 3e-5, seed + 10));
            larmor_recon_opts opts = KNOWN(.maps = s.maps, .oversample = {1});
            keep_middle(&s, lines[i]);
            OWNED(larmor_recon_result) x = result_of(&s, &opts);
            opts.method = "cg";
            const double error = difference(x.image[0].data, s.truth), by_cg = error_of(&s, &opts);
            print_message("%lld lines: error %.4f, by one FFT %.4f\n", (long long)lines[i], error, by_cg);
            assert_string_equal(x.report.method.name, "tv");
            assert_at_most(error, 0.8 * by_cg);
        }
}

TEST(with_little_noise_an_object_without_anything_beyond_middle_lines_is_by_one_transform)
{
    static const int64_t lines[] = {20, 24}; /* of 32 */
    for (int i = 0; i < 2; i++) {
        OWNED(scan) s = scan_of_lines(1, 0, 1);
        larmor_recon_opts opts = KNOWN(.maps = s.maps, .oversample = {1});
        take_smooth_object(&s);
        assert_ok(larmor_phantom_noise(s.image[0].kspace, 1e-6, 1));
        keep_middle(&s, lines[i]);
        OWNED(larmor_recon_result) x = result_of(&s, &opts);
        opts.method = "cg";
        OWNED(larmor_recon_result) linear = result_of(&s, &opts);
        assert_int_equal(x.report.method.from, LARMOR_METHOD_FROM_LINEARITY);
        assert_true(difference(x.image[0].data, linear.image[0].data) == 0);
        assert_at_most(difference(x.image[0].data, s.truth), 2e-3);
    }
}

static double of_magnitudes(const larmor_recon_result *x, const larmor_recon_result *y)
{
    HEAP float *a = host_of(x->image[0].data);
    HEAP float *b = host_of(y->image[0].data);
    double apart = 0, whole = 0;
    for (int i = 0; i < N * N; i++) {
        const double size = hypot(b[2 * i], b[2 * i + 1]);
        apart += pow(hypot(a[2 * i], a[2 * i + 1]) - size, 2);
        whole += size * size;
    }
    return sqrt(apart / whole);
}

/* By maps from the data. */
TEST(half_of_a_grid_is_not_weighed_as_all_of_it)
{
    enum { LINES = N / 2 };
    for (uint64_t seed = 1; seed <= 3; seed++) {
        OWNED(scan) s = scan_of_lines(1, 2e-4, seed);
        larmor_recon_opts opts = KNOWN(.oversample = {1}, .method = "cg");
        OWNED(larmor_recon_result) full = result_of(&s, &opts);
        keep_middle(&s, LINES);
        OWNED(larmor_recon_result) linear = result_of(&s, &opts);
        opts.method = "tv";
        OWNED(larmor_recon_result) x = result_of(&s, &opts);
        const double error = of_magnitudes(&x, &full), by_cg = of_magnitudes(&linear, &full);
        print_message("lambda %.2g: error %.3f, by cg %.3f\n", x.report.lambda, error, by_cg);
        assert_at_most(error, 0.9 * by_cg);
    }
}
