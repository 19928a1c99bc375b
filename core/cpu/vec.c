/* Vector operations on the processor. Complex numbers are handled as pairs so that the loops vectorise.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/random.h"
#include "core/real.h"

enum { SERIAL = 16384 }; /* below this many numbers a second thread costs more than it brings */

#define PRAGMA(text) _Pragma(#text)
#define PARALLEL(n) PRAGMA(omp parallel num_threads(((lmr_cpu *)ctx)->threads) if ((n) > SERIAL))
#define SIMD_FOR(n)                                                                                                  \
    PRAGMA(omp parallel for simd schedule(static) num_threads(((lmr_cpu *)ctx)->threads) if ((n) > SERIAL))
#define PARALLEL_FOR(n)                                                                                              \
    PRAGMA(omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads) if ((n) > SERIAL))

static larmor_status axpby(void *ctx, int64_t n, double a, const void *x_, double b, void *y_)
{
    const real *x = x_, ra = (real)a, rb = (real)b;
    real *y = y_;
    if (b == 0) {
        PARALLEL_FOR(n)
        for (int64_t i = 0; i < 2 * n; i++) y[i] = ra * x[i];
    } else {
        PARALLEL_FOR(n)
        for (int64_t i = 0; i < 2 * n; i++) y[i] = ra * x[i] + rb * y[i];
    }
    return LARMOR_OK;
}

static larmor_status axpby_complex(void *ctx, int64_t n, const double a[2], const void *x_, const double b[2],
                                   void *y_)
{
    const real *x = x_, ar = (real)a[0], ai = (real)a[1], br = (real)b[0], bi = (real)b[1];
    real *y = y_;
    const int add = b[0] != 0 || b[1] != 0;
    PARALLEL_FOR(n)
    for (int64_t i = 0; i < n; i++) {
        const real xr = x[2 * i];
        const real xi = x[2 * i + 1];
        const real yr = add ? y[2 * i] : 0;
        const real yi = add ? y[2 * i + 1] : 0;
        y[2 * i] = ar * xr - ai * xi + br * yr - bi * yi;
        y[2 * i + 1] = ar * xi + ai * xr + br * yi + bi * yr;
    }
    return LARMOR_OK;
}

/* The same array may come in and go out, number by number, which the compiler is told by simd. */
static larmor_status sum(void *ctx, int64_t n, int count, const double *factor, const void *const *x_, void *y_)
{
    const real *x[LARMOR_MAX_SUM] = {0};
    real f[LARMOR_MAX_SUM] = {0};
    for (int k = 0; k < count; k++) {
        x[k] = x_[k];
        f[k] = (real)factor[k];
    }
    const real *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3], a = f[0], b = f[1], c = f[2], d = f[3];
    real *y = y_;
    switch (count) {
    case 1:
        SIMD_FOR(n)
        for (int64_t i = 0; i < 2 * n; i++) y[i] = a * x0[i];
        break;
    case 2:
        SIMD_FOR(n)
        for (int64_t i = 0; i < 2 * n; i++) y[i] = a * x0[i] + b * x1[i];
        break;
    case 3:
        SIMD_FOR(n)
        for (int64_t i = 0; i < 2 * n; i++) y[i] = a * x0[i] + b * x1[i] + c * x2[i];
        break;
    default:
        SIMD_FOR(n)
        for (int64_t i = 0; i < 2 * n; i++) y[i] = a * x0[i] + b * x1[i] + c * x2[i] + d * x3[i];
    }
    return LARMOR_OK;
}

static larmor_status mul(void *ctx, int64_t n, int64_t rows, const void *d_, const void *x_, int conj_d, void *y_)
{
    const real *d = d_, *x = x_;
    const real sign = conj_d ? -1 : 1;
    real *y = y_;
    PARALLEL(n * rows)
    for (int64_t r = 0; r < rows; r++) {
        const real *xr = x + 2 * n * r;
        real *yr = y + 2 * n * r;
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < n; i++) {
            const real a = d[2 * i], b = sign * d[2 * i + 1], re = xr[2 * i], im = xr[2 * i + 1];
            yr[2 * i] = a * re - b * im;
            yr[2 * i + 1] = a * im + b * re;
        }
    }
    return LARMOR_OK;
}

