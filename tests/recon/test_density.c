/* recon/density/density.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

static const larmor_shape image = {2, {32, 32}};

static double sum_of(const larmor_array *w)
{
    cplx *values = values_of(w), sum = 0;
    for (int64_t i = 0; i < larmor_array_count(w); i++) sum += values[i];
    free(values);
    return creal(sum);
}

/* ---- ramp ---- */

TEST(ramp_weights_of_spokes_grow_with_the_radius_and_sum_to_the_disc)
{
    enum { SPOKES = 40, N = 64 };
    HEAP double *k = radial_points(32, N, SPOKES);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, N, SPOKES), k), *w;
    assert_ok(larmor_density_ramp(traj, image, &w));
    assert_true(larmor_shape_equal(larmor_array_shape(w), LARMOR_SHAPE(N, SPOKES)));
    assert_int_equal(larmor_array_dtype(w), LARMOR_F64);
    HEAP cplx *values = values_of(w);
    const double step = 0.5;
    for (int j = 0; j < N * SPOKES; j++) {
        const double radius = hypot(k[2 * j], k[2 * j + 1]);
        /* the sample in the centre has its share of the disc of half a step */
        const double area = radius > 0.1 ? M_PI / SPOKES * radius * step : M_PI / SPOKES * step * step / 4;
        const int outermost = j % N == 0; /* no spoke reaches as far on the other side */
        assert_at_most(fabs(creal(values[j]) / (outermost ? 2 : 1) - area), 1e-12);
    }
    assert_at_most(fabs(sum_of(w) / (M_PI * 16 * 16) - 1), 0.04);
}

/* Rays in random directions, samples at radius (start + i) step: [nd, n, rays] */
static double *rays_from_the_centre(int nd, int64_t n, int64_t rays, double start, double step)
{
    NEW(double, k, nd *n *rays);
    uint64_t seed = 1;
    for (int64_t r = 0; r < rays; r++) {
        const double u[3] = {test_random(&seed), test_random(&seed), nd == 3 ? test_random(&seed) : 0};
        const double size = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
        for (int64_t i = 0; i < n; i++)
            for (int d = 0; d < nd; d++) k[d + nd * (i + n * r)] = (start + (double)i) * step * u[d] / size;
    }
    return k;
}

TEST(ramp_weights_of_rays_from_the_centre_sum_to_the_disc_and_the_ball)
{
    enum { RAYS = 30, N = 41 };
    const double start[] = {0, 0.5, 0.8}, step = 0.4; /* a late start leaves its first sample more of the centre */
    for (int nd = 2; nd <= 3; nd++)
        for (int i = 0; i < 3; i++) {
            HEAP double *k = rays_from_the_centre(nd, N, RAYS, start[i], step);
            OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(nd, N, RAYS), k), *w;
            assert_ok(larmor_density_ramp(traj, larmor_shape_of(nd, (int64_t[]){32, 32, 32}), &w));
            const double edge = (start[i] + N - 0.5) * step;
            const double size = nd == 2 ? M_PI * edge * edge : 4 * M_PI / 3 * edge * edge * edge;
            assert_at_most(fabs(sum_of(w) / size - 1), 1e-12);
        }
}

TEST(ramp_weights_do_not_depend_on_the_order_along_a_spoke)
{
    enum { SPOKES = 5, N = 12 };
    double *k = radial_points(12, N, SPOKES), back[2 * N * SPOKES];
    for (int j = 0; j < N * SPOKES; j++)
        for (int d = 0; d < 2; d++) back[2 * j + d] = k[2 * (j / N * N + N - 1 - j % N) + d];
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, N, SPOKES), k), *w;
    OWNED(larmor_array) *reversed = real_array(LARMOR_SHAPE(2, N, SPOKES), back), *v;
    assert_ok(larmor_density_ramp(traj, image, &w));
    assert_ok(larmor_density_ramp(reversed, image, &v));
    HEAP cplx *a = values_of(w), *b = values_of(v);
    for (int j = 0; j < N * SPOKES; j++) assert_at_most(cabs(a[j] - b[j / N * N + N - 1 - j % N]), 1e-13);
    free(k);
}

