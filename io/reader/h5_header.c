/* Object headers of newer releases of HDF5 (File Format Specification 3.0, sections IV.A.1.b, IV.A.2.d and
 * IV.A.2.i).
 *
 * From libver v112 on HDF5 writes 4, and from v200 on 5, as the version of every datatype, and HDF5 2.0 writes 5
 * as that of the layout of packed chunks. HDF5 1.10 refuses such numbers. Only references and complex numbers are
 * stored otherwise than in version 3, and only the sizes of packed chunks otherwise than in layouts of version 4.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/h5_header.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_CHUNKS = 32,
    MAX_COPIES = 256,
    CHECKSUM_BYTES = 4,
    MAX_DEPTH = 16,
    KNOWN_TYPE = 3,
    NEWEST_TYPE = 5,
    KNOWN_LAYOUT = 4
};
#define MAX_CHUNK_BYTES (INT64_C(1) << 20)
#define MAX_COPIED_BYTES (INT64_C(16) << 20)

enum { MESSAGE_TYPE = 3, MESSAGE_LAYOUT = 8, MESSAGE_FILTERS = 11, MESSAGE_CONTINUATION = 16 };
enum { IS_SHARED = 2 }; /* a flag of a message: it says where else its content is */
enum { HAS_CREATION_ORDER = 4, HAS_PHASE_CHANGE = 16, HAS_TIMES = 32 }; /* flags of a header */
enum { CHUNKED = 2, INDEX_SINGLE = 1 };
enum { SUPERBLOCK_BYTES = 48, IS_WRITTEN = 5 }; /* of version 3; flags: open to write, also while others read */

/* ---- the checksum: B. Jenkins, lookup3 (2006), hashlittle ---- */

static uint32_t rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static void mix(uint32_t s[3])
{
    static const int by[] = {4, 6, 8, 16, 19, 4};
    for (int i = 0; i < 6; i++) {
        uint32_t *const x = &s[i % 3], *const y = &s[(i + 1) % 3], *const z = &s[(i + 2) % 3];
        *x -= *z;
        *x ^= rotate(*z, by[i]);
        *z += *y;
    }
}

static void finish(uint32_t s[3])
{
    static const int by[] = {14, 11, 25, 16, 4, 14, 24};
    for (int i = 0; i < 7; i++) {
        uint32_t *const x = &s[(i + 2) % 3];
        const uint32_t y = s[(i + 1) % 3];
        *x = (*x ^ y) - rotate(y, by[i]);
    }
}

uint32_t lmr_h5_checksum(const unsigned char *p, size_t bytes)
{
    const uint32_t first = UINT32_C(0xdeadbeef) + (uint32_t)bytes;
    uint32_t s[3] = {first, first, first};
    while (bytes) {
        unsigned char block[12] = {0};
        const size_t now = bytes < sizeof block ? bytes : sizeof block;
        memcpy(block, p, now);
        for (int k = 0; k < 3; k++) s[k] += (uint32_t)lmr_little_endian(block + 4 * k, 4);
        p += now;
        bytes -= now;
        if (bytes)
            mix(s);
        else
            finish(s);
    }
    return s[2];
}

/* ---- datatypes ---- */

typedef struct types {
    unsigned char *end; /* of the message */
    int edit, newer;    /* 1: lower versions; of how many types it is newer */
} types;

static unsigned char *walk_type(types *t, unsigned char *p, int depth);

static unsigned char *skip(const types *t, unsigned char *p, uint64_t bytes)
{
    return p && (uint64_t)(t->end - p) >= bytes ? p + bytes : NULL;
}

static unsigned char *skip_name(const types *t, unsigned char *p)
{
    unsigned char *end = p ? memchr(p, 0, (size_t)(t->end - p)) : NULL;
    return end ? end + 1 : NULL;
}

static unsigned char *walk_members(types *t, unsigned char *p, int members, uint32_t size, int depth)
{
    int width = 1; /* bytes of an offset */
    while (width < 4 && size >> 8 * width) width++;
    for (int i = 0; i < members && p; i++) {
        p = skip(t, skip_name(t, p), (uint64_t)width);
        if (p) p = walk_type(t, p, depth + 1);
    }
    return p;
}

static unsigned char *walk_names(types *t, unsigned char *p, int names, int depth)
{
    const unsigned char *base = p;
    unsigned char *next = walk_type(t, p, depth + 1);
    if (!next) return NULL;
    const uint64_t bytes = lmr_little_endian(base + 4, 4);
    for (int i = 0; i < names && next; i++) next = skip_name(t, next);
    return skip(t, next, (uint64_t)names * bytes);
}

