/* larmor maps: the coil maps of an ISMRMRD scan, as larmor recon finds them. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "choices.h"
#include "commands.h"
#include "given.h"
#include "in_options.h"
#include "json.h"
#include "map_options.h"
#include "progress.h"
#include "scan.h"

typedef struct settings {
    const char *output, *eigenvalues, *device;
    larmor_recon_opts opts; /* those that the library takes from text */
    int64_t slice, threads;
    larmor_raw_opts raw;
    scan_given given;
    int force, json;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
#define SETTING(...) APP_SETTING(settings, opts, __VA_ARGS__)
static app_option options[] = {
    OPTION(
        APP_WRITTEN_FILE, output, 'o', "output", "FILE",
        "coil maps, for --maps of recon or BART: .cfl [x, y, z, coils, sets], .npy [x, y(, z), coils], .h5 an image "
        "of each coil with its place; .nii holds magnitudes alone, .png colours for phases, to look at",
        .needed = 1),
    OPTION(APP_WRITTEN_FILE, eigenvalues, 0, "eigenvalues", "FILE",
           "espirit: also write the eigenvalues, near 1 where there is signal; any format of images"),
    SETTING(maps_method, .letter = 'm', .name = "method", .choice = choose_maps_method),
    SETTING(map_sets),
    SETTING(crop),
    SETTING(normalise),
    SETTING(calibration,
            .help = "most samples of the centre of k-space along each axis (default: 32 for walsh, 24 for espirit)"),
    SETTING(matrix,
            .help = "voxels of the image that the maps are for; X alone: for all axes that are as long as x in the "
                    "header (default: the header's)"),
    SETTING(fov_mm),
    SETTING(no_whitening, .member = "no_whitening off"),
    OPTION(APP_INTEGER, slice, 0, "slice", "N", "of this slice; needed where a scan has several", .preset = "-1",
           .low = -1, .high = 65535),
    GIVEN_OPTIONS(settings),
    SAMPLES_OPTIONS(settings),
    PHASE_ROWS_OPTION(settings),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace files that exist"),
    SETTING(memory, .help = "most memory to use on the device, e.g. 512M or 8G (default: what is free)"),
    OPTION(APP_FLAG, json, 0, "json", "", "print a report as a JSON object on stdout"),
    APP_DEVICE_OPTIONS(settings),
    {0},
};

typedef struct maps_run {
    const settings *s;
    const char *input;
    larmor_output *output, *values_output;
    larmor_raw *raw;
    larmor_source *source;
    larmor_device *dev;
    larmor_recon *recon;
    larmor_recon_plan plan;
    larmor_coils_report report;
    app_progress progress;
} maps_run;

/* Of one slice, as each has maps of its own. */
static int check_slices(const maps_run *r, const larmor_counters *only)
{
    int images, slices;
    APP_TRY(APP_RUN, scan_count(r->raw, only, &images, &slices));
    if (slices > 1)
        return app_refuse(APP_USAGE, "%s: there are maps for each of several slices; choose one by --slice.",
                          r->input);
    if (larmor_raw_describe(r->raw).coils == 1)
        return app_refuse(APP_USAGE, "%s: one coil has no maps to find.", r->input);
    return APP_DONE;
}

static int open_all(maps_run *r)
{
    const settings *s = r->s;
    const larmor_counters only = {(int)s->slice, -1, -1, -1, -1, 0};
    larmor_recon_opts opts = s->opts;
    opts.size = sizeof opts;
    opts.only = &only;
    opts.keep_eigenvalues = s->eigenvalues != NULL;
    opts.listener = app_listen;
    opts.user = &r->progress;
    APP_TRY(APP_RUN, app_output_open(s->output, s->force, &r->output));
    if (s->eigenvalues) APP_TRY(APP_RUN, app_output_open(s->eigenvalues, s->force, &r->values_output));
    APP_DO(given_open(r->input, &s->raw, &s->given, &r->raw));
    APP_DO(check_slices(r, &only));
    APP_TRY(APP_RUN, larmor_source_of_raw(r->raw, r->input, &r->source));
    APP_TRY(APP_RUN, app_open_device(s->device, s->threads, &r->dev));
    app_may_leave(r->dev);
    const larmor_status st = larmor_recon_create(r->source, r->dev, &opts, &r->recon);
    if (st) return st == LARMOR_STOPPED ? app_stopped() : app_fail(APP_INPUT, st);
    APP_TRY(APP_RUN, larmor_recon_describe(r->recon, 0, &r->plan));
    return APP_DONE;
}

static int find(maps_run *r)
{
    const larmor_status st = larmor_recon_find_maps(r->recon, 0, &r->report);
    const larmor_recon_report result = {.maps = r->report};
    char line[512];
    if (st) return st == LARMOR_STOPPED ? app_stopped() : app_fail(APP_RUN, st);
    app_has_computed();
    if (larmor_recon_warning(&result, 0, line, sizeof line)) app_warn("%s", line);
    return APP_DONE;
}

