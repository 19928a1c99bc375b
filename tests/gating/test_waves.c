/* Bins by the waveforms of a file: ECG and respiration. SPDX-License-Identifier: Apache-2.0 */
#include "tests/gating/waves_file.h"

#include "gating/blocks.h"
#include "tests/support/difference.h"

enum { TR_MS = 20, HEART = 5, BREATH = 4 };

typedef struct subject {
    const char *trajectory;
    int64_t matrix[3];
    double snr, breaths, beats;
    uint64_t seed;
    larmor_phantom_waveforms waveforms;
} subject;

typedef struct scan {
    larmor_raw *raw;
    larmor_source *source;
    larmor_simulation *made;
    larmor_phantom_cycle breath, heart;
} scan;

static void end_scan(scan *s)
{
    larmor_source_free(s->source);
    larmor_raw_free(s->raw);
    larmor_simulation_free(s->made);
}

static larmor_phantom_cycle cycle_of(double rate, double size, uint64_t seed)
{
    return rate > 0 ? (larmor_phantom_cycle){rate, size, .03, seed} : (larmor_phantom_cycle){0};
}

static scan scan_of(const subject *u)
{
    scan s = {.breath = cycle_of(u->breaths, 20, 2 * u->seed), .heart = cycle_of(u->beats, .3, 2 * u->seed + 1)};
    const char *path = in_folder("scan.h5");
    larmor_simulation_opts opts = {.trajectory = u->trajectory,
                                   .traj = {.readouts = READOUTS},
                                   .coils = 2,
                                   .snr = u->snr,
                                   .seed = u->seed,
                                   .tr_ms = TR_MS,
                                   .breath = s.breath,
                                   .heart = s.heart,
                                   .waveforms = u->waveforms};
    memcpy(opts.traj.matrix, u->matrix, sizeof opts.traj.matrix);
    assert_ok(larmor_simulation_create(dev, &opts, &s.made));
    larmor_output *out = MADE(larmor_output, larmor_output_open(path, 1, &made));
    assert_ok(larmor_simulation_save(s.made, out));
    larmor_output_free(out);
    assert_ok(larmor_raw_open(path, NULL, &s.raw));
    assert_ok(larmor_source_of_raw(s.raw, path, &s.source));
    return s;
}

static larmor_gating_trace trace_of(const scan *s, larmor_gating_way way, larmor_bins_found *found)
{
    larmor_gating_trace trace = {.readouts = 0};
    const larmor_bins_opts opts = {.heart = s->heart.rate > 0 ? HEART : 0,
                                   .breath = s->breath.rate > 0 ? BREATH : 0,
                                   .way = way,
                                   .waveforms = s->raw,
                                   .trace = &trace};
    larmor_source *bins = MADE(larmor_source, larmor_source_of_bins(s->source, dev, &opts, found, &made));
    larmor_source_free(bins);
    assert_int_equal(trace.readouts, READOUTS);
    return trace;
}

/* The parts of the readouts in the bin of the true phase, and in that of the true shift or one beside it. */
static void compare(const scan *s, const larmor_gating_trace *t, double *heart, double *breath)
{
    double shift[READOUTS];
    *heart = *breath = 0;
    for (int i = 0; i < READOUTS; i++)
        shift[i] = pow(sin(M_PI * larmor_phantom_cycles(&s->breath, t->seconds[i])), 4);
    for (int i = 0; i < READOUTS; i++) {
        const double cycles = larmor_phantom_cycles(&s->heart, t->seconds[i]);
        int below = 0;
        for (int j = 0; j < READOUTS; j++) below += shift[j] < shift[i];
        const int bin = t->bin[i] < 0 ? -9 : t->bin[i] / HEART;
        *heart += (t->bin[i] >= 0 && t->bin[i] % HEART == (int)((cycles - floor(cycles)) * HEART)) / (double)READOUTS;
        *breath += (abs(bin - below * BREATH / READOUTS) <= (below * BREATH % READOUTS ? 0 : 1)) / (double)READOUTS;
    }
}

