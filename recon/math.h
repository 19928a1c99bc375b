/* Formulas that every device evaluates alike. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <math.h>
#include <stdint.h>

#include "recon/kernels.h"

#ifdef __CUDACC__
#define LMR_DEVICE_TOO __host__ __device__
#else
#define LMR_DEVICE_TOO
#endif

#define LMR_PI 3.14159265358979323846

/* |k / radius| of a point. */
static inline LMR_DEVICE_TOO double lmr_radius(int nd, const double *k, const double *radius)
{
    double square = 0;
    for (int d = 0; d < nd; d++) square += k[d] / radius[d] * (k[d] / radius[d]);
    return sqrt(square);
}

static inline LMR_DEVICE_TOO double lmr_hann(double radius)
{
    const double c = cos(LMR_PI / 2 * radius);
    return c * c;
}

/* The part of a ball that it shares with itself moved by rho diameters. */
static inline LMR_DEVICE_TOO double lmr_overlap(double rho, int nd)
{
    if (rho >= 1) return 0;
    if (nd == 1) return 1 - rho;
    if (nd == 2) return 2 / LMR_PI * (acos(rho) - rho * sqrt(1 - rho * rho));
    return (1 - rho) * (1 - rho) * (1 + rho / 2);
}

/* The distance of element i of [dim...] from index dim/2, in units of dim/2. */
static inline LMR_DEVICE_TOO double lmr_distance(int nd, const int64_t *dim, int64_t i)
{
    double square = 0;
    for (int d = 0; d < nd; d++) {
        const int64_t centre = dim[d] / 2, r = i % dim[d] - centre;
        i /= dim[d];
        square += (double)(r * r) / (double)(centre * centre);
    }
    return sqrt(square);
}

/* Pair `number` of (0,0), (0,1), (1,1), (0,2), ... */
static inline LMR_DEVICE_TOO void lmr_pair(int64_t number, int64_t *i, int64_t *j)
{
    int64_t column = (int64_t)((sqrt(8 * (double)number + 1) - 1) / 2);
    while (column * (column + 1) / 2 > number) column--;
    while ((column + 1) * (column + 2) / 2 <= number) column++;
    *i = number - column * (column + 1) / 2;
    *j = column;
}

/* Keys' cubic convolution: weights of pixels base-1 .. base+2 at base + t.
 *
 * Source  Keys, IEEE Trans. Acoust. Speech Signal Process. 29, 1153 (1981). */
static inline LMR_DEVICE_TOO void lmr_keys(double t, double w[4])
{
    w[0] = t * (-0.5 + t * (1 - 0.5 * t));
    w[1] = 1 + t * t * (-2.5 + 1.5 * t);
    w[2] = t * (0.5 + t * (2 - 1.5 * t));
    w[3] = t * t * (-0.5 + 0.5 * t);
}

/* Where pixel i of n_out, pixel n_out/2 on pixel n/2, lies between the n pixels: base and weights. */
static inline LMR_DEVICE_TOO int64_t lmr_between(int64_t i, int64_t n_out, int64_t n, double w[4])
{
    const double at = (double)(i - n_out / 2) * (double)n / (double)n_out + (double)(n / 2);
    const int64_t base = (int64_t)floor(at);
    lmr_keys(at - (double)base, w);
    return base;
}

/* ---- straight readouts ---- */

/* Positions t of one readout's samples k [nd, n]. Lines may miss the centre by half a sample of 1/FOV, as with
 * gradient delays. */
static inline LMR_DEVICE_TOO lmr_line lmr_project(int nd, int64_t n, const double *k, double *t)
{
    lmr_line line = {0, 0, 0, LMR_LINE_WITHOUT_EXTENT};
    double u[3] = {0, 0, 0}, farthest = 0, nearest = -1, step = 0;
    for (int64_t i = 0; i < n; i++) {
        double square = 0;
        for (int d = 0; d < nd; d++) square += k[i * nd + d] * k[i * nd + d];
        const double radius = sqrt(square);
        if (nearest < 0 || radius < nearest) nearest = radius;
        if (radius <= farthest) continue;
        farthest = radius;
        for (int d = 0; d < nd; d++) u[d] = k[i * nd + d] / radius;
    }
    if (n < 2 || !(farthest > 0)) return line;
    line.fault = LMR_LINE_LEFT;
    for (int64_t i = 0; i < n; i++) {
        double along = 0, off = 0;
        for (int d = 0; d < nd; d++) along += u[d] * k[i * nd + d];
        for (int d = 0; d < nd; d++) {
            const double away = k[i * nd + d] - along * u[d];
            off += away * away;
        }
        if (off > 0.25) return line;
        if (i > 0) step = fmax(step, fabs(along - t[i - 1]));
        t[i] = along;
    }
    line.fault = LMR_LINE_AWAY;
    if (nearest > step + 0.5) return line;
    line.fault = LMR_LINE_TURNED;
    line.rising = t[n - 1] > t[0];
    const double sign = line.rising != 0 ? 1 : -1;
    for (int64_t i = 1; i < n; i++)
        if (sign * (t[i] - t[i - 1]) < 0) return line;
    line.fault = LMR_LINE_GOOD;
    const double first = t[0] - (t[1] - t[0]) / 2, last = t[n - 1] + (t[n - 1] - t[n - 2]) / 2;
    line.low = fmin(first, last);
    line.high = fmax(first, last);
    /* a readout that starts in the centre has at most its first cell on the other side */
    if (-line.low < 1.01 * fabs(line.rising != 0 ? t[1] - t[0] : t[n - 1] - t[n - 2])) line.low = 0;
    return line;
}

/* The antiderivative of |t|^(nd-1). */
static inline LMR_DEVICE_TOO double lmr_antiderivative(double t, int nd)
{
    return copysign(pow(fabs(t), nd) / nd, t);
}

/* How many of the rays, sorted by falling length, are longer than radius; at least 1. */
static inline LMR_DEVICE_TOO int64_t lmr_rays_at(const double *ray, int64_t rays, double radius)
{
    int64_t low = 0, high = rays;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (ray[middle] >= radius)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low : 1;
}

/* The weight of sample i of the positions t [n] of a readout: every sample stands for its cell, up to half way to its
 * neighbours, swept over the angle of one ray; the cell that holds the centre gets the centre's share by the same
 * integral. */
static inline LMR_DEVICE_TOO double lmr_ramp(int nd, int64_t n, const double *t, const lmr_line *line, int64_t i,
                                             int64_t rays, const double *ray)
{
    const double sphere = nd == 1 ? 2 : 2 * (nd - 1) * LMR_PI;
    const double begin = line->rising != 0 ? line->low : line->high;
    const double end = line->rising != 0 ? line->high : line->low;
    const double from = i > 0 ? (t[i - 1] + t[i]) / 2 : begin;
    const double to = i + 1 < n ? (t[i] + t[i + 1]) / 2 : end;
    return sphere / (double)lmr_rays_at(ray, rays, fabs(t[i])) *
           fabs(lmr_antiderivative(to, nd) - lmr_antiderivative(from, nd));
}
