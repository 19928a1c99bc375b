/* larmor fit: maps of relaxation times, water and fat from images of several times.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "choices.h"
#include "commands.h"
#include "common.h"
#include "fit_inputs.h"
#include "fit_match.h"
#include "json.h"
#include "progress.h"
#include "stack.h"

typedef fit_settings settings;

/* Numbers with a comma between each two; a file's may have blanks, too. */
static int are_times(const char *text)
{
    double ms[FIT_TIMES];
    char *end = NULL;
    if (text[strspn(text, "0123456789.,eE+-")]) return 0; /* strtod takes more than decimals */
    for (const char *at = text; !end || *end; at = end + 1) {
        errno = 0;
        strtod(at, &end);
        if (errno || end == at || (*end && *end != ',')) return 0;
    }
    return fit_read_times(text, ms) > 0;
}

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_TEXT, output, 'o', "output", "PREFIX",
           "x.nii: x_T2.nii, x_T2_std.nii and so on, in any format of images; out/: files .nii in a folder that is "
           "there",
           .needed = 1),
    OPTION(APP_TEXT, model, 'm', "model", "NAME", "what is fitted", .choice = choose_fit, .needed = 1),
    OPTION(APP_TEXT, times, 0, "times", "MS,MS[,...]",
           "echo or inversion times of the images in ms (default: those of the header or of the sidecar of BIDS)",
           .reads = are_times, .expected = "up to 256 times in ms from 0 to 1000000, like 10,20,40,"),
    OPTION(APP_READ_FILE, times_file, 0, "times-file", "FILE", "the same from a text file"),
    OPTION(APP_NUMBER, noise, 0, "noise", "X",
           "standard deviation of real and imaginary part in the images, for error bars and the noise floor of "
           "magnitudes; 0: that of the residual",
           .preset = "0", .low = 0, .high = 1e18),
    OPTION(APP_READ_FILE, noise_map, 0, "noise-map", "FILE",
           "the same for each voxel, as larmor recon --noise-map writes it"),
    OPTION(APP_FLAG, edge_bars, 0, "edge-bars", "",
           "standard deviations also have what neighbours differ by beyond the noise: blur, ringing and edges"),
    OPTION(APP_READ_FILE, mask, 0, "mask", "FILE", "voxels other than 0 are fitted"),
    OPTION(APP_NUMBER, threshold, 0, "threshold", "X",
           "without --mask: voxels are fitted above this part of the brightest", .preset = "0.1", .low = 1e-6,
           .high = 0.99),
    OPTION(APP_NUMBER, field_strength, 0, "field-strength", "T",
           "water-fat: of the magnet, in T; 0: as the header of .h5 images says", .preset = "0", .low = 0,
           .high = 100, .heading = "Water and fat"),
    OPTION(APP_READ_FILE, field_map, 0, "field-map", "FILE",
           "water-fat: the field in Hz, near which it is looked for (default: anywhere within 6 ppm)"),
    OPTION(APP_FLAG, fat_above, 0, "fat-above", "",
           "water-fat: phases turn the other way, so that fat's frequency is above water's"),
    OPTION(APP_READ_FILE, dictionary, 0, "dictionary", "FILE",
           "dictionary: signals [entries, times] of M0 = 1, .npy or .cfl", .heading = "Matches of a dictionary"),
    OPTION(
        APP_READ_FILE, table, 0, "table", "FILE",
        "dictionary: the properties of each entry: .csv whose first line has the names of its columns, or an array "
        "[entries, columns]"),
    OPTION(APP_TEXT, columns, 0, "columns", "NAME[,NAME...]", "dictionary: names of the columns of an array"),
    OPTION(
        APP_READ_FILE, basis, 0, "basis", "FILE",
        "dictionary: images are coefficients of this basis [times, coefficients], as larmor recon --basis takes it"),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace files that exist", .heading = "Program"),
    OPTION(APP_FLAG, json, 0, "json", "", "print a report as a JSON object on stdout"),
    OPTION(APP_INTEGER, threads, 0, "threads", "N", "threads of the processor (default: all cores, 32 at most)",
           .low = 1, .high = 4096),
    {0},
};

