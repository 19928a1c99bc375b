/* Waveforms of which blocks are lost: rate, bins, reliability and warnings. SPDX-License-Identifier: Apache-2.0 */
#include "tests/gating/waves_file.h"

#include "gating/waves.h"

enum { SECONDS = 32, HZ = 200, BINS = 4 };

typedef enum wave { R_WAVES, TRIGGERS, PULSE, BELT, WAVES } wave;

/* Cycles of a heart of 75 a minute whose rate goes up and down by 6 %. */
static double heart_cycles(double s)
{
    return (s - .3) / .8 + .12 * sin(2 * M_PI * s / 10);
}

static double value_at(wave w, double s)
{
    const double cycles = heart_cycles(s), u = .8 * remainder(cycles, 1);
    if (w == BELT) return 500 * cos(2 * M_PI * s / 4);
    if (w == PULSE) return 500 * cos(2 * M_PI * cycles) + 150 * cos(4 * M_PI * cycles);
    if (w == TRIGGERS) return cycles - floor(cycles) < .3;
    return -900 * exp(-u * u / (2 * .012 * .012)) - 250 * exp(-(u - .25) * (u - .25) / (2 * .04 * .04));
}

/* Blocks of so many samples from -1 s on, but those that `lost` has a bit of in each second. */
static void append_blocks(larmor_raw_writer *writer, wave w, int samples, uint64_t lost)
{
    for (int b = 0; b < SECONDS * HZ / samples; b++) {
        uint32_t values[HZ];
        const double at = -1 + (double)b * samples / HZ;
        if (lost >> (int)floor(at + 1) & 1) continue;
        for (int i = 0; i < samples; i++) values[i] = (uint32_t)(int32_t)lround(value_at(w, at + (double)i / HZ));
        const larmor_waveform block = {.id = w == BELT ? 2 : w == PULSE,
                                       .channels = 1,
                                       .samples = samples,
                                       .time_stamp = (uint32_t)lround(40000 + 400 * at),
                                       .sample_us = 1e6 / HZ,
                                       .data = values};
        assert_ok(larmor_raw_append_waveform(writer, &block));
    }
}

static larmor_raw *file_with(wave w, int samples, uint64_t lost)
{
    const larmor_waveform_info info[] = {{0, LARMOR_WAVEFORM_ECG, w == TRIGGERS ? 0 : -1},
                                         {1, LARMOR_WAVEFORM_PULSE, -1},
                                         {2, LARMOR_WAVEFORM_RESPIRATION, -1}};
    const char *path = in_folder("gaps.h5");
    const waves_file f = waves_file_begun(path, info, 3);
    append_blocks(f.writer, w, samples, lost);
    return waves_file_read(f, path);
}

typedef struct verdict {
    double left_out,
        wrong; /* parts of the readouts: in no bin, and of the others those in another one than the truth's */
    double rate, reliable; /* rate: over the true one */
    int lines, warnings;   /* that say what is left out */
} verdict;

static void compare_bins(const larmor_gating_trace *t, wave w, verdict *v)
{
    int in = 0, off = 0, judged = 0;
    for (int i = 0; i < READOUTS; i++) {
        const double belt = cos(2 * M_PI * .02 * i / 4);
        const double turned = w == PULSE ? .12 : 0; /* where it is highest */
        const double phase = heart_cycles(.02 * i) - turned, bin = BINS * (phase - floor(phase));
        if (t->bin[i] < 0) continue;
        in++;
        if (w == BELT && fabs(belt) < .3) continue; /* near its median */
        judged++;
        if (w == BELT) /* which of the bins is the higher one is open */
            off += t->bin[i] != (belt > 0);
        else
            off += fabs(remainder(t->bin[i] + .5 - bin, BINS)) > (w == PULSE ? 1 : .6);
    }
    v->left_out = 1 - (double)in / READOUTS;
    v->wrong = (double)off / judged;
    if (w == BELT) v->wrong = fmin(v->wrong, 1 - v->wrong);
}

static void count_lines(const larmor_bins_found *found, verdict *v)
{
    char line[512];
    int is_warning;
    for (int i = 0; larmor_gating_line(found, i, line, sizeof line, &is_warning); i++) {
        const int is_ours =
            strstr(line, " of 1500 readouts are left out: triggers or a part of the waveform") != NULL;
        v->lines += is_ours;
        v->warnings += is_ours && is_warning;
    }
}

