/* The processor's order of points: by tiles of the fine grid, each with a margin for the window. The counting sort is
 * stable, so the order does not depend on the number of threads. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clamp.h"
#include "core/cpu/cpu.h"
#include "core/status.h"
#include "nufft/cpu/points.h"
#include "nufft/cpu/tiles.h"
#include "nufft/cpu/type3.h"

enum { SORT_BLOCK = 4096, POINT_WORK = 1 << 16, FAR = 256 };

/* ---- where points go ---- */

typedef struct sorter {
    lmr_points *p;
    const void *points;
    lmr_place_job job; /* without points: what every thread begins with */
} sorter;

/* Tiles, first cells and arguments of some points; the index among them of the first that is not finite, or -1. */
static int place_block(const sorter *s, int64_t first, int count, lmr_place_job *job)
{
    const size_t point = (size_t)job->ndim * (job->is_double ? sizeof(double) : sizeof(float));
    job->count = count;
    job->points = (const char *)s->points + (size_t)first * point;
    return s->p->rows->place(job);
}

static sorter make_sorter(const lmr_nufft_geometry *g, lmr_points *p, int is_double, const void *points)
{
    sorter s = {.p = p, .points = points, .job.ndim = g->ndim, .job.is_double = is_double};
    int64_t stride = 1, tile_stride = 1;
    /* in two dimensions the cells of a point are few, and only in double were batches found to gain */
    p->binned = g->ndim > (LMR_REAL == 64 ? 1 : 2) && p->padded * g->batch > BIN_BYTES / (int64_t)sizeof(real);
    for (int d = 0; d < g->ndim; d++) {
        const double modes = (double)g->modes[d], cells = (double)g->cells[d], scale = cells / modes;
        s.job.axis[d] = (lmr_axis){.scale = scale,
                                   .scale_rest = fma(-scale, modes, cells) / modes,
                                   .half_modes = 0.5 * modes,
                                   .half_width = 0.5 * g->width,
                                   .cells = cells,
                                   .tiles = (double)p->tiles[d],
                                   .stride = (double)stride,
                                   .tile_stride = (double)tile_stride};
        stride *= p->extent[d];
        tile_stride *= p->tiles[d];
    }
    return s;
}

/* ---- the counting sort ---- */

static int64_t share_start(int64_t m, int shares, int share)
{
    return m / shares * share + (share < m % shares ? share : m % shares);
}

/* Points that are placed at once. */
static int some(int64_t from, int64_t end)
{
    return end - from < PLACE_BLOCK ? (int)(end - from) : PLACE_BLOCK;
}

/* What is done with points first .. of a pass, when it is known where they go; counts: [tile_count] of the thread's
 * own, or NULL. */
typedef void (*visitor)(const lmr_points *p, const lmr_place_job *job, int64_t first, int64_t *counts);

/* All points, a stretch of them for each thread; counts [shares, tile_count] or NULL. Returns the first bad point, at
 * which its stretch ends, or -1. */
static int64_t visit(const sorter *s, int shares, visitor each, int64_t *counts)
{
    const lmr_points *p = s->p;
    int64_t first_bad = INT64_MAX;
#pragma omp parallel for num_threads(lmr_cpu_team_for(shares, p->threads)) schedule(static, 1)                       \
    reduction(min                                                                                                    \
              : first_bad)
    for (int b = 0; b < shares; b++) {
        lmr_place_job job = s->job;
        const int64_t end = share_start(p->m, shares, b + 1);
        for (int64_t j = share_start(p->m, shares, b); j < end; j += PLACE_BLOCK) {
            const int bad = place_block(s, j, some(j, end), &job);
            if (bad >= 0) {
                first_bad = j + bad;
                break;
            }
            each(p, &job, j, counts ? counts + b * p->tile_count : NULL);
        }
    }
    return first_bad == INT64_MAX ? -1 : first_bad;
}

/* How many lie in each tile. */
static void count_points(const lmr_points *p, const lmr_place_job *job, int64_t first, int64_t *counts)
{
    (void)p;
    (void)first;
    for (int i = 0; i < job->count; i++) counts[job->tile[i]]++;
}

/* To where their tiles go on; counts: the next place in each. */
static void place_points(const lmr_points *p, const lmr_place_job *job, int64_t first, int64_t *counts)
{
    for (int i = 0; i < job->count; i++) {
        lmr_point *to = (lmr_point *)((char *)p->points + (size_t)counts[job->tile[i]]++ * p->point_size);
        __builtin_prefetch((const char *)to + FAR, 1);
        to->index = first + i;
        to->at = job->at[i];
        for (int d = 0; d < job->ndim; d++) to->t[d] = job->t[d][i];
    }
}