static larmor_status expand(void *ctx, int64_t n, int64_t nc, const void *d_, const void *x_, void *y_)
{
    const real *d = d_, *x = x_;
    real *y = y_;
    for (int64_t c = 0; c < nc; c++) {
        const real *dc = d + 2 * c * n;
        real *yc = y + 2 * c * n;
        PARALLEL_FOR(n)
        for (int64_t i = 0; i < n; i++) {
            const real re = dc[2 * i], im = dc[2 * i + 1], xr = x[2 * i], xi = x[2 * i + 1];
            yc[2 * i] = re * xr - im * xi;
            yc[2 * i + 1] = re * xi + im * xr;
        }
    }
    return LARMOR_OK;
}

static larmor_status combine(void *ctx, int64_t n, int64_t nc, const void *d_, const void *y_, void *x_)
{
    const real *d = d_, *y = y_;
    real *x = x_;
    PARALLEL_FOR(2 * n)
    for (int64_t i = 0; i < 2 * n; i++) x[i] = 0;
    for (int64_t c = 0; c < nc; c++) {
        const real *dc = d + 2 * c * n, *yc = y + 2 * c * n;
        PARALLEL_FOR(n)
        for (int64_t i = 0; i < n; i++) {
            const real re = dc[2 * i], im = dc[2 * i + 1], yr = yc[2 * i], yi = yc[2 * i + 1];
            x[2 * i] += re * yr + im * yi;
            x[2 * i + 1] += re * yi - im * yr;
        }
    }
    return LARMOR_OK;
}

/* Sums are over ranges that depend on n alone, and those are added in order: the same bits for every number of
 * threads. */
enum { RANGES = 512, LEAST = 1024, MOST_SUMS = 3 };

static int64_t range_of(int64_t n)
{
    const int64_t size = (n + RANGES - 1) / RANGES;
    return size < LEAST ? LEAST : size;
}

/* out <- the sums of `count` numbers of each range. */
static void add_ranges(int64_t ranges, int count, const double (*part)[MOST_SUMS], double *out)
{
    for (int i = 0; i < count; i++) out[i] = 0;
    for (int64_t b = 0; b < ranges; b++)
        for (int i = 0; i < count; i++) out[i] += part[b][i];
}

static larmor_status distance(void *ctx, int64_t n, const void *x_, const void *y_, double out[3])
{
    const real *x = x_, *y = y_;
    double part[RANGES][MOST_SUMS];
    const int64_t size = range_of(n), ranges = (n + size - 1) / size;
    PARALLEL_FOR(n)
    for (int64_t b = 0; b < ranges; b++) {
        const int64_t end = (b + 1) * size < n ? (b + 1) * size : n;
        double xx = 0, yy = 0, apart = 0;
#pragma omp simd reduction(+ : xx, yy, apart)
        for (int64_t i = 2 * b * size; i < 2 * end; i++) {
            const double u = x[i], v = y[i];
            xx += u * u;
            yy += v * v;
            apart += (u - v) * (u - v);
        }
        part[b][0] = xx;
        part[b][1] = yy;
        part[b][2] = apart;
    }
    add_ranges(ranges, 3, part, out);
    return LARMOR_OK;
}

static larmor_status dot(void *ctx, int64_t n, const void *x_, const void *y_, double out[2])
{
    const real *x = x_, *y = y_;
    double part[RANGES][MOST_SUMS];
    const int64_t size = range_of(n), ranges = (n + size - 1) / size;
    PARALLEL_FOR(n)
    for (int64_t b = 0; b < ranges; b++) {
        const int64_t end = (b + 1) * size < n ? (b + 1) * size : n;
        double sr = 0, si = 0;
#pragma omp simd reduction(+ : sr, si)
        for (int64_t i = b * size; i < end; i++) {
            const double xr = x[2 * i], xi = x[2 * i + 1], yr = y[2 * i], yi = y[2 * i + 1];
            sr += xr * yr + xi * yi;
            si += xr * yi - xi * yr;
        }
        part[b][0] = sr;
        part[b][1] = si;
    }
    add_ranges(ranges, 2, part, out);
    return LARMOR_OK;
}

