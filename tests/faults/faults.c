/* Faults on request: loaded before all other libraries (LD_PRELOAD), it lets a call of the C library fail.
 *
 * FAULT        what fails: memory, thread, open, read, write, sync, rename, reserve, look, map, spawn; or
 *              disk: files on it have room for FAULT_AT bytes together; or
 *              kill: the process is killed at the FAULT_AT-th call that changes files
 * FAULT_AT     which one of them, from 1; 0: none, they are only counted
 * FAULT_MORE   1: all that follow fail as well
 * FAULT_IN     only in a program of this name
 * FAULT_COUNT  at the end the number of calls is written to this file, with a dot and the program's name behind it
 * FAULT_STACKS with FAULT_AT 0: the number of the first call through each chain of callers are appended to this
 * file,
 *              with a dot and the program's name behind it
 * FAULT_WHERE  a line for the call that failed is appended to this file: the libraries it came through, the
 *              innermost first
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc's own names: to look the others up by dlsym would need memory. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

typedef enum kind {
    UNKNOWN,
    NOTHING,
    MEMORY,
    THREAD,
    OPEN,
    READ,
    WRITE,
    SYNC,
    RENAME,
    RESERVE,
    LOOK,
    MAP,
    SPAWN,
    DISK,
    KILL
} kind;

static const char *const kinds[] = {"",       "",        "memory", "thread", "open",  "read", "write", "sync",
                                    "rename", "reserve", "look",   "map",    "spawn", "disk", "kill"};

static kind wanted;
static long at, more, count;
static __thread int inside; /* a call of this library's own */

static void set_up(void)
{
    wanted = NOTHING;
    const char *name = getenv("FAULT"), *number = getenv("FAULT_AT"), *only = getenv("FAULT_IN");
    if (!name || (only && strcmp(only, program_invocation_short_name) != 0)) return;
    at = number ? atol(number) : 0;
    more = getenv("FAULT_MORE") != NULL;
    for (kind k = MEMORY; k <= KILL; k++)
        if (!strcmp(name, kinds[k])) wanted = k;
}

/* ---- what is told; without the calls that this library replaces ---- */

static void put(const char *path, int flags, const char *text)
{
    const long fd = syscall(SYS_openat, AT_FDCWD, path, flags | O_CREAT | O_WRONLY, 0600);
    if (fd < 0) return;
    syscall(SYS_write, fd, text, strlen(text));
    syscall(SYS_close, fd);
}

static void report_where(void)
{
    const char *path = getenv("FAULT_WHERE");
    if (!path) return;
    void *frame[32];
    char line[512] = "", last[64] = "";
    inside = 1;
    const int frames = backtrace(frame, 32);
    for (int i = 2; i < frames; i++) {
        Dl_info info;
        if (!dladdr(frame[i], &info) || !info.dli_fname) continue;
        const char *slash = strrchr(info.dli_fname, '/');
        const char *name = slash ? slash + 1 : info.dli_fname;
        if (!strncmp(name, last, sizeof last - 1) || !strcmp(name, "faults.so")) continue;
        snprintf(last, sizeof last, "%s", name);
        const size_t used = strlen(line);
        snprintf(line + used, sizeof line - used, "%s%s", used ? " " : "", name);
    }
    strncat(line, "\n", sizeof line - strlen(line) - 1);
    put(path, O_APPEND, line);
    inside = 0;
}

__attribute__((constructor)) static void begin(void)
{
    void *frame[4];
    if (!getenv("FAULT_WHERE") && !getenv("FAULT_STACKS")) return;
    inside = 1;
    backtrace(frame, 4); /* it loads a library the first time */
    inside = 0;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAULT_COUNT");
    char name[512], text[32];
    if (!path) return;
    snprintf(name, sizeof name, "%s.%s", path, program_invocation_short_name);
    snprintf(text, sizeof text, "%ld\n", count);
    put(name, O_TRUNC, text);
}

