/* The global heap of HDF5 (File Format Specification 3.0, section III.E), read with every bound checked: HDF5 1.10
 * trusts the file here. SPDX-License-Identifier: Apache-2.0 */
#include "io/h5_heap.h"

#include <stdlib.h>
#include <string.h>

enum { COLLECTION_HEAD = 16, OBJECT_HEAD = 16, MAX_OBJECTS = 65536 };

typedef struct object {
    uint64_t at, bytes; /* at = 0: no such object */
} object;

struct lmr_heap {
    const lmr_source *source;
    int loaded;
    uint64_t address; /* of the collection in memory, if loaded */
    unsigned char *bytes;
    size_t room;
    int used; /* entries of objects that may be set */
    object objects[MAX_OBJECTS];
};

lmr_heap_ref lmr_heap_ref_decode(const unsigned char bytes[LMR_HEAP_REF_BYTES])
{
    return (lmr_heap_ref){.length = (uint32_t)lmr_little_endian(bytes, 4),
                          .address = lmr_little_endian(bytes + 4, 8),
                          .index = (uint32_t)lmr_little_endian(bytes + 12, 4)};
}

lmr_heap *lmr_heap_create(const lmr_source *source)
{
    lmr_heap *heap = calloc(1, sizeof *heap);
    if (heap) heap->source = source;
    return heap;
}

void lmr_heap_free(lmr_heap *heap)
{
    if (!heap) return;
    free(heap->bytes);
    free(heap);
}

static int read_all(const lmr_heap *heap, unsigned char *to, uint64_t bytes, uint64_t at)
{
    return lmr_source_get(heap->source, (int64_t)at, to, bytes) == (int64_t)bytes;
}

/* Note where the objects of the collection in memory are. */
static const char *list_objects(lmr_heap *heap, uint64_t size)
{
    memset(heap->objects, 0, (size_t)heap->used * sizeof *heap->objects);
    heap->used = 0;
    for (uint64_t at = COLLECTION_HEAD; size - at >= OBJECT_HEAD;) {
        const unsigned char *p = heap->bytes + at;
        const int index = (int)lmr_little_endian(p, 2);
        const uint64_t bytes = lmr_little_endian(p + 8, 8), room = size - at - OBJECT_HEAD;
        if (!index) break; /* free space, always last */
        if (bytes > room) return "heap object leaves its collection";
        if (heap->objects[index].at) return "heap object occurs twice";
        heap->objects[index] = (object){at + OBJECT_HEAD, bytes};
        if (index >= heap->used) heap->used = index + 1;
        const uint64_t padded = (bytes + 7) & ~UINT64_C(7);
        if (padded > room) break;
        at += OBJECT_HEAD + padded;
    }
    return NULL;
}

static const char *load(lmr_heap *heap, uint64_t address)
{
    if (heap->loaded && address == heap->address) return NULL;
    heap->loaded = 0;
    unsigned char head[COLLECTION_HEAD];
    const uint64_t end = (uint64_t)heap->source->size;
    if (address > end || end - address < COLLECTION_HEAD) return "heap address beyond the file";
    if (!read_all(heap, head, COLLECTION_HEAD, address)) return "heap cannot be read";
    if (memcmp(head, "GCOL", 4) || head[4] != 1) return "no heap where the file says";
    const uint64_t size = lmr_little_endian(head + 8, 8);
    if (size < COLLECTION_HEAD || size > end - address) return "heap leaves the file";
    if (size > heap->room) {
        unsigned char *bytes = realloc(heap->bytes, size);
        if (!bytes) return "heap larger than the free memory";
        heap->bytes = bytes, heap->room = size;
    }
    if (!read_all(heap, heap->bytes, size, address)) return "heap cannot be read";
    const char *wrong = list_objects(heap, size);
    heap->loaded = !wrong, heap->address = address;
    return wrong;
}

const char *lmr_heap_fetch(lmr_heap *heap, lmr_heap_ref ref, size_t size, void *dst)
{
    if (!ref.length) return NULL;
    const char *wrong = load(heap, ref.address);
    if (wrong) return wrong;
    if (!ref.index || ref.index >= MAX_OBJECTS || !heap->objects[ref.index].at) return "heap object missing";
    const object *o = &heap->objects[ref.index];
    if (o->bytes != (uint64_t)ref.length * size) return "heap object of another length";
    memcpy(dst, heap->bytes + o->at, o->bytes);
    return NULL;
}
