/* Lines of a grid against other descriptions of every second or third of them. Windows of k-space that were
 * sampled rightly span few dimensions, as the object is smaller than the field of view and coils are smooth
 * (Uecker et al., Magn. Reson. Med. 71, 990 (2014)): the determinant of their Gram matrix is least for the
 * description that fits best. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

#include <complex.h>

#include "recon/describe/fit.h"
#include "recon/describe/line_places.h"
#include "recon/describe/steps.h"
#include "recon/describe/windows.h"

enum { HALF = LMR_LINE_HALF, SIDE = LMR_LINES_SIDE, LINES = LMR_LINES_MOST, LEAST_LINES = 12 };
enum { KERNEL = LMR_LINES_KERNEL, COILS = LMR_LINES_COILS, COLUMNS = KERNEL * KERNEL * COILS };

/* 1/FOV: lines on each side of the centre that steps are looked for among. Where lines beside the centre are missing,
 * the signal falls from there to one side, as at a step. */
enum { LEAST_BESIDE = 4 };

typedef struct lines {
    int64_t n, count, coils; /* samples of a line, lines, the coils with most energy */
    double step;             /* 1/FOV, along a line */
    double centre[LINES];    /* of each, in samples */
    double at[LINES];        /* of each, 1/FOV across the lines */
    double complex *x;       /* [n, count, coils] */
    double complex *block;   /* [SIDE, count, coils]: their centres, by a candidate */
    double *weight;          /* [n], scratch */
} lines;

/* ---- the lines ---- */

/* Places of lines that follow each other at 1/FOV around the centre; *count of them, the first of each place. */
static void central_run(lmr_line *p, int64_t *count)
{
    int64_t low, high, centre = 0;
    lmr_lines_sort(p, count);
    for (int64_t i = 0; i < *count; i++)
        if (fabs(p[i].at) < fabs(p[centre].at)) centre = i;
    low = high = centre;
    while (high + 1 < *count && high - centre < LINES / 2 - 1 && fabs(p[high + 1].at - p[high].at - 1) < LMR_ON_GRID)
        high++;
    while (low > 0 && centre - low < LINES / 2 && fabs(p[low].at - p[low - 1].at - 1) < LMR_ON_GRID) low--;
    *count = *count ? high - low + 1 : 0;
    memmove(p, p + low, (size_t)*count * sizeof *p);
}

/* The lines of up to COILS coils with most energy. */
static larmor_status take_lines(const float *x, larmor_shape shape, const lmr_line *p, lines *l)
{
    const int64_t points = shape.dim[0] * shape.dim[1];
    LMR_HEAP LMR_NEW(double, energy, shape.dim[2]);
    l->coils = shape.dim[2] < COILS ? shape.dim[2] : COILS;
    LMR_ALLOCATE(l->x, l->n * l->count * l->coils);
    LMR_ALLOCATE(l->block, SIDE * l->count * l->coils);
    LMR_ALLOCATE(l->weight, l->n);
    for (int64_t c = 0; c < shape.dim[2]; c++) {
        energy[c] = 0;
        for (int64_t i = 0; i < 2 * points; i++) energy[c] += pow((double)x[2 * c * points + i], 2);
    }
    for (int64_t j = 0; j < l->coils; j++) {
        int64_t best = 0;
        for (int64_t c = 1; c < shape.dim[2]; c++)
            if (energy[c] > energy[best]) best = c;
        energy[best] = -1;
        for (int64_t r = 0; r < l->count; r++)
            for (int64_t i = 0; i < l->n; i++) {
                const int64_t t = p[r].down ? p[r].length - 1 - i : i;
                const float *at = x + 2 * (p[r].first + t + points * best);
                l->x[i + l->n * (r + l->count * j)] = i < p[r].length ? at[0] + I * at[1] : 0;
            }
    }
    return LARMOR_OK;
}

/* ---- echoes far from the centre ---- */

