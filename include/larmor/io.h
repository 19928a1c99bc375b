/* Files: ISMRMRD raw data in, images out. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_IO_H
#define LARMOR_IO_H

#include "larmor/image.h"
#include "larmor/trajectory.h"
#include "larmor/waveform.h"

LARMOR_C_BEGIN

/* ---- reading ISMRMRD raw data ---- */

/* Scans with larger samples are refused: nothing measures them, and sums of their squares pass single precision. */
#define LARMOR_LARGEST_SAMPLE 1e18

typedef struct larmor_raw_opts { /* zero means default */
    const char *group;           /* HDF5 group; default "dataset", or where that holds no scan the only one of the
                                  * root with xml and data, which is a warning. Of TWIX the number of a
                                  * measurement, from 1; default the last one */
    const char *traj_units; /* "auto" (default), or a name of larmor_traj_unit_entry, or one for each axis with commas
                                  * between: "norm,norm,pm1" */
    int drop_nonfinite;     /* 1: leave out acquisitions with NaN or Inf instead of refusing the file */
    const char *join;       /* counters that make no images of their own: "auto" (default), "none", or some of
                                  * slice, contrast, phase, repetition and set, with commas between; "segment":
                                  * consecutive segments make one readout, which they do without it where their
                                  * trajectory goes on, but not with "none" */
    const char *ramp;       /* how lines without a trajectory are sampled: "auto" (default), as trajectoryDescription
                       * says; "even": all samples equally far apart; or the times of larmor_ramp,
                       * "UP,FLAT,DOWN[,DELAY[,DWELL]]" in us; without DELAY the samples are in the middle of the
                       * gradient, without DWELL it is sample_time_us */
    int conjugate;          /* 1: conjugate all samples */
    double shift_mm[3];     /* move the field of view so far along read, phase and slice direction (the last one of
                                  * volumes alone, else it is refused), for samples that were not demodulated there */
    int64_t memory;         /* refuse files whose samples or images need more bytes; default 64 GiB */
    /* In the place of what the file stores or its counters say, or NULL; used while the file is opened. It has a
     * readout for each acquisition, for each but noise, or for each that makes images, whose samples are those of the
     * acquisition or those that are left after discards; a longer readout is that of consecutive acquisitions. Where
     * it has fewer readouts, each image takes all of them. */
    const larmor_trajectory *trajectory;
    /* 1: larmor_source_of_raw makes no volumes of slices that were excited together, whatever the header says of
     * them; 2: and readouts that are flagged for the calibration of each slice are left out, too. */
    int multiband_left_out;
    /* How trajectories of 4, 9 or 16 rows are read, which are refused without it: "trajectory", the phases of a field
     * camera in rad/m^n of the solid harmonics of larmor/physics.h in their order, for signals exp(-i phase), of
     * which those of x, y and z are the trajectory. After a colon, with commas between: "fourth", the order is x, y,
     * z, 1, and then as before; "plus", signals exp(+i phase); "LAI" or another of L or R, A or P, I or S: where x, y
     * and z point to, by default "LPS". NULL: other trajectories alone. */
    const char *phase_terms;
    int as_stored; /* 1: all acquisitions as the file has them, for larmor_raw_acquisition alone: samples are not
                    * looked at, none is left out or joined, and there are no groups */
} larmor_raw_opts;

/* Open, read and check a file, ISMRMRD, MRD 2.1 or Siemens TWIX; afterwards the file is closed. It is opened
 * read-only and never changed. Messages count acquisitions, channels and samples from 0, as the file does, and
 * encodings from 1.
 *
 * Files are parsed by the program larmor-reader, in a process of its own that has ended when this function returns
 * (docs/security.md). It is $LARMOR_READER if that is an absolute path, else looked for from where the library is.
 *
 * Errors  LARMOR_ERR_IO: missing, not readable, not a regular file. LARMOR_ERR_FORMAT: everything that is wrong
 *         inside; the message is one line `FILE: what is wrong (where). What to do.` LARMOR_ERR_MEMORY: also if
 *         the file claims more than opts->memory. LARMOR_ERR_ARG: units. LARMOR_ERR_UNSUPPORTED: larmor-reader is
 *         missing or of another version. LARMOR_ERR_SHAPE: a given trajectory does not fit the acquisitions.
 *         LARMOR_STOPPED, soon after larmor_stop_when's function asks for it, as do
 *         all calls that read files. */