enum { MOST_OUTPUTS = 2 * LARMOR_FIT_MAX_MAPS + 1, ROOM = 4096 };

/* All that a run holds. */
typedef struct fit_run {
    const settings *s;
    larmor_fit_model model;
    larmor_device *dev;
    fit_inputs in;
    larmor_array *mask, *noise, *field;
    double tesla;
    larmor_fit_maps maps;
    larmor_output *out[MOST_OUTPUTS]; /* each map, its deviation; last the residual */
    char name[MOST_OUTPUTS][ROOM];
    int outputs;
    double beyond[LARMOR_FIT_MAX_MAPS]; /* what neighbours differ by beyond the noise, over the deviation */
    app_progress progress;
} fit_run;

static void free_run(fit_run *r)
{
    for (int i = 0; i < MOST_OUTPUTS; i++) larmor_output_free(r->out[i]);
    larmor_fit_maps_free(&r->maps);
    larmor_array_free(r->mask);
    larmor_array_free(r->noise);
    larmor_array_free(r->field);
    fit_inputs_free(&r->in);
    larmor_device_free(r->dev);
}

static larmor_status open_outputs(fit_run *r)
{
    const char *names[MOST_OUTPUTS];
    const char *map;
    for (int m = 0; (map = larmor_fit_map_name((int)r->model, m)); m++) {
        TRY(fit_name_map(r->s->output, map, "", r->name[r->outputs++], ROOM));
        TRY(fit_name_map(r->s->output, map, "_std", r->name[r->outputs++], ROOM));
    }
    TRY(fit_name_map(r->s->output, "residual", "", r->name[r->outputs++], ROOM));
    for (int i = 0; i < r->outputs; i++) names[i] = r->name[i];
    return app_outputs_open(names, r->outputs, r->s->force, r->out);
}

static int read_field(fit_run *r, const app_files *files)
{
    r->tesla = r->s->field_strength > 0 ? r->s->field_strength : fit_field_strength(&r->in);
    if (r->s->field_map) APP_TRY(APP_INPUT, app_read_in_order(r->s->field_map, r->dev, &r->field));
    APP_TRY(APP_RUN, fit_make_real(&r->field, r->dev));
    if (r->tesla > 0) return APP_DONE;
    return app_refuse(APP_REFUSED, "%s: the header does not say the magnet's field; give --field-strength T.",
                      files->name[0]);
}

static int read_inputs(fit_run *r, const app_files *files)
{
    const settings *s = r->s;
    const int is_t1 = r->model == LARMOR_FIT_T1_IR || r->model == LARMOR_FIT_T1_LL;
    APP_TRY(APP_RUN, app_open_device("cpu", s->threads, &r->dev));
    APP_DO(fit_inputs_read(files, is_t1 ? "TI" : "TE", r->dev, &r->in));
    const char *from = "the header";
    if (s->times || s->times_file) {
        from = s->times ? "--times" : s->times_file;
        r->in.times = s->times ? fit_read_times(s->times, r->in.ms) : fit_read_times_file(s->times_file, r->in.ms);
    }
    if (r->in.times < 0)
        return app_refuse(APP_REFUSED,
                          "%s: got no list of times, expected up to 256 numbers in ms from 0 to 1000000.",
                          s->times_file);
    if (!r->in.times)
        return app_refuse(APP_REFUSED, "%s: neither header nor sidecar says %s times; give --times MS,MS,...",
                          files->name[0], is_t1 ? "inversion" : "echo");
    const larmor_shape shape = larmor_array_shape(r->in.images);
    if (shape.dim[shape.ndim - 1] != r->in.times)
        return app_refuse(APP_REFUSED, "%s: got %lld image%s, expected %d, one for each time of %s.", files->name[0],
                          (long long)shape.dim[shape.ndim - 1], app_s(shape.dim[shape.ndim - 1]), r->in.times, from);
    app_log("%d times from %s: %g to %g ms", r->in.times, from, r->in.ms[0], r->in.ms[r->in.times - 1]);
    if (s->mask) APP_TRY(APP_INPUT, app_read_in_order(s->mask, r->dev, &r->mask));
    if (s->noise_map) APP_TRY(APP_INPUT, app_read_in_order(s->noise_map, r->dev, &r->noise));
    return r->model == LARMOR_FIT_WATER_FAT ? read_field(r, files) : APP_DONE;
}

