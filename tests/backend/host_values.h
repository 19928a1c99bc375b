/* Numbers for what the GPU's code computes on the host. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <cstdint>

/* The same numbers everywhere, in [-1, 1). */
inline double random_value()
{
    static uint64_t state = 88172645463325252u;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (double)((state * UINT64_C(2685821657736338717)) >> 11) * 0x1p-52 - 1;
}
