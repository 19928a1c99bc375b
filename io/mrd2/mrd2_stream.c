/* The items of a stream of MRD version 2: acquisitions and waveforms. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd2/mrd2.h"

enum { MAGIC = 9, SCHEMA_BYTES = 21336, ACQUISITION = 0, WAVEFORM = 1 };
#define SCHEMA_HASH UINT64_C(0xf3d56b8e82067bd7) /* of the text that MRD 2.1.1 writes, by lmr_hash from 0 */

/* Behind the magic number and the version of yardl's format: the length of the schema, and the schema. */
static int begin(lmr_mrd2 *m)
{
    static const unsigned char magic[MAGIC] = {'y', 'a', 'r', 'd', 'l', 1};
    unsigned char start[MAGIC];
    char schema[SCHEMA_BYTES];
    mrd2_take(m, start, sizeof start);
    if (memcmp(start, magic, sizeof magic) != 0 || mrd2_unsigned(m) != SCHEMA_BYTES) return 0;
    mrd2_take(m, schema, sizeof schema);
    return !mrd2_failed(m) && lmr_hash(0, schema, sizeof schema) == SCHEMA_HASH;
}

int lmr_mrd2_is(const lmr_source *source)
{
    LMR_HEAP lmr_mrd2 *m = calloc(1, sizeof *m);
    if (!m) return 0;
    m->source = source;
    return begin(m);
}

/* ---- acquisitions ---- */

/* A whole number that ISMRMRD has in 16 bits. */
static uint16_t small(lmr_mrd2 *m)
{
    const uint64_t value = mrd2_unsigned(m);
    if (value > UINT16_MAX) m->wrong = "a number above 65535";
    return (uint16_t)value;
}

static uint16_t small_or_none(lmr_mrd2 *m)
{
    return mrd2_byte(m) ? small(m) : 0;
}

static uint32_t stamp_or_none(lmr_mrd2 *m)
{
    return mrd2_byte(m) ? (uint32_t)mrd2_unsigned(m) : 0;
}

static void floats(lmr_mrd2 *m, float *to)
{
    for (int d = 0; d < 3; d++) to[d] = mrd2_float(m);
}

/* How many elements a list has; each has a byte or more. */
static uint64_t length(lmr_mrd2 *m)
{
    const uint64_t count = mrd2_unsigned(m);
    if (count > (uint64_t)(m->source->size - m->at)) m->has_ended = 1;
    return mrd2_failed(m) ? 0 : count;
}

static void read_counters(lmr_mrd2 *m, lmr_mrd_head *h)
{
    for (int c = 0; c < LMR_COUNTERS; c++) h->counter[c] = small_or_none(m);
    const uint64_t users = length(m);
    for (uint64_t i = 0; i < users; i++) {
        const uint16_t value = small(m);
        if (i < 8) h->user[i] = value;
    }
}

static void read_head(lmr_mrd2 *m, lmr_mrd_head *h)
{
    h->flags = mrd2_unsigned(m);
    read_counters(m, h);
    h->measurement_uid = (uint32_t)mrd2_unsigned(m);
    stamp_or_none(m); /* scanCounter */
    h->time_stamp = stamp_or_none(m);
    const uint64_t stamps = length(m);
    for (uint64_t i = 0; i < stamps; i++) {
        const uint32_t value = (uint32_t)mrd2_unsigned(m);
        if (i < 3) h->physiology_stamp[i] = value;
    }
    const uint64_t channels = length(m);
    for (uint64_t i = 0; i < channels; i++) mrd2_unsigned(m);
    h->discard_pre = small_or_none(m);
    h->discard_post = small_or_none(m);
    h->center_sample = small_or_none(m);
    h->encoding = small_or_none(m);
    h->dwell_us = mrd2_byte(m) ? mrd2_float(m) : 0;
    floats(m, h->position);
    floats(m, h->read_dir);
    floats(m, h->phase_dir);
    floats(m, h->slice_dir);
    floats(m, h->table);
    const uint64_t whole = length(m);
    for (uint64_t i = 0; i < whole; i++) {
        const int64_t value = mrd2_signed(m);
        if (i < 8) h->user_int[i] = (int32_t)value;
    }
    const uint64_t numbers = length(m);
    for (uint64_t i = 0; i < numbers; i++) {
        const float value = mrd2_float(m);
        if (i < 8) h->user_float[i] = value;
    }
}

/* Data are [coils, samples] and trajectories [components, samples], the last one the fastest. */
static void read_acquisition(lmr_mrd2 *m, lmr_mrd_head *h, lmr_reader_place *place)
{
    *h = (lmr_mrd_head){.flags = 0};
    *place = (lmr_reader_place){.data = 0};
    read_head(m, h);
    h->channels = small(m);
    h->stored = small(m);
    place->data = m->at;
    mrd2_skip(m, INT64_C(8) * h->channels * h->stored);
    h->traj_dims = small(m);
    const uint16_t points = small(m);
    if (!points) h->traj_dims = 0;
    place->traj = m->at;
    place->traj_step = INT64_C(4) * points;
    mrd2_skip(m, INT64_C(4) * h->traj_dims * points);
    if (mrd2_failed(m)) return;
    if (h->traj_dims && points != h->stored) m->wrong = "a trajectory of another number of samples";
    if (!h->channels || h->channels > LMR_MRD_MAX_CHANNELS || !h->stored)
        m->wrong = "an acquisition without samples or channels";
}

