/* The sizes of the search for signal beyond the field of view. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_RECON_EXTENT_H
#define LMR_RECON_EXTENT_H

#include <math.h>

#include "core/array.h"

enum {
    LMR_EXTENT_COILS = 6,  /* virtual coils at most */
    LMR_EXTENT_NOISES = 3, /* channels of noise alone beside them */
    LMR_EXTENT_MOST = 2    /* the largest factor by default */
};

#define LMR_EXTENT_TOL 1e-4
#define LMR_EXTENT_MARGIN 0.5 /* of the larger field of view: beyond what is looked for, so that noise shows */
#define LMR_EXTENT_FINER 1.5  /* voxels than the samples ask for, so that the edges of k-space fit, too */

/* Of the centre of k-space that is looked at, along an axis. */
static inline double lmr_extent_radius(larmor_shape image, int d)
{
    return fmin(image.ndim > 2 ? 10 : 20, (double)image.dim[d] / 2);
}

/* Voxels along an axis, an odd number: as much field of view on one side of the centre as on the other. */
static inline int64_t lmr_extent_side(double radius, double factor)
{
    return 2 * (int64_t)ceil(LMR_EXTENT_FINER * radius * factor) + 1;
}

#endif
