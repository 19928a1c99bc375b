/* The process that parses a file for this one. posix_spawn copies no memory and runs none of this program's code in
 * the child, so it is safe beside threads and a GPU. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "io/process/reader_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/core.h"
#include "io/process/reader_path.h"
#include "io/reader/sanitized.h"

/* Memory of a reader: for a scan, a chunk with its copy, HDF5's own, and the table of readouts, which deflate may
 * have made small; for images a chunk and its copy, each of which may be the whole image, and the results. */
#define LEAST_MEMORY (INT64_C(256) << 20)
#define SCAN_MEMORY_PER_BYTE 32
#define COMPOSING_MEMORY_PER_BYTE 4
#define IMAGE_MEMORY_PER_BYTE (2 * DEFLATE_RATIO + ROOM_PER_BYTE)

/* Results of a file: what deflate can make of it at most, and 8 bytes for a number of one. */
#define DEFLATE_RATIO INT64_C(1032)
#define ROOM_PER_BYTE (DEFLATE_RATIO * 8)
#define LEAST_ROOM (INT64_C(64) << 20)

#define LEAST_SECONDS 20
#define BYTES_PER_SECOND (INT64_C(4) << 20) /* that are parsed at least: a tenth of what an old processor does */
#define LEAST_PATIENCE 60
#define BETWEEN_ASKING 100 /* milliseconds; whether the caller wants to stop */
#define BYTES_PER_SECOND_OF_PATIENCE (INT64_C(1) << 20)

/* Until larmor-reader says that it is one, which it does before all else: another program never does. */
#define PATIENCE_AT_START 600 /* seconds: of a hang, and not of a machine that is slow */
#define PROCESSOR_TIME_AT_START 4

struct lmr_reader {
    pid_t pid;  /* 0: not running */
    int handle; /* of the process, or -1 where the kernel has none */
    int socket;
    unsigned char *memory; /* that follows an answer */
    int64_t bytes, room;   /* of it; of any answer at most */
    int64_t memory_limit, seconds, patience, start_patience;
    int needs_filter;
    const char *path; /* to name in messages, or NULL */
    int composes;     /* a file, and reads none */
    int greeted;      /* 1: it is larmor-reader */
    char program[LMR_READER_PATH];
    void (*fill)(void *memory, int64_t bytes, const void *user);
    const void *user;
    lmr_reader_answer answer;
};

/* ---- its end ---- */

/* The number of a process that the host program has waited for may be another's by now; its handle never is. */
static void kill_process(const lmr_reader *r)
{
#ifdef SYS_pidfd_send_signal
    if (r->handle >= 0) {
        syscall(SYS_pidfd_send_signal, r->handle, SIGKILL, NULL, 0);
        return;
    }
#endif
    siginfo_t info = {.si_pid = 0};
    if (!waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid) kill(r->pid, SIGKILL);
}

/* *status is -1 if nobody knows how it ended. */
static void end_process(lmr_reader *r, int *status)
{
    *status = -1;
    if (!r->pid) return;
    kill_process(r);
    pid_t got;
    do got = waitpid(r->pid, status, 0);
    while (got < 0 && errno == EINTR);
    r->pid = 0;
}

