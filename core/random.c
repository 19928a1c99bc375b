/* Seeded random arrays. SPDX-License-Identifier: Apache-2.0 */
#include "core/random.h"

#include "core/array.h"
#include "core/ranks/ranks.h"

/* 1 / LMR_RANDOM_KEY modulo 2^64, by Newton's iteration: each step doubles the bits that are right, of which an
 *   odd number has
 * three by itself. */
static uint64_t inverse_key(void)
{
    uint64_t x = LMR_RANDOM_KEY;
    for (int i = 0; i < 5; i++) x *= 2 - LMR_RANDOM_KEY * x;
    return x;
}

/* The seed whose bits 0, 1, ... are those of `seed` from `index` on. */
static uint64_t random_seed_from(uint64_t seed, uint64_t index)
{
    return ((seed ^ LMR_RANDOM_MASK) + index * LMR_RANDOM_STEP * inverse_key()) ^ LMR_RANDOM_MASK;
}

larmor_status lmr_random_fill_from(larmor_array *x, uint64_t seed, int64_t first)
{
    const uint64_t from = random_seed_from(seed, 2 * (uint64_t)first);
    return lmr_vec_of(x)->random(x->dev->ctx, larmor_array_count(x), from, x->data);
}

larmor_status lmr_random_fill(larmor_array *x, uint64_t seed)
{
    int64_t before = 0;
    if (x->dev->whole) LMR_TRY(lmr_ranks_before(x->dev->whole, larmor_array_count(x), &before));
    return lmr_random_fill_from(x, seed, before);
}
