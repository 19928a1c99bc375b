/* larmor recon: an ISMRMRD scan in, images out. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choices.h"
#include "commands.h"
#include "config.h"
#include "in_options.h"
#include "map_options.h"
#include "recon.h"
#include "via.h"

#define OPTION(...) APP_OPTION(recon_settings, __VA_ARGS__)
#define ONLY(field)                                                                                                  \
    OPTION(APP_INTEGER, field, 0, #field, "N", "only this " #field "; -1: all", .preset = "-1", .low = -1,           \
           .high = 65535)
#define SETTING(...) APP_SETTING(recon_settings, opts, __VA_ARGS__)
static app_option options[] = {
    OPTION(APP_WRITTEN_FILES, outputs, 'o', "output", "FILE",
           "image; the format follows the suffix; -: a stream of MRD on standard output", .choice = choose_suffix,
           .streams = 1),
    SETTING(method, .letter = 'm', .choice = choose_method),
    SETTING(lambda, .letter = 'l'),
    OPTION(
        APP_READ_FILE, maps, 0, "maps", "FILE",
        "coil maps: auto (from the data, by what suits them), by a method (see larmor help maps), none (root sum of "
        "squares, with --method grid), or a file",
        .preset = "auto", .no_file = "none", .choice = choose_maps_method, .member = "no_maps none"),
    SETTING(matrix),
    SETTING(fov_mm),
    APP_DEVICE_OPTIONS_AND(recon_settings, "; several share the images: cuda:0,1, cuda:all or cpu:2,2"),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace files that exist"),
    OPTION(APP_FLAG, json, 0, "json", "", "print a report as a JSON object on stdout"),
    SETTING(iters, .letter = 'i', .heading = "The solution"),
    SETTING(tol),
    SETTING(reg),
    SETTING(constraint, .file_if = "support"),
    OPTION(
        APP_TEXT, prior, 0, "prior", "PLUGIN",
        "a denoiser in the place of a penalty: a plugin, ./plugin.so or ./plugin.so:ARGUMENT, whose code runs with "
        "your rights, or one of larmor's, tv or wavelet; only on the command line",
        .file_if = "/", .reads = recon_is_prior,
        .expected = "the path of a plugin, ./NAME.so, or the name of a penalty"),
    SETTING(prior_method),
    SETTING(prior_sigma),
    SETTING(joint),
    SETTING(time_weight),
    SETTING(llr_block),
    SETTING(damping),
    SETTING(median),
    SETTING(partial_fourier),
    SETTING(precondition),
    SETTING(toeplitz),
    SETTING(eps),
    OPTION(
        APP_TEXT, plan, 0, "plan", "EFFORT",
        "how the NUFFT's grid is chosen; measurements are remembered in a file (default: estimate, without the file)",
        .choices = "estimate|measure|exhaustive", .member = "effort"),
    SETTING(repeatable),
    OPTION(
        APP_INTEGER, spokes_per_frame, 0, "spokes-per-frame", "N",
        "make frames out of each image: N readouts each, by time stamp where all have one; in a stack of stars N of "
        "each partition",
        .low = 1, .high = 1 << 28, .member = "spokes", .heading = "Frames and bases in time"),
    OPTION(APP_NUMBER, frame_time, 0, "frame-time", "MS", "the same by time stamps: so many ms each", .low = 1e-3,
           .high = 1e9, .member = "ms"),
    OPTION(
        APP_NUMBER, frame_step, 0, "frame-step", "X",
        "from the start of a frame to that of the next, in readouts or ms, for windows that slide (default: frames "
        "that touch)",
        .low = 1e-3, .high = 1e9),
    OPTION(APP_TEXT, frame_rest, 0, "frame-rest", "R",
           "readouts that are left after the last frame: drop them, or join them to it", .preset = "drop",
           .choices = "drop|join"),
    OPTION(APP_INTEGER, cardiac_phases, 0, "cardiac-phases", "N",
           "make N frames of the cardiac cycle out of each image, by physiology stamps", .low = 1, .high = 65535,
           .member = "phases"),
    OPTION(APP_TEXT, bins, 0, "bins", "heart:N,breath:N",
           "sort the readouts of each image by one or two of heart, breath and time, and make an image of each bin",
           .reads = recon_are_bins, .expected = "one or two of heart:N, breath:N and time:N, like heart:20,breath:4"),
    OPTION(
        APP_READ_FILE, gating, 0, "gating", "FILE",
        "--bins: waveforms, the file's ECG or pulse and its respiration; header, the physiology stamps, the first of "
        "the heart and the second of the breath; self, the samples in the centre of k-space; auto: the first of "
        "these "
        "that there is; or a FILE, .npy or text, of times in s when cycles begin or of a number for each readout",
        .preset = "auto", .no_file = "auto|waveforms|header|self"),
    OPTION(APP_WRITTEN_FILE, gating_plot, 0, "gating-plot", "FILE.svg",
           "--bins: draw the signals of heart and breath, their triggers, and the bins of the readouts"),
    OPTION(APP_INTEGER, gate, 0, "gate", "N", "which of the three physiology stamps has the time since the trigger",
           .preset = "0", .low = 0, .high = 2),
    OPTION(APP_NUMBER, tick, 0, "tick", "MS", "a tick of the stamps", .preset = "2.5", .low = 1e-9, .high = 1e6),
    OPTION(APP_READ_FILE, basis, 0, "basis", "FILE",
           "frames are sums of a few functions of time: [frames, coefficients], .cfl or .npy; the images are the "
           "coefficients"),
    OPTION(APP_READ_FILE, dictionary, 0, "dictionary", "FILE",
           "the basis from signal curves [frames, curves] by their singular vectors, .cfl or .npy"),
    SETTING(coefficients),
    SETTING(basis_frames),
    OPTION(APP_NUMBERS, shift, 0, "shift", "X,Y[,Z]",
           "move the field of view so many mm along the read, phase and slice directions, for samples that the "
           "scanner did not demodulate there; images lie where it is then",
           .low = -1e5, .high = 1e5, .member = "shift_mm", .heading = "The image"),
    SETTING(oversample),
    OPTION(APP_TEXT, out_dir, 0, "out-dir", "DIR",
           "the folder for images of several scans, as DIR/SCAN.h5 or with the suffix that -o has: -o .nii; a table "
           "at the end"),
    OPTION(APP_WRITTEN_FILE, report, 0, "report", "FILE",
           "also write a page of HTML, for a browser, with the images, coil maps, trajectory, figures, settings and "
           "log"),
    OPTION(
        APP_TEXT, report_noise, 0, "report-noise", "W",
        "the signal-to-noise ratio in --report and --json: auto (by a formula, and of cg from one sample of noise "
        "where that takes less than a tenth of the iterations of the images so far), quick (of every image by cg) or "
        "off",
        .preset = "auto", .choices = "auto|quick|off"),
    OPTION(APP_FLAG, magnitude, 0, "magnitude", "", "write magnitudes where the format could be complex"),
    APP_WINDOW_OPTION(recon_settings),
    APP_PICTURE_OPTIONS(recon_settings),
    APP_DICOM_OPTIONS(recon_settings),
    APP_BIDS_OPTION(recon_settings),
    OPTION(APP_TEXT, bids_dir, 0, "bids-dir", "DIR",
           "the images' data set of BIDS: -o sub-01_task-rest_bold.nii.gz is the name of one in it, whose folder and "
           "sidecar are made, and so is what describes the set"),
    OPTION(APP_FLAG, bids_anew, 0, "bids-anew", "", "replace the data set's dataset_description.json"),
    SETTING(calibration, .heading = "Coil maps"),
    MAPS_FOV_OPTION(recon_settings),
    SETTING(map_sets),
    SETTING(crop),
    SETTING(normalise),
    OPTION(APP_WRITTEN_FILE, save_maps, 0, "save-maps", "FILE",
           "also write the coil maps, for --maps or BART: .cfl [x, y, z, coils], .npy [x, y(, z), coils], .h5 an "
           "image of each coil, .png to look at"),
    SETTING(no_whitening, .member = "no_whitening off", .heading = "Coils and noise"),
    SETTING(compress),
    SETTING(compress_method),
    OPTION(APP_WRITTEN_FILE, noise_map, 0, "noise-map", "FILE",
           "also write the standard deviation of the noise at each voxel, in the image's unit; any format of images"),
    OPTION(APP_WRITTEN_FILE, snr_map, 0, "snr-map", "FILE",
           "also write the signal-to-noise ratio, in absolute units"),
    OPTION(APP_WRITTEN_FILE, g_map, 0, "g-map", "FILE",
           "also write the geometry factor: the noise over that of an image of as many samples that determine every "
           "voxel by itself"),
    OPTION(APP_INTEGER, noise_samples, 0, "noise-samples", "N",
           "samples of noise that these maps are from; each costs a solution, and 64 leave an error of 6 to 9 %",
           .preset = "64", .low = 2, .high = LARMOR_MOST_NOISE_SAMPLES),
    OPTION(APP_WRITTEN_FILE, height_map, 0, "height-map", "FILE",
           "also write which part of the height of a point the image shows: 1 where nothing is smoothed away"),
    OPTION(APP_WRITTEN_FILE, width_map, 0, "width-map", "FILE",
           "also write the width of a point in the image, in voxels: 1 of one that stays a point"),
    OPTION(APP_INTEGER, probes, 0, "probes", "N",
           "lattices of points that these two maps are from; each costs a solution", .preset = "4", .low = 1,
           .high = LARMOR_MOST_PROBES),
    OPTION(
        APP_WRITTEN_FILE, posterior_map, 0, "posterior-map", "FILE",
        "also write how far the object may be from the mean of what it may be: a deviation at each voxel, given the "
        "samples and the penalty"),
    OPTION(APP_WRITTEN_FILE, posterior_mean, 0, "posterior-mean", "FILE", "also write that mean"),
    OPTION(APP_INTEGER, posterior_samples, 0, "posterior-samples", "N",
           "images that these two are from; each costs a solution", .preset = "32", .low = 2,
           .high = LARMOR_MOST_NOISE_SAMPLES),
    OPTION(APP_NUMBER, point_contrast, 0, "point-contrast", "C",
           "height of the points over the intensity of the object", .preset = "0.1", .low = 1e-6, .high = 1e6),
    OPTION(
        APP_TEXT, delays, 0, "delays", "D",
        "gradient delays in samples, which correct the trajectory: X,Y[,XY], 3D X,Y,Z[,XY,XZ,YZ]; auto: found from "
        "the data, where they are significant; off: none",
        .preset = "auto", .reads = recon_are_delays,
        .expected = "auto, off or X,Y[,XY], in 3D X,Y,Z[,XY,XZ,YZ], of numbers from -1000 to 1000,",
        .heading = "Gradients"),
    OPTION(
        APP_READ_FILE, gradient_field, 0, "gradient-field", "FILE",
        "correct what non-linear gradients displace, in the model, by their spherical harmonics: Siemens' .grad, or "
        "radius and coefficients (larmor warp does it to finished images)"),
    OPTION(APP_READ_FILE, displacement, 0, "displacement", "FILE",
           "the same by a displacement in mm along the image's axes over its field of view, from a place to where "
           "images show it: .npy or .cfl, [x, y, 2 or 3] or [x, y, z, 3]"),
    OPTION(APP_READ_FILE, motion_fields, 0, "motion-fields", "FILE",
           "one image of all frames of a moving object, by its displacement in each of them, in mm: .npy or .cfl, "
           "[x, y, 2 or 3, frames] or [x, y, z, 3, frames]"),
    SETTING(no_ghost, .member = "no_ghost off"),
    OPTION(
        APP_READ_FILE, girf, 0, "girf", "FILE",
        "impulse response of the gradients along x, y and z of the patient, which corrects the trajectory: .npy or "
        ".cfl, complex [frequencies, axes] or [frequencies, axes, axes asked for], frequency 0 in the middle"),
    SETTING(girf_spacing_hz),
    OPTION(APP_READ_FILE, girf_b0, 0, "girf-b0", "FILE",
           "that of order 0 in rad m, as larmor girf --b0 writes it, whose phase is taken off the samples: "
           "[frequencies, axes]"),
    OPTION(
        APP_READ_FILE, b0, 0, "b0", "FILE",
        "correct off-resonance by this map in Hz, where it lies (.nii, .h5) or over the image's field of view (.cfl, "
        ".npy); auto: by the map that larmor b0 finds from the scan's echoes",
        .no_file = "auto", .heading = "Off-resonance"),
    SETTING(b0_error),
    OPTION(APP_READ_FILE, t2star, 0, "t2star-map", "FILE",
           "let samples decay by this map of T2* in ms, where it lies (.nii, .h5) or over the image's field of view"),
    OPTION(APP_READ_FILE, phase_terms, 0, "phase-terms", "FILE",
           "phases that a field camera has measured, in rad: .npy or .cfl, [samples, readouts or 1, 9 or 16 solid "
           "harmonics in m along the patient's axes]; the linear ones are left to the trajectory; trajectory: those "
           "in its 4, 9 or 16 rows, whose linear ones it is; trajectory:WORDS, of plus, fourth and axes such as LAI",
           .no_file = "trajectory|trajectory:"),
    SETTING(concomitant),
    SETTING(field_tesla),
    SETTING(segments, .retired = "--b0-error, from which their number follows"),
    OPTION(APP_NUMBER, readout_start, 0, "readout-start", "MS",
           "time of a readout's first sample after the time at which the image has its phase; negative: before "
           "(default: so that this time is that of the sample nearest to k = 0)",
           .low = -1e6, .high = 1e6, .absent = 1, .member = "readout_start_ms"),
    OPTION(
        APP_READ_FILE, motion, 0, "motion", "FILE",
        "the object moves: lines or .npy of 6 numbers for each readout, shifts x, y, z in mm and rotations about "
        "x, y, z in degrees, or of 7, the readout from which on they hold first; the image shows the pose of zeros"),
    SETTING(motion_states),
    OPTION(APP_WRITTEN_FILE, save_motion, 0, "save-motion", "FILE",
           "also write the poses that --motion-states finds, as --motion takes them: .npy of [rows, 7]"),
    SETTING(density, .heading = "Density compensation"),
    OPTION(APP_WRITTEN_FILE, save_density, 0, "save-density", "FILE",
           "also write the density weights [1, samples, readouts]: .cfl or .npy"),
    SETTING(weighted),
    OPTION(APP_INTEGER, slice, 0, "slice", "N", "only this slice; -1: all", .preset = "-1", .low = -1, .high = 65535,
           .heading = "Which readouts, and how they are read"),
    ONLY(contrast),
    ONLY(phase),
    ONLY(repetition),
    ONLY(set),
    ONLY(encoding),
    OPTION(APP_TEXT, multiband, 0, "multiband", "MM,MM[,MM...]",
           "slices that were excited together, by their offsets in mm along the slice direction from the scan's "
           "position, evenly spaced: each image becomes a volume of them (default: by the header); off: their sum",
           .reads = recon_are_offsets,
           .expected = "2 to 16 ascending numbers in mm with commas between, like -30,0,30, or off"),
    OPTION(APP_READ_FILE, multiband_phase, 0, "multiband-phase", "FILE",
           "--multiband: caipi:N, slice s has the phase 2 pi s j / N in readout j; caipi:-N, the other sign; caipi, "
           "with as many shifts as slices; or a FILE, .npy or .cfl, of phases in rad, [readouts, slices]",
           .preset = "caipi", .no_file = "caipi|caipi:2|caipi:3|caipi:4|caipi:5|caipi:6|caipi:8"),
    GIVEN_OPTIONS(recon_settings),
    SAMPLES_OPTIONS(recon_settings),
    SETTING(memory, .heading = "Memory and checkpoints"),
    SETTING(at_once),
    OPTION(APP_WRITTEN_FILE, checkpoint, 0, "checkpoint", "FILE",
           "keep the state in this file; after a crash or a signal the same command goes on from there; when all is "
           "written the file is removed"),
    SETTING(checkpoint_every),
    OPTION(APP_TEXT, via, 0, "via", "SOCKET",
           "let a process compute it that 'larmor serve --commands SOCKET' keeps ready, whose device is open",
           .reads = app_is_socket, .expected = APP_SOCKET_EXPECTED),
    OPTION(APP_READ_FILE, config, 0, "config", "FILE",
           "options from a file of lines `name = value`, unless they are given here; images have those of their run"),
    {0},
};

/* ---- what the library says ---- */

