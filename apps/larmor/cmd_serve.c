/* larmor serve: scans come over a connection while they are acquired, and their images go back.
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "commands.h"
#include "common.h"
#include "given.h"
#include "parameters.h"
#include "recon.h"
#include "serve_commands.h"
#include "via.h"

typedef struct settings {
    const char *address, *unix_socket, *commands, *device, *images, *pixels;
    int64_t port, ready, sessions, memory, threads;
    double idle;
    app_texts set;
    int pipe;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_INTEGER, port, 'p', "port", "N", "port of TCP; 0: a free one, which is printed", .preset = "9002",
           .low = 0, .high = 65535),
    OPTION(APP_TEXT, address, 0, "address", "HOST",
           "where connections are accepted: this machine alone, unless told otherwise; nobody is asked who he is",
           .preset = "127.0.0.1"),
    OPTION(APP_TEXT, unix_socket, 0, "unix", "PATH", "a Unix socket, for this user alone, instead of a port"),
    OPTION(APP_TEXT, commands, 0, "commands", "SOCKET",
           "instead keep processes ready, with the device open, for commands of this user: larmor recon --via SOCKET",
           .reads = app_is_socket, .expected = APP_SOCKET_EXPECTED),
    OPTION(APP_INTEGER, ready, 0, "ready", "N", "--commands: how many wait; each takes one command", .preset = "2",
           .low = 1, .high = 64),
    OPTION(APP_FLAG, pipe, 0, "pipe", "", "one session on standard input and output instead"),
    OPTION(APP_TEXTS, set, 0, "set", "NAME=VALUE",
           "an option of recon for all sessions, such as maps=FILE; clients may set most, but name no files"),
    OPTION(APP_TEXT, images, 0, "images", "WHEN",
           "what is reconstructed together: the measurement; each repetition or each slice, when its last readout "
           "is there; the last readouts, now and then",
           .preset = "measurement", .choices = "measurement|repetition|slice|readouts"),
    OPTION(APP_TEXT, pixels, 0, "pixels", "TYPE", "of the images: int16, scaled magnitudes; float; complex",
           .preset = "int16", .choices = "int16|float|complex"),
    OPTION(APP_INTEGER, sessions, 0, "sessions", "N", "sessions at the same time; other clients wait", .preset = "4",
           .low = 1, .high = 1024),
    OPTION(APP_BYTES, memory, 0, "memory", "SIZE",
           "of each session: most memory for its readouts, and on the device for its images (default: 4 GB, and what "
           "is free)"),
    OPTION(APP_NUMBER, idle, 0, "idle", "SECONDS",
           "end a session when nothing has come or gone for so long; 0: never", .preset = "3600", .low = 0,
           .high = 1e6),
    APP_DEVICE_OPTIONS(settings),
    {0},
};

/* ---- a session ---- */

typedef struct client {
    const settings *s;
    long long number; /* 0: the only one */
    parameters parameters;
    larmor_device *dev;
    larmor_counters only;
    recon_run run;                /* what the inputs of recon are read with */
    larmor_recon_opts inputs;     /* those of the last image, which outlive the session */
    larmor_trajectory trajectory; /* that the server's options give */
} client;

static void log_line(void *user, larmor_event_kind kind, const char *line)
{
    const client *c = user;
    if (kind == LARMOR_EVENT_WARNING)
        app_warn("session %lld: %s", c->number, line);
    else
        app_log("session %lld: %s", c->number, line);
}

static larmor_status set(void *user, const char *name, const char *value)
{
    client *c = user;
    return parameters_set(&c->parameters, name, value, 0);
}

static larmor_status read_bins(const recon_settings *s, larmor_bins_opts *bins)
{
    if (!s->bins) return LARMOR_OK;
    recon_read_bins(s->bins, bins);
    bins->tick_ms = s->tick;
    if (recon_gating_way(s->gating, &bins->way)) return LARMOR_OK;
    return larmor_fail(LARMOR_ERR_ARG, "parameter gating: a scan that is sent is gated by itself; auto, waveforms, "
                                       "header or self expected.");
}

