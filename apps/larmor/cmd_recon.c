/* larmor recon: an ISMRMRD scan in, images out. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "recon_options.h"
#include "recon_prepare.h"
#include "recon_report.h"
#include "recon_save.h"
#include "recon_series.h"

#define OPTION(...) APP_OPTION(recon_settings, __VA_ARGS__)
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
    OPTION(APP_INTEGER, iters, 'i', "iters", "N",
           "most iterations (default: 100; where the image follows its noise no more, they end before)", .low = 1,
           .high = 1e9),
    OPTION(APP_NUMBER, tol, 0, "tol", "X",
           "where to stop: of cg the relative residual, else the relative change of the image; 0: at rounding "
           "(default: where the error is small beside the noise of the image)",
           .low = 0, .high = 1, .absent = 1),
    OPTION(
        APP_TEXT, lambda, 'l', "lambda", "X",
        "weight of the penalty: auto, chosen from the data and their noise; a number, of cg in units of the largest "
        "eigenvalue of A^H A, else of the typical magnitude of A^H b; or noise:NUMBER, in units of the noise",
        .preset = "auto"),
    OPTION(APP_FLAG, joint, 0, "joint", "",
           "tv: the repetitions, phases and contrasts of a slice as one series, with differences in time; llr always "
           "does so"),
    OPTION(APP_NUMBER, time_weight, 0, "time-weight", "X",
           "tv --joint: weight of a difference in time beside one in space", .preset = "1", .low = 0,
           .high = INFINITY),
    OPTION(APP_INTEGER, llr_block, 0, "block", "N", "llr: side of the blocks in voxels (default: 8)", .low = 1,
           .high = 4096),
    OPTION(APP_SIZES, matrix, 0, "matrix", "X[,Y[,Z]]",
           "voxels of the image; X alone: of all axes that are as long as x in the header (default: the header's)",
           .low = 1, .high = 65535),
    OPTION(APP_NUMBERS, fov, 0, "fov", "X[,Y[,Z]]", "field of view of the image in mm, likewise", .low = 1e-3,
           .high = 1e5),
    OPTION(APP_NUMBERS, oversample, 0, "oversample", "F[,F[,F]]",
           "reconstruct on a field of view this many times the encoded one or the image's, then crop; one number: of "
           "all axes (default: 1, or what the object needs)",
           .low = 1, .high = LARMOR_MAX_OVERSAMPLE),
    OPTION(APP_TEXT, maps, 0, "maps", "FILE",
           "coil maps: auto (from the data's own centre), none (root sum of squares, with --method grid), or a file",
           .preset = "auto"),
    OPTION(APP_INTEGER, calibration, 0, "calibration", "N",
           "side of the centre of k-space that gives the maps (default: 32)", .low = 4, .high = 1024),
    OPTION(APP_TEXT, save_maps, 0, "save-maps", "FILE",
           "also write the coil maps, for --maps or BART: .cfl [x, y, z, coils], .npy [x, y(, z), coils], .h5 an "
           "image of each coil"),
    OPTION(APP_TEXT, whiten, 0, "whiten", "W", "use the scan's noise readouts to whiten the coils, if it has any",
           .preset = "auto", .choices = "auto|off"),
    OPTION(APP_TEXT, dcf, 0, "dcf", "D",
           "density compensation for grid and --weighted; auto: ramp for straight readouts, else pipe",
           .preset = "auto", .choices = "auto|ramp|pipe|file|none"),
    OPTION(APP_TEXT, save_density, 0, "save-density", "FILE",
           "also write the density weights [1, samples, readouts]: .cfl or .npy"),
    OPTION(APP_FLAG, weighted, 0, "weighted", "",
           "weight the data by density in the iterative methods, too: fewer iterations, more noise"),
    OPTION(
        APP_TEXT, plan, 0, "plan", "EFFORT",
        "how the NUFFT's grid is chosen; measurements are remembered in a file (default: estimate, without the file)",
        .choices = "estimate|measure|exhaustive"),
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
    OPTION(APP_TEXT, join, 0, "join", "LIST",
           "counters that make no images of their own: none, or some of slice, contrast, phase, repetition and set, "
           "with "
           "commas between; auto: those that pass their limits and leave no image samples enough",
           .preset = "auto"),
    OPTION(APP_FLAG, drop_nonfinite, 0, "drop-nonfinite", "", "leave out acquisitions with NaN or Inf"),
    OPTION(APP_FLAG, conjugate, 0, "conj", "", "conjugate the samples first"),
    OPTION(APP_FLAG, magnitude, 0, "magnitude", "", "write magnitudes where the format could be complex"),
    APP_WINDOW_OPTION(recon_settings),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace files that exist"),
    OPTION(APP_BYTES, memory, 0, "memory", "SIZE",
           "most memory to use on the device, e.g. 512M or 8G: coils are done in blocks that fit (default: what is "
           "free)"),
    OPTION(APP_FLAG, json, 0, "json", "", "print a report as a JSON object on stdout"),
    APP_DEVICE_OPTIONS(recon_settings),
    {0},
};

static recon_density density_of(const char *name)
{
    static const char *const names[] = {"auto", "ramp", "pipe", "file", "none"};
    for (int i = 0; i < 5; i++)
        if (!strcmp(name, names[i])) return (recon_density)i;
    return DENSITY_AUTO;
}

static void clear(recon_run *r)
{
    for (int i = 0; i < r->images; i++) larmor_array_free((larmor_array *)(uintptr_t)r->image[i].data);
    for (int i = 0; i < APP_MAX_TEXTS; i++) larmor_output_free(r->output[i]);
    larmor_output_free(r->maps_output), larmor_output_free(r->density_output);
    free(r->image), free(r->result);
    recon_job_clear(&r->job);
    larmor_array_free(r->job.given), larmor_array_free(r->job.whitening);
    larmor_raw_free(r->job.raw), larmor_device_free(r->job.dev);
}

/* "auto", a number, or "noise:" and a number; 0 if it is neither. */
static int read_lambda(const char *text, recon_job *job)
{
    char *end;
    job->choose = CHOOSE_AUTO;
    if (!strcmp(text, "auto")) return 1;
    const int in_noise = !strncmp(text, "noise:", 6);
    const char *number = text + (in_noise ? 6 : 0);
    job->choose = in_noise ? CHOOSE_NOISE : CHOOSE_FIXED;
    job->lambda = strtod(number, &end);
    return end != number && !*end && job->lambda >= 0 && isfinite(job->lambda);
}

