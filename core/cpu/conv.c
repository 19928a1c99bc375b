/* Convolution with a real spectrum on the processor, pruned: lines of zeros are never transformed, nor lines that
 * nobody keeps. Every line is contiguous when it is transformed; what leads from an axis to the next one is a
 * transposition in pieces of a cache line, as the grid [rest, n] of the first axis, n lines of the axes that follow.
 * SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/real.h"
#include "core/status.h"

enum { TOGETHER = 8, MOST_BYTES = 16 << 20 }; /* lines at a time; of a grid that every thread has for itself */

typedef struct pair {
    real re, im;
} pair;

/* What a thread works with. */
typedef struct bench {
    pair *line, *lines; /* one padded line; TOGETHER transformed ones */
    pair *grid[2];      /* of the first axis, where each thread does whole arrays; of the second of three axes */
} bench;

typedef struct conv {
    int ndim, threads;
    int64_t dim[3], keep[3], batch;
    int64_t rest[3], cells[3]; /* products of keep and of dim over the axes that follow */
    int64_t pitch, longest;    /* between lines; of the grid's rows, see row_of */
    int apart;                 /* 1: as many arrays at a time as there are threads */
    void *plan[3][2];
    real *spectrum; /* the last axis fastest */
    char *memory;
    pair *grid; /* of the first axis, where the threads share one */
    bench *bench;
} conv;

/* ---- one axis ---- */

/* Elements between the lines of the grid behind axis a: whole cache lines, and never a power of two. */
static int64_t row_of(const conv *c, int a)
{
    return c->rest[a] / TOGETHER * TOGETHER + 2 * TOGETHER;
}

static void load(const conv *c, int a, const bench *b, const pair *from)
{
    memcpy(b->line, from, (size_t)c->keep[a] * sizeof *from);
    memset(b->line + c->keep[a], 0, (size_t)(c->dim[a] - c->keep[a]) * sizeof *from);
}

/* The last axis: there, times the spectrum, and back. */
static void filter_line(const conv *c, const bench *b, const real *spectrum, const pair *x, pair *y)
{
    const int a = c->ndim - 1;
    load(c, a, b, x);
    R(lmr_cpu_line).exec(c->plan[a][0], b->line, b->lines);
    real *v = &b->lines->re;
    for (int64_t i = 0; i < c->dim[a]; i++) v[2 * i] *= spectrum[i], v[2 * i + 1] *= spectrum[i];
    R(lmr_cpu_line).exec(c->plan[a][1], b->lines, b->line);
    memcpy(y, b->line, (size_t)c->keep[a] * sizeof *y);
}

/* Lines `first` and the following of axis a into the columns of its grid. */
static void lines_to_grid(const conv *c, int a, const bench *b, int64_t first, const pair *x, pair *grid)
{
    const int64_t left = c->rest[a] - first, count = left < TOGETHER ? left : TOGETHER, row = row_of(c, a);
    for (int64_t k = 0; k < count; k++) {
        load(c, a, b, x + (first + k) * c->keep[a]);
        R(lmr_cpu_line).exec(c->plan[a][0], b->line, b->lines + k * c->pitch);
    }
    grid += first;
    if (count == TOGETHER)
        for (int64_t i = 0; i < c->dim[a]; i++)
            for (int64_t k = 0; k < TOGETHER; k++) grid[i * row + k] = b->lines[k * c->pitch + i];
    else
        for (int64_t i = 0; i < c->dim[a]; i++)
            for (int64_t k = 0; k < count; k++) grid[i * row + k] = b->lines[k * c->pitch + i];
}

static void grid_to_lines(const conv *c, int a, const bench *b, int64_t first, const pair *grid, pair *y)
{
    const int64_t left = c->rest[a] - first, count = left < TOGETHER ? left : TOGETHER, row = row_of(c, a);
    grid += first;
    if (count == TOGETHER)
        for (int64_t i = 0; i < c->dim[a]; i++)
            for (int64_t k = 0; k < TOGETHER; k++) b->lines[k * c->pitch + i] = grid[i * row + k];
    else
        for (int64_t i = 0; i < c->dim[a]; i++)
            for (int64_t k = 0; k < count; k++) b->lines[k * c->pitch + i] = grid[i * row + k];
    for (int64_t k = 0; k < count; k++) {
        R(lmr_cpu_line).exec(c->plan[a][1], b->lines + k * c->pitch, b->line);
        memcpy(y + (first + k) * c->keep[a], b->line, (size_t)c->keep[a] * sizeof *y);
    }
}

