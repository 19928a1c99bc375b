/* From the samples of one or more images to the images. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_SOLVE_H
#define LMR_PIPELINE_SOLVE_H

#include "pipeline/group.h"

/* What one image is made of; all of it belongs to whoever made it. */
typedef struct lmr_frame {
    larmor_group group;
    larmor_encoding encoding;
    larmor_grid grid;
    larmor_samples samples; /* whitened, with their trajectory */
    larmor_array *weights;  /* density, or NULL */
} lmr_frame;

/* x in y = A x, on the grid, by the job's method and with its maps: [image...], or [image..., frames] if there are more
 * than one. Gridding changes the samples.
 *
 * result  gets what it says of the solver. */
larmor_status lmr_solve_frames(lmr_job *job, lmr_frame *frames, int count, larmor_array **x,
                               larmor_recon_report *result);

/* The regulariser's options for so many frames at once. */
larmor_regulariser_opts lmr_regulariser_opts(const lmr_job *job, int frames);

/* How many normal maps the method takes, about; those of a penalty have inner steps, too. */
int64_t lmr_normals(const lmr_job *job);

/* 1 if lambda is to be found from the data. */
int lmr_chooses(const lmr_job *job);

/* 1 if the weight was chosen from data, those of this image or of an earlier one. */
int lmr_from_data(const larmor_recon_report *report);

/* The shape of an image on this grid. */
larmor_shape lmr_grid_shape(const larmor_grid *grid);

/* Single precision carries the NUFFT down to 1e-6; below that everything is done in double. */
larmor_dtype lmr_job_precision(const lmr_job *job);

#endif
