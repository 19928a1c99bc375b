/* recon/prox/llr.c: coil images without maps (CLEAR). SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/prox_support.h"
#include "tests/recon/regulariser_support.h"

enum { SIDE = 8, VOXELS = SIDE * SIDE, COILS = 2, N = VOXELS * COILS, POINTS = 44, BLOCK = 4, SHIFTS = 2 };
#define IMAGES LARMOR_SHAPE(SIDE, SIDE, COILS)

static const double pi = 3.14159265358979323846;

/* ---- a reference: the samples' exponentials one by one, and blocks of two columns in closed form ---- */

typedef struct samples {
    double k[2 * POINTS];
    cplx F[POINTS][VOXELS], b[POINTS * COILS];
} samples;

static void make_problem(samples *p)
{
    uint64_t seed = 4;
    HEAP cplx *noise = random_values(POINTS * COILS, 5);
    for (int j = 0; j < 2 * POINTS; j++) p->k[j] = 3.9 * test_random(&seed);
    memset(p->b, 0, sizeof p->b);
    for (int j = 0; j < POINTS; j++)
        for (int v = 0; v < VOXELS; v++) {
            const int x = v % SIDE - SIDE / 2, y = v / SIDE - SIDE / 2;
            const double object = x * x + y * y < 9 ? 1 + 0.3 * (x > 0) : 0;
            p->F[j][v] = cexp(-2 * pi * I * (p->k[2 * j] * x + p->k[2 * j + 1] * y) / SIDE);
            p->b[j] += p->F[j][v] * object * (1 + 0.1 * x);
            p->b[j + POINTS] += p->F[j][v] * object * (0.6 - 0.1 * y) * cexp(0.2 * I * x);
        }
    for (int j = 0; j < POINTS * COILS; j++) p->b[j] += 0.5 * noise[j];
}

static void forward(const samples *p, const cplx *x, cplx *y)
{
    for (int c = 0; c < COILS; c++)
        for (int j = 0; j < POINTS; j++) {
            y[j + c * POINTS] = 0;
            for (int v = 0; v < VOXELS; v++) y[j + c * POINTS] += p->F[j][v] * x[v + c * VOXELS];
        }
}

static void adjoint(const samples *p, const cplx *y, cplx *x)
{
    memset(x, 0, N * sizeof *x);
    for (int c = 0; c < COILS; c++)
        for (int j = 0; j < POINTS; j++)
            for (int v = 0; v < VOXELS; v++) x[v + c * VOXELS] += conj(p->F[j][v]) * y[j + c * POINTS];
}

/* Voxel i of block b of the tiling that is moved by half a block or not. */
static int voxel_of(int shift, int b, int i)
{
    const int across = SIDE / BLOCK, by = shift * BLOCK / SHIFTS;
    const int x = (b % across * BLOCK + i % BLOCK + by) % SIDE, y = (b / across * BLOCK + i / BLOCK + by) % SIDE;
    return x + SIDE * y;
}

/* The squares of a block's two singular values, and the inner product of its columns. */
static cplx squares_of(const cplx *x, int shift, int b, double square[2], double *first)
{
    double a = 0, d = 0;
    cplx c = 0;
    for (int i = 0; i < BLOCK * BLOCK; i++) {
        const int v = voxel_of(shift, b, i);
        a += pow(cabs(x[v]), 2);
        d += pow(cabs(x[v + VOXELS]), 2);
        c += conj(x[v]) * x[v + VOXELS];
    }
    const double apart = sqrt(pow((a - d) / 2, 2) + pow(cabs(c), 2));
    square[0] = (a + d) / 2 + apart;
    square[1] = fmax(0, (a + d) / 2 - apart);
    *first = a;
    return c;
}

static double kept(double square, double t)
{
    return square > 0 ? fmax(0, 1 - t / sqrt(square)) : 0;
}

/* x of one tiling <- x less its part of singular values at most t: B (1 - alpha - beta B^H B). */
static void clip(cplx *x, int shift, double t)
{
    for (int b = 0; b < VOXELS / BLOCK / BLOCK; b++) {
        double square[2], a;
        const cplx c = squares_of(x, shift, b, square, &a);
        const double d = square[0] + square[1] - a, apart = square[0] - square[1];
        const double beta = apart > 1e-14 * square[0] ? (kept(square[0], t) - kept(square[1], t)) / apart : 0;
        const double alpha = kept(square[1], t) - beta * square[1];
        for (int i = 0; i < BLOCK * BLOCK; i++) {
            const int v = voxel_of(shift, b, i);
            const cplx p = x[v], q = x[v + VOXELS];
            x[v] = p - alpha * p - beta * (p * a + q * conj(c));
            x[v + VOXELS] = q - alpha * q - beta * (p * c + q * d);
        }
    }
}

