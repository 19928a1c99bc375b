/* pipeline/solve.c. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "tests/pipeline/scan.h"

TEST(every_method_gives_the_image)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    const struct {
        const char *method;
        double most;
    } methods[] = {{"cg", 0.18}, {"grid", 0.2}, {"tv", 0.18}, {"tgv", 0.18}, {"wavelet", 0.18}};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = methods[i].method);
        assert_at_most(error_of(&s, &opts), methods[i].most);
    }
}

TEST(a_series_gives_every_frame)
{
    OWNED(scan) s = scan_of(COILS, 3, 0);
    const char *const methods[] = {"tv", "llr"};
    for (int i = 0; i < 2; i++) {
        const larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = methods[i], .joint = 1);
        OWNED(larmor_recon_result) result = result_of(&s, &opts);
        assert_int_equal(result.count, 3);
        for (int f = 0; f < 3; f++) assert_at_most(difference(result.image[f].data, s.truth), 0.18);
    }
}

/* Told how, told by the noise, and chosen: the report says which. */
TEST(lambda_is_as_asked_for)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-3);
    const char *const methods[] = {"cg", "tv"};
    for (int i = 0; i < 2; i++) {
        larmor_recon_opts opts =
            KNOWN(.maps = s.maps, .method = methods[i], .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 2e-3);
        OWNED(larmor_recon_result) given = result_of(&s, &opts);
        assert_at_most(fabs(given.report.lambda / 2e-3 - 1), 1e-6);
        assert_int_equal(given.report.lambda_from, LARMOR_LAMBDA_FROM_CALLER);
        assert_int_equal(given.report.choice.tried, 0);

        opts.lambda_mode = LARMOR_LAMBDA_NOISE;
        opts.lambda = 1;
        OWNED(larmor_recon_result) once = result_of(&s, &opts);
        opts.lambda = 3;
        OWNED(larmor_recon_result) thrice = result_of(&s, &opts);
        assert_at_most(fabs(thrice.report.weight / once.report.weight - 3), 1e-4); /* a GPU adds in any order */

        opts.lambda_mode = LARMOR_LAMBDA_AUTO;
        OWNED(larmor_recon_result) chosen = result_of(&s, &opts);
        assert_int_equal(chosen.report.lambda_from, LARMOR_LAMBDA_FROM_DATA);
        assert_true(chosen.report.choice.tried > 0);
        assert_at_most(fabs(log(chosen.report.noise / 1e-3)), log(1.2));
    }
}

/* Chosen once, for all images that have about as many samples. */
TEST(the_images_of_a_scan_share_lambda)
{
    OWNED(scan) s = scan_of(COILS, 3, 1e-3);
    const char *const methods[] = {"cg", "tv"};
    for (int i = 0; i < 2; i++) {
        notes n = {.text = ""};
        const larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = methods[i], .listener = take_note, .user = &n);
        OWNED(larmor_recon) *recon = recon_of(&s, &opts);
        larmor_recon_result other;
        OWN(larmor_recon_result, first, larmor_recon_run(recon, 0, &first));
        assert_int_equal(first.report.lambda_from, LARMOR_LAMBDA_FROM_DATA);
        for (int image = 1; image < 3; image++) {
            assert_ok(larmor_recon_run(recon, image, &other));
            assert_int_equal(other.report.lambda_from, LARMOR_LAMBDA_FROM_SCAN);
            assert_true(other.report.weight == first.report.weight);
            assert_true(other.report.noise == first.report.noise);
            larmor_recon_result_free(&other);
        }
        assert_noted(n, "L:image 2 of 3: lambda");
        assert_null(strstr(n.text, "image 3 of 3: lambda"));
    }
}

TEST(no_lambda_is_no_penalty)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    const larmor_recon_opts tv = KNOWN(.maps = s.maps, .method = "tv", .lambda_mode = LARMOR_LAMBDA_RELATIVE);
    OWNED(larmor_recon_result) result = result_of(&s, &tv);
    assert_true(result.report.weight == 0);
}

/* Samples of an image of smooth blobs, exact to 1e-12 and without noise. */
static void take_blobs(scan *s)
{
    static double image[2 * N * N];
    for (int y = 0; y < N; y++)
        for (int i = 0; i < N; i++) {
            const double a = hypot(i - 13, y - 17) / 2.5, b = hypot(i - 19, y - 15) / 2;
            image[2 * (i + N * y)] = exp(-a * a / 2);
            image[2 * (i + N * y) + 1] = .6 * exp(-b * b / 2);
        }
    larmor_array_free(s->truth);
    OWN(larmor_array, *x, larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(N, N), &x));
    assert_ok(larmor_array_write(x, image, sizeof image));
    assert_ok(larmor_array_convert(x, LARMOR_C64, &s->truth));
    OWN(larmor_array, *maps, larmor_array_convert(s->maps, LARMOR_C128, &maps));
    const larmor_sense_opts opts = {.traj = s->image[0].traj, .nufft_tol = 1e-12};
    OWN(larmor_op, *A, larmor_op_sense(maps, &opts, &A));
    larmor_array_free(s->image[0].kspace);
    assert_ok(larmor_array_create(dev, LARMOR_C128, larmor_op_out_shape(A), &s->image[0].kspace));
    assert_ok(larmor_op_forward(A, x, s->image[0].kspace));
}

