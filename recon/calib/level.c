/* The level of the noise from the data themselves. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "larmor/recon.h"
#include "recon/inputs.h"

/* The outer samples of k-space, where there is the least signal: those beyond this part of the largest |k|, or further in
 * by this step at a time where readouts have too few of them. */
#define OUTER 0.9
#define STEP 0.1

/* 1 -3 3 -1, whose squares sum up to 20; at most so many differences a coil, and at least about so many. */
enum { TAPS = 4, MOST = 1 << 17, LEAST = 400 };

static void exchange(float *x, int64_t i, int64_t j)
{
    const float kept = x[i];
    x[i] = x[j];
    x[j] = kept;
}

/* What x[place] would be in ascending order; x changes its order. Hoare's selection (Comm. ACM 4, 321 (1961), algorithm
 * 65), which takes a time that grows as count does, where sorting took a third of an image's time on a GPU. Numbers that
 * cannot be compared end it with any of them. */
static float selected(float *x, int64_t count, int64_t place)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        const float pivot = x[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (i < high && x[i] < pivot) i++;
            while (j > low && x[j] > pivot) j--;
            if (i > j) break;
            exchange(x, i++, j--);
        }
        if (place <= j)
            high = j;
        else if (place >= i)
            low = i;
        else
            break;
    }
    return x[place];
}

/* The deviation of normal numbers whose third differences these are, by their median: few large ones do not matter. */
static double deviation_of(int64_t count, float *differences)
{
    const double median_of_normal = 0.67448975, squares = 20;
    return selected(differences, count, count / 2) / median_of_normal / sqrt(squares);
}

static double squared_radius(const double *k, int nd)
{
    double square = 0;
    for (int d = 0; d < nd; d++) square += k[d] * k[d];
    return square;
}

/* The first samples of runs of four on one readout whose |k|^2 is at least the limit; their number is returned. */
static int64_t runs_beyond(const double *k, int nd, int64_t samples, int64_t readouts, double limit, int64_t *first)
{
    int64_t count = 0, inside = 0;
    for (int64_t i = 0; i < samples * readouts; i++) {
        inside = i % samples == 0 ? 0 : inside;
        inside = squared_radius(k + i * nd, nd) >= limit ? inside + 1 : 0;
        if (inside >= TAPS) first[count++] = i - TAPS + 1;
    }
    return count;
}

static int64_t outer_runs(const double *k, int nd, int64_t samples, int64_t readouts, int64_t *first)
{
    double most = 0;
    for (int64_t i = 0; i < samples * readouts; i++) most = fmax(most, squared_radius(k + i * nd, nd));
    int64_t count = 0;
    for (double part = OUTER; part > -STEP / 2 && count < LEAST; part -= STEP)
        count = runs_beyond(k, nd, samples, readouts, part * part * most, first);
    return count;
}

/* The level of one coil's samples y, interleaved. */
static double coil_level(const float *y, int64_t count, const int64_t *first, float *differences)
{
    const int64_t step = 1 + 2 * count / MOST;
    int64_t used = 0;
    for (int64_t i = 0; i < count; i += step)
        for (int part = 0; part < 2; part++) {
            const float *at = y + 2 * first[i] + part;
            differences[used++] = fabsf(at[0] - 3 * at[2] + 3 * at[4] - at[6]);
        }
    return used ? deviation_of(used, differences) : 0;
}

static larmor_status level_of(larmor_array *kspace, const double *k, int nd, double *deviation)
{
    const larmor_shape shape = kspace->shape;
    const int64_t samples = shape.dim[0], readouts = shape.dim[1], coils = shape.dim[2], all = samples * readouts;
    int64_t *first = malloc(sizeof *first * (size_t)all + 1);
    float *y = malloc(2 * sizeof *y * (size_t)all + 1), *differences = malloc(sizeof *y * (MOST + 2));
    larmor_array *one = NULL;
    double sum = 0;
    larmor_status st = first && y && differences ? LARMOR_OK : LMR_NO_MEMORY();
    const int64_t count = st ? 0 : outer_runs(k, nd, samples, readouts, first);
    for (int64_t c = 0; c < coils && !st; c++) {
        st = larmor_array_slice(kspace, c, 1, &one);
        if (!st) st = larmor_array_read(one, y, larmor_array_bytes(one));
        larmor_array_free(one);
        one = NULL;
        if (!st) sum += pow(coil_level(y, count, first, differences), 2);
    }
    *deviation = coils > 0 ? sqrt(sum / (double)coils) : 0;
    free(differences);
    free(y);
    free(first);
    return st;
}

larmor_status larmor_noise_level(larmor_array *kspace, const larmor_array *traj, double *deviation)
{
    LMR_NEED(deviation);
    *deviation = 0;
    if (!kspace || kspace->dtype != LARMOR_C64 || kspace->shape.ndim != 3)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "noise level: k-space is %s, expected c64 [samples, readouts, coils]",
                        kspace ? lmr_describe(kspace).s : "missing");
    if (!traj || traj->shape.ndim != 3 || traj->shape.dim[1] != kspace->shape.dim[0] ||
        traj->shape.dim[2] != kspace->shape.dim[1])
        return LMR_FAIL(LARMOR_ERR_SHAPE, "noise level: trajectory is %s, expected real [nd, samples, readouts]",
                        traj ? lmr_describe(traj).s : "missing");
    double *k;
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &k));
    const larmor_status st = level_of(kspace, k, (int)traj->shape.dim[0], deviation);
    free(k);
    return st;
}
