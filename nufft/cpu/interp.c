/* Interpolation on the processor: each tile of the grid is copied with its margin, then read by its points.
 * SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include <string.h>

#include "nufft/cpu/points.h"

/* A stretch of cells that starts at `start` and wraps around the grid of n; both in complex numbers. */
static void copy_row(int64_t n, int64_t start, int64_t count, const real *row, real *to)
{
    while (count > 0) {
        const int64_t run = start + count <= n ? count : n - start;
        memcpy(to, row + 2 * start, (size_t)(2 * run) * sizeof(real));
        to += 2 * run;
        count -= run;
        start = 0;
    }
}

static void copy_tile(const lmr_nufft_geometry *g, const lmr_points *p, int64_t tile, const real *cells, real *buffer)
{
    const int64_t *n = g->cells, *extent = p->extent;
    int64_t origin[3], size[3];
    lmr_tile_box(g, p, tile, origin, size);
    for (int64_t z = 0; z < size[2]; z++)
        for (int64_t y = 0; y < size[1]; y++) {
            const int64_t row = (origin[2] + z) % n[2] * n[1] + (origin[1] + y) % n[1];
            copy_row(n[0], origin[0], size[0], cells + 2 * row * n[0], buffer + 2 * extent[0] * (z * extent[1] + y));
        }
}

/* The tile is the whole grid: every thread copies it once. */
static void interp_in_order(const lmr_nufft_geometry *g, const lmr_points *p, int64_t batch, const real *cells,
                            real *values)
{
#pragma omp parallel num_threads(p->threads)
    {
        real *buffer = p->buffer + omp_get_thread_num() * p->tile_batch * p->padded;
        memset(buffer, 0, (size_t)(p->tile_batch * p->padded) * sizeof(real));
        for (int64_t b = 0; b < batch; b += p->tile_batch) {
            const int64_t now = batch - b < p->tile_batch ? batch - b : p->tile_batch;
            for (int64_t k = 0; k < now; k++)
                copy_tile(g, p, 0, cells + 2 * (b + k) * g->cells[0], buffer + k * p->padded);
#pragma omp for schedule(dynamic, 1) nowait
            for (int64_t i = 0; i < p->chunk_count; i++) {
                lmr_rows_job job = lmr_chunk_job(g, p, p->chunks[i].first, p->chunks[i].count);
                job.tile = buffer;
                job.batch = now;
                job.to = values + b * job.value_pitch;
                p->rows.interp(&job);
            }
        }
    }
}

larmor_status R(lmr_cpu_nufft_interp)(void *ctx, const lmr_nufft_geometry *g, void *sorted, int64_t batch,
                                      const void *cells, void *values)
{
    (void)ctx;
    const lmr_points *p = sorted;
    const int64_t cell_count = g->cells[0] * g->cells[1] * g->cells[2];
    if (p->in_order) {
        interp_in_order(g, p, batch, cells, values);
        return LARMOR_OK;
    }
#pragma omp parallel num_threads(p->threads)
    {
        real *buffer = p->buffer + omp_get_thread_num() * p->tile_batch * p->padded;
        /* vectors read past the last row: what lies there is multiplied by zero, and must not be a NaN */
        memset(buffer, 0, (size_t)(p->tile_batch * p->padded) * sizeof(real));
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = 0; i < p->chunk_count; i++) {
            const lmr_chunk chunk = p->chunks[i];
            lmr_rows_job job = lmr_chunk_job(g, p, chunk.first, chunk.count);
            job.tile = buffer;
            for (int64_t b = 0; b < batch; b += p->tile_batch) {
                job.batch = batch - b < p->tile_batch ? batch - b : p->tile_batch;
                job.to = (real *)values + b * job.value_pitch;
                for (int64_t k = 0; k < job.batch; k++)
                    copy_tile(g, p, chunk.tile, (const real *)cells + 2 * (b + k) * cell_count,
                              buffer + k * p->padded);
                p->rows.interp(&job);
            }
        }
    }
    return LARMOR_OK;
}
