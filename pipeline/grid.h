/* Where each group is reconstructed: as the header has it or as was asked, or on a larger grid where the object is wider
 * than the field of view. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_RECON_GRID_H
#define APP_RECON_GRID_H

#include "run.h"

/* The grids of all groups into r->job.grid, by header and options. This and what follows return an exit code, having said
 * what is wrong. */
int recon_grids_choose(recon_run *r);

/* Adapt them to maps of this size, [x, y, z, coils]: the same, or larger ones with the same voxels. Returns 0 and leaves
 * them if the size is neither. */
int recon_grids_fit_maps(recon_run *r, const int64_t size[4]);

/* Enlarge them where the data say that the object is wider. With maps from a file, that is only said. */
int recon_grids_enlarge(recon_run *r);

/* Undo the enlargement; returns 1 if there was one. */
int recon_grids_shrink(recon_run *r);

#endif
