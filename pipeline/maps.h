/* The coil maps of a slice. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_MAPS_H
#define LMR_PIPELINE_MAPS_H

#include "pipeline/job.h"

/* The job's maps become those of this group's slice: given ones, or all one for a single coil, or from the data's own
 * centre. Nothing is done where they are already.
 *
 * index    of the group.
 * samples  the group's, whitened. */
larmor_status lmr_make_maps(lmr_job *job, int index, const larmor_group *group, const larmor_grid *grid,
                            const larmor_samples *samples);

#endif
