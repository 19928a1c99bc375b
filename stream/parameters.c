/* The parameters of a client, a JSON text. SPDX-License-Identifier: Apache-2.0 */
#include "stream/parameters.h"

#include <ctype.h>

#include "core/core.h"
#include "io/bytes.h"

enum { DEEPEST = 32, LONGEST_NUMBER = 64 };

/* Where an object's members go. */
typedef enum place { OF_ALL, OF_PARAMETERS, NOWHERE } place;

typedef struct reader {
    const char *begin, *at, *end;
    lmr_parameters all, inside; /* members of the whole, and of its member "parameters" */
    int has_inside;
} reader;

void lmr_parameters_free(lmr_parameters *p)
{
    for (int i = 0; i < p->count; i++) LMR_FREE(p->each[i].name, p->each[i].value);
    free(p->each);
    *p = (lmr_parameters){0};
}

static larmor_status expected(const reader *r, const char *what)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT, "parameters: %s expected at byte %lld of the JSON text.", what,
                    (long long)(r->at - r->begin));
}

static char next(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
    return r->at < r->end ? *r->at : '\0';
}

static int eat(reader *r, char c)
{
    if (next(r) != c || r->at == r->end) return 0;
    r->at++;
    return 1;
}

static int hex4(const reader *r, const char *at, unsigned *code)
{
    *code = 0;
    if (r->end - at < 4) return 0;
    for (int i = 0; i < 4; i++) {
        const int c = tolower((unsigned char)at[i]);
        if (!isxdigit(c)) return 0;
        *code = 16 * *code + (unsigned)(isdigit(c) ? c - '0' : c - 'a' + 10);
    }
    return 1;
}

static void add_utf8(lmr_bytes *text, unsigned code)
{
    const unsigned char two[] = {(unsigned char)(0xc0 | code >> 6), (unsigned char)(0x80 | (code & 0x3f))};
    const unsigned char three[] = {(unsigned char)(0xe0 | code >> 12), (unsigned char)(0x80 | (code >> 6 & 0x3f)),
                                   (unsigned char)(0x80 | (code & 0x3f))};
    const unsigned char one = (unsigned char)code;
    if (code < 0x80) lmr_bytes_add(text, &one, 1);
    if (code >= 0x80 && code < 0x800) lmr_bytes_add(text, two, 2);
    if (code >= 0x800) lmr_bytes_add(text, three, 3);
}

/* Behind a backslash. Characters beyond 16 bits have no use here: '?' stands for each half of one. */
static larmor_status read_escape(reader *r, lmr_bytes *text)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    unsigned code;
    if (r->at == r->end) return expected(r, "an escaped character");
    const char *found = *r->at ? strchr(from, *r->at) : NULL;
    if (found) {
        lmr_bytes_add(text, &to[found - from], 1);
        r->at++;
        return LARMOR_OK;
    }
    if (*r->at != 'u' || !hex4(r, r->at + 1, &code) || !code) return expected(r, "an escaped character");
    add_utf8(text, code >= 0xd800 && code < 0xe000 ? '?' : code);
    r->at += 5;
    return LARMOR_OK;
}

static larmor_status read_string(reader *r, lmr_bytes *text)
{
    if (!eat(r, '"')) return expected(r, "a string");
    while (r->at < r->end && *r->at != '"') {
        if ((unsigned char)*r->at < ' ') return expected(r, "the end of a string");
        if (*r->at != '\\') {
            lmr_bytes_add(text, r->at++, 1);
            continue;
        }
        r->at++;
        LMR_TRY(read_escape(r, text));
    }
    return eat(r, '"') ? LARMOR_OK : expected(r, "the end of a string");
}

/* A number, true or false; *given is 0 of null. */
static larmor_status read_word(reader *r, lmr_bytes *text, int *given)
{
    const char *first = r->at;
    while (r->at < r->end && (isalnum((unsigned char)*r->at) || (*r->at && strchr("+-.", *r->at)))) r->at++;
    const size_t length = (size_t)(r->at - first);
    const int is_null = length == 4 && !memcmp(first, "null", 4);
    const int is_truth = (length == 4 && !memcmp(first, "true", 4)) || (length == 5 && !memcmp(first, "false", 5));
    int is_number = length > 0 && length < LONGEST_NUMBER && (*first == '-' || isdigit((unsigned char)*first));
    for (size_t i = 0; i < length; i++) is_number &= strchr("+-.0123456789eE", first[i]) != NULL;
    if (!is_null && !is_truth && !is_number) {
        r->at = first;
        return expected(r, "a value");
    }
    *given = !is_null;
    if (*given) lmr_bytes_add(text, first, length);
    return LARMOR_OK;
}

