/* Convolution with a real spectrum on the processor, pruned. SPDX-License-Identifier: Apache-2.0
 *
 * Lines of zeros are never transformed, nor lines that are cropped afterwards.
 * Every line is contiguous when it is transformed.
 * Between two axes the grid is transposed in pieces of a cache line: [rest, n] of the first axis becomes n lines of
 * the axes that follow. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/real.h"
#include "core/status.h"

enum {
    GROUP = 8,            /* lines that a thread transposes at a time */
    MOST_BYTES = 16 << 20 /* of a grid that each thread has for itself */
};

typedef struct number {
    real re, im;
} number;

/* One thread's buffers. */
typedef struct workspace {
    number *line, *lines; /* one padded line; GROUP transformed ones */
    number *grid[2];      /* of the first axis, where each thread does whole arrays; of the second of three axes */
} workspace;

typedef struct conv {
    int ndim, threads;
    int64_t dim[3], keep[3], batch, spectra;
    int64_t rest[3], cells[3]; /* products of keep and of dim over the axes that follow */
    int64_t pitch, longest;    /* between lines; of the grid's rows, see row_of */
    int apart;                 /* 1: as many arrays at a time as there are threads */
    void *plan[3][2];
    real *spectrum; /* of all, one after the other; the last axis fastest */
    char *memory;
    number *grid; /* of the first axis, where the threads share one */
    workspace *workspace;
} conv;

/* ---- one axis ---- */

/* Elements between the lines of the grid behind axis a: whole cache lines, and never a power of two. */
static int64_t row_of(const conv *c, int a)
{
    return c->rest[a] / GROUP * GROUP + 2 * GROUP;
}

static void load(const conv *c, int a, const workspace *w, const number *from)
{
    memcpy(w->line, from, (size_t)c->keep[a] * sizeof *from);
    memset(w->line + c->keep[a], 0, (size_t)(c->dim[a] - c->keep[a]) * sizeof *from);
}

/* The last axis: there, times the spectrum, and back. */
static void filter_line(const conv *c, const workspace *w, const real *spectrum, const number *x, number *y)
{
    const int a = c->ndim - 1;
    load(c, a, w, x);
    R(lmr_cpu_line).exec(c->plan[a][0], w->line, w->lines);
    real *v = &w->lines->re;
    for (int64_t i = 0; i < c->dim[a]; i++) {
        v[2 * i] *= spectrum[i];
        v[2 * i + 1] *= spectrum[i];
    }
    R(lmr_cpu_line).exec(c->plan[a][1], w->lines, w->line);
    memcpy(y, w->line, (size_t)c->keep[a] * sizeof *y);
}

/* Lines `first` and the following of axis a into the columns of its grid. */
static void lines_to_grid(const conv *c, int a, const workspace *w, int64_t first, const number *x, number *grid)
{
    const int64_t left = c->rest[a] - first, count = left < GROUP ? left : GROUP, row = row_of(c, a);
    for (int64_t k = 0; k < count; k++) {
        load(c, a, w, x + (first + k) * c->keep[a]);
        R(lmr_cpu_line).exec(c->plan[a][0], w->line, w->lines + k * c->pitch);
    }
    grid += first;
    if (count == GROUP)
        for (int64_t i = 0; i < c->dim[a]; i++)
            for (int64_t k = 0; k < GROUP; k++) grid[i * row + k] = w->lines[k * c->pitch + i];
    else
        for (int64_t i = 0; i < c->dim[a]; i++)
            for (int64_t k = 0; k < count; k++) grid[i * row + k] = w->lines[k * c->pitch + i];
}

static void grid_to_lines(const conv *c, int a, const workspace *w, int64_t first, const number *grid, number *y)
{
    const int64_t left = c->rest[a] - first, count = left < GROUP ? left : GROUP, row = row_of(c, a);
    grid += first;
    if (count == GROUP)
        for (int64_t i = 0; i < c->dim[a]; i++)
            for (int64_t k = 0; k < GROUP; k++) w->lines[k * c->pitch + i] = grid[i * row + k];
    else
        for (int64_t i = 0; i < c->dim[a]; i++)
            for (int64_t k = 0; k < count; k++) w->lines[k * c->pitch + i] = grid[i * row + k];
    for (int64_t k = 0; k < count; k++) {
        R(lmr_cpu_line).exec(c->plan[a][1], w->lines + k * c->pitch, w->line);
        memcpy(y + (first + k) * c->keep[a], w->line, (size_t)c->keep[a] * sizeof *y);
    }
}

