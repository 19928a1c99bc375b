/* Values for axes that there are not. SPDX-License-Identifier: Apache-2.0 */
#include "core/axes_given.h"

#include <math.h>

#include "core/status.h"

static const double same = 1e-3; /* relative: values in headers and on command lines are rounded */

larmor_status lmr_check_axes_given(const char *member, double z, double idle, int ndim)
{
    if (ndim > 2 || z == 0 || (idle != 0 && fabs(z / idle - 1) <= same)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: got %g along z, but the scan is 2D; leave that number out.", member, z);
}
