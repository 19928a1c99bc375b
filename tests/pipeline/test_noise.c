/* noise/. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "tests/pipeline/noisy_scan.h"

/* Medians over some hundred voxels, whose noise is correlated. */
enum { SAMPLES_OF_NOISE = 48, FEW_SAMPLES = 32, RUNS = 50, FEW_RUNS = 20, FEWEST_RUNS = 10 };

/* ---- the deviation by whole reconstructions ---- */

/* The deviation of each voxel along the phase of the image, in images of the noisy scan with more noise. */
static double *deviation_of_runs(scan (*make)(void), larmor_recon_opts opts, const larmor_array *base, int image,
                                 double sigma, int runs)
{
    double *sum = NULL, *squares = NULL;
    const int64_t voxels = larmor_array_count(base);
    HEAP float *mean = host_of(base);
    sum = calloc((size_t)voxels, sizeof *sum);
    squares = calloc((size_t)voxels, sizeof *squares);
    for (int r = 0; r < runs; r++) {
        OWNED(scan) s = noisy(make);
        add_noise(&s, sigma, 1000 + (uint64_t)r * 7919);
        opts.maps = s.maps;
        OWNED(larmor_recon_result) one = result_of(&s, &opts);
        HEAP float *x = host_of(one.image[image].data);
        for (int64_t v = 0; v < voxels; v++) {
            const double size = hypot(mean[2 * v], mean[2 * v + 1]);
            const double along = size > 0 ? (x[2 * v] * mean[2 * v] + x[2 * v + 1] * mean[2 * v + 1]) / size : 0;
            sum[v] += along;
            squares[v] += along * along;
        }
    }
    for (int64_t v = 0; v < voxels; v++) squares[v] = sqrt(fmax(0, squares[v] - sum[v] * sum[v] / runs) / (runs - 1));
    free(sum);
    return squares;
}

/* The map of a noisy scan is the deviation of whole reconstructions, at the level that it says. */
static void expect_that_of_runs(scan (*make)(void), larmor_recon_opts opts, int samples, int runs,
                                larmor_noise_way way, double off)
{
    OWNED(scan) s = noisy(make);
    opts.maps = s.maps;
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    OWNED(larmor_noise_maps) maps;
    if (!is_cpu()) { /* where a small image takes as long as a large one */
        samples = samples ? FEW_SAMPLES : 0;
        runs = FEWEST_RUNS;
        off = 0.15;
    }
    OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
    assert_ok(larmor_recon_noise(recon, 0, &result, &(larmor_noise_opts){.samples = samples}, &maps));
    assert_int_equal(maps.way, way);
    assert_int_equal(maps.count, result.count);
    assert_true(maps.level > 0);
    for (int i = 0; i < maps.count; i++) {
        HEAP double *expected = deviation_of_runs(make, opts, result.image[i].data, i, maps.level, runs);
        HEAP float *found = host_of(maps.map[i].deviation);
        const double ratio = median_ratio(result.image[i].data, found, expected);
        if (!(fabs(ratio - 1) <= off)) fail_msg("image %d: the map is %g times the deviation", i, ratio);
    }
}

static scan two_frames(void)
{
    return scan_of(COILS, 2, 0);
}

static scan every_other_line(void)
{
    return lines_of(2, 0);
}

static scan half_of_the_lines(void)
{
    return lines_of(1, 0.625);
}

TEST(the_map_of_conjugate_gradients_is_the_deviation_of_whole_reconstructions)
{
    expect_that_of_runs(spokes, OPTS(.method = "cg", AT(1e-3)), SAMPLES_OF_NOISE, RUNS, LARMOR_NOISE_LINEAR, 0.04);
    expect_that_of_runs(every_other_line, OPTS(.method = "cg", AT(1e-4)), SAMPLES_OF_NOISE, RUNS, LARMOR_NOISE_LINEAR,
                        0.03);
    expect_that_of_runs(spokes, OPTS(.method = "cg", .weighted = 1, AT(1e-3)), SAMPLES_OF_NOISE, RUNS,
                        LARMOR_NOISE_LINEAR, 0.04);
}

