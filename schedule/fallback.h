/* From a GPU that fails to the processor. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* `failed` is the status with which a call of the reconstruction ended. If the processor may take over, the
 * reconstruction restarts there, up to the first series, with a warning; else `failed` and its message are
 * returned. */
larmor_status lmr_fall_back_to_cpu(larmor_recon *r, larmor_status failed);

/* begin.c: everything before the first series, by options that were read; and its end, without the handle's. */
larmor_status lmr_recon_begin(larmor_recon *r, larmor_source *source, larmor_device *dev);
void lmr_recon_clear(larmor_recon *r);
