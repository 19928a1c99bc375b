/* How HDF5 gets the bytes of a file that larmor has opened: through larmor's own descriptor, never more than there
 * is room for. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_H5_DRIVER_H
#define LMR_H5_DRIVER_H

#include <hdf5.h>

/* HDF5's read-only file of a descriptor, which stays the caller's. lock: hold a shared lock while it is open, where
 * the file system has locks. Negative if HDF5 cannot open it. To be closed by lmr_h5_close_descriptor. */
hid_t lmr_h5_open_descriptor(int fd, int lock);

/* Close a file from lmr_h5_open_descriptor and what is open in it, then its driver. */
void lmr_h5_close_descriptor(hid_t file);

/* H5Dread_chunk into a buffer of `room` bytes: a chunk that its index calls longer is not read.
 *
 * file    from lmr_h5_open_descriptor, dataset is in it; mask: filters that were not applied.
 * Returns the chunk's length in its index, 0 if there is none or it does not fit. */
size_t lmr_h5_get_chunk(hid_t file, hid_t dataset, const hsize_t *offset, void *to, size_t room, uint32_t *mask);

/* Where the file has a chunk, and its length there; nothing is read. Returns 0 if that is not to be found. */
int lmr_h5_find_chunk(hid_t file, hid_t dataset, const hsize_t *offset, int64_t *at, int64_t *bytes, uint32_t *mask);

#endif