LARMOR_API larmor_status larmor_raw_open(const char *path, const larmor_raw_opts *opts, larmor_raw **raw);
LARMOR_API void larmor_raw_free(larmor_raw *raw); /* NULL is fine */

typedef struct larmor_traj_unit { /* of stored trajectories */
    const char *name;             /* e.g. "rad/m" */
    /* cycles per field of view of encodedSpace for a stored 1: fixed + per_voxel N + per_mm field of view +
     * per_recon field of view / reconSpace's */
    double fixed, per_voxel, per_mm, per_recon;
} larmor_traj_unit;

/* Unit i, "1/fov" first; past the last its name is NULL. */
LARMOR_API larmor_traj_unit larmor_traj_unit_entry(int i);

/* A trapezoidal gradient under which a readout is sampled, in us, as ISMRMRD's ConventionalEPI describes it. */
typedef struct larmor_ramp {
    double up_us, flat_us, down_us; /* rampUpTime, flatTopTime, rampDownTime; all 0: none */
    double delay_us; /* acqDelayTime, until the first sample begins; below 0: the samples are in the middle */
    double dwell_us; /* dwellTime, of a sample; 0: sample_time_us of the readouts */
    int64_t samples; /* numSamples, which cover the matrix; 0: those of the readouts */
} larmor_ramp;

enum { LARMOR_MOST_BANDS = 16 };

/* Slices that were excited together, as parallelImaging.multiband of the header has them. What is no number there is
 * NAN or -1 here: larmor_source_of_multiband refuses it. */
typedef struct larmor_multiband_header {
    int factor;   /* multiband_factor; 0: the header has no multiband */
    int spacings; /* lists of dZ, of which this is the first: */
    int offsets;  /* its numbers; those beyond LARMOR_MOST_BANDS are not kept */
    double offset_mm[LARMOR_MOST_BANDS];
    int differs;              /* 1: another list has other numbers */
    double delta_kz;          /* deltaKz */
    char calibration[16];     /* "separable2D", "full3D", "other"; or "" */
    int calibration_encoding; /* from 0 */
} larmor_multiband_header;

typedef struct larmor_encoding { /* one <encoding> of the header */
    int64_t matrix[3], recon_matrix[3];
    double fov_mm[3], recon_fov_mm[3];
    char trajectory[16]; /* "cartesian", "epi", "radial", "goldenangle", "spiral", "other" */
    int ndim;            /* 2 or 3: of the image that is reconstructed */
    double angle_deg;    /* between a spoke and the next, where the header's description of the trajectory says it */
    larmor_ramp ramp;    /* of lines without a trajectory; all 0: their samples are equally far apart */
    larmor_multiband_header multiband;
    int apart[3]; /* 1: voxels along this axis are no neighbours, as slices that were excited together are none */
} larmor_encoding;

/* What is wrong with a trajectory that is said to be in cycles per field of view: where it ends by that, and the
 * unit of all axes by which it ends at the edge of k-space instead.
 *
 * low, high  the least and largest values along each axis of the encoding.
 * warning    a line of at most `size` bytes for the user; "" if nothing is wrong.
 * Errors     LARMOR_ERR_FORMAT: it cannot be in cycles per field of view, and another unit fits; LARMOR_ERR_ARG. */
LARMOR_API larmor_status larmor_traj_check_unit(const larmor_encoding *encoding, const double low[3],
                                                const double high[3], char *warning, size_t size);

