/* Whose names messages have for what a caller gives. SPDX-License-Identifier: Apache-2.0 */
#include "core/terms.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "larmor/status.h"

/* Options whose member has another name than the option without its dashes and with _ for - inside. */
static const struct term {
    const char *option, *member;
} terms[] = {
    {"cardiac-phases", "frames.phases"},
    {"dcf", "density"},
    {"echo-times", "echo_ms"},
    {"fov", "fov_mm"},
    {"frame-time", "frames.ms"},
    {"gate", "frames.gate"},
    {"slice", "only.slice"},
    {"spokes-per-frame", "frames.spokes"},
    {"whiten off", "no_whitening"},
};

static atomic_int options_named;

void larmor_name_options(int options)
{
    atomic_store(&options_named, options);
}

static int is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

/* Length of the option's name after "--" at text[i], 0 if there is none: it stands behind a space, a quotation mark or a
 * bracket, or at the beginning. */
static size_t option_at(const char *text, size_t i)
{
    if (text[i] != '-' || text[i + 1] != '-' || !is_letter(text[i + 2])) return 0;
    if (i && !strchr(" \"'(", text[i - 1])) return 0;
    size_t n = 0;
    while (is_letter(text[i + 2 + n]) || (text[i + 2 + n] == '-' && is_letter(text[i + 3 + n]))) n++;
    return n;
}

/* Appends the member for an option of `length` letters; how many characters of the option it stands for. */
static size_t put_member(const char *option, size_t length, char *to, size_t *used, size_t size)
{
    for (size_t t = 0; t < sizeof terms / sizeof *terms; t++) {
        const size_t n = strlen(terms[t].option);
        if (n < length || strncmp(terms[t].option, option, n) != 0) continue;
        *used += (size_t)snprintf(to + *used, size - *used, "%s", terms[t].member);
        if (*used >= size) *used = size - 1;
        return n;
    }
    for (size_t i = 0; i < length && *used + 1 < size; i++) to[(*used)++] = option[i] == '-' ? '_' : option[i];
    return length;
}

void lmr_name_members(char *text, size_t size)
{
    char named[4096];
    size_t used = 0;
    if (atomic_load(&options_named) || !strstr(text, "--")) return;
    if (size > sizeof named) size = sizeof named;
    for (size_t i = 0; text[i] && used + 1 < size;) {
        const size_t length = option_at(text, i);
        if (length)
            i += 2 + put_member(text + i + 2, length, named, &used, size);
        else
            named[used++] = text[i++];
    }
    named[used] = 0;
    memcpy(text, named, used + 1);
}
