/* The kernels of type 3, for the processor's table. Included with core/real.h. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/real.h"
#include "nufft/kernels.h"

enum { PHASE_BLOCK = 256 };

/* out, complex [count], of points x [ndim, PHASE_BLOCK]; all of x is to be finite. */
typedef void (*lmr_phases)(const lmr_nufft_phases *w, int count, double (*x)[PHASE_BLOCK], real *out);

extern const lmr_phases R(lmr_phases_base);
#if defined(__x86_64__)
extern const lmr_phases R(lmr_phases_avx2), R(lmr_phases_avx512);
#endif

void R(lmr_cpu_nufft_methods)(const void *sorted, lmr_nufft_method *spread, lmr_nufft_method *interp);
larmor_status R(lmr_cpu_nufft_extent)(void *ctx, int ndim, int64_t m, int is_double, const void *points,
                                      double low[3], double high[3], int64_t *bad);
larmor_status R(lmr_cpu_nufft_rescale)(void *ctx, int ndim, int64_t m, int is_double, const void *points,
                                       const double from[3], const double scale[3], double *to);
larmor_status R(lmr_cpu_nufft_phases)(void *ctx, const lmr_nufft_phases *w, int64_t m, int is_double,
                                      const void *points, void *out);
larmor_status R(lmr_cpu_nufft_modulate)(void *ctx, int64_t m, int64_t batch, const void *d, int conj, const void *x,
                                        void *y);
