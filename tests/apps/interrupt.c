/* interrupt INT|TERM|HUP MILLISECONDS COMMAND [ARGUMENT ...]: run a command, send it the signal after that time,
 * and print "EXIT-CODE MILLISECONDS", or "EXIT-CODE over" if it had ended before. The milliseconds are those of
 * processor time from the signal to the command's end, of all its threads and processes, because other programs
 * may be at work. What has not ended after HANG_MS is killed. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HANG_MS = 900000 };

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1000 * t.tv_sec + t.tv_nsec / 1000000;
}

/* Processor time of a process and of its children that have ended, in ms. */
static long used_by(pid_t child)
{
    char path[64], text[1024] = "";
    long ticks[4] = {0};
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)child);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    if (!fgets(text, sizeof text, f)) text[0] = 0;
    fclose(f);
    const char *name = strrchr(text, ')'); /* may hold blanks; utime is the twelfth field after it */
    if (name)
        sscanf(name + 1, " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %ld %ld %ld", &ticks[0], &ticks[1],
               &ticks[2], &ticks[3]);
    return 1000 * (ticks[0] + ticks[1] + ticks[2] + ticks[3]) / sysconf(_SC_CLK_TCK);
}

/* The same of a child that has been waited for. */
static long used_in_all(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return 1000 * (u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
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
    const long before = over ? 0 : used_by(child);
    if (!over && kill(child, number)) return 2;
    if (!over && !ends_by(child, now() + HANG_MS, &status)) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    printf("%d ", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    printf(over ? "over\n" : "%ld\n", used_in_all() - before);
    return 0;
}