#define LARMOR_MAX_ECHOES 16

typedef struct larmor_raw_info {
    int64_t acquisitions;                                    /* in the file */
    int measurements;                                        /* in a TWIX file, of which one is read; else 0 */
    int64_t imaging, calibration, noise, dropped, nonfinite; /* how many went where; a readout may be the first two */
    char dropped_report[320]; /* what the dropped ones are, e.g. "3 phase correction, 2 dummy"; "" without any */
    int64_t joined;           /* segments of readouts that were joined to the first one */
    int64_t completing;       /* flagged for calibration alone, but they complete an image that lacks their lines */
    char calibration_report[320]; /* those that give coil maps alone, and by what; "" without any */
    int64_t navigators;           /* lines for phase correction, which are used as larmor_raw_navigators gives them */
    int64_t noise_samples;
    int channels;   /* of the imaging readouts, as stored */
    int coils;      /* without those left out */
    int dead_coils; /* channels without any signal, or without noise in the noise scan, left out */
    int encodings, groups;
    int traj_stored;     /* 1: in the file; 0: none (Cartesian ones are made from the counters) */
    char traj_units[48]; /* as in larmor_raw_opts, inferred or given; "" without a trajectory */
    char traj_report
        [160]; /* e.g. "1/FOV (kmax 149.7 of 150), confidence high"; of lines on ramps, the gradient's times */
    char traj_given[240]; /* of larmor_raw_opts.trajectory: what it was taken for; else "" */
    int density_stored;   /* 1: the third trajectory component held density weights, or they were given */
    double dwell_us, noise_dwell_us, noise_bandwidth; /* 0 if unknown; bandwidth ratio default 0.793 */
    int64_t averaged; /* of frames: samples of the longest image that was cut into them, whose readouts together give
                            the coil maps; 0 for images as they are in the file */
    int bins[2];      /* of readouts that are sorted: phases and repetitions of each image; 0: they are not */
    char bins_letter[2];     /* what these are, as larmor_regulariser_opts.letter */
    int bands;               /* slices that were excited together, which are the z of the images; 0: there are none */
    int multiband_left_out;  /* as of larmor_raw_opts */
    char bands_report[320];  /* of those: where they are, and their phases, e.g. "3 slices at -40, 0, 40 mm, whose
                              * phases are 2 pi s j / 3, by the header"; else "" */
    char frames_report[160]; /* of frames: e.g. "94 of 17 readouts each"; else "" */
    int echoes; /* echo times of the header, sequenceParameters TE, those of contrast 0, 1, ...; more are left out */
    double echo_ms[LARMOR_MAX_ECHOES];
    int has_readout_start;   /* 1: the user parameter ReadoutStart_ms is there: */
    double readout_start_ms; /* when a readout's first sample is taken, from the time when the image has its phase */
    double field_tesla;      /* of the magnet, systemFieldStrength_T or: */
    int field_by_h1;         /* 1: H1resonanceFrequency_Hz over 42.577478518 MHz/T; both 0: not given */
    int announced[5];        /* largest line, slice, contrast, phase and repetition by the header's encodingLimits, of
                              * the first encoding; below 0: not given */
    double magnitude;        /* the largest real or imaginary part of the samples that make images; 0 if unknown */
    double hole; /* radius of a centre of k-space without samples, in 1/FOV of the image, of stored trajectories; 0:
               * none */
    int bits_stored;        /* of a pixel for the scanner's host, the user parameter BitsStored; 0: not given */
    int phase_terms;        /* rows of the trajectory by larmor_raw_opts.phase_terms: 4, 9 or 16; 0: none */
    char phase_report[160]; /* how they are read; "" without */
    char warnings[4096];    /* lines for the user, each ending in '\n'; "" if none */
} larmor_raw_info;

