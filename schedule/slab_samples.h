/* The samples of a rank that has a slab of the volume, and the coil maps of its planes. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "scan/job.h"

/* Readouts first .. first + count - 1 of a group, on the grid, whitened and compressed. Where the job has no scale
 * yet, larmor_nrm2 has to be that of all ranks. */
larmor_status lmr_slab_read(lmr_job *job, int index, int64_t first, int64_t count, larmor_samples *samples);

/* All readouts if they take no more than so many bytes, else as many, in runs that are spread over the group. */
larmor_status lmr_slab_some(lmr_job *job, int index, int64_t bytes, larmor_samples *samples);

/* The job's maps become those of this rank's planes, if they are not. All readouts are read for them, so many at a
 * time. */
larmor_status lmr_slab_maps(lmr_job *job, int index, const lmr_frame *frame);
int64_t lmr_slab_lot(const lmr_job *job, const larmor_group *g);

/* All readouts' samples [count, 1, coils] within so many 1/FOV of the centre of k-space and their points [3,
 * count, 1], and the deviation of the noise of all. */
larmor_status lmr_slab_centre(lmr_job *job, int index, int64_t radius, larmor_array **kspace, larmor_array **traj,
                              double *noise);

/* How many samples of a coil they come from: all readouts are read, once, and the samples stay in the job's caches
 * for the maps, until they are forgotten. */
larmor_status lmr_slab_count_centre(const lmr_job *job, int index, int64_t *count);
void lmr_slab_forget_centre(lmr_caches *caches);
