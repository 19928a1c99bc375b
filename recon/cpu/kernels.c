/* Images on the processor, and this layer's table for it. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "core/cpu/cpu.h"
#include "recon/cpu/recon.h"
#include "recon/math.h"

static larmor_status resize(void *ctx, const int64_t dim[3], int64_t n, const void *x_, void *y_)
{
    const cplx *x = x_;
    cplx *y = y_;
    const int64_t inner = dim[0], outer = dim[2];
    const int64_t last = dim[1] - 1;
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t row = 0; row < outer * n; row++) {
        double w[4];
        const int64_t base = lmr_between(row % n, n, dim[1], w);
        cplx *to = y + inner * row;
        if (inner == 1) { /* the same sum, in registers */
            const cplx *line = x + dim[1] * (row / n);
            cplx sum = 0;
            for (int t = 0; t < 4; t++) sum += (real)w[t] * line[lmr_clamp(base - 1 + t, 0, last)];
            *to = sum;
            continue;
        }
        memset(to, 0, (size_t)inner * sizeof *to);
        for (int t = 0; t < 4; t++) {
            const int64_t inside = lmr_clamp(base - 1 + t, 0, last);
            const cplx *in = x + inner * (inside + dim[1] * (row / n));
            for (int64_t k = 0; k < inner; k++) to[k] += (real)w[t] * in[k];
        }
    }
    return LARMOR_OK;
}

static larmor_status fold(void *ctx, const int64_t from[3], const int64_t n[3], double scale, const void *x_,
                          void *y_)
{
    const cplx *x = x_;
    cplx *y = y_;
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t row = 0; row < n[1] * n[2]; row++)
        for (int64_t i = 0; i < n[0]; i++) {
            double _Complex sum = 0;
            for (int64_t c = row / n[1]; c < from[2]; c += n[2])
                for (int64_t b = row % n[1]; b < from[1]; b += n[1])
                    for (int64_t a = i; a < from[0]; a += n[0])
                        sum += (double _Complex)x[a + from[0] * (b + from[1] * c)];
            y[i + n[0] * row] = (cplx)(scale * sum);
        }
    return LARMOR_OK;
}

static larmor_status crop(void *ctx, const int64_t from[3], const int64_t to[3], double scale, const void *x_,
                          void *y_)
{
    const cplx *x = x_;
    cplx *y = y_;
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t row = 0; row < to[1] * to[2]; row++) {
        const int64_t b = row % to[1] + from[1] / 2 - to[1] / 2, c = row / to[1] + from[2] / 2 - to[2] / 2;
        const int outside = b < 0 || b >= from[1] || c < 0 || c >= from[2];
        for (int64_t i = 0; i < to[0]; i++) {
            const int64_t a = i + from[0] / 2 - to[0] / 2;
            y[i + to[0] * row] = outside || a < 0 || a >= from[0]
                                     ? 0
                                     : (cplx)(scale * (double _Complex)x[a + from[0] * (b + from[1] * c)]);
        }
    }
    return LARMOR_OK;
}

static larmor_status power(void *ctx, int64_t n, int halves, double low, void *x_)
{
    cplx *x = x_;
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t i = 0; i < n; i++) {
        const double v = (double)creal((double _Complex)x[i]);
        const double base = halves == -2 ? v : sqrt(v);
        x[i] = v > low ? (real)(halves > 0 ? base : 1 / base) : 0;
    }
    return LARMOR_OK;
}

static larmor_status largest(void *ctx, int64_t n, const void *x_, double *out)
{
    const cplx *x = x_;
    double most = 0;
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads) reduction(max : most)
    for (int64_t i = 0; i < n; i++) {
        const double v = (double)creal((double _Complex)x[i]);
        if (v > most) most = v;
    }
    *out = most;
    return LARMOR_OK;
}

const lmr_recon_kernels R(lmr_cpu_recon) = {
    .outlier = R(lmr_cpu_recon_outlier),
    .select = R(lmr_cpu_recon_select),
    .pick = R(lmr_cpu_recon_pick),
    .gather = R(lmr_cpu_recon_gather),
    .taper = R(lmr_cpu_recon_taper),
    .survey = R(lmr_cpu_recon_survey),
    .ceiling = R(lmr_cpu_recon_ceiling),
    .energies = R(lmr_cpu_recon_energies),
    .lines = R(lmr_cpu_recon_lines),
    .ramp = R(lmr_cpu_recon_ramp),
    .overlap = R(lmr_cpu_recon_overlap),
    .balance = R(lmr_cpu_recon_balance),
    .covariance = R(lmr_cpu_recon_covariance),
    .products = R(lmr_cpu_recon_products),
    .filter = R(lmr_cpu_recon_filter),
    .scatter = R(lmr_cpu_recon_scatter),
    .align = R(lmr_cpu_recon_align),
    .resize = resize,
    .crop = crop,
    .fold = fold,
    .power = power,
    .largest = largest,
};
