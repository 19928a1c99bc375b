/* Inside of an operator handle. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_OP_H
#define LMR_OP_H

#include "larmor/op.h"

/* The `self` of an operator that was made with this forward map, NULL for any other: so a kind of operator recognises
 * its own when a caller hands one back to it. */
void *lmr_op_self(const larmor_op *A, larmor_status (*forward)(void *self, const larmor_array *x, larmor_array *y));

#endif
