/* Orthonormal wavelets along one axis of a box on the processor. All four passes are sums of `taps` rows of numbers
 * with two sets of coefficients, so the loop that vectorises is the same. SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>

#include "core/core.h"
#include "recon/cpu/sparse.h"

/* ---- the loop ---- */

/* Sum t of row[t] with coefficients a[t] and b[t]. */
typedef struct sums {
    const real *row[LMR_MAX_TAPS];
    real a[LMR_MAX_TAPS], b[LMR_MAX_TAPS];
} sums;

static inline __attribute__((always_inline)) void sum_few(const int taps, int64_t count, const sums *s,
                                                          real *restrict ya, real *restrict yb)
{
    for (int64_t i = 0; i < count; i++) {
        real va = 0, vb = 0;
#pragma GCC unroll 12
        for (int t = 0; t < taps; t++) {
            const real v = s->row[t][i];
            va += s->a[t] * v;
            vb += s->b[t] * v;
        }
        ya[i] = va;
        yb[i] = vb;
    }
}

static void sum_many(int taps, int64_t count, const sums *s, real *restrict ya, real *restrict yb)
{
    for (int64_t i = 0; i < count; i++) ya[i] = yb[i] = 0;
    for (int t = 0; t < taps; t++) {
        const real *v = s->row[t], a = s->a[t], b = s->b[t];
        for (int64_t i = 0; i < count; i++) {
            ya[i] += a * v[i];
            yb[i] += b * v[i];
        }
    }
}

static void sum(int taps, int64_t count, const sums *s, real *ya, real *yb)
{
    switch (taps) {
    case 2:
        sum_few(2, count, s, ya, yb);
        break;
    case 4:
        sum_few(4, count, s, ya, yb);
        break;
    case 6:
        sum_few(6, count, s, ya, yb);
        break;
    case 8:
        sum_few(8, count, s, ya, yb);
        break;
    case 10:
        sum_few(10, count, s, ya, yb);
        break;
    case 12:
        sum_few(12, count, s, ya, yb);
        break;
    default:
        sum_many(taps, count, s, ya, yb);
    }
}

/* low and high pass */
static void analysis_coefficients(const lmr_filter *f, sums *s)
{
    for (int t = 0; t < f->taps; t++) {
        s->a[t] = (real)f->low[t];
        s->b[t] = (real)(t % 2 ? -f->low[f->taps - 1 - t] : f->low[f->taps - 1 - t]);
    }
}

/* even and odd outputs from rows low[q], high[q], low[q-1], high[q-1], ... */
static void synthesis_coefficients(const lmr_filter *f, sums *s)
{
    for (int i = 0; i < f->taps / 2; i++) {
        s->a[2 * i] = (real)f->low[2 * i];
        s->a[2 * i + 1] = (real)f->low[f->taps - 1 - 2 * i];
        s->b[2 * i] = (real)f->low[2 * i + 1];
        s->b[2 * i + 1] = (real)-f->low[f->taps - 2 - 2 * i];
    }
}

/* ---- the box ---- */

typedef struct lines {
    int64_t n, pairs, low; /* along the axis: extent, pairs, and how many low-pass numbers */
    int64_t step;          /* along the axis */
    int64_t run;           /* complex numbers that lie together: 1 if the axis is the first, else the first extent */
    int64_t others;        /* such runs or lines beside the axis */
} lines;

static lines lines_of(const lmr_box *box, int axis)
{
    const int64_t n = box->extent[axis];
    lines l = {.n = n, .pairs = n / 2, .low = n - n / 2, .step = 1, .run = 1, .others = 1};
    for (int d = 0; d < box->ndim; d++) {
        if (d < axis) l.step *= box->dim[d];
        if (d == 0 && axis > 0)
            l.run = box->extent[0];
        else if (d != axis)
            l.others *= box->extent[d];
    }
    return l;
}

/* Where line or run `other` begins. */
static int64_t start_of(const lmr_box *box, int axis, int64_t other)
{
    int64_t at = 0, step = 1;
    for (int d = 0; d < box->ndim; d++) {
        if (d != axis && !(d == 0 && axis > 0)) {
            at += step * (other % box->extent[d]);
            other /= box->extent[d];
        }
        step *= box->dim[d];
    }
    return at;
}

