/* Settings in a file: a subset of TOML, which is read and written. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "scan/setting_table.h"

enum { MAX_FILE = 1 << 20 /* bytes */, MAX_OPTIONS = 256, MAX_WORD = 63, VALUE = 128, PATH = 400 };

#define TABLE "recon"

typedef struct reader {
    const char *path;
    larmor_recon_opts *opts; /* or NULL */
    larmor_option_listener other;
    void *user;
    const char *name[MAX_OPTIONS]; /* that have been given, and in which line */
    int line_of[MAX_OPTIONS], names;
    char *at; /* what comes next, in a text that ends in 0 */
    int line, tables;
    char word[MAX_WORD + 1]; /* a value without quotes */
} reader;

#define REFUSE(r, ...) fail_in_line(r, LMR_FAIL(LARMOR_ERR_ARG, __VA_ARGS__))

/* "FILE:LINE: " before the message. */
static larmor_status fail_in_line(const reader *r, larmor_status st)
{
    char place[PATH + 32];
    snprintf(place, sizeof place, "%.*s:%d", PATH, r->path, r->line);
    return lmr_fail_in(st, place);
}

/* ---- the parts of a line ---- */

static void skip_blanks(reader *r)
{
    r->at += strspn(r->at, " \t");
    if (*r->at == '#') r->at += strcspn(r->at, "\n");
    if (r->at[0] == '\r' && (r->at[1] == '\n' || !r->at[1])) r->at++;
}

/* The name at the front; NULL if there is none. What follows it is in *end, as the text is cut there. */
static char *take_name(reader *r, char *end)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    char *name = r->at;
    const size_t length = strspn(name, letters);
    r->at += length;
    skip_blanks(r);
    *end = *r->at;
    if (!length) return NULL;
    name[length] = 0; /* a blank, or what is in *end */
    return name;
}

/* A string in place: its escapes are \" \\ \n and \t. */
static larmor_status take_string(reader *r, char **value)
{
    const char quote = *r->at++;
    char *to = r->at;
    *value = to;
    for (; *r->at != quote; r->at++) {
        if ((unsigned char)*r->at < ' ' && *r->at != '\t') return REFUSE(r, "a string has no end in its line.");
        if (*r->at == '\\' && quote == '"') {
            static const char escapes[] = "\"\\nt", meant[] = "\"\\\n\t";
            const char *e = r->at[1] ? strchr(escapes, r->at[1]) : NULL;
            if (!e) return REFUSE(r, "an escape in a string is none of \\\" \\\\ \\n \\t.");
            *to++ = meant[e - escapes];
            r->at++;
        } else {
            *to++ = *r->at;
        }
    }
    r->at++;
    *to = 0;
    return LARMOR_OK;
}

