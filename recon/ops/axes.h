/* Some dimensions of an array, as a bit mask. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"

/* Errors: LARMOR_ERR_ARG without a device, with a dtype that is not complex or with a bit for a dimension that shape
 * has not; LARMOR_ERR_SHAPE for an impossible shape. */
larmor_status lmr_check_axes(const char *who, const larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                             unsigned axes);

static inline int lmr_has_axis(unsigned axes, int d)
{
    return (int)(axes >> d & 1);
}