/* Without memory it is only in the log. */
static void keep_line(char ***lines, int *count, const char *before, const char *text)
{
    const app_line own = app_line_in_options(text);
    const size_t room = strlen(before) + strlen(own.s) + 1;
    char **more = realloc(*lines, (size_t)(*count + 1) * sizeof *more);
    if (!more) return;
    *lines = more;
    more[*count] = malloc(room);
    if (more[*count]) snprintf(more[(*count)++], room, "%s%s", before, own.s);
}

static int on_event(void *run, const larmor_event *e)
{
    recon_run *r = run;
    const int is_warning = e->kind == LARMOR_EVENT_WARNING;
    if (is_warning) keep_line(&r->warning, &r->warnings, "", e->text);
    if (r->s->report && (is_warning || e->kind == LARMOR_EVENT_LOG))
        keep_line(&r->line, &r->lines, is_warning ? "warning: " : "", e->text);
    if (e->kind == LARMOR_EVENT_STEP && e->steps > 0)
        app_keep_result(1); /* the iterate of an image, and not of a trial */
    return app_listen(&r->progress, e);
}

/* Say what begins; APP_DONE, or the exit code of a signal that was caught. */
static int enter(recon_run *r, const char *stage)
{
    app_progress_stage(&r->progress, stage);
    return app_stopped();
}

