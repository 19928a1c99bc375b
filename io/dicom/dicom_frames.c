/* The attributes of Enhanced MR Image Storage: one file for all slices, what they share and what each has of its own
 * in functional groups (DICOM PS3.3, A.36 and C.7.6.16). SPDX-License-Identifier: Apache-2.0 */
#include <strings.h>

#include "core/core.h"
#include "io/dicom/dicom.h"

#define ENHANCED_MR_IMAGE_STORAGE "1.2.840.10008.5.1.4.1.1.4.1"

enum { /* sequences */
       SHARED_GROUPS = 0x52009229,
       FRAME_GROUPS = 0x52009230,
       DIMENSIONS = 0x00209222,
       DIMENSION_ORGANIZATIONS = 0x00209221,
       FRAME_CONTENT = 0x00209111,
       PLANE_POSITION = 0x00209113,
       PLANE_ORIENTATION = 0x00209116,
       PIXEL_MEASURES = 0x00289110,
       PIXEL_VALUES = 0x00289145,
       FRAME_WINDOW = 0x00289132,
       FRAME_ANATOMY = 0x00209071,
       ANATOMIC_REGION = 0x00082218,
       FRAME_TYPE = 0x00189226,
       ECHO = 0x00189114,
       TIMING = 0x00189112
};

/* Attributes that are set next are in item `index` of the sequence, until leave. */
static void enter(lmr_dicom_setter *s, uint32_t sequence, int64_t index)
{
    s->path[2 * s->depth] = sequence;
    s->path[2 * s->depth++ + 1] = (uint32_t)index;
}

static void leave(lmr_dicom_setter *s)
{
    s->depth--;
}

/* ---- the series ---- */

static void set_values(lmr_dicom_setter *s, const lmr_dicom_series *series)
{
    lmr_set(s, 0x00089205, "MONOCHROME");
    lmr_set(s, 0x00089206, "VOLUME");
    lmr_set(s, 0x00089207, "NONE");
    lmr_set(s, 0x00089208, series->component);
    lmr_set(s, 0x00089209, "UNKNOWN");
}

/* A date that a header does not say is that of files without one. */
static void set_content_date(lmr_dicom_setter *s, const lmr_study *y)
{
    lmr_dicom_value date = lmr_dicom_date(y->text[LMR_SERIES_DATE]), time = lmr_dicom_time(y->text[LMR_SERIES_TIME]);
    if (!*date.s) date = lmr_dicom_date(y->text[LMR_STUDY_DATE]);
    if (!*time.s) time = lmr_dicom_time(y->text[LMR_STUDY_TIME]);
    lmr_set(s, 0x00080023, *date.s ? date.s : "19000101");
    lmr_set(s, 0x00080033, *time.s ? time.s : "000000");
}

static void set_file(lmr_dicom_setter *s, const lmr_dicom_series *series, int64_t frames)
{
    lmr_set(s, 0x00080008, "DERIVED\\PRIMARY\\VOLUME\\NONE");
    lmr_set(s, 0x00080016, ENHANCED_MR_IMAGE_STORAGE);
    lmr_set(s, 0x00080018, lmr_dicom_uid(series->identity, "frames", 0).s);
    set_content_date(s, &series->study);
    set_values(s, series);
    lmr_set_positive(s, 0x00180087, LMR_TYPE_3, series->study.number[LMR_FIELD_TESLA]);
    lmr_set(s, 0x00189004, "RESEARCH");
    lmr_set(s, 0x00189174, "UNKNOWN"); /* by whose standard it was safe, which no header says */
    lmr_set(s, 0x00200013, "1");
    lmr_set_integer(s, 0x00280008, frames);
    lmr_set(s, 0x00280301, "NO");
    lmr_set(s, 0x00282110, "00");
    lmr_set(s, 0x00400555, ""); /* nothing is known of the context */
    lmr_set(s, 0x20500020, "IDENTITY");
}

/* ---- dimensions ---- */

typedef struct dimension {
    const char *pointer, *group; /* the attribute and the functional group that it is in */
} dimension;

/* In the order that scanners write, where slices come first; echo times are there where there are several. */
static const dimension dimensions[] = {{"(0020,9056)", "(0020,9111)"},
                                       {"(0020,9057)", "(0020,9111)"},
                                       {"(0020,9128)", "(0020,9111)"},
                                       {"(0018,9082)", "(0018,9114)"}};

static void set_dimensions(lmr_dicom_setter *s, const lmr_dicom_series *series, int several_echoes)
{
    const lmr_dicom_value uid = lmr_dicom_uid(series->identity, "dimensions", 0);
    enter(s, DIMENSION_ORGANIZATIONS, 0);
    lmr_set(s, 0x00209164, uid.s);
    leave(s);
    for (int i = 0; i < 3 + several_echoes; i++) {
        enter(s, DIMENSIONS, i);
        lmr_set(s, 0x00209164, uid.s);
        lmr_set(s, 0x00209165, dimensions[i].pointer);
        lmr_set(s, 0x00209167, dimensions[i].group);
        leave(s);
    }
}

/* ---- functional groups ---- */

