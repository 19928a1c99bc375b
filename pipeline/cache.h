/* What images with the same trajectory have in common: found for the first of them, and kept for those that follow.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* Of a few trajectories, those that were asked for last. Counted references; several threads may use it. Its
 * arrays are never written again, and go to another device of the same memory as copies. */
typedef struct lmr_trajectory_cache lmr_trajectory_cache;

/* Of one of them: equal to the bit, on the same grid, in samples of the same layout. */
typedef struct lmr_cached lmr_cached;

enum { LMR_MAX_CACHED_TRAJECTORIES = 4 }; /* trajectories */

lmr_trajectory_cache *lmr_trajectory_cache_ref(lmr_trajectory_cache *cache); /* NULL is fine */

/* That of a frame's samples, to be freed; NULL where the job keeps nothing. */
larmor_status lmr_trajectory_cache_find(const lmr_job *job, const lmr_frame *frame, lmr_cached **cached);
lmr_cached *lmr_cached_ref(lmr_cached *cached);
void lmr_cached_free(lmr_cached *cached); /* NULL is fine */

typedef enum lmr_cached_part {
    LMR_CACHED_WEIGHTS,   /* density */
    LMR_CACHED_SPREAD,    /* point spread function of the circulant */
    LMR_CACHED_CENTRE,    /* density in the centre of k-space, for coil maps */
    LMR_CACHED_NOISE,     /* coil images of a sample of noise */
    LMR_CACHED_DEVIATION, /* the deviation of the noise in an image, and */
    LMR_CACHED_MAPS,      /* the coil maps that it is for */
    LMR_CACHED_PARTS
} lmr_cached_part;

/* *x <- the part as it was found by the same numbers, on dev and to be read only; NULL if it was not found yet.
 * common: NULL is fine, as for lmr_cached_put, which keeps a reference. */
larmor_status lmr_cached_take(lmr_cached *cached, lmr_cached_part part, const double by[2], larmor_device *dev,
                              larmor_array **x);
void lmr_cached_put(lmr_cached *cached, lmr_cached_part part, const double by[2], larmor_array *x);

/* How often a part was there. */
int64_t lmr_trajectory_cache_hits(lmr_trajectory_cache *cache);

/* The operator of a job's last image, for the next one with the same trajectory: one thread's. */
typedef struct lmr_operator_cache {
    larmor_op *A;
    lmr_cached *of;
    double by;    /* as lmr_density_key had it */
    int64_t used; /* times that it became the next image's */
} lmr_operator_cache;
void lmr_operator_cache_clear(lmr_operator_cache *cache); /* NULL is fine */

/* 1 if such operators are kept of the job, and a single image of this frame has one: of larmor_op_sense on one
 *   device. */
int lmr_operator_cache_suits(const lmr_job *job, const lmr_frame *frame);

/* *A <- the last image's, where that had the same trajectory and is in use no more, with these maps; else NULL. */
larmor_status lmr_operator_cache_take(const lmr_job *job, const lmr_frame *frame, larmor_array *maps, larmor_op **A);
void lmr_operator_cache_keep(const lmr_job *job, const lmr_frame *frame, larmor_op *A);

/* For a job that keeps what images have in common, of so many trajectories: a cache of trajectories and one of
 * its last operator. */
larmor_status lmr_caches_open(int room, lmr_caches *caches);
void lmr_caches_close(lmr_caches *caches);

/* What density weights are found by, beside the trajectory. */
double lmr_density_key(const lmr_job *job, const lmr_frame *frame);
