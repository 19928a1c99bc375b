/* larmor.recon: a path and options in, a struct of images out. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "larmor_mex.h"

enum { LINE = 1024, MOST_ARRAYS = 12, NAME = 64 };

/* Members of larmor_recon_opts that are arrays, and whole numbers without a text. */
static const char *const arrays[MOST_ARRAYS + 1] = {
    "maps",          "b0",    "t2star",  "phase_terms", "gradient_field", "girf", "displacement",
    "motion_fields", "basis", "support", "motion",      "girf_b0",        NULL};
static const char *const flags[] = {"no_maps", "keep_density", "keep_eigenvalues", NULL};
static const char *const own[] = {"device", "progress", "noise", "traj_units", "frames", "checkpoint", NULL};

typedef struct image {
    larmor_array *data, *deviation, *g;
    larmor_image_meta meta;
    mxArray *report;
} image;

typedef struct list {
    mxArray **line;
    int count, room;
} list;

typedef struct run {
    larmor_device *dev;
    larmor_raw *raw;
    larmor_source *source;
    larmor_checkpoint *place;
    larmor_recon *recon;
    larmor_recon_opts opts;
    larmor_array *given[MOST_ARRAYS];
    int arrays;
    larmor_frames_opts frames;
    larmor_bins_opts bins;
    const char *traj_units;
    char device[128], units[128], checkpoint[LINE];
    int noise; /* samples of it; 0: none, -1: as many as the library takes */
    const mxArray *progress;
    int prints;
    char trouble[LINE]; /* of the caller's function */
    image *image;
    int count;
    list log, warnings;
    larmor_array *maps, *density, *eigenvalues;
} run;

/* ---- events ---- */

static void add_line(list *l, const char *text)
{
    char line[LINE];
    if (l->count == l->room) {
        mxArray **more = realloc(l->line, (size_t)(2 * l->room + 16) * sizeof *more);
        if (!more) return;
        l->line = more;
        l->room = 2 * l->room + 16;
    }
    mex_line(text, line, sizeof line);
    l->line[l->count++] = mxCreateString(line);
}

static mxArray *cell_of(const list *l)
{
    mxArray *cell = mxCreateCellMatrix((mwSize)l->count, 1);
    for (int i = 0; i < l->count; i++) mxSetCell(cell, (mwIndex)i, l->line[i]);
    return cell;
}

static mxArray *event_struct(const larmor_event *e)
{
    static const char *fields[] = {"stage", "text", "series", "count", "step", "steps", "fraction", "remaining"};
    char line[LINE];
    mxArray *s = mxCreateStructMatrix(1, 1, 8, fields);
    const double values[] = {e->series, e->count, e->step, e->steps, e->fraction, e->remaining};
    mex_line(e->text, line, sizeof line);
    mxSetFieldByNumber(s, 0, 0, mxCreateString(e->stage));
    mxSetFieldByNumber(s, 0, 1, mxCreateString(line));
    for (int i = 0; i < 6; i++) mxSetFieldByNumber(s, 0, 2 + i, mxCreateDoubleScalar(values[i]));
    return s;
}

/* 1 stops: the function returned true, or a text, which says how it failed. */
static int ask(run *r, const larmor_event *e)
{
    mxArray *args[] = {(mxArray *)(uintptr_t)r->progress, event_struct(e)}, *answer = NULL;
    mxArray *failed = mexCallMATLABWithTrap(1, &answer, 2, args, "feval");
    if (failed) snprintf(r->trouble, sizeof r->trouble, "the function failed");
    if (answer && mxIsChar(answer)) mxGetString(answer, r->trouble, sizeof r->trouble);
    const int stops = failed || *r->trouble || (answer && !mxIsEmpty(answer) && mxGetScalar(answer) != 0);
    mxDestroyArray(args[1]);
    if (answer) mxDestroyArray(answer);
    return stops;
}

static int on_event(void *user, const larmor_event *e)
{
    run *r = user;
    if (e->kind == LARMOR_EVENT_LOG) add_line(&r->log, e->text);
    if (e->kind == LARMOR_EVENT_WARNING) add_line(&r->warnings, e->text);
    if (r->prints && e->kind == LARMOR_EVENT_STAGE && *e->stage)
        mexPrintf("%3.0f %% %s\n", 100 * e->fraction, e->stage);
    return r->progress ? ask(r, e) : 0;
}

/* ---- options ---- */

static int index_of(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], name)) return i;
    return -1;
}