TEST(the_map_of_gridding_and_of_one_fft_is_exact)
{
    expect_that_of_runs(spokes, OPTS(.method = "grid", AS_IT_IS), 0, RUNS, LARMOR_NOISE_EXACT, 0.04);
    expect_that_of_runs(all_lines, OPTS(.method = "cg", AS_IT_IS), 0, RUNS, LARMOR_NOISE_EXACT, 0.04);
}

TEST(the_map_of_a_penalty_is_the_deviation_of_whole_reconstructions)
{
    expect_that_of_runs(spokes, OPTS(.method = "tv", AT(3e-3)), FEW_SAMPLES, FEW_RUNS, LARMOR_NOISE_REPLICAS, 0.1);
    expect_that_of_runs(spokes, OPTS(.method = "wavelet", AT(3e-3)), FEW_SAMPLES, FEW_RUNS, LARMOR_NOISE_REPLICAS,
                        0.1);
}

/* ---- a noise scan that the image does not use ---- */

enum { NOISE_SCAN = 2000 };
typedef double _Complex cplx;

/* Noise of a deviation of SIGMA times factor in the first coil, with half of it in the last one. */
static larmor_array *make_noise_scan(double factor, double mixed)
{
    larmor_array *noise =
        MADE(larmor_array, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(NOISE_SCAN, COILS), &made));
    assert_ok(larmor_zero(noise));
    assert_ok(larmor_phantom_noise(noise, SIGMA, 77));
    HEAP float *n = host_of(noise);
    for (int64_t i = 0; i < 2 * NOISE_SCAN; i++) {
        n[i] *= (float)factor;
        n[i + 2 * (int64_t)NOISE_SCAN * (COILS - 1)] += (float)mixed * n[i];
    }
    assert_ok(larmor_array_write(noise, n, larmor_array_bytes(noise)));
    return noise;
}

/* The map of a scan with this noise scan by opts.no_whitening. */
static float *map_beside(scan (*make)(void), larmor_recon_opts opts, larmor_array *noise, larmor_noise_way way)
{
    OWNED(scan) s = noisy(make);
    s.arrays.noise = larmor_array_ref(noise);
    opts.maps = s.maps;
    opts.no_whitening = 1;
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    OWNED(larmor_noise_maps) maps;
    OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
    assert_ok(larmor_recon_noise(recon, 0, &result, &(larmor_noise_opts){.samples = SAMPLES_OF_NOISE}, &maps));
    assert_int_equal(maps.way, way);
    assert_int_equal(maps.measured, !noise);
    return host_of(maps.map[0].deviation);
}

/* ratio[voxel] <- sqrt(s^H R s) / |s|, R: the covariance of the noise scan over SIGMA^2. */
static double *ratios_of(const larmor_array *maps, const larmor_array *noise)
{
    const int64_t voxels = N * N;
    HEAP cplx *m = NULL, *n = NULL;
    double *ratio = calloc((size_t)voxels, sizeof *ratio);
    assert_ok(larmor_array_download(maps, LARMOR_C128, &m));
    assert_ok(larmor_array_download(noise, LARMOR_C128, &n));
    for (int64_t v = 0; v < voxels; v++) {
        double energy = 0, sum = 0;
        for (int c = 0; c < COILS; c++) energy += pow(cabs(m[v + voxels * c]), 2);
        for (int64_t i = 0; i < NOISE_SCAN; i++) {
            cplx one = 0;
            for (int c = 0; c < COILS; c++) one += conj(m[v + voxels * c]) * n[i + NOISE_SCAN * (int64_t)c];
            sum += pow(cabs(one), 2) / (NOISE_SCAN - 1);
        }
        ratio[v] = energy > 0 ? sqrt(sum / energy / 2) / SIGMA : 0;
    }
    return ratio;
}

/* The median and the largest of |a / b / expected - 1| over voxels that coils see. */
static double off_by(const float *a, const float *b, const double *expected, double *largest)
{
    double off[N * N];
    int count = 0;
    for (int v = 0; v < N * N; v++)
        if (b[v] > 0 && expected[v] > 0) off[count++] = fabs(a[v] / b[v] / expected[v] - 1);
    qsort(off, (size_t)count, sizeof *off, ascending);
    *largest = off[count - 1];
    return off[count / 2];
}

