/* A volume that no process holds by itself: each rank has a slab of it. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_SLABS_H
#define LMR_PIPELINE_SLABS_H

#include "pipeline/state.h"

/* Why the reconstruction cannot be done in slabs, in some words; NULL: it can. */
const char *lmr_slabs_unfit(const larmor_recon *r);

/* From here on the job's volumes are in slabs, of which each of opts.ranks has one. */
void lmr_slabs_take(larmor_recon *r);

/* The plan of each rank becomes r->plan, and the job has what follows from it. The readouts of the first image are read once
 * for it. Errors: LARMOR_ERR_MEMORY where a slab does not fit either; those of the source. */
larmor_status lmr_slabs_plan(larmor_recon *r);

/* Rank 0: have all ranks reconstruct series s, and do so. The others get no image, and rank 0's error as LARMOR_STOPPED.
 *
 * image  c64, on rank 0 alone, else NULL. */
larmor_status lmr_slabs_run(larmor_recon *r, int s, larmor_array **image, larmor_recon_report *report);

/* Other ranks: do what rank 0 asks for, until it frees its ranks. */
larmor_status lmr_slabs_serve(larmor_recon *r);

/* Those that follow are called by all ranks at the same place.
 *
 * 1 if any of them is to stop; without slabs `stop` itself. */
int lmr_slabs_stop(const lmr_job *job, int stop);

/* 1 if a rank has failed, which all know. */
int lmr_slabs_failed(const lmr_job *job);

/* The standard deviation of the noise, of the samples of all. */
larmor_status lmr_slabs_noise_level(const lmr_job *job, const lmr_frame *frame, double *deviation);

/* Noise in the place of this rank's samples [..., coils]: those numbers that the whole scan would have there. */
larmor_status lmr_slabs_fill_noise(const lmr_job *job, double deviation, uint64_t seed, larmor_array *noise);

#endif
