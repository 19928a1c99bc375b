/* A command that another process of the program computes: what is sent, and both ends.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "via.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common.h"

extern char **environ;

enum { DESCRIPTORS = 4, MOST_TEXTS = 65536, WAITING = 8 }; /* the folder, and standard input, output and error */
#define MOST_BYTES ((int64_t)64 << 20)
#define OPTION "--via"
#define VARIABLES "LARMOR_"

/* What is sent first, with the descriptors; the texts follow, arguments before variables, each with its end. */
typedef struct request {
    char version[32];
    int32_t mask, arguments, variables;
    int64_t bytes;
} request;

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP};
enum { PASSED_ON = sizeof passed_on / sizeof *passed_on };

/* ---- bytes ---- */

static int send_all(int to, const void *bytes, size_t count)
{
    for (size_t sent = 0; sent < count;) {
        const ssize_t now = send(to, (const char *)bytes + sent, count - sent, MSG_NOSIGNAL);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0) return 0;
        sent += (size_t)now;
    }
    return 1;
}

static int receive_all(int from, void *bytes, size_t count)
{
    for (size_t got = 0; got < count;) {
        const ssize_t now = recv(from, (char *)bytes + got, count - got, 0);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0) return 0;
        got += (size_t)now;
    }
    return 1;
}

/* The start of a message with descriptors; control is room for them. */
static struct msghdr message_of(struct iovec *part, void *bytes, size_t count, void *control, size_t room)
{
    *part = (struct iovec){bytes, count};
    return (struct msghdr){.msg_iov = part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = room};
}

typedef union room_for_descriptors {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
} room_for_descriptors;

static int send_request(int to, request *r, const int fd[DESCRIPTORS])
{
    room_for_descriptors control = {0};
    struct iovec part;
    struct msghdr m = message_of(&part, r, sizeof *r, control.bytes, sizeof control.bytes);
    struct cmsghdr *head = CMSG_FIRSTHDR(&m);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(DESCRIPTORS * sizeof *fd);
    memcpy(CMSG_DATA(head), fd, DESCRIPTORS * sizeof *fd);
    return sendmsg(to, &m, MSG_NOSIGNAL) == (ssize_t)sizeof *r;
}

static int receive_request(int from, request *r, int fd[DESCRIPTORS])
{
    room_for_descriptors control = {0};
    struct iovec part;
    struct msghdr m = message_of(&part, r, sizeof *r, control.bytes, sizeof control.bytes);
    const ssize_t got = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(DESCRIPTORS * sizeof *fd)) return 0;
    memcpy(fd, CMSG_DATA(head), DESCRIPTORS * sizeof *fd);
    return (size_t)got == sizeof *r ||
           ((size_t)got < sizeof *r && receive_all(from, (char *)r + got, sizeof *r - (size_t)got));
}

/* ---- the socket ---- */

/* or: another one that may be at the other end, too. */
static int is_of_user(int fd, uid_t or)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) && (who.uid == geteuid() || who.uid == or);
}

int app_is_socket(const char *text)
{
    const char *in = text + strspn(text, ".");
    return *in == '/' && in - text < 3 && in[strlen(in) - 1] != '/' &&
           strlen(text) < sizeof((struct sockaddr_un *)0)->sun_path;
}

static int address_of(const char *path, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) < sizeof address->sun_path) {
        memcpy(address->sun_path, path, strlen(path) + 1);
        return 1;
    }
    app_error("%s: the path of a socket has at most %zu bytes.", path, sizeof address->sun_path - 1);
    return 0;
}

static int connect_to(const struct sockaddr_un *address)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && !connect(fd, (const struct sockaddr *)address, sizeof *address)) return fd;
    const int error = errno;
    if (fd >= 0) close(fd);
    errno = error;
    return -1;
}

static int option_of(int fd, int option)
{
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) ? -1 : value;
}

enum { GIVEN = 3 };

/* 1 if a service manager has given a socket, as sd_listen_fds(3) has it; -1 after an error that was reported. */
static int is_given(void)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    if (!pid || !count || strtol(pid, NULL, 10) != getpid()) return 0;
    if (strtol(count, NULL, 10) == 1 && option_of(GIVEN, SO_ACCEPTCONN) == 1 &&
        option_of(GIVEN, SO_DOMAIN) == AF_UNIX && !fcntl(GIVEN, F_SETFL, fcntl(GIVEN, F_GETFL) | O_NONBLOCK) &&
        !fcntl(GIVEN, F_SETFD, FD_CLOEXEC))
        return 1;
    app_error("LISTEN_FDS is set, but descriptor 3 is not one Unix socket that listens.");
    return -1;
}