TEST(samples_without_noise_give_the_image_by_small_weights_and_by_the_chosen_one_and_not_the_rounding_over_them)
{
    static const double lambda[] = {1e-5, 1e-6, 1e-7};
    OWNED(scan) s = scan_of(COILS, 1, 0);
    take_blobs(&s);
    for (int i = of_all(2, 0); i < 3; i++) {
        const larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = "cg", .scale = LARMOR_SCALE_SUM,
                                             .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = lambda[i]);
        const double error = error_of(&s, &opts);
        if (getenv("SHOW")) printf("%g: %.2e\n", lambda[i], error);
        assert_at_most(error, 1e-3);
    }
    const larmor_recon_opts chosen = KNOWN(.maps = s.maps, .method = "cg", .scale = LARMOR_SCALE_SUM);
    const double error = error_of(&s, &chosen);
    if (getenv("SHOW")) printf("chosen: %.2e\n", error);
    assert_at_most(error, 3e-3);
}

/* What changes the way changes the image by less than the way's own error. */
TEST(the_way_does_not_show_in_the_image)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-4);
    const larmor_recon_opts plain = KNOWN(.maps = s.maps, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3,
                                          .tol = 1e-5, .precondition = -1, .toeplitz = -1);
    larmor_recon_opts other[4] = {plain, plain, plain, plain};
    other[0].precondition = 1;
    other[1].toeplitz = 1;
    other[2].eps = 1e-8; /* in double precision */
    other[3].tol = -1;   /* to rounding */
    OWNED(larmor_recon_result) by_plain = result_of(&s, &plain);
    for (int i = 0; i < 4; i++) {
        OWNED(larmor_recon_result) result = result_of(&s, &other[i]);
        assert_at_most(difference(result.image[0].data, by_plain.image[0].data), 3e-3);
        assert_int_equal(result.report.preconditioned, i == 0);
        assert_int_equal(result.report.toeplitz, i == 1);
    }
    assert_true(!by_plain.report.preconditioned && !by_plain.report.toeplitz);
}

TEST(without_maps_coils_may_be_gridded_in_blocks)
{
    OWNED(scan) s = scan_of(16, 1, 0);
    larmor_recon_opts opts = OPTS(.method = "grid", .no_maps = 1, .compress = -1, .memory = INT64_C(1) << 40);
    larmor_recon_plan plan;
    larmor_recon *recon = recon_of(&s, &opts);
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    larmor_recon_free(recon);
    const larmor_recon_opts all = opts;
    assert_int_equal(plan.block, 16);
    opts.memory = plan.bytes - 1; /* halves leave no rest, which would need another plan of transforms */
    recon = recon_of(&s, &opts);
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    larmor_recon_free(recon);
    assert_int_equal(plan.block, 8);
    assert_at_most(apart(&s, &opts, &s, &all), 1e-5);
}

TEST(the_report_says_how_the_solver_ended)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-4);
    notes n = {.text = ""};
    const larmor_recon_opts opts = KNOWN(.maps = s.maps, .iters = 1, .tol = 1e-6,
                                         .lambda_mode = LARMOR_LAMBDA_RELATIVE, .listener = take_note, .user = &n);
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    assert_int_equal(result.report.solver.iters, 1);
    assert_int_equal(result.report.solver.end, LARMOR_END_ITERATIONS);
    assert_noted(n, "L:image 1 of 1: the limit of iterations was reached first; opts.iters allows for more");
    assert_noted(n, "L:image 1 of 1: 1 iteration by");
    assert_null(strstr(n.text, "ended at the rounding"));
    assert_true(result.report.seconds > 0);
}

/* No more iterations than at the usual tolerance, for an image as near to the truth; the report says what is left
 * to do. */
TEST(an_image_with_a_penalty_ends_by_the_noise)
{
    const char *const methods[] = {"tv", "tgv", "wavelet"};
    int iters = 0, usual = 0;
    for (int i = 0; i < of_all(1, 3); i++) {
        OWNED(scan) s = scan_of(COILS, 1, 6e-3);
        assert_ok(larmor_phantom_noise(s.image[0].kspace, 6e-3, 101 + (uint64_t)i));
        larmor_recon_opts opts = KNOWN(.maps = s.maps, .method = methods[i]);
        OWNED(larmor_recon_result) noisy = result_of(&s, &opts);
        opts.tol = 5e-3; /* the usual one */
        OWNED(larmor_recon_result) told = result_of(&s, &opts);
        const larmor_recon_report *r = &noisy.report;
        assert_at_most(difference(noisy.image[0].data, s.truth), 1.01 * difference(told.image[0].data, s.truth));
        assert_at_most(fabs(r->weight / told.report.weight - 1), is_cpu() ? 0 : 1e-3); /* sums in any order */
        assert_true(r->image_noise > 0.01 && r->image_noise < 1 && told.report.image_noise == 0);
        assert_int_equal(r->solver.end, LARMOR_END_TOLERANCE);
        assert_at_most(difference(noisy.image[0].data, told.image[0].data), 0.15 * r->image_noise);
        iters += r->solver.iters;
        usual += told.report.solver.iters;
    }
    assert_true(iters < usual);
}

