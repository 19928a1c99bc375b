/* Names of images by BIDS: entities, suffixes, and which go together (bids-specification 1.10,
 * schema/rules/files/raw). SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "io/bids/bids.h"
#include "larmor/bids.h"

/* What an entity's value is: letters and digits, a number, or one of several words. */
static const struct {
    const char *key;
    int is_number;
    const char *words[5];
} entities[LMR_BIDS_ENTITIES] = {{"sub", 0, {NULL}},
                                 {"ses", 0, {NULL}},
                                 {"task", 0, {NULL}},
                                 {"acq", 0, {NULL}},
                                 {"ce", 0, {NULL}},
                                 {"rec", 0, {NULL}},
                                 {"dir", 0, {NULL}},
                                 {"run", 1, {NULL}},
                                 {"echo", 1, {NULL}},
                                 {"flip", 1, {NULL}},
                                 {"inv", 1, {NULL}},
                                 {"mt", 0, {"on", "off", NULL}},
                                 {"part", 0, {"mag", "phase", "real", "imag", NULL}},
                                 {"chunk", 1, {NULL}}};

#define HAS(entity) (1U << LMR_BIDS_##entity)
#define ANY (HAS(SUB) | HAS(SES) | HAS(ACQ) | HAS(RUN))
#define ANAT (ANY | HAS(TASK) | HAS(CE) | HAS(REC) | HAS(CHUNK))
#define IMAGE (ANAT | HAS(PART))
#define FUNC (IMAGE | HAS(ECHO) | HAS(DIR))
#define DWI (ANY | HAS(REC) | HAS(DIR) | HAS(PART) | HAS(CHUNK))
#define FIELD (ANY | HAS(CHUNK))
#define FIELD_PART (FIELD | HAS(CE) | HAS(REC) | HAS(PART))

