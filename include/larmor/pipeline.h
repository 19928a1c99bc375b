/* A scan in, images out: everything between a source of readouts and finished images, as in `larmor recon`.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The pipeline reads no file and prints nothing. Data come from a source, events report what happens, a checkpoint
 * keeps what is reached, and the caller gets the images. Messages name options as the program spells them. They
 * are members of larmor_recon_opts, except for --save-maps, which only the program has. */
#ifndef LARMOR_PIPELINE_H
#define LARMOR_PIPELINE_H

#include "larmor/checkpoint.h"
#include "larmor/delays.h"
#include "larmor/fieldmap.h"
#include "larmor/maps.h"
#include "larmor/motion.h"
#include "larmor/prior.h"
#include "larmor/recon.h"
#include "larmor/report.h"
#include "larmor/source.h"

LARMOR_C_BEGIN

/* ---- events ---- */

typedef enum larmor_event_kind {
    LARMOR_EVENT_STAGE,  /* something begins: stage says what */
    LARMOR_EVENT_STEP,   /* a solver has done step of steps */
    LARMOR_EVENT_LOG,    /* text is a line for a log */
    LARMOR_EVENT_WARNING /* text is a line that whoever looks at the image should read */
} larmor_event_kind;

typedef struct larmor_event {
    larmor_event_kind kind;
    const char *stage;          /* e.g. "coil maps"; "" between them */
    const char *text;           /* of LOG and WARNING, one line without its end; else "" */
    int series, count;          /* which series of how many, from 1; series is 0 before the first */
    int step, steps;            /* of STEP; steps is 0 where it is not known how many there will be */
    double residual, objective; /* of STEP, as in larmor_progress */
    double fraction;            /* of all series that is done, about, 0 to 1 */
    double remaining; /* seconds to the end of the last series, estimated; negative where nothing is known */
} larmor_event;

/* Called with each event, in the caller's thread; with a group of devices stages and steps of the series that it
 * waits for may be left out, and lines come when a series is handed out. Returns 0 to continue; any other number
 * stops at the next step. The event and its texts are valid during the call. */
typedef int (*larmor_listener)(void *user, const larmor_event *event);

/* ---- what to do ---- */

/* Where weights of samples come from. */
typedef enum larmor_density {
    LARMOR_DENSITY_AUTO, /* RAMP or PIPE, as larmor_density_auto has it for the first image of the scan */
    LARMOR_DENSITY_RAMP,
    LARMOR_DENSITY_PIPE,
    LARMOR_DENSITY_STORED, /* in the source */
    LARMOR_DENSITY_NONE,
    LARMOR_DENSITY_VORONOI,
    LARMOR_DENSITY_SPIRAL
} larmor_density;

typedef enum larmor_lambda {
    LARMOR_LAMBDA_AUTO,     /* from the data and their noise */
    LARMOR_LAMBDA_RELATIVE, /* of cg in units of the largest eigenvalue of A^H A, else of larmor_lambda_unit */
    LARMOR_LAMBDA_NOISE     /* in units of larmor_weight_of_noise */
} larmor_lambda;

/* Gradient delays, which change every trajectory before anything else is done. */
typedef enum larmor_delays_from {
    LARMOR_DELAYS_AUTO, /* larmor_delays_estimate, where it finds significant ones */
    LARMOR_DELAYS_OFF,
    LARMOR_DELAYS_GIVEN /* by the caller */
} larmor_delays_from;

/* What is done where k-space on a grid reaches further to one side of its centre than to the other. */
typedef enum larmor_partial_fourier {
    LARMOR_PARTIAL_AUTO,     /* chosen from the data: the next two where the phase is smooth, else the last */
    LARMOR_PARTIAL_HOMODYNE, /* the image has the phase of its centre, at low resolution */
    LARMOR_PARTIAL_POCS,     /* what was not sampled is that of such an image, and what was measured stays; of "cg" */
    LARMOR_PARTIAL_ZERO      /* nothing is filled in */
} larmor_partial_fourier;

