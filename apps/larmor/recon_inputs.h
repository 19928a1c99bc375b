/* What a reconstruction takes beside the scan. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon.h"

/* Read the coil maps, the impulse response, the basis and the field map that the settings name, or find the field map
 * from the echoes, when source and device are there. Returns an exit code, having said what is wrong. */
int recon_read_inputs(recon_run *r, larmor_recon_opts *opts);
void recon_free_inputs(larmor_recon_opts *opts);
