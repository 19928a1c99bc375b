/* Volumes in slabs: all ranks solve at the same time, rank 0 gives the orders and gets the image.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* Rank 0: have all ranks reconstruct series s, and do so. The others get no image, and rank 0's error as
 * LARMOR_STOPPED.
 *
 * image  c64, on rank 0 alone, else NULL. */
larmor_status lmr_slabs_run(larmor_recon *r, int s, larmor_array **image, larmor_recon_report *report);

/* Other ranks: do what rank 0 asks for, until it frees its ranks. */
larmor_status lmr_slabs_serve(larmor_recon *r);
