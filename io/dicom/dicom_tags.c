/* The attributes of a DICOM image: its patient, study, series, scanner, sequence, place and values.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/dicom/dicom.h"
#include "io/images/volume.h"

#define MR_IMAGE_STORAGE "1.2.840.10008.5.1.4.1.1.4"
#define HZ_PER_MHZ 1e6

void lmr_set(lmr_dicom_setter *s, uint32_t tag, const char *value)
{
    if (!s->st) s->st = s->plugin->set(s->file, tag, value, s->path, s->depth);
}

void lmr_set_numbers(lmr_dicom_setter *s, uint32_t tag, const double *numbers, int count)
{
    lmr_set(s, tag, lmr_dicom_numbers(numbers, count).s);
}

void lmr_set_number(lmr_dicom_setter *s, uint32_t tag, double number)
{
    lmr_set_numbers(s, tag, &number, 1);
}

void lmr_set_integer(lmr_dicom_setter *s, uint32_t tag, int64_t number)
{
    lmr_set(s, tag, lmr_dicom_integer(number).s);
}

static void set_text(lmr_dicom_setter *s, uint32_t tag, int type, const char *text, int most)
{
    const lmr_dicom_value v = lmr_dicom_text(text, most);
    if (type == LMR_TYPE_2 || *v.s) lmr_set(s, tag, v.s);
    if (type == LMR_TYPE_1 && !*v.s) lmr_set(s, tag, "unknown");
}

void lmr_set_positive(lmr_dicom_setter *s, uint32_t tag, int type, double number)
{
    if (number > 0)
        lmr_set_number(s, tag, number);
    else if (type == LMR_TYPE_2)
        lmr_set(s, tag, "");
}

/* Forms of a code are capital letters, digits, blanks and underscores. */
static void set_code(lmr_dicom_setter *s, uint32_t tag, int type, const char *text)
{
    char code[17] = "";
    for (size_t i = 0; i < sizeof code - 1 && text[i]; i++) {
        const unsigned char c = (unsigned char)text[i];
        code[i] = isalnum(c) ? (char)toupper(c) : '_';
        if (c == ' ') code[i] = ' ';
    }
    set_text(s, tag, type, code, 16);
}

static const char *sex_of(const char *gender)
{
    const char letter = (char)toupper((unsigned char)*gender);
    if (letter == 'M') return "M";
    if (letter == 'F') return "F";
    return letter == 'O' ? "O" : "";
}

static void set_patient(lmr_dicom_setter *s, const lmr_dicom_series *series)
{
    const lmr_study *y = &series->study;
    set_text(s, 0x00100010, LMR_TYPE_2, y->text[LMR_PATIENT_NAME], 64);
    set_text(s, 0x00100020, LMR_TYPE_2, y->text[LMR_PATIENT_ID], 64);
    lmr_set(s, 0x00100030, lmr_dicom_date(y->text[LMR_PATIENT_BIRTHDATE]).s);
    lmr_set(s, 0x00100040, sex_of(y->text[LMR_PATIENT_GENDER]));
    lmr_set_positive(s, 0x00101020, LMR_TYPE_3, y->number[LMR_PATIENT_HEIGHT_M]);
    lmr_set_positive(s, 0x00101030, LMR_TYPE_3, y->number[LMR_PATIENT_WEIGHT_KG]);
    if (!series->anonymous) return;
    lmr_set(s, 0x00120062, "YES");
    lmr_set(s, 0x00120063, "larmor: what the header says of a person");
}

static void set_study(lmr_dicom_setter *s, const lmr_dicom_series *series)
{
    const lmr_study *y = &series->study;
    const lmr_dicom_value date = lmr_dicom_date(y->text[LMR_SERIES_DATE]),
                          time = lmr_dicom_time(y->text[LMR_SERIES_TIME]);
    lmr_set(s, 0x00080020, lmr_dicom_date(y->text[LMR_STUDY_DATE]).s);
    lmr_set(s, 0x00080030, lmr_dicom_time(y->text[LMR_STUDY_TIME]).s);
    if (*date.s) lmr_set(s, 0x00080021, date.s);
    if (*time.s) lmr_set(s, 0x00080031, time.s);
    set_text(s, 0x00080050, LMR_TYPE_2, y->text[LMR_ACCESSION_NUMBER], 16);
    set_text(s, 0x00080090, LMR_TYPE_2, y->text[LMR_REFERRING_PHYSICIAN], 64);
    set_text(s, 0x00081030, LMR_TYPE_3, y->text[LMR_STUDY_DESCRIPTION], 64);
    lmr_set(s, 0x0020000d, series->study_uid.s);
    set_text(s, 0x00200010, LMR_TYPE_2, y->text[LMR_STUDY_ID], 16);
    lmr_set(s, 0x00200052, series->frame_uid.s);
    if (!series->is_enhanced) lmr_set(s, 0x00200060, ""); /* Laterality, of which the header says nothing */
    lmr_set(s, 0x00201040, "");
}

