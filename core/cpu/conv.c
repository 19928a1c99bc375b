/* Convolution with a spectrum, or with a matrix of them, on the processor, pruned. SPDX-License-Identifier:
 * Apache-2.0
 *
 * Lines of zeros are never transformed, nor lines that are cropped afterwards.
 * Every line is contiguous when it is transformed.
 * Between two axes the grid is transposed in pieces of a cache line: [rest, n] of the first axis becomes n lines of
 * the axes that follow.
 * Arrays that are mixed go through all of that together, line beside line, so that their grids stay in the cache. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/cpu/lanes.h"
#include "core/owned.h"
#include "core/real.h"
#include "core/status.h"

enum {
    GROUP = 8,             /* lines that a thread transposes at a time */
    PIECE = 8,             /* cells that are mixed at a time */
    MOST_BYTES = 16 << 20, /* of a grid that each thread has for itself */
    MOST_SHARED = 1 << 20  /* of several that all threads share, for each of them: what their own caches hold */
};

typedef struct number {
    real re, im;
} number;

/* One thread's buffers. */
typedef struct workspace {
    number *line, *lines; /* one padded line; transformed ones, GROUP of them or all that are mixed */
    number *grid[2];      /* of the first axis, where each thread does whole arrays; of the second of three axes; one
                             for each array that is mixed */
    real *room;           /* of columns that are filtered beside each other */
} workspace;

typedef struct conv {
    lmr_conv_shape shape; /* 1 in dimensions that there are not */
    int threads, planes;
    int64_t rest[3], cells[3]; /* products of keep and of dim over the axes that follow */
    int64_t pitch, longest;    /* between lines; of the grid's rows, see row_of */
    int64_t grid_size[2];      /* of one array's grid */
    int apart;                 /* 1: as many arrays at a time as there are threads */
    int64_t beside;            /* arrays that all threads take at once; grid has room for them */
    void *plan[3][2];
    lmr_lane_axes axes; /* of one array that is mixed with no other: lines of its first axis, then columns, */
    int64_t slabs;      /* so many times LMR_LANES; or 0 */
    lmr_lane_filter filter_columns;
    int64_t spectrum_size; /* of one set of matrices */
    real *spectrum;        /* the last axis fastest, then the planes; all sets, one after the other */
    char *memory;
    number *grid; /* of the first axis, where the threads share some */
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
    memcpy(w->line, from, (size_t)c->shape.keep[a] * sizeof *from);
    memset(w->line + c->shape.keep[a], 0, (size_t)(c->shape.dim[a] - c->shape.keep[a]) * sizeof *from);
}

/* to <- to + s from, for a piece of a line. */
static inline void add_real(const real *restrict s, const real *restrict from, real *restrict to)
{
    for (int i = 0; i < PIECE; i++) {
        to[2 * i] += s[i] * from[2 * i];
        to[2 * i + 1] += s[i] * from[2 * i + 1];
    }
}

/* The same with the imaginary parts t of s, or of its conjugate. */
static inline void add_imaginary(const real *restrict t, real sign, const real *restrict from, real *restrict to)
{
    for (int i = 0; i < PIECE; i++) {
        to[2 * i] -= sign * t[i] * from[2 * i + 1];
        to[2 * i + 1] += sign * t[i] * from[2 * i];
    }
}

/* Cells `first` and the following of all lines; `each` between the spectrum's planes. */
static void mix_piece(const conv *c, int64_t first, int64_t each, const real *spectrum, number *lines)
{
    const int n = c->shape.mixed;
    real sum[LMR_CONV_MOST_MIXED][2 * PIECE];
    for (int k = 0; k < n; k++) {
        memset(sum[k], 0, sizeof sum[k]);
        add_real(spectrum + k * each + first, &lines[k * c->pitch + first].re, sum[k]);
    }
    for (int l = 1; l < n; l++)
        for (int k = 0; k < l; k++) {
            const real *s = spectrum + lmr_conv_plane(&c->shape, k, l, 0) * each + first;
            const real *x = &lines[k * c->pitch + first].re, *y = &lines[l * c->pitch + first].re;
            add_real(s, y, sum[k]);
            add_real(s, x, sum[l]);
            if (!c->shape.is_complex) continue;
            add_imaginary(s + each, 1, y, sum[k]);
            add_imaginary(s + each, -1, x, sum[l]);
        }
    for (int k = 0; k < n; k++) memcpy(&lines[k * c->pitch + first].re, sum[k], sizeof sum[k]);
}