static larmor_status configure(void *user, larmor_session_job *job)
{
    client *c = user;
    const recon_settings *s = &c->parameters.settings;
    char why[1024];
    job->raw = recon_raw(s);
    app_catch_errors(why, sizeof why);
    int code = recon_check_options(&cmd_recon, s);
    if (!code) code = given_read(&s->given, &job->raw, &c->trajectory);
    app_catch_errors(NULL, 0);
    if (code) return larmor_fail(LARMOR_ERR_ARG, "parameters: %s", why);
    recon_read_options(s, &job->recon, &c->only);
    job->recon.memory = c->s->memory;
    job->frames = recon_frames(s);
    return read_bins(s, &job->bins);
}

static larmor_status prepare(void *user, const larmor_raw *raw, larmor_source *source, larmor_session_job *job)
{
    client *c = user;
    char why[1024];
    c->run = (recon_run){.s = &c->parameters.settings, .input = "scan", .raw = raw, .source = source, .dev = c->dev};
    recon_free_inputs(&job->recon);
    app_catch_errors(why, sizeof why);
    int code = recon_read_delays(c->run.s, raw, &job->recon);
    if (!code) code = recon_read_inputs(&c->run, &job->recon);
    c->inputs = job->recon;
    app_catch_errors(NULL, 0);
    return code ? larmor_fail(LARMOR_ERR_ARG, "%s", why) : LARMOR_OK;
}

static int index_of(const char *name, const char *choices)
{
    int i = 0;
    for (const char *at = choices; strncmp(at, name, strlen(name)) != 0; i++) at = strchr(at, '|') + 1;
    return i;
}

static larmor_status set_all(client *c)
{
    char name[128];
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < c->s->set.count && !st; i++) {
        const char *value = parameters_divide(c->s->set.text[i], name, sizeof name);
        if (value) st = parameters_set(&c->parameters, name, value, 1);
    }
    return st;
}

static larmor_status open_client(const settings *s, int64_t number, larmor_session_opts *session)
{
    char own[32];
    const char *asked = s->device ? s->device : getenv("LARMOR_DEVICE");
    client *c = calloc(1, sizeof *c);
    if (!c) return NO_MEMORY();
    session->user = c;
    c->s = s;
    c->number = (long long)number;
    parameters_begin(&c->parameters);
    larmor_status st = set_all(c);
    if (!st) st = larmor_device_open(app_device_name(asked, s->threads, own), &c->dev);
    session->job.dev = c->dev;
    session->job.images = (larmor_session_images)index_of(s->images, "measurement|repetition|slice|readouts");
    session->job.pixels = (larmor_session_pixels)index_of(s->pixels, "int16|float|complex");
    session->memory = s->memory;
    session->set = set;
    session->configure = configure;
    session->prepare = prepare;
    session->log = log_line;
    return st;
}

static void close_client(larmor_session_opts *session)
{
    client *c = session->user;
    if (!c) return;
    recon_free_inputs(&c->inputs);
    larmor_trajectory_free(&c->trajectory);
    larmor_device_free(c->dev);
    parameters_free(&c->parameters);
    free(c);
}

/* ---- all of them ---- */

/* What all sessions have. */
typedef struct host {
    const settings *s;
} host;

static larmor_status begin(void *user, int64_t number, larmor_session_opts *session)
{
    const host *h = user;
    app_log("session %lld: begins", (long long)number);
    return open_client(h->s, number, session);
}

static void log_end(int64_t number, const larmor_session_report *report, larmor_status status)
{
    if (status)
        app_log("session %lld: failed: %s", (long long)number, larmor_last_error());
    else
        app_log("session %lld: ends; %lld acquisition%s, %lld image%s", (long long)number,
                (long long)report->acquisitions, app_s(report->acquisitions), (long long)report->images,
                app_s(report->images));
}