IN_FOLDER(bins_by_waveforms_are_those_of_the_true_cycles_over_trajectories_seeds_and_noise)
{
    static const subject subjects[] = {
        {"golden", {16, 16, 1}, 50, 14, 66, 11, LARMOR_WAVEFORMS_TRIGGERS},
        {"golden", {16, 16, 1}, .5, 9, 95, 12, LARMOR_WAVEFORMS_SIGNALS},
        {"spiral", {16, 16, 1}, 5, 20, 52, 13, LARMOR_WAVEFORMS_SIGNALS},
        {"koosh", {8, 8, 8}, 20, 12, 110, 14, LARMOR_WAVEFORMS_SIGNALS},
    };
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        double heart, breath;
        larmor_bins_found found;
        OWNED(scan) s = scan_of(&subjects[i]);
        OWNED(larmor_gating_trace) t = trace_of(&s, LARMOR_GATING_AUTO, &found);
        compare(&s, &t, &heart, &breath);
        const double beats = larmor_phantom_cycles(&s.heart, 30) * 2;
        if (getenv("SHOW")) printf("%zu: heart %.3f, breath %.3f: %s\n", i, heart, breath, found.heart_report);
        if (!(heart > .95 && breath > .85)) fail_msg("subject %zu: heart %.3f, breath %.3f", i, heart, breath);
        assert_true(fabs(found.heart_rate / beats - 1) < .02 && found.heart_reliable > .9);
        assert_true(found.heart_from == LARMOR_GATED_BY_WAVEFORM && found.breath_from == LARMOR_GATED_BY_WAVEFORM);
        assert_string_equal(found.heart_report, subjects[i].waveforms == LARMOR_WAVEFORMS_TRIGGERS
                                                    ? "the triggers of the ECG, channel 1"
                                                    : "R waves of the ECG");
        assert_string_equal(found.breath_report, "the respiration");
    }
}

IN_FOLDER(what_the_file_has_no_waveform_of_is_found_in_the_samples_or_refused)
{
    const subject u = {"golden", {16, 16, 1}, 50, 14, 66, 15, LARMOR_WAVEFORMS_NONE};
    OWNED(scan) s = scan_of(&u);
    larmor_bins_found found;
    larmor_source *bins;
    OWNED(larmor_gating_trace) t = trace_of(&s, LARMOR_GATING_AUTO, &found);
    assert_true(found.heart_from == LARMOR_GATED_BY_SAMPLES && found.breath_from == LARMOR_GATED_BY_SAMPLES);
    assert_true(t.heart.triggers > 25 && t.heart.triggers < 40 && t.breath.points == READOUTS && !t.breath.trigger);
    const larmor_bins_opts opts = {.heart = 2, .way = LARMOR_GATING_WAVEFORMS, .waveforms = s.raw};
    assert_refused(larmor_source_of_bins(s.source, dev, &opts, &found, &bins), LARMOR_ERR_ARG,
                   "bins: no waveform of the heart; the file has none.");
}

enum {
    NOTHING,
    SAID_TO_BE_OTHER,
    LATE,
    TWO_LATE,
    EARLY,
    LOST,
    TWICE,
    PAUSE,
    OF_TWO_CHANNELS,
    MIXED
}; /* what happens to a block */

typedef struct fault {
    int block, what;
    double drift; /* of the samples' clock: a second of theirs is 1 + drift of the stamps' */
} fault;

static void append(larmor_raw_writer *writer, larmor_waveform *block, const fault *f)
{
    if (f->what == LATE || f->what == TWO_LATE) block->time_stamp += 20000;
    if (f->what == EARLY) block->time_stamp -= 600;
    if (f->what == LOST) return;
    if (f->what == OF_TWO_CHANNELS) {
        block->channels = 2;
        block->samples /= 2;
    }
    assert_ok(larmor_raw_append_waveform(writer, block));
    if (f->what == TWICE) assert_ok(larmor_raw_append_waveform(writer, block));
}