/* ---- chains of callers ---- */

enum { CHAINS = 1 << 16, DEEPEST = 16, OFTEN = 1 };

/* Note the number of a call that came through a new chain. */
static void note_chain(long number)
{
    static struct {
        uint64_t key;
        int seen;
    } table[CHAINS];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    void *frame[DEEPEST];
    const char *path = getenv("FAULT_STACKS");
    if (!path) return;
    inside = 1;
    uint64_t key = UINT64_C(1469598103934665603); /* FNV-1a */
    const int frames = backtrace(frame, DEEPEST);
    for (int i = 2; i < frames; i++) key = (key ^ (uintptr_t)frame[i]) * UINT64_C(1099511628211);
    pthread_mutex_lock(&lock);
    size_t place = key % CHAINS;
    for (int tries = 0; table[place].key && table[place].key != key && tries < CHAINS; tries++)
        place = (place + 1) % CHAINS;
    table[place].key = key;
    const int is_new = table[place].seen++ < OFTEN;
    pthread_mutex_unlock(&lock);
    if (is_new) {
        char name[512], text[32];
        snprintf(name, sizeof name, "%s.%s", path, program_invocation_short_name);
        snprintf(text, sizeof text, "%ld\n", number);
        put(name, O_APPEND, text);
    }
    inside = 0;
}

/* ---- whether it fails ---- */

static int fails(kind k)
{
    if (inside) return 0;
    if (wanted == UNKNOWN) set_up();
    if (k != wanted) return 0;
    const long now = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (!at) note_chain(now);
    if (!at || (more ? now < at : now != at)) return 0;
    report_where();
    return 1;
}

static void changes_files(void)
{
    if (fails(KILL)) kill(getpid(), SIGKILL);
}

/* How many of so many bytes go to the disk that is filling; -1: none. */
static ssize_t room_for(int fd, size_t bytes)
{
    struct stat s;
    if (wanted == UNKNOWN) set_up();
    if (wanted != DISK || inside || fd <= 2 || fstat(fd, &s) || !S_ISREG(s.st_mode)) return (ssize_t)bytes;
    const long left = at - count;
    if (bytes && left <= 0) return -1;
    const ssize_t taken = (ssize_t)bytes < left ? (ssize_t)bytes : left;
    count += taken;
    return taken;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL_WITH(kind, error, result)                                                                               \
    do {                                                                                                             \
        if (fails(kind)) {                                                                                           \
            errno = error;                                                                                           \
            return result;                                                                                           \
        }                                                                                                            \
    } while (0)

/* ---- memory and threads ---- */

void *malloc(size_t bytes)
{
    FAIL_WITH(MEMORY, ENOMEM, NULL);
    return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    FAIL_WITH(MEMORY, ENOMEM, NULL);
    return __libc_calloc(n, bytes);
}

void *realloc(void *old, size_t bytes)
{
    FAIL_WITH(MEMORY, ENOMEM, NULL);
    return __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes);
void *memalign(size_t alignment, size_t bytes)
{
    FAIL_WITH(MEMORY, ENOMEM, NULL);
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (fails(MEMORY)) return ENOMEM;
    void *p = __libc_memalign(alignment, bytes);
    if (!p) return ENOMEM;
    *out = p;
    return 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    if (fails(THREAD)) return EAGAIN;
    return NEXT(pthread_create)(thread, attributes, start, argument);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    FAIL_WITH(MAP, ENOMEM, MAP_FAILED);
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off64_t offset)
{
    return mmap(address, bytes, protection, flags, fd, offset);
}

/* ---- files ---- */

static int open_at(int folder, const char *path, int flags, va_list rest)
{
    const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    if (flags & O_CREAT) changes_files();
    FAIL_WITH(OPEN, EMFILE, -1);
    return (int)syscall(SYS_openat, folder, path, flags | O_LARGEFILE, mode);
}

#define OPEN_LIKE(name, folder, ...)                                                                                 \
    int name(__VA_ARGS__, int flags, ...)                                                                            \
    {                                                                                                                \
        va_list rest;                                                                                                \
        va_start(rest, flags);                                                                                       \
        const int fd = open_at(folder, path, flags, rest);                                                           \
        va_end(rest);                                                                                                \
        return fd;                                                                                                   \
    }
OPEN_LIKE(open, AT_FDCWD, const char *path)
OPEN_LIKE(open64, AT_FDCWD, const char *path)
OPEN_LIKE(openat, folder, int folder, const char *path)
OPEN_LIKE(openat64, folder, int folder, const char *path)

FILE *fopen(const char *path, const char *mode)
{
    FAIL_WITH(OPEN, EMFILE, NULL);
    return NEXT(fopen)(path, mode);
}

int memfd_create(const char *name, unsigned flags)
{
    FAIL_WITH(OPEN, EMFILE, -1);
    return (int)syscall(SYS_memfd_create, name, flags);
}

ssize_t read(int fd, void *to, size_t bytes)
{
    FAIL_WITH(READ, EIO, -1);
    return syscall(SYS_read, fd, to, bytes);
}

ssize_t pread(int fd, void *to, size_t bytes, off_t offset)
{
    FAIL_WITH(READ, EIO, -1);
    return syscall(SYS_pread64, fd, to, bytes, offset);
}

ssize_t pread64(int fd, void *to, size_t bytes, off64_t offset)
{
    return pread(fd, to, bytes, offset);
}

ssize_t write(int fd, const void *from, size_t bytes)
{
    if (fd > 2) changes_files();
    if (fd > 2) FAIL_WITH(WRITE, EIO, -1);
    const ssize_t room = room_for(fd, bytes);
    if (room < 0) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, fd, from, room);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset)
{
    changes_files();
    FAIL_WITH(WRITE, EIO, -1);
    const ssize_t room = room_for(fd, bytes);
    if (room < 0) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, from, room, offset);
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off64_t offset)
{
    return pwrite(fd, from, bytes, offset);
}

