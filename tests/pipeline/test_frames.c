/* scan/frames.c. SPDX-License-Identifier: Apache-2.0 */
#include "scan/source.h"
#include "tests/pipeline/scan.h"

enum { ALL = 2 * SPOKES };

/* One image of ALL spokes, which scan_of(COILS, 2, 0) has as two repetitions. */
static scan long_scan(const larmor_stamp *stamps)
{
    scan s = {.arrays = {.matrix = {N, N}, .trajectory = "goldenangle", .images = 1}};
    const larmor_traj_opts opts = {.matrix = {N, N}, .readouts = ALL, .samples = SAMPLES};
    assert_ok(larmor_phantom_create("shepp-logan", 2, &s.phantom));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(N, N), NULL, COILS, &s.maps));
    assert_ok(larmor_traj_create(dev, "golden", &opts, &s.image[0].traj));
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, COILS, LARMOR_C64, &s.image[0].kspace));
    s.image[0].stamps = stamps;
    return s;
}

static larmor_source *source_of(const scan *s)
{
    larmor_scan_arrays arrays = s->arrays;
    arrays.image = s->image;
    return MADE(larmor_source, larmor_source_of_arrays(&arrays, &made));
}

static larmor_status try_frames(const scan *s, const larmor_frames_opts *opts, larmor_source **frames)
{
    OWNED(larmor_source) *whole = source_of(s);
    return larmor_source_of_frames(whole, opts, frames);
}

static larmor_source *frames_of(const scan *s, larmor_frames_opts opts)
{
    return MADE(larmor_source, try_frames(s, &opts, &made));
}

/* How the images of two sources differ, all together. */
static double images_apart(larmor_source *a, larmor_source *b, const larmor_recon_opts *opts)
{
    double most = 0;
    OWN(larmor_recon, *x, larmor_recon_create(a, dev, opts, &x));
    OWN(larmor_recon, *y, larmor_recon_create(b, dev, opts, &y));
    assert_int_equal(larmor_recon_series(x), larmor_recon_series(y));
    for (int i = 0; i < larmor_recon_series(x); i++) {
        OWN(larmor_recon_result, of_x, larmor_recon_run(x, i, &of_x));
        OWN(larmor_recon_result, of_y, larmor_recon_run(y, i, &of_y));
        assert_int_equal(of_x.count, of_y.count);
        for (int j = 0; j < of_x.count; j++) {
            most = fmax(most, difference(of_x.image[j].data, of_y.image[j].data));
            assert_int_equal(of_x.image[j].meta.repetition, of_y.image[j].meta.repetition);
        }
    }
    return most;
}

TEST(frames_are_the_images_of_repetitions_with_the_same_spokes)
{
    const char *const methods[] = {"cg", "grid", "tv", "llr"};
    OWNED(scan) one = long_scan(NULL), two = scan_of(COILS, 2, 0);
    OWNED(larmor_source) *frames = frames_of(&one, (larmor_frames_opts){.spokes = SPOKES}), *images = source_of(&two);
    for (int i = 0; i < 4; i++) {
        const larmor_recon_opts opts =
            KNOWN(.method = methods[i], .joint = i > 1, .maps = one.maps, .iters = 5, .time_weight = 1,
                  .lambda_mode = i ? LARMOR_LAMBDA_RELATIVE : LARMOR_LAMBDA_AUTO, .lambda = 1e-3);
        const double d = images_apart(frames, images, &opts);
        if (is_cpu() ? d != 0 : d > 1e-4) fail_msg("%s: %g", methods[i], d);
    }
}

/* Readouts of 8 ms, each of which begins later than the one before it. */
static larmor_array *times_of(int first, int readouts)
{
    double t[ALL * SAMPLES];
    for (int r = 0; r < readouts; r++)
        for (int j = 0; j < SAMPLES; j++) t[r * SAMPLES + j] = 8e-3 * j / SAMPLES + 1e-4 * (first + r);
    const larmor_shape shape = LARMOR_SHAPE(SAMPLES, readouts);
    return MADE(larmor_array, larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, t, &made));
}