/* How coils are compressed (larmor/compress.h). */
typedef enum larmor_compress_method {
    LARMOR_COMPRESS_AUTO, /* the last, where readouts are complete lines of a grid and fewer coils or less energy are
                                 left out; else the next */
    LARMOR_COMPRESS_SVD,  /* by one matrix */
    LARMOR_COMPRESS_GEOMETRIC /* by a matrix for each place along the readouts */
} larmor_compress_method;

typedef struct larmor_counters { /* of the images that are wanted; -1: all */
    int slice, contrast, phase, repetition, set;
    int encoding; /* counted from 1; 0 and below: all */
} larmor_counters;

typedef struct larmor_ranks larmor_ranks; /* one thread at a time; once in a process (larmor/ranks.h) */

typedef enum larmor_image_scale {                        /* k-space of an image is */
                                  LARMOR_SCALE_INTEGRAL, /* its Fourier integral over the encoded field of view, as
                                                          * of a phantom's density */
                                  LARMOR_SCALE_SUM /* the sum over its voxels, as of larmor_op_sense: that integral
                                                    * times the voxels */
} larmor_image_scale;

typedef enum larmor_concomitant {
    LARMOR_CONCOMITANT_AUTO, /* as the samples decide, where stored trajectories make phases of more than .1 rad */
    LARMOR_CONCOMITANT_ON,
    LARMOR_CONCOMITANT_OFF
} larmor_concomitant;