typedef struct larmor_group { /* readouts that make one image (or one volume) */
    int encoding, slice, contrast, phase, repetition, set;
    int averages;              /* how many average counters occur */
    int64_t readouts, samples; /* samples: of a readout, the largest after discards */
    int64_t total;             /* samples of all readouts together */
    int regular;               /* 1: all readouts have the same number of samples */
    double hole; /* radius as of larmor_raw_info, of this image where other ones together have none; else 0 */
} larmor_group;

/* What is in the file, in one of its encodings, and in one of its groups, both counted from 0.
 *
 * Errors  LARMOR_ERR_ARG for an encoding or a group that is not there. */
LARMOR_API larmor_raw_info larmor_raw_describe(const larmor_raw *raw);
LARMOR_API const char *larmor_raw_xml(const larmor_raw *raw); /* the XML text, as in the file */
LARMOR_API larmor_status larmor_raw_encoding(const larmor_raw *raw, int encoding, larmor_encoding *out);
LARMOR_API larmor_status larmor_raw_group(const larmor_raw *raw, int group, larmor_group *out);

/* A number that differs where samples, trajectories, heads or header do, and where the options that the file was
 * opened with make something else of them; 0 of NULL. Names and dates of files do not count. */
LARMOR_API uint64_t larmor_raw_fingerprint(const larmor_raw *raw);

/* Where to reconstruct: a grid over at least the encoded field of view. The image is its centre. */
typedef struct larmor_grid {
    int ndim;
    int64_t matrix[3];
    double fov_mm[3];
    int64_t crop[3]; /* the image's matrix; its field of view is crop / matrix of the grid's */
    int apart[3];    /* as of the encoding */
} larmor_grid;

#define LARMOR_MAX_OVERSAMPLE 8

typedef struct larmor_grid_opts { /* zero means default */
    int64_t matrix[3];            /* of the image; default: reconSpace's */
    double fov_mm[3];             /* of the image; default: reconSpace's */
    double oversample[3]; /* the grid's field of view over the larger of the encoded one and the image's, from 1 to
                             LARMOR_MAX_OVERSAMPLE, rounded up to sizes that FFTs are quick for; default 1 */
} larmor_grid_opts;

/* The grid of an encoding, of its own or of a file's: the image's voxels over the larger of the encoded field of view
 * and the image's, or more of them. Axes beyond the image's dimensions stay as they are.
 *
 * opts    may be NULL.
 * Errors  LARMOR_ERR_ARG for an encoding that is not there, sizes out of range, and values along z for an encoding
 *         of 2 dimensions, but a matrix and an oversample of 1 and the header's field of view; LARMOR_ERR_FORMAT
 *         and LARMOR_ERR_MEMORY for a grid that is too large. */
LARMOR_API larmor_status larmor_encoding_grid(const larmor_encoding *encoding, const larmor_grid_opts *opts,
                                              larmor_grid *out);
LARMOR_API larmor_status larmor_raw_grid(const larmor_raw *raw, int encoding, const larmor_grid_opts *opts,
                                         larmor_grid *out);

typedef struct larmor_samples { /* of one group; free with larmor_samples_free */
    larmor_array *kspace;       /* c64 [samples, readouts, coils]; [total, 1, coils] if readouts differ in length */
    larmor_array *traj;    /* f64 [nd, samples, readouts], cycles per field of view of the grid; NULL if not stored */
    larmor_array *density; /* f64 [samples, readouts] if the file stores it, else NULL */
    int64_t outside;       /* samples beyond the grid's k-space, left out (the readouts are then not regular) */
    int *step1, *step2;    /* [readouts] counters kspace_encode_step_1 and _2 */
    int64_t *first;   /* [readouts + 1] where each readout begins in the total, if they differ in length; else NULL */
    int64_t readouts; /* that first is for */
    /* [readouts] without a trajectory: where along its line a readout's first sample is, and from there to the
     * next one, in parts of the matrix's k-space, whose centre is 0 and whose edges are -0.5 and 0.5; backwards,
     * the second is negative. NULL: the samples cover it, and the middle one is at the centre. */
    double *along, *step;
} larmor_samples;

