/* What a DICOM file of images is: sizes, place, series, in Explicit or Implicit VR Little Endian (DICOM PS3.5, 7 and
 * PS3.10, 7). Pixels are not looked at, so they may be compressed. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/reader/parsers.h"

enum { PREAMBLE = 128, MOST_DEPTH = 16, ROOM = 65, UNDEFINED = -1 };
#define SAME_PLACE 1e-3 /* mm */

enum {
    TRANSFER_SYNTAX = 0x00020010,
    ITEM = (int)0xfffee000,
    ITEM_END = (int)0xfffee00d,
    SEQUENCE_END = (int)0xfffee0dd,
    PIXEL_DATA = 0x7fe00010
};

typedef struct dicom {
    const lmr_source *source;
    int is_implicit, ignored; /* ignored: depth of sequences that are walked over */
    char syntax[ROOM], sop_class[ROOM], series[ROOM], description[ROOM];
    double rows, columns, frames, bits, thickness, gap, spacing[2], direction[6];
    double *place; /* [3, places] positions of slices */
    int64_t places, room;
} dicom;

LMR_FREES(free_dicom, dicom, place)

typedef struct element {
    int tag;
    int64_t value, length; /* where the value is; UNDEFINED: up to a mark */
    int is_sequence;
} element;

static larmor_status damaged(const dicom *d)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: DICOM file cut short or damaged. Copy it again.", d->source->path);
}

/* ---- elements ---- */

static int has_long_length(const char *vr)
{
    static const char *const known[] = {"OB", "OD", "OF", "OL", "OV", "OW", "SQ", "SV", "UC", "UN", "UR", "UT", "UV"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!memcmp(vr, known[i], 2)) return 1;
    return 0;
}

static larmor_status read_head(const dicom *d, int64_t at, int64_t end, element *e)
{
    unsigned char head[12] = {0};
    if (end - at < 8) return damaged(d);
    LMR_TRY(lmr_source_read(d->source, at, head, end - at < 12 ? 8 : 12));
    const uint64_t group = lmr_little_endian(head, 2);
    const char *vr = (const char *)head + 4;
    *e = (element){.tag = (int)(group << 16 | lmr_little_endian(head + 2, 2)), .value = at + 8};
    uint64_t length = lmr_little_endian(head + 4, 4);
    if (group != 0xfffe && (group == 2 || !d->is_implicit)) {
        e->is_sequence = !memcmp(vr, "SQ", 2);
        if (has_long_length(vr)) e->value += 4;
        length = has_long_length(vr) ? lmr_little_endian(head + 8, 4) : lmr_little_endian(head + 6, 2);
    }
    e->length = length == 0xffffffff ? UNDEFINED : (int64_t)length;
    if (e->value > end || e->length > end - e->value) return damaged(d);
    return LARMOR_OK;
}

static larmor_status read_text(const dicom *d, const element *e, void *to, int room)
{
    char *text = to;
    int64_t bytes = (uint64_t)e->length < (uint64_t)room ? e->length : room - 1;
    LMR_TRY(lmr_source_read(d->source, e->value, text, (size_t)bytes));
    while (bytes && (text[bytes - 1] == ' ' || !text[bytes - 1])) bytes--;
    text[bytes] = '\0';
    return LARMOR_OK;
}

/* Numbers with backslashes between; 0 in the place of what is none. */
static larmor_status read_numbers(const dicom *d, const element *e, void *to, int count)
{
    double *numbers = to;
    char text[256];
    LMR_TRY(read_text(d, e, text, sizeof text));
    char *at = text;
    for (int i = 0; i < count; i++) {
        numbers[i] = strtod(at, &at);
        if (!isfinite(numbers[i])) numbers[i] = 0;
        at += *at == '\\';
    }
    return LARMOR_OK;
}

static larmor_status read_short(const dicom *d, const element *e, void *to, int count LMR_UNUSED)
{
    unsigned char bytes[2];
    if (e->length != 2) return damaged(d);
    LMR_TRY(lmr_source_read(d->source, e->value, bytes, 2));
    *(double *)to = (double)lmr_little_endian(bytes, 2);
    return LARMOR_OK;
}

static larmor_status add_place(dicom *d, const element *e)
{
    LMR_TRY(lmr_grow(&d->place, d->places, &d->room, 3 * sizeof *d->place));
    return read_numbers(d, e, d->place + 3 * d->places++, 3);
}