/* 0 if something is there that is no socket left by a process that has ended, having said so. */
static int is_free(const char *path, const struct sockaddr_un *address)
{
    struct stat there;
    if (lstat(path, &there)) return 1;
    if (!S_ISSOCK(there.st_mode)) {
        app_error("%s: is there already, and is no socket; give another path.", path);
        return 0;
    }
    const int other = connect_to(address);
    if (other >= 0) {
        close(other);
        app_error("%s: another process listens there; give another path.", path);
        return 0;
    }
    if (errno == ECONNREFUSED) unlink(path);
    return 1;
}

int app_listen_at(const char *path, int *given)
{
    struct sockaddr_un address;
    *given = is_given();
    if (*given) return *given > 0 ? GIVEN : -1;
    if (!address_of(path, &address) || !is_free(path, &address)) return -1;
    const mode_t before = umask(S_IRWXG | S_IRWXO);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int good =
        fd >= 0 && !bind(fd, (const struct sockaddr *)&address, sizeof address) && !listen(fd, SOMAXCONN);
    const int error = errno;
    umask(before);
    if (good) return fd;
    app_error("%s: cannot be made a socket (%s).", path, strerror(error));
    if (fd >= 0) close(fd);
    return -1;
}

/* ---- who asks ---- */

static int signals[2] = {-1, -1}; /* a pipe: those that came */

static void note_signal(int number)
{
    const int error = errno;
    const char byte = (char)number;
    if (write(signals[1], &byte, 1) < 0) errno = error;
    errno = error;
}

static int catch_signals(void)
{
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART}, before;
    if (pipe2(signals, O_CLOEXEC | O_NONBLOCK)) return 0;
    for (int i = 0; i < PASSED_ON; i++)
        if (!sigaction(passed_on[i], NULL, &before) && before.sa_handler != SIG_IGN)
            sigaction(passed_on[i], &action, NULL);
    return 1;
}

/* How many arguments the option at i is, 1 or 2; 0: another one. */
static int is_option(int argc, char **argv, int i)
{
    if (!strcmp(argv[i], OPTION)) return i + 1 < argc ? 2 : 1;
    return !strncmp(argv[i], OPTION "=", sizeof OPTION);
}

static int is_sent(const char *variable)
{
    return !strncmp(variable, VARIABLES, sizeof VARIABLES - 1);
}

/* Append a text. */
static int add(char **texts, int64_t *bytes, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *more = (int64_t)size > MOST_BYTES - *bytes ? NULL : realloc(*texts, (size_t)*bytes + size);
    if (!more) return 0;
    memcpy(more + *bytes, text, size);
    *texts = more;
    *bytes += (int64_t)size;
    return 1;
}

static int describe(int argc, char **argv, request *r, char **texts)
{
    int good = 1, done = 0;
    *r = (request){.mask = (int32_t)umask(0)};
    umask((mode_t)r->mask);
    snprintf(r->version, sizeof r->version, "%s", larmor_version());
    for (int i = 0; i < argc && good; i++) {
        done |= !strcmp(argv[i], "--");
        const int skipped = done ? 0 : is_option(argc, argv, i);
        if (skipped) {
            i += skipped - 1;
            continue;
        }
        good = add(texts, &r->bytes, argv[i]);
        r->arguments++;
    }
    for (char **v = environ; *v && good; v++)
        if (is_sent(*v)) {
            good = add(texts, &r->bytes, *v);
            r->variables++;
        }
    return good;
}

/* Signals go there, and the code comes back. */
static int wait_for_code(int with, const char *path)
{
    struct pollfd of[] = {{.fd = with, .events = POLLIN}, {.fd = signals[0], .events = POLLIN}};
    int32_t code = 0;
    char number = 0;
    while (!of[0].revents) {
        if (poll(of, 2, -1) < 0 && errno != EINTR) break;
        if (of[1].revents && read(signals[0], &number, 1) == 1) send_all(with, &number, 1);
    }
    if (receive_all(with, &code, sizeof code)) return code;
    if (number) return 128 + number;
    return app_refuse(APP_FAILED, "%s: the process that computed it has ended without a word.", path);
}

int app_via(const char *path, int argc, char **argv)
{
    struct sockaddr_un address;
    request r;
    APP_HEAP char *texts = NULL;
    if (!describe(argc, argv, &r, &texts))
        return app_refuse(APP_LACKING,
                          "the command and its variables are too long to be sent, or there is no memory for them.");
    if (!catch_signals()) return app_refuse(APP_LACKING, "no pipe can be opened (%s).", strerror(errno));
    if (!address_of(path, &address)) return APP_USAGE;
    const int with = connect_to(&address);
    if (with < 0)
        return app_refuse(APP_REFUSED, "%s: no process waits there (%s); start one: larmor serve --commands %s", path,
                          strerror(errno), path);
    if (!is_of_user(with, 0)) { /* a service manager of the system listens as root */
        app_error("%s: another user listens there; nothing was sent.", path);
        close(with);
        return APP_REFUSED;
    }
    const int fd[DESCRIPTORS] = {open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), STDIN_FILENO, STDOUT_FILENO,
                                 STDERR_FILENO};
    const int sent = fd[0] >= 0 && send_request(with, &r, fd) && send_all(with, texts, (size_t)r.bytes);
    if (fd[0] >= 0) close(fd[0]);
    const int code = sent ? wait_for_code(with, path) : APP_FAILED;
    if (!sent) app_error("%s: the command cannot be sent (%s).", path, strerror(errno));
    close(with);
    return code;
}

