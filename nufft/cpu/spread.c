/* Spreading on the processor: each tile into a buffer of its own, then added to the grid. Tiles of one colour are
 * disjoint and run in parallel without locks; the order of all sums is fixed, so the result does not depend on the
 * number of threads. SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include <string.h>

#include "nufft/cpu/points.h"

typedef struct spreader {
    const lmr_nufft_geometry *g;
    const lmr_points *p;
    int64_t cell_count;
    const real *values;
    real *cells;
} spreader;

/* A stretch of cells that starts at `start` and wraps around the grid of n; both in complex numbers. */
static void add_row(int64_t n, int64_t start, int64_t count, const real *from, real *row)
{
    while (count > 0) {
        const int64_t run = start + count <= n ? count : n - start;
        real *to = row + 2 * start;
        for (int64_t i = 0; i < 2 * run; i++) to[i] += from[i];
        from += 2 * run;
        count -= run;
        start = 0;
    }
}

/* 1 if a body made for `wanted`, or for anything if that is negative, is right for the value. */
static int fits(int64_t wanted, int64_t value)
{
    return wanted < 0 || wanted == value;
}

/* The part of a tile that lies in one slice of the grid, across its last dimension; slice -1: all of it. */
static void add_tile(const spreader *s, int64_t tile, int64_t transform, int64_t slice, const real *buffer)
{
    const int64_t *n = s->g->cells;
    const int64_t *extent = s->p->extent;
    const int64_t in_plane = s->g->ndim == 3 ? slice : -1;
    const int64_t in_row = s->g->ndim == 2 ? slice : -1;
    int64_t origin[3], size[3];
    lmr_tile_box(s->g, s->p, tile, origin, size);
    for (int64_t z = 0; z < size[2]; z++) {
        const int64_t plane = (origin[2] + z) % n[2];
        for (int64_t y = 0; y < size[1] && fits(in_plane, plane); y++) {
            const int64_t row = (origin[1] + y) % n[1];
            if (!fits(in_row, row)) continue;
            add_row(n[0], origin[0], size[0], buffer + 2 * extent[0] * (z * extent[1] + y),
                    s->cells + 2 * (transform * s->cell_count + (plane * n[1] + row) * n[0]));
        }
    }
}

/* Points first .. first + count - 1, all of one tile, into a buffer of `batch` padded tiles. */
static void fill_buffer(const spreader *s, int64_t first, int64_t count, int64_t transform, int64_t batch,
                        real *buffer)
{
    memset(buffer, 0, (size_t)(batch * s->p->padded) * sizeof(real));
    lmr_rows_job job = lmr_chunk_job(s->g, s->p, first, count);
    job.tile = buffer;
    job.batch = batch;
    job.from = s->values + transform * job.value_pitch;
    s->p->rows.spread(&job);
}

/* The tiles with few points, colour by colour. */
static void spread_light(const spreader *s, int64_t transform, int64_t batch)
{
    const lmr_points *p = s->p;
#pragma omp parallel num_threads(p->threads) if (p->light_first[COLOURS] > p->light_first[0])
    {
        real *buffer = p->buffer + omp_get_thread_num() * p->tile_batch * p->padded;
        for (int c = 0; c < COLOURS; c++) {
            if (p->light_first[c] == p->light_first[c + 1]) continue;
#pragma omp for schedule(dynamic, 1)
            for (int64_t i = p->light_first[c]; i < p->light_first[c + 1]; i++) {
                const int64_t tile = p->light[i];
                fill_buffer(s, p->first[tile], p->first[tile + 1] - p->first[tile], transform, batch, buffer);
                for (int64_t b = 0; b < batch; b++) add_tile(s, tile, transform + b, -1, buffer + b * p->padded);
            }
        }
    }
}

/* Add buffers 1 .. count - 1 to buffer 0, in this order; by all threads of the team, which do not wait. */
static void sum_buffers(const lmr_points *p, int64_t batch, int64_t count, real *buffer)
{
    const int64_t length = batch * p->padded, pitch = p->tile_batch * p->padded, blocks = length / DOUBLED_PITCH;
#pragma omp for schedule(static) nowait
    for (int64_t k = 0; k < blocks; k++)
        for (int64_t c = 1; c < count; c++)
            for (int64_t i = k * DOUBLED_PITCH; i < (k + 1) * DOUBLED_PITCH; i++) buffer[i] += buffer[c * pitch + i];
}

/* The first chunk after i, and before end, of another tile. */
static int64_t next_tile(const lmr_points *p, int64_t i, int64_t end)
{
    int64_t next = i + 1;
    while (next < end && p->heavy[next].tile == p->heavy[i].tile) next++;
    return next;
}

/* Heavy tiles, whose sums lie in the buffers of their first chunks, to the grid: every slice of it by one thread of
 * the team. */
