/* An input file: opened read-only, known to be regular and not empty; and what is asked of any file's bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "io/reader/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define DEFLATE_RATIO 1032

larmor_status lmr_source_open(const char *path, const char *kind, lmr_source *source)
{
    *source = (lmr_source){.fd = -1};
    LMR_REFUSE(!path || !*path, LARMOR_ERR_ARG, "input: no path given");
    source->path = strdup(path);
    if (!source->path) return LMR_NO_MEMORY();
    larmor_status st = LARMOR_OK;
    source->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat s;
    if (source->fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        st = LMR_FAIL(LARMOR_ERR_IO, "%s: no such file.", path);
    else if (source->fd < 0 && (errno == EACCES || errno == EPERM))
        st = LMR_FAIL(LARMOR_ERR_IO, "%s: permission denied; run 'ls -l %s'.", path, path);
    else if (source->fd < 0 || fstat(source->fd, &s))
        st = LMR_FAIL(lmr_system_status(errno), "%s: cannot be opened (%s).", path, lmr_system_text(errno));
    else if (S_ISDIR(s.st_mode))
        st = LMR_FAIL(LARMOR_ERR_IO, "%s: is a directory, not %s.", path, kind);
    else if (!S_ISREG(s.st_mode))
        st = LMR_FAIL(LARMOR_ERR_IO, "%s: not a regular file (device or pipe).", path);
    else if (s.st_size == 0)
        st = LMR_FAIL(LARMOR_ERR_FORMAT, "%s: empty file.", path);
    else {
        source->size = s.st_size;
        source->modified = s.st_mtim;
    }
    if (st) lmr_source_close(source);
    return st;
}

void lmr_source_close(lmr_source *source)
{
    if (source->fd >= 0) close(source->fd);
    free(source->path);
    *source = (lmr_source){.fd = -1};
}

int lmr_source_lock(int fd)
{
    return !flock(fd, LOCK_SH | LOCK_NB) || errno != EWOULDBLOCK;
}

#define STEP ((size_t)16 << 20) /* bytes, until it is asked again whether to stop */

int64_t lmr_source_get(const lmr_source *source, int64_t offset, void *to, size_t bytes)
{
    size_t got = 0;
    while (got < bytes) {
        const ssize_t now = pread(source->fd, (char *)to + got, bytes - got, offset + (int64_t)got);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0) return -1;
        if (now == 0) break;
        got += (size_t)now;
    }
    return (int64_t)got;
}

larmor_status lmr_source_read(const lmr_source *source, int64_t offset, void *to, size_t bytes)
{
    int64_t got = 0, now = 1;
    while (got < (int64_t)bytes && now > 0) {
        const size_t left = bytes - (size_t)got;
        LMR_TRY(lmr_go_on());
        now = lmr_source_get(source, offset + got, (char *)to + got, left < STEP ? left : STEP);
        got = now < 0 ? -1 : got + now;
    }
    LMR_REFUSE(got < 0, LARMOR_ERR_IO, "%s: cannot be read (%s).", source->path, strerror(errno));
    if (got == (int64_t)bytes) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: file cut short at %" PRId64 " bytes. Copy it again.", source->path,
                    offset + got);
}

larmor_status lmr_source_unchanged(const lmr_source *source)
{
    struct stat now;
    LMR_REFUSE(fstat(source->fd, &now), LARMOR_ERR_IO, "cannot be read (%s).", strerror(errno));
    if (now.st_size == source->size && now.st_mtim.tv_sec == source->modified.tv_sec &&
        now.st_mtim.tv_nsec == source->modified.tv_nsec)
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_IO, "changed while it was read. Wait until it is complete.");
}

int lmr_could_hold(int64_t stored, int64_t count, int64_t element, int packed)
{
    int64_t bytes;
    return lmr_mul(count, element, &bytes) && (packed ? bytes / DEFLATE_RATIO : bytes) <= stored;
}

uint64_t lmr_little_endian(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;) v = v << 8 | p[i];
    return v;
}

lmr_text lmr_printable(const char *text, int64_t bytes, int limit)
{
    lmr_text out;
    int n = 0;
    for (; n < bytes && n < limit; n++) out.s[n] = text[n] >= 0x20 && text[n] < 0x7f ? text[n] : '?';
    snprintf(out.s + n, sizeof out.s - (size_t)n, "%s", bytes > limit && limit > 8 ? "..." : "");
    return out;
}
