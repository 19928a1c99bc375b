/* The NUFFT as an operator, with its options as they are. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/nufft.h"

/* larmor_op_nufft of a plan that is chosen for type 2 alone. */
larmor_status lmr_op_nufft_forward(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                   larmor_op **A);
