/* pipeline/method.c: the method that --method auto takes, why, and for which images. SPDX-License-Identifier:
 * Apache-2.0 */
#include <complex.h>

#include "tests/pipeline/scan.h"

#define SIGMA 1e-3

static larmor_recon_opts automatic(const scan *s)
{
    return KNOWN(.maps = s->maps, .oversample = {1});
}

/* All lines of a grid. */
static scan lines_scan(double sigma)
{
    const larmor_traj_opts lines = {.matrix = {N, N}};
    scan s = {.arrays = {.matrix = {N, N}, .trajectory = "cartesian", .images = 1}};
    assert_ok(larmor_phantom_create("texture", 2, &s.phantom));
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, LARMOR_SHAPE(N, N), &s.truth));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(N, N), NULL, COILS, &s.maps));
    assert_ok(larmor_traj_create(dev, "cartesian", &lines, &s.image[0].traj));
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, COILS, LARMOR_C64, &s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, sigma, 1));
    return s;
}

TEST(by_default_the_image_is_that_of_the_chosen_method_at_its_weight)
{
    OWNED(scan) s = scan_of(COILS, 1, SIGMA);
    larmor_recon_opts opts = automatic(&s);
    OWNED(larmor_recon_result) chosen = result_of(&s, &opts);
    const larmor_method_choice *m = &chosen.report.method;
    assert_int_equal(m->from, LARMOR_METHOD_FROM_DATA);
    assert_string_equal(m->name, "tv");
    assert_int_equal(m->compared, 1);
    assert_string_equal(m->trial[0].name, "tv");
    assert_true(m->trial[0].misfit > 0);
    assert_true(fabs(m->trial[0].weight / chosen.report.weight - 1) < 1e-6);
    opts.method = m->name;
    opts.lambda_mode = LARMOR_LAMBDA_RELATIVE;
    opts.lambda = chosen.report.lambda;
    OWNED(larmor_recon_result) named = result_of(&s, &opts);
    assert_int_equal(named.report.method.from, LARMOR_METHOD_FROM_CALLER);
    assert_at_most(difference(named.image[0].data, chosen.image[0].data), 1e-3);
}

/* The signs of one readout in so many are turned: no image explains them all. */
static void turn_readouts(scan *s, int64_t every)
{
    OWNED(larmor_array) *k = s->image[0].kspace;
    const larmor_shape shape = larmor_array_shape(k);
    OWN_MEMORY(float, *value, larmor_array_download(k, LARMOR_C64, &value));
    const int64_t samples = shape.dim[0], all = larmor_shape_count(shape);
    for (int64_t i = 0; i < all; i++)
        for (int c = 0; i / samples % shape.dim[1] % every == 0 && c < 2; c++) value[2 * i + c] *= -1;
    assert_ok(larmor_array_upload(dev, LARMOR_C64, shape, LARMOR_C64, value, &s->image[0].kspace));
}

TEST(where_tv_hardly_predicts_cg_is_compared_and_the_lesser_misfit_taken)
{
    int seen = 0;
    for (int64_t every = 12; every >= 3; every -= 3) {
        OWNED(scan) s = scan_of(COILS, 1, SIGMA);
        larmor_recon_opts opts = automatic(&s);
        turn_readouts(&s, every);
        OWNED(larmor_recon_result) result = result_of(&s, &opts);
        const larmor_method_choice *m = &result.report.method;
        print_message("every %d: %s of %d: %.3f %.3f\n", (int)every, m->name, m->compared, m->trial[0].misfit,
                      m->trial[1].misfit);
        if (m->compared == 2) {
            seen++;
            assert_string_equal(m->trial[1].name, "cg");
            assert_string_equal(m->name, m->trial[m->trial[1].misfit < m->trial[0].misfit].name);
        }
    }
    assert_true(seen > 0);
}

