/* The processor's order of points: by tiles of the fine grid, each with a margin for the window. The counting sort is
 * stable, so the order does not depend on the number of threads. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "core/cpu/cpu.h"
#include "nufft/cpu/points.h"
#include "nufft/cpu/tiles.h"
#include "nufft/cpu/type3.h"

enum { SORT_BLOCK = 4096, POINT_WORK = 1 << 16, FAR = 256, SUM_BLOCK = 512 };
#ifndef LMR_MOST_NARROW
#define LMR_MOST_NARROW UINT32_MAX /* points whose indices have 32 bits; tests have a smaller number */
#endif

/* ---- where points go ---- */

static int is_narrow(const lmr_nufft_geometry *g)
{
    return 2 * g->width * (int)sizeof(real) <= NARROW_BYTES;
}

typedef struct sorter {
    lmr_points *p;
    const lmr_nufft_source *from;
    lmr_place_job job; /* without points: what every thread begins with */
    int shares;        /* stretches of points */
    int64_t *counts;   /* [shares, tile_count] */
    void *scratch;     /* for bins */
} sorter;

/* What the job asks for of some points; the index among them of the first that is not finite, or -1. */
static int place_block(const sorter *s, int64_t first, int count, lmr_place_job *job)
{
    const size_t step = (size_t)(first * s->from->stride) * (s->from->is_double ? sizeof(double) : sizeof(float));
    job->count = count;
    for (int d = 0; d < job->ndim; d++) job->first[d] = (const char *)s->from->first[d] + step;
    return s->p->rows.place(job);
}

