/* The coil maps of a slice. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "pipeline/maps_task.h"

/* The method of that name, or NULL. */
const lmr_maps_method *lmr_maps_method_of(const char *name);

/* Samples of a volume that are farther than this from the centre of k-space, in 1/FOV, are not looked at by the job's
 * method. encoded: as that of a task. */
void lmr_maps_radius(const lmr_job *job, larmor_shape image, const double encoded[3], double radius[3]);

/* The field of view that was encoded, as part of the image's. */
void lmr_maps_encoded(const larmor_encoding *encoding, const larmor_grid *grid, double encoded[3]);

/* The most bytes that the method takes for maps on this grid, beyond the samples and the maps. */
larmor_status lmr_maps_bytes(const lmr_job *job, const lmr_maps_method *method, const larmor_grid *grid,
                             const larmor_problem *p, int64_t *bytes);

/* 1 if the job's maps are by ESPIRiT though nobody asked for them, so that Walsh's may take their place. */
int lmr_maps_give_way(const lmr_job *job);

/* 1 if the job's maps are those of this group's slice. */
int lmr_maps_are_of(const lmr_job *job, const larmor_group *group);

/* The job's maps become those of this group's slice: given ones, or all one for a single coil, or from the data.
 *
 * index    of the group.
 * samples  the group's, whitened.
 * method   for maps from the data.
 * cached   with other images (pipeline/cache.h), or NULL. */
larmor_status lmr_make_maps(lmr_job *job, int index, const larmor_group *group, const larmor_grid *grid,
                            const larmor_samples *samples, const lmr_maps_method *method, struct lmr_cached *cached);

/* What the data say of the maps to find from them. */
typedef struct lmr_calibration_survey {
    int64_t side;    /* of the calibration region along its shortest axis; 0: there is none */
    int cartesian;   /* 1: its samples lie on a grid */
    int is_shared;   /* 1: of slices that are no neighbours and none of which is measured alone, of all at once; else
                      * of the middle one, or of the image */
    int straight;    /* 1: readouts are spokes, or lines through the centre */
    int block;       /* 1: of a grid, the region is smaller than usual along an axis, and than the image's k-space */
    int gaps;        /* 1: of a grid, the image's own lines lack some between them */
    int complete;    /* 1: lines of the grid that lack none between them */
    double aliasing; /* larmor_calibration_aliasing; 0 where readouts are straight */
    double spacing;  /* of the samples along readouts near the centre, in 1/FOV */
    double folded;   /* of a grid, the part of the object where two sets of maps have a signal in low resolution */
} lmr_calibration_survey;

/* 1 where the centre of k-space is undersampled so much that maps from it would alias. aliasing: that of
 * larmor_calibration_aliasing. */
int lmr_maps_alias(int ndim, double aliasing);

/* A look at a group's data before its maps are made: from what these will be made.
 *
 * at_region  0: side, cartesian and folded are not looked for, and stay 0. */
larmor_status lmr_maps_look(lmr_job *job, int index, const larmor_group *group, const larmor_grid *grid,
                            const larmor_samples *samples, int at_region, lmr_calibration_survey *survey);

/* The calibration region that maps of this group are made from; *region stays NULL where there is none, or where
 * images of the centre alias so much that nothing can be said of maps. */
larmor_status lmr_maps_region(lmr_job *job, int index, const larmor_group *group, const larmor_grid *grid,
                              const larmor_samples *samples, larmor_array **region, larmor_region_report *found);
