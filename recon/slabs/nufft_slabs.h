/* The NUFFT of a volume in slabs, of images that are not stored beside each other.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/nufft.h"
#include "larmor/ranks.h"

typedef struct lmr_slab_nufft lmr_slab_nufft;

/* This rank's slabs of `count` images, one at a time. */
typedef struct lmr_slab_images {
    int64_t count;
    void *user;
    larmor_status (*give)(void *user, int64_t b, larmor_array *slab); /* slab [n0, n1, own planes] <- image b's */
    larmor_status (*take)(void *user, int64_t b, larmor_array *slab); /* image b's, which may be changed */
} lmr_slab_images;

/* weights: samples are multiplied by their root; or NULL. */
larmor_status lmr_slab_nufft_create(larmor_device *dev, larmor_ranks *ranks, const larmor_nufft_opts *opts,
                                    const larmor_array *traj, const larmor_array *weights, lmr_slab_nufft **nufft);
void lmr_slab_nufft_free(lmr_slab_nufft *nufft); /* NULL is fine */

/* Called by all, as larmor_op_nufft_slabs' maps are. y: [points..., count]. */
larmor_status lmr_slab_nufft_forward(const lmr_slab_nufft *nufft, const lmr_slab_images *x, larmor_array *y);
larmor_status lmr_slab_nufft_adjoint(const lmr_slab_nufft *nufft, const larmor_array *y, const lmr_slab_images *x);
