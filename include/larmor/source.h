/* Where the data of a reconstruction come from. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_SOURCE_H
#define LARMOR_SOURCE_H

#include "larmor/io.h"

LARMOR_C_BEGIN

/* ---- where the data come from ---- */

typedef struct larmor_source larmor_source; /* refcounted; calls from several threads take turns */

/* A scan, wherever it is. Groups, encodings and samples are those of a larmor_raw, whose functions in larmor/io.h
 * document them. Every function may be called again, one at a time, but with a group of devices, or where several
 * series are computed at the same time, from other threads than the caller's. */
typedef struct larmor_source_impl {
    larmor_raw_info (*describe)(void *self);
    larmor_status (*encoding)(void *self, int encoding, larmor_encoding *out);
    larmor_status (*group)(void *self, int group, larmor_group *out);
    /* The caller overwrites and frees the arrays, those that a function leaves when it fails, too. Those that the
     * group or the scan lacks are NULL. */
    larmor_status (*samples)(void *self, int group, const larmor_grid *grid, int calibration, larmor_device *dev,
                             larmor_samples *out);
    larmor_status (*meta)(void *self, int group, larmor_image_meta *meta);
    larmor_status (*noise)(void *self, larmor_device *dev, larmor_array **noise); /* may be NULL: none */
    /* may be NULL: every channel is a coil */
    larmor_status (*keep_coils)(void *self, larmor_array *all, int axis, larmor_array **kept);
    larmor_status (*restore_coils)(void *self, larmor_array *kept, int axis, larmor_array **all);
    void (*destroy)(void *self); /* or NULL */
    /* A number that differs where the scan does, so that no checkpoint of another is taken. May be NULL: made from
     * what describe, encoding and group say. */
    larmor_status (*fingerprint)(void *self, uint64_t *fingerprint);
    /* As larmor_raw_stamps and larmor_raw_readouts. May be NULL: then no frames can be cut from it. */
    larmor_status (*stamps)(void *self, int group, larmor_stamp *stamps);
    larmor_status (*readouts)(void *self, int group, const int64_t *readout, int64_t count, const larmor_grid *grid,
                              larmor_device *dev, larmor_samples *out);
    /* When samples were taken, f64 of their shape, in s, as larmor_raw_times. May be NULL: not known. */
    larmor_status (*times)(void *self, int group, const int64_t *readout, int64_t count, const larmor_grid *grid,
                           larmor_device *dev, larmor_array **times);
    /* As larmor_raw_navigators. May be NULL: there are none. */
    larmor_status (*navigators)(void *self, int group, const larmor_grid *grid, larmor_device *dev,
                                larmor_navigators *out);
    /* As larmor_raw_phase_terms, where describe has phase_terms. May be NULL: there are none. */
    larmor_status (*phases)(void *self, int group, const int64_t *readout, int64_t count, const larmor_grid *grid,
                            larmor_device *dev, larmor_array **phases);
} larmor_source_impl;

/* A source of your own.
 *
 * name    what messages call it, e.g. the path of a file; copied, like impl.
 * self    given to every function; belongs to the source from a successful return on, still yours after an error.
 * Errors  LARMOR_ERR_ARG for a missing function or name; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_source_create(const char *name, const larmor_source_impl *impl, void *self,
                                              larmor_source **source);
LARMOR_API larmor_source *larmor_source_ref(larmor_source *source); /* one more reference; returns source */
LARMOR_API void larmor_source_free(larmor_source *source);          /* NULL is fine */

/* What is in the scan; zeros of NULL. */
LARMOR_API larmor_raw_info larmor_source_describe(const larmor_source *source);

/* The counters of an encoding's slices in the order in which files have them (larmor_slices_order), [*count], for the
 * caller to free; none of volumes. Arrays of larmor_recon_opts have slices in the order of their counters, and those
 * of files are brought into it by this.
 *
 * encoding  from 0 on; -1: that of the first image.
 * Errors    LARMOR_ERR_ARG; LARMOR_ERR_MEMORY; those of the source. */
LARMOR_API larmor_status larmor_source_slices(const larmor_source *source, int encoding, int **slices, int *count);

/* An opened file as a source. raw must outlive the source and everything that was made from it. Slices that were
 * excited together by the header become volumes (larmor/multiband.h), unless larmor_raw_opts.multiband_left_out.
 *
 * name    what messages call it, e.g. its path.
 * Errors  those of larmor_source_create, and of larmor_source_of_multiband. */
LARMOR_API larmor_status larmor_source_of_raw(larmor_raw *raw, const char *name, larmor_source **source);

typedef struct larmor_readouts { /* of one image; zero means that there is none */
    larmor_array *kspace;        /* complex [samples, readouts, coils]; needed */
    larmor_array *traj;    /* real [nd, samples, readouts], cycles per field of view; NULL: made from the counters of
                                  * a 2D scan whose trajectory is "radial" or "goldenangle" */
    larmor_array *density; /* real [samples, readouts], for LARMOR_DENSITY_STORED */
    larmor_array *calibration;      /* complex [samples, readouts, coils]: the maps of the slice come from it */
    larmor_array *calibration_traj; /* real [nd, samples, readouts], needed with calibration */
    larmor_array *times; /* real [samples, readouts], when they were taken, in s, whatever their zero; for b0 */
    const int *step1;    /* [readouts] numbers of spokes; NULL: 0, 1, 2, ... */
    const larmor_stamp *stamps; /* [readouts], of which the number of samples and kz are ignored; NULL: none */
    larmor_image_meta meta;     /* counters and geometry; without directions x, y and z are those of the patient */
} larmor_readouts;

