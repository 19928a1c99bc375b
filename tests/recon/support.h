/* Arrays from and to doubles, and sums done the slow way, for the tests of this layer. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <complex.h>

#include "tests/support/test.h"

typedef double complex cplx;

static inline cplx *random_values(int64_t count, uint64_t seed)
{
    NEW(cplx, values, count + 1);
    for (int64_t i = 0; i < count; i++) {
        const double re = test_random(&seed);
        values[i] = re + I * test_random(&seed);
    }
    return values;
}

static inline larmor_array *complex_array(larmor_dtype dtype, larmor_shape shape, const cplx *values)
{
    larmor_array *x = MADE(larmor_array, larmor_array_create(dev, dtype, shape, &made));
    const int64_t count = larmor_array_count(x);
    HEAP NEW(float complex, in_single, count + 1);
    for (int64_t i = 0; i < count; i++) in_single[i] = (float complex)values[i];
    assert_ok(larmor_array_write(x, dtype == LARMOR_C128 ? (const void *)values : in_single, larmor_array_bytes(x)));
    return x;
}

/* Of random values. */
static inline larmor_array *drawn(larmor_dtype dtype, larmor_shape shape, uint64_t seed)
{
    HEAP cplx *values = random_values(larmor_shape_count(shape), seed);
    return complex_array(dtype, shape, values);
}

static inline larmor_array *real_array(larmor_shape shape, const double *values)
{
    larmor_array *x = MADE(larmor_array, larmor_array_create(dev, LARMOR_F64, shape, &made));
    assert_ok(larmor_array_write(x, values, larmor_array_bytes(x)));
    return x;
}

static inline larmor_array *zeros(larmor_dtype dtype, larmor_shape shape)
{
    return MADE(larmor_array, larmor_array_create(dev, dtype, shape, &made));
}

/* The array's values as complex doubles; free them. */
static inline cplx *values_of(const larmor_array *x)
{
    const int64_t count = larmor_array_count(x);
    cplx *values = malloc((size_t)(count + 1) * sizeof *values);
    HEAP void *host = malloc(larmor_array_bytes(x) + 1);
    assert_true(values && host);
    assert_ok(larmor_array_read(x, host, larmor_array_bytes(x)));
    for (int64_t i = 0; i < count; i++) switch (larmor_array_dtype(x)) {
        case LARMOR_F32:
            values[i] = ((float *)host)[i];
            break;
        case LARMOR_F64:
            values[i] = ((double *)host)[i];
            break;
        case LARMOR_C64:
            values[i] = ((float complex *)host)[i];
            break;
        case LARMOR_C128:
            values[i] = ((cplx *)host)[i];
            break;
        case LARMOR_I64:
            values[i] = (double)((int64_t *)host)[i];
            break;
        }
    return values;
}

/* |a - b| / |b| */
static inline double difference(const cplx *a, const cplx *b, int64_t count)
{
    double error = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        error += pow(cabs(a[i] - b[i]), 2);
        size += pow(cabs(b[i]), 2);
    }
    return sqrt(error / size);
}

/* The same of an array, and of two. */
static inline double away(const larmor_array *x, const cplx *b, int64_t count)
{
    HEAP cplx *a = values_of(x);
    return difference(a, b, count);
}
static inline double apart(const larmor_array *x, const larmor_array *y)
{
    HEAP cplx *b = values_of(y);
    assert_int_equal(larmor_array_count(x), larmor_array_count(y));
    return away(x, b, larmor_array_count(x));
}

/* How far the normal map of random numbers is from the adjoint of their forward map. Outputs are not zero before, and
 * the normal map is applied twice, so that nothing depends on what an earlier call left. */
static inline double normal_apart(larmor_op *A)
{
    const larmor_dtype dtype = larmor_op_dtype(A);
    const larmor_shape shape = larmor_op_in_shape(A);
    const int64_t count = larmor_shape_count(shape);
    HEAP cplx *x = random_values(count, 1);
    OWNED(larmor_array) *in = complex_array(dtype, shape, x), *y = zeros(dtype, larmor_op_out_shape(A));
    OWNED(larmor_array) *z = zeros(dtype, shape), *normal = zeros(dtype, shape);
    assert_ok(larmor_fill(y, NAN));
    assert_ok(larmor_fill(z, NAN));
    assert_ok(larmor_op_forward(A, in, y));
    assert_ok(larmor_op_adjoint(A, y, z));
    assert_ok(larmor_op_normal(A, in, normal));
    assert_ok(larmor_op_normal(A, in, normal));
    return apart(normal, z);
}

/* Position of pixel i of an image along dimension d, in fields of view from its centre. */
static inline double position(larmor_shape image, int64_t i, int d)
{
    for (int e = 0; e < d; e++) i /= image.dim[e];
    return (double)(i % image.dim[d] - image.dim[d] / 2) / (double)image.dim[d];
}

/* k . r of a sample and a pixel */
static inline double cycles(const double *k, larmor_shape image, int64_t i)
{
    double sum = 0;
    for (int d = 0; d < image.ndim; d++) sum += k[d] * position(image, i, d);
    return sum;
}

/* sum_r x_r exp(-2 pi i k . r) at m samples */
static inline void direct_forward(const cplx *x, larmor_shape image, const double *k, int64_t m, cplx *y)
{
    for (int64_t j = 0; j < m; j++) {
        y[j] = 0;
        for (int64_t i = 0; i < larmor_shape_count(image); i++)
            y[j] += x[i] * cexp(-2 * M_PI * I * cycles(k + j * image.ndim, image, i));
    }
}

/* sum_j y_j exp(2 pi i k . r) at all pixels */
static inline void direct_adjoint(const cplx *y, const double *k, int64_t m, larmor_shape image, cplx *x)
{
    for (int64_t i = 0; i < larmor_shape_count(image); i++) {
        x[i] = 0;
        for (int64_t j = 0; j < m; j++) x[i] += y[j] * cexp(2 * M_PI * I * cycles(k + j * image.ndim, image, i));
    }
}

/* m points uniform in [-n/2, n/2) in every dimension: [nd, m] */
static inline double *random_points(larmor_shape image, int64_t m, uint64_t seed)
{
    NEW(double, k, m *image.ndim);
    for (int64_t i = 0; i < m * image.ndim; i++) k[i] = (double)image.dim[i % image.ndim] / 2 * test_random(&seed);
    return k;
}

/* Spokes uniform over half a circle, n samples each at k = -extent/2 + i extent/n: [2, n, spokes] */
static inline double *radial_points(double extent, int64_t n, int64_t spokes)
{
    NEW(double, k, 2 * n * spokes);
    for (int64_t j = 0; j < n * spokes; j++) {
        const double angle = M_PI * (double)(j / n) / (double)spokes;
        const double t = extent * ((double)(j % n) / (double)n - 0.5);
        k[2 * j] = t * cos(angle);
        k[2 * j + 1] = t * sin(angle);
    }
    return k;
}