TEST(without_whitening_the_map_has_the_covariance_of_the_noise_scan)
{
    OWNED(scan) s = all_lines();
    OWNED(larmor_array) *mixed = make_noise_scan(5, 0.5), *white = make_noise_scan(1, 0);
    HEAP double *expected = ratios_of(s.maps, mixed), *plain = ratios_of(s.maps, white);
    for (int v = 0; v < N * N; v++) expected[v] = plain[v] > 0 ? expected[v] / plain[v] : 0;
    const larmor_recon_opts ways[] = {OPTS(.method = "cg", AS_IT_IS), OPTS(.method = "tv", AT(1e-7))};
    double largest;
    for (int i = 0; i < 2; i++) {
        const larmor_noise_way way = i ? LARMOR_NOISE_REPLICAS : LARMOR_NOISE_EXACT;
        HEAP float *a = map_beside(all_lines, ways[i], mixed, way), *b = map_beside(all_lines, ways[i], white, way);
        assert_at_most(off_by(a, b, expected, &largest), i ? 0.15 : 1e-4);
        if (!i) assert_at_most(largest, 1e-3);
    }
}

TEST(without_whitening_the_map_is_in_the_unit_of_the_noise_scan)
{
    const larmor_recon_opts opts = OPTS(.method = "cg", AT(1e-3));
    OWNED(larmor_array) *white = make_noise_scan(1, 0);
    HEAP float *a = map_beside(spokes, opts, white, LARMOR_NOISE_LINEAR);
    HEAP float *measured = map_beside(spokes, opts, NULL, LARMOR_NOISE_LINEAR);
    double ones[N * N], largest;
    for (int v = 0; v < N * N; v++) ones[v] = 1;
    assert_at_most(off_by(a, measured, ones, &largest), 0.05);
}

TEST(the_map_of_few_iterations_is_that_of_these)
{
    expect_that_of_runs(spokes, OPTS(.method = "cg", .iters = 3, AT(1e-3)), FEW_SAMPLES, FEW_RUNS,
                        LARMOR_NOISE_REPLICAS, 0.1);
}

TEST(half_of_k_space_has_the_map_of_what_fills_it)
{
    expect_that_of_runs(half_of_the_lines, OPTS(.method = "cg", .partial_fourier = LARMOR_PARTIAL_HOMODYNE, AT(1e-3)),
                        FEW_SAMPLES, FEW_RUNS, LARMOR_NOISE_REPLICAS, 0.1);
}

TEST(frames_that_are_solved_together_have_a_map_each)
{
    expect_that_of_runs(two_frames, OPTS(.method = "tv", .joint = 1, AT(3e-3)), FEW_SAMPLES, FEW_RUNS,
                        LARMOR_NOISE_REPLICAS, 0.1);
}

/* ---- the geometry factor ---- */

/* Voxels half a field of view apart along y fold: g^2 = (S^-1)_00 S_00, S the 2 x 2 matrix of their maps. */
static double g_of(const float *maps, int64_t x, int64_t y)
{
    double s[2][2][2] = {{{0}}};
    const int64_t at[2] = {x + N * y, x + N * ((y + N / 2) % N)};
    for (int c = 0; c < COILS; c++)
        for (int a = 0; a < 2; a++)
            for (int b = 0; b < 2; b++) {
                const float *p = maps + 2 * (at[a] + (int64_t)N * N * c),
                            *q = maps + 2 * (at[b] + (int64_t)N * N * c);
                s[a][b][0] += p[0] * q[0] + p[1] * q[1];
                s[a][b][1] += p[0] * q[1] - p[1] * q[0];
            }
    const double off = s[0][1][0] * s[0][1][0] + s[0][1][1] * s[0][1][1];
    return sqrt(s[0][0][0] * s[1][1][0] / (s[0][0][0] * s[1][1][0] - off));
}

