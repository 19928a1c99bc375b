/* What the XML header says of patient, study, scanner and sequence. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "io/dicom/dicom.h"
#include "io/process/reader_process.h"

static void fill(void *memory, int64_t bytes, const void *user)
{
    memcpy(memory, user, (size_t)bytes);
}

/* The reader may say anything. */
static void take(const lmr_study *said, lmr_study *study)
{
    *study = *said;
    for (int i = 0; i < LMR_STUDY_TEXTS; i++) study->text[i][LMR_STUDY_ROOM - 1] = '\0';
    for (int i = 0; i < LMR_STUDY_NUMBERS; i++)
        if (!isfinite(study->number[i])) study->number[i] = 0;
    if (study->echoes < 0 || study->echoes > LARMOR_MAX_ECHOES) study->echoes = 0;
    for (int i = 0; i < study->echoes; i++)
        if (!isfinite(study->echo_ms[i])) study->echoes = 0;
}

larmor_status lmr_study_read(const char *path, const char *xml, lmr_study *study)
{
    const lmr_reader_answer *answer;
    lmr_reader *reader;
    memset(study, 0, sizeof *study);
    if (!xml || !*xml) return LARMOR_OK;
    const lmr_reader_request request = {.ask = LMR_ASK_STUDY, .bytes = (int64_t)strlen(xml)};
    LMR_TRY(lmr_reader_start_composing(path, request.bytes, &reader));
    lmr_reader_prepare(reader, fill, xml);
    const larmor_status st = lmr_reader_ask_with(reader, request, request.bytes, &answer);
    if (!st) take(&answer->study, study);
    lmr_reader_end(reader);
    return st;
}

void lmr_study_anonymise(lmr_study *study)
{
    static const lmr_study_text kept[] = {LMR_BODY_PART,     LMR_PATIENT_POSITION, LMR_SEQUENCE_NAME,
                                          LMR_SYSTEM_VENDOR, LMR_SYSTEM_MODEL,     LMR_SEQUENCE_TYPE,
                                          LMR_TRAJECTORY};
    lmr_study clean = *study;
    memset(clean.text, 0, sizeof clean.text);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        memcpy(clean.text[kept[i]], study->text[kept[i]], LMR_STUDY_ROOM);
    clean.number[LMR_PATIENT_WEIGHT_KG] = clean.number[LMR_PATIENT_HEIGHT_M] = 0;
    *study = clean;
}
