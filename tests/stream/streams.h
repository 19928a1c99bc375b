/* A small scan, its stream, and both ends of a connection. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/io/files.h"

#define LAST_IN_SLICE LARMOR_ACQ_FLAG(8)
#define LAST_IN_REPETITION LARMOR_ACQ_FLAG(14)

static larmor_raw *scan; /* as it is stored */

/* A scan of these options, stored and opened. */
static inline void open_simulated(const larmor_simulation_opts *opts)
{
    OWN(larmor_simulation, *simulation, larmor_simulation_create(dev, opts, &simulation));
    larmor_output *out = MADE(larmor_output, larmor_output_open(in_folder("scan.h5"), 1, &made));
    assert_ok(larmor_simulation_save(simulation, out));
    larmor_output_free(out);
    assert_ok(larmor_raw_open(in_folder("scan.h5"), &(larmor_raw_opts){.as_stored = 1}, &scan));
}

/* Two slices of two repetitions, with noise. */
static inline void make_scan(void)
{
    const larmor_simulation_opts opts = {.traj = {.matrix = {16, 16}, .readouts = 12},
                                         .coils = 2,
                                         .snr = 30,
                                         .noise_samples = 64,
                                         .slices = 2,
                                         .repetitions = 2,
                                         .tr_ms = 4};
    open_simulated(&opts);
}

static inline int make_scan_and_folder(void **state)
{
    const int failed = make_folder(state);
    make_scan();
    return failed;
}

static inline int remove_scan_and_folder(void **state)
{
    larmor_raw_free(scan);
    scan = NULL;
    return remove_folder(state);
}

#define WITH_SCAN(claim) TEST_IN(claim, make_scan_and_folder, remove_scan_and_folder)

/* ---- a connection ---- */

typedef struct line { /* a session in a thread of its own, and the client's end */
    larmor_stream *client;
    int fd; /* of the client */
    pthread_t thread;
    larmor_stream *stream;
    larmor_session_opts opts;
    larmor_session_report report;
    larmor_status status;
    char why[1024], spec[32];
} line;

static inline void *run_line(void *user)
{
    line *l = user;
    larmor_device *own;
    l->status = larmor_device_open(l->spec, &own);
    if (!l->status) {
        l->opts.job.dev = own;
        l->status = larmor_session_run(l->stream, &l->opts, &l->report);
        snprintf(l->why, sizeof l->why, "%s", l->status ? larmor_last_error() : "");
        larmor_device_free(own);
    }
    larmor_stream_free(l->stream);
    return NULL;
}

/* The settings of a quick reconstruction. */
static inline larmor_session_opts quick(void)
{
    larmor_session_opts opts = {.job = {.recon = {.size = sizeof(larmor_recon_opts), .method = "grid"}}};
    opts.job.pixels = LARMOR_PIXELS_COMPLEX;
    return opts;
}

static inline void begin(line *l, larmor_session_opts opts)
{
    int fd[2];
    memset(l, 0, sizeof *l);
    l->opts = opts;
    snprintf(l->spec, sizeof l->spec, "cpu:1");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    l->fd = fd[0];
    assert_ok(larmor_stream_create(fd[0], fd[0], NULL, &l->client));
    assert_ok(larmor_stream_create(fd[1], fd[1], &(larmor_stream_opts){.name = "session"}, &l->stream));
    assert_int_equal(pthread_create(&l->thread, NULL, run_line, l), 0);
}

/* Hang up, and wait for the session. */
static inline void end(line *l)
{
    larmor_stream_free(l->client);
    pthread_join(l->thread, NULL);
}

static inline void send_text(larmor_stream *to, larmor_message_kind kind, const char *text)
{
    assert_ok(larmor_stream_send(to, &(larmor_message){.kind = kind, .text = text}));
}

static inline larmor_acquisition acquisition(int64_t i)
{
    larmor_acquisition a;
    assert_ok(larmor_raw_acquisition(scan, i, &a));
    return a;
}

static inline void send_acquisition(larmor_stream *to, const larmor_acquisition *a)
{
    assert_ok(larmor_stream_send(to, &(larmor_message){.kind = LARMOR_MESSAGE_ACQUISITION, .acquisition = *a}));
}

/* Messages up to one of this kind, which is returned; texts that begin with what is looked for are counted. */
static inline larmor_message wait_for(larmor_stream *from, larmor_message_kind kind, const char *text, int *count)
{
    larmor_message m;
    for (;;) {
        assert_ok(larmor_stream_receive(from, &m));
        if (m.kind == LARMOR_MESSAGE_TEXT && text && !strncmp(m.text, text, strlen(text))) (*count)++;
        if (m.kind == kind) return m;
        if (m.kind == LARMOR_MESSAGE_END || m.kind == LARMOR_MESSAGE_CLOSE) fail_msg("%d came first", (int)m.kind);
    }
}

/* ---- what is expected ---- */

/* The images of an opened scan, one after the other. */
typedef struct images {
    int count;
    larmor_array *data[8];
} images;

static inline images reconstruct(larmor_raw *raw, const larmor_recon_opts *opts)
{
    images all = {0};
    OWN(larmor_source, *source, larmor_source_of_raw(raw, "scan", &source));
    OWN(larmor_recon, *recon, larmor_recon_create(source, dev, opts, &recon));
    for (int s = 0; s < larmor_recon_series(recon); s++) {
        OWN(larmor_recon_result, result, larmor_recon_run(recon, s, &result));
        for (int i = 0; i < result.count; i++) all.data[all.count++] = larmor_array_ref(result.image[i].data);
    }
    return all;
}

static inline images expected(const larmor_recon_opts *opts)
{
    OWN(larmor_raw, *raw, larmor_raw_open(in_folder("scan.h5"), NULL, &raw));
    const images all = reconstruct(raw, opts);
    return all;
}

static inline void end_images(images *all)
{
    for (int i = 0; i < all->count; i++) larmor_array_free(all->data[i]);
}

static inline void assert_same_bits(const larmor_array *image, const void *pixels)
{
    OWN_MEMORY(float, *v, larmor_array_download(image, LARMOR_C64, &v));
    assert_memory_equal(v, pixels, (size_t)larmor_array_count(image) * 2 * sizeof *v);
}