enum { LEAST_SAMPLES = 20, LEAST_FAR = 8 };

#define OUTER_RADIUS 0.6    /* of the way out: lines from there on */
#define CENTRE_RADIUS 0.1   /* of the way out: lines up to there, and samples of the echo on both sides of k = 0 */
#define MIN_ECHO_ENERGY 0.5 /* of a line's energy, at least; MAX_FAR_ECHO (check/describe.c) has the scans */

/* The energy of the echo, and of the whole line, of all coils, without the noise that the ends of the line have. */
static void energies_of(const float *x, larmor_shape shape, const lmr_line *p, double *echo, double *all)
{
    const int64_t points = shape.dim[0] * shape.dim[1], n = p->length, end = n / 10;
    double noise = 0, near = 0, sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t t = p->first + (p->down ? n - 1 - i : i);
        double energy = 0;
        for (int64_t c = 0; c < shape.dim[2]; c++) {
            const float *at = x + 2 * (t + points * c);
            energy += (double)at[0] * at[0] + (double)at[1] * at[1];
        }
        sum += energy;
        if (i < end || i >= n - end) noise += energy / (double)(2 * end);
        if (fabs((double)i - p->centre) > CENTRE_RADIUS * (double)n / 2) continue;
        near += energy;
        count++;
    }
    *echo = fmax(0, near - noise * (double)count);
    *all = fmax(0, sum - noise * (double)n);
}

static double far_echo(const float *x, larmor_shape shape, const lmr_line *p, int64_t count, double *scratch)
{
    double *far = scratch, *near = scratch + count, *part = scratch + 2 * count, reach = 0, echo, all;
    int64_t outer = 0, inner = 0;
    for (int64_t r = 0; r < count; r++) reach = fmax(reach, fabs(p[r].at));
    for (int64_t r = 0; r < count; r++) {
        const double at = fabs(p[r].at);
        if (p[r].length < LEAST_SAMPLES || (at < OUTER_RADIUS * reach && at > CENTRE_RADIUS * reach)) continue;
        energies_of(x, shape, &p[r], &echo, &all);
        if (at <= CENTRE_RADIUS * reach) {
            near[inner++] = echo;
        } else {
            part[outer] = all > 0 ? echo / all : 0;
            far[outer++] = echo;
        }
    }
    if (outer < LEAST_FAR || inner < 1 || lmr_median_f64(part, outer) < MIN_ECHO_ENERGY) return 0;
    const double most = lmr_median_f64(near, inner);
    return most > 0 ? lmr_median_f64(far, outer) / most : 0;
}

/* ---- all that is compared ---- */

static larmor_status lines_open(const larmor_array *kspace, const larmor_array *traj, lines *l, double *echo)
{
    const larmor_shape shape = larmor_array_shape(kspace);
    LMR_HEAP lmr_line *p = NULL;
    *l = (lines){.n = 1};
    *echo = 0;
    LMR_TRY(lmr_lines_find(traj, &p, &l->count, &l->step));
    if (!p) return LARMOR_OK; /* nor are there LEAST_LINES */
    LMR_OWN_MEMORY(float, x, larmor_array_download(kspace, LARMOR_C64, &x));
    LMR_HEAP LMR_NEW(double, scratch, 3 * l->count + 1);
    *echo = far_echo(x, shape, p, l->count, scratch);
    central_run(p, &l->count);
    for (int64_t r = 0; r < l->count; r++) {
        l->centre[r] = p[r].centre;
        l->at[r] = p[r].at;
        if (p[r].length > l->n) l->n = p[r].length;
    }
    if (l->count >= LEAST_LINES) LMR_TRY(take_lines(x, shape, p, l));
    return LARMOR_OK;
}

LMR_FREES(lines_close, lines, x, block, weight)

/* ---- a candidate ---- */

