/* The inner loops of FFTs of columns, compiled once per instruction set and precision: numbers of a pass lie side by
 * side, so that none of them has to move within a vector. SPDX-License-Identifier: Apache-2.0 */
#include "core/cpu/lanes.h"

#include <string.h>

#if defined(__AVX2__)
enum { BYTES = 32 };
#else
enum { BYTES = 16 };
#endif
enum { LANES = LMR_LANES, WIDTH = BYTES / sizeof(real), CELL = 2 * LANES };

typedef real vec __attribute__((vector_size(BYTES), may_alias));

#define INLINE static inline __attribute__((always_inline))

typedef struct pair {
    vec re, im;
} pair;

/* What a pass does: m butterflies for each of `stride` numbers that are transformed apart. */
typedef struct pass {
    int64_t m, stride;
    const real *roots;
    const real *factors; /* [numbers, LANES], by which a pass that is `scaled` multiplies its input */
} pass;

/* Which pass of which transform, known where it is compiled. half: the second half of the input is zeros; last: m is
 * 1; less: the second half of the output is not needed. */
typedef struct way {
    int back, scaled, half, last, less;
} way;

/* A transform back is one forth with real and imaginary parts exchanged, which `back` does where they are read and
 * written. */
INLINE pair get(const way is, const pass *p, const real *x, int64_t number, int h)
{
    const real *cell = x + number * CELL + h;
    pair v = {.re = *(const vec *)(cell + (is.back ? LANES : 0)), .im = *(const vec *)(cell + (is.back ? 0 : LANES))};
    if (is.scaled) {
        const vec factor = *(const vec *)(p->factors + number * LANES + h);
        v.re *= factor;
        v.im *= factor;
    }
    return v;
}

INLINE void put(const way is, vec re, vec im, real *cell)
{
    *(vec *)(cell + (is.back ? LANES : 0)) = re;
    *(vec *)(cell + (is.back ? 0 : LANES)) = im;
}

INLINE void put_times(const way is, const real *w, vec re, vec im, real *cell)
{
    put(is, re * w[0] - im * w[1], re * w[1] + im * w[0], cell);
}

/* ---- passes ---- */

INLINE void pass_4(const way is, const pass *p, const real *restrict x, real *restrict y)
{
    const int64_t apart = p->stride * p->m, step = CELL * p->stride;
    const real *w = p->roots + 2 * 4;
    for (int64_t i = 0; i < p->m; i++, w += 2 * 3)
        for (int64_t k = 0; k < p->stride; k++)
            for (int h = 0; h < LANES; h += WIDTH) {
                const int64_t from = i * p->stride + k;
                real *to = y + 4 * i * step + k * CELL + h;
                const pair a = get(is, p, x, from, h), b = get(is, p, x, from + apart, h);
                vec sum_re = a.re, sum_im = a.im, re = a.re, im = a.im;
                vec other_re = b.re, other_im = b.im, turned_re = b.im, turned_im = -b.re;
                if (!is.half) {
                    const pair c = get(is, p, x, from + 2 * apart, h), d = get(is, p, x, from + 3 * apart, h);
                    sum_re = a.re + c.re;
                    sum_im = a.im + c.im;
                    re = a.re - c.re;
                    im = a.im - c.im;
                    other_re = b.re + d.re;
                    other_im = b.im + d.im;
                    turned_re = b.im - d.im;
                    turned_im = d.re - b.re;
                }
                put(is, sum_re + other_re, sum_im + other_im, to);
                if (is.last) {
                    put(is, re + turned_re, im + turned_im, to + step);
                    if (is.less) continue;
                    put(is, sum_re - other_re, sum_im - other_im, to + 2 * step);
                    put(is, re - turned_re, im - turned_im, to + 3 * step);
                } else {
                    put_times(is, w, re + turned_re, im + turned_im, to + step);
                    put_times(is, w + 2, sum_re - other_re, sum_im - other_im, to + 2 * step);
                    put_times(is, w + 4, re - turned_re, im - turned_im, to + 3 * step);
                }
            }
}

INLINE void pass_2(const way is, const pass *p, const real *restrict x, real *restrict y)
{
    const int64_t apart = p->stride * p->m, step = CELL * p->stride;
    const real *w = p->roots + 2 * 2;
    for (int64_t i = 0; i < p->m; i++, w += 2)
        for (int64_t k = 0; k < p->stride; k++)
            for (int h = 0; h < LANES; h += WIDTH) {
                const int64_t from = i * p->stride + k;
                real *to = y + 2 * i * step + k * CELL + h;
                const pair a = get(is, p, x, from, h), b = get(is, p, x, from + apart, h);
                put(is, a.re + b.re, a.im + b.im, to);
                put_times(is, w, a.re - b.re, a.im - b.im, to + step);
            }
}

