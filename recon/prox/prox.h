/* What the proximal maps share. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PROX_H
#define LMR_PROX_H

#include "core/status.h"
#include "larmor/operators.h"
#include "larmor/solve.h"

/* What every constructor begins with: *p is NULL, the device is there, the type complex, the weight finite and at least
 * 0; else LARMOR_ERR_ARG. */
larmor_status lmr_prox_begin(const char *name, const larmor_device *dev, double weight, larmor_dtype dtype,
                             larmor_prox **p);

/* shift[d] in 0 .. dim[d] - 1 for d < ndim <= 3, else 0: random, but the same for the same index. */
void lmr_prox_shift(uint64_t index, int ndim, const int64_t *dim, int64_t shift[3]);

#endif