/* i mod n for i >= -n or so */
static inline int64_t wrap(int64_t i, int64_t n)
{
    while (i < 0) i += n;
    while (i >= n) i -= n;
    return i;
}

/* ---- along rows: even and odd numbers are taken apart, so that neighbours lie together ---- */

/* y[0 .. m + 2 before) <- x_((j - before) mod m), where x_j = x[(j + shift) % n]. */
static void periodic(int64_t m, int64_t n, int64_t shift, int64_t before, const cplx *x, cplx *y)
{
    const int64_t first = n - shift < m ? n - shift : m;
    cplx *at = y + before;
    memcpy(at, x + shift, (size_t)first * sizeof *x);
    memcpy(at + first, x, (size_t)(m - first) * sizeof *x);
    for (int64_t j = 1; j <= before; j++) at[-j] = at[wrap(-j, m)];
    for (int64_t j = 0; j < before + 2; j++) at[m + j] = at[j % m];
}

static void analyse_row(const lines *l, sums *s, int taps, int64_t shift, const cplx *x, cplx *y, cplx *scratch)
{
    const int64_t order = taps / 2, m = 2 * l->pairs, width = l->pairs + order;
    cplx *even = scratch, *odd = even + width, *line = odd + width;
    periodic(m, l->n, shift, order - 1, x, line);
    for (int64_t q = 0; q < width; q++) {
        even[q] = line[2 * q];
        odd[q] = line[2 * q + 1];
    }
    for (int64_t j = 0; j < order; j++) {
        s->row[2 * j] = (const real *)(even + j);
        s->row[2 * j + 1] = (const real *)(odd + j);
    }
    sum(taps, 2 * l->pairs, s, (real *)y, (real *)(y + l->low));
    if (l->low > l->pairs) y[l->pairs] = x[wrap(m + shift, l->n)];
}

static void synthesise_row(const lines *l, sums *s, int taps, int64_t shift, const cplx *x, cplx *y, cplx *scratch)
{
    const int64_t order = taps / 2, m = 2 * l->pairs, width = l->pairs + order;
    cplx *low = scratch, *high = low + width, *even = high + width, *odd = even + l->pairs;
    memcpy(low + order - 1, x, (size_t)l->pairs * sizeof *x);
    memcpy(high + order - 1, x + l->low, (size_t)l->pairs * sizeof *x);
    for (int64_t j = 1; j < order; j++) {
        low[order - 1 - j] = x[wrap(-j, l->pairs)];
        high[order - 1 - j] = x[l->low + wrap(-j, l->pairs)];
    }
    for (int64_t i = 0; i < order; i++) {
        s->row[2 * i] = (const real *)(low + order - 1 - i);
        s->row[2 * i + 1] = (const real *)(high + order - 1 - i);
    }
    sum(taps, 2 * l->pairs, s, (real *)even, (real *)odd);
    cplx *line = low; /* of which nothing is needed any more: x_(-offset), x_(1 - offset), ... */
    for (int64_t q = 0; q < l->pairs; q++) {
        line[2 * q] = even[q];
        line[2 * q + 1] = odd[q];
    }
    for (int64_t p = 0, count; p < m; p += count) {
        const int64_t j = wrap(p + 1 - order, m), at = wrap(j + shift, l->n);
        count = m - p < m - j ? m - p : m - j;
        if (count > l->n - at) count = l->n - at;
        memcpy(y + at, line + p, (size_t)count * sizeof *y);
    }
    if (l->low > l->pairs) y[wrap(m + shift, l->n)] = x[l->pairs];
}

static larmor_status rows(void *ctx, const lmr_box *box, const lmr_filter *f, int64_t shift, int synthesis,
                          const cplx *from, cplx *to)
{
    const lines l = lines_of(box, 0);
    const int threads = ((lmr_cpu *)ctx)->threads;
    const int64_t size = 4 * (l.pairs + f->taps);
    LMR_NEW(cplx, scratch, size * threads);
    sums coefficients = {0};
    (synthesis ? synthesis_coefficients : analysis_coefficients)(f, &coefficients);
    PARALLEL_FOR(l.n * l.others)
    for (int64_t other = 0; other < l.others; other++) {
        sums s = coefficients;
        const int64_t at = start_of(box, 0, other);
        (synthesis ? synthesise_row : analyse_row)(&l, &s, f->taps, shift, from + at, to + at,
                                                   scratch + size * omp_get_thread_num());
    }
    free(scratch);
    return LARMOR_OK;
}