/* ---- before the first image ---- */

/* The scan's images become frames, if that is asked for. */
static larmor_status cut_frames(recon_run *r)
{
    const larmor_frames_opts opts = recon_frames(r->s);
    larmor_source *frames;
    if (!opts.spokes && opts.ms == 0 && !opts.phases) return LARMOR_OK;
    TRY(larmor_source_of_frames(r->source, &opts, &frames));
    larmor_source_free(r->source);
    r->source = frames;
    return LARMOR_OK;
}

/* The scan, the device and the maps. */
static int open_inputs(recon_run *r, larmor_recon_opts *opts)
{
    const recon_settings *s = r->s;
    APP_DO(enter(r, "reading"));
    APP_TRY(APP_RUN, recon_begin_device(r));
    larmor_raw_opts scan = recon_raw(s);
    recon_open_bands(s, &scan);
    int code = given_open(r->input, &scan, &s->given, &r->opened);
    r->raw = r->opened;
    if (code) return code;
    APP_DO(recon_check_file(r, opts->only));
    APP_DO(recon_read_delays(s, r->raw, opts));
    APP_TRY(APP_RUN, larmor_source_of_raw(r->opened, r->input, &r->source));
    APP_DO(recon_take_bands(r));
    if (s->bins)
        code = recon_sort_bins(r);
    else
        APP_TRY(APP_INPUT, cut_frames(r));
    if (code) return code;
    APP_DO(enter(r, "opening the device"));
    APP_TRY(APP_RUN, recon_open_device(r, opts));
    APP_TRY(APP_RUN, app_use_wisdom(r->dev, s->plan, 0, &opts->effort));
    return recon_read_inputs(r, opts);
}