TEST(readouts_that_are_no_rays_are_refused)
{
    double arc[2 * 20], line[2 * 20], far[2 * 20];
    for (int i = 0; i < 20; i++) {
        arc[2 * i] = 10 * cos(0.1 * i);
        arc[2 * i + 1] = 10 * sin(0.1 * i);
        line[2 * i] = i - 10;
        line[2 * i + 1] = 3;
        far[2 * i] = 5 + i * 0.5;
        far[2 * i + 1] = 0;
    }
    const double *const k[] = {arc, line, far};
    const char *const why[] = {"leaves its line", "leaves its line", "keeps away from the centre"};
    for (int i = 0; i < 3; i++) {
        larmor_array *traj = real_array(LARMOR_SHAPE(2, 20, 1), k[i]), *w;
        assert_refused(larmor_density_ramp(traj, image, &w), LARMOR_ERR_ARG, why[i]);
        assert_non_null(strstr(larmor_last_error(), "density ramp: readout 0"));
        assert_null(w);
        larmor_array_free(traj);
    }
}

/* ---- gain: the image of an object that is known exactly ---- */

/* Two Gaussians, one off the centre and so narrow that it reaches the edge of k-space; their transform is exact. */
static const double blob[2][4] = {{0.05, -0.08, 0.22, 1}, {-0.1, 0.12, 0.08, 0.7}}; /* x, y, width, height */

static double object(const double r[2])
{
    double sum = 0;
    for (int b = 0; b < 2; b++)
        sum += blob[b][3] * exp(-M_PI * (pow(r[0] - blob[b][0], 2) + pow(r[1] - blob[b][1], 2)) / pow(blob[b][2], 2));
    return sum;
}

static cplx object_kspace(const double k[2])
{
    cplx sum = 0;
    for (int b = 0; b < 2; b++)
        sum += blob[b][3] * pow(blob[b][2], 2) * exp(-M_PI * pow(blob[b][2], 2) * (k[0] * k[0] + k[1] * k[1])) *
               cexp(-2 * M_PI * I * (k[0] * blob[b][0] + k[1] * blob[b][1]));
    return sum;
}

/* |gridded - object| / |object| over the inner three quarters of the field of view. */
static double gridding_error(const larmor_array *w, const double *k, int64_t m)
{
    HEAP cplx *weights = values_of(w), *y = malloc((size_t)m * sizeof *y);
    cplx x[32 * 32];
    for (int64_t j = 0; j < m; j++) y[j] = weights[j] * object_kspace(k + 2 * j);
    direct_adjoint(y, k, m, image, x);
    double error = 0, size = 0;
    for (int64_t i = 0; i < 32 * 32; i++) {
        const double r[2] = {position(image, i, 0), position(image, i, 1)};
        if (fmax(fabs(r[0]), fabs(r[1])) > 0.375) continue;
        error += pow(cabs(x[i] - object(r)), 2);
        size += pow(object(r), 2);
    }
    return sqrt(error / size);
}

static void expect_unit_gain(int ramp, const double *k, int64_t samples, int64_t readouts, double limit)
{
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, samples, readouts), k), *w;
    assert_ok(ramp ? larmor_density_ramp(traj, image, &w) : larmor_density_pipe(traj, image, 20, &w));
    assert_at_most(gridding_error(w, k, samples * readouts), limit);
}

TEST(gridding_of_spokes_has_unit_gain_whatever_their_number)
{
    for (int spokes = 52; spokes <= 104; spokes += 52)
        for (int ramp = 0; ramp < 2; ramp++) {
            HEAP double *k = radial_points(32, 64, spokes);
            expect_unit_gain(ramp, k, 64, spokes, ramp ? 0.02 : 0.006);
        }
}

