/* How much memory a slab of the volume takes of each rank. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* The plan of each rank becomes r->plan, and the job has what follows from it. The readouts of the first image are
 * read once for it. Errors: LARMOR_ERR_MEMORY where a slab does not fit either; those of the source. */
larmor_status lmr_slabs_plan(larmor_recon *r);

/* more: 1 if r->plan has given up the choice of lambda or the preconditioner, and slabs have memory for both: the
 * image is to be that of a device with more memory. The readouts of the first image are read once for it. */
larmor_status lmr_slabs_keep_more(const larmor_recon *r, int *more);
