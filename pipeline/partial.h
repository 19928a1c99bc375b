/* Partial Fourier: k-space of Cartesian scans that reaches further to one side of its centre. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LMR_PIPELINE_PARTIAL_H
#define LMR_PIPELINE_PARTIAL_H

#include "pipeline/job.h"

/* 1 if an axis is partial. */
int lmr_is_partial(const larmor_coverage *c);

/* What is to be done about it, in result->partial_fourier, and for images that are to have the phase of their centre that
 * phase, in the frames. Nothing where k-space is whole, or not on a grid.
 *
 * noise   deviation of a sample of the frames, before weights. */
larmor_status lmr_partial_begin(const lmr_job *job, lmr_frame *frames, int count, double noise,
                                larmor_recon_report *result);

/* The image of the solution x: with its phase, or after projections; nothing where nothing was begun. */
larmor_status lmr_partial_end(const lmr_job *job, const lmr_frame *frames, int count, larmor_array *x,
                              larmor_recon_report *result);

#endif
