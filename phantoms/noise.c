/* Complex Gaussian noise by Box and Muller, Ann. Math. Stat. 29, 610 (1958), from random numbers that depend on seed
 * and index alone. SPDX-License-Identifier: Apache-2.0 */
#include "core/random.h"
#include "phantoms/phantom.h"

#include <math.h>
#include <stdlib.h>

static void add_noise(void *host, larmor_dtype dtype, int64_t n, double sigma, uint64_t seed, int threads)
{
#pragma omp parallel for num_threads(threads)
    for (int64_t i = 0; i < n; i++) {
        const double radius = sigma * sqrt(-2 * log(lmr_random_uniform(seed, 2 * (uint64_t)i)));
        const double angle = 2 * M_PI * lmr_random_uniform(seed, 2 * (uint64_t)i + 1);
        const double re = radius * cos(angle), im = radius * sin(angle);
        if (lmr_precision(dtype) == LMR_F64)
            lmr_put(host, dtype, i, ((double *)host)[2 * i] + re, ((double *)host)[2 * i + 1] + im);
        else
            lmr_put(host, dtype, i, ((float *)host)[2 * i] + re, ((float *)host)[2 * i + 1] + im);
    }
}

larmor_status larmor_phantom_noise(larmor_array *x, double sigma, uint64_t seed)
{
    LMR_NEED(x);
    if (!lmr_is_complex(x->dtype))
        return LMR_FAIL(LARMOR_ERR_ARG, "phantom noise: got %s, expected c64 or c128", lmr_describe(x).s);
    if (!(sigma >= 0 && sigma <= 1e300))
        return LMR_FAIL(LARMOR_ERR_ARG, "phantom noise: got sigma %g, expected a number >= 0", sigma);
    const size_t bytes = larmor_array_bytes(x);
    if (!bytes || sigma == 0) return LARMOR_OK;
    void *host;
    LMR_TRY(larmor_array_download(x, x->dtype, &host));
    add_noise(host, x->dtype, larmor_array_count(x), sigma, seed, lmr_device_threads(x->dev));
    const larmor_status st = larmor_array_write(x, host, bytes);
    free(host);
    return st;
}