typedef struct change {
    int every, from; /* lines from, from + every, ... */
    int reversed;
    double later;  /* samples */
    double cycles; /* that they are turned by */
    double gain;   /* that they have; 0: 1 */
} change;

/* The sum over a line of its samples times the periodic sinc, at a place in samples. */
static double complex sample_at(const lines *l, const double complex *line, double at)
{
    double complex sum = 0;
    const double whole = floor(at + 0.5), n = (double)l->n;
    if (fabs(at - whole) < 1e-6) {
        const int64_t i = (int64_t)whole;
        return i >= 0 && i < l->n ? line[i] : 0;
    }
    for (int64_t i = 0; i < l->n; i++) {
        const double t = at - (double)i;
        sum += line[i] * sin(M_PI * t) / (n * tan(M_PI * t / n));
    }
    return sum;
}

static void apply(const lines *l, const change *c)
{
    for (int64_t j = 0; j < l->coils; j++)
        for (int64_t r = 0; r < l->count; r++) {
            const double complex *line = l->x + l->n * (r + l->count * j);
            const int of = c->every > 0 && r % c->every == c->from;
            const double gain = c->gain > 0 ? c->gain : 1;
            const double complex turn = of ? cexp(2 * M_PI * I * c->cycles) / gain : 1;
            for (int i = -HALF; i <= HALF; i++) {
                const double to = of && c->reversed ? -i : i;
                const double at = l->centre[r] + to + (of ? c->later : 0);
                l->block[i + HALF + SIDE * (r + l->count * j)] = turn * sample_at(l, line, at);
            }
        }
}

static lmr_line_block block_of(const lines *l)
{
    return (lmr_line_block){.count = l->count, .coils = l->coils, .step = l->step, .at = l->at, .block = l->block};
}

/* Of the block's windows. */
static double spread_of_block(const lmr_line_block *b)
{
    double complex gram[COLUMNS * COLUMNS];
    memset(gram, 0, sizeof gram);
    for (int64_t y = 0; y + KERNEL <= b->count; y++) lmr_steps_add_windows(b, y, gram);
    return lmr_windows_spread(gram, KERNEL * KERNEL * b->coils);
}

static double spread_of(const lines *l)
{
    const lmr_line_block b = block_of(l);
    return spread_of_block(&b);
}

/* ---- all candidates ---- */

static void try_change(const lines *l, const change *c, const char *name, larmor_description *found)
{
    apply(l, c);
    const double spread = spread_of(l);
    if (!(spread < found->better)) return;
    found->better = spread;
    snprintf(found->name, sizeof found->name, "%s", name);
}

/* ---- steps ---- */

/* b <- the lines from first on, [SIDE, b->count, coils]. */
static larmor_status cut_block(const lines *l, int64_t first, int64_t count, lmr_line_block *b,
                               double complex **block)
{
    LMR_ALLOCATE(*block, SIDE * count * l->coils);
    for (int64_t j = 0; j < l->coils; j++)
        memcpy(*block + SIDE * count * j, l->block + SIDE * (first + l->count * j),
               (size_t)(SIDE * count) * sizeof **block);
    *b = block_of(l);
    b->count = count;
    b->at += first;
    b->block = *block;
    return LARMOR_OK;
}

/* Of as many lines on both sides of the centre: where one side is short, as of partial Fourier, windows differ in
 * energy, and another gain of the other side makes them alike. */
static larmor_status compare_steps(const lines *l, larmor_description *found)
{
    const int64_t below = (int64_t)floor(0.5 - l->at[0]), above = (int64_t)floor(1.5 + l->at[l->count - 1]);
    const int64_t half = below < above ? below : above;
    larmor_description part = {.reach = found->reach, .far_echo = found->far_echo};
    lmr_line_block b = block_of(l);
    if (below == above) return lmr_steps_compare(&b, found);
    found->is_clear = lmr_steps_are_clear(found);
    if (found->is_clear || 2 * half < LEAST_LINES) return LARMOR_OK;
    LMR_OWN_MEMORY(double complex, block, cut_block(l, below - half, 2 * half, &b, &block));
    part.misfit = part.better = spread_of_block(&b);
    LMR_TRY(lmr_steps_compare(&b, &part));
    if (part.is_clear) *found = part;
    return LARMOR_OK;
}