int fsync(int fd)
{
    changes_files();
    FAIL_WITH(SYNC, EIO, -1);
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return fsync(fd);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    changes_files();
    FAIL_WITH(RESERVE, ENOSPC, -1);
    if (wanted == DISK) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t bytes)
{
    return fallocate(fd, mode, offset, bytes);
}

int ftruncate(int fd, off_t bytes)
{
    changes_files();
    FAIL_WITH(RESERVE, EIO, -1);
    return (int)syscall(SYS_ftruncate, fd, bytes);
}

int ftruncate64(int fd, off64_t bytes)
{
    return ftruncate(fd, bytes);
}

int fchmod(int fd, mode_t mode)
{
    changes_files();
    FAIL_WITH(RESERVE, EIO, -1);
    return (int)syscall(SYS_fchmod, fd, mode);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    changes_files();
    FAIL_WITH(RENAME, EIO, -1);
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return renameat2(from_folder, from, to_folder, to, 0);
}

int rename(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    changes_files();
    FAIL_WITH(RENAME, EIO, -1);
    return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

int unlinkat(int folder, const char *path, int flags)
{
    changes_files();
    return (int)syscall(SYS_unlinkat, folder, path, flags);
}

int fstat(int fd, struct stat *s)
{
    FAIL_WITH(LOOK, EIO, -1);
    return NEXT(fstat)(fd, s);
}

int fstatat(int folder, const char *path, struct stat *s, int flags)
{
    FAIL_WITH(LOOK, EIO, -1);
    return NEXT(fstatat)(folder, path, s, flags);
}

/* ---- children ---- */

int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
{
    if (fails(SPAWN)) return EAGAIN;
    return NEXT(posix_spawn)(child, path, actions, attributes, argv, environment);
}

pid_t fork(void)
{
    FAIL_WITH(SPAWN, EAGAIN, -1);
    return NEXT(fork)();
}
