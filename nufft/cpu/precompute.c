/* The precomputed forms on the processor. All sums have a fixed order, whatever the number of threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "core/cpu/cpu.h"
#include "nufft/cpu/points.h"
#include "nufft/precompute_kernels.h"

enum { PIECES = 16, PIECE_ROWS = 256 }; /* that rows are cut into for each thread, and the least rows of one */
enum { MARGIN = 64 };                   /* bytes after the stored values: whole vectors are read */

typedef struct made {
    lmr_points points; /* a view of the sorted ones, with the stored values */
    real *stored;
    lmr_sparse rows, columns; /* from cells to points and back; points in their sorted order */
    real *values, *cells;     /* of a pass, transforms fastest; cells only if there are several */
    int64_t bytes;
} made;

/* Memory for count elements, added to m->bytes. */
static larmor_status allocate(made *m, int64_t count, size_t size, void **out)
{
    int64_t bytes;
    if (!lmr_mul(count, (int64_t)size, &bytes) || bytes > INT64_MAX - 64) return LMR_NO_MEMORY();
    *out = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64 + (bytes ? 0 : 64));
    if (!*out) return LMR_NO_MEMORY();
    lmr_cpu_large_pages(*out, (size_t)bytes);
    m->bytes += bytes;
    return LARMOR_OK;
}

static void release(void *ctx, void *of)
{
    (void)ctx;
    made *m = of;
    if (!m) return;
    free(m->stored);
    free(m->values);
    free(m->cells);
    free(m->rows.offset);
    free(m->rows.column);
    free(m->rows.value);
    free(m->columns.offset);
    free(m->columns.column);
    free(m->columns.value);
    free(m);
}

/* ---- window values ---- */

/* All that the table is padded to: whole vectors. */
static void window_values(const lmr_nufft_geometry *g, const lmr_points *p, const lmr_point *point, real *out)
{
    for (int d = 0; d < g->ndim; d++) {
        const real t = point->t[d];
        real sum[PLAIN_PITCH] = {0};
        for (int k = g->degree; k >= 0; k--)
            for (int l = 0; l < PLAIN_PITCH; l++) sum[l] = sum[l] * t + p->plain[k * PLAIN_PITCH + l];
        for (int l = 0; l < g->width; l++) *out++ = sum[l];
    }
}

static larmor_status store_values(const lmr_nufft_geometry *g, made *m)
{
    const lmr_points *p = &m->points;
    const int64_t each = g->ndim * g->width, margin = MARGIN / (int64_t)sizeof(real);
    int64_t count;
    void *memory;
    if (!lmr_mul(p->m, each, &count)) return LMR_NO_MEMORY();
    LMR_TRY(allocate(m, count + margin, sizeof(real), &memory));
    m->points.stored = m->stored = memory;
    memset(m->stored + count, 0, MARGIN);
#pragma omp parallel for num_threads(p->threads) schedule(static)
    for (int64_t j = 0; j < p->m; j++)
        window_values(g, p, lmr_point_of(p->points, p->point_size, j), m->stored + j * each);
    return LARMOR_OK;
}

/* ---- the matrices ---- */

static inline int64_t get(const lmr_sparse *a, const void *indices, int64_t i)
{
    return a->long_index ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
}

static inline void set(const lmr_sparse *a, void *indices, int64_t i, int64_t value)
{
    if (a->long_index)
        ((int64_t *)indices)[i] = value;
    else
        ((int32_t *)indices)[i] = (int32_t)value;
}

static larmor_status allocate_matrix(made *m, int64_t rows, int64_t entries, int long_index, lmr_sparse *a)
{
    const size_t index = long_index ? sizeof(int64_t) : sizeof(int32_t);
    void *value;
    a->long_index = long_index;
    a->rows = rows;
    LMR_TRY(allocate(m, rows + 2, index, &a->offset)); /* one more, for counting */
    LMR_TRY(allocate(m, entries, index, &a->column));
    LMR_TRY(allocate(m, entries, sizeof(real), &value));
    a->value = value;
    return LARMOR_OK;
}

