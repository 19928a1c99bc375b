/* A backend's operations on vectors against naive double loops. SPDX-License-Identifier: Apache-2.0 */
#include "core/mutable.h"
#include "tests/backend/buffers.h"

static const int64_t sizes[] = {0, 1, 2, 3, 17, 1000, 40001}; /* the last one is past the serial limit */
enum { SIZES = sizeof sizes / sizeof *sizes };

TEST(axpby_is_a_x_plus_b_y)
{
    const double factors[][2] = {{1, 0}, {-0.5, 1}, {0.25, -2}, {0, 3}};
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES * 4; s++) {
            const int64_t n = sizes[s / 4];
            const double a = factors[s % 4][0], b = factors[s % 4][1];
            HEAP cx *x = random_values(n, 1), *y = random_values(n, 2);
            OWNED(void) *dx = upload(p, x, n), *dy = upload(p, y, n);
            for (int64_t i = 0; i < n; i++) y[i] = a * x[i] + b * y[i];
            assert_ok(dev->be->vec[p]->axpby(dev->ctx, n, a, dx, b, dy));
            assert_close(p, dy, y, n, 4);
        }
}

TEST(axpby_may_work_in_place)
{
    for (int p = 0; p < LMR_PRECISIONS; p++) {
        const int64_t n = 40001;
        HEAP cx *x = random_values(n, 3);
        OWNED(void) *dx = upload(p, x, n);
        for (int64_t i = 0; i < n; i++) x[i] *= 0.5 - 2;
        assert_ok(dev->be->vec[p]->axpby(dev->ctx, n, 0.5, dx, -2, dx));
        assert_close(p, dx, x, n, 4);
    }
}

TEST(axpby_with_b_zero_ignores_nan_in_y)
{
    for (int p = 0; p < LMR_PRECISIONS; p++) {
        cx x[3] = {1, I, -2}, y[3] = {NAN, INFINITY, NAN * I};
        OWNED(void) *dx = upload(p, x, 3), *dy = upload(p, y, 3);
        assert_ok(dev->be->vec[p]->axpby(dev->ctx, 3, 1, dx, 0, dy));
        assert_close(p, dy, x, 3, 0);
    }
}

TEST(sum_adds_up_to_four_arrays_also_into_one_of_them)
{
    const double factor[LARMOR_MAX_SUM] = {0.5, -2, 3, -0.25};
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES; s++)
            for (int count = 1; count <= LARMOR_MAX_SUM; count++)
                for (int into = -1; into < count; into++) {
                    const int64_t n = sizes[s];
                    cx *x[LARMOR_MAX_SUM], *sum = calloc((size_t)n + 1, sizeof *sum);
                    const void *from[LARMOR_MAX_SUM];
                    assert_non_null(sum);
                    for (int k = 0; k < count; k++) {
                        x[k] = random_values(n, 30 + (unsigned)k);
                        from[k] = upload(p, x[k], n);
                        for (int64_t i = 0; i < n; i++) sum[i] += factor[k] * x[k][i];
                    }
                    void *to = into < 0 ? upload(p, x[0], n) : lmr_mutable(from[into]);
                    assert_ok(dev->be->vec[p]->sum(dev->ctx, n, count, factor, from, to));
                    assert_close(p, to, sum, n, 12);
                    for (int k = 0; k < count; k++) {
                        release(lmr_mutable(from[k]));
                        free(x[k]);
                    }
                    if (into < 0) release(to);
                    free(sum);
                }
}

TEST(mul_multiplies_each_row_by_d_or_its_conjugate_also_in_place)
{
    const int64_t rows[] = {0, 1, 3, 70};
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES * 16; s++) {
            const int64_t n = sizes[s / 16], all = n * rows[s % 16 / 4];
            const int conjugate = s & 1, in_place = s & 2;
            HEAP cx *d = random_values(n, 4), *x = random_values(all, 5);
            void *dd = upload(p, d, n);
            void *dx = upload(p, x, all);
            void *dy = in_place ? dx : upload(p, x, all);
            for (int64_t i = 0; i < all; i++) x[i] *= conjugate ? conj(d[i % n]) : d[i % n];
            assert_ok(dev->be->vec[p]->mul(dev->ctx, n, rows[s % 16 / 4], dd, dx, conjugate, dy));
            assert_close(p, dy, x, all, 4);
            release(dd);
            release(dx);
            if (!in_place) release(dy);
        }
}

