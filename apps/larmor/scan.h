/* The options of trajectories, and delays as text. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "args.h"
#include "choices.h"
#include "larmor/larmor.h"

/* The options of a trajectory, a member `trajectory` of a command's settings. */
typedef struct scan_trajectory {
    const char *name;
    app_list matrix, acceleration, calibration;
    larmor_traj_opts opts; /* without these */
} scan_trajectory;

#define SCAN_TRAJECTORY_OPTIONS(settings)                                                                            \
    APP_OPTION(settings, APP_TEXT, trajectory.name, 0, "traj", "NAME", "trajectory", .preset = "golden",             \
               .choice = choose_trajectory),                                                                         \
        APP_OPTION(settings, APP_SIZES, trajectory.matrix, 0, "matrix", "X[,Y[,Z]]",                                 \
                   "voxels; Y defaults to X, and so does Z of a 3D trajectory", .preset = "128", .low = 1,           \
                   .high = 65535),                                                                                   \
        APP_OPTION(settings, APP_INTEGER, trajectory.opts.readouts, 0, "readouts", "N",                              \
                   "spokes, arms or lines (default: as Nyquist asks for)", .low = 1, .high = 1 << 28),               \
        APP_OPTION(settings, APP_INTEGER, trajectory.opts.samples, 0, "samples", "N",                                \
                   "samples of a readout (default: 2 X for spokes, X for lines)", .low = 1, .high = 65535),          \
        APP_OPTION(settings, APP_NUMBER, trajectory.opts.undersampling, 0, "undersampling", "R",                     \
                   "divides the default number of readouts", .preset = "1", .low = 1, .high = 1000),                 \
        APP_OPTION(settings, APP_NUMBER, trajectory.opts.density, 0, "density", "X",                                 \
                   "of a spiral: 1 is Archimedean, more is denser in the centre", .preset = "1", .low = 1,           \
                   .high = 8),                                                                                       \
        APP_OPTION(settings, APP_INTEGER, trajectory.opts.tiny, 0, "tiny", "N",                                      \
                   "the N-th tiny golden angle, 1 is the golden angle", .preset = "1", .low = 1, .high = 100),       \
        APP_OPTION(settings, APP_SIZES, trajectory.acceleration, 0, "acceleration", "Y[,Z]",                         \
                   "cartesian: every Y-th line (and Z-th partition), the centre among them", .low = 1,               \
                   .high = 65535, .member = "traj.acceleration"),                                                    \
        APP_OPTION(settings, APP_SIZES, trajectory.calibration, 0, "calibration-lines", "Y[,Z]",                     \
                   "cartesian: lines (and partitions, default as many) in the middle that are all there", .low = 1,  \
                   .high = 65535, .member = "traj.calibration"),                                                     \
        APP_OPTION(settings, APP_NUMBER, trajectory.opts.partial_fourier, 0, "partial-fourier", "F",                 \
                   "cartesian: the part of the lines that is there, above 1/2; the first ones are missing",          \
                   .preset = "1", .low = 0.5, .high = 1)

/* What the library takes for the options, and the dimensions that it makes of them. */
larmor_traj_opts scan_trajectory_opts(const scan_trajectory *options);
int scan_trajectory_dimensions(const scan_trajectory *options);

/* "X,Y[,XY]" of 2D and "X,Y,Z[,XY,XZ,YZ]" of 3D as larmor_traj_delay takes them, where missing ones are 0; 0 if
 * there are too many numbers, or couplings are missing. The other says in words what is expected. */
int scan_delays(int ndim, const app_list *list, double delay[6]);
const char *scan_delays_expected(int ndim);

/* The same as text, "1.3,-0.7,0.4". */
typedef struct scan_delays_text {
    char s[160];
} scan_delays_text;
scan_delays_text scan_describe_delays(int ndim, const double delay[6]);

/* How many images of a file are wanted, and how many slices these have, each with coil maps of its own. Frames that
 * are cut from them, and bins, are not counted. */
larmor_status scan_count(const larmor_raw *raw, const larmor_counters *only, int *images, int *slices);