/* The samples of one group on a device, discards applied, counters in the order of the file.
 *
 * calibration  0: readouts that make the image, among them those flagged for calibration alone whose lines it
 *              lacks, if they were acquired as its own; 1: those for the coil calibration of the group's slice,
 *              whichever image they are counted to (none: kspace is NULL): all that are flagged for calibration,
 *              alone or with imaging, of the image with the most of them, and one for each line that these leave
 *              out.
 * Errors       LARMOR_ERR_ARG for a group or grid that is not there; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_raw_samples(const larmor_raw *raw, int group, const larmor_grid *grid,
                                            int calibration, larmor_device *dev, larmor_samples *out);
LARMOR_API void larmor_samples_free(larmor_samples *samples); /* also sets all to NULL */

typedef struct larmor_stamp {     /* when a readout was acquired */
    uint32_t time, physiology[3]; /* as the file has them, in ticks: of the clock, and since a trigger */
    int64_t samples;              /* that it has, after discards */
    /* Of a readout that stays in its plane of a stack, in cycles per encoded field of view; NAN of others in 3D; 0
     * in 2D and of Cartesian lines. */
    double kz;
} larmor_stamp;

/* The stamps of a group's readouts, in the order of larmor_raw_samples: that of acquisition.
 *
 * stamps  [readouts] of the group.
 * Errors  LARMOR_ERR_ARG for a group that is not there. */
LARMOR_API larmor_status larmor_raw_stamps(const larmor_raw *raw, int group, larmor_stamp *stamps);

/* As larmor_raw_samples, of some of the group's readouts alone.
 *
 * readout  [count] their numbers in the group, from 0; any may be there several times.
 * Errors   those of larmor_raw_samples; LARMOR_ERR_ARG for a readout that is not there. */
LARMOR_API larmor_status larmor_raw_readouts(const larmor_raw *raw, int group, const int64_t *readout, int64_t count,
                                             const larmor_grid *grid, larmor_device *dev, larmor_samples *out);

/* When the samples of some of a group's readouts were taken: f64 of the shape of their density, in s from the
 * beginning of the readout that stores them. Samples that are discarded take their time.
 *
 * readout  [count] as for larmor_raw_readouts; NULL: all of the group, whatever count is.
 * Errors   as for larmor_raw_readouts; LARMOR_ERR_FORMAT for a readout whose head states no time per sample. */
LARMOR_API larmor_status larmor_raw_times(const larmor_raw *raw, int group, const int64_t *readout, int64_t count,
                                          const larmor_grid *grid, larmor_device *dev, larmor_array **times);

/* The phases that larmor_raw_opts.phase_terms has found in the trajectory: f64 [samples, readouts, 4, 9 or 16], in
 * rad/m^n for signals exp(-i phase), along the axes of the patient (LPS), as of larmor_recon_opts.phase_terms. Those
 * of x, y and z are what the trajectory leaves: of a slice, those along its direction.
 *
 * readout  as of larmor_raw_times.
 * Errors   as for larmor_raw_readouts; LARMOR_ERR_ARG where the file was opened without. */
LARMOR_API larmor_status larmor_raw_phase_terms(const larmor_raw *raw, int group, const int64_t *readout,
                                                int64_t count, const larmor_grid *grid, larmor_device *dev,
                                                larmor_array **phases);

typedef struct larmor_navigators { /* of one group; free with larmor_navigators_free */
    larmor_array *kspace; /* c64 [samples, lines, coils], in the order of acquisition; NULL: there are none */
    larmor_array *traj;   /* f64 [samples, lines] along the lines, in cycles per field of view of the grid */
    int64_t shots;
    int64_t *first;            /* [shots + 1] lines at which each shot's begin */
    int64_t *shot;             /* [readouts] the shot of each of the group's readouts */
    int64_t calibration;       /* readouts, and */
    int64_t *calibration_shot; /* [calibration] the shot of each; -1: none */
} larmor_navigators;