/* Dashes of names are underscores here. */
static int is_same(const char *name, const char *option)
{
    for (; *name && *name == (*option == '-' ? '_' : *option); name++) option++;
    return !*name && !*option;
}

static int is_option(const char *name)
{
    if (index_of(arrays, name) >= 0 || index_of(flags, name) >= 0 || index_of(own, name) >= 0) return 1;
    for (int i = 0; larmor_setting_entry(i).name; i++) {
        const larmor_setting s = larmor_setting_entry(i);
        if (s.type == LARMOR_SETTING_NONE) continue;
        if (is_same(name, s.name) || (s.option && is_same(name, s.option))) return 1;
    }
    return 0;
}

static larmor_status refuse(const char *name)
{
    const char *nearest = NULL;
    for (int i = 0; larmor_setting_entry(i).name; i++) {
        const larmor_setting s = larmor_setting_entry(i);
        if (s.type == LARMOR_SETTING_NONE) continue;
        mex_nearer(name, s.name, &nearest);
        mex_nearer(name, s.option, &nearest);
    }
    const char *const *const others[] = {arrays, flags, own};
    for (int k = 0; k < 3; k++)
        for (int i = 0; others[k][i]; i++) mex_nearer(name, others[k][i], &nearest);
    return larmor_fail(LARMOR_ERR_UNSUPPORTED, "%s: no option of larmor.recon%s%s%s larmor.settings() lists them.",
                       name, nearest ? ", did you mean " : "", nearest ? nearest : "", nearest ? "?" : ";");
}

static larmor_status number_of(const char *name, const mxArray *value, double *number)
{
    if (!value || !(mxIsNumeric(value) || mxIsLogical(value)) || mxGetNumberOfElements(value) != 1)
        return larmor_fail(LARMOR_ERR_ARG, "%s: expected a number", name);
    *number = mxGetScalar(value);
    return LARMOR_OK;
}

/* A value as the library's text: numbers with commas between. */
static larmor_status text_of(const char *name, const mxArray *value, char *text, size_t room)
{
    if (!value) return larmor_fail(LARMOR_ERR_ARG, "%s: expected a text or up to 3 numbers", name);
    const size_t count = mxGetNumberOfElements(value);
    if (mxIsChar(value)) return mex_text(value, name, text, room);
    if (mxIsLogicalScalar(value)) {
        snprintf(text, room, "%s", mxGetScalar(value) != 0 ? "true" : "false");
        return LARMOR_OK;
    }
    mxArray *numbers = NULL, *given = (mxArray *)(uintptr_t)value;
    if (!mxIsNumeric(value) || mxIsComplex(value) || count > 3 || mexCallMATLAB(1, &numbers, 1, &given, "double"))
        return larmor_fail(LARMOR_ERR_ARG, "%s: got a %s of %zu elements, expected a text or up to 3 numbers", name,
                           mxGetClassName(value), count);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const double x = mxGetDoubles(numbers)[i];
        char number[40];
        snprintf(number, sizeof number, "%.15g", x);
        if (strtod(number, NULL) != x) snprintf(number, sizeof number, "%.17g", x);
        used += (size_t)snprintf(text + used, room - used, "%s%s", i ? "," : "", number);
    }
    mxDestroyArray(numbers);
    return LARMOR_OK;
}

/* A list of texts sets the option several times. */
static larmor_status set_text(run *r, const char *name, const mxArray *value)
{
    char text[512];
    larmor_status st = LARMOR_OK;
    const size_t count = mxIsCell(value) ? mxGetNumberOfElements(value) : 1;
    for (size_t i = 0; i < count && !st; i++) {
        st = text_of(name, mxIsCell(value) ? mxGetCell(value, (mwIndex)i) : value, text, sizeof text);
        if (!st) st = larmor_setting_set(&r->opts, name, text);
    }
    return st;
}

static void *member(run *r, const char *name)
{
    for (int i = 0; larmor_setting_entry(i).name; i++)
        if (!strcmp(larmor_setting_entry(i).name, name)) return (char *)&r->opts + larmor_setting_entry(i).at;
    return NULL;
}

