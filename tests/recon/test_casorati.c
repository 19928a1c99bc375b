/* recon/ops/casorati.c and the singular values of recon/low_rank.c. SPDX-License-Identifier: Apache-2.0 */
#include "recon/low_rank.h"
#include "tests/recon/support.h"

static const larmor_dtype type[] = {LARMOR_C64, LARMOR_C128};
static const double limit[] = {1e-6, 1e-14};

/* ---- blocks ---- */

typedef struct cut {
    larmor_shape shape;
    larmor_casorati_opts opts;
    larmor_shape out;
} cut;

static const cut cuts[] = {
    {{3, {8, 6, 3}}, {{4, 3}, {0}}, {3, {12, 3, 4}}},   /* fits */
    {{3, {7, 5, 2}}, {{3, 2}, {2, 1}}, {3, {6, 2, 9}}}, /* does not */
    {{4, {5, 4, 3, 2}}, {{2, 3, 2}, {-1, 7, 2}}, {3, {12, 2, 12}}},
    {{2, {9, 4}}, {{4}, {1}}, {3, {4, 4, 3}}},
    {{3, {20, 5, 2}}, {{0}, {0}}, {3, {40, 2, 3}}},       /* blocks of 8, but 5 along y */
    {{3, {4, 3, 2}}, {{100, 100}, {0}}, {3, {12, 2, 1}}}, /* one matrix */
};
enum { CUTS = sizeof cuts / sizeof *cuts };

static int64_t modulo(int64_t a, int64_t n)
{
    return (a % n + n) % n;
}

/* From the definition: voxel v of block b is voxel (b block + v + shift) mod n. */
static cplx *naive_blocks(const cut *c, const int64_t shift[3], const cplx *x)
{
    const int nd = c->shape.ndim - 1;
    int64_t n[3] = {1, 1, 1}, block[3] = {1, 1, 1}, count[3] = {1, 1, 1}, frames = c->shape.dim[nd];
    for (int d = 0; d < nd; d++) {
        n[d] = c->shape.dim[d];
        block[d] = c->opts.block[d] ? c->opts.block[d] : 8;
        if (block[d] > n[d]) block[d] = n[d];
        while (count[d] * block[d] < n[d]) count[d]++;
    }
    const int64_t voxels = n[0] * n[1] * n[2], inside = block[0] * block[1] * block[2];
    NEW_ZEROS(cplx, y, (size_t)larmor_shape_count(c->out));
    for (int64_t t = 0; t < frames; t++)
        for (int64_t i = 0; i < voxels; i++) {
            int64_t rest = i, v = 0, b = 0, vs = 1, bs = 1;
            for (int d = 0; d < 3; d++) {
                const int64_t at = modulo(rest % n[d] - (d < nd ? shift[d] : 0), n[d]);
                v += vs * (at % block[d]);
                b += bs * (at / block[d]);
                vs *= block[d];
                bs *= count[d];
                rest /= n[d];
            }
            y[v + inside * (t + frames * b)] = x[i + voxels * t];
        }
    return y;
}

static void expect_blocks(const cut *c, larmor_dtype dtype, double most, larmor_op *C, const int64_t shift[3])
{
    const int64_t count = larmor_shape_count(c->shape);
    HEAP cplx *x = random_values(count, 1), *expected = naive_blocks(c, shift, x);
    OWNED(larmor_array) *in = complex_array(dtype, c->shape, x), *out = zeros(dtype, c->out),
                        *z = zeros(dtype, c->shape);
    assert_ok(larmor_fill(out, NAN));
    assert_ok(larmor_op_forward(C, in, out));
    assert_at_most(away(out, expected, larmor_shape_count(c->out)), most);
    assert_ok(larmor_op_adjoint(C, out, z));
    assert_at_most(away(z, x, count), most);
}

TEST(voxels_go_to_the_blocks_of_the_shifted_tiling_and_back)
{
    for (int i = 0; i < CUTS; i++)
        for (int p = 0; p < 2; p++) {
            OWN(larmor_op, *C, larmor_op_casorati(dev, type[p], cuts[i].shape, &cuts[i].opts, &C));
            assert_true(larmor_shape_equal(larmor_op_out_shape(C), cuts[i].out));
            expect_blocks(&cuts[i], type[p], limit[p], C, cuts[i].opts.shift);
        }
}