/* Planes of the last axis in whole pieces, so that the last one needs no care. */
static int64_t padded(int64_t count)
{
    return (count + PIECE - 1) / PIECE * PIECE;
}

/* The last axis: there, times the spectrum, and back. x_stride, y_stride: between the arrays that are mixed. */
static void filter_line(const conv *c, const workspace *w, const real *spectrum, const number *x, int64_t x_stride,
                        number *y, int64_t y_stride)
{
    const int a = c->shape.ndim - 1, n = c->shape.mixed;
    const int64_t count = c->shape.dim[a], each = padded(count);
    for (int k = 0; k < n; k++) {
        load(c, a, w, x + k * x_stride);
        R(lmr_cpu_line).exec(c->plan[a][0], w->line, w->lines + k * c->pitch);
    }
    for (int64_t i = 0; i < count && n == 1; i++) {
        w->lines[i].re *= spectrum[i];
        w->lines[i].im *= spectrum[i];
    }
    for (int64_t i = 0; i < count && n > 1; i += PIECE) mix_piece(c, i, each, spectrum, w->lines);
    for (int k = 0; k < n; k++) {
        R(lmr_cpu_line).exec(c->plan[a][1], w->lines + k * c->pitch, w->line);
        memcpy(y + k * y_stride, w->line, (size_t)c->shape.keep[a] * sizeof *y);
    }
}

/* Lines `first` and the following of axis a into the columns of its grid. */
static void lines_to_grid(const conv *c, int a, const workspace *w, int64_t first, const number *x, number *grid)
{
    const int64_t left = c->rest[a] - first;
    const int64_t count = left < GROUP ? left : GROUP;
    const int64_t row = row_of(c, a);
    for (int64_t k = 0; k < count; k++) {
        load(c, a, w, x + (first + k) * c->shape.keep[a]);
        R(lmr_cpu_line).exec(c->plan[a][0], w->line, w->lines + k * c->pitch);
    }
    grid += first;
    if (count == GROUP)
        for (int64_t i = 0; i < c->shape.dim[a]; i++)
            for (int64_t k = 0; k < GROUP; k++) grid[i * row + k] = w->lines[k * c->pitch + i];
    else
        for (int64_t i = 0; i < c->shape.dim[a]; i++)
            for (int64_t k = 0; k < count; k++) grid[i * row + k] = w->lines[k * c->pitch + i];
}

static void grid_to_lines(const conv *c, int a, const workspace *w, int64_t first, const number *grid, number *y)
{
    const int64_t left = c->rest[a] - first;
    const int64_t count = left < GROUP ? left : GROUP;
    const int64_t row = row_of(c, a);
    grid += first;
    if (count == GROUP)
        for (int64_t i = 0; i < c->shape.dim[a]; i++)
            for (int64_t k = 0; k < GROUP; k++) w->lines[k * c->pitch + i] = grid[i * row + k];
    else
        for (int64_t i = 0; i < c->shape.dim[a]; i++)
            for (int64_t k = 0; k < count; k++) w->lines[k * c->pitch + i] = grid[i * row + k];
    for (int64_t k = 0; k < count; k++) {
        R(lmr_cpu_line).exec(c->plan[a][1], w->lines + k * c->pitch, w->line);
        memcpy(y + (first + k) * c->shape.keep[a], w->line, (size_t)c->shape.keep[a] * sizeof *y);
    }
}

/* ---- columns side by side ---- */

/* y <- m .* x */
static void take_coil(int64_t count, const number *m, const number *x, number *y)
{
    for (int64_t i = 0; i < count; i++) {
        const number a = m[i], b = x[i];
        y[i].re = a.re * b.re - a.im * b.im;
        y[i].im = a.re * b.im + a.im * b.re;
    }
}

