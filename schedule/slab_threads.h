/* A volume in slabs on the devices of a group: a thread for each plays a rank. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* The plan has found that the volume is to be in slabs (r->slabs_from): the reconstruction restarts, on the first
 * member of the group in the caller's thread, as rank 0, and on each of the others in a thread of its own. opts: as
 * they were given.
 *
 * Errors  those of lmr_recon_begin, of the first rank that fails. */
larmor_status lmr_slab_threads_open(larmor_recon *r, larmor_source *source, larmor_device *group,
                                    const larmor_recon_opts *opts);