TEST(each_readout_of_a_frame_keeps_its_own_time)
{
    const char *const methods[] = {"cg", "grid", "llr"};
    OWNED(scan) one = long_scan(NULL), two = scan_of(COILS, 2, 0);
    one.image[0].times = times_of(0, ALL);
    for (int i = 0; i < 2; i++) two.image[i].times = times_of(i * SPOKES, SPOKES);
    double hz[N * N];
    const double start = 0;
    for (int i = 0; i < N * N; i++) hz[i] = 100.0 * (i % N) / N;
    OWN(larmor_array, *b0, larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(N, N), LARMOR_F64, hz, &b0));
    larmor_source *frames = frames_of(&one, (larmor_frames_opts){.spokes = SPOKES}), *images = source_of(&two);
    for (int i = 0; i < of_all(2, 3); i++) {
        const larmor_recon_opts opts =
            KNOWN(.method = methods[i], .joint = i > 1, .maps = one.maps, .iters = 4, .b0 = b0, .time_weight = 1,
                  .readout_start_ms = &start, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3);
        const double d = images_apart(frames, images, &opts);
        if (is_cpu() ? d != 0 : d > 1e-4) fail_msg("%s: %g", methods[i], d);
    }
    larmor_source_free(frames);
    larmor_source_free(images);
    LMR_FREE(one.image[0].times);
    for (int i = 0; i < 2; i++) larmor_array_free(two.image[i].times);
}

TEST(the_maps_of_frames_are_those_of_all_spokes)
{
    OWNED(scan) one = long_scan(NULL);
    larmor_source *source[2] = {source_of(&one), frames_of(&one, (larmor_frames_opts){.spokes = 13})};
    larmor_array *maps[2];
    for (int i = 0; i < 2; i++) {
        const larmor_recon_opts opts = KNOWN(.method = "cg", .iters = 1);
        OWN(larmor_recon, *recon, larmor_recon_create(source[i], dev, &opts, &recon));
        OWN(larmor_recon_result, result, larmor_recon_run(recon, i * 4, &result));
        assert_ok(larmor_recon_maps(recon, &maps[i], NULL));
        larmor_source_free(source[i]);
    }
    const double d = difference(maps[1], maps[0]);
    if (is_cpu() ? d != 0 : d > 1e-3) fail_msg("%g", d);
    LMR_FREE(maps[0], maps[1]);
}

/* Frame `frame` has these readouts, whose numbers are their steps. */
static void expect_readouts(larmor_source *frames, int frame, int64_t count, const int *readout)
{
    larmor_grid grid;
    larmor_group group;
    assert_ok(lmr_source_group(frames, frame, &group));
    assert_ok(lmr_source_grid(frames, 0, NULL, &grid));
    OWN(larmor_samples, samples, lmr_source_samples(frames, frame, &grid, 0, COILS, dev, &samples));
    assert_int_equal(group.readouts, count);
    assert_int_equal(group.total, count * SAMPLES);
    assert_int_equal(larmor_array_shape(samples.kspace).dim[1], count);
    for (int64_t i = 0; i < count; i++)
        if (samples.step1[i] != readout[i])
            fail_msg("frame %d: readout %lld is %d, expected %d", frame, (long long)i, samples.step1[i], readout[i]);
}

static void expect_range(larmor_source *frames, int frame, int from, int to)
{
    int readout[ALL];
    for (int i = from; i < to; i++) readout[i - from] = i;
    expect_readouts(frames, frame, to - from, readout);
}

static int count_of(const larmor_source *frames)
{
    return larmor_source_describe(frames).groups;
}

