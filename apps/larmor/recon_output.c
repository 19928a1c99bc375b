/* The files of a reconstruction: images with their provenance, coil maps and density weights.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "config.h"
#include "in_options.h"
#include "map_options.h"
#include "recon.h"
#include "scan.h"
#include "stack.h"

/* ---- before the work ---- */

int recon_open_outputs(recon_run *r)
{
    const recon_settings *s = r->s;
    int code = APP_DONE;
    for (int i = 0; i < s->outputs.count; i++)
        if ((code = recon_open_files(r, i))) return code;
    if (s->save_maps) APP_TRY(APP_RUN, app_output_open(s->save_maps, s->force, &r->maps_output));
    if (s->save_density) APP_TRY(APP_RUN, app_output_open(s->save_density, s->force, &r->density_output));
    if (s->save_motion) APP_TRY(APP_RUN, app_output_open(s->save_motion, s->force, &r->motion_output));
    APP_DO(recon_noise_open(r));
    if (s->report) APP_TRY(APP_RUN, app_output_open(s->report, s->force, &r->page_output));
    if (s->gating_plot) APP_TRY(APP_RUN, app_drawing_open(s->gating_plot, s->force, &r->gating_output));
    return code;
}

/* Maps are reserved on the grid of the first image. */
int recon_reserve(recon_run *r)
{
    const int series = larmor_recon_series(r->recon);
    larmor_recon_plan plan = {.images = 0};
    int code = series ? recon_divide_files(r) : APP_DONE;
    if (!series || code) return code;
    APP_TRY(APP_RUN, larmor_recon_describe(r->recon, 0, &plan));
    const larmor_grid *grid = &plan.grid;
    const int64_t channels = larmor_raw_describe(r->raw).channels;
    const larmor_shape maps = larmor_shape_append(larmor_shape_of(grid->ndim, grid->matrix), channels * plan.sets);
    if (r->maps_output) APP_TRY(APP_RUN, larmor_output_reserve(r->maps_output, LARMOR_C64, maps, 0));
    if (r->density_output)
        APP_TRY(APP_RUN, larmor_output_reserve(r->density_output, LARMOR_F64, LARMOR_SHAPE(plan.first.total), 0));
    return code;
}

int recon_open_checkpoint(recon_run *r)
{
    const char *path = r->s->checkpoint;
    if (!path) return APP_DONE;
    const larmor_status st = larmor_checkpoint_file(path, &r->checkpoint);
    return st ? app_fail(APP_RUN, st) : APP_DONE;
}

/* ---- provenance ---- */

const char *recon_origin(const larmor_recon_report *report)
{
    static const char *const names[] = {"user", "data", "scan", "noise", "none", "noise", "noise"};
    return names[report->lambda_from];
}

const char *recon_partial(const larmor_recon_report *report)
{
    static const char *const names[] = {"none", "homodyne", "pocs", "zero"};
    return names[report->partial_fourier];
}

const char *recon_method_origin(const larmor_recon_report *report)
{
    static const char *const names[] = {
        [LARMOR_METHOD_FROM_CALLER] = "user",         [LARMOR_METHOD_FROM_DATA] = "data",
        [LARMOR_METHOD_FROM_SCAN] = "scan",           [LARMOR_METHOD_FROM_OPTIONS] = "options",
        [LARMOR_METHOD_FROM_MEMORY] = "memory",       [LARMOR_METHOD_FROM_LINEARITY] = "linearity",
        [LARMOR_METHOD_FROM_FEW_SAMPLES] = "samples", [LARMOR_METHOD_FROM_FAILURE] = "failure",
        [LARMOR_METHOD_FROM_HOLE] = "hole",           [LARMOR_METHOD_FROM_ONE_COIL] = "coil",
        [LARMOR_METHOD_FROM_BINS] = "bins",           [LARMOR_METHOD_FROM_MODEL] = "model"};
    return names[report->method.from];
}

