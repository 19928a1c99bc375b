/* The processor's order of points: by tiles of the fine grid, each with a margin for the window. The counting sort is
 * stable, so the order does not depend on the number of threads. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/status.h"
#include "nufft/cpu/points.h"
#include "nufft/cpu/tiles.h"
#include "nufft/cpu/type3.h"

/* Precise enough that folding and scaling a coordinate costs nothing against the arithmetic of `real`. */
#if LMR_REAL == 32
typedef double wide;
#else
typedef long double wide;
#endif

enum { SORT_BLOCK = 4096, POINT_WORK = 1 << 16 };

/* ---- where a point goes ---- */

typedef struct axis {
    wide scale;                                       /* cells per cycle */
    double modes, half_modes, half_width, tile_ratio; /* the last: tiles per cell */
    int64_t cells, stride, tile_stride;               /* strides of the padded tile and of the tiles */
    const int64_t *start;
} axis;

typedef struct sorter {
    lmr_points *p;
    int ndim, double_points;
    const void *points;
    axis axes[3];
} sorter;

/* The tile of point j, its first cell there and the polynomials' arguments; -1 if it is not finite. */
static inline int64_t place_point(const sorter *s, int64_t j, int64_t *at, real t[3])
{
    int64_t tile = 0;
    *at = 0;
    for (int d = 0; d < s->ndim; d++) {
        const axis *a = &s->axes[d];
        const int64_t i = j * s->ndim + d;
        double k = s->double_points ? ((const double *)s->points)[i] : (double)((const float *)s->points)[i];
        if (!(fabs(k) <= a->half_modes)) {
            if (!isfinite(k)) return -1;
            k = remainder(k, a->modes);
        }
        const wide x = (wide)k * a->scale;
        const double left = (double)x - a->half_width;
        int64_t cell = (int64_t)left;
        cell += left > (double)cell;
        t[d] = (real)(2 * ((wide)((double)cell + a->half_width) - x) - 1);
        cell += (cell >> 63) & a->cells; /* without a branch, which would be a coin toss */
        int64_t side = (int64_t)((double)cell * a->tile_ratio);
        side -= cell < a->start[side];
        side += cell >= a->start[side + 1];
        tile += a->tile_stride * side;
        *at += a->stride * (cell - a->start[side]);
    }
    return tile;
}

/* ---- the counting sort ---- */

static int64_t block_start(int64_t m, int blocks, int block)
{
    return m / blocks * block + (block < m % blocks ? block : m % blocks);
}

/* Tiles of all points and, per block of points, how many lie in each tile; returns the first bad point or -1. */
static int64_t count_points(const sorter *s, int blocks, int32_t *tile_of, int64_t *counts)
{
    lmr_points *p = s->p;
    int64_t bad = INT64_MAX;
#pragma omp parallel for num_threads(blocks) schedule(static, 1) reduction(min : bad)
    for (int b = 0; b < blocks; b++) {
        int64_t *count = counts + b * p->tile_count, at;
        real t[3];
        for (int64_t j = block_start(p->m, blocks, b); j < block_start(p->m, blocks, b + 1); j++) {
            const int64_t tile = place_point(s, j, &at, t);
            if (tile < 0) {
                bad = j;
                break;
            }
            tile_of[j] = (int32_t)tile;
            count[tile]++;
        }
    }
    return bad == INT64_MAX ? -1 : bad;
}

static void place_points(const sorter *s, int blocks, const int32_t *tile_of, int64_t *counts)
{
    lmr_points *p = s->p;
    int64_t sum = 0;
    for (int64_t tile = 0; tile < p->tile_count; tile++) {
        p->first[tile] = sum;
        for (int b = 0; b < blocks; b++) {
            const int64_t count = counts[b * p->tile_count + tile];
            counts[b * p->tile_count + tile] = sum;
            sum += count;
        }
    }
    p->first[p->tile_count] = sum;
#pragma omp parallel for num_threads(blocks) schedule(static, 1)
    for (int b = 0; b < blocks; b++) {
        int64_t *next = counts + b * p->tile_count, at;
        real t[3];
        for (int64_t j = block_start(p->m, blocks, b); j < block_start(p->m, blocks, b + 1); j++) {
            place_point(s, j, &at, t);
            const int64_t to = next[tile_of[j]]++;
            p->index[to] = j, p->at[to] = (int32_t)at;
            for (int d = 0; d < s->ndim; d++) p->t[d][to] = t[d];
        }
    }
}

static larmor_status order(const sorter *s, int64_t *bad)
{
    lmr_points *p = s->p;
    const int64_t most = p->m / SORT_BLOCK + 1;
    const int blocks = most < p->threads ? (int)most : p->threads;
    int64_t count;
    if (!lmr_mul(p->tile_count, blocks, &count)) return LMR_NO_MEMORY();
    int32_t *tile_of = malloc(((size_t)p->m + 1) * sizeof *tile_of);
    int64_t *counts = calloc((size_t)count, sizeof *counts);
    larmor_status st = LARMOR_OK;
    if (!tile_of || !counts)
        st = LMR_NO_MEMORY();
    else if ((*bad = count_points(s, blocks, tile_of, counts)) < 0)
        place_points(s, blocks, tile_of, counts);
    free(counts), free(tile_of);
    return st;
}

