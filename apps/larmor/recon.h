/* The options and the state of `larmor recon`, and what its files offer each other. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "common.h"
#include "given.h"
#include "progress.h"

/* ---- the options and the state of `larmor recon` ---- */

/* The options as they were typed. */
typedef struct recon_settings {
    app_texts outputs;
    larmor_recon_opts opts; /* those that the library takes from text */
    app_list window, shift, maps_fov;
    const char *maps, *delays, *girf, *girf_b0, *b0, *t2star, *phase_terms, *gradient_field, *displacement, *motion,
        *motion_fields;
    const char *device, *plan, *save_maps, *save_density, *save_motion, *report, *checkpoint, *config, *out_dir,
        *noise_map, *snr_map, *g_map, *height_map, *width_map, *posterior_map, *posterior_mean;
    int64_t noise_samples, probes, posterior_samples, threads, slice, contrast, phase, repetition, set, encoding,
        spokes_per_frame, cardiac_phases, gate;
    const char *bins, *gating, *gating_plot, *multiband, *multiband_phase;
    double readout_start, frame_time, frame_step, tick, fps, point_contrast;
    const char *bids_dir, *frame_rest, *report_noise, *basis, *dictionary;
    int magnitude, planes, color, dicom_phase, anonymous, bids, bids_anew, force, json;
    larmor_raw_opts raw;
    scan_given given;
    const char *prior, *via;
} recon_settings;

/* What a table of several scans says of one. */
typedef struct recon_row {
    const char *input;
    char size[64], method[96], failure[512];
    double seconds;
    int warnings, code;
} recon_row;

/* Numbers of images as text, the first ones if there are many. */
typedef struct recon_numbers {
    char text[128];
    int count;
} recon_numbers;

/* The files of an --output: one, or several where one cannot hold all images. */
typedef struct recon_files {
    larmor_output **out; /* [count] */
    int count;
    larmor_part part;
    int *file; /* [groups of the source] which of them an image goes to, from 0; NULL: all into one */
} recon_files;

/* Maps of the noise, of what becomes of a point, and of what the object may be, of each kind. */
enum {
    RECON_DEVIATION,
    RECON_SNR,
    RECON_G,
    RECON_HEIGHT,
    RECON_WIDTH,
    RECON_POSTERIOR,
    RECON_MEAN,
    RECON_NOISE_MAPS
};
typedef struct recon_snr {
    double median, width; /* in the object; of the window of means over neighbours, in voxels */
    int samples;          /* of noise; 0: by a formula */
} recon_snr;
typedef struct recon_noise {
    larmor_output *output[RECON_NOISE_MAPS]; /* NULL: not asked for */
    larmor_image *map[RECON_NOISE_MAPS];     /* [groups] of the source; without data where there is none */
    recon_snr *snr;                          /* [groups]; a median of 0: none */
    int groups;                              /* 0: there are no maps */
} recon_noise;

/* All that a run holds, freed in one place. */
typedef struct recon_run {
    const recon_settings *s;
    const char *input;
    recon_files output[APP_MAX_TEXTS];
    larmor_output *maps_output, *density_output, *motion_output, *page_output, *gating_output;
    recon_noise noise;
    larmor_checkpoint *checkpoint; /* or NULL */
    larmor_raw *opened;            /* the file of the scan, which belongs to the run */
    const larmor_raw *raw;
    larmor_source *source;
    larmor_bins_found bins; /* what the bins of --bins rest on; zero without */
    larmor_gating_trace gating;
    larmor_opening *opening; /* of the device, while the scan is read; NULL: not begun, or over */
    larmor_device *dev;
    larmor_ranks *ranks; /* the processes that share the reconstruction; NULL: this one alone */
    larmor_recon *recon;
    uint64_t identity; /* of the scan and the options; 0 leaves it to the images */
    larmor_image_meta b0_place, t2star_place;
    larmor_image *image;         /* [images] of those that are there, in the file's order */
    larmor_recon_report *report; /* how each of them came about */
    int *group;                  /* of the source, of each of them */
    int images, done;            /* of the list, which is made last; those that were computed */
    int wanted, series;          /* images that there should be, in so many series */
    int interrupted;
    int to_stdout;                 /* 1: images go there, too, as a stream */
    larmor_recon_report last;      /* of the last series that was run */
    recon_numbers failed, suspect; /* series that were not made, and whose solver failed, as the log counts them */
    char reason[512];              /* of the first of those */
    char **warning;                /* [warnings] lines of the log */
    int warnings, of_scan;         /* of_scan: those before the first image, which are of all */
    char **line;                   /* [lines] all that the library says, for a page */
    int lines;
    int *warned; /* [images] 1: the log warns of it */
    app_progress progress;
} recon_run;

/* ---- the files of each --output: which images go to which of them ---- */

/* Begin the file of --output number i, as it was typed. This and the others return an exit code, having said what is
 * wrong. */
int recon_open_files(recon_run *r, int i);

/* Where a format cannot hold all images in one file, begin several in its place, or refuse what no file of it
 * holds; reserve the space that they will take. */
int recon_divide_files(recon_run *r);

void recon_free_files(recon_files *files);

/* ---- larmor recon --bins: readouts sorted by heart, breath and time ---- */

/* The numbers of --bins; 1 if the text is one. */
int recon_read_bins(const char *text, larmor_bins_opts *opts);

/* 1 if a text is one of --bins. */
int recon_are_bins(const char *text);

/* The way of --gating; 1 if the text is one of its words, else 0 and AUTO: it is a file. */
int recon_gating_way(const char *text, larmor_gating_way *way);

/* The images of the run's source become bins, and the log says what they rest on. Returns an exit code. */
int recon_sort_bins(recon_run *r);

