/* An output file that appears under its name only when it is complete: a locked temporary file beside the target,
 * synced, renamed, and the folder synced. A folder of files appears in the same way.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "core/atomic.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/atomic_folder.h"
#include "core/clock.h"
#include "core/owned.h"

#define RANDOM_CHARACTERS 6
#define KIBIBYTE 1024.0
#define MEBIBYTE 1048576.0

/* ---- the outputs of this process that are being written ---- */

enum { MOST_OPEN = 64 }; /* what is beyond them is removed by the next run alone */
static _Atomic(larmor_output *) open_outputs[MOST_OPEN];
static atomic_int changing; /* calls between which a handler of signals may not come; below 0: it has come */

/* 1, and change_end must follow; 0 once the outputs are abandoned. */
static int change_begin(void)
{
    int now = atomic_load(&changing);
    while (now >= 0)
        if (atomic_compare_exchange_weak(&changing, &now, now + 1)) return 1;
    return 0;
}

static void change_end(void)
{
    atomic_fetch_sub(&changing, 1);
}

static larmor_status abandoned(const larmor_output *out)
{
    return LMR_FAIL(LARMOR_STOPPED, "%s: abandoned", out->path);
}

static void enlist(larmor_output *out)
{
    for (int i = 0; i < MOST_OPEN; i++) {
        larmor_output *none = NULL;
        if (atomic_compare_exchange_strong(&open_outputs[i], &none, out)) return;
    }
}

static void strike_off(const larmor_output *out)
{
    for (int i = 0; i < MOST_OPEN; i++)
        if (atomic_load(&open_outputs[i]) == out) atomic_store(&open_outputs[i], NULL);
}

/* Safe in a handler of signals. */
static void remove_temporary(const larmor_output *out, const lmr_part *part)
{
    if (out->inside)
        lmr_folder_remove(out->folder, part->temp, out->inside);
    else
        unlinkat(out->folder, part->temp, 0);
}

int larmor_outputs_abandon(void)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&changing, &none, -1) && none > 0) return 0;
    for (int i = 0; i < MOST_OPEN; i++) {
        const larmor_output *out = atomic_load(&open_outputs[i]);
        for (int p = 0; out && !out->over && p < out->parts; p++)
            if (out->part[p].temp[0]) remove_temporary(out, &out->part[p]);
    }
    return 1;
}

/* ---- failures ---- */

typedef struct amount {
    char s[32];
} amount;

static amount amount_of(int64_t bytes)
{
    amount a;
    if (bytes < (int64_t)MEBIBYTE)
        snprintf(a.s, sizeof a.s, "%.1f KiB", (double)(bytes > 0 ? bytes : 0) / KIBIBYTE);
    else
        snprintf(a.s, sizeof a.s, "%.1f MiB", (double)bytes / MEBIBYTE);
    return a;
}

static int64_t free_bytes(int fd)
{
    struct statvfs fs;
    int64_t bytes = -1;
    if (fstatvfs(fd, &fs) || !lmr_mul((int64_t)fs.f_bavail, (int64_t)fs.f_frsize, &bytes)) return -1;
    return bytes;
}

/* What a part takes of the disk already. */
static int64_t reserved_bytes(const lmr_part *part)
{
    struct stat s;
    return part->fd < 0 || fstat(part->fd, &s) ? 0 : (int64_t)s.st_blocks * 512;
}

static larmor_status no_space(const larmor_output *out)
{
    int64_t needs = 0, own = 0;
    for (int p = 0; p < out->parts; p++) {
        needs += out->part[p].needs;
        own += reserved_bytes(&out->part[p]);
    }
    const int64_t left = free_bytes(out->folder) + own;
    return LMR_FAIL(LARMOR_ERR_IO, "%s: no space left (needs %s, %s free); nothing written.", out->path,
                    amount_of(needs).s, amount_of(left).s);
}

static larmor_status cannot(const larmor_output *out, const char *what, int error)
{
    if (error == ENOSPC || error == EDQUOT) return no_space(out);
    return LMR_FAIL(lmr_system_status(error), "%s: cannot %s (%s); nothing written.", out->path, what,
                    lmr_system_text(error));
}

