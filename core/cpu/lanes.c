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

/* A transform back is one forth with real and imaginary parts exchanged, which `back` does where they are read and
 * written. */
INLINE void get(const int back, const real *cell, pair *x)
{
    x->re = *(const vec *)(cell + (back ? LANES : 0));
    x->im = *(const vec *)(cell + (back ? 0 : LANES));
}

INLINE void put(const int back, vec re, vec im, real *cell)
{
    *(vec *)(cell + (back ? LANES : 0)) = re;
    *(vec *)(cell + (back ? 0 : LANES)) = im;
}

INLINE void put_times(const int back, const real *w, vec re, vec im, real *cell)
{
    put(back, re * w[0] - im * w[1], re * w[1] + im * w[0], cell);
}

/* ---- passes ---- */

/* What a pass does: m butterflies for each of `stride` numbers that are transformed apart. */
typedef struct pass {
    int64_t m, stride;
    const real *roots;
} pass;

/* half: the third and fourth inputs are zeros; last: m is 1; less: the third and fourth outputs are not needed. */
INLINE void pass_4(const int back, const int half, const int last, const int less, const pass *p,
                   const real *restrict x, real *restrict y)
{
    const int64_t step = CELL * p->stride, leap = step * p->m;
    const real *w = p->roots + 2 * 4;
    for (int64_t i = 0; i < p->m; i++, w += 2 * 3)
        for (int64_t at = 0; at < step; at += CELL)
            for (int h = 0; h < LANES; h += WIDTH) {
                const real *from = x + i * step + at + h;
                real *to = y + 4 * i * step + at + h;
                pair a, b, c, d;
                get(back, from, &a);
                get(back, from + leap, &b);
                vec sum_re = a.re, sum_im = a.im, re = a.re, im = a.im;
                vec other_re = b.re, other_im = b.im, turned_re = b.im, turned_im = -b.re;
                if (!half) {
                    get(back, from + 2 * leap, &c);
                    get(back, from + 3 * leap, &d);
                    sum_re = a.re + c.re;
                    sum_im = a.im + c.im;
                    re = a.re - c.re;
                    im = a.im - c.im;
                    other_re = b.re + d.re;
                    other_im = b.im + d.im;
                    turned_re = b.im - d.im;
                    turned_im = d.re - b.re;
                }
                put(back, sum_re + other_re, sum_im + other_im, to);
                if (last) {
                    put(back, re + turned_re, im + turned_im, to + step);
                    if (less) continue;
                    put(back, sum_re - other_re, sum_im - other_im, to + 2 * step);
                    put(back, re - turned_re, im - turned_im, to + 3 * step);
                } else {
                    put_times(back, w, re + turned_re, im + turned_im, to + step);
                    put_times(back, w + 2, sum_re - other_re, sum_im - other_im, to + 2 * step);
                    put_times(back, w + 4, re - turned_re, im - turned_im, to + 3 * step);
                }
            }
}

INLINE void pass_2(const int back, const pass *p, const real *restrict x, real *restrict y)
{
    const int64_t step = CELL * p->stride, leap = step * p->m;
    const real *w = p->roots + 2 * 2;
    for (int64_t i = 0; i < p->m; i++, w += 2)
        for (int64_t at = 0; at < step; at += CELL)
            for (int h = 0; h < LANES; h += WIDTH) {
                const real *from = x + i * step + at + h;
                real *to = y + 2 * i * step + at + h;
                pair a, b;
                get(back, from, &a);
                get(back, from + leap, &b);
                put(back, a.re + b.re, a.im + b.im, to);
                put_times(back, w, a.re - b.re, a.im - b.im, to + step);
            }
}

INLINE void pass_3(const int back, const pass *p, const real *restrict x, real *restrict y)
{
    const int64_t step = CELL * p->stride, leap = step * p->m;
    const real half = (real)0.5, side = -p->roots[3], *w = p->roots + 2 * 3;
    for (int64_t i = 0; i < p->m; i++, w += 2 * 2)
        for (int64_t at = 0; at < step; at += CELL)
            for (int h = 0; h < LANES; h += WIDTH) {
                const real *from = x + i * step + at + h;
                real *to = y + 3 * i * step + at + h;
                pair a, b, c;
                get(back, from, &a);
                get(back, from + leap, &b);
                get(back, from + 2 * leap, &c);
                const vec sum_re = b.re + c.re, sum_im = b.im + c.im;
                const vec re = a.re - half * sum_re, im = a.im - half * sum_im;
                const vec turned_re = side * (b.im - c.im), turned_im = side * (c.re - b.re);
                put(back, a.re + sum_re, a.im + sum_im, to);
                put_times(back, w, re + turned_re, im + turned_im, to + step);
                put_times(back, w + 2, re - turned_re, im - turned_im, to + 2 * step);
            }
}

/* Of any radix, by its matrix. */
INLINE void pass_any(const int back, const int radix, const pass *p, const real *restrict x, real *restrict y)
{
    const int64_t step = CELL * p->stride, leap = step * p->m;
    const real *turn = p->roots, *w = p->roots + 2 * radix;
    for (int64_t i = 0; i < p->m; i++, w += 2 * (radix - 1))
        for (int64_t at = 0; at < step; at += CELL)
            for (int h = 0; h < LANES; h += WIDTH) {
                const real *from = x + i * step + at + h;
                real *to = y + radix * i * step + at + h;
                pair in[LMR_LANE_RADIX];
                for (int j = 0; j < radix; j++) get(back, from + j * leap, in + j);
                for (int k = 0; k < radix; k++) {
                    vec re = in[0].re, im = in[0].im;
                    for (int j = 1; j < radix; j++) {
                        const real *t = turn + 2 * (j * k % radix);
                        re += in[j].re * t[0] - in[j].im * t[1];
                        im += in[j].re * t[1] + in[j].im * t[0];
                    }
                    if (k)
                        put_times(back, w + 2 * (k - 1), re, im, to + k * step);
                    else
                        put(back, re, im, to);
                }
            }
}

