/* stream/waves.c and what a session makes of waveforms: bins of a scan that is sent are those of its file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/stream/streams.h"

static const larmor_bins_opts two_by_two = {.heart = 2, .breath = 2, .way = LARMOR_GATING_WAVEFORMS};

/* 12 s of an object with heart and breath, with an ECG and a belt. */
static int make_beating(void **state)
{
    const int failed = make_folder(state);
    const larmor_simulation_opts opts = {.trajectory = "golden",
                                         .traj = {.matrix = {16, 16}, .readouts = 600},
                                         .coils = 2,
                                         .snr = 20,
                                         .tr_ms = 20,
                                         .breath = {.rate = 20, .size = 10},
                                         .heart = {.rate = 70, .size = 0.3},
                                         .waveforms = LARMOR_WAVEFORMS_TRIGGERS};
    open_simulated(&opts);
    return failed;
}

#define WITH_BEATS(claim) TEST_IN(claim, make_beating, remove_scan_and_folder)

/* The bins of a scan by gridding. */
static images bins_of(larmor_raw *raw, const larmor_bins_opts *bins)
{
    larmor_bins_found found;
    larmor_bins_opts own = *bins;
    const larmor_session_opts opts = quick();
    images all = {0};
    own.waveforms = raw;
    OWN(larmor_source, *source, larmor_source_of_raw(raw, "scan", &source));
    OWN(larmor_source, *sorted, larmor_source_of_bins(source, dev, &own, &found, &sorted));
    assert_int_equal(found.heart_from, LARMOR_GATED_BY_WAVEFORM);
    assert_int_equal(found.breath_from, LARMOR_GATED_BY_WAVEFORM);
    OWN(larmor_recon, *recon, larmor_recon_create(sorted, dev, &opts.job.recon, &recon));
    for (int s = 0; s < larmor_recon_series(recon); s++) {
        OWN(larmor_recon_result, result, larmor_recon_run(recon, s, &result));
        for (int i = 0; i < result.count; i++) all.data[all.count++] = larmor_array_ref(result.image[i].data);
    }
    return all;
}

static images bins_of_file(void)
{
    OWN(larmor_raw, *raw, larmor_raw_open(in_folder("scan.h5"), NULL, &raw));
    const images all = bins_of(raw, &two_by_two);
    assert_int_equal(all.count, 4);
    return all;
}

static void assert_same_images(const images *want, const larmor_response *got)
{
    assert_int_equal(got->count, want->count);
    for (int i = 0; i < want->count; i++) {
        OWN_MEMORY(float, *v, larmor_array_download(got->image[i].data, LARMOR_C64, &v));
        assert_same_bits(want->data[i], v);
        assert_int_equal(got->image[i].meta.phase, i % 2);
        assert_int_equal(got->image[i].meta.repetition, i / 2);
    }
}

typedef struct told { /* lines that a client was told */
    int heart, breath, bins, warnings;
} told;

static void hear(void *user, const char *text)
{
    told *t = user;
    t->heart += strstr(text, "INF heart: 70") && strstr(text, "by the triggers of the ECG");
    t->breath += strstr(text, "INF breath: ") && strstr(text, "by the respiration");
    t->bins += strstr(text, "INF bins: 4 of ") != NULL;
    t->warnings += strstr(text, "WRN waveforms") != NULL;
}

WITH_BEATS(bins_by_waveforms_that_are_sent_are_those_of_the_file_bit_for_bit)
{
    line l;
    told t = {0};
    OWNED(larmor_response) got;
    larmor_session_opts opts = quick();
    opts.job.bins = two_by_two;
    OWNED(images) want = bins_of_file();
    begin(&l, opts);
    assert_ok(larmor_stream_request(l.client, &(larmor_request){.raw = scan, .log = hear, .user = &t}, dev, &got));
    end(&l);
    assert_ok(l.status);
    assert_same_images(&want, &got);
    assert_int_equal(t.heart, 1);
    assert_int_equal(t.breath, 1);
    assert_int_equal(t.bins, 1);
    assert_int_equal(t.warnings, 0);
}

/* As a scanner sends them: readouts, and now and then a block of each waveform. */
static void send_scan(larmor_stream *to, const larmor_waveform *damaged)
{
    int64_t wave = 0;
    const int64_t count = larmor_raw_describe(scan).acquisitions, waves = larmor_raw_waveforms(scan);
    send_text(to, LARMOR_MESSAGE_HEADER, larmor_raw_xml(scan));
    if (damaged)
        assert_ok(larmor_stream_send(to, &(larmor_message){.kind = LARMOR_MESSAGE_WAVEFORM, .waveform = *damaged}));
    for (int64_t i = 0; i < count; i++) {
        const larmor_acquisition a = acquisition(i);
        send_acquisition(to, &a);
        for (; wave < (i + 1) * waves / count; wave++) {
            larmor_message m = {.kind = LARMOR_MESSAGE_WAVEFORM};
            assert_ok(larmor_raw_waveform(scan, wave, &m.waveform));
            assert_ok(larmor_stream_send(to, &m));
        }
    }
    send_text(to, LARMOR_MESSAGE_CLOSE, NULL);
}

