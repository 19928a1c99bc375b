/* Seeded random arrays. SPDX-License-Identifier: Apache-2.0 */
#include "core/random.h"

#include "core/array.h"

larmor_status lmr_random_fill(larmor_array *x, uint64_t seed)
{
    return lmr_vec_of(x)->random(x->dev->ctx, larmor_array_count(x), seed, x->data);
}