/* "tgv 0.1234, wavelet 0.1240" */
static void list_sums(const larmor_recon_report *report, char *text, size_t room)
{
    const larmor_method_choice *m = &report->method;
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < m->compared && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s %.4f", i ? ", " : "", m->trial[i].name,
                                 m->trial[i].misfit);
}

enum { MOST_NOTES = 20, WARNING_ROOM = 512, MAX_WARNINGS = 4 };

/* Keys and values of one image, and the texts that they point to. */
typedef struct note {
    const char *keys[MOST_NOTES], *values[MOST_NOTES];
    char sums[160], lambda[32], iters[32], residual[32], noise[32], grid[80], misfit[32], beyond[32], chi2[32],
        warnings[MAX_WARNINGS * WARNING_ROOM];
    int count;
} note;

static void add_note(note *n, const char *key, const char *value)
{
    n->keys[n->count] = key;
    n->values[n->count++] = value;
}

/* All warnings as one text. */
static void add_warnings(const larmor_recon_report *result, note *n)
{
    size_t length = 0;
    char line[WARNING_ROOM], own[WARNING_ROOM];
    for (int i = 0; i < MAX_WARNINGS && larmor_recon_warning(result, i, line, sizeof line); i++)
        length += (size_t)snprintf(n->warnings + length, sizeof n->warnings - length, "%s%s", i ? " " : "",
                                   app_in_options(line, own, sizeof own));
    if (length) add_note(n, "LarmorWarning", n->warnings);
}

static void add_misfit(const larmor_misfit *m, note *n)
{
    snprintf(n->misfit, sizeof n->misfit, "%.4g", m->relative);
    snprintf(n->beyond, sizeof n->beyond, "%.4g", m->beyond_noise);
    snprintf(n->chi2, sizeof n->chi2, "%.4g", m->chi2);
    add_note(n, "LarmorMisfit", n->misfit);
    add_note(n, "LarmorMisfitBeyondNoise", n->beyond);
    if (m->chi2 > 0) add_note(n, "LarmorChi2", n->chi2);
}

static void describe_image(const recon_run *r, const larmor_recon_report *result, note *n)
{
    *n = (note){.count = 0};
    if (strcmp(recon_method(r->s), "grid") != 0) {
        snprintf(n->lambda, sizeof n->lambda, "%g", result->lambda);
        snprintf(n->iters, sizeof n->iters, "%d", result->solver.iters);
        snprintf(n->residual, sizeof n->residual, "%.3e", result->solver.residual);
        add_note(n, "LarmorMethod", result->method.name);
        add_note(n, "LarmorMethodFrom", recon_method_origin(result));
        list_sums(result, n->sums, sizeof n->sums);
        if (n->sums[0]) add_note(n, "LarmorMethodSums", n->sums);
        add_note(n, "LarmorLambda", n->lambda);
        add_note(n, "LarmorLambdaFrom", recon_origin(result));
        snprintf(n->noise, sizeof n->noise, "%g", result->noise);
        add_note(n, "LarmorNoise", n->noise);
        add_note(n, "LarmorIterations", n->iters);
        add_note(n, "LarmorPartialFourier", recon_partial(result));
        add_note(n, "LarmorResidual", n->residual);
    }
    snprintf(n->grid, sizeof n->grid, "%lldx%lldx%lld", (long long)result->grid[0], (long long)result->grid[1],
             (long long)result->grid[2]);
    add_note(n, "LarmorGrid", n->grid);
    if (result->misfit.measured) add_misfit(&result->misfit, n);
    add_warnings(result, n);
    if (result->interrupted) add_note(n, "LarmorInterrupted", "1");
    if (!result->is_suspect) return;
    add_note(n, "LarmorSuspect", "1");
}

/* What holds for all images. */
typedef struct common_notes {
    char history[128], series[128], coils[64], settings[8192];
    const char *values[7];
} common_notes;

