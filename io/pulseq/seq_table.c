/* The tables of a Pulseq sequence: rows by their numbers, shapes, names. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/pulseq/labels.h"
#include "io/pulseq/seq.h"

#define MOST_ID 2147483647.

static const struct {
    const char *name;
    int columns;
} tables[SEQ_TABLES] = {[SEQ_BLOCKS] = {"BLOCKS", BLOCK_COLUMNS},
                        [SEQ_RF] = {"RF", RF_COLUMNS},
                        [SEQ_GRADIENTS] = {"GRADIENTS", GRADIENT_COLUMNS},
                        [SEQ_TRAPS] = {"TRAP", TRAP_COLUMNS},
                        [SEQ_ADC] = {"ADC", ADC_COLUMNS},
                        [SEQ_DELAYS] = {"DELAYS", 1},
                        [SEQ_EXTENSIONS] = {"EXTENSIONS", EXTENSION_COLUMNS},
                        [SEQ_SETS] = {"LABELSET", LABEL_COLUMNS},
                        [SEQ_INCS] = {"LABELINC", LABEL_COLUMNS},
                        [SEQ_SOFT] = {"DELAYS", SOFT_COLUMNS},
                        [SEQ_ROTATIONS] = {"ROTATIONS", ROTATION_COLUMNS}};

static larmor_status check_id(const seq *s, const char *what, double id)
{
    if (id >= 1 && id <= MOST_ID && id == floor(id)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s has the number %.6g, a whole number from 1 to 2147483647 expected.",
                    s->path, what, id);
}

larmor_status seq_add(seq *s, int table, double id, double **row)
{
    seq_table *t = &s->table[table];
    t->columns = tables[table].columns;
    LMR_TRY(check_id(s, tables[table].name, id));
    const size_t width = 1 + (size_t)t->columns;
    LMR_TRY(lmr_grow(&t->rows, t->count, &t->room, width * sizeof *t->rows));
    double *at = t->rows + t->count++ * (int64_t)width;
    memset(at, 0, width * sizeof *at);
    at[0] = id;
    *row = at + 1;
    return LARMOR_OK;
}

static int by_id(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_shape_id(const void *a, const void *b)
{
    const int64_t x = ((const seq_shape *)a)->id;
    const int64_t y = ((const seq_shape *)b)->id;
    return (x > y) - (x < y);
}

static larmor_status twice(const seq *s, const char *what, double id)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s has the number %.0f twice.", s->path, what, id);
}

larmor_status seq_sort(seq *s)
{
    for (int n = 0; n < SEQ_TABLES; n++) {
        seq_table *t = &s->table[n];
        const int64_t width = 1 + t->columns;
        if (n == SEQ_BLOCKS || !t->count) continue;
        qsort(t->rows, (size_t)t->count, (size_t)width * sizeof *t->rows, by_id);
        for (int64_t i = 1; i < t->count; i++)
            if (t->rows[i * width] == t->rows[(i - 1) * width]) return twice(s, tables[n].name, t->rows[i * width]);
    }
    if (s->shapes) qsort(s->shape, (size_t)s->shapes, sizeof *s->shape, by_shape_id);
    for (int64_t i = 1; i < s->shapes; i++)
        if (s->shape[i].id == s->shape[i - 1].id) return twice(s, "SHAPES", (double)s->shape[i].id);
    for (int64_t i = 0; i < s->table[SEQ_TRAPS].count; i++) {
        const double id = s->table[SEQ_TRAPS].rows[i * (1 + TRAP_COLUMNS)];
        if (seq_find(s, SEQ_GRADIENTS, id)) return twice(s, "GRADIENTS with TRAP", id);
    }
    return LARMOR_OK;
}

double *seq_find(const seq *s, int table, double id)
{
    const seq_table *t = &s->table[table];
    if (!t->count) return NULL;
    double *row = bsearch(&id, t->rows, (size_t)t->count, (1 + (size_t)t->columns) * sizeof *t->rows, by_id);
    return row ? row + 1 : NULL;
}

int64_t seq_index(const seq *s, int table, const double *row)
{
    return (row - s->table[table].rows) / (1 + s->table[table].columns);
}

larmor_status seq_add_shape(seq *s, double id, double samples)
{
    LMR_TRY(check_id(s, "SHAPES", id));
    LMR_REFUSE(!(samples >= 0 && samples <= MOST_ID && samples == floor(samples)), LARMOR_ERR_FORMAT,
               "%s: shape %.0f has %.6g samples.", s->path, id, samples);
    LMR_TRY(lmr_grow(&s->shape, s->shapes, &s->shapes_room, sizeof *s->shape));
    s->shape[s->shapes++] = (seq_shape){.id = (int64_t)id, .samples = (int64_t)samples, .at = s->packed};
    return LARMOR_OK;
}

larmor_status seq_add_number(seq *s, double value)
{
    LMR_TRY(lmr_grow(&s->pool, s->packed, &s->packed_room, sizeof *s->pool));
    s->pool[s->packed++] = value;
    s->shape[s->shapes - 1].packed++;
    return LARMOR_OK;
}

int seq_label(const char *name)
{
    const char *known;
    for (int i = 0; (known = lmr_pulseq_label(i)); i++)
        if (!strcmp(known, name)) return i;
    return -1;
}

int seq_extension(const char *name)
{
    static const struct {
        const char *name;
        int table;
    } known[] = {{"LABELSET", SEQ_SETS},       {"LABELINC", SEQ_INCS},   {"DELAYS", SEQ_SOFT},
                 {"ROTATIONS", SEQ_ROTATIONS}, {"TRIGGERS", SEQ_TABLES}, {"RF_SHIMS", SEQ_TABLES}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) return known[i].table;
    return -1;
}

int seq_hint(seq *s, const char *text, size_t length)
{
    char hint[SEQ_HINT];
    snprintf(hint, sizeof hint, "%.31s", lmr_printable(text, (int64_t)length, SEQ_HINT - 1).s);
    for (int i = 0; i < s->hints; i++)
        if (!strcmp(s->hint[i], hint)) return i;
    if (s->hints == SEQ_HINTS) return -1;
    memcpy(s->hint[s->hints], hint, sizeof hint);
    return s->hints++;
}

/* ---- definitions ---- */