/* A file whose waveforms are the caller's: a lead of an ECG and a belt from `first` s on for so many seconds. */
static larmor_raw *file_with(double first, int seconds, double (*ecg)(double s), double (*belt)(double s),
                             const fault *f)
{
    enum { HZ = 200 };
    static const fault none;
    const double drift = f ? f->drift : 0;
    const int is_other = f && f->what == SAID_TO_BE_OTHER;
    const larmor_waveform_info info[] = {{0, is_other ? LARMOR_WAVEFORM_OTHER : LARMOR_WAVEFORM_ECG, -1},
                                         {2, LARMOR_WAVEFORM_RESPIRATION, -1}};
    const char *path = in_folder("own.h5");
    const waves_file file = waves_file_begun(path, info, 2);
    for (int b = 0; b < seconds; b++) {
        uint32_t values[2][HZ];
        static const int of_four[] = {NOTHING, OF_TWO_CHANNELS, NOTHING, LATE};
        const double pause = f && f->what == PAUSE && b >= f->block ? .045 : 0;
        const double at = first + b * (1 + drift) + pause;
        const fault mixed = {b, of_four[b % 4], 0};
        const int is_here = f && (f->block == b || (f->what == TWO_LATE && f->block + 1 == b));
        for (int i = 0; i < HZ; i++) {
            values[0][i] = (uint32_t)(int32_t)lround(ecg(at + i * (1 + drift) / HZ));
            values[1][i] = (uint32_t)(int32_t)lround(belt(at + i * (1 + drift) / HZ));
        }
        for (int w = 0; w < 2; w++) {
            larmor_waveform block = {.id = 2 * w,
                                     .channels = 1,
                                     .samples = HZ,
                                     .time_stamp = (uint32_t)lround(40000 + 400 * at),
                                     .sample_us = 1e6 / HZ,
                                     .data = values[w]};
            if (f && f->what == MIXED && b % 4 == 3) block.sample_us *= 2;
            const fault *own = is_here ? f : &none;
            append(file.writer, &block, f && f->what == MIXED ? &mixed : own);
        }
    }
    larmor_raw *raw = waves_file_read(file, path);
    if (!f) assert_int_equal(larmor_raw_waveforms(raw), 2 * seconds);
    return raw;
}

/* A beat each .8 s, at .3 s first, of a lead upside down about 0, with a T wave. */
static double beats(double s)
{
    const double u = remainder(s - .3, .8);
    return -900 * exp(-u * u / (2 * .012 * .012)) - 250 * exp(-(u - .25) * (u - .25) / (2 * .04 * .04));
}

static double noise(double s)
{
    return 1000 * fmod(fabs(sin(12.9898 * s) * 43758.5453), 1);
}

static double breaths(double s)
{
    return 500 * cos(2 * M_PI * s / 4);
}

IN_FOLDER(r_waves_of_an_inverted_lead_are_found_where_they_are_and_t_waves_are_none)
{
    OWNED(larmor_raw) *raw = file_with(-1, 32, beats, breaths, NULL);
    OWNED(larmor_source) *source = NULL, *bins = NULL;
    OWNED(larmor_gating_trace) t;
    larmor_bins_found found;
    assert_ok(larmor_source_of_raw(raw, "own.h5", &source));
    const larmor_bins_opts opts = {
        .heart = 4, .breath = 2, .way = LARMOR_GATING_WAVEFORMS, .waveforms = raw, .trace = &t};
    assert_ok(larmor_source_of_bins(source, dev, &opts, &found, &bins));
    assert_true(t.heart.triggers == 40 && found.heart_reliable > .95 && fabs(found.heart_rate - 75) < .1);
    for (int i = 0; i < 40; i++) assert_true(fabs(t.heart.trigger[i] - (.3 + .8 * (i - 1))) < .011);
    for (int i = 50; i < READOUTS - 50; i++) { /* by the belt, away from where it is at its median */
        const double s = .02 * i, wave = cos(2 * M_PI * s / 4);
        if (fabs(wave) > .3) assert_int_equal(t.bin[i] / 4 == t.bin[200] / 4, wave > 0); /* readout 200: it is 1 */
    }
}

