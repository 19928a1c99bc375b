/* Every device's table for this layer against naive loops, in both precisions; lines and ramp are judged by
 * test_density.c. SPDX-License-Identifier: Apache-2.0 */
#include "recon/inputs.h"
#include "tests/recon/support.h"

static const larmor_dtype type[] = {LARMOR_C64, LARMOR_C128};
static const double limit[] = {1e-6, 1e-14};

static const lmr_recon_kernels *table(int p)
{
    const lmr_recon_kernels *kernels;
    assert_ok(lmr_recon_kernels_of(dev, type[p], &kernels));
    return kernels;
}

static larmor_array *floats(int64_t count, const double *values)
{
    return real_array(LARMOR_SHAPE(count), values);
}

static void expect(int p, const larmor_array *x, const cplx *expected)
{
    assert_at_most(away(x, expected, larmor_array_count(x)), limit[p]);
}

TEST(the_first_outlier_is_found)
{
    enum { N = 100000 };
    HEAP NEW_ZEROS(double, x, N);
    const double bad[] = {NAN, INFINITY, -INFINITY, -1};
    for (int c = 0; c < 5; c++) {
        if (c < 4) x[70001] = x[90000] = bad[c];
        if (c == 4) x[70001] = x[90000] = -0.5;
        OWNED(larmor_array) *a = floats(N, x);
        int64_t index;
        double value;
        assert_ok(lmr_find_outlier(a, -0.5, &index, &value));
        assert_int_equal(index, c < 4 ? 70001 : -1);
        assert_true(c != 3 || value == -1);
    }
}

enum { M = 5000, ND = 2, COILS = 3 };

TEST(samples_are_selected_in_order_picked_weighted_and_tapered)
{
    const double radius[3] = {8, 5, 1};
    double *k = random_points(LARMOR_SHAPE(20, 20), M, 1), w[M], taper[M], point[ND * M];
    int64_t index[M], count = 0, found;
    uint64_t seed = 2;
    for (int64_t j = 0; j < M; j++) {
        const double r = hypot(k[2 * j] / 8, k[2 * j + 1] / 5);
        if (r >= 0.9) continue;
        index[count] = j;
        w[count] = 1 + test_random(&seed);
        taper[count] = w[count] * pow(cos(M_PI / 2 * r), 2);
        for (int d = 0; d < ND; d++) point[ND * count + d] = 3 * k[ND * j + d];
        count++;
    }
    for (int p = 0; p < 2; p++) {
        const lmr_recon_kernels *kernels = table(p);
        HEAP cplx *y = random_values(M * COILS, 3), *chosen = malloc((size_t)(count * COILS) * sizeof *chosen);
        HEAP cplx *in_double = malloc((size_t)(ND * count) * sizeof *in_double);
        assert_true(chosen && in_double);
        for (int64_t i = 0; i < count * COILS; i++) chosen[i] = w[i % count] * y[index[i % count] + M * (i / count)];
        OWNED(larmor_array) *points = real_array(LARMOR_SHAPE(ND, M), k), *where = zeros(LARMOR_F64, LARMOR_SHAPE(M));
        OWNED(larmor_array) *picked = zeros(LARMOR_F64, LARMOR_SHAPE(ND, count)), *weights = floats(count, w);
        OWNED(larmor_array) *from = complex_array(type[p], LARMOR_SHAPE(M, COILS), y);
        OWNED(larmor_array) *to = zeros(type[p], LARMOR_SHAPE(count, COILS));
        assert_ok(kernels->select(dev->ctx, ND, M, points->data, radius, 0.9, where->data, &found));
        assert_int_equal(found, count);
        assert_ok(kernels->pick(dev->ctx, ND, count, where->data, 3, points->data, picked->data));
        for (int64_t i = 0; i < ND * count; i++) in_double[i] = point[i];
        expect(1, picked, in_double);
        assert_ok(kernels->gather(dev->ctx, M, count, COILS, where->data, weights->data, from->data, to->data));
        expect(p, to, chosen);
        assert_ok(kernels->pick(dev->ctx, ND, count, where->data, 1, points->data, picked->data));
        assert_ok(kernels->taper(dev->ctx, ND, count, picked->data, radius, weights->data));
        for (int64_t i = 0; i < count; i++) in_double[i] = taper[i];
        expect(1, weights, in_double);
    }
    free(k);
}