typedef struct larmor_recon_opts { /* zero means default, but of size */
    size_t size;                   /* sizeof(larmor_recon_opts): members that are added later are then default */
    /* "auto" (default): tv or tgv where samples predict one another, else cg (docs/choosing.md); "cg", "grid",
     * "nlinv", or a name of larmor_regulariser_create: of several penalties the ratios that it does not give are
     * chosen from the data where the weight is, and frames are solved together where one of them is along t.
     * nlinv finds image and coil maps of each frame together from its own
     * samples, each frame held to the one before (larmor_nlinv_series_add); maps, a weight, a field map and a basis
     * are not for it. auto is cg with a lambda_mode other than AUTO, with tol, precondition, a basis or
     * POCS, which are of one method, and tv with joint. */
    const char *method;
    int joint;  /* 1: the repetitions, phases and contrasts of a slice are one series; llr and nlinv always */
    int iters;  /* the most; default 100, of tgv 300, and fewer where the image follows its noise; of nlinv Newton
                  steps */
    double tol; /* where to stop; default: at an error that is small beside the noise; negative: at rounding */
    larmor_lambda lambda_mode;
    double lambda;      /* of RELATIVE and NOISE, at least 0 */
    double time_weight; /* tv: of a difference of frames beside one of voxels; default: chosen from the data where
                           the weight is (the report's choice.time_weight), else 4; negative: none */
    int64_t llr_block;  /* llr: side of the blocks in voxels; default 8, of clear 3 */

    /* Voxels and field of view of the image, by default the header's. A value for x alone holds for all axes that are
     * as long as x in the header. oversample: as in larmor_grid_opts; a value for x alone holds for all axes;
     * default: 1, or more if the object is larger. */
    int64_t matrix[3];
    double fov_mm[3], oversample[3];

    /* Complex [x, y(, z), coils(, sets)] of all channels or of the coils that are kept, on the image's grid, or of
     * any voxels where maps_place says over what field of view; NULL: from the data's own centre. */
    larmor_array *maps;
    const char *maps_name; /* what messages call them, e.g. their file; default "maps" */
    int no_maps;           /* 1: root sum of squares of "grid"; "clear" has none */
    /* Off-resonance in Hz, in the sign of larmor_op_off_resonance: [x, y] or [x, y, z], real, or complex with
     * imaginary parts of 0; interpolated to the image's grid, and continued beyond its own edge. b0_place says
     * where it is. Without it, it covers the image's field of view, for all slices of 2D images or one z for each,
     * by their counters (of files: larmor_source_slices). NULL: on resonance. */
    larmor_array *b0;
    const char *b0_name; /* what messages call it; default "map" */
    const larmor_image_meta *b0_place;
    double b0_error; /* of the phases, as in larmor_off_resonance_opts; default 1e-3 */
    int segments;    /* default: the least that keep b0_error */
    /* T2* in ms, a map as b0; values below .1 count as .1. Samples decay from the time at which the image has its
     * phase. NULL: no decay. */
    larmor_array *t2star;
    const char *t2star_name; /* default "map" */
    const larmor_image_meta *t2star_place;
    /* Phases that a field camera has measured, in rad, real [samples, readouts, 9 or 16] of the solid harmonics of
     * larmor_solid_harmonics along the patient's axes (LPS) from the isocentre, in m; the signal has exp(-i phase).
     * The linear ones are the trajectory's. One readout stands for all; all samples that are stored where lengths
     * differ. NULL: none. */
    larmor_array *phase_terms;
    /* The errors of the gradients, of larmor_gradient_field_read: voxels are in the model where images would show
     * them, and maps from the data are moved to where they belong. NULL: gradients are linear. */
    larmor_array *gradient_field;
    /* The same of any displacement, real [x, y, 2 or 3], of slices and volumes [x, y, z, 3], over the image's field
     * of view: mm along the image's axes from a place to where images show it. Not beside gradient_field. */
    larmor_array *displacement;
    /* Of motion: where the image's voxels are in each frame of a series, as displacement, real [x, y, 2 or 3, frames]
     * or [x, y, z, 3, frames]. A series then gives one image, that of the state without displacement, from the
     * samples of all its frames; coils stay where they are. Not beside basis, displacement or gradient_field. */
    larmor_array *motion_fields;
    larmor_concomitant concomitant; /* fields of gradients beside their own */
    double field_tesla;             /* of the magnet, which they depend on; default: the header's */
    /* When the first sample of a readout is taken, in ms from the time at which the image has its phase; NULL: as
     * the source says (larmor_raw_info), or so that the sample nearest to k = 0 is taken at that time. */
    const double *readout_start_ms;
    int64_t calibration; /* side of the centre that gives maps, in samples of 1/FOV; default 32 */
    int no_whitening;    /* 1: noise readouts are not used */
    /* Virtual coils (larmor/compress.h): from 1 their number, below 1 the part of the signal's energy that they keep;
     * 0: by default, above 12 coils; negative: none. */
    double compress;
    larmor_delays_from delays;
    double delay[6]; /* of GIVEN, in samples, as larmor_traj_delay takes them */
    larmor_array
        *girf; /* impulse response of the gradients along x, y and z of the patient, as in larmor_girf, before
                           any delays; or NULL */
    double girf_spacing_hz;
    /* That of order 0, complex [frequencies, axes], in rad m, as in larmor_girf_phase, at the frequencies of girf:
     * the phase that it makes is taken off the samples. Only with girf; or NULL. */
    larmor_array *girf_b0;

    /* Frames that change as a few functions do: [frames, coefficients] for series of so many frames, complex or
     * real, in their order; NULL: none. All repetitions, phases and contrasts of a slice are then one series, and
     * its images are coefficients, whose number is their contrast (larmor/subspace.h). */
    larmor_array *basis;
    int64_t coefficients; /* the first so many of the basis; default: all */
    int basis_frames;     /* 1: the images are the frames that the coefficients give */

    larmor_density density; /* for "grid", and for the others with weighted */
    int weighted;           /* 1: iterative methods weight the data by density, too */
    int keep_density;       /* 1: keep the weights for larmor_recon_density */

    double eps;                /* of the NUFFT; below 1e-6 everything is in double precision; default 1e-5 */
    larmor_plan_effort effort; /* of the NUFFT's planner */
    int toeplitz;              /* 1 on, -1 off; default: where it is quicker and fits */
    int precondition;          /* 1: with the circulant, -1: without; default: where it fits */
    int64_t memory;            /* most bytes on the device; default: what is free */

    const larmor_counters *only; /* NULL: all images */
    larmor_listener listener;    /* or NULL */
    void *user;

    larmor_checkpoint *checkpoint; /* where the state is kept, see below; or NULL */
    double checkpoint_every;       /* seconds from one to the next, at least; default 60; negative: each step */

    const char *maps_method; /* "auto" (default), or a name of larmor_maps_method_entry; without maps of the caller */
    int map_sets;          /* 1 or 2 of maps from the data; default: 2 where the field of view folds, of "espirit" */
    larmor_crop_mode crop; /* of the maps of "espirit"; default: NOISE for samples on a grid, else NONE */
    larmor_normalise_mode normalise; /* of maps from the data */
    int keep_eigenvalues;            /* 1: keep those of "espirit" for larmor_recon_eigenvalues */
    larmor_partial_fourier partial_fourier;
    larmor_ranks *ranks; /* those of larmor_recon_share to come, which the plan of memory must know; or NULL */
    /* Of one device, or of each GPU of a group: the most series that are computed at the same time, each by its
     * part of a processor's threads, or in a queue of its own on a GPU, which has at most 4; 1: one after the
     * other, of one device in the caller's thread. Default: as many as keep the device busy and fit, but 1 with a
     * checkpoint, with an effort that measures, and for a source of your own (larmor_source_create). The images do
     * not depend on it, on a GPU but for rounding. */
    int at_once;
    larmor_compress_method compress_method;
    larmor_image_scale scale; /* of the images */
    /* Of maps: where they lie, from which they are interpolated to the image's grid. fov_mm 0: not known, and they
     * must have the matrix of the grid, of encodedSpace or of the image, which they then cover; of the first axis
     * alone: for all that are as long in the header. Directions 0: those of the image, and its centre. Counters do
     * not count. */
    larmor_image_meta maps_place;
    int no_ghost;    /* 1: lines of both directions of echo-planar scans are not corrected (larmor/ghost.h) */
    int repeatable;  /* 1: the same images, bit for bit, whenever the same scan is reconstructed with the same
                     * options and, as it decides what fits, the same memory: on a processor, whatever its threads, or
                     * on GPUs of the same model and with the same version of CUDA, which are set to be repeatable
                     * until the reconstruction is freed (larmor_device_set_repeatable: NUFFTs take the full
                     * precomputed form, and what does not fit is refused). */
    double damping;  /* nlinv: of the frame before, as in larmor_nlinv_series_opts; default 0.9 */
    int median;      /* nlinv: images are the median of so many frames; default 1 */
    const char *reg; /* penalties, "tv:xy+tv:t=4+l1", as method lists them, whose place they take; or NULL */
    /* What images by cg and by penalties are held to, "nonnegative+support", as larmor_constraint_read has it, in the
     * image's unit; or NULL. support: a mask of [x, y(, z)] voxels of the image, or of all slices; images are 0
     * where it is, whatever constraint says; NULL: none. */
    const char *constraint;
    larmor_array *support;
    /* The object moves: rows as in larmor_motion_rows for the readouts of each image, or one for each readout of all
     * images. Images show it in the pose of zeros; coil maps, given ones too, are those of the scanner. b0 and t2star
     * are those of the object, and move with it; phase_terms and concomitant fields stay. NULL: it rests. */
    larmor_array *motion;
    /* A denoiser, by which images by cg are solved further (larmor_solve_pnp), or NULL: by prior_method, ADMM or RED,
     * with a sigma that falls to prior_sigma times the noise in the image by cg (default 1). A reference is kept. */
    larmor_denoiser *prior;
    larmor_pnp_method prior_method;
    double prior_sigma;
    /* Instead: motion is found from the samples of each image by larmor_motion_find, for so many states, 2 to
     * LARMOR_MOST_MOTION_STATES; 0: it is not. Where poses do not help, the object rests. What samples see beside the
     * Fourier transform (b0 and so on) is in the image's model, not in that by which poses are found. */
    int motion_states;
} larmor_recon_opts;

