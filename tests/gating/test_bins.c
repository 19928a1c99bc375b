/* gating/bins.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/difference.h"

enum { N = 32, COILS = 4, READOUTS = 1600, TICKS = 8 /* of 2.5 ms */ };

static const double tr = 1e-3 * 2.5 * TICKS;

typedef struct scan {
    larmor_array *kspace, *traj, *maps;
    larmor_stamp *stamp;
    larmor_phantom_cycle breath, heart; /* breath in mm */
} scan;

LMR_FREES(end_scan, scan, kspace, traj, maps, stamp)

static scan scan_of(double breaths, double beats)
{
    scan s = {.breath = {breaths, 24, .03, 5}, .heart = {beats, .3, .03, 6}};
    OWNED(larmor_simulation) *made = NULL;
    const larmor_simulation_opts opts = {.traj = {.matrix = {N, N}, .readouts = READOUTS},
                                         .coils = COILS,
                                         .snr = 50,
                                         .seed = 3,
                                         .tr_ms = 1e3 * tr,
                                         .breath = s.breath,
                                         .heart = s.heart};
    assert_ok(larmor_simulation_create(dev, &opts, &made));
    assert_ok(larmor_simulation_samples(made, 0, 0, 0, &s.kspace, &s.traj));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(N, N), NULL, COILS, &s.maps));
    s.stamp = calloc(READOUTS, sizeof *s.stamp);
    assert_true(s.stamp);
    for (int i = 0; i < READOUTS; i++) {
        const uint32_t now = TICKS * (uint32_t)i;
        s.stamp[i] = (larmor_stamp){.time = 1000 + now, .physiology = {now % 400, now % 1600}};
    }
    return s;
}

static larmor_source *source_of(const scan *s)
{
    const larmor_readouts image = {.kspace = s->kspace, .traj = s->traj, .stamps = s->stamp};
    const larmor_scan_arrays arrays = {
        .matrix = {N, N}, .fov_mm = {256, 256, 5}, .trajectory = "goldenangle", .image = &image, .images = 1};
    return MADE(larmor_source, larmor_source_of_arrays(&arrays, &made));
}

/* The bins of a scan, and what they rest on where found is not NULL. */
static larmor_source *bins_of(const scan *s, larmor_bins_opts opts, larmor_bins_found *found)
{
    OWNED(larmor_source) *whole = source_of(s);
    return MADE(larmor_source, larmor_source_of_bins(whole, dev, &opts, found, &made));
}

static larmor_recon_result images_of(larmor_source *source, const scan *s, const char *method, int iters)
{
    OWNED(larmor_recon) *recon = NULL;
    larmor_recon_result result;
    larmor_recon_opts opts = OPTS(.method = method, .joint = strcmp(method, "cg") != 0, .maps = s->maps);
    opts.iters = iters;
    if (iters) opts.lambda_mode = LARMOR_LAMBDA_RELATIVE;
    opts.lambda = iters ? 1e-3 : 0;
    assert_ok(larmor_recon_create(source, dev, &opts, &recon));
    assert_int_equal(larmor_recon_series(recon), 1);
    assert_ok(larmor_recon_run(recon, 0, &result));
    return result;
}

TEST(bins_of_the_breath_have_equally_many_readouts_and_those_of_the_heart_are_phases)
{
    OWNED(scan) s = scan_of(15, 70);
    larmor_bins_found found;
    const double minutes = tr * READOUTS / 60;
    const double breaths = larmor_phantom_cycles(&s.breath, 60 * minutes) / minutes;
    const double beats = larmor_phantom_cycles(&s.heart, 60 * minutes) / minutes;
    OWNED(larmor_source) *breath = bins_of(&s, (larmor_bins_opts){.breath = 5}, &found);
    assert_true(found.bins == 5 && found.empty == 0 && found.fewest == READOUTS / 5 && found.most == READOUTS / 5);
    assert_true(fabs(found.breath_rate / breaths - 1) < .02 && found.breath_reliable > .5 &&
                found.heart_reliable == 1);
    OWNED(larmor_source) *both = bins_of(&s, (larmor_bins_opts){.heart = 3, .breath = 2}, &found);
    assert_true(found.bins == 6 && found.empty == 0 && fabs(found.heart_rate / beats - 1) < .02);
    assert_true(found.heart_reliable > .5);
    OWNED(larmor_recon_result) r = images_of(both, &s, "tv", 2);
    assert_int_equal(r.count, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(r.image[i].meta.phase, i % 3);
        assert_int_equal(r.image[i].meta.repetition, i / 3);
    }
}

