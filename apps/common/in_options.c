/* Lines of the library with the program's options. SPDX-License-Identifier: Apache-2.0 */
#include "in_options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char before[] = "opts."; /* members in the library's messages */
static const app_program *program;
static const app_command *running;

void app_set_options(const app_program *of, const app_command *command)
{
    program = of;
    running = command;
}

/* A member is letters, digits, _ and dots inside. */
static size_t member_length(const char *text)
{
    size_t n = 0;
    while (islower((unsigned char)text[n]) || isdigit((unsigned char)text[n]) || text[n] == '_' ||
           (text[n] == '.' && n && islower((unsigned char)text[n + 1])))
        n++;
    return n;
}

/* 1 if the member has the option's name, with _ for -. */
static int has_name(const char *name, const char *member, size_t length)
{
    if (strlen(name) != length) return 0;
    for (size_t i = 0; i < length; i++)
        if (name[i] != (member[i] == '_' ? '-' : member[i])) return 0;
    return 1;
}

/* 1 if it is the option's member, and in *value what is said behind the option, "" or " off". */
static int has_member(const app_option *o, const char *member, size_t length, const char **value)
{
    *value = "";
    if (!o->member) return has_name(o->name, member, length);
    const size_t own = strcspn(o->member, " ");
    if (own == length && !strncmp(o->member, member, length)) {
        *value = o->member + own;
        return 1;
    }
    return o->member[own] && has_name(o->name, member, length); /* a flag beside the value itself */
}

static const app_option *find_in(const app_option *list, const char *member, size_t length, const char **value)
{
    for (const app_option *o = list; o && o->name; o++)
        if (has_member(o, member, length, value)) return o;
    return NULL;
}

static const app_option *find_option(const char *member, size_t length, const char **value)
{
    const app_option *found = running ? find_in(running->options, member, length, value) : NULL;
    for (const app_command *const *c = program ? program->commands : NULL; c && *c && !found; c++)
        found = find_in((*c)->options, member, length, value);
    return found;
}

/* The option of the member that begins at text[i], or NULL; *length: what it takes of the text. */
static const app_option *option_at(const char *text, size_t i, size_t *length, const char **value)
{
    const size_t skipped = sizeof before - 1;
    if (strncmp(text + i, before, skipped) != 0) return NULL;
    if (i && !strchr(" \"'(\n", text[i - 1])) return NULL; /* a part of something else, as of a file's name */
    const size_t n = member_length(text + i + skipped);
    *length = skipped + n;
    return find_option(text + i + skipped, n, value);
}

const char *app_in_options(const char *line, char *to, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; line[i] && used + 1 < size;) {
        const char *value;
        size_t length;
        const app_option *o = option_at(line, i, &length, &value);
        if (o) {
            const int n = snprintf(to + used, size - used, "--%s%s", o->name, value);
            used = n < 0 || (size_t)n >= size - used ? size - 1 : used + (size_t)n;
            i += length;
        } else {
            to[used++] = line[i++];
        }
    }
    if (size) to[used] = 0;
    return to;
}

app_line app_line_in_options(const char *line)
{
    app_line own;
    app_in_options(line, own.s, sizeof own.s);
    return own;
}