/* The suffixes of a row with the entities that they may have and must have, without the subject, which all have. */
static const struct {
    const char *suffixes, *kind;
    unsigned may, must;
} rows[] = {
    {"T1w T2w PDw T2starw FLAIR inplaneT1 inplaneT2 angio", "anat", IMAGE | HAS(ECHO), 0},
    {"T1map T2map T2starmap R1map R2map R2starmap PDmap MTRmap MTsat UNIT1 T1rho MWFmap MTVmap Chimap S0map M0map",
     "anat", ANAT, 0},
    {"MEGRE", "anat", IMAGE | HAS(ECHO), HAS(ECHO)},
    {"MESE", "anat", IMAGE | HAS(ECHO) | HAS(DIR), HAS(ECHO)},
    {"VFA", "anat", IMAGE | HAS(ECHO) | HAS(FLIP), HAS(FLIP)},
    {"IRT1", "anat", IMAGE | HAS(INV), HAS(INV)},
    {"MP2RAGE", "anat", IMAGE | HAS(ECHO) | HAS(FLIP) | HAS(INV), HAS(INV)},
    {"MPM MTS", "anat", IMAGE | HAS(ECHO) | HAS(FLIP) | HAS(MT), HAS(FLIP) | HAS(MT)},
    {"MTR", "anat", IMAGE | HAS(MT), HAS(MT)},
    {"bold cbv sbref", "func", FUNC, HAS(TASK)},
    {"dwi sbref", "dwi", DWI, 0},
    {"phasediff phase1 phase2 magnitude1 magnitude2 magnitude fieldmap", "fmap", FIELD, 0},
    {"epi", "fmap", FIELD_PART | HAS(DIR), 0},
    {"TB1map RB1map", "fmap", (FIELD_PART & ~HAS(PART)), 0},
    {"TB1DAM", "fmap", FIELD_PART | HAS(FLIP) | HAS(INV), HAS(FLIP)},
    {"TB1EPI", "fmap", FIELD_PART | HAS(ECHO) | HAS(FLIP) | HAS(INV), HAS(ECHO) | HAS(FLIP)},
    {"TB1AFI TB1TFL TB1RFM RB1COR", "fmap", FIELD_PART | HAS(ECHO) | HAS(FLIP) | HAS(INV), 0},
    {"TB1SRGE", "fmap", FIELD_PART | HAS(ECHO) | HAS(FLIP) | HAS(INV), HAS(FLIP) | HAS(INV)},
    {"asl m0scan", "perf", ANY | HAS(REC) | HAS(DIR) | HAS(ECHO) | HAS(PART), 0},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- the text ---- */

static int is_word(const char *text, const char *of)
{
    return *text && strspn(text, of) == strlen(text);
}

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static larmor_status check_value(const char *text, int e, const char *value)
{
    const char *const *word = entities[e].words;
    while (*word && strcmp(*word, value) != 0) word++;
    const int fits =
        entities[e].words[0] ? *word != NULL : is_word(value, entities[e].is_number ? DIGITS : LETTERS DIGITS);
    if (fits) return LARMOR_OK;
    const char *expected = entities[e].is_number ? "a number" : "letters and digits alone";
    if (e == LMR_BIDS_MT) expected = "on or off";
    if (e == LMR_BIDS_PART) expected = "mag, phase, real or imag";
    return LMR_FAIL(LARMOR_ERR_ARG, "bids name %s: got %s-%s, expected %s", text, entities[e].key, value, expected);
}

/* "ses-2" */
static larmor_status take_entity(const char *text, const char *part, lmr_bids_name *name)
{
    const char *dash = strchr(part, '-');
    const size_t key = dash ? (size_t)(dash - part) : strlen(part);
    int e = 0;
    while (e < LMR_BIDS_ENTITIES && (strlen(entities[e].key) != key || strncmp(part, entities[e].key, key) != 0)) e++;
    LMR_REFUSE(!dash || e == LMR_BIDS_ENTITIES, LARMOR_ERR_ARG,
               "bids name %s: got %s, expected sub-LABEL and others of ses, task, acq, ce, rec, dir, run, "
               "echo, flip, inv, mt, part and chunk",
               text, part);
    LMR_REFUSE(*name->value[e], LARMOR_ERR_ARG, "bids name %s: got %s- twice, expected once", text, entities[e].key);
    LMR_TRY(check_value(text, e, dash + 1));
    snprintf(name->value[e], LMR_BIDS_LABEL, "%s", dash + 1);
    return LARMOR_OK;
}

/* Without its ending; the length. */
static size_t take_ending(const char *text, lmr_bids_name *name)
{
    static const char *const endings[] = {".nii.gz", ".nii"};
    const size_t length = strlen(text);
    name->ending = endings[0];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t ending = strlen(endings[i]);
        if (length <= ending || strcmp(text + length - ending, endings[i]) != 0) continue;
        name->ending = endings[i];
        return length - ending;
    }
    return length;
}

static larmor_status take_parts(const char *text, lmr_bids_name *name)
{
    const size_t length = take_ending(text, name);
    for (size_t at = 0; at <= length;) {
        char part[LMR_BIDS_LABEL];
        size_t now = strcspn(text + at, "_");
        if (now > length - at) now = length - at;
        LMR_REFUSE(now >= sizeof part, LARMOR_ERR_ARG,
                   "bids name %s: got a part of %zu characters, expected at most %zu", text, now, sizeof part - 1);
        snprintf(part, sizeof part, "%.*s", (int)now, text + at);
        at += now + 1;
        if (at <= length) LMR_TRY(take_entity(text, part, name));
        memcpy(name->suffix, part, sizeof part);
    }
    return LARMOR_OK;
}

/* ---- what goes together ---- */

static int is_of_row(const char *suffix, int row)
{
    const size_t length = strlen(suffix);
    for (const char *at = rows[row].suffixes; *at; at += strspn(at, " ")) {
        const size_t word = strcspn(at, " ");
        if (word == length && !strncmp(at, suffix, length)) return 1;
        at += word;
    }
    return 0;
}

static unsigned entities_of(const lmr_bids_name *name)
{
    unsigned has = 0;
    for (int e = 0; e < LMR_BIDS_ENTITIES; e++)
        if (*name->value[e]) has |= 1U << e;
    return has;
}

