/* Limits by setrlimit, and a filter of system calls by seccomp (Linux:
 * Documentation/userspace-api/seccomp_filter.rst). SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "io/reader/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/reader/sanitized.h"

int lmr_sandbox_follow(int parent)
{
    return !prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) && getppid() == parent;
}

void lmr_sandbox_close_from(int first)
{
#ifdef SYS_close_range
    if (!syscall(SYS_close_range, first, ~0u, 0)) return;
#endif
    const long most = sysconf(_SC_OPEN_MAX);
    const int end = most > 0 && most < 65536 ? (int)most : 65536;
    for (int fd = first; fd < end; fd++) close(fd);
}

static int limit(int what, int64_t soft, int64_t hard)
{
    return !setrlimit((__rlimit_resource_t)what, &(struct rlimit){(rlim_t)soft, (rlim_t)hard});
}

/* At most what the host program was given itself. */
static int64_t at_most(int what, int64_t wanted)
{
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)what, &now) || now.rlim_max == RLIM_INFINITY) return wanted;
    return now.rlim_max < (rlim_t)wanted ? (int64_t)now.rlim_max : wanted;
}

int lmr_sandbox_limit(int64_t memory, int64_t room, int64_t seconds)
{
    int good = limit(RLIMIT_FSIZE, 0, 0) && limit(RLIMIT_CORE, 0, 0) && !prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    good &= limit(RLIMIT_NOFILE, at_most(RLIMIT_NOFILE, 16), at_most(RLIMIT_NOFILE, 16));
    const int64_t last = at_most(RLIMIT_CPU, seconds + 1);
    good &= limit(RLIMIT_CPU, seconds < last ? seconds : last, last); /* SIGXCPU, then SIGKILL */
    if (LMR_SANITIZED) return good;
    int64_t all;
    if (__builtin_add_overflow(memory, room, &all)) all = INT64_MAX;
    good &= limit(RLIMIT_DATA, at_most(RLIMIT_DATA, memory), at_most(RLIMIT_DATA, memory));
    good &= limit(RLIMIT_AS, at_most(RLIMIT_AS, all), at_most(RLIMIT_AS, all));
    return good && limit(RLIMIT_NPROC, 0, 0);
}

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

static const int granted[] = {
    SYS_pread64,
    SYS_read,
    SYS_write,
    SYS_lseek,
    SYS_munmap,
    SYS_mremap,
    SYS_brk,
    SYS_madvise,
    SYS_futex,
    SYS_close,
    SYS_dup,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_exit_group,
    SYS_exit,
    SYS_getpid,
    SYS_gettid,
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_getrandom,
    SYS_sysinfo,
    SYS_sched_yield,
    SYS_restart_syscall,
    SYS_sched_getaffinity,
};
enum { GRANTED = sizeof granted / sizeof *granted };

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, member))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, skip)
#define END(action) BPF_STMT(BPF_RET | BPF_K, (uint32_t)(action))
#define REFUSE END(SECCOMP_RET_ERRNO | EPERM)

int lmr_sandbox_filter(void)
{
    if (LMR_SANITIZED) return 0;
    /* The lower halves of the arguments are enough: the kernel takes no more of these. Little-endian. */
    const struct sock_filter start[] = {
        LOAD(arch),
        UNLESS(ARCHITECTURE, 1),
        BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
        END(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        /* memory that is not executable */
        UNLESS(SYS_mmap, 4),
        LOAD(args[2]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        REFUSE,
        END(SECCOMP_RET_ALLOW),
        UNLESS(SYS_mprotect, 4),
        LOAD(args[2]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        REFUSE,
        END(SECCOMP_RET_ALLOW),
        /* abort() */
        UNLESS(SYS_tgkill, 4),
        LOAD(args[0]),
        UNLESS(getpid(), 1),
        END(SECCOMP_RET_ALLOW),
        REFUSE,
    };
    enum { START = sizeof start / sizeof *start };
    struct sock_filter all[START + 2 * GRANTED + 1];
    int n = 0;
    for (; n < START; n++) all[n] = start[n];
    for (int i = 0; i < GRANTED; i++) {
        all[n++] = (struct sock_filter)UNLESS(granted[i], 1);
        all[n++] = (struct sock_filter)END(SECCOMP_RET_ALLOW);
    }
    all[n++] = (struct sock_filter)REFUSE;
    const struct sock_fprog program = {(unsigned short)n, all};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

#else

int lmr_sandbox_filter(void)
{
    return 0;
}

#endif
