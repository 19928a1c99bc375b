/* HDF5 files, opened with care. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <hdf5.h>

#include "core/owned.h"
#include "io/reader/source.h"

/* HDF5 prints errors unless it is switched off; lmr_h5_loud restores the program's own setting. */
typedef struct lmr_h5_print {
    H5E_auto2_t function;
    void *data;
} lmr_h5_print;
lmr_h5_print lmr_h5_quiet(void);
void lmr_h5_loud(lmr_h5_print before);

/* 1 if a call of HDF5 has failed for want of memory since lmr_h5_quiet, in this thread. */
int lmr_h5_lacks_memory(void);

/* Find out where HDF5's part of a file begins (source->base): at its start, or behind a block of the user's. */
void lmr_h5_find_base(lmr_source *source);

/* Open a source read-only, without plug-ins. needed: for the message, "MRD raw
 * data is". Messages do not name the file. To be closed by lmr_h5_close_descriptor.
 *
 * Errors  LARMOR_ERR_FORMAT for what is not HDF5, cut short or damaged; LARMOR_ERR_IO. */
larmor_status lmr_h5_open(const lmr_source *source, const char *needed, hid_t *file);

/* The object at a path, followed only if every part is a hard link. *id is 0 if a part does not exist.
 *
 * Errors  LARMOR_ERR_FORMAT for soft and external links and for objects that HDF5 cannot open. */
larmor_status lmr_h5_find(hid_t file, const char *path, hid_t *id);

/* Calls `visit` with the name of each link of a group, in alphabetical order: of any kind, so ask lmr_h5_find what it
 * leads to. Returns 1, or 0 if the group cannot be listed to its end. */
int lmr_h5_list(hid_t file, const char *group, void (*visit)(const char *name, void *user), void *user);

/* 1 if the path leads to an object of this kind, by hard links alone; also to one that a newer HDF5 wrote in a
 *   form that is not
 * read, as lmr_h5_find then says. */
int lmr_h5_leads_to(hid_t file, const char *path, H5I_type_t kind);

/* Fails with LARMOR_ERR_FORMAT: "damaged HDF5 structure (WHERE of PATH)." */
larmor_status lmr_h5_damaged(const char *where, const char *path);

/* H5XClose of an id that may be negative or 0. */
void lmr_h5_close(hid_t id);

/* An id that ends so with its block: `LMR_HID type = H5Tcopy(H5T_C_S1);`. */
#define LMR_HID LMR_FREED_BY(lmr_h5_end) const hid_t
static inline void lmr_h5_end(const hid_t *id)
{
    lmr_h5_close(*id);
}
