/* Helpers of all proximal maps. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PROX_H
#define LMR_PROX_H

#include "core/status.h"
#include "larmor/operators.h"
#include "larmor/solve.h"

/* What every constructor begins with: *p is NULL, the device is there, the type complex, the weight finite and at
 * least 0; else LARMOR_ERR_ARG. */
larmor_status lmr_prox_begin(const char *name, const larmor_device *dev, double weight, larmor_dtype dtype,
                             larmor_prox **p);

#endif
