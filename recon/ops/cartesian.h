/* Fourier transforms at samples, wherever they are. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/cartesian.h"

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