/* The folder's descriptor and the names of all parts, from out->path. */
static larmor_status locate(larmor_output *out, const char *path, const char *suffix, const char *second)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const int length = slash ? (int)(slash - path) : 0;
    char *folder = NULL;
    if (asprintf(&folder, "%.*s", slash && length ? length : 1, slash ? path : ".") < 0) return LMR_NO_MEMORY();
    out->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    larmor_status st = LARMOR_OK;
    if (out->folder < 0 && (errno == ENOENT || errno == ENOTDIR))
        st = LMR_FAIL(LARMOR_ERR_IO, "%s: no such folder: %s; make it first.", out->path, folder);
    else if (out->folder < 0)
        st = LMR_FAIL(lmr_system_status(errno), "%s: cannot open the folder %s (%s).", out->path, folder,
                      lmr_system_text(errno));
    free(folder);
    if (st) return st;

    const size_t stem = strlen(name) - strlen(suffix);
    const size_t extra = strlen("..part.") + 3 * sizeof(pid_t) + 1 + RANDOM_CHARACTERS;
    const size_t most = NAME_MAX - extra;
    LMR_REFUSE(strlen(name) > most, LARMOR_ERR_IO,
               "%s: the name has %zu characters, at most %zu are possible; choose a shorter one.", out->path,
               strlen(name), most);
    out->parts = second ? 2 : 1;
    snprintf(out->part[0].name, sizeof out->part[0].name, "%s", name);
    if (second) snprintf(out->part[1].name, sizeof out->part[1].name, "%.*s%s", (int)stem, name, second);
    return LARMOR_OK;
}

/* A folder is there: only one with files of its kind alone may be replaced, so that nothing else is lost. */
static larmor_status check_folder(const larmor_output *out)
{
    char other[NAME_MAX + 1];
    LMR_REFUSE(!out->force, LARMOR_ERR_EXISTS, "%s: exists already; opts.force overwrites it", out->path);
    if (!lmr_folder_holds_other(out->folder, out->part[0].name, out->inside, other)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_EXISTS, "%s: holds %s, which is no %s file; choose another name.", out->path, other,
                    out->inside);
}

/* What is there under the final names already. */
static larmor_status check_targets(const larmor_output *out)
{
    for (int p = 0; p < out->parts; p++) {
        struct stat s;
        const char *which = p ? out->part[p].name : "";
        if (fstatat(out->folder, out->part[p].name, &s, AT_SYMLINK_NOFOLLOW)) {
            if (errno == ENOENT) continue;
            return cannot(out, "look at the target", errno);
        }
        if (out->inside && S_ISDIR(s.st_mode)) {
            LMR_TRY(check_folder(out));
            continue;
        }
        LMR_REFUSE(out->inside, LARMOR_ERR_EXISTS,
                   "%s: a folder is to be written, and this is none; choose another name.", out->path);
        LMR_REFUSE(S_ISDIR(s.st_mode), LARMOR_ERR_EXISTS, "%s: %s%sis a folder; choose another name.", out->path,
                   which, p ? " " : "");
        if (S_ISLNK(s.st_mode)) /* neither is its target written, which may be anything, nor is it replaced */
            return LMR_FAIL(LARMOR_ERR_EXISTS, "%s: %s%sis a symbolic link; name the file that it points to.",
                            out->path, which, p ? " " : "");
        LMR_REFUSE(!S_ISREG(s.st_mode), LARMOR_ERR_EXISTS, "%s: %s%sis not a regular file (device or pipe).",
                   out->path, which, p ? " " : "");
        LMR_REFUSE(!out->force, LARMOR_ERR_EXISTS, "%s: %s%sexists already; opts.force overwrites it", out->path,
                   which, p ? " " : "");
    }
    return LARMOR_OK;
}

/* An exclusive lock that ends with the open file, also when the process is killed: 1 if it is ours now, 0 if another
 * holds it, -1 where the file system has no locks. Not flock, which HDF5 takes on its files itself. */
static int lock(int fd)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (!fcntl(fd, F_OFD_SETLK, &all)) return 1;
    return errno == EAGAIN || errno == EACCES ? 0 : -1;
}

/* ".NAME.part.PID.xxxxxx": the process, or 0 if `entry` is no temporary file of this target. */
static long writer_of(const char *entry, const char *name)
{
    const size_t length = strlen(name);
    if (entry[0] != '.' || strncmp(entry + 1, name, length) || strncmp(entry + 1 + length, ".part.", 6)) return 0;
    const char *digits = entry + 1 + length + 6;
    char *end;
    if (!isdigit((unsigned char)*digits)) return 0;
    const long pid = strtol(digits, &end, 10);
    return *end == '.' && strlen(end + 1) == RANDOM_CHARACTERS ? pid : 0;
}

