/* A backend's entries that make numbers, or numbers of another type: convert, fill and random. Part of what a new
 * backend must pass. SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"
#include "core/random.h"
#include "tests/support/test.h"

static const int64_t sizes[] = {0, 1, 3, 1000, 40001}; /* the last one is past the serial limit */
enum { SIZES = sizeof sizes / sizeof *sizes, TYPES = LARMOR_C128 + 1 };

static int64_t parts_of(larmor_dtype type)
{
    return lmr_is_complex(type) ? 2 : 1;
}

/* n real numbers of a precision as doubles; free them. */
static double *download(larmor_dtype type, const void *ptr, int64_t n)
{
    double *values = malloc((size_t)(n + 1) * sizeof *values);
    HEAP float *in_single = malloc((size_t)(n + 1) * sizeof *in_single);
    assert_true(values && in_single);
    const int is_double = lmr_precision(type) == LMR_F64;
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, is_double ? (void *)values : in_single, ptr,
                            (size_t)n * (is_double ? 8 : 4)));
    for (int64_t i = 0; i < n && !is_double; i++) values[i] = (double)in_single[i];
    return values;
}

static void *upload(larmor_dtype type, const double *values, int64_t n)
{
    void *ptr;
    HEAP NEW(float, in_single, n + 1);
    for (int64_t i = 0; i < n; i++) in_single[i] = (float)values[i];
    const int is_double = lmr_precision(type) == LMR_F64;
    const size_t bytes = (size_t)n * (is_double ? 8 : 4);
    assert_ok(dev->be->alloc(dev->ctx, bytes, &ptr));
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, ptr, is_double ? (const void *)values : in_single, bytes));
    return ptr;
}

TEST(conversion_rounds_to_nearest_and_adds_imaginary_zeros)
{
    for (int c = 0; c < SIZES * TYPES * TYPES; c++) {
        const larmor_dtype from = (larmor_dtype)(c % TYPES), to = (larmor_dtype)(c / TYPES % TYPES);
        if (lmr_is_complex(from) && !lmr_is_complex(to)) continue;
        const int64_t n = sizes[c / TYPES / TYPES], in = parts_of(from), out = parts_of(to);
        uint64_t seed = 5;
        HEAP NEW(double, x, 2 * n + 1);
        for (int64_t i = 0; i < in * n; i++) x[i] = test_random(&seed);
        void *dx = upload(from, x, in * n), *dy;
        assert_ok(dev->be->alloc(dev->ctx, (size_t)n * larmor_dtype_size(to), &dy));
        assert_ok(dev->be->convert(dev->ctx, n, from, dx, to, dy));
        HEAP double *y = download(to, dy, out * n);
        const int exact = lmr_precision(from) == LMR_F64 && lmr_precision(to) == LMR_F64;
        for (int64_t i = 0; i < out * n; i++) {
            const double value = i % out < in ? x[in * (i / out) + i % out] : 0;
            assert_true(y[i] == (exact ? value : (double)(float)value));
        }
        dev->be->release(dev->ctx, dx);
        dev->be->release(dev->ctx, dy);
    }
}

TEST(fill_sets_every_number_and_none_behind_them)
{
    for (int c = 0; c < SIZES * TYPES; c++) {
        const larmor_dtype type = (larmor_dtype)(c % TYPES);
        const int64_t n = sizes[c / TYPES], parts = parts_of(type);
        void *x = MADE(void, dev->be->alloc(dev->ctx, (size_t)(n + 1) * larmor_dtype_size(type), &made));
        assert_ok(dev->be->fill(dev->ctx, n, type, -1.25, x));
        HEAP double *values = download(type, x, parts * (n + 1));
        for (int64_t i = 0; i < parts * (n + 1); i++)
            assert_true(values[i] == (i % parts || i / parts == n ? 0 : -1.25));
        dev->be->release(dev->ctx, x);
    }
}

TEST(whole_numbers_become_those_of_every_other_type)
{
    for (int c = 0; c < SIZES * TYPES; c++) {
        const larmor_dtype to = (larmor_dtype)(c % TYPES);
        const int64_t n = sizes[c / TYPES], parts = parts_of(to);
        HEAP int64_t *whole = malloc((size_t)(n + 1) * sizeof *whole);
        void *x, *y;
        assert_non_null(whole);
        for (int64_t i = 0; i < n; i++) whole[i] = (i % 2 ? -1 : 1) * ((INT64_C(1) << 53) - i);
        assert_ok(dev->be->alloc(dev->ctx, (size_t)n * sizeof *whole, &x));
        assert_ok(dev->be->alloc(dev->ctx, (size_t)n * larmor_dtype_size(to), &y));
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, x, whole, (size_t)n * sizeof *whole));
        assert_ok(dev->be->convert(dev->ctx, n, LARMOR_I64, x, to, y));
        HEAP double *values = download(to, y, parts * n);
        for (int64_t i = 0; i < parts * n; i++) {
            const double exact = i % parts ? 0 : (double)whole[i / parts];
            assert_true(values[i] == (lmr_precision(to) == LMR_F64 ? exact : (double)(float)exact));
        }
        assert_ok(dev->be->fill(dev->ctx, n, LARMOR_I64, -12, x));
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, whole, x, (size_t)n * sizeof *whole));
        for (int64_t i = 0; i < n; i++) assert_int_equal(whole[i], -12);
        dev->be->release(dev->ctx, x);
        dev->be->release(dev->ctx, y);
    }
}

TEST(random_numbers_are_those_of_the_generator_on_every_device)
{
    const larmor_dtype types[] = {LARMOR_C64, LARMOR_C128};
    for (int c = 0; c < SIZES * LMR_PRECISIONS; c++) {
        const int64_t n = sizes[c / LMR_PRECISIONS];
        const larmor_dtype type = types[c % LMR_PRECISIONS];
        void *x = MADE(void, dev->be->alloc(dev->ctx, (size_t)n * larmor_dtype_size(type), &made));
        assert_ok(dev->be->vec[c % LMR_PRECISIONS]->random(dev->ctx, n, 42, x));
        HEAP double *values = download(type, x, 2 * n);
        for (int64_t i = 0; i < 2 * n; i++) {
            const double value = 2 * lmr_random_uniform(42, (uint64_t)i) - 1;
            assert_true(values[i] == (type == LARMOR_C128 ? value : (double)(float)value));
        }
        dev->be->release(dev->ctx, x);
    }
}
