/* Several penalties as one. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/prox/regulariser.h"

typedef struct lmr_summand {
    larmor_penalty penalty; /* K may be NULL; of all, at most one has E */
    double ratio;           /* of its weight; of a set 1 */
    double scale;           /* of K in the sum, which does not change the penalty but its part of the splitting */
} lmr_summand;

/* sum_i ratio_i g_i(K_i x), as one g of one K, whose output is flat; sum is freed by the caller, also after an
 * error. Errors: LARMOR_ERR_UNSUPPORTED for two that have E. */
larmor_status lmr_penalty_sum(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, const lmr_summand *parts,
                              int count, larmor_penalty *sum);

/* K of an image that has this shape, as many numbers as K takes; its K is not NULL. */
larmor_status lmr_penalty_reshape(larmor_shape shape, larmor_penalty *penalty);
