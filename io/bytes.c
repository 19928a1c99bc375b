/* A growing buffer for files and texts that are composed in memory. SPDX-License-Identifier: Apache-2.0 */
#include "io/bytes.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int grow(lmr_bytes *b, size_t more)
{
    if (b->failed || more > SIZE_MAX / 4 - b->size) {
        b->failed = 1;
        return 0;
    }
    if (b->size + more <= b->capacity) return 1;
    const size_t capacity = 2 * (b->size + more) + 256;
    unsigned char *data = realloc(b->data, capacity);
    if (!data) {
        b->failed = 1;
        return 0;
    }
    b->data = data;
    b->capacity = capacity;
    return 1;
}

void lmr_bytes_add(lmr_bytes *b, const void *data, size_t size)
{
    if (!size || !grow(b, size)) return;
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

void lmr_bytes_print(lmr_bytes *b, const char *format, ...)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c) {
        b->failed = 1;
        return;
    }
    const locale_t before = uselocale(c);
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int size = vsnprintf(NULL, 0, format, args);
    if (size >= 0 && grow(b, (size_t)size + 1)) {
        vsnprintf((char *)b->data + b->size, (size_t)size + 1, format, again);
        b->size += (size_t)size;
    }
    if (size < 0) b->failed = 1;
    va_end(again);
    va_end(args);
    uselocale(before);
    freelocale(c);
}

/* NULL: the character stands for itself. */
static const char *xml_entity(unsigned char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

void lmr_bytes_xml(lmr_bytes *b, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        const char *entity = xml_entity(*p);
        if (entity)
            lmr_bytes_add(b, entity, strlen(entity));
        else if (*p < ' ' && *p != '\n' && *p != '\t')
            lmr_bytes_add(b, "?", 1);
        else
            lmr_bytes_add(b, p, 1);
    }
}

larmor_status lmr_bytes_end(lmr_bytes *b)
{
    if (grow(b, 1)) b->data[b->size] = 0;
    return b->failed ? LMR_NO_MEMORY() : LARMOR_OK;
}

void lmr_bytes_free(lmr_bytes *b)
{
    free(b->data);
    *b = (lmr_bytes){0};
}