static verdict judge(wave w, int samples, uint64_t lost)
{
    OWNED(larmor_raw) *raw = file_with(w, samples, lost);
    OWNED(larmor_source) *source = NULL, *bins = NULL;
    OWNED(larmor_gating_trace) t;
    larmor_bins_found found;
    verdict v = {.lines = 0};
    const larmor_bins_opts opts = {.heart = w == BELT ? 0 : BINS,
                                   .breath = w == BELT ? 2 : 0,
                                   .way = LARMOR_GATING_WAVEFORMS,
                                   .waveforms = raw,
                                   .trace = &t};
    assert_ok(larmor_source_of_raw(raw, "gaps.h5", &source));
    assert_ok(larmor_source_of_bins(source, dev, &opts, &found, &bins));
    compare_bins(&t, w, &v);
    count_lines(&found, &v);
    v.rate = w == BELT ? found.breath_rate / 15 : found.heart_rate / 75;
    v.reliable = w == BELT ? found.breath_reliable : found.heart_reliable;
    if (getenv("SHOW"))
        printf(
            "%d, blocks of %d, lost %08llx: rate %.4f, %.3f left out, %.4f wrong, reliability %.2f, %d of %d: %s\n",
            w, samples, (unsigned long long)lost, v.rate, v.left_out, v.wrong, v.reliable, v.warnings, v.lines,
            w == BELT ? found.breath_report : found.heart_report);
    return v;
}

IN_FOLDER(gaps_of_a_second_change_neither_rate_nor_bins_and_beats_in_them_are_put_in)
{
    static const uint64_t lost[] = {0, 0x10, 0x24924924, 0x08844210};
    for (size_t k = 0; k < sizeof lost / sizeof *lost; k++)
        for (wave w = 0; w < WAVES; w++) {
            const verdict v = judge(w, k % 2 ? 20 : HZ, lost[k]);
            const int is_right = fabs(v.rate - 1) < .012 && v.wrong < .02 && v.left_out == 0 && v.lines == 0;
            if (!is_right || v.reliable < (w == PULSE ? .5 : .9))
                fail_msg("wave %d, lost %zu: rate %g, %g left out, %g wrong, reliability %g", w, k, v.rate,
                         v.left_out, v.wrong, v.reliable);
        }
}

IN_FOLDER(readouts_in_long_gaps_are_left_out_with_a_warning_and_a_lower_reliability)
{
    static const struct {
        uint64_t lost;
        double least, most;
    } scene[] = {{0x000ffc00, .3, .37}, {0x07f0fe0c, .5, .6}};
    for (size_t k = 0; k < 2; k++)
        for (wave w = 0; w < WAVES; w++) {
            const verdict v = judge(w, k % 2 ? 20 : HZ, scene[k].lost);
            const int is_right = fabs(v.rate - 1) < .05 && v.wrong < .06 && v.lines == 1 && v.warnings == 1;
            if (!is_right || v.left_out < scene[k].least || v.left_out > scene[k].most ||
                v.reliable > 1.05 * (1 - v.left_out))
                fail_msg("wave %d, lost %zu: rate %g, %g left out, %g wrong, reliability %g, lines %d, warnings %d",
                         w, k, v.rate, v.left_out, v.wrong, v.reliable, v.lines, v.warnings);
        }
}

/* ---- noise ---- */

#define BEAT_S .8
enum { NOISY_HZ = 400, LEADS = 3, SAMPLES = 40 * NOISY_HZ };

/* Leads of R waves of 1, .6 and -.4, and T waves of a quarter, with normal noise, a beat each BEAT_S. */
static lmr_track noisy_leads(double beat, double noise, uint64_t seed)
{
    lmr_track t = {.channels = LEADS, .count = SAMPLES, .dt = 1. / NOISY_HZ, .trigger = -1};
    const double size[LEADS] = {1, .6, -.4};
    t.x = calloc((size_t)LEADS * SAMPLES, sizeof *t.x);
    assert_non_null(t.x);
    for (int c = 0; c < LEADS; c++)
        for (int i = 0; i < SAMPLES; i++) {
            const double u = BEAT_S * remainder(i * t.dt / BEAT_S, 1);
            const double shape = exp(-pow(u / .012, 2)) + .25 * exp(-pow((u - .28) / .05, 2));
            double sum = 0;
            for (int k = 0; k < 12; k++) sum += test_random(&seed) / 2;
            t.x[c * SAMPLES + i] = beat * size[c] * shape + noise * sum;
        }
    return t;
}

TEST(beats_are_found_in_noise_of_a_fifth_of_the_r_wave_and_none_in_noise_alone)
{
    const double noise[] = {.02, .15, .2};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        for (int n = 0; n < 4; n++) {
            lmr_track t = noisy_leads(n < 3, noise[n % 3], seed);
            HEAP double *times = NULL;
            int64_t count;
            double reliability;
            assert_ok(lmr_track_r_waves(&t, &times, &count, &reliability));
            if (getenv("SHOW")) printf("noise %g: %lld, %.3f\n", noise[n % 3], (long long)count, reliability);
            lmr_track_free(&t);
            if (n == 3) assert_true(reliability == 0);
            if (n == 3) continue;
            assert_true(count >= 49 && count <= 51);
            for (int64_t i = 0; i < count; i++) assert_true(fabs(BEAT_S * remainder(times[i] / BEAT_S, 1)) < .05);
            assert_true(reliability > .9 - 2 * noise[n]);
        }
    }
}
