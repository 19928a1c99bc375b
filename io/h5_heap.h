/* Variable-length values of an HDF5 file, read without HDF5. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_H5_HEAP_H
#define LMR_H5_HEAP_H

#include "io/source.h"

/* A reference into the global heap as elements hold it: 4 bytes length, 8 address, 4 index, little-endian. */
typedef struct lmr_heap_ref {
    uint64_t address; /* of the collection */
    uint32_t length;  /* of the value, in elements of its base type */
    uint32_t index;   /* of the object in the collection */
} lmr_heap_ref;

enum { LMR_HEAP_REF_BYTES = 16 };
lmr_heap_ref lmr_heap_ref_decode(const unsigned char bytes[LMR_HEAP_REF_BYTES]);

typedef struct lmr_heap lmr_heap; /* keeps the collection that was used last */

/* NULL if memory is short. The source stays the caller's. */
lmr_heap *lmr_heap_create(const lmr_source *source);
void lmr_heap_free(lmr_heap *heap);

/* Copy ref.length elements of `size` bytes to dst. Returns NULL, or what is wrong with the file. */
const char *lmr_heap_fetch(lmr_heap *heap, lmr_heap_ref ref, size_t size, void *dst);

#endif