static void end(void *user APP_UNUSED, int64_t number, larmor_session_opts *session,
                const larmor_session_report *report, larmor_status status)
{
    log_end(number, report, status);
    close_client(session);
}

/* What is wrong with the options and the device is said before anybody connects. The device stays open: a GPU is then
 * there at once for each session. */
static int try_options(const settings *s, larmor_session_opts *session)
{
    larmor_session_job job = {.recon = {.size = sizeof job.recon}};
    larmor_status st = open_client(s, 0, session);
    if (!st) st = configure(session->user, &job);
    return st ? app_fail(APP_INPUT, st) : APP_DONE;
}

static int serve_pipe(const settings *s, larmor_session_opts *session)
{
    const larmor_stream_opts opts = {.idle_s = s->idle, .keep_open = 1, .name = "standard input"};
    larmor_session_report report = {0};
    APP_OWNED(larmor_stream) *stream = NULL;
    APP_TRY(APP_RUN, larmor_stream_create(STDIN_FILENO, STDOUT_FILENO, &opts, &stream));
    APP_TRY(APP_RUN, larmor_session_run(stream, session, &report));
    log_end(0, &report, LARMOR_OK);
    return APP_DONE;
}

static int serve_address(const settings *s)
{
    host h = {s};
    const larmor_server_opts opts = {
        .sessions = (int)s->sessions, .idle_s = s->idle, .begin = begin, .end = end, .user = &h};
    larmor_server *server;
    char address[512];
    snprintf(address, sizeof address, strchr(s->address, ':') ? "[%s]:%d" : "%s:%d", s->address, (int)s->port);
    APP_TRY(APP_INPUT, larmor_server_create(s->unix_socket ? s->unix_socket : address, &opts, &server));
    printf("listening on %s\n", larmor_server_address(server));
    fflush(stdout);
    const larmor_status st = larmor_server_run(server);
    larmor_server_free(server);
    return st == LARMOR_STOPPED ? app_stopped() : app_fail(APP_RUN, st);
}

static int keep_commands(const settings *s)
{
    char own[32];
    const char *device = app_device_name(s->device, s->threads, own);
    if (s->pipe || s->unix_socket || s->set.count)
        return app_refuse(APP_USAGE, "--commands waits for whole commands: --pipe, --unix and --set are not for it.");
    return serve_commands(s->commands, device ? device : "", (int)s->ready);
}

static int run(const void *given, const app_files *files APP_UNUSED)
{
    const settings *s = given;
    APP_FREED_BY(close_client) larmor_session_opts session = {.job = {.recon = {.size = sizeof(larmor_recon_opts)}}};
    if (s->pipe && s->unix_socket)
        return app_refuse(APP_USAGE, "--pipe and --unix exclude each other; give one of them.");
    if (s->commands) return keep_commands(s);
    if (s->unix_socket && !strchr(s->unix_socket, '/'))
        return app_refuse(APP_USAGE, "--unix %s: a path with a '/' expected, such as ./%s.", s->unix_socket,
                          s->unix_socket);
    for (int i = 0; i < s->set.count; i++) {
        char name[128];
        if (!parameters_divide(s->set.text[i], name, sizeof name)) return APP_USAGE;
    }
    int code = try_options(s, &session);
    if (!code) code = s->pipe ? serve_pipe(s, &session) : serve_address(s);
    return code;
}

const app_command cmd_serve = {
    .name = "serve",
    .usage = "[--port N] [options]",
    .summary = "reconstruct scans that a scanner sends over the network, while they are acquired",
    .details =
        "Clients speak MRD version 1, as FIRE, OpenRecon and Gadgetron's do. The options of recon are their\n"
        "parameters: JSON after the header, {\"parameters\": {\"method\": \"grid\", \"spokesperframe\": 21}}; names "
        "need no\n"
        "dashes. 'larmor send' is a client.",
    .computes = 1,
    APP_OWN_PARTS,
};