/* ---- waveforms ---- */

static larmor_status grow_waves(lmr_mrd2 *m)
{
    if (m->waves < m->wave_room) return LARMOR_OK;
    const int64_t room = 2 * m->wave_room + 256;
    lmr_mrd_wave *wave = realloc(m->wave, (size_t)room * sizeof *wave);
    if (!wave) return LMR_NO_MEMORY();
    m->wave = wave;
    m->wave_room = room;
    return LARMOR_OK;
}

static int is_usable(const lmr_mrd2 *m, const lmr_mrd_wave *w)
{
    const double us = (double)w->sample_us;
    return !mrd2_failed(m) && w->channels && w->samples && us >= 1 && us <= 1e7 && m->waves < LMR_MRD_MAX_WAVEFORMS;
}

/* Numbers are [channels, samples], the last one the fastest. */
static larmor_status read_waveform(lmr_mrd2 *m)
{
    const size_t before = m->wave_data.size;
    lmr_mrd_wave w = {.trigger = -1};
    for (int i = 0; i < 3; i++) mrd2_unsigned(m); /* flags, measurementUid, scanCounter */
    w.time_stamp = (uint32_t)mrd2_unsigned(m);
    w.sample_us = mrd2_float(m);
    const uint64_t id = mrd2_unsigned(m);
    w.id = (uint16_t)id;
    w.channels = small(m);
    w.samples = small(m);
    for (int64_t i = 0; i < (int64_t)w.channels * w.samples && !mrd2_failed(m); i++) {
        const uint32_t value = (uint32_t)mrd2_unsigned(m);
        lmr_bytes_add(&m->wave_data, &value, sizeof value);
    }
    if (id > UINT16_MAX || !is_usable(m, &w)) {
        m->wave_data.size = before;
        return LARMOR_OK;
    }
    LMR_TRY(grow_waves(m));
    m->wave[m->waves++] = w;
    return LARMOR_OK;
}

/* ---- the stream ---- */

/* Room for one more acquisition. */
static larmor_status grow(lmr_mrd2 *m)
{
    LMR_REFUSE(m->count == LMR_MRD_MAX_ACQUISITIONS, LARMOR_ERR_FORMAT, "more than %lld acquisitions.",
               (long long)LMR_MRD_MAX_ACQUISITIONS);
    int64_t room = m->room;
    LMR_TRY(lmr_grow(&m->head, m->count, &room, sizeof *m->head));
    return lmr_grow(&m->place, m->count, &m->room, sizeof *m->place);
}

/* Blocks of items, each with its number of them, up to a block of none. */
static larmor_status read_items(lmr_mrd2 *m)
{
    uint64_t left = 0;
    for (;;) {
        if (!left) left = mrd2_unsigned(m);
        if (!left || mrd2_failed(m)) return LARMOR_OK;
        left--;
        const int tag = mrd2_byte(m);
        if (mrd2_failed(m)) return LARMOR_OK;
        if (tag == WAVEFORM) {
            LMR_TRY(read_waveform(m));
            continue;
        }
        if (tag != ACQUISITION) {
            snprintf(m->note, sizeof m->note,
                     "the stream is read up to its first item that is no acquisition and no waveform.\n");
            return LARMOR_OK;
        }
        LMR_TRY(grow(m));
        read_acquisition(m, &m->head[m->count], &m->place[m->count]);
        if (mrd2_failed(m)) return LARMOR_OK;
        m->count++;
    }
}

static larmor_status read_stream(lmr_mrd2 *m)
{
    LMR_REFUSE(!begin(m), LARMOR_ERR_FORMAT, "damaged stream of MRD version 2. Copy it again.");
    LMR_REFUSE(!mrd2_byte(m), LARMOR_ERR_FORMAT, "a stream of MRD version 2 without a header.");
    mrd2_header(m);
    LMR_TRY(lmr_bytes_end(&m->xml));
    if (!mrd2_failed(m)) LMR_TRY(read_items(m));
    LMR_TRY(lmr_bytes_end(&m->wave_data));
    LMR_REFUSE(m->wrong, LARMOR_ERR_FORMAT, "damaged stream of MRD version 2 (%s before byte %lld). Copy it again.",
               m->wrong, (long long)m->at);
    LMR_REFUSE(!m->count, LARMOR_ERR_FORMAT, "no acquisitions.");
    if (m->has_ended)
        snprintf(m->note, sizeof m->note,
                 "the stream was not ended, or is cut short: its %lld complete acquisitions are read.\n",
                 (long long)m->count);
    return LARMOR_OK;
}

larmor_status lmr_mrd2_open(const lmr_source *source, lmr_mrd2 **out)
{
    *out = NULL;
    LMR_NEW_ZEROS(lmr_mrd2, m, 1);
    m->source = source;
    const larmor_status st = read_stream(m);
    return LMR_GIVE(out, m, lmr_mrd2_free, st);
}

void lmr_mrd2_free(lmr_mrd2 *m)
{
    if (!m) return;
    lmr_bytes_free(&m->xml);
    LMR_FREE(m->head, m->place, m->wave);
    lmr_bytes_free(&m->wave_data);
    free(m);
}