static void add_sums(const spreader *s, int64_t begin, int64_t end, int64_t transform, int64_t batch)
{
    const lmr_points *p = s->p;
    const int64_t pitch = p->tile_batch * p->padded;
    const int64_t slices = s->g->ndim > 1 ? s->g->cells[s->g->ndim - 1] : 1;
#pragma omp for schedule(static)
    for (int64_t k = 0; k < batch * slices; k++)
        for (int64_t i = begin; i < end; i = next_tile(p, i, end))
            add_tile(s, p->heavy[i].tile, transform + k / slices, k % slices,
                     p->buffer + (i - begin) * pitch + k / slices * p->padded);
}

/* The tiles with many points, and all tiles where they are few: each chunk into a buffer, as many whole tiles at once
 * as there are buffers for. One team does all of it: a new one for each sum took longer than the sums. */
static void spread_heavy(const spreader *s, int64_t transform, int64_t batch)
{
    const lmr_points *p = s->p;
    const int64_t pitch = p->tile_batch * p->padded;
#pragma omp parallel num_threads(p->threads) if (p->heavies > 0)
    for (int64_t begin = 0, end; begin < p->heavies; begin = end) {
        end = begin + p->buffers < p->heavies ? begin + p->buffers : p->heavies;
        while (end < p->heavies && p->heavy[end - 1].tile == p->heavy[end].tile) end--;
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = begin; i < end; i++)
            fill_buffer(s, p->heavy[i].first, p->heavy[i].count, transform, batch, p->buffer + (i - begin) * pitch);
        for (int64_t i = begin, next; i < end; i = next) {
            next = next_tile(p, i, end);
            if (next > i + 1) sum_buffers(p, batch, next - i, p->buffer + (i - begin) * pitch);
        }
#pragma omp barrier
        add_sums(s, begin, end, transform, batch);
    }
}

/* Cells from .. end - 1 of a line += those of a padded tile that is the whole line. */
static void add_line(const lmr_nufft_geometry *g, int64_t from, int64_t end, const real *buffer, real *cells)
{
    for (int64_t i = 2 * from; i < 2 * end; i++) cells[i] += buffer[i];
    for (int64_t i = 2 * from; i < 2 * end && i < 2 * (g->width - 1); i++) cells[i] += buffer[2 * g->cells[0] + i];
}

/* The tile is the whole grid: its chunks are added one after the other, however many buffers there are. */
static void spread_in_order(const spreader *s, int64_t transform, int64_t batch)
{
    enum { BLOCK = 512 };
    const lmr_points *p = s->p;
    const int64_t pitch = p->tile_batch * p->padded, blocks = (s->cell_count + BLOCK - 1) / BLOCK;
#pragma omp parallel num_threads(p->threads)
    for (int64_t begin = 0; begin < p->chunk_count; begin += p->buffers) {
        const int64_t end = p->chunk_count - begin < p->buffers ? p->chunk_count : begin + p->buffers;
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = begin; i < end; i++)
            fill_buffer(s, p->chunks[i].first, p->chunks[i].count, transform, batch, p->buffer + (i - begin) * pitch);
#pragma omp for schedule(static)
        for (int64_t k = 0; k < batch * blocks; k++) {
            const int64_t b = k / blocks;
            const int64_t from = k % blocks * BLOCK;
            const int64_t to = from + BLOCK < s->cell_count ? from + BLOCK : s->cell_count;
            for (int64_t i = 0; i < end - begin; i++)
                add_line(s->g, from, to, p->buffer + i * pitch + b * p->padded,
                         s->cells + 2 * (transform + b) * s->cell_count);
        }
    }
}

static void zero_cells(const spreader *s, int64_t batch)
{
    const int64_t block = 1 << 14, total = 2 * batch * s->cell_count, blocks = (total + block - 1) / block;
#pragma omp parallel for num_threads(s->p->threads) schedule(static)
    for (int64_t k = 0; k < blocks; k++) {
        const int64_t left = total - k * block;
        memset(s->cells + k * block, 0, (size_t)(left < block ? left : block) * sizeof(real));
    }
}

larmor_status R(lmr_cpu_nufft_spread)(void *ctx, const lmr_nufft_geometry *g, void *sorted, int64_t batch,
                                      const void *values, void *cells)
{
    (void)ctx;
    const lmr_points *p = sorted;
    const spreader s = {g, p, g->cells[0] * g->cells[1] * g->cells[2], values, cells};
    zero_cells(&s, batch);
    for (int64_t b = 0; b < batch; b += p->spread_batch) {
        const int64_t now = batch - b < p->spread_batch ? batch - b : p->spread_batch;
        if (p->in_order) {
            spread_in_order(&s, b, now);
        } else {
            spread_light(&s, b, now);
            spread_heavy(&s, b, now);
        }
    }
    return LARMOR_OK;
}