typedef struct larmor_maps_method_info {
    const char *name, *help;
} larmor_maps_method_info;

/* Method i of those that find coil maps from the data; past the last its name is NULL. */
LARMOR_API larmor_maps_method_info larmor_maps_method_entry(int i);

/* ---- reconstruction ----
 *
 * With opts->checkpoint the state is kept every minute or so, when the listener stops a solver, and by
 * larmor_recon_save: the images that are done, the weight that was found, and the solver's arrays. It takes a
 * tenth of the time at most. A larmor_recon that is created later, from the same scan with the same options, goes
 * on from there: larmor_recon_run returns at once for series that were done, and continues in the one that was
 * not. The images are those of a run that was not stopped; on a processor bit for bit, on a GPU to rounding, and
 * to opts->eps with an effort that measures anew. What cannot be kept is reported as a warning, and the
 * reconstruction goes on. The checkpoint shares the images that are returned until the larmor_recon is freed: they
 * are not to be written to. It stays when all is done: larmor_checkpoint_remove. */

typedef struct larmor_recon larmor_recon; /* one thread at a time */

/* A GPU that larmor_device_open chose by itself ("auto") and that fails before the first series is done is left:
 * the reconstruction restarts on the processor ("cpu"), a warning says so, and images lie there. Any other failure is
 * returned. */