/* x <- x + conj(m) .* y */
static void add_coil(int64_t count, const number *m, const number *y, number *x)
{
    for (int64_t i = 0; i < count; i++) {
        const number a = m[i], b = y[i];
        x[i].re += a.re * b.re + a.im * b.im;
        x[i].im += a.re * b.im - a.im * b.re;
    }
}

static int64_t rows_of(const conv *c)
{
    return c->shape.keep[1] * c->shape.keep[2];
}

static int64_t pitch_of(const conv *c)
{
    return c->shape.dim[0] / GROUP * GROUP + 2 * GROUP;
}

/* m: what x is multiplied by before, or NULL. */
static void row_to_grid(const conv *c, const workspace *w, int64_t row, const number *m, const number *x,
                        number *grid)
{
    const int64_t keep = c->shape.keep[0], first = row * keep;
    if (m)
        take_coil(keep, m + first, x + first, w->line);
    else
        memcpy(w->line, x + first, (size_t)keep * sizeof *x);
    memset(w->line + keep, 0, (size_t)(c->shape.dim[0] - keep) * sizeof *x);
    R(lmr_cpu_line).exec(c->plan[0][0], w->line, grid + row * pitch_of(c));
}

static void row_from_grid(const conv *c, const workspace *w, int64_t row, number *grid, number *y)
{
    R(lmr_cpu_line).exec(c->plan[0][1], grid + row * pitch_of(c), w->line);
    memcpy(y + row * c->shape.keep[0], w->line, (size_t)c->shape.keep[0] * sizeof *y);
}

/* The same of `now` arrays beside each other; m: NULL, or of each of them, whose sum by conj(m) y gets, in addition
 * if it is not the first one. */
static void rows_from_grid(const conv *c, const workspace *w, int64_t row, int64_t now, const number *m, int is_first,
                           number *y)
{
    const int64_t keep = c->shape.keep[0], each = keep * rows_of(c), first = row * keep;
    if (m && is_first) memset(y + first, 0, (size_t)keep * sizeof *y);
    for (int64_t i = 0; i < now; i++) {
        R(lmr_cpu_line).exec(c->plan[0][1], c->grid + i * c->grid_size[0] + row * pitch_of(c), w->line);
        if (m)
            add_coil(keep, m + i * each + first, w->line, y + first);
        else
            memcpy(y + i * each + first, w->line, (size_t)keep * sizeof *y);
    }
}

static void filter_slab(const conv *c, const workspace *w, int64_t slab, const real *spectrum, number *grid)
{
    const int64_t each = LMR_LANES * c->shape.dim[1] * c->shape.dim[2];
    c->filter_columns(&c->axes, spectrum + slab * each, &grid[slab * LMR_LANES].re, w->room);
}

static void filter_by_columns(const conv *c, const workspace *w, const real *spectrum, const number *m,
                              const number *x, number *y)
{
    for (int64_t r = 0; r < rows_of(c); r++) row_to_grid(c, w, r, m, x, w->grid[0]);
    for (int64_t s = 0; s < c->slabs; s++) filter_slab(c, w, s, spectrum, w->grid[0]);
    for (int64_t r = 0; r < rows_of(c); r++) row_from_grid(c, w, r, w->grid[0], y);
}

/* The same of `now` arrays by all threads; where there is m, x is one, and so is y, to which they are added. */
static void filter_columns_by_all(const conv *c, const real *spectrum, int64_t now, const number *m, int is_first,
                                  const number *x, number *y)
{
    const int64_t rows = rows_of(c), each = c->shape.keep[0] * rows, size = c->grid_size[0];
#pragma omp parallel num_threads(c->threads)
    {
        const workspace *w = c->workspace + omp_get_thread_num();
#pragma omp for schedule(static)
        for (int64_t i = 0; i < now * rows; i++)
            row_to_grid(c, w, i % rows, m ? m + i / rows * each : NULL, m ? x : x + i / rows * each,
                        c->grid + i / rows * size);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < now * c->slabs; i++)
            filter_slab(c, w, i % c->slabs, spectrum, c->grid + i / c->slabs * size);
#pragma omp for schedule(static)
        for (int64_t r = 0; r < rows; r++) rows_from_grid(c, w, r, now, m, is_first, y);
    }
}