TEST(gridding_of_spiral_arms_has_unit_gain)
{
    enum { ARMS = 8, N = 700 };
    HEAP double *k = malloc(2 * ARMS * N * sizeof *k);
    for (int j = 0; j < ARMS * N; j++) {
        const double t = (double)(j % N) / (N - 1), radius = 16 * pow(t, 1.4), angle = 2 * M_PI * radius / ARMS;
        k[2 * j] = radius * cos(angle + 2 * M_PI * (j / N) / ARMS);
        k[2 * j + 1] = radius * sin(angle + 2 * M_PI * (j / N) / ARMS);
    }
    expect_unit_gain(0, k, N, ARMS, 0.01);
}

TEST(gridding_of_jittered_cartesian_samples_has_unit_gain)
{
    enum { N = 48 };
    double k[2 * N * N];
    uint64_t seed = 5;
    for (int j = 0; j < N * N; j++) {
        k[2 * j] = 32. / N * (j % N - N / 2 + 0.3 * test_random(&seed));
        k[2 * j + 1] = 32. / N * (j / N - N / 2 + 0.3 * test_random(&seed));
    }
    expect_unit_gain(0, k, N, N, 0.03);
}

/* ---- pipe ---- */

TEST(pipe_weights_of_a_cartesian_grid_are_one)
{
    double k[2 * 32 * 32];
    for (int j = 0; j < 32 * 32; j++) {
        k[2 * j] = j % 32 - 16;
        k[2 * j + 1] = j / 32 - 16;
    }
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, 32, 32), k), *w;
    assert_ok(larmor_density_pipe(traj, image, 15, &w));
    HEAP cplx *values = values_of(w);
    for (int j = 0; j < 32 * 32; j++) assert_at_most(cabs(values[j] - 1), 1e-3);
}

TEST(samples_taken_twice_share_their_weight)
{
    HEAP double *once = radial_points(32, 64, 20), *twice = malloc(4 * 64 * 20 * sizeof *twice);
    memcpy(twice, once, 2 * 64 * 20 * sizeof *once);
    memcpy(twice + 2 * 64 * 20, once, 2 * 64 * 20 * sizeof *once);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, 64, 20), once), *w;
    OWNED(larmor_array) *both = real_array(LARMOR_SHAPE(2, 64, 40), twice), *half;
    assert_ok(larmor_density_pipe(traj, image, 10, &w));
    assert_ok(larmor_density_pipe(both, image, 10, &half));
    HEAP cplx *a = values_of(w), *b = values_of(half);
    for (int j = 0; j < 2 * 64 * 20; j++) b[j] *= 2;
    assert_at_most(difference(b, a, 64 * 20), 1e-3);
    assert_at_most(difference(b + 64 * 20, a, 64 * 20), 1e-3);
}

TEST(weights_are_finite_and_not_negative_for_any_samples)
{
    enum { M = 500 };
    double *scattered = random_points(image, M, 3), same[2 * M] = {0};
    for (int i = M; i < 2 * M; i++) scattered[i] *= 1e-3; /* half of them in a clump */
    const double *const k[] = {scattered, same};
    for (int i = 0; i < 2; i++) {
        OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, M, 1), k[i]), *w;
        assert_ok(larmor_density_pipe(traj, image, 40, &w));
        HEAP cplx *values = values_of(w);
        for (int j = 0; j < M; j++) assert_true(isfinite(creal(values[j])) && creal(values[j]) >= 0);
    }
    free(scattered);
}