/* Lines through ky = 0 that are flagged for phase correction, of a scan whose lines have no trajectory and go both
 * ways. Those of the same counters belong to an image; else those of another contrast, or of another repetition.
 * Lines after each other, without one of an image or of calibration between them, are those of a shot, and of all
 * readouts up to the next shot. Readouts for calibration have those of their slice before them.
 *
 * Errors  LARMOR_ERR_ARG for a group that is not there; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_raw_navigators(const larmor_raw *raw, int group, const larmor_grid *grid,
                                               larmor_device *dev, larmor_navigators *out);
LARMOR_API void larmor_navigators_free(larmor_navigators *navigators); /* also sets all to NULL */

/* An array with a dimension of channels, for example coil maps [..., channels] or [..., channels, sets].
 *
 * keep_coils     from all channels that the file stores to the coils that are kept; the same array if none is left
 *                out.
 * restore_coils  the way back, with zeros for channels that are left out.
 * axis           the dimension of the channels, from 0.
 * Errors         LARMOR_ERR_SHAPE if that has neither the number of stored channels nor that of coils. An array that
 *                has the wanted number already is returned as it is. */
LARMOR_API larmor_status larmor_raw_keep_coils(const larmor_raw *raw, larmor_array *all, int axis,
                                               larmor_array **kept);
LARMOR_API larmor_status larmor_raw_restore_coils(const larmor_raw *raw, larmor_array *kept, int axis,
                                                  larmor_array **all);

/* The noise scans, [samples, coils] c64, for the coils that are kept; *noise is NULL if there are none. */
LARMOR_API larmor_status larmor_raw_noise(const larmor_raw *raw, larmor_device *dev, larmor_array **noise);

/* Geometry, counters and stamps of the group's first imaging readout, with reconSpace's field of view. */
LARMOR_API larmor_status larmor_raw_image_meta(const larmor_raw *raw, int group, larmor_image_meta *meta);

/* ---- writing ISMRMRD raw data ---- */

/* The flags of a readout, which ISMRMRD numbers from 1. Those below decide what it is for; the others are not
 * looked at. */
#define LARMOR_ACQ_FLAG(bit) (UINT64_C(1) << ((bit)-1))
#define LARMOR_ACQ_NOISE LARMOR_ACQ_FLAG(19)                   /* noise alone: whitens the coils */
#define LARMOR_ACQ_CALIBRATION LARMOR_ACQ_FLAG(20)             /* gives the coil maps */
#define LARMOR_ACQ_CALIBRATION_AND_IMAGING LARMOR_ACQ_FLAG(21) /* gives the coil maps and is part of the image */
#define LARMOR_ACQ_REVERSE LARMOR_ACQ_FLAG(22)    /* acquired from the other end; counts without a trajectory alone */
#define LARMOR_ACQ_NAVIGATION LARMOR_ACQ_FLAG(23) /* left out, as are all that follow but the next but one */
#define LARMOR_ACQ_PHASE_CORRECTION                                                                                  \
    LARMOR_ACQ_FLAG(24) /* tells lines of both directions of EPI apart: larmor_raw_navigators; else left out */
#define LARMOR_ACQ_LAST_IN_MEASUREMENT LARMOR_ACQ_FLAG(25) /* written with the last readout; not left out */
#define LARMOR_ACQ_HP_FEEDBACK LARMOR_ACQ_FLAG(26)
#define LARMOR_ACQ_DUMMY LARMOR_ACQ_FLAG(27)
#define LARMOR_ACQ_RT_FEEDBACK LARMOR_ACQ_FLAG(28)
#define LARMOR_ACQ_SURFACE_COIL_CORRECTION LARMOR_ACQ_FLAG(29)
#define LARMOR_ACQ_PHASE_STABILISATION_REFERENCE LARMOR_ACQ_FLAG(30)
#define LARMOR_ACQ_PHASE_STABILISATION LARMOR_ACQ_FLAG(31)