static int write_maps(fit_run *r)
{
    for (int m = 0; m < r->maps.count; m++) {
        const larmor_fit_map *map = &r->maps.map[m];
        APP_TRY(APP_RUN, fit_write_map(&r->in, map->value, r->out[2 * m]));
        if (map->deviation) APP_TRY(APP_RUN, fit_write_map(&r->in, map->deviation, r->out[2 * m + 1]));
        app_log("wrote %s%s%s%s", r->name[2 * m], *map->unit ? " in " : "", map->unit,
                map->deviation ? " and its standard deviation" : "");
    }
    APP_TRY(APP_RUN, fit_write_map(&r->in, r->maps.residual, r->out[r->outputs - 1]));
    return APP_DONE;
}

static void report(const fit_run *r, const app_files *files, double seconds)
{
    json j = json_begin();
    json_text(&j, "input", files->name[0]);
    json_text(&j, "model", r->s->model);
    json_numbers(&j, "times_ms", r->in.ms, r->in.times);
    json_open(&j, "maps", '[');
    for (int m = 0; m < r->maps.count; m++) {
        json_open(&j, NULL, '{');
        JSON_MEMBERS(&j, r->maps.map[m], name, unit);
        json_text(&j, "file", r->name[2 * m]);
        if (r->maps.map[m].deviation) json_text(&j, "deviation", r->name[2 * m + 1]);
        if (r->maps.map[m].deviation) json_number(&j, "beyond_noise", r->beyond[m]);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_text(&j, "residual", r->name[r->outputs - 1]);
    json_integer(&j, "voxels", r->maps.inside);
    JSON_MEMBERS(&j, r->maps, failed, threshold);
    if (r->maps.other_sign > 0) json_number(&j, "other_sign", r->maps.other_sign);
    json_integer(&j, "lowered", r->maps.lowered);
    json_number(&j, "seconds", seconds);
    json_close(&j, '}');
}

/* What is done about the phases of complex images, and about noise in magnitudes. */
static void report_phases(const fit_run *r)
{
    static const char *const lowered[] = {
        "", "magnitudes: what their noise lifts them by is taken away",
        "magnitudes: what noise lifts them by is taken away, by each voxel's residual; --noise is better known",
        "magnitudes at two times: noise lifts them, and with them the time constant; --noise takes that away"};
    const larmor_dtype type = larmor_array_dtype(r->in.images);
    const int is_complex = type == LARMOR_C64 || type == LARMOR_C128;
    if (is_complex && r->model == LARMOR_FIT_T2_STAR)
        app_log("each voxel of the complex images has a frequency of its own");
    if (is_complex && r->model == LARMOR_FIT_T2) app_log("magnitudes of the complex images are fitted");
    if (r->maps.lowered) app_log("%s", lowered[r->maps.lowered]);
}

static int by_size(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Right fits leave less than the noise, as parameters follow a part of it: docs/records/fit.md, "More than the
 * noise". */
static const double most_over_noise = 1.5;

/* The middle of the voxels' residuals against the noise that was given. */
static larmor_status compare_residual(const fit_run *r)
{
    const int64_t voxels = larmor_array_count(r->maps.residual);
    int64_t fitted = 0;
    if (!(r->s->noise > 0)) return LARMOR_OK;
    APP_OWN_MEMORY(float, left, larmor_array_download(r->maps.residual, LARMOR_F32, &left));
    for (int64_t i = 0; i < voxels; i++)
        if (left[i] > 0) left[fitted++] = left[i];
    qsort(left, (size_t)fitted, sizeof *left, by_size);
    const double middle = fitted ? (double)left[fitted / 2] : 0;
    if (middle > most_over_noise * r->s->noise)
        app_warn("the residual is %.3g times --noise in half of the voxels: the signal is not that of the model, as "
                 "where its phase changes from image to image, or the noise is larger. Standard deviations are too "
                 "small.",
                 middle / r->s->noise);
    return LARMOR_OK;
}

static int fit(fit_run *r)
{
    APP_TRY(APP_RUN, fit_make_real(&r->mask, r->dev));
    APP_TRY(APP_RUN, fit_join_noise(&r->noise, r->in.images, r->dev));
    const larmor_fit_opts opts = {.noise = r->s->noise,
                                  .noise_map = r->noise,
                                  .mask = r->mask,
                                  .threshold = r->s->threshold,
                                  .field_strength = r->tesla,
                                  .field_map = r->field,
                                  .fat_above = r->s->fat_above};
    const larmor_status st = larmor_fit(r->in.images, r->model, r->in.ms, &opts, &r->maps);
    if (st) return st == LARMOR_STOPPED ? app_stopped() : app_fail(APP_INPUT, st);
    if (!r->mask) app_log("voxels above %.4g, --threshold of the brightest, are fitted", r->maps.threshold);
    if (r->maps.polarity) app_log("images are magnitudes: their signs were restored");
    report_phases(r);
    app_log("%lld voxel%s fitted, %lld without a fit are 0", (long long)(r->maps.inside - r->maps.failed),
            app_s(r->maps.inside - r->maps.failed), (long long)r->maps.failed);
    /* four times what chance makes of so many voxels, at least */
    if (r->maps.other_sign > 0 && r->maps.other_sign < fmin(0.95, 1 - 4 / sqrt((double)r->maps.inside)))
        app_warn("with fat on the other side of water the residual has %.2f of its squares; %s --fat-above?",
                 r->maps.other_sign, r->s->fat_above ? "is it without" : "does it need");
    APP_TRY(APP_RUN, compare_residual(r));
    if (!r->maps.map[0].deviation) app_log("there are as many parameters as images: error bars need --noise");
    for (int m = 0; m < r->maps.count; m++) {
        larmor_fit_map *map = &r->maps.map[m];
        if (!map->deviation) continue;
        APP_TRY(APP_RUN,
                fit_judge_bars(&r->in, map->name, r->s->edge_bars, map->value, &map->deviation, &r->beyond[m]));
    }
    return APP_DONE;
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    const double began = app_now();
    APP_FREED_BY(free_run) fit_run r = {.s = s};
    const char *name;
    for (int i = 0; (name = larmor_fit_model_name(i, NULL)); i++)
        if (!strcmp(name, s->model)) r.model = (larmor_fit_model)i;
    if (!strcmp(s->model, "dictionary")) return fit_match_run(s, files);
    if (s->dictionary || s->table || s->columns || s->basis)
        return app_refuse(APP_USAGE,
                          "--dictionary, --table, --columns and --basis: are options of --model dictionary.");
    if (r.model != LARMOR_FIT_WATER_FAT && (s->field_strength > 0 || s->field_map || s->fat_above))
        return app_refuse(APP_USAGE,
                          "--field-strength, --field-map and --fat-above: are options of --model water-fat.");
    if (s->times && s->times_file)
        return app_refuse(APP_USAGE, "--times-file: has no effect with --times; give one of them.");
    const larmor_status st = open_outputs(&r);
    if (st) return app_fail(st == LARMOR_ERR_ARG ? APP_INPUT : APP_RUN, st);
    app_progress_begin(&r.progress, "fit");
    int code = read_inputs(&r, files);
    if (!code) code = fit(&r);
    app_progress_end(&r.progress);
    if (!code) app_has_computed();
    if (!code) code = write_maps(&r);
    if (!code && s->json) report(&r, files, app_now() - began);
    if (!code) app_log("done in %.2f s", app_now() - began);
    return code;
}

const app_command cmd_fit = {
    .name = "fit",
    .usage = "IMAGES... -o PREFIX --model NAME [options]",
    .summary = "maps of relaxation times, water and fat from images of several times, and matches of a dictionary",
    .details =
        "One file with an image for each time, or several files whose images follow each other. Each map has a\n"
        "map of its standard deviation beside it; voxels outside of the object or without a fit are 0.",
    .lacking = "images are needed; for example: larmor fit images.nii --model t2 --times 10,20,40 -o maps.nii",
    .min_files = 1,
    .max_files = APP_MAX_FILES,
    .computes = 1,
    APP_OWN_PARTS,
};