static larmor_array *numbers(const double *x, int64_t count)
{
    return MADE(larmor_array, larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(count), LARMOR_F64, x, &made));
}

/* Bins of given signals: a heart of ten readouts, and a breath that rises all the time. */
TEST(triggers_of_the_header_and_given_signals_make_the_bins_of_their_cycles)
{
    OWNED(scan) s = scan_of(15, 70);
    larmor_bins_found found;
    double phase[READOUTS], signal[READOUTS];
    for (int i = 0; i < READOUTS; i++) {
        signal[i] = i;
        phase[i] = i % 10 / 10.;
    }
    OWNED(larmor_array) *heart = numbers(phase, READOUTS), *breath = numbers(signal, READOUTS);
    larmor_bins_opts opts = {.heart = 5, .breath = 4, .heart_phase = heart, .breath_signal = breath};
    OWNED(larmor_source) *given = bins_of(&s, opts, &found);
    assert_true(found.bins == 20 && found.fewest == READOUTS / 20 && found.most == READOUTS / 20);
    OWNED(larmor_source) *header =
        bins_of(&s, (larmor_bins_opts){.heart = 10, .breath = 2, .way = LARMOR_GATING_HEADER}, &found);
    assert_true(found.bins == 20 && found.empty == 0 && found.fewest == READOUTS / 20);
    assert_true(found.most == READOUTS / 20 && found.breath_reliable == 1 && found.heart_reliable == 1);
}

TEST(triggers_of_the_header_are_in_the_order_of_time_whatever_the_order_of_the_readouts)
{
    OWNED(scan) s = scan_of(0, 70);
    larmor_bins_found found[2];
    const larmor_bins_opts opts = {.heart = 10, .way = LARMOR_GATING_HEADER};
    OWNED(larmor_source) *in_order = bins_of(&s, opts, &found[0]);
    for (int i = 0; i < READOUTS; i++) {
        const uint32_t now = TICKS * (uint32_t)(7 * i % READOUTS);
        s.stamp[i] = (larmor_stamp){.time = 1000 + now, .physiology = {now % 400}};
    }
    OWNED(larmor_source) *shuffled = bins_of(&s, opts, &found[1]);
    assert_true(found[0].heart_rate == 60 && found[1].heart_rate == 60);
    assert_true(found[1].fewest == READOUTS / 10 && found[1].most == READOUTS / 10);
}

TEST(a_breath_whose_signal_is_a_second_late_is_named_and_the_right_one_is_not)
{
    OWNED(scan) s = scan_of(15, 0);
    char line[512];
    int is_warning;
    for (int late = 0; late < 2; late++) {
        double signal[READOUTS];
        larmor_bins_found found;
        for (int i = 0; i < READOUTS; i++) {
            larmor_phantom_state moved = {0};
            larmor_phantom_beat(&s.breath, NULL, tr * i - late, &moved);
            signal[i] = moved.shift[1];
        }
        OWNED(larmor_array) *breath = numbers(signal, READOUTS);
        OWNED(larmor_source) *bins = bins_of(&s, (larmor_bins_opts){.breath = 4, .breath_signal = breath}, &found);
        assert_at_most(fabs(found.breath_late - late), 0.15);
        assert_int_equal(larmor_gating_line(&found, 0, line, sizeof line, &is_warning), 1);
        assert_int_equal(is_warning, late);
        assert_int_equal(strstr(line, "breath: the signal fits the samples 1 s earlier, and not as it is") != NULL,
                         late);
    }
}

/* The phase and the repetition of the image that has a bin's readouts only, by the first one's stamp. */
static larmor_image_meta meta_of(const scan *s, const larmor_bins_opts *opts, int image)
{
    OWNED(larmor_source) *bins = bins_of(s, *opts, &(larmor_bins_found){0});
    OWNED(larmor_recon_result) r = images_of(bins, s, "tv", 1);
    assert_true(image < r.count);
    return r.image[image].meta;
}

