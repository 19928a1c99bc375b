/* Trajectories by options, and readouts on their way into an ISMRMRD file. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_SCAN_H
#define APP_SCAN_H

#include "args.h"
#include "choices.h"
#include "larmor/larmor.h"

/* The options of a trajectory, a member `trajectory` of a command's settings. */
typedef struct scan_trajectory {
    const char *name;
    app_list matrix, acceleration, calibration;
    int64_t readouts, samples, tiny;
    double density, undersampling, partial_fourier;
} scan_trajectory;

#define SCAN_TRAJECTORY_OPTIONS(settings)                                                                            \
    APP_OPTION(settings, APP_TEXT, trajectory.name, 0, "traj", "NAME", "trajectory", .preset = "golden",             \
               .choice = choose_trajectory),                                                                         \
        APP_OPTION(settings, APP_SIZES, trajectory.matrix, 0, "matrix", "X[,Y[,Z]]",                                 \
                   "voxels; Y defaults to X, and so does Z of a 3D trajectory", .preset = "128", .low = 1,           \
                   .high = 65535),                                                                                   \
        APP_OPTION(settings, APP_INTEGER, trajectory.readouts, 0, "readouts", "N",                                   \
                   "spokes, arms or lines (default: as Nyquist asks for)", .low = 1, .high = 1 << 28),               \
        APP_OPTION(settings, APP_INTEGER, trajectory.samples, 0, "samples", "N",                                     \
                   "samples of a readout (default: 2 X for spokes, X for lines)", .low = 1, .high = 65535),          \
        APP_OPTION(settings, APP_NUMBER, trajectory.undersampling, 0, "undersampling", "R",                          \
                   "divides the default number of readouts", .preset = "1", .low = 1, .high = 1000),                 \
        APP_OPTION(settings, APP_NUMBER, trajectory.density, 0, "density", "X",                                      \
                   "of a spiral: 1 is Archimedean, more is denser in the centre", .preset = "1", .low = 1,           \
                   .high = 8),                                                                                       \
        APP_OPTION(settings, APP_INTEGER, trajectory.tiny, 0, "tiny", "N",                                           \
                   "the N-th tiny golden angle, 1 is the golden angle", .preset = "1", .low = 1, .high = 100),       \
        APP_OPTION(settings, APP_SIZES, trajectory.acceleration, 0, "acceleration", "Y[,Z]",                         \
                   "cartesian: every Y-th line (and Z-th partition), the centre among them", .low = 1,               \
                   .high = 65535),                                                                                   \
        APP_OPTION(settings, APP_SIZES, trajectory.calibration, 0, "calibration-lines", "Y[,Z]",                     \
                   "cartesian: lines (and partitions, default as many) in the middle that are all there", .low = 1,  \
                   .high = 65535),                                                                                   \
        APP_OPTION(settings, APP_NUMBER, trajectory.partial_fourier, 0, "partial-fourier", "F",                      \
                   "cartesian: the part of the lines that is there, above 1/2; the first ones are missing",          \
                   .preset = "1", .low = 0.5, .high = 1)

/* What the library takes for the options, for an image of these voxels. */
larmor_traj_opts scan_trajectory_opts(const scan_trajectory *options, const int64_t matrix[3]);

/* The trajectory that the options name, in a repetition of a series, counted from 0, and the voxels of the image that
 * it is for, 1 in dimensions not given. */
larmor_status scan_trajectory_create(const scan_trajectory *options, larmor_device *dev, int64_t repetition,
                                     int64_t matrix[3], larmor_array **traj);

/* "X,Y[,XY]" of 2D and "X,Y,Z[,XY,XZ,YZ]" of 3D as larmor_traj_delay takes them, where missing ones are 0; 0 if there are
 * too many numbers, or couplings are missing. The other says in words what is expected. */
int scan_delays(int ndim, const app_list *list, double delay[6]);
const char *scan_delays_expected(int ndim);

/* The same as text, "1.3,-0.7,0.4". */
typedef struct scan_delays_text {
    char s[160];
} scan_delays_text;
scan_delays_text scan_describe_delays(int ndim, const double delay[6]);

#define SCAN_LEFT_OUT UINT64_MAX /* in the place of a readout's flags */

typedef struct scan_source {
    const float *data;     /* re, im of [samples, readouts, coils] */
    const double *traj;    /* [ndim, samples, readouts], cycles per field of view */
    const double *unit;    /* [ndim] factors from there to what is stored */
    const int64_t *lines;  /* Cartesian: the matrix, whose lines become counters instead of a trajectory; else NULL */
    const uint64_t *flags; /* [readouts] of ISMRMRD, SCAN_LEFT_OUT for readouts that are not to be written; or NULL */
    int ndim, coils;
    int64_t samples, readouts, centre; /* centre: the sample that is nearest to the centre of k-space */
    double dwell_us;
    double start_ms, tr_ms, cycle_ms; /* of the first readout, from one to the next, between triggers; 0: no stamps */
    larmor_image_meta geometry;       /* position, directions, slice and repetition of these readouts */
    int last;                         /* 1: the scan ends with them */
} scan_source;

larmor_status scan_append(larmor_raw_writer *writer, const scan_source *source);

/* What 1/FOV is in another unit of larmor_traj_unit_entry; n: matrix, fov_mm: field of view in that direction. */
double scan_unit(const char *unit, double n, double fov_mm);

/* What the trajectory of that name is; one of larmor_traj_entry. */
larmor_traj_info scan_trajectory_info(const char *name);

#endif