TEST(where_nothing_is_chosen_differences_in_time_weigh_four_times_as_much)
{
    OWNED(scan) one = long_scan(NULL);
    OWNED(larmor_source) *frames = frames_of(&one, (larmor_frames_opts){.spokes = 30});
    larmor_recon_result result[3];
    for (int i = 0; i < 3; i++) {
        const double weight[] = {0, 4, 1};
        const larmor_recon_opts opts =
            KNOWN(.method = "tv", .joint = 1, .maps = one.maps, .iters = 5, .lambda_mode = LARMOR_LAMBDA_RELATIVE,
                  .lambda = 1e-2, .time_weight = weight[i]);
        OWN(larmor_recon, *recon, larmor_recon_create(frames, dev, &opts, &recon));
        assert_ok(larmor_recon_run(recon, 0, &result[i]));
    }
    assert_at_most(difference(result[0].image[1].data, result[1].image[1].data), is_cpu() ? 0 : 1e-4);
    assert_true(difference(result[2].image[1].data, result[1].image[1].data) > 1e-3);
    for (int i = 0; i < 3; i++) larmor_recon_result_free(&result[i]);
}

TEST(the_samples_of_a_frame_are_those_of_its_readouts)
{
    OWNED(scan) one = long_scan(NULL);
    OWNED(larmor_source) *whole = source_of(&one),
                         *frames = frames_of(&one, (larmor_frames_opts){.spokes = 7, .step = 5});
    larmor_grid grid;
    assert_true(lmr_source_any_thread(whole) > 0);
    assert_int_equal(lmr_source_any_thread(frames), lmr_source_any_thread(whole));
    assert_ok(lmr_source_grid(whole, 0, NULL, &grid));
    OWN(larmor_samples, all, lmr_source_samples(whole, 0, &grid, 0, COILS, dev, &all));
    OWN(larmor_samples, some, lmr_source_samples(frames, 3, &grid, 0, COILS, dev, &some));
    HEAP float *a = host_of(all.kspace), *b = host_of(some.kspace);
    HEAP double *k = (double *)host_of(all.traj), *l = (double *)host_of(some.traj);
    for (int c = 0; c < COILS; c++)
        assert_memory_equal(a + 2 * SAMPLES * (15 + ALL * c), b + 2 * SAMPLES * 7 * c, 2 * SAMPLES * 7 * sizeof *a);
    assert_memory_equal(k + 2 * SAMPLES * 15, l, 2 * SAMPLES * 7 * sizeof *k);
}

TEST(windows_slide_and_the_rest_is_dropped_or_joined)
{
    OWNED(scan) one = long_scan(NULL);
    OWNED(larmor_source) *touching = frames_of(&one, (larmor_frames_opts){.spokes = 50});
    assert_int_equal(count_of(touching), 2);
    expect_range(touching, 1, 50, 100);
    assert_string_equal(larmor_source_describe(touching).frames_report,
                        "2 of 50 readouts, one every 50; 20 readouts left out");
    OWNED(larmor_source) *joined = frames_of(&one, (larmor_frames_opts){.spokes = 50, .join_rest = 1});
    expect_range(joined, 0, 0, 50);
    expect_range(joined, 1, 50, ALL);
    OWNED(larmor_source) *sliding = frames_of(&one, (larmor_frames_opts){.spokes = 50, .step = 15});
    assert_int_equal(count_of(sliding), 5);
    for (int i = 0; i < 5; i++) expect_range(sliding, i, 15 * i, 15 * i + 50);
    OWNED(larmor_source) *apart = frames_of(&one, (larmor_frames_opts){.spokes = 10, .step = 40});
    assert_int_equal(count_of(apart), 3);
    expect_range(apart, 2, 80, 90);
}

enum { PLANES = 4, ANGLES = 6 };

/* A stack of ANGLES spokes in each of the planes. angles_first: the planes change last. poor: of the outermost
 * plane, every second spoke alone. tilted: spokes leave their planes. */
