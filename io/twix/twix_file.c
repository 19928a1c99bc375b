/* The structure of a TWIX file: measurements, the buffers of a protocol, headers of readouts. Every size is checked
 * against the file before it is used. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/reader/mrd_head.h"
#include "io/twix/twix.h"

enum {
    MOST_MEASUREMENTS = 64,
    TABLE_HEAD = 8,
    TABLE_ENTRY = 152,
    MOST_BUFFERS = 64,
    LONGEST_NAME = 48,
    VB_HEADER = 128,
    VD_HEADER = 192,
    VD_CHANNEL = 32,
    LARGEST_TABLE_ID = 10000, /* the first number of VD; in VB it is the length of the protocol, which is longer */
    DMA_LENGTH = (1 << 25) - 1
};
#define MOST_TEXT (INT64_C(64) << 20) /* bytes of a protocol */

/* Bits of EvalInfoMask. */
enum {
    ACQEND = 0,
    RTFEEDBACK = 1,
    HPFEEDBACK = 2,
    SYNCDATA = 5,
    LASTSCANINMEAS = 11,
    REFPHASESTABSCAN = 14,
    PHASESTABSCAN = 15,
    PHASCOR = 21,
    PATREFSCAN = 22,
    PATREFANDIMASCAN = 23,
    REFLECT = 24,
    NOISEADJSCAN = 25,
    FIRSTSCANINSLICE = 28,
    LASTSCANINSLICE = 29,
    CT_NORMALIZE = 35,
    RETRO_ENDOFMEAS = 46,
    RETRO_DUMMYSCAN = 51
};

static uint16_t u16(const unsigned char *p)
{
    return (uint16_t)lmr_little_endian(p, 2);
}

static uint32_t u32(const unsigned char *p)
{
    return (uint32_t)lmr_little_endian(p, 4);
}

static float f32(const unsigned char *p)
{
    const uint32_t bits = u32(p);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define ADD_NOTE(t, ...) lmr_append((t)->note, sizeof(t)->note, __VA_ARGS__)

/* ---- measurements ---- */

/* Whether a protocol begins at a byte: its length, the number of its buffers, the first one's name. */
static int is_protocol(const lmr_source *source, int64_t at)
{
    unsigned char start[8 + LONGEST_NAME];
    if (lmr_source_get(source, at, start, sizeof start) != sizeof start) return 0;
    const unsigned char *name = start + 8, *end = memchr(name, 0, LONGEST_NAME);
    int good =
        u32(start) > sizeof start && u32(start + 4) >= 1 && u32(start + 4) <= MOST_BUFFERS && end && end > name;
    for (; good && name < end; name++)
        good = (*name >= 'A' && *name <= 'Z') || (*name >= 'a' && *name <= 'z') || *name == '_';
    return good;
}

static int has_table(const lmr_source *source)
{
    unsigned char start[TABLE_HEAD + TABLE_ENTRY];
    if (lmr_source_get(source, 0, start, sizeof start) != sizeof start) return 0;
    const uint32_t count = u32(start + 4);
    const uint64_t first = lmr_little_endian(start + TABLE_HEAD + 8, 8);
    return u32(start) < LARGEST_TABLE_ID && count >= 1 && count <= MOST_MEASUREMENTS &&
           first >= TABLE_HEAD + TABLE_ENTRY * count && first <= 1 << 20;
}

int lmr_twix_is(const lmr_source *source)
{
    return has_table(source) || is_protocol(source, 0);
}

static larmor_status damaged(const char *what, int64_t at)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT, "damaged TWIX file (%s at byte %lld). Copy it again.", what, (long long)at);
}

/* The names of all measurements, for who wants another one. */
static void note_measurements(lmr_twix *t, const unsigned char *entries, int count, int chosen)
{
    if (count < 2) return;
    ADD_NOTE(t, "measurement %d of %d is read; opts.group takes the number of another:", chosen, count);
    for (int i = 0; i < count; i++) {
        const char *name = (const char *)entries + (size_t)i * TABLE_ENTRY + 88;
        ADD_NOTE(t, "%s %d %s", i ? "," : "", i + 1, lmr_printable(name, (int64_t)strnlen(name, 64), 24).s);
    }
    ADD_NOTE(t, ".\n");
}

