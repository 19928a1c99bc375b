/* The samples of a group as the solvers take them: placed, scaled, whitened. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_SAMPLES_H
#define LMR_PIPELINE_SAMPLES_H

#include "pipeline/job.h"

/* The scaled and whitened samples of a group, with a trajectory that was made from the counters where the source has none: then
 * *made is 1. */
larmor_status lmr_group_samples(lmr_job *job, int index, larmor_samples *samples, int *made);

/* The same of the whole image that a frame was cut from; of a group that is no frame, its own. */
larmor_status lmr_group_average(lmr_job *job, int index, larmor_samples *samples);

#endif