/* What follows the head of a type; NULL if it is not known how long that is. */
static unsigned char *walk_properties(types *t, int version, int class, const unsigned char *head, unsigned char *p,
                                      int depth)
{
    static const int bytes_of[] = {4, 12, 2, 0, 4}; /* integer, float, time, string, bits */
    const int count = head[1] | head[2] << 8;
    const int is_padded = version < 3; /* names and dimensions, in another way */
    switch (class) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        return skip(t, p, (uint64_t)bytes_of[class]);
    case 5:
        return skip(t, p, head[1]);
    case 6:
        return is_padded ? NULL : walk_members(t, p, count, (uint32_t)lmr_little_endian(head + 4, 4), depth);
    case 7:
        return version > KNOWN_TYPE ? NULL : p;
    case 8:
        return is_padded ? NULL : walk_names(t, p, count, depth);
    case 9:
        return walk_type(t, p, depth + 1);
    case 10:
        if (is_padded || p == t->end) return NULL;
        p = skip(t, p, 1 + 4 * (uint64_t)*p);
        return p ? walk_type(t, p, depth + 1) : NULL;
    default:
        return NULL;
    }
}

/* Returns what follows the type, NULL if it cannot be lowered. */
static unsigned char *walk_type(types *t, unsigned char *p, int depth)
{
    unsigned char *const properties = skip(t, p, 8);
    if (!properties || depth > MAX_DEPTH) return NULL;
    const int version = p[0] >> 4, class = p[0] & 15;
    unsigned char *const next = walk_properties(t, version, class, p, properties, depth);
    if (version > KNOWN_TYPE) t->newer++;
    if (version > NEWEST_TYPE) return NULL;
    if (t->edit && version > KNOWN_TYPE) p[0] = (unsigned char)(class | KNOWN_TYPE << 4);
    return next;
}

/* ---- object headers ---- */

typedef struct object {
    lmr_h5_copy chunk[MAX_CHUNKS];
    int chunks, has_creation_order, has_filters, is_changed, is_newer;
    unsigned char *layout;
    int64_t layout_bytes;
} object;

/* The checksummed chunk of a header. Returns 0 if it is not one, -1 without memory. */
static int read_chunk(const lmr_source *source, int64_t at, int64_t bytes, const char *signature, lmr_h5_copy *chunk)
{
    const int64_t summed = bytes - CHECKSUM_BYTES;
    if (summed < 4 || bytes > MAX_CHUNK_BYTES || at < 0 || at > source->size - bytes) return 0;
    *chunk = (lmr_h5_copy){at, bytes, malloc((size_t)bytes)};
    if (!chunk->byte) return -1;
    if (lmr_source_get(source, at, chunk->byte, (size_t)bytes) == bytes && !memcmp(chunk->byte, signature, 4) &&
        lmr_h5_checksum(chunk->byte, (size_t)summed) == lmr_little_endian(chunk->byte + summed, CHECKSUM_BYTES))
        return 1;
    free(chunk->byte);
    chunk->byte = NULL;
    return 0;
}

static void lower_type(object *o, unsigned char *p, int64_t bytes)
{
    types t = {.end = p + bytes};
    const int known = walk_type(&t, p, 0) != NULL;
    if (t.newer && known) {
        t.edit = o->is_changed = 1;
        walk_type(&t, p, 0);
    }
    o->is_newer |= t.newer && !known;
}

static int continue_at(object *o, const lmr_source *source, const unsigned char *p, int64_t bytes)
{
    if (bytes < 16 || o->chunks == MAX_CHUNKS) return 1;
    const uint64_t at = lmr_little_endian(p, 8), length = lmr_little_endian(p + 8, 8);
    if (at > (uint64_t)source->size || length > (uint64_t)source->size) return 1;
    const int found = read_chunk(source, source->base + (int64_t)at, (int64_t)length, "OCHK", &o->chunk[o->chunks]);
    o->chunks += found > 0;
    return found >= 0;
}

/* The messages of a chunk, which begin at its byte `from`. Returns 0 without memory. */
static int visit_messages(object *o, const lmr_source *source, const lmr_h5_copy *chunk, int64_t from)
{
    const int64_t head = o->has_creation_order ? 6 : 4;
    const int64_t end = chunk->bytes - CHECKSUM_BYTES;
    while (end - from >= head) {
        const unsigned char *m = chunk->byte + from;
        unsigned char *content = chunk->byte + from + head;
        const int64_t bytes = (int64_t)lmr_little_endian(m + 1, 2);
        if (bytes > end - from - head) break;
        from += head + bytes;
        if (m[3] & IS_SHARED) continue;
        if (m[0] == MESSAGE_TYPE) lower_type(o, content, bytes);
        if (m[0] == MESSAGE_CONTINUATION && !continue_at(o, source, content, bytes)) return 0;
        o->has_filters |= m[0] == MESSAGE_FILTERS;
        if (m[0] == MESSAGE_LAYOUT && bytes > 4) {
            o->layout = content;
            o->layout_bytes = bytes;
        }
    }
    return 1;
}

