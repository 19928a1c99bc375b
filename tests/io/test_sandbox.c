/* io/reader/sandbox.c: what a process may do in it. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "io/reader/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/reader/sanitized.h"
#include "tests/support/test.h"

/* In a process of its own; the bits of what was possible after all. */
static int try_all(pid_t parent)
{
    const int file = memfd_create("room", 0);
    if (!lmr_sandbox_limit(INT64_C(1) << 30, INT64_MAX, 5)) return 100;
    int possible = 0;
    signal(SIGXFSZ, SIG_IGN);
    possible |= (ftruncate(file, 4096) == 0) << 5;
    if (!lmr_sandbox_filter()) return 101;
    possible |= open("/etc/passwd", O_RDONLY) >= 0 || errno != EPERM;
    possible |= (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM) << 1;
    char *const nothing[] = {NULL};
    execve("/bin/true", nothing, nothing);
    possible |= (errno != EPERM) << 2;
    possible |= (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) >= 0 || errno != EPERM) << 3;
    possible |= (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) << 4;
    possible |= (ftruncate(file, 0) == 0) << 5;
    possible |= (kill(parent, 0) == 0) << 6;
    struct stat s;
    possible |= (fstatat(AT_FDCWD, "/etc/passwd", &s, 0) == 0 || fstatat(file, "/etc/passwd", &s, AT_EMPTY_PATH) == 0)
                << 2;
    possible |= (flock(file, LOCK_EX | LOCK_NB) == 0) << 5;
    void *volatile much = malloc((size_t)2 << 30), *volatile little = malloc((size_t)16 << 20);
    possible |= (much || !little) << 7;
    return possible;
}

TEST(a_sandbox_grants_reading_and_memory_and_nothing_else)
{
    if (LMR_SANITIZED) skip();
    const pid_t parent = getpid(), child = fork();
    if (!child) syscall(SYS_exit_group, try_all(parent));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 101) skip(); /* a kernel without filters */
    assert_int_equal(WEXITSTATUS(status), 0);
}
