/* Everything before the first image. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* Whitening, grids, series, given maps, field of view, and the plan of memory, of a job that has its source and
 * device.
 *
 * Errors  as of larmor_recon_create. */
larmor_status lmr_prepare(larmor_recon *r);

/* facts.colouring of a scan whose noise scan does not whiten; none where that is no noise. */
larmor_status lmr_prepare_colouring(larmor_recon *r);