/* The first cell of a point of this tile in each dimension. */
static inline void corner_of(const lmr_nufft_geometry *g, const lmr_points *p, const int64_t origin[3],
                             const lmr_point *point, int64_t corner[3])
{
    int32_t at = point->at;
    corner[1] = corner[2] = 0;
    for (int d = 0; d + 1 < g->ndim; d++) {
        const int32_t extent = (int32_t)p->extent[d], rest = at / extent;
        corner[d] = origin[d] + (at - rest * extent);
        at = rest;
    }
    corner[g->ndim - 1] = origin[g->ndim - 1] + at;
}

typedef void visitor(const lmr_nufft_geometry *g, made *m, int64_t point, int64_t low, int64_t high,
                     const int64_t corner[3]);

/* Visit all points in their order. */
static void for_points(const lmr_nufft_geometry *g, made *m, int64_t low, int64_t high, int64_t first_tile,
                       int64_t end_tile, visitor *visit)
{
    const lmr_points *p = &m->points;
    int64_t origin[3], size[3], corner[3];
    for (int64_t tile = first_tile; tile < end_tile; tile++) {
        if (p->first[tile] == p->first[tile + 1]) continue;
        lmr_tile_box(g, p, tile, origin, size);
        for (int64_t j = p->first[tile]; j < p->first[tile + 1]; j++) {
            corner_of(g, p, origin, lmr_point_of(p->points, p->point_size, j), corner);
            visit(g, m, j, low, high, corner);
        }
    }
}

static inline int64_t wrap(int64_t i, int64_t n)
{
    return i < n ? i : i - n;
}

/* One row of the matrix from cells to points. */
static void fill_row(const lmr_nufft_geometry *g, made *m, int64_t point, int64_t low, int64_t high,
                     const int64_t corner[3])
{
    (void)low;
    (void)high;
    const int w = g->width;
    const int wy = g->ndim > 1 ? w : 1;
    const int wz = g->ndim > 2 ? w : 1;
    const lmr_sparse *a = &m->rows;
    int64_t e = point * w * wy * wz;
    real k[3 * 16];
    window_values(g, &m->points, lmr_point_of(m->points.points, m->points.point_size, point), k);
    set(a, a->offset, point, e);
    for (int z = 0; z < wz; z++)
        for (int y = 0; y < wy; y++) {
            const real side = (g->ndim > 1 ? k[w + y] : 1) * (g->ndim > 2 ? k[2 * w + z] : 1);
            const int64_t row = wrap(corner[2] + z, g->cells[2]) * g->cells[1] + wrap(corner[1] + y, g->cells[1]);
            for (int x = 0; x < w; x++, e++) {
                a->value[e] = k[x] * side;
                set(a, a->column, e, row * g->cells[0] + wrap(corner[0] + x, g->cells[0]));
            }
        }
}

/* Entries whose cell lies in planes low .. high - 1 of the last dimension: a thread's own rows of the transpose. With
 * the cells' ends in offset[cell + 1] they are put where these point, and counted there before. */
static inline void visit_slab(const lmr_nufft_geometry *g, made *m, int64_t point, int64_t low, int64_t high,
                              const int64_t corner[3], int counting)
{
    const int w = g->width, last = g->ndim - 1;
    const int64_t row_entries = g->ndim > 1 ? w : 1;
    const int64_t plane_entries = g->ndim > 2 ? w * row_entries : row_entries;
    const lmr_sparse *a = &m->rows, *t = &m->columns;
    for (int k = 0; k < w; k++) {
        const int64_t plane = wrap(corner[last] + k, g->cells[last]);
        if (plane < low || plane >= high) continue;
        const int64_t first = (point * w + k) * plane_entries;
        for (int64_t e = first; e < first + plane_entries; e++) {
            const int64_t cell = get(a, a->column, e);
            const int64_t to = get(t, t->offset, cell + (counting ? 2 : 1));
            set(t, t->offset, cell + (counting ? 2 : 1), to + 1);
            if (!counting) {
                set(t, t->column, to, point);
                t->value[to] = a->value[e];
            }
        }
    }
}

