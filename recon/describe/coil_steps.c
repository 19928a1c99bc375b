/* A coil's gain, phase or place among the channels that changes in the course of a scan of lines. A sample of one
 * coil is a linear combination of the samples of others around it, the same everywhere in k-space (Griswold et al.,
 * Magn. Reson. Med. 47, 1202 (2002)): combinations of the lines before a readout predict those after it, and the
 * other way round, to a factor that is 1. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/describe/fit.h"
#include "recon/describe/line_places.h"
#include "recon/describe/windows.h"

enum {
    KERNEL = 3,
    WINDOW = KERNEL * KERNEL,
    MIDDLE = WINDOW / 2,
    MOST_COILS = 12, /* those with most energy */
    SOURCES = 3,     /* coils that predict another */
    COLUMNS = SOURCES * WINDOW,
    MOST_LINES = 64,
    MOST_HALF = 16, /* samples of a line on each side of k = 0 */
    MOST_APART = 3, /* lines of a window, in units of the least distance of two */
    LEAST_STARTS = 3
};

static const double max_distance = 16; /* 1/FOV, of lines from the centre */
static const double ridge = 1e-4;      /* of the mean eigenvalue, added to all */
static const double same_place = 1e-3; /* 1/FOV */

/* Right scans: docs/records/validation.md, "Coils that change between lines". Each holds in both directions. */
static const double max_left_ratio = 0.25;  /* what a change leaves of what is left by a common factor: right 0.14 */
static const double max_left = 0.5;         /* of the coil's energy, that a change leaves */
static const double max_inconsistent = 0.4; /* the factors of both directions, multiplied, from 1 */
static const double min_change = 0.15;      /* of a factor from 1 */
/* Of windows beside those that fit the combinations. Right scans with a ratio below 0.25 have 46 and more, below 0.1
 * none of 750 is: small objects, whose windows on one side have dimensions of their own. */
static const double max_beyond = 30;
static const double clear_left_ratio = 0.1;
static const double max_beyond_of_clear = 500;

typedef struct lines {
    int64_t count, side, coils;
    int coil[MOST_COILS];    /* their numbers */
    const lmr_line *line;    /* [count], in the order of their places */
    const double complex *x; /* [side, count, coils] */
} lines;

/* Windows whose lines are as far apart. */
typedef struct windows {
    int64_t starts, rows;           /* rows: WINDOW for each coil */
    int64_t of[MOST_LINES][KERNEL]; /* [starts] lines */
    double complex *gram;           /* [rows, rows, starts]: x x^H */
} windows;

/* What explains a change. */
typedef struct change {
    double left, without; /* energy that the change leaves of the coils', and that is left as described, of theirs */
    double ratio;         /* of the two, over both directions */
    double complex factor;
    int of[2];       /* coils that are predicted */
    int coil, other; /* other: the coil that is in its place; -1: none */
    int64_t from;    /* first sample of the line that is the first */
} change;

/* Of a prediction of up to two coils. */
typedef struct predicted {
    double energy[2], own[2];     /* of a coil's samples, of the predicted ones */
    double complex product[2][2]; /* predicted ones of a with samples of b, conjugated */
} predicted;

/* ---- windows ---- */

static int64_t line_at(const lines *l, double at)
{
    for (int64_t i = 0; i < l->count; i++)
        if (fabs(l->line[i].at - at) < same_place) return i;
    return -1;
}

static void add_window(const lines *l, const int64_t *of, int64_t x, int64_t rows, double complex *gram)
{
    double complex v[MOST_COILS * WINDOW];
    for (int64_t i = 0; i < rows; i++)
        v[i] = l->x[x + i % KERNEL + l->side * (of[i / KERNEL % KERNEL] + l->count * (i / WINDOW))];
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = 0; i < rows; i++) gram[i + rows * j] += v[i] * conj(v[j]);
}

