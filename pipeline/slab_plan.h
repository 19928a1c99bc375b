/* How much memory a slab of the volume takes of each rank. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_SLAB_PLAN_H
#define LMR_PIPELINE_SLAB_PLAN_H

#include "pipeline/state.h"

/* The plan of each rank becomes r->plan, and the job has what follows from it. The readouts of the first image are read once
 * for it. Errors: LARMOR_ERR_MEMORY where a slab does not fit either; those of the source. */
larmor_status lmr_slabs_plan(larmor_recon *r);

#endif
