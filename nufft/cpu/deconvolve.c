/* Between the fine grid's frequencies and the modes, on the processor. SPDX-License-Identifier: Apache-2.0 */
#include "core/backend.h"
#include "nufft/cpu/points.h"

enum { SERIAL_WORK = 1 << 14 }; /* cells that are not worth a second thread */

/* The place among centred modes of the one that lies at i, in either order. */
static inline int64_t centred(const lmr_nufft_geometry *g, int d, int64_t i)
{
    const int64_t half = g->modes[d] / 2;
    if (!g->fft_order) return i;
    return i < g->modes[d] - half ? i + half : i - (g->modes[d] - half);
}

/* Its inverse. */
static inline int64_t place(const lmr_nufft_geometry *g, int d, int64_t mode)
{
    const int64_t half = g->modes[d] / 2;
    if (!g->fft_order) return mode;
    return mode < half ? mode + (g->modes[d] - half) : mode - half;
}

/* Index in a grid of n cells of centred mode i of `modes`, whose frequency is i - modes / 2. */
static inline int64_t cell_of(int64_t i, int64_t modes, int64_t n)
{
    const int64_t frequency = i - modes / 2;
    return frequency < 0 ? frequency + n : frequency;
}

static void scale(int64_t count, const real *factor, real side, const real *from, real *to)
{
    for (int64_t i = 0; i < count; i++) {
        const real f = factor[i] * side;
        to[2 * i] = f * from[2 * i];
        to[2 * i + 1] = f * from[2 * i + 1];
    }
}

static real factor_at(const lmr_nufft_geometry *g, int d, int64_t i)
{
    return d < g->ndim ? ((const real *)g->factor[d])[i] : 1;
}

/* From cells to modes, or back, where the FFT's band does not read the other cells. */
static larmor_status move(void *ctx, const lmr_nufft_geometry *g, int64_t batch, int back, const real *from, real *to)
{
    const int64_t *N = g->modes, *n = g->cells, low = N[0] / 2, rows = N[1] * N[2] * batch;
    const int64_t negative = place(g, 0, 0), positive = place(g, 0, low); /* where a row's halves begin */
    const real *factor = g->factor[0];
    const int threads = rows * N[0] > SERIAL_WORK ? lmr_cpu_backend.threads(ctx) : 1;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < rows; r++) {
        const int64_t y = centred(g, 1, r % N[1]), z = centred(g, 2, r / N[1] % N[2]), b = r / (N[1] * N[2]);
        const int64_t row = (b * n[2] + cell_of(z, N[2], n[2])) * n[1] + cell_of(y, N[1], n[1]);
        const int64_t cell[] = {(row + 1) * n[0] - low, row * n[0]};
        const int64_t mode[] = {r * N[0] + negative, r * N[0] + positive};
        const int64_t *begin = back ? mode : cell;
        const int64_t *end = back ? cell : mode;
        const real side = factor_at(g, 1, y) * factor_at(g, 2, z);
        scale(low, factor, side, from + 2 * begin[0], to + 2 * end[0]);
        scale(N[0] - low, factor + low, side, from + 2 * begin[1], to + 2 * end[1]);
    }
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_nufft_crop)(void *ctx, const lmr_nufft_geometry *g, int64_t batch, const void *cells,
                                    void *modes)
{
    return move(ctx, g, batch, 0, cells, modes);
}

larmor_status R(lmr_cpu_nufft_pad)(void *ctx, const lmr_nufft_geometry *g, int64_t batch, const void *modes,
                                   void *cells)
{
    return move(ctx, g, batch, 1, modes, cells);
}