/* One pass; half, less: as far as they are of use. */
INLINE void do_pass(const int back, int radix, int half, int less, const pass *p, const real *x, real *y)
{
    if (radix == 2)
        pass_2(back, p, x, y);
    else if (radix == 3)
        pass_3(back, p, x, y);
    else if (radix == 5)
        pass_any(back, 5, p, x, y);
    else if (radix == 7)
        pass_any(back, 7, p, x, y);
    else if (p->m == 1 && less)
        pass_4(back, 0, 1, 1, p, x, y);
    else if (p->m == 1)
        pass_4(back, 0, 1, 0, p, x, y);
    else if (half)
        pass_4(back, 1, 0, 0, p, x, y);
    else
        pass_4(back, 0, 0, 0, p, x, y);
}

/* All passes, from x to y and back; the transform's place is returned. The first `keep` numbers of x are read, and
 * those of the transform back are all that is needed of it. */
INLINE real *transform(const int back, const lmr_lane_axis *a, real *x, real *y)
{
    pass p = {.m = a->n, .stride = 1, .roots = a->roots};
    const int within = 2 * a->keep <= a->n;
    if (!back) {
        const int half = within && a->radix[0] == 4 && a->passes > 1;
        const int64_t end = half ? a->n / 2 : a->n;
        memset(x + a->keep * CELL, 0, (size_t)((end - a->keep) * CELL) * sizeof *x);
    }
    for (int i = 0; i < a->passes; i++) {
        const int radix = a->radix[i];
        p.m /= radix;
        do_pass(back, radix, !back && within && i == 0, back && within, &p, x, y);
        p.roots += 2 * (radix + (radix - 1) * p.m);
        p.stride *= radix;
        real *other = x;
        x = y;
        y = other;
    }
    return x;
}

static real *forth(const lmr_lane_axis *a, real *x, real *y)
{
    return transform(0, a, x, y);
}

static real *back(const lmr_lane_axis *a, real *x, real *y)
{
    return transform(1, a, x, y);
}

/* ---- columns ---- */

/* cells <- numbers of a column of the grid. */
static void load(int64_t count, int64_t stride, const real *restrict grid, real *restrict cells)
{
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < LANES; k++) {
            cells[i * CELL + k] = grid[2 * (i * stride + k)];
            cells[i * CELL + LANES + k] = grid[2 * (i * stride + k) + 1];
        }
}

static void store(int64_t count, int64_t stride, const real *restrict cells, real *restrict grid)
{
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < LANES; k++) {
            grid[2 * (i * stride + k)] = cells[i * CELL + k];
            grid[2 * (i * stride + k) + 1] = cells[i * CELL + LANES + k];
        }
}

/* Cells of a contiguous line to some that are apart, or the other way. */
static void scatter(int64_t count, int64_t apart, const real *from, real *to)
{
    for (int64_t i = 0; i < count; i++) memcpy(to + i * apart * CELL, from + i * CELL, CELL * sizeof *to);
}

static void gather(int64_t count, int64_t apart, const real *from, real *to)
{
    for (int64_t i = 0; i < count; i++) memcpy(to + i * CELL, from + i * apart * CELL, CELL * sizeof *to);
}

/* The last axis: forth, times the spectrum, and back. */
static real *filter_axis(const lmr_lane_axis *a, const real *restrict spectrum, real *x, real *y)
{
    real *there = forth(a, x, y);
    real *other = there == x ? y : x;
    for (int64_t i = 0; i < a->n; i++)
        for (int k = 0; k < LANES; k++) {
            there[i * CELL + k] *= spectrum[i * LANES + k];
            there[i * CELL + LANES + k] *= spectrum[i * LANES + k];
        }
    return back(a, there, other);
}

static void filter(const lmr_lane_axes *f, const real *spectrum, real *grid, real *room)
{
    const lmr_lane_axis *a = f->axis, *last = f->axis + f->count - 1;
    const int64_t longest = a->n > last->n ? a->n : last->n;
    const int64_t keep = last->keep, pitch = lmr_lane_pitch(last);
    real *x = room, *y = x + longest * CELL, *plane = y + longest * CELL; /* plane [n0, pitch] */
    if (f->count == 1) {
        load(a->keep, f->stride[0], grid, x);
        store(a->keep, f->stride[0], filter_axis(a, spectrum, x, y), grid);
        return;
    }
    for (int64_t i = 0; i < keep; i++) {
        load(a->keep, f->stride[0], grid + 2 * i * f->stride[1], x);
        scatter(a->n, pitch, forth(a, x, y), plane + i * CELL);
    }
    for (int64_t i = 0; i < a->n; i++) {
        real *line = plane + i * pitch * CELL;
        memcpy(x, line, (size_t)(keep * CELL) * sizeof *x);
        memcpy(line, filter_axis(last, spectrum + i * last->n * LANES, x, y), (size_t)(keep * CELL) * sizeof *x);
    }
    for (int64_t i = 0; i < keep; i++) {
        gather(a->n, pitch, plane + i * CELL, x);
        store(a->keep, f->stride[0], back(a, x, y), grid + 2 * i * f->stride[1]);
    }
}

const lmr_lane_filter LMR_LANE_FILTER = filter;
