/* The plugin larmor_http.so: one page for browsers, by libmicrohttpd. SPDX-License-Identifier: Apache-2.0 */
#include "io/page/http_plugin.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONNECTIONS = 32, TIMEOUT_S = 10, MOST_REQUEST = 32768 };

static const lmr_host *host;

#define FAIL(status, ...) host->fail(status, __func__, __LINE__, __VA_ARGS__)

typedef struct server {
    const char *page;
    size_t bytes;
    _Atomic int port; /* 0 until it is known; a request that comes before is refused */
    struct MHD_Daemon *daemon;
} server;

/* A name that a foreign page has pointed to this machine is no address, so only addresses and localhost are asked
 * for, with this port. */
static int is_own_host(const char *name, int port)
{
    char own[16];
    const char *colon = name ? strrchr(name, ':') : NULL;
    if (!colon) return 0;
    snprintf(own, sizeof own, "%d", port);
    const size_t length = (size_t)(colon - name);
    const int is_number = length > 0 && strspn(name, "0123456789.") == length;
    const int is_local = length == strlen("localhost") && !strncmp(name, "localhost", length);
    return !strcmp(colon + 1, own) && (is_number || is_local);
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const server *s)
{
    static char nothing[1];
    const int is_page = code == MHD_HTTP_OK;
    void *data = nothing;
    if (is_page) memcpy(&data, &s->page, sizeof data);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(is_page ? s->bytes : 0, data, MHD_RESPMEM_PERSISTENT);
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
    const server *s = user;
    const char *name = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    if (!is_own_host(name, s->port)) return answer(connection, MHD_HTTP_FORBIDDEN, s);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, s);
    return answer(connection, strcmp(url, "/") == 0 ? MHD_HTTP_OK : MHD_HTTP_NOT_FOUND, s);
}

/* Signals are for the program's own threads. */
static void start(server *s, const struct sockaddr_in *at)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    s->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, handle, s, MHD_OPTION_SOCK_ADDR, at,
                                 MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,
                                 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MOST_REQUEST, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static larmor_status open_server(const char *page, size_t bytes, const char *address, int *port, void **made)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port)};
    if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
        return FAIL(LARMOR_ERR_ARG, "opts.address %s: an address such as 127.0.0.1 expected.", address);
    server *s = calloc(1, sizeof *s);
    if (!s) return FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    s->page = page;
    s->bytes = bytes;
    start(s, &at);
    if (!s->daemon) {
        free(s);
        return FAIL(LARMOR_ERR_IO, "%s:%d: cannot be listened on; choose another opts.port or opts.address.", address,
                    *port);
    }
    *port = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    s->port = *port;
    *made = s;
    return LARMOR_OK;
}

static void close_server(void *made)
{
    server *s = made;
    MHD_stop_daemon(s->daemon);
    free(s);
}

__attribute__((visibility("default"))) lmr_plugin_entry lmr_http_entry;

const void *lmr_http_entry(uint32_t abi, const lmr_host *given)
{
    static const lmr_http table = {LMR_HTTP_ABI, open_server, close_server};
    if (abi == LMR_HTTP_ABI) host = given;
    return &table;
}