TEST(no_sample_weighs_more_than_one_alone)
{
    enum { SCATTERED = 500, CLUMP = 40000, M = SCATTERED + CLUMP };
    HEAP double *far = random_points(image, SCATTERED, 4), *k = calloc(2 * M, sizeof *k);
    memcpy(k, far, 2 * SCATTERED * sizeof *k); /* the rest sit in the centre and drown them at first */
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, M, 1), k), *single = real_array(LARMOR_SHAPE(2, 1, 1), k);
    larmor_array *w;
    OWN(larmor_array, *alone, larmor_density_pipe(single, image, 1, &alone));
    const double limit = sum_of(alone);
    for (int iters = 1; iters <= 3; iters++) {
        assert_ok(larmor_density_pipe(traj, image, iters, &w));
        HEAP cplx *values = values_of(w);
        for (int j = 0; j < M; j++) assert_at_most(creal(values[j]), 1.001 * limit);
        larmor_array_free(w);
    }
}

TEST(trajectories_in_single_precision_give_the_same_weights)
{
    HEAP double *k = radial_points(32, 64, 10);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, 64, 10), k),
                        *in_single = zeros(LARMOR_F32, LARMOR_SHAPE(2, 64, 10));
    float singles[2 * 64 * 10];
    for (int i = 0; i < 2 * 64 * 10; i++) singles[i] = (float)k[i];
    assert_ok(larmor_array_write(in_single, singles, sizeof singles));
    for (int ramp = 0; ramp < 2; ramp++) {
        OWNED(larmor_array) *w, *v;
        assert_ok(ramp ? larmor_density_ramp(traj, image, &w) : larmor_density_pipe(traj, image, 5, &w));
        assert_ok(ramp ? larmor_density_ramp(in_single, image, &v) : larmor_density_pipe(in_single, image, 5, &v));
        assert_int_equal(larmor_array_dtype(v), LARMOR_F32);
        assert_at_most(apart(v, w), 1e-5);
    }
}

TEST(one_and_three_dimensions_work_as_well)
{
    double line[24], *cube = malloc(3 * 8 * 8 * 8 * sizeof *cube);
    for (int i = 0; i < 24; i++) line[i] = (i - 12) * 0.5; /* half as far apart as Nyquist asks for */
    for (int j = 0; j < 512; j++) {
        cube[3 * j] = j % 8 - 4;
        cube[3 * j + 1] = j / 8 % 8 - 4;
        cube[3 * j + 2] = j / 64 - 4;
    }
    OWNED(larmor_array) *w1, *w3, *traj1 = real_array(LARMOR_SHAPE(1, 24, 1), line);
    OWNED(larmor_array) *traj3 = real_array(LARMOR_SHAPE(3, 64, 8), cube);
    assert_ok(larmor_density_pipe(traj1, LARMOR_SHAPE(12), 20, &w1));
    assert_ok(larmor_density_pipe(traj3, LARMOR_SHAPE(8, 8, 8), 20, &w3));
    assert_at_most(fabs(sum_of(w1) - 12), 0.01);
    assert_at_most(fabs(sum_of(w3) - 512), 0.5);
    free(cube);
}

TEST(unusable_trajectories_are_named)
{
    HEAP double *k = radial_points(32, 8, 4);
    larmor_array *w, *traj = real_array(LARMOR_SHAPE(2, 8, 4), k);
    assert_refused(larmor_density_pipe(traj, LARMOR_SHAPE(8, 8, 8), 0, &w), LARMOR_ERR_SHAPE,
                   "trajectory is f64 [2, 8, 4]");
    assert_refused(larmor_density_pipe(traj, image, -1, &w), LARMOR_ERR_ARG, "density pipe: -1 iterations");
    assert_refused(larmor_density_ramp(NULL, image, &w), LARMOR_ERR_ARG, "density ramp: no trajectory given");
    k[13] = INFINITY;
    OWNED(larmor_array) *bad = real_array(LARMOR_SHAPE(2, 8, 4), k);
    assert_refused(larmor_density_pipe(bad, image, 0, &w), LARMOR_ERR_NUMERIC, "trajectory holds inf at element 13");
    assert_null(w);
    larmor_array_free(traj);
}
