/* Waveforms at even steps of time, and the triggers and rhythms in them. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "gating/blocks.h"
#include "gating/waves.h"

#define SLOPE_S 0.02      /* of the two means whose difference is a slope: what it passes is best from 10 to 30 Hz */
#define QRS_S 0.04        /* half of the window in which its power is averaged */
#define REFRACTORY_S 0.25 /* of a heart: no R wave follows another sooner */
#define PEAK_WINDOW_S 2.0 /* in which every heart beats once */
#define PEAK_OVER_MEDIAN 0.3 /* of a peak's power to that of typical R waves; T waves have less */
#define BLIND_S 0.05         /* of a gap, beyond which it is not known where in it a beat was */
#define STEP_S 0.05          /* of signals of breath and pulse */
#define PEAK_OVER_NOISE 4.0  /* of typical R waves to the median of the power, below which there are none */
#define RANDOM_SHARE 0.7     /* of cycles of nearly the median's length among peaks at random */

void lmr_track_free(lmr_track *track)
{
    LMR_FREE(track->x, track->gap);
    *track = (lmr_track){.trigger = -1};
}

int lmr_track_lacks(const lmr_track *t, double s, double least, double beside)
{
    for (int64_t g = 0; g < t->gaps; g++)
        if (t->gap[g].to - t->gap[g].from > least && s > t->gap[g].from - beside && s < t->gap[g].to + beside)
            return 1;
    return 0;
}

int lmr_track_is_parted(const lmr_track *t, double from, double to)
{
    for (int64_t g = 0; g < t->gaps; g++)
        if (t->gap[g].to > from && t->gap[g].from < to) return 1;
    return 0;
}

static void say_blocks(const lmr_blocks *b, lmr_track *t)
{
    const struct {
        int64_t count;
        const char *what;
    } left[] = {{b->other, "unlike the rest"}, {b->repeated, "repeated"}, {b->stray, "with a stray stamp"}};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (left[i].count)
            lmr_append(t->note, sizeof t->note, "; %lld block%s %s", (long long)left[i].count,
                       left[i].count > 1 ? "s" : "", left[i].what);
    if (b->steps > b->filled)
        lmr_append(t->note, sizeof t->note, "; %.2f s missing", (double)(b->steps - b->filled) * b->dt);
    if (b->drift != 0) lmr_append(t->note, sizeof t->note, "; clock %+.0f ppm", 1e6 * b->drift);
}

/* Numbers of 32 bits without a sign, which converters use for those with one, too. */
static void copy_block(const larmor_waveform *w, const lmr_block *b, int64_t end, lmr_track *t)
{
    for (int64_t c = 0; c < t->channels; c++) {
        double *x = t->x + c * t->count;
        for (int64_t i = b->skip; i < w->samples; i++) x[b->at + i] = (double)(int32_t)w->data[c * w->samples + i];
        const double slope = c == t->trigger || !end ? 0 : (x[b->at] - x[end - 1]) / (double)(b->at - end + 1);
        for (int64_t i = end; i < b->at; i++) x[i] = end ? x[end - 1] + slope * (double)(i - end + 1) : 0;
    }
    if (end && end < b->at)
        t->gap[t->gaps++] = (lmr_gap){t->first + (double)(end - 1) * t->dt, t->first + (double)b->at * t->dt};
}

larmor_status lmr_track_read(const larmor_raw *raw, larmor_waveform_kind kind, uint32_t begin, double tick_ms,
                             lmr_track *track)
{
    LMR_FREED_BY(lmr_blocks_free) lmr_blocks b;
    larmor_waveform w;
    *track = (lmr_track){.trigger = -1};
    LMR_TRY(lmr_blocks_place(raw, kind, tick_ms, &b));
    if (!b.count) return LARMOR_OK;
    say_blocks(&b, track);
    if (b.steps > 2 * b.filled) return LARMOR_OK;
    LMR_TRY(larmor_raw_waveform(raw, b.block[0].index, &w));
    LMR_ALLOCATE(track->x, w.channels * b.steps);
    LMR_ALLOCATE(track->gap, b.count);
    track->channels = w.channels;
    track->count = b.steps;
    track->first = lmr_clock_s(b.stamp, begin, tick_ms) + b.block[0].s;
    track->dt = b.dt;
    track->trigger = w.trigger;
    for (int64_t i = 0, end = 0; i < b.count; i++) {
        LMR_TRY(larmor_raw_waveform(raw, b.block[i].index, &w));
        copy_block(&w, &b.block[i], end, track);
        end = b.block[i].at + w.samples;
    }
    return LARMOR_OK;
}