/* ---- the work ahead ---- */

/* Tiles of one colour have no cell in common, padding and wrapping included: their sides are at least the window. */
static int colour_of(const lmr_points *p, int64_t tile)
{
    int colour = 0, weight = 1;
    for (int d = 0; d < 3; d++) {
        const int64_t k = tile % p->tiles[d];
        tile /= p->tiles[d];
        colour += weight * (k > 0 && k == p->tiles[d] - 1 && k % 2 == 0 ? 2 : (int)(k % 2));
        weight *= 3;
    }
    return colour;
}

/* Tiles with so many points that they are cut into chunks, whatever the number of threads. */
static int64_t chunk_size(const lmr_points *p)
{
    const int64_t share = p->m / MOST_CHUNKS;
    return share > CHUNK_POINTS ? share : CHUNK_POINTS;
}

static int is_heavy(const lmr_points *p, int64_t tile)
{
    return p->first[tile + 1] - p->first[tile] > 2 * chunk_size(p);
}

static larmor_status plan_work(lmr_points *p)
{
    const int64_t size = chunk_size(p);
    int64_t chunks = 0, next[COLOURS] = {0};
    for (int64_t tile = 0; tile < p->tile_count; tile++) {
        const int64_t count = p->first[tile + 1] - p->first[tile];
        chunks += (count + size - 1) / size;
        if (count && !is_heavy(p, tile)) p->light_first[colour_of(p, tile) + 1]++;
    }
    for (int c = 0; c < COLOURS; c++) p->light_first[c + 1] += p->light_first[c], next[c] = p->light_first[c];
    p->light = malloc(((size_t)p->light_first[COLOURS] + 1) * sizeof *p->light);
    p->heavy = malloc(((size_t)chunks + 1) * sizeof *p->heavy);
    p->chunks = malloc(((size_t)chunks + 1) * sizeof *p->chunks);
    if (!p->light || !p->heavy || !p->chunks) return LMR_NO_MEMORY();
    for (int64_t tile = 0; tile < p->tile_count; tile++) {
        const int64_t end = p->first[tile + 1];
        const int heavy = is_heavy(p, tile);
        if (p->first[tile] < end && !heavy) p->light[next[colour_of(p, tile)]++] = tile;
        for (int64_t first = p->first[tile]; first < end; first += size) {
            const lmr_chunk chunk = {tile, first, end - first < size ? end - first : size};
            p->chunks[p->chunk_count++] = chunk;
            if (heavy) p->heavy[p->heavies++] = chunk;
        }
    }
    return LARMOR_OK;
}

static larmor_status make_buffers(const lmr_nufft_geometry *g, lmr_points *p)
{
    const int64_t tile_bytes = (int64_t)sizeof(real) * p->padded, fitting = TILE_BYTES / tile_bytes;
    p->tile_batch = fitting < 1 ? 1 : fitting < g->batch ? fitting : g->batch;
    const int64_t heavies = p->heavies < 2 * MOST_CHUNKS ? p->heavies : 2 * MOST_CHUNKS;
    p->buffers = heavies > p->threads ? heavies : p->threads;
    p->buffer = aligned_alloc(64, (size_t)(p->buffers * p->tile_batch * tile_bytes));
    return p->buffer ? LARMOR_OK : LMR_NO_MEMORY();
}

/* ---- life ---- */

static void release(void *ctx, void *sorted)
{
    (void)ctx;
    lmr_points *p = sorted;
    if (!p) return;
    free(p->index), free(p->at), free(p->first), free(p->light), free(p->heavy), free(p->chunks), free(p->buffer);
    free(p->doubled), free(p->plain);
    for (int d = 0; d < 3; d++) free(p->t[d]), free(p->start[d]);
    free(p);
}

/* Tiles of nearly equal size, never smaller than asked for unless the grid is. */
static larmor_status make_tiles(const lmr_nufft_geometry *g, lmr_points *p)
{
    p->tile_count = 1, p->padded = 2;
    for (int d = 0; d < 3; d++) {
        const int64_t side = tile_sides[g->ndim - 1][d], cells = g->cells[d];
        const int64_t tiles = p->tiles[d] = d < g->ndim && cells > side ? cells / side : 1;
        p->start[d] = malloc((size_t)(tiles + 1) * sizeof *p->start[d]);
        if (!p->start[d]) return LMR_NO_MEMORY();
        for (int64_t k = 0; k <= tiles; k++) p->start[d][k] = cells / tiles * k + cells % tiles * k / tiles;
        p->extent[d] = d < g->ndim ? (cells + tiles - 1) / tiles + g->width - 1 : 1;
        p->tile_count *= tiles, p->padded *= p->extent[d];
    }
    if (p->tile_count > INT32_MAX) return LMR_FAIL(LARMOR_ERR_MEMORY, "nufft: the grid is too large for this device");
    p->padded = (p->padded + 2 * DOUBLED_PITCH) / DOUBLED_PITCH * DOUBLED_PITCH;
    return LARMOR_OK;
}