#define METRES_UP 5. /* files before 1.4 have millimetres: no field of view has 5 metres */

static larmor_status take_raster(const seq *s, const char *key, const double *values, int count, double *to)
{
    if (count == 1 && values[0] >= 1e-9 && values[0] <= 1) {
        *to = values[0];
        return LARMOR_OK;
    }
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s is no time from 1 ns to 1 s.", s->path, key);
}

static larmor_status check_required(const seq *s, const char *text)
{
    while (text && *text) {
        char name[32];
        const size_t length = strcspn(text, " \t");
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), text);
        LMR_REFUSE(length && seq_extension(name) < 0, LARMOR_ERR_UNSUPPORTED,
                   "%s: needs the extension %s, which larmor does not know.", s->path,
                   lmr_printable(name, (int64_t)strlen(name), 31).s);
        text += length;
        text += strspn(text, " \t");
    }
    return LARMOR_OK;
}

/* 1 if the values are characters, which is how some old files have their name. */
static int spell(const double *values, int count, char *to, int room)
{
    int good = count > 1 && count < room;
    for (int i = 0; i < count && good; i++) good = values[i] >= ' ' && values[i] <= '~';
    for (int i = 0; i < count && good; i++) to[i] = (char)values[i];
    if (good) to[count] = '\0';
    return good;
}

larmor_status seq_define(seq *s, const char *key, const double *values, int count, const char *text)
{
    if (!strcmp(key, "GradientRasterTime")) return take_raster(s, key, values, count, &s->gradient_raster);
    if (!strcmp(key, "RadiofrequencyRasterTime")) return take_raster(s, key, values, count, &s->rf_raster);
    if (!strcmp(key, "BlockDurationRaster")) return take_raster(s, key, values, count, &s->block_raster);
    if (!strcmp(key, "RequiredExtensions")) return check_required(s, text);
    if (!strcmp(key, "Name") && spell(values, count, s->name, sizeof s->name)) return LARMOR_OK;
    if (!strcmp(key, "Name") && text)
        snprintf(s->name, sizeof s->name, "%.63s", lmr_printable(text, (int64_t)strlen(text), sizeof s->name - 1).s);
    if (strcmp(key, "FOV") != 0 || count != 3) return LARMOR_OK;
    double largest = 0;
    for (int d = 0; d < 3; d++) largest = fmax(largest, values[d]);
    for (int d = 0; d < 3; d++) {
        const double metres = largest > METRES_UP ? 1e-3 * values[d] : values[d];
        s->fov_m[d] = metres > 0 && metres < METRES_UP ? metres : 0;
    }
    return LARMOR_OK;
}

larmor_status seq_check_version(const seq *s)
{
    const int *v = s->version;
    if (v[0] == 1 && v[1] >= 2 && v[1] <= 5) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "%s: Pulseq version %d.%d.%d; 1.2 to 1.5 are read.", s->path, v[0], v[1],
                    v[2]);
}

void seq_free(seq *s)
{
    for (int n = 0; n < SEQ_TABLES; n++) free(s->table[n].rows);
    for (int64_t i = 0; i < s->shapes; i++) free(s->shape[i].values);
    LMR_FREE(s->shape, s->pool);
    memset(s, 0, sizeof *s);
}
