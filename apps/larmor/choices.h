/* Choices of options that the library's tables have: of app_choice; and what says how a scan is read.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

const char *choose_trajectory(int i, const char **help);
const char *choose_phantom(int i, const char **help);
const char *choose_method(int i, const char **help);      /* cg, grid, and the regularisers */
const char *choose_maps_method(int i, const char **help); /* auto, and those of the library */
const char *choose_fit(int i, const char **help);         /* models of larmor fit */
const char *choose_unit(int i, const char **help);
const char *choose_unit_or_auto(int i, const char **help);
int choose_are_units(const char *text);              /* 1: auto, or names of units with commas between */
int choose_is_ramp(const char *text);                /* 1: auto, even, or 3 to 5 times */
int choose_is_rows(const char *text);                /* 1: phases are rows of the trajectory, not those of a file */
const char *choose_suffix(int i, const char **help); /* of files for images */

/* Lines for the table of a command that opens a scan, whose settings have `larmor_raw_opts raw;`. */
#define SCAN_OPTIONS(settings)                                                                                       \
    APP_OPTION(                                                                                                      \
        settings, APP_TEXT, raw.group, 0, "group", "G",                                                              \
        "HDF5 group of the scan; without it /dataset, or the only one with xml and data; of Siemens TWIX the "       \
        "number of a measurement, without it the last one"),                                                         \
        APP_OPTION(settings, APP_TEXT, raw.traj_units, 0, "traj-units", "U",                                         \
                   "unit of the stored trajectory, or of each axis with commas between", .preset = "auto",           \
                   .choice = choose_unit_or_auto, .reads = choose_are_units,                                         \
                   .expected =                                                                                       \
                       "auto, or one of 1/fov, norm, pm1, rad, 1/m, rad/m, 1/mm, 1/recon-fov and 1/cm, or one of "   \
                       "them for each axis with commas between,"),                                                   \
        APP_OPTION(settings, APP_TEXT, raw.join, 0, "join", "LIST",                                                  \
                   "counters that make no separate images: none, or some of slice, contrast, phase, repetition and " \
                   "set, with commas between; auto: those that exceed their limits and whose images have too few "   \
                   "samples; segment: acquisitions that are segments of a readout make one, as they do without it "  \
                   "where k-space goes on",                                                                          \
                   .preset = "auto"),                                                                                \
        APP_OPTION(settings, APP_TEXT, raw.ramp, 0, "ramp", "R",                                                     \
                   "how lines without a trajectory are sampled: auto (as the header describes), even, or the times " \
                   "of a gradient in us: UP,FLAT,DOWN[,DELAY[,DWELL]]",                                              \
                   .preset = "auto", .reads = choose_is_ramp,                                                        \
                   .expected = "auto, even, or UP,FLAT,DOWN[,DELAY[,DWELL]] of times from 0 to 1000000 us"),         \
        APP_OPTION(settings, APP_FLAG, raw.drop_nonfinite, 0, "drop-nonfinite", "",                                  \
                   "leave out acquisitions with NaN or Inf")

/* A scan's phases in the rows of its trajectory, of commands whose --phase-terms takes no file. */
#define PHASE_ROWS_OPTION(settings)                                                                                  \
    APP_OPTION(settings, APP_TEXT, raw.phase_terms, 0, "phase-terms", "trajectory",                                  \
               "the 4, 9 or 16 rows of the trajectory are a field camera's phases; trajectory:WORDS as of recon",    \
               .reads = choose_is_rows, .expected = "trajectory, or trajectory: and words")

/* The same, where the samples count. */
#define SAMPLES_OPTIONS(settings)                                                                                    \
    SCAN_OPTIONS(settings),                                                                                          \
        APP_OPTION(settings, APP_FLAG, raw.conjugate, 0, "conj", "", "conjugate the samples first")
