/* DICOM's MR Image Storage: what the files of this folder share. Numbers of attributes and their types are those of
 * DICOM PS3.3 and PS3.6. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/dicom/plugin.h"
#include "io/images/volume.h"
#include "io/reader/mrd_study.h"
#include "larmor/larmor.h"

/* The plugin, which is looked for once. Errors: LARMOR_ERR_UNSUPPORTED, which says what is to be done. */
larmor_status lmr_dicom_find(const char *path, const lmr_dicom **plugin);

/* ---- texts (dicom_text.c) ---- */

enum { LMR_DICOM_ROOM = 260 }; /* bytes of a value with its end */

typedef struct lmr_dicom_value {
    char s[LMR_DICOM_ROOM];
} lmr_dicom_value;

/* At most so many characters, without control characters and backslashes; what is no UTF-8 becomes '?'. */
lmr_dicom_value lmr_dicom_text(const char *text, int most);

/* Of ISO 8601's "2026-11-27" and "10:11:12.5"; "" if it is no date or no time. */
lmr_dicom_value lmr_dicom_date(const char *text);
lmr_dicom_value lmr_dicom_time(const char *text);

/* Numbers in 16 characters each, whatever the program's locale is. */
lmr_dicom_value lmr_dicom_numbers(const double *numbers, int count);
lmr_dicom_value lmr_dicom_integer(int64_t number);

/* ---- UIDs (dicom_uid.c) ---- */

typedef struct lmr_identity { /* 128 bits that differ where what was mixed into them does */
    uint64_t half[2];
} lmr_identity;

lmr_identity lmr_identity_new(void);
void lmr_identity_mix(lmr_identity *identity, const void *data, size_t bytes);

/* "2.25." and a UUID of version 8 in decimals (DICOM PS3.5 B.2, RFC 9562), of the identity and a name. */
lmr_dicom_value lmr_dicom_uid(lmr_identity identity, const char *name, int64_t number);

/* 1 if it is one by DICOM PS3.5, 9. */
int lmr_is_uid(const char *text);

/* ---- the header (dicom_study.c) ---- */

/* What the XML header says, by larmor-reader; nothing of NULL. Errors: those of a reader. */
larmor_status lmr_study_read(const char *path, const char *xml, lmr_study *study);

/* Take out what points to a person: see docs/dicom.md. */
void lmr_study_anonymise(lmr_study *study);

/* ---- attributes (dicom_tags.c) ---- */

typedef struct lmr_dicom_series { /* what its images share */
    const lmr_dicom *plugin;
    lmr_study study;
    int anonymous, is_phase, is_signed, is_enhanced;
    int is_stacked;           /* 1: slices have one position */
    const char *component;    /* of complex images: "MAGNITUDE", "PHASE", or "REAL" */
    int64_t dim[3];           /* of an image */
    int repetitions;          /* 1 and the largest repetition */
    double slope;             /* of a stored 1 */
    double window[2], gap_mm; /* gap: from one slice to the next; 0: there is none, or they differ */
    lmr_dicom_value study_uid, frame_uid, series_uid, description;
    lmr_identity identity;
} lmr_dicom_series;

typedef struct lmr_dicom_setter { /* where attributes go; after an error all calls do nothing */
    const lmr_dicom *plugin;
    void *file;
    larmor_status st;
    uint32_t path[8]; /* of the item that they are in, tag and index of each sequence */
    int depth;
} lmr_dicom_setter;

/* Attributes of type 1 have a value, "unknown" if need be; those of type 2 are there without one, too; those of type
 * 3 only with one. */
enum { LMR_TYPE_1 = 1, LMR_TYPE_2, LMR_TYPE_3 };

void lmr_set(lmr_dicom_setter *s, uint32_t tag, const char *value);
void lmr_set_numbers(lmr_dicom_setter *s, uint32_t tag, const double *numbers, int count);
void lmr_set_number(lmr_dicom_setter *s, uint32_t tag, double number);
void lmr_set_integer(lmr_dicom_setter *s, uint32_t tag, int64_t number);
void lmr_set_positive(lmr_dicom_setter *s, uint32_t tag, int type, double number);

typedef struct lmr_dicom_place { /* rows of the image lie along read_dir, columns along phase_dir */
    double side[3], direction[6], position[3], location; /* mm; of the first voxel; along the slice direction */
} lmr_dicom_place;

lmr_dicom_place lmr_dicom_place_of(const lmr_dicom_series *series, const larmor_image_meta *meta, int64_t z);

/* What several kinds of files have: patient, study, series and scanner; sides of voxels; the form of pixels; what is
 * black and white; what a stored 1 is. */
void lmr_set_common(lmr_dicom_setter *s, const lmr_dicom_series *series);
void lmr_set_measures(lmr_dicom_setter *s, const lmr_dicom_series *series, const lmr_dicom_place *p);
void lmr_set_pixels(lmr_dicom_setter *s, const lmr_dicom_series *series);
void lmr_set_window(lmr_dicom_setter *s, const lmr_dicom_series *series);
void lmr_set_rescale(lmr_dicom_setter *s, const lmr_dicom_series *series);

/* ms; 0 if the header does not say it. */
double lmr_echo_time(const lmr_study *y, int contrast);

/* All attributes of one file for all slices but its pixels (dicom_frames.c). Errors: those of the plugin. */
larmor_status lmr_dicom_describe_frames(const lmr_dicom_series *series, void *file, const lmr_images *images,
                                        const lmr_volumes *order);

/* All attributes of plane z of an image but its pixels. number: of the instance, from 1. Errors: those of the
 * plugin. */
larmor_status lmr_dicom_describe(const lmr_dicom_series *series, void *file, const larmor_image_meta *meta, int64_t z,
                                 int64_t number);