static scan stack(int angles_first, int poor, int tilted)
{
    scan s = {.arrays = {.matrix = {N, N, PLANES}, .images = 1}};
    double k[PLANES * ANGLES * SAMPLES * 3];
    int readouts = 0;
    for (int i = 0; i < PLANES * ANGLES; i++) {
        const int plane = angles_first ? i / ANGLES : i % PLANES;
        const int angle = angles_first ? i % ANGLES : i / PLANES;
        if (poor && !plane && angle % 2) continue;
        for (int j = 0; j < SAMPLES; j++) {
            double *p = k + 3 * (SAMPLES * readouts + j);
            const double r = (double)(j - N) / 2;
            p[0] = r * cos(M_PI * angle / ANGLES);
            p[1] = r * sin(M_PI * angle / ANGLES);
            p[2] = plane - PLANES / 2 + (tilted && angle % 2 ? .1 * r / N : 0);
        }
        readouts++;
    }
    assert_ok(larmor_phantom_create("shepp-logan", 3, &s.phantom));
    assert_ok(
        larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(3, SAMPLES, readouts), LARMOR_F64, k, &s.image[0].traj));
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, COILS, LARMOR_C64, &s.image[0].kspace));
    return s;
}

TEST(frames_of_a_stack_have_as_many_spokes_of_each_partition)
{
    OWNED(scan) planes_first = stack(0, 0, 0), angles_first = stack(1, 0, 0), poor = stack(0, 1, 0),
                tilted = stack(0, 0, 1);
    larmor_source *frames = frames_of(&planes_first, (larmor_frames_opts){.spokes = 2});
    assert_int_equal(count_of(frames), 3);
    expect_range(frames, 1, 2 * PLANES, 4 * PLANES);
    assert_string_equal(larmor_source_describe(frames).frames_report,
                        "3 of 2 spokes in each of 4 partitions, one every 2");
    larmor_source_free(frames);
    frames = frames_of(&angles_first, (larmor_frames_opts){.spokes = 2, .step = 1});
    assert_int_equal(count_of(frames), 5);
    expect_readouts(frames, 1, 2 * PLANES, (int[]){1, 7, 13, 19, 2, 8, 14, 20});
    larmor_source_free(frames);
    frames = frames_of(&poor, (larmor_frames_opts){.spokes = 2});
    assert_int_equal(count_of(frames), 3);
    expect_range(frames, 1, 7, 14);
    larmor_source_free(frames);
    frames = frames_of(&tilted, (larmor_frames_opts){.spokes = 2});
    assert_int_equal(count_of(frames), PLANES * ANGLES / 2);
    larmor_source_free(frames);
    assert_refused(try_frames(&planes_first, &(larmor_frames_opts){.spokes = 7}, &frames), LARMOR_ERR_ARG,
                   "have 6 spokes in each partition");
}