static larmor_status read_scalar(reader *r, lmr_bytes *text, int *given)
{
    *given = 1;
    return next(r) == '"' ? read_string(r, text) : read_word(r, text, given);
}

static larmor_status read_array(reader *r, lmr_bytes *text)
{
    int given;
    r->at++;
    if (eat(r, ']')) return LARMOR_OK;
    do {
        LMR_TRY(read_scalar(r, text, &given));
        if (next(r) == ',') lmr_bytes_add(text, ",", 1);
    } while (eat(r, ','));
    return eat(r, ']') ? LARMOR_OK : expected(r, "the end of an array of texts or numbers");
}

/* The texts become the list's. */
static larmor_status keep(lmr_parameters *list, lmr_bytes *name, lmr_bytes *value)
{
    LMR_TRY(lmr_bytes_end(name));
    LMR_TRY(lmr_bytes_end(value));
    LMR_REFUSE(list->count == LMR_MOST_PARAMETERS, LARMOR_ERR_FORMAT, "parameters: more than %d; fewer expected.",
               LMR_MOST_PARAMETERS);
    lmr_parameter *more = realloc(list->each, (size_t)(list->count + 1) * sizeof *more);
    if (!more) return LMR_NO_MEMORY();
    list->each = more;
    more[list->count++] = (lmr_parameter){(char *)name->data, (char *)value->data};
    *name = *value = (lmr_bytes){0};
    return LARMOR_OK;
}

static larmor_status read_object(reader *r, place of, int depth);

/* What stands behind the name of a member. */
static larmor_status read_member(reader *r, place of, int depth, lmr_bytes *name, lmr_bytes *value)
{
    int given = 1;
    if (next(r) == '{') {
        LMR_TRY(lmr_bytes_end(name));
        const int is_inside = of == OF_ALL && !strcmp((const char *)name->data, "parameters");
        r->has_inside |= is_inside;
        return read_object(r, is_inside ? OF_PARAMETERS : NOWHERE, depth + 1);
    }
    LMR_TRY(next(r) == '[' ? read_array(r, value) : read_scalar(r, value, &given));
    if (!given || of == NOWHERE) return LARMOR_OK;
    return keep(of == OF_ALL ? &r->all : &r->inside, name, value);
}

static larmor_status read_object(reader *r, place of, int depth)
{
    if (depth > DEEPEST) return expected(r, "less depth");
    if (!eat(r, '{')) return expected(r, "'{'");
    if (eat(r, '}')) return LARMOR_OK;
    do {
        lmr_bytes name = {0}, value = {0};
        larmor_status st = read_string(r, &name);
        if (!st && !eat(r, ':')) st = expected(r, "':'");
        if (!st) st = read_member(r, of, depth, &name, &value);
        lmr_bytes_free(&name);
        lmr_bytes_free(&value);
        if (st) return st;
    } while (eat(r, ','));
    return eat(r, '}') ? LARMOR_OK : expected(r, "',' or '}'");
}

larmor_status lmr_parameters_read(const char *text, int64_t bytes, lmr_parameters *out)
{
    reader r = {.begin = text, .at = text, .end = text + bytes};
    *out = (lmr_parameters){0};
    larmor_status st = read_object(&r, OF_ALL, 0);
    next(&r);
    if (!st && r.at < r.end) st = expected(&r, "the end");
    if (!st) *out = r.has_inside ? r.inside : r.all;
    lmr_parameters_free(!st && r.has_inside ? &r.all : &r.inside);
    if (st) lmr_parameters_free(&r.all);
    return st;
}

int lmr_parameters_begin(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '{';
}

int lmr_parameter_is(const char *name, const char *known)
{
    for (;; name++, known++) {
        while (*name == '-' || *name == '_') name++;
        while (*known == '-' || *known == '_') known++;
        if (tolower((unsigned char)*name) != tolower((unsigned char)*known)) return 0;
        if (!*name) return 1;
    }
}
