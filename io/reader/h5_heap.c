/* The global heap of HDF5 (File Format Specification 3.0, section III.E), gone through with every bound checked: HDF5
 * 1.10 trusts the file here. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/h5_heap.h"
#include "core/core.h"

enum { COLLECTION_HEAD = 16, OBJECT_HEAD = 16, MAX_OBJECTS = 65536, WINDOW = 4096 };

typedef struct object {
    uint64_t at, bytes; /* at = 0: no such object */
} object;

typedef struct heap {
    const lmr_source *source;
    uint64_t address, size; /* of the collection at hand */
    uint64_t end;           /* of the collections before it */
    uint64_t first;         /* byte of the file in the window */
    size_t held;            /* bytes in the window */
    int used;               /* entries of objects that may be set */
    unsigned char window[WINDOW];
    object objects[MAX_OBJECTS];
} heap;

lmr_heap_ref lmr_heap_ref_decode(const unsigned char bytes[LMR_HEAP_REF_BYTES])
{
    return (lmr_heap_ref){.length = (uint32_t)lmr_little_endian(bytes, 4),
                          .address = lmr_little_endian(bytes + 4, 8),
                          .index = (uint32_t)lmr_little_endian(bytes + 12, 4)};
}

/* The 16 bytes at an address that is known to be inside the file; NULL if they cannot be read. */
static const unsigned char *look(heap *h, uint64_t at)
{
    if (at < h->first || at - h->first > h->held || h->held - (at - h->first) < OBJECT_HEAD) {
        const int64_t got = lmr_source_get(h->source, (int64_t)at, h->window, WINDOW);
        h->first = at;
        h->held = got < 0 ? 0 : (size_t)got;
        if (got < OBJECT_HEAD) return NULL;
    }
    return h->window + (at - h->first);
}

/* Note where the objects of the collection are. */
static const char *list_objects(heap *h)
{
    memset(h->objects, 0, (size_t)h->used * sizeof *h->objects);
    h->used = 0;
    for (uint64_t at = COLLECTION_HEAD; h->size - at >= OBJECT_HEAD;) {
        const unsigned char *p = look(h, h->address + at);
        if (!p) return "heap cannot be read";
        const int index = (int)lmr_little_endian(p, 2);
        const uint64_t bytes = lmr_little_endian(p + 8, 8), room = h->size - at - OBJECT_HEAD;
        if (!index) break; /* free space, always last */
        if (bytes > room) return "heap object leaves its collection";
        if (h->objects[index].at) return "heap object occurs twice";
        h->objects[index] = (object){h->address + at + OBJECT_HEAD, bytes};
        if (index >= h->used) h->used = index + 1;
        const uint64_t padded = (bytes + 7) & ~UINT64_C(7);
        if (padded > room) break;
        at += OBJECT_HEAD + padded;
    }
    return NULL;
}

static const char *open_collection(heap *h, uint64_t address)
{
    const uint64_t base = (uint64_t)h->source->base, end = (uint64_t)h->source->size - base;
    if (address > end || end - address < COLLECTION_HEAD) return "heap address beyond the file";
    const unsigned char *head = look(h, base + address);
    if (!head) return "heap cannot be read";
    if (memcmp(head, "GCOL", 4) || head[4] != 1) return "no heap where the file says";
    h->address = base + address;
    h->size = lmr_little_endian(head + 8, 8);
    if (h->size < COLLECTION_HEAD || h->size > end - address) return "heap leaves the file";
    if (address < h->end) return "heaps overlap";
    h->end = address + h->size;
    return list_objects(h);
}

static void find_object(const heap *h, lmr_heap_value *v, size_t size)
{
    const object *o = v->ref.index && v->ref.index < MAX_OBJECTS ? &h->objects[v->ref.index] : NULL;
    if (!o || !o->at)
        v->wrong = "heap object missing";
    else if (o->bytes != (uint64_t)v->ref.length * size)
        v->wrong = "heap object of another length";
    else
        v->at = (int64_t)o->at;
}

static int by_address(const void *a, const void *b)
{
    const lmr_heap_value *x = *(lmr_heap_value *const *)a, *y = *(lmr_heap_value *const *)b;
    if (x->ref.address != y->ref.address) return x->ref.address > y->ref.address ? 1 : -1;
    return (x->ref.index > y->ref.index) - (x->ref.index < y->ref.index);
}

larmor_status lmr_heap_find(const lmr_source *source, lmr_heap_value *values, int64_t count, size_t size)
{
    LMR_HEAP LMR_NEW_ZEROS(heap, h, 1);
    LMR_HEAP LMR_NEW(lmr_heap_value *, order, count);
    int64_t wanted = 0;
    h->source = source;
    for (int64_t i = 0; i < count; i++) {
        values[i].at = 0;
        values[i].wrong = NULL;
        if (values[i].ref.length) order[wanted++] = &values[i];
    }
    qsort(order, (size_t)wanted, sizeof(lmr_heap_value *), by_address);
    const char *wrong = NULL;
    for (int64_t i = 0; i < wanted; i++) {
        const uint64_t address = order[i]->ref.address;
        if (!i || address != order[i - 1]->ref.address) wrong = open_collection(h, address);
        /* HDF5 gives every value an object of its own, so one of the two references is damaged. */
        const int is_twice =
            i && address == order[i - 1]->ref.address && order[i]->ref.index == order[i - 1]->ref.index;
        if (wrong || is_twice)
            order[i]->wrong = wrong ? wrong : "heap object of two values";
        else
            find_object(h, order[i], size);
    }
    return LARMOR_OK;
}

larmor_status lmr_heap_fetch(const lmr_source *source, lmr_heap_ref ref, size_t size, void *dst, const char **wrong)
{
    lmr_heap_value value = {.ref = ref};
    *wrong = NULL;
    LMR_TRY(lmr_heap_find(source, &value, 1, size));
    const size_t bytes = ref.length * size;
    if (!value.wrong && bytes && lmr_source_get(source, value.at, dst, bytes) != (int64_t)bytes)
        value.wrong = "heap cannot be read";
    *wrong = value.wrong;
    return LARMOR_OK;
}