IN_FOLDER(r_waves_are_where_they_are_though_a_block_is_lost_repeated_or_other_its_stamp_wrong_or_a_clock_drifts)
{
    static const struct {
        fault fault;
        const char *report;
    } scene[] = {
        {{10, LATE, 0}, "R waves of the ECG; 1 block with a stray stamp"},
        {{10, EARLY, 0}, "R waves of the ECG; 1 block with a stray stamp"},
        {{31, LATE, 0}, "R waves of the ECG; 1 block with a stray stamp"},
        {{0, TWO_LATE, 0}, "R waves of the ECG; 2 blocks with a stray stamp"},
        {{12, TWO_LATE, 0}, "R waves of the ECG; 2 blocks with a stray stamp"},
        {{30, TWO_LATE, 0}, "R waves of the ECG; 2 blocks with a stray stamp"},
        {{10, PAUSE, 0}, "R waves of the ECG; 0.0"},
        {{16, PAUSE, 0}, "R waves of the ECG; 0.0"},
        {{15, LOST, 0}, "R waves of the ECG; 1.00 s missing"},
        {{15, TWICE, 0}, "R waves of the ECG; 1 block repeated"},
        {{0, OF_TWO_CHANNELS, 0}, "R waves of the ECG; 1 block unlike the rest"},
        {{15, OF_TWO_CHANNELS, 0}, "R waves of the ECG; 1 block unlike the rest; 1.00 s missing"},
        {{-1, NOTHING, 1.5e-3}, "R waves of the ECG; clock +1"},
        {{-1, NOTHING, -1.5e-3}, "R waves of the ECG; clock -1"},
    };
    for (size_t k = 0; k < sizeof scene / sizeof *scene; k++) {
        OWNED(larmor_raw) *raw = file_with(-1, 32, beats, breaths, &scene[k].fault);
        OWNED(larmor_source) *source = NULL, *bins = NULL;
        OWNED(larmor_gating_trace) t;
        larmor_bins_found found;
        assert_ok(larmor_source_of_raw(raw, "own.h5", &source));
        const larmor_bins_opts opts = {.heart = 4, .way = LARMOR_GATING_WAVEFORMS, .waveforms = raw, .trace = &t};
        assert_ok(larmor_source_of_bins(source, dev, &opts, &found, &bins));
        const int is_begin = scene[k].fault.drift != 0 || scene[k].fault.what == PAUSE;
        if (is_begin ? strncmp(found.heart_report, scene[k].report, strlen(scene[k].report)) != 0
                     : strcmp(found.heart_report, scene[k].report) != 0)
            fail_msg("scene %zu: %s, expected %s", k, found.heart_report, scene[k].report);
        assert_true(t.heart.triggers >= 37 && t.heart.triggers <= 40);
        for (int i = 0; i < t.heart.triggers; i++) {
            const double off = remainder(t.heart.trigger[i] - .3, .8);
            if (!(fabs(off) < .011)) fail_msg("scene %zu: %g s off at %g s", k, off, t.heart.trigger[i]);
        }
    }
}

IN_FOLDER(blocks_of_the_layout_that_most_samples_have_are_placed_though_they_are_less_than_all_others)
{
    const fault mixed = {-1, MIXED, 0};
    OWNED(larmor_raw) *raw = file_with(-1, 32, beats, breaths, &mixed);
    lmr_blocks b;
    assert_ok(lmr_blocks_place(raw, LARMOR_WAVEFORM_ECG, 2.5, &b));
    assert_true(b.count == 16 && b.other == 16 && b.filled == 16 * 200 && b.block[1].at == 400);
    lmr_blocks_free(&b);
}

IN_FOLDER(a_waveform_that_the_header_says_is_something_else_is_no_ecg_though_its_number_is)
{
    const fault other = {-1, SAID_TO_BE_OTHER, 0};
    OWNED(larmor_raw) *raw = file_with(-1, 32, beats, breaths, &other);
    OWNED(larmor_source) *source = NULL;
    larmor_source *none;
    larmor_bins_found found;
    assert_ok(larmor_source_of_raw(raw, "own.h5", &source));
    const larmor_bins_opts opts = {.heart = 2, .way = LARMOR_GATING_WAVEFORMS, .waveforms = raw};
    assert_refused(larmor_source_of_bins(source, dev, &opts, &found, &none), LARMOR_ERR_ARG,
                   "bins: no waveform of the heart; the file has none.");
}

IN_FOLDER(waveforms_that_end_early_or_have_no_rhythm_are_not_used_and_the_reason_is_said)
{
    larmor_bins_found found;
    larmor_source *none;
    for (int early = 0; early < 2; early++) {
        OWNED(larmor_raw) *raw = file_with(0, early ? 20 : 31, early ? beats : noise, early ? breaths : noise, NULL);
        OWNED(larmor_source) *source = NULL;
        assert_ok(larmor_source_of_raw(raw, "own.h5", &source));
        larmor_bins_opts opts = {.heart = 2, .way = LARMOR_GATING_WAVEFORMS, .waveforms = raw};
        assert_refused(larmor_source_of_bins(source, dev, &opts, &found, &none), LARMOR_ERR_ARG,
                       early ? "bins: no waveform of the heart; the ECG is from 0.0 to 20.0 s, the readouts from 0.0 "
                               "to 30.0 s."
                             : "bins: no waveform of the heart; the ECG has no regular R waves (reliability 0.0");
        opts = (larmor_bins_opts){.breath = 2, .way = LARMOR_GATING_WAVEFORMS, .waveforms = raw};
        assert_refused(larmor_source_of_bins(source, dev, &opts, &found, &none), LARMOR_ERR_ARG,
                       early ? "bins: no waveform of the breath; the respiration is from 0.0 to 20.0 s, the readouts "
                               "from 0.0 to 30.0 s."
                             : "bins: no waveform of the breath; the respiration has no rhythm (reliability 0.0");
    }
}