static larmor_notes describe_run(const recon_run *r, common_notes *n)
{
    static const char *const keys[] = {"DataRole",      "ImageProcessingHistory", "SeriesDescription",
                                       "LarmorVersion", "LarmorSettings",         "LarmorCommand",
                                       "LarmorCoils"};
    const char *method = r->last.method.name[0] ? r->last.method.name : recon_method(r->s);
    const char *name = method;
    if (!strcmp(method, "cg")) name = "CG-SENSE";
    if (!strcmp(method, "grid")) name = "GRIDDING";
    snprintf(n->history, sizeof n->history, "LARMOR:%s", name);
    for (char *c = n->history; *c; c++) *c = (char)toupper((unsigned char)*c);
    snprintf(n->series, sizeof n->series, "larmor %s", method);
    n->values[0] = "Image";
    n->values[1] = n->history;
    n->values[2] = n->series;
    n->values[3] = larmor_version();
    app_write_config(&cmd_recon, r->s, &r->s->opts, n->settings, sizeof n->settings);
    n->values[4] = n->settings;
    n->values[5] = app_command_line();
    larmor_recon_plan plan;
    if (larmor_recon_describe(r->recon, 0, &plan) || !plan.compressed_from) return (larmor_notes){keys, n->values, 6};
    snprintf(n->coils, sizeof n->coils, "%d compressed to %d, energy %.6f%s", plan.compressed_from, plan.coils,
             plan.compressed_energy, plan.compressed_along ? ", geometric" : "");
    n->values[6] = n->coils;
    return (larmor_notes){keys, n->values, 7};
}

/* ---- images ---- */

typedef struct chosen { /* what goes into one file */
    larmor_image *image;
    larmor_notes *each;
    int count;
} chosen;

static int write_file(const recon_run *r, larmor_output *out, const chosen *c, const larmor_write_opts *opts)
{
    const char *path = larmor_output_path(out);
    const larmor_status st = larmor_image_write(out, c->image, c->count, opts);
    if (st) return app_fail(APP_RUN, st);
    app_log("wrote %s (%d image%s%s%s)", path, c->count, app_s(c->count), r->interrupted ? ", interrupted" : "",
            app_describe_window(path, c->image, c->count, &r->s->window).s);
    if (r->s->slice < 0) app_log_written_slices(out, r->source, c->image->meta.encoding);
    return APP_DONE;
}

/* A file that fails takes no other one with it. The exit code of the first that failed. */
static int write_files(const recon_run *r, const recon_files *files, const larmor_write_opts *opts)
{
    int code = APP_DONE;
    chosen c = {.image = calloc((size_t)r->images, sizeof *c.image),
                .each = calloc((size_t)r->images, sizeof *c.each)};
    if (!c.image || !c.each) code = app_fail(APP_RUN, NO_MEMORY());
    for (int f = 0; f < files->count && c.image && c.each; f++) {
        larmor_write_opts own = *opts;
        own.each = c.each;
        own.part = files->part;
        c.count = 0;
        for (int i = 0; i < r->images; i++) {
            if (files->file && files->file[r->group[i]] != f) continue;
            c.image[c.count] = r->image[i];
            c.each[c.count++] = opts->each[i];
        }
        const int failed = c.count ? write_file(r, files->out[f], &c, &own) : APP_DONE;
        if (!code) code = failed;
    }
    free(c.image);
    free(c.each);
    return code;
}