TEST(g_of_every_other_line_is_that_of_two_voxels_that_fold)
{
    OWNED(scan) s = noisy(every_other_line);
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "cg", AT(1e-7));
    OWNED(larmor_recon_result) result;
    OWNED(larmor_recon) *recon = run_of(&s, &opts, &result);
    OWN(larmor_noise_maps, maps, larmor_recon_noise(recon, 0, &result, &(larmor_noise_opts){.samples = 300}, &maps));
    HEAP float *g = host_of(maps.map[0].g), *m = host_of(s.maps);
    double expected[N * N];
    for (int64_t v = 0; v < N * N; v++) expected[v] = g_of(m, v % N, v / N);
    assert_true(expected[N * N / 2 + N / 4] > 1.01);
    const double ratio = median_ratio(result.image[0].data, g, expected);
    if (!(fabs(ratio - 1) < 0.01)) fail_msg("g is %g times what it should be", ratio);
    for (int64_t v = 0; v < N * N; v++)
        if (fabs(g[v] / expected[v] - 1) > 0.2) fail_msg("g of voxel %d: %g, not %g", (int)v, g[v], expected[v]);
}

/* Voxels of the object where two maps differ by at most so much, as a part of them. */
static double part_within(const larmor_array *image, const float *a, const float *b, double off)
{
    HEAP float *x = host_of(image);
    const int64_t voxels = larmor_array_count(image);
    double most = 0, inside = 0, near = 0;
    for (int64_t v = 0; v < voxels; v++) most = fmax(most, hypot(x[2 * v], x[2 * v + 1]));
    for (int64_t v = 0; v < voxels; v++) {
        if (hypot(x[2 * v], x[2 * v + 1]) < OBJECT_PART * most) continue;
        inside++;
        near += fabs(a[v] / b[v] - 1) <= off;
    }
    return near / inside;
}

/* 64 samples leave 6 % in a voxel, and single ones 50 %. */
static void expect_quick_as_many(scan (*make)(void))
{
    OWNED(scan) s = noisy(make);
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "cg", AT(1e-2));
    OWNED(larmor_recon_result) result;
    OWNED(larmor_recon) *recon = run_of(&s, &opts, &result);
    OWN(larmor_noise_maps, many, larmor_recon_noise(recon, 0, &result, &(larmor_noise_opts){.samples = 96}, &many));
    OWN(larmor_noise_maps, quick, larmor_recon_noise(recon, 0, &result, &(larmor_noise_opts){.quick = 1}, &quick));
    assert_int_equal(quick.way, LARMOR_NOISE_LINEAR);
    assert_int_equal(quick.samples, 1);
    assert_true(quick.width > 1 && quick.width < 8 && many.width == 0);
    if (!(fabs(quick.snr / many.snr - 1) < 0.1)) fail_msg("SNR %g in place of %g", quick.snr, many.snr);
    HEAP float *a = host_of(quick.map[0].deviation), *b = host_of(many.map[0].deviation);
    const double near = part_within(result.image[0].data, a, b, 0.25);
    if (!(near > 0.9)) fail_msg("%g of the voxels are within 25 %%", near);
}

TEST(a_quick_map_of_spokes_is_that_of_many_samples)
{
    expect_quick_as_many(spokes);
}

TEST(a_quick_map_of_every_other_line_is_that_of_many_samples)
{
    expect_quick_as_many(every_other_line);
}

static void expect_quick(larmor_recon_opts opts, int count)
{
    OWNED(scan) s = noisy(all_lines);
    opts.maps = s.maps;
    OWNED(larmor_recon_result) result;
    OWNED(larmor_recon) *recon = run_of(&s, &opts, &result);
    OWN(larmor_noise_maps, maps, larmor_recon_noise(recon, 0, &result, &(larmor_noise_opts){.quick = 1}, &maps));
    assert_int_equal(maps.count, count);
    if (count) assert_true(maps.way == LARMOR_NOISE_EXACT && maps.samples == 0 && maps.width == 0 && maps.snr > 0);
    OWNED(larmor_noise_maps) cheap;
    assert_ok(larmor_recon_noise(recon, 0, &result, &(larmor_noise_opts){.quick = LARMOR_QUICK_IF_CHEAP}, &cheap));
    assert_int_equal(cheap.count, count);
}

