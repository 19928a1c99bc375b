/* From the samples of one or more images to the images: the methods of `larmor recon`. SPDX-License-Identifier: Apache-2.0
 */
#ifndef APP_RECON_SOLVE_H
#define APP_RECON_SOLVE_H

#include "recon_group.h"

/* What one image is made of; all of it belongs to whoever made it. */
typedef struct recon_frame {
    larmor_group group;
    larmor_encoding encoding;
    larmor_grid grid;
    larmor_samples samples; /* whitened, with their trajectory */
    larmor_array *weights;  /* density, or NULL */
} recon_frame;

/* x in y = A x, on the grid, by the job's method and with its maps: [image...], or [image..., frames] if there are more
 * than one. Gridding changes the samples.
 *
 * result  gets what it says of the solver. */
larmor_status recon_solve(recon_job *job, recon_frame *frames, int count, larmor_array **x, recon_result *result);

/* The regulariser's options for so many frames at once. */
larmor_regulariser_opts recon_regulariser_opts(const recon_job *job, int frames);

/* How many normal maps the method takes, about; those of a penalty have inner steps, too. */
int64_t recon_normals(const recon_job *job);

/* 1 if lambda is to be found from the data. */
int recon_chooses(const recon_job *job);

/* The shape of an image on this grid. */
larmor_shape recon_image_shape(const larmor_grid *grid);

/* Single precision carries the NUFFT down to 1e-6; below that everything is done in double. */
larmor_dtype recon_precision(const recon_job *job);

#endif
