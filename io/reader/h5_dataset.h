/* A dataset of an untrusted HDF5 file, opened with care and read as raw bytes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <hdf5.h>

#include "io/reader/protocol.h"
#include "io/reader/source.h"

typedef struct lmr_dataset {
    const lmr_source *source;
    char path[288];
    hid_t file, id, type; /* the file is the caller's */
    int rank;
    hsize_t dim[H5S_MAX_RANK];
    int64_t count;   /* of elements; after lmr_dataset_prepare: up to the last chunk that was written */
    int64_t claimed; /* elements that the extent has */
    int64_t written; /* chunks in the index, -1 until it is needed */
    size_t bytes;    /* of an element in the file */
    H5D_layout_t layout;
    haddr_t address;             /* contiguous layout */
    hsize_t chunk[H5S_MAX_RANK]; /* chunked layout: its size */
    int64_t per_block;           /* elements that are read together: a chunk, or some */
    int filters, packed;         /* packed: 1 if one of them is deflate */
    H5Z_filter_t filter[8];
    unsigned char *block, *spare; /* per_block elements, with room for checksums */
} lmr_dataset;

/* Open a dataset and look at its type and extent; refuses virtual and external storage. what: for the message if the
 * object is of another kind, e.g. "acquisitions". out->id is 0 if nothing is there. Close it with lmr_dataset_close,
 * also after an error. Messages do not name the file. Errors: LARMOR_ERR_FORMAT. */
larmor_status lmr_dataset_open(const lmr_source *source, hid_t file, const char *path, const char *what,
                               lmr_dataset *out);
void lmr_dataset_close(lmr_dataset *dataset);

/* "complex[4][2][16][16]". */
lmr_text lmr_dataset_describe(const lmr_dataset *dataset);

/* Get ready to read elements as bytes: refuses other layouts than chunked and contiguous, filters other than
 * deflate, shuffle and fletcher32, and more elements than the file can hold. Chunks of one dimension that are
 * missing at the end, where a program was stopped, lower the count, to 0 if nothing was written. what: they are,
 * for the message. */
larmor_status lmr_dataset_prepare(lmr_dataset *dataset, const char *what);

/* Block b of per_block elements, valid until the next call: those from b * per_block on, or, in more dimensions and
 * chunked, those of the b-th chunk, whose elements beyond the extent are undefined. */
larmor_status lmr_dataset_block(lmr_dataset *dataset, int64_t b, const unsigned char **elements);

/* The same, but *elements is NULL for a chunk that was never written. */
larmor_status lmr_dataset_find_block(lmr_dataset *dataset, int64_t b, const unsigned char **elements);

/* All elements, each once: `take` gets runs of n, whose indices count on from `first`, the last dimension fastest. */
typedef void (*lmr_take)(int64_t first, int64_t n, const unsigned char *elements, void *user);
larmor_status lmr_dataset_each(lmr_dataset *dataset, lmr_take take, void *user);

/* Where the file has all elements as they are, without a filter or with fletcher32 alone: pieces in the order of the
 * elements, to be freed. *count is 0 if it has not. After lmr_dataset_prepare. Errors: LARMOR_ERR_FORMAT,
 * LARMOR_ERR_MEMORY. */
larmor_status lmr_dataset_pieces(lmr_dataset *dataset, lmr_reader_piece **pieces, int64_t *count, int *checksums);
