/* Options of a command in a file: a subset of TOML, which is read and written. SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "messages.h"
#include "setting_value.h"

enum { MAX_CONFIG = 1 << 20, MAX_WORDS = 256, VALUE = 1024 };

typedef struct reader {
    const app_command *command;
    const char *path;
    void *settings;
    const char **given;
    int *line_of; /* [options] where each was set, 0: not yet */
    char *at;     /* what comes next, in a text that ends in 0 */
    int line, depth;
} reader;

static int refuse(const reader *r, const char *what)
{
    app_error("%s:%d: %s.", r->path, r->line, what);
    return APP_USAGE;
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

/* A string in place: its escapes are \" \\ \n and \t. -1, or an exit code. */
static int take_string(reader *r, char **value)
{
    const char quote = *r->at++;
    char *to = r->at;
    *value = to;
    for (; *r->at != quote; r->at++) {
        if ((unsigned char)*r->at < ' ' && *r->at != '\t') return refuse(r, "a string has no end in its line");
        if (*r->at == '\\' && quote == '"') {
            static const char escapes[] = "\"\\nt", meant[] = "\"\\\n\t";
            const char *e = r->at[1] ? strchr(escapes, r->at[1]) : NULL;
            if (!e) return refuse(r, "an escape in a string is none of \\\" \\\\ \\n \\t");
            *to++ = meant[e - escapes];
            r->at++;
        } else {
            *to++ = *r->at;
        }
    }
    r->at++;
    *to = 0;
    return -1;
}

/* A string, or a bare word, which is moved by one so that its end fits before what follows: settings point to it. */
static int take_scalar(reader *r, char **value)
{
    int code = -1;
    char *word = r->at;
    const size_t length = strspn(word, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
    const int is_number = length && strspn(word, "+-.0123456789eE") == length;
    const int is_flag = (length == 4 && !strncmp(word, "true", 4)) || (length == 5 && !strncmp(word, "false", 5));
    if (*word == '"' || *word == '\'') {
        code = take_string(r, value);
    } else if (is_number || is_flag) {
        *value = word - 1;
        memmove(*value, word, length);
        (*value)[length] = 0;
        r->at += length;
    } else {
        return refuse(r, "a string in quotes, a number, true, false or a list of them expected behind =");
    }
    skip_blanks(r);
    return code;
}

/* ---- options ---- */

static const app_option *find(const reader *r, const char *name)
{
    const app_option *o = r->command->options;
    while (o->name && strcmp(o->name, name) != 0) o++;
    return o->name ? o : NULL;
}

static int refuse_name(const reader *r, const char *name)
{
    const char *names[MAX_WORDS + 1] = {NULL};
    const app_option *o = r->command->options;
    for (int i = 0; i < MAX_WORDS && o[i].name; i++) names[i] = o[i].name;
    const char *nearest = app_nearest(name, names);
    app_error("%s:%d: %.40s is no option of %s%s%s.", r->path, r->line, name, r->command->name,
              nearest ? ", did you mean " : "", nearest ? nearest : "");
    return APP_USAGE;
}

static int set(const reader *r, const app_option *o, const char *value)
{
    char why[VALUE];
    app_catch_errors(why, sizeof why);
    const int code = app_names_file(o) && !strcmp(value, "-") ? APP_USAGE : app_set(o, value, r->settings);
    app_catch_errors(NULL, 0);
    if (code < 0) return code;
    if (app_names_file(o) && !strcmp(value, "-")) return refuse(r, "\"-\" is for the command line");
    app_error("%s:%d: %s", r->path, r->line, why + 2 * !strncmp(why, "--", 2));
    return code;
}

/* Numbers of a list as the command line has them, "1,2,3", or a value for each time that the option is given. */
static int take_list(reader *r, const app_option *o, int is_taken)
{
    char *all = r->at, *to = all, *value;
    for (r->at++;;) {
        skip_blanks(r);
        int code = take_scalar(r, &value);
        if (code >= 0) return code;
        const int repeats = o->type == APP_TEXTS || o->type == APP_WRITTEN_FILES;
        if (repeats && is_taken) code = set(r, o, value);
        if (code >= 0) return code;
        const size_t length = strlen(value);
        if (!repeats && to > all) *to++ = ',';
        if (!repeats) memmove(to, value, length);
        if (!repeats) to += length;
        if (*r->at != ',' && *r->at != ']') return refuse(r, "a list has no end in its line");
        if (*r->at++ == ',') continue;
        *to = 0; /* before what was read */
        return repeats || !is_taken ? -1 : set(r, o, all);
    }
}

static int take_value(reader *r, const app_option *o)
{
    const int i = (int)(o - r->command->options);
    char *value;
    int code;
    if (r->line_of[i]) {
        app_error("%s:%d: %s is given twice, first in line %d.", r->path, r->line, o->name, r->line_of[i]);
        return APP_USAGE;
    }
    r->line_of[i] = r->line;
    const int is_taken = !r->given[i];
    if (*r->at == '[') {
        code = take_list(r, o, is_taken);
        skip_blanks(r);
    } else {
        code = take_scalar(r, &value);
        if (code < 0 && is_taken) code = set(r, o, value);
    }
    if (is_taken) r->given[i] = "";
    return code;
}

static int take_pair(reader *r)
{
    char end;
    char *name = take_name(r, &end);
    if (!name || end != '=') return refuse(r, "name = value expected");
    r->at++;
    skip_blanks(r);
    const app_option *o = find(r, name);
    if (o && !strcmp(o->name, "config")) return refuse(r, "a file names no other file of options");
    return o ? take_value(r, o) : refuse_name(r, name);
}

/* COMMAND = {name = value, ...}, behind its brace. */
static int take_inline(reader *r)
{
    skip_blanks(r);
    while (*r->at != '}') {
        const int code = take_pair(r);
        if (code >= 0) return code;
        if (*r->at == ',') {
            r->at++;
            skip_blanks(r);
        } else if (*r->at != '}') {
            return refuse(r, ", or } expected behind a value");
        }
    }
    r->at++;
    skip_blanks(r);
    return -1;
}

static int take_table(reader *r)
{
    char end;
    r->at++;
    skip_blanks(r);
    const char *name = take_name(r, &end);
    if (!name || end != ']') return refuse(r, "[name] expected");
    if (strcmp(name, r->command->name) != 0 || r->depth++) {
        app_error("%s:%d: one table [%s] expected.", r->path, r->line, r->command->name);
        return APP_USAGE;
    }
    r->at++;
    skip_blanks(r);
    return -1;
}

static int take_line(reader *r)
{
    const size_t length = strlen(r->command->name);
    skip_blanks(r);
    if (*r->at == '[') return take_table(r);
    if (!strncmp(r->at, r->command->name, length)) {
        const char *behind = r->at + length + strspn(r->at + length, " \t");
        const char *brace = *behind == '=' ? behind + 1 + strspn(behind + 1, " \t") : "";
        if (*brace == '{') {
            r->at += brace + 1 - r->at;
            return take_inline(r);
        }
    }
    return *r->at && *r->at != '\n' ? take_pair(r) : -1;
}

static int take_all(reader *r)
{
    for (r->line = 1; *r->at; r->line++) {
        const int code = take_line(r);
        if (code >= 0) return code;
        if (*r->at && *r->at != '\n') return refuse(r, "the end of the line expected behind a value");
        r->at += *r->at == '\n';
    }
    return -1;
}

/* The file's text, which ends in 0 and stays, as settings point to it. */
static char *read_text(const char *path, int *code)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(MAX_CONFIG + 1);
    const size_t length = file && text ? fread(text, 1, MAX_CONFIG + 1, file) : 0;
    *code = -1;
    if (!text) {
        app_error("out of host memory");
        *code = APP_LACKING;
    } else if (!file || ferror(file)) {
        app_error("%s: cannot be read.", path);
        *code = APP_REFUSED;
    } else if (length > MAX_CONFIG) {
        app_error("%s: is longer than %d bytes, which no file of options is.", path, MAX_CONFIG);
        *code = APP_REFUSED;
    } else {
        text[length] = 0;
    }
    if (*code < 0 && strlen(text) < length) {
        app_error("%s: has a byte 0; a file of text expected.", path);
        *code = APP_REFUSED;
    }
    if (file) fclose(file);
    if (*code < 0) return text;
    free(text);
    return NULL;
}

int app_read_config(const app_command *command, const char *path, void *settings, const char **given)
{
    static char *kept;
    int line_of[MAX_WORDS] = {0}, code;
    free(kept);
    kept = read_text(path, &code);
    reader r = {command, path, settings, given, line_of, kept, 0, 0};
    return kept ? take_all(&r) : code;
}

/* ---- writing ---- */

static void write_number(double value, char *text, size_t size)
{
    snprintf(text, size, "%.15g", value);
    if (strtod(text, NULL) != value) snprintf(text, size, "%.17g", value);
}

static void write_list(const app_list *list, char *text, size_t size)
{
    char number[32];
    size_t used = 0;
    for (int i = 0; i < list->count && used < size; i++) {
        write_number(list->value[i], number, sizeof number);
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "," : "", number);
    }
}

