/* The process that parses a file for this one: started, asked and ended. What it says is not trusted.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/reader/protocol.h"
#include "io/reader/source.h"

typedef struct lmr_reader lmr_reader;

typedef struct lmr_reader_limits { /* 0 means what the size of the file gives */
    int64_t memory;                /* bytes of the reader's own */
    int64_t seconds;               /* of processor time, in all */
    int64_t patience;              /* seconds until an answer must have come */
} lmr_reader_limits;

/* Start a reader for an open file. It sees this file, `second` and nothing else.
 *
 * second  a file that belongs to it, or NULL; both stay the caller's and must stay open.
 * suffix  of the format; NULL for a scan, whose messages do not name the file: those of all others do.
 * limits  may be NULL.
 * Errors  LARMOR_ERR_UNSUPPORTED: the program larmor-reader is missing or of another version; LARMOR_ERR_IO: it
 *         cannot be started; LARMOR_ERR_MEMORY. */
larmor_status lmr_reader_start(const lmr_source *source, const lmr_source *second, const char *suffix,
                               const lmr_reader_limits *limits, lmr_reader **out);

/* Start a reader that composes an HDF5 file of about so many bytes, in which elements of images do not count. It
 * sees no file. path: that is written, for messages. Errors: as above. */
larmor_status lmr_reader_start_composing(const char *path, int64_t bytes, lmr_reader **out);

/* Kill the reader, if it is not dead yet, and wait for it. NULL is fine. */
void lmr_reader_end(lmr_reader *reader);

/* Ask and wait for the answer, which stays valid until the next request. Its numbers are as the reader gave them: the
 * caller checks them.
 *
 * text    up to 255 characters, or NULL.
 * most    bytes that may follow the answer.
 * Errors  those of the reader, with its message; LARMOR_ERR_FORMAT if it dies, answers nonsense or uses up its
 *         processor time; LARMOR_ERR_IO if it was killed or does not answer. */
larmor_status lmr_reader_ask_for(lmr_reader *reader, lmr_reader_ask what, const char *text, int64_t most,
                                 const lmr_reader_answer **answer);

/* The same with all members of a request but magic. With request->bytes, lmr_reader_prepare has said what fills
 * them. */
larmor_status lmr_reader_ask_with(lmr_reader *reader, lmr_reader_request request, int64_t most,
                                  const lmr_reader_answer **answer);

/* What followed the last answer, and its bytes. NULL if nothing did. */
void *lmr_reader_memory(lmr_reader *reader, int64_t *bytes);

/* Called with the room for the next answer, whose bytes then go to the reader. */
void lmr_reader_prepare(lmr_reader *reader, void (*fill)(void *memory, int64_t bytes, const void *user),
                        const void *user);

/* LARMOR_ERR_FORMAT: the answer cannot be true. */
larmor_status lmr_reader_lies(const lmr_reader *reader);
