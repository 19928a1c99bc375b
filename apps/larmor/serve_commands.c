/* Processes that are kept ready for commands, each for one. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "serve_commands.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "via.h"

extern char **environ;

enum { MOST = 64, TRIES = 3, LOOK_MS = 200 };

typedef struct keeper {
    const char *device;
    int listens, reports[2];
    pid_t waits[MOST];               /* 0: none */
    int wanted, failures, computing; /* computing: those that have taken a command */
} keeper;

/* ---- a process ---- */

/* Where its descriptors are; those of the keeper are closed there by themselves. */
enum { LISTENS = 3, REPORTS = 4 };

static int spawn(const keeper *k, pid_t *pid)
{
    char name[] = "larmor", worker[] = APP_WORKER, listens[] = "3", reports[] = "4", device[256];
    char *arguments[] = {name, worker, listens, reports, device, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    snprintf(device, sizeof device, "%s", k->device);
    if (posix_spawn_file_actions_init(&actions)) return ENOMEM;
    if (posix_spawnattr_init(&attributes)) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    /* whatever is ignored here: by nohup, for example */
    int bad =
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    bad |= posix_spawnattr_setsigmask(&attributes, &none);
    bad |= posix_spawnattr_setsigdefault(&attributes, &all);
    bad |= posix_spawn_file_actions_adddup2(&actions, k->listens, LISTENS);
    bad |= posix_spawn_file_actions_adddup2(&actions, k->reports[1], REPORTS);
    bad |= posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    bad |= posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    bad = bad ? ENOMEM : posix_spawn(pid, "/proc/self/exe", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return bad;
}

/* With those that compute there are at most twice as many as wait. 0 after an error that was reported. */
static int fill(keeper *k)
{
    int all = k->computing;
    for (int i = 0; i < k->wanted; i++) all += k->waits[i] != 0;
    for (int i = 0; i < k->wanted; i++) {
        if (k->waits[i] || all >= 2 * k->wanted) continue;
        const int bad = spawn(k, &k->waits[i]);
        all++;
        if (!bad) continue;
        k->waits[i] = 0;
        app_error("a process for commands cannot be started (%s).", strerror(bad));
        return 0;
    }
    return 1;
}

static int forget(keeper *k, pid_t pid)
{
    for (int i = 0; i < k->wanted; i++)
        if (k->waits[i] == pid) {
            k->waits[i] = 0;
            return 1;
        }
    return 0;
}

/* ---- all of them ---- */

/* Those that have taken a command are no longer counted. */
static void read_reports(keeper *k)
{
    app_report pid;
    while (read(k->reports[0], &pid, sizeof pid) == (ssize_t)sizeof pid) {
        k->computing += forget(k, pid);
        k->failures = 0;
    }
}

static void bury(keeper *k)
{
    for (pid_t pid = waitpid(-1, NULL, WNOHANG); pid > 0; pid = waitpid(-1, NULL, WNOHANG)) {
        read_reports(k);
        if (forget(k, pid))
            k->failures++;
        else
            k->computing--;
    }
}

static int keep(keeper *k)
{
    while (!app_stopped()) {
        struct pollfd of = {.fd = k->reports[0], .events = POLLIN};
        if (!fill(k)) return APP_FAILED;
        if (poll(&of, 1, LOOK_MS) < 0 && errno != EINTR) return APP_FAILED;
        read_reports(k);
        bury(k);
        if (k->failures < TRIES) continue;
        return app_refuse(APP_FAILED, "processes for commands end before they have one; see what they say above.");
    }
    return app_stopped();
}

/* Those that compute end by themselves. */
static void dismiss(keeper *k)
{
    bury(k);
    for (int i = 0; i < k->wanted; i++)
        if (k->waits[i] > 0) kill(k->waits[i], SIGTERM);
    for (int i = 0; i < k->wanted; i++)
        if (k->waits[i] > 0) waitpid(k->waits[i], NULL, 0);
}

int serve_commands(const char *path, const char *device, int ready)
{
    keeper k = {.device = device, .wanted = ready < MOST ? ready : MOST};
    int given;
    k.listens = app_listen_at(path, &given);
    if (k.listens < 0) return APP_REFUSED;
    if (pipe2(k.reports, O_CLOEXEC | O_NONBLOCK))
        return app_refuse(APP_LACKING, "no pipe can be opened (%s).", strerror(errno));
    printf("listening on %s\n", path);
    fflush(stdout);
    const int code = keep(&k);
    if (!given) unlink(path);
    dismiss(&k);
    return code;
}
