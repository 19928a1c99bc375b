/* Addresses, and sockets made of them. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "stream/address.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "stream/wire.h"

int lmr_address_is_path(const char *address)
{
    return strchr(address, '/') != NULL;
}

void lmr_address_hurry(int fd)
{
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static larmor_status set_path(const char *path, struct sockaddr_un *to)
{
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    LMR_REFUSE(strlen(path) >= sizeof to->sun_path, LARMOR_ERR_ARG,
               "%s: the path of a socket has at most %zu characters", path, sizeof to->sun_path - 1);
    strcpy(to->sun_path, path);
    return LARMOR_OK;
}

/* "HOST:PORT" or "[HOST]:PORT", looked up. */
static larmor_status look_up(const char *address, int listens, struct addrinfo **found)
{
    char host[256];
    const char *colon = strrchr(address, ':');
    size_t length = colon ? (size_t)(colon - address) : 0;
    const char *first = address;
    char *end = NULL;
    const long port = colon && colon[1] >= '0' && colon[1] <= '9' ? strtol(colon + 1, &end, 10) : -1;
    if (length > 2 && *first == '[' && first[length - 1] == ']') {
        first++;
        length -= 2;
    }
    LMR_REFUSE(!length || length >= sizeof host || !end || *end || port > 65535 || (!port && !listens),
               LARMOR_ERR_ARG,
               "address \"%s\": HOST:PORT with a port from %d to 65535 expected, or the path "
               "of a Unix socket, which has a '/'",
               address, listens ? 0 : 1);
    snprintf(host, sizeof host, "%.*s", (int)length, first);
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM,
                                    .ai_flags = AI_NUMERICSERV | (listens ? AI_PASSIVE : 0)};
    const int wrong = getaddrinfo(host, colon + 1, &wanted, found);
    if (!wrong) return LARMOR_OK;
    return LMR_FAIL(wrong == EAI_MEMORY ? LARMOR_ERR_MEMORY : LARMOR_ERR_IO, "%s: no such host (%s).", address,
                    gai_strerror(wrong));
}

/* ---- to a server ---- */

static larmor_status wait_for_connection(int fd, double idle_s, const char *address, int *error)
{
    socklen_t size = sizeof *error;
    LMR_TRY(lmr_wire_wait(fd, POLLOUT, idle_s, address));
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, error, &size)) *error = errno;
    return LARMOR_OK;
}

/* *error: 0, or why the address cannot be reached. */
static larmor_status try_address(const struct sockaddr *to, socklen_t size, double idle_s, const char *address,
                                 int *fd, int *error)
{
    larmor_status st = LARMOR_OK;
    *error = 0;
    *fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0 || connect(*fd, to, size)) *error = errno;
    if (*fd >= 0 && (*error == EINPROGRESS || *error == EINTR)) st = wait_for_connection(*fd, idle_s, address, error);
    if ((st || *error) && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return st;
}

static larmor_status refused(const char *address, int error)
{
    return LMR_FAIL(lmr_system_status(error), "%s: cannot be connected to (%s).", address, lmr_system_text(error));
}

larmor_status lmr_address_connect(const char *address, double idle_s, int *fd)
{
    int error = ECONNREFUSED;
    *fd = -1;
    if (lmr_address_is_path(address)) {
        struct sockaddr_un to;
        LMR_TRY(set_path(address, &to));
        LMR_TRY(try_address((const struct sockaddr *)&to, sizeof to, idle_s, address, fd, &error));
        return error ? refused(address, error) : LARMOR_OK;
    }
    struct addrinfo *all;
    larmor_status st = look_up(address, 0, &all);
    if (st) return st;
    for (const struct addrinfo *a = all; a && *fd < 0 && !st; a = a->ai_next)
        st = try_address(a->ai_addr, a->ai_addrlen, idle_s, address, fd, &error);
    freeaddrinfo(all);
    if (st) return st;
    if (*fd < 0) return refused(address, error);
    lmr_address_hurry(*fd);
    return LARMOR_OK;
}

/* ---- of a server ---- */

static larmor_status cannot_listen(const char *address, int fd)
{
    const int error = errno;
    if (fd >= 0) close(fd);
    return LMR_FAIL(lmr_system_status(error), "%s: cannot listen there (%s).", address, lmr_system_text(error));
}

/* A socket whose server has ended without removing it is in the way. */
static void remove_old(const struct sockaddr_un *at)
{
    struct stat s;
    if (lstat(at->sun_path, &s) || !S_ISSOCK(s.st_mode)) return;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return;
    if (connect(fd, (const struct sockaddr *)at, sizeof *at) && errno == ECONNREFUSED) unlink(at->sun_path);
    close(fd);
}

static larmor_status listen_at_path(const char *path, int waiting, int *fd)
{
    struct sockaddr_un at;
    LMR_TRY(set_path(path, &at));
    remove_old(&at);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0 || fchmod(*fd, S_IRUSR | S_IWUSR)) return cannot_listen(path, *fd);
    if (bind(*fd, (const struct sockaddr *)&at, sizeof at)) return cannot_listen(path, *fd);
    chmod(path, S_IRUSR | S_IWUSR); /* where the system does not heed that of the descriptor */
    return listen(*fd, waiting) ? cannot_listen(path, *fd) : LARMOR_OK;
}

larmor_status lmr_address_listen(const char *address, int waiting, int *fd)
{
    const int on = 1;
    struct addrinfo *all;
    *fd = -1;
    if (lmr_address_is_path(address)) return listen_at_path(address, waiting, fd);
    LMR_TRY(look_up(address, 1, &all));
    *fd = socket(all->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd >= 0) setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const int bad = *fd < 0 || bind(*fd, all->ai_addr, all->ai_addrlen) || listen(*fd, waiting);
    const int error = errno;
    freeaddrinfo(all);
    errno = error;
    return bad ? cannot_listen(address, *fd) : LARMOR_OK;
}

larmor_status lmr_address_of(int fd, const char *address, char *text, size_t size)
{
    struct sockaddr_storage at;
    socklen_t bytes = sizeof at;
    char host[128], port[16];
    if (lmr_address_is_path(address)) {
        snprintf(text, size, "%s", address);
        return LARMOR_OK;
    }
    if (getsockname(fd, (struct sockaddr *)&at, &bytes)) return cannot_listen(address, -1);
    const int wrong = getnameinfo((struct sockaddr *)&at, bytes, host, sizeof host, port, sizeof port,
                                  NI_NUMERICHOST | NI_NUMERICSERV);
    LMR_REFUSE(wrong, LARMOR_ERR_IO, "%s: its port is not known (%s).", address, gai_strerror(wrong));
    snprintf(text, size, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
    return LARMOR_OK;
}