typedef struct larmor_scan_arrays { /* a scan in memory, on any device; zero means default */
    int64_t matrix[3];              /* voxels of the image; needed; a third of 0 or 1 makes it 2D */
    double fov_mm[3];               /* default: voxels of 1 mm */
    const char *trajectory;         /* as of larmor_encoding; default "other" */
    larmor_array *noise;            /* complex [samples, coils] of a noise scan, which whitens the coils, or NULL */
    const larmor_readouts *image;   /* [images], those of a series one after the other in time */
    int images;
} larmor_scan_arrays;

/* Arrays as a source, which keeps references to them. As of files, channels without signal or noise are left out.
 *
 * Errors  LARMOR_ERR_ARG for a matrix, field of view, counter or trajectory that makes no sense; LARMOR_ERR_SHAPE for
 *         arrays that do not fit together; LARMOR_ERR_FORMAT for samples that are all zero, or a trajectory
 *         in another unit (larmor_traj_check_unit); LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_source_of_arrays(const larmor_scan_arrays *scan, larmor_source **source);

/* ---- frames ---- */

/* How the readouts of an image become frames: one of spokes, ms and phases; the others are zero. */
typedef struct larmor_frames_opts {
    /* Readouts of a frame, in the order of acquisition. In a stack of stars or spirals, whose readouts each have
     * one kz (larmor_stamp), so many of each partition, whichever of angles and partitions changed first; a
     * partition that was acquired more rarely than others gives evenly less to each frame. */
    int64_t spokes;
    double ms;      /* time of a frame, by the readouts' time stamps */
    int phases;     /* frames of the cardiac cycle, by the physiology stamps: time since the last trigger */
    double step;    /* from the start of a frame to that of the next, as spokes or ms; default: frames that touch */
    int gate;       /* phases: which of the three physiology stamps, 0 to 2 */
    double tick_ms; /* of a tick of the stamps; default 2.5, as Siemens has it */
    int join_rest;  /* readouts that are left at the end: 1 they join the last frame, 0 they are left out */
} larmor_frames_opts;

/* A source whose images are frames of the images of another: a dynamic series out of one long acquisition.
 *
 * Frames are counted as repetitions, in the order of time, those of a second repetition after those of the first; the
 * bins of the cardiac cycle are counted as phases. A frame's stamps are those of its first readout in time. The coil
 * maps come from the calibration readouts of the scan, or else from all readouts of the image that was cut.
 *
 * phases: a cycle lasts from one trigger to the next, and each is divided evenly. The last one, whose end is not
 * seen, is taken to last as long as the median of the others, and so is one of more than 1.5 times that: a trigger
 * was missed, and what comes later is left out.
 *
 * inner   a reference is kept.
 * Errors  LARMOR_ERR_ARG for options that make no sense; for more spokes or ms than an image has; for a source that
 *         cannot be cut; without stamps, or with stamps that do not tell readouts apart; LARMOR_ERR_MEMORY; those of
 *         inner.
 * Source  sliding windows of golden angles: Winkelmann et al., IEEE Trans. Med. Imaging 26, 68 (2007); Feng et al.,
 *         Magn. Reson. Med. 72, 707 (2014). */
LARMOR_API larmor_status larmor_source_of_frames(larmor_source *inner, const larmor_frames_opts *opts,
                                                 larmor_source **source);
/* The samples of a group with their trajectory, also where that is made from the counters, as reconstructions take
 * them before whitening.
 *
 * opts    of the grid; may be NULL.
 * grid    gets the grid in whose field of view the trajectory counts cycles.
 * out     to be freed by larmor_samples_free.
 * Errors  LARMOR_ERR_ARG for a group that is not there; LARMOR_ERR_FORMAT without a trajectory; those of the
 *         source. */
LARMOR_API larmor_status larmor_source_samples(larmor_source *source, int group, const larmor_grid_opts *opts,
                                               larmor_device *dev, larmor_grid *grid, larmor_samples *out);

#define LARMOR_NO_SAMPLE 1e6 /* cycles per field of view: the place of what fills readouts up */

/* The samples' readouts side by side, also where they differ in length: shorter ones are followed by zeros at
 * LARMOR_NO_SAMPLE along each axis, so that what looks at the centre does not see them.
 *
 * kspace  of the samples' type [longest, readouts, coils]; the samples' own array if they are so already.
 * traj    f64 [nd, longest, readouts]; the samples' own array if they are so already.
 * Errors  LARMOR_ERR_ARG for samples without a trajectory; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_samples_align(const larmor_samples *samples, larmor_array **kspace,
                                              larmor_array **traj);

/* The trajectory of delayed gradients, as larmor_traj_delay makes it of each readout by itself.
 *
 * traj    f64 of the shape of the samples' trajectory.
 * Errors  those of larmor_traj_delay; LARMOR_ERR_ARG for samples without a trajectory. */
LARMOR_API larmor_status larmor_samples_delay(const larmor_samples *samples, const double delay[6], const double *fov,
                                              larmor_array **traj);

LARMOR_C_END
#endif
