/* New HDF5 files: larmor-reader composes their structure, and this process writes it with the elements of images
 * in their places. HDF5 crashes where it gets no memory, and cannot close a file whose writes fail.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/atomic.h"
#include "io/bytes.h"
#include "io/process/reader_process.h"

typedef struct lmr_h5_new {
    larmor_output *out;
    lmr_reader *reader;
    int64_t size, pieces;    /* when it is composed; */
    lmr_reader_piece *piece; /* in the file's order */
    int64_t at;              /* bytes that are written */
} lmr_h5_new;

/* Begin; bytes: about as many as go to the reader. Errors: those of lmr_reader_start_composing. */
larmor_status lmr_h5_begin(larmor_output *out, int64_t bytes, lmr_h5_new *file);
void lmr_h5_end(lmr_h5_new *file); /* twice is fine */

/* Give the reader work, LMR_ASK_IMAGES, LMR_ASK_SAMPLES, LMR_ASK_BLOCKS or LMR_ASK_HEADER; after the first and the
 * last the file is composed, and space is reserved for it. Errors: LARMOR_ERR_IO, LARMOR_ERR_MEMORY. */
larmor_status lmr_h5_give(lmr_h5_new *file, lmr_reader_ask ask, const lmr_bytes *work);

/* Write what the reader has composed up to piece i, or to the end for the number of pieces; then the elements of
 * that piece with their checksum: piece[i].bytes, padding included. */
larmor_status lmr_h5_put_structure(lmr_h5_new *file, int64_t i);
larmor_status lmr_h5_put_piece(lmr_h5_new *file, int64_t i, const void *elements);