static int make_recon(recon_run *r, larmor_recon_opts *opts)
{
    int code = APP_DONE;
    opts->checkpoint = r->checkpoint;
    const larmor_status st = larmor_recon_create(r->source, r->dev, opts, &r->recon);
    if (st) code = st == LARMOR_STOPPED ? app_stopped() : app_fail(APP_INPUT, st);
    if (!code && recon_is_first(r)) recon_identify(r);
    if (!code && recon_is_first(r)) code = recon_check_saved(r);
    if (!code && recon_is_first(r)) code = recon_noise_check(r);
    if (!code && recon_is_first(r)) code = recon_reserve(r);
    return recon_share(r, code);
}

static int prepare(recon_run *r, larmor_recon_opts *opts)
{
    app_progress_begin(&r->progress, "preparation");
    int code = recon_is_first(r) ? recon_open_outputs(r) : APP_DONE;
    if (!code && recon_is_first(r)) code = recon_open_checkpoint(r);
    if (!code) code = open_inputs(r, opts);
    code = recon_agree(r, code, opts);
    if (!code) code = make_recon(r, opts);
    recon_free_inputs(opts);
    app_progress_end(&r->progress);
    return code;
}

/* ---- the images ---- */

/* What came of a series: its images go to the places of their groups in the file. */
static void keep(recon_run *r, int series, int warned, larmor_recon_result *result)
{
    char line[8];
    r->last = result->report;
    if (r->last.interrupted) r->interrupted = 1;
    if (r->last.status) recon_note(r, series);
    for (int i = 0; i < result->count; i++) {
        const int to = result->image[i].group;
        r->image[to] = (larmor_image){larmor_array_ref(result->image[i].data), result->image[i].meta};
        r->report[to] = r->last;
        r->warned[to] = warned || r->last.is_suspect || larmor_recon_warning(&r->last, 0, line, sizeof line);
    }
    r->done += result->count;
    larmor_recon_result_free(result);
}

