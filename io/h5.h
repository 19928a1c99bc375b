/* HDF5 files that are composed in memory, so that no failing disk reaches HDF5, and images' files opened with care.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_H5_H
#define LMR_H5_H

#include <hdf5.h>

#include "io/atomic.h"
#include "io/source.h"

/* HDF5 prints errors by itself unless told not to; the program's own setting comes back with lmr_h5_loud. */
typedef struct lmr_h5_print {
    H5E_auto2_t function;
    void *data;
} lmr_h5_print;
lmr_h5_print lmr_h5_quiet(void);
void lmr_h5_loud(lmr_h5_print before);

/* A new file in memory, to be closed by H5Fclose. */
larmor_status lmr_h5_create(const larmor_output *out, hid_t *file);

/* Write the memory of a file to the output's temporary file and open that once as a check: `dataset` must be there.
 * With elements, all are read, so that their checksums are verified. The file stays open. */
larmor_status lmr_h5_save(hid_t file, larmor_output *out, const char *dataset, int elements);

/* A dataset of one variable-length ASCII string, as ISMRMRD's headers are. */
larmor_status lmr_h5_write_string(hid_t file, const char *path, const char *text);

/* Open a source read-only. Errors: LARMOR_ERR_FORMAT for what is not HDF5, cut short or damaged. */
larmor_status lmr_h5_open(const lmr_source *source, hid_t *file);

/* 1 if every part of `path` is a hard link and the last one is an object of this type, else 0. */
int lmr_h5_has(hid_t file, const char *path, H5O_type_t type);

/* Refuse a dataset that does not lie in this file alone, has filters other than deflate, shuffle and Fletcher-32, or
 * claims more bytes than the file can hold. Errors: LARMOR_ERR_FORMAT. */
larmor_status lmr_h5_check(const lmr_source *source, hid_t dataset, const char *path);

/* H5XClose of an id that may be negative. */
void lmr_h5_close(hid_t id);

#endif
