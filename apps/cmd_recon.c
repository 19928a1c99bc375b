/* larmor recon: an ISMRMRD scan in, images out. SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "common.h"
#include "json.h"
#include "progress.h"
#include "recon_plan.h"

typedef struct settings {
    app_texts outputs;
    const char *method, *maps, *whiten, *dcf, *group, *units, *toeplitz, *precond, *device;
    int64_t memory, iters, threads, calibration, llr_block, slice, contrast, phase, repetition, set;
    double tol, lambda, time_weight, eps;
    int weighted, joint, magnitude, force, json, drop_nonfinite, conjugate;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
#define ONLY(field)                                                                                                  \
    OPTION(APP_INTEGER, field, 0, #field, "N", "only this " #field "; -1: all", .preset = "-1", .low = -1,           \
           .high = 65535)
static const app_option options[] = {
    OPTION(APP_TEXTS, outputs, 'o', "output", "FILE",
           "image; the suffix is the format: .h5 .nii .nii.gz .png .cfl .npy", .needed = 1),
    OPTION(APP_TEXT, method, 'm', "method", "M",
           "cg: iterative SENSE; grid: density-compensated adjoint; SENSE with a penalty: tv, total variation; tgv, "
           "total generalised variation; wavelet, l1 norm of wavelet coefficients; llr, locally low rank, of series",
           .preset = "cg", .choices = "cg|grid|tv|tgv|wavelet|llr"),
    OPTION(APP_INTEGER, iters, 'i', "iters", "N", "most iterations (default: 30 for cg and tgv, else 20)",
           .low = 1, .high = 1e9),
    OPTION(APP_NUMBER, tol, 0, "tol", "X",
           "where to stop: of cg the relative residual, else the relative change of the image; 0: at rounding "
           "(default: 3e-4 for cg, else 1e-2)",
           .low = 0, .high = 1, .absent = 1),
    OPTION(APP_NUMBER, lambda, 'l', "lambda", "X",
           "weight of the penalty: of cg in units of the largest eigenvalue of A^H A, else of the typical magnitude "
           "of A^H b (default: 7e-4 for cg, else 2e-3)",
           .low = 0, .high = INFINITY, .absent = 1),
    OPTION(APP_FLAG, joint, 0, "joint", "",
           "tv: the repetitions, phases and contrasts of a slice as one series, with differences in time; llr always "
           "does so"),
    OPTION(APP_NUMBER, time_weight, 0, "time-weight", "X",
           "tv --joint: weight of a difference in time beside one in space", .preset = "1", .low = 0,
           .high = INFINITY),
    OPTION(APP_INTEGER, llr_block, 0, "block", "N", "llr: side of the blocks in voxels (default: 8)", .low = 1,
           .high = 4096),
    OPTION(APP_TEXT, maps, 0, "maps", "FILE",
           "coil maps: auto (from the data's own centre), none (root sum of squares, with --method grid), or a file",
           .preset = "auto"),
    OPTION(APP_INTEGER, calibration, 0, "calibration", "N",
           "side of the centre of k-space that gives the maps (default: 32)", .low = 4, .high = 1024),
    OPTION(APP_TEXT, whiten, 0, "whiten", "W", "use the scan's noise readouts to whiten the coils, if it has any",
           .preset = "auto", .choices = "auto|off"),
    OPTION(APP_TEXT, dcf, 0, "dcf", "D",
           "density compensation for grid and --weighted; auto: ramp for straight readouts, else pipe",
           .preset = "auto", .choices = "auto|ramp|pipe|file|none"),
    OPTION(APP_FLAG, weighted, 0, "weighted", "",
           "weight the data by density in the iterative methods, too: fewer iterations, more noise"),
    OPTION(APP_NUMBER, eps, 0, "eps", "X",
           "accuracy of the NUFFT; below 1e-6 all is done in double precision (default: 1e-5, with a penalty 1e-3)",
           .low = 1e-13, .high = 0.1, .absent = 1),
    OPTION(APP_TEXT, toeplitz, 0, "toeplitz", "T",
           "iterate by FFTs of the doubled grid instead of NUFFTs; auto: where that is quicker and fits",
           .preset = "auto", .choices = "auto|on|off"),
    OPTION(
        APP_TEXT, precond, 0, "precond", "P",
        "precondition the iterations: circulant, by the matrix nearest to A^H A that an FFT inverts; auto: where it "
        "fits",
        .preset = "auto", .choices = "auto|circulant|none"),
    ONLY(slice),
    ONLY(contrast),
    ONLY(phase),
    ONLY(repetition),
    ONLY(set),
    OPTION(APP_TEXT, group, 0, "group", "G", "HDF5 group of the scan", .preset = "dataset"),
    OPTION(APP_TEXT, units, 0, "traj-units", "U", "unit of the stored trajectory", .preset = "auto",
           .choices = "auto|1/fov|norm|pm1|rad|1/m|rad/m|1/mm"),
    OPTION(APP_FLAG, drop_nonfinite, 0, "drop-nonfinite", "", "leave out acquisitions with NaN or Inf"),
    OPTION(APP_FLAG, conjugate, 0, "conj", "", "conjugate the samples first"),
    OPTION(APP_FLAG, magnitude, 0, "magnitude", "", "write magnitudes where the format could be complex"),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace files that exist"),
    OPTION(APP_BYTES, memory, 0, "memory", "SIZE",
           "most memory to use on the device, e.g. 512M or 8G: coils are done in blocks that fit (default: what is "
           "free)"),
    OPTION(APP_FLAG, json, 0, "json", "", "print a report as a JSON object on stdout"),
    APP_DEVICE_OPTIONS(settings),
    {0},
};

/* All that a run holds, freed in one place. */
typedef struct run {
    const settings *s;
    const char *input;
    larmor_output *output[APP_MAX_TEXTS];
    larmor_image *image; /* of every wanted group, in the file's order */
    int images;
    recon_job job;
    app_progress progress;
    larmor_raw_info info;
    recon_result last;
    double began;
} run_state;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int wanted(const void *given, const larmor_group *g)
{
    const settings *s = given;
    return (s->slice < 0 || s->slice == g->slice) && (s->contrast < 0 || s->contrast == g->contrast) &&
           (s->phase < 0 || s->phase == g->phase) && (s->repetition < 0 || s->repetition == g->repetition) &&
           (s->set < 0 || s->set == g->set);
}