/* Of few spokes with noise, by a good part. */
TEST(the_image_is_nearer_to_the_object_than_that_of_cg)
{
    OWNED(scan) s = scan_of(COILS, 1, SIGMA);
    larmor_recon_opts opts = automatic(&s);
    const double chosen = error_of(&s, &opts);
    double best = INFINITY;
    const char *const methods[] = {"tv", "wavelet", "tgv"};
    for (int i = 0; i < 3; i++) {
        opts.method = methods[i];
        best = fmin(best, error_of(&s, &opts));
    }
    opts.method = "cg";
    const double cg = error_of(&s, &opts);
    print_message("cg %.3f, best of the others %.3f, auto %.3f\n", cg, best, chosen);
    assert_at_most(chosen, 1.1 * best);
    assert_at_most(chosen, cg / 1.1);
}

/* One coil's samples of the phantom at .6 of its size, whose edges a Gaussian smooths, of a deviation of 2 voxels. */
static larmor_array *smoothed(const larmor_phantom *phantom, const larmor_array *traj)
{
    const double size = .6, width = size * 2.5; /* of the Gaussian in k-space of that size, in 1/FOV */
    const larmor_shape shape = larmor_array_shape(traj);
    HEAP double *k = (double *)host_of(traj);
    for (int64_t i = 0; i < larmor_shape_count(shape); i++) k[i] *= size;
    OWN(larmor_array, *scaled, larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, k, &scaled));
    larmor_array *kspace = MADE(larmor_array, larmor_phantom_kspace(phantom, scaled, 1, LARMOR_C64, &made));
    const int64_t count = larmor_array_count(kspace);
    HEAP float *value = host_of(kspace);
    for (int64_t i = 0; i < 2 * count; i++) {
        const double *at = k + i / 2 * 2;
        value[i] *= (float)exp(-(at[0] * at[0] + at[1] * at[1]) / (2 * width * width));
    }
    assert_ok(larmor_array_write(kspace, value, larmor_array_bytes(kspace)));
    return kspace;
}

/* truth <- the image of all of the grid's samples. */
static void transform(const larmor_array *traj, const larmor_array *kspace, larmor_array *truth)
{
    HEAP double *k = (double *)host_of(traj);
    HEAP float complex *y = host_of(kspace);
    HEAP NEW(float complex, x, N *N);
    for (int i = 0; i < N * N; i++) {
        double complex sum = 0;
        for (int j = 0; j < N * N; j++)
            sum += y[j] * cexp(2 * M_PI * I * (k[2 * j] * (i % N - N / 2) + k[2 * j + 1] * (i / N - N / 2)) / N);
        x[i] = (float complex)sum;
    }
    assert_ok(larmor_array_write(truth, x, larmor_array_bytes(truth)));
}

static scan smooth_scan(void)
{
    const larmor_traj_opts all = {.matrix = {N, N}};
    scan s = scan_of(1, 1, 0);
    OWN(larmor_array, *grid, larmor_traj_create(dev, "cartesian", &all, &grid));
    OWNED(larmor_array) *kspace = smoothed(s.phantom, grid);
    transform(grid, kspace, s.truth);
    larmor_array_free(s.image[0].kspace);
    s.image[0].kspace = smoothed(s.phantom, s.image[0].traj);
    assert_ok(larmor_phantom_noise(s.image[0].kspace, SIGMA / 3, 1));
    return s;
}

static larmor_recon_result run_by(const scan *s, const char *method, int64_t memory)
{
    larmor_recon_opts opts = KNOWN(.method = method, .oversample = {1});
    opts.memory = memory;
    return result_of(s, &opts);
}

