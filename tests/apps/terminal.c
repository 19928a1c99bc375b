/* terminal COLUMNS [--on TEXT INT|TERM] COMMAND [ARGUMENT ...]: run a command in a terminal of its own, so many
 * columns wide, and print what it shows; once the text is there type Ctrl-C, or send SIGTERM. The exit code is the
 * command's. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1 << 22 };

/* All that the terminal shows until the command has ended. */
static size_t watch(int terminal, pid_t child, char *seen, const char *text, const char *send)
{
    size_t size = 0;
    for (ssize_t got; size + 1 < MOST && (got = read(terminal, seen + size, MOST - 1 - size)) > 0;) {
        size += (size_t)got;
        seen[size] = 0;
        if (!text || !strstr(seen, text)) continue;
        if (strcmp(send, "INT") ? kill(child, SIGTERM) : write(terminal, "\003", 1) != 1) return size;
        text = NULL;
    }
    return size;
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    const char *text = NULL, *send = NULL;
    char **command = argv + 2, *seen = malloc(MOST);
    if (argc > 5 && !strcmp(argv[2], "--on")) {
        text = argv[3];
        send = argv[4];
        command = argv + 5;
    }
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)atoi(argv[1])};
    int terminal, status = 0;
    const pid_t child = forkpty(&terminal, NULL, NULL, &size);
    if (child < 0 || !seen) return 2;
    if (!child) {
        setenv("TERM", "xterm", 1);
        execvp(command[0], command);
        _exit(127);
    }
    const size_t bytes = watch(terminal, child, seen, text, send);
    if (fwrite(seen, 1, bytes, stdout) != bytes) return 2;
    free(seen);
    if (waitpid(child, &status, 0) != child) return 2;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
