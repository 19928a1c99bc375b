/* The density weights of an image. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_DENSITY_H
#define LMR_PIPELINE_DENSITY_H

#include "pipeline/job.h"

/* Weights as the job's density asks for, or NULL for LARMOR_DENSITY_NONE.
 *
 * image   shape of the grid that is reconstructed on. */
larmor_status lmr_make_density(const lmr_job *job, const larmor_samples *samples, larmor_shape image,
                               larmor_array **w);

#endif
