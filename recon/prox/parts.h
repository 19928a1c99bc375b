/* An image as the sum of several, each with a penalty of its own. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/prox/sum.h"

enum { LMR_MAX_PARTS = LARMOR_MOST_PENALTIES + 1 };

/* The least over x = x_1 + ... + x_n of sum_i ratio_i g_i(K_i x_i). Its variable is z = sqrt(n) [x_1, ..., x_n], so
 * that E E^H is the identity, as preconditioners want it.
 *
 * parts   with a K and without an E: their K becomes that of z. The caller frees them, also after an error.
 * count   at most LMR_MAX_PARTS. */
larmor_status lmr_penalty_parts(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, lmr_summand *parts,
                                int count, larmor_penalty *made);

void lmr_summands_free(lmr_summand *parts, int count);
