/* A checkpoint in a file: a first word, the bytes that were put, and their checksum (CRC-32). It is replaced as a
 * whole, and the one before it is kept. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "larmor/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include "core/atomic.h"
#include "core/core.h"
#include "io/reader/source.h"

#define PREVIOUS ".previous"

static const char first_word[] = "larmor checkpoint\n";
enum { FIRST = sizeof first_word - 1, LAST = 4, AT_A_TIME = 1 << 20 };

typedef struct file {
    char *path, *previous;
    lmr_source kept;    /* what was there when it was opened */
    larmor_output *out; /* the next one; its lock keeps other processes away */
    int begun;          /* 1: something was put */
    uint32_t sum;       /* of that */
} file;

/* ---- reading ---- */

static larmor_status damaged(const file *f, const char *what)
{
    const int spare = !access(f->previous, F_OK);
    return LMR_FAIL(LARMOR_ERR_FORMAT, "opts.checkpoint %s: damaged (%s). Delete it to start again%s%s%s.", f->path,
                    what, spare ? ", or rename " : "", spare ? f->previous : "",
                    spare ? " to it to go on from there" : "");
}

/* Only what begins as a checkpoint is ever replaced or removed. */
static larmor_status check_first(const file *f, const lmr_source *source)
{
    char begin[FIRST] = "";
    const int64_t got = lmr_source_get(source, 0, begin, FIRST);
    if (got == FIRST && !memcmp(begin, first_word, FIRST)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "opts.checkpoint %s: %s is no checkpoint. Choose another name, or delete it.",
                    f->path, source->path);
}

static larmor_status check_sum(const file *f)
{
    LMR_HEAP LMR_NEW(unsigned char, part, AT_A_TIME);
    unsigned char last[LAST];
    uint32_t sum = (uint32_t)crc32(0, NULL, 0);
    const int64_t end = f->kept.size - LAST;
    for (int64_t at = 0; at < end; at += AT_A_TIME) {
        const size_t now = (size_t)(end - at < AT_A_TIME ? end - at : AT_A_TIME);
        LMR_TRY(lmr_source_read(&f->kept, at, part, now));
        sum = (uint32_t)crc32_z(sum, part, now);
    }
    LMR_TRY(lmr_source_read(&f->kept, end, last, LAST));
    return lmr_little_endian(last, LAST) == sum ? LARMOR_OK : damaged(f, "its checksum is wrong");
}

/* The file of the checkpoint before must not be anything else, because it will be replaced. */
static larmor_status check_previous(const file *f)
{
    LMR_FREED_BY(lmr_source_close) lmr_source previous = {.fd = -1};
    if (access(f->previous, F_OK)) return LARMOR_OK;
    LMR_TRY(lmr_source_open(f->previous, "a checkpoint", &previous));
    return check_first(f, &previous);
}

/* What is there, if it is a checkpoint. */
static larmor_status open_kept(file *f)
{
    lmr_source_close(&f->kept);
    LMR_TRY(check_previous(f));
    if (access(f->path, F_OK)) return LARMOR_OK;
    const larmor_status st = lmr_source_open(f->path, "a checkpoint", &f->kept);
    if (st == LARMOR_ERR_FORMAT) return damaged(f, "it is empty");
    LMR_TRY(st);
    LMR_TRY(check_first(f, &f->kept));
    return f->kept.size > FIRST + LAST ? LARMOR_OK : damaged(f, "it is cut short");
}

static larmor_status open_next(file *f)
{
    return f->out ? LARMOR_OK : lmr_output_open(f->path, "", NULL, 1, 0, &f->out);
}

static larmor_status file_open(void *self, int64_t *bytes)
{
    file *f = self;
    LMR_TRY(open_next(f));
    LMR_TRY(open_kept(f));
    if (f->kept.fd < 0) return LARMOR_OK;
    LMR_TRY(check_sum(f));
    *bytes = f->kept.size - FIRST - LAST;
    return LARMOR_OK;
}

static larmor_status file_get(void *self, int64_t first, void *to, size_t bytes)
{
    const file *f = self;
    return lmr_source_read(&f->kept, FIRST + first, to, bytes);
}

/* ---- writing ---- */

static larmor_status put(file *f, const void *from, size_t bytes)
{
    f->sum = (uint32_t)crc32_z(f->sum, from, bytes);
    return lmr_output_put(f->out, 0, from, bytes);
}

static void drop(file *f)
{
    larmor_output_free(f->out);
    f->out = NULL;
    f->begun = 0;
}

static larmor_status file_begin(void *self, int64_t bytes)
{
    file *f = self;
    if (f->begun) drop(f);
    LMR_TRY(open_next(f));
    f->begun = 1;
    f->sum = (uint32_t)crc32(0, NULL, 0);
    larmor_status st = lmr_output_reserve(f->out, 0, FIRST + bytes + LAST);
    if (!st) st = put(f, first_word, FIRST);
    if (st) drop(f);
    return st;
}

static larmor_status file_put(void *self, const void *from, size_t bytes)
{
    file *f = self;
    LMR_REFUSE(!f->begun, LARMOR_ERR_ARG, "%s: nothing was begun", f->path);
    const larmor_status st = put(f, from, bytes);
    if (st) drop(f);
    return st;
}

/* At each moment there is a complete file under the name. */
static larmor_status file_commit(void *self)
{
    file *f = self;
    LMR_REFUSE(!f->begun, LARMOR_ERR_ARG, "%s: nothing was begun", f->path);
    unsigned char last[LAST];
    for (int i = 0; i < LAST; i++) last[i] = (unsigned char)(f->sum >> 8 * i);
    larmor_status st = lmr_output_put(f->out, 0, last, LAST);
    if (!st && !access(f->path, F_OK) && (!unlink(f->previous) || errno == ENOENT))
        (void)!link(f->path, f->previous); /* where there are no links, one is kept */
    if (!st) st = lmr_output_commit(f->out);
    drop(f);
    return st ? st : open_next(f);
}

static larmor_status file_remove(void *self)
{
    file *f = self;
    drop(f);
    unlink(f->previous);
    if (!unlink(f->path) || errno == ENOENT) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_IO, "opts.checkpoint %s: cannot be removed (%s).", f->path, strerror(errno));
}

static void file_destroy(void *self)
{
    file *f = self;
    drop(f);
    lmr_source_close(&f->kept);
    LMR_FREE(f->path, f->previous, f);
}

larmor_status larmor_checkpoint_file(const char *path, larmor_checkpoint **checkpoint)
{
    static const larmor_checkpoint_impl impl = {.open = file_open,
                                                .get = file_get,
                                                .begin = file_begin,
                                                .put = file_put,
                                                .commit = file_commit,
                                                .remove = file_remove,
                                                .destroy = file_destroy};
    LMR_NEED_OUT(checkpoint);
    LMR_REFUSE(!path || !*path, LARMOR_ERR_ARG, "checkpoint: no path given");
    LMR_MAKE(file, f, file_destroy);
    f->kept.fd = -1;
    f->path = strdup(path);
    if (asprintf(&f->previous, "%s%s", path, PREVIOUS) < 0) f->previous = NULL;
    LMR_TRY(f->path && f->previous ? LARMOR_OK : LMR_NO_MEMORY());
    LMR_TRY(open_next(f));
    LMR_TRY(open_kept(f));
    return lmr_hand_on(&f_made, larmor_checkpoint_create(path, &impl, f, checkpoint));
}
