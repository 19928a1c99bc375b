/* What an execute costs. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/choose/cost.h"

#include "core/core.h"

lmr_nufft_rates lmr_nufft_builtin_rates(lmr_nufft_model model, int precision, int threads)
{
    const lmr_nufft_rates *const tables[LMR_NUFFT_MODELS] = {
        [LMR_NUFFT_PROCESSOR] = lmr_nufft_processor_rates, [LMR_NUFFT_GPU] = lmr_nufft_gpu_rates};
    lmr_nufft_rates rates = tables[model][precision];
    rates.threads = threads < 1 ? 1 : threads;
    return rates;
}

static void scale(double factor, int count, double *values)
{
    for (int i = 0; i < count; i++) values[i] *= factor;
}

void lmr_nufft_scale_rates(lmr_nufft_rates *rates, const lmr_nufft_scales *scales)
{
    for (int d = 0; d < 3; d++) {
        for (int t = 0; t < 2; t++) {
            lmr_nufft_rate *r = &rates->points[t][d];
            const double factor = scales->points[t][d];
            r->point *= factor;
            scale(factor, LMR_NUFFT_WIDTHS, r->value);
            scale(factor, LMR_NUFFT_WIDTHS, r->pad);
            scale(factor, LMR_NUFFT_WIDTHS, r->sparse);
        }
        rates->start[d] *= scales->grid[d];
        rates->cell[d] *= scales->grid[d];
        scale(scales->grid[d], 4, rates->fft[d]);
    }
}

static double cells_of(const lmr_nufft_work *w)
{
    double cells = 1;
    for (int d = 0; d < w->ndim; d++) cells *= w->cells[d];
    return cells;
}

/* What a processor's threads share: padded tiles that hold points, or chunks of their points. */
typedef struct portions {
    double count, cells; /* cells that are zeroed and added, or copied, by all of them */
} portions;

/* In spreading only crowded tiles are cut, or few ones, and then buffers for all chunks wait to be added. */
static portions portions_of(const lmr_nufft_tiling *t, const lmr_nufft_work *w, int type)
{
    double tiles = 1, volume = 1;
    for (int d = 0; d < w->ndim; d++) {
        const double count = fmax(1, floor(w->cells[d] / t->side[w->ndim - 1]));
        tiles *= count;
        volume *= w->cells[d] / count + w->width;
    }
    const double occupied = tiles * -expm1(-w->points / tiles), each = w->points / occupied,
                 size = fmax(t->chunk, w->points / t->most_chunks), chunks = ceil(each / size);
    const int cut = each > 2 * size || (w->ndim == 3 && tiles > 1 && tiles <= t->few);
    const double count = occupied * (type == 2 || cut ? chunks : 1);
    return (portions){count, volume * count * (type == 1 && cut ? 2 : 1)};
}

/* How much longer than its share a thread may work where there are few portions; for two threads, whatever their
 * number: it must not change the choice, which would change results. */
static double imbalance(double shared)
{
    const double count = fmax(1, rint(shared));
    return ceil(count / 2) * 2 / count;
}

/* What a GPU brings to shared memory: nearly all cells, unless points are few. */
static double touched_cells(const lmr_nufft_work *w)
{
    static const double tile[3] = {2048, 1024, 4096};
    const double cells = cells_of(w);
    return -expm1(-w->points * tile[w->ndim - 1] / cells) * cells;
}

/* Points are taken as uniform. */
double lmr_nufft_cost_points(const lmr_nufft_rates *rates, const lmr_nufft_work *w, int type)
{
    const lmr_nufft_rate *r = &rates->points[type - 1][w->ndim - 1];
    const int wider = w->width - LMR_NUFFT_NARROWEST, last = LMR_NUFFT_WIDTHS - 1;
    const int at = (int)lmr_clamp(wider, 0, last);
    double touched = touched_cells(w), longer = 1;
    if (rates->tiling.side[0] > 0) {
        const portions parts = portions_of(&rates->tiling, w, type);
        touched = parts.cells;
        longer = imbalance(parts.count);
    }
    const double passes = ceil(w->batch / fmax(1, w->per_pass)), values = w->points * w->batch;
    double cost = w->points * passes * r->point + values * r->value[at] + w->batch * touched * r->pad[at];
    if (r->sparse[at] > 0) cost = fmin(cost, values * r->sparse[at]);
    return 1e-9 * cost * longer / rates->threads;
}

/* For one cell: the factors of a side of n cells. What is left of a size that has others counts as twos. */
static double fft_of_side(const double fft[4], double n)
{
    static const int prime[4] = {2, 3, 5, 7};
    double sum = 0;
    if (!(n >= 1 && n < 0x1p52)) return 52 * fft[0];
    int64_t rest = (int64_t)n;
    for (int i = 0; i < 4; i++)
        for (; rest % prime[i] == 0; rest /= prime[i]) sum += fft[i];
    return sum + log2((double)rest) * fft[0];
}

/* Of an FFT's lines along all axes: once an axis is transformed, only its wanted modes have lines along the
 * others. */
static double lines_left(const lmr_nufft_rates *rates, const lmr_nufft_work *w)
{
    double left = 1, sum = 0;
    if (!rates->prunes) return 1;
    for (int d = 0; d < w->ndim; d++) {
        sum += left / w->ndim;
        if (w->modes[d] > 0) left *= fmin(1, w->modes[d] / w->cells[d]);
    }
    return sum;
}

double lmr_nufft_cost_grid(const lmr_nufft_rates *rates, const lmr_nufft_work *w)
{
    const int last = w->ndim - 1;
    const double cells = w->batch * cells_of(w) * lines_left(rates, w);
    double fft = 0;
    for (int d = 0; d < w->ndim; d++) fft += fft_of_side(rates->fft[last], w->cells[d]) / w->ndim;
    return 1e-9 * (rates->start[last] + cells * (rates->cell[last] + fft)) / rates->threads;
}

double lmr_nufft_cost(const lmr_nufft_rates *rates, const lmr_nufft_work *w)
{
    const int types = w->types & 3;
    const double one = types == 2 ? 0 : lmr_nufft_cost_points(rates, w, 1);
    const double two = types == 1 ? 0 : lmr_nufft_cost_points(rates, w, 2);
    return lmr_nufft_cost_grid(rates, w) + (one + two) / (types == 1 || types == 2 ? 1 : 2);
}