/* Complex numbers in single precision, in which images are computed; a mask as numbers; a text is a file's path. */
static larmor_status set_array(run *r, const char *name, const mxArray *value)
{
    char path[LINE];
    larmor_array *x = NULL, *single = NULL;
    mxArray *given = (mxArray *)(uintptr_t)value, *numbers = NULL;
    if (r->arrays == MOST_ARRAYS) return larmor_fail(LARMOR_ERR_ARG, "%s: given twice", name);
    if (mxIsLogical(value) && !mexCallMATLAB(1, &numbers, 1, &given, "double")) given = numbers;
    larmor_status st = mxIsChar(value) ? mex_text(value, name, path, sizeof path) : LARMOR_OK;
    if (mxIsChar(value) && !st) st = larmor_image_read(path, r->dev, &x);
    if (!mxIsChar(value)) st = mex_given(r->dev, given, mex_shape(given), name, &x);
    if (!st)
        st = larmor_array_convert(x, larmor_array_dtype(x) == LARMOR_C128 ? LARMOR_C64 : larmor_array_dtype(x),
                                  &single);
    larmor_array_free(x);
    if (st) return st;
    r->given[r->arrays++] = single;
    memcpy(member(r, name), &single, sizeof single);
    return LARMOR_OK;
}

typedef struct frame_option {
    const char *name;
    size_t at;
    enum { INT, INT64, REAL } kind;
} frame_option;
#define OF(type, m, kind)                                                                                            \
    {                                                                                                                \
#m, offsetof(type, m), kind                                                                                  \
    }
static const frame_option of_frames[] = {
    OF(larmor_frames_opts, spokes, INT64),  OF(larmor_frames_opts, ms, REAL),
    OF(larmor_frames_opts, phases, INT),    OF(larmor_frames_opts, step, REAL),
    OF(larmor_frames_opts, gate, INT),      OF(larmor_frames_opts, tick_ms, REAL),
    OF(larmor_frames_opts, join_rest, INT), {0}};
static const frame_option of_bins[] = {
    OF(larmor_bins_opts, heart, INT), OF(larmor_bins_opts, breath, INT), OF(larmor_bins_opts, time, INT), {0}};

static larmor_status set_frame(const frame_option *o, void *opts, const char *name, const mxArray *value)
{
    double number = 0;
    const larmor_status st = number_of(name, value, &number);
    char *at = (char *)opts + o->at;
    if (st) return st;
    if (!(fabs(number) < 0x1p31) || (o->kind != REAL && number != floor(number)))
        return larmor_fail(LARMOR_ERR_ARG, "frames: got %g for %s, expected a %snumber", number, name,
                           o->kind == REAL ? "" : "whole ");
    if (o->kind == INT) *(int *)(void *)at = (int)number;
    if (o->kind == INT64) *(int64_t *)(void *)at = (int64_t)number;
    if (o->kind == REAL) *(double *)(void *)at = number;
    return LARMOR_OK;
}

static int is_cut(const run *r)
{
    return r->frames.spokes || r->frames.ms != 0 || r->frames.phases;
}

static int is_sorted(const run *r)
{
    return r->bins.heart || r->bins.breath || r->bins.time;
}

/* Members that act together; `of_cuts` is the name of one of frames, NULL for none. */
static larmor_status check_frames(const run *r, const char *of_cuts)
{
    if (is_sorted(r) && of_cuts)
        return larmor_fail(LARMOR_ERR_ARG, "frames: got %s and bins to sort into, expected one of them", of_cuts);
    if (!is_cut(r) && !is_sorted(r))
        return larmor_fail(LARMOR_ERR_ARG, "frames: got none of spokes, ms and phases, expected one of them, or "
                                           "bins: heart, breath, time");
    if (r->frames.gate && is_cut(r) && !r->frames.phases)
        return larmor_fail(LARMOR_ERR_ARG, "frames: got gate without phases, of which it is");
    return LARMOR_OK;
}

