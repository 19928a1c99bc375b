/* Products, covariances and dominant vectors of coils on the processor. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/cpu/cpu.h"
#include "recon/cpu/recon.h"
#include "recon/math.h"

larmor_status R(lmr_cpu_recon_covariance)(void *ctx, int64_t m, int64_t coils, const void *x_, void *cov_)
{
    const cplx *x = x_;
    double _Complex *cov = cov_;
#pragma omp parallel for schedule(dynamic) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t pair = 0; pair < coils * coils; pair++) {
        const cplx *a = x + pair % coils * m, *b = x + pair / coils * m;
        double _Complex sum = 0;
        for (int64_t t = 0; t < m; t++) sum += (double _Complex)a[t] * conj((double _Complex)b[t]);
        cov[pair] = sum;
    }
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_recon_products)(void *ctx, int64_t n, int64_t first, int64_t count, const void *x_, void *y_)
{
    const cplx *x = x_;
    cplx *y = y_;
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t pair = 0; pair < count; pair++) {
        int64_t i, j;
        lmr_pair(first + pair, &i, &j);
        for (int64_t p = 0; p < n; p++) y[p + n * pair] = (cplx)(x[p + n * i] * conj(x[p + n * j]));
    }
    return LARMOR_OK;
}

/* The filter about number `middle` of a line. */
static cplx filtered(const cplx *line, int64_t length, int64_t middle, int64_t count, const double *taps,
                     int64_t step)
{
    cplx sum = 0;
    for (int64_t t = 0; t < count; t++) {
        const int64_t from = middle + (t - count / 2) * step;
        if (from >= 0 && from < length) sum += (real)taps[t] * line[from];
    }
    return sum;
}

larmor_status R(lmr_cpu_recon_filter)(void *ctx, const int64_t dim[3], int64_t n, int64_t count, const double *taps,
                                      int64_t step, int64_t stride, int64_t shift, const void *x_, void *y_)
{
    const cplx *x = x_;
    cplx *y = y_;
    const int64_t inner = dim[0], outer = dim[2];
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t row = 0; row < outer * n; row++) {
        const int64_t i = row % n, o = row / n;
        cplx *to = y + inner * row;
        if (inner == 1) { /* the same sum, in registers */
            *to = filtered(x + dim[1] * o, dim[1], stride * i + shift, count, taps, step);
            continue;
        }
        memset(to, 0, (size_t)inner * sizeof *to);
        for (int64_t t = 0; t < count; t++) {
            const int64_t from = stride * i + shift + (t - count / 2) * step;
            if (from < 0 || from >= dim[1]) continue;
            const cplx *in = x + inner * (from + dim[1] * o);
            for (int64_t k = 0; k < inner; k++) to[k] += (real)taps[t] * in[k];
        }
    }
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_recon_scatter)(void *ctx, int64_t pixels, int64_t coils, int64_t first, int64_t count,
                                       const void *sums_, void *cov_)
{
    const cplx *sums = sums_;
    cplx *cov = cov_;
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t pair = 0; pair < count; pair++) {
        int64_t i, j;
        lmr_pair(first + pair, &i, &j);
        cplx *at = cov + i + coils * j, all = 0;
        for (int64_t p = 0; p < pixels; p++) {
            at[coils * coils * p] = sums[p + pixels * pair];
            all += sums[p + pixels * pair];
        }
        at[coils * coils * pixels] = all;
    }
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_recon_align)(void *ctx, int64_t pixels, int64_t coils, const void *vectors_, void *maps_)
{
    const cplx *vectors = vectors_, *reference = vectors + coils * coils * (pixels + 1) - coils;
    cplx *maps = maps_;
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t p = 0; p < pixels; p++) {
        const cplx *v = vectors + coils * coils * (p + 1) - coils;
        double _Complex along = 0;
        for (int64_t c = 0; c < coils; c++) along += conj((double _Complex)reference[c]) * (double _Complex)v[c];
        const double size = cabs(along);
        const cplx phase = size > 0 ? (cplx)(conj(along) / size) : 1;
        for (int64_t c = 0; c < coils; c++) maps[p + pixels * c] = phase * v[c];
    }
    return LARMOR_OK;
}