/* A beat each second, 50 readouts, but for one that is missed, and the first 40 readouts before any. */
TEST(times_of_beats_are_phases_also_before_the_first_and_without_what_follows_a_missed_one)
{
    enum { FIRST = 40, EACH = 50 };
    OWNED(scan) s = scan_of(0, 0);
    larmor_bins_found found;
    double beat[32];
    int beats = 0;
    for (int i = 0; FIRST + EACH * i < READOUTS; i++)
        if (i != 7) beat[beats++] = tr * (FIRST + EACH * i);
    OWNED(larmor_array) *times = numbers(beat, beats);
    const larmor_bins_opts opts = {.heart = 10, .heart_times = times};
    OWNED(larmor_source) *bins = bins_of(&s, opts, &found);
    assert_true(found.bins == 10 && found.empty == 0 && found.heart_rate == 0 && found.heart_reliable == 1);
    /* 1600 readouts less the second of the missed beat, by tenths of a cycle that begins at 40 - 50 = -10 */
    const int64_t left = READOUTS - EACH;
    assert_true(found.most == left / 10 && found.fewest == left / 10);
    assert_int_equal(meta_of(&s, &opts, 2).time_stamp, 1000); /* readout 0 is 10 after a beat: bin 2 begins with it */
    assert_int_equal(meta_of(&s, &opts, 0).time_stamp, 1000 + TICKS * FIRST);
    for (int i = 0; i < beats; i++) beat[i] = tr * (FIRST + EACH * i) + 1e6;
    beat[3] = beat[2];
    OWNED(larmor_array) *wrong = numbers(beat, beats);
    OWNED(larmor_source) *whole = source_of(&s);
    larmor_source *none;
    assert_refused(
        larmor_source_of_bins(whole, dev, &(larmor_bins_opts){.heart = 2, .heart_times = wrong}, &found, &none),
        LARMOR_ERR_ARG, "bins: times of the heart: number 3 is not above the one before");
}

TEST(bins_of_time_have_equally_many_readouts_one_after_the_other_and_the_breath_is_their_phase)
{
    OWNED(scan) s = scan_of(0, 0);
    larmor_bins_found found;
    double signal[READOUTS];
    for (int i = 0; i < READOUTS; i++) signal[i] = i % 2;
    OWNED(larmor_array) *breath = numbers(signal, READOUTS);
    const larmor_bins_opts opts = {.time = 4, .breath = 2, .breath_signal = breath};
    OWNED(larmor_source) *bins = bins_of(&s, opts, &found);
    assert_true(found.bins == 8 && found.fewest == READOUTS / 8 && found.most == READOUTS / 8);
    OWNED(larmor_recon_result) r = images_of(bins, &s, "tv", 1);
    for (int i = 0; i < 8; i++) {
        const larmor_image_meta *m = &r.image[i].meta;
        assert_true(m->phase == i % 2 && m->repetition == i / 2);
        assert_int_equal(m->time_stamp, 1000 + TICKS * (READOUTS / 4 * (i / 2) + i % 2));
    }
}

/* The object as it was on average while a bin's readouts were acquired. */
static larmor_array *state_of(const scan *s, const larmor_image_meta *meta, int bins)
{
    OWNED(larmor_phantom) *still = NULL, *moved = NULL;
    double shift[READOUTS], sum = 0;
    for (int i = 0; i < READOUTS; i++) {
        larmor_phantom_state state = {0};
        larmor_phantom_beat(&s->breath, NULL, tr * i, &state);
        shift[i] = state.shift[1] / 256;
    }
    for (int i = 1; i < READOUTS; i++) /* ascending */
        for (int j = i; j > 0 && shift[j - 1] > shift[j]; j--) {
            const double one = shift[j];
            shift[j] = shift[j - 1];
            shift[j - 1] = one;
        }
    const int each = READOUTS / bins;
    for (int i = meta->repetition * each; i < (meta->repetition + 1) * each; i++) sum += shift[i] / each;
    assert_ok(larmor_phantom_create("shepp-logan", 2, &still));
    assert_ok(larmor_phantom_change(still, &(larmor_phantom_state){.shift = {0, sum}}, &moved));
    return MADE(larmor_array, larmor_phantom_bandlimited(moved, dev, LARMOR_C64, LARMOR_SHAPE(N, N), &made));
}

