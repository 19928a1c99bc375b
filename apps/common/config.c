/* Options of a command in a file, by the library's reader of such files. SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "common.h"
#include "messages.h"
#include "setting_value.h"
#include "try.h"

enum { MAX_WORDS = 256, MAX_OTHERS = 64, VALUE = 1024 };

typedef struct reader {
    const app_command *command;
    void *settings;
    const char **given;
    int is_taken; /* 1: the command line has not the option that is read */
} reader;

static const app_option *find(const app_command *command, const char *name)
{
    const app_option *o = command->options;
    while (o->name && strcmp(o->name, name) != 0) o++;
    return o->name ? o : NULL;
}

static larmor_status refuse_name(const app_command *command, const char *name)
{
    const char *names[MAX_WORDS + 1] = {NULL};
    const app_option *o = command->options;
    for (int i = 0; i < MAX_WORDS && o[i].name; i++) names[i] = o[i].name;
    const char *nearest = app_nearest(name, names);
    return larmor_fail(LARMOR_ERR_ARG, "%.40s is no option of %s%s%s.", name, command->name,
                       nearest ? ", did you mean " : "", nearest ? nearest : "");
}

static struct {
    char *text[MAX_WORDS + 2 * APP_MAX_TEXTS];
    int count;
} kept; /* of the last file, as settings point to it */

static larmor_status set(const app_option *o, const char *value, void *settings)
{
    char why[VALUE];
    char *text = strdup(value);
    if (!text) return NO_MEMORY();
    kept.text[kept.count++] = text;
    app_catch_errors(why, sizeof why);
    const int code = app_set(o, text, settings);
    app_catch_errors(NULL, 0);
    return code < 0 ? LARMOR_OK : larmor_fail(LARMOR_ERR_ARG, "%s", why + 2 * !strncmp(why, "--", 2));
}

static larmor_status take(void *user, const char *name, const char *value, int i)
{
    reader *r = user;
    const app_option *o = find(r->command, name);
    if (!o) return refuse_name(r->command, name);
    if (!strcmp(name, "config")) return larmor_fail(LARMOR_ERR_ARG, "a file names no other file of options.");
    if (!strcmp(name, "prior"))
        return larmor_fail(LARMOR_ERR_ARG, "prior: a file of options loads no code; give it on the command line.");
    if (app_names_file(o) && !strcmp(value, "-"))
        return larmor_fail(LARMOR_ERR_ARG, "\"-\" is for the command line.");
    if (i && !o->adds && o->type != APP_TEXTS && o->type != APP_WRITTEN_FILES)
        return larmor_fail(LARMOR_ERR_ARG, "%s: a list of strings is none of its values.", name);
    const char **given = &r->given[o - r->command->options];
    if (!i) r->is_taken = !*given;
    *given = "";
    return r->is_taken ? set(o, value, r->settings) : LARMOR_OK;
}

int app_read_config(const app_command *command, const char *path, void *settings, const char **given)
{
    reader r = {command, settings, given, 0};
    while (kept.count) free(kept.text[--kept.count]);
    const larmor_status st = larmor_settings_read(path, NULL, take, &r);
    return st ? app_fail(APP_INPUT, st) : -1;
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
        snprintf(text, size, "%lld", (long long)app_integer(o, at));
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
    static const char *const others[] = {"config", "force", "json", "out-dir", "prior"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(o->name, others[i])) return 0;
    return o->type != APP_WRITTEN_FILE && o->type != APP_WRITTEN_FILES && o->type != APP_TEXTS;
}

void app_write_config(const app_command *command, const void *settings, const larmor_recon_opts *opts, char *text,
                      size_t size)
{
    char value[MAX_OTHERS][VALUE];
    const char *keys[MAX_OTHERS], *values[MAX_OTHERS];
    larmor_notes other = {keys, values, 0};
    for (const app_option *o = command->options; o->name && other.count < MAX_OTHERS; o++) {
        if (o->setting || !is_told(o) || !app_differs(command, settings, o->name)) continue;
        app_value_text(o, settings, value[other.count], VALUE);
        keys[other.count] = o->name;
        values[other.count] = value[other.count];
        other.count++;
    }
    larmor_recon_opts own = *opts;
    own.size = sizeof own;
    if (larmor_settings_write(&own, &other, text, size)) text[0] = 0;
}