/* How long the number or flag at the front is, which needs no quotes; 0 if there is none. */
static size_t length_of_word(const char *text)
{
    const size_t length = strspn(text, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
    const int is_number = strspn(text, "+-.0123456789eE") == length && strcspn(text, "0123456789") < length;
    const int is_flag = (length == 4 && !strncmp(text, "true", 4)) || (length == 5 && !strncmp(text, "false", 5));
    return length <= MAX_WORD && (is_number || is_flag) ? length : 0;
}

static larmor_status take_scalar(reader *r, char **value)
{
    const size_t length = length_of_word(r->at);
    if (*r->at == '"' || *r->at == '\'') {
        LMR_TRY(take_string(r, value));
    } else if (length) {
        snprintf(r->word, sizeof r->word, "%.*s", (int)length, r->at);
        *value = r->word;
        r->at += length;
    } else {
        return REFUSE(r, "a string in quotes, a number, true, false or a list of them expected behind =.");
    }
    skip_blanks(r);
    return LARMOR_OK;
}

/* ---- options ---- */

static larmor_setting_type type_of(const char *name)
{
    larmor_setting s;
    for (int i = 0; (s = larmor_setting_entry(i)).name; i++)
        if (lmr_same_setting(name, s.name) || lmr_same_setting(name, s.option)) return s.type;
    return LARMOR_SETTING_NONE;
}

/* Hand on value i of an option. */
static larmor_status give(reader *r, const char *name, const char *value, int i)
{
    larmor_status st;
    if (r->other && !(r->opts && type_of(name) != LARMOR_SETTING_NONE))
        st = r->other(r->user, name, value, i);
    else if (!i || type_of(name) == LARMOR_SETTING_LIST)
        st = larmor_setting_set(r->opts, name, value);
    else
        return REFUSE(r, "%s: a list of strings is none of its values.", name);
    return st ? fail_in_line(r, st) : LARMOR_OK;
}

/* Numbers of a list as one value, "1,2,3"; of strings each is one. */
static larmor_status take_list(reader *r, const char *name)
{
    char *all = r->at, *to = all, *value;
    int strings = 0;
    for (r->at++;;) {
        skip_blanks(r);
        const int is_string = *r->at == '"' || *r->at == '\'';
        LMR_TRY(take_scalar(r, &value));
        if (is_string) {
            LMR_TRY(give(r, name, value, strings++));
        } else {
            const size_t length = strlen(value);
            if (to > all) *to++ = ',';
            memmove(to, value, length);
            to += length;
        }
        if (*r->at != ',' && *r->at != ']') return REFUSE(r, "a list has no end in its line.");
        if (*r->at++ == ']') break;
    }
    skip_blanks(r);
    *to = 0; /* before what was read */
    if (strings && to > all) return REFUSE(r, "%s: a list is of strings, or of numbers.", name);
    return strings ? LARMOR_OK : give(r, name, all, 0);
}

static larmor_status take_pair(reader *r)
{
    char end, *value;
    const char *name = take_name(r, &end);
    if (!name || end != '=') return REFUSE(r, "name = value expected.");
    r->at++;
    skip_blanks(r);
    for (int i = 0; i < r->names; i++)
        if (lmr_same_setting(name, r->name[i]))
            return REFUSE(r, "%.40s is given twice, first in line %d.", name, r->line_of[i]);
    if (r->names == MAX_OPTIONS) return REFUSE(r, "more than %d options are given.", MAX_OPTIONS);
    r->name[r->names] = name;
    r->line_of[r->names++] = r->line;
    if (*r->at == '[') return take_list(r, name);
    LMR_TRY(take_scalar(r, &value));
    return give(r, name, value, 0);
}

/* recon = {name = value, ...}, behind its brace. */
static larmor_status take_inline(reader *r)
{
    skip_blanks(r);
    while (*r->at != '}') {
        LMR_TRY(take_pair(r));
        if (*r->at == ',') {
            r->at++;
            skip_blanks(r);
        } else if (*r->at != '}') {
            return REFUSE(r, ", or } expected behind a value.");
        }
    }
    r->at++;
    skip_blanks(r);
    return LARMOR_OK;
}

static larmor_status take_table(reader *r)
{
    char end;
    r->at++;
    skip_blanks(r);
    const char *name = take_name(r, &end);
    if (!name || end != ']') return REFUSE(r, "[name] expected.");
    if (strcmp(name, TABLE) != 0 || r->tables++) return REFUSE(r, "one table [" TABLE "] expected.");
    r->at++;
    skip_blanks(r);
    return LARMOR_OK;
}

static larmor_status take_line(reader *r)
{
    const size_t length = sizeof TABLE - 1;
    skip_blanks(r);
    if (*r->at == '[') return take_table(r);
    if (!strncmp(r->at, TABLE, length)) {
        const char *behind = r->at + length + strspn(r->at + length, " \t");
        const char *brace = *behind == '=' ? behind + 1 + strspn(behind + 1, " \t") : "";
        if (*brace == '{') {
            r->at += brace + 1 - r->at;
            return take_inline(r);
        }
    }
    return *r->at && *r->at != '\n' ? take_pair(r) : LARMOR_OK;
}

larmor_status larmor_settings_read(const char *path, larmor_recon_opts *opts, larmor_option_listener other,
                                   void *user)
{
    LMR_NEED(path);
    if (!other) LMR_NEED(opts);
    LMR_OWN_MEMORY(char, text, lmr_text_read(path, MAX_FILE, "file of options", &text));
    reader r = {.path = path, .opts = opts, .other = other, .user = user, .at = text};
    for (r.line = 1; *r.at; r.line++) {
        LMR_TRY(take_line(&r));
        if (*r.at && *r.at != '\n') return REFUSE(&r, "the end of the line expected behind a value.");
        r.at += *r.at == '\n';
    }
    return LARMOR_OK;
}

/* ---- writing ---- */

static void write_option(FILE *out, const char *name, const char *value, int is_first)
{
    const size_t length = length_of_word(value);
    fprintf(out, "%s%s = ", is_first ? "" : ", ", name);
    if (length && !value[length]) {
        fputs(value, out);
        return;
    }
    fputc('"', out);
    for (; *value; value++) {
        if (strchr("\"\\\n", *value)) fputc('\\', out);
        fputc(*value == '\n' ? 'n' : *value, out);
    }
    fputc('"', out);
}

/* 1 if the value is another one than the default, and its text. */
static int differs(const larmor_recon_opts *opts, const larmor_setting *s, char value[VALUE])
{
    char plain[VALUE], standard[VALUE];
    larmor_recon_opts none = {.size = sizeof none};
    if (s->type == LARMOR_SETTING_NONE || larmor_setting_text(opts, s->name, value, VALUE)) return 0;
    if (larmor_setting_text(&none, s->name, plain, VALUE) || !strcmp(value, plain)) return 0;
    if (!s->standard || larmor_setting_set(&none, s->name, s->standard)) return 1;
    return larmor_setting_text(&none, s->name, standard, VALUE) || strcmp(value, standard) != 0;
}

static int write_all(FILE *out, const larmor_recon_opts *opts, const larmor_notes *other)
{
    char value[VALUE];
    int written = 0;
    larmor_setting s;
    fputs(TABLE " = {", out);
    for (int i = 0; opts && (s = larmor_setting_entry(i)).name; i++)
        if (differs(opts, &s, value)) write_option(out, s.option ? s.option : s.name, value, !written++);
    for (int i = 0; other && i < other->count; i++) write_option(out, other->keys[i], other->values[i], !written++);
    fputc('}', out);
    const int failed = ferror(out);
    return fclose(out) || failed;
}

larmor_status larmor_settings_write(const larmor_recon_opts *opts, const larmor_notes *other, char *text, size_t size)
{
    LMR_NEED(text);
    LMR_HEAP char *line = NULL;
    size_t length;
    FILE *out = open_memstream(&line, &length);
    if (!out || write_all(out, opts, other)) return LMR_NO_MEMORY();
    LMR_REFUSE(length >= size, LARMOR_ERR_ARG, "settings: got room for %zu bytes, expected %zu", size, length + 1);
    memcpy(text, line, length + 1);
    return LARMOR_OK;
}
