/* An output file, or a folder of files, that appears under its name only when it is complete.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/status.h"
#include "larmor/io.h"

#define LMR_MAX_PARTS 2

struct lmr_format; /* known to the layer that writes */

typedef struct lmr_part { /* one file of an output: a .cfl has two */
    char name[NAME_MAX + 1], temp[NAME_MAX + 1];
    int fd;                 /* of a folder, that of its file which is being written */
    mode_t mode;            /* of the finished file */
    int64_t needs, written; /* bytes, as far as they are known; that were put */
    int placed;             /* 1: the file has its name; 2: and temp is the file that it replaced */
} lmr_part;

struct larmor_output {
    char *path;                      /* as given, for messages */
    const struct lmr_format *format; /* of the caller that opened it */
    int folder;                      /* descriptor */
    int force;
    int taken; /* 1: another run writes it */
    int over;  /* 1: committed or discarded */
    int parts;
    lmr_part part[LMR_MAX_PARTS];
    const char *inside; /* of a folder: the suffix of the files in it, which alone are ever removed; else NULL */
    int made;           /* its descriptor */
};

/* Begin to write `path`, or, with `second`, that and a file whose name has `second` in the place of the suffix. Until
 * it is freed no other run can open it: others are refused, or wait `patience` seconds for the lock.
 *
 * force   1: replace what is there by then; a symbolic link is never replaced and never followed.
 * Errors  LARMOR_ERR_EXISTS and LARMOR_ERR_IO, which say what is in the way. */
larmor_status lmr_output_open(const char *path, const char *suffix, const char *second, int force, double patience,
                              larmor_output **out);

/* The same for a folder of files, with one part; `path` may end in a slash. Its files are made one after another.
 *
 * inside  their suffix, which stays valid. A folder that is there is replaced, with force, if it holds nothing else.
 * Errors  LARMOR_ERR_EXISTS, LARMOR_ERR_IO. */
larmor_status lmr_output_open_folder(const char *path, const char *inside, int force, larmor_output **out);

/* Begin the next file of a folder: what is put from now on goes there. Errors: LARMOR_ERR_IO. */
larmor_status lmr_output_next(larmor_output *out, const char *name);

/* Beside a file that is open one more, whose name has `second` in the place of the suffix: its part 1. Errors:
 * LARMOR_ERR_IO, LARMOR_ERR_EXISTS; the output is as it was. */
larmor_status lmr_output_add(larmor_output *out, const char *suffix, const char *second);

/* OK if nothing has been written or discarded yet, else LARMOR_ERR_ARG. */
larmor_status lmr_output_ready(const larmor_output *out);

/* Make sure that `bytes` fit, before the first is written; again where more is known. What is reserved and not
 * written is given back in the end. Errors: LARMOR_ERR_IO with what is needed and free. */
larmor_status lmr_output_reserve(larmor_output *out, int part, int64_t bytes);

/* Append to the temporary file. Errors: LARMOR_ERR_IO. */
larmor_status lmr_output_put(larmor_output *out, int part, const void *data, size_t bytes);

/* Sync all parts, give them their names in order (the last one last), sync the folder. Errors: LARMOR_ERR_IO. */
larmor_status lmr_output_commit(larmor_output *out);

/* Remove the temporary files: the target stays as it was. Nothing after a commit. */
void lmr_output_give_up(larmor_output *out);