static void close_one(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

void lmr_reader_end(lmr_reader *r)
{
    int status;
    if (!r) return;
    close_one(&r->socket);
    end_process(r, &status);
    close_one(&r->handle);
    LMR_FREE(r->memory, r);
}

/* The thread's message, with the file's name if those of this reader have it. */
static larmor_status named(const lmr_reader *r, larmor_status st)
{
    return r->path ? lmr_fail_in(st, r->path) : st;
}

larmor_status lmr_reader_lies(const lmr_reader *r)
{
    if (r->composes)
        return named(r, LMR_FAIL(LARMOR_ERR_IO, "the process that composes it failed; nothing written."));
    return named(r, LMR_FAIL(LARMOR_ERR_FORMAT,
                             "its reader gave an answer that cannot be true: the file is damaged. Copy it again."));
}

static const char *signal_name(int signal)
{
    static const char *const name[] = {[SIGSEGV] = "SIGSEGV", [SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",
                                       [SIGILL] = "SIGILL",   [SIGABRT] = "SIGABRT", [SIGSYS] = "SIGSYS",
                                       [SIGTRAP] = "SIGTRAP", [SIGTERM] = "SIGTERM", [SIGPIPE] = "SIGPIPE"};
    const int is_known = signal > 0 && signal < (int)(sizeof name / sizeof *name) && name[signal];
    return is_known ? name[signal] : "a signal";
}

/* What it composes is larmor's own, so that it is not the content that ends it. */
static larmor_status fail_composing(int status)
{
    LMR_REFUSE(status != -1 && WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL, LARMOR_ERR_MEMORY,
               "the process that composes it ended by signal %d (%s), as HDF5 does where it gets no memory; "
               "nothing written.",
               WTERMSIG(status), signal_name(WTERMSIG(status)));
    return LMR_FAIL(LARMOR_ERR_IO, "the process that composes it was killed or ended early; nothing written.");
}

static larmor_status other_version(void)
{
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED,
                    "larmor-reader and liblarmor are of different versions. Install both from one release.");
}

/* What has not greeted has not seen the file, which is not at fault. */
static larmor_status no_reader(const lmr_reader *r, const char *how)
{
    return LMR_FAIL(
        LARMOR_ERR_UNSUPPORTED,
        "%s breaks the protocol of larmor-reader: it %s before it greeted. Install larmor-reader again, or "
        "correct LARMOR_READER.",
        r->program, how);
}

static larmor_status too_little_memory(const lmr_reader *r)
{
    return LMR_FAIL(LARMOR_ERR_MEMORY,
                    "its reader has too little memory: it may take %lld MiB for a file of this size.",
                    (long long)(r->memory_limit >> 20));
}

static larmor_status no_filter(void)
{
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED,
                    "larmor-reader cannot filter its system calls (seccomp) on this system, and "
                    "LARMOR_SANDBOX=require asks for that.");
}

static larmor_status fail_by_status(const lmr_reader *r, int status)
{
    if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == LMR_READER_NO_FILTER) return no_filter();
    if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == LMR_READER_NO_MEMORY) return too_little_memory(r);
    if (status != -1 && WIFSIGNALED(status) && !r->composes && (r->greeted || WTERMSIG(status) == SIGKILL)) {
        const int signal = WTERMSIG(status);
        LMR_REFUSE(signal == SIGXCPU, LARMOR_ERR_FORMAT,
                   "takes more than %lld s of processor time to read: the file is damaged. Copy it again.",
                   (long long)r->seconds);
        LMR_REFUSE(signal == SIGKILL, LARMOR_ERR_IO,
                   "its reader was killed (signal 9, SIGKILL), by someone or for lack of memory. Try again.");
        return LMR_FAIL(LARMOR_ERR_FORMAT, "its reader ended by signal %d (%s): the file is damaged. Copy it again.",
                        signal, signal_name(signal));
    }
    if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == LMR_READER_OTHER_VERSION) return other_version();
    LMR_REFUSE(status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 127, LARMOR_ERR_UNSUPPORTED,
               "larmor-reader cannot be run (exit status 127). Install it again.");
    if (!r->greeted && (status == -1 || WIFEXITED(status))) return no_reader(r, "ended");
    if (!r->greeted && WTERMSIG(status) != SIGKILL) return no_reader(r, "crashed");
    if (r->composes) return fail_composing(status);
    LMR_REFUSE(status != -1 && WIFEXITED(status), LARMOR_ERR_FORMAT,
               "its reader ended with exit status %d: the file is damaged. Copy it again.", WEXITSTATUS(status));
    return LMR_FAIL(LARMOR_ERR_FORMAT, "its reader ended early: the file is damaged. Copy it again.");
}

static larmor_status died(lmr_reader *r)
{
    int status;
    end_process(r, &status);
    return named(r, fail_by_status(r, status));
}

/* ---- its start ---- */

/* A descriptor above those of the reader, so that none is overwritten while they are put in place. */
static int lift(int fd)
{
    const int lifted = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LMR_READER_DESCRIPTORS);
    if (fd >= 0 && lifted < 0 && errno == EINVAL) errno = EMFILE; /* the limit is below those of the reader */
    return lifted;
}