typedef larmor_status reader(const dicom *d, const element *e, void *to, int count);

static larmor_status take(dicom *d, const element *e)
{
    const struct {
        int tag;
        reader *read;
        void *to;
        int count;
    } known[] = {{TRANSFER_SYNTAX, read_text, d->syntax, ROOM}, {0x00080016, read_text, d->sop_class, ROOM},
                 {0x0008103e, read_text, d->description, ROOM}, {0x0020000e, read_text, d->series, ROOM},
                 {0x00180050, read_numbers, &d->thickness, 1},  {0x00180088, read_numbers, &d->gap, 1},
                 {0x00200037, read_numbers, d->direction, 6},   {0x00280008, read_numbers, &d->frames, 1},
                 {0x00280010, read_short, &d->rows, 1},         {0x00280011, read_short, &d->columns, 1},
                 {0x00280030, read_numbers, d->spacing, 2},     {0x00280100, read_short, &d->bits, 1}};
    if (e->tag == 0x00200032) return add_place(d, e);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].tag == e->tag) return known[i].read(d, e, known[i].to, known[i].count);
    return LARMOR_OK;
}

/* Functional groups of all frames and of each, and in them position, orientation and measures. */
static int has_geometry(int tag)
{
    return tag == 0x52009229 || tag == 0x52009230 || tag == 0x00209113 || tag == 0x00209116 || tag == 0x00289110;
}

static larmor_status walk(dicom *d, int64_t at, int64_t end, int depth, int64_t *after);

static larmor_status walk_items(dicom *d, const element *sequence, int64_t end, int depth, int64_t *after)
{
    const int is_ignored = !has_geometry(sequence->tag);
    element item;
    int64_t at = sequence->value;
    if (sequence->length >= 0) end = at + sequence->length;
    d->ignored += is_ignored;
    while (at < end) {
        LMR_TRY(read_head(d, at, end, &item));
        at = item.value;
        if (item.tag == SEQUENCE_END) break;
        if (item.tag != ITEM) return damaged(d);
        LMR_TRY(walk(d, at, item.length < 0 ? end : at + item.length, depth + 1, &at));
    }
    d->ignored -= is_ignored;
    *after = at;
    return LARMOR_OK;
}

/* Elements up to `end` or the mark of an item's end; after: where the next one is. */
static larmor_status walk(dicom *d, int64_t at, int64_t end, int depth, int64_t *after)
{
    element e;
    if (depth > MOST_DEPTH) return damaged(d);
    while (at < end) {
        LMR_TRY(read_head(d, at, end, &e));
        if (e.tag == PIXEL_DATA && !depth) break;
        at = e.value + e.length;
        if (e.tag == ITEM_END || e.tag == SEQUENCE_END) {
            at = e.value;
            break;
        }
        if (e.length < 0 || has_geometry(e.tag))
            LMR_TRY(walk_items(d, &e, end, depth, &at));
        else if (!e.is_sequence && !d->ignored)
            LMR_TRY(take(d, &e));
    }
    *after = at;
    return LARMOR_OK;
}

/* ---- what they say ---- */

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

typedef struct stack { /* slices along the normal of rows and columns */
    double normal[3], step, corner[3];
    int64_t slices;
} stack;

static larmor_status find_stack(const dicom *d, stack *s)
{
    const double *r = d->direction, *c = d->direction + 3;
    *s = (stack){.normal = {r[1] * c[2] - r[2] * c[1], r[2] * c[0] - r[0] * c[2], r[0] * c[1] - r[1] * c[0]},
                 .step = d->gap > 0 ? d->gap : d->thickness,
                 .slices = 1};
    if (!d->places) return LARMOR_OK;
    LMR_HEAP LMR_NEW(double, along, d->places);
    int64_t lowest = 0;
    for (int64_t i = 0; i < d->places; i++) {
        along[i] = 0;
        for (int k = 0; k < 3; k++) along[i] += s->normal[k] * d->place[3 * i + k];
        if (along[i] < along[lowest]) lowest = i;
    }
    memcpy(s->corner, d->place + 3 * lowest, sizeof s->corner);
    qsort(along, (size_t)d->places, sizeof *along, compare);
    for (int64_t i = 1; i < d->places; i++) s->slices += along[i] - along[i - 1] > SAME_PLACE;
    if (s->slices > 1) s->step = (along[d->places - 1] - along[0]) / (double)(s->slices - 1);
    return LARMOR_OK;
}

