/* What the XML header of a scan says of patient, study, scanner and sequence, by expat. SPDX-License-Identifier:
 * Apache-2.0 */
#define _GNU_SOURCE
#include "io/reader/mrd_study.h"

#include <ctype.h>
#include <locale.h>

#include "core/core.h"
#include "io/reader/xml.h"

static const struct text_rule {
    const char *parent, *name;
    lmr_study_text is;
} texts[] = {
    {"subjectInformation", "patientName", LMR_PATIENT_NAME},
    {"subjectInformation", "patientID", LMR_PATIENT_ID},
    {"subjectInformation", "patientBirthdate", LMR_PATIENT_BIRTHDATE},
    {"subjectInformation", "patientGender", LMR_PATIENT_GENDER},
    {"studyInformation", "studyDate", LMR_STUDY_DATE},
    {"studyInformation", "studyTime", LMR_STUDY_TIME},
    {"studyInformation", "studyID", LMR_STUDY_ID},
    {"studyInformation", "accessionNumber", LMR_ACCESSION_NUMBER},
    {"studyInformation", "referringPhysicianName", LMR_REFERRING_PHYSICIAN},
    {"studyInformation", "studyDescription", LMR_STUDY_DESCRIPTION},
    {"studyInformation", "studyInstanceUID", LMR_STUDY_UID},
    {"studyInformation", "bodyPartExamined", LMR_BODY_PART},
    {"measurementInformation", "measurementID", LMR_MEASUREMENT_ID},
    {"measurementInformation", "seriesDate", LMR_SERIES_DATE},
    {"measurementInformation", "seriesTime", LMR_SERIES_TIME},
    {"measurementInformation", "patientPosition", LMR_PATIENT_POSITION},
    {"measurementInformation", "protocolName", LMR_PROTOCOL_NAME},
    {"measurementInformation", "sequenceName", LMR_SEQUENCE_NAME},
    {"measurementInformation", "seriesDescription", LMR_SERIES_DESCRIPTION},
    {"measurementInformation", "frameOfReferenceUID", LMR_FRAME_OF_REFERENCE_UID},
    {"acquisitionSystemInformation", "systemVendor", LMR_SYSTEM_VENDOR},
    {"acquisitionSystemInformation", "systemModel", LMR_SYSTEM_MODEL},
    {"acquisitionSystemInformation", "institutionName", LMR_INSTITUTION},
    {"acquisitionSystemInformation", "stationName", LMR_STATION},
    {"acquisitionSystemInformation", "deviceSerialNumber", LMR_DEVICE_SERIAL},
    {"sequenceParameters", "sequence_type", LMR_SEQUENCE_TYPE},
    {"encoding", "trajectory", LMR_TRAJECTORY},
};

static const struct number_rule {
    const char *parent, *name;
    lmr_study_number is;
} numbers[] = {
    {"subjectInformation", "patientWeight_kg", LMR_PATIENT_WEIGHT_KG},
    {"subjectInformation", "patientHeight_m", LMR_PATIENT_HEIGHT_M},
    {"measurementInformation", "initialSeriesNumber", LMR_INITIAL_SERIES},
    {"acquisitionSystemInformation", "systemFieldStrength_T", LMR_FIELD_TESLA},
    {"experimentalConditions", "H1resonanceFrequency_Hz", LMR_H1_HZ},
    {"sequenceParameters", "TR", LMR_TR_MS},
    {"sequenceParameters", "TI", LMR_TI_MS},
    {"sequenceParameters", "flipAngle_deg", LMR_FLIP_DEG},
    {"encoding", "echoTrainLength", LMR_ECHO_TRAIN},
};

enum { LONGEST_NAME = 40, LEAF = 3 }; /* <ismrmrdHeader><parent><leaf> */

typedef struct parser {
    lmr_xml xml;
    locale_t c;
    int depth;
    char parent[LONGEST_NAME], leaf[LONGEST_NAME];
    char text[LMR_STUDY_ROOM];
    size_t length;
    lmr_study *study;
    int seen[LMR_STUDY_NUMBERS];
} parser;

