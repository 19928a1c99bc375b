/* Which maps are found, and how many sets of them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* The job's method for maps from the data and their number of sets; nothing where maps are given or not needed. */
larmor_status lmr_choose_maps(larmor_recon *r);

/* The job's method for maps beyond given ones, on grids that are larger than those. */
larmor_status lmr_choose_maps_beyond(larmor_recon *r);

/* The job's maps have so many sets. what: what messages call them. Errors: LARMOR_ERR_ARG for methods that cannot
 * take several. */
larmor_status lmr_take_sets(larmor_recon *r, const char *what, int64_t sets);

/* The method for the maps of a group: that of the job, or of a group that lacks samples which the one had that the
 * job's was chosen by, its own. samples: the group's, whitened. */
larmor_status lmr_maps_method_for(lmr_job *job, int index, const larmor_samples *samples,
                                  const struct lmr_maps_method **method);
