/* Time segmentation: between the segments the phase exp(2 pi i f t) is interpolated by least squares over the
 * frequencies that the field map holds (Sutton, Noll and Fessler 2003), or over their differences, for the normal map
 * (Fessler et al. 2005). SPDX-License-Identifier: Apache-2.0 */
#include "recon/field/segments.h"

#include "core/core.h"

typedef lmr_number number;

/* ---- interpolators: exp(2 pi i f t) ~ sum_l b_l(t) exp(2 pi i f tau_l), on the host ---- */

typedef lmr_fit fit;

number lmr_unit_phase(double cycles)
{
    return CMPLX(cos(2 * M_PI * cycles), sin(2 * M_PI * cycles));
}

double lmr_segment_time(const lmr_fit *p, int count, int l)
{
    return count > 1 ? p->reach * (2.0 * l / (count - 1) - 1) : 0;
}

/* Upper triangle of g <- R with R^H R = the Gram matrix of the segments' exponentials, which depends on the
 * difference of their times alone. A ridge at the edge of rounding keeps it definite. */
static larmor_status factor(const fit *p, int count, number *g)
{
    const double ridge = 1e-14 * (double)p->nodes * count;
    for (int j = 0; j < count; j++) {
        number sum = 0;
        for (int64_t n = 0; n < p->nodes; n++)
            sum += lmr_unit_phase(p->f[n] * (lmr_segment_time(p, count, j) - lmr_segment_time(p, count, 0)));
        for (int i = 0; i + j < count; i++) g[i + count * (i + j)] = sum;
    }
    for (int j = 0; j < count; j++) {
        double rest = creal(g[j + count * j]) + ridge;
        for (int i = 0; i < j; i++) {
            for (int k = 0; k < i; k++) g[i + count * j] -= conj(g[k + count * i]) * g[k + count * j];
            g[i + count * j] /= creal(g[i + count * i]);
            rest -=
                creal(g[i + count * j]) * creal(g[i + count * j]) + cimag(g[i + count * j]) * cimag(g[i + count * j]);
        }
        LMR_REFUSE(!(rest > 0), LARMOR_ERR_NUMERIC, "off-resonance: %d segments cannot be told apart; ask for fewer",
                   count);
        g[j + count * j] = sqrt(rest);
    }
    return LARMOR_OK;
}

/* b <- R^-1 R^-H b */
static void solve(int count, const number *r, number *b)
{
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < i; k++) b[i] -= conj(r[k + count * i]) * b[k];
        b[i] /= creal(r[i + count * i]);
    }
    for (int i = count - 1; i >= 0; i--) {
        for (int k = i + 1; k < count; k++) b[i] -= r[i + count * k] * b[k];
        b[i] /= creal(r[i + count * i]);
    }
}

/* b [count] of one time, and the largest error over all frequencies; wave [nodes, count]: the segments'
 * exponentials; exact [nodes] is work. */
static double interpolate(const fit *p, int count, const number *r, const number *wave, double t, number *exact,
                          number *b)
{
    for (int64_t n = 0; n < p->nodes; n++) exact[n] = lmr_unit_phase(p->f[n] * t);
    for (int l = 0; l < count; l++) {
        const number *w = wave + p->nodes * l;
        b[l] = 0;
        for (int64_t n = 0; n < p->nodes; n++) b[l] += conj(w[n]) * exact[n];
    }
    solve(count, r, b);
    for (int l = 0; l < count; l++)
        for (int64_t n = 0; n < p->nodes; n++) exact[n] -= b[l] * wave[n + p->nodes * l];
    double most = 0;
    for (int64_t n = 0; n < p->nodes; n++) most = fmax(most, cabs(exact[n]));
    return most;
}

typedef struct trial {
    const fit *p;
    int count;
    int64_t step;
    const number *r, *wave;
    number *own;  /* [nodes + count, LMR_FIT_PIECES] */
    double *most; /* [LMR_FIT_PIECES] */
    number *b;
} trial;

