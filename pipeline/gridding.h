/* Gridding: the adjoint NUFFT of weighted samples, without iterations. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* x: the adjoint of one frame over the energy of the maps, or the root sum of squares without them. The frame's
 * samples are weighted on the way. */
larmor_status lmr_grid_frame(lmr_job *job, lmr_frame *frame, larmor_array **x);
