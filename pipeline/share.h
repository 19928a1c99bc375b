/* What images with the same trajectory have in common: found for the first of them, and kept for those that follow.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_SHARE_H
#define LMR_PIPELINE_SHARE_H

#include "scan/job.h"

/* Of a few trajectories, those that were asked for last. Counted references; several threads may use it. Its
 * arrays are never written again, and go to another device of the same memory as copies. */
typedef struct lmr_share lmr_share;

/* Of one of them: equal to the bit, on the same grid, in samples of the same layout. */
typedef struct lmr_common lmr_common;

enum { LMR_SHARE_MOST = 4 }; /* trajectories */

larmor_status lmr_share_create(int room, lmr_share **share);
lmr_share *lmr_share_ref(lmr_share *share); /* NULL is fine */
void lmr_share_free(lmr_share *share);      /* NULL is fine */

/* That of a frame's samples, to be freed; NULL where the job shares nothing. */
larmor_status lmr_share_find(const lmr_job *job, const lmr_frame *frame, lmr_common **common);
lmr_common *lmr_common_ref(lmr_common *common);
void lmr_common_free(lmr_common *common); /* NULL is fine */

typedef enum lmr_common_part {
    LMR_COMMON_WEIGHTS, /* density */
    LMR_COMMON_SPREAD,  /* point spread function of the circulant */
    LMR_COMMON_CENTRE,  /* density in the centre of k-space, for coil maps */
    LMR_COMMON_NOISE,   /* coil images of a sample of noise */
    LMR_COMMON_PARTS
} lmr_common_part;

/* *x <- the part as it was found by the same numbers, on dev and to be read only; NULL if it was not found yet.
 * common: NULL is fine, as for lmr_common_put, which keeps a reference. */
larmor_status lmr_common_take(lmr_common *common, lmr_common_part part, const double by[2], larmor_device *dev,
                              larmor_array **x);
void lmr_common_put(lmr_common *common, lmr_common_part part, const double by[2], larmor_array *x);

/* How often a part was there. */
int64_t lmr_share_hits(lmr_share *share);

/* The operator of a job's last image, for the next one with the same trajectory: one thread's. */
typedef struct lmr_ready {
    larmor_op *A;
    lmr_common *of;
    double by;    /* as lmr_share_density had it */
    int64_t used; /* times that it became the next image's */
} lmr_ready;
void lmr_ready_clear(lmr_ready *ready); /* NULL is fine */

/* 1 if such operators are kept of the job, and a single image of this frame has one: of larmor_op_sense on one
 *   device. */
int lmr_ready_suits(const lmr_job *job, const lmr_frame *frame);

/* *A <- the last image's, where that had the same trajectory and is in use no more, with these maps; else NULL. */
larmor_status lmr_ready_take(const lmr_job *job, const lmr_frame *frame, larmor_array *maps, larmor_op **A);
void lmr_ready_keep(const lmr_job *job, const lmr_frame *frame, larmor_op *A);

/* For a job that keeps what images have in common, of so many trajectories: a share and a place for operators of
 * its own. */
larmor_status lmr_share_open(int room, lmr_caches *caches);
void lmr_share_close(lmr_caches *caches);

/* What density weights are found by, beside the trajectory. */
double lmr_share_density(const lmr_job *job, const lmr_frame *frame);

#endif
