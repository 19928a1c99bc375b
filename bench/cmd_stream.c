/* larmor-bench stream: how long a client waits for an image after its last readout, and how many images a second it
 * can have, from a session in this process at the other end of a socket. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "commands.h"
#include "common.h"
#include "json.h"
#include "timing.h"

typedef struct settings {
    const char *device, *method;
    int64_t threads, window, every, first;
    double seconds, compress_to;
    int json;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_TEXT, device, 0, "device", "D", "one device, as for larmor recon (default: auto)",
           .reads = app_is_device, .expected = APP_DEVICE_EXPECTED),
    OPTION(APP_INTEGER, threads, 0, "threads", "N", "threads of the processor (default: all cores)", .low = 1,
           .high = 4096),
    OPTION(APP_TEXT, method, 0, "method", "M", "how images are made", .preset = "cg", .choices = "cg|nlinv"),
    OPTION(APP_INTEGER, window, 0, "window", "N", "readouts of an image", .preset = "13", .low = 1, .high = 100000),
    OPTION(APP_INTEGER, every, 0, "every", "N", "readouts from one image to the next (default: the window)", .low = 1,
           .high = 100000),
    OPTION(APP_INTEGER, first, 0, "first", "N", "readouts of the coil maps (default: 5 windows)", .low = 1,
           .high = 100000),
    OPTION(APP_NUMBER, compress_to, 0, "compress", "N", "virtual coils; 0: as larmor recon has it", .preset = "0",
           .low = 0, .high = 1024),
    OPTION(APP_NUMBER, seconds, 0, "seconds", "S", "time of the measurement", .preset = "10", .low = 0.1,
           .high = 86400),
    OPTION(APP_FLAG, json, 0, "json", "", "one object of JSON"),
    {0},
};

typedef struct bench {
    const settings *s;
    larmor_device *dev;
    larmor_raw *raw;
    larmor_stream *client, *server;
    pthread_t thread;
    int is_running;
    larmor_status status; /* of the session, and its message */
    char why[1024];
    double *latency; /* [images] seconds from the last readout of an image to the image */
    int64_t images, room;
    double began, seconds;  /* of the images after the first */
    long memory_kb[2];      /* most of the process: after ten images, at the end */
    int64_t sent, complete; /* readouts */
} bench;

/* ---- the server's side ---- */

static void *serve(void *user)
{
    bench *b = user;
    const settings *s = b->s;
    larmor_session_opts opts = {
        .job = {.recon = {.size = sizeof(larmor_recon_opts), .method = s->method, .compress = s->compress_to},
                .dev = b->dev,
                .images = LARMOR_IMAGES_READOUTS,
                .window = (int)s->window,
                .every = (int)s->every,
                .first = (int)s->first}};
    b->status = larmor_session_run(b->server, &opts, NULL);
    snprintf(b->why, sizeof b->why, "%s", b->status ? larmor_last_error() : "");
    return NULL;
}

static larmor_status connect_both(bench *b)
{
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd)) return larmor_fail(LARMOR_ERR_IO, "no socket can be made");
    larmor_status st = larmor_stream_create(fd[0], fd[0], NULL, &b->client);
    if (!st) st = larmor_stream_create(fd[1], fd[1], NULL, &b->server);
    if (st) return st;
    if (pthread_create(&b->thread, NULL, serve, b)) return larmor_fail(LARMOR_ERR_MEMORY, "no thread can be made");
    b->is_running = 1;
    return LARMOR_OK;
}

static void close_bench(bench *b)
{
    larmor_stream_free(b->client); /* the session ends when nobody listens */
    if (b->is_running) pthread_join(b->thread, NULL);
    larmor_stream_free(b->server);
    larmor_raw_free(b->raw);
    larmor_device_free(b->dev);
    free(b->latency);
}

/* ---- the client's side ---- */

static long most_kb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static larmor_status keep(bench *b, double seconds)
{
    if (b->images == b->room) {
        b->room = b->room ? 2 * b->room : 256;
        double *more = realloc(b->latency, (size_t)b->room * sizeof *more);
        if (!more) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
        b->latency = more;
    }
    b->latency[b->images++] = seconds;
    if (b->images == 10) b->memory_kb[0] = most_kb();
    return LARMOR_OK;
}