static int count_of(const char *text, const char *what)
{
    int count = 0;
    for (const char *p = text; (p = strstr(p, what)); p++) count++;
    return count;
}

IN_FOLDER(a_drawing_has_each_trigger_and_each_readout_and_goes_to_svg_alone)
{
    OWNED(larmor_raw) *raw = file_with(-1, 32, beats, breaths, NULL);
    OWNED(larmor_source) *source = NULL, *bins = NULL;
    larmor_gating_trace t;
    larmor_bins_found found;
    larmor_output *out;
    size_t bytes;
    const char *path = in_folder("gating.svg");
    assert_ok(larmor_source_of_raw(raw, "own.h5", &source));
    const larmor_bins_opts opts = {.heart = 4, .breath = 2, .way = LARMOR_GATING_AUTO, .waveforms = raw, .trace = &t};
    assert_ok(larmor_source_of_bins(source, dev, &opts, &found, &bins));
    assert_refused(larmor_drawing_open(in_folder("gating.png"), 0, &out), LARMOR_ERR_ARG,
                   "gating.png: a drawing is written to .svg");
    assert_ok(larmor_drawing_open(path, 0, &out));
    assert_ok(larmor_gating_draw(out, &t));
    larmor_output_free(out);
    HEAP char *text = (char *)get_file(path, &bytes);
    text[bytes - 1] = 0;
    assert_int_equal(count_of(text, "<circle"), READOUTS);
    assert_int_equal(count_of(text, "<line"), 38); /* those of 0 to 29.98 s, from .3 on each .8 */
    assert_non_null(strstr(text, "heart: R waves of the ECG, 75.0 a minute, reliability "));
    assert_non_null(strstr(text, "breath: the respiration, "));
    larmor_gating_trace_free(&t);
    assert_ok(larmor_drawing_open(in_folder("none.svg"), 0, &out));
    assert_refused(larmor_gating_draw(out, &t), LARMOR_ERR_ARG, "gating: there are no bins to draw");
    larmor_output_free(out);
    assert_false(is_there(in_folder("none.svg")));
}

/* By cg, each by itself. */
static larmor_recon *recon_of(larmor_source *source, larmor_array *maps)
{
    const larmor_recon_opts opts = OPTS(.method = "cg", .maps = maps);
    return MADE(larmor_recon, larmor_recon_create(source, dev, &opts, &made));
}

IN_FOLDER(images_of_bins_are_nearer_to_the_true_states_than_the_static_image_over_trajectories_seeds_and_noise)
{
    static const subject subjects[] = {
        {"golden", {16, 16, 1}, 30, 14, 66, 21, LARMOR_WAVEFORMS_TRIGGERS},
        {"golden", {16, 16, 1}, 10, 11, 80, 22, LARMOR_WAVEFORMS_SIGNALS},
        {"phyllotaxis", {12, 12, 12}, 30, 17, 60, 23, LARMOR_WAVEFORMS_SIGNALS},
    };
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        OWNED(scan) s = scan_of(&subjects[i]);
        OWNED(larmor_source) *bins = NULL;
        OWNED(larmor_array) *maps = NULL;
        larmor_image_meta meta;
        const int64_t matrix[3] = {0};
        const larmor_bins_opts opts = {.heart = 3, .breath = 3, .way = LARMOR_GATING_AUTO, .waveforms = s.raw};
        assert_ok(larmor_source_of_bins(s.source, dev, &opts, NULL, &bins));
        assert_ok(larmor_simulation_maps(s.made, matrix, &maps, &meta));
        OWN(larmor_expected, truth, larmor_simulation_states(s.made, 3, 3, &truth));
        OWNED(larmor_recon) *of_bins = recon_of(bins, maps), *of_all = recon_of(s.source, maps);
        larmor_recon_result r;
        OWN(larmor_recon_result, whole, larmor_recon_run(of_all, 0, &whole));
        assert_true(truth.count == 9 && larmor_recon_series(of_bins) == 9);
        double own = 0, all = 0;
        for (int b = 0; b < 9; b++) {
            assert_ok(larmor_recon_run(of_bins, b, &r));
            assert_true(truth.image[b].meta.phase == r.image[0].meta.phase);
            assert_true(truth.image[b].meta.repetition == r.image[0].meta.repetition);
            own += difference(r.image[0].data, truth.image[b].data) / 9;
            all += difference(whole.image[0].data, truth.image[b].data) / 9;
            larmor_recon_result_free(&r);
        }
        if (getenv("SHOW")) printf("%zu: %.3f of %.3f\n", i, own, all);
        const double least = subjects[i].matrix[2] > 1 ? 1.05 : 1.5; /* in space a voxel is as large as the breath */
        if (!(least * own < all)) fail_msg("subject %zu: %g, the static image %g", i, own, all);
    }
}

