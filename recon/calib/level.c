/* The level of the noise from the data themselves. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "core/device.h"
#include "core/ranks.h"
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

/* Of the samples of all ranks, where each has a part. first: of this one's, whose number is *own. */
static larmor_status outer_runs(larmor_ranks *ranks, const double *k, int nd, int64_t samples, int64_t readouts,
                                int64_t *first, int64_t *own, double *all)
{
    double most = 0;
    for (int64_t i = 0; i < samples * readouts; i++) most = fmax(most, squared_radius(k + i * nd, nd));
    LMR_TRY(lmr_ranks_most(ranks, &most));
    *all = 0;
    for (double part = OUTER; part > -STEP / 2 && *all < LEAST; part -= STEP) {
        *own = runs_beyond(k, nd, samples, readouts, part * part * most, first);
        double sum[2] = {(double)*own, 0};
        if (ranks) LMR_TRY(lmr_ranks_total(ranks, LARMOR_OK, sum));
        *all = sum[0];
    }
    return LARMOR_OK;
}

/* Differences of one coil's samples y, interleaved, for the runs among all of them whose numbers are multiples of step; `before`
 * are those of the ranks before this one. Their count is returned. */
static int64_t differences_of(const float *y, int64_t count, const int64_t *first, int64_t before, int64_t step,
                              float *differences)
{
    int64_t used = 0;
    for (int64_t i = (step - before % step) % step; i < count; i += step)
        for (int part = 0; part < 2; part++) {
            const float *at = y + 2 * first[i] + part;
            differences[used++] = fabsf(at[0] - 3 * at[2] + 3 * at[4] - at[6]);
        }
    return used;
}

/* Rank i's `count` differences behind the first *used of rank 0's. */
static larmor_status pass_differences(larmor_ranks *ranks, larmor_device *dev, int i, int64_t count, int64_t *used,
                                      float *differences)
{
    larmor_array *pairs = NULL;
    if (!count || (ranks->number && ranks->number != i)) return LARMOR_OK;
    LMR_TRY(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(count / 2), LARMOR_C64,
                                ranks->number ? differences : differences + *used, &pairs));
    larmor_status st = lmr_ranks_pass(ranks, i, 0, pairs);
    if (!st && !ranks->number) st = larmor_array_read(pairs, differences + *used, larmor_array_bytes(pairs));
    larmor_array_free(pairs);
    if (!ranks->number) *used += count;
    return st;
}

/* All ranks' differences to rank 0. own: how it went here before. */
static larmor_status gather(larmor_ranks *ranks, larmor_device *dev, larmor_status own, int64_t *used, float *differences)
{
    const int64_t mine = *used;
    if (!ranks) return own;
    LMR_TRY(lmr_ranks_agree(ranks, own, NULL, NULL));
    for (int i = 1; i < ranks->count; i++) {
        double of_one[2] = {ranks->number == i ? (double)mine : 0, 0};
        LMR_TRY(lmr_ranks_total(ranks, LARMOR_OK, of_one));
        LMR_TRY(pass_differences(ranks, dev, i, (int64_t)of_one[0], used, differences));
    }
    return LARMOR_OK;
}

static larmor_status read_coil(larmor_array *kspace, int64_t c, float *y)
{
    larmor_array *one;
    LMR_TRY(larmor_array_slice(kspace, c, 1, &one));
    const larmor_status st = larmor_array_read(one, y, larmor_array_bytes(one));
    larmor_array_free(one);
    return st;
}

/* Where to work: the starts of runs, a coil's samples, the differences of all ranks. */
typedef struct room {
    int64_t *first;
    float *y, *differences;
} room;

static larmor_status level_with(larmor_array *kspace, const double *k, int nd, const room *w, double *deviation)
{
    const larmor_shape shape = kspace->shape;
    larmor_ranks *ranks = kspace->dev->whole;
    int64_t own, before = 0;
    double all, sum = 0;
    LMR_TRY(outer_runs(ranks, k, nd, shape.dim[0], shape.dim[1], w->first, &own, &all));
    if (ranks) LMR_TRY(lmr_ranks_before(ranks, own, &before));
    const int64_t step = 1 + 2 * (int64_t)all / MOST;
    for (int64_t c = 0; c < shape.dim[2]; c++) {
        larmor_status st = read_coil(kspace, c, w->y);
        int64_t used = st ? 0 : differences_of(w->y, own, w->first, before, step, w->differences);
        LMR_TRY(gather(ranks, kspace->dev, st, &used, w->differences));
        if (used && !larmor_ranks_number(ranks)) sum += pow(deviation_of(used, w->differences), 2);
    }
    *deviation = shape.dim[2] > 0 ? sqrt(sum / (double)shape.dim[2]) : 0;
    return lmr_ranks_lead(ranks, deviation);
}

static larmor_status level_of(larmor_array *kspace, const double *k, int nd, double *deviation)
{
    const int64_t all = kspace->shape.dim[0] * kspace->shape.dim[1];
    const room w = {.first = malloc(sizeof(int64_t) * (size_t)all + 1),
                    .y = malloc(2 * sizeof(float) * (size_t)all + 1),
                    .differences = malloc(sizeof(float) * (MOST + 2))};
    larmor_status st = w.first && w.y && w.differences ? LARMOR_OK : LMR_NO_MEMORY();
    if (!st) st = level_with(kspace, k, nd, &w, deviation);
    free(w.differences);
    free(w.y);
    free(w.first);
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
