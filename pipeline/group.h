/* A group of readouts becomes an image: samples, density, coil maps, solution. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_GROUP_H
#define LMR_PIPELINE_GROUP_H

#include "pipeline/events.h"
#include "pipeline/source.h"

typedef enum lmr_method { LMR_METHOD_GRID, LMR_METHOD_CG, LMR_METHOD_REGULARISED } lmr_method;

/* A weight that was chosen, for the images of the scan that follow. */
typedef struct lmr_weight {
    double weight, noise; /* as in larmor_recon_report, but the noise as it was measured first */
    double unit;          /* what the noise makes of the weight: it is proportional to that */
    double data;          /* samples of all coils that it was chosen from */
    larmor_choice choice;
    int encoding;
} lmr_weight;

/* What the images are made by and of. Members that are named as in larmor_recon_opts are those. */
typedef struct lmr_job {
    lmr_method method;
    const char *regulariser; /* the method's name, of LMR_METHOD_REGULARISED one of larmor_regulariser_create */
    int joint;
    larmor_density density;
    int weighted, no_maps, iters;
    larmor_plan_effort effort;
    double tol, eps;
    int no_choice; /* 1: there is no memory to choose lambda */
    larmor_lambda choose;
    double lambda, time_weight;
    int64_t llr_block, calibration;
    int64_t block; /* coils at a time, 0 for all */
    int toeplitz, precondition;
    lmr_events *events;

    larmor_source *source;
    larmor_raw_info info; /* of the source */
    larmor_device *dev;
    larmor_array *whitening; /* [coils, coils], or NULL */
    larmor_array *given;     /* the caller's maps, not whitened yet, or NULL */
    larmor_grid *grid;       /* of every group of the scan; alike for all of an encoding */
    int sets;                /* of the given maps, more than 1 (soft SENSE); 0 for maps without that dimension */

    /* made by the first group of a slice and kept for its other groups */
    larmor_array *maps;
    int maps_encoding, maps_slice;
    larmor_coils_report maps_report; /* of maps from the data */
    lmr_weight chosen;               /* by the last image that chose; weight 0: there is none */
    int keep_weights;                /* 1: the density weights of the last group stay in `weights` */
    larmor_array *weights;
} lmr_job;

/* Reconstruct groups of one encoding and slice together, or a single one.
 *
 * image   [count], c64, each cropped to the image's matrix and in units of the density; the caller's to free.
 * report  all but its status, message of a failure and time.
 * Errors  those of the library, and LARMOR_ERR_FORMAT if the trajectory is neither stored nor one that counters define. */
larmor_status lmr_solve_groups(lmr_job *job, const int *index, int count, larmor_array **image,
                               larmor_recon_report *report);

/* The whitened samples of a group, with a trajectory that was made from the counters where the source has none: then
 * *made is 1. */
larmor_status lmr_group_samples(const lmr_job *job, int index, larmor_samples *samples, int *made);

/* A view of x[..., index], without the last dimension. */
larmor_status lmr_one_of(larmor_array *x, int64_t index, larmor_array **one);

/* 1 if the job reconstructs both groups in one series. */
int lmr_joint(const lmr_job *job, const larmor_group *a, const larmor_group *b);

/* Give up all that the job holds. */
void lmr_job_clear(lmr_job *job);

#endif