static char *keep_variable(const char *name)
{
    const char *value = secure_getenv(name);
    char *text = NULL;
    if (!value || asprintf(&text, "%s=%s", name, value) < 0) return NULL;
    return text;
}

/* Where libraries are, which the host program needed as well, and what is said in a fault of larmor's own. */
static int make_environment(char **environment)
{
    static const char *const kept[] = {"LD_LIBRARY_PATH", "LARMOR_DEBUG", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                                       "TSAN_OPTIONS"};
    int n = 0;
    for (size_t i = 0; i < (LMR_SANITIZED ? 5 : 2); i++) {
        environment[n] = keep_variable(kept[i]);
        n += environment[n] != NULL;
    }
    environment[n] = strdup("HDF5_PLUGIN_PRELOAD=::"); /* HDF5's word for: no plug-ins */
    n += environment[n] != NULL;
    environment[n] = NULL;
    return n;
}

static int spawn(lmr_reader *r, const char *program, const int fd[3])
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    char name[] = "larmor-reader", *environment[8], *arguments[] = {name, NULL};
    if (posix_spawn_file_actions_init(&actions)) return ENOMEM;
    if (posix_spawnattr_init(&attributes)) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    sigemptyset(&none);
    sigfillset(&all);
    /* a group of its own: Ctrl-C is for the host program, which ends the reader */
    int bad =
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    bad |= posix_spawnattr_setpgroup(&attributes, 0);
    bad |= posix_spawnattr_setsigmask(&attributes, &none);
    bad |= posix_spawnattr_setsigdefault(&attributes, &all);
    for (int i = 0; i < 3; i++)
        if (fd[i] >= 0) bad |= posix_spawn_file_actions_adddup2(&actions, fd[i], LMR_READER_FILE + i);
    bad |= posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    bad |= posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (!LMR_SANITIZED) bad |= posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    const int variables = make_environment(environment);
    bad = bad ? ENOMEM : posix_spawn(&r->pid, program, &actions, &attributes, arguments, environment);
    if (bad) r->pid = 0;
    for (int i = 0; i < variables; i++) free(environment[i]);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return bad;
}

static larmor_status launch(lmr_reader *r, const lmr_source *source, const lmr_source *second, int theirs)
{
    const char *program = r->program;
    LMR_TRY(lmr_reader_path(r->program));
    int fd[3] = {source ? lift(source->fd) : -1, second ? lift(second->fd) : -1, lift(theirs)};
    int bad = (source && fd[0] < 0) || (second && fd[1] < 0) || fd[2] < 0 ? errno : 0;
    if (!bad) bad = spawn(r, program, fd);
    for (int i = 0; i < 3; i++) close_one(&fd[i]);
    LMR_REFUSE(bad == ENOMEM, LARMOR_ERR_MEMORY, "out of host memory: %s cannot be started.", program);
    LMR_REFUSE(bad == EAGAIN, LARMOR_ERR_MEMORY,
               "%s cannot be started: too few processes are left; 'ulimit -u' sets how many there may be.", program);
    LMR_REFUSE(bad, lmr_system_status(bad), "%s cannot be started (%s).", program, lmr_system_text(bad));
#ifdef SYS_pidfd_open
    r->handle = (int)syscall(SYS_pidfd_open, r->pid, 0); /* closed on exec */
#endif
    return LARMOR_OK;
}

static int send_packet(const lmr_reader *r, const void *packet, size_t bytes)
{
    ssize_t sent;
    do sent = send(r->socket, packet, bytes, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)bytes;
}

/* base + size * factor, or the largest number. */
static int64_t more_for(int64_t base, int64_t size, int64_t factor)
{
    int64_t more, sum;
    if (!lmr_mul(size, factor, &more) || __builtin_add_overflow(base, more, &sum)) return INT64_MAX;
    return sum;
}

/* No more than the machine has, so that what a file asks for is refused here and not by the kernel's killer. */
static int64_t of_machine(int64_t bytes)
{
    const int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return all > 0 && all < bytes ? all : bytes;
}