/* ---- all axes from a on ---- */

static void filter(const conv *c, int a, const workspace *w, const real *spectrum, const number *x, number *y)
{
    if (a == 2 || a == c->ndim - 1) {
        filter_line(c, w, spectrum, x, y);
        return;
    }
    number *grid = w->grid[a];
    for (int64_t r = 0; r < c->rest[a]; r += GROUP) lines_to_grid(c, a, w, r, x, grid);
    for (int64_t i = 0; i < c->dim[a]; i++) {
        number *row = grid + i * row_of(c, a);
        filter(c, a + 1, w, spectrum + i * c->cells[a], row, row);
    }
    for (int64_t r = 0; r < c->rest[a]; r += GROUP) grid_to_lines(c, a, w, r, grid, y);
}

/* One array by all threads. */
static void filter_by_all(const conv *c, const real *spectrum, const number *x, number *y)
{
#pragma omp parallel num_threads(c->threads)
    {
        const workspace *w = c->workspace + omp_get_thread_num();
#pragma omp for schedule(static)
        for (int64_t r = 0; r < c->rest[0]; r += GROUP) lines_to_grid(c, 0, w, r, x, c->grid);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < c->dim[0]; i++) {
            number *row = c->grid + i * row_of(c, 0);
            filter(c, 1, w, spectrum + i * c->cells[0], row, row);
        }
#pragma omp for schedule(static)
        for (int64_t r = 0; r < c->rest[0]; r += GROUP) grid_to_lines(c, 0, w, r, c->grid, y);
    }
}

static real *spectrum_of(const conv *c, int which)
{
    return c->spectrum + which * c->dim[0] * c->cells[0];
}

static larmor_status exec(void *ctx, void *plan, int which, const void *x_, void *y_)
{
    (void)ctx;
    const conv *c = plan;
    const real *spectrum = spectrum_of(c, which);
    const int64_t each = c->keep[0] * c->rest[0], apart = c->apart ? c->batch / c->threads * c->threads : 0;
    const number *x = x_;
    number *y = y_;
    for (int64_t first = 0; first < apart; first += c->threads) { /* a pass of each thread */
        LMR_TRY(lmr_go_on());
#pragma omp parallel for num_threads(c->threads) schedule(static, 1)
        for (int64_t i = first; i < first + c->threads; i++)
            filter(c, 0, c->workspace + omp_get_thread_num(), spectrum, x + i * each, y + i * each);
    }
    for (int64_t i = apart; i < c->batch; i++) {
        LMR_TRY(lmr_go_on());
        if (c->ndim == 1)
            filter(c, 0, c->workspace, spectrum, x + i * each, y + i * each);
        else
            filter_by_all(c, spectrum, x + i * each, y + i * each);
    }
    return LARMOR_OK;
}

/* ---- the spectrum ---- */

static larmor_status set(void *ctx, void *plan, int which, double scale, const void *cells)
{
    (void)ctx;
    const conv *c = plan;
    real *spectrum = spectrum_of(c, which);
    const number *from = cells;
    const int64_t n0 = c->dim[0], n1 = c->dim[1], n2 = c->dim[2];
#pragma omp parallel for num_threads(c->threads) schedule(static)
    for (int64_t i = 0; i < n0; i++)
        for (int64_t j = 0; j < n1; j++)
            for (int64_t k = 0; k < n2; k++)
                spectrum[(i * n1 + j) * n2 + k] = (real)scale * from[(k * n1 + j) * n0 + i].re;
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
    free(c->workspace);
    free(c->memory);
    free(c);
}