/* Complex, as a stream of MRD. */
static int send_all(const recon_run *r)
{
    const larmor_stream_opts how = {.keep_open = 1, .name = "standard output"};
    APP_OWNED(larmor_stream) *stream = NULL;
    APP_HEAP larmor_recon_image *image = calloc((size_t)r->images, sizeof *image);
    if (!image) return app_fail(APP_RUN, NO_MEMORY());
    for (int i = 0; i < r->images; i++)
        image[i] = (larmor_recon_image){
            .data = larmor_array_ref(r->image[i].data), .meta = r->image[i].meta, .group = r->group[i]};
    larmor_status st = larmor_stream_create(STDIN_FILENO, STDOUT_FILENO, &how, &stream);
    if (!st) st = larmor_stream_send_images(stream, image, r->images);
    for (int i = 0; i < r->images; i++) larmor_array_free(image[i].data);
    if (st) return app_fail(APP_RUN, st);
    app_log("sent %d image%s to standard output", r->images, app_s(r->images));
    return APP_DONE;
}

void recon_identify(recon_run *r)
{
    int files = 0;
    for (int i = 0; i < r->s->outputs.count; i++) files += app_is_dicom(r->s->outputs.text[i]);
    if (files && larmor_recon_fingerprint(r->recon, &r->identity)) r->identity = 0;
}

static int describe_bids(const recon_settings *s, const char *name)
{
    const larmor_bids_opts opts = {.replace = s->bids_anew};
    APP_TRY(APP_RUN, larmor_bids_describe(s->bids_dir, name, &opts));
    return APP_DONE;
}

/* Where one output fails the others are written, but for lack of memory, of which each would have a line. */
static int goes_on(int code)
{
    return code != APP_LACKING;
}

static int write_all(recon_run *r)
{
    const recon_settings *s = r->s;
    common_notes common;
    APP_HEAP note *notes = calloc((size_t)r->images, sizeof *notes);
    APP_HEAP larmor_notes *each = calloc((size_t)r->images, sizeof *each);
    int code = notes && each ? APP_DONE : app_fail(APP_RUN, NO_MEMORY());
    for (int i = 0; i < r->images && !code; i++) {
        describe_image(r, &r->report[i], &notes[i]);
        each[i] = (larmor_notes){notes[i].keys, notes[i].values, notes[i].count};
    }
    const larmor_write_opts opts = {.magnitude = s->magnitude,
                                    .phase = s->dicom_phase,
                                    .anonymous = s->anonymous,
                                    .identity = r->identity,
                                    .header = larmor_raw_xml(r->raw),
                                    .planes = s->planes,
                                    .colour = s->color,
                                    .frames_per_s = s->fps,
                                    .notes = describe_run(r, &common),
                                    .each = each,
                                    .window = {s->window.value[0], s->window.value[1]}};
    app_progress_begin(&r->progress, "writing");
    for (int i = 0; i < s->outputs.count && notes && each && goes_on(code); i++) {
        int failed = write_files(r, &r->output[i], &opts);
        if (!failed && s->bids_dir) failed = describe_bids(s, s->outputs.text[i]);
        if (!code) code = failed;
    }
    app_progress_end(&r->progress);
    return code;
}

/* ---- coil maps and density weights ---- */

/* One slice has one set of maps and one image one set of weights: more are refused. */
static int check_counts(const recon_run *r, int images, int slices)
{
    const recon_settings *s = r->s;
    if (s->save_maps && slices > 1)
        return app_refuse(APP_USAGE,
                          "--save-maps: %s has maps for each of %d slices; choose one by --slice or --encoding.",
                          r->input, slices);
    if (images > 1 && (s->save_density || s->save_motion))
        return app_refuse(
            APP_USAGE, "--save-%s: %s has %s for each of %d images; choose one by --slice, --repetition and so on.",
            s->save_density ? "density" : "motion", r->input, s->save_density ? "weights" : "poses", images);
    return APP_DONE;
}

static int saves(const recon_run *r)
{
    return r->s->save_maps || r->s->save_density || r->s->save_motion;
}

int recon_check_file(const recon_run *r, const larmor_counters *only)
{
    const recon_settings *s = r->s;
    int images, slices;
    if (!saves(r)) return APP_DONE;
    APP_TRY(APP_RUN, scan_count(r->raw, only, &images, &slices));
    const int are_others = s->bins || s->basis || s->dictionary || s->motion_fields;
    return check_counts(r, are_others ? 1 : images, slices);
}

