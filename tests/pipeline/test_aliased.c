/* Images of regular undersampling without calibration lines. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

#include <complex.h>

enum { RING = 8 };

/* Of three plane waves along x and along y each, .45 / FOV apart: maps that hardly separate three aliased places of
 * the image. */
static larmor_array *take_waves(void)
{
    static float complex maps[RING][N][N];
    for (int c = 0; c < RING; c++) {
        const double at = 2 * M_PI * c / RING + 0.3, dx = cos(at), dy = sin(at),
                     odd = 0.1 * cos(2.1 * (double)(c * c) + c);
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++) {
                const double px = 0.9 * M_PI * (x - N / 2) / N, py = 0.9 * M_PI * (y - N / 2) / N;
                const double complex wave = 1 + dx * sin(px) + dy * sin(py) + odd * (cos(py) + I * sin(px));
                maps[c][y][x] = (float complex)(0.5 * wave * cexp(2.4 * I * (double)c));
            }
    }
    larmor_array *made;
    assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(N, N, RING), LARMOR_C64, maps, &made));
    return made;
}

static scan scan_of_lines(int64_t step, double sigma, uint64_t seed)
{
    const larmor_traj_opts lines = {.matrix = {N, N}, .acceleration = {step, 1}};
    OWNED(larmor_op) *A;
    OWNED(larmor_array) *sums;
    scan s = {.arrays = {.matrix = {N, N}, .trajectory = "cartesian", .images = 1}, .maps = take_waves()};
    assert_ok(larmor_phantom_create("shepp-logan", 2, &s.phantom));
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, LARMOR_SHAPE(N, N), &s.truth));
    assert_ok(larmor_traj_create(dev, "cartesian", &lines, &s.image[0].traj));
    const larmor_sense_opts sense = {.traj = s.image[0].traj};
    assert_ok(larmor_op_sense(s.maps, &sense, &A));
    assert_ok(larmor_array_create(dev, LARMOR_C64, larmor_op_out_shape(A), &s.image[0].kspace));
    assert_ok(larmor_array_create(dev, LARMOR_C64, larmor_op_out_shape(A), &sums));
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
        for (int i = 0; i < 3; i++) {
            OWNED(scan) s = scan_of_lines(step, 1e-3, 1 + (uint64_t)i);
            larmor_recon_opts opts =
                OPTS(.maps = s.maps, .method = "cg", .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = lambda[i]);
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
    const larmor_recon_opts opts = OPTS(.maps = s->maps, .method = "cg", .lambda_mode = mode, .lambda = lambda);
    return error_of(s, &opts);
}

TEST(the_weight_of_regular_lines_is_near_the_best)
{
    static const double sigma[] = {3e-5, 2e-4, 1e-3};
    for (int64_t step = 2; step <= 4; step++)
        for (int i = 0; i < 3; i++) {
            OWNED(scan) s = scan_of_lines(step, sigma[i], 11 + (uint64_t)step);
            const double chosen = error_at(&s, LARMOR_LAMBDA_AUTO, 0);
            double best = INFINITY;
            for (double lambda = 1e-6; lambda < 0.2; lambda *= 10)
                best = fmin(best, error_at(&s, LARMOR_LAMBDA_RELATIVE, lambda));
            print_message("R %d sigma %g: %.4f, best %.4f\n", (int)step, sigma[i], chosen, best);
            assert_at_most(chosen, 1.06 * best);
        }
}
