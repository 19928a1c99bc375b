/* Point spread functions of points that several ranks have, by slabs of lags. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/slabs/slabs.h"

/* This rank's points and what its part of the function comes from. */
typedef struct lmr_lag_points {
    lmr_seen_points box;
    const larmor_array *weights; /* as given, or NULL */
    larmor_array *values;
} lmr_lag_points;

/* dtype: of the function. To be ended in either case. */
larmor_status lmr_lags_begin(larmor_device *dev, const larmor_array *traj, const larmor_array *weights,
                             larmor_dtype dtype, lmr_lag_points *p);
void lmr_lags_end(lmr_lag_points *p);

/* Of the ranks' slabs of lags: those from `first` on, number `from` of the slab's, which belongs to `rank`. */
typedef struct lmr_lag_piece {
    int rank, number;
    int64_t first, from, count;
} lmr_lag_piece;

/* The next piece of so many lags, one rank's after the other's; 0 after the last. piece: {0} before the first. */
int lmr_lags_next(int ranks, int64_t lags, lmr_lag_piece *piece);

/* lags [2 n0, 2 n1, piece->count] of the piece's rank <- sum_j w_j exp(sign 2 pi i k_j . r / n) of the points of
 * all ranks, of these lags of the last axis, which begin with -n2. Called by all.
 *
 * psf   of type 1; its modes 0 and 1 are 2 n0 and 2 n1.
 * own   how it went here before.
 * lags  NULL on the other ranks. */
larmor_status lmr_lags_sum(larmor_ranks *ranks, const lmr_lag_points *p, const larmor_nufft_opts *psf,
                           const int64_t modes[3], const lmr_lag_piece *piece, larmor_status own, larmor_array *lags);

/* edges, f64, as long as the longest of the axes' lags: 1 for each but the first, -n, which meets no two voxels. */
larmor_status lmr_lags_edges(larmor_device *dev, const int64_t lags[3], larmor_array **edges);
