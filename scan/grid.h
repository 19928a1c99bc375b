/* The grid of each group: from the header or the options, or a larger one where the object exceeds the field of view.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* What the options ask for of an encoding's grid. */
void lmr_grid_asked(const larmor_recon_opts *o, const larmor_encoding *e, larmor_grid_opts *opts);

/* The grids of all groups into r->job.grid, by header and options. */
larmor_status lmr_grids_choose(larmor_recon *r);

/* Adapt them to maps of this size, [x, y, z, coils]: the same, or larger ones with the same voxels. Returns 0 and
 * leaves them if the size is neither. */
int lmr_grids_fit_maps(larmor_recon *r, const int64_t size[4]);

/* Enlarge them where the object in the data exceeds the field of view. Given maps then go on with maps from the
 * data; several sets of them do not, which is only warned of. A failure of the search is logged. Errors:
 * LARMOR_STOPPED. */
larmor_status lmr_grids_enlarge(larmor_recon *r);

/* Whether what is outside cannot be seen, but predicted (larmor_predict_field_of_view): the centre of k-space is
 * undersampled, there are several coils, and the readouts are no spokes, which are dense there. */
larmor_status lmr_grid_is_to_predict(const larmor_encoding *e, const larmor_grid *grid, const larmor_samples *samples,
                                     int *predict);

/* Undo the enlargement; returns 1 if there was one. */
int lmr_grids_shrink(larmor_recon *r);
