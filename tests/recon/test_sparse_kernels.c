/* recon/kernels_sparse.h on every device, in both precisions, against naive loops. SPDX-License-Identifier:
 * Apache-2.0
 */
#include "recon/sparse.h"
#include "tests/recon/support.h"

static const larmor_dtype type[] = {LARMOR_C64, LARMOR_C128};
static const double limit[] = {1e-6, 1e-14};

static const lmr_sparse_kernels *table(int p)
{
    const lmr_sparse_kernels *kernels;
    assert_ok(lmr_sparse_kernels_of(dev, type[p], &kernels));
    return kernels;
}

static void expect(int p, const larmor_array *x, const cplx *expected)
{
    assert_at_most(away(x, expected, larmor_array_count(x)), limit[p]);
}

/* ---- groups ---- */

static double group_norm(const cplx *x, int64_t n, int64_t groups, int64_t i)
{
    double square = 0;
    for (int64_t g = 0; g < groups; g++) square += pow(cabs(x[i + n * g]), 2);
    return sqrt(square);
}

/* Each number of groups, some large enough for several threads and blocks. */
static const struct {
    int64_t n, groups;
} sizes[] = {{5, 1}, {1000, 1}, {40001, 1}, {513, 3}, {20000, 2}, {7, 20}, {0, 4}};
enum { SIZES = sizeof sizes / sizeof *sizes };

TEST(groups_are_shrunk_by_their_norm)
{
    const double t = 0.9;
    for (int c = 0; c < 2 * SIZES; c++) {
        const int p = c % 2;
        const int64_t n = sizes[c / 2].n, groups = sizes[c / 2].groups;
        HEAP cplx *x = random_values(n * groups, 1), *small = malloc((size_t)(n * groups + 1) * sizeof *small);
        assert_non_null(small);
        if (n > 1) x[1] = 0; /* a zero, alone or in its group */
        for (int64_t i = 0; i < n * groups; i++) {
            const double size = group_norm(x, n, groups, i % n);
            small[i] = x[i] * (size > t ? 1 - t / size : 0);
        }
        OWNED(larmor_array) *in = complex_array(type[p], LARMOR_SHAPE(n, groups), x);
        OWNED(larmor_array) *out = zeros(type[p], LARMOR_SHAPE(n, groups));
        assert_ok(table(p)->shrink_groups(dev->ctx, n, groups, t, in->data, out->data));
        if (n) expect(p, out, small);
        assert_ok(table(p)->shrink_groups(dev->ctx, n, groups, t, in->data, in->data)); /* in place */
        if (n) expect(p, in, small);
    }
}

TEST(shrinking_by_nothing_keeps_all)
{
    for (int p = 0; p < 2; p++) {
        HEAP cplx *x = random_values(20, 9);
        x[3] = x[13] = 0; /* a group of zeros */
        OWNED(larmor_array) *in = complex_array(type[p], LARMOR_SHAPE(10, 2), x);
        assert_ok(table(p)->shrink_groups(dev->ctx, 10, 2, 0, in->data, in->data));
        expect(p, in, x);
    }
}

TEST(a_number_that_is_none_stays_so)
{
    const cplx x[] = {1, NAN, 2, 3};
    for (int p = 0; p < 2; p++) {
        OWNED(larmor_array) *a = complex_array(type[p], LARMOR_SHAPE(2, 2), x);
        assert_ok(table(p)->shrink_groups(dev->ctx, 2, 2, 1, a->data, a->data));
        HEAP cplx *y = values_of(a);
        assert_true(isnan(creal(y[1])) && !isnan(creal(y[0])) && !isnan(creal(y[2])));
    }
}