static void set_series(lmr_dicom_setter *s, const lmr_dicom_series *series)
{
    const lmr_study *y = &series->study;
    const double first = y->number[LMR_INITIAL_SERIES];
    lmr_set(s, 0x00080060, "MR");
    lmr_set(s, 0x0020000e, series->series_uid.s);
    lmr_set_integer(s, 0x00200011, (first >= 1 && first < 1e6 ? (int64_t)first : 1) + series->is_phase);
    set_text(s, 0x0008103e, LMR_TYPE_3, series->description.s, 64);
    set_text(s, 0x00181030, LMR_TYPE_3, y->text[LMR_PROTOCOL_NAME], 64);
    set_code(s, 0x00180015, LMR_TYPE_3, y->text[LMR_BODY_PART]);
    set_code(s, 0x00185100, LMR_TYPE_2, y->text[LMR_PATIENT_POSITION]);
}

static void set_system(lmr_dicom_setter *s, const lmr_dicom_series *series)
{
    const lmr_study *y = &series->study;
    const int type = series->is_enhanced ? LMR_TYPE_1 : LMR_TYPE_3;
    char version[65];
    snprintf(version, sizeof version, "larmor %s", LARMOR_VERSION);
    set_text(s, 0x00080070, series->is_enhanced ? LMR_TYPE_1 : LMR_TYPE_2, y->text[LMR_SYSTEM_VENDOR], 64);
    set_text(s, 0x00080080, LMR_TYPE_3, y->text[LMR_INSTITUTION], 64);
    set_text(s, 0x00081010, LMR_TYPE_3, y->text[LMR_STATION], 16);
    set_text(s, 0x00081090, type, y->text[LMR_SYSTEM_MODEL], 64);
    set_text(s, 0x00181000, type, y->text[LMR_DEVICE_SERIAL], 64);
    set_text(s, 0x00181020, LMR_TYPE_3, version, 64);
}

/* Of a type of sequence in free words; "RM", research mode, of what is not known. */
static const char *scanning_sequence(const lmr_study *y)
{
    static const struct {
        const char *word, *code;
    } known[] = {{"epi", "EP"},   {"flash", "GR"}, {"gre", "GR"}, {"gradient", "GR"}, {"spgr", "GR"}, {"fisp", "GR"},
                 {"bssfp", "GR"}, {"tse", "SE"},   {"fse", "SE"}, {"spin", "SE"},     {"se", "SE"}};
    char type[LMR_STUDY_ROOM];
    size_t length = 0;
    for (const char *c = y->text[LMR_SEQUENCE_TYPE]; *c; c++) type[length++] = (char)tolower((unsigned char)*c);
    type[length] = '\0';
    if (!strcmp(y->text[LMR_TRAJECTORY], "epi")) return "EP";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].word) > 2 ? strstr(type, known[i].word) != NULL : !strcmp(type, known[i].word))
            return known[i].code;
    return "RM";
}

double lmr_echo_time(const lmr_study *y, int contrast)
{
    if (contrast >= 0 && contrast < y->echoes) return y->echo_ms[contrast];
    return y->echoes == 1 ? y->echo_ms[0] : 0;
}

static void set_sequence(lmr_dicom_setter *s, const lmr_dicom_series *series, const larmor_image_meta *meta)
{
    const lmr_study *y = &series->study;
    lmr_set(s, 0x00180020, scanning_sequence(y));
    lmr_set(s, 0x00180021, "NONE");
    lmr_set(s, 0x00180022, "");
    lmr_set(s, 0x00180023, series->dim[2] > 1 ? "3D" : "2D");
    set_text(s, 0x00180024, LMR_TYPE_3, y->text[LMR_SEQUENCE_NAME], 16);
    lmr_set_positive(s, 0x00180080, LMR_TYPE_2, y->number[LMR_TR_MS]);
    lmr_set_positive(s, 0x00180081, LMR_TYPE_2, lmr_echo_time(y, meta->contrast));
    lmr_set_positive(s, 0x00180082, LMR_TYPE_3, y->number[LMR_TI_MS]);
    lmr_set_positive(s, 0x00180084, LMR_TYPE_3, y->number[LMR_H1_HZ] / HZ_PER_MHZ);
    if (y->number[LMR_H1_HZ] > 0) lmr_set(s, 0x00180085, "1H");
    lmr_set_integer(s, 0x00180086, meta->contrast + 1);
    lmr_set_positive(s, 0x00180087, LMR_TYPE_3, y->number[LMR_FIELD_TESLA]);
    const double train = y->number[LMR_ECHO_TRAIN];
    if (train >= 1 && train < 1e6)
        lmr_set_integer(s, 0x00180091, (int64_t)train);
    else
        lmr_set(s, 0x00180091, "");
    lmr_set_positive(s, 0x00181314, LMR_TYPE_3, y->number[LMR_FLIP_DEG]);
}