static int64_t usual_memory(int64_t size, int is_image)
{
    return of_machine(more_for(LEAST_MEMORY, size, is_image ? IMAGE_MEMORY_PER_BYTE : SCAN_MEMORY_PER_BYTE));
}

/* source: NULL if a file is composed. */
static larmor_status set_up(lmr_reader *r, const lmr_source *source, const lmr_source *second, const char *suffix)
{
    LMR_NEW_ZEROS(lmr_reader_setup, setup, 1);
    *setup = (lmr_reader_setup){.magic = LMR_READER_MAGIC,
                                .version = LMR_READER_VERSION,
                                .bytes = sizeof *setup,
                                .answer_bytes = sizeof(lmr_reader_answer),
                                .head_bytes = sizeof(lmr_mrd_head),
                                .encoding_bytes = sizeof(lmr_mrd_encoding),
                                .parent = getpid(),
                                .has_second = second != NULL,
                                .needs_filter = r->needs_filter,
                                .composes = r->composes,
                                .size = source ? source->size : 0,
                                .second_size = second ? second->size : 0,
                                .memory = r->memory_limit,
                                .room = r->room,
                                .seconds = r->seconds};
    snprintf(setup->path, sizeof setup->path, "%s", source ? source->path : r->path);
    if (second) snprintf(setup->second, sizeof setup->second, "%s", second->path);
    if (source && source->inside) snprintf(setup->inside, sizeof setup->inside, "%s", source->inside);
    snprintf(setup->suffix, sizeof setup->suffix, "%s", suffix ? suffix : ".h5");
    const int sent = send_packet(r, setup, sizeof *setup);
    free(setup);
    return sent ? LARMOR_OK : died(r);
}

/* LARMOR_SANDBOX of the environment: nothing, or "require". */
static larmor_status read_switch(int *needs_filter)
{
    const char *value = secure_getenv("LARMOR_SANDBOX");
    *needs_filter = value && !strcmp(value, "require");
    if (!value || !*value || *needs_filter) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "LARMOR_SANDBOX=%s: require expected, or nothing.", value);
}

/* The process and its setup; r belongs to the caller or, after an error, to nobody. */
static larmor_status begin(lmr_reader *r, const lmr_source *source, const lmr_source *second, const char *suffix,
                           lmr_reader **out)
{
    int pair[2] = {-1, -1};
    r->handle = r->socket = -1;
    larmor_status st = read_switch(&r->needs_filter);
    if (!st && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        st = LMR_FAIL(lmr_system_status(errno), "a reader cannot be started (%s).", lmr_system_text(errno));
    r->socket = pair[0];
    if (!st) st = launch(r, source, second, pair[1]);
    close_one(&pair[1]);
    if (st) named(r, st);
    if (!st) st = set_up(r, source, second, suffix);
    return LMR_GIVE(out, r, lmr_reader_end, st);
}

larmor_status lmr_reader_start(const lmr_source *source, const lmr_source *second, const char *suffix,
                               const lmr_reader_limits *limits, lmr_reader **out)
{
    lmr_reader_limits l = limits ? *limits : (lmr_reader_limits){0};
    *out = NULL;
    LMR_NEW_ZEROS(lmr_reader, r, 1);
    r->path = suffix ? source->path : NULL;
    r->memory_limit = l.memory;
    if (!l.memory) r->memory_limit = usual_memory(source->size, suffix != NULL);
    r->seconds = l.seconds ? l.seconds : LEAST_SECONDS + source->size / BYTES_PER_SECOND;
    r->patience = l.patience ? l.patience : LEAST_PATIENCE + source->size / BYTES_PER_SECOND_OF_PATIENCE;
    r->start_patience = l.patience ? l.patience : PATIENCE_AT_START;
    r->room = more_for(LEAST_ROOM, source->size, ROOM_PER_BYTE);
    return begin(r, source, second, suffix, out);
}

larmor_status lmr_reader_start_composing(const char *path, int64_t bytes, lmr_reader **out)
{
    *out = NULL;
    LMR_NEW_ZEROS(lmr_reader, r, 1);
    r->path = path;
    r->composes = 1;
    r->memory_limit = of_machine(more_for(LEAST_MEMORY, bytes, COMPOSING_MEMORY_PER_BYTE));
    r->seconds = LEAST_SECONDS + bytes / BYTES_PER_SECOND;
    r->patience = LEAST_PATIENCE + bytes / BYTES_PER_SECOND_OF_PATIENCE;
    r->room = of_machine(INT64_MAX);
    r->start_patience = PATIENCE_AT_START;
    return begin(r, NULL, NULL, ".h5", out);
}

/* ---- talk ---- */

/* Seconds of processor time that it has used; 0 if nobody knows. */
static double time_used(const lmr_reader *r)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(r->pid, &clock) || clock_gettime(clock, &used)) return 0;
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static larmor_status wait_for_answer(lmr_reader *r)
{
    const int64_t patience = r->greeted ? r->patience : r->start_patience;
    const double seconds = fmin((double)r->seconds, PROCESSOR_TIME_AT_START), end = lmr_seconds() + (double)patience;
    struct pollfd one = {.fd = r->socket, .events = POLLIN};
    int used_up = 0;
    while (1) {
        LMR_TRY(lmr_go_on());
        used_up = !r->greeted && time_used(r) > seconds;
        const double left = used_up ? 0 : 1e3 * (end - lmr_seconds());
        const int ready = poll(&one, 1, left > 0 ? (int)ceil(fmin(left, BETWEEN_ASKING)) : 0);
        if (ready > 0) return LARMOR_OK;
        if (ready < 0 && errno != EINTR && errno != EAGAIN)
            return named(r, LMR_FAIL(LARMOR_ERR_IO, "its reader cannot be heard (%s).", strerror(errno)));
        if (ready == 0 && left <= 0) break;
    }
    int status;
    end_process(r, &status);
    if (!r->greeted && used_up) return named(r, no_reader(r, "ran for long and was ended"));
    if (!r->greeted)
        return named(r, LMR_FAIL(LARMOR_ERR_UNSUPPORTED,
                                 "%s has not begun within %lld s and was ended: the machine is too slow, or it is no "
                                 "larmor-reader. Try again, or correct LARMOR_READER.",
                                 r->program, (long long)patience));
    return named(
        r, LMR_FAIL(LARMOR_ERR_IO, "its reader gave no answer within %lld s and was ended.", (long long)r->patience));
}

