/* Writing JSON (RFC 8259): two blanks of indent, names and texts escaped. SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <inttypes.h>

static int written;

int json_is_written(void)
{
    return written;
}

void json_failure(const char *command, int code, const char *error)
{
    json j = json_begin();
    json_text(&j, "command", command);
    json_integer(&j, "exit_code", code);
    json_text(&j, "error", error);
    json_close(&j, '}');
}

const app_option json_options[] = {
    APP_OPTION(json_settings, APP_FLAG, json, 0, "json", "", "print a JSON object"),
    {0},
};

/* Bytes of the UTF-8 character at s, 0 if it is none. */
static int utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80) return 1;
    int n = 0;
    if (s[0] >= 0xc2) n = 2;
    if (s[0] >= 0xe0) n = 3;
    if (s[0] >= 0xf0) n = 4;
    if (s[0] >= 0xf5) n = 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return 0;
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return 0;
    return n;
}

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const int n = utf8_length(s);
        if (!n)
            fputs("\\ufffd", out);
        else if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else if (*s == '\n')
            fputs("\\n", out);
        else if (*s < 0x20)
            fprintf(out, "\\u%04x", *s);
        else
            fwrite(s, 1, (size_t)n, out);
        s += n ? n : 1;
    }
    fputc('"', out);
}

static void begin_item(json *j, const char *name)
{
    if (j->items) fputc(',', j->out);
    if (j->depth) fprintf(j->out, "\n%*s", 2 * j->depth, "");
    j->items = 1;
    if (!name) return;
    put_text(j->out, name);
    fputs(": ", j->out);
}

json json_begin(void)
{
    json j = {stdout, 0, 0};
    json_open(&j, NULL, '{');
    return j;
}

void json_open(json *j, const char *name, char bracket)
{
    begin_item(j, name);
    fputc(bracket, j->out);
    j->depth++;
    j->items = 0;
}

void json_close(json *j, char bracket)
{
    j->depth--;
    if (j->items) fprintf(j->out, "\n%*s", 2 * j->depth, "");
    fputc(bracket, j->out);
    if (!j->depth) fputc('\n', j->out);
    if (!j->depth && j->out == stdout) written = 1;
    j->items = 1;
}

void json_text(json *j, const char *name, const char *value)
{
    begin_item(j, name);
    put_text(j->out, value);
}

void json_integer(json *j, const char *name, int64_t value)
{
    begin_item(j, name);
    fprintf(j->out, "%" PRId64, value);
}

static void put_number(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, "%.9g", value);
    else
        fputs("null", out);
}

void json_number(json *j, const char *name, double value)
{
    begin_item(j, name);
    put_number(j->out, value);
}

void json_flag(json *j, const char *name, int value)
{
    begin_item(j, name);
    fputs(value ? "true" : "false", j->out);
}

void json_numbers(json *j, const char *name, const double *values, int count)
{
    begin_item(j, name);
    for (int i = 0; i < count; i++) {
        fputs(i ? ", " : "[", j->out);
        put_number(j->out, values[i]);
    }
    fputs(count ? "]" : "[]", j->out);
}

void json_integers(json *j, const char *name, const int64_t *values, int count)
{
    begin_item(j, name);
    for (int i = 0; i < count; i++) fprintf(j->out, "%s%" PRId64, i ? ", " : "[", values[i]);
    fputs(count ? "]" : "[]", j->out);
}
