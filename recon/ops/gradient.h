/* Differences of images. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/operators.h"

/* larmor_op_gradient, where the first element of some of the axes is behind the last one. An axis of two or less is
 * not cyclic, as its differences would count twice. Errors: LARMOR_ERR_UNSUPPORTED for one before which all
 * dimensions are 1. */
larmor_status lmr_op_gradient_cyclic(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, unsigned axes,
                                     unsigned cyclic, const double *spacing, larmor_op **G);