TEST(images_of_the_outer_bins_are_twice_as_near_to_their_state_as_the_image_of_all_readouts)
{
    enum { BINS = 5 };
    OWNED(scan) s = scan_of(15, 0);
    OWNED(larmor_source) *bins = bins_of(&s, (larmor_bins_opts){.breath = BINS}, NULL), *whole = source_of(&s);
    OWNED(larmor_recon_result) r = images_of(bins, &s, "tv", 0);
    OWNED(larmor_recon_result) blurred = images_of(whole, &s, "cg", 0);
    assert_int_equal(r.count, BINS);
    for (int i = 0; i < BINS; i += BINS - 1) {
        OWNED(larmor_array) *truth = state_of(&s, &r.image[i].meta, BINS);
        const double own = difference(r.image[i].data, truth), all = difference(blurred.image[0].data, truth);
        if (getenv("SHOW")) printf("bin %d: %g of %g\n", i, own, all);
        if (2 * own > all) fail_msg("bin %d: %g, and %g of all readouts", i, own, all);
    }
}

TEST(bins_without_a_rhythm_are_refused_unless_the_caller_sees_that_there_is_none)
{
    OWNED(scan) s = scan_of(0, 0);
    OWNED(larmor_source) *whole = source_of(&s);
    larmor_source *bins;
    larmor_bins_found found;
    const larmor_bins_opts breath = {.breath = 3}, none = {.heart = 0}, many = {.heart = 300, .breath = 300};
    const larmor_bins_opts header = {.heart = 3, .way = LARMOR_GATING_HEADER};
    assert_refused(larmor_source_of_bins(whole, dev, &breath, NULL, &bins), LARMOR_ERR_NUMERIC,
                   "bins: the breath that was found in the samples has a reliability of 0.0");
    assert_ok(larmor_source_of_bins(whole, dev, &breath, &found, &bins));
    assert_true(found.breath_reliable < LARMOR_RELIABLE);
    larmor_source_free(bins);
    assert_refused(larmor_source_of_bins(whole, dev, &none, &found, &bins), LARMOR_ERR_ARG,
                   "bins: got 0 of the heart, 0 of the breath and 0 of time, expected one or two of them and");
    assert_refused(larmor_source_of_bins(whole, dev, &many, &found, &bins), LARMOR_ERR_ARG,
                   "bins: got 300 of the heart, 300 of the breath and 0 of time, expected one or two of them and");
    double bad[READOUTS] = {0, NAN};
    OWNED(larmor_array) *nan = numbers(bad, READOUTS), *few = numbers(bad, 1);
    assert_refused(
        larmor_source_of_bins(whole, dev, &(larmor_bins_opts){.breath = 2, .breath_signal = nan}, &found, &bins),
        LARMOR_ERR_NUMERIC, "bins: number 1 of the breath is not finite");
    assert_refused(
        larmor_source_of_bins(whole, dev, &(larmor_bins_opts){.heart = 2, .heart_phase = few}, &found, &bins),
        LARMOR_ERR_SHAPE, "bins: got 1 numbers of the heart, expected one of each readout");
    assert_refused(
        larmor_source_of_bins(whole, dev, &(larmor_bins_opts){.heart = 2, .heart_times = few}, &found, &bins),
        LARMOR_ERR_SHAPE, "bins: got 1 numbers of the heart, expected 2 times at least");
    for (int i = 0; i < READOUTS; i++) s.stamp[i].physiology[0] = 7;
    OWNED(larmor_source) *flat = source_of(&s);
    assert_refused(larmor_source_of_bins(flat, dev, &header, &found, &bins), LARMOR_ERR_ARG,
                   "bins: physiology stamp 0 of the readouts of arrays never restarts");
    for (int i = 0; i < READOUTS; i++) s.stamp[i].time = 7;
    OWNED(larmor_source) *timeless = source_of(&s);
    assert_refused(larmor_source_of_bins(timeless, dev, &breath, &found, &bins), LARMOR_ERR_ARG,
                   "gating: the readouts take 0 s, expected 10 to 86400");
}