static larmor_status check_syntax(const dicom *d)
{
    LMR_REFUSE(!strcmp(d->syntax, "1.2.840.10008.1.2.2") || !strcmp(d->syntax, "1.2.840.10008.1.2.1.99"),
               LARMOR_ERR_FORMAT, "%s: DICOM with the transfer syntax %s is not read.", d->source->path, d->syntax);
    return LARMOR_OK;
}

static larmor_status read_dicom(const lmr_source *source, dicom *d)
{
    char mark[4];
    int64_t at = PREAMBLE + 4;
    *d = (dicom){.source = source, .frames = 1};
    if (source->size >= at) LMR_TRY(lmr_source_read(source, PREAMBLE, mark, 4));
    LMR_REFUSE(source->size < at || memcmp(mark, "DICM", 4) != 0, LARMOR_ERR_FORMAT, "%s: not a DICOM file.",
               source->path);
    element e = {.tag = 0};
    while (at < source->size) { /* the head, whose group is 2 */
        LMR_TRY(read_head(d, at, source->size, &e));
        if (e.tag >> 16 != 2) break;
        if (e.length < 0) return damaged(d);
        LMR_TRY(take(d, &e));
        at = e.value + e.length;
    }
    LMR_TRY(check_syntax(d));
    d->is_implicit = !strcmp(d->syntax, "1.2.840.10008.1.2");
    return walk(d, at, source->size, 0, &at);
}

static larmor_status describe_read(const dicom *d, larmor_image_info *info)
{
    stack s;
    LMR_REFUSE(d->rows < 1 || d->columns < 1 || !(d->frames >= 1 && d->frames <= 1e9), LARMOR_ERR_FORMAT,
               "%s: a DICOM file without images.", d->source->path);
    LMR_TRY(find_stack(d, &s));
    const int64_t frames = (int64_t)d->frames;
    const int64_t slices = frames % s.slices ? 1 : s.slices;
    info->shape = LARMOR_SHAPE((int64_t)d->columns, (int64_t)d->rows, slices);
    info->images = frames / slices;
    snprintf(info->type, sizeof info->type, "%g bit", d->bits);
    snprintf(info->inside, sizeof info->inside, "%s", d->series);
    static const char *const classes[] = {"1.2.840.10008.5.1.4.1.1.4", "MR Image Storage",
                                          "1.2.840.10008.5.1.4.1.1.4.1", "Enhanced MR Image Storage"};
    const char *of_class = d->sop_class;
    for (int i = 0; i < 4; i += 2)
        if (!strcmp(d->sop_class, classes[i])) of_class = classes[i + 1];
    snprintf(info->notes, sizeof info->notes, "SOPClass: %s\n%s%s%s", of_class,
             *d->description ? "Description: " : "", d->description, *d->description ? "\n" : "");
    info->has_geometry = d->places > 0 && s.step > 0 && d->spacing[0] > 0 && d->spacing[1] > 0;
    const double step[3] = {d->spacing[1], d->spacing[0], s.step}, *row = d->direction, *column = d->direction + 3;
    larmor_image_meta *m = &info->meta;
    for (int k = 0; k < 3; k++) {
        const int64_t n = info->shape.dim[k];
        m->fov_mm[k] = step[k] * (double)n;
        m->read_dir[k] = row[k];
        m->phase_dir[k] = column[k];
        m->slice_dir[k] = s.normal[k];
        m->position_mm[k] = s.corner[k] + (double)((int64_t)d->columns / 2) * step[0] * row[k] +
                            (double)((int64_t)d->rows / 2) * step[1] * column[k] +
                            (double)(slices / 2) * step[2] * s.normal[k];
    }
    return LARMOR_OK;
}

static larmor_status describe(const lmr_input *input, larmor_image_info *info)
{
    LMR_FREED_BY(free_dicom) dicom d = {.place = NULL};
    LMR_TRY(read_dicom(&input->source, &d));
    return describe_read(&d, info);
}

static larmor_status read_meta(const lmr_input *input, larmor_image_meta *meta)
{
    larmor_image_info info = {.images = 1};
    LMR_TRY(describe(input, &info));
    *meta = info.meta;
    return LARMOR_OK;
}

const lmr_parser lmr_parser_dcm = {.suffix = ".dcm", .read_meta = read_meta, .describe = describe};