TEST(it_is_an_isometry_with_an_exact_adjoint)
{
    for (int i = 0; i < CUTS; i++)
        for (int p = 0; p < 2; p++) {
            OWN(larmor_op, *C, larmor_op_casorati(dev, type[p], cuts[i].shape, &cuts[i].opts, &C));
            assert_at_most(adjoint_error(C, 3), limit[p]);
            HEAP cplx *x = random_values(larmor_shape_count(cuts[i].shape), 2);
            OWNED(larmor_array) *in = complex_array(type[p], cuts[i].shape, x), *z = zeros(type[p], cuts[i].shape);
            OWNED(larmor_array) *out = zeros(type[p], cuts[i].out);
            assert_ok(larmor_op_forward(C, in, out));
            assert_at_most(fabs(norm_of(out) / norm_of(in) - 1), 1e-14);
            assert_ok(larmor_op_normal(C, in, z));
            assert_at_most(away(z, x, larmor_shape_count(cuts[i].shape)), limit[p]);
        }
}

TEST(unusable_shapes_blocks_and_operators_are_named)
{
    assert_none_made(larmor_op, larmor_op_casorati(dev, LARMOR_C64, LARMOR_SHAPE(8), NULL, &made), LARMOR_ERR_SHAPE,
                     "casorati: got c64 [8] on");
    assert_none_made(larmor_op, larmor_op_casorati(dev, LARMOR_C64, LARMOR_SHAPE(8, 0, 3), NULL, &made),
                     LARMOR_ERR_SHAPE, "expected an image of 1 to 3 dimensions and frames");
    assert_none_made(larmor_op, larmor_op_casorati(dev, LARMOR_F64, LARMOR_SHAPE(8, 8), NULL, &made), LARMOR_ERR_ARG,
                     "casorati: a device and a complex type are needed");
    assert_none_made(
        larmor_op,
        larmor_op_casorati(dev, LARMOR_C64, LARMOR_SHAPE(8, 8, 3), &(larmor_casorati_opts){.block = {4, -2}}, &made),
        LARMOR_ERR_ARG, "casorati: block[1] is -2, expected at least 1");
}

/* ---- singular values ---- */

/* Orthonormal columns [n, count] from random ones by Gram-Schmidt, twice. */
static cplx *random_columns(int64_t n, int64_t count, uint64_t seed)
{
    cplx *q = random_values(n * count, seed);
    for (int64_t j = 0; j < count; j++)
        for (int pass = 0; pass < 2; pass++) {
            for (int64_t k = 0; k < j; k++) {
                cplx dot = 0;
                for (int64_t i = 0; i < n; i++) dot += conj(q[i + n * k]) * q[i + n * j];
                for (int64_t i = 0; i < n; i++) q[i + n * j] -= dot * q[i + n * k];
            }
            double size = 0;
            for (int64_t i = 0; i < n; i++) size += pow(cabs(q[i + n * j]), 2);
            for (int64_t i = 0; i < n; i++) q[i + n * j] /= sqrt(size);
        }
    return q;
}

/* Adds U diag(max(0, value - t)) V^H to matrix x [m, n]. */
static void add_factors(int64_t m, int64_t n, const cplx *u, const double *value, double t, const cplx *v, cplx *x)
{
    for (int64_t k = 0; k < (m < n ? m : n); k++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m && value[k] > t; i++)
                x[i + m * j] += (value[k] - t) * u[i + m * k] * conj(v[j + n * k]);
}

enum { MATRICES = 5, MOST = 40 };