TEST(norms_are_summed_in_double)
{
    for (int c = 0; c < 2 * SIZES; c++) {
        const int p = c % 2;
        const int64_t n = sizes[c / 2].n, groups = sizes[c / 2].groups;
        OWNED(larmor_array) *in = drawn(type[p], LARMOR_SHAPE(n, groups), 3);
        HEAP cplx *rounded = values_of(in);
        double expected = 0, sum, again;
        for (int64_t i = 0; i < n; i++) expected += group_norm(rounded, n, groups, i);
        assert_ok(table(p)->sum_norms(dev->ctx, n, groups, in->data, &sum));
        assert_at_most(fabs(sum - expected), 1e-14 * (double)n);
        assert_ok(table(p)->sum_norms(dev->ctx, n, groups, in->data, &again));
        assert_true(sum == again);
    }
}

/* ---- products and moves ---- */

TEST(phases_are_products_of_those_of_each_axis)
{
    const int64_t dim[][3] = {{5, 4, 3}, {7, 1, 1}, {130, 70, 1}};
    for (int c = 0; c < 3 * 4; c++) {
        const int p = c % 2, conjugate = c / 2 % 2;
        const int64_t *n = dim[c / 4], batch = 2, total = n[0] * n[1] * n[2] * batch;
        HEAP cplx *x = random_values(total, 4), *q = random_values(n[0] + n[1] + n[2], 5);
        HEAP NEW(cplx, expected, total);
        for (int64_t i = 0; i < total; i++) {
            const cplx f = q[i % n[0]] * q[n[0] + i / n[0] % n[1]] * q[n[0] + n[1] + i / n[0] / n[1] % n[2]];
            expected[i] = 0.3 * (conjugate ? conj(f) : f) * x[i];
        }
        OWNED(larmor_array) *phases = complex_array(type[p], LARMOR_SHAPE(n[0] + n[1] + n[2]), q);
        OWNED(larmor_array) *in = complex_array(type[p], LARMOR_SHAPE(total), x),
                            *out = zeros(type[p], LARMOR_SHAPE(total));
        assert_ok(table(p)->modulate(dev->ctx, n, batch, phases->data, conjugate, 0.3, in->data, out->data));
        expect(p, out, expected);
        assert_ok(table(p)->modulate(dev->ctx, n, batch, phases->data, conjugate, 0.3, in->data, in->data));
        expect(p, in, expected); /* in place */
    }
}

TEST(transposing_moves_every_number_to_its_mirrored_place)
{
    const int64_t dim[][3] = {{1, 5, 2}, {6, 1, 3}, {40, 33, 2}, {3, 500, 1}, {16, 16, 16}, {150, 151, 1}, {4, 0, 2}};
    for (int c = 0; c < 7 * 2; c++) {
        const int p = c % 2;
        const int64_t *n = dim[c / 2], total = n[0] * n[1] * n[2];
        HEAP cplx *x = random_values(total, 6), *expected = malloc((size_t)(total + 1) * sizeof *expected);
        assert_non_null(expected);
        for (int64_t i = 0; i < total; i++) {
            const int64_t a = i % n[0], b = i / n[0] % n[1], k = i / n[0] / n[1];
            expected[b + n[1] * (a + n[0] * k)] = x[i];
        }
        OWNED(larmor_array) *in = complex_array(type[p], LARMOR_SHAPE(total), x),
                            *out = zeros(type[p], LARMOR_SHAPE(total));
        assert_ok(table(p)->transpose(dev->ctx, n, in->data, out->data));
        if (total) expect(p, out, expected);
    }
}

TEST(a_box_is_copied_and_nothing_around_it)
{
    const lmr_box box = {.ndim = 3, .dim = {7, 6, 5}, .extent = {3, 6, 2}};
    for (int p = 0; p < 2; p++) {
        HEAP cplx *x = random_values(210, 7), *y = random_values(210, 8);
        OWNED(larmor_array) *in = complex_array(type[p], LARMOR_SHAPE(210), x);
        OWNED(larmor_array) *out = complex_array(type[p], LARMOR_SHAPE(210), y);
        for (int i = 0; i < 210; i++)
            if (i % 7 < 3 && i / 42 < 2) y[i] = x[i];
        assert_ok(table(p)->copy_box(dev->ctx, &box, in->data, out->data));
        expect(p, out, y);
    }
}