/* Of the only tile, as they came. */
static void place_in_order(const lmr_points *p, const lmr_place_job *job, int64_t first, int64_t *counts)
{
    (void)counts;
    lmr_point *to = (lmr_point *)((char *)p->points + (size_t)first * p->point_size);
    for (int i = 0; i < job->count; i++, to = (lmr_point *)((char *)to + p->point_size)) {
        to->at = job->at[i];
        to->t[0] = job->t[0][i];
    }
}

/* From counts to where each thread's points of a tile begin. */
static void sum_counts(lmr_points *p, int shares, int64_t *counts)
{
    int64_t sum = 0;
    for (int64_t tile = 0; tile < p->tile_count; tile++) {
        p->first[tile] = sum;
        for (int b = 0; b < shares; b++) {
            const int64_t count = counts[b * p->tile_count + tile];
            counts[b * p->tile_count + tile] = sum;
            sum += count;
        }
    }
    p->first[p->tile_count] = sum;
}

/* ---- bins within tiles ---- */

/* Bins of BIN_SIDE cells a side in the largest tile. */
static void count_bins(const lmr_points *p, int64_t bins[3])
{
    for (int d = 0; d < 3; d++) bins[d] = (p->extent[d] + BIN_SIDE - 1) / BIN_SIDE;
}

/* Points of one tile by their bins, in their old order otherwise. Scratch: as many points and their bins; next: all
 * bins. */
static void bin_points(const lmr_points *p, int64_t first, int count, char *scratch, int32_t *bin, int32_t *next)
{
    const size_t size = p->point_size;
    const int32_t row = (int32_t)p->extent[0], rows = (int32_t)p->extent[1];
    int64_t bins[3];
    count_bins(p, bins);
    const int32_t across = (int32_t)bins[0], down = (int32_t)bins[1], all = across * down * (int32_t)bins[2];
    char *points = (char *)p->points + (size_t)first * size;
    memset(next, 0, (size_t)all * sizeof *next);
    for (int i = 0; i < count; i++) {
        const int32_t at = lmr_point_of(points, size, i)->at, line = at / row, z = line / rows, y = line - z * rows;
        bin[i] = (z / BIN_SIDE * down + y / BIN_SIDE) * across + (at - line * row) / BIN_SIDE;
        next[bin[i]]++;
    }
    for (int32_t b = 0, sum = 0; b < all; b++) {
        const int32_t here = next[b];
        next[b] = sum;
        sum += here;
    }
    memcpy(scratch, points, (size_t)count * size);
    for (int i = 0; i < count; i++) memcpy(points + (size_t)next[bin[i]]++ * size, scratch + (size_t)i * size, size);
}

/* Neighbours one after the other: a tile does not fit into the first cache, the cells of a bin nearly do. */
static larmor_status bin_tiles(const lmr_points *p)
{
    int failed = 0;
#pragma omp parallel num_threads(p->threads) reduction(| : failed)
    {
        int64_t bins[3];
        count_bins(p, bins);
        char *scratch = malloc(BIN_POINTS * p->point_size);
        int32_t *bin = malloc((size_t)(BIN_POINTS + bins[0] * bins[1] * bins[2]) * sizeof *bin);
        failed = !scratch || !bin;
#pragma omp for schedule(dynamic, 1)
        for (int64_t tile = 0; tile < p->tile_count; tile++)
            for (int64_t j = p->first[tile], end = p->first[tile + 1]; !failed && j < end; j += BIN_POINTS)
                bin_points(p, j, end - j < BIN_POINTS ? (int)(end - j) : BIN_POINTS, scratch, bin, bin + BIN_POINTS);
        free(scratch);
        free(bin);
    }
    return failed ? LMR_NO_MEMORY() : LARMOR_OK;
}

/* ---- all of it ---- */

static larmor_status order(const sorter *s, int64_t *bad)
{
    lmr_points *p = s->p;
    const int64_t most = p->m / SORT_BLOCK + 1;
    const int shares = most < p->threads ? (int)most : p->threads;
    int64_t count;
    if (p->in_order) {
        p->first[0] = 0;
        p->first[1] = p->m;
        *bad = visit(s, shares, place_in_order, NULL);
        return LARMOR_OK;
    }
    if (!lmr_mul(p->tile_count, shares, &count)) return LMR_NO_MEMORY();
    int64_t *counts = calloc((size_t)count, sizeof *counts);
    if (!counts) return LMR_NO_MEMORY();
    *bad = visit(s, shares, count_points, counts);
    if (*bad < 0) {
        sum_counts(p, shares, counts);
        visit(s, shares, place_points, counts);
    }
    free(counts);
    return *bad < 0 && p->binned ? bin_tiles(p) : LARMOR_OK;
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
    const int64_t half = p->in_order ? p->extent[0] / 2 : 0;
    const int64_t least = half > CHUNK_POINTS ? half : CHUNK_POINTS;
    return share > least ? share : least;
}

