/* Checkpoints: where a long reconstruction keeps what it has reached, so that it can go on after it was stopped.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_CHECKPOINT_H
#define LARMOR_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "larmor/status.h"

LARMOR_C_BEGIN

typedef struct larmor_checkpoint larmor_checkpoint; /* refcounted; one thread at a time */

/* A place that keeps one sequence of bytes. */
typedef struct larmor_checkpoint_impl {
    /* Called when a reconstruction is created: *bytes is the length of what is kept, 0 if there is nothing. */
    larmor_status (*open)(void *self, int64_t *bytes);
    /* Bytes of what was kept when it was opened, also after a commit, and never beyond their end. */
    larmor_status (*get)(void *self, int64_t first, void *to, size_t bytes);
    /* A new sequence of so many bytes: begin, put until they are complete, commit. With commit, and not before, it
     * takes the place of what was kept, all of it at once. A sequence that is not complete is dropped by the next
     * begin. */
    larmor_status (*begin)(void *self, int64_t bytes);
    larmor_status (*put)(void *self, const void *from, size_t bytes);
    larmor_status (*commit)(void *self);
    larmor_status (*remove)(void *self); /* nothing is kept any more */
    void (*destroy)(void *self);         /* or NULL */
} larmor_checkpoint_impl;

/* A place of your own.
 *
 * name    what messages call it, e.g. the path of a file; copied, like impl. All functions but destroy are needed.
 * self    given to every function; belongs to the checkpoint from a successful return on, still yours after an error.
 * Errors  LARMOR_ERR_ARG for a missing function or name; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_checkpoint_create(const char *name, const larmor_checkpoint_impl *impl, void *self,
                                                  larmor_checkpoint **checkpoint);

/* A file. A new checkpoint gets the file's name when it is complete and on the disk; the one before it stays under
 * the name with ".previous" behind it, where the file system has hard links. The values are those of this
 * machine's memory, with a checksum, which is checked when a reconstruction is created.
 *
 * path    of the file, which need not be there; copied.
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_MEMORY; LARMOR_ERR_FORMAT if something else has one of the names;
 *         LARMOR_ERR_IO if the folder is missing or not writable, or if another process uses the file. */
LARMOR_API larmor_status larmor_checkpoint_file(const char *path, larmor_checkpoint **checkpoint);

LARMOR_API larmor_checkpoint *larmor_checkpoint_ref(larmor_checkpoint *c); /* one more reference; returns c */
LARMOR_API void larmor_checkpoint_free(larmor_checkpoint *c);              /* NULL is fine; what is kept stays */

/* Remove what is kept: when the images are where they are safe. Errors: those of the place. */
LARMOR_API larmor_status larmor_checkpoint_remove(larmor_checkpoint *c);

LARMOR_C_END
#endif
