/* The NUFFT by its definition, in extended precision, and the problems of FINUFFT's tolerance sweep.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <complex.h>

#include "tests/support/test.h"

typedef long double _Complex direct_cplx;

/* exp(sign 2 pi i k r / N) for all modes of a dimension; the phase is reduced to one cycle before it meets pi. */
static inline void direct_phases(double k, int64_t modes, int sign, direct_cplx *out)
{
    const long double two_pi = 6.283185307179586476925286766559L;
    for (int64_t i = 0; i < modes; i++) {
        const long double cycles = remainderl((long double)k * (long double)(i - modes / 2), (long double)modes);
        const long double angle = (long double)sign * two_pi * cycles / (long double)modes;
        out[i] = cosl(angle) + sinl(angle) * (direct_cplx)I;
    }
}

/* type 1: out[modes] = sum_j in[j] e; type 2: out[m] = sum_r in[r] e. points [ndim, m]. */
static inline void direct_nufft(int type, int sign, int ndim, const int64_t modes[3], int64_t m, const double *points,
                                const double _Complex *in, double _Complex *out)
{
    const int64_t n0 = modes[0];
    const int64_t n1 = ndim > 1 ? modes[1] : 1;
    const int64_t n2 = ndim > 2 ? modes[2] : 1;
    const int64_t count = n0 * n1 * n2;
    HEAP direct_cplx *e = malloc((size_t)(n0 + n1 + n2) * sizeof *e), *sum = calloc((size_t)count, sizeof *sum);
    for (int64_t j = 0; j < m; j++) {
        direct_cplx *ex = e, *ey = e + n0, *ez = e + n0 + n1, value = 0;
        ey[0] = ez[0] = 1;
        direct_phases(points[j * ndim], n0, sign, ex);
        if (ndim > 1) direct_phases(points[j * ndim + 1], n1, sign, ey);
        if (ndim > 2) direct_phases(points[j * ndim + 2], n2, sign, ez);
        for (int64_t r = 0, z = 0; z < n2; z++)
            for (int64_t y = 0; y < n1; y++) {
                const direct_cplx side = ey[y] * ez[z];
                for (int64_t x = 0; x < n0; x++, r++) {
                    if (type == 1)
                        sum[r] += in[j] * (side * ex[x]);
                    else
                        value += in[r] * (side * ex[x]);
                }
            }
        if (type == 2) out[j] = (double _Complex)value;
    }
    if (type == 1)
        for (int64_t r = 0; r < count; r++) out[r] = (double _Complex)sum[r];
}

/* s x, less whole cycles if it is large. A product's rounding error is a double, too; fma hinders the compiler from
 * leaving out the rounding. */
static inline long double direct_cycles(double s, double x)
{
    if (fabs(s * x) < 256) return (long double)s * x; /* quicker, and exact enough */
    const double product = fma(s, x, 0.0), rest = fma(s, x, -product);
    return (long double)(product - rint(product)) + (long double)(rest - rint(rest));
}

/* out[n] = sum_j in[j] exp(sign 2 pi i s_k . x_j); adjoint: out[m] = sum_k in[k] times the conjugates. points [ndim,
 * m], targets [ndim, n]. */
static inline void direct_type3(int adjoint, int sign, int ndim, int64_t m, const double *points, int64_t n,
                                const double *targets, const double _Complex *in, double _Complex *out)
{
    const int64_t rows = adjoint ? m : n;
    const int64_t columns = adjoint ? n : m;
    const double *row = adjoint ? points : targets;
    const double *column = adjoint ? targets : points;
    const double two_pi = 6.283185307179586476925286766559 * (adjoint ? -sign : sign);
    for (int64_t k = 0; k < rows; k++) {
        direct_cplx sum = 0;
        for (int64_t j = 0; j < columns; j++) {
            long double cycles = 0;
            for (int d = 0; d < ndim; d++) cycles += direct_cycles(row[k * ndim + d], column[j * ndim + d]);
            const double angle = two_pi * (double)(cycles - rintl(cycles));
            sum += in[j] * (cos(angle) + sin(angle) * I);
        }
        out[k] = (double _Complex)sum;
    }
}

static inline double relative_l2(int64_t n, const double _Complex *x, const double _Complex *truth)
{
    double error = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        const double _Complex difference = x[i] - truth[i];
        error += creal(difference) * creal(difference) + cimag(difference) * cimag(difference);
        norm += creal(truth[i]) * creal(truth[i]) + cimag(truth[i]) * cimag(truth[i]);
    }
    return sqrt(error / norm);
}

