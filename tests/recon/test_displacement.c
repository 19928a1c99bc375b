/* recon/field, nufft: voxels that are not where the grid has them; warped images; the harmonics of gradients.
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "tests/recon/support.h"

static double *numbers(int64_t count)
{
    NEW_ZEROS(double, x, (size_t)count + 1);
    return x;
}

/* Smooth, and up to 3 voxels; with `rough` random besides. */
static double *displacement_of(larmor_shape shape, double rough)
{
    const int nd = shape.ndim;
    const int64_t voxels = larmor_shape_count(shape);
    double *d = numbers(voxels * nd);
    uint64_t seed = 9;
    for (int64_t i = 0; i < voxels * nd; i++) {
        const int a = (int)(i / voxels);
        double r[3] = {0};
        for (int e = 0; e < nd; e++) r[e] = position(shape, i % voxels, e);
        d[i] = 3 * sin(3 * r[(a + 1) % nd] + a) * cos(2 * r[a] + r[nd - 1]) + rough * test_random(&seed);
    }
    return d;
}

/* y_j = sum_i x_i e_ij exp(-2 pi i k_j (r_i + d_i)); factor(i, j) or NULL for 1. */
static void direct(const cplx *x, larmor_shape shape, const double *d, const double *k, int64_t m, cplx *y)
{
    const int64_t voxels = larmor_shape_count(shape), nd = shape.ndim;
    for (int64_t j = 0; j < m; j++) {
        y[j] = 0;
        for (int64_t i = 0; i < voxels; i++) {
            double turns = cycles(k + nd * j, shape, i);
            for (int a = 0; a < nd; a++) turns += k[nd * j + a] * d[i + voxels * a] / (double)shape.dim[a];
            y[j] += x[i] * cexp(-2 * M_PI * I * turns);
        }
    }
}

/* The error of the operator against its sum, with one image and with a batch of two. */
static double nufft_error(larmor_shape shape, double rough, larmor_dtype dtype, double tol, double *adjoint)
{
    enum { M = 160, BATCH = 2 };
    const int nd = shape.ndim;
    const int64_t voxels = larmor_shape_count(shape);
    larmor_nufft_opts opts = {.ndim = nd, .batch = BATCH, .tol = tol, .dtype = dtype};
    for (int a = 0; a < nd; a++) opts.modes[a] = shape.dim[a];
    HEAP double *d = displacement_of(shape, rough), *k = random_points(shape, M, 2);
    HEAP cplx *x = random_values(BATCH * voxels, 3), *expected = random_values(BATCH * M, 0);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(nd, M / 4, 4), k), *moved;
    moved = real_array(larmor_shape_append(shape, nd), d);
    OWN(larmor_op, *A, larmor_op_nufft_displaced(dev, &opts, traj, moved, &A));
    OWNED(larmor_array) *in = complex_array(dtype, larmor_op_in_shape(A), x), *out;
    assert_true(larmor_shape_equal(larmor_op_out_shape(A), LARMOR_SHAPE(M / 4, 4, BATCH)));
    out = zeros(dtype, larmor_op_out_shape(A));
    assert_ok(larmor_op_forward(A, in, out));
    for (int b = 0; b < BATCH; b++) direct(x + b * voxels, shape, d, k, M, expected + b * M);
    HEAP cplx *got = values_of(out);
    assert_ok(larmor_op_adjoint_error(A, 5, adjoint));
    assert_at_most(normal_apart(A), dtype == LARMOR_C128 ? 1e-13 : 1e-5);
    return difference(got, expected, BATCH * M);
}