static larmor_status choose(lmr_twix *t, const char *wanted)
{
    unsigned char table[TABLE_HEAD + MOST_MEASUREMENTS * TABLE_ENTRY];
    int count = 1;
    t->is_vb = !has_table(t->source);
    if (!t->is_vb) {
        LMR_TRY(lmr_source_read(t->source, 0, table, TABLE_HEAD));
        count = (int)u32(table + 4);
        LMR_TRY(lmr_source_read(t->source, 0, table, TABLE_HEAD + (size_t)count * TABLE_ENTRY));
    }
    t->measurements = count;
    char *rest = NULL;
    const long number = *wanted ? strtol(wanted, &rest, 10) : count;
    LMR_REFUSE((rest && *rest) || number < 1 || number > count, LARMOR_ERR_FORMAT,
               "no measurement %s: it has %d, counted from 1. Use opts.group.",
               lmr_printable(wanted, (int64_t)strlen(wanted), 20).s, count);
    t->end = t->source->size;
    if (t->is_vb) return LARMOR_OK;
    const unsigned char *entry = table + TABLE_HEAD + (size_t)(number - 1) * TABLE_ENTRY;
    const uint64_t size = (uint64_t)t->source->size;
    const uint64_t first = lmr_little_endian(entry + 8, 8), length = lmr_little_endian(entry + 16, 8);
    note_measurements(t, table + TABLE_HEAD, count, (int)number);
    t->id = u32(entry);
    LMR_REFUSE(first >= size, LARMOR_ERR_FORMAT, "file cut short before measurement %ld, which begins at byte %llu.",
               number, (unsigned long long)first);
    t->first = (int64_t)first;
    if (length && length < size - first) t->end = (int64_t)(first + length);
    return LARMOR_OK;
}

static larmor_status read_protocol(lmr_twix *t)
{
    unsigned char length[4];
    if (!is_protocol(t->source, t->first)) return damaged("no protocol", t->first);
    LMR_TRY(lmr_source_read(t->source, t->first, length, sizeof length));
    t->text_bytes = u32(length);
    if (t->text_bytes > t->end - t->first) return damaged("a protocol that is longer than its measurement", t->first);
    LMR_REFUSE(t->text_bytes > MOST_TEXT, LARMOR_ERR_FORMAT, "protocol of %lld bytes, limit %lld.",
               (long long)t->text_bytes, (long long)MOST_TEXT);
    t->text = calloc((size_t)t->text_bytes + 1, 1);
    if (!t->text) return LMR_NO_MEMORY();
    LMR_TRY(lmr_source_read(t->source, t->first, t->text, (size_t)t->text_bytes));
    for (int i = 0; i < 16; i++) {
        char name[40];
        snprintf(name, sizeof name, "sRXSPEC.alDwellTime[%d]", i);
        t->dwell_us[i] = lmr_twix_number(t, name, 0) / 1000;
        if (!(t->dwell_us[i] > 0 && t->dwell_us[i] < 1e6)) t->dwell_us[i] = i ? t->dwell_us[0] : 0;
    }
    t->is_adjustment = strstr(lmr_twix_text(t, "tProtocolName").s, "AdjCoilSens") != NULL;
    return LARMOR_OK;
}

/* ---- readouts ---- */

/* EPI's lines for phase correction go to the scanner's feedback as well, which makes no navigators of them. */
static uint64_t flags_of(uint64_t mask)
{
    static const struct {
        int bit, flag;
    } pairs[] = {
        {RTFEEDBACK, 23},      {RTFEEDBACK, 28},       {HPFEEDBACK, 26},       {LASTSCANINMEAS, 14},
        {LASTSCANINMEAS, 25},  {RETRO_ENDOFMEAS, 25},  {REFPHASESTABSCAN, 30}, {PHASESTABSCAN, 31},
        {PHASCOR, 24},         {PATREFANDIMASCAN, 21}, {REFLECT, 22},          {NOISEADJSCAN, 19},
        {FIRSTSCANINSLICE, 7}, {LASTSCANINSLICE, 8},   {CT_NORMALIZE, 29},     {RETRO_DUMMYSCAN, 27},
    };
    uint64_t flags = 0;
    if (mask >> PHASCOR & 1) mask &= ~(UINT64_C(1) << RTFEEDBACK);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (mask >> pairs[i].bit & 1) flags |= LARMOR_ACQ_FLAG(pairs[i].flag);
    if ((mask >> PATREFSCAN & 1) && !(mask >> PATREFANDIMASCAN & 1)) flags |= LARMOR_ACQ_CALIBRATION;
    return flags;
}

