/* Self-gating: breath and heart from the centre of k-space (Feng et al., Magn. Reson. Med. 75, 775, 2016).
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "gating/gating.h"

#define CELL 0.05 /* s: readouts within it become one number, which is short for a heart */

enum { LEAST_READOUTS = 64, HARMONICS = 6 };

const lmr_band lmr_breath_band = {0.1, 0.7, 3.5, 6}, lmr_heart_band = {0.7, 3.5, 3.5, 8};

void larmor_gating_free(larmor_gating *gating)
{
    if (!gating) return;
    LMR_FREE(gating->breath.signal, gating->breath.phase, gating->heart.signal, gating->heart.phase);
    *gating = (larmor_gating){.readouts = 0};
}

typedef struct steps { /* even steps of time */
    double first, dt;
    int64_t count;
} steps;

static larmor_status check(const larmor_array *centre, const double *seconds)
{
    const larmor_shape shape = larmor_array_shape(centre);
    LMR_REFUSE(shape.ndim != 2 || !lmr_is_complex(larmor_array_dtype(centre)), LARMOR_ERR_SHAPE,
               "gating: centre is %s, expected complex [readouts, coils]", lmr_describe(centre).s);
    LMR_REFUSE(shape.dim[0] < LEAST_READOUTS, LARMOR_ERR_ARG, "gating: got %lld readouts, expected %d at least",
               (long long)shape.dim[0], LEAST_READOUTS);
    for (int64_t i = 0; i < shape.dim[0]; i++)
        LMR_REFUSE(!isfinite(seconds[i]), LARMOR_ERR_ARG, "gating: the time of readout %lld is not finite",
                   (long long)i);
    return LARMOR_OK;
}

/* Steps as long as a cell, or as the typical time between readouts where that is longer. */
static larmor_status find_steps(const double *seconds, int64_t readouts, steps *s)
{
    LMR_HEAP LMR_NEW_ZEROS(double, sorted, readouts);
    memcpy(sorted, seconds, (size_t)readouts * sizeof *sorted);
    lmr_sort_f64(sorted, readouts);
    const double first = sorted[0], whole = sorted[readouts - 1] - first;
    LMR_REFUSE(!(whole >= 10 && whole <= 86400), LARMOR_ERR_ARG,
               "gating: the readouts take %.4g s, expected 10 to 86400", whole);
    for (int64_t i = readouts - 1; i > 0; i--) sorted[i] -= sorted[i - 1];
    const double dt = fmax(CELL, lmr_median_f64(sorted + 1, readouts - 1));
    *s = (steps){first, dt, (int64_t)floor(whole / dt) + 1};
    return LARMOR_OK;
}

/* Steps without a readout get what is between their neighbours. */
static void fill_gaps(double *x, const int *seen, int64_t count)
{
    int64_t before = 0;
    for (int64_t i = 1; i < count; i++) {
        if (!seen[i]) continue;
        for (int64_t j = before + 1; j < i; j++)
            x[j] = x[before] + (x[i] - x[before]) * (double)(j - before) / (double)(i - before);
        before = i;
    }
}

static larmor_status to_steps(const lmr_channels *all, const double *seconds, const steps *s, lmr_channels *even)
{
    LMR_HEAP int *seen = calloc((size_t)s->count, sizeof *seen);
    *even = (lmr_channels){calloc((size_t)(all->channels * s->count), sizeof *even->x), all->channels, s->count};
    if (!seen || !even->x) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < all->count; i++) {
        const int64_t at = (int64_t)floor((seconds[i] - s->first) / s->dt);
        seen[at]++;
        for (int64_t c = 0; c < all->channels; c++) even->x[c * s->count + at] += all->x[c * all->count + i];
    }
    for (int64_t c = 0; c < all->channels; c++) {
        for (int64_t i = 0; i < s->count; i++) even->x[c * s->count + i] /= seen[i] ? seen[i] : 1;
        fill_gaps(even->x + c * s->count, seen, s->count);
    }
    return LARMOR_OK;
}

double lmr_between(const double *x, int64_t count, double at)
{
    const int64_t i = (int64_t)fmin(fmax(floor(at), 0), (double)(count - 2));
    return x[i] + (x[i + 1] - x[i]) * (at - (double)i);
}

/* x of the steps' centres, at a readout's time. */
static double between(const double *x, const steps *s, double seconds)
{
    return lmr_between(x, s->count, (seconds - s->first) / s->dt - 0.5);
}