/* ---- all axes from a on ---- */

static void filter(const conv *c, int a, const workspace *w, const real *spectrum, const number *x, int64_t x_stride,
                   number *y, int64_t y_stride)
{
    if (a == 0 && c->slabs) {
        filter_by_columns(c, w, spectrum, NULL, x, y);
        return;
    }
    if (a == 2 || a == c->shape.ndim - 1) {
        filter_line(c, w, spectrum, x, x_stride, y, y_stride);
        return;
    }
    const int n = c->shape.mixed;
    const int64_t size = c->grid_size[a];
    number *grid = w->grid[a];
    for (int k = 0; k < n; k++)
        for (int64_t r = 0; r < c->rest[a]; r += GROUP) lines_to_grid(c, a, w, r, x + k * x_stride, grid + k * size);
    for (int64_t i = 0; i < c->shape.dim[a]; i++) {
        number *row = grid + i * row_of(c, a);
        filter(c, a + 1, w, spectrum + i * c->cells[a], row, size, row, size);
    }
    for (int k = 0; k < n; k++)
        for (int64_t r = 0; r < c->rest[a]; r += GROUP) grid_to_lines(c, a, w, r, grid + k * size, y + k * y_stride);
}

/* By all threads: `now` arrays of the batch, beside each other in c->grid, each with those that it is mixed with. */
static void filter_by_all(const conv *c, const real *spectrum, int64_t now, const number *x, number *y,
                          int64_t stride)
{
    const int64_t n = c->shape.mixed, each = c->shape.keep[0] * c->rest[0], rows = c->shape.dim[0];
    const int64_t size = c->grid_size[0], groups = (c->rest[0] + GROUP - 1) / GROUP;
    if (c->slabs) {
        filter_columns_by_all(c, spectrum, now, NULL, 0, x, y);
        return;
    }
    if (c->shape.ndim == 1) {
        for (int64_t b = 0; b < now; b++)
            filter(c, 0, c->workspace, spectrum, x + b * each, stride, y + b * each, stride);
        return;
    }
#pragma omp parallel num_threads(c->threads)
    {
        const workspace *w = c->workspace + omp_get_thread_num();
#pragma omp for schedule(static)
        for (int64_t i = 0; i < now * n * groups; i++) {
            const int64_t array = i / groups;
            lines_to_grid(c, 0, w, i % groups * GROUP, x + array / n * each + array % n * stride,
                          c->grid + array * size);
        }
#pragma omp for schedule(static)
        for (int64_t i = 0; i < now * rows; i++) {
            number *row = c->grid + i / rows * n * size + i % rows * row_of(c, 0);
            filter(c, 1, w, spectrum + i % rows * c->cells[0], row, size, row, size);
        }
#pragma omp for schedule(static)
        for (int64_t i = 0; i < now * n * groups; i++) {
            const int64_t array = i / groups;
            grid_to_lines(c, 0, w, i % groups * GROUP, c->grid + array * size,
                          y + array / n * each + array % n * stride);
        }
    }
}

/* How many of the arrays that are left all threads take at once: one, where there is one thread in fact. */
static int64_t beside(const conv *c, int64_t left)
{
    const int64_t most = omp_in_parallel() ? 1 : c->beside;
    return left < most ? left : most;
}

static larmor_status exec(void *ctx LMR_UNUSED, void *plan, int which, const void *x_, void *y_)
{
    const conv *c = plan;
    const real *spectrum = c->spectrum + which * c->spectrum_size;
    const int64_t each = c->shape.keep[0] * c->rest[0], batch = c->shape.batch, stride = each * batch;
    const int64_t apart = c->apart ? batch / c->threads * c->threads : 0;
    const number *x = x_;
    number *y = y_;
    for (int64_t first = 0; first < apart; first += c->threads) { /* a pass of each thread */
        LMR_TRY(lmr_go_on());
#pragma omp parallel for num_threads(c->threads) schedule(static, 1)
        for (int64_t i = first; i < first + c->threads; i++)
            filter(c, 0, c->workspace + omp_get_thread_num(), spectrum, x + i * each, stride, y + i * each, stride);
    }
    for (int64_t i = apart, now; i < batch; i += now) {
        LMR_TRY(lmr_go_on());
        now = beside(c, batch - i);
        filter_by_all(c, spectrum, now, x + i * each, y + i * each, stride);
    }
    return LARMOR_OK;
}