/* A packet of `bytes`; any other is refused. */
static larmor_status take_packet(lmr_reader *r, void *packet, size_t bytes)
{
    ssize_t got;
    LMR_TRY(wait_for_answer(r));
    do got = recv(r->socket, packet, bytes, MSG_TRUNC | MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got <= 0) return died(r);
    return got == (ssize_t)bytes ? LARMOR_OK : lmr_reader_lies(r);
}

static larmor_status take_greeting(lmr_reader *r)
{
    lmr_reader_greeting greeting;
    LMR_TRY(take_packet(r, &greeting, sizeof greeting));
    if (greeting.magic != LMR_READER_MAGIC) return lmr_reader_lies(r);
    if (greeting.version != LMR_READER_VERSION) return named(r, other_version());
    r->greeted = 1;
    return LARMOR_OK;
}

static larmor_status take_answer(lmr_reader *r)
{
    if (!r->greeted) LMR_TRY(take_greeting(r));
    LMR_TRY(take_packet(r, &r->answer, sizeof r->answer));
    r->answer.text[sizeof r->answer.text - 1] = '\0';
    return r->answer.magic == LMR_READER_MAGIC ? LARMOR_OK : lmr_reader_lies(r);
}

static size_t next_packet(const lmr_reader *r, int64_t from)
{
    return (size_t)(r->bytes - from < LMR_READER_PACKET ? r->bytes - from : LMR_READER_PACKET);
}

/* What follows the answer. */
static larmor_status take_memory(lmr_reader *r)
{
    for (int64_t from = 0; from < r->bytes; from += (int64_t)next_packet(r, from))
        LMR_TRY(take_packet(r, r->memory + from, next_packet(r, from)));
    return LARMOR_OK;
}

static int send_memory(lmr_reader *r)
{
    int sent = 1;
    for (int64_t from = 0; from < r->bytes && sent; from += (int64_t)next_packet(r, from))
        sent = send_packet(r, r->memory + from, next_packet(r, from));
    return sent;
}