static larmor_status to_readouts(const lmr_found *found, const steps *s, const double *seconds, int64_t readouts,
                                 larmor_rhythm *rhythm)
{
    LMR_ALLOCATE_ZEROS(rhythm->signal, readouts);
    LMR_ALLOCATE_ZEROS(rhythm->phase, readouts);
    rhythm->rate = 60 * found->hz;
    rhythm->reliability = found->reliability;
    for (int64_t i = 0; i < readouts; i++) {
        rhythm->signal[i] = between(found->signal, s, seconds[i]);
        rhythm->phase[i] = between(found->phase, s, seconds[i]);
    }
    return LARMOR_OK;
}

/* What goes with the breath: powers of its signal, and harmonics of its phase. */
static larmor_status remove_breath(lmr_channels *even, const lmr_found *breath)
{
    enum { POWERS = 4 };
    const int64_t count = even->count;
    LMR_HEAP LMR_NEW_ZEROS(double, column, (POWERS + 2 * HARMONICS) * count);
    for (int64_t i = 0; i < count; i++) {
        for (int j = 0; j < POWERS; j++) column[j * count + i] = pow(breath->signal[i], j + 1);
        for (int j = 0; j < HARMONICS; j++) {
            const double angle = 2 * M_PI * (j + 1) * breath->phase[i];
            column[(POWERS + 2 * j) * count + i] = cos(angle);
            column[(POWERS + 2 * j + 1) * count + i] = sin(angle);
        }
    }
    lmr_gating_remove(even, column, POWERS + 2 * HARMONICS);
    return LARMOR_OK;
}

/* Real and imaginary parts of the coils, and their mean power. */
static larmor_status read_channels(const larmor_array *centre, lmr_channels *all, double *power)
{
    const larmor_shape shape = larmor_array_shape(centre);
    LMR_OWN_MEMORY(double, host, larmor_array_download(centre, LARMOR_C128, &host));
    *all = (lmr_channels){NULL, 2 * shape.dim[1], shape.dim[0]};
    LMR_ALLOCATE_ZEROS(all->x, all->channels * all->count);
    *power = 0;
    for (int64_t c = 0; c < all->channels; c++)
        for (int64_t i = 0; i < all->count; i++) {
            const double v = host[2 * (c / 2 * all->count + i) + c % 2];
            all->x[c * all->count + i] = v;
            *power += v * v / (double)all->count;
        }
    LMR_REFUSE(!isfinite(*power), LARMOR_ERR_NUMERIC, "gating: samples that are not finite");
    return LARMOR_OK;
}

static larmor_status find(const larmor_array *centre, const double *direction, const double *seconds,
                          larmor_gating *out)
{
    const int64_t readouts = larmor_array_shape(centre).dim[0];
    lmr_channels all = {0}, even = {0};
    LMR_HEAP double *x = NULL, *y = NULL, *room = NULL;
    double power = 0;
    steps s;
    LMR_TRY(check(centre, seconds));
    LMR_TRY(find_steps(seconds, readouts, &s));
    larmor_status st = read_channels(centre, &all, &power);
    x = all.x;
    if (!st) st = lmr_gating_detrend(&all, direction, seconds);
    if (!st) st = to_steps(&all, seconds, &s, &even);
    y = even.x;
    room = st ? NULL : calloc((size_t)(4 * s.count), sizeof *room);
    if (!st && !room) st = LMR_NO_MEMORY();
    if (st) return st;
    lmr_found breath = {room, room + s.count, 0, 0}, heart = {room + 2 * s.count, room + 3 * s.count, 0, 0};
    out->readouts = readouts;
    LMR_TRY(lmr_gating_rhythm(&even, s.dt, power, &lmr_breath_band, &breath));
    if (breath.hz > 0) LMR_TRY(remove_breath(&even, &breath));
    LMR_TRY(lmr_gating_rhythm(&even, s.dt, power, &lmr_heart_band, &heart));
    LMR_TRY(to_readouts(&breath, &s, seconds, readouts, &out->breath));
    return to_readouts(&heart, &s, seconds, readouts, &out->heart);
}

larmor_status larmor_gating_find(const larmor_array *centre, const double *direction, const double *seconds,
                                 larmor_gating *gating)
{
    LMR_NEED(gating);
    *gating = (larmor_gating){.readouts = 0};
    LMR_NEED(centre, seconds);
    const larmor_status st = find(centre, direction, seconds, gating);
    if (st) larmor_gating_free(gating);
    return st;
}
