/* A reader that skips what it does not look for. SPDX-License-Identifier: Apache-2.0 */
#include "json_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *s)
{
    return s + strspn(s, " \t\r\n");
}

/* Behind a text that begins at s, NULL if it does not end. */
static const char *skip_text(const char *s)
{
    for (s++; *s && *s != '"'; s++)
        if (*s == '\\' && s[1]) s++;
    return *s ? s + 1 : NULL;
}

/* Behind any value; brackets are counted, texts within skipped. */
static const char *skip_value(const char *s)
{
    int depth = 0;
    do {
        s = skip_blanks(s);
        if (!*s) return NULL;
        if (*s == '"') {
            s = skip_text(s);
            if (!s) return NULL;
        } else if (*s == '{' || *s == '[') {
            depth++, s++;
        } else if (*s == '}' || *s == ']') {
            depth--, s++;
        } else if (*s == ',' || *s == ':') {
            s++;
        } else {
            s += strcspn(s, ",:{}[]\" \t\r\n");
        }
    } while (depth > 0);
    return depth < 0 ? NULL : s;
}

/* The next item of a container after a value, NULL if there is none. */
static const char *next_item(const char *s)
{
    s = skip_value(s);
    if (!s) return NULL;
    s = skip_blanks(s);
    return *s == ',' ? skip_blanks(s + 1) : NULL;
}

const char *json_member(const char *object, const char *name)
{
    const size_t length = strlen(name);
    if (!object || *object != '{') return NULL;
    for (const char *s = skip_blanks(object + 1); s && *s == '"'; s = next_item(s)) {
        const char *end = skip_text(s);
        if (!end) return NULL;
        const int found = (size_t)(end - s) == length + 2 && !strncmp(s + 1, name, length);
        s = skip_blanks(end);
        if (*s != ':') return NULL;
        s = skip_blanks(s + 1);
        if (found) return s;
    }
    return NULL;
}

const char *json_element(const char *array, int i)
{
    if (!array || *array != '[') return NULL;
    const char *s = skip_blanks(array + 1);
    if (*s == ']') return NULL;
    for (; s && *s && i > 0; i--) s = next_item(s);
    return s && *s ? s : NULL;
}

double json_as_number(const char *value)
{
    if (!value || (*value != '-' && (*value < '0' || *value > '9'))) return NAN;
    return strtod(value, NULL);
}

const char *json_as_text(const char *value, char *text, size_t size)
{
    text[0] = 0;
    const char *end = value && *value == '"' ? skip_text(value) : NULL;
    if (!end) return text;
    size_t length = (size_t)(end - value) - 2;
    if (length >= size) length = size - 1;
    memcpy(text, value + 1, length);
    text[length] = 0;
    return text;
}
