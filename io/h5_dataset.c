/* A dataset of an untrusted HDF5 file: HDF5 finds types and chunks, larmor reads and unpacks the bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/h5_dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/h5.h"
#include "io/h5_driver.h"
#include "io/h5_filter.h"
#include "io/h5_heap.h"

_Static_assert(sizeof(hvl_t) == LMR_HEAP_REF_BYTES, "lists have the same size in memory and in the file");

enum { LARGEST_BLOCK = 64 << 20, USUAL_BLOCK = 1 << 18, LARGEST_ELEMENT = 32 << 20 };

static larmor_status check_storage(lmr_dataset *d)
{
    const hid_t list = H5Dget_create_plist(d->id);
    if (list < 0) return lmr_h5_damaged("creation properties", d->path);
    const int outside = H5Pget_external_count(list);
    d->layout = H5Pget_layout(list);
    H5Pclose(list);
    if (outside > 0 || d->layout == H5D_VIRTUAL)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s is %s; only data inside the file is read.", d->path,
                        d->layout == H5D_VIRTUAL ? "a virtual dataset" : "stored in an external file");
    if (outside < 0 || d->layout < 0) return lmr_h5_damaged("layout", d->path);
    return LARMOR_OK;
}

larmor_status lmr_dataset_open(const lmr_source *source, hid_t file, const char *path, const char *what,
                               lmr_dataset *out)
{
    memset(out, 0, sizeof *out);
    out->source = source, out->file = file;
    snprintf(out->path, sizeof out->path, "%s", path);
    LMR_TRY(lmr_h5_find(file, path, &out->id));
    if (!out->id) return LARMOR_OK;
    const H5I_type_t kind = H5Iget_type(out->id);
    if (kind != H5I_DATASET)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s is a %s, not %s.", path, kind == H5I_GROUP ? "group" : "type", what);
    LMR_TRY(check_storage(out)); /* first: asking a virtual dataset for its extent opens other files */
    out->type = H5Dget_type(out->id);
    if (out->type <= 0) return lmr_h5_damaged("type", path);
    /* HDF5 tells sizes in memory: those of lists agree with the file's, that of a string is a pointer's */
    out->bytes = H5Tis_variable_str(out->type) > 0 ? LMR_HEAP_REF_BYTES : H5Tget_size(out->type);
    const hid_t space = H5Dget_space(out->id);
    if (space < 0) return lmr_h5_damaged("extent", path);
    out->rank = H5Sget_simple_extent_ndims(space);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    const int got = out->rank < 0 ? -1 : H5Sget_simple_extent_dims(space, out->dim, NULL);
    H5Sclose(space);
    if (got < 0 || count < 0 || !out->bytes) return lmr_h5_damaged("extent", path);
    out->count = count;
    return LARMOR_OK;
}

void lmr_dataset_close(lmr_dataset *d)
{
    lmr_h5_close(d->type), lmr_h5_close(d->id);
    free(d->block), free(d->spare);
    memset(d, 0, sizeof *d);
}

lmr_text lmr_dataset_describe(const lmr_dataset *d)
{
    static const char *const names[] = {"integer", "float", "time", "string", "bits", "opaque", "compound"};
    const int class = (int)H5Tget_class(d->type);
    const char *name = class >= 0 && class <= H5T_COMPOUND ? names[class] : class == H5T_VLEN ? "lists" : "other";
    if (class == H5T_COMPOUND && H5Tget_nmembers(d->type) == 2 && H5Tget_member_class(d->type, 0) == H5T_FLOAT &&
        H5Tget_member_class(d->type, 1) == H5T_FLOAT)
        name = "complex";
    lmr_text text;
    int n = snprintf(text.s, sizeof text.s, "%s", name);
    for (int i = 0; i < d->rank && n < (int)sizeof text.s - 24; i++)
        n += snprintf(text.s + n, sizeof text.s - (size_t)n, "[%llu]", (unsigned long long)d->dim[i]);
    return text;
}

static larmor_status check_filters(lmr_dataset *d, hid_t list)
{
    int unknown = 0;
    d->filters = H5Pget_nfilters(list);
    for (int i = 0; i < d->filters && i < 8; i++) {
        unsigned flags;
        size_t values = 0;
        d->filter[i] = H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, 0, NULL, NULL);
        if (d->filter[i] < LMR_FILTER_DEFLATE || d->filter[i] > LMR_FILTER_FLETCHER32) unknown = d->filter[i];
        d->packed |= d->filter[i] == LMR_FILTER_DEFLATE;
    }
    if (unknown || d->filters > 8)
        return LMR_FAIL(LARMOR_ERR_FORMAT,
                        "%s uses HDF5 filter %d; only deflate, shuffle and fletcher32 are read. Use h5repack.",
                        d->path, unknown);
    return d->filters < 0 ? lmr_h5_damaged("filters", d->path) : LARMOR_OK;
}

