/* Images by a denoiser of the caller's (larmor/prior.h). SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "pipeline/solution.h"

/* p->x, the image by conjugate gradients at the weight of result, becomes one that the denoiser agrees to. */
larmor_status lmr_prior_solve(const lmr_job *job, lmr_solution *p, larmor_recon_report *result);
