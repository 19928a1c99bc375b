/* An ISMRMRD file as it lies on disk: read-only, every size checked against the file. The source and all buffers are
 * the caller's. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/reader/h5.h"
#include "io/reader/h5_dataset.h"
#include "io/reader/h5_heap.h"
#include "io/reader/mrd_types.h"

typedef struct lmr_mrd_file {
    const lmr_source *source;
    hid_t id;        /* HDF5's identifier */
    char group[256]; /* its path, from the root */
    /* data.count: acquisitions up to the last chunk that was written and, after lmr_mrd_file_heads, to the last one
     * that was; data.claimed: as many as the file has room for. */
    lmr_dataset xml, data;
    lmr_heap_ref xml_ref;
    int64_t xml_bytes;
    lmr_mrd_places places;
    int is_array; /* 1: fastMRI's layout: data is [slices, coils, samples, lines], coils missing where there is one */
    lmr_h5_print print;
} lmr_mrd_file;

typedef struct lmr_mrd_refs { /* where an acquisition's numbers are */
    lmr_heap_ref data, traj;
} lmr_mrd_refs;

/* Look at an open file and find the acquisitions of a group ("dataset", "a/b"); "" is /dataset or, where that
 * holds none, the only group of the root that has xml and data. Messages do not name the file.
 *
 * Errors  LARMOR_ERR_FORMAT: not HDF5, cut short, damaged, no such group, not acquisitions; LARMOR_ERR_MEMORY. */
larmor_status lmr_mrd_file_open(const lmr_source *source, const char *group, lmr_mrd_file **out);
void lmr_mrd_file_close(lmr_mrd_file *file); /* NULL is fine */

/* Of an array: where acquisition i is, of slice i / lines. It is read where no group is asked for. */
lmr_reader_place lmr_mrd_file_place(const lmr_mrd_file *file, int64_t i);

/* The XML header, xml_bytes and a 0 behind them, for the caller to free. */
larmor_status lmr_mrd_file_header(lmr_mrd_file *file, char **text);

/* The heads of all acquisitions and where their numbers are, `count` each. The numbers are as many as the head claims
 * and no more than the file can hold. Where nothing was written a head is zero but for `unwritten`. */
larmor_status lmr_mrd_file_heads(lmr_mrd_file *file, lmr_mrd_head *head, lmr_mrd_refs *refs);
