/* A hole in the centre of k-space, which readouts leave that begin after a dead time. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* 1 if there is a hole in the samples that coil maps would be found from. */
int lmr_hole_in_maps(const larmor_recon *r);

/* Where there is a hole: whether the job fills it; log that it does, or warn of it and log why it is not. Method,
 * maps and grids are decided. */
void lmr_hole_judge(larmor_recon *r);
