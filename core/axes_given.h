/* Values for axes that there are not. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/status.h"

/* Fails with LARMOR_ERR_ARG where a value is given along z of a scan of 2 dimensions.
 *
 * member  as messages name it: "opts.matrix".
 * z       0: nothing was given.
 * idle    also a value that asks for nothing there, such as a matrix of 1; or 0.
 * ndim    of the scan, 2 or 3. */
larmor_status lmr_check_axes_given(const char *member, double z, double idle, int ndim);
