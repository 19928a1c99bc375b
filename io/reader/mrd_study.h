/* What the XML header of a scan says of patient, study, scanner and sequence, as other formats want it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "larmor/io.h"

enum { LMR_STUDY_ROOM = 200 }; /* bytes of a text with its end: 64 characters of UTF-8 fit in any case */

typedef enum lmr_study_text { /* ISMRMRD's elements of these names */
                              LMR_PATIENT_NAME,
                              LMR_PATIENT_ID,
                              LMR_PATIENT_BIRTHDATE,
                              LMR_PATIENT_GENDER,
                              LMR_STUDY_DATE,
                              LMR_STUDY_TIME,
                              LMR_STUDY_ID,
                              LMR_ACCESSION_NUMBER,
                              LMR_REFERRING_PHYSICIAN,
                              LMR_STUDY_DESCRIPTION,
                              LMR_STUDY_UID,
                              LMR_BODY_PART,
                              LMR_MEASUREMENT_ID,
                              LMR_SERIES_DATE,
                              LMR_SERIES_TIME,
                              LMR_PATIENT_POSITION,
                              LMR_PROTOCOL_NAME,
                              LMR_SEQUENCE_NAME,
                              LMR_SERIES_DESCRIPTION,
                              LMR_FRAME_OF_REFERENCE_UID,
                              LMR_SYSTEM_VENDOR,
                              LMR_SYSTEM_MODEL,
                              LMR_INSTITUTION,
                              LMR_STATION,
                              LMR_DEVICE_SERIAL,
                              LMR_SEQUENCE_TYPE,
                              LMR_TRAJECTORY,
                              LMR_STUDY_TEXTS
} lmr_study_text;

typedef enum lmr_study_number {
    LMR_PATIENT_WEIGHT_KG,
    LMR_PATIENT_HEIGHT_M,
    LMR_INITIAL_SERIES,
    LMR_FIELD_TESLA,
    LMR_H1_HZ,
    LMR_TR_MS,
    LMR_TI_MS,
    LMR_FLIP_DEG,
    LMR_ECHO_TRAIN,
    LMR_STUDY_NUMBERS
} lmr_study_number;

typedef struct lmr_study {
    char text[LMR_STUDY_TEXTS][LMR_STUDY_ROOM]; /* "": the header does not say it */
    double number[LMR_STUDY_NUMBERS];           /* 0: the same */
    int echoes;
    double echo_ms[LARMOR_MAX_ECHOES];
} lmr_study;

/* Of what is there several times the first counts; what is no number is left out, as is all behind a fault of the
 * XML. Texts are as in the file but for blanks around them, cut where they have no room.
 *
 * Errors  LARMOR_ERR_MEMORY. */
larmor_status lmr_mrd_study(const char *xml, size_t bytes, lmr_study *study);
