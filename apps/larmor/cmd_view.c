/* larmor view: the page of an image, for a browser on this machine, by libmicrohttpd. SPDX-License-Identifier:
 * Apache-2.0 */
#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common.h"

typedef struct settings {
    const char *address;
    int64_t port;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_INTEGER, port, 'p', "port", "N", "TCP port; 0: any that is free", .preset = "0", .low = 0,
           .high = 65535),
    OPTION(APP_TEXT, address, 0, "address", "IP", "where to listen; other than 127.0.0.1 lets others look",
           .preset = "127.0.0.1"),
    {0},
};

#ifdef LARMOR_HAVE_HTTP
#include <microhttpd.h>

enum { MOST_CONNECTIONS = 32, TIMEOUT_S = 10, MOST_REQUEST = 32768, WAIT_MS = 200 };

typedef struct page {
    char *data;
    size_t bytes;
    int port;
} page;

/* ---- the page ---- */

static larmor_status read_file(const char *path, page *p)
{
    FILE *f = fopen(path, "rb");
    if (!f) return larmor_fail(LARMOR_ERR_IO, "%s: no such file.", path);
    larmor_status st = LARMOR_OK;
    for (size_t got = 1; got && !st;) {
        char *more = realloc(p->data, p->bytes + (1 << 16));
        if (!more) st = NO_MEMORY();
        if (st) break;
        p->data = more;
        got = fread(p->data + p->bytes, 1, 1 << 16, f);
        p->bytes += got;
    }
    fclose(f);
    return st;
}

static larmor_status write_page(const char *from, const char *to)
{
    APP_OWNED(larmor_device) *dev = NULL;
    APP_OWNED(larmor_output) *out = NULL;
    APP_FREED_BY(larmor_images_free) larmor_image_set set = {.count = 0};
    TRY(larmor_device_open("cpu", &dev));
    TRY(app_read_images(from, dev, &set));
    TRY(app_outputs_open(&to, 1, 0, &out));
    const larmor_page shown = {.title = from, .image = set.image, .images = set.count};
    return larmor_page_write(out, &shown);
}

/* An .html is the page; of an image one is written to a folder of its own, which is removed. */
static larmor_status make_page(const char *path, page *p)
{
    char folder[PATH_MAX], file[PATH_MAX + 16];
    const char *temporary = getenv("TMPDIR");
    if (!strcmp(app_suffix(path), ".html")) return read_file(path, p);
    snprintf(folder, sizeof folder, "%s/larmor-view-XXXXXX", temporary && *temporary ? temporary : P_tmpdir);
    if (!mkdtemp(folder)) return larmor_fail(LARMOR_ERR_IO, "%s: cannot be made", folder);
    snprintf(file, sizeof file, "%s/page.html", folder);
    larmor_status st = write_page(path, file);
    if (!st) st = read_file(file, p);
    unlink(file);
    rmdir(folder);
    return st;
}

/* ---- requests ---- */

/* A name that a foreign page has pointed to this machine is no address, so only addresses and localhost are asked
 * for, with this port. */
static int is_own_host(const char *host, int port)
{
    char own[16];
    const char *colon = host ? strrchr(host, ':') : NULL;
    if (!colon) return 0;
    snprintf(own, sizeof own, "%d", port);
    const size_t length = (size_t)(colon - host);
    const int is_number = length > 0 && strspn(host, "0123456789.") == length;
    const int is_local = length == strlen("localhost") && !strncmp(host, "localhost", length);
    return !strcmp(colon + 1, own) && (is_number || is_local);
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const page *p)
{
    static char nothing[1];
    const int is_page = code == MHD_HTTP_OK;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(is_page ? p->bytes : 0, is_page ? p->data : nothing, MHD_RESPMEM_PERSISTENT);
    if (!response) return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "text/html; charset=utf-8");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(
        response, "Content-Security-Policy",
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:");
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(response, "Allow", "GET, HEAD");
    const enum MHD_Result queued = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_bytes, void **state)
{
    (void)version;
    (void)upload;
    (void)upload_bytes;
    (void)state;
    const page *p = user;
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    if (!is_own_host(host, p->port)) return answer(connection, MHD_HTTP_FORBIDDEN, p);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, p);
    return answer(connection, strcmp(url, "/") == 0 ? MHD_HTTP_OK : MHD_HTTP_NOT_FOUND, p);
}

static int serve(const settings *s, page *p)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    if (inet_pton(AF_INET, s->address, &at.sin_addr) != 1) {
        app_error("--address %s: an address such as 127.0.0.1 expected.", s->address);
        return APP_USAGE;
    }
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_NO_FLAG, 0, NULL, NULL, handle, p, MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MOST_REQUEST, MHD_OPTION_END);
    if (!daemon)
        return app_fail(APP_RUN, larmor_fail(LARMOR_ERR_IO,
                                             "%s:%lld: cannot be listened on; choose another --port or --address.",
                                             s->address, (long long)s->port));
    p->port = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    printf("http://%s:%d/\n", s->address, p->port);
    fflush(stdout);
    while (!app_stopped()) MHD_run_wait(daemon, WAIT_MS);
    MHD_stop_daemon(daemon);
    return app_stopped();
}

static int run(const void *given, const app_files *files)
{
    page p = {.data = NULL};
    const larmor_status st = make_page(files->name[0], &p);
    const int code = st ? app_fail(APP_INPUT, st) : serve(given, &p);
    free(p.data);
    return code;
}
#else
static int run(const void *given, const app_files *files)
{
    (void)given;
    (void)files;
    app_error("view: larmor was built without libmicrohttpd; write a page by larmor convert IMAGE page.html.");
    return APP_REFUSED;
}
#endif

const app_command cmd_view = {
    .name = "view",
    .usage = "IMAGE|PAGE.html [options]",
    .summary = "show an image, or a page that recon --report wrote, to a browser on this machine",
    .details = "Prints the address to open, and serves that page alone until Ctrl-C.",
    .min_files = 1,
    .max_files = 1,
    .options = options,
    .settings = sizeof(settings),
    .run = run,
};