TEST(frames_follow_the_clock_over_midnight_and_over_pauses)
{
    larmor_stamp stamps[ALL] = {{0}};
    /* 4 ticks of 2.5 ms each; 40 readouts, a pause of 1 s, and two readouts that were stored in the wrong order */
    for (uint32_t i = 0; i < ALL; i++) stamps[i].time = (34560000 - 20 + 4 * i + (i < 40 ? 0 : 400)) % 34560000;
    const larmor_stamp exchanged = stamps[9];
    stamps[9] = stamps[10];
    stamps[10] = exchanged;
    OWNED(scan) one = long_scan(stamps);
    OWNED(larmor_source) *frames = frames_of(&one, (larmor_frames_opts){.ms = 100});
    expect_readouts(frames, 0, 10, (int[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 10});
    expect_readouts(frames, 1, 10, (int[]){9, 11, 12, 13, 14, 15, 16, 17, 18, 19});
    expect_range(frames, 3, 30, 40);
    expect_range(frames, 4, 40, 50);
    assert_int_equal(count_of(frames), 12);
    assert_non_null(strstr(larmor_source_describe(frames).frames_report, "; 10 have no readouts and are left out"));
    larmor_image_meta meta;
    assert_ok(lmr_source_meta(frames, 4, &meta));
    assert_int_equal(meta.time_stamp, stamps[40].time);
    assert_int_equal(meta.repetition, 4);
}

/* Readouts that come backwards; ticks that two of them share leave these as they come. */
TEST(frames_of_some_readouts_are_in_the_order_of_their_time_stamps)
{
    larmor_stamp stamps[ALL] = {{0}};
    for (uint32_t i = 0; i < ALL; i++) stamps[i].time = 7000 + 4 * (ALL - 1 - i);
    for (int is_known = 0; is_known < 2; is_known++) {
        if (!is_known) stamps[3].time = 0;
        OWNED(scan) one = long_scan(stamps);
        OWNED(larmor_source) *frames = frames_of(&one, (larmor_frames_opts){.spokes = 10});
        if (!is_known)
            expect_range(frames, 0, 0, 10);
        else
            expect_readouts(
                frames, 0, 10,
                (int[]){ALL - 1, ALL - 2, ALL - 3, ALL - 4, ALL - 5, ALL - 6, ALL - 7, ALL - 8, ALL - 9, ALL - 10});
        assert_int_equal(strstr(larmor_source_describe(frames).frames_report, "in the order of their time") != NULL,
                         is_known);
        stamps[3].time = 7000 + 4 * (ALL - 4);
    }
    for (uint32_t i = 0; i < ALL; i++) stamps[i].time = 7000 + i / 3;
    OWNED(scan) one = long_scan(stamps);
    OWNED(larmor_source) *frames = frames_of(&one, (larmor_frames_opts){.spokes = 10});
    expect_range(frames, 1, 10, 20);
}

/* Every second stamp is missing, those of the first readouts, and those of the second half. */
TEST(readouts_without_a_stamp_are_taken_between_the_others)
{
    for (int way = 0; way < 3; way++) {
        larmor_stamp stamps[ALL] = {{0}};
        const uint32_t noon = 17280000;
        for (uint32_t i = 0; i < ALL; i++) {
            const int is_missing[] = {i % 2 == 1, i < 7, i >= ALL / 2};
            stamps[i].time = is_missing[way] ? 0 : noon + 4 * i;
        }
        OWNED(scan) one = long_scan(stamps);
        OWNED(larmor_source) *frames = frames_of(&one, (larmor_frames_opts){.ms = 100});
        assert_int_equal(count_of(frames), ALL / 10);
        for (int i = 0; i < ALL / 10; i++) expect_range(frames, i, 10 * i, 10 * i + 10);
        assert_non_null(strstr(larmor_source_describe(frames).warnings, "readouts have no time stamp"));
    }
}

TEST(ticks_may_be_of_another_length)
{
    larmor_stamp stamps[ALL] = {{0}};
    for (uint32_t i = 0; i < ALL; i++) stamps[i].time = 7 + 4 * i;
    OWNED(scan) one = long_scan(stamps);
    OWNED(larmor_source) *frames = frames_of(&one, (larmor_frames_opts){.ms = 10, .step = 20, .tick_ms = .25});
    assert_int_equal(count_of(frames), 6);
    expect_range(frames, 1, 20, 30);
}

TEST(readouts_are_binned_by_the_cardiac_cycle_that_they_are_in)
{
    /* cycles of 20, 20 and 24 readouts, one of 40 with a missed trigger, and the last is cut; 2 ticks a readout */
    static const int begins[] = {0, 20, 40, 64, 104, 124};
    larmor_stamp stamps[ALL] = {{0}};
    int bin[ALL];
    for (int i = 0, cycle = 0; i < ALL; i++) {
        static const int lasts[] = {20, 20, 24, 24, 24};
        cycle += i == begins[cycle + 1];
        const int since = i - begins[cycle];
        stamps[i].time = 1000 + 2 * (uint32_t)i;
        stamps[i].physiology[1] = 2 * (uint32_t)since;
        bin[i] = since < lasts[cycle] ? 4 * since / lasts[cycle] : -1;
    }
    OWNED(scan) one = long_scan(stamps);
    larmor_source *frames = frames_of(&one, (larmor_frames_opts){.phases = 4, .gate = 1});
    assert_int_equal(count_of(frames), 4);
    for (int b = 0; b < 4; b++) {
        int readout[ALL], count = 0;
        larmor_image_meta meta;
        for (int i = 0; i < ALL; i++)
            if (bin[i] == b) readout[count++] = i;
        expect_readouts(frames, b, count, readout);
        assert_ok(lmr_source_meta(frames, b, &meta));
        assert_int_equal(meta.phase, b);
        assert_int_equal(meta.physiology_stamp[1], stamps[readout[0]].physiology[1]);
    }
    assert_string_equal(larmor_source_describe(frames).frames_report,
                        "4 bins of the cardiac cycle; 16 readouts left out");
    larmor_source_free(frames);
    larmor_frames_opts opts = {.phases = 4};
    assert_refused(try_frames(&one, &opts, &frames), LARMOR_ERR_ARG, "physiology stamp 0 of the readouts of arrays");
    opts = (larmor_frames_opts){.phases = 50, .gate = 1};
    assert_refused(try_frames(&one, &opts, &frames), LARMOR_ERR_ARG, "has no readouts; ask for fewer");
}

TEST(frames_of_repetitions_and_slices_are_counted_on)
{
    OWNED(scan) s = scan_of(COILS, 4, 0);
    static const int number[] = {0, 1, 0, 1, 2, 3, 2, 3};
    for (int i = 0; i < 4; i++) {
        s.image[i].meta.slice = i % 2;
        s.image[i].meta.repetition = i / 2;
    }
    OWNED(larmor_source) *frames = frames_of(&s, (larmor_frames_opts){.spokes = SPOKES / 2});
    assert_int_equal(count_of(frames), 8);
    for (int i = 0; i < 8; i++) {
        larmor_group g;
        assert_ok(lmr_source_group(frames, i, &g));
        assert_int_equal(g.repetition, number[i]);
        assert_int_equal(g.slice, i / 2 % 2);
    }
    OWN(larmor_source, *halves,
        larmor_source_of_frames(frames, &(larmor_frames_opts){.spokes = SPOKES / 4}, &halves));
    assert_int_equal(count_of(halves), 16);
    expect_range(halves, 1, 15, 30);
}

TEST(other_frames_are_another_scan_to_a_checkpoint)
{
    OWNED(scan) one = long_scan(NULL);
    uint64_t print[3];
    for (int i = 0; i < 3; i++) {
        OWNED(larmor_source) *frames = frames_of(&one, (larmor_frames_opts){.spokes = 10, .step = i == 2 ? 11 : 10});
        assert_ok(lmr_source_fingerprint(frames, &print[i]));
    }
    assert_true(print[0] == print[1]);
    assert_true(print[0] != print[2]);
}

TEST(frames_that_cannot_be_are_refused)
{
    OWNED(scan) one = long_scan(NULL);
    larmor_source *frames, *whole = source_of(&one);
    const struct {
        larmor_frames_opts opts;
        const char *text;
    } refused[] = {
        {{.gate = 1}, "got 0 of spokes, ms and phases"},
        {{.spokes = 4, .ms = 3}, "got 2 of spokes, ms and phases"},
        {{.spokes = ALL + 1}, "the images of arrays have 120 readouts"},
        {{.spokes = -1}, "expected numbers above 0"},
        {{.ms = NAN}, "expected numbers above 0"},
        {{.spokes = 4, .step = 1.5}, "of spokes a whole one"},
        {{.phases = 4, .step = 1}, "none for phases"},
        {{.phases = 4, .gate = 3}, "expected 0, 1 or 2"},
        {{.ms = 4, .tick_ms = -1}, "expected a time above 0"},
        {{.ms = 4}, "have no time stamps"},
        {{.phases = 4}, "never restarts"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_refused(try_frames(&one, &refused[i].opts, &frames), LARMOR_ERR_ARG, refused[i].text);
        assert_null(frames);
    }
    const larmor_frames_opts good = {.spokes = 4};
    assert_refused(larmor_source_of_frames(NULL, &good, &frames), LARMOR_ERR_ARG, "a source and options");
    assert_refused(larmor_source_of_frames(whole, &good, NULL), LARMOR_ERR_ARG, "nowhere");
    larmor_source_free(whole);
}