/* The key of the first entity in a set. */
static const char *first_of(unsigned set)
{
    int e = 0;
    while (e + 1 < LMR_BIDS_ENTITIES && !(set >> e & 1)) e++;
    return entities[e].key;
}

/* The row of the suffix; of several the one whose entities are there. */
static larmor_status check_entities(const char *text, int echo, lmr_bids_name *name)
{
    const unsigned has = entities_of(name);
    const unsigned elsewhere = echo == LMR_BIDS_ANY_ECHO ? HAS(ECHO) : 0;
    int row = ROWS;
    for (int i = 0; i < ROWS; i++)
        if (is_of_row(name->suffix, i) && (row == ROWS || rows[row].must & ~has)) row = i;
    LMR_REFUSE(row == ROWS, LARMOR_ERR_ARG,
               "bids name %s: got the suffix \"%s\", expected one of images such as T1w, T2starw, bold, dwi or "
               "magnitude1",
               text, name->suffix);
    const unsigned missing = (rows[row].must | HAS(SUB)) & ~(has | elsewhere), extra = has & ~rows[row].may;
    LMR_REFUSE(missing, LARMOR_ERR_ARG, "bids name %s: got no %s-, which %s must have", text, first_of(missing),
               name->suffix);
    LMR_REFUSE(extra, LARMOR_ERR_ARG, "bids name %s: got %s-, which %s cannot have", text, first_of(extra),
               name->suffix);
    name->kind = rows[row].kind;
    return LARMOR_OK;
}

larmor_status lmr_bids_parse(const char *text, int echo, lmr_bids_name *name)
{
    *name = (lmr_bids_name){.kind = ""};
    LMR_REFUSE(!text, LARMOR_ERR_ARG, "bids name: none given");
    LMR_TRY(take_parts(text, name));
    LMR_REFUSE(echo > 0 && *name->value[LMR_BIDS_ECHO], LARMOR_ERR_ARG,
               "bids name %s: got echo-%s of several echoes, expected none or one image", text,
               name->value[LMR_BIDS_ECHO]);
    if (echo > 0) snprintf(name->value[LMR_BIDS_ECHO], LMR_BIDS_LABEL, "%d", echo);
    return check_entities(text, echo, name);
}

/* ---- paths ---- */

larmor_status larmor_bids_path(const char *folder, const char *name, int echo, char *path, size_t room)
{
    lmr_bids_name n;
    LMR_REFUSE(!folder || !*folder || !path || !room || echo < 0, LARMOR_ERR_ARG,
               "bids: a folder, a place for the path and an echo from 0 expected");
    LMR_TRY(lmr_bids_parse(name, echo, &n));
    const char *session = n.value[LMR_BIDS_SES];
    size_t used = (size_t)snprintf(path, room, "%s/sub-%s/%s%s%s%s/", folder, n.value[LMR_BIDS_SUB],
                                   *session ? "ses-" : "", session, *session ? "/" : "", n.kind);
    for (int e = 0; e < LMR_BIDS_ENTITIES && used < room; e++)
        if (*n.value[e]) used += (size_t)snprintf(path + used, room - used, "%s-%s_", entities[e].key, n.value[e]);
    if (used < room) used += (size_t)snprintf(path + used, room - used, "%s%s", n.suffix, n.ending);
    if (used < room) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "bids name %s: the path is longer than %zu bytes", name, room - 1);
}

larmor_status larmor_bids_part(const char *name, larmor_part *part)
{
    lmr_bids_name n;
    int i = 0;
    LMR_REFUSE(!part, LARMOR_ERR_ARG, "bids: no place for the part");
    *part = LARMOR_PART_MAGNITUDE;
    LMR_TRY(lmr_bids_parse(name, LMR_BIDS_ANY_ECHO, &n));
    const char *const *words = entities[LMR_BIDS_PART].words; /* in the order of larmor_part */
    while (words[i] && strcmp(words[i], n.value[LMR_BIDS_PART]) != 0) i++;
    if (words[i]) *part = (larmor_part)i;
    return LARMOR_OK;
}
