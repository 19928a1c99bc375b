/* recon/compress/geometric.c and places.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { N = 24, LINES = 20, COILS = 10, PLACES = 32, SIZE = N * LINES * COILS };

static const double tau = 6.283185307179586;

/* Images [N, LINES, COILS] of an object that coils on a ring hear, with noise. */
static cplx *ring_images(double noise, uint64_t seed)
{
    cplx *x = random_values(SIZE, seed);
    for (int c = 0; c < COILS; c++)
        for (int j = 0; j < LINES; j++)
            for (int i = 0; i < N; i++) {
                const double u = (i - N / 2) / (double)N, v = (j - LINES / 2) / (double)LINES;
                const double a = u - .7 * cos(tau * c / COILS), b = v - .7 * sin(tau * c / COILS);
                const double object = hypot(u, v) < .42 ? 1 + .5 * sin(9 * u + 14 * v) : 0;
                cplx *at = &x[i + N * (j + LINES * c)];
                *at = noise * *at + object * cexp(I * (3 * a * b + c)) / (.1 + a * a + b * b);
            }
    return x;
}

/* Lines along x, upwards or downwards, of all places of the grid: [2, N, LINES]. */
static larmor_array *lines_of(int down)
{
    double k[2 * N * LINES];
    for (int j = 0; j < LINES; j++)
        for (int i = 0; i < N; i++) {
            k[2 * (i + N * j)] = down ? N - 1 - i - N / 2 : i - N / 2;
            k[2 * (i + N * j) + 1] = j - LINES / 2;
        }
    return real_array(LARMOR_SHAPE(2, N, LINES), k);
}

static larmor_array *image_array(const cplx *x)
{
    return complex_array(LARMOR_C128, LARMOR_SHAPE(N, LINES, COILS), x);
}

/* k-space of images, along the first dimensions. */
static larmor_array *transformed(const larmor_array *x)
{
    const larmor_fft_opts centred = {.centred = 1, .unitary = 1};
    const larmor_shape shape = larmor_array_shape(x);
    larmor_array *y = zeros(LARMOR_C128, shape);
    OWN(larmor_op, *F, larmor_op_fft(dev, LARMOR_C128, shape, 3, &centred, &F));
    assert_ok(larmor_op_forward(F, x, y));
    return y;
}

static larmor_array *along_of(const larmor_array *kspace, const larmor_array *traj, double *count)
{
    larmor_array *R = zeros(LARMOR_C128, LARMOR_SHAPE(COILS, COILS, PLACES, LARMOR_GEOMETRIC_PARTS));
    assert_ok(larmor_coils_covariance_along(kspace, traj, 12, 1, R, count));
    return R;
}

/* The matrices for n places from images. */
static larmor_array *matrices(const cplx *images, int64_t n, const larmor_compression_opts *opts,
                              larmor_compression_report *report)
{
    OWNED(larmor_array) *x = image_array(images), *kspace = transformed(x), *traj = lines_of(0);
    larmor_array *R = along_of(kspace, traj, NULL), *C;
    assert_ok(larmor_geometric_compression(R, n, opts, &C, report));
    larmor_array_free(R);
    return C;
}

TEST(the_rows_are_orthonormal_at_each_place)
{
    const int64_t places[] = {1, 7, N, PLACES, 50};
    HEAP cplx *images = ring_images(.01, 3);
    for (int p = 0; p < 5; p++) {
        const larmor_compression_opts opts = {.coils = 3};
        OWNED(larmor_array) *C = matrices(images, places[p], &opts, NULL);
        HEAP cplx *c = values_of(C);
        for (int64_t at = 0; at < places[p]; at++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    cplx sum = 0;
                    for (int l = 0; l < COILS; l++)
                        sum += c[i + 3 * (l + COILS * at)] * conj(c[j + 3 * (l + COILS * at)]);
                    assert_at_most(cabs(sum - (i == j)), 1e-12);
                }
    }
}

