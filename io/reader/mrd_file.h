/* An ISMRMRD file as it lies on disk: read-only, every size checked against the file. The source and all buffers are
 * the caller's. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/reader/h5_heap.h"
#include "io/reader/mrd_head.h"
#include "io/reader/protocol.h"

typedef struct lmr_mrd_file lmr_mrd_file;

typedef struct lmr_mrd_refs { /* where an acquisition's numbers are */
    lmr_heap_ref data, traj;
} lmr_mrd_refs;

/* Look at an open file and find the acquisitions of a group ("dataset", "a/b"); "" is /dataset or, where that
 * holds none, the only group of the root that has xml and data. Messages do not name the file.
 *
 * Errors  LARMOR_ERR_FORMAT: not HDF5, cut short, damaged, no such group, not acquisitions; LARMOR_ERR_MEMORY. */
larmor_status lmr_mrd_file_open(const lmr_source *source, const char *group, lmr_mrd_file **out);
void lmr_mrd_file_close(lmr_mrd_file *file); /* NULL is fine */

/* Acquisitions up to the last chunk that was written and, after lmr_mrd_file_heads, to the last one that was; and
 * as many as the file has room for. */
int64_t lmr_mrd_file_count(const lmr_mrd_file *file);
int64_t lmr_mrd_file_claims(const lmr_mrd_file *file);

/* The path of the group, from the root. */
const char *lmr_mrd_file_group(const lmr_mrd_file *file);

/* fastMRI's layout: 1 if the file has it; lines of a slice and samples of a line, else 0; where acquisition i is,
 * of slice i / lines. It is read where no group is asked for. */
int lmr_mrd_file_is_array(const lmr_mrd_file *file);
int lmr_mrd_file_lines(const lmr_mrd_file *file);
int lmr_mrd_file_samples(const lmr_mrd_file *file);
lmr_reader_place lmr_mrd_file_place(const lmr_mrd_file *file, int64_t i);

/* What the file's other parts are read by: where it is, and its HDF5 identifier. */
const lmr_source *lmr_mrd_file_source(const lmr_mrd_file *file);
int64_t lmr_mrd_file_id(const lmr_mrd_file *file);

/* 1 if the program that wrote the file has not closed it. */
int lmr_mrd_file_is_unclosed(const lmr_mrd_file *file);

/* The XML header: its length, then its text into a buffer of that length. */
larmor_status lmr_mrd_file_header_bytes(lmr_mrd_file *file, int64_t *bytes);
larmor_status lmr_mrd_file_header(lmr_mrd_file *file, char *text);

/* The heads of all acquisitions and where their numbers are, `count` each. The numbers are as many as the head claims
 * and no more than the file can hold. Where nothing was written a head is zero but for `unwritten`. */
larmor_status lmr_mrd_file_heads(lmr_mrd_file *file, lmr_mrd_head *head, lmr_mrd_refs *refs);
