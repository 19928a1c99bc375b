/* Seeded random numbers that depend on nothing but seed and index. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "larmor/array.h"

#ifdef __CUDACC__
#define LMR_ON_GPU_TOO __host__ __device__
#else
#define LMR_ON_GPU_TOO
#endif

#define LMR_RANDOM_MASK UINT64_C(0x6a09e667f3bcc909)
#define LMR_RANDOM_KEY UINT64_C(0xd1342543de82ef95)
#define LMR_RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

/* 64 random bits for (seed, index): SplitMix64's finaliser (Steele, Lea, Flood, OOPSLA 2014) on a keyed counter. */
static inline LMR_ON_GPU_TOO uint64_t lmr_random_bits(uint64_t seed, uint64_t index)
{
    uint64_t z = (seed ^ LMR_RANDOM_MASK) * LMR_RANDOM_KEY + index * LMR_RANDOM_STEP;
    for (int round = 0; round < 2; round++) {
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
    }
    return z;
}

/* Uniform in (0, 1). */
static inline LMR_ON_GPU_TOO double lmr_random_uniform(uint64_t seed, uint64_t index)
{
    return ((double)(lmr_random_bits(seed, index) >> 11) + 0.5) * 0x1p-53;
}

/* A complex x <- numbers with real and imaginary part uniform in (-1, 1). Where x is a part of an array of several
 * ranks (larmor_ranks_sum_over), whose parts follow each other, those of this part: called by all then. */
larmor_status lmr_random_fill(larmor_array *x, uint64_t seed);

/* Those of a longer array from its number `first` on. */
larmor_status lmr_random_fill_from(larmor_array *x, uint64_t seed, int64_t first);
