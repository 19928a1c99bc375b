/* New HDF5 files in memory, without the samples: a file driver that keeps what HDF5 writes, and that can be told
 * to note where something would be and to drop it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <hdf5.h>
#include <stdint.h>

typedef struct lmr_memory_file { /* blocks of a file; those that nothing was written to are NULL, and zeros */
    unsigned char **block;
    size_t blocks;
    int64_t written; /* up to here */
    int64_t size;    /* of the file, when it is closed */
    int dropping;    /* 1: raw data are dropped */
    int64_t dropped; /* where the last ones would be; -1: nowhere */
} lmr_memory_file;

/* Create the file, whose contents outlive it; negative if that fails. To be closed by lmr_memory_close. */
hid_t lmr_memory_create(lmr_memory_file *memory);

/* Complete and close the file; its contents stay. 0 if that fails. */
int lmr_memory_close(hid_t file);

/* Bytes from `at` on. */
void lmr_memory_read(const lmr_memory_file *memory, int64_t at, size_t bytes, void *to);
