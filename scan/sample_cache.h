/* The samples of images, of which those that are looked at before the first image are wanted again.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* *taken <- 1, and samples, made and c as lmr_group_samples had them, if those of this group are there and nothing
 * that they depend on has changed since but that they are to be compressed, which is done. Those that are there and
 * no longer hold are freed, but for those of all frames, of which a frame's own are asked. calibration: as of a
 * source. */
larmor_status lmr_sample_cache_take(lmr_job *job, int index, int calibration, larmor_samples *samples, int *made,
                                    lmr_cartesian *c, int *taken);

/* What they take of the device's memory. */
int64_t lmr_sample_cache_bytes(const lmr_job *job);

void lmr_sample_cache_clear(lmr_caches *caches);

/* The scaled and whitened samples of a group, with a trajectory that was made from the counters where the source
 * has none: then *made is 1. cartesian: how they lie on the grid. */
larmor_status lmr_group_samples(lmr_job *job, int index, larmor_samples *samples, int *made,
                                lmr_cartesian *cartesian);

/* 1 if groups are frames whose maps are those of the whole image that they were cut from. */
int lmr_averages(const lmr_job *job);

/* The samples of the whole image that a frame was cut from; of a group that is no frame, its own. */
larmor_status lmr_group_average(lmr_job *job, int index, larmor_samples *samples, int *made,
                                lmr_cartesian *cartesian);

/* In place of larmor_samples_free: returns unmodified samples to the cache, from which the next call of
 * lmr_group_samples may get them. */
void lmr_samples_release(lmr_job *job, int index, larmor_samples *samples, int made, const lmr_cartesian *cartesian);
