/* A server: it listens, and each connection has a session in a thread of its own. SPDX-License-Identifier:
 * Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/core.h"
#include "stream/address.h"
#include "stream/message.h"

enum { SESSIONS = 4, MOST_SESSIONS = 1024, BETWEEN_ASKING_MS = 50 };

typedef struct connection {
    struct larmor_server *server;
    pthread_t thread;
    int64_t number;
    int fd, is_used, is_over; /* the last under the server's lock */
} connection;

struct larmor_server {
    larmor_server_opts opts;
    char *address, actual[320];
    int fd, is_path;
    dev_t device;     /* of the Unix socket that is removed at the end, */
    ino_t inode;      /* if it is still this one */
    connection *each; /* [opts.sessions] */
    int64_t number;
    atomic_int stops;
    pthread_mutex_t lock;
    pthread_cond_t ended;
};

larmor_status larmor_server_create(const char *address, const larmor_server_opts *opts, larmor_server **server)
{
    struct stat made;
    LMR_NEED_OUT(server, address);
    LMR_NEW_ZEROS(larmor_server, s, 1);
    if (opts) s->opts = *opts;
    if (!s->opts.sessions) s->opts.sessions = SESSIONS;
    s->fd = -1;
    atomic_init(&s->stops, 0);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->ended, NULL);
    larmor_status st = LARMOR_OK;
    if (s->opts.sessions < 1 || s->opts.sessions > MOST_SESSIONS)
        st = LMR_FAIL(LARMOR_ERR_ARG, "server: opts.sessions: got %d, expected 1 to %d", s->opts.sessions,
                      MOST_SESSIONS);
    if (!st) s->each = calloc((size_t)s->opts.sessions, sizeof *s->each);
    if (!st) s->address = strdup(address);
    if (!st && (!s->each || !s->address)) st = LMR_NO_MEMORY();
    if (!st) st = lmr_address_listen(address, SOMAXCONN, &s->fd);
    if (!st && lmr_address_is_path(address) && !stat(address, &made)) {
        s->is_path = 1;
        s->device = made.st_dev;
        s->inode = made.st_ino;
    }
    if (!st) st = lmr_address_of(s->fd, address, s->actual, sizeof s->actual);
    return LMR_GIVE(server, s, larmor_server_free, st);
}

const char *larmor_server_address(const larmor_server *server)
{
    return server ? server->actual : "";
}

void larmor_server_free(larmor_server *s)
{
    struct stat now;
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    if (s->is_path && !stat(s->address, &now) && now.st_dev == s->device && now.st_ino == s->inode)
        unlink(s->address);
    pthread_cond_destroy(&s->ended);
    pthread_mutex_destroy(&s->lock);
    LMR_FREE(s->each, s->address, s);
}

/* ---- a session ---- */

static int is_stopped(void *user)
{
    const larmor_server *s = user;
    return atomic_load(&s->stops);
}

static void refuse(larmor_stream *stream)
{
    char why[1024];
    snprintf(why, sizeof why, "%s", larmor_last_error());
    if (!lmr_stream_text(stream, "ERR ", why))
        larmor_stream_send(stream, &(larmor_message){.kind = LARMOR_MESSAGE_CLOSE});
}

static void serve(const connection *c, larmor_stream *stream)
{
    const larmor_server_opts *opts = &c->server->opts;
    larmor_session_opts session = {.job = {.recon = {.size = sizeof(larmor_recon_opts)}}};
    larmor_session_report report = {0};
    larmor_status st = opts->begin ? opts->begin(opts->user, c->number, &session) : LARMOR_OK;
    if (st)
        refuse(stream);
    else
        st = larmor_session_run(stream, &session, &report);
    if (opts->end) opts->end(opts->user, c->number, &session, &report, st);
}

static void *run_session(void *user)
{
    connection *c = user;
    larmor_server *s = c->server;
    larmor_stream *stream;
    char name[40];
    snprintf(name, sizeof name, "session %lld", (long long)c->number);
    larmor_stop_when(is_stopped, s);
    if (larmor_stream_create(c->fd, c->fd, &(larmor_stream_opts){.idle_s = s->opts.idle_s, .name = name}, &stream)) {
        close(c->fd);
    } else {
        serve(c, stream);
        larmor_stream_free(stream);
    }
    pthread_mutex_lock(&s->lock);
    c->is_over = 1;
    pthread_cond_signal(&s->ended);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- all of them ---- */

/* A place for a session, once it is free; NULL if none is yet. */
static connection *find_place(larmor_server *s)
{
    connection *found = NULL;
    for (int i = 0; i < s->opts.sessions; i++) {
        connection *c = &s->each[i];
        pthread_mutex_lock(&s->lock);
        const int is_over = c->is_over;
        pthread_mutex_unlock(&s->lock);
        if (c->is_used && is_over) {
            pthread_join(c->thread, NULL);
            *c = (connection){0};
        }
        if (!c->is_used) found = c;
    }
    return found;
}

static void wait_for_an_end(larmor_server *s)
{
    pthread_mutex_lock(&s->lock);
    lmr_wait_ms(&s->ended, &s->lock, BETWEEN_ASKING_MS);
    pthread_mutex_unlock(&s->lock);
}

/* Signals are for the caller's thread. */
static int start(larmor_server *s, connection *c, int fd)
{
    sigset_t all, before;
    *c = (connection){.server = s, .number = ++s->number, .fd = fd};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    c->is_used = !pthread_create(&c->thread, NULL, run_session, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return c->is_used;
}

/* One connection, if one comes before the next look at who has ended. */
static larmor_status accept_one(larmor_server *s, connection *c)
{
    struct pollfd one = {.fd = s->fd, .events = POLLIN};
    if (poll(&one, 1, BETWEEN_ASKING_MS) < 1) return LARMOR_OK;
    const int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        lmr_address_hurry(fd);
        if (!start(s, c, fd)) close(fd);
        return LARMOR_OK;
    }
    switch (errno) {
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
        return LMR_FAIL(LARMOR_ERR_IO, "%s: connections cannot be accepted (%s).", s->actual, lmr_system_text(errno));
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        wait_for_an_end(s); /* which gives some of it back */
        return LARMOR_OK;
    default: /* the client has gone again, for example */
        return LARMOR_OK;
    }
}

larmor_status larmor_server_run(larmor_server *s)
{
    LMR_NEED(s);
    larmor_status st = LARMOR_OK;
    while (!st) {
        connection *c = find_place(s);
        st = lmr_go_on();
        if (st) break;
        if (c)
            st = accept_one(s, c);
        else
            wait_for_an_end(s);
    }
    char why[1024];
    snprintf(why, sizeof why, "%s", larmor_last_error());
    atomic_store(&s->stops, 1);
    for (int i = 0; i < s->opts.sessions; i++)
        if (s->each[i].is_used) pthread_join(s->each[i].thread, NULL);
    memset(s->each, 0, (size_t)s->opts.sessions * sizeof *s->each);
    atomic_store(&s->stops, 0);
    return larmor_fail(st, "%s", why);
}
