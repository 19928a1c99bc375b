/* New HDF5 files, composed in memory, so that no failing disk reaches HDF5. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_H5_WRITE_H
#define LMR_H5_WRITE_H

#include "core/atomic.h"
#include "io/reader/h5.h"

/* A new file in memory, to be closed by H5Fclose. */
larmor_status lmr_h5_create(const larmor_output *out, hid_t *file);

/* Write the memory of a file to the output's temporary file and open that once as a check: `dataset` must be there.
 * With elements, all are read, so that their checksums are verified. The file stays open. */
larmor_status lmr_h5_save(hid_t file, larmor_output *out, const char *dataset, int elements);

/* Fails with LARMOR_ERR_IO: "HDF5 could not WHAT; nothing written." */
larmor_status lmr_h5_failed(const char *path, const char *what);

/* Properties for new datasets: without the time of their making, so that the same content gives the same file. */
hid_t lmr_h5_dataset_plan(void);

/* A dataset of one variable-length ASCII string, as ISMRMRD's headers are. */
larmor_status lmr_h5_write_string(hid_t file, const char *path, const char *text);

#endif