int recon_check_saved(const recon_run *r)
{
    const int series = larmor_recon_series(r->recon);
    larmor_recon_plan plan;
    int images = 0;
    if (!saves(r)) return APP_DONE;
    for (int i = 0; i < series; i++) {
        APP_TRY(APP_RUN, larmor_recon_describe(r->recon, i, &plan));
        if (plan.slabs)
            return app_refuse(APP_REFUSED,
                              "--save-maps: the volume is in slabs, and each of %d %s has the maps of its planes.",
                              plan.slabs, r->ranks ? "processes" : "devices");
        images += plan.images;
    }
    return check_counts(r, images, 1);
}

/* Sets of the maps that were made. */
static int recon_sets(const recon_run *r)
{
    larmor_recon_plan plan;
    return larmor_recon_describe(r->recon, 0, &plan) ? 1 : plan.sets;
}

static int save_maps(const recon_run *r)
{
    const larmor_raw_info info = larmor_raw_describe(r->raw);
    APP_OWNED(larmor_array) *maps = NULL;
    larmor_image_meta meta;
    char left_out[64] = "";
    APP_TRY(APP_RUN, larmor_recon_maps(r->recon, &maps, &meta));
    APP_TRY(APP_RUN, map_save(r->maps_output, maps, recon_sets(r), &meta));
    if (info.dead_coils) snprintf(left_out, sizeof left_out, ", zeros for %d left out", info.dead_coils);
    char expanded[64] = "";
    larmor_recon_plan plan;
    if (!larmor_recon_describe(r->recon, 0, &plan) && plan.compressed_from)
        snprintf(expanded, sizeof expanded, ", expanded from %d virtual one%s", plan.coils, app_s(plan.coils));
    app_log("wrote %s: the maps of %d coil%s%s%s", r->s->save_maps, info.coils, app_s(info.coils), expanded,
            left_out);
    return APP_DONE;
}

/* [1, samples, readouts], as BART has it. */
static int save_density(const recon_run *r)
{
    APP_OWNED(larmor_array) *weights = NULL, *three = NULL;
    APP_TRY(APP_RUN, larmor_recon_density(r->recon, &weights));
    const larmor_shape s = larmor_array_shape(weights);
    APP_TRY(APP_RUN, larmor_array_reshape(weights, LARMOR_SHAPE(1, s.dim[0], s.ndim > 1 ? s.dim[1] : 1), &three));
    APP_TRY(APP_RUN, larmor_array_save(r->density_output, three));
    app_log("wrote %s: density weights", r->s->save_density);
    return APP_DONE;
}

static int save_motion(const recon_run *r)
{
    APP_OWNED(larmor_array) *rows = NULL;
    APP_TRY(APP_RUN, larmor_recon_motion(r->recon, &rows));
    APP_TRY(APP_RUN, larmor_array_save(r->motion_output, rows));
    app_log("wrote %s: poses, for --motion", r->s->save_motion);
    return APP_DONE;
}

static int first_of(int code, int next)
{
    return code ? code : next;
}

int recon_write(recon_run *r)
{
    int code = write_all(r);
    code = first_of(code, r->to_stdout && goes_on(code) ? send_all(r) : APP_DONE);
    code = first_of(code, r->maps_output && goes_on(code) ? save_maps(r) : APP_DONE);
    code = first_of(code, r->density_output && goes_on(code) ? save_density(r) : APP_DONE);
    code = first_of(code, r->motion_output && goes_on(code) ? save_motion(r) : APP_DONE);
    code = first_of(code, goes_on(code) ? recon_noise_write(r) : APP_DONE);
    code = first_of(code, r->gating_output && goes_on(code) ? recon_draw_gating(r) : APP_DONE);
    return first_of(code, r->page_output && goes_on(code) ? recon_write_page(r) : APP_DONE);
}
