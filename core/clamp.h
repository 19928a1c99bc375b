/* A number held within bounds, once for everybody. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* x, but at most `most`, and at least `least` whatever `most` is. */
static inline int64_t lmr_clamp(int64_t x, int64_t least, int64_t most)
{
    if (x > most) x = most;
    return x < least ? least : x;
}
