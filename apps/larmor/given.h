/* A trajectory that is given in the place of a scan's. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "args.h"
#include "larmor/larmor.h"

typedef struct scan_given { /* a member `given` of a command's settings */
    const char *traj, *times, *weights, *seq, *soft_delays, *adc_phases;
} scan_given;

/* Lines for the table of a command whose settings have `scan_given given;`. */
#define SEQ_OPTIONS(settings)                                                                                        \
    APP_OPTION(settings, APP_READ_FILE, given.seq, 0, "seq", "FILE.seq",                                             \
               "the trajectory, times and phases of a Pulseq sequence, text or binary, of version 1.2 to 1.5"),      \
        APP_OPTION(settings, APP_TEXT, given.soft_delays, 0, "soft-delays", "NAME=S,...",                            \
                   "the values in s of the soft delays of --seq with which it was played (default: the file's)",     \
                   .reads = given_are_delays, .expected = "NAME=SECONDS, or several with commas between,")
#define GIVEN_OPTIONS(settings)                                                                                      \
    SEQ_OPTIONS(settings),                                                                                           \
        APP_OPTION(settings, APP_TEXT, given.adc_phases, 0, "adc-phases", "P",                                       \
                   "which phases of the ADC events of --seq are turned back in the samples: those of phase shapes, " \
                   "none, or all, with frequencies and phases that the receiver has not applied",                    \
                   .preset = "shape", .choices = "shape|none|all"),                                                  \
        APP_OPTION(                                                                                                  \
            settings, APP_READ_FILE, given.traj, 0, "traj", "FILE",                                                  \
            "the trajectory of a file in the place of the scan's own: .npy or .cfl [2 or 3, samples, readouts], "    \
            "in --traj-units, or .h5, that of another scan",                                                         \
            .member = "trajectory"),                                                                                 \
        APP_OPTION(settings, APP_READ_FILE, given.times, 0, "traj-times", "FILE",                                    \
                   "when each sample of --traj was taken, in s, for off-resonance: .npy or .cfl"),                   \
        APP_OPTION(settings, APP_READ_FILE, given.weights, 0, "traj-weights", "FILE",                                \
                   "density weights of the samples of --traj, which --dcf file of recon takes: .npy or .cfl")

int given_are_delays(const char *text); /* 1: names and times in s, as TE=0.01,TR=0.5 */

/* The sequence of --seq; the log says what it is. */
larmor_status given_sequence(const scan_given *given, larmor_pulseq **sequence);

/* What these options name, as opts->trajectory; the exit code of an error, or APP_DONE. *to is to be freed. */
int given_read(const scan_given *given, larmor_raw_opts *opts, larmor_trajectory *to);

/* Open a scan with what the options name; the exit code of an error, or APP_DONE. */
int given_open(const char *path, const larmor_raw_opts *opts, const scan_given *given, larmor_raw **raw);
