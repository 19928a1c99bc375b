/* Whether a volume that no process holds by itself can be in slabs, one for each rank. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "pipeline/maps.h"
#include "schedule/state.h"

/* Why the reconstruction cannot be done in slabs, in some words; NULL: it can. */
const char *lmr_slabs_unfit(const larmor_recon *r);

/* From here on the job's volumes are in slabs, of which each of opts.ranks, more than one, has one. */
void lmr_slabs_take(larmor_recon *r);
/* How maps are made in slabs; NULL for one coil. */
const lmr_maps_method *lmr_slabs_maps(const larmor_recon *r);
