/* Samples that are looked at before the first image and are wanted again. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* *taken <- 1, and samples, made and c as lmr_group_samples had them, if those of this group are there and nothing
 * that they depend on has changed since but that they are to be compressed, which is done. Those that are there and
 * no longer hold are freed. calibration: as of a source. */
larmor_status lmr_sample_cache_take(lmr_job *job, int index, int calibration, larmor_samples *samples, int *made,
                                    lmr_cartesian *c, int *taken);

/* Returns samples, unmodified, to the cache, in place of others, where memory is not limited and has room for
 * many of them; else they are freed. */
void lmr_sample_cache_keep(lmr_job *job, int index, int calibration, larmor_samples *samples, int made,
                           const lmr_cartesian *c);

/* What they take of the device's memory. */
int64_t lmr_sample_cache_bytes(const lmr_job *job);

void lmr_sample_cache_clear(lmr_caches *caches);