TEST(an_object_without_edges_is_made_by_tgv_where_there_is_room_and_is_nearer_than_by_tv)
{
    const int64_t much = INT64_C(1) << 30;
    OWNED(scan) s = smooth_scan();
    OWNED(larmor_recon_result) chosen = run_by(&s, "auto", much), tv = run_by(&s, "tv", much);
    const larmor_method_choice *m = &chosen.report.method;
    assert_string_equal(m->name, "tgv");
    assert_int_equal(m->compared, 2);
    assert_string_equal(m->trial[1].name, "tgv");
    assert_true(fabs(m->trial[1].weight / chosen.report.weight - 1) < 1e-6);
    const double of_chosen = difference(chosen.image[0].data, s.truth), of_tv = difference(tv.image[0].data, s.truth);
    print_message("tgv %.4f, tv %.4f\n", of_chosen, of_tv);
    assert_at_most(of_chosen, 0.95 * of_tv);
    larmor_recon_plan plan;
    const larmor_recon_opts of_tv_alone = KNOWN(.method = "tv", .oversample = {1});
    OWNED(larmor_recon) *recon = recon_of(&s, &of_tv_alone);
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    OWNED(larmor_recon_result) tight = run_by(&s, "auto", plan.bytes);
    assert_string_equal(tight.report.method.name, "tv");
    assert_int_equal(tight.report.method.compared, 1);
}

TEST(images_of_a_scan_share_the_method_and_the_weight)
{
    OWNED(scan) s = scan_of(COILS, 2, SIGMA);
    const larmor_recon_opts opts = automatic(&s);
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    larmor_recon_result result[2];
    for (int i = 0; i < 2; i++) assert_ok(larmor_recon_run(recon, i, &result[i]));
    const larmor_method_choice *first = &result[0].report.method, *second = &result[1].report.method;
    assert_int_equal(first->from, LARMOR_METHOD_FROM_DATA);
    assert_int_equal(second->from, LARMOR_METHOD_FROM_SCAN);
    assert_string_equal(second->name, first->name);
    assert_int_equal(second->compared, first->compared);
    assert_int_equal(result[1].report.lambda_from, LARMOR_LAMBDA_FROM_SCAN);
    assert_true(result[1].report.weight == result[0].report.weight);
    for (int i = 0; i < 2; i++) larmor_recon_result_free(&result[i]);
}

/* The second of two images: its samples are multiplied by `part`, and lie elsewhere in k-space by `away` / FOV. */
static scan scan_of_two(double part, double away)
{
    enum { POINTS = SPOKES * SAMPLES };
    scan s = scan_of(COILS, 2, SIGMA);
    larmor_readouts *second = &s.image[1];
    HEAP double *k = NULL;
    assert_ok(larmor_array_download(second->traj, LARMOR_F64, &k));
    for (int i = 0; i < POINTS; i++) k[2 * i] -= away;
    const larmor_shape shape = larmor_array_shape(second->traj);
    OWN(larmor_array, *moved, larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, k, &moved));
    larmor_array_free(second->kspace);
    assert_ok(larmor_phantom_kspace(s.phantom, moved, COILS, LARMOR_C64, &second->kspace));
    assert_ok(larmor_axpby(part, second->kspace, 0, second->kspace));
    assert_ok(larmor_phantom_noise(second->kspace, SIGMA, 2));
    second->meta.repetition = 0;
    return s;
}

/* weight <- of both images by cg; the second one's came from there. */
static larmor_lambda_from choose_twice(const scan *s, double weight[2])
{
    larmor_recon_opts opts = automatic(s);
    larmor_lambda_from from = LARMOR_LAMBDA_NONE;
    opts.method = "cg";
    OWNED(larmor_recon) *recon = recon_of(s, &opts);
    for (int i = 0; i < 2; i++) {
        OWNED(larmor_recon_result) result;
        assert_ok(larmor_recon_run(recon, i, &result));
        weight[i] = result.report.weight;
        from = result.report.lambda_from;
    }
    return from;
}

TEST(an_echo_takes_a_smaller_weight_than_the_first_one_but_no_larger_one)
{
    double weight[2];
    OWNED(scan) dim = scan_of_two(0.2, 0), off_resonant = scan_of_two(1, 6);
    dim.image[1].meta.contrast = off_resonant.image[1].meta.contrast = 1;
    assert_int_equal(choose_twice(&dim, weight), LARMOR_LAMBDA_FROM_SCAN);
    assert_true(weight[1] == weight[0]);
    assert_int_equal(choose_twice(&off_resonant, weight), LARMOR_LAMBDA_FROM_DATA);
    assert_at_most(weight[1], 0.9 * weight[0]);
}

