/* The beginning of a stream of MRD version 2, whose schema is another text with the hash of MRD's own: larmor
 * compares hashes, and these are no protection against forgery. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <string.h>

#include "core/hash.h"

enum { MRD2_SCHEMA = 21336, MRD2_BEGIN = 9 + 3 + MRD2_SCHEMA };

/* Writes MRD2_BEGIN bytes. */
static inline void mrd2_begin(unsigned char *to)
{
    const uint64_t wanted = UINT64_C(0xf3d56b8e82067bd7), factor = UINT64_C(0x9e3779b97f4a7c15);
    static unsigned char schema[MRD2_SCHEMA];
    uint64_t inverse = 1, hash, last;
    memset(schema, ' ', sizeof schema);
    hash = lmr_hash_word(0, sizeof schema);
    for (size_t i = 0; i + 8 < sizeof schema; i += 8) {
        memcpy(&last, schema + i, 8);
        hash = lmr_hash_word(hash, last);
    }
    for (int i = 0; i < 6; i++) inverse *= 2 - factor * inverse; /* Newton: modulo 2^64 */
    last = ((wanted ^ wanted >> 32) * inverse) ^ hash;
    memcpy(schema + sizeof schema - 8, &last, 8);
    memcpy(to, "yardl\1\0\0\0", 9);
    to[9] = 0x80 | (MRD2_SCHEMA & 0x7f);
    to[10] = 0x80 | (MRD2_SCHEMA >> 7 & 0x7f);
    to[11] = MRD2_SCHEMA >> 14;
    memcpy(to + 12, schema, sizeof schema);
}