WITH_BEATS(a_scan_that_is_taken_from_a_stream_has_its_waveforms)
{
    int fd[2];
    line l = {.spec = ""};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    assert_ok(larmor_stream_create(fd[0], fd[0], NULL, &l.client));
    assert_ok(larmor_stream_create(fd[1], fd[1], NULL, &l.stream));
    const pid_t child = fork(); /* the stream is larger than what a socket holds */
    if (!child) {
        send_scan(l.client, NULL);
        _exit(0);
    }
    OWN(larmor_raw, *raw, larmor_stream_take_scan(l.stream, 0, NULL, &raw));
    assert_int_equal(larmor_raw_waveforms(raw), larmor_raw_waveforms(scan));
    for (int64_t i = 0; i < larmor_raw_waveforms(raw); i++) {
        larmor_waveform a, b;
        assert_ok(larmor_raw_waveform(raw, i, &a));
        assert_ok(larmor_raw_waveform(scan, i, &b));
        assert_memory_equal(a.data, b.data, (size_t)a.samples * (size_t)a.channels * sizeof *a.data);
        b.data = a.data;
        assert_memory_equal(&a, &b, sizeof a);
    }
    OWNED(images) want = bins_of_file(), got = bins_of(raw, &two_by_two);
    for (int i = 0; i < 4; i++) {
        OWN_MEMORY(float, *v, larmor_array_download(got.data[i], LARMOR_C64, &v));
        assert_same_bits(want.data[i], v);
    }
    larmor_stream_free(l.client);
    larmor_stream_free(l.stream);
}

WITH_BEATS(waveforms_that_are_damaged_are_left_out_with_a_warning)
{
    static const uint32_t one = 1;
    const larmor_waveform never = {.channels = 1, .samples = 1, .sample_us = 0, .data = &one};
    line l;
    int warned = 0;
    larmor_session_opts opts = quick();
    opts.job.bins = (larmor_bins_opts){.heart = 2, .way = LARMOR_GATING_AUTO};
    begin(&l, opts);
    send_scan(l.client, &never);
    wait_for(l.client, LARMOR_MESSAGE_IMAGE, "WRN waveforms without samples at even steps; they are left out.",
             &warned);
    wait_for(l.client, LARMOR_MESSAGE_CLOSE, NULL, NULL);
    end(&l);
    assert_ok(l.status);
    assert_int_equal(warned, 1);
}

WITH_BEATS(bins_exclude_frames_and_images_of_the_last_readouts)
{
    for (int frames = 0; frames < 2; frames++) {
        line l;
        OWNED(larmor_response) got;
        larmor_session_opts opts = quick();
        opts.job.bins = two_by_two;
        if (frames)
            opts.job.frames.spokes = 21;
        else
            opts.job.images = LARMOR_IMAGES_READOUTS;
        begin(&l, opts);
        const larmor_status st = larmor_stream_request(l.client, &(larmor_request){.raw = scan}, dev, &got);
        end(&l);
        assert_true(st == LARMOR_OK && got.failed);
        assert_int_equal(l.status, LARMOR_ERR_ARG);
        assert_string_equal(l.why, frames
                                       ? "session: bins of heart and breath, and frames; one of them expected"
                                       : "session: bins of heart and breath, and images of the last readouts; one of "
                                         "them expected");
    }
}

WITH_BEATS(a_scan_that_ends_before_the_first_image_of_its_readouts_says_why)
{
    line l;
    int warned = 0;
    char text[256];
    larmor_session_opts opts = quick();
    opts.job.images = LARMOR_IMAGES_READOUTS;
    opts.job.recon.method = "cg";
    opts.job.first = 10000;
    snprintf(text, sizeof text, "WRN images=readouts: the scan has ended after %lld readouts, before its first image",
             (long long)larmor_raw_describe(scan).acquisitions);
    begin(&l, opts);
    send_scan(l.client, NULL);
    wait_for(l.client, LARMOR_MESSAGE_CLOSE, text, &warned);
    end(&l);
    assert_ok(l.status);
    assert_int_equal(warned, 1);
}

WITH_BEATS(blocks_of_a_scan_in_memory_are_named_by_its_header_and_wrong_ones_are_refused)
{
    static const uint32_t data[] = {1, 2, 3, 4};
    const int64_t had = larmor_raw_waveforms(scan);
    larmor_waveform w[] = {{.id = 0, .channels = 2, .samples = 2, .time_stamp = 9, .sample_us = 2500, .data = data},
                           {.id = 1, .channels = 1, .samples = 1, .sample_us = 1000, .data = data},
                           {.id = 2, .channels = 1, .samples = 4, .sample_us = 20000, .data = data}};
    larmor_waveform got;
    assert_ok(larmor_raw_add_waveforms(scan, w, 3));
    assert_int_equal(larmor_raw_waveforms(scan), had + 3);
    const struct {
        larmor_waveform_kind kind;
        int trigger;
    } of[] = {{LARMOR_WAVEFORM_ECG, 1}, {LARMOR_WAVEFORM_PULSE, -1}, {LARMOR_WAVEFORM_RESPIRATION, -1}};
    for (int i = 0; i < 3; i++) {
        assert_ok(larmor_raw_waveform(scan, had + i, &got));
        assert_int_equal(got.kind, of[i].kind);
        assert_int_equal(got.trigger, of[i].trigger);
        assert_int_equal(got.samples, w[i].samples);
        assert_memory_equal(got.data, data, (size_t)w[i].samples * (size_t)w[i].channels * sizeof *data);
    }
    w[1].samples = 0;
    assert_refused(larmor_raw_add_waveforms(scan, w, 3), LARMOR_ERR_ARG,
                   "waveforms: block 1: id 1 with 0 samples x 1 channels, expected 0 to 65535 and 1 to 65535");
    w[1].samples = 1;
    w[2].sample_us = 0.5;
    assert_refused(larmor_raw_add_waveforms(scan, w, 3), LARMOR_ERR_ARG,
                   "waveforms: block 2: 0.5 us from sample to sample, expected 1 to 1e7");
    assert_refused(larmor_raw_add_waveforms(scan, w, -1), LARMOR_ERR_ARG, "waveforms: got -1 blocks, expected 0 to ");
    assert_int_equal(larmor_raw_waveforms(scan), had + 3);
    assert_ok(larmor_raw_add_waveforms(scan, NULL, 0));
}
