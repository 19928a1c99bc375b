/* A folder of files as an output. Folders are listed by the system call alone, since a handler of signals removes
 * them, too. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "core/atomic_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int lmr_folder_make(int folder, const char *name)
{
    if (mkdirat(folder, name, 0777)) return -1;
    const int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int error = errno;
    if (fd < 0) unlinkat(folder, name, AT_REMOVEDIR);
    errno = error;
    return fd;
}

int lmr_folder_lock(int fd)
{
    if (!flock(fd, LOCK_EX | LOCK_NB)) return 1;
    return errno == EWOULDBLOCK ? 0 : -1;
}

/* What getdents64 gives (getdents(2)). */
typedef struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
} entry;

static int is_own(int fd, const char *name, const char *suffix)
{
    struct stat s;
    const size_t length = strlen(name), ending = strlen(suffix);
    return length > ending && !strcmp(name + length - ending, suffix) &&
           !fstatat(fd, name, &s, AT_SYMLINK_NOFOLLOW) && S_ISREG(s.st_mode);
}

/* Call `each` with all names, until it returns 1: then 1. -1 if the folder cannot be listed. */
static int visit(int fd, int (*each)(int fd, const char *name, void *user), void *user)
{
    char buffer[8192] __attribute__((aligned(8)));
    for (;;) {
        const long got = syscall(SYS_getdents64, fd, buffer, sizeof buffer);
        if (got <= 0) return got < 0 ? -1 : 0;
        for (long at = 0; at < got;) {
            const entry *e = (const entry *)(const void *)(buffer + at);
            at += e->bytes;
            if (strcmp(e->name, ".") && strcmp(e->name, "..") && each(fd, e->name, user)) return 1;
        }
    }
}

typedef struct search {
    const char *suffix;
    char *other;
    int removed;
} search;

static int find_other(int fd, const char *name, void *user)
{
    const search *s = user;
    if (is_own(fd, name, s->suffix)) return 0;
    snprintf(s->other, NAME_MAX + 1, "%s", name);
    return 1;
}

int lmr_folder_holds_other(int folder, const char *name, const char *suffix, char other[NAME_MAX + 1])
{
    search s = {.suffix = suffix, .other = other};
    const int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int found = fd < 0 ? -1 : visit(fd, find_other, &s);
    if (fd >= 0) close(fd);
    if (found < 0) snprintf(other, NAME_MAX + 1, "what cannot be listed");
    return found != 0;
}

static int sync_file(int fd, const char *name, void *user)
{
    int *error = user;
    const int file = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0 || fsync(file)) *error = errno;
    if (file >= 0) close(file);
    return *error != 0;
}

/* All at the end, because the first one then writes most of what the others need. */
int lmr_folder_sync(int fd)
{
    int error = 0;
    if (lseek(fd, 0, SEEK_SET) || visit(fd, sync_file, &error) < 0) error = errno;
    if (!error && fsync(fd) && errno != EINVAL) error = errno;
    errno = error;
    return error ? -1 : 0;
}

static int remove_own(int fd, const char *name, void *user)
{
    search *s = user;
    if (is_own(fd, name, s->suffix) && !unlinkat(fd, name, 0)) s->removed = 1;
    return 0;
}

void lmr_folder_remove(int folder, const char *name, const char *suffix)
{
    const int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    search s = {.suffix = suffix};
    if (fd < 0) return;
    do { /* once more, since a list may lack entries while others are removed */
        s.removed = 0;
        if (lseek(fd, 0, SEEK_SET)) break;
        if (visit(fd, remove_own, &s)) break;
    } while (s.removed);
    close(fd);
    unlinkat(folder, name, AT_REMOVEDIR);
}
