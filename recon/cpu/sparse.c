/* Sparsity on the processor: groups, and this topic's table for it. Complex numbers are handled as pairs so that the
 * loops vectorise. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "core/cpu/cpu.h"
#include "core/real.h"
#include "recon/kernels_sparse.h"

enum { SERIAL = 16384 }; /* below this many numbers a second thread costs more than it brings */

#define PRAGMA(text) _Pragma(#text)
#define PARALLEL_FOR(n) PRAGMA(omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads) if ((n) > SERIAL))

/* ---- groups ---- */

enum { BLOCK = 512 }; /* groups at a time: their norms stay in the first cache */

/* size[i] <- |x_i| of count groups from the first on, in double: just above t a factor is a small difference. */
static inline void norms(int64_t n, int64_t groups, int64_t first, int64_t count, const real *restrict x,
                         double *restrict size)
{
    for (int64_t i = 0; i < count; i++) size[i] = 0;
    for (int64_t g = 0; g < groups; g++) {
        const real *v = x + 2 * (first + n * g);
        for (int64_t i = 0; i < count; i++) {
            const double re = v[2 * i], im = v[2 * i + 1];
            size[i] += re * re + im * im;
        }
    }
    for (int64_t i = 0; i < count; i++) size[i] = sqrt(size[i]);
}

static inline void scale_block(int64_t n, int64_t groups, int64_t first, int64_t count, const double *factor,
                               const real *x, real *y)
{
    for (int64_t g = 0; g < groups; g++) {
        const int64_t at = 2 * (first + n * g);
        for (int64_t i = 0; i < count; i++) {
            const real f = (real)factor[i], re = x[at + 2 * i], im = x[at + 2 * i + 1];
            y[at + 2 * i] = f * re;
            y[at + 2 * i + 1] = f * im;
        }
    }
}

static larmor_status shrink_groups(void *ctx, int64_t n, int64_t groups, double t, const void *x, void *y)
{
    PARALLEL_FOR(n * groups)
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        double factor[BLOCK];
        norms(n, groups, first, count, x, factor);
        for (int64_t i = 0; i < count; i++) factor[i] = factor[i] <= t ? 0 : 1 - t / factor[i]; /* NaN stays NaN */
        scale_block(n, groups, first, count, factor, x, y);
    }
    return LARMOR_OK;
}

static larmor_status project_groups(void *ctx, int64_t n, int64_t groups, double t, const void *x, void *y)
{
    PARALLEL_FOR(n * groups)
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        double factor[BLOCK];
        norms(n, groups, first, count, x, factor);
        for (int64_t i = 0; i < count; i++) factor[i] = factor[i] > t ? t / factor[i] : 1;
        scale_block(n, groups, first, count, factor, x, y);
    }
    return LARMOR_OK;
}

/* The parts depend on n alone, and their sums are added in order: the same bits for every number of threads. */
static larmor_status sum_norms(void *ctx, int64_t n, int64_t groups, const void *x, double *out)
{
    enum { PARTS = 512 };
    double sum[PARTS], total = 0;
    int64_t part = ((n + PARTS - 1) / PARTS + BLOCK - 1) / BLOCK * BLOCK;
    if (part < BLOCK) part = BLOCK;
    const int64_t parts = (n + part - 1) / part;
    PARALLEL_FOR(n * groups)
    for (int64_t p = 0; p < parts; p++) {
        const int64_t end = (p + 1) * part < n ? (p + 1) * part : n;
        sum[p] = 0;
        for (int64_t first = p * part; first < end; first += BLOCK) {
            const int64_t count = end - first < BLOCK ? end - first : BLOCK;
            double size[BLOCK];
            norms(n, groups, first, count, x, size);
            for (int64_t i = 0; i < count; i++) sum[p] += size[i];
        }
    }
    for (int64_t p = 0; p < parts; p++) total += sum[p];
    *out = total;
    return LARMOR_OK;
}

const lmr_sparse_kernels R(lmr_cpu_sparse) = {
    .shrink_groups = shrink_groups,
    .project_groups = project_groups,
    .sum_norms = sum_norms,
};
