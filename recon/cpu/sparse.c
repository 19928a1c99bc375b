/* Sparsity on the processor: groups, products and moves, and this topic's table for it. Complex numbers are handled
 * as pairs so that the loops vectorise. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/cpu/sparse.h"

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

/* ---- products and moves ---- */

static larmor_status weigh(void *ctx, int64_t n, int64_t batch, const void *w_, const void *x_, void *y_)
{
    const real *w = w_;
    for (int64_t b = 0; b < batch; b++) {
        const real *x = (const real *)x_ + 2 * n * b;
        real *y = (real *)y_ + 2 * n * b;
        PARALLEL_FOR(n)
        for (int64_t i = 0; i < n; i++) {
            const real re = w[i] * x[2 * i], im = w[i] * x[2 * i + 1];
            y[2 * i] = re;
            y[2 * i + 1] = im;
        }
    }
    return LARMOR_OK;
}

/* NaN stays NaN. */
static larmor_status clip(void *ctx, int64_t n, double low, double high, const void *x_, void *y_)
{
    const real *x = x_, least = (real)low, most = (real)high;
    real *y = y_;
    PARALLEL_FOR(n)
    for (int64_t i = 0; i < n; i++) {
        const real re = x[2 * i] < least ? least : x[2 * i];
        y[2 * i] = re > most ? most : re;
        y[2 * i + 1] = 0;
    }
    return LARMOR_OK;
}

static larmor_status root(void *ctx, int64_t n, void *w_)
{
    real *w = w_;
    PARALLEL_FOR(n)
    for (int64_t i = 0; i < n; i++) w[i] = (real)sqrt((double)w[i]);
    return LARMOR_OK;
}

/* One row times its own phases and a number. */
static inline void modulate_row(int64_t count, const real *p, int conj_p, real re, real im, const real *x, real *y)
{
    const real sign = conj_p ? -1 : 1;
    for (int64_t i = 0; i < count; i++) {
        const real pr = p[2 * i] * re - p[2 * i + 1] * im, pi = sign * (p[2 * i] * im + p[2 * i + 1] * re);
        const real xr = x[2 * i], xi = x[2 * i + 1];
        y[2 * i] = pr * xr - pi * xi;
        y[2 * i + 1] = pr * xi + pi * xr;
    }
}

static larmor_status modulate(void *ctx, const int64_t dim[3], int64_t batch, const void *phases, int conj_p,
                              double scale, const void *x, void *y)
{
    const cplx *p0 = phases, *p1 = p0 + dim[0], *p2 = p1 + dim[1];
    const int64_t rows = dim[1] * dim[2] * batch;
    PARALLEL_FOR(rows * dim[0])
    for (int64_t r = 0; r < rows; r++) {
        const cplx p = (real)scale * p1[r % dim[1]] * p2[r / dim[1] % dim[2]];
        const real *parts = (const real *)&p;
        const int64_t at = 2 * dim[0] * r;
        modulate_row(dim[0], (const real *)p0, conj_p, parts[0], parts[1], (const real *)x + at, (real *)y + at);
    }
    return LARMOR_OK;
}

/* In tiles, so that each line of the cache is used whole on both sides. */
static larmor_status transpose(void *ctx, const int64_t dim[3], const void *x_, void *y_)
{
    enum { TILE = 16 };
    const int64_t a = dim[0], n = dim[1], columns = (n + TILE - 1) / TILE;
    PARALLEL_FOR(a * n * dim[2])
    for (int64_t t = 0; t < columns * dim[2]; t++) {
        const int64_t first = t % columns * TILE;
        const int64_t last = first + TILE < n ? first + TILE : n;
        const cplx *x = (const cplx *)x_ + a * n * (t / columns);
        cplx *y = (cplx *)y_ + a * n * (t / columns);
        for (int64_t i0 = 0; i0 < a; i0 += TILE)
            for (int64_t i = i0; i < a && i < i0 + TILE; i++)
                for (int64_t j = first; j < last; j++) y[j + n * i] = x[i + a * j];
    }
    return LARMOR_OK;
}

const lmr_sparse_kernels R(lmr_cpu_sparse) = {
    .shrink_groups = shrink_groups,
    .sum_norms = sum_norms,
    .weigh = weigh,
    .clip = clip,
    .root = root,
    .modulate = modulate,
    .transpose = transpose,
    .gradient = R(lmr_cpu_sparse_gradient),
    .gradient_normal = R(lmr_cpu_sparse_gradient_normal),
    .symmetrised = R(lmr_cpu_sparse_symmetrised),
    .analyse = R(lmr_cpu_sparse_analyse),
    .synthesise = R(lmr_cpu_sparse_synthesise),
    .copy_box = R(lmr_cpu_sparse_copy_box),
};