/* ---- the log ---- */

static void log_input(const run_state *r)
{
    const larmor_raw_info *info = &r->info;
    larmor_group first;
    larmor_encoding enc;
    larmor_grid grid;
    if (larmor_raw_group(r->job.raw, 0, &first) || larmor_raw_encoding(r->job.raw, first.encoding, &enc) ||
        larmor_raw_grid(r->job.raw, first.encoding, &grid))
        return;
    app_log("%s: %lld %s readouts x %lld, %d coil%s, %d image%s", r->input, (long long)first.readouts, enc.trajectory,
            (long long)first.samples, info->coils, info->coils == 1 ? "" : "s", info->groups,
            info->groups == 1 ? "" : "s");
    if (info->noise || info->calibration || info->dropped || info->nonfinite)
        app_log("readouts: %lld image, %lld noise, %lld calibration, %lld navigator or dummy, %lld non-finite",
                (long long)info->imaging, (long long)info->noise, (long long)info->calibration,
                (long long)info->dropped, (long long)info->nonfinite);
    if (info->traj_stored) app_log("trajectory: %s", info->traj_report);
    app_log("image: %lldx%lldx%lld, %.3gx%.3gx%.3g mm; grid %lldx%lldx%lld", (long long)enc.recon_matrix[0],
            (long long)enc.recon_matrix[1], (long long)enc.recon_matrix[2],
            enc.recon_fov_mm[0] / (double)enc.recon_matrix[0], enc.recon_fov_mm[1] / (double)enc.recon_matrix[1],
            enc.recon_fov_mm[2] / (double)enc.recon_matrix[2], (long long)grid.matrix[0], (long long)grid.matrix[1],
            (long long)(grid.ndim > 2 ? grid.matrix[2] : 1));
    for (const char *line = info->warnings; *line;) {
        const size_t length = strcspn(line, "\n");
        app_log("warning: %.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static void log_method(const run_state *r)
{
    const settings *s = r->s;
    const char *maps = r->job.no_maps       ? "root sum of squares"
                       : r->job.given       ? s->maps
                       : r->info.coils == 1 ? "one coil, no maps"
                                            : "maps from the data's centre (Walsh)";
    const char *spec = larmor_device_spec(r->job.dev);
    if (r->job.method == RECON_GRID)
        app_log("gridding on %s: density %s; %s", spec, s->dcf, maps);
    else
        app_log("%s on %s: at most %d iterations, tolerance %.1e, lambda %.1e of the %s; %s",
                r->job.method == RECON_CG ? "cg-sense" : s->method, spec, r->job.iters, fmax(r->job.tol, 0),
                r->job.lambda, r->job.method == RECON_CG ? "largest eigenvalue" : "adjoint image", maps);
}

/* ---- the steps ---- */

/* Outputs first: what cannot be written is said before minutes of work. */
static int open_outputs(run_state *r)
{
    for (int i = 0; i < r->s->outputs.count; i++) {
        const char *path = r->s->outputs.text[i];
        if (app_same_file(path, r->input)) {
            app_error("%s: is also the output; choose another name.", path);
            return APP_USAGE;
        }
        const larmor_status st = larmor_output_open(path, r->s->force, &r->output[i]);
        if (st) return app_fail(APP_RUN, st);
    }
    return APP_DONE;
}

/* The matrix that whitens the coils, with the noise's bandwidth matched to the data's. */
static larmor_status make_whitening(run_state *r)
{
    const larmor_raw_info *info = &r->info;
    larmor_array *noise;
    if (!info->noise || !strcmp(r->s->whiten, "off")) return LARMOR_OK;
    const larmor_status read = larmor_raw_noise(r->job.raw, r->job.dev, &noise);
    if (read || !noise) return read;
    const int known = info->dwell_us > 0 && info->noise_dwell_us > 0;
    const double ratio = known ? info->dwell_us / info->noise_dwell_us * info->noise_bandwidth : 1;
    const larmor_status st = larmor_noise_whitening(noise, sqrt(ratio), &r->job.whitening);
    if (!st)
        app_log("whitening: %lld noise samples, dwell %.3g/%.3g us, bandwidth ratio %.3g",
                (long long)info->noise_samples, info->noise_dwell_us, info->dwell_us, info->noise_bandwidth);
    larmor_array_free(noise);
    return st;
}

static int all_zero(const larmor_array *x)
{
    double size = 0;
    return !larmor_nrm2(x, &size) && size == 0;
}

/* Maps from a file: [matrix..., coils] of the first group's grid, dimensions of 1 between allowed. */
static int read_maps(run_state *r)
{
    const char *path = r->s->maps;
    larmor_array *read = NULL;
    larmor_group group;
    larmor_grid grid;
    larmor_status st = larmor_image_read(path, r->job.dev, &read);
    if (st) return app_fail(APP_INPUT, st);
    st = larmor_array_convert(read, LARMOR_C64, &r->job.given);
    if (!st) st = larmor_raw_group(r->job.raw, 0, &group);
    if (!st) st = larmor_raw_grid(r->job.raw, group.encoding, &grid);
    const larmor_shape shape = larmor_array_shape(read);
    larmor_array_free(read);
    if (st) return app_fail(APP_INPUT, st);
    int64_t got[4] = {1, 1, 1, 1},
            need[4] = {grid.matrix[0], grid.matrix[1], grid.ndim > 2 ? grid.matrix[2] : 1, r->info.coils};
    for (int d = 0; d < shape.ndim; d++) got[d < 3 ? d : 3] *= shape.dim[d];
    if (shape.ndim == 3 && grid.ndim == 2 && got[3] == 1) got[3] = got[2], got[2] = 1;
    if (memcmp(got, need, sizeof got) != 0) {
        app_error("%s: %lldx%lldx%lldx%lld, data needs %lldx%lldx%lldx%lld.", path, (long long)got[0],
                  (long long)got[1], (long long)got[2], (long long)got[3], (long long)need[0], (long long)need[1],
                  (long long)need[2], (long long)need[3]);
        return APP_REFUSED;
    }
    if (all_zero(r->job.given)) {
        app_error("%s: maps are zero at all pixels.", path);
        return APP_REFUSED;
    }
    return APP_DONE;
}

static int prepare(run_state *r)
{
    const settings *s = r->s;
    const larmor_raw_opts raw = {
        .group = s->group, .traj_units = s->units, .drop_nonfinite = s->drop_nonfinite, .conjugate = s->conjugate};
    int code = APP_DONE;
    APP_OR(done, APP_INPUT, larmor_raw_open(r->input, &raw, &r->job.raw));
    r->info = larmor_raw_describe(r->job.raw);
    APP_OR(done, APP_RUN, app_open_device(s->device, s->threads, &r->job.dev));
    log_input(r);
    if (!strncmp(larmor_device_reason(r->job.dev), "auto:", 5))
        app_log("device %s", larmor_device_reason(r->job.dev));
    APP_OR(done, APP_INPUT, make_whitening(r));
    if (r->job.no_maps && r->job.method != RECON_GRID) {
        app_error("--maps none: only --method grid works without coil maps.");
        return APP_USAGE;
    }
    if (!r->job.no_maps && strcmp(s->maps, "auto") != 0) code = read_maps(r);
    if (!code) log_method(r);
done:
    return code;
}

/* "96 MB", "3.1 GB" */
typedef struct byte_text {
    char s[32];
} byte_text;

static byte_text bytes_text(int64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    int unit = 0;
    while (unit < 4 && value >= 999.5) value /= 1000, unit++;
    byte_text text;
    snprintf(text.s, sizeof text.s, "%.*f %s", unit > 0 && value < 9.95 ? 1 : 0, value, units[unit]);
    return text;
}

/* Say what will be needed, before anything is done; choose how many coils go at a time. */
static int plan_memory(run_state *r)
{
    recon_plan plan;
    const larmor_status st = recon_plan_make(&r->job, r->s->memory, wanted, r->s, &plan);
    if (st) return app_fail(APP_RUN, st);
    if (!plan.planned) return APP_DONE; /* no image is wanted, which is said elsewhere */
    const char *spec = larmor_device_spec(r->job.dev), *whose = r->s->memory ? "allowed" : "free";
    const byte_text planned = bytes_text(plan.planned), limit = bytes_text(plan.limit);
    if (plan.limit && plan.planned > plan.limit) {
        app_error("%s: %s needed with one coil at a time, %s %s on %s: %s missing. %s", r->input, planned.s, limit.s,
                  whose, spec, bytes_text(plan.planned - plan.limit).s,
                  r->s->memory ? "Raise --memory." : "Free some, or use another device.");
        return APP_LACKING;
    }
    if (plan.precondition < 0 && !r->job.precondition)
        app_log("memory: the preconditioner does not fit; without it more iterations are needed");
    r->job.block = plan.block, r->job.toeplitz = plan.toeplitz, r->job.precondition = plan.precondition;
    char blocks[64] = "";
    if (plan.block < plan.coils)
        snprintf(blocks, sizeof blocks, "; %lld of %lld coils at a time", (long long)plan.block,
                 (long long)plan.coils);
    if (plan.limit)
        app_log("memory: %s planned of %s %s on %s%s", planned.s, limit.s, whose, spec, blocks);
    else
        app_log("memory: %s planned on %s%s", planned.s, spec, blocks);
    return APP_DONE;
}

/* ---- the reconstruction ---- */

/* The wanted groups, those of a series one after the other: series s is group[first[s]] .. group[first[s + 1] - 1]. */
typedef struct series_list {
    int *group, *first;
    int groups, series;
} series_list;

static void list_free(series_list *l)
{
    free(l->group), free(l->first);
}

static int gather_series(run_state *r, series_list *l)
{
    const size_t room = (size_t)r->info.groups + 1;
    *l = (series_list){calloc(room, sizeof *l->group), calloc(room, sizeof *l->first), 0, 0};
    char *taken = calloc(room, 1);
    int code = APP_DONE;
    larmor_group g, other;
    if (!l->group || !l->first || !taken) {
        code = app_fail(APP_RUN, larmor_fail(LARMOR_ERR_MEMORY, "out of host memory"));
        goto done;
    }
    for (int i = 0; i < r->info.groups; i++) {
        APP_OR(done, APP_INPUT, larmor_raw_group(r->job.raw, i, &g));
        if (taken[i] || !wanted(r->s, &g)) continue;
        l->group[l->groups++] = i;
        for (int j = i + 1; j < r->info.groups; j++) {
            APP_OR(done, APP_INPUT, larmor_raw_group(r->job.raw, j, &other));
            if (taken[j] || !wanted(r->s, &other) || !recon_joint(&r->job, &g, &other)) continue;
            l->group[l->groups++] = j, taken[j] = 1;
        }
        l->first[++l->series] = l->groups;
    }
    if (!l->groups) {
        app_error("%s: no image has the slice, contrast, phase, repetition and set asked for; see larmor info.",
                  r->input);
        code = APP_USAGE;
    }
done:
    free(taken);
    return code;
}

/* llr of a single frame is refused before any work. */
static int check_series(const run_state *r, const series_list *l)
{
    if (strcmp(r->s->method, "llr") != 0) return APP_DONE;
    for (int i = 0; i < l->series; i++)
        if (l->first[i + 1] - l->first[i] < 2) {
            app_error(
                "--method llr: %s has one frame of a slice, llr needs several repetitions, phases or contrasts; "
                "use tv or wavelet.",
                r->input);
            return APP_USAGE;
        }
    return APP_DONE;
}

static void log_result(const run_state *r, const char *what, int first)
{
    const recon_result *last = &r->last;
    if (last->made_traj && first)
        app_log("warning: the file stores no trajectory; it was made from the counters, without any gradient delay");
    if (last->outside)
        app_log("%s: %lld samples beyond the resolution of reconSpace left out", what, (long long)last->outside);
    if (r->job.method == RECON_CG)
        app_log("%s: %d iterations by %s, residual %.2e, %.2f s", what, last->report.iters,
                last->toeplitz ? "Toeplitz" : "NUFFTs", last->report.residual, last->report.seconds);
    if (r->job.method == RECON_REGULARISED)
        app_log("%s: %d iterations, change %.2e, objective %.4e, lambda %.3e absolute, %.2f s", what,
                last->report.iters, last->report.residual, last->report.objective, last->weight,
                last->report.seconds);
}

/* One series into r->image, whose places are those of the groups in the file. */
static int reconstruct_series(run_state *r, const series_list *l, int s, const int *place)
{
    const int first = l->first[s], count = l->first[s + 1] - first;
    char what[64];
    larmor_array **image = calloc((size_t)count, sizeof(larmor_array *));
    if (!image) return app_fail(APP_RUN, larmor_fail(LARMOR_ERR_MEMORY, "out of host memory"));
    int code = APP_DONE;
    if (count > 1)
        snprintf(what, sizeof what, "series %d of %d, %d images", s + 1, l->series, count);
    else
        snprintf(what, sizeof what, "image %d of %d", s + 1, l->series);
    app_progress_begin(&r->progress, what);
    const larmor_status st = recon_groups(&r->job, l->group + first, count, image, &r->last);
    app_progress_end(&r->progress);
    for (int i = 0; i < count && !st; i++) {
        larmor_image *to = &r->image[place[l->group[first + i]]];
        to->data = image[i];
        const larmor_status described = larmor_raw_image_meta(r->job.raw, l->group[first + i], &to->meta);
        if (described && !code) code = app_fail(APP_RUN, described);
    }
    free(image);
    if (st) {
        const int reading = st == LARMOR_ERR_FORMAT || st == LARMOR_ERR_ARG;
        return app_fail_in(reading ? APP_INPUT : APP_RUN, st, r->input);
    }
    if (!code) log_result(r, what, s == 0);
    return code;
}

/* Reconstruct every wanted group into r->image; stops after an interrupted series. */
static int reconstruct(run_state *r, const series_list *l)
{
    int *place = calloc((size_t)r->info.groups + 1, sizeof *place), code = APP_DONE, kept = 0, before = 0;
    r->image = calloc((size_t)l->groups, sizeof *r->image);
    if (place && r->image) {
        for (int i = 0; i < l->groups; i++) place[l->group[i]] = 1;
        for (int i = 0; i < r->info.groups; i++) { /* from which are wanted to how many are before */
            const int here = place[i];
            place[i] = before, before += here;
        }
        r->images = l->groups;
        for (int s = 0; s < l->series && !r->last.interrupted && !code; s++)
            code = reconstruct_series(r, l, s, place);
        for (int i = 0; i < l->groups; i++) /* what an interruption left out */
            if (r->image[i].data) r->image[kept++] = r->image[i];
        r->images = kept;
    } else {
        code = app_fail(APP_RUN, larmor_fail(LARMOR_ERR_MEMORY, "out of host memory"));
    }
    free(place);
    return code;
}

/* ---- the result ---- */

static int write_outputs(run_state *r)
{
    const settings *s = r->s;
    char lambda[32], iters[32], residual[32], history[32], series[32];
    snprintf(lambda, sizeof lambda, "%g", r->last.lambda);
    snprintf(iters, sizeof iters, "%d", r->last.report.iters);
    snprintf(residual, sizeof residual, "%.3e", r->last.report.residual);
    const char *name = r->job.method == RECON_CG ? "CG-SENSE" : r->job.method == RECON_GRID ? "GRIDDING" : s->method;
    snprintf(history, sizeof history, "LARMOR:%s", name);
    for (char *c = history; *c; c++) *c = (char)toupper((unsigned char)*c);
    snprintf(series, sizeof series, "larmor %s", s->method);
    const char *keys[10] = {"DataRole", "ImageProcessingHistory", "SeriesDescription", "LarmorVersion",
                            "LarmorCommand"};
    const char *values[10] = {"Image", history, series, larmor_version(), app_command_line()};
    int count = 5;
    if (r->job.method != RECON_GRID) {
        keys[count] = "LarmorLambda", values[count++] = lambda;
        keys[count] = "LarmorIterations", values[count++] = iters;
        keys[count] = "LarmorResidual", values[count++] = residual;
    }
    if (r->last.interrupted) keys[count] = "LarmorInterrupted", values[count++] = "1";
    const larmor_write_opts opts = {.magnitude = s->magnitude,
                                    .header = larmor_raw_xml(r->job.raw),
                                    .keys = keys,
                                    .values = values,
                                    .count = count};
    for (int i = 0; i < s->outputs.count; i++) {
        const larmor_status st = larmor_image_write(r->output[i], r->image, r->images, &opts);
        if (st) return app_fail(APP_RUN, st);
        app_log("wrote %s (%d image%s%s)", larmor_output_path(r->output[i]), r->images, r->images == 1 ? "" : "s",
                r->last.interrupted ? ", interrupted" : "");
    }
    return APP_DONE;
}

static void print_report(const run_state *r)
{
    json j = {stdout, 0, 0};
    json_open(&j, NULL, '{');
    json_text(&j, "input", r->input);
    json_open(&j, "outputs", '[');
    for (int i = 0; i < r->s->outputs.count; i++) json_text(&j, NULL, r->s->outputs.text[i]);
    json_close(&j, ']');
    json_text(&j, "method", r->s->method);
    json_text(&j, "device", larmor_device_spec(r->job.dev));
    json_text(&j, "trajectory", r->info.traj_report);
    json_integer(&j, "images", r->images);
    if (r->job.method != RECON_GRID) {
        json_integer(&j, "iterations", r->last.report.iters);
        json_number(&j, "residual", r->last.report.residual);
        json_flag(&j, "toeplitz", r->last.toeplitz);
        json_flag(&j, "preconditioned", r->job.precondition >= 0);
        json_number(&j, "lambda", r->last.lambda);
        json_number(&j, "lambda_absolute", r->last.weight);
        if (r->job.method == RECON_CG)
            json_number(&j, "largest_eigenvalue", r->last.largest);
        else
            json_number(&j, "objective", r->last.report.objective);
    }
    json_flag(&j, "interrupted", r->last.interrupted);
    json_number(&j, "seconds", now() - r->began);
    json_close(&j, '}');
}

static recon_density density_of(const char *name)
{
    static const char *const names[] = {"auto", "ramp", "pipe", "file", "none"};
    for (int i = 0; i < 5; i++)
        if (!strcmp(name, names[i])) return (recon_density)i;
    return DENSITY_AUTO;
}

static void clear(run_state *r)
{
    for (int i = 0; i < r->images; i++) larmor_array_free((larmor_array *)(uintptr_t)r->image[i].data);
    for (int i = 0; i < APP_MAX_TEXTS; i++) larmor_output_free(r->output[i]);
    free(r->image);
    recon_job_clear(&r->job);
    larmor_array_free(r->job.given), larmor_array_free(r->job.whitening);
    larmor_raw_free(r->job.raw), larmor_device_free(r->job.dev);
}

/* A method's defaults: of cg the program's own, of the others the library's. */
static void defaults(recon_job *job)
{
    larmor_regulariser_opts penalty = {.lambda = 7e-4};
    larmor_solve_opts solve = {.max_iter = 30, .tol = 3e-4};
    job->eps = 1e-5;
    if (job->method == RECON_REGULARISED) {
        larmor_regulariser_defaults(job->regulariser, &penalty, &solve);
        job->eps = 1e-3; /* far below what a penalty of noise's size changes */
    }
    job->iters = solve.max_iter, job->tol = solve.tol, job->lambda = penalty.lambda;
}

static recon_job job_of(const settings *s)
{
    recon_job job = {.method = !strcmp(s->method, "grid") ? RECON_GRID
                               : !strcmp(s->method, "cg") ? RECON_CG
                                                          : RECON_REGULARISED,
                     .regulariser = s->method,
                     .joint = s->joint || !strcmp(s->method, "llr"),
                     .density = density_of(s->dcf),
                     .weighted = s->weighted,
                     .no_maps = !strcmp(s->maps, "none"),
                     .time_weight = s->time_weight > 0 ? s->time_weight : -1,
                     .llr_block = s->llr_block,
                     .toeplitz = !strcmp(s->toeplitz, "on")    ? 1
                                 : !strcmp(s->toeplitz, "off") ? -1
                                                               : 0,
                     .precondition = !strcmp(s->precond, "none") ? -1 : !strcmp(s->precond, "circulant"),
                     .calibration = s->calibration,
                     .monitor = app_monitor};
    defaults(&job);
    if (s->iters) job.iters = (int)s->iters;
    if (!isnan(s->tol)) job.tol = s->tol > 0 ? s->tol : -1;
    if (!isnan(s->lambda)) job.lambda = s->lambda;
    if (!isnan(s->eps)) job.eps = s->eps;
    return job;
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    run_state r = {.s = s, .input = files->name[0], .began = now(), .job = job_of(s)};
    r.job.user = &r.progress;
    series_list list = {NULL, NULL, 0, 0};
    int code = APP_DONE;
    if (s->joint && strcmp(s->method, "tv") != 0 && strcmp(s->method, "llr") != 0) {
        app_error("--joint: frames are reconstructed together by --method tv and llr, not by %s.", s->method);
        return APP_USAGE;
    }
    code = open_outputs(&r);
    if (!code) code = prepare(&r);
    if (!code) code = gather_series(&r, &list);
    if (!code) code = check_series(&r, &list);
    if (!code) code = plan_memory(&r);
    if (!code) code = reconstruct(&r, &list);
    if (!code && app_stopped() != 143) code = write_outputs(&r);
    if (!code && s->json && r.images) print_report(&r);
    if (!code) code = app_stopped();
    if (!code) app_log("done in %.2f s", now() - r.began);
    list_free(&list);
    clear(&r);
    return code;
}

const app_command cmd_recon = {
    .name = "recon",
    .usage = "SCAN.h5 -o IMAGE [-o IMAGE ...] [options]",
    .summary = "reconstruct every image of an ISMRMRD scan",
    .details =
        "Slices, contrasts, phases, repetitions and sets become one image each; averages add data. Images are on\n"
        "reconSpace's matrix and field of view. Ctrl-C writes the iterate that is reached.",
    .min_files = 1,
    .max_files = 1,
    .options = options,
    .settings = sizeof(settings),
    .run = run,
};