TEST(a_nufft_of_displaced_voxels_is_its_direct_sum_and_its_adjoint_the_transpose)
{
    const larmor_shape shapes[] = {LARMOR_SHAPE(24, 20), LARMOR_SHAPE(10, 9, 8), LARMOR_SHAPE(31)};
    double adjoint;
    for (int s = 0; s < 3; s++)
        for (int rough = 0; rough < 2; rough++) {
            assert_at_most(nufft_error(shapes[s], 2 * rough, LARMOR_C64, 1e-3, &adjoint), 1e-3);
            assert_at_most(adjoint, 1e-6);
            assert_at_most(nufft_error(shapes[s], 2 * rough, LARMOR_C64, 1e-5, &adjoint), 1e-5);
            assert_at_most(nufft_error(shapes[s], 2 * rough, LARMOR_C128, 1e-9, &adjoint), 1e-9);
            assert_at_most(adjoint, 1e-14);
        }
}

TEST(without_displacement_it_is_the_nufft_of_the_grid)
{
    enum { M = 300 };
    const larmor_shape shape = LARMOR_SHAPE(24, 20);
    const larmor_nufft_opts opts = {.ndim = 2, .modes = {24, 20}, .tol = 1e-11, .dtype = LARMOR_C128};
    HEAP double *k = random_points(shape, M, 2), *d = numbers(2 * 24 * 20);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, M), k), *none = real_array(LARMOR_SHAPE(24, 20, 2), d);
    OWNED(larmor_array) *in = drawn(LARMOR_C128, shape, 3), *a = zeros(LARMOR_C128, LARMOR_SHAPE(M)),
                        *b = zeros(LARMOR_C128, LARMOR_SHAPE(M));
    OWN(larmor_op, *A, larmor_op_nufft_displaced(dev, &opts, traj, none, &A));
    OWN(larmor_op, *B, larmor_op_nufft(dev, &opts, traj, &B));
    assert_ok(larmor_op_forward(A, in, a));
    assert_ok(larmor_op_forward(B, in, b));
    assert_at_most(apart(a, b), 1e-10);
}

/* Coils, weights, displacement, and off-resonance and decay of each voxel, all at once. */
static void assert_sense(larmor_shape shape, int64_t block)
{
    enum { M = 240, COILS = 3, SAMPLES = 60 };
    const int64_t voxels = larmor_shape_count(shape), nd = shape.ndim;
    HEAP double *d = displacement_of(shape, 0), *k = random_points(shape, M, 2), *w = numbers(M);
    HEAP double *hz = numbers(voxels), *rate = numbers(voxels), *time = numbers(M);
    HEAP cplx *x = random_values(voxels, 3), *maps = random_values(voxels * COILS, 4);
    HEAP cplx *expected = random_values(M * COILS, 0), *seen = random_values(voxels, 0), *one = random_values(M, 0);
    for (int64_t i = 0; i < voxels; i++) {
        hz[i] = 2 * M_PI * 80 * cos(4 * position(shape, i, 0));
        rate[i] = 20 + 10 * sin(5 * position(shape, i, 1));
    }
    for (int64_t j = 0; j < M; j++) {
        time[j] = 20e-3 * (double)(j % SAMPLES) / SAMPLES;
        w[j] = 1 + .5 * sin((double)j);
    }
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(nd, SAMPLES, M / SAMPLES), k), *weights, *moved, *s;
    OWNED(larmor_array) *f = real_array(shape, hz), *r2 = real_array(shape, rate), *t;
    t = real_array(LARMOR_SHAPE(SAMPLES, M / SAMPLES), time);
    weights = real_array(LARMOR_SHAPE(SAMPLES, M / SAMPLES), w);
    moved = real_array(larmor_shape_append(shape, nd), d);
    s = complex_array(LARMOR_C128, larmor_shape_append(shape, COILS), maps);
    const larmor_model_term terms[] = {{f, t, 0}, {r2, t, 1}};
    larmor_segments *sum =
        MADE(larmor_segments, larmor_segments_of_terms(terms, 2, &(larmor_off_resonance_opts){.error = 1e-6}, &made));
    const larmor_sense_opts opts = {.traj = traj,
                                    .weights = weights,
                                    .nufft_tol = 1e-7,
                                    .off_resonance = sum,
                                    .displacement = moved,
                                    .block = block,
                                    .toeplitz = 1};
    OWN(larmor_op, *A, larmor_op_sense(s, &opts, &A));
    larmor_segments_free(sum);
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, shape, x), *y = zeros(LARMOR_C128, larmor_op_out_shape(A));
    assert_ok(larmor_op_forward(A, in, y));
    for (int c = 0; c < COILS; c++)
        for (int64_t j = 0; j < M; j++) {
            for (int64_t i = 0; i < voxels; i++)
                seen[i] = x[i] * maps[i + voxels * c] * cexp((I * hz[i] - rate[i]) * time[j]);
            direct(seen, shape, d, k + nd * j, 1, &one[j]);
            expected[j + M * c] = sqrt(w[j]) * one[j];
        }
    HEAP cplx *got = values_of(y);
    assert_at_most(difference(got, expected, M * COILS), 1e-5);
    assert_at_most(adjoint_error(A, 5), 1e-14);
    assert_at_most(normal_apart(A), 1e-13);
    assert_false(larmor_sense_uses_toeplitz(A));
}