/* Make room for what the answer takes, and say what goes the other way. */
static larmor_status grant(lmr_reader *r, int64_t most)
{
    const int64_t bytes = r->answer.room;
    const lmr_reader_request granted = {.magic = LMR_READER_MAGIC, .ask = LMR_ASK_ROOM};
    if (bytes < 1 || bytes > most || bytes > r->room) return lmr_reader_lies(r);
    if (of_machine(bytes) < bytes)
        return named(
            r, LMR_FAIL(LARMOR_ERR_MEMORY, "needs %lld MiB, more than this machine has.", (long long)(bytes >> 20)));
    free(r->memory);
    r->bytes = 0;
    r->memory = malloc((size_t)bytes);
    if (!r->memory) return named(r, LMR_NO_MEMORY());
    r->bytes = bytes;
    int sent = send_packet(r, &granted, sizeof granted);
    if (sent && r->fill) {
        r->fill(r->memory, bytes, r->user);
        sent = send_memory(r);
    }
    r->fill = NULL;
    return sent ? LARMOR_OK : died(r);
}

void lmr_reader_prepare(lmr_reader *r, void (*fill)(void *memory, int64_t bytes, const void *user), const void *user)
{
    r->fill = fill;
    r->user = user;
}

void *lmr_reader_memory(lmr_reader *r, int64_t *bytes)
{
    *bytes = r->memory ? r->bytes : 0;
    return r->memory;
}

larmor_status lmr_reader_ask_for(lmr_reader *r, lmr_reader_ask what, const char *text, int64_t most,
                                 const lmr_reader_answer **answer)
{
    lmr_reader_request request = {.ask = what};
    snprintf(request.text, sizeof request.text, "%s", text ? text : "");
    return lmr_reader_ask_with(r, request, most, answer);
}

/* An answer asks for room for its own bytes and, to a reader that composes, before that for those that go to it. */
static larmor_status take_last_answer(lmr_reader *r, int64_t most, int sends)
{
    LMR_TRY(take_answer(r));
    for (int times = sends ? 2 : 1; r->answer.wants_room; times--) {
        if (!times) return lmr_reader_lies(r);
        LMR_TRY(grant(r, most));
        LMR_TRY(take_answer(r));
        if (sends && times == 2 && !r->answer.wants_room)
            r->bytes = 0; /* went to the reader, and nothing comes back */
    }
    return LARMOR_OK;
}

larmor_status lmr_reader_ask_with(lmr_reader *r, lmr_reader_request request, int64_t most,
                                  const lmr_reader_answer **answer)
{
    request.magic = LMR_READER_MAGIC;
    LMR_CLEAR(r->memory);
    r->bytes = 0;
    if (!send_packet(r, &request, sizeof request)) return died(r);
    LMR_TRY(take_last_answer(r, most, r->composes && request.ask != LMR_ASK_BYTES));
    const int status = r->answer.status;
    if (status < LARMOR_OK || status >= LARMOR_STOPPED) return lmr_reader_lies(r);
    if (status && r->composes && request.ask != LMR_ASK_XML)
        return named(r, LMR_FAIL((larmor_status)status, "%s; nothing written.", r->answer.text));
    if (status == LARMOR_ERR_MEMORY) return named(r, too_little_memory(r));
    if (status) return larmor_fail((larmor_status)status, "%s", r->answer.text);
    *answer = &r->answer;
    return take_memory(r);
}

larmor_status larmor_reader_sandbox(const char **name)
{
    const lmr_reader_answer *answer;
    lmr_reader *reader;
    LMR_NEED_OUT(name);
    LMR_TRY(lmr_reader_start_composing("the reader's sandbox", 0, &reader));
    reader->path = NULL;
    reader->composes = 0;
    const larmor_status st =
        lmr_reader_ask_for(reader, LMR_ASK_BYTES, NULL, 0, &answer); /* of nothing, which is refused */
    const int answered = reader->greeted && reader->answer.magic == LMR_READER_MAGIC && reader->answer.status;
    if (answered) *name = reader->answer.filtered ? "seccomp" : "limits";
    lmr_reader_end(reader);
    return answered ? LARMOR_OK : st;
}