TEST(expand_multiplies_each_channel_and_combine_is_its_adjoint)
{
    const int64_t channels[] = {0, 1, 5};
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES * 3; s++) {
            const int64_t n = sizes[s / 3], nc = channels[s % 3];
            HEAP cx *d = random_values(n * nc, 6), *x = random_values(n, 7), *y = random_values(n * nc, 8);
            OWNED(void) *dd = upload(p, d, n * nc), *dx = upload(p, x, n);
            void *dy = upload(p, y, n * nc);
            HEAP NEW_ZEROS(cx, sum, (size_t)n + 1);
            for (int64_t i = 0; i < n * nc; i++) sum[i % n] += conj(d[i]) * y[i];
            assert_ok(dev->be->vec[p]->expand(dev->ctx, n, nc, dd, dx, dy));
            for (int64_t i = 0; i < n * nc; i++) {
                const cx was = y[i];
                y[i] = d[i] * x[i % n];
                d[i] = was; /* kept for the second half */
            }
            assert_close(p, dy, y, n * nc, 4);
            release(dy);
            dy = upload(p, d, n * nc);
            assert_ok(dev->be->vec[p]->combine(dev->ctx, n, nc, dd, dy, dx));
            assert_close(p, dx, sum, n, 12);
            release(dy);
        }
}

TEST(distance_is_the_squares_of_both_and_of_what_is_between_them)
{
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES; s++) {
            const int64_t n = sizes[s];
            HEAP cx *x = random_values(n, 11), *y = random_values(n, 12);
            OWNED(void) *dx = upload(p, x, n), *dy = upload(p, y, n);
            long double sum[3] = {0};
            for (int64_t i = 0; i < n; i++) {
                sum[0] += creal(x[i] * conj(x[i]));
                sum[1] += creal(y[i] * conj(y[i]));
                sum[2] += creal((x[i] - y[i]) * conj(x[i] - y[i]));
            }
            double out[3] = {NAN, NAN, NAN};
            assert_ok(dev->be->vec[p]->distance(dev->ctx, n, dx, dy, out));
            for (int i = 0; i < 3; i++) assert_at_most(fabs(out[i] - (double)sum[i]), 4e-15 * (double)sum[i]);
        }
}

TEST(dot_conjugates_its_first_vector_and_sums_in_double)
{
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES; s++) {
            const int64_t n = sizes[s];
            HEAP cx *x = random_values(n, 9), *y = random_values(n, 10);
            OWNED(void) *dx = upload(p, x, n), *dy = upload(p, y, n);
            long double re = 0, im = 0, size = 0;
            for (int64_t i = 0; i < n; i++) {
                const cx v = conj(x[i]) * y[i];
                re += creal(v);
                im += cimag(v);
                size += cabs(v);
            }
            double out[2] = {NAN, NAN};
            assert_ok(dev->be->vec[p]->dot(dev->ctx, n, dx, dy, out));
            assert_at_most(hypot(out[0] - (double)re, out[1] - (double)im), 1e-15 * (double)size);
        }
}

TEST(add_dot_is_a_sum_and_the_product_with_it)
{
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES; s++) {
            const int64_t n = sizes[s];
            const double a = -0.75;
            HEAP cx *x = random_values(n, 15), *y = random_values(n, 16);
            OWNED(void) *dx = upload(p, x, n), *dy = upload(p, y, n);
            long double re = 0, im = 0;
            double size = 0;
            for (int64_t i = 0; i < n; i++) {
                y[i] += a * x[i];
                const cx v = conj(x[i]) * y[i];
                re += creal(v);
                im += cimag(v);
                size += cabs(x[i]) * cabs(y[i]);
            }
            double out[2] = {NAN, NAN};
            assert_ok(dev->be->vec[p]->add_dot(dev->ctx, n, a, dx, dy, out));
            assert_close(p, dy, y, n, 4);
            assert_at_most(hypot(out[0] - (double)re, out[1] - (double)im), (p == LMR_F64 ? 4e-15 : 1e-6) * size);
        }
}

