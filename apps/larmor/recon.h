/* The options and the state of `larmor recon`. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common.h"
#include "given.h"
#include "progress.h"

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
