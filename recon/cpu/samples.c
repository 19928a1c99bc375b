/* Samples and their density on the processor. SPDX-License-Identifier: Apache-2.0 */
#include "recon/cpu/recon.h"

#include "core/cpu/cpu.h"
#include "core/status.h"
#include "recon/math.h"

larmor_status R(lmr_cpu_recon_outlier)(void *ctx, int64_t n, const double *x, double low, int64_t *index)
{
    int64_t first = n;
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads) reduction(min : first)
    for (int64_t i = 0; i < n; i++)
        if ((!isfinite(x[i]) || x[i] < low) && i < first) first = i;
    *index = first < n ? first : -1;
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_recon_select)(void *ctx LMR_UNUSED, int nd, int64_t m, const double *points,
                                      const double radius[3], double limit, int64_t *index, int64_t *count)
{
    *count = 0;
    for (int64_t j = 0; j < m; j++)
        if (lmr_radius(nd, points + j * nd, radius) < limit) index[(*count)++] = j;
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_recon_pick)(void *ctx, int nd, int64_t m, const int64_t *index, double scale,
                                    const double *from, double *to)
{
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t j = 0; j < m; j++)
        for (int d = 0; d < nd; d++) to[j * nd + d] = scale * from[(index ? index[j] : j) * nd + d];
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_recon_gather)(void *ctx, int64_t samples, int64_t m, int64_t coils, const int64_t *index,
                                      const double *w, const void *from_, void *to_)
{
    const cplx *from = from_;
    cplx *to = to_;
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t c = 0; c < coils; c++)
        for (int64_t j = 0; j < m; j++) to[j + m * c] = (cplx)(w[j] * (double _Complex)from[index[j] + samples * c]);
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_recon_taper)(void *ctx, int nd, int64_t m, const double *points, const double radius[3],
                                     double *w)
{
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t j = 0; j < m; j++) w[j] *= lmr_hann(lmr_radius(nd, points + j * nd, radius));
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_recon_lines)(void *ctx, int nd, int64_t n, int64_t readouts, const double *points, double *t,
                                     lmr_line *line)
{
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t r = 0; r < readouts; r++) line[r] = lmr_project(nd, n, points + r * n * nd, t + r * n);
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_recon_ramp)(void *ctx, int nd, int64_t n, int64_t readouts, const double *t,
                                    const lmr_line *line, int64_t rays, const double *ray, double *w)
{
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t j = 0; j < n * readouts; j++) w[j] = lmr_ramp(nd, n, t + j / n * n, &line[j / n], j % n, rays, ray);
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_recon_overlap)(void *ctx, int nd, const int64_t dim[3], double scale, void *y_)
{
    cplx *y = y_;
    int64_t n = 1;
    for (int d = 0; d < nd; d++) n *= dim[d];
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t i = 0; i < n; i++) y[i] = (real)(scale * lmr_overlap(lmr_distance(nd, dim, i), nd));
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_recon_balance)(void *ctx, int64_t m, double *w, void *g_)
{
    cplx *g = g_;
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t j = 0; j < m; j++) {
        const double density = cabs((double _Complex)g[j]);
        if (density > 0) w[j] /= density;
        g[j] = (real)w[j];
    }
    return LARMOR_OK;
}
