/* The density weights of an image. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* Weights of a group's samples as the job's density asks for, or NULL for LARMOR_DENSITY_NONE. LARMOR_DENSITY_AUTO is
 * decided once, by the trajectory of the scan's first group, so that the images of a scan are alike. */
larmor_status lmr_make_density(lmr_job *job, int index, const larmor_samples *samples, larmor_array **w);
