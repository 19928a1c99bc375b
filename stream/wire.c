/* Bytes over a descriptor. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "stream/wire.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/core.h"

enum { BETWEEN_ASKING = 50 }; /* ms: whether the caller wants to stop */

static int is_socket(int fd)
{
    struct stat s;
    return !fstat(fd, &s) && S_ISSOCK(s.st_mode);
}

larmor_status lmr_wire_open(int in, int out, double idle_s, const char *name, lmr_wire *wire)
{
    *wire = (lmr_wire){.in = in,
                       .out = out,
                       .in_is_socket = is_socket(in),
                       .out_is_socket = is_socket(out),
                       .idle_s = idle_s,
                       .name = name,
                       .buffer = malloc(LMR_WIRE_BUFFER)};
    return wire->buffer ? LARMOR_OK : LMR_NO_MEMORY();
}

void lmr_wire_end(lmr_wire *wire)
{
    free(wire->buffer);
    wire->buffer = NULL;
}

larmor_status lmr_wire_wait(int fd, short events, double idle_s, const char *name)
{
    struct pollfd one = {.fd = fd, .events = events};
    const double end = lmr_seconds() + idle_s;
    for (;;) {
        LMR_TRY(lmr_go_on());
        const int ready = poll(&one, 1, BETWEEN_ASKING);
        if (ready > 0) return LARMOR_OK;
        LMR_REFUSE(ready < 0 && errno != EINTR && errno != EAGAIN, lmr_system_status(errno),
                   "%s: cannot be waited for (%s).", name, lmr_system_text(errno));
        LMR_REFUSE(idle_s > 0 && lmr_seconds() > end, LARMOR_ERR_IO, "%s: nothing has come or gone for %g s.", name,
                   idle_s);
    }
}

/* What is there, 0 at the end. */
static larmor_status read_some(lmr_wire *w, void *to, size_t bytes, size_t *got)
{
    for (;;) {
        LMR_TRY(lmr_wire_wait(w->in, POLLIN, w->idle_s, w->name));
        const ssize_t n = w->in_is_socket ? recv(w->in, to, bytes, MSG_DONTWAIT) : read(w->in, to, bytes);
        if (n >= 0) {
            *got = (size_t)n;
            return LARMOR_OK;
        }
        LMR_REFUSE(errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK, lmr_system_status(errno),
                   "%s: cannot be read (%s).", w->name, lmr_system_text(errno));
    }
}

larmor_status lmr_wire_read(lmr_wire *w, void *to, size_t bytes, size_t *got)
{
    size_t n;
    *got = 0;
    while (*got < bytes) {
        unsigned char *at = (unsigned char *)to + *got;
        const size_t left = bytes - *got;
        if (w->held) {
            n = left < w->held ? left : w->held;
            memcpy(at, w->buffer + w->first, n);
            w->first += n;
            w->held -= n;
        } else if (left >= LMR_WIRE_BUFFER) {
            LMR_TRY(read_some(w, at, left, &n));
            if (!n) return LARMOR_OK;
        } else {
            LMR_TRY(read_some(w, w->buffer, LMR_WIRE_BUFFER, &w->held));
            w->first = 0;
            n = 0;
            if (!w->held) return LARMOR_OK;
        }
        *got += n;
    }
    return LARMOR_OK;
}

/* write() without the signal that ends a program where nobody reads the pipe. */
static ssize_t write_quietly(int fd, const void *from, size_t bytes)
{
    const struct timespec at_once = {0};
    sigset_t pipe_signal, before, waiting;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&waiting);
    const int was_waiting = sigismember(&waiting, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    const ssize_t n = write(fd, from, bytes);
    const int error = errno;
    if (n < 0 && error == EPIPE && !was_waiting) sigtimedwait(&pipe_signal, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return n;
}

larmor_status lmr_wire_write(lmr_wire *w, const void *from, size_t bytes)
{
    for (size_t sent = 0; sent < bytes;) {
        const unsigned char *at = (const unsigned char *)from + sent;
        size_t left = bytes - sent;
        if (!w->out_is_socket && left > PIPE_BUF)
            left = PIPE_BUF; /* for so much there is room in a pipe that is ready */
        LMR_TRY(lmr_wire_wait(w->out, POLLOUT, w->idle_s, w->name));
        const ssize_t n =
            w->out_is_socket ? send(w->out, at, left, MSG_DONTWAIT | MSG_NOSIGNAL) : write_quietly(w->out, at, left);
        if (n >= 0)
            sent += (size_t)n;
        else if (errno == EPIPE || errno == ECONNRESET)
            return LMR_FAIL(LARMOR_ERR_IO, "%s: the other side has gone.", w->name);
        else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
            return LMR_FAIL(lmr_system_status(errno), "%s: cannot be written (%s).", w->name, lmr_system_text(errno));
    }
    return LARMOR_OK;
}

int lmr_wire_is_gone(const lmr_wire *w)
{
    struct pollfd one = {.fd = w->out};
    return poll(&one, 1, 0) > 0 && (one.revents & (POLLERR | POLLHUP | POLLNVAL));
}