TEST(samples_of_virtual_coils_are_those_of_their_images)
{
    HEAP cplx *images = ring_images(.01, 3);
    const larmor_compression_opts opts = {.coils = 4};
    OWNED(larmor_array) *C = matrices(images, N, &opts, NULL), *x = image_array(images), *kspace = transformed(x);
    OWNED(larmor_array) *traj = lines_of(0), *few, *expected, *got;
    assert_ok(larmor_compress_coils(C, x, &few));
    expected = transformed(few);
    assert_ok(larmor_compress_readouts(C, kspace, traj, &got));
    assert_at_most(apart(got, expected), 1e-12);
}

TEST(all_coils_come_back_whole)
{
    HEAP cplx *images = ring_images(.01, 3);
    const larmor_compression_opts opts = {.coils = COILS};
    larmor_compression_report report;
    OWNED(larmor_array) *C = matrices(images, N, &opts, &report), *x = image_array(images), *few, *back;
    assert_int_equal(report.coils, COILS);
    assert_true(report.energy > 1 - 1e-12);
    assert_ok(larmor_compress_coils(C, x, &few));
    assert_ok(larmor_expand_coils(C, few, &back));
    assert_at_most(away(back, images, SIZE), 1e-12);
}

/* The part of the images that a compression leaves out, in amplitude. */
static double lost(const larmor_array *C, const cplx *images)
{
    OWNED(larmor_array) *x = image_array(images), *few, *back;
    assert_ok(larmor_compress_coils(C, x, &few));
    assert_ok(larmor_expand_coils(C, few, &back));
    return away(back, images, SIZE);
}

TEST(as_many_coils_hold_more_than_those_of_one_matrix)
{
    HEAP cplx *images = ring_images(0, 3);
    OWNED(larmor_array) *x = image_array(images), *R = zeros(LARMOR_C128, LARMOR_SHAPE(COILS, COILS));
    assert_ok(larmor_coils_covariance(x, NULL, 0, 1, R, NULL));
    for (int coils = 1; coils <= 4; coils++) {
        const larmor_compression_opts opts = {.coils = coils};
        larmor_compression_report one, each;
        OWNED(larmor_array) *C = matrices(images, N, &opts, &each), *single;
        assert_ok(larmor_compression(R, &opts, &single, &one));
        assert_int_equal(each.coils, coils);
        assert_true(lost(C, images) < .8 * lost(single, images));
        assert_true(each.energy <= 1 - .2 * pow(lost(C, images), 2)); /* no more is promised than is kept */
    }
}

/* Virtual coils hear the same whichever way readouts run, and where the object is turned over they are turned
 * over. */
TEST(flips_change_nothing)
{
    HEAP cplx *images = ring_images(.01, 3), *mirrored = ring_images(.01, 3), *reversed;
    const larmor_compression_opts opts = {.coils = 4};
    larmor_compression_report upright, turned;
    OWNED(larmor_array) *up = lines_of(0), *down = lines_of(1), *C = matrices(images, N, &opts, &upright);
    OWNED(larmor_array) *x = image_array(images), *kspace = transformed(x), *from_up, *from_down;
    HEAP cplx *k = values_of(kspace);
    reversed = values_of(kspace);
    for (int t = 0; t < SIZE; t++) {
        reversed[t] = k[t / N * N + N - 1 - t % N];
        mirrored[t] = images[t / N * N + (N - t % N) % N]; /* the origin stays */
    }
    OWNED(larmor_array) *back = image_array(reversed);
    assert_ok(larmor_compress_readouts(C, kspace, up, &from_up));
    assert_ok(larmor_compress_readouts(C, back, down, &from_down));
    HEAP cplx *a = values_of(from_up), *b = values_of(from_down);
    for (int t = 0; t < N * LINES * 4; t++) assert_at_most(cabs(b[t] - a[t / N * N + N - 1 - t % N]), 1e-12);
    OWNED(larmor_array) *R = along_of(back, down, NULL), *same = along_of(kspace, up, NULL);
    assert_at_most(apart(R, same), 1e-12);
    OWNED(larmor_array) *M = matrices(mirrored, N, &opts, &turned);
    assert_at_most(fabs(turned.energy - upright.energy), .1 * (1 - upright.energy));
    assert_at_most(fabs(lost(M, mirrored) / lost(C, images) - 1), .1);
}

