/* Some dimensions of an array, as a bit mask. SPDX-License-Identifier: Apache-2.0 */
#include "recon/ops/ops.h"

larmor_status lmr_check_axes(const char *who, const larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                             unsigned axes)
{
    LMR_REFUSE(!dev, LARMOR_ERR_ARG, "%s: no device given", who);
    LMR_REFUSE(!lmr_is_complex(dtype), LARMOR_ERR_ARG, "%s: dtype is %s, expected c64 or c128", who,
               larmor_dtype_name(dtype));
    LMR_REFUSE(larmor_shape_count(shape) < 0, LARMOR_ERR_SHAPE, "%s: %s is not a possible shape", who,
               lmr_describe_as(dev, dtype, shape).s);
    LMR_REFUSE(axes >> shape.ndim, LARMOR_ERR_ARG, "%s: axes are 0x%x, expected bits of the %d dimensions of %s", who,
               axes, shape.ndim, lmr_describe_as(dev, dtype, shape).s);
    return LARMOR_OK;
}
