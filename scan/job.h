/* What the steps of a reconstruction share, and values that follow from it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/events.h"
#include "scan/found.h"
#include "scan/scan_facts.h"

/* What images of a scan have in common and need not be made again; one thread's. */
typedef struct lmr_caches {
    struct lmr_trajectory_cache *trajectories; /* of trajectories, NULL: nothing is kept */
    struct lmr_operator_cache *last_operator;  /* the operator of the last image, or NULL */
    struct lmr_sample_cache *samples;          /* samples that are read again, or NULL */
    struct lmr_slab_middle *centre;            /* of k-space of a volume in slabs, or NULL */
    int keep_samples; /* 1: memory is not limited, so that samples may stay that are looked at */
} lmr_caches;

/* What a step of a reconstruction gets. */
typedef struct lmr_job {
    const lmr_settings *settings;
    const lmr_scan_facts *facts;
    lmr_caches *caches;
    lmr_found found;
    lmr_events *events;
    struct lmr_kept *checkpoint; /* of schedule/checkpoint.h, or NULL */
} lmr_job;

/* How samples lie on the grid. */
typedef struct lmr_cartesian {
    int on_grid;             /* 1: all of them, exactly; then: */
    int64_t repeats;         /* the most at one place */
    int box;                 /* 1: every place from low to high is sampled equally often */
    int aliased;             /* 1: all places lie on a lattice that is coarser than the grid */
    int64_t low[3], high[3]; /* the outermost places */
    double deviation; /* of the noise, whitened or not, over that of the samples as they were acquired: below 1 where
                       * oversampling was removed: */
    int shifted;      /* 1: its lines were shifted by the delays, and coordinates stay */
    larmor_sample_faults faults; /* of the samples as they were acquired */
    double level; /* of the noise in the samples, before whitening and the job's scale, as measured with it; 0: not */
    double level_of_lines; /* the same by larmor_noise_of_lines */
} lmr_cartesian;

/* The inputs of one image, which belong to their maker. */
typedef struct lmr_frame {
    larmor_group group;
    larmor_encoding encoding;
    larmor_grid grid;
    larmor_samples samples; /* whitened, with their trajectory */
    larmor_array *weights;  /* density, or NULL */
    larmor_array *phase;    /* [image...], of the job's precision: known before the image; or NULL */
    int has_phase;          /* 1: the solution is an image without that phase, nearly real: */
    double off_phase;       /* its imaginary part relative to all of it */
    double size;            /* the norm of the samples, before weights */
    int is_empty;           /* 1: samples are all 0, and what is made of them was left out */
    lmr_cartesian cartesian;
    larmor_segments *segments;       /* of off-resonance, or NULL */
    larmor_array *displacement;      /* [image..., ndim] in voxels, of voxels from where they are; or NULL */
    struct lmr_frame_motion *motion; /* of physics/motion.h; NULL: all readouts see the job's maps */
    struct lmr_cached *cached;       /* with others of its trajectory and weights; NULL: nothing, as with a phase */
} lmr_frame;

/* Change x by the maps; of several sets each image by its own. */
larmor_status lmr_each_set(const lmr_job *job, larmor_array *x,
                           larmor_status (*change)(const larmor_array *maps, larmor_array *x));

/* 1 if the method solves for the images of the coils, without maps. */
int lmr_solves_coils(const lmr_job *job);

/* How many images a series of so many frames is solved for, and how many it gives. */
int lmr_unknowns(const lmr_job *job, int frames);
int lmr_outputs(const lmr_job *job, int frames);

/* 1 if the job reconstructs both groups in one series. */
int lmr_joint(const lmr_job *job, const larmor_group *a, const larmor_group *b);

/* Before the samples of an image are read: their scale is that of the noise that whitens them, or of the image that
 * this one follows, or it is chosen anew. */
void lmr_scale_begin(lmr_job *job);

/* The scale is this one from now on. */
void lmr_scale_take(lmr_job *job, double scale);

/* Multiply samples by the scale. Where that is not chosen yet it is chosen from them: values whose squares single
 * precision does not hold are brought near 1. */
larmor_status lmr_scale_samples(lmr_job *job, larmor_array *samples);

/* What an image of scaled samples is to be multiplied by, and the report's numbers in the samples' own unit. */
double lmr_unscaled_image(const lmr_job *job);
/* What an image in voxels of this grid is to be multiplied by. */
double lmr_image_factor(const lmr_job *job, const larmor_encoding *enc, const larmor_grid *grid);
void lmr_unscale_report(const lmr_job *job, larmor_recon_report *report);

/* The weight and the noise of a report as they are for the scaled samples of a frame, by the job's method. */
double lmr_scaled_weight(const lmr_job *job, const larmor_recon_report *report);
double lmr_scaled_noise(const lmr_job *job, const lmr_frame *frame, const larmor_recon_report *report);

/* The image's meta from its group: its geometry on the image's own field of view. first: the first group of the
 * series, whose coefficient number i it may be. */
larmor_status lmr_describe_image(const lmr_job *job, int first, int i, larmor_recon_image *image);

/* 1 if so many devices, or ranks, can work on one series: SENSE of coils that they share (larmor_op_sense). */
int lmr_shares_coils(const lmr_job *job, int devices);

/* 1 if the members of the job's device, a group, take whole series of so many. */
int lmr_spreads_series(const lmr_job *job, int series);

/* The group whose data gave the maps; -1: there are none. */
int lmr_maps_group(const lmr_job *job);

/* The sides of a voxel, in mm, much longer along axes whose voxels are no neighbours; returns 0, and 1 in the place
 * of mm, where the others differ so much that they are not believed. */
int lmr_voxel_sides(const larmor_grid *grid, double side[3]);

/* The regulariser's options for so many frames at once, whose images have this grid. */
larmor_regulariser_opts lmr_regulariser_opts(const lmr_job *job, int frames, const larmor_grid *grid);

/* About how many normal maps the method needs; those of a penalty have inner steps, too. */
int64_t lmr_normals(const lmr_job *job);

/* 1 if lambda is to be found from the data. */
int lmr_chooses(const lmr_job *job);

/* 1 if what is missing at one side of k-space may be filled in, where an image has one phase. */
int lmr_may_fill(const lmr_job *job);

/* The shape of an image on this grid. */
larmor_shape lmr_grid_shape(const larmor_grid *grid);

/* Single precision carries the NUFFT down to 1e-6, and a given lambda of cg down to LMR_SINGLE_LAMBDA of the largest
 * eigenvalue: images by less are mostly its rounding, 2e-8 / lambda of themselves. Below that everything is done in
 * double. */
#define LMR_SINGLE_LAMBDA 3e-5
int lmr_job_resolves_lambda(const lmr_job *job);
larmor_dtype lmr_job_precision(const lmr_job *job);