void app_value_text(const app_option *o, const void *settings, char *text, size_t size)
{
    const char *at = (const char *)settings + o->at, *word = NULL;
    const app_texts *texts = (const app_texts *)(const void *)at;
    size_t used = 0;
    text[0] = 0;
    if (o->setting) {
        const app_setting_text own = app_setting_value(at, o->setting);
        snprintf(text, size, "%s", o->type == APP_FLAG && !strcmp(own.s, "false") ? "" : own.s);
        return;
    }
    switch (o->type) {
    case APP_FLAG:
        snprintf(text, size, "%s", *(const int *)(const void *)at ? "true" : "");
        break;
    case APP_INTEGER:
    case APP_BYTES:
        snprintf(text, size, "%lld", (long long)*(const int64_t *)(const void *)at);
        break;
    case APP_NUMBER:
        write_number(*(const double *)(const void *)at, text, size);
        break;
    case APP_TEXTS:
    case APP_WRITTEN_FILES:
        for (int i = 0; i < texts->count && used < size; i++)
            used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "", texts->text[i]);
        break;
    case APP_SIZES:
    case APP_NUMBERS:
        write_list((const app_list *)(const void *)at, text, size);
        break;
    case APP_TEXT:
    case APP_READ_FILE:
    case APP_WRITTEN_FILE:
        memcpy(&word, at, sizeof word);
        snprintf(text, size, "%s", word ? word : "");
    }
}