/* ---- between coils ---- */

/* y <- y + their sum, in their order for each number. */
static void add_coils(const conv *c, int64_t each, int64_t count, const number *m, const number *from, number *y)
{
    const int64_t line = c->shape.keep[0];
#pragma omp parallel for num_threads(c->threads) schedule(static)
    for (int64_t first = 0; first < each; first += line)
        for (int64_t k = 0; k < count; k++) add_coil(line, m + k * each + first, from + k * each + first, y + first);
}

static larmor_status coils(void *ctx LMR_UNUSED, void *plan, int64_t count, const void *m_, const void *x_,
                           void *room_, void *y_)
{
    const conv *c = plan;
    const int64_t each = c->shape.keep[0] * c->rest[0];
    int64_t apart = c->apart ? count : 0;
    if (c->grid) apart = apart / c->threads * c->threads; /* all threads do the others, one after the other */
    const number *m = m_, *x = x_;
    number *room = room_, *y = y_;
    if (apart || !c->slabs || !count) memset(y, 0, (size_t)each * sizeof *y);
    for (int64_t first = 0; first < apart; first += c->threads) { /* a coil of each thread */
        const int64_t now = apart - first < c->threads ? apart - first : c->threads;
        LMR_TRY(lmr_go_on());
#pragma omp parallel for num_threads(c->threads) schedule(static, 1)
        for (int64_t i = 0; i < now; i++) {
            number *own = room + i * each;
            const workspace *w = c->workspace + omp_get_thread_num();
            const number *maps = m + (first + i) * each;
            if (c->slabs) {
                filter_by_columns(c, w, c->spectrum, maps, x, own);
                continue;
            }
            take_coil(each, maps, x, own);
            filter(c, 0, w, c->spectrum, own, each, own, each);
        }
        add_coils(c, each, now, m + first * each, room, y);
    }
    for (int64_t i = apart, now; i < count; i += now) {
        LMR_TRY(lmr_go_on());
        now = beside(c, count - i);
        if (c->slabs) {
            filter_columns_by_all(c, c->spectrum, now, m + i * each, !i, x, y);
            continue;
        }
        for (int64_t k = 0; k < now; k++) take_coil(each, m + (i + k) * each, x, room + k * each);
        filter_by_all(c, c->spectrum, now, room, room, each);
        add_coils(c, each, now, m + i * each, room, y);
    }
    return LARMOR_OK;
}

/* ---- the spectrum ---- */

/* spectrum [slabs, n1, n2, LMR_LANES] <- that of cells. */
static void set_columns(const conv *c, double scale, int part, const number *cells, real *spectrum)
{
    const int64_t n0 = c->shape.dim[0], n1 = c->shape.dim[1], n2 = c->shape.dim[2];
#pragma omp parallel for num_threads(c->threads) schedule(static)
    for (int64_t line = 0; line < n1 * n2; line++) {
        const number *from = cells + line * n0;
        real *to = spectrum + (line % n1 * n2 + line / n1) * LMR_LANES;
        for (int64_t i = 0; i < n0; i++)
            to[i / LMR_LANES * (n1 * n2 * LMR_LANES) + i % LMR_LANES] =
                (real)scale * (part ? from[i].im : from[i].re);
    }
}