TEST(weights_are_balanced_by_the_density_they_give)
{
    for (int p = 0; p < 2; p++) {
        HEAP cplx *g = random_values(M, 4), *expected = random_values(M, 5);
        double w[M];
        uint64_t seed = 6;
        for (int j = 0; j < M; j++) w[j] = 2 + test_random(&seed);
        for (int j = 0; j < M; j++) expected[j] = j == 3 ? w[j] : w[j] / cabs(g[j]);
        g[3] = 0;
        OWNED(larmor_array) *weights = floats(M, w), *values = complex_array(type[p], LARMOR_SHAPE(M), g);
        assert_ok(table(p)->balance(dev->ctx, M, weights->data, values->data));
        expect(p, weights, expected);
        expect(p, values, expected);
    }
}

TEST(the_overlap_of_balls_falls_from_one_to_zero)
{
    const int64_t dim[] = {12, 8, 6};
    for (int c = 0; c < 2 * 3; c++) {
        const int p = c % 2, nd = c / 2 + 1;
        const larmor_shape shape = larmor_shape_of(nd, dim);
        OWNED(larmor_array) *x = zeros(type[p], shape);
        cplx expected[12 * 8 * 6];
        for (int64_t i = 0; i < larmor_shape_count(shape); i++) {
            double r = 0;
            for (int d = 0; d < nd; d++) r += pow(2 * position(shape, i, d), 2);
            r = fmin(1, sqrt(r));
            const double overlap[] = {1 - r, 2 / M_PI * (acos(r) - r * sqrt(1 - r * r)),
                                      1 - 1.5 * r + 0.5 * r * r * r};
            expected[i] = 7 * overlap[nd - 1];
        }
        assert_ok(table(p)->overlap(dev->ctx, nd, dim, 7, x->data));
        expect(p, x, expected);
    }
}

TEST(covariances_are_sums_over_samples_and_products_come_in_pairs)
{
    enum { PAIRS = COILS * (COILS + 1) / 2 };
    static const int left[PAIRS] = {0, 0, 1, 0, 1, 2}, right[PAIRS] = {0, 1, 1, 2, 2, 2};
    for (int p = 0; p < 2; p++) {
        HEAP cplx *x = random_values(M * COILS, 7), *products = malloc(4 * M * sizeof *products);
        cplx cov[COILS * COILS] = {0};
        assert_non_null(products);
        OWNED(larmor_array) *in = complex_array(type[p], LARMOR_SHAPE(M, COILS), x);
        OWNED(larmor_array) *sums = zeros(LARMOR_C128, LARMOR_SHAPE(COILS, COILS)),
                            *y = zeros(type[p], LARMOR_SHAPE(M, 4));
        for (int i = 0; i < COILS * COILS * M; i++)
            cov[i / M] += x[i % M + M * (i / M % COILS)] * conj(x[i % M + M * (i / M / COILS)]);
        assert_ok(table(p)->covariance(dev->ctx, M, COILS, in->data, sums->data));
        expect(p, sums, cov);
        for (int i = 0; i < 4 * M; i++) /* pairs 2 .. 5 */
            products[i] = x[i % M + M * left[2 + i / M]] * conj(x[i % M + M * right[2 + i / M]]);
        assert_ok(table(p)->products(dev->ctx, M, 2, 4, in->data, y->data));
        expect(p, y, products);
        OWNED(larmor_array) *all = zeros(type[p], LARMOR_SHAPE(COILS, COILS, M + 1));
        HEAP NEW_ZEROS(cplx, scattered, COILS * COILS * (M + 1));
        for (int i = 0; i < 4 * M; i++) {
            const int at = left[2 + i / M] + COILS * right[2 + i / M];
            scattered[at + COILS * COILS * (i % M)] = products[i];
            scattered[at + COILS * COILS * M] += products[i];
        }
        assert_ok(table(p)->scatter(dev->ctx, M, COILS, 2, 4, y->data, all->data));
        expect(p, all, scattered);
    }
}

TEST(vectors_are_aligned_with_the_last)
{
    enum { PIXELS = 301 };
    for (int p = 0; p < 2; p++) {
        cplx *v = random_values(COILS * COILS * (PIXELS + 1), 8), maps[PIXELS * COILS];
        const cplx *reference = v + COILS * COILS * PIXELS + COILS * (COILS - 1);
        for (int i = 0; i < PIXELS; i++) {
            const cplx *own = v + COILS * COILS * i + COILS * (COILS - 1);
            cplx along = 0;
            for (int c = 0; c < COILS; c++) along += conj(reference[c]) * own[c];
            for (int c = 0; c < COILS; c++) maps[i + PIXELS * c] = own[c] * conj(along) / cabs(along);
        }
        OWNED(larmor_array) *in = complex_array(type[p], LARMOR_SHAPE(COILS, COILS, PIXELS + 1), v);
        OWNED(larmor_array) *out = zeros(type[p], LARMOR_SHAPE(PIXELS, COILS));
        assert_ok(table(p)->align(dev->ctx, PIXELS, COILS, in->data, out->data));
        expect(p, out, maps);
        free(v);
    }
}