/* On a group of devices (larmor_device_open) several series are computed at the same time, each by one of its
 * members, and handed out in the order in which they are asked for: while one is waited for, or looked at, the
 * next ones are computed, at most twice as many as there are devices. Images and reports are those of a single
 * device of that kind, on processors bit for bit, and lie in the processor's memory. A member that fails is left
 * with a warning, and the others take over its series; the failure is returned where it was the last. A checkpoint
 * keeps the series that are done, and not the state of those that run. Where there are fewer series than devices,
 * all members share the coils of one series after the other (larmor_op_sense): images then agree to rounding, and
 * the state of a solver is kept as on one device. A 3D scan that no member can hold is in slabs, one for each of
 * them (larmor_recon_plan.slabs): larmor_recon_create then restarts, with a thread for each member but the
 * first, until larmor_recon_free. All solve at the same time, by conjugate gradients with the preconditioner and
 * the choice of lambda of one device; slabs are also taken where one device would give these up for want of
 * memory. The same devices give the same bits on processors, and opts->memory is the limit of each. What is not
 * for slabs is refused as without them. The error of a member is that of the call, "rank 1: its message", by its
 * number in the group. */

/* On one device, and on each GPU of a group, several series are computed at the same time, too
 * (larmor_recon_opts.at_once), of one device once the first one that is run has settled what they share: a solver
 * gains little from many threads where images are small, and a GPU waits for the host. Images, reports and lines
 * of the log are those of one after the other, on a processor bit for bit. */

/* The device for a scan: larmor_device_open, but "auto" takes the processor where it is expected to be done in the
 * time that a GPU needs to begin and to end, about a third of a second: most single 2D images by cg.
 * larmor_device_reason says so. Not for programs that use the GPU again and again, which pay that once.
 *
 * spec     as of larmor_device_open
 * opts     those of larmor_recon_create, or NULL
 * Environment  LARMOR_GPU_START: seconds that a GPU needs to begin and to end, for drivers that take another time
 *              than an
 *          H200's .35; with 0 "auto" is that of larmor_device_open.
 * Errors   those of larmor_device_open and of larmor_recon_opts.size. */
LARMOR_API larmor_status larmor_recon_open_device(const char *spec, larmor_source *source,
                                                  const larmor_recon_opts *opts, larmor_device **dev);

/* Everything before the first image: whitening from the noise readouts, the grid of every image, which images make a
 * series, and the plan of memory. The samples are searched for objects that reach beyond the field of view, unless
 * opts->oversample is set or the method is "grid".
 *
 * source, dev  references are kept. Everything is computed on dev.
 * opts         copied; may be NULL.
 * Errors       LARMOR_ERR_ARG for options that make no sense or exclude each other, and if no image is wanted;
 *              LARMOR_ERR_SHAPE and LARMOR_ERR_NUMERIC for maps that do not fit or are zero; LARMOR_ERR_MEMORY if
 *              one coil at a time does not fit; LARMOR_STOPPED; those of the source. LARMOR_ERR_FORMAT for a
 *              checkpoint that is damaged, or that of another scan, of other options, or of another version of
 *              larmor. */
LARMOR_API larmor_status larmor_recon_create(larmor_source *source, larmor_device *dev, const larmor_recon_opts *opts,
                                             larmor_recon **recon);
