/* interrupt INT|TERM|HUP MILLISECONDS COMMAND [ARGUMENT ...]: run a command, send it the signal after that time, and
 * print "EXIT-CODE MILLISECONDS", the time from the signal to its end, or "EXIT-CODE over" if it had ended before. The
 * time of what has not ended a minute later is 60000. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1000 * t.tv_sec + t.tv_nsec / 1000000;
}

/* 1 if the child has ended by that moment. */
static int ends_by(pid_t child, long moment, int *status)
{
    for (;;) {
        if (waitpid(child, status, WNOHANG) == child) return 1;
        if (now() >= moment) return 0;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    int number = SIGHUP;
    if (!strcmp(argv[1], "INT")) number = SIGINT;
    if (!strcmp(argv[1], "TERM")) number = SIGTERM;
    int status = 0;
    const pid_t child = fork();
    if (child < 0) return 2;
    if (!child) {
        signal(SIGHUP, SIG_DFL);
        signal(SIGINT, SIG_DFL);
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    const int over = ends_by(child, now() + atol(argv[2]), &status);
    long began = now();
    if (!over && kill(child, number)) return 2;
    if (!over && !ends_by(child, began + 60000, &status)) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        began = now() - 60000;
    }
    printf("%d ", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    printf(over ? "over\n" : "%ld\n", now() - began);
    return 0;
}