static larmor_status set_frames(run *r, const mxArray *value)
{
    if (!mxIsStruct(value) || mxGetNumberOfElements(value) != 1)
        return larmor_fail(LARMOR_ERR_ARG, "frames: expected a struct, such as struct('spokes', 21)");
    larmor_status st = LARMOR_OK;
    const char *of_cuts = NULL;
    for (int f = 0; f < mxGetNumberOfFields(value) && !st; f++) {
        const char *name = mxGetFieldNameByNumber(value, f), *nearest = NULL;
        const frame_option *o = of_frames;
        while (o->name && strcmp(o->name, name) != 0) mex_nearer(name, (o++)->name, &nearest);
        void *opts = o->name ? (void *)&r->frames : (void *)&r->bins;
        if (o->name) of_cuts = o->name;
        if (!o->name) o = of_bins;
        while (o->name && strcmp(o->name, name) != 0) mex_nearer(name, (o++)->name, &nearest);
        if (o->name)
            st = set_frame(o, opts, name, mxGetFieldByNumber(value, 0, f));
        else
            st = larmor_fail(LARMOR_ERR_UNSUPPORTED, "frames: no member %s%s%s%s", name,
                             nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    }
    return st || !mxGetNumberOfFields(value) ? st : check_frames(r, of_cuts);
}

static larmor_status set_own(run *r, const char *name, const mxArray *value)
{
    double number = 0;
    if (!strcmp(name, "device")) return mex_text(value, name, r->device, sizeof r->device);
    if (!strcmp(name, "checkpoint")) return mex_text(value, name, r->checkpoint, sizeof r->checkpoint);
    if (!strcmp(name, "frames")) return set_frames(r, value);
    if (!strcmp(name, "traj_units")) {
        r->traj_units = r->units;
        return mex_text(value, name, r->units, sizeof r->units);
    }
    if (!strcmp(name, "progress") && mxIsClass(value, "function_handle")) {
        r->progress = value;
        return LARMOR_OK;
    }
    const larmor_status st = number_of(name, value, &number);
    if (st) return st;
    if (!strcmp(name, "progress")) r->prints = number != 0;
    if (!strcmp(name, "noise") && !(number >= 0 && number < 1e9 && number == floor(number)))
        return larmor_fail(LARMOR_ERR_ARG, "noise: got %g, expected true, or a number of samples", number);
    if (!strcmp(name, "noise")) r->noise = mxIsLogical(value) ? -(number != 0) : (int)number;
    return LARMOR_OK;
}

static larmor_status set_option(run *r, const char *name, const mxArray *value)
{
    double number = 0;
    if (!value || mxIsEmpty(value)) return is_option(name) ? LARMOR_OK : refuse(name);
    if (index_of(own, name) >= 0) return set_own(r, name, value);
    if (index_of(arrays, name) >= 0) return set_array(r, name, value);
    if (index_of(flags, name) >= 0) {
        const larmor_status st = number_of(name, value, &number);
        if (!st) *(int *)member(r, name) = number != 0;
        return st;
    }
    const larmor_status st = set_text(r, name, value);
    return st == LARMOR_ERR_UNSUPPORTED ? refuse(name) : st;
}

/* The device first, as arrays go there. */
static larmor_status set_options(run *r, const mxArray *names, const mxArray *values)
{
    const size_t count = mxGetNumberOfElements(names);
    char name[NAME];
    larmor_status st = mex_pairs(names, values);
    for (int pass = 0; pass < 2 && !st; pass++) {
        if (pass) st = larmor_device_open(r->device, &r->dev);
        for (size_t i = 0; i < count && !st; i++) {
            st = mex_text(mxGetCell(names, (mwIndex)i), "name of an option", name, sizeof name);
            if (!st && !strcmp(name, "device") == !pass) st = set_option(r, name, mxGetCell(values, (mwIndex)i));
        }
    }
    return st;
}

/* ---- the run ---- */

static larmor_status open_scan(run *r, const char *path)
{
    const larmor_raw_opts opts = {.traj_units = r->traj_units};
    larmor_source *inner = NULL;
    larmor_status st = larmor_raw_open(path, &opts, &r->raw);
    if (!st) st = larmor_source_of_raw(r->raw, path, &inner);
    if (st) return st;
    if (is_cut(r))
        st = larmor_source_of_frames(inner, &r->frames, &r->source);
    else if (is_sorted(r)) {
        r->bins.waveforms = r->raw;
        st = larmor_source_of_bins(inner, r->dev, &r->bins, NULL, &r->source);
    } else
        r->source = larmor_source_ref(inner);
    larmor_source_free(inner);
    return st;
}

static mxArray *warnings_of(const larmor_recon_report *report)
{
    char line[LINE];
    list found = {0};
    for (int i = 0; larmor_recon_warning(report, i, line, sizeof line); i++) add_line(&found, line);
    mxArray *cell = cell_of(&found);
    free(found.line);
    return cell;
}

static mxArray *numbers_of(const double *x, int count)
{
    mxArray *row = mxCreateDoubleMatrix(1, (mwSize)count, mxREAL);
    for (int i = 0; i < count; i++) mxGetDoubles(row)[i] = x[i];
    return row;
}

static mxArray *report_of(const larmor_recon_report *report)
{
    static const char *fields[] = {"method", "lambda",  "iterations", "noise",   "misfit",
                                   "grid",   "seconds", "device",     "suspect", "warnings"};
    mxArray *s = mxCreateStructMatrix(1, 1, 10, fields);
    const double grid[] = {(double)report->grid[0], (double)report->grid[1], (double)report->grid[2]};
    mxArray *const values[] = {mxCreateString(report->method.name),
                               mxCreateDoubleScalar(report->lambda),
                               mxCreateDoubleScalar(report->solver.iters),
                               mxCreateDoubleScalar(report->noise),
                               mxCreateDoubleScalar(report->misfit.measured ? report->misfit.relative : NAN),
                               numbers_of(grid, 3),
                               mxCreateDoubleScalar(report->seconds),
                               mxCreateString(report->device),
                               mxCreateLogicalScalar(report->is_suspect != 0),
                               warnings_of(report)};
    for (int f = 0; f < 10; f++) mxSetFieldByNumber(s, 0, f, values[f]);
    return s;
}

static larmor_status keep_images(run *r, const larmor_recon_result *result, const larmor_noise_maps *noise)
{
    image *more = realloc(r->image, (size_t)(r->count + result->count) * sizeof *more);
    if (!more) return larmor_fail(LARMOR_ERR_MEMORY, "recon: no memory for %d images", result->count);
    r->image = more;
    for (int i = 0; i < result->count; i++) {
        const int has_noise = i < noise->count;
        r->image[r->count++] = (image){
            .data = larmor_array_ref(result->image[i].data),
            .meta = result->image[i].meta,
            .deviation = has_noise ? larmor_array_ref(noise->map[i].deviation) : NULL,
            .g = has_noise && noise->map[i].g ? larmor_array_ref(noise->map[i].g) : NULL,
            .report = report_of(&result->report),
        };
    }
    return LARMOR_OK;
}

static larmor_status run_series(run *r, int series)
{
    larmor_recon_result result = {0};
    larmor_noise_maps noise = {0};
    const larmor_noise_opts opts = {.samples = r->noise > 0 ? r->noise : 0};
    larmor_status st = larmor_recon_run(r->recon, series, &result);
    if (!st && result.report.interrupted) st = larmor_fail(LARMOR_STOPPED, "recon: stopped");
    if (!st && !result.count) st = larmor_fail(result.report.status, "%s", result.report.message);
    if (!st && r->noise) st = larmor_recon_noise(r->recon, series, &result, &opts, &noise);
    if (!st) st = keep_images(r, &result, &noise);
    larmor_noise_maps_free(&noise);
    larmor_recon_result_free(&result);
    return st;
}

static larmor_status reconstruct(run *r, const char *path)
{
    larmor_status st = open_scan(r, path);
    if (!st && *r->checkpoint) st = larmor_checkpoint_file(r->checkpoint, &r->place);
    r->opts.checkpoint = r->place;
    r->opts.listener = on_event;
    r->opts.user = r;
    if (!st) st = larmor_recon_create(r->source, r->dev, &r->opts, &r->recon);
    for (int i = 0; !st && i < larmor_recon_series(r->recon); i++) st = run_series(r, i);
    if (*r->trouble) return larmor_fail(LARMOR_STOPPED, "progress: %s", r->trouble);
    if (st) return st;
    if (!r->opts.maps && larmor_recon_maps(r->recon, &r->maps, NULL)) r->maps = NULL;
    if (r->opts.keep_density && larmor_recon_density(r->recon, &r->density)) r->density = NULL;
    if (r->opts.keep_eigenvalues && larmor_recon_eigenvalues(r->recon, &r->eigenvalues)) r->eigenvalues = NULL;
    return LARMOR_OK;
}

/* ---- the result ---- */

static mxArray *meta_of(const run *r)
{
    static const char *fields[] = {"fov_mm", "position_mm", "read_dir", "phase_dir",  "slice_dir", "encoding",
                                   "slice",  "contrast",    "phase",    "repetition", "set",       "average"};
    mxArray *s = mxCreateStructMatrix((mwSize)r->count, 1, 12, fields);
    for (int i = 0; i < r->count; i++) {
        const larmor_image_meta *m = &r->image[i].meta;
        const double *const places[] = {m->fov_mm, m->position_mm, m->read_dir, m->phase_dir, m->slice_dir};
        const int counters[] = {m->encoding, m->slice, m->contrast, m->phase, m->repetition, m->set, m->average};
        for (int f = 0; f < 5; f++) mxSetFieldByNumber(s, (mwIndex)i, f, numbers_of(places[f], 3));
        for (int f = 0; f < 7; f++) mxSetFieldByNumber(s, (mwIndex)i, 5 + f, mxCreateDoubleScalar(counters[f]));
    }
    return s;
}

/* Arrays of all images as one, or a cell of them where shapes differ; [] where one has none. */
static larmor_status together(const run *r, size_t at, mxArray **out)
{
    larmor_array **x = mxCalloc((mwSize)r->count + 1, sizeof *x);
    int alike = 1;
    larmor_status st = LARMOR_OK;
    *out = mxCreateDoubleMatrix(0, 0, mxREAL);
    for (int i = 0; i < r->count; i++) {
        memcpy(&x[i], (const char *)&r->image[i] + at, sizeof *x);
        if (!x[i]) return LARMOR_OK;
        alike = alike && larmor_shape_equal(larmor_array_shape(x[i]), larmor_array_shape(x[0]));
    }
    if (!r->count) return LARMOR_OK;
    if (alike) return mex_taken(x, r->count, out);
    *out = mxCreateCellMatrix((mwSize)r->count, 1);
    for (int i = 0; i < r->count && !st; i++) {
        mxArray *one = NULL;
        st = mex_taken(&x[i], 1, &one);
        mxSetCell(*out, (mwIndex)i, one);
    }
    return st;
}

static larmor_status one_array(larmor_array *x, mxArray **out)
{
    if (x) return mex_taken(&x, 1, out);
    *out = mxCreateDoubleMatrix(0, 0, mxREAL);
    return LARMOR_OK;
}

static larmor_status result_of(const run *r, mxArray **out)
{
    static const char *fields[] = {"images",  "meta",        "reports", "maps",     "noise",  "g",
                                   "density", "eigenvalues", "log",     "warnings", "device", "version"};
    mxArray *value[12] = {NULL};
    larmor_status st = together(r, offsetof(image, data), &value[0]);
    if (!st) st = one_array(r->maps, &value[3]);
    if (!st) st = together(r, offsetof(image, deviation), &value[4]);
    if (!st) st = together(r, offsetof(image, g), &value[5]);
    if (!st) st = one_array(r->density, &value[6]);
    if (!st) st = one_array(r->eigenvalues, &value[7]);
    if (st) return st;
    value[1] = meta_of(r);
    value[2] = mxCreateCellMatrix((mwSize)r->count, 1);
    for (int i = 0; i < r->count; i++) mxSetCell(value[2], (mwIndex)i, r->image[i].report);
    value[8] = cell_of(&r->log);
    value[9] = cell_of(&r->warnings);
    value[10] = mxCreateString(larmor_device_spec(r->dev));
    value[11] = mxCreateString(larmor_version());
    *out = mxCreateStructMatrix(1, 1, 12, fields);
    for (int f = 0; f < 12; f++) mxSetFieldByNumber(*out, 0, f, value[f]);
    return LARMOR_OK;
}

static void release(run *r)
{
    for (int i = 0; i < r->count; i++) {
        larmor_array_free(r->image[i].data);
        larmor_array_free(r->image[i].deviation);
        larmor_array_free(r->image[i].g);
    }
    larmor_array_free(r->maps);
    larmor_array_free(r->density);
    larmor_array_free(r->eigenvalues);
    larmor_recon_free(r->recon);
    larmor_checkpoint_free(r->place);
    larmor_source_free(r->source);
    larmor_raw_free(r->raw);
    for (int i = 0; i < r->arrays; i++) larmor_array_free(r->given[i]);
    larmor_device_free(r->dev);
    free(r->image);
    free(r->log.line);
    free(r->warnings.line);
    free(r);
}

larmor_status mex_recon(int nrhs, const mxArray **rhs, mxArray **out)
{
    char path[LINE];
    if (nrhs != 3) return larmor_fail(LARMOR_ERR_ARG, "larmor.recon: expected a path, names and values");
    larmor_status st = mex_text(rhs[0], "scan", path, sizeof path);
    run *r = st ? NULL : calloc(1, sizeof *r);
    if (!r) return st ? st : larmor_fail(LARMOR_ERR_MEMORY, "recon: no memory");
    r->opts.size = sizeof r->opts;
    strcpy(r->device, "auto");
    st = set_options(r, rhs[1], rhs[2]);
    if (!st) st = reconstruct(r, path);
    if (!st) st = result_of(r, out);
    release(r);
    return st;
}