/* The columns of the rotation are the directions of phase, read and slice; the quaternion begins with its real
 * part. */
static void set_place(lmr_mrd_head *h, const unsigned char *slice)
{
    const double w = (double)f32(slice + 12), x = (double)f32(slice + 16), y = (double)f32(slice + 20),
                 z = (double)f32(slice + 24);
    const double phase[3] = {1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)};
    const double read[3] = {2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)};
    const double normal[3] = {2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)};
    for (int d = 0; d < 3; d++) {
        h->position[d] = f32(slice + 4 * d);
        h->phase_dir[d] = (float)phase[d];
        h->read_dir[d] = (float)read[d];
        h->slice_dir[d] = (float)normal[d];
    }
}

/* Noise has a bandwidth of its own, as siemens_to_ismrmrd has it. */
static float dwell_of(const lmr_twix *t, const lmr_mrd_head *h)
{
    if (!(h->flags & LARMOR_ACQ_NOISE)) return (float)t->dwell_us[h->counter[LMR_CONTRAST] & 15];
    if (t->is_adjustment) return 5;
    return (float)(t->is_vb ? 1e6 / 130 / h->stored : (double)(76800 / h->stored) / 10);
}

/* The header without what its channels have; of VB from byte 20 on and of VD from byte 40 on they are alike. */
static lmr_mrd_head decode(const lmr_twix *t, const unsigned char *mdh)
{
    const unsigned char *p = mdh + (t->is_vb ? 20 : 40);
    const unsigned char *loop = p + 12;
    const unsigned char *extra = p + (t->is_vb ? 60 : 88);
    const unsigned char *slice = p + (t->is_vb ? 76 : 60);
    static const int counters[LMR_COUNTERS] = {
        [LMR_STEP1] = 0, [LMR_AVERAGE] = 1,    [LMR_SLICE] = 2, [LMR_STEP2] = 3,  [LMR_CONTRAST] = 4,
        [LMR_PHASE] = 5, [LMR_REPETITION] = 6, [LMR_SET] = 7,   [LMR_SEGMENT] = 8};
    lmr_mrd_head h = {.flags = flags_of(lmr_little_endian(p, 8)),
                      .measurement_uid = u32(mdh + 4),
                      .time_stamp = u32(mdh + 12),
                      .physiology_stamp = {u32(mdh + 16)},
                      .stored = u16(p + 8),
                      .channels = u16(p + 10),
                      .discard_pre = u16(p + 40),
                      .discard_post = u16(p + 42),
                      .center_sample = u16(p + 44)};
    for (int c = 0; c < LMR_COUNTERS; c++) h.counter[c] = u16(loop + 2 * counters[c]);
    for (int i = 0; i < 5; i++) h.user[i] = u16(loop + 18 + 2 * i);
    h.user[5] = u16(p + 56);
    h.user[6] = u16(p + 58);
    for (int i = 0; i < 7; i++) h.user_int[i] = u16(extra + 2 * i);
    h.user_int[7] = (int32_t)u32(p + 52);
    for (int i = 0; i < (t->is_vb ? 1 : 8); i++) h.user_float[i] = u16(extra + (t->is_vb ? 14 : 16) + 2 * i);
    for (int d = 0; d < 3 && !t->is_vb; d++) h.table[d] = (float)(int32_t)u32(mdh + 24 + 4 * d);
    set_place(&h, slice);
    if (h.stored) h.dwell_us = dwell_of(t, &h);
    return h;
}

