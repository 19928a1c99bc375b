/* A plain NUFFT, and nothing of MRI: the period of a variable star that was observed on some nights only.
 * Valid C11 and C++17. SPDX-License-Identifier: Apache-2.0
 *
 * The periodogram P(f) = |sum_j m_j exp(-2 pi i f t_j)|^2 of brightness m_j at times t_j is a type 1 transform in one
 * dimension: with f = r df, r = -M/2 ... M/2 - 1, the points are k_j = M df t_j. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <larmor/larmor.h>

enum { OBSERVATIONS = 600, FREQUENCIES = 40000 };
static const double two_pi = 6.283185307179586, period = 0.56672, per_day = 5e-4; /* days; df in cycles per day */

/* 0 to 1, from a linear congruential generator, so that every run sees the same star */
static double random_number(void)
{
    static unsigned long long state = 1;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* A light curve like that of an RR Lyrae star, seen during eight hours of a clear night in 400. */
static void observe(double *t, double *m)
{
    double mean = 0;
    for (int j = 0; j < OBSERVATIONS; j++) {
        t[j] = floor(400 * random_number()) + random_number() / 3;
        const double phase = two_pi * t[j] / period;
        m[2 * j] = 12.3 + 0.4 * cos(phase) + 0.2 * cos(2 * phase + 1) + 0.1 * (random_number() - 0.5);
        m[2 * j + 1] = 0;
        mean += m[2 * j] / OBSERVATIONS;
    }
    for (int j = 0; j < OBSERVATIONS; j++) m[2 * j] -= mean;
}

/* x <- sum_j m_j exp(-2 pi i r df t_j) for all r */
static larmor_status transform(const double *t, const double *m, double tol, double *x)
{
    static double k[OBSERVATIONS];
    const int64_t points_dim[] = {1, OBSERVATIONS}, values_dim[] = {OBSERVATIONS}, modes_dim[] = {FREQUENCIES};
    larmor_device *dev = NULL;
    larmor_array *points = NULL, *values = NULL, *modes = NULL;
    larmor_nufft *plan = NULL;
    larmor_nufft_opts opts;
    memset(&opts, 0, sizeof opts); /* zero means default */
    opts.type = 1;
    opts.ndim = 1;
    opts.modes[0] = FREQUENCIES;
    opts.sign = -1;
    opts.tol = tol;
    opts.dtype = LARMOR_C128;
    for (int j = 0; j < OBSERVATIONS; j++) k[j] = FREQUENCIES * per_day * t[j]; /* folded by the plan */

    larmor_status st = larmor_device_open("auto", &dev);
    if (!st) st = larmor_array_upload(dev, LARMOR_F64, larmor_shape_of(2, points_dim), LARMOR_F64, k, &points);
    if (!st) st = larmor_array_upload(dev, LARMOR_C128, larmor_shape_of(1, values_dim), LARMOR_C128, m, &values);
    if (!st) st = larmor_array_create(dev, LARMOR_C128, larmor_shape_of(1, modes_dim), &modes);
    if (!st) st = larmor_nufft_create(dev, &opts, &plan);
    if (!st) st = larmor_nufft_set_points(plan, points, NULL);
    if (!st) st = larmor_nufft_execute(plan, values, modes);
    if (!st) st = larmor_array_read(modes, x, larmor_array_bytes(modes));
    larmor_nufft_free(plan);
    larmor_array_free(points);
    larmor_array_free(values);
    larmor_array_free(modes);
    larmor_device_free(dev);
    return st;
}

/* The relative l2 difference from the sum as it is defined, over the frequencies from 0 on. */
static double difference(const double *t, const double *m, const double *x)
{
    double above = 0, below = 0;
    for (int r = 0; r < FREQUENCIES / 2; r++) {
        double re = 0, im = 0;
        for (int j = 0; j < OBSERVATIONS; j++) {
            re += m[2 * j] * cos(two_pi * r * per_day * t[j]);
            im -= m[2 * j] * sin(two_pi * r * per_day * t[j]);
        }
        const double *fast = x + 2 * (r + FREQUENCIES / 2);
        above += (fast[0] - re) * (fast[0] - re) + (fast[1] - im) * (fast[1] - im);
        below += re * re + im * im;
    }
    return sqrt(above / below);
}

int main(void)
{
    static double t[OBSERVATIONS], m[2 * OBSERVATIONS], x[2 * FREQUENCIES];
    const double tol = 1e-9;
    observe(t, m);
    if (transform(t, m, tol, x)) {
        fprintf(stderr, "spectrum: %s\n", larmor_last_error());
        return EXIT_FAILURE;
    }
    int best = FREQUENCIES / 2 + 1;
    for (int i = best; i < FREQUENCIES; i++)
        if (hypot(x[2 * i], x[2 * i + 1]) > hypot(x[2 * best], x[2 * best + 1])) best = i;
    const double error = difference(t, m, x), found = 1 / ((best - FREQUENCIES / 2) * per_day);
    printf("period %.5f days, in truth %.5f\n", found, period);
    printf("difference from the direct sum %.1e, asked for %.1e\n", error, tol);
    return error <= tol ? EXIT_SUCCESS : EXIT_FAILURE;
}