larmor_status lmr_track_triggers(const lmr_track *t, double **times, int64_t *count)
{
    const double *x = t->x + (int64_t)t->trigger * t->count;
    double low = x[0], high = x[0];
    *count = 0;
    LMR_ALLOCATE_ZEROS(*times, t->count + 1);
    for (int64_t i = 0; i < t->count; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    const double middle = (low + high) / 2;
    for (int64_t i = 1; i < t->count; i++) {
        const double s = t->first + (double)i * t->dt;
        const int is_rise = x[i] > middle && !(x[i - 1] > middle);
        if (is_rise && !lmr_track_lacks(t, s, BLIND_S, t->dt / 2)) (*times)[(*count)++] = s;
    }
    return LARMOR_OK;
}

/* ---- R waves ---- */

/* The mean of the samples after i less that of those before it. */
static double slope_at(const double *x, int64_t count, int64_t i, int64_t each)
{
    double sum = 0;
    for (int64_t j = 1; j <= each; j++) sum += x[i + j < count ? i + j : count - 1] - x[i > j ? i - j : 0];
    return sum / (double)each;
}

/* The power of the slope of all leads, averaged over a window, to power [count]; sum [count + 1] is room. */
static void slope_power(const lmr_track *t, double *sum, double *power)
{
    const int64_t each = (int64_t)fmax(1, round(SLOPE_S / t->dt)), window = (int64_t)fmax(1, round(QRS_S / t->dt));
    sum[0] = 0;
    for (int64_t i = 0; i < t->count; i++) {
        double square = 0;
        for (int64_t c = 0; c < t->channels; c++)
            if (c != t->trigger) square += pow(slope_at(t->x + c * t->count, t->count, i, each), 2);
        sum[i + 1] = sum[i] + square;
    }
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t a = i > window ? i - window : 0;
        const int64_t b = i + window < t->count ? i + window + 1 : t->count;
        power[i] = (sum[b] - sum[a]) / (double)(b - a);
    }
}

/* The power of typical R waves: the median of the largest one in each window; room [windows]. */
static double typical_peak(const double *power, int64_t count, int64_t window, double *room)
{
    int64_t windows = 0;
    for (int64_t from = 0; from + window <= count; from += window) {
        double most = 0;
        for (int64_t i = from; i < from + window; i++) most = fmax(most, power[i]);
        room[windows++] = most;
    }
    return windows ? lmr_median_f64(room, windows) : 0;
}

static int is_peak(const double *power, int64_t count, int64_t i, int64_t reach)
{
    for (int64_t j = i > reach ? i - reach : 0; j <= i + reach && j < count; j++)
        if (power[j] > power[i] || (power[j] == power[i] && j < i)) return 0;
    return 1;
}

/* The sample near a peak of the power at which the leads are the farthest from their mean there. */
static int64_t summit(const lmr_track *t, int64_t peak)
{
    const int64_t window = (int64_t)fmax(1, round(QRS_S / t->dt));
    const int64_t a = peak > window ? peak - window : 0;
    const int64_t b = peak + window < t->count ? peak + window : t->count - 1;
    LMR_HEAP double *square = calloc((size_t)(b - a + 1), sizeof *square);
    int64_t best = peak;
    if (!square) return peak;
    for (int64_t c = 0; c < t->channels; c++) {
        const double *x = t->x + c * t->count;
        double mean = 0;
        if (c == t->trigger) continue;
        for (int64_t i = a; i <= b; i++) mean += x[i] / (double)(b - a + 1);
        for (int64_t i = a; i <= b; i++) square[i - a] += (x[i] - mean) * (x[i] - mean);
    }
    for (int64_t i = a; i <= b; i++)
        if (i == a || square[i - a] > square[best - a]) best = i;
    return best;
}

/* Lengths [*cycles] of the cycles without a gap. */
static void whole_lengths(const lmr_track *t, const double *times, int64_t count, double *length, int64_t *cycles)
{
    *cycles = 0;
    for (int64_t i = 0; i + 1 < count; i++)
        if (!lmr_track_is_parted(t, times[i], times[i + 1])) length[(*cycles)++] = times[i + 1] - times[i];
}

/* How many cycles have nearly the median's length, beyond what peaks at random have; room [count]. */
static double regularity(const lmr_track *t, const double *times, int64_t count, double *room)
{
    int64_t regular = 0, cycles;
    whole_lengths(t, times, count, room, &cycles);
    if (cycles < 2) return 0;
    const double median = lmr_median_f64(room, cycles);
    whole_lengths(t, times, count, room, &cycles);
    for (int64_t i = 0; i < cycles; i++) regular += room[i] > 0.6 * median && room[i] < 1.5 * median;
    return fmax(0, ((double)regular / (double)cycles - RANDOM_SHARE) / (1 - RANDOM_SHARE));
}