static conv shape_of(const lmr_cpu *cpu, int ndim, const int64_t dim[3], const int64_t keep[3], int64_t batch,
                     int64_t spectra)
{
    conv c = {.ndim = ndim, .threads = cpu->threads, .batch = batch, .spectra = spectra};
    for (int a = 0; a < 3; a++) {
        c.dim[a] = a < ndim ? dim[a] : 1;
        c.keep[a] = a < ndim ? keep[a] : 1;
    }
    for (int a = 2; a >= 0; a--) {
        c.rest[a] = a < 2 ? c.keep[a + 1] * c.rest[a + 1] : 1;
        c.cells[a] = a < 2 ? c.dim[a + 1] * c.cells[a + 1] : 1;
        if (c.dim[a] > c.longest) c.longest = c.dim[a];
    }
    c.pitch = c.longest / GROUP * GROUP + 2 * GROUP;
    c.apart = batch >= c.threads && (ndim == 1 || c.dim[0] * row_of(&c, 0) <= MOST_BYTES / (int64_t)sizeof(number));
    return c;
}

/* The next piece of the memory, in whole cache lines; where there is no memory it only counts. */
static void *piece(const conv *c, size_t *used, int64_t count, size_t size)
{
    void *start = c->memory ? c->memory + *used : NULL;
    *used += ((size_t)count * size + 63) / 64 * 64;
    return start;
}

static size_t lay_out(conv *c)
{
    size_t used = 0;
    c->spectrum = piece(c, &used, c->spectra * c->dim[0] * c->cells[0], sizeof(real));
    const int64_t grid = c->ndim > 1 ? c->dim[0] * row_of(c, 0) : 0,
                  plane = c->ndim > 2 ? c->dim[1] * row_of(c, 1) : 0;
    const int shared = !c->apart || c->batch % c->threads;
    if (shared) c->grid = piece(c, &used, grid, sizeof(number));
    for (int t = 0; t < c->threads; t++) {
        const workspace w = {
            .line = piece(c, &used, c->pitch, sizeof(number)),
            .lines = piece(c, &used, GROUP * c->pitch, sizeof(number)),
            .grid = {piece(c, &used, c->apart ? grid : 0, sizeof(number)), piece(c, &used, plane, sizeof(number))}};
        if (c->workspace) c->workspace[t] = w;
    }
    return used;
}

static larmor_status check(int ndim, const int64_t dim[3], const int64_t keep[3], int64_t batch, int64_t spectra)
{
    int64_t total = (int64_t)sizeof(number);
    if (ndim < 1 || ndim > 3 || batch < 0 || spectra < 1)
        return LMR_FAIL(LARMOR_ERR_ARG, "conv: %d dimensions, batch %lld, %lld spectra", ndim, (long long)batch,
                        (long long)spectra);
    if (!lmr_mul(total, spectra, &total)) return LMR_FAIL(LARMOR_ERR_SHAPE, "conv: the grid is too large");
    for (int a = 0; a < ndim; a++) {
        if (keep[a] < 1 || keep[a] > dim[a])
            return LMR_FAIL(LARMOR_ERR_ARG, "conv: %lld of %lld numbers are kept, expected 1 .. %lld",
                            (long long)keep[a], (long long)dim[a], (long long)dim[a]);
        if (!lmr_mul(total, dim[a] + 2 * GROUP, &total) || total > INT64_C(1) << 58)
            return LMR_FAIL(LARMOR_ERR_SHAPE, "conv: the grid is too large");
    }
    return LARMOR_OK;
}

static double bytes(void *ctx, int ndim, const int64_t dim[3], const int64_t keep[3], int64_t batch, int64_t spectra)
{
    if (check(ndim, dim, keep, batch, spectra)) return 0x1p60;
    conv c = shape_of(ctx, ndim, dim, keep, batch, spectra);
    return (double)lay_out(&c) + (double)c.threads * (double)sizeof(workspace) + 0x1p12;
}

static larmor_status plan(void *ctx, int ndim, const int64_t dim[3], const int64_t keep[3], int64_t batch,
                          int64_t spectra, void **out)
{
    *out = NULL;
    LMR_TRY(check(ndim, dim, keep, batch, spectra));
    conv *c = malloc(sizeof *c);
    if (!c) return LMR_NO_MEMORY();
    *c = shape_of(ctx, ndim, dim, keep, batch, spectra);
    larmor_status st = LARMOR_OK;
    c->workspace = calloc((size_t)c->threads, sizeof *c->workspace);
    c->memory = c->workspace ? aligned_alloc(64, lay_out(c)) : NULL;
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