enum { INNER = 3, LENGTH = 11, OUTER = 4 };

TEST(filters_stride_over_the_middle_dimension)
{
    static const struct {
        int64_t n, step, stride, shift;
    } cases[] = {{LENGTH, 1, 1, 0}, {LENGTH, 3, 1, 0}, {5, 1, 2, 1}, {6, 1, 2, 0}, {LENGTH, 16, 1, 0}};
    const double taps[] = {0.5, -2, 1, 3, 0.25};
    for (int c = 0; c < 5 * 4; c++) {
        const int p = c % 2;
        const int64_t inner = c / 2 % 2 ? 1 : INNER;
        const int64_t n = cases[c / 4].n, dim[3] = {inner, LENGTH, OUTER};
        cplx *x = random_values(inner * LENGTH * OUTER, 9), y[INNER * LENGTH * OUTER] = {0};
        for (int64_t i = 0; i < inner * n * OUTER; i++)
            for (int t = 0; t < 5; t++) {
                const int64_t from =
                    cases[c / 4].stride * (i / inner % n) + cases[c / 4].shift + (t - 2) * cases[c / 4].step;
                if (from >= 0 && from < LENGTH)
                    y[i] += taps[t] * x[i % inner + inner * (from + LENGTH * (i / inner / n))];
            }
        OWNED(larmor_array) *in = complex_array(type[p], LARMOR_SHAPE(inner, LENGTH, OUTER), x),
                            *tap = floats(5, taps);
        OWNED(larmor_array) *out = zeros(type[p], LARMOR_SHAPE(inner, n, OUTER));
        assert_ok(table(p)->filter(dev->ctx, dim, n, 5, tap->data, cases[c / 4].step, cases[c / 4].stride,
                                   cases[c / 4].shift, in->data, out->data));
        expect(p, out, y);
        free(x);
    }
}

/* Cubic convolution is exact for polynomials of second order, away from the edges, and keeps the samples. */
TEST(interpolation_is_exact_for_parabolas)
{
    const int64_t sizes[] = {LENGTH, 2 * LENGTH, 37};
    for (int c = 0; c < 3 * 4; c++) {
        const int p = c % 2;
        const int inner = c / 2 % 2 ? 1 : INNER;
        const int64_t n = sizes[c / 4], dim[3] = {inner, LENGTH, OUTER};
        cplx x[INNER * LENGTH * OUTER];
        for (int i = 0; i < inner * LENGTH * OUTER; i++) {
            const double t = i / inner % LENGTH - LENGTH / 2;
            x[i] = (i % inner) + t * I + (1 + i / inner / LENGTH) * t * t;
        }
        OWNED(larmor_array) *in = complex_array(type[p], LARMOR_SHAPE(inner, LENGTH, OUTER), x);
        OWNED(larmor_array) *out = zeros(type[p], LARMOR_SHAPE(inner, n, OUTER));
        assert_ok(table(p)->resize(dev->ctx, dim, n, in->data, out->data));
        HEAP cplx *y = values_of(out);
        for (int64_t i = 0; i < inner * n * OUTER; i++) {
            const double t = (double)(i / inner % n - n / 2) * LENGTH / (double)n;
            if (fabs(t) > 3.9) continue;
            const cplx truth = (double)(i % inner) + t * I + (double)(1 + i / inner / n) * t * t;
            assert_at_most(cabs(y[i] - truth), 60 * limit[p]);
        }
    }
}

TEST(powers_are_of_the_real_part_above_a_limit_and_the_largest_is_found)
{
    const int halves[] = {1, -1, -2};
    for (int c = 0; c < 3 * 2; c++) {
        const int p = c % 2;
        HEAP cplx *x = random_values(M, 10), *y = random_values(M, 11);
        double most = 0, found;
        x[17] = 0.25;
        x[18] = NAN;
        for (int i = 0; i < M; i++) {
            const double v = creal(p ? x[i] : (cplx)(float complex)x[i]);
            y[i] = v > 0.25 ? pow(v, halves[c / 2] / 2.) : 0;
            if (v > most) most = v;
        }
        OWNED(larmor_array) *a = complex_array(type[p], LARMOR_SHAPE(M), x);
        assert_ok(table(p)->largest(dev->ctx, M, a->data, &found));
        assert_true(found == most);
        assert_ok(table(p)->power(dev->ctx, M, halves[c / 2], 0.25, a->data));
        expect(p, a, y);
    }
}
