/* Whether the noise at the rim of k-space is that of the noise scan. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "check/check.h"
#include "core/core.h"

#define RIM_FROM 0.85 /* part of the reach of k-space */
#define MEDIAN_OF_NORMAL 0.67448975
/* 130 right scans have .52 or more, of 56 with signal in the noise scan 55 have .13 or less (docs/records/noise.md,
 * "Noise scans that hold signal"). */
#define MIN_LEVEL_OF_MIXTURE 0.3
/* The noise of a coil over that of the noise scan, beside the same of the others: right scans have 2.5 at most, where
 * the others have no more than this. With more, signal may be what a coil has. */
#define MIN_TIMES_OTHERS 6.
#define MAX_USUAL_TIMES 1.2

enum {
    WINDOW = 4, /* samples of a third difference */
    MOST_WINDOWS = 2048,
    LEAST_WINDOWS = 60,
    POWER_STEPS = 50,
};

/* Third differences [count, coils] of samples whose noise has the deviation that they have. */
typedef struct differences {
    int64_t count;
    int coils;
    double complex *x;
} differences;

LMR_FREES(free_differences, differences, x)

static double squared_radius(const double *k, int64_t nd)
{
    double square = 0;
    for (int64_t d = 0; d < nd; d++) square += k[d] * k[d];
    return square;
}

#define FILLED (LARMOR_NO_SAMPLE / 2) /* from here on, after delays, too */

/* How far samples reach along the axis that is shortest. */
static double find_reach(const double *k, int64_t nd, int64_t count)
{
    double least = INFINITY;
    for (int64_t d = 0; d < nd; d++) {
        double most = 0;
        for (int64_t i = 0; i < count; i++)
            if (fabs(k[d + nd * i]) < FILLED) most = fmax(most, fabs(k[d + nd * i]));
        if (most > 0) least = fmin(least, most);
    }
    return least;
}

/* The first samples of windows beyond a radius, every so many of them; their count. first NULL: of all. */
static int64_t find_windows(const larmor_array *traj, const double *k, double from, int64_t every, int64_t *first)
{
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t nd = shape.dim[0], n = shape.dim[1], all = n * shape.dim[2];
    int64_t found = 0, inside = 0;
    for (int64_t i = 0; i < all; i++) {
        const double square = squared_radius(k + nd * i, nd);
        if (i % n == 0) inside = 0;
        inside = square >= from * from && square < FILLED * FILLED ? inside + 1 : 0;
        if (inside < WINDOW) continue;
        inside = 0;
        if (first && found % every == 0) first[found / every] = i - WINDOW + 1;
        found++;
    }
    return (found + every - 1) / every;
}

static larmor_status take_differences(const larmor_array *kspace, const larmor_array *traj, differences *d)
{
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    const double reach =
        find_reach(k, larmor_array_shape(traj).dim[0], larmor_array_count(traj) / larmor_array_shape(traj).dim[0]);
    const int64_t every = 1 + find_windows(traj, k, RIM_FROM * reach, 1, NULL) / MOST_WINDOWS;
    LMR_HEAP LMR_NEW(int64_t, first, MOST_WINDOWS + 1);
    d->count = find_windows(traj, k, RIM_FROM * reach, every, first);
    d->coils = (int)larmor_array_shape(kspace).dim[2];
    LMR_HEAP LMR_NEW(int64_t, index, WINDOW * (MOST_WINDOWS + 1));
    LMR_ALLOCATE_ZEROS(d->x, d->count * d->coils + 1);
    if (!d->count) return LARMOR_OK;
    for (int64_t w = 0; w < WINDOW * d->count; w++) index[w] = first[w / WINDOW] + w % WINDOW;
    LMR_OWN_MEMORY(float, x, larmor_pick_samples(kspace, index, WINDOW * d->count, &x));
    const float complex *z = (const float complex *)x;
    for (int64_t w = 0; w < d->count * d->coils; w++, z += WINDOW)
        d->x[w] = (double complex)(z[0] - 3 * z[1] + 3 * z[2] - z[3]) / sqrt(20);
    return LARMOR_OK;
}

/* The deviation of a mixture of the coils, by the median. */
static larmor_status find_level(const differences *d, const double complex *mix, double *level)
{
    LMR_HEAP LMR_NEW(double, part, 2 * d->count);
    for (int64_t w = 0; w < d->count; w++) {
        double complex sum = 0;
        for (int c = 0; c < d->coils; c++) sum += mix[c] * d->x[w + d->count * c];
        part[2 * w] = fabs(creal(sum));
        part[2 * w + 1] = fabs(cimag(sum));
    }
    *level = lmr_median_f64(part, 2 * d->count) / MEDIAN_OF_NORMAL;
    return LARMOR_OK;
}