static larmor_status open_windows(const lines *l, double apart, windows *w)
{
    *w = (windows){.rows = WINDOW * l->coils};
    for (int64_t i = 0; i < l->count; i++) {
        const int64_t of[] = {line_at(l, l->line[i].at - apart), i, line_at(l, l->line[i].at + apart)};
        if (of[0] >= 0 && of[2] >= 0) memcpy(w->of[w->starts++], of, sizeof of);
    }
    LMR_ALLOCATE_ZEROS(w->gram, w->rows * w->rows * w->starts + 1);
    for (int64_t s = 0; s < w->starts; s++)
        for (int64_t x = 0; x + KERNEL <= l->side; x++)
            add_window(l, w->of[s], x, w->rows, w->gram + w->rows * w->rows * s);
    return LARMOR_OK;
}

LMR_FREES(close_windows, windows, gram)

/* to <- the sum of the windows whose lines are all before the sample `from`, or all from it on. Returns their
 * number. */
static int64_t sum_windows(const lines *l, const windows *w, int64_t from, int after, double complex *to)
{
    const int64_t size = w->rows * w->rows;
    int64_t count = 0;
    memset(to, 0, (size_t)size * sizeof *to);
    for (int64_t s = 0; s < w->starts; s++) {
        int within = 1;
        for (int j = 0; j < KERNEL; j++) within &= (l->line[w->of[s][j]].first >= from) == after;
        if (!within) continue;
        for (int64_t i = 0; i < size; i++) to[i] += w->gram[i + size * s];
        count++;
    }
    return count;
}

/* ---- predictions ---- */

/* Rows of up to SOURCES coils with most energy but for two. */
static int rows_of_others(int64_t coils, const int of[2], int64_t row[COLUMNS])
{
    int count = 0;
    for (int c = 0; c < coils && count < COLUMNS; c++)
        for (int i = 0; i < WINDOW && c != of[0] && c != of[1]; i++) row[count++] = WINDOW * c + i;
    return count;
}

/* x <- (L L^H)^-1 x. */
static void solve(const double complex *L, int64_t n, double complex *x)
{
    for (int64_t j = 0; j < n; j++) {
        for (int64_t k = 0; k < j; k++) x[j] -= L[j + n * k] * x[k];
        x[j] /= L[j + n * j];
    }
    for (int64_t j = n - 1; j >= 0; j--) {
        for (int64_t k = j + 1; k < n; k++) x[j] -= conj(L[k + n * j]) * x[k];
        x[j] /= L[j + n * j];
    }
}

/* x x^H of the coils that predict, with the ridge, as L L^H. Returns the number of their rows, 0 if there is no L. */
static int64_t open_sources(const double complex *gram, int64_t coils, const int of[2], int64_t row[COLUMNS],
                            double complex *L)
{
    const int64_t rows = WINDOW * coils, n = rows_of_others(coils, of, row);
    double trace = 0;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < n; i++) L[i + n * j] = gram[row[i] + rows * row[j]];
        trace += creal(L[j + n * j]);
    }
    for (int64_t j = 0; j < n; j++) L[j + n * j] += ridge * trace / (double)n;
    return n && lmr_cholesky(L, n) > -INFINITY ? n : 0;
}

/* Coils of[0] and of[1] (-1: none) by combinations that fit the windows summed in `from`, of those in `to`. */
static int predict(const double complex *from, const double complex *to, int64_t coils, const int of[2], predicted *p)
{
    int64_t row[COLUMNS];
    double complex L[COLUMNS * COLUMNS], w[2][COLUMNS];
    const int64_t rows = WINDOW * coils, n = open_sources(from, coils, of, row, L);
    const int64_t count = of[1] < 0 ? 1 : 2;
    if (!n) return 0;
    *p = (predicted){.energy = {0}};
    for (int64_t a = 0; a < count; a++) {
        for (int64_t i = 0; i < n; i++) w[a][i] = from[row[i] + rows * (WINDOW * of[a] + MIDDLE)];
        solve(L, n, w[a]);
        p->energy[a] = creal(to[(WINDOW * of[a] + MIDDLE) * (rows + 1)]);
        for (int64_t b = 0; b < count; b++)
            for (int64_t i = 0; i < n; i++)
                p->product[a][b] += conj(w[a][i]) * to[row[i] + rows * (WINDOW * of[b] + MIDDLE)];
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < n; i++) p->own[a] += creal(conj(w[a][i]) * to[row[i] + rows * row[j]] * w[a][j]);
    }
    return 1;
}