/* Matrix b has the singular values 2^-k + 0.1 b; b = 3 is of half the rank, b = 4 is zero. */
static void expect_shrunken(int p, int64_t m, int64_t n, double t, double most)
{
    const int64_t s = m < n ? m : n;
    const int64_t count = m * n * MATRICES;
    HEAP cplx *x = calloc((size_t)count, sizeof *x), *expected = calloc((size_t)count, sizeof *expected);
    double sum = 0, got_sum;
    assert_true(x && expected && s <= MOST);
    for (int b = 0; b < MATRICES; b++) {
        HEAP cplx *u = random_columns(m, s, (uint64_t)b + 1), *v = random_columns(n, s, (uint64_t)b + 100);
        double value[MOST];
        for (int64_t k = 0; k < s; k++) {
            value[k] = b == 3 && k >= s / 2 ? 0 : 0.1 * b + ldexp(1, -(int)k);
            if (b == 4) value[k] = 0;
            sum += value[k];
        }
        add_factors(m, n, u, value, 0, v, x + m * n * b);
        add_factors(m, n, u, value, t, v, expected + m * n * b);
    }
    OWNED(larmor_array) *in = complex_array(type[p], LARMOR_SHAPE(m, n, MATRICES), x);
    OWNED(larmor_array) *out = zeros(type[p], LARMOR_SHAPE(m, n, MATRICES));
    assert_ok(larmor_fill(out, NAN));
    assert_ok(lmr_shrink_singular(t, in, out, &got_sum));
    assert_at_most(away(out, expected, count), most);
    assert_at_most(fabs(got_sum - sum) / sum, p ? 5e-8 : 1e-6); /* the smallest cannot be distinguished from 0 */
    double alone;
    assert_ok(lmr_shrink_singular(t, in, NULL, &alone));
    assert_at_most(fabs(alone - sum) / sum, p ? 5e-8 : 1e-6);
}

TEST(singular_values_shrink_by_the_threshold)
{
    const int64_t size[][2] = {{64, 7}, {5, 12}, {9, 9}, {1, 4}, {3, 1}, {100, 35}, {17, 33}, {1500, 3}};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int p = 0; p < 2; p++) {
            expect_shrunken(p, size[i][0], size[i][1], 0.3, p ? 1e-12 : 1e-6);
            expect_shrunken(p, size[i][0], size[i][1], 1e-3, p ? 1e-11 : 1e-6);
            expect_shrunken(p, size[i][0], size[i][1], 0, p ? 1e-14 : 1e-6);
        }
}

TEST(rounding_is_not_a_singular_value)
{
    enum { M = 64, N = 16 };
    HEAP cplx *u = random_values(M, 1), *v = random_values(N, 2);
    cplx x[M * N];
    double square_u = 0, square_v = 0, sum;
    for (int i = 0; i < M; i++) square_u += pow(cabs(u[i]), 2);
    for (int j = 0; j < N; j++) square_v += pow(cabs(v[j]), 2);
    for (int i = 0; i < M * N; i++) x[i] = u[i % M] * conj(v[i / M]);
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, LARMOR_SHAPE(M, N, 1), x);
    assert_ok(lmr_shrink_singular(0, in, NULL, &sum));
    assert_at_most(fabs(sum / sqrt(square_u * square_v) - 1), 1e-14);
}

TEST(a_threshold_above_the_largest_leaves_exact_zeros)
{
    for (int p = 0; p < 2; p++) {
        HEAP cplx *x = random_values(12 * 5 * 2, 1);
        OWNED(larmor_array) *in = complex_array(type[p], LARMOR_SHAPE(12, 5, 2), x);
        OWNED(larmor_array) *out = complex_array(type[p], LARMOR_SHAPE(12, 5, 2), x);
        assert_ok(lmr_shrink_singular(1e3, in, out, NULL));
        assert_true(norm_of(out) == 0);
    }
}

TEST(unusable_matrices_are_named)
{
    cplx bad[12] = {1, NAN};
    OWNED(larmor_array) *x = complex_array(LARMOR_C64, LARMOR_SHAPE(4, 3, 1), bad),
                        *y = zeros(LARMOR_C64, LARMOR_SHAPE(3, 4, 1));
    OWNED(larmor_array) *z = zeros(LARMOR_C64, LARMOR_SHAPE(4, 3, 1)), *flat = zeros(LARMOR_C64, LARMOR_SHAPE(4, 3));
    assert_refused(lmr_shrink_singular(1, flat, NULL, NULL), LARMOR_ERR_SHAPE, "singular values: got c64 [4, 3] on");
    assert_refused(lmr_shrink_singular(1, x, y, NULL), LARMOR_ERR_SHAPE, "singular values: output is c64 [3, 4, 1]");
    assert_refused(lmr_shrink_singular(-1, z, z, NULL), LARMOR_ERR_ARG,
                   "singular values: threshold is -1, expected at least 0");
    assert_refused(lmr_shrink_singular(1, x, z, NULL), LARMOR_ERR_NUMERIC, "non-finite matrix");
}