static void set_anatomy(lmr_dicom_setter *s, const lmr_study *y)
{
    const char *part = y->text[LMR_BODY_PART];
    const int is_head = !strcasecmp(part, "head") || !strcasecmp(part, "brain");
    enter(s, FRAME_ANATOMY, 0);
    lmr_set(s, 0x00209072, "U");
    enter(s, ANATOMIC_REGION, 0);
    lmr_set(s, 0x00080100, is_head ? "69536005" : "38266002");
    lmr_set(s, 0x00080102, "SCT");
    lmr_set(s, 0x00080104, is_head ? "Head" : "Entire body");
    leave(s);
    leave(s);
}

static void set_timing(lmr_dicom_setter *s, const lmr_study *y)
{
    const double repetition = y->number[LMR_TR_MS], flip = y->number[LMR_FLIP_DEG];
    if (!(repetition > 0) && !(flip > 0)) return;
    enter(s, TIMING, 0);
    lmr_set_positive(s, 0x00180080, LMR_TYPE_3, repetition);
    lmr_set_positive(s, 0x00181314, LMR_TYPE_3, flip);
    leave(s);
}

static void set_shared(lmr_dicom_setter *s, const lmr_dicom_series *series, const lmr_dicom_place *place)
{
    enter(s, SHARED_GROUPS, 0);
    enter(s, PIXEL_MEASURES, 0);
    lmr_set_measures(s, series, place);
    leave(s);
    enter(s, PIXEL_VALUES, 0);
    lmr_set_rescale(s, series);
    leave(s);
    enter(s, FRAME_WINDOW, 0);
    lmr_set_window(s, series);
    leave(s);
    enter(s, FRAME_TYPE, 0);
    lmr_set(s, 0x00089007, "DERIVED\\PRIMARY\\VOLUME\\NONE");
    set_values(s, series);
    leave(s);
    set_anatomy(s, &series->study);
    set_timing(s, &series->study);
    leave(s);
}

typedef struct frame {
    int64_t number, slice; /* from 0 */
    int time, echo;        /* from 1 */
} frame;

static void set_frame(lmr_dicom_setter *s, const lmr_dicom_series *series, const frame *f, int several_echoes,
                      const larmor_image_meta *meta, const lmr_dicom_place *place)
{
    char values[64], echo[16] = "";
    const double echo_ms = lmr_echo_time(&series->study, meta->contrast);
    if (several_echoes) snprintf(echo, sizeof echo, "\\%d", f->echo);
    snprintf(values, sizeof values, "1\\%d\\%d%s", (int)f->slice + 1, f->time, echo);
    enter(s, FRAME_GROUPS, f->number);
    enter(s, FRAME_CONTENT, 0);
    lmr_set(s, 0x00209056, "1");
    lmr_set_integer(s, 0x00209057, f->slice + 1);
    lmr_set_integer(s, 0x00209128, f->time);
    lmr_set(s, 0x00209157, values);
    leave(s);
    enter(s, PLANE_POSITION, 0);
    lmr_set_numbers(s, 0x00200032, place->position, 3);
    leave(s);
    enter(s, PLANE_ORIENTATION, 0); /* not shared: dcm2niix 2022 takes volumes apart where it is */
    lmr_set_numbers(s, 0x00200037, place->direction, 6);
    leave(s);
    if (echo_ms > 0) {
        enter(s, ECHO, 0);
        lmr_set_number(s, 0x00189082, echo_ms);
        leave(s);
    }
    leave(s);
}

static int has_several_echoes(const lmr_study *y, const lmr_images *images)
{
    for (int i = 1; i < images->count; i++)
        if (lmr_echo_time(y, images->image[i].meta.contrast) != lmr_echo_time(y, images->image[0].meta.contrast))
            return 1;
    return 0;
}

larmor_status lmr_dicom_describe_frames(const lmr_dicom_series *series, void *file, const lmr_images *images,
                                        const lmr_volumes *order)
{
    lmr_dicom_setter s = {series->plugin, file, LARMOR_OK, {0}, 0};
    const int several_echoes = has_several_echoes(&series->study, images);
    const int64_t planes = order->slices * images->dim[2];
    LMR_HEAP int *times = calloc((size_t)images->count, sizeof *times); /* volumes of each contrast so far */
    LMR_HEAP int *contrast = lmr_new(images->count, sizeof *contrast);
    int contrasts = 0;
    if (!times || !contrast) return LMR_NO_MEMORY();
    lmr_set_common(&s, series);
    set_file(&s, series, order->volumes * planes);
    lmr_set_pixels(&s, series);
    set_dimensions(&s, series, several_echoes);
    for (int v = 0; v < order->volumes && !s.st; v++) {
        const int own = images->image[order->order[v * order->slices]].meta.contrast;
        int c = 0;
        while (c < contrasts && (!several_echoes || contrast[c] != own)) c++;
        contrasts += c == contrasts;
        contrast[c] = own;
        times[c]++;
        for (int64_t k = 0; k < planes && !s.st; k++) {
            const larmor_image_meta *meta = &images->image[order->order[v * order->slices + k / images->dim[2]]].meta;
            const lmr_dicom_place place = lmr_dicom_place_of(series, meta, k % images->dim[2]);
            const frame f = {v * planes + k, k, times[c], c + 1};
            if (!f.number) set_shared(&s, series, &place);
            set_frame(&s, series, &f, several_echoes, meta, &place);
            if (!s.st) s.st = lmr_go_on();
        }
    }
    return s.st;
}