LARMOR_API void larmor_recon_free(larmor_recon *recon); /* NULL is fine */

/* The number of series. A series is one image, or the images that one problem reconstructs jointly. */
LARMOR_API int larmor_recon_series(const larmor_recon *recon);

typedef struct larmor_recon_plan { /* what will be done for a series */
    char name[64];                 /* "image 2 of 8", "series 1 of 2, 3 images" */
    int images;
    larmor_group first; /* of its images */
    larmor_grid grid;
    const char *method;       /* as in larmor_recon_opts; "auto": not chosen yet; valid as long as the larmor_recon */
    int coils, sets, given;   /* coils; sets of maps that are solved for, 1 for ordinary ones; 1: maps are given */
    int compressed_from;      /* the coils that were compressed to so many; 0: they were not */
    double compressed_energy; /* the part of the signal's energy that is kept; 0 without compression */
    int maps;                 /* 1: SENSE with maps, 0: root sum of squares */
    int whitened, weighted;   /* 1: by the noise readouts; by density */
    larmor_lambda lambda_mode;
    double lambda;
    int chooses;                /* 1: lambda will be chosen from the data */
    double delay[6];            /* that trajectories are corrected by, as larmor_traj_delay takes them */
    int toeplitz, precondition; /* as in larmor_recon_opts; -1 also where there is no memory */
    int64_t block;              /* coils at a time */
    int64_t bytes, limit; /* of device memory that it takes at most, images of other series included; 0 if unknown */
    const char *maps_method; /* of larmor_maps_method_entry, which finds maps from the data; else "" */
    int compressed_along;    /* 1: the coils are compressed for each place along the readouts by itself */
    int slabs; /* devices of a group, or processes (larmor_recon_share), that have a slab of the volume each; else
                * 0 */
} larmor_recon_plan;

/* The plan for series 0 .. larmor_recon_series - 1. Errors: LARMOR_ERR_ARG; those of the source. */
LARMOR_API larmor_status larmor_recon_describe(const larmor_recon *recon, int series, larmor_recon_plan *plan);

/* A number that differs where the scan does, or an option that changes the images. With a checkpoint arrays count
 * as they were when recon was made; without one those of the options must still be there. Errors: those of the
 * source. */
LARMOR_API larmor_status larmor_recon_fingerprint(const larmor_recon *recon, uint64_t *fingerprint);

/* The shapes and places of the images of a series, before they are made.
 *
 * place   [images of the plan].
 * group   [images of the plan] of the source, as in larmor_recon_image; may be NULL.
 * Errors  those of larmor_recon_describe. */
LARMOR_API larmor_status larmor_recon_expect(const larmor_recon *recon, int series, larmor_image_place *place,
                                             int *group);

/* Of the object's intensity: where the weight takes more (larmor_choice.intensity), the log says so. */
#define LARMOR_MAX_INTENSITY_LOSS 0.03

