/* Partial Fourier: k-space of Cartesian scans that reaches further to one side of its centre.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* 1 if an axis is partial. */
int lmr_is_partial(const larmor_coverage *c);

/* The voxels with which an image of so many is sought whose k-space is partial. */
larmor_shape lmr_partial_voxels(larmor_shape image);

/* The part of the energy of an image [image...] in planes of k-space that are not sampled, beyond twice that in those
 * opposite, which are, at the same distance from the partial axis; the largest of the partial axes. */
larmor_status lmr_partial_excess(const larmor_array *x, const larmor_coverage *c, double *excess);

/* What is to be done about it, in result->partial_fourier, and for images that are to have the phase of their
 * centre that phase, in the frames. Nothing where k-space is whole, or not on a grid.
 *
 * noise   deviation of a sample of the frames, before weights.
 * finer   the job that is to be solved, to be closed by lmr_partial_close, after errors, too: with more voxels, as
 *         the frames have then, where an image is to have a phase. */
larmor_status lmr_partial_begin(const lmr_job *job, lmr_frame *frames, int count, double noise, lmr_job *finer,
                                larmor_recon_report *result);

/* The image of the finer job's solution *x: with its phase, or after projections, with the job's voxels; nothing
 * where nothing was begun. */
larmor_status lmr_partial_end(const lmr_job *job, const lmr_job *finer, lmr_frame *frames, int count,
                              larmor_array **x, larmor_recon_report *result);

/* What the solution taught stays the job's. */
void lmr_partial_close(lmr_job *job, lmr_job *finer);

/* A line of what was done about it, where something was. name: of the image. */
void lmr_partial_report(const lmr_job *job, const char *name, const larmor_recon_report *now);
