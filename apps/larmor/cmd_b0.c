/* larmor b0: the field map of a scan with several echoes. SPDX-License-Identifier: Apache-2.0 */
#include "choices.h"
#include "commands.h"
#include "common.h"
#include "given.h"
#include "json.h"
#include "map_options.h"
#include "progress.h"
#include "stack.h"

typedef struct settings {
    const char *output, *maps, *echo_times, *device;
    app_list maps_fov;
    larmor_raw_opts raw;
    scan_given given;
    double smooth, threshold;
    int64_t rounds, slice, phase, repetition, memory, threads;
    int force, json;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
/* "2.5,4.8" to numbers; their count, or -1. */
static int read_times(const char *text, double *ms)
{
    enum { LONGEST_MS = 100000 };
    int count = 0;
    for (const char *p = text; p; p = *p == ',' ? p + 1 : NULL) {
        app_list one;
        char number[32];
        const size_t length = strcspn(p, ",");
        if (count == LARMOR_MAX_ECHOES || length >= sizeof number) return -1;
        snprintf(number, sizeof number, "%.*s", (int)length, p);
        if (!app_read_numbers(number, 1, 0, &one) || one.value[0] < 0 || one.value[0] > LONGEST_MS) return -1;
        ms[count++] = one.value[0];
        p += length;
    }
    return count;
}

static int are_times(const char *text)
{
    double ms[LARMOR_MAX_ECHOES];
    return read_times(text, ms) > 1;
}

static const app_option options[] = {
    OPTION(APP_WRITTEN_FILE, output, 'o', "output", "FILE", "the map in Hz; any format of images", .needed = 1),
    OPTION(APP_TEXT, echo_times, 0, "echo-times", "MS,MS[,...]",
           "echo times of contrast 0, 1, ... (default: TE in the header)", .reads = are_times,
           .expected = "2 to 16 times in ms from 0 to 100000, like 2.3,4.6,", .member = "echo_ms"),
    OPTION(APP_NUMBER, smooth, 0, "smooth", "VOXELS",
           "structure finer than about 2 pi of these is smoothed away where the object is bright, more where it is "
           "dark; 0: hardly any",
           .preset = "1.5", .low = 0, .high = 100),
    OPTION(APP_NUMBER, threshold, 0, "threshold", "X",
           "the object is where the magnitude is above this part of the brightest", .preset = "0.1", .low = 1e-6,
           .high = 0.99),
    OPTION(APP_INTEGER, rounds, 0, "rounds", "N",
           "make the images so often, from the second time on corrected by the map of the time before", .preset = "2",
           .low = 1, .high = 10),
    OPTION(APP_READ_FILE, maps, 0, "maps", "FILE", "coil maps: auto (from the data's own centre), or a file",
           .preset = "auto", .no_file = "auto", .member = "no_maps none"),
    MAPS_FOV_OPTION(settings),
    OPTION(APP_INTEGER, slice, 0, "slice", "N", "only this slice; -1: all", .preset = "-1", .low = -1, .high = 65535,
           .member = "only.slice"),
    OPTION(APP_INTEGER, phase, 0, "phase", "N", "this phase; -1: the first", .preset = "-1", .low = -1,
           .high = 65535),
    OPTION(APP_INTEGER, repetition, 0, "repetition", "N", "this repetition; -1: the first", .preset = "-1", .low = -1,
           .high = 65535),
    GIVEN_OPTIONS(settings),
    SAMPLES_OPTIONS(settings),
    PHASE_ROWS_OPTION(settings),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace files that exist"),
    OPTION(APP_BYTES, memory, 0, "memory", "SIZE", "most memory to use on the device (default: what is free)"),
    OPTION(APP_FLAG, json, 0, "json", "", "print a report as a JSON object on stdout"),
    APP_DEVICE_OPTIONS(settings),
    {0},
};

/* All that a run holds. */
typedef struct b0_run {
    const settings *s;
    const char *input;
    larmor_raw *raw;
    larmor_source *source;
    larmor_device *dev;
    larmor_array *coil_maps;
    larmor_field_maps maps;
    app_progress progress;
} b0_run;

static void free_run(b0_run *r)
{
    larmor_field_maps_free(&r->maps);
    larmor_array_free(r->coil_maps);
    larmor_source_free(r->source);
    larmor_raw_free(r->raw);
    larmor_device_free(r->dev);
}

static void report(const b0_run *r, double seconds)
{
    json j = json_begin();
    json_text(&j, "input", r->input);
    json_text(&j, "output", r->s->output);
    json_open(&j, "slices", '[');
    for (int i = 0; i < r->maps.count; i++) {
        const larmor_field_map_report *map = &r->maps.report[i];
        json_open(&j, NULL, '{');
        json_integer(&j, "slice", r->maps.image[i].meta.slice);
        json_number(&j, "lowest", map->low);
        json_number(&j, "highest", map->high);
        JSON_MEMBERS(&j, *map, object, regions);
        json_integer(&j, "unwrapped_voxels", map->wraps);
        JSON_MEMBERS(&j, *map, unambiguous, residual);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_number(&j, "seconds", seconds);
    json_close(&j, '}');
}

static int write_maps(const b0_run *r, larmor_output *out)
{
    APP_HEAP larmor_image *images = calloc((size_t)r->maps.count, sizeof *images);
    if (!images) return app_fail(APP_RUN, NO_MEMORY());
    for (int i = 0; i < r->maps.count; i++) images[i] = (larmor_image){r->maps.image[i].data, r->maps.image[i].meta};
    APP_TRY(APP_RUN, larmor_image_write(out, images, r->maps.count, NULL));
    app_log("wrote %s: %d field map%s in Hz", r->s->output, r->maps.count, app_s(r->maps.count));
    if (r->maps.count > 1) app_log_written_slices(out, r->source, -1);
    return APP_DONE;
}

static int estimate(b0_run *r, const larmor_echo_opts *echo)
{
    const settings *s = r->s;
    const larmor_counters only = {(int)s->slice, -1, (int)s->phase, (int)s->repetition, -1, 0};
    larmor_recon_opts opts = {.size = sizeof opts, .only = &only, .memory = s->memory, .maps_name = s->maps};
    opts.listener = app_listen;
    opts.user = &r->progress;
    APP_DO(given_open(r->input, &s->raw, &s->given, &r->raw));
    APP_TRY(APP_RUN, larmor_source_of_raw(r->raw, r->input, &r->source));
    APP_TRY(APP_RUN, app_open_device(s->device, s->threads, &r->dev));
    app_may_leave(r->dev);
    if (strcmp(s->maps, "auto") != 0) {
        APP_TRY(APP_INPUT, app_read_array(s->maps, r->dev, &r->coil_maps));
        APP_TRY(APP_INPUT, map_place(s->maps, &s->maps_fov, &opts.maps_place));
    }
    opts.maps = r->coil_maps;
    const larmor_status st = larmor_recon_field_maps(r->source, r->dev, &opts, echo, &r->maps);
    if (st) return st == LARMOR_STOPPED ? app_stopped() : app_fail(APP_INPUT, st);
    return APP_DONE;
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    const double began = app_now();
    APP_FREED_BY(free_run) b0_run r = {.s = s, .input = files->name[0]};
    double ms[LARMOR_MAX_ECHOES];
    APP_OWNED(larmor_output) *out = NULL;
    larmor_echo_opts echo = {.rounds = (int)s->rounds,
                             .map = {.smooth = s->smooth > 0 ? s->smooth : -1, .threshold = s->threshold}};
    if (s->maps_fov.count && !strcmp(s->maps, "auto"))
        return app_refuse(APP_USAGE, "--maps-fov: has no effect with --maps auto; it is an option of --maps FILE.");
    if (s->echo_times) {
        echo.echoes = read_times(s->echo_times, ms);
        echo.echo_ms = ms;
    }
    APP_TRY(APP_RUN, app_output_open(s->output, s->force, &out));
    app_progress_begin(&r.progress, "field map");
    int code = estimate(&r, &echo);
    app_progress_end(&r.progress);
    if (!code) app_has_computed();
    if (!code) code = write_maps(&r, out);
    if (!code && s->json) report(&r, app_now() - began);
    if (!code) app_log("done in %.2f s", app_now() - began);
    return code;
}

const app_command cmd_b0 = {
    .name = "b0",
    .usage = "SCAN.h5 -o MAP [options]",
    .summary = "find the off-resonance of a scan with several echoes",
    .details =
        "The echoes are contrasts, or sets where all have one contrast. Each becomes an image by the same coil "
        "maps;\n"
        "the map is made from their phases, and serves larmor recon --b0. Positive frequencies turn from echo to "
        "echo\n"
        "as exp(+2 pi i f t).",
    .lacking = "a scan is needed; for example: larmor b0 scan.h5 -o b0.nii",
    .surplus = "one scan at a time; the map is named by -o",
    .min_files = 1,
    .max_files = 1,
    .computes = 1,
    APP_OWN_PARTS,
};