static sorter make_sorter(const lmr_nufft_geometry *g, lmr_points *p, const lmr_nufft_source *from)
{
    sorter s = {.p = p, .from = from, .job = {.ndim = g->ndim, .is_double = from->is_double, .stride = from->stride}};
    int64_t stride = 1, tile_stride = 1;
    /* in two dimensions, and of narrow windows, the cells of a point are few: bins were found to gain less than they
     * take, but for batches in double precision */
    p->binned = g->ndim > (LMR_REAL == 64 ? 1 : 2) && !is_narrow(g) &&
                p->padded * g->batch > BIN_BYTES / (int64_t)sizeof(real) && p->padded <= BIN_CELLS;
    for (int d = 0; d < g->ndim; d++) {
        const double modes = (double)g->modes[d], cells = (double)g->cells[d], scale = cells / modes;
        s.job.factor[d] = from->factor[d];
        s.job.axis[d] = (lmr_axis){.scale = scale,
                                   .scale_rest = fma(-scale, modes, cells) / modes,
                                   .half_modes = 0.5 * modes,
                                   .half_width = 0.5 * g->width,
                                   .cells = cells,
                                   .tiles = (double)p->tiles[d],
                                   .per_cells = 1 / cells,
                                   .per_tiles = 1 / (double)p->tiles[d],
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

/* All points, a stretch of them for each thread; counts [shares, tile_count] or NULL; each may be NULL. Returns the
 * first bad point, at which its stretch ends, or -1. */
static int64_t visit(const sorter *s, lmr_place_what what, visitor each, int64_t *counts)
{
    const lmr_points *p = s->p;
    const int shares = s->shares;
    int64_t first_bad = INT64_MAX;
#pragma omp parallel for num_threads(lmr_cpu_team_for(shares, p->threads)) schedule(static, 1)                       \
    reduction(min                                                                                                    \
              : first_bad)
    for (int b = 0; b < shares; b++) {
        lmr_place_job job = s->job;
        job.what = what;
        const int64_t end = share_start(p->m, shares, b + 1);
        for (int64_t j = share_start(p->m, shares, b); j < end; j += PLACE_BLOCK) {
            const int bad = place_block(s, j, some(j, end), &job);
            if (bad >= 0) {
                first_bad = j + bad;
                break;
            }
            if (each) each(p, &job, j, counts ? counts + b * p->tile_count : NULL);
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
static inline __attribute__((always_inline)) void place_in_tiles(const int ndim, const int has_upper,
                                                                 const lmr_points *p, const lmr_place_job *job,
                                                                 int64_t first, int64_t *counts)
{
    const size_t size = lmr_point_size(ndim, 0, has_upper);
    for (int i = 0; i < job->count; i++) {
        char *record = (char *)p->points + (size_t)counts[job->tile[i]]++ * size;
        lmr_point *to = (lmr_point *)record;
        __builtin_prefetch(record + FAR, 1);
        to->index = (uint32_t)(first + i);
        to->at = job->at[i];
        for (int d = 0; d < ndim; d++) to->t[d] = job->t[d][i];
        if (has_upper) *(uint32_t *)(record + lmr_point_upper(ndim)) = (uint32_t)((first + i) >> 32);
    }
}

static void place_points(const lmr_points *p, const lmr_place_job *job, int64_t first, int64_t *counts)
{
    if (p->upper)
        place_in_tiles(job->ndim, 1, p, job, first, counts);
    else if (job->ndim == 1)
        place_in_tiles(1, 0, p, job, first, counts);
    else if (job->ndim == 2)
        place_in_tiles(2, 0, p, job, first, counts);
    else
        place_in_tiles(3, 0, p, job, first, counts);
}

/* Of the only tile, as they came. */
static void place_in_order(const lmr_points *p, const lmr_place_job *job, int64_t first, int64_t *counts)
{
    (void)counts;
    const size_t size = lmr_point_size(1, 1, 0);
    char *to = (char *)p->points + (size_t)first * size;
    for (int i = 0; i < job->count; i++) {
        ((lmr_point *)(to + (size_t)i * size))->at = job->at[i];
        ((lmr_point *)(to + (size_t)i * size))->t[0] = job->t[0][i];
    }
}

/* How many points each tile of a block has, or, with sum, from counts to where each stretch's points of a tile
 * begin. */
static void sum_block(const sorter *s, int64_t begin, int is_total)
{
    const int64_t all = s->p->tile_count, left = all - begin;
    const int64_t count = left < SUM_BLOCK ? left : SUM_BLOCK;
    int64_t sum[SUM_BLOCK] = {0};
    if (!is_total) memcpy(sum, s->p->first + begin, (size_t)count * sizeof *sum);
    for (int b = 0; b < s->shares; b++) {
        int64_t *counts = s->counts + b * all + begin;
        for (int64_t i = 0; i < count; i++) {
            const int64_t here = counts[i];
            if (!is_total) counts[i] = sum[i];
            sum[i] += here;
        }
    }
    if (is_total) memcpy(s->p->first + begin, sum, (size_t)count * sizeof *sum);
}

/* Where each tile's points begin, and in counts each stretch's among them. */
static void sum_counts(const sorter *s)
{
    lmr_points *p = s->p;
    const int threads = lmr_cpu_team_for(p->tile_count / SUM_BLOCK, p->threads);
    for (int is_total = 1; is_total >= 0; is_total--) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t begin = 0; begin < p->tile_count; begin += SUM_BLOCK) sum_block(s, begin, is_total);
        int64_t sum = 0;
        for (int64_t tile = 0; tile < p->tile_count && is_total; tile++) {
            const int64_t here = p->first[tile];
            p->first[tile] = sum;
            sum += here;
        }
    }
    p->first[p->tile_count] = p->m;
}

/* ---- all of it ---- */

/* All that can fail but for memory: where the points of each tile begin, and which point is not finite. */
static larmor_status survey(sorter *s, int64_t *bad)
{
    lmr_points *p = s->p;
    const int64_t most = p->m / SORT_BLOCK + 1;
    s->shares = most < p->threads ? (int)most : p->threads;
    int64_t count;
    if (p->in_order) {
        p->first[0] = 0;
        p->first[1] = p->m;
        *bad = visit(s, PLACE_NOTHING, NULL, NULL);
        return LARMOR_OK;
    }
    if (!lmr_mul(p->tile_count, s->shares, &count)) return LMR_NO_MEMORY();
    LMR_ALLOCATE_ZEROS(s->counts, count);
    *bad = visit(s, PLACE_TILES, count_points, s->counts);
    if (*bad < 0) sum_counts(s);
    return LARMOR_OK;
}

static void order(const sorter *s)
{
    visit(s, PLACE_ALL, s->p->in_order ? place_in_order : place_points, s->counts);
    if (s->p->binned) R(lmr_bins_sort)(s->p, s->scratch);
}

/* ---- the work ahead ---- */

/* Along one dimension neighbours differ, the last and the first tile too. */
static int colour_along(const lmr_points *p, int d, int64_t k)
{
    return k > 0 && k == p->tiles[d] - 1 && k % 2 == 0 ? 2 : (int)(k % 2);
}

/* Tiles of one colour have no cell in common, padding and wrapping included: their sides are at least the window. */
static void colour_tiles(const lmr_points *p, uint8_t *colour)
{
    for (int64_t z = 0; z < p->tiles[2]; z++)
        for (int64_t y = 0; y < p->tiles[1]; y++) {
            const int of_row = 9 * colour_along(p, 2, z) + 3 * colour_along(p, 1, y);
            for (int64_t x = 0; x < p->tiles[0]; x++) *colour++ = (uint8_t)(of_row + colour_along(p, 0, x));
        }
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
    LMR_HEAP LMR_NEW(uint8_t, colour, (size_t)p->tile_count);
    colour_tiles(p, colour);
    for (int64_t tile = 0; tile < p->tile_count; tile++) {
        const int64_t count = p->first[tile + 1] - p->first[tile];
        chunks += (count + size - 1) / size;
        if (count && !is_heavy(p, tile) && !p->in_order) p->light_first[colour[tile] + 1]++;
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
        if (p->first[tile] < end && !heavy && !p->in_order) p->light[next[colour[tile]]++] = tile;
        for (int64_t first = p->first[tile]; first < end; first += size) {
            const lmr_chunk chunk = {tile, first, end - first < size ? end - first : size};
            p->chunks[p->chunk_count++] = chunk;
            if (heavy) p->heavy[p->heavies++] = chunk;
        }
    }
    return LARMOR_OK;
}

static void plan_buffers(const lmr_nufft_geometry *g, lmr_points *p)
{
    const int64_t tile_bytes = (int64_t)sizeof(real) * p->padded, fitting = TILE_BYTES / tile_bytes;
    p->tile_batch = lmr_clamp(fitting, 1, g->batch);
    const int64_t quick = SPREAD_BYTES / tile_bytes > 2 ? SPREAD_BYTES / tile_bytes : 2;
    p->spread_batch = p->in_order || p->tile_batch < quick ? p->tile_batch : quick;
    const int64_t heavies = p->heavies < 2 * MOST_CHUNKS ? p->heavies : 2 * MOST_CHUNKS;
    const int64_t least = p->in_order ? WHOLE_BUFFERS * p->threads : p->threads;
    p->buffers = heavies > least ? heavies : least;
    p->buffer_bytes = (size_t)(p->buffers * p->tile_batch * tile_bytes);
}

/* Memory that was used before is not cleared once more by the kernel, which takes longer than to sort. */
static int is_enough(size_t held, size_t needed)
{
    return held >= needed && held - needed <= needed / 8;
}

/* The points' and the buffers' memory, new or the previous points'; those lose it only where nothing can fail. */
static larmor_status take_memory(lmr_points *p, lmr_points *previous)
{
    const int has_points = previous && is_enough(previous->bytes, p->bytes);
    const int has_buffer = previous && is_enough(previous->buffer_bytes, p->buffer_bytes);
    if (!has_points) p->points = malloc(p->bytes);
    if (!has_buffer) p->buffer = aligned_alloc(64, p->buffer_bytes);
    if ((!has_points && !p->points) || (!has_buffer && !p->buffer)) return LMR_NO_MEMORY();
    if (!has_points) lmr_cpu_large_pages(p->points, p->bytes);
    if (has_points) {
        p->points = previous->points;
        p->bytes = previous->bytes;
        previous->points = NULL;
        previous->bytes = 0;
    }
    if (has_buffer) {
        p->buffer = previous->buffer;
        p->buffer_bytes = previous->buffer_bytes;
        previous->buffer = NULL;
        previous->buffer_bytes = 0;
    }
    return LARMOR_OK;
}

/* ---- life ---- */

static void release(void *ctx, void *sorted)
{
    (void)ctx;
    lmr_points *p = sorted;
    if (!p) return;
    LMR_FREE(p->points, p->first, p->light, p->heavy, p->chunks, p->buffer, p->doubled, p->plain);
    LMR_FREE(p);
}

/* Tiles of nearly equal size, never smaller than asked for unless the grid is. */
static larmor_status make_tiles(const lmr_nufft_geometry *g, lmr_points *p)
{
    const int64_t row = ROW_BYTES / (2 * (int64_t)sizeof(real));
    p->tile_count = 1;
    p->padded = 2;
    p->in_order = lmr_whole_line(g->ndim, g->tiles, g->cells[0], g->batch, p->m, 2 * (int64_t)sizeof(real));
    const int has_upper = !p->in_order && p->m > (int64_t)LMR_MOST_NARROW;
    p->upper = has_upper ? lmr_point_upper(g->ndim) : 0;
    p->point_size = lmr_point_size(g->ndim, p->in_order, has_upper);
    p->bytes = ((size_t)p->m + 1) * p->point_size + sizeof(int64_t);
    for (int d = 0; d < 3; d++) {
        const int64_t side = tile_sides[g->tiles][g->ndim - 1][d], cells = g->cells[d];
        int64_t tiles = d < g->ndim && cells > side ? cells / side : 1;
        if (tiles > (INT64_C(1) << 50) / cells) tiles = (INT64_C(1) << 50) / cells; /* of a line of 2^31 cells */
        if (p->in_order) tiles = 1;
        p->tiles[d] = tiles;
        p->extent[d] = d < g->ndim ? (cells + tiles - 1) / tiles + g->width - 1 : 1;
        if (d == 0) p->extent[d] = (p->extent[d] + row - 1) / row * row;
        p->tile_count *= tiles;
        p->padded *= p->extent[d];
    }
    LMR_REFUSE(p->tile_count > INT32_MAX || p->padded > INT32_MAX, LARMOR_ERR_MEMORY,
               "nufft: the grid is too large for this device");
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

/* Both kinds of vectors compute the same bits: what differs are lanes that are zero. */
static lmr_rows best_rows(const lmr_nufft_geometry *g)
{
    (void)g;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        lmr_rows rows = R(lmr_rows_avx2);
        if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
            !__builtin_cpu_supports("avx512dq"))
            return rows;
        rows = R(lmr_rows_avx512);
        if (is_narrow(g)) {
            rows.spread = R(lmr_rows_avx2).spread;
            rows.interp = R(lmr_rows_avx2).interp;
        }
        return rows;
    }
#endif
    return R(lmr_rows_base);
}

static larmor_status prepare(const lmr_nufft_geometry *g, lmr_points *p)
{
    LMR_TRY(make_tiles(g, p));
    LMR_TRY(make_window(g, p));
    p->first = malloc(((size_t)p->tile_count + 1) * sizeof *p->first);
    return p->first ? LARMOR_OK : LMR_NO_MEMORY();
}

static larmor_status sort_points(const lmr_nufft_geometry *g, sorter *s, lmr_points *previous, int64_t *bad)
{
    LMR_TRY(survey(s, bad));
    if (*bad >= 0) return LARMOR_OK;
    LMR_TRY(plan_work(s->p));
    plan_buffers(g, s->p);
    if (s->p->binned) s->scratch = malloc(R(lmr_bins_scratch)(s->p));
    if (s->p->binned && !s->scratch) return LMR_NO_MEMORY();
    LMR_TRY(take_memory(s->p, previous));
    order(s);
    return LARMOR_OK;
}

static larmor_status sort_from(void *ctx, const lmr_nufft_geometry *g, int64_t m, const lmr_nufft_source *from,
                               void *previous, int64_t *bad, void **sorted)
{
    *sorted = NULL;
    *bad = -1;
    LMR_NEW_ZEROS(lmr_points, p, 1);
    const int64_t useful = 1 + m * (g->width * g->width) / POINT_WORK;
    p->m = m;
    p->threads = lmr_cpu_team_for(useful, lmr_cpu_backend.threads(ctx));
    p->rows = best_rows(g);
    larmor_status st = prepare(g, p);
    if (!st) {
        sorter s = make_sorter(g, p, from);
        st = sort_points(g, &s, previous, bad);
        LMR_FREE(s.counts, s.scratch);
    }
    if (st || *bad >= 0)
        release(ctx, p);
    else
        *sorted = p;
    return st;
}

static larmor_status sort(void *ctx, const lmr_nufft_geometry *g, int64_t m, int is_double, const void *points,
                          int64_t *bad, void **sorted)
{
    const size_t each = is_double ? sizeof(double) : sizeof(float);
    lmr_nufft_source from = {.is_double = is_double, .stride = g->ndim};
    for (int d = 0; d < g->ndim; d++) {
        from.first[d] = points ? (const char *)points + (size_t)d * each : NULL;
        from.factor[d] = 1;
    }
    return sort_from(ctx, g, m, &from, NULL, bad, sorted);
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
    return ((points > (double)LMR_MOST_NARROW ? 16 : 8) + (double)g->ndim * sizeof(real)) * points + tables +
           buffers_bytes(threads, g, points);
}

const lmr_nufft_kernels R(lmr_cpu_nufft) = {
    .model = LMR_NUFFT_PROCESSOR,
    .has_shapes = has_shapes,
    .points_bytes = points_bytes,
    .sort = sort,
    .sort_from = sort_from,
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