typedef struct larmor_scan {
    larmor_encoding encoding;
    int coils;
    int64_t readouts, partitions, slices, averages, contrasts, repetitions; /* for encodingLimits; 0 means 1 */
    double field_tesla;                                                     /* default 3 */
    double noise_bandwidth;         /* relativeReceiverNoiseBandwidth; 0: not written */
    int echoes;                     /* echo times, at most LARMOR_MAX_ECHOES; 0: not written */
    const double *echo_ms;          /* [echoes] */
    const double *readout_start_ms; /* user parameter ReadoutStart_ms; NULL: not written */
    const char *description;        /* protocolName; may be NULL */
    int64_t acceleration[2];        /* accelerationFactor along steps 1 and 2; 0: not written */
    const char
        *calibration; /* calibrationMode, e.g. "embedded" or "separate", with acceleration; NULL: not written */
    const larmor_waveform_info *waveform; /* [waveforms] of the blocks that larmor_raw_append_waveform gets */
    int waveforms;                        /* at most LARMOR_MOST_WAVEFORM_INFOS */
    const char *header; /* the XML header itself, in the place of all but coils; NULL: of the members above */
} larmor_scan;

typedef struct larmor_acquisition { /* one readout; zero means zero */
    uint64_t flags;
    int samples, coils, traj_dims; /* 1..65535, 1..1024, 0..16 */
    int discard_pre, discard_post, center_sample, encoding;
    double dwell_us;
    int step1, step2, average, slice, contrast, phase, repetition, set, segment;
    uint32_t time_stamp, physiology_stamp[3]; /* in ticks */
    double position_mm[3], read_dir[3], phase_dir[3], slice_dir[3];
    const float *data; /* re, im interleaved, [samples, coils] */
    const float *traj; /* [traj_dims, samples] */
    uint32_t measurement_uid;
    double table_mm[3]; /* patient_table_position */
    int user[8];        /* counters of the user's */
    int32_t user_int[8];
    float user_float[8];
} larmor_acquisition;

/* Readout i of an opened file, from 0, as it is stored. data and traj are NULL for readouts that are left out by
 * their flags, else they are valid as long as raw.
 *
 * Errors  LARMOR_ERR_ARG for a readout that is not there. */
LARMOR_API larmor_status larmor_raw_acquisition(const larmor_raw *raw, int64_t i, larmor_acquisition *out);

/* A scan whose header and acquisitions are in memory, as larmor_raw_open makes it of a file that has the same. The
 * header is parsed by larmor-reader, too; the numbers are copied.
 *
 * xml           [bytes] the XML header, without a 0 at its end.
 * acquisitions  [count] in the order of acquisition; whole numbers as ISMRMRD stores them, from 0 to 65535.
 * opts          may be NULL; group does not count.
 * Errors        those of larmor_raw_open; LARMOR_ERR_ARG for values out of range and for missing data. */
LARMOR_API larmor_status larmor_raw_of_acquisitions(const char *xml, int64_t bytes,
                                                    const larmor_acquisition *acquisitions, int64_t count,
                                                    const larmor_raw_opts *opts, larmor_raw **raw);

/* The same with the header of a scan that is open, which is not parsed again. */
LARMOR_API larmor_status larmor_raw_with_acquisitions(const larmor_raw *like, const larmor_acquisition *acquisitions,
                                                      int64_t count, const larmor_raw_opts *opts, larmor_raw **raw);

/* Write a new ISMRMRD file through an output: create, append each readout, finish (flush, sync, verify, rename).
 *
 * Freeing without finish leaves the target as it was.
 *
 * Errors  LARMOR_ERR_ARG for values out of range; LARMOR_ERR_IO. */
