/* Pulseq's binary files (1.5.2): the same tables as in text. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/pulseq/seq.h"

#define PS 1e-12

typedef struct reading {
    seq *s;
    const unsigned char *at, *end;
    int is_short; /* 1: the file ended within something */
} reading;

static uint64_t take(reading *r, int bytes)
{
    if (r->end - r->at < bytes) {
        r->is_short = 1;
        r->at = r->end;
        return 0;
    }
    const uint64_t value = lmr_little_endian(r->at, bytes);
    r->at += bytes;
    return value;
}

static int64_t take_i64(reading *r)
{
    return (int64_t)take(r, 8);
}

static int32_t take_i32(reading *r)
{
    return (int32_t)(uint32_t)take(r, 4);
}

static double take_f64(reading *r)
{
    const uint64_t bits = take(r, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) r->is_short = 1; /* refused as damaged */
    return value;
}

static double take_f32(reading *r)
{
    const uint32_t bits = (uint32_t)take(r, 4);
    float value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) r->is_short = 1;
    return (double)value;
}

/* So many bytes, or NULL. */
static const char *take_bytes(reading *r, int64_t count)
{
    if (count < 0 || count > r->end - r->at) {
        r->is_short = 1;
        return NULL;
    }
    const char *bytes = (const char *)r->at;
    r->at += count;
    return bytes;
}

static larmor_status damaged(const reading *r)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT,
                    "%s: damaged or cut short: a binary Pulseq file ends in the middle, or has a "
                    "number that is not finite. Copy it again.",
                    r->s->path);
}

/* Columns of a row: what they are in the file, a letter each, d float64, i int32, l int64, p int64 in ps, c a
 * character. */
static const struct {
    int code, table;
    const char *columns;
    int has_type;
} sections[] = {{2, SEQ_BLOCKS, NULL, 0},      {3, SEQ_RF, "diiippddddc", 0}, {4, SEQ_GRADIENTS, "dddiip", 0},
                {5, SEQ_TRAPS, "dpppp", 0},    {6, SEQ_ADC, "lppddddi", 0},   {9, SEQ_EXTENSIONS, "iii", 0},
                {11, SEQ_SETS, "ii", 1},       {12, SEQ_INCS, "ii", 1},       {13, SEQ_SOFT, "ipd", 1},
                {15, SEQ_ROTATIONS, "dddd", 1}};

static double take_column(reading *r, char kind)
{
    switch (kind) {
    case 'd':
        return take_f64(r);
    case 'i':
        return take_i32(r);
    case 'l':
        return (double)take_i64(r);
    case 'p':
        return PS * (double)take_i64(r);
    default:
        return (double)take(r, 1);
    }
}

static larmor_status take_hint(reading *r, double *row)
{
    const int64_t length = take_i32(r);
    const char *text = take_bytes(r, length);
    if (text) row[SOFT_HINT] = seq_hint(r->s, text, (size_t)length);
    return LARMOR_OK;
}

static larmor_status take_table(reading *r, int table, const char *columns, int has_type)
{
    double *row;
    if (has_type) r->s->type[table] = take_i32(r);
    const int64_t count = take_i64(r);
    for (int64_t i = 0; i < count && !r->is_short; i++) {
        const double id = table == SEQ_BLOCKS ? (double)i + 1 : take_i32(r);
        if (r->is_short) break;
        LMR_TRY(seq_add(r->s, table, id, &row));
        if (table == SEQ_BLOCKS) row[BLOCK_DURATION] = (double)take_i64(r);
        for (int c = 1; table == SEQ_BLOCKS && c < BLOCK_COLUMNS; c++) row[c] = take_i32(r);
        for (int c = 0; columns && columns[c]; c++) row[c] = take_column(r, columns[c]);
        if (table == SEQ_SETS || table == SEQ_INCS) row[LABEL_NAME] -= 1;
        if (table == SEQ_SOFT) LMR_TRY(take_hint(r, row));
    }
    return r->is_short ? damaged(r) : LARMOR_OK;
}

