/* Inside of an operator handle. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_OP_H
#define LMR_OP_H

#include "larmor/op.h"

/* What A was created with, if its forward map is this one; else NULL, and for A NULL. */
void *lmr_op_self(const larmor_op *A, larmor_status (*forward)(void *self, const larmor_array *x, larmor_array *y));

#endif
