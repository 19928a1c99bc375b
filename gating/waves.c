/* Heart and breath from the waveforms of a file, for the bins of readouts. SPDX-License-Identifier: Apache-2.0 */
#include "gating/waves.h"

#include "core/core.h"

#define BEYOND_S 3.0 /* that readouts may begin before a waveform and end after it: a cycle of breath */

enum { LEAST_CYCLES = 2 /* of a heart, without gaps */ };

void lmr_wave_rhythm_free(lmr_wave_rhythm *rhythm)
{
    lmr_given_free(&rhythm->given);
    larmor_gating_signal_free(&rhythm->shown);
}

LMR_FREES(free_found, lmr_found, signal, phase)

/* 1 if the waveform is there while readouts are, else the report says so. */
static int covers(const lmr_track *t, const char *name, const double *seconds, int64_t readouts,
                  larmor_gating_signal *shown)
{
    double first = INFINITY, last = -INFINITY;
    for (int64_t i = 0; i < readouts; i++) {
        first = fmin(first, seconds[i]);
        last = fmax(last, seconds[i]);
    }
    const double end = t->first + (double)t->count * t->dt;
    if (!t->count && *t->note) snprintf(shown->report, sizeof shown->report, "the %s has gaps%s", name, t->note);
    if (!t->count) return 0;
    if (t->first <= first + BEYOND_S && end >= last - BEYOND_S) return 1;
    snprintf(shown->report, sizeof shown->report, "the %s is from %.1f to %.1f s, the readouts from %.1f to %.1f s",
             name, t->first, end, first, last);
    return 0;
}

/* A channel as a picture shows it. */
static larmor_status show(const double *x, int64_t count, double first, double dt, larmor_gating_signal *shown)
{
    shown->points = count;
    LMR_ALLOCATE_ZEROS(shown->at, count + 1);
    LMR_ALLOCATE_ZEROS(shown->value, count + 1);
    for (int64_t i = 0; i < count; i++) {
        shown->at[i] = first + (double)i * dt;
        shown->value[i] = x[i];
    }
    return LARMOR_OK;
}

/* Times that *times has, which become those of the given heart; its reliability is lowered by what is not known. */
static larmor_status take_triggers(double **times, int64_t count, const lmr_beats *beats, lmr_wave_rhythm *heart)
{
    larmor_gating_signal *s = &heart->shown;
    LMR_ALLOCATE_ZEROS(s->trigger, count + 1);
    memcpy(s->trigger, *times, (size_t)count * sizeof *s->trigger);
    s->triggers = count;
    s->from = LARMOR_GATED_BY_WAVEFORM;
    s->rate = 60 * beats->hz;
    s->reliability *= beats->known;
    heart->given = (lmr_given){*times, count, 1, beats->cycle};
    *times = NULL;
    return LARMOR_OK;
}

static int is_heart(const lmr_beats *b)
{
    return b->whole >= LEAST_CYCLES && b->hz >= 0.3 && b->hz <= lmr_heart_band.high && b->known >= LARMOR_RELIABLE;
}

/* The scanner's own triggers; from stays 0 where there are none. */
static larmor_status by_triggers(lmr_track *t, const char *name, lmr_wave_rhythm *heart)
{
    int64_t count;
    lmr_beats beats;
    larmor_gating_signal *s = &heart->shown;
    if (t->trigger < 0) return LARMOR_OK;
    LMR_OWN_MEMORY(double, times, lmr_track_triggers(t, &times, &count));
    LMR_TRY(lmr_track_bridge(t, &times, &count, &beats));
    if (!is_heart(&beats)) {
        lmr_append(t->note, sizeof t->note, "; %lld triggers in %.0f s are no heart's", (long long)count,
                   (double)t->count * t->dt);
        return LARMOR_OK;
    }
    snprintf(s->report, sizeof s->report, "the triggers of the %s, channel %d%s", name, t->trigger, t->note);
    s->reliability = 1;
    LMR_TRY(take_triggers(&times, count, &beats, heart));
    const int64_t lead = t->channels > 1 && !t->trigger ? 1 : 0;
    return show(t->x + lead * t->count, t->count, t->first, t->dt, s);
}

static larmor_status by_r_waves(const lmr_track *t, lmr_wave_rhythm *heart)
{
    int64_t count;
    double reliability;
    lmr_beats beats;
    larmor_gating_signal *s = &heart->shown;
    if (t->channels < 1 + (t->trigger >= 0)) return LARMOR_OK;
    LMR_OWN_MEMORY(double, times, lmr_track_r_waves(t, &times, &count, &reliability));
    LMR_TRY(lmr_track_bridge(t, &times, &count, &beats));
    if (!is_heart(&beats) || reliability < LARMOR_RELIABLE) {
        snprintf(s->report, sizeof s->report, "the ECG has no regular R waves (reliability %.2f)%s", reliability,
                 t->note);
        return LARMOR_OK;
    }
    snprintf(s->report, sizeof s->report, "R waves of the ECG%s", t->note);
    s->reliability = reliability;
    LMR_TRY(take_triggers(&times, count, &beats, heart));
    return show(t->x + (t->trigger == 0 ? t->count : 0), t->count, t->first, t->dt, s);
}

