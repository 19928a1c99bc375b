/* The problem of a series whose frames are sums of a few coefficient images. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_SUBSPACE_H
#define LMR_PIPELINE_SUBSPACE_H

#include "pipeline/job.h"

/* *is_complex: 1 if a number of the basis has an imaginary part. */
larmor_status lmr_basis_kind(larmor_array *basis, int *is_complex);

/* [samples, readouts] of all frames together; [total, 1] where readouts differ in length. */
larmor_shape lmr_frames_shape(const lmr_frame *frames, int count);

/* The points of all frames, [nd, samples, readouts]. */
larmor_status lmr_frames_points(const lmr_job *job, const lmr_frame *frames, int count, larmor_array **traj);

/* SENSE of the coefficients. toeplitz: 1 if its normal map is. */
larmor_status lmr_subspace_operator(const lmr_job *job, const lmr_frame *frames, int count, larmor_array *maps,
                                    larmor_op **A, int *toeplitz);

/* The frames [image..., frames] of coefficients [image..., coefficients]. */
larmor_status lmr_subspace_frames(const lmr_job *job, const larmor_array *x, larmor_array **frames);

#endif
