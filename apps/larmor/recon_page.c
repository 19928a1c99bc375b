/* The page of HTML about a reconstruction. SPDX-License-Identifier: Apache-2.0 */
#include "recon_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "setting_value.h"

enum { MOST_SETTINGS = 128, VALUE = 256, GIVEN = 3 };

typedef struct rows { /* keys and values, and the texts of values */
    const char *key[MOST_SETTINGS + GIVEN], *value[MOST_SETTINGS + GIVEN];
    char text[MOST_SETTINGS][VALUE];
    int count;
} rows;

static void list_numbers(const app_list *list, char *text)
{
    size_t used = 0;
    for (int i = 0; i < list->count && used < VALUE; i++)
        used += (size_t)snprintf(text + used, VALUE - used, "%s%g", i ? "," : "", list->value[i]);
}

static void list_texts(const app_texts *texts, char *text)
{
    size_t used = 0;
    for (int i = 0; i < texts->count && used < VALUE; i++)
        used += (size_t)snprintf(text + used, VALUE - used, "%s%s", i ? " " : "", texts->text[i]);
}

/* The value of an option as it was given; "" of a flag that was not. */
static void value_of(const app_option *o, const void *settings, char *text)
{
    const char *at = (const char *)settings + o->at, *word = NULL;
    text[0] = 0;
    if (o->setting) {
        snprintf(text, VALUE, "%s", app_setting_value(at, o->setting).s);
        return;
    }
    switch (o->type) {
    case APP_FLAG:
        snprintf(text, VALUE, "%s", *(const int *)at ? "on" : "");
        break;
    case APP_INTEGER:
    case APP_BYTES:
        snprintf(text, VALUE, "%lld", (long long)*(const int64_t *)at);
        break;
    case APP_NUMBER:
        snprintf(text, VALUE, "%g", *(const double *)at);
        break;
    case APP_TEXTS:
    case APP_WRITTEN_FILES:
        list_texts((const app_texts *)at, text);
        break;
    case APP_SIZES:
    case APP_NUMBERS:
        list_numbers((const app_list *)at, text);
        break;
    case APP_TEXT:
    case APP_READ_FILE:
    case APP_WRITTEN_FILE:
        memcpy(&word, at, sizeof word);
        snprintf(text, VALUE, "%s", word ? word : "");
    }
}

/* What was asked for, with the defaults that have a name. */
static void list_settings(const recon_run *r, rows *all)
{
    const app_option *o = cmd_recon.options;
    *all = (rows){.key = {"command"}, .value = {app_command_line()}, .count = 1};
    for (int i = 0; o[i].name && i < MOST_SETTINGS; i++) {
        const int is_default = !app_differs(&cmd_recon, r->s, o[i].name);
        if (is_default && !o[i].preset) continue;
        value_of(&o[i], r->s, all->text[i]);
        if (!all->text[i][0]) continue;
        all->key[all->count] = o[i].name;
        all->value[all->count++] = all->text[i];
    }
}

int recon_write_page(const recon_run *r)
{
    rows *settings = calloc(1, sizeof *settings);
    larmor_array *maps = NULL;
    larmor_samples samples = {0};
    larmor_grid grid;
    if (!settings) return app_fail(APP_RUN, NO_MEMORY());
    list_settings(r, settings);
    /* what is not there, as maps of a volume in slabs, is not shown */
    if (larmor_recon_maps(r->recon, &maps, NULL)) maps = NULL;
    if (larmor_source_samples(r->source, r->group[0], NULL, r->dev, &grid, &samples)) samples.traj = NULL;
    const larmor_page page = {.title = r->input,
                              .image = r->image,
                              .report = r->report,
                              .images = r->images,
                              .settings = {settings->key, settings->value, settings->count},
                              .line = (const char *const *)r->line,
                              .lines = r->lines,
                              .warning = (const char *const *)r->warning,
                              .warnings = r->warnings,
                              .maps = maps,
                              .traj = samples.traj,
                              .magnitude = r->s->magnitude};
    const larmor_status st = larmor_page_write(r->page_output, &page);
    larmor_samples_free(&samples);
    larmor_array_free(maps);
    free(settings);
    if (st) return app_fail(APP_RUN, st);
    app_log("wrote %s", larmor_output_path(r->page_output));
    return APP_DONE;
}
