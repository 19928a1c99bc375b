/* The checksum of HDF5's filter fletcher32: J. Fletcher, An arithmetic checksum for serial transmissions, IEEE Trans.
 * Commun. 30:247 (1982), over big-endian 16-bit words; a last odd byte is the high half of a word.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/checksum.h"

#include <stdint.h>
#include <string.h>

/* Words are summed as the processor reads them: with their bytes exchanged they are 256 times as much modulo
 * 65535. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { EXCHANGE = 256 };
#else
enum { EXCHANGE = 1 };
#endif

enum {
    LANES = 8,
    TURNS = 360
}; /* words at a time; so often until a sum of sums, 65535 TURNS^2 / 2, is 32 bits long */
typedef uint16_t words __attribute__((vector_size(2 * LANES)));
typedef uint32_t sums __attribute__((vector_size(4 * LANES)));

/* A whole number of lanes. Word i of n counts once in a and n - i times in b. */
static void add_block(const unsigned char *p, size_t turns, uint64_t *a, uint64_t *b)
{
    sums sum = {0}, times = {0}; /* of each lane: of its words, and of the sums after each */
    for (size_t t = 0; t < turns; t++) {
        words now;
        memcpy(&now, p + t * sizeof now, sizeof now);
        sum += __builtin_convertvector(now, sums);
        times += sum;
    }
    *b += *a * turns * LANES;
    for (int k = 0; k < LANES; k++) {
        *a += sum[k];
        *b += LANES * (uint64_t)times[k] - (uint64_t)k * sum[k];
    }
    *a %= 65535;
    *b %= 65535;
}

static uint32_t fletcher32(const unsigned char *p, size_t bytes)
{
    uint64_t a = 0, b = 0;
    size_t from = 0;
    while (bytes - from >= 2 * LANES) {
        const size_t left = (bytes - from) / (2 * LANES);
        const size_t turns = left < TURNS ? left : TURNS;
        add_block(p + from, turns, &a, &b);
        from += turns * 2 * LANES;
    }
    a = a * EXCHANGE % 65535;
    b = b * EXCHANGE % 65535;
    for (; from < bytes; from += 2) {
        a += (uint32_t)p[from] << 8 | (from + 1 < bytes ? p[from + 1] : 0);
        b += a;
    }
    return (uint32_t)(b % 65535 << 16 | a % 65535);
}

void lmr_checksum_put(const void *data, size_t bytes, unsigned char to[LMR_CHECKSUM_BYTES])
{
    const uint32_t sum = fletcher32(data, bytes);
    for (int i = 0; i < LMR_CHECKSUM_BYTES; i++) to[i] = (unsigned char)(sum >> 8 * i);
}

int lmr_checksum_fits(const void *data, size_t bytes, const unsigned char stored[LMR_CHECKSUM_BYTES])
{
    const uint32_t sum = fletcher32(data, bytes);
    const uint32_t high = stored[3] << 8 | stored[2], low = stored[1] << 8 | stored[0];
    /* 65535 and 0 are the same remainder, and HDF5 keeps either */
    return low % 65535 == (sum & 0xffff) && high % 65535 == sum >> 16;
}
