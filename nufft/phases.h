/* The phase factor of lmr_nufft_phases at a point, the same for every device. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <math.h>

#include "nufft/kernels.h"

#ifdef __CUDACC__
#define LMR_PHASES_FUNCTION static __device__ inline
#else
#define LMR_PHASES_FUNCTION static inline
#endif

/* The Chebyshev series at y, by Clenshaw's recurrence. */
LMR_PHASES_FUNCTION double lmr_phases_series(const lmr_nufft_phases *w, double y)
{
    double b1 = 0, b2 = 0;
    for (int k = w->terms - 1; k > 0; k--) {
        const double b = 2 * y * b1 - b2 + w->series[k];
        b2 = b1;
        b1 = b;
    }
    return w->series[0] + y * b1 - b2;
}

/* Modulus and phase, in cycles, |cycles| <= 1 / 2, at x[ndim]. The product of distance and frequency is taken to
 * twice the precision, so that whole cycles, which may be very many, drop out exactly. */
LMR_PHASES_FUNCTION double lmr_phases_at(const lmr_nufft_phases *w, const double *x, double *cycles)
{
    double sum = 0, log_size = 0;
    for (int d = 0; d < w->ndim; d++) {
        /* fma and not *, which a compiler may contract with the subtraction of rint: then rest would count twice */
        const double e = x[d] - w->from[d], product = fma(e, w->by[d], 0.0), rest = fma(e, w->by[d], -product);
        sum += (product - rint(product)) + (rest - rint(rest));
        if (w->terms) {
            const double v = e * w->scale[d];
            log_size += lmr_phases_series(w, 2 * v * v - 1);
        }
    }
    *cycles = sum - rint(sum);
    return w->terms ? exp(log_size) : 1;
}