static int write_eigenvalues(maps_run *r, const larmor_image_meta *meta)
{
    APP_OWNED(larmor_array) *values = NULL, *first = NULL, *second = NULL;
    larmor_array **view[2] = {&first, &second};
    larmor_image image[2];
    const int sets = r->plan.sets;
    if (!r->values_output) return APP_DONE;
    APP_TRY(APP_RUN, larmor_recon_eigenvalues(r->recon, &values));
    const larmor_shape shape = larmor_array_shape(values);
    for (int i = 0; i < sets; i++) {
        APP_TRY(APP_RUN, larmor_array_part(values, i, 1, larmor_shape_of(shape.ndim - 1, shape.dim), view[i]));
        image[i] = (larmor_image){*view[i], *meta};
        image[i].meta.set = i;
    }
    const larmor_write_opts opts = {.magnitude = 1, .header = larmor_raw_xml(r->raw)};
    APP_TRY(APP_RUN, larmor_image_write(r->values_output, image, sets, &opts));
    app_log("wrote %s: eigenvalues of %d set%s", r->s->eigenvalues, sets, app_s(sets));
    return APP_DONE;
}

static int write_all(maps_run *r)
{
    const larmor_raw_info info = larmor_raw_describe(r->raw);
    APP_OWNED(larmor_array) *maps = NULL;
    larmor_image_meta meta;
    char left_out[64] = "";
    APP_TRY(APP_RUN, larmor_recon_maps(r->recon, &maps, &meta));
    APP_TRY(APP_RUN, map_save(r->output, maps, r->plan.sets, &meta));
    if (info.dead_coils) snprintf(left_out, sizeof left_out, ", zeros for %d left out", info.dead_coils);
    app_log("wrote %s: %s of %d coil%s%s", r->s->output, r->plan.sets > 1 ? "2 sets of maps" : "the maps", info.coils,
            app_s(info.coils), left_out);
    return write_eigenvalues(r, &meta);
}

static void report(const maps_run *r, double seconds)
{
    const larmor_recon_report result = {.maps = r->report};
    char line[512];
    json j = json_begin();
    json_text(&j, "input", r->input);
    json_text(&j, "output", r->s->output);
    json_text(&j, "method", r->plan.maps_method);
    JSON_MEMBERS(&j, r->plan, coils, sets);
    json_integers(&j, "grid", r->plan.grid.matrix, 3);
    JSON_MEMBERS(&j, r->report, sampled, dominance);
    json_open(&j, "warnings", '[');
    if (larmor_recon_warning(&result, 0, line, sizeof line)) json_text(&j, NULL, app_line_in_options(line).s);
    json_close(&j, ']');
    json_number(&j, "seconds", seconds);
    json_close(&j, '}');
}

/* Options that a method makes no use of. */
static const struct {
    const char *option, *method, *of;
} unused[] = {
    {"map-sets", "walsh", "espirit and nlinv"},
    {"crop", "walsh", "espirit"},
    {"crop", "nlinv", "espirit"},
    {"eigenvalues", "walsh", "espirit"},
    {"eigenvalues", "nlinv", "espirit"},
    {"calibration", "nlinv", "walsh and espirit"},
};

static int check_options(const settings *s)
{
    const char *method = s->opts.maps_method ? s->opts.maps_method : "auto";
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        if (strcmp(method, unused[i].method) != 0 || !app_differs(&cmd_maps, s, unused[i].option)) continue;
        return app_refuse(APP_USAGE, "--%s: has no effect with --method %s; it is an option of --method %s.",
                          unused[i].option, method, unused[i].of);
    }
    return APP_DONE;
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    const double began = app_now();
    maps_run r = {.s = s, .input = files->name[0]};
    int code = check_options(s);
    app_progress_begin(&r.progress, "coil maps");
    if (!code) code = open_all(&r);
    if (!code) code = find(&r);
    if (!code) code = write_all(&r);
    app_progress_end(&r.progress);
    if (!code && s->json) report(&r, app_now() - began);
    if (!code) app_log("done in %.2f s", app_now() - began);
    larmor_output_free(r.output);
    larmor_output_free(r.values_output);
    larmor_recon_free(r.recon);
    larmor_source_free(r.source);
    larmor_raw_free(r.raw);
    larmor_device_free(r.dev);
    return code;
}

const app_command cmd_maps = {
    .name = "maps",
    .usage = "SCAN.h5 -o MAPS [options]",
    .summary = "the coil sensitivity maps of a scan, as recon finds them",
    .details = "Maps come from the readouts for calibration or, where there are none, from the image's own centre of "
               "k-space.\n"
               "They belong to the coils as they were measured: whitening is undone.",
    .lacking = "a scan is needed; for example: larmor maps scan.h5 -o maps.cfl",
    .surplus = "one scan at a time; the file for the maps is named by -o",
    .min_files = 1,
    .max_files = 1,
    .options = options,
    .own = options,
    .computes = 1,
    .settings = sizeof(settings),
    .run = run,
};