static void count_slab(const lmr_nufft_geometry *g, made *m, int64_t point, int64_t low, int64_t high,
                       const int64_t corner[3])
{
    visit_slab(g, m, point, low, high, corner, 1);
}

static void fill_slab(const lmr_nufft_geometry *g, made *m, int64_t point, int64_t low, int64_t high,
                      const int64_t corner[3])
{
    visit_slab(g, m, point, low, high, corner, 0);
}

/* Every thread looks at all points, and only at its own slab of cells. */
static void for_slabs(const lmr_nufft_geometry *g, made *m, visitor *visit)
{
    const int threads = m->points.threads;
    const int64_t planes = g->cells[g->ndim - 1];
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int i = 0; i < threads; i++)
        for_points(g, m, planes * i / threads, planes * (i + 1) / threads, 0, m->points.tile_count, visit);
}

/* The offset of cell c is counted in place c + 2; summed up it is c's end in c + 2 and its begin in c + 1, which
 * filling moves on to its end: where the next cell begins. */
static void transpose(const lmr_nufft_geometry *g, made *m)
{
    const lmr_sparse *t = &m->columns;
    memset(t->offset, 0, (size_t)(t->rows + 2) * (t->long_index ? sizeof(int64_t) : sizeof(int32_t)));
    for_slabs(g, m, count_slab);
    for (int64_t c = 2; c < t->rows + 2; c++) set(t, t->offset, c, get(t, t->offset, c) + get(t, t->offset, c - 1));
    for_slabs(g, m, fill_slab);
}

static larmor_status make_matrices(const lmr_nufft_geometry *g, int long_index, made *m)
{
    const lmr_points *p = &m->points;
    int64_t entries = p->m, cells, values;
    void *memory;
    for (int d = 0; d < g->ndim; d++)
        if (!lmr_mul(entries, g->width, &entries)) return LMR_NO_MEMORY();
    const int64_t cell_count = g->cells[0] * g->cells[1] * g->cells[2];
    if (!lmr_mul(2 * cell_count, g->batch, &cells) || !lmr_mul(2 * p->m, g->batch, &values)) return LMR_NO_MEMORY();
    LMR_TRY(allocate_matrix(m, p->m, entries, long_index, &m->rows));
    LMR_TRY(allocate_matrix(m, cell_count, entries, long_index, &m->columns));
    LMR_TRY(allocate(m, values, sizeof(real), &memory));
    m->values = memory;
    if (g->batch > 1) {
        LMR_TRY(allocate(m, cells, sizeof(real), &memory));
        m->cells = memory;
    }
#pragma omp parallel for num_threads(p->threads) schedule(dynamic, 1)
    for (int64_t tile = 0; tile < p->tile_count; tile++) for_points(g, m, 0, 0, tile, tile + 1, fill_row);
    set(&m->rows, m->rows.offset, p->m, entries);
    transpose(g, m);
    return LARMOR_OK;
}

static larmor_status build(void *ctx, const lmr_nufft_geometry *g, lmr_precompute_form form, int long_index,
                           int64_t rest, const void *sorted, int64_t *bytes, void **out)
{
    (void)rest;
    *out = NULL;
    LMR_NEW_ZEROS(made, m, 1);
    m->points = *(const lmr_points *)sorted;
    const larmor_status st = form == LMR_PRECOMPUTE_PARTIAL ? store_values(g, m) : make_matrices(g, long_index, m);
    if (st) {
        release(ctx, m);
        return st;
    }
    *bytes = m->bytes;
    *out = m;
    return LARMOR_OK;
}

/* ---- products ---- */