static larmor_status set(void *ctx LMR_UNUSED, void *plan, int plane, double scale, int part, const void *cells)
{
    const conv *c = plan;
    const int a = c->shape.ndim - 1;
    real *spectrum = c->spectrum + plane / c->planes * c->spectrum_size;
    plane %= c->planes;
    const number *from = cells;
    if (c->slabs) {
        set_columns(c, scale, part, from, spectrum);
        return LARMOR_OK;
    }
    const int64_t n0 = c->shape.dim[0], n1 = c->shape.dim[1], n2 = c->shape.dim[2];
    const int64_t last = c->shape.dim[a], lines = n0 * n1 * n2 / last, each = padded(last);
#pragma omp parallel for num_threads(c->threads) schedule(static)
    for (int64_t line = 0; line < lines; line++) { /* [n0, n1], [n0] or one of them, the last fastest */
        const int64_t second = a == 2 ? n1 : 1;
        const int64_t i = a ? line / second : 0;
        const int64_t j = line % second;
        const int64_t start = a == 0 ? 0 : i + j * n0;
        const int64_t step = lines; /* in cells, the first axis fastest */
        real *to = spectrum + (line * c->planes + plane) * each;
        for (int64_t k = 0; k < last; k++) {
            const number v = from[start + k * step];
            to[k] = (real)scale * (part ? v.im : v.re);
        }
    }
    return LARMOR_OK;
}

/* ---- life ---- */

static void destroy(void *ctx LMR_UNUSED, void *plan)
{
    conv *c = plan;
    if (!c) return;
    for (int a = 0; a < 3; a++)
        for (int s = 0; s < 2; s++) R(lmr_cpu_line).destroy(c->plan[a][s]);
    LMR_FREE(c->axes.axis[0].roots, c->axes.axis[1].roots, c->workspace, c->memory, c);
}

/* Columns beside each other where an array is mixed with no other and its axes have small factors. */
static void choose_columns(conv *c)
{
    const lmr_conv_shape *s = &c->shape;
    int can = s->mixed == 1 && s->ndim > 1;
    for (int a = 1; a < s->ndim; a++) can &= R(lmr_lane_has)(s->dim[a]);
    if (!can) return;
    c->slabs = (s->dim[0] + LMR_LANES - 1) / LMR_LANES;
    c->axes = (lmr_lane_axes){.count = s->ndim - 1, .stride = {pitch_of(c), pitch_of(c) * s->keep[1]}};
    for (int a = 1; a < s->ndim; a++) c->axes.axis[a - 1] = (lmr_lane_axis){.n = s->dim[a], .keep = s->keep[a]};
    c->spectrum_size = c->slabs * LMR_LANES * s->dim[1] * s->dim[2];
    c->grid_size[0] = rows_of(c) * pitch_of(c);
    c->grid_size[1] = 0;
    c->filter_columns = R(lmr_lane_best)();
}

static conv shape_of(const lmr_cpu *cpu, const lmr_conv_shape *shape)
{
    conv c = {.shape = *shape, .threads = cpu->threads, .planes = lmr_conv_planes(shape)};
    const int last = shape->ndim - 1;
    for (int a = shape->ndim; a < 3; a++) c.shape.dim[a] = c.shape.keep[a] = 1;
    c.rest[2] = c.cells[2] = 1;
    c.longest = c.shape.dim[2];
    for (int a = 1; a >= 0; a--) {
        c.rest[a] = c.shape.keep[a + 1] * c.rest[a + 1];
        c.cells[a] = 1;
        if (a + 1 == last) c.cells[a] = c.planes * padded(c.shape.dim[last]);
        if (a + 1 < last) c.cells[a] = c.shape.dim[a + 1] * c.cells[a + 1];
        if (c.shape.dim[a] > c.longest) c.longest = c.shape.dim[a];
    }
    const int64_t line = c.shape.dim[last];
    c.spectrum_size = c.shape.dim[0] * c.shape.dim[1] * c.shape.dim[2] / line * c.planes * padded(line);
    c.pitch = c.longest / GROUP * GROUP + 2 * GROUP;
    for (int a = 0; a < 2; a++) c.grid_size[a] = a < last ? c.shape.dim[a] * row_of(&c, a) : 0;
    choose_columns(&c);
    const int64_t together = c.grid_size[0] * shape->mixed;
    c.apart = shape->batch >= c.threads && c.threads > 1 && together <= MOST_BYTES / (int64_t)sizeof(number);
    const int64_t shared = c.apart ? shape->batch % c.threads : shape->batch;
    const int64_t most = together ? c.threads * (MOST_SHARED / (int64_t)sizeof(number)) / together : 1;
    c.beside = shared < most ? shared : most;
    if (c.beside < 1) c.beside = 1;
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
    const int n = c->shape.mixed;
    c->spectrum = piece(c, &used, c->spectrum_size * c->shape.spectra, sizeof(real));
    const int64_t grid = n * c->grid_size[0], plane = n * c->grid_size[1];
    const int shared = !c->apart || c->shape.batch % c->threads;
    for (int t = 0; t < c->threads; t++) {
        const workspace w = {
            .line = piece(c, &used, c->pitch, sizeof(number)),
            .lines = piece(c, &used, (n > GROUP ? n : GROUP) * c->pitch, sizeof(number)),
            .grid = {piece(c, &used, c->apart ? grid : 0, sizeof(number)), piece(c, &used, plane, sizeof(number))},
            .room = piece(c, &used, c->slabs ? R(lmr_lane_room)(&c->axes) : 0, sizeof(real))};
        if (c->workspace) c->workspace[t] = w;
    }
    if (shared) c->grid = piece(c, &used, c->beside * grid, sizeof(number));
    return used;
}

