/* What the tests of a backend share: numbers that both precisions hold, doubles here and the tested precision there.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <complex.h>

#include "core/device.h"
#include "tests/support/test.h"

typedef double _Complex cx;

static const double epsilon[LMR_PRECISIONS] = {6e-8, 1.2e-16};

static inline size_t element(int precision)
{
    return precision == LMR_F64 ? 16 : 8;
}

/* n complex numbers in [-1, 1)^2 that both precisions hold exactly. */
static inline cx *random_values(int64_t n, uint64_t seed)
{
    NEW(cx, v, n);
    uint64_t state = seed * 7919 + 1;
    for (int64_t i = 0; i < n; i++) {
        const double re = (float)test_random(&state);
        v[i] = re + I * (double)(float)test_random(&state);
    }
    return v;
}

static inline void *upload(int precision, const cx *values, int64_t n)
{
    void *ptr;
    const size_t bytes = (size_t)n * element(precision);
    assert_ok(dev->be->alloc(dev->ctx, bytes, &ptr));
    HEAP float *in_single = malloc((size_t)n * 8 + 1);
    assert_non_null(in_single);
    for (int64_t i = 0; i < n; i++) {
        in_single[2 * i] = (float)creal(values[i]);
        in_single[2 * i + 1] = (float)cimag(values[i]);
    }
    assert_ok(
        dev->be->copy(dev->ctx, LMR_TO_DEVICE, ptr, precision == LMR_F64 ? (const void *)values : in_single, bytes));
    return ptr;
}

static inline cx *download(int precision, const void *ptr, int64_t n)
{
    NEW(cx, values, n);
    const size_t bytes = (size_t)n * element(precision);
    if (precision == LMR_F64) {
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, values, ptr, bytes));
        return values;
    }
    HEAP float *in_single = malloc(bytes + 1);
    assert_non_null(in_single);
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, in_single, ptr, bytes));
    for (int64_t i = 0; i < n; i++) values[i] = (double)in_single[2 * i] + I * (double)in_single[2 * i + 1];
    return values;
}

static inline void release(void *ptr)
{
    dev->be->release(dev->ctx, ptr);
}

ENDS_BY(release, void)

/* The device's values are the expected ones, to `roundings` roundings of the largest. */
static inline void assert_close(int precision, const void *ptr, const cx *expected, int64_t n, double roundings)
{
    HEAP cx *got = download(precision, ptr, n);
    double scale = 0, error = 0;
    for (int64_t i = 0; i < n; i++) scale = fmax(scale, cabs(expected[i]));
    for (int64_t i = 0; i < n; i++) {
        const double e = cabs(got[i] - expected[i]);
        error = isnan(e) ? INFINITY : fmax(error, e);
    }
    assert_at_most(error, roundings * epsilon[precision] * scale);
}