TEST(a_quick_map_is_exact_where_there_is_a_formula)
{
    expect_quick(OPTS(.method = "cg"), 1);
    expect_quick(OPTS(.method = "grid"), 1);
}

TEST(a_quick_map_of_a_penalty_is_none)
{
    expect_quick(OPTS(.method = "tv", AT(1e-3)), 0);
}

/* Images of one scan again and again: the maps' iterations are counted beside those of the images. */
TEST(maps_that_are_made_where_they_are_cheap_take_less_than_a_tenth_of_the_iterations_of_the_images)
{
    OWNED(scan) s = noisy(spokes);
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "cg", AT(1e-3));
    const larmor_noise_opts cheap = {.quick = LARMOR_QUICK_IF_CHEAP};
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    double images = 0, taken = 0;
    int made = 0;
    for (int i = 0; i < 16; i++) {
        OWNED(larmor_recon_result) result = {0};
        OWNED(larmor_noise_maps) maps = {0};
        assert_ok(larmor_recon_run(recon, 0, &result));
        assert_ok(larmor_recon_noise(recon, 0, &result, &cheap, &maps));
        images += result.report.solver.iters;
        taken += maps.steps;
        made += maps.steps > 0;
        if (!(taken < 0.1 * images)) fail_msg("image %d: %g of %g iterations", i, taken, images);
        assert_int_equal(maps.count, maps.left_out > 0 ? 0 : 1);
        if (maps.left_out > 0) assert_true(maps.left_out > 0.1 && maps.steps == 0);
        if (i == 0) assert_int_equal(maps.count, 0);
    }
    assert_true(made > 0);
}

TEST(a_map_of_a_penalty_is_said_to_be_left_out)
{
    OWNED(scan) s = noisy(spokes);
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "tv", AT(1e-3));
    const larmor_noise_opts quick = {.quick = 1}, cheap = {.quick = LARMOR_QUICK_IF_CHEAP};
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
    OWN(larmor_noise_maps, maps, larmor_recon_noise(recon, 0, &result, &cheap, &maps));
    assert_true(maps.count == 0 && maps.left_out > 1);
    OWN(larmor_noise_maps, asked, larmor_recon_noise(recon, 0, &result, &quick, &asked));
    assert_true(asked.count == 0 && asked.left_out == 0);
}

TEST(g_of_all_lines_is_one)
{
    OWNED(scan) s = noisy(all_lines);
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "cg");
    OWNED(larmor_recon_result) result;
    OWNED(larmor_recon) *recon = run_of(&s, &opts, &result);
    OWN(larmor_noise_maps, maps, larmor_recon_noise(recon, 0, &result, &(larmor_noise_opts){.only_exact = 1}, &maps));
    assert_int_equal(maps.count, 1);
    HEAP float *g = host_of(maps.map[0].g);
    for (int64_t v = 0; v < N * N; v++) assert_true(fabs(g[v] - 1) < 1e-4);
}

/* ---- points ---- */

static void response_of(scan *s, larmor_recon_opts opts, const larmor_response_opts *how, larmor_response_maps *maps,
                        larmor_recon_result *result)
{
    opts.maps = s->maps;
    OWNED(larmor_recon) *recon = recon_of(s, &opts);
    assert_ok(larmor_recon_run(recon, 0, result));
    assert_ok(larmor_recon_response(recon, 0, result, how, maps));
    assert_int_equal(maps->count, result->count);
}