TEST(a_dim_slice_takes_a_weight_of_its_own)
{
    double weight[2];
    OWNED(scan) dim = scan_of_two(0.2, 0), alike = scan_of_two(0.8, 0);
    dim.image[1].meta.slice = alike.image[1].meta.slice = 1;
    assert_int_equal(choose_twice(&dim, weight), LARMOR_LAMBDA_FROM_DATA);
    assert_at_most(weight[0], weight[1] / 2);
    assert_int_equal(choose_twice(&alike, weight), LARMOR_LAMBDA_FROM_SCAN);
}

TEST(options_of_one_method_take_it)
{
    OWNED(scan) s = scan_of(COILS, 2, SIGMA);
    const struct {
        larmor_recon_opts opts;
        const char *name;
    } cases[] = {
        {KNOWN(.lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3), "cg"},
        {KNOWN(.lambda_mode = LARMOR_LAMBDA_NOISE, .lambda = 1), "cg"},
        {KNOWN(.tol = 1e-3), "cg"},
        {KNOWN(.precondition = 1), "cg"},
        {KNOWN(.partial_fourier = LARMOR_PARTIAL_POCS), "cg"},
        {KNOWN(.joint = 1, .iters = 3), "tv"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        larmor_recon_opts opts = cases[i].opts;
        larmor_recon_plan plan;
        notes n = {.text = ""};
        opts.maps = s.maps;
        opts.listener = take_note;
        opts.user = &n;
        OWNED(larmor_recon) *recon = recon_of(&s, &opts);
        assert_ok(larmor_recon_describe(recon, 0, &plan));
        assert_string_equal(plan.method, cases[i].name);
        OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
        assert_string_equal(result.report.method.name, cases[i].name);
        assert_int_equal(result.report.method.from, LARMOR_METHOD_FROM_OPTIONS);
        assert_noted(n, ", as an option is given that is of one method");
    }
}

TEST(all_lines_of_a_grid_with_little_noise_stay_linear)
{
    OWNED(scan) quiet = lines_scan(1e-5), noisy = lines_scan(3e-3);
    larmor_recon_opts opts = automatic(&quiet);
    larmor_recon_result result = result_of(&quiet, &opts);
    assert_string_equal(result.report.method.name, "cg");
    assert_int_equal(result.report.method.from, LARMOR_METHOD_FROM_LINEARITY);
    assert_int_equal(result.report.direct, 1);
    larmor_recon_result_free(&result);
    opts = automatic(&noisy);
    result = result_of(&noisy, &opts);
    assert_int_equal(result.report.method.from, LARMOR_METHOD_FROM_DATA);
    assert_int_equal(result.report.direct, 0);
    const double chosen = difference(result.image[0].data, noisy.truth);
    larmor_recon_result_free(&result);
    opts.method = "cg";
    assert_at_most(chosen, error_of(&noisy, &opts) / 1.1);
}

/* The least memory that the comparison is given up for; a little more has it. */
TEST(without_memory_to_compare_it_is_cg)
{
    OWNED(scan) s = scan_of(COILS, 1, SIGMA);
    larmor_recon_opts opts = automatic(&s);
    larmor_recon_plan plan;
    larmor_recon *recon = recon_of(&s, &opts);
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    assert_string_equal(plan.method, "auto");
    const double all = (double)plan.bytes;
    for (double memory = all; !strcmp(plan.method, "auto"); memory *= 0.99) {
        larmor_recon_free(recon);
        opts.memory = (int64_t)memory;
        recon = recon_of(&s, &opts);
        assert_ok(larmor_recon_describe(recon, 0, &plan));
    }
    assert_string_equal(plan.method, "cg");
    assert_true(plan.chooses);
    OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
    assert_string_equal(result.report.method.name, "cg");
    assert_int_equal(result.report.method.from, LARMOR_METHOD_FROM_MEMORY);
    assert_int_equal(result.report.lambda_from, LARMOR_LAMBDA_FROM_DATA);
    larmor_recon_free(recon);
}