/* ---- who is asked ---- */

static int asked_by = -1; /* the connection */

/* -1: the process that keeps this one has ended. */
static int accept_one(int at, int report)
{
    for (;;) {
        struct pollfd of[] = {{.fd = at, .events = POLLIN}, {.fd = report}};
        if (poll(of, 2, -1) < 0 && errno != EINTR) return -1;
        if (of[1].revents) return -1;
        const int fd = of[0].revents ? accept4(at, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (fd >= 0 && is_of_user(fd, geteuid())) return fd;
        if (fd >= 0) close(fd);
    }
}

/* The arguments and variables; they live as long as the process. */
static int take_texts(const request *r, char *texts, char ***argv)
{
    char *at = texts, *end = texts + r->bytes;
    *argv = calloc((size_t)r->arguments + 1, sizeof **argv);
    if (!*argv) return 0;
    for (char **v = environ; *v;)
        if (is_sent(*v)) {
            APP_HEAP char *name = strndup(*v, strcspn(*v, "="));
            if (!name || unsetenv(name)) return 0;
        } else {
            v++;
        }
    for (int i = 0; i < r->arguments + r->variables; i++) {
        char *stop = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
        if (!stop) return 0;
        if (i < r->arguments)
            (*argv)[i] = at;
        else if (!is_sent(at) || putenv(at))
            return 0;
        at = stop + 1;
    }
    return at == end;
}

static int is_request(const request *r)
{
    return memchr(r->version, 0, sizeof r->version) && r->arguments > 1 && r->arguments < MOST_TEXTS &&
           r->variables >= 0 && r->variables < MOST_TEXTS && r->bytes > 0 && r->bytes <= MOST_BYTES;
}

/* Become what was asked for; 0 if it makes no sense. */
static int become(int *argc, char ***argv)
{
    request r;
    int fd[DESCRIPTORS];
    if (!receive_request(asked_by, &r, fd)) return 0;
    int good = !fchdir(fd[0]);
    close(fd[0]);
    for (int i = 1; i < DESCRIPTORS; i++) {
        good = good && dup2(fd[i], i - 1) >= 0;
        close(fd[i]);
    }
    if (!good || !is_request(&r)) return 0;
    if (strcmp(r.version, larmor_version()) != 0) {
        app_error("the process that waits is of version %s, and this is %s; start it again.", larmor_version(),
                  r.version);
        return 0;
    }
    char *texts = malloc((size_t)r.bytes);
    if (!texts || !receive_all(asked_by, texts, (size_t)r.bytes) || !take_texts(&r, texts, argv)) return 0;
    umask((mode_t)r.mask & 0777);
    *argc = r.arguments;
    return 1;
}

/* Signals that are passed on; who asked and is gone hangs up. */
static void *listen_for_signals(void *nothing APP_UNUSED)
{
    char number = SIGHUP;
    int known = 1;
    while (known) {
        const int more = receive_all(asked_by, &number, 1);
        known = 0;
        for (int i = 0; i < PASSED_ON; i++) known |= more && number == passed_on[i];
        kill(getpid(), known ? number : SIGHUP);
    }
    return NULL;
}

static int start_listening(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int bad = pthread_create(&thread, NULL, listen_for_signals, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !bad && !pthread_detach(thread);
}

int app_await_command(int *argc, char ***argv)
{
    if (*argc != 5) return APP_USAGE;
    const int at = (int)strtol((*argv)[2], NULL, 10), report = (int)strtol((*argv)[3], NULL, 10);
    const app_report self = getpid();
    if (app_self.make_ready && app_self.make_ready((*argv)[4])) return APP_FAILED;
    asked_by = accept_one(at, report);
    if (asked_by < 0) return APP_DONE;
    if (write(report, &self, sizeof self) != (ssize_t)sizeof self) return APP_FAILED;
    close(report);
    close(at);
    if (!become(argc, argv) || !start_listening()) return app_answer(APP_FAILED);
    setenv("LARMOR_GPU_START", "0", 0); /* where "auto" is asked for, the GPU is there already */
    return -1;
}

int app_answer(int code)
{
    const int32_t answer = code;
    const int nothing = asked_by < 0 ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
    if (asked_by < 0) return code;
    /* what reads the output need not wait for the end of this process */
    for (int i = 0; i < 3 && nothing >= 0; i++) dup2(nothing, i);
    send_all(asked_by, &answer, sizeof answer);
    return code;
}
