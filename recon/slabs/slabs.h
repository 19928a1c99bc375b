/* Slabs of a volume along its last axis, of which each rank has one. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/ranks/ranks.h"

/* How many of `all` rank i of so many has; first: the first of them, or NULL. */
int64_t lmr_slab_share(int64_t all, int ranks, int i, int64_t *first);

/* In how many pieces the lags of a slab are found: so many NUFFTs, of grids that are small beside the slab. */
int lmr_slab_pieces(int64_t planes);

/* Lines of a convolution in slabs that are transformed at a time: enough to keep the device busy. */
enum { LMR_SLAB_LINES = 4096 }; /* while its spectrum is made */
int64_t lmr_slab_lines(const larmor_device *dev);

/* Points of a NUFFT in the unit of a box that is a part of the volume, and the phases that move the box to its
 * place. */
typedef struct lmr_seen_points {
    const larmor_array *traj; /* as given */
    int64_t count;
    larmor_array *points; /* f64 [3, count] */
    larmor_array *phases; /* complex [count] */
} lmr_seen_points;

/* Room for these points; dtype: of the phases, which are found in double. To be freed in either case. */
larmor_status lmr_seen_create(larmor_device *dev, const larmor_array *traj, larmor_dtype dtype, lmr_seen_points *box);
void lmr_seen_free(lmr_seen_points *box);

/* points <- traj times stretch, axis by axis; phases <- exp(2 pi i by k), k along the last axis of traj. */
larmor_status lmr_seen_move(const lmr_seen_points *box, const double stretch[3], double by);

/* What all operators in slabs expect of their options. what: for messages. */
larmor_status lmr_slabs_expect(const char *what, const larmor_device *dev, const larmor_ranks *ranks,
                               const larmor_nufft_opts *opts, const larmor_array *traj);
