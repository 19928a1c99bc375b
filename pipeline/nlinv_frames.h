/* Frames by nonlinear inversion, each held to the one before. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* *x <- [image...] or, of several frames, [image..., count]. Images that follow each other (live/) go on with the
 * series of the one before. */
larmor_status lmr_nlinv_frames(lmr_job *job, const lmr_frame *frames, int count, larmor_array **x,
                               larmor_recon_report *result);

/* Bytes of device memory that it takes at most, its result included; p: of the largest frame. */
larmor_status lmr_nlinv_frames_bytes(const lmr_job *job, const larmor_problem *p, int count, double *bytes);
