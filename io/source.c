/* An input file: opened read-only, known to be regular and not empty. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "io/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

larmor_status lmr_source_open(const char *path, lmr_source *source)
{
    *source = (lmr_source){.fd = -1};
    if (!path || !*path) return LMR_FAIL(LARMOR_ERR_ARG, "input: no path given");
    source->path = strdup(path);
    if (!source->path) return LMR_NO_MEMORY();
    larmor_status st = LARMOR_OK;
    char *colon = strstr(source->path, ".h5:/");
    if (colon && access(source->path, F_OK)) colon[3] = 0, source->inside = colon + 4;
    path = source->path;
    source->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat s;
    if (source->fd < 0 && errno == ENOENT)
        st = LMR_FAIL(LARMOR_ERR_IO, "%s: no such file.", path);
    else if (source->fd < 0 && errno == EACCES)
        st = LMR_FAIL(LARMOR_ERR_IO, "%s: permission denied; run 'ls -l %s'.", path, path);
    else if (source->fd < 0 || fstat(source->fd, &s))
        st = LMR_FAIL(LARMOR_ERR_IO, "%s: cannot open (%s).", path, strerror(errno));
    else if (S_ISDIR(s.st_mode))
        st = LMR_FAIL(LARMOR_ERR_IO, "%s: is a directory, not a file.", path);
    else if (!S_ISREG(s.st_mode))
        st = LMR_FAIL(LARMOR_ERR_IO, "%s: not a regular file (device or pipe).", path);
    else if (s.st_size == 0)
        st = LMR_FAIL(LARMOR_ERR_FORMAT, "%s: empty file.", path);
    else
        source->size = s.st_size;
    if (st) lmr_source_close(source);
    return st;
}

void lmr_source_close(lmr_source *source)
{
    if (source->fd >= 0) close(source->fd);
    free(source->path);
    *source = (lmr_source){.fd = -1};
}

larmor_status lmr_source_read(const lmr_source *source, int64_t offset, void *to, size_t bytes)
{
    char *p = to;
    while (bytes) {
        const ssize_t done = pread(source->fd, p, bytes, offset);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return LMR_FAIL(LARMOR_ERR_IO, "%s: cannot read (%s).", source->path, strerror(errno));
        if (done == 0)
            return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: file cut short at %" PRId64 " bytes. Copy it again.",
                            source->path, offset);
        p += done, offset += done, bytes -= (size_t)done;
    }
    return LARMOR_OK;
}
