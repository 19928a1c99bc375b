/* Seeded random arrays. SPDX-License-Identifier: Apache-2.0 */
#include "core/random.h"

#include <stdlib.h>

#include "core/array.h"

larmor_status lmr_random_fill(larmor_array *x, uint64_t seed)
{
    const int64_t n = larmor_array_count(x) * (lmr_is_complex(x->dtype) ? 2 : 1);
    const size_t bytes = larmor_array_bytes(x);
    void *host = malloc(bytes ? bytes : 1);
    if (!host) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < n; i++) {
        const double v = 2 * lmr_random_uniform(seed, (uint64_t)i) - 1;
        if (lmr_precision(x->dtype) == LMR_F64)
            ((double *)host)[i] = v;
        else
            ((float *)host)[i] = (float)v;
    }
    const larmor_status st = larmor_array_write(x, host, bytes);
    free(host);
    return st;
}
