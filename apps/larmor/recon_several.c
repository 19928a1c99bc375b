/* Several scans in one call: --out-dir. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "recon.h"

typedef struct outputs { /* of one scan */
    char path[APP_MAX_TEXTS][PATH_MAX];
} outputs;

static int name_outputs(const recon_settings *s, const char *input, outputs *to, recon_settings *own)
{
    *own = *s;
    own->outputs.count = s->outputs.count ? s->outputs.count : 1;
    for (int i = 0; i < own->outputs.count; i++) {
        const char *suffix = s->outputs.count ? s->outputs.text[i] : ".h5";
        APP_TRY(APP_INPUT, larmor_output_name(s->out_dir, input, suffix, to->path[i], PATH_MAX));
        own->outputs.text[i] = to->path[i];
    }
    return APP_DONE;
}

static int check(const recon_settings *s, const app_files *files)
{
    const struct {
        const char *option, *value;
    } single[] = {{"report", s->report},
                  {"gating-plot", s->gating_plot},
                  {"bids-dir", s->bids_dir},
                  {"save-maps", s->save_maps},
                  {"save-density", s->save_density},
                  {"save-motion", s->save_motion},
                  {"noise-map", s->noise_map},
                  {"snr-map", s->snr_map},
                  {"g-map", s->g_map},
                  {"height-map", s->height_map},
                  {"width-map", s->width_map},
                  {"posterior-map", s->posterior_map},
                  {"posterior-mean", s->posterior_mean},
                  {"checkpoint", s->checkpoint}};
    for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
        if (!single[i].value) continue;
        return app_refuse(APP_USAGE, "--%s: names a file of one scan; leave it out with --out-dir.",
                          single[i].option);
    }
    for (int i = 0; i < s->outputs.count; i++) {
        if (s->outputs.text[i][0] == '.' && !strchr(s->outputs.text[i], '/')) continue;
        if (s->outputs.text[i][0] == '.' && larmor_format_of(s->outputs.text[i]).is_folder) continue;
        return app_refuse(APP_USAGE, "--output %s: with --out-dir the suffix of all images expected, such as .nii.",
                          s->outputs.text[i]);
    }
    for (int i = 0; i < files->count; i++) {
        if (strcmp(files->name[i], "-") != 0) continue;
        return app_refuse(APP_USAGE, "recon: \"-\": standard input has no name for an image in --out-dir; use -o.");
    }
    if (larmor_ranks_started() < 2) return APP_DONE;
    return app_refuse(APP_USAGE, "--out-dir: processes share one scan at a time; start them once for each.");
}

/* No two images have one name, and none is a scan that comes later. */
static int check_names(const recon_settings *s, const app_files *files)
{
    const int each = s->outputs.count ? s->outputs.count : 1;
    const int all = files->count * each;
    APP_HEAP outputs *to = calloc((size_t)files->count, sizeof *to);
    APP_HEAP const char **path = calloc((size_t)all, sizeof *path);
    recon_settings own;
    if (!to || !path) return app_fail(APP_RUN, NO_MEMORY());
    for (int i = 0; i < files->count; i++) {
        APP_DO(name_outputs(s, files->name[i], &to[i], &own));
        for (int o = 0; o < each; o++) path[i * each + o] = own.outputs.text[o];
    }
    APP_TRY(APP_INPUT, larmor_files_check(files->name, files->count, path, all));
    return APP_DONE;
}

static void print_table(const recon_row *row, int count)
{
    int widest = (int)strlen("scan");
    for (int i = 0; i < count; i++)
        if ((int)strlen(row[i].input) > widest) widest = (int)strlen(row[i].input);
    printf("%-*s  %-16s %8s  %-8s %s\n", widest, "scan", "image", "seconds", "method", "warnings");
    for (int i = 0; i < count; i++)
        if (row[i].code)
            printf("%-*s  failed: %s\n", widest, row[i].input, row[i].failure);
        else
            printf("%-*s  %-16s %8.2f  %-8s %d\n", widest, row[i].input, row[i].size, row[i].seconds, row[i].method,
                   row[i].warnings);
}

int recon_several(const recon_settings *s, const app_files *files,
                  int (*run)(const recon_settings *s, const char *input, recon_row *row))
{
    APP_HEAP recon_row *row = calloc((size_t)files->count, sizeof *row);
    APP_HEAP outputs *to = malloc(sizeof *to);
    int first = row && to ? APP_DONE : app_fail(APP_RUN, NO_MEMORY());
    int done = 0;
    if (!first) first = check(s, files);
    if (!first) first = check_names(s, files);
    if (first) return first;
    if (mkdir(s->out_dir, 0777) && errno != EEXIST)
        return app_refuse(APP_FAILED, "--out-dir %s: cannot be made: %s.", s->out_dir, strerror(errno));
    for (; done < files->count && !app_stopped(); done++) {
        const app_files one = {1, {files->name[done]}};
        recon_settings own;
        recon_row *r = &row[done];
        r->input = files->name[done];
        r->code = name_outputs(s, r->input, to, &own);
        if (!r->code) r->code = app_check_files(&cmd_recon, &own, &one);
        if (!r->code) r->code = run(&own, r->input, r);
        if (r->code == APP_AGAIN) r->code = run(&own, r->input, r);
        if (r->code) snprintf(r->failure, sizeof r->failure, "%s", app_last_error());
        if (!first) first = r->code;
    }
    if (!s->json) print_table(row, done);
    return first;
}