LARMOR_API larmor_status larmor_raw_create(larmor_output *out, const larmor_scan *scan, larmor_raw_writer **writer);
LARMOR_API larmor_status larmor_raw_append(larmor_raw_writer *writer, const larmor_acquisition *acquisition);
LARMOR_API larmor_status larmor_raw_finish(larmor_raw_writer *writer);
LARMOR_API void larmor_raw_writer_free(larmor_raw_writer *writer); /* NULL is fine */

/* Write a scan that was opened with opts.as_stored, from whatever format, as an ISMRMRD file with its header and all
 * its acquisitions, and put the file in place. What was never written is left out.
 *
 * anonymous  1: without subjectInformation and studyInformation of the header.
 * Errors     LARMOR_ERR_ARG: the scan was not opened as it is stored; LARMOR_ERR_FORMAT: the header cannot be made
 *            anonymous; those of larmor_raw_create. */
LARMOR_API larmor_status larmor_raw_copy(const larmor_raw *raw, int anonymous, larmor_output *out);

#define LARMOR_READOUT_LEFT_OUT UINT64_MAX /* in the place of a readout's flags */

typedef struct larmor_acquisitions { /* of one image, in arrays; zero means zero */
    const larmor_array *kspace;      /* complex [samples, readouts, coils] */
    const larmor_array *traj;        /* real [nd, samples, readouts], cycles per field of view */
    const char *units; /* that the trajectory is stored in, of larmor_traj_unit_entry; default "1/fov" */
    /* Real [samples, readouts or 1, 4, 9 or 16] in rad/m^n, or NULL: the trajectory is stored with them as rows, as
     * larmor_raw_opts.phase_terms "trajectory" reads it, whose second to fourth are traj along the axes of meta. */
    const larmor_array *phase_terms;
    int lines; /* 1: counters in the place of a trajectory, whose lines are those of the scan's matrix */
    const uint64_t
        *flags;     /* [readouts] of ISMRMRD, or LARMOR_READOUT_LEFT_OUT for one that is not written; may be NULL */
    int64_t centre; /* the sample that is nearest to the centre of k-space; of lines that are flagged as reversed traj
                              says which one it is */
    double dwell_us;
    double start_ms, tr_ms,
        cycle_ms;           /* of the first readout, from one to the next, between triggers; tr_ms 0: no stamps */
    larmor_image_meta meta; /* position, directions, slice, contrast and repetition of these readouts */
    int last;               /* 1: the scan ends with them */
} larmor_acquisitions;

/* Append readouts to a file. Their counters are those of the lines, else the readouts' numbers.
 *
 * Errors  those of larmor_raw_append; LARMOR_ERR_SHAPE for arrays that do not fit each other; LARMOR_ERR_ARG for
 *         units. */
LARMOR_API larmor_status larmor_raw_append_arrays(larmor_raw_writer *writer, const larmor_acquisitions *acquisitions);

/* Write k-space and its trajectory as a scan of one image, and put the file in place.
 *
 * kspace  complex [samples, readouts, coils], or [1, samples, readouts, coils] as BART has it; dimensions of 1 at
 *         the end may be left out.
 * traj    real [2 or 3, samples, readouts], cycles per field of view; 2D where all third components are 0.
 * opts    matrix: default the smallest even one whose k-space holds the trajectory, x and y alike; a given one
 *         goes on to the axes that are not given. fov_mm: default the first one's voxels, of 1 mm if that is not
 *         given. NULL is fine.
 * written what the header says; may be NULL.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_FORMAT for samples that are not finite or beyond LARMOR_LARGEST_SAMPLE, and
 *         for a trajectory without extent or beyond 32767; LARMOR_ERR_ARG for sizes out of range; those of
 *         larmor_raw_create. */
LARMOR_API larmor_status larmor_raw_save(larmor_output *out, const larmor_array *kspace, const larmor_array *traj,
                                         const larmor_grid_opts *opts, larmor_encoding *written);

LARMOR_C_END
#endif
