/* The waveforms of an object that breathes and whose heart beats. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "phantoms/scan/simulation.h"

#define TICK_MS 2.5
#define NOON_MS 43200000.0 /* of the clock at the first readout, as larmor_raw_append_arrays has it */
#define AFTER_S 1.0        /* how long waveforms go on after the last readout */
#define MIDDLE 2048.0      /* of a converter of 12 bits */
#define NOISE 20.0         /* its standard deviation */
#define R_WAVE 800.0
#define DRIFT 100.0 /* of the ECG with the breath */
#define BELT 1000.0 /* of the breath */

enum { ECG_US = 2500, BELT_US = 20000, BLOCK_S = 1, MOST_OF_BLOCK = 1000000 / ECG_US };
enum { ECG_SEED = 0x656367, BELT_SEED = 0x62656c74 };

static int has_ecg(const larmor_simulation *s)
{
    return s->o.waveforms && s->o.heart.rate > 0;
}

static int has_belt(const larmor_simulation *s)
{
    return s->o.waveforms && s->o.breath.rate > 0;
}

int lmr_simulation_waveforms(const larmor_simulation *s, larmor_waveform_info info[2])
{
    int count = 0;
    const int trigger = s->o.waveforms == LARMOR_WAVEFORMS_TRIGGERS ? 1 : -1;
    if (has_ecg(s)) info[count++] = (larmor_waveform_info){0, LARMOR_WAVEFORM_ECG, trigger};
    if (has_belt(s)) info[count++] = (larmor_waveform_info){2, LARMOR_WAVEFORM_RESPIRATION, -1};
    return count;
}

static double bell(double t, double at, double width)
{
    return exp(-0.5 * (t - at) * (t - at) / (width * width));
}

static double noise_at(uint64_t seed, int64_t i)
{
    const double u = lmr_random_uniform(seed, 2 * (uint64_t)i), v = lmr_random_uniform(seed, 2 * (uint64_t)i + 1);
    return NOISE * sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static double belt_at(const larmor_simulation *s, double seconds)
{
    return pow(sin(M_PI * larmor_phantom_cycles(&s->o.breath, seconds)), 4);
}

/* Waves P, R, S and T about where a cycle begins. */
static double ecg_at(const larmor_simulation *s, double seconds)
{
    const double cycles = larmor_phantom_cycles(&s->o.heart, seconds), part = cycles - floor(cycles);
    const double after = 60 * part / s->o.heart.rate, before = 60 * (part - 1) / s->o.heart.rate;
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        const double t = i ? before : after;
        sum += bell(t, 0, 0.01) - 0.25 * bell(t, 0.03, 0.01);
        sum += 0.25 * bell(t, 0.28, 0.04) + 0.1 * bell(t, -0.16, 0.02);
    }
    return R_WAVE * sum;
}

static uint32_t to_number(double x)
{
    return (uint32_t)lround(fmin(fmax(MIDDLE + x, 0), 2 * MIDDLE - 1));
}

static void fill_ecg(const larmor_simulation *s, int64_t first, int count, uint32_t *to)
{
    const double dt = 1e-6 * ECG_US;
    for (int i = 0; i < count; i++) {
        const double now = dt * (double)(first + i);
        const double drift = has_belt(s) ? DRIFT * belt_at(s, now) : 0;
        to[i] = to_number(ecg_at(s, now) + drift + noise_at(s->o.seed + ECG_SEED, first + i));
        to[count + i] = first + i > 0 && floor(larmor_phantom_cycles(&s->o.heart, now)) >
                                             floor(larmor_phantom_cycles(&s->o.heart, now - dt));
    }
}

static void fill_belt(const larmor_simulation *s, int64_t first, int count, uint32_t *to)
{
    for (int i = 0; i < count; i++)
        to[i] = to_number(BELT * (belt_at(s, 1e-6 * BELT_US * (double)(first + i)) - 0.5) +
                          noise_at(s->o.seed + BELT_SEED, first + i));
}

larmor_status lmr_simulation_append_waves(const larmor_simulation *s, larmor_raw_writer *writer)
{
    LMR_HEAP uint32_t *data = calloc(2 * MOST_OF_BLOCK, sizeof *data);
    const double seconds = 1e-3 * s->o.tr_ms * (double)(s->info.readouts * s->info.repetitions) + AFTER_S;
    const int channels = s->o.waveforms == LARMOR_WAVEFORMS_TRIGGERS ? 2 : 1;
    if (!data) return LMR_NO_MEMORY();
    for (int64_t second = 0; (double)second < seconds && (has_ecg(s) || has_belt(s)); second += BLOCK_S) {
        larmor_waveform w = {.id = 0, .channels = channels, .samples = 1000000 / ECG_US, .sample_us = ECG_US};
        w.time_stamp = (uint32_t)((NOON_MS + 1e3 * (double)second) / TICK_MS);
        w.data = data;
        LMR_TRY(lmr_go_on());
        if (has_ecg(s)) {
            fill_ecg(s, second * w.samples, w.samples, data);
            LMR_TRY(larmor_raw_append_waveform(writer, &w));
        }
        w.id = 2;
        w.channels = 1;
        w.samples = 1000000 / BELT_US;
        w.sample_us = BELT_US;
        if (!has_belt(s)) continue;
        fill_belt(s, second * w.samples, w.samples, data);
        LMR_TRY(larmor_raw_append_waveform(writer, &w));
    }
    return LARMOR_OK;
}