/* ---- all of it ---- */

/* Of the mean logarithm of an eigenvalue, by which another gain of some lines lowers it: of three coils. Right scans
 * have .08 at most, of two coils .14, of one .31 (docs/records/cartesian.md). */
static const double clear_gain = 0.2;
enum { LEAST_COILS = 3 };

/* An attenuator that fails in every so many lines. */
static void try_gains(const lines *l, larmor_description *found)
{
    static const char *const names[] = {"second", "third", "fourth"};
    static const double gains[] = {0.5, 0.8, 1.25};
    char name[96];
    for (int every = 2; every <= 4; every++)
        for (int from = 0; from < every; from++)
            for (size_t i = 0; i < sizeof gains / sizeof *gains; i++) {
                snprintf(name, sizeof name, "%.2f times the signal in every %s line", gains[i], names[every - 2]);
                try_change(l, &(change){.every = every, .from = from, .gain = gains[i]}, name, found);
            }
}

static larmor_status compare(const lines *l, larmor_description *found)
{
    static const double by[] = {0.25, 0.5, 1, 1.5, 2, 3, 4};
    enum { PHASES = 8 };
    char name[96];
    apply(l, &(change){.every = 0});
    found->misfit = found->better = spread_of(l);
    for (int every = 2; every <= 3; every++)
        for (int from = 0; from < (every == 2 ? 1 : 3); from++)
            for (int more = -1; more <= 1; more++) {
                snprintf(name, sizeof name, "every %s line reversed", every == 2 ? "second" : "third");
                try_change(l, &(change){.every = every, .from = from, .reversed = 1, .later = more}, name, found);
            }
    for (size_t i = 0; i < 2 * sizeof by / sizeof *by; i++) {
        const double later = i % 2 ? -by[i / 2] : by[i / 2];
        snprintf(name, sizeof name, "every second line %g samples %s", fabs(later), later > 0 ? "later" : "earlier");
        try_change(l, &(change){.every = 2, .later = later}, name, found);
    }
    for (int i = 1; i < PHASES; i++) {
        if (2 * i == PHASES) continue; /* an image moved by half the field of view is as likely */
        snprintf(name, sizeof name, "every second line turned by %d degrees", 360 * i / PHASES);
        try_change(l, &(change){.every = 2, .cycles = (double)i / PHASES}, name, found);
    }
    const double before = found->better;
    if (l->coils >= LEAST_COILS) try_gains(l, found);
    const larmor_description by_gain = *found;
    if (l->at[0] > -LEAST_BESIDE || l->at[l->count - 1] < LEAST_BESIDE) return LARMOR_OK;
    apply(l, &(change){.every = 0});
    LMR_TRY(compare_steps(l, found));
    if (found->is_clear || !(by_gain.better < before) || by_gain.misfit - by_gain.better < clear_gain)
        return LARMOR_OK;
    *found = by_gain;
    found->is_clear = 1;
    return LARMOR_OK;
}

larmor_status larmor_compare_lines(const larmor_array *kspace, const larmor_array *traj, larmor_description *found)
{
    LMR_NEED(kspace, traj, found);
    *found = (larmor_description){.reach = 0};
    LMR_TRY(lmr_scan_expect(kspace, traj, "lines"));
    LMR_FREED_BY(lines_close) lines l = {0};
    LMR_TRY(lines_open(kspace, traj, &l, &found->far_echo));
    if (l.x) {
        found->reach = (double)l.count / 2;
        LMR_TRY(compare(&l, found));
    }
    return LARMOR_OK;
}