larmor_status lmr_track_r_waves(const lmr_track *t, double **times, int64_t *count, double *reliability)
{
    const int64_t window = (int64_t)ceil(PEAK_WINDOW_S / t->dt), reach = (int64_t)ceil(REFRACTORY_S / t->dt);
    *count = 0;
    *reliability = 0;
    LMR_ALLOCATE_ZEROS(*times, t->count + 1);
    LMR_HEAP LMR_NEW_ZEROS(double, power, t->count + 1);
    LMR_HEAP LMR_NEW_ZEROS(double, room, t->count + 1);
    slope_power(t, room, power);
    const double typical = typical_peak(power, t->count, window, room), least = PEAK_OVER_MEDIAN * typical;
    for (int64_t i = 0; least > 0 && i < t->count; i++)
        if (power[i] > least && is_peak(power, t->count, i, reach) &&
            !lmr_track_lacks(t, t->first + (double)i * t->dt, BLIND_S, QRS_S))
            (*times)[(*count)++] = t->first + (double)summit(t, i) * t->dt;
    const double apart = least > 0 ? fmax(0, 1 - PEAK_OVER_NOISE * lmr_median_f64(power, t->count) / typical) : 0;
    *reliability = apart * regularity(t, *times, *count, room);
    return LARMOR_OK;
}

/* ---- pulse and respiration ---- */

/* All channels but that of the triggers, averaged over steps. */
static larmor_status thin_out(const lmr_track *t, int64_t step, lmr_channels *even, double *power)
{
    *even = (lmr_channels){NULL, t->channels - (t->trigger >= 0), t->count / step};
    *power = 0;
    LMR_ALLOCATE_ZEROS(even->x, even->channels * even->count + 1);
    for (int64_t c = 0, to = 0; c < t->channels; c++) {
        if (c == t->trigger) continue;
        for (int64_t i = 0; i < even->count * step; i++) {
            const double v = t->x[c * t->count + i];
            even->x[to * even->count + i / step] += v / (double)step;
            *power += v * v / (double)(even->count * step);
        }
        to++;
    }
    return LARMOR_OK;
}

/* In gaps of more than `length` s signals without a trend go to 0 within that time from both ends: a straight line
 * would have the power of slow rhythms. */
static void fade_gaps(const lmr_track *t, const lmr_track *even, double length, const lmr_channels *all)
{
    for (int64_t i = 0; i < all->count; i++) {
        const double s = even->first + (double)i * even->dt;
        for (int64_t g = 0; g < t->gaps; g++) {
            const lmr_gap *gap = &t->gap[g];
            if (gap->to - gap->from <= length || s <= gap->from || s >= gap->to) continue;
            const double part = fmin(1, fmin(s - gap->from, gap->to - s) / length);
            for (int64_t c = 0; c < all->channels; c++) all->x[c * all->count + i] *= pow(cos(M_PI / 2 * part), 2);
        }
    }
}

/* The mean rate but for gaps of more than a part of a cycle. */
static double rate_of(const lmr_track *t, const lmr_track *even, const lmr_found *found)
{
    double turned = 0, passed = 0;
    for (int64_t i = 0; i + 1 < even->count; i++) {
        const double s = even->first + ((double)i + .5) * even->dt;
        if (lmr_track_lacks(t, s, LMR_MAX_GAP / found->hz, 0)) continue;
        turned += found->phase[i + 1] - found->phase[i];
        passed += even->dt;
    }
    return turned > 0 ? turned / passed : found->hz;
}

larmor_status lmr_track_rhythm(const lmr_track *t, const lmr_band *band, lmr_track *even, lmr_found *found)
{
    const int64_t step = (int64_t)fmax(1, floor(STEP_S / t->dt));
    lmr_channels all;
    double power;
    *found = (lmr_found){.hz = 0};
    *even = (lmr_track){.trigger = -1};
    if (t->count < 64 * step || (double)t->count * t->dt < 10) return LARMOR_OK;
    const larmor_status st = thin_out(t, step, &all, &power);
    LMR_HEAP double *x = all.x;
    if (st) return st;
    LMR_HEAP double *seconds = calloc((size_t)all.count, sizeof *seconds);
    *even = (lmr_track){.count = all.count,
                        .channels = all.channels,
                        .first = t->first + 0.5 * (double)(step - 1) * t->dt,
                        .dt = (double)step * t->dt,
                        .trigger = -1};
    found->signal = calloc((size_t)all.count, sizeof *found->signal);
    found->phase = calloc((size_t)all.count, sizeof *found->phase);
    if (!x || !seconds || !found->signal || !found->phase) return LMR_NO_MEMORY();
    if (!all.channels) return LARMOR_OK;
    for (int64_t i = 0; i < all.count; i++) seconds[i] = even->first + (double)i * even->dt;
    LMR_TRY(lmr_gating_detrend(&all, NULL, seconds));
    fade_gaps(t, even, LMR_MAX_GAP / sqrt(band->low * band->high), &all);
    LMR_TRY(lmr_gating_rhythm(&all, even->dt, power, band, found));
    if (t->gaps && found->hz > 0) found->hz = rate_of(t, even, found);
    return LARMOR_OK;
}
