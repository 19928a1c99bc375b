/* Geometry of ISMRMRD images (LPS, mm) and how single slices become volumes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/images/formats.h"

#define LMR_TICK_S 2.5e-3 /* of time stamps, which ISMRMRD does not say: Siemens' */

typedef struct lmr_volumes {
    int slices, volumes; /* images in a volume, and volumes */
    int *order;          /* [slices, volumes] indices of images; owned */
    int place_unknown;   /* 1: an image does not say where it lies, or slices lie on each other */
    double step_s;       /* between volumes that are repetitions, by their time stamps; 0: not known, or uneven */
    double least_step_s; /* of those where some are missing between others; else 0 */
    double affine[3][4]; /* voxel indices to LPS mm of the first volume; columns are step vectors, then the corner */
} lmr_volumes;

static inline void lmr_volumes_free(lmr_volumes *v)
{
    free(v->order);
}

/* Stack the images: slices with the same other counters become one volume, sorted by position along the slice
 * direction, with the step between their positions (the slice thickness if all positions are the same); images that
 * are volumes already are only counted. Sizes and directions of 0 become voxels of 1 mm and the axes.
 *
 * Errors  LARMOR_ERR_ARG for slices that are unevenly spaced, not parallel or shifted in plane, and for volumes of
 *         different slices; LARMOR_ERR_MEMORY. End v by lmr_volumes_free, also after an error. */
larmor_status lmr_arrange(const char *path, const lmr_images *images, lmr_volumes *v);

/* As lmr_arrange, of any images and without a geometry: those that are not parallel are in the order of their slice
 * counters, and where volumes have different slices each image is a volume, in the order in which it comes.
 *
 * Errors  LARMOR_ERR_MEMORY. End v likewise. */
larmor_status lmr_order(const lmr_images *images, lmr_volumes *v);

/* Into which files images go of which one cannot hold all: by orientation and size of voxels, then by runs of evenly
 * spaced slices and by volumes that have the same ones.
 *
 * class   [images] becomes the same for those of one file.
 * Errors  LARMOR_ERR_MEMORY. */
larmor_status lmr_divide(const char *path, const lmr_images *images, int *class);

/* Part 1 of an output of NIfTI: what BIDS says of its volumes. Errors: those of a reader and of outputs. */
larmor_status lmr_sidecar(larmor_output *out, const lmr_images *images, const lmr_volumes *v);

/* From voxels to mm (LPS) for an image of this size: voxel (x, y, z) lies at affine (x, y, z, 1). Directions that are
 * not known are x, y and what is normal to both. */
void lmr_image_affine(const larmor_image_meta *meta, const int64_t dim[3], double affine[3][4]);