/* Texts are passed over, but for an error. */
static larmor_status wait_for_image(bench *b)
{
    larmor_message m;
    for (;;) {
        const larmor_status st = larmor_stream_receive(b->client, &m);
        if (st || m.kind == LARMOR_MESSAGE_IMAGE) return st;
        if (m.kind == LARMOR_MESSAGE_TEXT && !strncmp(m.text, "ERR", 3))
            return larmor_fail(LARMOR_ERR_IO, "the session failed: %s", m.text);
        if (m.kind == LARMOR_MESSAGE_CLOSE || m.kind == LARMOR_MESSAGE_END)
            return larmor_fail(LARMOR_ERR_IO, "the session ended");
    }
}

static larmor_status send_next(bench *b)
{
    larmor_message m = {.kind = LARMOR_MESSAGE_ACQUISITION};
    const int64_t count = larmor_raw_describe(b->raw).acquisitions;
    TRY(larmor_raw_acquisition(b->raw, b->sent++ % count, &m.acquisition));
    b->complete += !(m.acquisition.flags & LARMOR_ACQ_NOISE);
    return larmor_stream_send(b->client, &m);
}

static larmor_status send_text(const bench *b, larmor_message_kind kind, const char *text)
{
    return larmor_stream_send(b->client, &(larmor_message){.kind = kind, .text = text});
}

/* Readouts up to the one that completes an image, and the image. */
static larmor_status next_image(bench *b, int64_t readouts)
{
    larmor_status st = LARMOR_OK;
    const int64_t end = b->complete + readouts;
    while (b->complete < end && !st) st = send_next(b);
    const double sent = app_now();
    if (!st) st = wait_for_image(b);
    return st ? st : keep(b, app_now() - sent);
}

static larmor_status measure(bench *b)
{
    const settings *s = b->s;
    larmor_status st = send_text(b, LARMOR_MESSAGE_HEADER, larmor_raw_xml(b->raw));
    if (!st) st = next_image(b, s->first ? s->first : 5 * s->window);
    b->began = app_now();
    while (!st && app_now() < b->began + s->seconds) st = next_image(b, s->every ? s->every : s->window);
    b->seconds = app_now() - b->began;
    b->memory_kb[1] = most_kb();
    if (!st) st = send_text(b, LARMOR_MESSAGE_CLOSE, NULL);
    return st;
}

/* ---- what came out ---- */

static void report(bench *b)
{
    const double first = b->latency[0];
    const int64_t n = b->images - 1; /* at least one, as the time is not over at once */
    double *each = b->latency + 1;
    bench_sort(each, n);
    const double median = each[n / 2], late = each[(n * 99) / 100], worst = each[n - 1];
    if (!b->s->json) {
        printf("first image %.4g ms; %lld more: median %.3g ms, 99 %% within %.3g ms, worst %.3g ms; %.1f images a "
               "second; memory %.0f MB after ten images, %.0f MB at the end\n",
               1e3 * first, (long long)n, 1e3 * median, 1e3 * late, 1e3 * worst, (double)n / b->seconds,
               (double)b->memory_kb[0] / 1e3, (double)b->memory_kb[1] / 1e3);
        return;
    }
    json j = {.out = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "device", larmor_device_spec(b->dev));
    json_integer(&j, "window", b->s->window);
    json_integer(&j, "images", n);
    json_number(&j, "first_s", first);
    json_number(&j, "median_s", median);
    json_number(&j, "within_99_percent_s", late);
    json_number(&j, "worst_s", worst);
    json_number(&j, "images_per_s", (double)n / b->seconds);
    json_integer(&j, "memory_after_ten_kb", b->memory_kb[0]);
    json_integer(&j, "memory_at_end_kb", b->memory_kb[1]);
    json_close(&j, '}');
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    char own[32];
    APP_FREED_BY(close_bench) bench b = {.s = s};
    APP_TRY(APP_INPUT, larmor_device_open(app_device_name(s->device, s->threads, own), &b.dev));
    APP_TRY(APP_INPUT, larmor_raw_open(files->name[0], &(larmor_raw_opts){.as_stored = 1}, &b.raw));
    APP_TRY(APP_RUN, connect_both(&b));
    APP_TRY(APP_RUN, measure(&b));
    report(&b);
    return APP_DONE;
}

const app_command cmd_stream = {
    .name = "stream",
    .usage = "SCAN.h5 [options]",
    .summary = "time images of the last readouts, from the last readout to the image",
    .details = "The scan's readouts are sent again and again, as fast as they are taken; each image is waited for.",
    .lacking = "a scan is needed; for example one of larmor phantom --traj golden",
    .min_files = 1,
    .max_files = 1,
    .computes = 1,
    APP_OWN_PARTS,
};
