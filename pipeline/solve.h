/* From the samples of one or more images to the images. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* x in y = A x, on the grid, by the job's method and with its maps: [image...], or [image..., frames] if there are
 * more than one. Gridding changes the samples.
 *
 * result  gets what it says of the solver. */
larmor_status lmr_solve_frames(lmr_job *job, lmr_frame *frames, int count, larmor_array **x,
                               larmor_recon_report *result);