/* After all messages: whether there are filters decides it. */
static void lower_layout(object *o)
{
    unsigned char *p = o->layout;
    if (!p || p[0] <= KNOWN_LAYOUT) return;
    const int64_t index = 5 + (int64_t)p[3] * p[4];
    const int is_chunked = p[1] == CHUNKED;
    const int is_single = is_chunked && index < o->layout_bytes && p[index] == INDEX_SINGLE;
    if (p[0] == KNOWN_LAYOUT + 1 && (!is_chunked || !o->has_filters || is_single)) {
        p[0] = KNOWN_LAYOUT;
        o->is_changed = 1;
    } else {
        o->is_newer = 1;
    }
}

/* Returns 1 if the object was read, 0 if there is none, -1 without memory. */
static int read_object(object *o, const lmr_source *source, int64_t at)
{
    unsigned char head[64] = {0};
    if (lmr_source_get(source, at, head, sizeof head) < 12 || memcmp(head, "OHDR", 4) || head[4] != 2) return 0;
    const int flags = head[5];
    const int width = 1 << (flags & 3);
    int64_t from;
    from = 6;
    if (flags & HAS_TIMES) from += 16;
    if (flags & HAS_PHASE_CHANGE) from += 4;
    const uint64_t bytes = lmr_little_endian(head + from, width);
    from += width;
    if (bytes > (uint64_t)MAX_CHUNK_BYTES) return 0;
    const int found = read_chunk(source, at, from + (int64_t)bytes + CHECKSUM_BYTES, "OHDR", &o->chunk[0]);
    if (found <= 0) return found;
    o->chunks = 1;
    o->has_creation_order = flags & HAS_CREATION_ORDER;
    for (int c = 0; c < o->chunks; c++, from = 4)
        if (!visit_messages(o, source, &o->chunk[c], from)) return -1;
    lower_layout(o);
    return 1;
}

static void sign(const lmr_h5_copy *c)
{
    const size_t summed = (size_t)c->bytes - CHECKSUM_BYTES;
    const uint32_t sum = lmr_h5_checksum(c->byte, summed);
    for (int i = 0; i < CHECKSUM_BYTES; i++) c->byte[summed + (size_t)i] = (unsigned char)(sum >> 8 * i);
}

static int keep(lmr_h5_headers *h, lmr_h5_copy *c)
{
    if (h->copies >= MAX_COPIES || h->bytes > MAX_COPIED_BYTES) return 1; /* HDF5 refuses it then */
    lmr_h5_copy *more = realloc(h->copy, (size_t)(h->copies + 1) * sizeof *more);
    if (!more) return 0;
    h->copy = more;
    sign(c);
    h->copy[h->copies++] = *c;
    h->bytes += c->bytes;
    c->byte = NULL;
    return 1;
}

int lmr_h5_headers_look(lmr_h5_headers *h, const lmr_source *source, int64_t at)
{
    object o = {.chunks = 0};
    for (int i = 0; i < h->copies; i++)
        if (h->copy[i].at == at) return 1;
    int good = read_object(&o, source, at) >= 0;
    h->is_newer |= o.is_newer;
    for (int c = 0; c < o.chunks; c++) {
        if (good && o.is_changed) good = keep(h, &o.chunk[c]);
        free(o.chunk[c].byte);
    }
    return good;
}

int lmr_h5_headers_reopen(lmr_h5_headers *h, const lmr_source *source)
{
    lmr_h5_copy superblock;
    const int found = read_chunk(source, source->base, SUPERBLOCK_BYTES, "\211HDF", &superblock);
    if (found <= 0) return found == 0;
    unsigned char *const flags = superblock.byte + 11;
    h->is_unclosed = superblock.byte[8] == 3 && *flags & IS_WRITTEN;
    int good = 1;
    if (h->is_unclosed) {
        *flags = 0;
        good = keep(h, &superblock);
    }
    free(superblock.byte);
    return good;
}

void lmr_h5_headers_apply(const lmr_h5_headers *h, int64_t at, int64_t bytes, unsigned char *to)
{
    for (int i = 0; i < h->copies; i++) {
        const lmr_h5_copy *c = &h->copy[i];
        const int64_t first = c->at > at ? c->at : at;
        const int64_t end = c->at + c->bytes < at + bytes ? c->at + c->bytes : at + bytes;
        if (first < end) memcpy(to + (first - at), c->byte + (first - c->at), (size_t)(end - first));
    }
}

void lmr_h5_headers_free(lmr_h5_headers *h)
{
    for (int i = 0; i < h->copies; i++) free(h->copy[i].byte);
    free(h->copy);
    *h = (lmr_h5_headers){.copies = 0};
}
