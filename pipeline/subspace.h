/* The problem of a series whose frames are sums of a few coefficient images. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* The job's scale, skew and kind of its basis. Errors: LARMOR_ERR_NUMERIC if that is zero or not finite. */
larmor_status lmr_basis_measure(lmr_scan_facts *facts);

/* [samples, readouts] of all frames together; [total, 1] where readouts differ in length. */
larmor_shape lmr_frames_shape(const lmr_frame *frames, int count);

/* The points of all frames, [nd, samples, readouts]. */
larmor_status lmr_frames_points(const lmr_job *job, const lmr_frame *frames, int count, larmor_array **traj);

/* Off-resonance of all frames together, which becomes that of the first frame. */
larmor_status lmr_subspace_segments(const lmr_job *job, const int *index, int count, lmr_frame *frames);

/* The options of SENSE of a frame's samples. */
larmor_sense_opts lmr_frame_sense(const lmr_job *job, const lmr_frame *frame, int toeplitz);

/* SENSE of the coefficients. toeplitz: 1 if its normal map is. */
larmor_status lmr_subspace_operator(const lmr_job *job, const lmr_frame *frames, int count, larmor_array *maps,
                                    larmor_op **A, int *toeplitz);

/* The frames [image..., frames] of coefficients [image..., coefficients]. */
larmor_status lmr_subspace_frames(const lmr_job *job, const larmor_array *x, larmor_array **frames);