INLINE void pass_3(const way is, const pass *p, const real *restrict x, real *restrict y)
{
    const int64_t apart = p->stride * p->m, step = CELL * p->stride;
    const real half = (real)0.5, side = -p->roots[3], *w = p->roots + 2 * 3;
    for (int64_t i = 0; i < p->m; i++, w += 2 * 2)
        for (int64_t k = 0; k < p->stride; k++)
            for (int h = 0; h < LANES; h += WIDTH) {
                const int64_t from = i * p->stride + k;
                real *to = y + 3 * i * step + k * CELL + h;
                const pair a = get(is, p, x, from, h), b = get(is, p, x, from + apart, h);
                const pair c = get(is, p, x, from + 2 * apart, h);
                const vec sum_re = b.re + c.re, sum_im = b.im + c.im;
                const vec re = a.re - half * sum_re, im = a.im - half * sum_im;
                const vec turned_re = side * (b.im - c.im), turned_im = side * (c.re - b.re);
                put(is, a.re + sum_re, a.im + sum_im, to);
                put_times(is, w, re + turned_re, im + turned_im, to + step);
                put_times(is, w + 2, re - turned_re, im - turned_im, to + 2 * step);
            }
}

/* Of any radix, by its matrix. */
INLINE void pass_any(const way is, const int radix, const pass *p, const real *restrict x, real *restrict y)
{
    const int64_t apart = p->stride * p->m, step = CELL * p->stride;
    const real *turn = p->roots, *w = p->roots + 2 * radix;
    for (int64_t i = 0; i < p->m; i++, w += 2 * (radix - 1))
        for (int64_t k = 0; k < p->stride; k++)
            for (int h = 0; h < LANES; h += WIDTH) {
                real *to = y + radix * i * step + k * CELL + h;
                pair in[LMR_LANE_RADIX];
                for (int j = 0; j < radix; j++) in[j] = get(is, p, x, i * p->stride + k + j * apart, h);
                for (int l = 0; l < radix; l++) {
                    vec re = in[0].re, im = in[0].im;
                    for (int j = 1; j < radix; j++) {
                        const real *t = turn + 2 * (j * l % radix);
                        re += in[j].re * t[0] - in[j].im * t[1];
                        im += in[j].re * t[1] + in[j].im * t[0];
                    }
                    if (l)
                        put_times(is, w + 2 * (l - 1), re, im, to + l * step);
                    else
                        put(is, re, im, to);
                }
            }
}

INLINE void do_pass(const way is, int radix, const pass *p, const real *x, real *y)
{
    if (radix == 2)
        pass_2(is, p, x, y);
    else if (radix == 3)
        pass_3(is, p, x, y);
    else if (radix == 5)
        pass_any(is, 5, p, x, y);
    else if (radix == 7)
        pass_any(is, 7, p, x, y);
    else if (p->m > 1)
        pass_4((way){is.back, is.scaled, is.half, 0, 0}, p, x, y);
    else if (is.less)
        pass_4((way){is.back, is.scaled, 0, 1, 1}, p, x, y);
    else
        pass_4((way){is.back, is.scaled, 0, 1, 0}, p, x, y);
}

/* 1 if at most half of an axis's numbers are kept. */
INLINE int is_half(const lmr_lane_axis *a)
{
    return 2 * a->keep <= a->n;
}

/* All passes, from x by way of the two of room to `to`, or where that is NULL, to one of them, which is returned.
 * x may be one of them, and to. is.half, is.scaled: of the first pass; is.less: of the last one. */
INLINE real *transform(const way is, const lmr_lane_axis *a, const real *factors, const real *x, real *const room[2],
                       real *to)
{
    pass p = {.m = a->n / a->radix[0], .stride = 1, .roots = a->roots, .factors = factors};
    for (int i = 0; i < a->passes; i++) {
        real *y = to && i == a->passes - 1 ? to : room[x == room[0]];
        const way other = {is.back, 0, 0, 0, is.less};
        if (i == 0)
            do_pass(is, a->radix[0], &p, x, y);
        else
            do_pass(other, a->radix[i], &p, x, y);
        if (i == a->passes - 1) return y;
        p.roots += 2 * (a->radix[i] + (a->radix[i] - 1) * p.m);
        p.stride *= a->radix[i];
        p.m /= a->radix[i + 1];
        x = y;
    }
    return NULL;
}

