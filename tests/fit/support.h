/* What the tests of fits share: normal noise, the numbers of maps, medians. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <complex.h>

#include "tests/support/test.h"

typedef double complex cplx;
ENDS_ITSELF_BY(larmor_fit_maps_free, larmor_fit_maps)

static inline double gauss(uint64_t *seed)
{
    const double u = 0.5 + 0.5 * test_random(seed), v = M_PI * test_random(seed);
    return sqrt(-2 * log(u > 1e-300 ? u : 1e-300)) * cos(v);
}

static inline larmor_array *array_of(const cplx *x, larmor_shape shape)
{
    return MADE(larmor_array, larmor_array_upload(dev, LARMOR_C64, shape, LARMOR_C128, x, &made));
}

static inline double *numbers(const larmor_array *x)
{
    return MADE(double, larmor_array_download(x, LARMOR_F64, &made));
}

static inline int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median(const double *x, int count)
{
    HEAP NEW(double, sorted, count);
    memcpy(sorted, x, (size_t)count * sizeof *x);
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    return sorted[count / 2];
}