/* The energy of windows in `to` by the inverse of the Gram matrix of those in `from`, beside that of the latter: 1
 * where they span the same dimensions. */
static double beyond(const double complex *from, const double complex *to, int64_t coils, const int of[2])
{
    int64_t row[COLUMNS];
    double complex L[COLUMNS * COLUMNS], x[COLUMNS];
    double energy[2] = {0}, sum[2] = {0};
    const int64_t rows = WINDOW * coils, n = open_sources(from, coils, of, row, L);
    for (int64_t j = 0; j < n; j++)
        for (int side = 0; side < 2; side++) {
            const double complex *gram = side ? to : from;
            for (int64_t i = 0; i < n; i++) x[i] = gram[row[i] + rows * row[j]];
            solve(L, n, x);
            sum[side] += creal(x[j]);
            energy[side] += creal(gram[row[j] * (rows + 1)]);
        }
    return sum[0] > 0 && energy[1] > 0 ? sum[1] / energy[1] * energy[0] / sum[0] : INFINITY;
}

/* ---- changes ---- */

/* Of both directions. */
static void take_worse(change *c, const double left[2], const double without[2])
{
    c->ratio = without[0] + without[1] > 0 ? (left[0] + left[1]) / (without[0] + without[1]) : 1;
    c->left = fmax(left[0], left[1]);
    c->without = fmax(without[0], without[1]);
}

static void keep_better(const change *c, change *best)
{
    if (c->left < fmin(max_left, best->left) && c->ratio < max_left_ratio) *best = *c;
}

/* The real factor of both predictions that leaves least: windows of little signal predict too little or too much in
 * both directions alike, where a change of the coil does the reverse of it in the other one. */
static double common_factor(const predicted p[2], int a)
{
    double product = 0, own = 0;
    for (int d = 0; d < 2; d++) {
        product += creal(p[d].product[a][a]) / p[d].energy[a];
        own += p[d].own[a] / p[d].energy[a];
    }
    return fmax(0, product / own);
}

/* p: those after by those before, and the other way round. */
static void try_factor(const predicted p[2], int a, change c, change *best)
{
    double complex g[2];
    double left[2], without[2];
    if (!(p[0].energy[a] > 0 && p[1].energy[a] > 0 && p[0].own[a] > 0 && p[1].own[a] > 0)) return;
    const double common = common_factor(p, a);
    for (int d = 0; d < 2; d++) {
        const double complex product = p[d].product[a][a];
        g[d] = conj(product) / p[d].own[a];
        left[d] = 1 - creal(product * conj(product)) / (p[d].own[a] * p[d].energy[a]);
        without[d] = 1 + common * (common * p[d].own[a] - 2 * creal(product)) / p[d].energy[a];
    }
    take_worse(&c, left, without);
    if (cabs(g[0] * g[1] - 1) > max_inconsistent) return;
    c.factor = csqrt(g[0] / g[1]);
    if (creal(c.factor * conj(g[0])) < 0) c.factor = -c.factor;
    if (cabs(c.factor - 1) >= min_change) keep_better(&c, best);
}

static void try_exchange(const predicted p[2], change c, change *best)
{
    double left[2], without[2];
    for (int d = 0; d < 2; d++) {
        const double all = p[d].energy[0] + p[d].energy[1], energy = all + p[d].own[0] + p[d].own[1];
        if (!(all > 0)) return;
        left[d] = (energy - 2 * creal(p[d].product[0][1] + p[d].product[1][0])) / all;
        without[d] = (energy - 2 * creal(p[d].product[0][0] + p[d].product[1][1])) / all;
    }
    take_worse(&c, left, without);
    keep_better(&c, best);
}

typedef struct search {
    const lines *l;
    const windows *w;
    double complex *sum; /* [2, rows, rows] for each line */
    change *best;        /* for each line */
} search;