/* Host numbers, rounded to dtype so that both sides of a comparison see the same ones. */
static inline double _Complex *random_values(int64_t n, larmor_dtype dtype, uint64_t *state)
{
    double _Complex *x = malloc((size_t)(n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++) {
        const double re = test_random(state), im = test_random(state);
        x[i] = dtype == LARMOR_C64 ? (float)re + (float)im * I : re + im * I;
    }
    return x;
}

static inline larmor_array *to_device(larmor_dtype dtype, int64_t n, const double _Complex *x)
{
    OWN(larmor_array, *in_double, larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(n), &in_double));
    assert_ok(larmor_array_write(in_double, x, (size_t)n * sizeof *x));
    return MADE(larmor_array, larmor_array_convert(in_double, dtype, &made));
}

static inline void to_host(larmor_array *x, double _Complex *out)
{
    OWN(larmor_array, *in_double, larmor_array_convert(x, LARMOR_C128, &in_double));
    assert_ok(larmor_array_read(in_double, out, larmor_array_bytes(in_double)));
}

static inline larmor_array *points_on_device(int ndim, int64_t m, const double *points)
{
    larmor_array *x = MADE(larmor_array, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(ndim, m), &made));
    assert_ok(larmor_array_write(x, points, larmor_array_bytes(x)));
    return x;
}

/* ---- the sweep ---- */

typedef struct sweep {
    larmor_dtype dtype;
    int ndim;
    int64_t modes[3], mode_count, m;
    double *points;
    double _Complex *values, *coefficients; /* inputs of type 1 and 2 */
    double _Complex *truth[2];              /* outputs of type 1 and 2 */
    larmor_array *on_device, *input[2], *output[2];
} sweep;

/* M = 500 random points. */
static inline sweep sweep_of(int ndim, const int64_t modes[3], larmor_dtype dtype)
{
    uint64_t state = 20240607 + (uint64_t)ndim;
    sweep s = {.dtype = dtype, .ndim = ndim, .m = 500, .mode_count = 1};
    s.points = malloc((size_t)(s.m * ndim) * sizeof *s.points);
    for (int d = 0; d < 3; d++) {
        s.modes[d] = modes[d];
        s.mode_count *= s.modes[d];
    }
    for (int64_t i = 0; i < s.m * ndim; i++) s.points[i] = test_random(&state) * (double)s.modes[i % ndim] / 2;
    s.values = random_values(s.m, dtype, &state);
    s.coefficients = random_values(s.mode_count, dtype, &state);
    s.truth[0] = malloc((size_t)s.mode_count * sizeof *s.truth[0]);
    s.truth[1] = malloc((size_t)s.m * sizeof *s.truth[1]);
    direct_nufft(1, 1, ndim, s.modes, s.m, s.points, s.values, s.truth[0]);
    direct_nufft(2, -1, ndim, s.modes, s.m, s.points, s.coefficients, s.truth[1]);
    s.on_device = points_on_device(ndim, s.m, s.points);
    s.input[0] = to_device(dtype, s.m, s.values);
    s.input[1] = to_device(dtype, s.mode_count, s.coefficients);
    s.output[0] = to_device(dtype, s.mode_count, s.coefficients);
    s.output[1] = to_device(dtype, s.m, s.values);
    return s;
}

/* N = 50, 25 x 40, 10 x 11 x 12. */
static inline sweep sweep_create(int ndim, larmor_dtype dtype)
{
    static const int64_t sizes[3][3] = {{50, 1, 1}, {25, 40, 1}, {10, 11, 12}};
    return sweep_of(ndim, sizes[ndim - 1], dtype);
}

static inline void end_sweep(sweep *s)
{
    for (int i = 0; i < 2; i++) LMR_FREE(s->truth[i], s->input[i], s->output[i]);
    LMR_FREE(s->points, s->values, s->coefficients, s->on_device);
}