static int run_series(recon_run *r, int series)
{
    larmor_recon_plan plan;
    larmor_recon_result result;
    APP_TRY(APP_RUN, larmor_recon_describe(r->recon, series, &plan));
    app_progress_begin(&r->progress, plan.name);
    const int before = r->warnings;
    const larmor_status st = larmor_recon_run(r->recon, series, &result);
    const int code = st ? APP_DONE : recon_noise_take(r, series, &result);
    app_progress_end(&r->progress);
    r->wanted += plan.images;
    if (!st) keep(r, series, r->of_scan || r->warnings > before, &result);
    app_keep_result(r->done > 0);
    if (st == LARMOR_STOPPED || (app_stopped() && series + 1 < r->series)) r->interrupted = 1;
    return st && st != LARMOR_STOPPED ? app_fail(APP_RUN, st) : code;
}

static int run_all(recon_run *r)
{
    const int groups = larmor_source_describe(r->source).groups;
    int code = APP_DONE;
    r->series = larmor_recon_series(r->recon);
    r->image = calloc((size_t)groups, sizeof *r->image);
    r->report = calloc((size_t)groups, sizeof *r->report);
    r->warned = calloc((size_t)groups, sizeof *r->warned);
    r->of_scan = r->warnings;
    r->group = calloc((size_t)groups, sizeof *r->group);
    if (!r->image || !r->report || !r->warned || !r->group) return app_fail(APP_RUN, NO_MEMORY());
    for (int s = 0; s < r->series && !r->interrupted && !code; s++) code = run_series(r, s);
    for (int i = 0; i < groups; i++) { /* without those that are not there */
        if (!r->image[i].data) continue;
        r->image[r->images] = r->image[i];
        r->warned[r->images] = r->warned[i];
        r->group[r->images] = i;
        r->report[r->images++] = r->report[i];
    }
    return code;
}