/* By the method that the library takes. */
static larmor_recon *open_recon(larmor_source *source, larmor_array *maps, int64_t memory)
{
    const larmor_recon_opts opts = OPTS(.maps = maps, .memory = memory);
    return MADE(larmor_recon, larmor_recon_create(source, dev, &opts, &made));
}

static larmor_source *bins_of(const scan *s)
{
    const larmor_bins_opts opts = {.heart = 3, .breath = 3, .way = LARMOR_GATING_AUTO, .waveforms = s->raw};
    return MADE(larmor_source, larmor_source_of_bins(s->source, dev, &opts, NULL, &made));
}

IN_FOLDER(each_bin_is_nearer_to_its_state_than_the_static_image_also_where_it_lacks_arms_that_come_in_turn)
{
    static const struct {
        subject u;
        double most; /* of the mean error, over that of the static image */
    } scene[] = {
        {{"golden", {16, 16, 1}, 20, 14, 66, 31, LARMOR_WAVEFORMS_TRIGGERS}, .6},
        {{"spiral", {16, 16, 1}, 20, 14, 66, 32, LARMOR_WAVEFORMS_TRIGGERS}, .8},
        {{"spiral", {16, 16, 1}, 5, 11, 80, 33, LARMOR_WAVEFORMS_TRIGGERS}, .8},
        {{"phyllotaxis", {12, 12, 12}, 20, 17, 60, 34, LARMOR_WAVEFORMS_TRIGGERS}, .9},
    };
    for (size_t i = 0; i < sizeof scene / sizeof *scene; i++) {
        OWNED(scan) s = scan_of(&scene[i].u);
        OWNED(larmor_source) *bins = bins_of(&s);
        OWNED(larmor_array) *maps = NULL;
        larmor_image_meta meta;
        const int64_t matrix[3] = {0};
        assert_ok(larmor_simulation_maps(s.made, matrix, &maps, &meta));
        OWN(larmor_expected, truth, larmor_simulation_states(s.made, 3, 3, &truth));
        OWNED(larmor_recon) *joint = open_recon(bins, maps, 0), *of_all = recon_of(s.source, maps);
        OWN(larmor_recon_result, whole, larmor_recon_run(of_all, 0, &whole));
        assert_int_equal(larmor_recon_series(joint), 1);
        OWN(larmor_recon_result, r, larmor_recon_run(joint, 0, &r));
        assert_int_equal(r.count, 9);
        assert_string_equal(r.report.method.name,
                            scene[i].u.matrix[2] > 1 ? "tv:xyz+tv:h=1+tv:b=1" : "tv:xy+tv:h=1+tv:b=1");
        assert_int_equal(r.report.method.from, LARMOR_METHOD_FROM_BINS);
        double own = 0, all = 0;
        for (int b = 0; b < 9; b++) {
            const double e = difference(r.image[b].data, truth.image[b].data);
            const double still = difference(whole.image[0].data, truth.image[b].data);
            if (getenv("SHOW"))
                printf("scene %zu bin %d: %.3f of %.3f\n", i, b, e, still);
            else if (!(e < still))
                fail_msg("scene %zu, bin %d: %g, the static image %g", i, b, e, still);
            own += e / 9;
            all += still / 9;
        }
        if (getenv("SHOW"))
            printf("scene %zu: %.3f of %.3f\n", i, own, all);
        else if (!(own < scene[i].most * all))
            fail_msg("scene %zu: %g, the static image %g", i, own, all);
    }
}