/* Errors of both types from one plan; LARMOR_ERR_NUMERIC if tol is out of reach. */
static inline larmor_status sweep_run(const sweep *s, double tol, double upsample, larmor_nufft_info *info,
                                      double error[2])
{
    larmor_nufft_opts opts = {.type = 1, .ndim = s->ndim, .tol = tol, .upsample = upsample, .dtype = s->dtype};
    memcpy(opts.modes, s->modes, sizeof opts.modes);
    OWNED(larmor_nufft) *plan;
    const larmor_status st = larmor_nufft_create(dev, &opts, &plan);
    if (st) return st;
    *info = larmor_nufft_describe(plan);
    assert_ok(larmor_nufft_set_points(plan, s->on_device, NULL));
    assert_ok(larmor_nufft_execute(plan, s->input[0], s->output[0]));
    assert_ok(larmor_nufft_execute_adjoint(plan, s->input[1], s->output[1]));
    for (int i = 0; i < 2; i++) {
        const int64_t n = i ? s->m : s->mode_count;
        HEAP double _Complex *x = malloc((size_t)n * sizeof *x);
        to_host(s->output[i], x);
        error[i] = relative_l2(n, x, s->truth[i]);
    }
    return LARMOR_OK;
}

/* ---- type 3 ---- */

/* The sweep's points in a box of side 1 about 0.3, and as many targets as it has modes over a width of N about 1.7.
 */
typedef struct sweep3 {
    larmor_dtype dtype;
    int ndim;
    int64_t m, n;
    double *points, *targets;
    double _Complex *values[2], *truth[2]; /* of execute and of its adjoint */
    larmor_array *on_device[2], *input[2];
} sweep3;

static inline sweep3 sweep3_create(int ndim, larmor_dtype dtype)
{
    static const int64_t sizes[3][3] = {{50, 1, 1}, {25, 40, 1}, {10, 11, 12}};
    uint64_t state = 20240711 + (uint64_t)ndim;
    sweep3 s = {.dtype = dtype, .ndim = ndim, .m = 500, .n = 1};
    for (int d = 0; d < 3; d++) s.n *= sizes[ndim - 1][d];
    s.points = malloc((size_t)(s.m * ndim) * sizeof *s.points);
    s.targets = malloc((size_t)(s.n * ndim) * sizeof *s.targets);
    for (int64_t i = 0; i < s.m * ndim; i++) s.points[i] = 0.3 + 0.5 * test_random(&state);
    for (int64_t i = 0; i < s.n * ndim; i++)
        s.targets[i] = 1.7 + 0.5 * (double)sizes[ndim - 1][i % ndim] * test_random(&state);
    s.on_device[0] = points_on_device(ndim, s.m, s.points);
    s.on_device[1] = points_on_device(ndim, s.n, s.targets);
    for (int i = 0; i < 2; i++) {
        const int64_t from = i ? s.n : s.m;
        const int64_t to = i ? s.m : s.n;
        s.values[i] = random_values(from, dtype, &state);
        s.truth[i] = malloc((size_t)to * sizeof *s.truth[i]);
        direct_type3(i, 1, ndim, s.m, s.points, s.n, s.targets, s.values[i], s.truth[i]);
        s.input[i] = to_device(dtype, from, s.values[i]);
    }
    return s;
}

static inline void end_sweep3(sweep3 *s)
{
    for (int i = 0; i < 2; i++) LMR_FREE(s->values[i], s->truth[i], s->on_device[i], s->input[i]);
    LMR_FREE(s->points, s->targets);
}

/* Errors of execute and of its adjoint; LARMOR_ERR_NUMERIC if tol is out of reach. */
static inline larmor_status sweep3_run(const sweep3 *s, double tol, double upsample, larmor_nufft_info *info,
                                       double error[2])
{
    const larmor_nufft_opts opts = {.type = 3, .ndim = s->ndim, .tol = tol, .upsample = upsample, .dtype = s->dtype};
    OWNED(larmor_nufft) *plan;
    larmor_status st = larmor_nufft_create(dev, &opts, &plan);
    if (!st) st = larmor_nufft_set_points(plan, s->on_device[0], s->on_device[1]);
    for (int i = 0; i < 2 && !st; i++) {
        const int64_t to = i ? s->m : s->n;
        HEAP double _Complex *out = malloc((size_t)to * sizeof *out);
        OWN(larmor_array, *y, larmor_array_create(dev, s->dtype, LARMOR_SHAPE(to), &y));
        assert_ok((i ? larmor_nufft_execute_adjoint : larmor_nufft_execute)(plan, s->input[i], y));
        to_host(y, out);
        error[i] = relative_l2(to, out, s->truth[i]);
    }
    if (!st) *info = larmor_nufft_describe(plan);
    return st;
}
