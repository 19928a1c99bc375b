/* What a run of `larmor recon` was asked for and what it holds. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_RECON_RUN_H
#define APP_RECON_RUN_H

#include "common.h"
#include "progress.h"
#include "group.h"

/* The options as they were typed. */
typedef struct recon_settings {
    app_texts outputs;
    app_list window, matrix, fov, oversample;
    const char *method, *maps, *whiten, *dcf, *group, *units, *join, *toeplitz, *precond, *device;
    int64_t memory, iters, threads, calibration, llr_block, slice, contrast, phase, repetition, set;
    const char *plan, *lambda, *save_maps, *save_density;
    double tol, time_weight, eps;
    int weighted, joint, magnitude, force, json, drop_nonfinite, conjugate;
} recon_settings;

/* Numbers of images as text, the first ones if there are many. */
typedef struct recon_numbers {
    char text[128];
    int count;
} recon_numbers;

/* All that a run holds, freed in one place. */
typedef struct recon_run {
    const recon_settings *s;
    const char *input;
    larmor_output *output[APP_MAX_TEXTS], *maps_output, *density_output;
    larmor_image *image;  /* of every wanted group, in the file's order */
    recon_result *result; /* how each of them came about */
    int images;
    int maps_enlarge, enlarged; /* 1: the grid is larger as the given maps are; as the data ask */
    recon_numbers failed, doubtful; /* images that were not made, and whose solver failed, as the log counts them */
    char reason[512];               /* of the first of those */
    recon_job job;
    app_progress progress;
    larmor_raw_info info;
    recon_result last;
} recon_run;

#endif