/* When the phase of a rhythm passes whole cycles, but for what is in longer gaps of the waveform t. */
static larmor_status whole_cycles(const lmr_track *t, const lmr_track *even, const lmr_found *found, double **times,
                                  int64_t *count)
{
    *count = 0;
    LMR_ALLOCATE_ZEROS(*times, even->count + 1);
    double next = ceil(found->phase[0]);
    for (int64_t i = 1; i < even->count; i++) {
        const double a = found->phase[i - 1], b = found->phase[i];
        if (!(b >= next)) continue;
        const double part = b > a ? (next - a) / (b - a) : 1;
        const double s = even->first + ((double)(i - 1) + fmin(fmax(part, 0), 1)) * even->dt;
        if (!lmr_track_lacks(t, s, LMR_MAX_GAP / found->hz, LMR_MAX_GAP / found->hz)) (*times)[(*count)++] = s;
        next = floor(b) + 1;
    }
    return LARMOR_OK;
}

static larmor_status by_pulse(const lmr_track *t, lmr_wave_rhythm *heart)
{
    LMR_FREED_BY(free_found) lmr_found found = {.hz = 0};
    lmr_track even;
    int64_t count;
    lmr_beats beats;
    larmor_gating_signal *s = &heart->shown;
    LMR_TRY(lmr_track_rhythm(t, &lmr_heart_band, &even, &found));
    if (!(found.hz > 0) || found.reliability < LARMOR_RELIABLE) {
        snprintf(s->report, sizeof s->report, "the pulse has no rhythm (reliability %.2f)%s", found.reliability,
                 t->note);
        return LARMOR_OK;
    }
    LMR_OWN_MEMORY(double, times, whole_cycles(t, &even, &found, &times, &count));
    LMR_TRY(lmr_track_bridge(t, &times, &count, &beats));
    if (!is_heart(&beats)) return LARMOR_OK;
    snprintf(s->report, sizeof s->report, "the pulse%s", t->note);
    s->reliability = found.reliability;
    LMR_TRY(take_triggers(&times, count, &beats, heart));
    return show(found.signal, even.count, even.first, even.dt, s);
}

larmor_status lmr_heart_of_waves(const larmor_raw *raw, uint32_t begin, double tick_ms, const double *seconds,
                                 int64_t readouts, lmr_wave_rhythm *heart)
{
    LMR_FREED_BY(lmr_track_free) lmr_track ecg = {.trigger = -1}, pulse = {.trigger = -1};
    LMR_TRY(lmr_track_read(raw, LARMOR_WAVEFORM_ECG, begin, tick_ms, &ecg));
    if (covers(&ecg, "ECG", seconds, readouts, &heart->shown)) {
        LMR_TRY(by_triggers(&ecg, "ECG", heart));
        if (!heart->shown.from) LMR_TRY(by_r_waves(&ecg, heart));
    }
    if (heart->shown.from) return LARMOR_OK;
    LMR_TRY(lmr_track_read(raw, LARMOR_WAVEFORM_PULSE, begin, tick_ms, &pulse));
    if (!covers(&pulse, "pulse", seconds, readouts, &heart->shown)) return LARMOR_OK;
    LMR_TRY(by_triggers(&pulse, "pulse", heart));
    return heart->shown.from ? LARMOR_OK : by_pulse(&pulse, heart);
}

larmor_status lmr_breath_of_waves(const larmor_raw *raw, uint32_t begin, double tick_ms, const double *seconds,
                                  int64_t readouts, lmr_wave_rhythm *breath)
{
    LMR_FREED_BY(lmr_track_free) lmr_track t = {.trigger = -1};
    LMR_FREED_BY(free_found) lmr_found found = {.hz = 0};
    lmr_track even;
    larmor_gating_signal *s = &breath->shown;
    LMR_TRY(lmr_track_read(raw, LARMOR_WAVEFORM_RESPIRATION, begin, tick_ms, &t));
    if (!covers(&t, "respiration", seconds, readouts, s)) return LARMOR_OK;
    LMR_TRY(lmr_track_rhythm(&t, &lmr_breath_band, &even, &found));
    if (!(found.hz > 0) || found.reliability < LARMOR_RELIABLE) {
        snprintf(s->report, sizeof s->report, "the respiration has no rhythm (reliability %.2f)%s", found.reliability,
                 t.note);
        return LARMOR_OK;
    }
    LMR_NEW_ZEROS(double, number, readouts + 1);
    breath->given = (lmr_given){number, readouts, 0, 0};
    int64_t known = 0;
    for (int64_t i = 0; i < readouts; i++) {
        number[i] = lmr_between(found.signal, even.count, (seconds[i] - even.first) / even.dt);
        if (lmr_track_lacks(&t, seconds[i], LMR_MAX_GAP / found.hz, 0)) number[i] = NAN;
        known += !isnan(number[i]);
    }
    snprintf(s->report, sizeof s->report, "the respiration%s", t.note);
    s->from = LARMOR_GATED_BY_WAVEFORM;
    s->rate = 60 * found.hz;
    s->reliability = found.reliability * (double)known / (double)readouts;
    return show(found.signal, even.count, even.first, even.dt, s);
}