/* The checkpoint stays where not all is done and written. */
static int keep_checkpoint(const recon_run *r, int code)
{
    if (!r->recon || !r->checkpoint) return code;
    const int stays = code || app_stopped() || r->interrupted;
    const larmor_status st = stays ? larmor_recon_save(r->recon) : larmor_checkpoint_remove(r->checkpoint);
    return st && !code ? app_fail(APP_RUN, st) : code;
}

static void clear(recon_run *r)
{
    for (int i = 0; i < r->images; i++) larmor_array_free(r->image[i].data);
    for (int i = 0; i < APP_MAX_TEXTS; i++) recon_free_files(&r->output[i]);
    larmor_output_free(r->maps_output);
    larmor_output_free(r->density_output);
    larmor_output_free(r->motion_output);
    larmor_output_free(r->page_output);
    larmor_output_free(r->gating_output);
    larmor_gating_trace_free(&r->gating);
    recon_noise_free(r);
    for (int i = 0; i < r->warnings; i++) free(r->warning[i]);
    for (int i = 0; i < r->lines; i++) free(r->line[i]);
    free(r->warning);
    free(r->line);
    free(r->warned);
    free(r->image);
    free(r->report);
    free(r->group);
    larmor_recon_free(r->recon);
    larmor_checkpoint_free(r->checkpoint);
    larmor_source_free(r->source);
    larmor_raw_free(r->opened);
    if (r->opening) larmor_device_open_end(r->opening, NULL);
    larmor_device_free(r->dev);
    larmor_ranks_free(r->ranks);
}