/* Changes from line number q, in the order of places, on in time. */
static void look_from(void *self, int64_t q)
{
    const search *s = self;
    const int coils = (int)s->l->coils;
    const int64_t from = s->l->line[q].first, size = s->w->rows * s->w->rows;
    double complex *before = s->sum + 2 * size * q, *after = before + size;
    change *best = &s->best[q];
    predicted p[2];
    if (sum_windows(s->l, s->w, from, 0, before) < LEAST_STARTS) return;
    if (sum_windows(s->l, s->w, from, 1, after) < LEAST_STARTS) return;
    for (int c = 0; c < coils; c++)
        for (int d = coils > SOURCES ? c + 1 : -1; d < (coils > SOURCES ? coils : 0); d++) {
            const int of[2] = {c, d};
            if (!predict(before, after, coils, of, &p[0]) || !predict(after, before, coils, of, &p[1])) continue;
            for (int a = 0; a < (d < 0 ? 1 : 2); a++)
                try_factor(p, a, (change){.of = {of[0], of[1]}, .coil = s->l->coil[of[a]], .other = -1, .from = from},
                           best);
            if (d >= 0)
                try_exchange(
                    p, (change){.of = {of[0], of[1]}, .coil = s->l->coil[c], .other = s->l->coil[d], .from = from},
                    best);
        }
    if (!isfinite(best->left)) return;
    const double most = best->ratio < clear_left_ratio ? max_beyond_of_clear : max_beyond;
    if (fmax(beyond(before, after, coils, best->of), beyond(after, before, coils, best->of)) > most)
        best->left = INFINITY;
}

/* *best <- the change that leaves least, of windows whose lines are so far apart. */
static larmor_status look_apart(const lines *l, double apart, int threads, change *best)
{
    LMR_HEAP double complex *sum = NULL;
    change found[MOST_LINES];
    for (int64_t q = 0; q < l->count; q++) found[q] = (change){.left = INFINITY};
    LMR_FREED_BY(close_windows) windows w = {.starts = 0};
    search s = {.l = l, .w = &w, .best = found};
    LMR_TRY(open_windows(l, apart, &w));
    if (w.starts < 2 * LEAST_STARTS) return LARMOR_OK;
    LMR_ALLOCATE(sum, 2 * w.rows * w.rows * l->count);
    s.sum = sum;
    LMR_TRY(lmr_parallel(threads, l->count, look_from, &s));
    for (int64_t q = 0; q < l->count; q++)
        if (found[q].left < best->left) *best = found[q];
    return LARMOR_OK;
}

/* ---- the lines ---- */

/* Those within max_distance of the centre; of too many the nearest. */
static void keep_central(lmr_line *line, int64_t *count)
{
    int64_t kept = 0, first = 0;
    lmr_lines_sort(line, count);
    for (int64_t i = 0; i < *count; i++)
        if (fabs(line[i].at) <= max_distance) line[kept++] = line[i];
    while (kept - first > MOST_LINES)
        if (-line[first].at > line[kept - 1].at)
            first++;
        else
            kept--;
    *count = kept - first;
    memmove(line, line + first, (size_t)*count * sizeof *line);
}

/* The coils with most energy in the lines, that first. */
static larmor_status choose_coils(const float *x, int64_t points, int64_t coils, lines *l)
{
    LMR_HEAP LMR_NEW_ZEROS(double, energy, coils);
    for (int64_t c = 0; c < coils; c++)
        for (int64_t j = 0; j < l->count; j++) {
            const float *at = x + 2 * (l->line[j].first + points * c);
            for (int64_t i = 0; i < 2 * l->line[j].length; i++) energy[c] += (double)at[i] * (double)at[i];
        }
    for (l->coils = 0; l->coils < coils && l->coils < MOST_COILS;) {
        int best = 0;
        for (int c = 1; c < coils; c++)
            if (energy[c] > energy[best]) best = c;
        if (!(energy[best] > 0)) break;
        l->coil[l->coils++] = best;
        energy[best] = 0;
    }
    return LARMOR_OK;
}