/* room[0] <- what follows its first `keep` numbers, as far as `forth` reads it. */
static void clear_rest(const lmr_lane_axis *a, real *const room[2])
{
    const int is_skipped = is_half(a) && a->radix[0] == 4 && a->passes > 1;
    const int64_t end = is_skipped ? a->n / 2 : a->n;
    memset(room[0] + a->keep * CELL, 0, (size_t)((end - a->keep) * CELL) * sizeof(real));
}

/* The transform of room[0]. */
static real *forth(const lmr_lane_axis *a, real *const room[2], real *to)
{
    clear_rest(a, room);
    if (is_half(a)) return transform((way){.half = 1}, a, NULL, room[0], room, to);
    return transform((way){0}, a, NULL, room[0], room, to);
}

/* That back of x, of which the first `keep` numbers are what is needed. */
static real *back(const lmr_lane_axis *a, const real *x, real *const room[2])
{
    return transform((way){.back = 1, .less = is_half(a)}, a, NULL, x, room, NULL);
}

/* The last axis: room[0] forth, times the spectrum, and back. */
static real *filter_axis(const lmr_lane_axis *a, const real *spectrum, real *const room[2])
{
    const real *there = forth(a, room, NULL);
    return transform((way){.back = 1, .scaled = 1, .less = is_half(a)}, a, spectrum, there, room, NULL);
}

/* ---- columns ---- */

/* cells <- a column of the grid. next: another column, whose cache lines are asked for. */
static void load(int64_t count, int64_t stride, const real *restrict grid, const real *next, real *restrict cells)
{
    for (int64_t i = 0; i < count; i++) {
        __builtin_prefetch(next + 2 * i * stride);
        for (int k = 0; k < LANES; k++) {
            cells[i * CELL + k] = grid[2 * (i * stride + k)];
            cells[i * CELL + LANES + k] = grid[2 * (i * stride + k) + 1];
        }
    }
}

static void store(int64_t count, int64_t stride, const real *restrict cells, const real *next, real *restrict grid)
{
    for (int64_t i = 0; i < count; i++) {
        __builtin_prefetch(next + 2 * i * stride, 1);
        for (int k = 0; k < LANES; k++) {
            grid[2 * (i * stride + k)] = cells[i * CELL + k];
            grid[2 * (i * stride + k) + 1] = cells[i * CELL + LANES + k];
        }
    }
}

/* Cells of the plane's columns, `apart` from each other, to a line, and the other way. Those of the next column,
 * which follow them, are asked for. */
static void gather(int64_t count, int64_t apart, const real *restrict from, real *restrict to)
{
    for (int64_t i = 0; i < count; i++) {
        __builtin_prefetch(from + (i * apart + 1) * CELL, 1);
        memcpy(to + i * CELL, from + i * apart * CELL, CELL * sizeof *to);
    }
}

static void scatter(int64_t count, int64_t apart, const real *restrict from, real *restrict to)
{
    for (int64_t i = 0; i < count; i++) memcpy(to + i * apart * CELL, from + i * CELL, CELL * sizeof *to);
}

static void filter(const lmr_lane_axes *f, const real *spectrum, real *grid, real *memory)
{
    const lmr_lane_axis *a = f->axis, *last = f->axis + f->count - 1;
    const int64_t longest = a->n > last->n ? a->n : last->n;
    const int64_t column = 2 * f->stride[1], pitch = lmr_lane_pitch(a);
    real *const room[2] = {memory, memory + longest * CELL}, *plane = memory + 2 * longest * CELL; /* [keep, pitch] */
    if (f->count == 1) {
        load(a->keep, f->stride[0], grid, grid + 2 * LANES, room[0]);
        store(a->keep, f->stride[0], filter_axis(a, spectrum, room), grid + 2 * LANES, grid);
        return;
    }
    for (int64_t i = 0; i < last->keep; i++) {
        load(a->keep, f->stride[0], grid + i * column, grid + (i + 1) * column, room[0]);
        forth(a, room, plane + i * pitch * CELL);
    }
    for (int64_t i = 0; i < a->n; i++) {
        gather(last->keep, pitch, plane + i * CELL, room[0]);
        scatter(last->keep, pitch, filter_axis(last, spectrum + i * last->n * LANES, room), plane + i * CELL);
    }
    for (int64_t i = 0; i < last->keep; i++)
        store(a->keep, f->stride[0], back(a, plane + i * pitch * CELL, room), grid + (i + 1) * column,
              grid + i * column);
}

const lmr_lane_filter LMR_LANE_FILTER = filter;