/* A stretch of the times that try_segments tries. */
static void try_piece(void *self, int64_t k)
{
    const trial *t = self;
    const fit *p = t->p;
    const int64_t tries = (p->times + 2 * t->step - 2) / t->step;
    number *own = t->own + k * (p->nodes + t->count);
    t->most[k] = 0;
    for (int64_t at = tries * k / LMR_FIT_PIECES; at < tries * (k + 1) / LMR_FIT_PIECES; at++) {
        const int64_t j = at * t->step < p->times ? at * t->step : p->times - 1;
        t->most[k] = fmax(t->most[k], interpolate(p, t->count, t->r, t->wave, p->t[j], own + t->count, own));
        for (int l = 0; t->b && l < t->count; l++) t->b[j + p->times * l] = own[l];
    }
}

/* The largest error of `count` segments at every step-th time and the last, and their interpolators in b
 * [times, count] if that is not NULL. */
static larmor_status try_segments(const fit *p, int count, int64_t step, number *b, double *error)
{
    LMR_HEAP LMR_NEW_ZEROS(number, r, (int64_t)count * count);
    LMR_HEAP LMR_NEW(number, wave, p->nodes * count);
    LMR_HEAP LMR_NEW(number, own, LMR_FIT_PIECES * (p->nodes + count));
    double most[LMR_FIT_PIECES];
    LMR_TRY(factor(p, count, r));
    for (int64_t at = 0; at < p->nodes * count; at++)
        wave[at] = lmr_unit_phase(p->f[at % p->nodes] * lmr_segment_time(p, count, (int)(at / p->nodes)));
    LMR_TRY(lmr_parallel(p->threads, LMR_FIT_PIECES, try_piece, &(trial){p, count, step, r, wave, own, most, b}));
    *error = 0;
    for (int k = 0; k < LMR_FIT_PIECES; k++)
        *error = fmax(*error, 1.01 * most[k]); /* between the nodes it may be larger */
    return LARMOR_OK;
}

enum { FEW_TIMES = 256 }; /* times that a number of segments is tried on: neighbours have nearly the same error */

static larmor_status too_large(int segments, double error, double bound)
{
    return LMR_FAIL(
        LARMOR_ERR_NUMERIC,
        "off-resonance: %d segments have an error of %.1e, expected at most %.1e; allow a larger error or "
        "narrow the range of frequencies",
        segments, error, bound);
}

/* The least number of segments whose error is within the bound at some of the times. */
static larmor_status choose_segments(const fit *p, double bound, int *segments)
{
    const int64_t step = p->times > FEW_TIMES ? p->times / FEW_TIMES : 1;
    int low = 0, high = 1; /* low is too few */
    double error, before = INFINITY;
    for (;; low = high, high *= 2, before = error) {
        LMR_TRY(try_segments(p, high, step, NULL, &error));
        if (error <= bound) break;
        const int at_rounding = error < 1e-5 && error > 0.5 * before;
        if (high == LMR_MOST_SEGMENTS || at_rounding) return too_large(high, error, bound);
    }
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        LMR_TRY(try_segments(p, middle, step, NULL, &error));
        if (error <= bound)
            high = middle;
        else
            low = middle;
    }
    *segments = high;
    return LARMOR_OK;
}

typedef struct range {
    double low, high;
} range;

static range range_of(int64_t n, const double *x)
{
    range r = {n ? x[0] : 0, n ? x[0] : 0};
    for (int64_t i = 0; i < n; i++) {
        r.low = fmin(r.low, x[i]);
        r.high = fmax(r.high, x[i]);
    }
    return r;
}