TEST(sense_has_coils_weights_displacement_off_resonance_and_decay_at_once)
{
    assert_sense(LARMOR_SHAPE(16, 14), 0);
    assert_sense(LARMOR_SHAPE(8, 7, 6), 2);
}

TEST(a_displacement_that_does_not_fit_is_refused)
{
    const larmor_nufft_opts opts = {.ndim = 2, .modes = {6, 5}};
    HEAP double *k = random_points(LARMOR_SHAPE(6, 5), 8, 1), *d = numbers(60);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, 8), k), *turned = real_array(LARMOR_SHAPE(2, 6, 5), d);
    OWNED(larmor_array) *not_real = zeros(LARMOR_C64, LARMOR_SHAPE(6, 5, 2)), *holds_nan;
    d[37] = NAN;
    holds_nan = real_array(LARMOR_SHAPE(6, 5, 2), d);
    assert_none_made(larmor_op, larmor_op_nufft_displaced(dev, &opts, traj, turned, &made), LARMOR_ERR_SHAPE,
                     "displacement: it is f64 [2, 6, 5] on ");
    assert_none_made(larmor_op, larmor_op_nufft_displaced(dev, &opts, traj, not_real, &made), LARMOR_ERR_ARG,
                     "displacement: it is c64 [6, 5, 2] on ");
    assert_none_made(larmor_op, larmor_op_nufft_displaced(dev, &opts, traj, holds_nan, &made), LARMOR_ERR_NUMERIC,
                     "displacement: of voxel 7 it is not finite");
    d[37] = -5.5;
    OWNED(larmor_array) *far = real_array(LARMOR_SHAPE(6, 5, 2), d);
    assert_none_made(larmor_op, larmor_op_nufft_displaced(dev, &opts, traj, far, &made), LARMOR_ERR_ARG,
                     "displacement: voxel 7 is moved by -5.5 voxels along axis 1, farther than the image of 5; check "
                     "coefficients and units.");
    assert_none_made(larmor_op, larmor_op_nufft_displaced(dev, &opts, traj, NULL, &made), LARMOR_ERR_ARG,
                     "larmor_op_nufft_displaced: a device, options, traj and a displacement are needed");
}

/* ---- warped images ---- */

