/* The filters of HDF5 chunks, undone with checked bounds. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/h5_filter.h"

#include <string.h>
#include <zlib.h>

#include "io/reader/source.h"

/* Fletcher's sum over big-endian 16-bit words; a last odd byte is the high half of a word. */
static uint32_t fletcher32(const unsigned char *p, size_t bytes)
{
    enum { UNREDUCED = 1 << 16 }; /* bytes until the sums are taken modulo 65535: they stay below 2^49 */
    uint64_t a = 0, b = 0;
    for (size_t from = 0; from < bytes; from += UNREDUCED) {
        const size_t end = bytes - from < UNREDUCED ? bytes : from + UNREDUCED;
        for (size_t i = from; i < end; i += 2) {
            a += (uint32_t)p[i] << 8 | (i + 1 < bytes ? p[i + 1] : 0);
            b += a;
        }
        a %= 65535;
        b %= 65535;
    }
    return (uint32_t)(b << 16 | a);
}

static const char *check_sum(const unsigned char *p, size_t *bytes)
{
    if (*bytes < 4) return "checksum missing";
    *bytes -= 4;
    const uint32_t stored = (uint32_t)lmr_little_endian(p + *bytes, 4), sum = fletcher32(p, *bytes);
    /* 65535 and 0 are the same remainder, and HDF5 keeps either */
    const int low = (stored & 0xffff) % 65535 == (sum & 0xffff), high = (stored >> 16) % 65535 == sum >> 16;
    return low && high ? NULL : "checksum wrong";
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