/* ---- all axes from a on ---- */

static void filter(const conv *c, int a, const bench *b, const real *spectrum, const pair *x, pair *y)
{
    if (a == 2 || a == c->ndim - 1) {
        filter_line(c, b, spectrum, x, y);
        return;
    }
    pair *grid = b->grid[a];
    for (int64_t r = 0; r < c->rest[a]; r += TOGETHER) lines_to_grid(c, a, b, r, x, grid);
    for (int64_t i = 0; i < c->dim[a]; i++) {
        pair *row = grid + i * row_of(c, a);
        filter(c, a + 1, b, spectrum + i * c->cells[a], row, row);
    }
    for (int64_t r = 0; r < c->rest[a]; r += TOGETHER) grid_to_lines(c, a, b, r, grid, y);
}

/* One array by all threads. */
static void filter_together(const conv *c, const pair *x, pair *y)
{
#pragma omp parallel num_threads(c->threads)
    {
        const bench *b = c->bench + omp_get_thread_num();
#pragma omp for schedule(static)
        for (int64_t r = 0; r < c->rest[0]; r += TOGETHER) lines_to_grid(c, 0, b, r, x, c->grid);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < c->dim[0]; i++) {
            pair *row = c->grid + i * row_of(c, 0);
            filter(c, 1, b, c->spectrum + i * c->cells[0], row, row);
        }
#pragma omp for schedule(static)
        for (int64_t r = 0; r < c->rest[0]; r += TOGETHER) grid_to_lines(c, 0, b, r, c->grid, y);
    }
}

static larmor_status exec(void *ctx, void *plan, const void *x_, void *y_)
{
    (void)ctx;
    const conv *c = plan;
    const int64_t each = c->keep[0] * c->rest[0], apart = c->apart ? c->batch / c->threads * c->threads : 0;
    const pair *x = x_;
    pair *y = y_;
#pragma omp parallel for num_threads(c->threads) schedule(static, 1)
    for (int64_t i = 0; i < apart; i++)
        filter(c, 0, c->bench + omp_get_thread_num(), c->spectrum, x + i * each, y + i * each);
    for (int64_t i = apart; i < c->batch; i++)
        if (c->ndim == 1)
            filter(c, 0, c->bench, c->spectrum, x + i * each, y + i * each);
        else
            filter_together(c, x + i * each, y + i * each);
    return LARMOR_OK;
}

/* ---- the spectrum ---- */

static larmor_status set(void *ctx, void *plan, double scale, const void *cells)
{
    (void)ctx;
    const conv *c = plan;
    const pair *from = cells;
    const int64_t n0 = c->dim[0], n1 = c->dim[1], n2 = c->dim[2];
#pragma omp parallel for num_threads(c->threads) schedule(static)
    for (int64_t i = 0; i < n0; i++)
        for (int64_t j = 0; j < n1; j++)
            for (int64_t k = 0; k < n2; k++)
                c->spectrum[(i * n1 + j) * n2 + k] = (real)scale * from[(k * n1 + j) * n0 + i].re;
    return LARMOR_OK;
}

/* ---- life ---- */

static void destroy(void *ctx, void *plan)
{
    (void)ctx;
    conv *c = plan;
    if (!c) return;
    for (int a = 0; a < 3; a++)
        for (int s = 0; s < 2; s++) R(lmr_cpu_line).destroy(c->plan[a][s]);
    free(c->bench), free(c->memory), free(c);
}