/* The first row from which on the rows and entries before it are at least `work`. */
static int64_t row_after(const lmr_sparse *a, int64_t work)
{
    int64_t from = 0, end = a->rows;
    while (from < end) {
        const int64_t middle = from + (end - from) / 2;
        if (get(a, a->offset, middle) + middle < work)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

/* y = a x, in pieces of nearly equal work. */
static void multiply(const lmr_points *p, const lmr_sparse *a, int64_t batch, const real *x, real *y)
{
    const int64_t work = get(a, a->offset, a->rows) + a->rows, most = a->rows / PIECE_ROWS + 1;
    const int64_t pieces = p->threads == 1 ? 1 : lmr_clamp(most, 1, PIECES * p->threads);
#pragma omp parallel for num_threads(p->threads) schedule(dynamic, 1)
    for (int64_t i = 0; i < pieces; i++) {
        lmr_product_job job = {.a = a, .batch = batch, .x = x, .y = y};
        job.first = row_after(a, work / pieces * i);
        job.end = i + 1 < pieces ? row_after(a, work / pieces * (i + 1)) : a->rows;
        p->rows.multiply(&job);
    }
}

/* Values in the points' order to or from the sorted one, transforms fastest. */
static void gather(const lmr_points *p, int64_t batch, const real *values, real *to)
{
#pragma omp parallel for num_threads(p->threads) schedule(static)
    for (int64_t j = 0; j < p->m; j++) {
        const real *from = values + 2 * lmr_index_of(p, j);
        real *y = to + 2 * batch * j;
        for (int64_t b = 0; b < batch; b++) {
            y[2 * b] = from[2 * b * p->m];
            y[2 * b + 1] = from[2 * b * p->m + 1];
        }
    }
}

static void scatter(const lmr_points *p, int64_t batch, const real *from, real *values)
{
#pragma omp parallel for num_threads(p->threads) schedule(static)
    for (int64_t j = 0; j < p->m; j++) {
        const real *x = from + 2 * batch * j;
        real *to = values + 2 * lmr_index_of(p, j);
        for (int64_t b = 0; b < batch; b++) {
            to[2 * b * p->m] = x[2 * b];
            to[2 * b * p->m + 1] = x[2 * b + 1];
        }
    }
}

/* Cells of a batch with transforms fastest, and back. */
static void interleave(const lmr_points *p, int64_t count, int64_t batch, const real *cells, real *to)
{
#pragma omp parallel for num_threads(p->threads) schedule(static)
    for (int64_t c = 0; c < count; c++)
        for (int64_t b = 0; b < batch; b++) {
            const real *from = cells + 2 * (b * count + c);
            to[2 * (c * batch + b)] = from[0];
            to[2 * (c * batch + b) + 1] = from[1];
        }
}

static void separate(const lmr_points *p, int64_t count, int64_t batch, const real *from, real *cells)
{
#pragma omp parallel for num_threads(p->threads) schedule(static)
    for (int64_t c = 0; c < count; c++)
        for (int64_t b = 0; b < batch; b++) {
            real *to = cells + 2 * (b * count + c);
            to[0] = from[2 * (c * batch + b)];
            to[1] = from[2 * (c * batch + b) + 1];
        }
}

static larmor_status spread(void *ctx, const lmr_nufft_geometry *g, void *of, int64_t batch, const void *values,
                            void *cells)
{
    made *m = of;
    if (m->stored) return R(lmr_cpu_nufft_spread)(ctx, g, &m->points, batch, values, cells);
    gather(&m->points, batch, values, m->values);
    multiply(&m->points, &m->columns, batch, m->values, batch > 1 ? m->cells : cells);
    if (batch > 1) separate(&m->points, m->columns.rows, batch, m->cells, cells);
    return LARMOR_OK;
}

static larmor_status interp(void *ctx, const lmr_nufft_geometry *g, void *of, int64_t batch, const void *cells,
                            void *values)
{
    made *m = of;
    if (m->stored) return R(lmr_cpu_nufft_interp)(ctx, g, &m->points, batch, cells, values);
    if (batch > 1) interleave(&m->points, m->columns.rows, batch, cells, m->cells);
    multiply(&m->points, &m->rows, batch, batch > 1 ? m->cells : cells, m->values);
    scatter(&m->points, batch, m->values, values);
    return LARMOR_OK;
}

const lmr_precompute_kernels R(lmr_cpu_precompute) = {
    .group = 1, .margin = MARGIN, .build = build, .release = release, .spread = spread, .interp = interp};