/* Filters and, for rank 1, the chunk's elements. */
static larmor_status check_chunks(lmr_dataset *d, hsize_t *elements)
{
    hsize_t chunk[H5S_MAX_RANK] = {0};
    *elements = 0;
    const hid_t list = H5Dget_create_plist(d->id);
    if (list < 0) return lmr_h5_damaged("creation properties", d->path);
    larmor_status st = check_filters(d, list);
    if (!st && (H5Pget_chunk(list, H5S_MAX_RANK, chunk) != d->rank || !chunk[0]))
        st = lmr_h5_damaged("chunk layout", d->path);
    H5Pclose(list);
    *elements = chunk[0];
    return st;
}

larmor_status lmr_dataset_check(lmr_dataset *d)
{
    hsize_t chunk;
    if (d->layout == H5D_CHUNKED) LMR_TRY(check_chunks(d, &chunk));
    const int64_t stored = (int64_t)H5Dget_storage_size(d->id);
    if (d->count > 0 && stored <= d->source->size && lmr_could_hold(stored, d->count, (int64_t)d->bytes, d->packed))
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s claims %lld elements but has %lld bytes.", d->path, (long long)d->count,
                    (long long)stored);
}

larmor_status lmr_dataset_prepare(lmr_dataset *d, const char *what)
{
    if (d->bytes > LARGEST_ELEMENT) return lmr_h5_damaged("type", d->path);
    if (d->layout == H5D_CHUNKED) {
        hsize_t chunk;
        LMR_TRY(check_chunks(d, &chunk));
        if (d->rank != 1) return lmr_h5_damaged("chunk layout", d->path);
        if (chunk > (hsize_t)LARGEST_BLOCK / d->bytes)
            return LMR_FAIL(LARMOR_ERR_FORMAT,
                            "%s has chunks of %llu elements, at most %d bytes expected. Use h5repack.", d->path,
                            (unsigned long long)chunk, LARGEST_BLOCK);
        d->per_block = (int64_t)chunk;
    } else if (d->layout == H5D_CONTIGUOUS) {
        d->address = H5Dget_offset(d->id);
        if (d->address == HADDR_UNDEF) return lmr_h5_damaged("storage", d->path);
        d->per_block = USUAL_BLOCK / (int64_t)d->bytes + 1;
        if (d->per_block > d->count) d->per_block = d->count;
    } else {
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s is stored compactly, which is not read. Use h5repack.", d->path);
    }
    if (!lmr_could_hold(d->source->size, d->count, (int64_t)d->bytes, d->packed))
        return LMR_FAIL(LARMOR_ERR_FORMAT, "claims %lld %s but has %lld bytes.", (long long)d->count, what,
                        (long long)d->source->size);
    const size_t room = (size_t)d->per_block * d->bytes + LMR_FILTER_ROOM;
    d->block = malloc(room), d->spare = malloc(room);
    return d->block && d->spare ? LARMOR_OK : LMR_NO_MEMORY();
}

static larmor_status read_contiguous(lmr_dataset *d, int64_t first)
{
    const int64_t left = d->count - first, n = left < d->per_block ? left : d->per_block;
    const uint64_t bytes = (uint64_t)n * d->bytes, from = (uint64_t)first * d->bytes;
    const uint64_t size = (uint64_t)d->source->size;
    if (d->address > size || from > size - d->address || bytes > size - d->address - from)
        return lmr_h5_damaged("storage", d->path);
    const int64_t got = lmr_source_get(d->source, (int64_t)(d->address + from), d->block, bytes);
    return got == (int64_t)bytes ? LARMOR_OK : lmr_h5_damaged("storage", d->path);
}

/* A chunk is as long as its elements unless a filter changed that. */
static larmor_status read_chunk(lmr_dataset *d, int64_t first)
{
    const hsize_t offset = (hsize_t)first;
    const size_t bytes = (size_t)d->per_block * d->bytes, room = d->filters ? bytes + LMR_FILTER_ROOM : bytes;
    uint32_t mask = 0;
    const size_t stored = lmr_h5_get_chunk(d->file, d->id, &offset, d->block, room, &mask);
    if (!stored) return lmr_h5_damaged("chunk index", d->path);
    const char *wrong = lmr_filter_undo(d->filter, d->filters, mask, d->bytes, stored, bytes, &d->block, &d->spare);
    if (!wrong) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "damaged data (%s, element %lld of %s). Copy it again.", wrong,
                    (long long)first, d->path);
}

larmor_status lmr_dataset_block(lmr_dataset *d, int64_t b, const unsigned char **elements)
{
    const int64_t first = b * d->per_block;
    *elements = NULL;
    LMR_TRY(d->layout == H5D_CONTIGUOUS ? read_contiguous(d, first) : read_chunk(d, first));
    *elements = d->block;
    return LARMOR_OK;
}