/* The window's coefficients once as they are and once doubled for interleaved complex rows, padded with zeros. */
static larmor_status make_window(const lmr_nufft_geometry *g, lmr_points *p)
{
    p->doubled = aligned_alloc(64, DEGREES * DOUBLED_PITCH * sizeof(real));
    p->plain = aligned_alloc(64, DEGREES * PLAIN_PITCH * sizeof(real));
    if (!p->doubled || !p->plain) return LMR_NO_MEMORY();
    memset(p->doubled, 0, DEGREES * DOUBLED_PITCH * sizeof(real));
    memset(p->plain, 0, DEGREES * PLAIN_PITCH * sizeof(real));
    for (int k = 0; k <= g->degree; k++)
        for (int l = 0; l < g->width; l++) {
            const real c = ((const real *)g->window)[k * g->width + l];
            p->plain[k * PLAIN_PITCH + l] = c;
            p->doubled[k * DOUBLED_PITCH + 2 * l] = p->doubled[k * DOUBLED_PITCH + 2 * l + 1] = c;
        }
    return LARMOR_OK;
}

static const lmr_rows *best_rows(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return &R(lmr_rows_avx512);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &R(lmr_rows_avx2);
#endif
    return &R(lmr_rows_base);
}

static larmor_status allocate(const lmr_nufft_geometry *g, lmr_points *p)
{
    LMR_TRY(make_tiles(g, p));
    LMR_TRY(make_window(g, p));
    const size_t m = (size_t)p->m + 1;
    p->first = malloc(((size_t)p->tile_count + 1) * sizeof *p->first);
    p->index = malloc(m * sizeof *p->index);
    p->at = malloc(m * sizeof *p->at);
    if (!p->first || !p->index || !p->at) return LMR_NO_MEMORY();
    for (int d = 0; d < g->ndim; d++)
        if (!(p->t[d] = malloc(m * sizeof *p->t[d]))) return LMR_NO_MEMORY();
    return LARMOR_OK;
}

static sorter make_sorter(const lmr_nufft_geometry *g, lmr_points *p, int double_points, const void *points)
{
    sorter s = {.p = p, .ndim = g->ndim, .double_points = double_points, .points = points};
    int64_t stride = 1, tile_stride = 1;
    for (int d = 0; d < g->ndim; d++) {
        s.axes[d] = (axis){.scale = (wide)g->cells[d] / (wide)g->modes[d],
                           .modes = (double)g->modes[d],
                           .half_modes = 0.5 * (double)g->modes[d],
                           .half_width = 0.5 * g->width,
                           .tile_ratio = (double)p->tiles[d] / (double)g->cells[d],
                           .cells = g->cells[d],
                           .stride = stride,
                           .tile_stride = tile_stride,
                           .start = p->start[d]};
        stride *= p->extent[d], tile_stride *= p->tiles[d];
    }
    return s;
}

static larmor_status sort(void *ctx, const lmr_nufft_geometry *g, int64_t m, int wide_points, const void *points,
                          int64_t *bad, void **sorted)
{
    *sorted = NULL, *bad = -1;
    lmr_points *p = calloc(1, sizeof *p);
    if (!p) return LMR_NO_MEMORY();
    const int64_t useful = 1 + m * (g->width * g->width) / POINT_WORK;
    p->m = m, p->threads = lmr_cpu_backend.threads(ctx), p->rows = best_rows();
    if (useful < p->threads) p->threads = (int)useful;
    larmor_status st;
    LMR_OR(done, allocate(g, p));
    const sorter s = make_sorter(g, p, wide_points, points);
    LMR_OR(done, order(&s, bad));
    if (*bad >= 0) goto done;
    LMR_OR(done, plan_work(p));
    LMR_OR(done, make_buffers(g, p));
    *sorted = p;
    return LARMOR_OK;
done:
    release(ctx, p);
    return st;
}

const lmr_nufft_kernels R(lmr_cpu_nufft) = {
    .sort = sort,
    .release = release,
    .spread = R(lmr_cpu_nufft_spread),
    .interp = R(lmr_cpu_nufft_interp),
    .crop = R(lmr_cpu_nufft_crop),
    .pad = R(lmr_cpu_nufft_pad),
    .methods = R(lmr_cpu_nufft_methods),
    .extent = R(lmr_cpu_nufft_extent),
    .rescale = R(lmr_cpu_nufft_rescale),
    .waves = R(lmr_cpu_nufft_waves),
    .modulate = R(lmr_cpu_nufft_modulate),
};
