/* Values of yardl's binary format: whole numbers of 7 bits a byte, the lowest first, signed ones with the sign in the
 * lowest bit; floats as they are. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "io/mrd2/mrd2.h"

int mrd2_failed(const lmr_mrd2 *m)
{
    return m->has_ended || m->wrong;
}

void mrd2_skip(lmr_mrd2 *m, int64_t bytes)
{
    if (bytes < 0 || bytes > m->source->size - m->at) {
        m->has_ended = 1;
        return;
    }
    m->at += bytes;
}

void mrd2_take(lmr_mrd2 *m, void *to, int64_t bytes)
{
    const int64_t from = m->at;
    memset(to, 0, (size_t)bytes);
    if (mrd2_failed(m)) return;
    mrd2_skip(m, bytes);
    if (m->has_ended) return;
    if (bytes > MRD2_WINDOW) {
        m->has_ended |= lmr_source_get(m->source, from, to, (size_t)bytes) != bytes;
        return;
    }
    if (from < m->first || from + bytes > m->first + m->held) {
        const int64_t held = lmr_source_get(m->source, from, m->window, MRD2_WINDOW);
        m->first = from;
        m->held = held < 0 ? 0 : held;
        m->has_ended |= m->held < bytes;
        if (m->has_ended) return;
    }
    memcpy(to, m->window + (from - m->first), (size_t)bytes);
}

int mrd2_byte(lmr_mrd2 *m)
{
    unsigned char byte;
    mrd2_take(m, &byte, 1);
    return byte;
}

uint64_t mrd2_unsigned(lmr_mrd2 *m)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        const int byte = mrd2_byte(m);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
    m->wrong = "a number of more than 64 bits";
    return 0;
}

int64_t mrd2_signed(lmr_mrd2 *m)
{
    const uint64_t value = mrd2_unsigned(m);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

float mrd2_float(lmr_mrd2 *m)
{
    float value;
    mrd2_take(m, &value, sizeof value);
    return value;
}