TEST(the_jacobian_of_a_linear_displacement_is_its_determinant)
{
    const double m[3][3] = {{.1, .05, -.02}, {.03, -.08, .04}, {-.06, .02, .07}};
    const larmor_shape shape = LARMOR_SHAPE(5, 4, 3);
    HEAP double *d = numbers(180);
    for (int64_t i = 0; i < 180; i++) {
        const int64_t v = i % 60, r[3] = {v % 5, v / 5 % 4, v / 20};
        for (int e = 0; e < 3; e++) d[i] += m[i / 60][e] * (double)r[e];
    }
    const double expected =
        1.1 * (.92 * 1.07 - .04 * .02) - .05 * (.03 * 1.07 + .04 * .06) - .02 * (.03 * .02 + .92 * .06);
    OWNED(larmor_array) *moved = real_array(larmor_shape_append(shape, 3), d), *jacobian;
    assert_ok(larmor_displacement_jacobian(moved, &jacobian));
    HEAP cplx *j = values_of(jacobian);
    for (int i = 0; i < 60; i++) assert_at_most(cabs(j[i] - expected), 1e-12);
}

/* e(r + d(r)) = -d(r): from r the inverse e leads to a place that is shown at r. */
TEST(the_inverse_of_a_displacement_leads_back)
{
    const larmor_shape shape = LARMOR_SHAPE(40, 32);
    const int64_t voxels = 40 * 32;
    HEAP double *d = displacement_of(shape, 0), *there = numbers(2 * voxels);
    OWNED(larmor_array) *moved = real_array(LARMOR_SHAPE(40, 32, 2), d), *inverse, *back;
    assert_ok(larmor_displacement_inverse(moved, &inverse));
    HEAP cplx *e = values_of(inverse);
    for (int64_t i = 0; i < voxels; i++) {
        double r[3] = {0}, at[2];
        for (int a = 0; a < 2; a++) {
            r[a] = position(shape, i, a) + creal(e[i + voxels * a]) / (double)shape.dim[a];
            at[a] = (double)(a ? i / 40 : i % 40) + creal(e[i + voxels * a]);
        }
        if (at[0] < 1 || at[0] > 38 || at[1] < 1 || at[1] > 30) continue; /* d goes on in another way there */
        for (int a = 0; a < 2; a++)
            assert_at_most(fabs(creal(e[i + voxels * a]) + 3 * sin(3 * r[(a + 1) % 2] + a) * cos(2 * r[a] + r[1])),
                           2e-3);
    }
    for (int64_t i = 0; i < 2 * voxels; i++) d[i] = 3 * ((i % voxels) % 2 ? 1 : -1); /* folds */
    OWNED(larmor_array) *folded = real_array(LARMOR_SHAPE(40, 32, 2), d);
    assert_refused(larmor_displacement_inverse(folded, &back), LARMOR_ERR_NUMERIC,
                   "inverse: the displacement about voxel 0 has none: it folds space, or is not smooth.");
}

TEST(a_warped_image_of_few_frequencies_is_that_image_at_the_displaced_voxels)
{
    enum { X = 20, Y = 15, VOXELS = X * Y, MORE = 2 };
    const larmor_shape shape = LARMOR_SHAPE(X, Y);
    HEAP double *d = displacement_of(shape, 1);
    HEAP cplx *x = random_values(VOXELS * MORE, 0), *expected = random_values(VOXELS * MORE, 0);
    OWNED(larmor_array) *moved = real_array(LARMOR_SHAPE(X, Y, 2), d), *jacobian;
    assert_ok(larmor_displacement_jacobian(moved, &jacobian));
    HEAP cplx *j = values_of(jacobian);
    for (int64_t i = 0; i < VOXELS * MORE; i++) {
        const double r[2] = {position(shape, i % VOXELS, 0), position(shape, i % VOXELS, 1)};
        const double at[2] = {r[0] + d[i % VOXELS] / X, r[1] + d[i % VOXELS + VOXELS] / Y};
        const int c = (int)(i / VOXELS);
        x[i] = cexp(2 * M_PI * I * (3 * r[0] - 2 * r[1])) + (2 + c) * cos(2 * M_PI * (r[0] + 5 * r[1]));
        expected[i] = cexp(2 * M_PI * I * (3 * at[0] - 2 * at[1])) + (2 + c) * cos(2 * M_PI * (at[0] + 5 * at[1]));
        const double u = at[0] * X + X / 2, v = at[1] * Y + Y / 2; /* in indices */
        if (u < -.5 || u > X - .5 || v < -.5 || v > Y - .5) expected[i] = 0;
        expected[i] *= j[i % VOXELS];
    }
    OWNED(larmor_array) *image = complex_array(LARMOR_C128, LARMOR_SHAPE(X, Y, MORE), x), *warped;
    assert_ok(larmor_warp(image, moved, &(larmor_warp_opts){.jacobian = 1}, &warped));
    assert_at_most(away(warped, expected, VOXELS * MORE), 1e-8);
}

