/* The NUFFT by its definition, in extended precision, and the problems of FINUFFT's tolerance sweep.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_TESTS_NUFFT_DIRECT_H
#define LARMOR_TESTS_NUFFT_DIRECT_H

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "larmor/nufft.h"
#include "tests/support/test.h"

typedef long double _Complex direct_cplx;

/* exp(sign 2 pi i k r / N) for all modes of a dimension; the phase is reduced to a turn before it meets pi. */
static inline void direct_phases(double k, int64_t modes, int sign, direct_cplx *out)
{
    const long double turn = 6.283185307179586476925286766559L;
    for (int64_t i = 0; i < modes; i++) {
        const long double cycles = remainderl((long double)k * (long double)(i - modes / 2), (long double)modes);
        const long double angle = (long double)sign * turn * cycles / (long double)modes;
        out[i] = cosl(angle) + sinl(angle) * (direct_cplx)I;
    }
}

/* type 1: out[modes] = sum_j in[j] e; type 2: out[m] = sum_r in[r] e. points [ndim, m]. */
static inline void direct_nufft(int type, int sign, int ndim, const int64_t modes[3], int64_t m, const double *points,
                                const double _Complex *in, double _Complex *out)
{
    const int64_t n0 = modes[0], n1 = ndim > 1 ? modes[1] : 1, n2 = ndim > 2 ? modes[2] : 1, count = n0 * n1 * n2;
    direct_cplx *e = malloc((size_t)(n0 + n1 + n2) * sizeof *e), *sum = calloc((size_t)count, sizeof *sum);
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
    free(sum), free(e);
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
    larmor_array *wide, *out;
    assert_ok(larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(n), &wide));
    assert_ok(larmor_array_write(wide, x, (size_t)n * sizeof *x));
    assert_ok(larmor_array_convert(wide, dtype, &out));
    larmor_array_free(wide);
    return out;
}

static inline void to_host(larmor_array *x, double _Complex *out)
{
    larmor_array *wide;
    assert_ok(larmor_array_convert(x, LARMOR_C128, &wide));
    assert_ok(larmor_array_read(wide, out, larmor_array_bytes(wide)));
    larmor_array_free(wide);
}

static inline larmor_array *points_on_device(int ndim, int64_t m, const double *points)
{
    larmor_array *x;
    assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(ndim, m), &x));
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

/* M = 500 random points; N = 50, 25 x 40, 10 x 11 x 12. */
static inline sweep sweep_create(int ndim, larmor_dtype dtype)
{
    static const int64_t sizes[3][3] = {{50, 1, 1}, {25, 40, 1}, {10, 11, 12}};
    uint64_t state = 20240607 + (uint64_t)ndim;
    sweep s = {.dtype = dtype, .ndim = ndim, .m = 500, .mode_count = 1};
    s.points = malloc((size_t)(s.m * ndim) * sizeof *s.points);
    for (int d = 0; d < 3; d++) s.modes[d] = sizes[ndim - 1][d], s.mode_count *= s.modes[d];
    for (int64_t i = 0; i < s.m * ndim; i++) s.points[i] = test_random(&state) * (double)s.modes[i % ndim] / 2;
    s.values = random_values(s.m, dtype, &state), s.coefficients = random_values(s.mode_count, dtype, &state);
    s.truth[0] = malloc((size_t)s.mode_count * sizeof *s.truth[0]);
    s.truth[1] = malloc((size_t)s.m * sizeof *s.truth[1]);
    direct_nufft(1, 1, ndim, s.modes, s.m, s.points, s.values, s.truth[0]);
    direct_nufft(2, -1, ndim, s.modes, s.m, s.points, s.coefficients, s.truth[1]);
    s.on_device = points_on_device(ndim, s.m, s.points);
    s.input[0] = to_device(dtype, s.m, s.values), s.input[1] = to_device(dtype, s.mode_count, s.coefficients);
    s.output[0] = to_device(dtype, s.mode_count, s.coefficients), s.output[1] = to_device(dtype, s.m, s.values);
    return s;
}

static inline void sweep_free(sweep *s)
{
    for (int i = 0; i < 2; i++) free(s->truth[i]), larmor_array_free(s->input[i]), larmor_array_free(s->output[i]);
    free(s->points), free(s->values), free(s->coefficients), larmor_array_free(s->on_device);
}

/* Errors of both types from one plan; LARMOR_ERR_NUMERIC if tol is out of reach. */
static inline larmor_status sweep_run(const sweep *s, double tol, double upsample, larmor_nufft_info *info,
                                      double error[2])
{
    larmor_nufft_opts opts = {.type = 1, .ndim = s->ndim, .tol = tol, .upsample = upsample, .dtype = s->dtype};
    memcpy(opts.modes, s->modes, sizeof opts.modes);
    larmor_nufft *plan;
    const larmor_status st = larmor_nufft_create(dev, &opts, &plan);
    if (st) return st;
    *info = larmor_nufft_describe(plan);
    assert_ok(larmor_nufft_set_points(plan, s->on_device, NULL));
    assert_ok(larmor_nufft_execute(plan, s->input[0], s->output[0]));
    assert_ok(larmor_nufft_execute_adjoint(plan, s->input[1], s->output[1]));
    for (int i = 0; i < 2; i++) {
        const int64_t n = i ? s->m : s->mode_count;
        double _Complex *x = malloc((size_t)n * sizeof *x);
        to_host(s->output[i], x);
        error[i] = relative_l2(n, x, s->truth[i]);
        free(x);
    }
    larmor_nufft_free(plan);
    return LARMOR_OK;
}

#endif