static conv shape_of(const lmr_cpu *cpu, int ndim, const int64_t dim[3], const int64_t keep[3], int64_t batch)
{
    conv c = {.ndim = ndim, .threads = cpu->threads, .batch = batch};
    for (int a = 0; a < 3; a++) c.dim[a] = a < ndim ? dim[a] : 1, c.keep[a] = a < ndim ? keep[a] : 1;
    for (int a = 2; a >= 0; a--) {
        c.rest[a] = a < 2 ? c.keep[a + 1] * c.rest[a + 1] : 1;
        c.cells[a] = a < 2 ? c.dim[a + 1] * c.cells[a + 1] : 1;
        if (c.dim[a] > c.longest) c.longest = c.dim[a];
    }
    c.pitch = c.longest / TOGETHER * TOGETHER + 2 * TOGETHER;
    c.apart = batch >= c.threads && (ndim == 1 || c.dim[0] * row_of(&c, 0) <= MOST_BYTES / (int64_t)sizeof(pair));
    return c;
}

/* Hands out the memory in pieces of whole cache lines, or only counts them where there is none. */
static void *piece(const conv *c, size_t *used, int64_t count, size_t size)
{
    void *start = c->memory ? c->memory + *used : NULL;
    *used += ((size_t)count * size + 63) / 64 * 64;
    return start;
}

static size_t lay_out(conv *c)
{
    size_t used = 0;
    c->spectrum = piece(c, &used, c->dim[0] * c->cells[0], sizeof(real));
    const int64_t grid = c->ndim > 1 ? c->dim[0] * row_of(c, 0) : 0,
                  plane = c->ndim > 2 ? c->dim[1] * row_of(c, 1) : 0;
    const int shared = !c->apart || c->batch % c->threads;
    if (shared) c->grid = piece(c, &used, grid, sizeof(pair));
    for (int t = 0; t < c->threads; t++) {
        const bench b = {
            .line = piece(c, &used, c->pitch, sizeof(pair)),
            .lines = piece(c, &used, TOGETHER * c->pitch, sizeof(pair)),
            .grid = {piece(c, &used, c->apart ? grid : 0, sizeof(pair)), piece(c, &used, plane, sizeof(pair))}};
        if (c->bench) c->bench[t] = b;
    }
    return used;
}

static larmor_status check(int ndim, const int64_t dim[3], const int64_t keep[3], int64_t batch)
{
    int64_t total = (int64_t)sizeof(pair);
    if (ndim < 1 || ndim > 3 || batch < 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "conv: %d dimensions, batch %lld", ndim, (long long)batch);
    for (int a = 0; a < ndim; a++) {
        if (keep[a] < 1 || keep[a] > dim[a])
            return LMR_FAIL(LARMOR_ERR_ARG, "conv: %lld of %lld numbers are kept, expected 1 .. %lld",
                            (long long)keep[a], (long long)dim[a], (long long)dim[a]);
        if (!lmr_mul(total, dim[a] + 2 * TOGETHER, &total) || total > INT64_C(1) << 58)
            return LMR_FAIL(LARMOR_ERR_SHAPE, "conv: the grid is too large");
    }
    return LARMOR_OK;
}

static double bytes(void *ctx, int ndim, const int64_t dim[3], const int64_t keep[3], int64_t batch)
{
    if (check(ndim, dim, keep, batch)) return 0x1p60;
    conv c = shape_of(ctx, ndim, dim, keep, batch);
    return (double)lay_out(&c) + (double)c.threads * (double)sizeof(bench) + 0x1p12;
}

static larmor_status plan(void *ctx, int ndim, const int64_t dim[3], const int64_t keep[3], int64_t batch, void **out)
{
    *out = NULL;
    LMR_TRY(check(ndim, dim, keep, batch));
    conv *c = malloc(sizeof *c);
    if (!c) return LMR_NO_MEMORY();
    *c = shape_of(ctx, ndim, dim, keep, batch);
    larmor_status st = LARMOR_OK;
    c->bench = calloc((size_t)c->threads, sizeof *c->bench);
    c->memory = c->bench ? aligned_alloc(64, lay_out(c)) : NULL;
    if (!c->memory) LMR_OR(fail, LMR_NO_MEMORY());
    lay_out(c);
    for (int a = 0; a < ndim; a++)
        for (int s = 0; s < 2; s++) LMR_OR(fail, R(lmr_cpu_line).plan(c->dim[a], s ? 1 : -1, &c->plan[a][s]));
    *out = c;
    return LARMOR_OK;
fail:
    destroy(ctx, c);
    return st;
}

const lmr_conv R(lmr_cpu_conv) = {plan, set, exec, destroy, bytes};