typedef struct larmor_recon_report { /* how the images of a series came about */
    larmor_status status;            /* LARMOR_ERR_NUMERIC: no image, or a suspect one; else LARMOR_OK */
    char message[512];               /* of that; else "" */
    int is_suspect;                  /* 1: the solver failed, the image is its best iterate */
    int interrupted;                 /* 1: stopped by the listener, the image is the iterate reached */
    larmor_method_choice method;
    larmor_report solver; /* zeros of "grid" */
    larmor_lambda_from lambda_from;
    double lambda, weight; /* of the penalty: as with LARMOR_LAMBDA_RELATIVE, and absolute */
    double noise; /* standard deviation of the real and of the imaginary part of a sample, after whitening, as it was
                * acquired: where oversampling of readouts was removed, that of a sample with it */
    /* About the norm of the noise in the image over that of the image, which solver.left is compared with; 0: not
     * looked at. */
    double image_noise;
    larmor_choice choice; /* how the weight was found, by this image or an earlier one; else zeros */
    double largest;       /* eigenvalue of A^H A; that of the image whose weight is shared; 0 if it was not needed */
    int segments, terms;  /* of off-resonance: of the forward map; of the Toeplitz normal map, if it was; else 0 */
    int toeplitz, preconditioned; /* 1: the normal map was Toeplitz; the circulant was used */
    int ffts;                     /* 1: all samples are on the grid: FFTs took the place of NUFFTs */
    int direct;      /* 1: k-space is fully sampled: one FFT of each coil and their combination, without a solver */
    int made_traj;   /* 1: the trajectory was made from the counters */
    int64_t outside; /* samples beyond the grid's k-space, left out */
    int64_t grid[3]; /* that it was reconstructed on; 1 in unused dimensions */
    larmor_coils_report maps;               /* zeros if maps were given, or there is one coil */
    larmor_coverage coverage;               /* of the first image */
    larmor_partial_fourier partial_fourier; /* what was done; AUTO: nothing, as k-space is whole */
    double off_phase; /* of the signal in the centre of k-space, what is off its smooth phase; 1: not looked at */
    /* Of partial k-space: what an image of that phase does not explain of the samples and one of any phase does,
     * relative to them, and how much it would be of noise alone. */
    double phase_misfit, phase_misfit_noise;
    int constant; /* 1: the penalty has left every image one value and nothing else */
    int folded;   /* bit d: of a grid, the object goes on from one edge of the field of view to the other along axis
                 * d */
    double beyond_maps; /* part of the image's energy where given maps that cover less go on as at their edge */
    larmor_misfit misfit;
    larmor_sample_faults faults;
    double seconds;  /* from the samples to the images */
    char device[32]; /* that it was computed on; another than the caller's where that was left */
    double
        imaginary; /* of images that are held to be real: the part of the energy of one that is not, in its imaginary
                       * part; 0: not looked at */
    double contradicted; /* of images that are held to a set: what they leave of the samples held out, over what free
                          * ones do, minus 1, where that is no chance; else 0 */
    int motion_states;   /* of which each has coil maps of its own; 0: the object rests */
    double motion_mm, motion_deg; /* the largest shift and rotation */
    /* Of motion that is found: what poses and an object at rest leave of readouts that were held out. */
    double motion_misfit, motion_misfit_still;
    /* Its poses, of the last image: rows [motion_rows][7] for larmor_motion_rows; 0: none were looked for. */
    int motion_rows;
    double motion_row[LARMOR_MOST_MOTION_STATES][LARMOR_POSE + 1];
} larmor_recon_report;

/* Reason number i, from 0, why an image may be wrong: one line that says what to do. Returns the kind of warning, a
 * number that stays the same in later versions, or 0 past the last.
 *
 * line  gets the text, of at most room bytes, its end included. */
LARMOR_API int larmor_recon_warning(const larmor_recon_report *report, int i, char *line, size_t room);

typedef struct larmor_recon_image {
    larmor_array
        *data; /* c64 [x, y] or [x, y, z] on the device or, of a group, in the processor's memory; in units of the
                             * density */
    larmor_image_meta meta; /* with the image's own field of view */
    int group;              /* of the source */
} larmor_recon_image;

typedef struct larmor_recon_result {
    larmor_recon_image *image; /* [count] */
    int count;                 /* 0 if the numerics failed: report.status */
    larmor_recon_report report;
} larmor_recon_result;

/* Reconstruct a series. Series may be run in any order, and again. A lambda that was chosen from the data of one
 * series is used for later ones that have about as many samples.
 *
 * result  to be freed by larmor_recon_result_free, also after an error.
 * Errors  LARMOR_ERR_ARG for a series that is not there; LARMOR_STOPPED if the listener stopped it before there was
 *         an iterate; those of the source and of the device. A failure of the numerics is not returned, so that the
 *         other series can go on: result->report.status is then LARMOR_ERR_NUMERIC. */
LARMOR_API larmor_status larmor_recon_run(larmor_recon *recon, int series, larmor_recon_result *result);
LARMOR_API void larmor_recon_result_free(larmor_recon_result *result); /* NULL is fine; also sets all to zero */

/* Keep the series that were run since the last checkpoint; nothing without any, or without a checkpoint.
 *
 * Errors  those of the checkpoint's place. */