static int is_told(const app_option *o)
{
    static const char *const others[] = {"config", "force", "json", "out-dir"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(o->name, others[i])) return 0;
    return o->type != APP_WRITTEN_FILE && o->type != APP_WRITTEN_FILES && o->type != APP_TEXTS;
}

static int needs_quotes(const app_option *o)
{
    return o->type == APP_TEXT || app_names_file(o) || o->type == APP_SIZES || o->type == APP_NUMBERS;
}

/* In quotes, with escapes. */
static void quote(const char *value, char *text, size_t size)
{
    size_t used = 0;
    for (const char *c = value; *c && used + 4 < size; c++) {
        const char *escape = strchr("\"\\", *c) ? "\\" : "";
        const char one = (char)(*c == '\n' ? 'n' : *c);
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s%c", used ? "" : "\"", *c == '\n' ? "\\" : escape, one);
    }
    snprintf(text + used, size - used, "%s\"", used ? "" : "\"");
}

void app_write_config(const app_command *command, const void *settings, char *text, size_t size)
{
    char value[VALUE], quoted[2 * VALUE];
    size_t used = (size_t)snprintf(text, size, "%s = {", command->name);
    const char *comma = "";
    for (const app_option *o = command->options; o->name && used < size; o++) {
        if (!is_told(o) || !app_differs(command, settings, o->name)) continue;
        app_value_text(o, settings, value, sizeof value);
        quote(value, quoted, sizeof quoted);
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s = %s", comma, o->name, needs_quotes(o) ? quoted : value);
        comma = ", ";
    }
    if (used < size) snprintf(text + used, size - used, "}");
}