/* ---- across rows: whole runs are the numbers that are added ---- */

/* Pair k of outputs: low-pass run k and its high-pass run. */
static void analyse_runs(const lines *l, sums *s, int taps, int64_t shift, int64_t k, const cplx *x, cplx *y)
{
    const int64_t m = 2 * l->pairs;
    for (int t = 0; t < taps; t++) {
        const int64_t j = wrap(wrap(2 * k + t + 1 - taps / 2, m) + shift, l->n);
        s->row[t] = (const real *)(x + l->step * j);
    }
    sum(taps, 2 * l->run, s, (real *)(y + l->step * k), (real *)(y + l->step * (l->low + k)));
    if (k == 0 && l->low > l->pairs)
        memcpy(y + l->step * l->pairs, x + l->step * wrap(m + shift, l->n), (size_t)l->run * sizeof *x);
}

/* Pair k of outputs: x_(2k - offset) and the next. */
static void synthesise_runs(const lines *l, sums *s, int taps, int64_t shift, int64_t k, const cplx *x, cplx *y)
{
    const int64_t m = 2 * l->pairs, first = 2 * k + 1 - taps / 2;
    for (int i = 0; i < taps / 2; i++) {
        const int64_t from = wrap(k - i, l->pairs);
        s->row[2 * i] = (const real *)(x + l->step * from);
        s->row[2 * i + 1] = (const real *)(x + l->step * (l->low + from));
    }
    sum(taps, 2 * l->run, s, (real *)(y + l->step * wrap(wrap(first, m) + shift, l->n)),
        (real *)(y + l->step * wrap(wrap(first + 1, m) + shift, l->n)));
    if (k == 0 && l->low > l->pairs)
        memcpy(y + l->step * wrap(m + shift, l->n), x + l->step * l->pairs, (size_t)l->run * sizeof *x);
}

static larmor_status columns(void *ctx, const lmr_box *box, int axis, const lmr_filter *f, int64_t shift,
                             int synthesis, const cplx *from, cplx *to)
{
    const lines l = lines_of(box, axis);
    sums coefficients = {0};
    (synthesis ? synthesis_coefficients : analysis_coefficients)(f, &coefficients);
    PARALLEL_FOR(l.n * l.run * l.others)
    for (int64_t p = 0; p < l.others * l.pairs; p++) {
        sums s = coefficients;
        const int64_t at = start_of(box, axis, p / l.pairs);
        (synthesis ? synthesise_runs : analyse_runs)(&l, &s, f->taps, shift, p % l.pairs, from + at, to + at);
    }
    return LARMOR_OK;
}

larmor_status R(lmr_cpu_sparse_analyse)(void *ctx, const lmr_box *box, int axis, const lmr_filter *filter,
                                        int64_t shift, const void *from, void *to)
{
    if (axis == 0) return rows(ctx, box, filter, shift, 0, from, to);
    return columns(ctx, box, axis, filter, shift, 0, from, to);
}

larmor_status R(lmr_cpu_sparse_synthesise)(void *ctx, const lmr_box *box, int axis, const lmr_filter *filter,
                                           int64_t shift, const void *from, void *to)
{
    if (axis == 0) return rows(ctx, box, filter, shift, 1, from, to);
    return columns(ctx, box, axis, filter, shift, 1, from, to);
}

larmor_status R(lmr_cpu_sparse_copy_box)(void *ctx, const lmr_box *box, const void *from, void *to)
{
    const lines l = lines_of(box, 0);
    PARALLEL_FOR(l.n * l.others)
    for (int64_t other = 0; other < l.others; other++) {
        const int64_t at = start_of(box, 0, other);
        memcpy((cplx *)to + at, (const cplx *)from + at, (size_t)l.n * sizeof(cplx));
    }
    return LARMOR_OK;
}
