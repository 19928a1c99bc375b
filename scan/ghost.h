/* Ghosts of echo-planar scans, which are corrected in what the source gives. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* The phase and the shift between lines of both directions of every wanted image, from navigators and from the
 * image; the job's source is then one that corrects them. Other scans stay as they are. */
larmor_status lmr_ghosts_find(larmor_recon *r);