/* Of a voxel whose maps have the energy E an absolute weight leaves E N^2 / (E N^2 + weight). */
TEST(a_point_of_all_lines_stays_one_and_keeps_what_its_weight_leaves)
{
    OWNED(scan) s = noisy(all_lines);
    HEAP float *m = host_of(s.maps);
    double energy[N * N] = {0};
    for (int64_t i = 0; i < (int64_t)2 * N * N * COILS; i++) energy[i / 2 % (N * N)] += m[i] * m[i];
    const double weight[] = {1e-6, 0.5};
    for (int i = 0; i < 2; i++) {
        OWNED(larmor_response_maps) maps;
        OWNED(larmor_recon_result) result;
        response_of(&s, OPTS(.method = "cg", AT(weight[i])), &(larmor_response_opts){.probes = 64}, &maps, &result);
        HEAP float *height = host_of(maps.map[0].height), *width = host_of(maps.map[0].width);
        for (int64_t v = 0; v < N * N; v++) {
            const double all = energy[v] * N * N, expected = all / (all + result.report.weight);
            const int64_t x = v % N, y = v / N;
            const int is_inside = x >= 5 && x < N - 5 && y >= 5 && y < N - 5; /* means there are of all sides */
            if (is_inside && fabs(height[v] / expected - 1) > 0.04)
                fail_msg("voxel %d: %g, not %g", (int)v, height[v], expected);
            assert_true(fabs(width[v] - 1) < 2e-3);
        }
        assert_true(i ? maps.height < 0.8 : fabs(maps.height - 1) < 1e-3);
    }
}

TEST(the_response_of_a_linear_method_is_that_of_any_contrast)
{
    OWNED(scan) s = noisy(spokes);
    OWNED(larmor_response_maps) low, high;
    OWNED(larmor_recon_result) a, b;
    response_of(&s, OPTS(.method = "cg", .iters = 30, AT(1e-2)), &(larmor_response_opts){.contrast = 0.5}, &low, &a);
    response_of(&s, OPTS(.method = "cg", .iters = 30, AT(1e-2)), &(larmor_response_opts){.contrast = 5}, &high, &b);
    assert_true(low.height < 0.97 && fabs(high.height / low.height - 1) < 5e-3);
    assert_true(fabs(high.width / low.width - 1) < 5e-3);
}

/* By whole reconstructions of the scan with one point more, whose samples are those of an operator of the test. */
TEST(the_height_that_tv_leaves_is_that_of_whole_reconstructions)
{
    enum { POINTS = 24 };
    OWNED(scan) s = noisy(spokes);
    const larmor_recon_opts opts = OPTS(.method = "tv", .scale = LARMOR_SCALE_SUM, AT(3e-3));
    OWNED(larmor_response_maps) maps;
    OWNED(larmor_recon_result) result;
    response_of(&s, opts, &(larmor_response_opts){.probes = 32, .contrast = 0.5}, &maps, &result);
    HEAP float *x = host_of(result.image[0].data), *height = host_of(maps.map[0].height);
    OWNED(larmor_op) *A = NULL;
    const larmor_sense_opts sense = {.traj = s.image[0].traj};
    assert_ok(larmor_op_sense(s.maps, &sense, &A));
    double of_map = 0, of_runs = 0, intensity = 0;
    for (int64_t v = 0; v < N * N; v++) intensity = fmax(intensity, hypot(x[2 * v], x[2 * v + 1]));
    for (int i = 0; i < POINTS; i++) {
        const int v = 10 + i * 5 % 13 + N * (8 + i * 11 % 17);
        const double size = hypot(x[2 * v], x[2 * v + 1]);
        const double high = (i % 2 ? 0.1 : -0.1) * intensity;
        float point[2 * N * N] = {0};
        point[2 * v] = (float)(high * x[2 * v] / size);
        point[2 * v + 1] = (float)(high * x[2 * v + 1] / size);
        OWNED(larmor_array) *change = NULL, *samples = NULL;
        OWNED(scan) more = noisy(spokes);
        assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(N, N), LARMOR_C64, point, &change));
        assert_ok(larmor_array_create(dev, LARMOR_C64, larmor_array_shape(more.image[0].kspace), &samples));
        assert_ok(larmor_op_forward(A, change, samples));
        assert_ok(larmor_axpby(1, samples, 1, more.image[0].kspace));
        larmor_recon_opts again = opts;
        again.maps = more.maps;
        OWNED(larmor_recon_result) with = result_of(&more, &again);
        HEAP float *y = host_of(with.image[0].data);
        of_runs += ((y[2 * v] - x[2 * v]) * x[2 * v] + (y[2 * v + 1] - x[2 * v + 1]) * x[2 * v + 1]) / size / high;
        of_map += height[v];
    }
    assert_true(of_runs / POINTS < 0.7);
    assert_true(fabs(of_map / of_runs - 1) < 0.1);
}