/* Whether a tile is spread by chunks. So are all of a small grid of three dimensions, where hardly two tiles have the
 * same colour and threads would be without work. */
static int is_heavy(const lmr_points *p, int64_t tile)
{
    const int64_t count = p->first[tile + 1] - p->first[tile];
    const int few = p->tiles[2] > 1 && p->tile_count <= FEW_TILES;
    return !p->in_order && count > (few ? 0 : 2 * chunk_size(p));
}

static larmor_status plan_work(lmr_points *p)
{
    const int64_t size = chunk_size(p);
    int64_t chunks = 0, next[COLOURS] = {0};
    for (int64_t tile = 0; tile < p->tile_count; tile++) {
        const int64_t count = p->first[tile + 1] - p->first[tile];
        chunks += (count + size - 1) / size;
        if (count && !is_heavy(p, tile) && !p->in_order) p->light_first[colour_of(p, tile) + 1]++;
    }
    for (int c = 0; c < COLOURS; c++) {
        p->light_first[c + 1] += p->light_first[c];
        next[c] = p->light_first[c];
    }
    p->light = malloc(((size_t)p->light_first[COLOURS] + 1) * sizeof *p->light);
    p->heavy = malloc(((size_t)chunks + 1) * sizeof *p->heavy);
    p->chunks = malloc(((size_t)chunks + 1) * sizeof *p->chunks);
    if (!p->light || !p->heavy || !p->chunks) return LMR_NO_MEMORY();
    for (int64_t tile = 0; tile < p->tile_count; tile++) {
        const int64_t end = p->first[tile + 1];
        const int heavy = is_heavy(p, tile);
        if (p->first[tile] < end && !heavy && !p->in_order) p->light[next[colour_of(p, tile)]++] = tile;
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
    p->tile_batch = lmr_clamp(fitting, 1, g->batch);
    const int64_t quick = SPREAD_BYTES / tile_bytes > 2 ? SPREAD_BYTES / tile_bytes : 2;
    p->spread_batch = p->in_order || p->tile_batch < quick ? p->tile_batch : quick;
    const int64_t heavies = p->heavies < 2 * MOST_CHUNKS ? p->heavies : 2 * MOST_CHUNKS;
    const int64_t least = p->in_order ? WHOLE_BUFFERS * p->threads : p->threads;
    p->buffers = heavies > least ? heavies : least;
    p->buffer = aligned_alloc(64, (size_t)(p->buffers * p->tile_batch * tile_bytes));
    return p->buffer ? LARMOR_OK : LMR_NO_MEMORY();
}

/* ---- life ---- */

static void release(void *ctx, void *sorted)
{
    (void)ctx;
    lmr_points *p = sorted;
    if (!p) return;
    free(p->points);
    free(p->first);
    free(p->light);
    free(p->heavy);
    free(p->chunks);
    free(p->buffer);
    free(p->doubled);
    free(p->plain);
    free(p);
}

/* Tiles of nearly equal size, never smaller than asked for unless the grid is. */
static larmor_status make_tiles(const lmr_nufft_geometry *g, lmr_points *p)
{
    const int64_t row = ROW_BYTES / (2 * (int64_t)sizeof(real));
    p->tile_count = 1;
    p->padded = 2;
    p->in_order = lmr_whole_line(g->ndim, g->tiles, g->cells[0], g->batch, p->m, 2 * (int64_t)sizeof(real));
    p->point_size = lmr_point_size(g->ndim, p->in_order);
    for (int d = 0; d < 3; d++) {
        const int64_t side = tile_sides[g->tiles][g->ndim - 1][d], cells = g->cells[d];
        int64_t tiles = d < g->ndim && cells > side ? cells / side : 1;
        if (tiles > (INT64_C(1) << 51) / cells) tiles = (INT64_C(1) << 51) / cells; /* of a line of 2^31 cells */
        if (p->in_order) tiles = 1;
        p->tiles[d] = tiles;
        p->extent[d] = d < g->ndim ? (cells + tiles - 1) / tiles + g->width - 1 : 1;
        if (d == 0) p->extent[d] = (p->extent[d] + row - 1) / row * row;
        p->tile_count *= tiles;
        p->padded *= p->extent[d];
    }
    if (p->tile_count > INT32_MAX || p->padded > INT32_MAX)
        return LMR_FAIL(LARMOR_ERR_MEMORY, "nufft: the grid is too large for this device");
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
    p->first = malloc(((size_t)p->tile_count + 1) * sizeof *p->first);
    const size_t bytes = ((size_t)p->m + 1) * p->point_size + sizeof(int64_t);
    p->points = malloc(bytes);
    if (!p->first || !p->points) return LMR_NO_MEMORY();
    lmr_cpu_large_pages(p->points, bytes);
    return LARMOR_OK;
}

static larmor_status sort(void *ctx, const lmr_nufft_geometry *g, int64_t m, int is_double, const void *points,
                          int64_t *bad, void **sorted)
{
    *sorted = NULL;
    *bad = -1;
    lmr_points *p = calloc(1, sizeof *p);
    if (!p) return LMR_NO_MEMORY();
    const int64_t useful = 1 + m * (g->width * g->width) / POINT_WORK;
    p->m = m;
    p->threads = lmr_cpu_team_for(useful, lmr_cpu_backend.threads(ctx));
    p->rows = best_rows();
    larmor_status st;
    LMR_OR(done, allocate(g, p));
    const sorter s = make_sorter(g, p, is_double, points);
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

/* ---- what it takes ---- */

static int has_shapes(int ndim, lmr_nufft_method method)
{
    (void)ndim;
    (void)method;
    return 1;
}

/* The tiles that threads spread into: one buffer for each thread, or for each chunk of crowded points. */
static double buffers_bytes(int threads, const lmr_nufft_geometry *g, double points)
{
    const double element = 2 * sizeof(real);
    double tile = element, tile_count = 1;
    for (int d = 0; d < g->ndim; d++) {
        const int64_t cells = g->cells[d];
        const int64_t side = tile_sides[g->tiles][g->ndim - 1][d];
        const int64_t tiles = cells > side ? cells / side : 1;
        tile_count *= (double)tiles;
        tile *= (double)((cells + tiles - 1) / tiles + g->width) + (d == 0 ? ROW_BYTES / element : 0);
    }
    if (lmr_whole_line(g->ndim, g->tiles, g->cells[0], g->batch, (int64_t)points, 2 * (int64_t)sizeof(real)))
        return WHOLE_BUFFERS * threads * (double)g->batch *
               (element * (double)(g->cells[0] + g->width) + 512 + ROW_BYTES);
    tile += 512; /* rounded up to whole vectors */
    const double held = fmin(tile * (double)g->batch, fmax(TILE_BYTES, tile));
    /* the last chunk of a tile may be short, and a tile that is cut into chunks has two or more, unless all are */
    const double size = fmax(CHUNK_POINTS, floor(points / MOST_CHUNKS));
    const double chunks =
        points / size + fmin(tile_count, g->ndim == 3 && tile_count <= FEW_TILES ? points : points / (2 * size));
    const double crowded = chunks < 2 * MOST_CHUNKS ? chunks : 2 * MOST_CHUNKS;
    return held * (crowded > threads ? crowded : threads);
}

/* An index, a cell and the window's arguments of each point, tables of tiles, buffers. */
static double points_bytes(void *ctx, const lmr_nufft_geometry *g, double points)
{
    const int threads = lmr_cpu_backend.threads(ctx);
    const double cells = (double)g->cells[0] * (double)g->cells[1] * (double)g->cells[2];
    const double tables = (24 + 8 * threads) * (cells / 1024 + 1) + 24 * points / CHUNK_POINTS + 0x1p14 +
                          0x1p17 * threads; /* the last: while bins are sorted */
    return (16 + (double)g->ndim * sizeof(real)) * points + tables + buffers_bytes(threads, g, points);
}

const lmr_nufft_kernels R(lmr_cpu_nufft) = {
    .model = LMR_NUFFT_PROCESSOR,
    .has_shapes = has_shapes,
    .points_bytes = points_bytes,
    .sort = sort,
    .release = release,
    .spread = R(lmr_cpu_nufft_spread),
    .interp = R(lmr_cpu_nufft_interp),
    .crop = R(lmr_cpu_nufft_crop),
    .pad = R(lmr_cpu_nufft_pad),
    .methods = R(lmr_cpu_nufft_methods),
    .extent = R(lmr_cpu_nufft_extent),
    .rescale = R(lmr_cpu_nufft_rescale),
    .phases = R(lmr_cpu_nufft_phases),
    .modulate = R(lmr_cpu_nufft_modulate),
};