static void keep_name(char *to, const char *name)
{
    const char *colon = strchr(name, ':');
    const char *local = colon ? colon + 1 : name;
    const size_t length = strnlen(local, LONGEST_NAME);
    *to = '\0';
    if (length < LONGEST_NAME) memcpy(to, local, length + 1);
}

static void XMLCALL on_start(void *self, const XML_Char *name, const XML_Char **attributes LMR_UNUSED)
{
    parser *p = self;
    p->depth++;
    if (p->depth == LEAF - 1) keep_name(p->parent, name);
    if (p->depth == LEAF) keep_name(p->leaf, name);
    p->length = 0;
}

static void XMLCALL on_text(void *self, const XML_Char *text, int bytes)
{
    parser *p = self;
    for (int i = 0; p->depth == LEAF && i < bytes; i++) {
        if (!p->length && isspace((unsigned char)text[i])) continue;
        if (p->length < sizeof p->text) p->text[p->length++] = text[i];
    }
}

/* A character of several bytes stays whole. */
static void end_text(parser *p)
{
    while (p->length == sizeof p->text || (p->length && isspace((unsigned char)p->text[p->length - 1]))) p->length--;
    if (p->length == sizeof p->text - 1) {
        while (p->length && ((unsigned char)p->text[p->length - 1] & 0xc0) == 0x80) p->length--;
        if (p->length && (unsigned char)p->text[p->length - 1] >= 0xc0) p->length--;
    }
    p->text[p->length] = '\0';
}

static int is_number(const parser *p, double *value)
{
    char *end;
    if (!p->length || strspn(p->text, "0123456789+-.eE") != p->length) return 0;
    *value = strtod_l(p->text, &end, p->c);
    return !*end && isfinite(*value);
}

static void take_number(parser *p)
{
    lmr_study *s = p->study;
    double value;
    if (!is_number(p, &value)) return;
    if (!strcmp(p->parent, "sequenceParameters") && !strcmp(p->leaf, "TE") && s->echoes < LARMOR_MAX_ECHOES)
        s->echo_ms[s->echoes++] = value;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(p->parent, numbers[i].parent) != 0 || strcmp(p->leaf, numbers[i].name) != 0) continue;
        if (!p->seen[numbers[i].is]) s->number[numbers[i].is] = value;
        p->seen[numbers[i].is] = 1;
    }
}

static void XMLCALL on_end(void *self, const XML_Char *name)
{
    (void)name;
    parser *p = self;
    if (p->depth-- != LEAF) return;
    end_text(p);
    take_number(p);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *to = p->study->text[texts[i].is];
        if (!*to && !strcmp(p->parent, texts[i].parent) && !strcmp(p->leaf, texts[i].name))
            memcpy(to, p->text, p->length + 1);
    }
    p->length = 0;
}

larmor_status lmr_mrd_study(const char *xml, size_t bytes, lmr_study *study)
{
    memset(study, 0, sizeof *study);
    LMR_HEAP LMR_NEW_ZEROS(parser, p, 1);
    p->study = study;
    p->xml.parser = XML_ParserCreate(NULL);
    p->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const int ready = p->xml.parser && p->c;
    int full = !ready;
    if (ready) {
        XML_SetUserData(p->xml.parser, p);
        XML_SetElementHandler(p->xml.parser, on_start, on_end);
        XML_SetCharacterDataHandler(p->xml.parser, on_text);
        lmr_xml_forbid_doctype(&p->xml);
        XML_Parse(p->xml.parser, xml, (int)strnlen(xml, bytes), 1);
        full = XML_GetErrorCode(p->xml.parser) == XML_ERROR_NO_MEMORY;
    }
    if (p->c) freelocale(p->c);
    if (p->xml.parser) XML_ParserFree(p->xml.parser);
    return full ? LMR_NO_MEMORY() : LARMOR_OK;
}
