/* larmor send: a scan goes to a server as a scanner would send it, and the images come back.
 * SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "common.h"
#include "parameters.h"
#include "show.h"

typedef struct settings {
    const char *output, *config, *text, *group;
    app_texts set;
    app_list window;
    double idle;
    int force, magnitude, show;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_WRITTEN_FILE, output, 'o', "output", "FILE", "the images; the format follows the suffix", .needed = 1),
    OPTION(APP_TEXTS, set, 0, "set", "NAME=VALUE",
           "a parameter for the server, such as an option of recon; pixels=complex unless something else is set"),
    OPTION(APP_TEXT, text, 0, "parameters", "JSON", "all parameters as one text instead"),
    OPTION(APP_TEXT, config, 0, "config", "NAME", "name of the server's configuration", .preset = "larmor"),
    OPTION(APP_TEXT, group, 0, "group", "NAME",
           "group of the scan in the file (default: dataset, or the only one that holds a scan)"),
    OPTION(APP_NUMBER, idle, 0, "idle", "SECONDS", "give up when nothing has come or gone for so long; 0: never",
           .preset = "0", .low = 0, .high = 1e6),
    OPTION(APP_FLAG, magnitude, 0, "magnitude", "", "write magnitudes where the format could be complex"),
    APP_WINDOW_OPTION(settings),
    OPTION(APP_FLAG, show, 0, "show", "", "draw each image on the terminal when it comes; elsewhere a line of it"),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace a file that exists"),
    {0},
};

/* ---- parameters ---- */

typedef struct text {
    char s[16384];
    size_t used;
} text;

static void add(text *t, const char *what)
{
    t->used += (size_t)snprintf(t->s + t->used, sizeof t->s - t->used, "%s", what);
    if (t->used >= sizeof t->s) t->used = sizeof t->s - 1;
}

static void add_string(text *t, const char *string)
{
    add(t, "\"");
    for (const char *c = string; *c; c++) {
        char one[8];
        const char *form = *c == '"' || *c == '\\' ? "\\%c" : "%c";
        snprintf(one, sizeof one, (unsigned char)*c < ' ' ? "\\u%04x" : form, (unsigned char)*c);
        add(t, one);
    }
    add(t, "\"");
}

/* {"parameters": {...}} of what was set; 0 if that cannot be read. */
static int make_parameters(const settings *s, text *t)
{
    char name[128];
    int has_pixels = 0;
    add(t, "{\"version\": \"1.1.0\", \"parameters\": {\"config\": ");
    add_string(t, s->config);
    for (int i = 0; i < s->set.count; i++) {
        const char *value = parameters_divide(s->set.text[i], name, sizeof name);
        if (!value) return 0;
        has_pixels |= !strcmp(name, "pixels");
        add(t, ", ");
        add_string(t, name);
        add(t, ": ");
        add_string(t, value);
    }
    add(t, has_pixels ? "}}" : ", \"pixels\": \"complex\"}}");
    if (t->used + 1 < sizeof t->s) return 1;
    app_error("--set: all together are too long; use --parameters.");
    return 0;
}

/* ---- images ---- */

static void log_line(void *user, const char *line)
{
    static const char levels[][4] = {"DBG", "INF", "WRN", "ERR"};
    const char *said = line;
    show *shown = user;
    if (shown->rows && strncmp(line, "WRN", 3) != 0 && strncmp(line, "ERR", 3) != 0) return;
    shown->rows += shown->rows > 0; /* a warning stands below the image that the next one replaces */
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (!strncmp(line, levels[i], 3)) said = line + strcspn(line, " ") + (strchr(line, ' ') != NULL);
    if (!strncmp(line, "ERR", 3))
        app_error("server: %s", said);
    else if (!strncmp(line, "WRN", 3) || !strncmp(line, "WARN", 4))
        app_warn("%s", said);
    else if (strncmp(line, "DBG", 3) != 0)
        app_log("%s", said);
}