static larmor_status add_dot(void *ctx, int64_t n, double a, const void *x_, void *y_, double out[2])
{
    const real *x = x_, ra = (real)a;
    real *y = y_;
    double part[RANGES][MOST_SUMS];
    const int64_t size = range_of(n), ranges = (n + size - 1) / size;
    PARALLEL_FOR(n)
    for (int64_t b = 0; b < ranges; b++) {
        const int64_t end = (b + 1) * size < n ? (b + 1) * size : n;
        double re = 0, im = 0;
#pragma omp simd reduction(+ : re, im)
        for (int64_t i = b * size; i < end; i++) {
            const real xr = x[2 * i], xi = x[2 * i + 1];
            const real yr = y[2 * i] + ra * xr, yi = y[2 * i + 1] + ra * xi;
            y[2 * i] = yr;
            y[2 * i + 1] = yi;
            re += (double)xr * yr + (double)xi * yi;
            im += (double)xr * yi - (double)xi * yr;
        }
        part[b][0] = re;
        part[b][1] = im;
    }
    add_ranges(ranges, 2, part, out);
    return LARMOR_OK;
}

static larmor_status advance(void *ctx, int64_t n, double a, const void *p_, const void *q_, void *x_, void *r_,
                             void *before_, double out[3])
{
    const real *p = p_, *q = q_, ra = (real)a;
    real *x = x_, *r = r_, *before = before_;
    double part[RANGES][MOST_SUMS];
    const int64_t size = range_of(n), ranges = (n + size - 1) / size;
    PARALLEL_FOR(n)
    for (int64_t b = 0; b < ranges; b++) {
        const int64_t end = (b + 1) * size < n ? (b + 1) * size : n;
        double xx = 0, rr = 0, pp = 0;
        if (before) memcpy(before + 2 * b * size, x + 2 * b * size, (size_t)(2 * (end - b * size)) * sizeof *x);
#pragma omp simd reduction(+ : xx, rr, pp)
        for (int64_t i = 2 * b * size; i < 2 * end; i++) {
            const real u = x[i] + ra * p[i], v = r[i] - ra * q[i];
            x[i] = u;
            r[i] = v;
            xx += (double)u * u;
            rr += (double)v * v;
            pp += (double)p[i] * p[i];
        }
        part[b][0] = xx;
        part[b][1] = rr;
        part[b][2] = pp;
    }
    add_ranges(ranges, 3, part, out);
    return LARMOR_OK;
}

static larmor_status magnitude(void *ctx, int64_t n, const void *x_, void *y_)
{
    const real *x = x_;
    real *y = y_;
    PARALLEL_FOR(n)
    for (int64_t i = 0; i < n; i++) {
        y[2 * i] = (real)hypot(x[2 * i], x[2 * i + 1]);
        y[2 * i + 1] = 0;
    }
    return LARMOR_OK;
}

static larmor_status real_part(void *ctx, int64_t n, const void *x_, void *y_)
{
    const real *x = x_;
    real *y = y_;
    PARALLEL_FOR(n)
    for (int64_t i = 0; i < n; i++) {
        y[2 * i] = x[2 * i];
        y[2 * i + 1] = 0;
    }
    return LARMOR_OK;
}

static larmor_status random_vector(void *ctx, int64_t n, uint64_t seed, void *x_)
{
    real *x = x_;
    PARALLEL_FOR(n)
    for (int64_t i = 0; i < 2 * n; i++) x[i] = (real)(2 * lmr_random_uniform(seed, (uint64_t)i) - 1);
    return LARMOR_OK;
}

const lmr_vec R(lmr_cpu_vec) = {axpby,    axpby_complex, sum,     mul,       expand,    combine,      dot,
                                distance, add_dot,       advance, magnitude, real_part, random_vector};