/* to [side, count, coils] <- the middles of the lines. */
static void take_samples(const float *x, int64_t points, const lines *l, double complex *to)
{
    for (int64_t c = 0; c < l->coils; c++)
        for (int64_t j = 0; j < l->count; j++) {
            const lmr_line *line = &l->line[j];
            const int64_t first = (int64_t)floor(line->centre + 0.5) - l->side / 2;
            for (int64_t i = 0; i < l->side; i++) {
                const int64_t k = first + i;
                const int64_t t = line->first + (line->down ? line->length - 1 - k : k);
                const float *at = x + 2 * (t + points * l->coil[c]);
                to[i + l->side * (j + l->count * c)] = at[0] + I * at[1];
            }
        }
}

static int64_t side_of(const lines *l)
{
    int64_t half = MOST_HALF;
    for (int64_t j = 0; j < l->count; j++) {
        const int64_t centre = (int64_t)floor(l->line[j].centre + 0.5), above = l->line[j].length - 1 - centre;
        if (centre < half) half = centre;
        if (above < half) half = above;
    }
    return 2 * half + 1;
}

static double pitch_of(const lines *l)
{
    double least = INFINITY;
    for (int64_t j = 1; j < l->count; j++) least = fmin(least, l->line[j].at - l->line[j - 1].at);
    return least;
}

/* ---- all ---- */

static void describe(const change *best, int64_t samples, larmor_description *found)
{
    const long long readout = (long long)(best->from / samples);
    const double angle = carg(best->factor) * 180 / M_PI;
    char turned[40] = "";
    found->misfit = sqrt(best->without);
    found->better = sqrt(best->left);
    found->is_clear = 1;
    if (best->other >= 0) {
        snprintf(found->name, sizeof found->name,
                 "coils %d and %d (from 0) in each other's place from about readout %lld (from 0) on",
                 best->coil < best->other ? best->coil : best->other,
                 best->coil < best->other ? best->other : best->coil, readout);
        return;
    }
    if (fabs(angle) > 5) snprintf(turned, sizeof turned, ", turned by %.0f degrees,", angle);
    snprintf(found->name, sizeof found->name,
             "coil %d (from 0) at %.2f times its gain%s from about readout %lld (from 0) on", best->coil,
             cabs(best->factor), turned, readout);
}

larmor_status larmor_compare_coil_steps(const larmor_array *kspace, const larmor_array *traj,
                                        larmor_description *found)
{
    LMR_NEED(kspace, traj, found);
    *found = (larmor_description){.reach = 0};
    LMR_TRY(lmr_scan_expect(kspace, traj, "coil steps"));
    const larmor_shape shape = larmor_array_shape(kspace);
    const int64_t points = shape.dim[0] * shape.dim[1];
    LMR_HEAP lmr_line *line = NULL;
    change best = {.left = INFINITY};
    lines l = {.count = 0};
    double step;
    LMR_TRY(lmr_lines_find(traj, &line, &l.count, &step));
    if (!line || shape.dim[2] < 2) return LARMOR_OK;
    keep_central(line, &l.count);
    l.line = line;
    LMR_OWN_MEMORY(float, x, larmor_array_download(kspace, LARMOR_C64, &x));
    LMR_TRY(choose_coils(x, points, shape.dim[2], &l));
    if (l.count < 2 * LEAST_STARTS || l.coils < 2) return LARMOR_OK;
    l.side = side_of(&l);
    LMR_HEAP LMR_NEW(double complex, samples, l.side *l.count *l.coils);
    take_samples(x, points, &l, samples);
    l.x = samples;
    found->reach = fmin(-line[0].at, line[l.count - 1].at);
    for (int apart = 1; apart <= MOST_APART; apart++)
        LMR_TRY(look_apart(&l, apart * pitch_of(&l), lmr_device_threads(larmor_array_device(kspace)), &best));
    const int64_t length = shape.dim[1] > 1 ? shape.dim[0] : line[0].length;
    if (isfinite(best.left)) describe(&best, length, found);
    return LARMOR_OK;
}