/* Refuse if another run writes this part, remove what dead runs left. */
static larmor_status sweep(larmor_output *out, const lmr_part *part)
{
    const int fd = openat(out->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (!list) {
        const int error = errno;
        if (fd >= 0) close(fd);
        return cannot(out, "list the folder", error);
    }
    larmor_status st = LARMOR_OK;
    for (const struct dirent *entry; !st && (entry = readdir(list));) {
        const long pid = writer_of(entry->d_name, part->name);
        if (!pid) continue;
        const int how = out->inside ? O_RDONLY | O_DIRECTORY : O_RDWR | O_NONBLOCK;
        const int other = openat(out->folder, entry->d_name, how | O_NOFOLLOW | O_CLOEXEC);
        if (other < 0) continue;
        const int ours = out->inside ? lmr_folder_lock(other) : lock(other);
        out->taken = ours == 0;
        if (out->taken)
            st =
                LMR_FAIL(LARMOR_ERR_IO, "%s: output is being written by pid %ld; wait for it or choose another name.",
                         out->path, pid);
        else if (ours == 1 && out->inside)
            lmr_folder_remove(out->folder, entry->d_name, out->inside);
        else if (ours == 1)
            unlinkat(out->folder, entry->d_name, 0);
        close(other);
    }
    closedir(list);
    return st;
}

static larmor_status create_temporary(larmor_output *out, lmr_part *part)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    for (int attempt = 0; attempt < 100; attempt++) {
        unsigned char random[RANDOM_CHARACTERS];
        char text[RANDOM_CHARACTERS + 1] = {0}, temp[sizeof part->temp];
        if (getrandom(random, sizeof random, 0) != sizeof random) continue;
        for (int i = 0; i < RANDOM_CHARACTERS; i++) text[i] = letters[random[i] % 32];
        const int length = snprintf(temp, sizeof temp, ".%s.part.%ld.%s", part->name, (long)getpid(), text);
        if (length >= (int)sizeof temp) break;
        if (!change_begin()) return abandoned(out);
        memcpy(part->temp, temp, (size_t)length + 1);
        if (out->inside)
            out->made = lmr_folder_make(out->folder, part->temp);
        else
            part->fd = openat(out->folder, part->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        change_end();
        if (part->fd >= 0 || out->made >= 0 || errno != EEXIST) break;
    }
    const int fd = out->inside ? out->made : part->fd;
    if (fd < 0) {
        part->temp[0] = 0;
        return cannot(out, "create a file in its folder", errno);
    }
    /* The kernel has applied the umask, which a library cannot read without changing it. So the mode is kept for
     * later, and only the owner can read the file while it is incomplete. */
    struct stat s;
    if (fstat(fd, &s) || fchmod(fd, out->inside ? 0700 : 0600)) return cannot(out, "set the mode", errno);
    part->mode = s.st_mode & 07777;
    if (out->inside)
        lmr_folder_lock(fd);
    else
        lock(fd);
    return LARMOR_OK;
}

static void pause_a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* The folder is locked, so that of two runs that start at the same time only one finds the file free. Where the
 * lock is not available the run continues without it, because the rename still decides. */
static larmor_status occupy(larmor_output *out, int first)
{
    int locked = 0;
    for (int attempt = 0; attempt < 100 && !locked; attempt++) {
        locked = !flock(out->folder, LOCK_EX | LOCK_NB);
        if (!locked && errno != EWOULDBLOCK && errno != EINTR) break;
        if (!locked) pause_a_moment();
    }
    larmor_status st = LARMOR_OK;
    for (int p = first; p < out->parts && !st; p++) st = sweep(out, &out->part[p]);
    for (int p = first; p < out->parts && !st; p++) st = create_temporary(out, &out->part[p]);
    if (locked) flock(out->folder, LOCK_UN);
    return st;
}

/* place: the path of the file or folder without a slash at its end. */
static larmor_status open_output(larmor_output *out, const char *place, const char *suffix, const char *second,
                                 double patience, larmor_output **result)
{
    larmor_status st;
    LMR_OR(fail, locate(out, place, suffix, second));
    LMR_OR(fail, check_targets(out));
    enlist(out);
    const double until = lmr_seconds() + patience;
    while ((st = occupy(out, 0)) && out->taken && lmr_seconds() < until) pause_a_moment();
    if (st) goto fail;
    *result = out;
    return LARMOR_OK;
fail:
    larmor_output_free(out);
    return st;
}

larmor_status lmr_output_add(larmor_output *out, const char *suffix, const char *second)
{
    lmr_part *p = &out->part[1];
    const size_t stem = strlen(out->part[0].name) - strlen(suffix);
    LMR_TRY(lmr_output_ready(out));
    LMR_REFUSE(out->parts > 1 || out->inside, LARMOR_ERR_ARG, "%s: has no place for another file", out->path);
    snprintf(p->name, sizeof p->name, "%.*s%s", (int)stem, out->part[0].name, second);
    out->parts = 2;
    larmor_status st = check_targets(out);
    if (!st) st = occupy(out, 1);
    if (!st) return LARMOR_OK;
    if (p->temp[0]) remove_temporary(out, p);
    p->temp[0] = '\0';
    out->parts = 1;
    return st;
}

static larmor_output *new_output(const char *path, int force)
{
    larmor_output *out = calloc(1, sizeof *out);
    if (!out) return NULL;
    out->folder = out->made = -1;
    out->force = force;
    for (int p = 0; p < LMR_MAX_PARTS; p++) out->part[p].fd = -1;
    out->path = strdup(path);
    if (out->path) return out;
    free(out);
    return NULL;
}

larmor_status lmr_output_open(const char *path, const char *suffix, const char *second, int force, double patience,
                              larmor_output **result)
{
    *result = NULL;
    larmor_output *out = new_output(path, force);
    return out ? open_output(out, path, suffix, second, patience, result) : LMR_NO_MEMORY();
}

larmor_status lmr_output_open_folder(const char *path, const char *inside, int force, larmor_output **result)
{
    *result = NULL;
    LMR_HEAP char *place = strdup(path);
    larmor_output *out = place ? new_output(path, force) : NULL;
    if (!out) return LMR_NO_MEMORY();
    out->inside = inside;
    for (size_t length = strlen(place); length > 1 && place[length - 1] == '/'; length--) place[length - 1] = 0;
    return open_output(out, place, "", NULL, 0, result);
}

/* The file of a folder is complete. */
static larmor_status end_file(larmor_output *out)
{
    lmr_part *p = &out->part[0];
    const int failed = p->fd >= 0 && close(p->fd), error = errno;
    p->fd = -1;
    return failed ? cannot(out, "write", error) : LARMOR_OK;
}

larmor_status lmr_output_next(larmor_output *out, const char *name)
{
    LMR_TRY(end_file(out));
    if (!change_begin()) return abandoned(out);
    const int fd = openat(out->made, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    const int error = errno;
    change_end();
    out->part[0].fd = fd;
    return fd < 0 ? cannot(out, "create a file in it", error) : LARMOR_OK;
}

const char *larmor_output_path(const larmor_output *out)
{
    return out ? out->path : "";
}

larmor_status lmr_output_ready(const larmor_output *out)
{
    LMR_REFUSE(!out, LARMOR_ERR_ARG, "output: none given");
    return out->over ? LMR_FAIL(LARMOR_ERR_ARG, "%s: was written already; open it again", out->path) : LARMOR_OK;
}

larmor_status lmr_output_reserve(larmor_output *out, int part, int64_t bytes)
{
    lmr_part *p = &out->part[part];
    p->needs = bytes;
    const int64_t left = free_bytes(out->folder);
    if (left >= 0 && bytes - reserved_bytes(p) > left) return no_space(out);
    struct rlimit limit;
    /* Past this limit a write would end the process by SIGXFSZ. */
    LMR_REFUSE(!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
                   (uint64_t)bytes > limit.rlim_cur,
               LARMOR_ERR_IO, "%s: needs %s, files may have %s (ulimit -f); nothing written.", out->path,
               amount_of(bytes).s, amount_of((int64_t)limit.rlim_cur).s);
    /* Not posix_fallocate, which writes zeros where the file system cannot reserve: that is slow and reserves nothing
     * where blocks are shared or compressed. */
    if (bytes > 0 && p->fd >= 0 && fallocate(p->fd, 0, 0, bytes) &&
        (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
        return cannot(out, "reserve space", errno);
    return LARMOR_OK;
}

larmor_status lmr_output_put(larmor_output *out, int part, const void *data, size_t bytes)
{
    const char *from = data;
    while (bytes) {
        const ssize_t done = write(out->part[part].fd, from, bytes);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return cannot(out, "write", errno);
        from += done;
        bytes -= (size_t)done;
        out->part[part].written += done;
    }
    return LARMOR_OK;
}

static int rename_with(int folder, const char *from, const char *to, unsigned flags)
{
    return renameat2(folder, from, folder, to, flags);
}

/* Give a part its name. With keep, a file that it replaces is kept under the temporary name. */
static int place(const larmor_output *out, lmr_part *p, int keep)
{
    const int folder = out->folder;
    int failed;
    if (out->force && keep && !rename_with(folder, p->temp, p->name, RENAME_EXCHANGE)) {
        p->placed = 2;
        return 0;
    }
    if (out->force) {
        failed = renameat(folder, p->temp, folder, p->name);
    } else {
        failed = rename_with(folder, p->temp, p->name, RENAME_NOREPLACE);
        if (failed && out->inside && (errno == EINVAL || errno == ENOSYS))
            failed = renameat(folder, p->temp, folder, p->name);   /* which replaces no folder but an empty one */
        else if (failed && (errno == EINVAL || errno == ENOSYS)) { /* a file system without it */
            failed = linkat(folder, p->temp, folder, p->name, 0);
            if (!failed) unlinkat(folder, p->temp, 0);
        }
    }
    if (!failed) p->placed = 1;
    return failed;
}

static void take_back(const larmor_output *out, lmr_part *p)
{
    if (p->placed == 2)
        rename_with(out->folder, p->temp, p->name, RENAME_EXCHANGE);
    else if (p->placed == 1)
        unlinkat(out->folder, p->name, 0);
    p->placed = 0;
}

/* All parts get their names, or none. */
static larmor_status place_all(larmor_output *out)
{
    for (int p = 0; p < out->parts; p++) {
        if (!place(out, &out->part[p], out->inside || p < out->parts - 1)) continue;
        const int error = errno;
        while (p-- > 0) take_back(out, &out->part[p]);
        LMR_REFUSE(error == EEXIST, LARMOR_ERR_EXISTS, "%s: appeared while it was computed; opts.force overwrites it",
                   out->path);
        return cannot(out, "rename", error);
    }
    for (int p = 0; p < out->parts; p++)
        if (out->part[p].placed == 2) remove_temporary(out, &out->part[p]);
    out->over = 1;
    return LARMOR_OK;
}

/* A file that is replaced may be private, or meant for all. */
static mode_t final_mode(const larmor_output *out, const lmr_part *part)
{
    struct stat s;
    if (!out->force || fstatat(out->folder, part->name, &s, AT_SYMLINK_NOFOLLOW) ||
        !(out->inside ? S_ISDIR(s.st_mode) : S_ISREG(s.st_mode)))
        return part->mode;
    return s.st_mode & 0777;
}

static larmor_status complete_folder(larmor_output *out)
{
    struct stat s;
    LMR_TRY(end_file(out));
    if (out->force && !fstatat(out->folder, out->part[0].name, &s, AT_SYMLINK_NOFOLLOW)) LMR_TRY(check_targets(out));
    if (fchmod(out->made, final_mode(out, &out->part[0]))) return cannot(out, "set the mode", errno);
    return lmr_folder_sync(out->made) ? cannot(out, "sync", errno) : LARMOR_OK;
}

larmor_status lmr_output_commit(larmor_output *out)
{
    if (out->inside) LMR_TRY(complete_folder(out));
    for (int p = 0; !out->inside && p < out->parts; p++) {
        if (fchmod(out->part[p].fd, final_mode(out, &out->part[p]))) return cannot(out, "set the mode", errno);
        if (ftruncate(out->part[p].fd, out->part[p].written)) return cannot(out, "cut to its length", errno);
        if (fsync(out->part[p].fd)) return cannot(out, "sync", errno);
    }
    if (!change_begin()) return abandoned(out);
    const larmor_status st = place_all(out);
    change_end();
    if (st) return st;
    LMR_REFUSE(fsync(out->folder) && errno != EINVAL, LARMOR_ERR_IO,
               "%s: is complete, but its folder could not be synced (%s).", out->path, strerror(errno));
    return LARMOR_OK;
}

void lmr_output_give_up(larmor_output *out)
{
    if (!out->over)
        for (int p = 0; p < out->parts; p++)
            if (out->part[p].temp[0]) remove_temporary(out, &out->part[p]);
    out->over = 1;
}

void larmor_output_free(larmor_output *out)
{
    if (!out) return;
    lmr_output_give_up(out);
    if (!change_begin()) return; /* a handler of signals may be reading it, and the process ends */
    strike_off(out);
    change_end();
    for (int p = 0; p < LMR_MAX_PARTS; p++)
        if (out->part[p].fd >= 0) close(out->part[p].fd);
    if (out->made >= 0) close(out->made);
    if (out->folder >= 0) close(out->folder);
    LMR_FREE(out->path, out);
}
