/* Complex Gaussian noise by Box and Muller, Ann. Math. Stat. 29, 610 (1958), from random numbers that depend on seed
 * and index alone. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "phantoms/phantom.h"

typedef struct noise {
    void *host;
    larmor_dtype dtype;
    double sigma;
    uint64_t seed;
} noise;

static void add_noise(void *self, int64_t i)
{
    const noise *p = self;
    const double radius = p->sigma * sqrt(-2 * log(lmr_random_uniform(p->seed, 2 * (uint64_t)i)));
    const double angle = 2 * M_PI * lmr_random_uniform(p->seed, 2 * (uint64_t)i + 1);
    const double re = radius * cos(angle), im = radius * sin(angle);
    if (lmr_precision(p->dtype) == LMR_F64)
        lmr_put(p->host, p->dtype, i, ((double *)p->host)[2 * i] + re, ((double *)p->host)[2 * i + 1] + im);
    else
        lmr_put(p->host, p->dtype, i, ((float *)p->host)[2 * i] + re, ((float *)p->host)[2 * i + 1] + im);
}

larmor_status larmor_phantom_noise(larmor_array *x, double sigma, uint64_t seed)
{
    LMR_NEED(x);
    LMR_REFUSE(!lmr_is_complex(x->dtype), LARMOR_ERR_ARG, "phantom noise: got %s, expected c64 or c128",
               lmr_describe(x).s);
    LMR_REFUSE(!(sigma >= 0 && sigma <= 1e300), LARMOR_ERR_ARG, "phantom noise: got sigma %g, expected a number >= 0",
               sigma);
    const size_t bytes = larmor_array_bytes(x);
    if (!bytes || sigma == 0) return LARMOR_OK;
    LMR_OWN_MEMORY(void, host, larmor_array_download(x, x->dtype, &host));
    LMR_TRY(lmr_parallel(lmr_device_threads(x->dev), larmor_array_count(x), add_noise,
                         &(noise){host, x->dtype, sigma, seed}));
    return larmor_array_write(x, host, bytes);
}