static larmor_status check(const lmr_conv_shape *s)
{
    int64_t total = (int64_t)sizeof(number);
    LMR_REFUSE(s->ndim < 1 || s->ndim > 3 || s->batch < 0 || s->mixed < 1 || s->mixed > LMR_CONV_MOST_MIXED ||
                   s->spectra < 1,
               LARMOR_ERR_ARG, "conv: %d dimensions, batch %lld, %d mixed, %d spectra", s->ndim, (long long)s->batch,
               s->mixed, s->spectra);
    for (int a = 0; a < s->ndim; a++) {
        LMR_REFUSE(s->keep[a] < 1 || s->keep[a] > s->dim[a], LARMOR_ERR_ARG,
                   "conv: %lld of %lld numbers are kept, expected 1 .. %lld", (long long)s->keep[a],
                   (long long)s->dim[a], (long long)s->dim[a]);
        LMR_REFUSE(!lmr_mul(total, s->dim[a] + 2 * GROUP, &total) || total > INT64_C(1) << 58, LARMOR_ERR_SHAPE,
                   "conv: the grid is too large");
    }
    LMR_REFUSE(!lmr_mul(total, lmr_conv_planes(s), &total) || !lmr_mul(total, s->spectra, &total) ||
                   total > INT64_C(1) << 58,
               LARMOR_ERR_SHAPE, "conv: the grid is too large");
    return LARMOR_OK;
}

static double bytes(void *ctx, const lmr_conv_shape *shape)
{
    if (check(shape)) return 0x1p60;
    conv c = shape_of(ctx, shape);
    return (double)lay_out(&c) + (double)c.threads * (double)sizeof(workspace) + 0x1p12;
}

static larmor_status plan(void *ctx, const lmr_conv_shape *shape, void **out)
{
    *out = NULL;
    LMR_TRY(check(shape));
    LMR_NEW(conv, c, 1);
    *c = shape_of(ctx, shape);
    larmor_status st = LARMOR_OK;
    c->workspace = calloc((size_t)c->threads, sizeof *c->workspace);
    const size_t size = lay_out(c);
    c->memory = c->workspace ? aligned_alloc(64, size) : NULL;
    if (!c->memory) LMR_OR(fail, LMR_NO_MEMORY());
    lay_out(c);
    memset(c->memory, 0,
           c->grid ? (size_t)((char *)c->grid - c->memory) : size); /* the ends of lines are mixed, too */
    for (int a = 0; a < c->shape.ndim; a++)
        for (int s = 0; s < 2; s++) LMR_OR(fail, R(lmr_cpu_line).plan(c->shape.dim[a], s ? 1 : -1, &c->plan[a][s]));
    for (int a = 0; a < c->axes.count; a++)
        LMR_OR(fail, R(lmr_lane_plan)(c->shape.dim[a + 1], c->shape.keep[a + 1], &c->axes.axis[a]));
    *out = c;
    return LARMOR_OK;
fail:
    destroy(ctx, c);
    return st;
}

const lmr_conv R(lmr_cpu_conv) = {plan, set, exec, destroy, bytes, coils};
