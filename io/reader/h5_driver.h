/* How HDF5 gets the bytes of a file that larmor has opened: through larmor's own descriptor, never more than there
 * is room for. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <hdf5.h>

#include "io/reader/source.h"

/* HDF5's read-only file of a source, which stays the caller's; its lock is the caller's as well. Negative if
 * HDF5 cannot open it. To be closed by lmr_h5_close_descriptor. */
hid_t lmr_h5_open_descriptor(const lmr_source *source);

/* Close a file from lmr_h5_open_descriptor and what is open in it, then its driver. */
void lmr_h5_close_descriptor(hid_t file);

/* 1 if something that HDF5 was asked for is stored in the way of a release that is newer than it. */
int lmr_h5_is_newer(hid_t file);

/* 1 if the program that wrote it has not closed it. */
int lmr_h5_is_unclosed(hid_t file);

/* H5Dread_chunk into a buffer of `room` bytes: a chunk that its index calls longer is not read.
 *
 * file    from lmr_h5_open_descriptor, dataset is in it; mask: filters that were not applied.
 * Returns the chunk's length in its index, 0 if there is none or it does not fit. */
size_t lmr_h5_get_chunk(hid_t file, hid_t dataset, const hsize_t *offset, void *to, size_t room, uint32_t *mask);

/* Where the file has a chunk, and its length there; nothing is read. Returns 0 if that is not to be found. */
int lmr_h5_find_chunk(hid_t file, hid_t dataset, const hsize_t *offset, int64_t *at, int64_t *bytes, uint32_t *mask);