TEST(responses_are_refused_where_there_are_none)
{
    OWNED(scan) s = noisy(spokes);
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "cg");
    OWNED(larmor_recon_result) result;
    OWNED(larmor_recon) *recon = run_of(&s, &opts, &result);
    OWNED(larmor_response_maps) maps;
    assert_refused(larmor_recon_response(recon, 0, &result, &(larmor_response_opts){.probes = -1}, &maps),
                   LARMOR_ERR_ARG, "response.probes: -1 is not from 1 to 4096");
    assert_refused(larmor_recon_response(recon, 0, &result, &(larmor_response_opts){.contrast = -1}, &maps),
                   LARMOR_ERR_ARG, "response.contrast: -1, expected a finite number above 0");
    assert_refused(larmor_recon_response(recon, 3, &result, NULL, &maps), LARMOR_ERR_ARG,
                   "response: series 3 is not the last one that was run");
}

/* ---- the call ---- */

TEST(the_map_is_the_same_whenever_it_is_made)
{
    OWNED(scan) s = noisy(spokes);
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "cg");
    float *value[2];
    if (!is_cpu()) skip();
    for (int i = 0; i < 2; i++) {
        OWNED(larmor_recon_result) result;
        OWNED(larmor_recon) *recon = run_of(&s, &opts, &result);
        OWNED(larmor_noise_maps) maps;
        assert_ok(larmor_recon_noise(recon, 0, &result, &(larmor_noise_opts){.samples = 3}, &maps));
        value[i] = host_of(maps.map[0].deviation);
    }
    assert_memory_equal(value[0], value[1], N * N * sizeof(float));
    LMR_FREE(value[0], value[1]);
}

/* What the map of one series teaches is not handed on to the next. */
TEST(images_after_a_map_are_those_without_it)
{
    OWNED(scan) s = noisy(two_frames);
    const larmor_recon_opts opts = OPTS(.maps = s.maps);
    larmor_recon_result result[2];
    if (!is_cpu()) skip();
    for (int with = 0; with < 2; with++) {
        OWNED(larmor_recon) *recon = recon_of(&s, &opts);
        OWNED(larmor_noise_maps) maps = {.count = 0};
        OWN(larmor_recon_result, first, larmor_recon_run(recon, 0, &first));
        if (with) assert_ok(larmor_recon_noise(recon, 0, &first, &(larmor_noise_opts){.samples = 3}, &maps));
        assert_ok(larmor_recon_run(recon, 1, &result[with]));
    }
    HEAP float *a = host_of(result[0].image[0].data), *b = host_of(result[1].image[0].data);
    assert_memory_equal(a, b, 2 * N * N * sizeof(float));
    for (int i = 0; i < 2; i++) larmor_recon_result_free(&result[i]);
}

/* Repetitions with the trajectory, the maps and the weight of the first one. */
TEST(images_of_one_trajectory_share_a_map)
{
    OWNED(scan) s = scan_of(COILS, 2, 0);
    LMR_FREE(s.image[1].traj, s.image[1].kspace);
    s.image[1].traj = larmor_array_ref(s.image[0].traj);
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[1].traj, COILS, LARMOR_C64, &s.image[1].kspace));
    add_noise(&s, SIGMA, 5);
    assert_ok(larmor_axpby(1, s.image[1].kspace, 1, s.image[1].kspace)); /* twice the signal and the noise */
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "cg", .at_once = 1, AT(1e-3));
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    OWN(larmor_recon_result, first, larmor_recon_run(recon, 0, &first));
    OWN(larmor_noise_maps, a, larmor_recon_noise(recon, 0, &first, &(larmor_noise_opts){.samples = 4}, &a));
    OWN(larmor_recon_result, second, larmor_recon_run(recon, 1, &second));
    OWN(larmor_noise_maps, b, larmor_recon_noise(recon, 1, &second, &(larmor_noise_opts){.samples = 4}, &b));
    assert_int_equal(a.shared, 0);
    assert_int_equal(b.shared, 1);
    HEAP float *x = host_of(a.map[0].deviation), *y = host_of(b.map[0].deviation);
    for (int64_t v = 0; v < N * N; v++) assert_true(fabs(y[v] / x[v] / (b.level / a.level) - 1) < 1e-5);
    assert_true(b.level > 1.8 * a.level && b.level < 2.2 * a.level);
}

