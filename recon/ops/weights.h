/* Real weights as operators keep them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/op.h"

/* A copy of real weights in the precision of dtype, or of their square roots.
 *
 * Errors  LARMOR_ERR_ARG if they are complex or one is below 0; LARMOR_ERR_NUMERIC if one is not finite; MEMORY. */
larmor_status lmr_weights_copy(const char *who, const char *what, const larmor_array *weights, larmor_dtype dtype,
                               int root, larmor_array **copy);

/* y_c = w .* x_c for c of [shape of w..., batch], or of [shape of w] if batch is 0; w real, in the precision of
 * dtype; a reference is kept. */
larmor_status lmr_op_weigh(const char *name, larmor_array *w, larmor_dtype dtype, int64_t batch, larmor_op **W);
