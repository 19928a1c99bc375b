/* What an execute costs. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/cost.h"

#include <math.h>

#include "nufft/cpu/tiles.h"
#include "nufft/wisdom.h"

/* Measured on one thread of an Intel Xeon with AVX-512, as docs/planner.md says. */
static const lmr_nufft_rates processor[LMR_PRECISIONS] = {
    [LMR_F32] = {.points = {{{3.7, 10.3, 1.48, 1.05}, {0, 16.9, 0.73, 0.88}, {0, 11.3, 1.73, 0.99}},
                            {{2.7, 1.6, 1.58, 0.68}, {2.2, 6.9, 0.53, 0.41}, {0, 0, 1.63, 0.72}}},
                 .fft = {0.3, 0.5, 0.8},
                 .cell = {0.5, 0.5, 0.3},
                 .lanes = 16,
                 .tiles = 1},
    [LMR_F64] = {.points = {{{2.8, 9.5, 1.78, 2.4}, {0, 9.2, 1.37, 1.5}, {0, 9.4, 1.85, 1.21}},
                            {{0.5, 0, 2.42, 1.5}, {0, 2.7, 0.92, 1.06}, {0, 0, 0.97, 0.91}}},
                 .fft = {0.55, 0.65, 0.7},
                 .cell = {1.4, 1, 1},
                 .lanes = 8,
                 .tiles = 1},
};

/* From the executes on an NVIDIA H200 in docs/performance.md. */
static const lmr_nufft_rates gpu_rates[LMR_PRECISIONS] = {
    [LMR_F32] = {.points = {{{0, 0.045, 0.001, 0}, {0, 0.048, 0.00024, 0}, {0, 0.09, 0.00016, 0}},
                            {{0, 0.045, 0.001, 0}, {0, 0.062, 0.0001, 0}, {0, 0.065, 0.00008, 0}}},
                 .fft = {0.0004, 0.0005, 0.0006},
                 .cell = {0.006, 0.006, 0.006},
                 .lanes = 2},
    [LMR_F64] = {.points = {{{0, 0.08, 0.002, 0}, {0, 0.09, 0.0003, 0}, {0, 0.16, 0.00032, 0}},
                            {{0, 0.06, 0.002, 0}, {0, 0.06, 0.0003, 0}, {0, 0.03, 0.00042, 0}}},
                 .fft = {0.0008, 0.001, 0.0012},
                 .cell = {0.012, 0.012, 0.012},
                 .lanes = 2},
};

/* Floats in a vector of the inner loops that the processor takes. */
static int processor_lanes(void)
{
#if defined(__x86_64__) || defined(__i386__)
    if (__builtin_cpu_supports("avx512f")) return 16;
    if (__builtin_cpu_supports("avx2")) return 8;
#endif
    return 4;
}

lmr_nufft_rates lmr_nufft_builtin_rates(int gpu, int precision, int threads)
{
    lmr_nufft_rates rates = gpu ? gpu_rates[precision] : processor[precision];
    rates.threads = gpu || threads < 1 ? 1 : threads;
    if (!gpu) rates.lanes = processor_lanes() / (precision == LMR_F64 ? 2 : 1);
    return rates;
}

lmr_nufft_rates lmr_nufft_rates_of(const larmor_device *dev, int precision, int threads)
{
    const int all = dev->be->threads(dev->ctx);
    lmr_nufft_rates rates = lmr_nufft_builtin_rates(!all, precision, threads > 0 ? threads : all);
    const lmr_nufft_scales *scales = lmr_wisdom_scales(dev, precision);
    for (int d = 0; scales && d < 3; d++) {
        for (int t = 0; t < 2; t++) {
            lmr_nufft_rate *r = &rates.points[t][d];
            const double s = scales->points[t][d];
            r->point *= s, r->value *= s, r->tap *= s, r->pad *= s;
        }
        rates.fft[d] *= scales->grid[d], rates.cell[d] *= scales->grid[d];
    }
    return rates;
}

/* Cells of the tiles that points lie in, margins included: each of them for spreading, for interpolation once for each
 * chunk of points. Points are taken as uniform. */
static double padded_cells(const lmr_nufft_work *w, int type)
{
    double tiles = 1, padded = 1;
    for (int d = 0; d < w->ndim; d++) {
        const double n = fmax(1, floor(w->cells[d] / (double)tile_sides[0][w->ndim - 1][d]));
        tiles *= n, padded *= w->cells[d] / n + w->width;
    }
    const double occupied = tiles * -expm1(-w->points / tiles);
    return padded * (type == 1 ? occupied : fmax(occupied, w->points / CHUNK_POINTS));
}

double lmr_nufft_cost_points(const lmr_nufft_rates *rates, const lmr_nufft_work *w, int type)
{
    const lmr_nufft_rate *r = &rates->points[type - 1][w->ndim - 1];
    const double taps = pow(w->width, w->ndim - 1) * ceil(2.0 * w->width / rates->lanes);
    const double passes = ceil(w->batch / fmax(1, w->together));
    const double each = passes * r->point + w->batch * (r->value + taps * r->tap);
    const double tiles = rates->tiles ? w->batch * r->pad * padded_cells(w, type) : 0;
    return 1e-9 * (w->points * each + tiles) / rates->threads;
}

/* FFTW's estimated plans of two and three dimensions are two to three times as quick for small powers of two as for
 * their neighbours. */
static double fft_of_sizes(const lmr_nufft_work *w)
{
    double sum = 0;
    for (int d = 0; d < w->ndim; d++) sum += w->cells[d] == 32 || w->cells[d] == 64 || w->cells[d] == 128 ? 0.4 : 1;
    return w->ndim > 1 ? sum / w->ndim : 1;
}

double lmr_nufft_cost_grid(const lmr_nufft_rates *rates, const lmr_nufft_work *w)
{
    double cells = 1;
    for (int d = 0; d < w->ndim; d++) cells *= w->cells[d];
    const double fft = rates->fft[w->ndim - 1] * log2(cells) * (rates->tiles ? fft_of_sizes(w) : 1);
    return 1e-9 * w->batch * cells * (rates->cell[w->ndim - 1] + fft) / rates->threads;
}

double lmr_nufft_cost(const lmr_nufft_rates *rates, const lmr_nufft_work *w)
{
    const int types = w->types & 3;
    const double one = types == 2 ? 0 : lmr_nufft_cost_points(rates, w, 1),
                 two = types == 1 ? 0 : lmr_nufft_cost_points(rates, w, 2);
    return lmr_nufft_cost_grid(rates, w) + (one + two) / (types == 1 || types == 2 ? 1 : 2);
}
