/* Pulseq's text files, 1.2 to 1.5, into the columns of version 1.5. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/pulseq/seq.h"

enum { MOST_TOKENS = 64, USE_COLUMN = RF_USE };
enum { IN_NOTHING = -8, IN_VERSION, IN_DEFINITIONS, IN_SHAPES, IN_SKIPPED };

typedef struct reading {
    seq *s;
    int64_t line;
    int in; /* a table, or one of the above */
    int has_version, has_count;
    char *token[MOST_TOKENS];
    int tokens;
    double shape_id;
} reading;

static larmor_status wrong(const reading *r, const char *what)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: line %lld: %s.", r->s->path, (long long)r->line, what);
}

/* A finite number that takes the whole token. */
static int number(const char *token, double *value)
{
    char *end;
    *value = strtod(token, &end);
    return end != token && !*end && isfinite(*value);
}

/* ---- lines of tables ---- */

#define US 1e-6
#define NS 1e-9

typedef struct layout {       /* where a version's columns go, and in which unit they are */
    int table, since, before; /* minor versions */
    int count, to[SEQ_MOST_COLUMNS];
    double unit[SEQ_MOST_COLUMNS]; /* of the columns that they go to; 0: 1 */
} layout;

static const layout layouts[] = {
    {SEQ_BLOCKS, 3, 9, 7, {0, 1, 2, 3, 4, 5, 6}, {0}},
    {SEQ_BLOCKS, 2, 3, 6, {0, 1, 2, 3, 4, 5}, {0}},
    {SEQ_RF, 5, 9, 11, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {[RF_CENTER] = US, [RF_DELAY] = US}},
    {SEQ_RF, 4, 5, 7, {0, 1, 2, 3, 5, 8, 9}, {[RF_DELAY] = US}},
    {SEQ_RF, 2, 4, 6, {0, 1, 2, 5, 8, 9}, {[RF_DELAY] = US}},
    {SEQ_GRADIENTS, 5, 9, 6, {0, 1, 2, 3, 4, 5}, {[GRADIENT_DELAY] = US}},
    {SEQ_GRADIENTS, 4, 5, 4, {0, 3, 4, 5}, {[GRADIENT_DELAY] = US}},
    {SEQ_GRADIENTS, 2, 4, 3, {0, 3, 5}, {[GRADIENT_DELAY] = US}},
    {SEQ_TRAPS, 2, 9, 5, {0, 1, 2, 3, 4}, {0, US, US, US, US}},
    {SEQ_ADC, 5, 9, 8, {0, 1, 2, 3, 4, 5, 6, 7}, {[ADC_DWELL] = NS, [ADC_DELAY] = US}},
    {SEQ_ADC, 2, 5, 5, {0, 1, 2, 5, 6}, {[ADC_DWELL] = NS, [ADC_DELAY] = US}},
    {SEQ_DELAYS, 2, 4, 1, {0}, {US}},
    {SEQ_EXTENSIONS, 2, 9, 3, {0, 1, 2}, {0}},
    {SEQ_ROTATIONS, 2, 9, 4, {0, 1, 2, 3}, {0}},
};

static const layout *layout_of(const reading *r)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].table == r->in && r->s->version[1] >= layouts[i].since && r->s->version[1] < layouts[i].before)
            return &layouts[i];
    return NULL;
}

static larmor_status take_row(reading *r)
{
    const layout *l = layout_of(r);
    double id, value, *row;
    if (!l) return wrong(r, "a section that files of this version do not have");
    if (r->tokens != l->count + 1) return wrong(r, "not as many columns as this version has");
    if (!number(r->token[0], &id)) return wrong(r, "its first column is no number");
    LMR_TRY(seq_add(r->s, l->table, id, &row));
    if (l->table == SEQ_GRADIENTS) row[GRADIENT_FIRST] = row[GRADIENT_LAST] = NAN;
    for (int c = 0; c < l->count; c++) {
        const int to = l->to[c];
        const char *token = r->token[c + 1];
        if (l->table == SEQ_RF && to == USE_COLUMN) {
            row[to] = (double)(unsigned char)token[0];
            continue;
        }
        if (!number(token, &value)) return wrong(r, "a column that is no number");
        row[to] = value * (l->unit[to] > 0 ? l->unit[to] : 1);
    }
    return LARMOR_OK;
}

static larmor_status take_label(reading *r)
{
    double id, value, *row;
    if (r->tokens != 3 || !number(r->token[0], &id) || !number(r->token[1], &value))
        return wrong(r, "a number, a value and a label expected");
    LMR_TRY(seq_add(r->s, r->in, id, &row));
    row[LABEL_VALUE] = value;
    row[LABEL_NAME] = seq_label(r->token[2]);
    return LARMOR_OK;
}

static larmor_status take_soft_delay(reading *r)
{
    double id, value[3], *row;
    if (r->tokens < 5 || !number(r->token[0], &id)) return wrong(r, "a soft delay has five columns");
    for (int c = 0; c < 3; c++)
        if (!number(r->token[c + 1], &value[c])) return wrong(r, "a column that is no number");
    LMR_TRY(seq_add(r->s, SEQ_SOFT, id, &row));
    row[SOFT_NUMBER] = value[0];
    row[SOFT_OFFSET] = US * value[1];
    row[SOFT_FACTOR] = value[2];
    row[SOFT_HINT] = seq_hint(r->s, r->token[4], strlen(r->token[4]));
    return LARMOR_OK;
}