static double value(const samples *p, const cplx *x, double weight)
{
    cplx y[POINTS * COILS];
    double sum = 0, square[2], a;
    forward(p, x, y);
    for (int j = 0; j < POINTS * COILS; j++) sum += pow(cabs(y[j] - p->b[j]), 2) / 2;
    for (int shift = 0; shift < SHIFTS; shift++)
        for (int b = 0; b < VOXELS / BLOCK / BLOCK; b++) {
            squares_of(x, shift, b, square, &a);
            sum += weight * (sqrt(square[0]) + sqrt(square[1]));
        }
    return sum;
}

/* Condat, J. Optim. Theory Appl. 158, 460 (2013), algorithm 3.1: steps by gradients, and the norms' conjugates. */
static void solve(const samples *p, double weight, cplx *x)
{
    const double sigma = 10, tau = 1 / (8 * POINTS / 2. + 2 * sigma); /* |F|^2 is below 8 POINTS */
    static cplx z[SHIFTS][N];
    cplx y[POINTS * COILS], g[N];
    memset(z, 0, sizeof z);
    memset(x, 0, N * sizeof *x);
    for (int n = 0; n < 4000; n++) {
        forward(p, x, y);
        for (int j = 0; j < POINTS * COILS; j++) y[j] -= p->b[j];
        adjoint(p, y, g);
        for (int i = 0; i < N; i++) {
            const cplx before = x[i];
            x[i] -= tau * (g[i] + z[0][i] + z[1][i]);
            for (int s = 0; s < SHIFTS; s++) z[s][i] += sigma * (2 * x[i] - before);
        }
        for (int s = 0; s < SHIFTS; s++) clip(z[s], s, weight);
    }
}

TEST(coil_images_are_those_of_least_nuclear_norms_by_direct_sums)
{
    static samples p;
    const double weight = 3, unit = (sqrt(BLOCK * BLOCK) + sqrt(COILS)) / SHIFTS;
    const larmor_nufft_opts nufft = {
        .type = 2, .ndim = 2, .modes = {SIDE, SIDE}, .batch = COILS, .tol = 1e-10, .dtype = LARMOR_C128};
    make_problem(&p);
    cplx reference[N];
    solve(&p, weight, reference);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, POINTS, 1), p.k);
    OWN(larmor_op, *F, larmor_op_nufft(dev, &nufft, traj, &F));
    OWNED(larmor_array) *b = complex_array(LARMOR_C128, larmor_op_out_shape(F), p.b), *x = zeros(LARMOR_C128, IMAGES);
    const larmor_regulariser_opts blocks = {.block = {BLOCK, BLOCK, 1}};
    OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, "clear", &blocks, LARMOR_C128, IMAGES, &r));
    assert_ok(larmor_regulariser_set_weight(r, weight / unit));
    const larmor_solve_opts opts = {.max_iter = 2000, .tol = 1e-8, .inner = 8};
    assert_ok(larmor_regularised(F, b, r, x, &opts, NULL));
    HEAP cplx *images = values_of(x);
    assert_at_most(difference(images, reference, N), 1e-5);
    assert_at_most(fabs(value(&p, images, weight) / value(&p, reference, weight) - 1), 1e-6);
    cplx none[N] = {0};
    assert_true(value(&p, reference, weight) < 0.5 * value(&p, none, weight));
}

/* One image times one number for each coil, in one block: of the whole penalty only the norm is left. */
TEST(coils_of_one_sensitivity_each_cost_the_norm_of_their_images)
{
    cplx x[N], zero[N] = {0};
    for (int i = 0; i < N; i++) x[i] = (1 + sin(0.3 * (i % VOXELS))) * (i < VOXELS ? 1 : 0.5 * I);
    const double norm = sqrt(distance_squared(x, zero, N));
    const double cost = penalty_of("clear", &(larmor_regulariser_opts){.block = {SIDE, SIDE, 1}}, IMAGES, x);
    assert_at_most(fabs(cost / ((SIDE + sqrt(COILS)) * norm) - 1), 1e-6);
}

TEST(blocks_have_three_voxels_a_side_where_nothing_else_is_asked_for)
{
    HEAP cplx *x = random_values(N, 2);
    const larmor_regulariser_opts three = {.block = {3, 3, 3}}, eight = {.block = {8, 8, 8}};
    const double cost = penalty_of("clear", NULL, IMAGES, x);
    assert_true(cost == penalty_of("llr", &three, IMAGES, x));
    assert_true(cost != penalty_of("clear", &eight, IMAGES, x));
}

TEST(one_coil_and_sums_are_refused)
{
    larmor_regulariser *r;
    assert_refused(larmor_regulariser_create(dev, "clear", NULL, LARMOR_C64, LARMOR_SHAPE(8, 8, 1), &r),
                   LARMOR_ERR_SHAPE, "clear: got c64 [8, 8, 1] on");
    assert_refused(larmor_regulariser_create(dev, "clear+tv:xy", NULL, LARMOR_C64, IMAGES, &r), LARMOR_ERR_ARG,
                   "regulariser: \"clear+tv:xy\" has clear in a sum, which is of coil images; leave it out");
    assert_refused(larmor_regulariser_create(dev, "clear:xy", NULL, LARMOR_C64, IMAGES, &r), LARMOR_ERR_ARG,
                   "clear: got dimensions \"xy\", it takes none");
}
