/* What type 3 needs beside the other types' kernels, on the processor. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/cpu/type3.h"

#include <math.h>

#include "core/backend.h"

enum { SERIAL_WORK = 1 << 12 }; /* points that are not worth a second thread */

static int threads_for(void *ctx, int64_t m)
{
    return m > SERIAL_WORK ? lmr_cpu_backend.threads(ctx) : 1;
}

static inline double coordinate(int is_double, const void *points, int64_t i)
{
    return is_double ? ((const double *)points)[i] : (double)((const float *)points)[i];
}

void R(lmr_cpu_nufft_methods)(const void *sorted, lmr_nufft_method *spread, lmr_nufft_method *interp)
{
    (void)sorted;
    *spread = *interp = LMR_NUFFT_AUTO;
}

larmor_status R(lmr_cpu_nufft_extent)(void *ctx, int ndim, int64_t m, int is_double, const void *points,
                                      double low[3], double high[3], int64_t *bad)
{
    int64_t first = INT64_MAX;
    for (int d = 0; d < ndim; d++) {
        double least = INFINITY, most = -INFINITY;
#pragma omp parallel for num_threads(threads_for(ctx, m)) schedule(static) reduction(min                             \
                                                                                     : least, first)                 \
    reduction(max                                                                                                    \
              : most)
        for (int64_t j = 0; j < m; j++) {
            const double x = coordinate(is_double, points, j * ndim + d);
            if (!isfinite(x) && j < first) first = j;
            least = x < least ? x : least;
            most = x > most ? x : most;
        }
        low[d] = m ? least : 0;
        high[d] = m ? most : 0;
    }
    *bad = first == INT64_MAX ? -1 : first;
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_nufft_rescale)(void *ctx, int ndim, int64_t m, int is_double, const void *points,
                                       const double from[3], const double scale[3], double *to)
{
#pragma omp parallel for num_threads(threads_for(ctx, m)) schedule(static)
    for (int64_t j = 0; j < m; j++)
        for (int d = 0; d < ndim; d++)
            to[j * ndim + d] = (coordinate(is_double, points, j * ndim + d) - from[d]) * scale[d];
    return LARMOR_OK;
}

static lmr_phases best_phases(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return R(lmr_phases_avx512);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return R(lmr_phases_avx2);
#endif
    return R(lmr_phases_base);
}

larmor_status R(lmr_cpu_nufft_phases)(void *ctx, const lmr_nufft_phases *w, int64_t m, int is_double,
                                      const void *points, void *out)
{
    const lmr_phases phases = best_phases();
#pragma omp parallel for num_threads(threads_for(ctx, m)) schedule(static)
    for (int64_t j = 0; j < m; j += PHASE_BLOCK) {
        double x[3][PHASE_BLOCK] = {{0}};
        const int count = m - j < PHASE_BLOCK ? (int)(m - j) : PHASE_BLOCK;
        for (int d = 0; d < w->ndim; d++)
            for (int i = 0; i < count; i++) x[d][i] = coordinate(is_double, points, (j + i) * w->ndim + d);
        phases(w, count, x, (real *)out + 2 * j);
    }
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_nufft_modulate)(void *ctx, int64_t m, int64_t batch, const void *d, int conj, const void *x,
                                        void *y)
{
    const real *factor = d;
    const real flip = conj ? -1 : 1;
    for (int64_t b = 0; b < batch; b++) {
        const real *from = (const real *)x + 2 * b * m;
        real *to = (real *)y + 2 * b * m;
#pragma omp parallel for num_threads(threads_for(ctx, m)) schedule(static)
        for (int64_t j = 0; j < m; j++) {
            const real re = factor[2 * j], im = flip * factor[2 * j + 1], a = from[2 * j], c = from[2 * j + 1];
            to[2 * j] = re * a - im * c;
            to[2 * j + 1] = re * c + im * a;
        }
    }
    return LARMOR_OK;
}