/* As files have them, whatever the order in which they came. */
static int by_counters(const void *a, const void *b)
{
    const larmor_image *x = a, *y = b;
    const int p[] = {x->meta.slice, x->meta.contrast, x->meta.phase, x->meta.repetition, x->meta.set};
    const int q[] = {y->meta.slice, y->meta.contrast, y->meta.phase, y->meta.repetition, y->meta.set};
    for (size_t i = 0; i < sizeof p / sizeof *p; i++)
        if (p[i] != q[i]) return p[i] < q[i] ? -1 : 1;
    return 0;
}

static int write_images(const settings *s, const larmor_raw *raw, larmor_output *out, larmor_response *got)
{
    const larmor_write_opts opts = {
        .magnitude = s->magnitude, .header = larmor_raw_xml(raw), .window = {s->window.value[0], s->window.value[1]}};
    qsort(got->image, (size_t)got->count, sizeof *got->image, by_counters);
    const larmor_status st = larmor_image_write(out, got->image, got->count, &opts);
    if (st) return app_fail(APP_RUN, st);
    app_log("wrote %s: %d image%s%s", s->output, got->count, app_s(got->count),
            app_describe_window(s->output, got->image, got->count, &s->window).s);
    return APP_DONE;
}

/* What came is written where the server has ended well. */
static int judge(const char *address, const larmor_response *got)
{
    if (got->failed) return APP_FAILED; /* it was said */
    if (got->closed && got->count) return APP_DONE;
    return app_refuse(APP_FAILED, "%s: %s.", address,
                      got->closed ? "sent no images" : "has ended the connection before it was done");
}

static larmor_status show_next(void *user, const larmor_image *image)
{
    return show_image(user, image);
}

static int send_scan(const settings *s, const app_files *files, const char *json)
{
    const char *address = files->name[1];
    const larmor_raw_opts as_stored = {.group = s->group, .as_stored = 1};
    APP_OWNED(larmor_output) *out = NULL;
    APP_OWNED(larmor_device) *dev = NULL;
    APP_OWNED(larmor_raw) *raw = NULL;
    APP_OWNED(larmor_stream) *stream = NULL;
    APP_FREED_BY(larmor_response_free) larmor_response got = {0};
    int code = APP_DONE;
    APP_TRY(APP_RUN, app_output_open(s->output, s->force, &out));
    APP_TRY(APP_RUN, larmor_device_open("cpu", &dev));
    APP_TRY(APP_INPUT, larmor_raw_open(files->name[0], &as_stored, &raw));
    APP_TRY(APP_RUN, larmor_stream_connect(address, &(larmor_stream_opts){.idle_s = s->idle}, &stream));
    show shown = {0};
    const larmor_request request = {.raw = raw,
                                    .config = s->config,
                                    .parameters = json,
                                    .log = log_line,
                                    .image = s->show ? show_next : NULL,
                                    .user = &shown};
    APP_TRY(APP_RUN, larmor_stream_request(stream, &request, dev, &got));
    code = judge(address, &got);
    if (!code) code = write_images(s, raw, out, &got);
    return code;
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    static text own;
    if (app_check_window(&s->window)) return APP_USAGE;
    if (s->text && s->set.count)
        return app_refuse(APP_USAGE, "--parameters and --set exclude each other; give one of them.");
    if (!s->text && !make_parameters(s, &own)) return APP_USAGE;
    return send_scan(s, files, s->text ? s->text : own.s);
}

const app_command cmd_send = {
    .name = "send",
    .usage = "SCAN.h5 HOST:PORT -o IMAGE [options]",
    .summary = "send a scan to a server, as a scanner would, and write the images that come back",
    .details =
        "The server is 'larmor serve' or any other that speaks MRD version 1. An address with a '/' is the path "
        "of a Unix\n"
        "socket. Every acquisition is sent as the file has it; waveforms are not.",
    .lacking = "a scan and an address are needed; for example: larmor send scan.h5 localhost:9002 -o image.h5",
    .min_files = 2,
    .max_files = 2,
    APP_OWN_PARTS,
};