static recon_job job_of(const recon_settings *s)
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
                     .keep_weights = s->save_density != NULL,
                     .monitor = app_monitor,
                     .stage = app_stage};
    /* of a penalty far below what it changes */
    job.eps = job.method == RECON_REGULARISED ? 1e-3 : 1e-5;
    job.iters = (int)s->iters;
    if (!isnan(s->tol)) job.tol = s->tol > 0 ? s->tol : -1;
    if (!isnan(s->eps)) job.eps = s->eps;
    return job;
}

/* All that comes before the first image. */
static int prepare(recon_run *r, recon_series *list)
{
    app_progress_begin(&r->progress, "preparation");
    int code = recon_open_outputs(r);
    if (!code) code = recon_prepare(r);
    if (!code) code = recon_series_gather(r, list);
    if (!code) code = recon_series_check(r, list);
    if (!code) code = recon_save_check(r, list);
    if (!code) code = recon_plan_memory(r);
    app_progress_end(&r->progress);
    return code;
}

static int run(const void *given, const app_files *files)
{
    const recon_settings *s = given;
    const double began = app_now();
    recon_run r = {.s = s, .input = files->name[0], .job = job_of(s)};
    r.job.user = &r.progress;
    recon_series list = {NULL, NULL, 0, 0};
    int code = recon_check_options(&cmd_recon, s);
    if (!code && !read_lambda(s->lambda, &r.job)) {
        app_error("--lambda %s: auto, a number of at least 0, or noise: and such a number expected.", s->lambda);
        code = APP_USAGE;
    }
    if (!code) code = prepare(&r, &list);
    if (!code) code = recon_series_run(&r, &list);
    if (!code && r.images && app_stopped() != 143) code = recon_write(&r);
    if (!code && r.images && app_stopped() != 143) code = recon_save(&r);
    if (!code && s->json && r.images) recon_report(&r, app_now() - began);
    if (!code) code = app_stopped();
    if (!code) code = recon_series_judge(&r, &list);
    if (app_stopped() && !r.images)
        app_error("%s: stopped before the first image was there; nothing written.", r.input);
    if (!code) app_keep_wisdom(r.job.dev, s->plan, 0);
    if (!code) app_log("done in %.2f s", app_now() - began);
    recon_series_free(&list);
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
    .lacking = "a scan is needed; for example: larmor recon scan.h5 -o image.nii",
    .surplus = "one scan at a time, several in one call are not supported yet; an image is named by -o",
    .min_files = 1,
    .max_files = 1,
    .options = options,
    .computes = 1,
    .settings = sizeof(recon_settings),
    .run = run,
};