static larmor_status take_shape(reading *r)
{
    double value;
    if (r->tokens == 2 && !strcasecmp(r->token[0], "shape_id") && number(r->token[1], &r->shape_id)) {
        r->has_count = 0;
        return LARMOR_OK;
    }
    if (r->tokens == 2 && !strcasecmp(r->token[0], "num_samples") && number(r->token[1], &value)) {
        if (r->has_count) return wrong(r, "a second num_samples");
        r->has_count = 1;
        return seq_add_shape(r->s, r->shape_id, value);
    }
    if (!r->has_count || r->tokens != 1 || !number(r->token[0], &value))
        return wrong(r, "shape_id, num_samples or a number expected");
    return seq_add_number(r->s, value);
}

static larmor_status take_version(reading *r)
{
    static const char *const names[] = {"major", "minor", "revision"};
    for (int i = 0; i < 3; i++)
        if (r->tokens == 2 && !strcmp(r->token[0], names[i])) {
            char *end;
            errno = 0;
            const long value = strtol(r->token[1], &end, 10); /* pypulseq writes "0post1" */
            if (end == r->token[1] || errno || value < 0 || value > 999) break;
            r->s->version[i] = (int)value;
            return LARMOR_OK;
        }
    return wrong(r, "major, minor or revision and a number expected");
}

static larmor_status take_definition(reading *r, const char *text)
{
    double values[MOST_TOKENS];
    int count = 0;
    while (count + 1 < r->tokens && number(r->token[count + 1], &values[count])) count++;
    if (count + 1 < r->tokens) count = 0;
    return seq_define(r->s, r->token[0], values, count, text);
}

/* ---- sections ---- */

static larmor_status begin_extension(reading *r)
{
    double type;
    if (r->tokens != 3 || !number(r->token[2], &type) || type < 1 || type > 2147483647 || type != floor(type))
        return wrong(r, "a name and a number of an extension expected");
    const int table = seq_extension(r->token[1]);
    r->in = table < 0 || table == SEQ_TABLES ? IN_SKIPPED : table;
    if (table >= 0 && table < SEQ_TABLES) r->s->type[table] = (int)type;
    if (table < 0)
        snprintf(r->s->unknown, sizeof r->s->unknown, "%.63s",
                 lmr_printable(r->token[1], (int64_t)strlen(r->token[1]), sizeof r->s->unknown - 1).s);
    return LARMOR_OK;
}

static larmor_status begin_section(reading *r)
{
    static const struct {
        const char *name;
        int in;
    } known[] = {{"[VERSION]", IN_VERSION},
                 {"[DEFINITIONS]", IN_DEFINITIONS},
                 {"[BLOCKS]", SEQ_BLOCKS},
                 {"[RF]", SEQ_RF},
                 {"[GRADIENTS]", SEQ_GRADIENTS},
                 {"[TRAP]", SEQ_TRAPS},
                 {"[ADC]", SEQ_ADC},
                 {"[DELAYS]", SEQ_DELAYS},
                 {"[SHAPES]", IN_SHAPES},
                 {"[EXTENSIONS]", SEQ_EXTENSIONS},
                 {"[SIGNATURE]", IN_SKIPPED}};
    if (r->in == IN_VERSION) LMR_TRY(seq_check_version(r->s));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, r->token[0]) != 0) continue;
        r->in = known[i].in;
        if (r->in == IN_VERSION) r->has_version = 1;
        const int needs = r->in >= 0 || r->in == IN_SHAPES;
        if (!needs || r->has_version) return LARMOR_OK;
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: no [VERSION] before its tables: no Pulseq sequence.", r->s->path);
    }
    return wrong(r, "a section that is not known");
}

static void split(reading *r, char *line)
{
    static const char blanks[] = " \t\r\f\v";
    r->tokens = 0;
    for (char *p = line + strspn(line, blanks); *p && r->tokens < MOST_TOKENS; p += strspn(p, blanks)) {
        r->token[r->tokens++] = p;
        p += strcspn(p, blanks);
        if (*p) *p++ = '\0';
    }
}

/* Of a definition the text stays whole beside its tokens. */
static larmor_status take_definition_line(reading *r, char *line)
{
    char text[1024];
    const char *rest = line + strcspn(line, " \t\r");
    rest += strspn(rest, " \t\r");
    snprintf(text, sizeof text, "%s", rest);
    for (size_t n = strlen(text); n && strchr(" \t\r", text[n - 1]);) text[--n] = '\0';
    split(r, line);
    return take_definition(r, text);
}

static larmor_status take_line(reading *r, char *line)
{
    line += strspn(line, " \t\r\f\v");
    if (!*line || *line == '#') return LARMOR_OK;
    if (*line == '[' || !strncmp(line, "extension ", 10)) {
        split(r, line);
        return *r->token[0] == '[' ? begin_section(r) : begin_extension(r);
    }
    if (r->in == IN_DEFINITIONS) return take_definition_line(r, line);
    split(r, line);
    switch (r->in) {
    case IN_VERSION:
        return take_version(r);
    case IN_SHAPES:
        return take_shape(r);
    case IN_SKIPPED:
        return LARMOR_OK;
    case IN_NOTHING:
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: line %lld is in no section: no Pulseq sequence.", r->s->path,
                        (long long)r->line);
    case SEQ_SETS:
    case SEQ_INCS:
        return take_label(r);
    case SEQ_SOFT:
        return take_soft_delay(r);
    default:
        return take_row(r);
    }
}

larmor_status seq_read_text(seq *s, char *text, int64_t bytes)
{
    reading r = {.s = s, .in = IN_NOTHING};
    for (char *line = text, *end = text + bytes; line < end;) {
        char *next = memchr(line, '\n', (size_t)(end - line));
        if (!next) next = end;
        *next = '\0';
        r.line++;
        LMR_TRY(take_line(&r, line));
        line = next + 1;
    }
    LMR_REFUSE(!r.has_version, LARMOR_ERR_FORMAT, "%s: no [VERSION]: no Pulseq sequence.", s->path);
    return seq_check_version(s);
}