/* *C [coils, coils]: whitened samples times row c of it are those of coil c. */
static larmor_status read_colouring(const larmor_array *W, int coils, double complex **C)
{
    LMR_OWN(larmor_array, colouring, larmor_noise_colouring(W, &colouring));
    LMR_HEAP LMR_NEW_ZEROS(double complex, one, coils *coils);
    for (int c = 0; c < coils; c++) one[c + coils * c] = 1;
    LMR_OWN(larmor_array, unit,
            larmor_array_upload(larmor_array_device(W), LARMOR_C64, LARMOR_SHAPE(coils, 1, coils), LARMOR_C128, one,
                                &unit));
    LMR_TRY(larmor_whiten(colouring, unit));
    return larmor_array_download(unit, LARMOR_C128, C);
}

/* The deviation of the coils' noise [coils]. */
typedef struct times {
    double *rim; /* over the noise scan's */
    double *scan;
} times;

LMR_FREES(free_times, times, rim, scan)

static larmor_status compare_coils(const differences *d, const double complex *C, times *t)
{
    const int n = d->coils;
    LMR_ALLOCATE_ZEROS(t->rim, n);
    LMR_ALLOCATE_ZEROS(t->scan, n);
    for (int c = 0; c < n; c++) {
        for (int j = 0; j < n; j++) t->scan[c] += pow(cabs(C[j + n * c]), 2);
        t->scan[c] = sqrt(t->scan[c]);
        LMR_TRY(find_level(d, C + n * c, &t->rim[c]));
        t->rim[c] /= t->scan[c];
    }
    return LARMOR_OK;
}

/* Of the mixture of coils that is largest in the noise scan, in units of the rim's noise: its deviation at the rim
 * over that in the noise scan. */
static larmor_status find_mixture(const differences *d, const double complex *C, const times *t, double *level)
{
    const int n = d->coils;
    LMR_HEAP LMR_NEW(double complex, u, n);
    LMR_HEAP LMR_NEW(double complex, v, n);
    double size = 0;
    for (int j = 0; j < n; j++) u[j] = 1 + 0.1 * j; /* in whitened coils */
    for (int step = 0; step < POWER_STEPS; step++) {
        for (int c = 0; c < n; c++) {
            v[c] = 0;
            for (int j = 0; j < n; j++) v[c] += C[j + n * c] * u[j] / (t->rim[c] * t->scan[c] + 1e-300);
        }
        size = 0;
        for (int j = 0; j < n; j++) {
            u[j] = 0;
            for (int c = 0; c < n; c++) u[j] += conj(C[j + n * c]) * v[c] / (t->rim[c] * t->scan[c] + 1e-300);
            size += pow(cabs(u[j]), 2);
        }
        for (int j = 0; j < n; j++) u[j] /= sqrt(size);
    }
    for (int j = 0; j < n; j++) u[j] = conj(u[j]); /* of length 1: the noise scan's deviation is 1 */
    return find_level(d, u, level);
}

static larmor_status describe(const times *t, int coils, double level, char *line, size_t room)
{
    int coil = 0;
    LMR_HEAP LMR_NEW(double, sorted, coils);
    memcpy(sorted, t->rim, (size_t)coils * sizeof *sorted);
    const double usual = lmr_median_f64(sorted, coils);
    for (int c = 0; c < coils; c++)
        if (t->rim[c] > t->rim[coil]) coil = c;
    if (level < MIN_LEVEL_OF_MIXTURE)
        snprintf(
            line, room,
            "the noise scan holds signal, or had another gain: the coils together have %.3g times as much in it as "
            "the noise at the rim of k-space, and are weighted as if that were noise. opts.no_whitening leaves it "
            "out.",
            1 / level);
    else if (coils > 2 && usual < MAX_USUAL_TIMES && t->rim[coil] > MIN_TIMES_OTHERS * usual)
        snprintf(
            line, room,
            "coil %d (from 0) has %.3g times as much noise at the rim of k-space as the noise scan says, the others "
            "%.2g times: its gain or its noise differs between them, and its weight is too large. "
            "opts.no_whitening leaves the noise scan out.",
            coil, t->rim[coil], usual);
    return LARMOR_OK;
}

larmor_status lmr_noise_scan_at_rim(const larmor_samples *samples, const larmor_array *W, char *line, size_t room)
{
    LMR_OWNED(larmor_array) *kspace = NULL, *traj = NULL;
    LMR_FREED_BY(free_differences) differences d = {.count = 0};
    LMR_FREED_BY(free_times) times t = {.rim = NULL};
    double level = 0;
    *line = 0;
    LMR_TRY(larmor_samples_align(samples, &kspace, &traj));
    LMR_TRY(take_differences(kspace, traj, &d));
    if (d.count < LEAST_WINDOWS) return LARMOR_OK;
    LMR_OWN_MEMORY(double complex, C, read_colouring(W, d.coils, &C));
    LMR_TRY(compare_coils(&d, C, &t));
    for (int c = 0; c < d.coils; c++)
        if (!(t.rim[c] > 0)) return LARMOR_OK; /* samples there were set to 0 */
    LMR_TRY(find_mixture(&d, C, &t, &level));
    return describe(&t, d.coils, level, line, room);
}