TEST(cubic_warps_keep_parabolas_and_the_type_of_the_image)
{
    enum { N = 12 };
    HEAP double *d = numbers(N * N * 2), *x = numbers(N * N);
    for (int i = 0; i < N * N; i++) {
        x[i] = 1 + .5 * (i % N) - .1 * (i % N) * (i % N) + .3 * (i / N);
        d[i] = .37;
        d[i + N * N] = -.61;
    }
    OWNED(larmor_array) *image = real_array(LARMOR_SHAPE(N, N), x), *moved = real_array(LARMOR_SHAPE(N, N, 2), d), *y;
    assert_ok(larmor_warp(image, moved, &(larmor_warp_opts){.by = LARMOR_WARP_CUBIC}, &y));
    assert_int_equal(larmor_array_dtype(y), LARMOR_F64);
    HEAP cplx *got = values_of(y);
    for (int i = 0; i < N * N; i++) {
        const double u = i % N + .37, v = i / N - .61;
        if (u < 1 || u > N - 2 || v < 1 || v > N - 2) continue;
        assert_at_most(fabs(creal(got[i]) - (1 + .5 * u - .1 * u * u + .3 * v)), 1e-12);
    }
    larmor_array *none;
    assert_refused(larmor_warp(image, image, NULL, &none), LARMOR_ERR_SHAPE,
                   "warp: the displacement is f64 [12, 12] on ");
    assert_refused(larmor_warp(moved, moved, &(larmor_warp_opts){.by = 2}, &none), LARMOR_ERR_ARG,
                   "warp: by is 2, expected LARMOR_WARP_BAND or LARMOR_WARP_CUBIC");
}

/* What a true image becomes and what is made of that again: the same, and as much of it in all. */
TEST(an_image_that_is_distorted_and_corrected_is_the_image)
{
    enum { N = 48, VOXELS = N * N };
    const larmor_shape shape = LARMOR_SHAPE(N, N);
    HEAP double *d = displacement_of(shape, 0);
    HEAP cplx *x = random_values(VOXELS, 0);
    double sums[2] = {0};
    for (int64_t i = 0; i < VOXELS; i++) {
        const double r[2] = {position(shape, i, 0), position(shape, i, 1)};
        x[i] = exp(-60 * (r[0] * r[0] + r[1] * r[1])) * cexp(I * 10 * r[0]);
    }
    OWNED(larmor_array) *image = complex_array(LARMOR_C128, shape, x), *moved = real_array(LARMOR_SHAPE(N, N, 2), d);
    const larmor_warp_opts opts = {.jacobian = 1};
    OWN(larmor_array, *back, larmor_displacement_inverse(moved, &back));
    OWN(larmor_array, *distorted, larmor_warp(image, back, &opts, &distorted));
    OWN(larmor_array, *corrected, larmor_warp(distorted, moved, &opts, &corrected));
    HEAP cplx *bent = values_of(distorted), *got = values_of(corrected);
    for (int64_t i = 0; i < VOXELS; i++) {
        sums[0] += cabs(x[i]);
        sums[1] += cabs(bent[i]);
    }
    assert_at_most(difference(got, x, VOXELS), 2e-3);
    assert_true(difference(bent, x, VOXELS) > .3);
    assert_at_most(fabs(sums[1] / sums[0] - 1), 2e-3);
}

/* ---- gradients ---- */

