/* The law that defines a proximal map. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/recon/support.h"

static inline double distance_squared(const cplx *a, const cplx *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += pow(cabs(a[i] - b[i]), 2);
    return sum;
}

static inline double value_at(larmor_prox *p, larmor_dtype dtype, larmor_shape shape, const cplx *x)
{
    OWNED(larmor_array) *a = complex_array(dtype, shape, x);
    double g;
    assert_ok(larmor_prox_value(p, a, &g));
    return g;
}

/* z = prox of x. F(z) = g(z) + |z - x|^2 / (2 t) is strongly convex: F(other) >= F(z) + |other - z|^2 / (2 t), for
 * all others, exactly if z is its minimum. Returns z; free it. */
static inline cplx *expect_minimum(larmor_prox *p, larmor_dtype dtype, larmor_shape shape, double t, uint64_t seed)
{
    const int64_t n = larmor_shape_count(shape);
    const double rounding = dtype == LARMOR_C128 ? 1e-12 : 1e-5;
    HEAP cplx *x = random_values(n, seed), *other = malloc((size_t)n * sizeof *other);
    OWNED(larmor_array) *from = complex_array(dtype, shape, x), *to = zeros(dtype, shape);
    assert_ok(larmor_prox_apply(p, t, from, to));
    cplx *z = values_of(to);
    const double least = value_at(p, dtype, shape, z) + distance_squared(z, x, n) / (2 * t);
    for (int trial = 0; trial < 40; trial++) {
        HEAP cplx *step = random_values(n, seed + 1 + (uint64_t)trial);
        const double size = pow(10, -trial % 4);
        for (int64_t i = 0; i < n; i++) other[i] = (trial % 5 ? z[i] : 0) + size * step[i];
        const double there = value_at(p, dtype, shape, other) + distance_squared(other, x, n) / (2 * t);
        assert_at_most(least + distance_squared(other, z, n) / (2 * t) - there, rounding * (least + there));
    }
    assert_ok(larmor_prox_apply(p, t, from, from)); /* in place, from another start if p is one that moves */
    return z;
}
