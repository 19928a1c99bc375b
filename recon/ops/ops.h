/* What the operators of this folder offer each other and the rest of recon. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "core/ranks/ranks.h"
#include "larmor/cartesian.h"
#include "larmor/op.h"
#include "larmor/operators.h"
#include "larmor/recon.h"
#include "recon/kernels_sparse.h"

/* ---- some dimensions of an array, as a bit mask ---- */

/* Errors: LARMOR_ERR_ARG without a device, with a dtype that is not complex or with a bit for a dimension that shape
 * has not; LARMOR_ERR_SHAPE for an impossible shape. */
larmor_status lmr_check_axes(const char *who, const larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                             unsigned axes);

static inline int lmr_has_axis(unsigned axes, int d)
{
    return (int)(axes >> d & 1);
}

/* ---- fourier transforms at samples, wherever they are ---- */

/* 1 if larmor_op_cartesian takes this trajectory with these options. */
larmor_status lmr_is_cartesian(const larmor_nufft_opts *opts, const larmor_array *traj, int *is_grid);

/* larmor_op_cartesian where it takes the trajectory, else lmr_op_nufft_forward. */
larmor_status lmr_op_fourier(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                             larmor_op **A);

/* Bytes of larmor_op_cartesian without its normal map, and of larmor_op_cartesian_normal: while it is made, and
 * what it holds. */
larmor_status lmr_cartesian_bytes(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points,
                                  int64_t repeats, double *bytes);
larmor_status lmr_cartesian_normal_bytes(const larmor_device *dev, const larmor_nufft_opts *opts, double *making,
                                         double *held);

/* ---- the maps of an operator of coils ---- */

/* Those that larmor_op_coils made S of; NULL for another operator. */
const larmor_array *lmr_coils_maps(const larmor_op *S);

/* ---- daubechies' filters ---- */

enum { LMR_DAUBECHIES = 10 };

/* [order - 1][2 order]: the orthonormal low-pass filters with `order` vanishing moments.
 *
 * Source  Daubechies, Ten Lectures on Wavelets, SIAM (1992), section 6.1 and table 6.1. */
extern const double lmr_daubechies[LMR_DAUBECHIES][LMR_MAX_TAPS];

/* ---- differences of images ---- */

/* larmor_op_gradient, where the first element of some of the axes is behind the last one. An axis of two or less is
 * not cyclic, as its differences would count twice. Errors: LARMOR_ERR_UNSUPPORTED for one before which all
 * dimensions are 1. */
larmor_status lmr_op_gradient_cyclic(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, unsigned axes,
                                     unsigned cyclic, const double *spacing, larmor_op **G);

/* ---- sENSE on one device, whether others could share it or not ---- */

/* What larmor_op_sense asks of its inputs; p: their sizes. */
larmor_status lmr_sense_check(larmor_array *maps, const larmor_sense_opts *opts, larmor_problem *p);

/* larmor_op_sense by this process on this device. */
larmor_status lmr_sense_alone(larmor_array *maps, const larmor_sense_opts *opts, larmor_op **A);

/* The memory that this takes, of a problem that lmr_bytes_begin has checked. */
larmor_status lmr_sense_alone_memory(const larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                     int64_t *bytes);

/* The name of operators of larmor_op_sense_states whose normal maps are Toeplitz. */
extern const char lmr_sense_states_toeplitz[];

/* ---- sENSE whose coils the ranks of several processes share ---- */

/* How many ranks share the coils of SENSE on this device: those that it has (core/device.h), where each gets a
 * coil; 1 without them, for several sets of maps and with off-resonance. */
int lmr_sense_ranks(const larmor_device *dev, int64_t coils, int64_t sets, const larmor_sense_opts *opts);

/* 1 if the device's other ranks wait for orders of this one. */
int lmr_sense_is_served(const larmor_device *dev);

/* Rank 0: larmor_op_sense of maps [image..., coils] of which each rank gets a part, with all of the trajectory. */
larmor_status lmr_sense_on_ranks(larmor_array *maps, const larmor_sense_opts *opts, larmor_op **A);

/* ---- sENSE on a group of devices ---- */

/* How many devices share the coils of SENSE on this one: its members, at most one for each coil; 1 for a single
 * device, for several sets of maps and with off-resonance. */
int lmr_sense_devices(const larmor_device *dev, int64_t coils, int64_t sets, const larmor_sense_opts *opts);

/* larmor_op_sense of maps [image..., coils] on a group, which has so many coils of it on each of `count` members. */
larmor_status lmr_sense_spread(larmor_array *maps, const larmor_sense_opts *opts, int count, larmor_op **A);

/* ---- real weights as operators keep them ---- */

/* A copy of real weights in the precision of dtype, or of their square roots.
 *
 * Errors  LARMOR_ERR_ARG if they are complex or one is below 0; LARMOR_ERR_NUMERIC if one is not finite; MEMORY. */
larmor_status lmr_weights_copy(const char *who, const char *what, const larmor_array *weights, larmor_dtype dtype,
                               int root, larmor_array **copy);

/* y_c = w .* x_c for c of [shape of w..., batch], or of [shape of w] if batch is 0; w real, in the precision of
 * dtype; a reference is kept. */
larmor_status lmr_op_weigh(const char *name, larmor_array *w, larmor_dtype dtype, int64_t batch, larmor_op **W);