/* Draw what they rest on to the run's output. Returns an exit code. */
int recon_draw_gating(const recon_run *r);

/* ---- what a reconstruction takes beside the scan ---- */

/* Read the coil maps, the impulse response, the basis and the field map that the settings name, or find the field map
 * from the echoes, when source and device are there. Returns an exit code, having said what is wrong. */
int recon_read_inputs(recon_run *r, larmor_recon_opts *opts);
void recon_free_inputs(larmor_recon_opts *opts);

/* ---- larmor recon --multiband: slices that were excited together ---- */

/* 1 if a text is one of --multiband. */
int recon_are_offsets(const char *text);

/* --multiband stands in the place of the header's. */
void recon_open_bands(const recon_settings *s, larmor_raw_opts *scan);

/* The images of the run's source become volumes of slices, if that is asked for. Returns an exit code. */
int recon_take_bands(recon_run *r);

/* ---- maps of the noise in the images of a reconstruction ---- */

/* This and the others return an exit code, having said what is wrong. */
int recon_noise_open(recon_run *r);

/* Refuse what has no maps before the work. */
int recon_noise_check(const recon_run *r);

/* The maps that are asked for, and for a page those that cost next to nothing, of the images of a series that was
 * just run. */
int recon_noise_take(recon_run *r, int series, const larmor_recon_result *result);

/* The SNR of the images that have one, [*count], for the caller to free; NULL: of none. */
larmor_image *recon_noise_snr(const recon_run *r, int *count);

int recon_noise_write(const recon_run *r);
void recon_noise_free(recon_run *r);

/* ---- the options of recon: which exclude each other, and their translation to those of the library ---- */

/* Refuse what the chosen method would ignore; an option that has its default is never refused. Returns an exit code,
 * having said what is wrong. */
int recon_check_options(const app_command *command, const recon_settings *s);

/* The method that is asked for, by its name. */
const char *recon_method(const recon_settings *s);

/* 1 if the text is one of --delays. */
int recon_are_delays(const char *text);
int recon_is_prior(const char *text); /* 1: the path of a plugin, or the name of a penalty */

/* What the library takes for them, without maps, planner and listener; only gets the counters. */
void recon_read_options(const recon_settings *s, larmor_recon_opts *opts, larmor_counters *only);

/* How the scan is opened. */
larmor_raw_opts recon_raw(const recon_settings *s);

/* What is to be cut into frames; zeros if nothing is. */
/* The options that ask for maps of images, of noise and the like; NULL: none does. */
const char *recon_made_maps(const recon_settings *s);

larmor_frames_opts recon_frames(const recon_settings *s);

/* --delays, for a scan that is opened. */
int recon_read_delays(const recon_settings *s, const larmor_raw *raw, larmor_recon_opts *opts);

/* ---- the files of a reconstruction: images with their provenance, coil maps and density weights ---- */

/* Begin all files, so that what can be refused is refused before the work. This and the others return an exit code,
 * having said what is wrong. */
int recon_open_outputs(recon_run *r);

/* Reserve the space that they will take, as far as it is known before the work. */
int recon_reserve(recon_run *r);

/* The checkpoint after all of them, which is no output. */
int recon_open_checkpoint(recon_run *r);

/* Refuse to save maps of several slices and weights of several images: by the file, and by the images that are made
 * of it. */
int recon_check_file(const recon_run *r, const larmor_counters *only);
int recon_check_saved(const recon_run *r);

/* The run's identity, where UIDs follow from it; while the arrays of the options are there. */
void recon_identify(recon_run *r);

/* Write all of them. */
int recon_write(recon_run *r);

/* Where lambda comes from, in a word. */
const char *recon_origin(const larmor_recon_report *report);

/* Why it is its method, in a word. */
const char *recon_method_origin(const larmor_recon_report *report);

/* What was done about partial Fourier: "none" where there is none. */
const char *recon_partial(const larmor_recon_report *report);

/* ---- the page of HTML about a reconstruction ---- */

/* Write the images, maps, trajectory, settings and log to r->page_output; an exit code. */
int recon_write_page(const recon_run *r);

/* ---- a reconstruction by several processes, which mpirun has started ---- */

/* Begin MPI where mpirun has started several; all but the first are silent from then on, and what they would say
 * the first one says. This and the others return an exit code. */
int recon_open_ranks(recon_run *r);

/* 1 in the process that writes. */
int recon_is_first(const recon_run *r);

/* The device of this process: what was asked for or, where that was any GPU, one by its number on its machine.
 * Without other processes it is opened while the scan is read, between the two calls. */
larmor_status recon_begin_device(recon_run *r);
larmor_status recon_open_device(recon_run *r, const larmor_recon_opts *opts);

/* All go on, or none; code: how it went here. What each may take of its memory is then the same. */
int recon_agree(recon_run *r, int code, larmor_recon_opts *opts);

/* The reconstruction is there, or not. The first one goes on; in the others everything is done when this returns. */
int recon_share(recon_run *r, int code);

/* ---- the result of a reconstruction: the exit code, and the report as a JSON object ---- */

/* The last series, number `series` from 0, failed or is suspect. */
void recon_note(recon_run *r, int series);

/* Say which were not made or are suspect, by number. Returns an exit code. */
int recon_judge(const recon_run *r);

/* Print the report on stdout. */
void recon_report(const recon_run *r, double seconds);

/* ---- several scans in one call: --out-dir ---- */

/* Each scan by itself, in turn, and a table of them on standard output, unless that has the objects of --json. One
 * that fails leaves the others. Returns the exit code of the first that failed. */
int recon_several(const recon_settings *s, const app_files *files,
                  int (*run)(const recon_settings *s, const char *input, recon_row *row));
