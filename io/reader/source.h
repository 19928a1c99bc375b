/* An input file: opened read-only, known to be regular and not empty; and what is asked of any file's bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/array.h"
#include "core/status.h"

typedef struct lmr_source {
    char *path;         /* for messages and for files beside it */
    const char *inside; /* what follows the colon in FILE.h5:/group, or NULL; the caller's */
    int fd;
    int64_t size;
    int64_t base;   /* where HDF5's part begins, behind a block of the user's; its addresses are counted from here */
    int is_written; /* 1: another program has locked it, to write */
    struct timespec modified;
} lmr_source;

/* kind: what a folder is not, for the message: "a file".
 *
 * Errors  LARMOR_ERR_IO: missing, not permitted, not regular; LARMOR_ERR_FORMAT: empty; LARMOR_ERR_MEMORY. */
larmor_status lmr_source_open(const char *path, const char *kind, lmr_source *source);
void lmr_source_close(lmr_source *source);

/* Hold a shared lock on a descriptor, as HDF5 does, until it is closed everywhere. Returns 0 if another program
 * holds one to write; 1 as well where the file system has no locks. */
int lmr_source_lock(int fd);

/* Up to `bytes` from `offset` on: how many there are, or -1 with errno. */
int64_t lmr_source_get(const lmr_source *source, int64_t offset, void *to, size_t bytes);

/* Exactly `bytes` from `offset` on. Errors: LARMOR_ERR_IO; LARMOR_ERR_FORMAT past the end. */
larmor_status lmr_source_read(const lmr_source *source, int64_t offset, void *to, size_t bytes);

/* LARMOR_ERR_IO if the file has been changed since it was opened; the message does not name it. */
larmor_status lmr_source_unchanged(const lmr_source *source);

/* 1 if `stored` bytes can be `count` elements, packed (by deflate, which cannot do better than 1032 to 1) or not. */
int lmr_could_hold(int64_t stored, int64_t count, int64_t element, int packed);

uint64_t lmr_little_endian(const unsigned char *p, int bytes);

/* Text from a file for use in a message: one line of at most `limit` (up to 180) printable ASCII characters. */
lmr_text lmr_printable(const char *text, int64_t bytes, int limit);
