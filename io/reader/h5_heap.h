/* Variable-length values of an HDF5 file, found without HDF5. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/reader/source.h"

/* A reference into the global heap as elements hold it: 4 bytes length, 8 address, 4 index, little-endian. */
typedef struct lmr_heap_ref {
    uint64_t address; /* of the collection */
    uint32_t length;  /* of the value, in elements of its base type */
    uint32_t index;   /* of the object in the collection */
} lmr_heap_ref;

enum { LMR_HEAP_REF_BYTES = 16 };
lmr_heap_ref lmr_heap_ref_decode(const unsigned char bytes[LMR_HEAP_REF_BYTES]);

/* A value that is wanted, and where it is. */
typedef struct lmr_heap_value {
    lmr_heap_ref ref;
    int64_t at;        /* out: of its first byte in the file; 0 for one of no elements */
    const char *wrong; /* out: NULL, or what is wrong with the file */
} lmr_heap_value;

/* Find values of elements of `size` bytes. Each collection is gone through once, whatever the order of the values,
 * and collections that overlap are refused: the work is bounded by the file's size and the number of values.
 *
 * Errors  LARMOR_ERR_MEMORY; what is wrong with the file is in the values. */
larmor_status lmr_heap_find(const lmr_source *source, lmr_heap_value *values, int64_t count, size_t size);

/* Copy ref.length elements of `size` bytes to dst. *wrong is set to NULL, or to what is wrong with the file.
 *
 * Errors  LARMOR_ERR_MEMORY. */
larmor_status lmr_heap_fetch(const lmr_source *source, lmr_heap_ref ref, size_t size, void *dst, const char **wrong);
