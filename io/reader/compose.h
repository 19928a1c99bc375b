/* Files that liblarmor writes, as far as HDF5 is needed: their structure, and where samples belong. It runs in a
 * process of its own, like the reading of files, because HDF5 may crash where it gets no memory.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/status.h"
#include "io/reader/protocol.h"

typedef struct lmr_composer lmr_composer; /* one file */

/* Compose what `work` says, of LMR_ASK_IMAGES, LMR_ASK_SAMPLES, LMR_ASK_BLOCKS and LMR_ASK_HEADER; *composer is made
 * by the first. `room` is for an answer that is longer than the composed part: pieces of images.
 *
 * Errors  LARMOR_ERR_ARG for nonsense; LARMOR_ERR_MEMORY; LARMOR_ERR_IO where HDF5 fails. */
larmor_status lmr_compose(lmr_composer **composer, lmr_reader_ask ask, const unsigned char *work, size_t bytes,
                          lmr_reader_composed *composed);

/* The pieces of the images, in the file's order. */
const lmr_reader_piece *lmr_composed_pieces(const lmr_composer *composer);

/* Bytes of the file; nothing of pieces is in them. Errors: LARMOR_ERR_ARG past the end. */
larmor_status lmr_composed_bytes(const lmr_composer *composer, int64_t at, int64_t bytes, void *to);