TEST(advance_is_a_step_of_conjugate_gradients_and_keeps_what_was_before_it)
{
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES * 2; s++) {
            const int64_t n = sizes[s / 2];
            const int keeps = s & 1;
            const double a = 0.375;
            HEAP cx *x = random_values(n, 17), *r = random_values(n, 18), *way = random_values(n, 19);
            HEAP cx *q = random_values(n, 20), *other = random_values(n, 21), *was = random_values(n, 17);
            OWNED(void) *dx = upload(p, x, n), *dr = upload(p, r, n), *dp = upload(p, way, n), *dq = upload(p, q, n);
            OWNED(void) *before = upload(p, other, n);
            double out[3] = {NAN, NAN, NAN};
            long double sum[3] = {0};
            for (int64_t i = 0; i < n; i++) {
                x[i] += a * way[i];
                r[i] -= a * q[i];
                sum[0] += creal(x[i] * conj(x[i]));
                sum[1] += creal(r[i] * conj(r[i]));
                sum[2] += creal(way[i] * conj(way[i]));
            }
            assert_ok(dev->be->vec[p]->advance(dev->ctx, n, a, dp, dq, dx, dr, keeps ? before : NULL, out));
            assert_close(p, dx, x, n, 4);
            assert_close(p, dr, r, n, 4);
            assert_close(p, before, keeps ? was : other, n, 1);
            for (int i = 0; i < 3; i++)
                assert_at_most(fabs(out[i] - (double)sum[i]), (p == LMR_F64 ? 4e-15 : 1e-6) * (double)sum[i]);
        }
}

TEST(dot_does_not_depend_on_the_number_of_threads)
{
    if (!dev->be->threads(dev->ctx)) skip();
    for (int p = 0; p < LMR_PRECISIONS; p++) {
        const int64_t n = 1000003;
        HEAP cx *x = random_values(n, 11), *y = random_values(n, 12);
        OWNED(void) *dx = upload(p, x, n), *dy = upload(p, y, n);
        double first[2], out[2];
        for (int threads = 1; threads <= 7; threads += 2) {
            void *ctx = MADE(void, dev->be->open(0, threads, &made));
            assert_ok(dev->be->vec[p]->dot(ctx, n, dx, dy, threads == 1 ? first : out));
            if (threads > 1) assert_memory_equal(first, out, sizeof out);
            dev->be->close(ctx);
        }
    }
}

TEST(magnitude_and_real_part_have_no_imaginary_part_also_in_place)
{
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES * 4; s++) {
            const int64_t n = sizes[s / 4];
            const int in_place = s & 1, real_part = s & 2;
            HEAP cx *x = random_values(n, 14);
            if (n == 1) x[0] = (3 - 4 * I) * (p == LMR_F64 ? 0x1p1000 : 0x1p100); /* whose square is not finite */
            OWNED(void) *dx = upload(p, x, n);
            void *dy = in_place ? dx : upload(p, x, n);
            for (int64_t i = 0; i < n; i++) x[i] = real_part ? creal(x[i]) : cabs(x[i]);
            const lmr_vec *vec = dev->be->vec[p];
            assert_ok((real_part ? vec->real_part : vec->magnitude)(dev->ctx, n, dx, dy));
            assert_close(p, dy, x, n, real_part ? 0 : 2);
            if (!in_place) release(dy);
        }
}

TEST(axpby_complex_multiplies_by_complex_factors_and_with_b_zero_ignores_y)
{
    const double factors[][2][2] = {{{0.5, -1}, {0, 2}}, {{0, 1}, {0, 0}}, {{2, 0}, {-1, 0}}};
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES * 3; s++) {
            const int64_t n = sizes[s / 3];
            const double *a = factors[s % 3][0], *b = factors[s % 3][1];
            const int ignores = b[0] == 0 && b[1] == 0;
            HEAP cx *x = random_values(n, 1), *y = random_values(n, 2);
            if (n && ignores) y[0] = NAN;
            OWNED(void) *dx = upload(p, x, n), *dy = upload(p, y, n);
            for (int64_t i = 0; i < n; i++)
                y[i] = (a[0] + a[1] * I) * x[i] + (ignores ? 0 : (b[0] + b[1] * I) * y[i]);
            assert_ok(dev->be->vec[p]->axpby_complex(dev->ctx, n, a, dx, b, dy));
            assert_close(p, dy, y, n, 8);
        }
}
