/* Numbers of all ranks that have a slab of the volume each: called by all of them at the same place.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* 1 if any of them is to stop; without slabs `stop` itself. */
int lmr_slabs_stop(const lmr_job *job, int stop);

/* 1 if a rank has failed, which all know. */
int lmr_slabs_failed(const lmr_job *job);

/* Noise in the place of this rank's samples [..., coils]: those numbers that the whole scan would have there. */
larmor_status lmr_slabs_fill_noise(const lmr_job *job, double deviation, uint64_t seed, larmor_array *noise);
