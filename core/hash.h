/* A hash of 64 bits that tells one content from another; it is no protection against forgery. Words are multiplied
 * into it as in Knuth, The Art of Computer Programming 3, 6.4. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t lmr_hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* The hash of what gave `hash` and then these bytes. Each step is one to one in the word and in the hash, so that one
 * changed word always shows. */
static inline uint64_t lmr_hash(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    uint64_t word;
    hash = lmr_hash_word(hash, bytes);
    for (; bytes >= sizeof word; from += sizeof word, bytes -= sizeof word) {
        memcpy(&word, from, sizeof word); /* a constant size is one instruction, which makes large arrays quick */
        hash = lmr_hash_word(hash, word);
    }
    if (!bytes) return hash;
    word = 0;
    memcpy(&word, from, bytes);
    return lmr_hash_word(hash, word);
}
