/* larmor recon: an ISMRMRD scan in, images out. SPDX-License-Identifier: Apache-2.0 */
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
    const char *method, *maps, *whiten, *dcf, *group, *units, *toeplitz, *device;
    int64_t memory, iters, threads, calibration, slice, contrast, phase, repetition, set;
    double tol, lambda, eps;
    int weighted, magnitude, force, json, drop_nonfinite, conjugate;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
#define ONLY(field)                                                                                                  \
    OPTION(APP_INTEGER, field, 0, #field, "N", "only this " #field "; -1: all", .preset = "-1", .low = -1,           \
           .high = 65535)
static const app_option options[] = {
    OPTION(APP_TEXTS, outputs, 'o', "output", "FILE",
           "image; the suffix is the format: .h5 .nii .nii.gz .png .cfl .npy", .needed = 1),
    OPTION(APP_TEXT, method, 'm', "method", "M", "cg: iterative SENSE; grid: density-compensated adjoint",
           .preset = "cg", .choices = "cg|grid"),
    OPTION(APP_INTEGER, iters, 'i', "iters", "N", "most iterations", .preset = "30", .low = 1, .high = 1e9),
    OPTION(APP_NUMBER, tol, 0, "tol", "X", "relative residual at which to stop; 0: at rounding", .preset = "1e-4",
           .low = 0, .high = 1),
    OPTION(APP_NUMBER, lambda, 'l', "lambda", "X", "L2 weight in units of the largest eigenvalue of A^H A",
           .preset = "5e-4", .low = 0, .high = INFINITY),
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
           "weight the data by density in cg, too: fewer iterations, more noise"),
    OPTION(APP_NUMBER, eps, 0, "eps", "X", "accuracy of the NUFFT; below 1e-6 all is done in double precision",
           .preset = "1e-5", .low = 1e-13, .high = 0.1),
    OPTION(APP_TEXT, toeplitz, 0, "toeplitz", "T",
           "iterate by FFTs of the doubled grid instead of NUFFTs; auto: where that is quicker and fits",
           .preset = "auto", .choices = "auto|on|off"),
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
    larmor_image *image;
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
    if (r->job.method == RECON_CG)
        app_log("cg-sense on %s: at most %d iterations, tolerance %.1e, lambda %.1e of the largest eigenvalue; %s",
                larmor_device_spec(r->job.dev), r->job.iters, s->tol, s->lambda, maps);
    else
        app_log("gridding on %s: density %s; %s", larmor_device_spec(r->job.dev), s->dcf, maps);
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
    r->job.block = plan.block, r->job.toeplitz = plan.toeplitz;
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

/* Reconstruct every wanted group into r->image; stops after an interrupted one. */
static int reconstruct(run_state *r)
{
    int count = 0, done = 0;
    larmor_group g;
    for (int i = 0; i < r->info.groups; i++)
        if (!larmor_raw_group(r->job.raw, i, &g) && wanted(r->s, &g)) count++;
    if (!count) {
        app_error("%s: no image has the slice, contrast, phase, repetition and set asked for; see larmor info.",
                  r->input);
        return APP_USAGE;
    }
    r->image = calloc((size_t)count, sizeof *r->image);
    if (!r->image) return app_fail(APP_RUN, larmor_fail(LARMOR_ERR_MEMORY, "out of host memory"));
    for (int i = 0; i < r->info.groups && !r->last.interrupted; i++) {
        char what[64];
        larmor_status st = larmor_raw_group(r->job.raw, i, &g);
        if (st) return app_fail(APP_INPUT, st);
        if (!wanted(r->s, &g)) continue;
        snprintf(what, sizeof what, "image %d of %d", ++done, count);
        app_progress_begin(&r->progress, what);
        st = recon_group(&r->job, i, &r->last);
        app_progress_end(&r->progress);
        if (st) {
            const int reading = st == LARMOR_ERR_FORMAT || st == LARMOR_ERR_ARG;
            return app_fail_in(reading ? APP_INPUT : APP_RUN, st, r->input);
        }
        larmor_image *image = &r->image[r->images++];
        image->data = r->last.image;
        st = larmor_raw_image_meta(r->job.raw, i, &image->meta);
        if (st) return app_fail(APP_RUN, st);
        if (r->last.made_traj && done == 1)
            app_log(
                "warning: the file stores no trajectory; it was made from the counters, without any gradient delay");
        if (r->last.outside)
            app_log("%s: %lld samples beyond the resolution of reconSpace left out", what,
                    (long long)r->last.outside);
        if (r->job.method == RECON_CG)
            app_log("%s: %d iterations by %s, residual %.2e, %.2f s", what, r->last.report.iters,
                    r->last.toeplitz ? "Toeplitz" : "NUFFTs", r->last.report.residual, r->last.report.seconds);
    }
    return APP_DONE;
}

/* ---- the result ---- */

static int write_outputs(run_state *r)
{
    const settings *s = r->s;
    char lambda[32], iters[32], residual[32];
    snprintf(lambda, sizeof lambda, "%g", s->lambda);
    snprintf(iters, sizeof iters, "%d", r->last.report.iters);
    snprintf(residual, sizeof residual, "%.3e", r->last.report.residual);
    const int cg = r->job.method == RECON_CG;
    const char *keys[10] = {"DataRole", "ImageProcessingHistory", "SeriesDescription", "LarmorVersion",
                            "LarmorCommand"};
    const char *values[10] = {"Image", cg ? "LARMOR:CG-SENSE" : "LARMOR:GRIDDING", cg ? "larmor cg" : "larmor grid",
                              larmor_version(), app_command_line()};
    int count = 5;
    if (cg) {
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
    if (r->job.method == RECON_CG) {
        json_integer(&j, "iterations", r->last.report.iters);
        json_number(&j, "residual", r->last.report.residual);
        json_flag(&j, "toeplitz", r->last.toeplitz);
        json_number(&j, "lambda", r->s->lambda);
        json_number(&j, "largest_eigenvalue", r->last.largest);
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

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    run_state r = {.s = s, .input = files->name[0], .began = now()};
    r.job = (recon_job){.method = strcmp(s->method, "grid") ? RECON_CG : RECON_GRID,
                        .density = density_of(s->dcf),
                        .weighted = s->weighted,
                        .no_maps = !strcmp(s->maps, "none"),
                        .iters = (int)s->iters,
                        .tol = s->tol > 0 ? s->tol : -1,
                        .lambda = s->lambda,
                        .eps = s->eps,
                        .toeplitz = !strcmp(s->toeplitz, "on")   ? 1
                                    : strcmp(s->toeplitz, "off") ? 0
                                                                 : -1,
                        .calibration = s->calibration,
                        .monitor = app_monitor,
                        .user = &r.progress};
    int code = open_outputs(&r);
    if (!code) code = prepare(&r);
    if (!code) code = plan_memory(&r);
    if (!code) code = reconstruct(&r);
    if (!code && app_stopped() != 143) code = write_outputs(&r);
    if (!code && s->json && r.images) print_report(&r);
    if (!code) code = app_stopped();
    if (!code) app_log("done in %.2f s", now() - r.began);
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