lmr_dicom_place lmr_dicom_place_of(const lmr_dicom_series *series, const larmor_image_meta *meta, int64_t z)
{
    lmr_dicom_place p = {.location = 0};
    double affine[3][4];
    /* one beside the other where it is not known how they lie */
    const double slice = (double)z + (meta->place_unknown && series->is_stacked ? meta->slice : 0);
    lmr_image_affine(meta, series->dim, affine);
    for (int d = 0; d < 3; d++) p.side[d] = sqrt(pow(affine[0][d], 2) + pow(affine[1][d], 2) + pow(affine[2][d], 2));
    for (int k = 0; k < 3; k++) {
        p.direction[k] = affine[k][0] / p.side[0];
        p.direction[3 + k] = affine[k][1] / p.side[1];
        p.position[k] = affine[k][3] + slice * affine[k][2];
        p.location += p.position[k] * affine[k][2] / p.side[2];
    }
    return p;
}

void lmr_set_measures(lmr_dicom_setter *s, const lmr_dicom_series *series, const lmr_dicom_place *p)
{
    const double spacing[2] = {p->side[1], p->side[0]}; /* from row to row, then from column to column */
    lmr_set_number(s, 0x00180050, p->side[2]);
    lmr_set_positive(s, 0x00180088, LMR_TYPE_3, series->dim[2] > 1 ? p->side[2] : series->gap_mm);
    lmr_set_numbers(s, 0x00280030, spacing, 2);
}

static void set_place(lmr_dicom_setter *s, const lmr_dicom_series *series, const larmor_image_meta *meta, int64_t z)
{
    const lmr_dicom_place p = lmr_dicom_place_of(series, meta, z);
    lmr_set_measures(s, series, &p);
    lmr_set_numbers(s, 0x00200032, p.position, 3);
    lmr_set_numbers(s, 0x00200037, p.direction, 6);
    lmr_set_number(s, 0x00201041, p.location);
}

void lmr_set_pixels(lmr_dicom_setter *s, const lmr_dicom_series *series)
{
    lmr_set(s, 0x00280002, "1");
    lmr_set(s, 0x00280004, "MONOCHROME2");
    lmr_set_integer(s, 0x00280010, series->dim[1]);
    lmr_set_integer(s, 0x00280011, series->dim[0]);
    lmr_set(s, 0x00280100, "16");
    lmr_set(s, 0x00280101, "16");
    lmr_set(s, 0x00280102, "15");
    lmr_set(s, 0x00280103, series->is_signed ? "1" : "0");
}

void lmr_set_window(lmr_dicom_setter *s, const lmr_dicom_series *series)
{
    lmr_set_number(s, 0x00281050, (series->window[0] + series->window[1]) / 2);
    lmr_set_number(s, 0x00281051, series->window[1] - series->window[0]);
    lmr_set(s, 0x00281056, "LINEAR_EXACT"); /* LINEAR has no widths below 1 */
}

void lmr_set_rescale(lmr_dicom_setter *s, const lmr_dicom_series *series)
{
    lmr_set(s, 0x00281052, "0");
    lmr_set_number(s, 0x00281053, series->slope);
    lmr_set(s, 0x00281054, "US");
}

void lmr_set_common(lmr_dicom_setter *s, const lmr_dicom_series *series)
{
    lmr_set(s, 0x00080005, "ISO_IR 192");
    set_patient(s, series);
    set_study(s, series);
    set_series(s, series);
    set_system(s, series);
}

larmor_status lmr_dicom_describe(const lmr_dicom_series *series, void *file, const larmor_image_meta *meta, int64_t z,
                                 int64_t number)
{
    lmr_dicom_setter s = {series->plugin, file, LARMOR_OK, {0}, 0};
    lmr_set_common(&s, series);
    lmr_set(&s, 0x00080008, series->is_phase ? "ORIGINAL\\PRIMARY\\P\\NONE" : "ORIGINAL\\PRIMARY\\M\\NONE");
    lmr_set(&s, 0x00080016, MR_IMAGE_STORAGE);
    lmr_set(&s, 0x00080018, lmr_dicom_uid(series->identity, "image", number).s);
    set_sequence(&s, series, meta);
    lmr_set_integer(&s, 0x00200012, 1);
    lmr_set_integer(&s, 0x00200013, number);
    if (series->repetitions > 1) {
        lmr_set_integer(&s, 0x00200100, meta->repetition + 1);
        lmr_set_integer(&s, 0x00200105, series->repetitions);
    }
    set_place(&s, series, meta, z);
    lmr_set_pixels(&s, series);
    lmr_set_window(&s, series);
    lmr_set_rescale(&s, series);
    return s.st;
}
