/* Differences along several axes at once on the processor. A row is a sum of shifted rows, each over the range of
 * places where it counts. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "recon/cpu/sparse.h"

/* The places along one axis of a row's elements: its own axis runs along the row, the others are the same all over
 * it. */
typedef struct range {
    int64_t first, end; /* of the row's elements */
} range;

/* Which elements of the row at i have from <= place < length - margin along axis a. */
static inline range places(const lmr_axes *axes, int a, int64_t i, int64_t row, int64_t from, int64_t margin)
{
    const int64_t end = axes->length[a] - margin;
    if (axes->step[a] == 1) return (range){from, end > from ? end : from};
    const int64_t place = i / axes->step[a] % axes->length[a];
    return (range){0, place >= from && place < end ? row : 0};
}

static inline range both(range r, range s)
{
    return (range){r.first > s.first ? r.first : s.first, r.end < s.end ? r.end : s.end};
}

/* The steps from the row at i to the rows before and behind it on a cyclic axis, whose places all have both. */
static inline int64_t step_before(const lmr_axes *axes, int a, int64_t i)
{
    const int64_t step = axes->step[a], first = i / step % axes->length[a] == 0;
    return first ? step * (axes->length[a] - 1) : -step;
}

static inline int64_t step_behind(const lmr_axes *axes, int a, int64_t i)
{
    const int64_t step = axes->step[a], last = i / step % axes->length[a] == axes->length[a] - 1;
    return last ? -step * (axes->length[a] - 1) : step;
}

/* y <- y + w x over a range of complex numbers. */
static inline void add(range r, real w, const real *restrict x, real *restrict y)
{
    for (int64_t i = 2 * r.first; i < 2 * r.end; i++) y[i] += w * x[i];
}

/* y <- y + w (x[. + step] - x) over a range of complex numbers. */
static inline void add_difference(range r, real w, int64_t step, const real *x, real *restrict y)
{
    const real *next = x + 2 * step;
    for (int64_t i = 2 * r.first; i < 2 * r.end; i++) y[i] += w * (next[i] - x[i]);
}

static inline real *cleared(real *y, int64_t row)
{
    memset(y, 0, (size_t)(2 * row) * sizeof *y);
    return y;
}

larmor_status R(lmr_cpu_sparse_gradient)(void *ctx, int64_t n, int64_t row, const lmr_axes *axes, int adjoint,
                                         const void *x_, void *y_)
{
    const real *x = x_;
    real *y = y_;
    PARALLEL_FOR(n * axes->count)
    for (int64_t i = 0; i < n; i += row) {
        if (adjoint) cleared(y + 2 * i, row);
        for (int a = 0; a < axes->count; a++) {
            const real w = (real)axes->weight[a];
            const int64_t step = axes->step[a], at = 2 * (i + n * a);
            const range inside = places(axes, a, i, row, 0, axes->cyclic[a] ? 0 : 1);
            if (axes->cyclic[a] && adjoint) {
                add(inside, w, x + at + 2 * step_before(axes, a, i), y + 2 * i);
                add(inside, -w, x + at, y + 2 * i);
            } else if (axes->cyclic[a]) {
                add_difference(inside, w, step_behind(axes, a, i), x + 2 * i, cleared(y + at, row));
            } else if (adjoint) {
                add(places(axes, a, i, row, 1, 0), w, x + at - 2 * step, y + 2 * i);
                add(inside, -w, x + at, y + 2 * i);
            } else {
                add_difference(inside, w, step, x + 2 * i, cleared(y + at, row));
            }
        }
    }
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_sparse_gradient_normal)(void *ctx, int64_t n, int64_t row, const lmr_axes *axes,
                                                const void *x_, void *y_)
{
    const real *x = x_;
    real *y = y_;
    PARALLEL_FOR(n * axes->count)
    for (int64_t i = 0; i < n; i += row) {
        real *to = cleared(y + 2 * i, row);
        for (int a = 0; a < axes->count; a++) {
            const real w = (real)(axes->weight[a] * axes->weight[a]);
            const int64_t step = axes->step[a];
            if (axes->cyclic[a]) {
                const range all = {0, row};
                add_difference(all, -w, step_before(axes, a, i), x + 2 * i, to);
                add_difference(all, -w, step_behind(axes, a, i), x + 2 * i, to);
                continue;
            }
            add_difference(places(axes, a, i, row, 1, 0), w, step, x + 2 * (i - step), to);
            add_difference(places(axes, a, i, row, 0, 1), -w, step, x + 2 * i, to);
        }
    }
    return LARMOR_OK;
}

#define HALF_ROOT 0.70710678118654752

static inline void symmetrised_row(int64_t n, int64_t i, int64_t row, const lmr_axes *axes, const real *x, real *y)
{
    int64_t pair = 0;
    for (int b = 0; b < axes->count; b++)
        for (int a = 0; a <= b; a++, pair++) {
            real *to = cleared(y + 2 * (i + n * pair), row);
            const real *xa = x + 2 * (i + n * a), *xb = x + 2 * (i + n * b);
            const int64_t step_a = axes->step[a], step_b = axes->step[b];
            if (a == b) {
                add_difference(places(axes, a, i, row, 1, 1), (real)axes->weight[a], step_a, xa - 2 * step_a, to);
                continue;
            }
            const range inside = both(places(axes, a, i, row, 0, 1), places(axes, b, i, row, 0, 1));
            add_difference(inside, (real)(HALF_ROOT * axes->weight[b]), step_b, xa, to);
            add_difference(inside, (real)(HALF_ROOT * axes->weight[a]), step_a, xb, to);
        }
}

/* What the pair (a, b), a != b, gives to component a: the adjoint of the difference along b. */
static inline void add_off_diagonal(int64_t i, int64_t row, const lmr_axes *axes, int a, int b, const real *pair,
                                    real *to)
{
    const real w = (real)(HALF_ROOT * axes->weight[b]);
    const range inside = places(axes, a, i, row, 0, 1);
    add(both(inside, places(axes, b, i, row, 1, 0)), w, pair - 2 * axes->step[b], to);
    add(both(inside, places(axes, b, i, row, 0, 1)), -w, pair, to);
}

static inline void symmetrised_adjoint_row(int64_t n, int64_t i, int64_t row, const lmr_axes *axes, const real *x,
                                           real *y)
{
    for (int a = 0; a < axes->count; a++) cleared(y + 2 * (i + n * a), row);
    int64_t pair = 0;
    for (int b = 0; b < axes->count; b++)
        for (int a = 0; a <= b; a++, pair++) {
            const real *from = x + 2 * (i + n * pair);
            real *ya = y + 2 * (i + n * a), *yb = y + 2 * (i + n * b);
            if (a != b) {
                add_off_diagonal(i, row, axes, a, b, from, ya);
                add_off_diagonal(i, row, axes, b, a, from, yb);
                continue;
            }
            const real w = (real)axes->weight[a];
            add(places(axes, a, i, row, 1, 1), w, from, ya);
            add(places(axes, a, i, row, 0, 2), -w, from + 2 * axes->step[a], ya);
        }
}

larmor_status R(lmr_cpu_sparse_symmetrised)(void *ctx, int64_t n, int64_t row, const lmr_axes *axes, int adjoint,
                                            const void *x, void *y)
{
    PARALLEL_FOR(n * axes->count)
    for (int64_t i = 0; i < n; i += row) (adjoint ? symmetrised_adjoint_row : symmetrised_row)(n, i, row, axes, x, y);
    return LARMOR_OK;
}