static void fill_row(const recon_run *r, double seconds, recon_row *row)
{
    size_t used = 0;
    snprintf(row->method, sizeof row->method, "%s", r->last.method.name);
    row->seconds = seconds;
    row->warnings = r->warnings;
    if (!r->images) return;
    const larmor_shape shape = larmor_array_shape(r->image[0].data);
    for (int d = 0; d < shape.ndim && used < sizeof row->size; d++)
        used += (size_t)snprintf(row->size + used, sizeof row->size - used, "%s%lld", d ? "x" : "",
                                 (long long)shape.dim[d]);
    if (r->images > 1 && used < sizeof row->size)
        snprintf(row->size + used, sizeof row->size - used, " (%d)", r->images);
}

/* The outputs that are files; 1 if another one is standard output. */
static int take_stdout(recon_settings *s)
{
    int files = 0;
    const int all = s->outputs.count;
    for (int i = 0; i < all; i++)
        if (strcmp(s->outputs.text[i], "-") != 0) s->outputs.text[files++] = s->outputs.text[i];
    s->outputs.count = files;
    return files < all;
}

static int run_one(const recon_settings *given, const char *input, recon_row *row)
{
    const double began = app_now();
    recon_settings own = *given;
    const recon_settings *s = &own;
    recon_run r = {.s = s, .input = input, .to_stdout = take_stdout(&own)};
    larmor_recon_opts opts;
    larmor_counters only;
    int code = recon_check_options(&cmd_recon, s);
    recon_read_options(s, &opts, &only);
    opts.listener = on_event;
    opts.user = &r;
    if (!code) code = recon_open_ranks(&r);
    if (!code) code = prepare(&r, &opts);
    if (!recon_is_first(&r)) {
        clear(&r);
        return APP_DONE;
    }
    if (!code) code = run_all(&r);
    if (!code && r.images && (!app_stopped() || app_stopped() == 130)) code = recon_write(&r);
    code = keep_checkpoint(&r, code);
    if (!code && s->json && r.images) recon_report(&r, app_now() - began);
    if (!code) code = app_stopped();
    if (!code) code = recon_judge(&r);
    if (app_stopped() && !r.images)
        app_error("%s: stopped before the first image was there; nothing written.", r.input);
    if (!code) app_keep_wisdom(r.dev, s->plan, 0);
    if (!code) app_log("done in %.2f s", app_now() - began);
    fill_row(&r, app_now() - began, row);
    clear(&r);
    return code;
}

static int run(const void *given, const app_files *files)
{
    const recon_settings *s = given;
    recon_row row = {.input = files->name[0]};
    for (int i = 0; i < s->outputs.count; i++)
        if (s->json && !strcmp(s->outputs.text[i], "-"))
            return app_refuse(APP_USAGE, "--json and --output -: standard output takes one of them.");
    if (s->out_dir) return recon_several(s, files, run_one);
    if (!s->outputs.count)
        return app_refuse(APP_USAGE, "recon: --output FILE is needed; 'larmor recon --help' says more.");
    if (files->count == 1) return run_one(s, files->name[0], &row);
    return app_refuse(
        APP_USAGE,
        "recon: unexpected argument \"%s\": several scans in one call need --out-dir DIR; an image is named by -o.",
        files->name[1]);
}

static const char *via(const void *given)
{
    return ((const recon_settings *)given)->via;
}

const app_command cmd_recon = {
    .name = "recon",
    .usage = "SCAN.h5 -o IMAGE [-o IMAGE ...] [options]",
    .summary = "reconstruct every image of an ISMRMRD scan",
    .details =
        "Slices, contrasts, phases, repetitions and sets become one image each; averages add data. Images are on\n"
        "reconSpace's matrix and field of view. Ctrl-C writes the iterate that is reached. With --checkpoint the "
        "same\n"
        "command goes on where it was stopped, and gives the same image.",
    .lacking = "a scan is needed; for example: larmor recon scan.h5 -o image.nii",
    .surplus = "at most 200 scans in one call",
    .min_files = 1,
    .max_files = APP_MAX_FILES,
    .options = options,
    .own = options,
    .streams = 1,
    .read_config = app_read_config,
    .computes = 1,
    .settings = sizeof(recon_settings),
    .run = run,
    .via = via,
};
