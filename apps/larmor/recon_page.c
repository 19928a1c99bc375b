/* The page of HTML about a reconstruction. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "commands.h"
#include "config.h"
#include "recon.h"

enum { MOST_SETTINGS = 128, VALUE = 256, GIVEN = 3 };

typedef struct rows { /* keys and values, and the texts of values */
    const char *key[MOST_SETTINGS + GIVEN], *value[MOST_SETTINGS + GIVEN];
    char text[MOST_SETTINGS][VALUE];
    int count;
} rows;

/* What was asked for, with the defaults that have a name. */
static void list_settings(const recon_run *r, rows *all)
{
    const app_option *o = cmd_recon.options;
    *all = (rows){.key = {"command"}, .value = {app_command_line()}, .count = 1};
    for (int i = 0; o[i].name && i < MOST_SETTINGS; i++) {
        const int is_default = !app_differs(&cmd_recon, r->s, o[i].name);
        if (is_default && !o[i].preset) continue;
        app_value_text(&o[i], r->s, all->text[i], VALUE);
        if (!all->text[i][0]) continue;
        all->key[all->count] = o[i].name;
        all->value[all->count++] = all->text[i];
    }
}

int recon_write_page(const recon_run *r)
{
    APP_HEAP rows *settings = calloc(1, sizeof *settings);
    APP_OWNED(larmor_array) *maps = NULL;
    larmor_samples samples = {0};
    larmor_grid grid;
    if (!settings) return app_fail(APP_RUN, NO_MEMORY());
    list_settings(r, settings);
    /* what is not there, as maps of a volume in slabs, is not shown */
    if (larmor_recon_maps(r->recon, &maps, NULL)) maps = NULL;
    if (larmor_source_samples(r->source, r->group[0], NULL, r->dev, &grid, &samples)) samples.traj = NULL;
    int snrs;
    APP_HEAP larmor_image *snr = recon_noise_snr(r, &snrs);
    const larmor_page page = {.title = r->input,
                              .image = r->image,
                              .report = r->report,
                              .images = r->images,
                              .settings = {settings->key, settings->value, settings->count},
                              .line = (const char *const *)r->line,
                              .lines = r->lines,
                              .warning = (const char *const *)r->warning,
                              .warnings = r->warnings,
                              .snr = snr,
                              .snrs = snrs,
                              .maps = maps,
                              .traj = samples.traj,
                              .gating = r->s->bins ? &r->gating : NULL,
                              .magnitude = r->s->magnitude};
    const larmor_status st = larmor_page_write(r->page_output, &page);
    larmor_samples_free(&samples);
    if (st) return app_fail(APP_RUN, st);
    app_log("wrote %s", larmor_output_path(r->page_output));
    return APP_DONE;
}