/* Which of the sorted, distinct times t is. */
static int64_t find(const fit *p, double t)
{
    int64_t low = 0, high = p->times - 1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (p->t[middle] < t)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

larmor_status lmr_fit_times(int64_t n, const double *time, lmr_fit *p, int64_t *place, double *middle)
{
    LMR_ALLOCATE(p->t, n + 1);
    memcpy(p->t, time, (size_t)n * sizeof *p->t);
    lmr_sort_f64(p->t, n);
    for (int64_t i = 0; i < n; i++)
        if (!p->times || p->t[i] != p->t[p->times - 1]) p->t[p->times++] = p->t[i];
    for (int64_t i = 0; i < n; i++) place[i] = find(p, time[i]);
    *middle = n ? 0.5 * (p->t[0] + p->t[p->times - 1]) : 0;
    p->reach = n ? 0.5 * (p->t[p->times - 1] - p->t[0]) : 0;
    for (int64_t i = 0; i < p->times; i++) p->t[i] -= *middle;
    return LARMOR_OK;
}

larmor_status lmr_fit_frequencies(int64_t n, const double *field, lmr_fit *p, double *middle)
{
    const range r = range_of(n, field);
    const double width = r.high - r.low, needed = ceil(2 * M_PI * width * p->reach / 0.1);
    LMR_REFUSE(!(needed < 1e7), LARMOR_ERR_NUMERIC,
               "off-resonance: frequencies of %g .. %g Hz over %g s are too many cycles; "
               "frequencies are in Hz and times in s",
               r.low, r.high, 2 * p->reach);
    const int64_t cells = width > 0 ? (int64_t)fmax(needed, 64) : 1;
    LMR_HEAP LMR_NEW_ZEROS(char, occupied, cells + 2);
    p->room = cells + 1;
    LMR_ALLOCATE(p->f, p->room);
    *middle = r.low + 0.5 * width;
    for (int64_t i = 0; i < n; i++) {
        const int64_t cell = width > 0 ? (int64_t)((field[i] - r.low) / width * (double)cells) : 0;
        occupied[(cell < cells ? cell : cells - 1) + 1] = 1;
    }
    for (int64_t i = 0; i <= cells; i++) /* node i is between cells i - 1 and i */
        if (occupied[i] || occupied[i + 1]) p->f[p->nodes++] = width * ((double)i / (double)cells - 0.5);
    return LARMOR_OK;
}

enum { MANY_NODES = 20000 }; /* of more all differences are taken to occur */

static double smallest_step(const lmr_fit *p)
{
    double step = INFINITY;
    for (int64_t i = 1; i < p->nodes; i++) step = fmin(step, p->f[i] - p->f[i - 1]);
    return step;
}

/* A grid of differences has nodes as far apart as that of the frequencies. It is symmetric, so that the
 * interpolators are real. */
larmor_status lmr_fit_differences(const lmr_fit *p, lmr_fit *d)
{
    *d = (lmr_fit){.threads = p->threads, .times = p->times, .t = p->t, .reach = p->reach};
    const double step = p->nodes > 1 ? smallest_step(p) : 0; /* 0 as well where the field is constant */
    const int64_t most = step > 0 ? llround((p->f[p->nodes - 1] - p->f[0]) / step) : 0;
    LMR_HEAP LMR_NEW_ZEROS(char, occupied, most + 1);
    d->room = 2 * most + 1;
    LMR_ALLOCATE(d->f, d->room);
    occupied[0] = 1;
    if (p->nodes > MANY_NODES) memset(occupied, 1, (size_t)most + 1);
    for (int64_t i = 0; i < p->nodes && most > 0 && p->nodes <= MANY_NODES; i++)
        for (int64_t j = 0; j < i; j++) occupied[llround((p->f[i] - p->f[j]) / step)] = 1;
    for (int64_t i = -most; i <= most; i++)
        if (occupied[i < 0 ? -i : i]) d->f[d->nodes++] = step * (double)i;
    return LARMOR_OK;
}

larmor_status lmr_fit_segments(const lmr_fit *p, int segments, double bound, lmr_interpolators *q)
{
    *q = (lmr_interpolators){.segments = segments};
    if (!segments) LMR_TRY(choose_segments(p, bound, &q->segments));
    for (;; q->segments++) {
        LMR_ALLOCATE(q->b, p->times * q->segments + 1);
        LMR_TRY(try_segments(p, q->segments, 1, q->b, &q->error));
        if (segments || q->error <= bound) return LARMOR_OK;
        if (q->segments >= LMR_MOST_SEGMENTS) return too_large(q->segments, q->error, bound);
        LMR_CLEAR(q->b);
    }
}

void lmr_fit_free(lmr_fit *p)
{
    LMR_FREE(p->f, p->t);
}