IN_FOLDER(bins_are_one_series_only_where_no_method_is_named_all_of_them_are_there_and_they_fit)
{
    static const subject u = {"golden", {16, 16, 1}, 20, 14, 66, 35, LARMOR_WAVEFORMS_TRIGGERS};
    const larmor_counters first = {.slice = -1, .contrast = -1, .phase = 0, .repetition = -1, .set = -1};
    OWNED(scan) s = scan_of(&u);
    OWNED(larmor_source) *bins = bins_of(&s);
    OWNED(larmor_array) *maps = NULL;
    larmor_image_meta meta;
    assert_ok(larmor_simulation_maps(s.made, (int64_t[3]){0}, &maps, &meta));
    OWNED(larmor_recon) *named = recon_of(bins, maps), *small = open_recon(bins, maps, 2 << 20), *some = NULL;
    assert_int_equal(larmor_recon_series(named), 9);
    assert_int_equal(larmor_recon_series(small), 9);
    const larmor_recon_opts opts = OPTS(.maps = maps, .only = &first);
    assert_ok(larmor_recon_create(bins, dev, &opts, &some));
    assert_int_equal(larmor_recon_series(some), 3);
    OWNED(larmor_recon) *sets = NULL;
    const larmor_recon_opts two = OPTS(.maps_method = "espirit", .map_sets = 2);
    assert_ok(larmor_recon_create(bins, dev, &two, &sets));
    assert_int_equal(larmor_recon_series(sets), 9);
}

/* Between all bins in one series and each by itself. */
IN_FOLDER(where_all_bins_do_not_fit_those_of_each_state_of_the_breath_are_a_series)
{
    static const subject u = {"golden", {16, 16, 1}, 20, 14, 66, 36, LARMOR_WAVEFORMS_TRIGGERS};
    OWNED(scan) s = scan_of(&u);
    OWNED(larmor_source) *bins = bins_of(&s);
    OWNED(larmor_array) *maps = NULL;
    larmor_image_meta meta;
    larmor_recon_plan plan;
    int before = 1, split = 0;
    assert_ok(larmor_simulation_maps(s.made, (int64_t[3]){0}, &maps, &meta));
    for (int64_t memory = 16 << 20; before < 9; memory -= memory / 8) {
        OWNED(larmor_recon) *recon = open_recon(bins, maps, memory);
        const int series = larmor_recon_series(recon);
        assert_true(series == 1 || series == 3 || series == 9);
        assert_true(series >= before);
        before = series;
        if (series != 3) continue;
        split++;
        assert_ok(larmor_recon_describe(recon, 2, &plan));
        assert_string_equal(plan.method, "tv:xy+tv:h=1");
        assert_int_equal(plan.images, 3);
        assert_int_equal(plan.first.repetition, 2);
        assert_true(plan.bytes <= memory);
        if (split > 1) continue;
        OWN(larmor_recon_result, r, larmor_recon_run(recon, 2, &r));
        assert_int_equal(r.count, 3);
    }
    assert_true(split > 0);
}

TEST(states_are_those_of_an_object_that_has_them_and_their_mean_is_the_object)
{
    OWNED(larmor_expected) truth;
    OWNED(larmor_simulation) *still = NULL, *beating = NULL;
    larmor_simulation_opts opts = {.traj = {.matrix = {16, 16}, .readouts = 400}, .tr_ms = 20};
    assert_ok(larmor_simulation_create(dev, &opts, &still));
    assert_refused(larmor_simulation_states(still, 2, 0, &truth), LARMOR_ERR_ARG,
                   "simulation: got bins of an object without breath and heart, expected one repetition with");
    opts.heart = (larmor_phantom_cycle){60, .6, 0, 1};
    assert_ok(larmor_simulation_create(dev, &opts, &beating));
    assert_refused(larmor_simulation_states(beating, 0, 0, &truth), LARMOR_ERR_ARG,
                   "simulation: got 0 bins of the heart and 0 of the breath, expected 1 to 65535");
    assert_ok(larmor_simulation_states(beating, 4, 0, &truth));
    assert_int_equal(truth.count, 4); /* sin^2: the outer quarters are alike, and so are the middle ones */
    assert_true(difference(truth.image[0].data, truth.image[3].data) < .01);
    assert_true(difference(truth.image[1].data, truth.image[2].data) < .01);
    assert_true(difference(truth.image[0].data, truth.image[1].data) > .03);
}