static larmor_status add(lmr_twix *t, const lmr_mrd_head *h, const lmr_reader_place *place)
{
    const uint64_t left_out = LARMOR_ACQ_NOISE | LARMOR_ACQ_NAVIGATION | LARMOR_ACQ_PHASE_CORRECTION |
                              LARMOR_ACQ_HP_FEEDBACK | LARMOR_ACQ_DUMMY;
    LMR_REFUSE(t->count == LMR_MRD_MAX_ACQUISITIONS, LARMOR_ERR_FORMAT, "more than %lld readouts.",
               (long long)LMR_MRD_MAX_ACQUISITIONS);
    int64_t room = t->room;
    LMR_TRY(lmr_grow(&t->head, t->count, &room, sizeof *t->head));
    LMR_TRY(lmr_grow(&t->place, t->count, &t->room, sizeof *t->place));
    t->head[t->count] = *h;
    t->place[t->count++] = *place;
    if (h->channels > t->channels) t->channels = h->channels;
    if (h->flags & left_out) return LARMOR_OK;
    for (int c = 0; c < LMR_COUNTERS; c++) {
        lmr_twix_range *r = &t->range[c];
        if (!t->imaging || h->counter[c] < r->low) r->low = h->counter[c];
        if (!t->imaging || h->counter[c] > r->high) r->high = h->counter[c];
    }
    if (!t->imaging) {
        t->centre_line = h->user[5];
        t->centre_partition = h->user[6];
    }
    t->imaging = 1;
    return LARMOR_OK;
}

/* Whether the last channel's header belongs to the readout: both have its number. */
static int is_of_readout(const lmr_twix *t, const unsigned char *mdh, int64_t at)
{
    unsigned char own[12];
    return lmr_source_get(t->source, at, own, sizeof own) == sizeof own && u32(own + 8) == u32(mdh + 8);
}

/* Readouts follow each other until ACQEND, with packets of other data between them. */
static larmor_status read_headers(lmr_twix *t)
{
    unsigned char mdh[VD_HEADER];
    const int64_t header = t->is_vb ? VB_HEADER : VD_HEADER;
    const int64_t between = t->is_vb ? VB_HEADER : VD_CHANNEL;
    int64_t at = t->first + t->text_bytes;
    int is_odd = 0;
    while (t->end - at >= header) {
        LMR_TRY(lmr_source_read(t->source, at, mdh, (size_t)header));
        const uint64_t mask = lmr_little_endian(mdh + (t->is_vb ? 20 : 40), 8);
        if (mask >> ACQEND & 1) return LARMOR_OK;
        if (mask >> SYNCDATA & 1) {
            const int64_t packet = u32(mdh) & DMA_LENGTH;
            if (packet < header) return damaged("a packet without a length", at);
            LMR_TRY(lmr_twix_take_packet(t, at + header, packet - header));
            at += packet;
            continue;
        }
        const lmr_mrd_head h = decode(t, mdh);
        if (!h.stored || !h.channels || h.channels > LMR_MRD_MAX_CHANNELS)
            return damaged("a readout without samples or channels", at);
        const int64_t block = between + INT64_C(8) * h.stored;
        const int64_t start = t->is_vb ? at : at + header;
        if (t->end - start < block * h.channels) break;
        if (!is_odd && !is_of_readout(t, mdh, start + block * (h.channels - 1))) {
            ADD_NOTE(t, "a channel of readout %lld has the number of another readout: the file may be damaged.\n",
                     (long long)t->count);
            is_odd = 1;
        }
        LMR_TRY(add(t, &h, &(lmr_reader_place){.data = start + between, .channel_step = block}));
        at = start + block * h.channels;
    }
    ADD_NOTE(t, "the measurement was not ended, or the file is cut short: its %lld complete readouts are read.\n",
             (long long)t->count);
    return LARMOR_OK;
}

larmor_status lmr_twix_open(const lmr_source *source, const char *measurement, lmr_twix **out)
{
    *out = NULL;
    LMR_NEW_ZEROS(lmr_twix, t, 1);
    t->source = source;
    larmor_status st = choose(t, measurement);
    if (!st) st = read_protocol(t);
    if (!st) st = read_headers(t);
    if (!st) st = lmr_bytes_end(&t->wave_data);
    if (!st && t->unknown_packets)
        ADD_NOTE(t, "physiology (PMU) in a layout that is not that of VD and VE is left out: %d packet%s.\n",
                 t->unknown_packets, t->unknown_packets > 1 ? "s" : "");
    if (!st && !t->count) st = LMR_FAIL(LARMOR_ERR_FORMAT, "no readouts in the measurement.");
    return LMR_GIVE(out, t, lmr_twix_free, st);
}

void lmr_twix_free(lmr_twix *t)
{
    if (!t) return;
    LMR_FREE(t->text, t->head, t->place, t->wave);
    lmr_bytes_free(&t->wave_data);
    free(t);
}