/* Without alignment the phases of eigenvectors, and their order, are whatever a library makes of them. */
TEST(matrices_change_little_from_place_to_place)
{
    enum { FINE = 4 * N };
    HEAP cplx *images = ring_images(.001, 3);
    const larmor_compression_opts opts = {.coils = 4};
    OWNED(larmor_array) *C = matrices(images, FINE, &opts, NULL);
    HEAP cplx *c = values_of(C);
    for (int64_t at = FINE / 8; at < FINE * 7 / 8; at++)
        assert_at_most(difference(c + 4 * COILS * at, c + 4 * COILS * (at - 1), 4 * COILS), .15);
}

TEST(noise_is_not_taken_for_signal)
{
    HEAP cplx *images = ring_images(1, 3);
    OWNED(larmor_array) *x = image_array(images), *kspace = transformed(x), *traj = lines_of(0);
    double count;
    OWNED(larmor_array) *R = along_of(kspace, traj, &count);
    larmor_compression_opts opts = {.energy = .99, .noise = 2. / 3 * count, .samples = count};
    larmor_compression_report told, unaware;
    larmor_array *C = MADE(larmor_array, larmor_geometric_compression(R, N, &opts, &made, &told));
    larmor_array_free(C);
    opts = (larmor_compression_opts){.energy = .99};
    assert_ok(larmor_geometric_compression(R, N, &opts, &C, &unaware));
    larmor_array_free(C);
    assert_in_range(told.coils, 2, 4);
    assert_true(unaware.coils > told.coils);
}

TEST(what_makes_no_sense_is_refused)
{
    OWNED(larmor_array) *R = zeros(LARMOR_C128, LARMOR_SHAPE(COILS, COILS, PLACES, LARMOR_GEOMETRIC_PARTS));
    OWNED(larmor_array) *x = zeros(LARMOR_C64, LARMOR_SHAPE(N, LINES, COILS)), *traj = lines_of(0);
    larmor_array *C, *y;
    OWNED(larmor_array) *matrix = zeros(LARMOR_C128, LARMOR_SHAPE(3, COILS, N));
    OWNED(larmor_array) *fewer = zeros(LARMOR_C128, LARMOR_SHAPE(3, COILS, N / 2));
    double off[2 * N * LINES] = {.5};
    OWNED(larmor_array) *between = real_array(LARMOR_SHAPE(2, N, LINES), off);
    assert_refused(larmor_geometric_compression(R, N, NULL, &C, NULL), LARMOR_ERR_NUMERIC, "energy is 0");
    assert_null(C);
    assert_refused(larmor_geometric_compression(R, 0, NULL, &C, NULL), LARMOR_ERR_ARG, "0 places");
    assert_refused(larmor_geometric_compression(x, N, NULL, &C, NULL), LARMOR_ERR_SHAPE, "expected c128");
    assert_refused(larmor_coils_covariance_along(x, traj, 17, 1, R, NULL), LARMOR_ERR_SHAPE, "at least 34 places");
    assert_refused(larmor_coils_covariance_along(x, traj, NAN, 1, R, NULL), LARMOR_ERR_ARG, "radius nan");
    assert_refused(larmor_coils_covariance_along(x, NULL, 8, 1, R, NULL), LARMOR_ERR_SHAPE, "traj is missing");
    assert_refused(larmor_compress_readouts(matrix, x, between, &y), LARMOR_ERR_ARG, "a sample at 0.5");
    assert_refused(larmor_compress_readouts(fewer, x, traj, &y), LARMOR_ERR_ARG, "two samples at one of 12 places");
    assert_refused(larmor_compress_readouts(R, x, traj, &y), LARMOR_ERR_SHAPE, "[virtual coils, coils, places]");
    assert_refused(larmor_compress_coils(fewer, x, &y), LARMOR_ERR_SHAPE, "expected complex [12, ..., 10]");
    assert_null(y);
}