TEST(signal_to_noise_is_the_magnitude_over_the_deviation)
{
    const float image[] = {3, 4, 0, 1, 5, 12}, deviation[] = {2, 0, 13}, expected[] = {2.5f, 0, 1};
    OWN(larmor_array, *x, larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(3), LARMOR_C64, image, &x));
    OWN(larmor_array, *d, larmor_array_upload(dev, LARMOR_F32, LARMOR_SHAPE(3), LARMOR_F32, deviation, &d));
    OWN(larmor_array, *snr, larmor_snr_map(x, d, &snr));
    HEAP float *value = host_of(snr);
    for (int i = 0; i < 3; i++) assert_true(fabsf(value[i] - expected[i]) < 1e-6f);
    larmor_array *none;
    assert_refused(larmor_snr_map(x, x, &none), LARMOR_ERR_ARG, "deviation: it is complex, and has to be real");
    OWN(larmor_array, *part, larmor_array_slice(d, 0, 2, &part));
    assert_refused(larmor_snr_map(x, part, &none), LARMOR_ERR_SHAPE, "deviation: its shape is not that of the image");
}

TEST(calls_without_a_map_are_refused)
{
    OWNED(scan) s = noisy(two_frames);
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "cg"), rss = OPTS(.no_maps = 1, .method = "grid");
    OWNED(larmor_recon) *recon = recon_of(&s, &opts), *without = recon_of(&s, &rss);
    OWNED(larmor_noise_maps) maps;
    OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
    assert_refused(larmor_recon_noise(recon, 0, &result, &(larmor_noise_opts){.samples = 1}, &maps), LARMOR_ERR_ARG,
                   "noise.samples: 1 is not from 2 to 65536");
    assert_refused(larmor_recon_noise(recon, 1, &result, NULL, &maps), LARMOR_ERR_ARG,
                   "noise: series 1 is not the last one that was run");
    OWN(larmor_recon_result, other, larmor_recon_run(without, 0, &other));
    assert_refused(larmor_recon_noise(without, 0, &other, NULL, &maps), LARMOR_ERR_ARG,
                   "noise: without coil maps the image is no linear one of its samples");
    const larmor_recon_opts inversion = OPTS(.method = "nlinv");
    OWNED(larmor_recon) *together = recon_of(&s, &inversion);
    OWN(larmor_recon_result, frame, larmor_recon_run(together, 0, &frame));
    assert_refused(larmor_recon_noise(together, 0, &frame, NULL, &maps), LARMOR_ERR_ARG,
                   "noise: nlinv finds image and coil maps together, of which there is no map");
    assert_ok(larmor_recon_noise(recon, 0, &result, &(larmor_noise_opts){.only_exact = 1}, &maps));
    assert_int_equal(maps.count, 0);
}

/* Ctrl-C ends a map at its next sample. */
TEST(a_listener_stops_a_map)
{
    OWNED(scan) s = noisy(spokes);
    notes n = {.stop_at = "noise map, sample 17 of 64"};
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "cg", .listener = take_note, .user = &n);
    OWNED(larmor_recon_result) result;
    OWNED(larmor_recon) *recon = run_of(&s, &opts, &result);
    OWNED(larmor_noise_maps) maps;
    assert_int_equal(larmor_recon_noise(recon, 0, &result, NULL, &maps), LARMOR_STOPPED);
    assert_int_equal(maps.count, 0);
    assert_noted(n, "S:noise map, sample 17 of 64");
}