/* Gaussians times coils that are Gaussians around them: products are Gaussians, too. */
typedef struct gaussian {
    double height, at[2], width;
} gaussian;

enum { BLOBS = 3, MATRIX = 48, RING = 8 };
static const gaussian blobs[BLOBS] = {{1, {-0.1, 0.05}, 0.12}, {0.7, {0.12, 0.1}, 0.09}, {0.8, {0.02, -0.15}, 0.1}};

static gaussian seen_by(int coil, const gaussian *g)
{
    const double width = 0.5, all = g->width * g->width + width * width;
    gaussian seen = {.width = g->width * width / sqrt(all)};
    double away = 0;
    for (int d = 0; d < 2; d++) {
        const double at = 0.6 * (d ? sin(2 * M_PI * coil / RING) : cos(2 * M_PI * coil / RING));
        away += pow(g->at[d] - at, 2);
        seen.at[d] = (g->at[d] * width * width + at * g->width * g->width) / all;
    }
    seen.height = g->height * exp(-away / (2 * all));
    return seen;
}

/* Their k-space at every second line, and those in the middle. */
static scan scan_of_blobs(double sigma)
{
    const larmor_traj_opts second = {.matrix = {MATRIX, MATRIX}, .acceleration = {2, 1}, .calibration = {16, 0}};
    scan s = {.arrays = {.matrix = {MATRIX, MATRIX}, .trajectory = "cartesian", .images = 1}};
    HEAP double *k = NULL;
    assert_ok(larmor_traj_create(dev, "cartesian", &second, &s.image[0].traj));
    assert_ok(larmor_array_download(s.image[0].traj, LARMOR_F64, &k));
    const larmor_shape shape = larmor_array_shape(s.image[0].traj);
    const int64_t samples = shape.dim[1] * shape.dim[2];
    HEAP float complex *y = calloc((size_t)(samples * RING), sizeof *y);
    for (int64_t i = 0; i < samples * RING * BLOBS; i++) {
        const gaussian g = seen_by((int)(i / BLOBS / samples), &blobs[i % BLOBS]);
        const double *at = k + 2 * (i / BLOBS % samples), power = at[0] * at[0] + at[1] * at[1];
        const double size = 2 * M_PI * g.height * g.width * g.width * exp(-2 * pow(M_PI * g.width, 2) * power);
        y[i / BLOBS] += (float complex)(size * cexp(-2 * M_PI * I * (at[0] * g.at[0] + at[1] * g.at[1])));
    }
    assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(shape.dim[1], shape.dim[2], RING), LARMOR_C64, y,
                                  &s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, sigma, 1));
    return s;
}

/* The root sum of squares of the coils at a voxel. */
static double blobs_at(int64_t voxel)
{
    double square = 0;
    for (int c = 0; c < RING; c++) {
        double sum = 0;
        for (int b = 0; b < BLOBS; b++) {
            const gaussian g = seen_by(c, &blobs[b]);
            const double x = (double)(voxel % MATRIX) / MATRIX - 0.5 - g.at[0];
            const double y = (double)(voxel / MATRIX) / MATRIX - 0.5 - g.at[1];
            sum += g.height * exp(-(x * x + y * y) / (2 * g.width * g.width));
        }
        square += sum * sum;
    }
    return sqrt(square);
}

/* The error of the magnitude; *weight: that of the penalty. */
static double error_of_blobs(const scan *s, const larmor_recon_opts *opts, double *weight)
{
    OWNED(larmor_recon_result) result = result_of(s, opts);
    HEAP float complex *x = NULL;
    double wrong = 0, all = 0;
    assert_ok(larmor_array_download(result.image[0].data, LARMOR_C64, &x));
    for (int64_t i = 0; i < MATRIX * MATRIX; i++) {
        const double want = blobs_at(i);
        wrong += pow(cabs(x[i]) - want, 2);
        all += want * want;
    }
    *weight = result.report.lambda;
    return sqrt(wrong / all);
}

/* The first image that is compared, with 4 times the weight that the noise asks for, was that of conjugate gradients
 * for the most part, and better than its solution, so that its weight was taken. */
TEST(the_weight_of_a_smooth_object_is_near_the_best)
{
    OWNED(scan) s = scan_of_blobs(1e-3);
    double weight, same;
    const double own = error_of_blobs(&s, &KNOWN(.lambda = 0), &weight);
    const larmor_recon_opts less = KNOWN(.method = "tv", .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = weight / 4);
    const double other = error_of_blobs(&s, &less, &same);
    print_message("%g, %g by a quarter of the weight\n", own, other);
    assert_at_most(own, 1.2 * other);
}