static larmor_status take_shapes(reading *r)
{
    const int64_t count = take_i64(r);
    for (int64_t i = 0; i < count && !r->is_short; i++) {
        const int32_t id = take_i32(r);
        const int64_t samples = take_i64(r), packed = take_i64(r);
        if (packed < 0 || packed > (r->end - r->at) / 4) r->is_short = 1;
        if (r->is_short) break;
        LMR_TRY(seq_add_shape(r->s, id, (double)samples));
        for (int64_t n = 0; n < packed; n++) LMR_TRY(seq_add_number(r->s, take_f32(r)));
    }
    return r->is_short ? damaged(r) : LARMOR_OK;
}

enum { MOST_VALUES = 8 };

static larmor_status take_definition(reading *r)
{
    char key[64], text[256] = "";
    double values[MOST_VALUES];
    const int64_t length = take_i32(r);
    const char *name = take_bytes(r, length);
    const int64_t count = take_i32(r);
    const char kind = (char)take(r, 1);
    if (!name) return damaged(r);
    snprintf(key, sizeof key, "%.*s", (int)(length < 63 ? length : 63), name);
    if (kind == 'c') {
        const char *bytes = take_bytes(r, count);
        if (bytes) snprintf(text, sizeof text, "%.*s", (int)(count < 255 ? count : 255), bytes);
    } else if (kind == 'f' || kind == 'i') {
        for (int64_t i = 0; i < count && !r->is_short; i++) {
            const double value = kind == 'f' ? take_f64(r) : take_i32(r);
            if (i < MOST_VALUES) values[i] = value;
        }
    } else
        return damaged(r);
    if (r->is_short || count < 0) return damaged(r);
    return seq_define(r->s, key, values, kind != 'c' && count <= MOST_VALUES ? (int)count : 0, text);
}

static larmor_status take_definitions(reading *r)
{
    const int64_t count = take_i64(r);
    for (int64_t i = 0; i < count && !r->is_short; i++) LMR_TRY(take_definition(r));
    return r->is_short ? damaged(r) : LARMOR_OK;
}

/* What k-space does not depend on. */
static larmor_status skip(reading *r, int code)
{
    if (code != 7) take_i32(r);
    const int64_t count = take_i64(r);
    for (int64_t i = 0; i < count && !r->is_short; i++) {
        take_i32(r);
        int64_t bytes = code == 7 ? 8 : 24;
        if (code == 14) bytes = 16 * (int64_t)take_i32(r);
        take_bytes(r, bytes);
    }
    return r->is_short ? damaged(r) : LARMOR_OK;
}

static larmor_status take_section(reading *r, uint64_t code)
{
    const int n = (int)(code & 0xff);
    LMR_REFUSE(code >> 32 != 0xffffffff || (code & 0xffffffff) > 15, LARMOR_ERR_FORMAT,
               "%s: a section of a binary Pulseq file has the code %llx, which is not known.", r->s->path,
               (unsigned long long)code);
    if (n == 1) return take_definitions(r);
    if (n == 8) return take_shapes(r);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (sections[i].code == n) return take_table(r, sections[i].table, sections[i].columns, sections[i].has_type);
    return skip(r, n);
}

larmor_status seq_read_binary(seq *s, const unsigned char *data, int64_t bytes)
{
    reading r = {s, data + 8, data + bytes, 0};
    for (int i = 0; i < 3; i++) {
        const int64_t part = take_i64(&r);
        s->version[i] = part >= 0 && part < 1000 ? (int)part : 999;
    }
    LMR_TRY(seq_check_version(s));
    LMR_REFUSE(seq_before(s, 5), LARMOR_ERR_UNSUPPORTED,
               "%s: a binary Pulseq file of version %d.%d.%d; from 1.5 on they are read.", s->path, s->version[0],
               s->version[1], s->version[2]);
    while (r.at < r.end) {
        const uint64_t code = take(&r, 8);
        if (r.is_short) return damaged(&r);
        if (code == UINT64_C(0xffffffff00ffffff)) break; /* the signature, which is the last */
        LMR_TRY(take_section(&r, code));
    }
    return LARMOR_OK;
}
