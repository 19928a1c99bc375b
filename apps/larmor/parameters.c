/* The options of recon as parameters of a stream. SPDX-License-Identifier: Apache-2.0 */
#include "parameters.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

/* What is for whoever starts the server, by options of its own, or has no use without files. */
static const char *const of_server[] = {"device",  "threads",          "memory", "force",     "json",
                                        "plan",    "checkpoint-every", "window", "magnitude", "config",
                                        "out-dir", "bids-dir",         "via"};

void parameters_begin(parameters *p)
{
    app_defaults(&cmd_recon, &p->settings);
}

void parameters_free(parameters *p)
{
    for (int i = 0; i < p->count; i++) free(p->kept[i]);
    free(p->kept);
    *p = (parameters){.count = 0};
}

/* The same but for dashes and the case of letters, which not all clients can send. */
static int same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == '-' || *a == '_') a++;
        while (*b == '-' || *b == '_') b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return 0;
        if (!*a) return 1;
    }
}

static const app_option *find(const char *name)
{
    for (const app_option *o = cmd_recon.options; o->name; o++)
        if (same_name(name, o->name)) return o;
    return NULL;
}

static int is_of_server(const app_option *o)
{
    for (size_t i = 0; i < sizeof of_server / sizeof *of_server; i++)
        if (!strcmp(o->name, of_server[i])) return 1;
    return o->type == APP_WRITTEN_FILE || o->type == APP_WRITTEN_FILES;
}

static int names_file(const app_option *o, const char *value)
{
    if (o->file_if && strstr(value, o->file_if)) return 1;
    return o->type == APP_READ_FILE && !app_is_word(o, value);
}

static const char *keep(parameters *p, const char *text)
{
    char **more = realloc(p->kept, (size_t)(p->count + 1) * sizeof *more);
    if (!more) return NULL;
    p->kept = more;
    more[p->count] = strdup(text);
    return more[p->count] ? more[p->count++] : NULL;
}

larmor_status parameters_set(parameters *p, const char *name, const char *value, int trusted)
{
    char why[1024];
    const app_option *o = find(name);
    if (!o) return larmor_fail(LARMOR_ERR_UNSUPPORTED, "parameter %s: no option of larmor recon.", name);
    if (is_of_server(o))
        return larmor_fail(LARMOR_ERR_ARG, "parameter %s: is for whoever starts the server.", o->name);
    if (!trusted && names_file(o, value))
        return larmor_fail(LARMOR_ERR_ARG, "parameter %s: files are for whoever starts the server (--set).", o->name);
    const char *text = keep(p, value);
    if (!text) return NO_MEMORY();
    app_catch_errors(why, sizeof why);
    const int code = app_set(o, text, &p->settings);
    app_catch_errors(NULL, 0);
    return code < 0 ? LARMOR_OK : larmor_fail(LARMOR_ERR_ARG, "parameter %s", why + 2 * !strncmp(why, "--", 2));
}

const char *parameters_divide(const char *text, char *name, size_t size)
{
    const size_t length = strcspn(text, "=");
    if (length && text[length] && length < size) {
        snprintf(name, size, "%.*s", (int)length, text);
        return text + length + 1;
    }
    app_error("--set \"%s\": NAME=VALUE expected.", text);
    return NULL;
}