static char path[64];

static larmor_array *field_of(const char *text)
{
    snprintf(path, sizeof path, "/tmp/larmor-gradients-%d.txt", (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    larmor_array *field = MADE(larmor_array, larmor_gradient_field_read(path, dev, &made));
    unlink(path);
    return field;
}

/* d in m along L, P and S at a place in m, by an image of one voxel of 1 m. */
static void displacement_at(const larmor_array *field, const double at[3], double d[3])
{
    const larmor_image_meta meta = {.fov_mm = {1e3, 1e3, 1e3},
                                    .position_mm = {1e3 * at[0], 1e3 * at[1], 1e3 * at[2]},
                                    .read_dir = {1, 0, 0},
                                    .phase_dir = {0, 1, 0},
                                    .slice_dir = {0, 0, 1}};
    OWN(larmor_array, *made, larmor_gradient_displacement(field, &meta, LARMOR_SHAPE(1, 1, 1), &made));
    HEAP cplx *value = values_of(made);
    for (int a = 0; a < 3; a++) d[a] = creal(value[a]);
}

static const char plain[] = "# made up\nradius 0.25\naxes LAI\nAlpha_z 3 0 -0.2;\nAlpha_x 3 1 -0.18\n\n"
                            "Beta_y 3 1 -0.22 ;\r\nBeta_x 4 2 0.05\nAlpha_y 5 3 0.03\n";
static const char siemens[] = "#*[ anything *\n#*] END:\n\n 0.25000 m = R0, lnorm = 1\n NO. TYPE SPECTRUM AXIS\n"
                              "  1   A( 3, 0)   -0.20000000   z\n  2   A( 3, 1)  -0.18  x\n 3 B( 3, 1) -0.22 y\n"
                              " 4 B( 4, 2)  0.05 x\n 5 A(5,3) 0.03 y\n";

TEST(harmonics_are_those_of_the_formula_in_both_layouts)
{
    const double R = .25, at[3] = {.11, -.07, .13}, x = at[0], y = -at[1], z = -at[2]; /* to the front and the feet */
    const double square = x * x + y * y + z * z;
    const double p30 = (5 * z * z * z - 3 * z * square) / 2 / (R * R * R);
    const double p31 = 1.5 * (5 * z * z - square) / (R * R * R) * sqrt(7. * 2 / (2. * 24));
    const double p42 = 7.5 * (7 * z * z - square) / (R * R * R * R) * sqrt(9. * 2 / (2. * 720));
    const double p53 = 52.5 * (9 * z * z - square) / (R * R * R * R * R) * sqrt(11. * 2 / (2. * 40320));
    const double expected[3] = {R * (-.18 * p31 * x + .05 * p42 * 2 * x * y),
                                -R * (-.22 * p31 * y + .03 * p53 * (x * x * x - 3 * x * y * y)), -R * -.2 * p30};
    double d[2][3];
    OWNED(larmor_array) *one = field_of(plain), *two = field_of(siemens);
    displacement_at(one, at, d[0]);
    displacement_at(two, at, d[1]);
    assert_true(larmor_shape_equal(larmor_array_shape(one), LARMOR_SHAPE(6, 6, 2, 3)));
    for (int a = 0; a < 3; a++) {
        assert_at_most(fabs(d[0][a] - expected[a]), 1e-15);
        assert_at_most(fabs(d[1][a] - expected[a]), 1e-15);
    }
    const double origin[3] = {0};
    displacement_at(one, origin, d[0]);
    for (int a = 0; a < 3; a++) assert_at_most(fabs(d[0][a]), 0);
}

/* An oblique image: its axes, its voxels and its place. */
TEST(displacements_are_in_voxels_along_the_axes_of_the_image)
{
    const double c = cos(.4), s = sin(.4), at[3] = {.02, .05, -.03};
    const larmor_image_meta meta = {.fov_mm = {200, 150, 5},
                                    .position_mm = {20, 50, -30},
                                    .read_dir = {c, 0, s},
                                    .phase_dir = {0, 1, 0},
                                    .slice_dir = {-s, 0, c}};
    OWNED(larmor_array) *field = field_of(plain), *made;
    assert_ok(larmor_gradient_displacement(field, &meta, LARMOR_SHAPE(20, 10), &made));
    HEAP cplx *value = values_of(made);
    const int64_t i = 4 + 20 * 7;
    const double u = -6 * .01, v = 2 * .015;
    const double place[3] = {at[0] + u * c, at[1] + v, at[2] + u * s};
    double d[3];
    displacement_at(field, place, d);
    assert_at_most(fabs(creal(value[i]) - (d[0] * c + d[2] * s) / .01), 1e-12);
    assert_at_most(fabs(creal(value[i + 200]) - d[1] / .015), 1e-12);
}

TEST(every_component_is_a_solution_of_laplace)
{
    OWNED(larmor_array) *field = field_of(plain);
    const double at[3] = {.11, -.07, .13}, e = 1e-3;
    double middle[3], d[3], curvature[3] = {0};
    displacement_at(field, at, middle);
    for (int step = 0; step < 6; step++) {
        double next[3] = {at[0], at[1], at[2]};
        next[step / 2] += step % 2 ? e : -e;
        displacement_at(field, next, d);
        for (int a = 0; a < 3; a++) curvature[a] += (d[a] - middle[a]) / (e * e);
    }
    for (int a = 0; a < 3; a++) {
        assert_true(fabs(middle[a]) > 1e-4);
        assert_at_most(fabs(curvature[a]), 1e-4);
    }
}

TEST(files_that_are_no_harmonics_of_gradients_are_refused)
{
    static const char *const bad[][2] = {
        {"", "has no reference radius from 1 mm to 10 m; a line `radius 0.25` expected, in m."},
        {"radius 0.25\n", "has no coefficient; lines `Alpha_x 3 1 -0.05` expected."},
        {"radius 0\nAlpha_x 3 1 1", "has no reference radius"},
        {"radius 0.25\nAlpha_x 3 4 0.1", ":2: A(3, 4) of x is 0.1; an order up to 24, a degree up to that"},
        {"radius 0.25\nBeta_q 3 1 0.1", ":2: B(3, 1) of q is 0.1; "},
        {"radius 0.25\nAlpha_x 25 1 0.1", ":2: A(25, 1) of x is 0.1; an order up to 24"},
        {"radius 0.25\nAlpha_x 3 1 nan", ":2: A(3, 1) of x is nan; "},
        {"radius 0.25\n\nAlpha_x 1 1 1.0", ":3: A(1, 1) of x is 1: the ideal gradient is among the coefficients"},
        {"radius 0.25\nAlpha_x 3 1", ":2: neither radius R, axes LPS nor Alpha_x N M VALUE"},
        {"radius 0.25\naxes XYZ\nAlpha_x 3 1 1", ":2: neither radius R, axes LPS"},
        {"<html>", ":1: neither radius R"},
        {" 0.25 m = R0\n 1 A( 3, 9) 0.1 x\n", ":2: A(3, 9) of x is 0.1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        larmor_array *field;
        snprintf(path, sizeof path, "/tmp/larmor-gradients-%d.txt", (int)getpid());
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(bad[i][0], file);
        fclose(file);
        const larmor_status st = larmor_gradient_field_read(path, dev, &field);
        unlink(path);
        assert_int_equal(st, LARMOR_ERR_FORMAT);
        assert_null(field);
        if (!strstr(larmor_last_error(), bad[i][1])) fail_msg("%s: said %s", bad[i][1], larmor_last_error());
    }
    larmor_array *none;
    assert_refused(larmor_gradient_field_read("/nowhere/at.all", dev, &none), LARMOR_ERR_IO,
                   "/nowhere/at.all: cannot be read: ");
}
