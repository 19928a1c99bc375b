/* The filters of HDF5 chunks, undone with checked bounds. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/h5_filter.h"

#include <string.h>
#include <zlib.h>

#include "io/reader/checksum.h"

static const char *check_sum(const unsigned char *p, size_t *bytes)
{
    if (*bytes < LMR_CHECKSUM_BYTES) return "checksum missing";
    *bytes -= LMR_CHECKSUM_BYTES;
    return lmr_checksum_fits(p, *bytes, p + *bytes) ? NULL : "checksum wrong";
}

static void unshuffle(const unsigned char *src, unsigned char *dst, size_t bytes, size_t element)
{
    const size_t n = bytes / element;
    for (size_t k = 0; k < element; k++)
        for (size_t i = 0; i < n; i++) dst[i * element + k] = src[k * n + i];
    memcpy(dst + n * element, src + n * element, bytes - n * element);
}

const char *lmr_filter_undo(const int *filter, int filters, uint32_t mask, size_t element, size_t stored,
                            size_t bytes, unsigned char **data, unsigned char **spare)
{
    size_t now = stored;
    for (int i = filters; i-- > 0;) {
        if (mask >> i & 1) continue;
        if (filter[i] == LMR_FILTER_FLETCHER32) {
            const char *wrong = check_sum(*data, &now);
            if (wrong) return wrong;
            continue;
        }
        if (filter[i] == LMR_FILTER_SHUFFLE) {
            unshuffle(*data, *spare, now, element);
        } else {
            uLongf got = bytes + LMR_FILTER_ROOM;
            if (uncompress(*spare, &got, *data, now) != Z_OK) return "deflate stream damaged";
            now = got;
        }
        unsigned char *other = *data;
        *data = *spare;
        *spare = other;
    }
    return now == bytes ? NULL : "wrong size";
}