LARMOR_API larmor_status larmor_recon_save(larmor_recon *recon);

/* Find the coil maps of a series and make no images: larmor_recon_maps then returns them, as after larmor_recon_run.
 *
 * report  may be NULL.
 * Errors  those of larmor_recon_run, and LARMOR_ERR_NUMERIC where no maps are found. */
LARMOR_API larmor_status larmor_recon_find_maps(larmor_recon *recon, int series, larmor_coils_report *report);

/* The coil maps of the last series that was run, as larmor_recon_opts takes them: of every channel of the source
 * before whitening, with zeros for channels that are left out. Maps of virtual coils are expanded: what they hold
 * of the maps of the coils. As opts.maps with the same compression they give the same image.
 *
 * maps    [image..., channels] or, with several sets, [image..., channels, sets], c64; the caller's to free.
 * meta    where they are: around the image; may be NULL.
 * Errors  LARMOR_ERR_ARG if there are none: those of series from a checkpoint are made again for the last of them
 *         alone; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_recon_maps(larmor_recon *recon, larmor_array **maps, larmor_image_meta *meta);

/* The eigenvalues that belong to those maps, where the method is "espirit".
 *
 * eigenvalues  [image..., sets] c64, real numbers from 0 to 1; the caller's to free.
 * Errors       LARMOR_ERR_ARG if there are none, as for maps, or opts->keep_eigenvalues was 0. */
LARMOR_API larmor_status larmor_recon_eigenvalues(larmor_recon *recon, larmor_array **eigenvalues);

/* The density weights [samples, readouts] of the first image of the last series that was run.
 *
 * weights  real; the caller's to free.
 * Errors   LARMOR_ERR_ARG if there are none, as for maps, or opts->keep_density was 0. */
LARMOR_API larmor_status larmor_recon_density(larmor_recon *recon, larmor_array **weights);

/* The poses that were found for the last image of the last series that was run, as opts->motion takes them: where
 * they do not help, one row of zeros.
 *
 * rows    f64 [rows, 7], on the host; the caller's to free.
 * Errors  LARMOR_ERR_ARG if none were looked for (opts->motion_states). */
LARMOR_API larmor_status larmor_recon_motion(larmor_recon *recon, larmor_array **rows);

/* ---- field maps ---- */

typedef struct larmor_echo_opts { /* zero means default */
    const double *echo_ms;        /* [echoes] times of contrast 0, 1, ...; default: the source's */
    int echoes;
    int rounds; /* how often the images are made: from the second time on they are corrected by the map of the time
                 * before, so that it lies where the object is; default 2 */
    larmor_field_map_opts map;
} larmor_echo_opts;

typedef struct larmor_field_maps {
    larmor_recon_image *image;       /* [count] f32 in Hz, one for each slice, on the image's grid */
    larmor_field_map_report *report; /* [count] */
    int count;
    larmor_array *all; /* f32, for larmor_recon_opts.b0: [x, y, slices] by their numbers, of 3D scans [x, y, z] */
} larmor_field_maps;

/* Maps of off-resonance from a scan's echoes: its contrasts, or its sets where all have one contrast. Each echo of
 * a slice becomes an image by the same coil maps; larmor_field_map makes the map. Of several phases and
 * repetitions the first are used.
 *
 * opts    as for larmor_recon_create; may be NULL. Its b0 is ignored, and so are joint and checkpoint.
 * echo    may be NULL.
 * maps    to be freed by larmor_field_maps_free, also after an error.
 * Errors  those of larmor_recon_create, larmor_recon_run and larmor_field_map; LARMOR_ERR_ARG for scans of one
 *         echo, and where echo times are missing; LARMOR_STOPPED. */
LARMOR_API larmor_status larmor_recon_field_maps(larmor_source *source, larmor_device *dev,
                                                 const larmor_recon_opts *opts, const larmor_echo_opts *echo,
                                                 larmor_field_maps *maps);
LARMOR_API void larmor_field_maps_free(larmor_field_maps *maps); /* NULL is fine; also sets all to zero */

LARMOR_C_END
#endif
