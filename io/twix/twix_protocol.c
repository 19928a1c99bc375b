/* Values in the protocol of a TWIX measurement: ASCCONV's lines "name = value" and XProtocol's
 * <ParamLong."name"> { value }. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/twix/twix.h"

enum { MOST_BEFORE_BRACE = 64 };

static int is_utf8(const unsigned char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        int more = 0;
        if (p[i] >= 0xc2) more = 1;
        if (p[i] >= 0xe0) more = 2;
        if (p[i] >= 0xf0) more = 3;
        if (p[i] >= 0xf5 || (p[i] >= 0x80 && !more)) return 0;
        const int is_long = more == 2 && i + 1 < bytes && p[i] == 0xe0 && p[i + 1] < 0xa0;
        if (is_long || more > 2) return 0; /* characters of four bytes are in no protocol */
        for (; more; more--)
            if (++i >= bytes || (p[i] & 0xc0) != 0x80) return 0;
    }
    return 1;
}

/* Without quotes and blanks around it; Latin-1 becomes UTF-8. */
static lmr_twix_value cleaned(const char *from, const char *end)
{
    lmr_twix_value value = {""};
    while (from < end && (isspace((unsigned char)*from) || *from == '"')) from++;
    while (end > from && (isspace((unsigned char)end[-1]) || end[-1] == '"')) end--;
    const int keep = is_utf8((const unsigned char *)from, (size_t)(end - from));
    size_t n = 0;
    for (; from < end && n + 4 < sizeof value.s; from++) {
        const unsigned char c = (unsigned char)*from;
        if (c < 0x80 || keep) {
            value.s[n++] = (char)(c < ' ' ? ' ' : c);
            continue;
        }
        value.s[n++] = (char)(0xc0 | c >> 6);
        value.s[n++] = (char)(0x80 | (c & 0x3f));
    }
    while (keep && from < end && n && (value.s[n - 1] & 0x80)) n--; /* a character that was cut */
    value.s[n] = 0;
    return value;
}

/* XProtocol's attributes stand before the value: <Precision> 6. */
static const char *after_attributes(const char *from, const char *end)
{
    for (;;) {
        while (from < end && isspace((unsigned char)*from)) from++;
        if (from == end || *from != '<') return from;
        const char *close = memchr(from, '>', (size_t)(end - from));
        if (!close) return end;
        from = close + 1;
        while (from < end && isblank((unsigned char)*from)) from++;
        while (from < end && !isspace((unsigned char)*from)) from++;
    }
}

static lmr_twix_value in_xprotocol(const lmr_twix *t, const char *name)
{
    char needle[96];
    const int length = snprintf(needle, sizeof needle, ".\"%s\">", name);
    const char *end = t->text + t->text_bytes, *at = t->text;
    while ((at = memmem(at, (size_t)(end - at), needle, (size_t)length))) {
        at += length;
        const size_t near = end - at < MOST_BEFORE_BRACE ? (size_t)(end - at) : MOST_BEFORE_BRACE;
        const char *open = memchr(at, '{', near);
        const char *close = open ? memchr(open, '}', (size_t)(end - open)) : NULL;
        if (!close) continue;
        const lmr_twix_value value = cleaned(after_attributes(open + 1, close), close);
        if (*value.s) return value;
    }
    return (lmr_twix_value){""};
}

static lmr_twix_value in_ascconv(const lmr_twix *t, const char *name)
{
    char needle[96];
    const int length = snprintf(needle, sizeof needle, "\n%s", name);
    const char *end = t->text + t->text_bytes, *at = t->text;
    while ((at = memmem(at, (size_t)(end - at), needle, (size_t)length))) {
        at += length;
        const char *line = memchr(at, '\n', (size_t)(end - at));
        if (!line) line = end;
        while (at < line && isblank((unsigned char)*at)) at++;
        if (at < line && *at == '=') return cleaned(at + 1, line);
    }
    return (lmr_twix_value){""};
}

lmr_twix_value lmr_twix_text(const lmr_twix *t, const char *name)
{
    const lmr_twix_value value = in_ascconv(t, name);
    return *value.s ? value : in_xprotocol(t, name);
}

double lmr_twix_number(const lmr_twix *t, const char *name, double missing)
{
    const lmr_twix_value value = lmr_twix_text(t, name);
    char *end;
    const double number = strtod(value.s, &end);
    return end > value.s && isfinite(number) ? number : missing;
}
