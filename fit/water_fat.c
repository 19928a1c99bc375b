/* Water and fat: the residual over the field by variable projection with one phase (Bydder et al., Magn. Reson.
 * Imaging 29, 216 (2011)), a smooth choice among its minima, and Gauss-Newton in all parameters.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "fit/fit.h"

typedef double complex cplx;

#define HZ_PER_T_AND_PPM 42.577478518 /* of hydrogen */
#define RANGE_PPM 6.                  /* of the field on either side: fat is 3.4 ppm from water */
#define SMOOTH_PPM 0.15               /* the difference of neighbours whose penalty is 1/2 */
#define START_PPM 1.                  /* the distance from a given map whose penalty is 1/2 */
#define NEAR_ZERO 0.5    /* the penalty at the end of the range: fields repeat where echoes are regular */
#define STEPS_PER_TURN 8 /* of the field: one of the last echo's phase against the first's */
#define USUAL_RATE                                                                                                   \
    40. /* 1/s, with its deviation: three echoes alone leave R2* open where fat is half of the signal */
#define RATE_SPREAD 100.   /* 1/s */
#define LEAST_RATE (-200.) /* 1/s */
#define MOST_RATE 2000.

/* Fat of the liver: ppm from water and part of the signal (Hamilton et al., NMR Biomed. 24, 784 (2011); the peaks of
 * Yu et al., Magn. Reson. Med. 60, 1122 (2008)). */
static const double peak_ppm[] = {-3.80, -3.40, -2.60, -1.94, -0.39, 0.60};
static const double peak_part[] = {0.087, 0.693, 0.128, 0.004, 0.039, 0.048};
static const double rates[] = {0, 40, 120, 300}; /* R2* of the search, 1/s */
enum { PEAKS = 6, RATES = 4, MOST_FIELDS = 4096, MOST_STEPS = 50 };
enum { WATER, FAT, PHASE, FIELD, RATE, PARAMETERS };

/* One rate's columns: decay of water, of fat, and their products. */
typedef struct columns {
    double water[LMR_FIT_TIMES];
    cplx fat[LMR_FIT_TIMES];
    double ww, wf, ff;
} columns;

typedef struct model {
    int times, fields;
    double t[LMR_FIT_TIMES]; /* s */
    cplx fat[LMR_FIT_TIMES];
    columns columns[2][RATES]; /* [1]: fat on the other side of water */
    double low, step;          /* Hz */
} model;

typedef struct job {
    model m;
    lmr_fit_work *w;
    double ppm;             /* in Hz */
    const float *start;     /* [voxels], Hz; NULL */
    cplx *turn;             /* [fields, times] */
    lmr_fit_candidates *of; /* [voxels] */
    double *least[2];       /* [voxels]: of the residual's squares, with fat on either side */
    int *choice;            /* [voxels] */
    double left;            /* variance of what the search leaves of the median voxel */
} job;

static void free_job(job *b)
{
    LMR_FREE(b->turn, b->of, b->least[0], b->least[1], b->choice);
}

/* ---- the search ---- */

static void fill_columns(model *m)
{
    for (int side = 0; side < 2; side++)
        for (int r = 0; r < RATES; r++) {
            columns *c = &m->columns[side][r];
            for (int j = 0; j < m->times; j++) {
                c->water[j] = exp(-rates[r] * m->t[j]);
                c->fat[j] = c->water[j] * (side ? conj(m->fat[j]) : m->fat[j]);
                c->ww += c->water[j] * c->water[j];
                c->wf += c->water[j] * creal(c->fat[j]);
                c->ff += creal(c->fat[j]) * creal(c->fat[j]) + cimag(c->fat[j]) * cimag(c->fat[j]);
            }
        }
}

static double square(cplx x)
{
    return creal(x) * creal(x) + cimag(x) * cimag(x);
}

/* The squares that water and fat with one phase and no negative part explain of a series without its field. Parts:
 * water, fat, phase; or NULL. */
static double explain(const columns *c, int times, const cplx *y, double *parts)
{
    cplx w = 0, f = 0;
    for (int j = 0; j < times; j++) {
        w += c->water[j] * y[j];
        f += conj(c->fat[j]) * y[j];
    }
    const double of_water = square(w) / c->ww, of_fat = square(f) / c->ff, det = c->ww * c->ff - c->wf * c->wf;
    if (det > 1e-9 * c->ww * c->ff) {
        const double a = c->ff / det, b = -c->wf / det, d = c->ww / det; /* the inverse of the products */
        const double re = creal(w), im = cimag(w), x = creal(f), z = cimag(f);
        const double uu = a * re * re + 2 * b * re * x + d * x * x, vv = a * im * im + 2 * b * im * z + d * z * z;
        const double uv = a * re * im + b * (re * z + x * im) + d * x * z;
        const double phase = 0.5 * atan2(2 * uv, uu - vv);
        const double p = re * cos(phase) + im * sin(phase), q = x * cos(phase) + z * sin(phase);
        const double water = a * p + b * q, fat = b * p + d * q;
        if (water * fat >= 0) {
            if (parts) {
                parts[WATER] = fabs(water);
                parts[FAT] = fabs(fat);
                parts[PHASE] = water + fat < 0 ? phase + M_PI : phase;
            }
            return 0.5 * (uu + vv) + hypot(0.5 * (uu - vv), uv);
        }
    }
    if (parts) {
        parts[WATER] = of_water >= of_fat ? cabs(w) / c->ww : 0;
        parts[FAT] = of_water >= of_fat ? 0 : cabs(f) / c->ff;
        parts[PHASE] = carg(of_water >= of_fat ? w : f);
    }
    return fmax(of_water, of_fat);
}

/* The most that any rate explains; *best: that rate. */
static double explain_most(const model *m, int side, const cplx *y, int *best)
{
    double most = -1;
    for (int r = 0; r < RATES; r++) {
        const double now = explain(&m->columns[side][r], m->times, y, NULL);
        if (!(now > most)) continue;
        most = now;
        *best = r;
    }
    return most;
}

static void take_voxel(const job *b, int64_t i, cplx *y)
{
    double parts[2 * LMR_FIT_TIMES];
    lmr_fit_read(b->w, i, parts);
    for (int j = 0; j < b->m.times; j++) y[j] = parts[j] + I * parts[b->m.times + j];
}

/* Keeps the candidates of the least cost. */
static void add_candidate(lmr_fit_candidates *of, double value, double cost)
{
    int at = of->count < LMR_FIT_CANDIDATES ? of->count++ : LMR_FIT_CANDIDATES;
    for (; at > 0 && cost < of->cost[at - 1]; at--) {
        if (at == LMR_FIT_CANDIDATES) continue;
        of->cost[at] = of->cost[at - 1];
        of->value[at] = of->value[at - 1];
    }
    if (at == LMR_FIT_CANDIDATES) return;
    of->cost[at] = (float)cost;
    of->value[at] = (float)value;
}

/* The minima of the residual over the field; costs are squares for now. */
static void search_side(const job *b, const cplx *y, double size, int side, double *least, lmr_fit_candidates *of)
{
    const model *m = &b->m;
    double before = INFINITY, last = INFINITY;
    *least = INFINITY;
    for (int n = 0; n <= m->fields; n++) {
        cplx turned[LMR_FIT_TIMES];
        double rest = INFINITY;
        int rate;
        if (n < m->fields) {
            for (int j = 0; j < m->times; j++) turned[j] = y[j] * b->turn[j + m->times * n];
            rest = fmax(0, size - explain_most(m, side, turned, &rate));
        }
        if (n > 0 && last < before && last <= rest && of) {
            const double bend = before + rest - 2 * last;
            const double shift = isfinite(bend) && bend > 0 ? 0.5 * (before - rest) / bend : 0;
            const double below = isfinite(bend) ? bend * shift * shift / 2 : 0;
            add_candidate(of, m->low + (n - 1 + shift) * m->step, last - below);
        }
        *least = fmin(*least, rest);
        before = last;
        last = rest;
    }
}

static void search_voxel(void *self, int64_t i)
{
    job *b = self;
    cplx y[LMR_FIT_TIMES];
    double size = 0;
    if (b->w->state[i] != LMR_FIT_INSIDE) return;
    take_voxel(b, i, y);
    const double start = b->start ? b->start[i] : 0;
    for (int j = 0; j < b->m.times; j++) {
        y[j] *= cexp(-2 * M_PI * I * start * b->m.t[j]);
        size += square(y[j]);
    }
    search_side(b, y, size, 0, &b->least[0][i], &b->of[i]);
    search_side(b, y, size, 1, &b->least[1][i], NULL);
    for (int k = 0; k < b->of[i].count; k++) b->of[i].value[k] += (float)start;
}

/* ---- the choice ---- */

static double noise_of(const lmr_fit_work *w, int64_t i)
{
    return w->noise ? w->noise[i] : w->any;
}

/* Squares become costs: in units of the noise or of what the median voxel leaves, with what is known of the field. */
static larmor_status weigh(job *b, double *other_sign)
{
    const lmr_fit_work *w = b->w;
    LMR_HEAP double *inside = lmr_new(w->voxels, sizeof *inside);
    double sum[2] = {0, 0};
    int64_t count = 0;
    if (!inside) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < w->voxels; i++) {
        if (w->state[i] != LMR_FIT_INSIDE) continue;
        inside[count++] = b->least[0][i];
        for (int side = 0; side < 2; side++) sum[side] += b->least[side][i];
    }
    *other_sign = b->m.times > 3 && sum[0] > 0 ? sum[1] / sum[0] : 0;
    b->left = lmr_median_f64(inside, count) / (2 * b->m.times - PARAMETERS);
    const double range = RANGE_PPM * b->ppm;
    for (int64_t i = 0; i < w->voxels; i++) {
        lmr_fit_candidates *of = &b->of[i];
        const double noise = noise_of(w, i);
        const double unit = 2 * fmax(fmax(noise * noise, b->left), 1e-30);
        for (int k = 0; k < of->count; k++) {
            const double far = b->start ? (of->value[k] - b->start[i]) / (START_PPM * b->ppm) : 0;
            const double from_zero = of->value[k] / range;
            const double known = b->start ? far * far / 2 : NEAR_ZERO * from_zero * from_zero;
            of->cost[k] = (float)((of->cost[k] - fmin(b->least[0][i], of->cost[0])) / unit + known);
        }
    }
    return LARMOR_OK;
}

/* ---- all parameters ---- */

/* Squares of the residual at p, the products of its derivatives and their products with it; hold: the weight of the
 * usual rate. */
static double linearise(const model *m, const cplx *y, double hold, const double *p, double H[][PARAMETERS],
                        double *g)
{
    double squares = hold * (p[RATE] - USUAL_RATE) * (p[RATE] - USUAL_RATE);
    for (int a = 0; a < PARAMETERS; a++) {
        g[a] = 0;
        for (int c = 0; c < PARAMETERS; c++) H[a][c] = 0;
    }
    for (int j = 0; j < m->times; j++) {
        const cplx turn = cexp(I * p[PHASE] + (2 * M_PI * I * p[FIELD] - p[RATE]) * m->t[j]);
        const cplx signal = (p[WATER] + p[FAT] * m->fat[j]) * turn, rest = y[j] - signal;
        const cplx by[PARAMETERS] = {turn, m->fat[j] * turn, I * signal, 2 * M_PI * I * m->t[j] * signal,
                                     -m->t[j] * signal};
        squares += square(rest);
        for (int a = 0; a < PARAMETERS; a++) {
            g[a] += creal(conj(by[a]) * rest);
            for (int c = 0; c < PARAMETERS; c++) H[a][c] += creal(conj(by[a]) * by[c]);
        }
    }
    g[RATE] += hold * (USUAL_RATE - p[RATE]);
    H[RATE][RATE] += hold;
    return squares;
}

static double refine(const model *m, const cplx *y, double hold, double *p, double H[][PARAMETERS])
{
    double g[PARAMETERS], damping = 1e-3;
    double squares = linearise(m, y, hold, p, H, g);
    for (int n = 0; n < MOST_STEPS && damping < 1e8; n++) {
        double next[PARAMETERS], step[PARAMETERS], to[PARAMETERS][PARAMETERS], of[PARAMETERS];
        if (!lmr_fit_solve(PARAMETERS, *H, damping, g, step)) {
            damping = fmax(10 * damping, 1e-6);
            continue;
        }
        for (int a = 0; a < PARAMETERS; a++) next[a] = p[a] + step[a];
        const double then = linearise(m, y, hold, next, to, of);
        if (!(then <= squares)) {
            damping *= 10;
            continue;
        }
        const int is_done = squares - then <= 1e-12 * squares;
        memcpy(p, next, sizeof next);
        memcpy(H, to, sizeof to);
        memcpy(g, of, sizeof of);
        squares = then;
        damping /= 10;
        if (is_done) break;
    }
    return squares;
}

static void put_parameters(const job *b, int64_t i, double squares, double *p, double H[][PARAMETERS],
                           lmr_fit_voxel *out)
{
    static const double one[][PARAMETERS] = {
        [WATER] = {1}, [FAT] = {0, 1}, [PHASE] = {0}, [FIELD] = {0, 0, 0, 1}, [RATE] = {0, 0, 0, 0, 1}};
    const int rest = 2 * b->m.times - PARAMETERS;
    const double noise = noise_of(b->w, i), sum = p[WATER] + p[FAT];
    const double variance = noise > 0 ? noise * noise : squares / rest;
    const double by[PARAMETERS] = {-p[FAT] / (sum * sum), p[WATER] / (sum * sum)};
    static const int shown[] = {WATER, FAT, -1, RATE, FIELD};
    out->residual = sqrt(squares / (2 * b->m.times));
    for (int n = 0; n < 5; n++) {
        out->value[n] = shown[n] < 0 ? p[FAT] / sum : p[shown[n]];
        out->deviation[n] = lmr_fit_deviation(PARAMETERS, *H, variance, shown[n] < 0 ? by : one[shown[n]]);
    }
}

static void fit_voxel(void *self, int64_t i)
{
    job *b = self;
    const model *m = &b->m;
    const lmr_fit_candidates *of = &b->of[i];
    cplx y[LMR_FIT_TIMES], turned[LMR_FIT_TIMES];
    double p[PARAMETERS], H[PARAMETERS][PARAMETERS];
    lmr_fit_voxel out = {.residual = 0};
    int rate = 0;
    if (b->w->state[i] != LMR_FIT_INSIDE) return;
    take_voxel(b, i, y);
    p[FIELD] = of->count ? of->value[b->choice[i]] : 0;
    for (int j = 0; j < m->times; j++) turned[j] = y[j] * cexp(-2 * M_PI * I * p[FIELD] * m->t[j]);
    explain_most(m, 0, turned, &rate);
    explain(&m->columns[0][rate], m->times, turned, p);
    p[RATE] = rates[rate];
    const double noise = noise_of(b->w, i);
    const double variance = noise > 0 ? noise * noise : b->left;
    const double hold = m->times > 3 ? 0 : variance / (RATE_SPREAD * RATE_SPREAD);
    const double from_usual = refine(m, y, hold, p, H), far = p[RATE] - USUAL_RATE;
    const double squares = fmax(from_usual - hold * far * far, 0);
    put_parameters(b, i, squares, p, H, &out);
    const int is_fitted = of->count && p[RATE] > LEAST_RATE && p[RATE] < MOST_RATE && p[WATER] + p[FAT] > 0;
    lmr_fit_keep(b->w, i, 5, is_fitted, &out);
}

/* ---- all voxels ---- */

static cplx fat_at(double hz_per_ppm, double s)
{
    double whole = 0;
    cplx sum = 0;
    for (int n = 0; n < PEAKS; n++) whole += peak_part[n];
    for (int n = 0; n < PEAKS; n++) sum += peak_part[n] / whole * cexp(2 * M_PI * I * hz_per_ppm * peak_ppm[n] * s);
    return sum;
}

larmor_status larmor_fat_signal(double tesla, double ms, double signal[2])
{
    LMR_NEED(signal);
    LMR_REFUSE(!(tesla > 0 && tesla <= 100) || !isfinite(ms), LARMOR_ERR_ARG,
               "fat: got %g T and %g ms, expected up to 100 T and a time", tesla, ms);
    const cplx fat = fat_at(HZ_PER_T_AND_PPM * tesla, ms / 1000);
    signal[0] = creal(fat);
    signal[1] = cimag(fat);
    return LARMOR_OK;
}

static larmor_status make_model(const lmr_fit_work *w, const larmor_fit_opts *opts, job *b)
{
    model *m = &b->m;
    b->ppm = HZ_PER_T_AND_PPM * opts->field_strength;
    m->times = w->series.times;
    for (int j = 0; j < m->times; j++) {
        m->t[j] = w->series.t[j] / 1000;
        m->fat[j] = fat_at((opts->fat_above ? -1 : 1) * b->ppm, m->t[j]);
    }
    fill_columns(m);
    m->low = -RANGE_PPM * b->ppm;
    const double finest = 1 / (STEPS_PER_TURN * (m->t[m->times - 1] - m->t[0]));
    m->fields = 1 + (int)fmin(MOST_FIELDS - 1, ceil(-2 * m->low / finest));
    m->step = -2 * m->low / (m->fields - 1);
    b->turn = lmr_new((int64_t)m->fields * m->times, sizeof *b->turn);
    b->of = calloc((size_t)w->voxels + 1, sizeof *b->of);
    b->least[0] = lmr_new(w->voxels, sizeof **b->least);
    b->least[1] = lmr_new(w->voxels, sizeof **b->least);
    b->choice = calloc((size_t)w->voxels + 1, sizeof *b->choice);
    if (!b->turn || !b->of || !b->least[0] || !b->least[1] || !b->choice) return LMR_NO_MEMORY();
    for (int n = 0; n < m->fields; n++)
        for (int j = 0; j < m->times; j++)
            b->turn[j + m->times * n] = cexp(-2 * M_PI * I * (m->low + n * m->step) * m->t[j]);
    return LARMOR_OK;
}

larmor_status lmr_fit_water_fat(lmr_fit_work *w, const larmor_array *images, const larmor_fit_opts *opts,
                                double *other_sign)
{
    LMR_FREED_BY(free_job) job b = {.w = w};
    LMR_HEAP float *start = NULL;
    LMR_REFUSE(w->series.parts != 2, LARMOR_ERR_SHAPE,
               "images: got %s, expected complex ones: water and fat differ by phase", lmr_describe(images).s);
    LMR_REFUSE(!(opts->field_strength > 0 && opts->field_strength <= 100), LARMOR_ERR_ARG,
               "opts.field_strength: got %g, expected that of the magnet, to 100 T", opts->field_strength);
    if (opts->field_map) {
        LMR_REFUSE(!lmr_is_real(opts->field_map->dtype) || larmor_array_count(opts->field_map) != w->voxels,
                   LARMOR_ERR_SHAPE, "opts.field_map: got %s, expected real numbers for %lld voxels",
                   lmr_describe(opts->field_map).s, (long long)w->voxels);
        LMR_TRY(larmor_array_expect_finite(opts->field_map, "opts.field_map"));
        LMR_TRY(larmor_array_download(opts->field_map, LARMOR_F32, &start));
        b.start = start;
    }
    const int threads = lmr_device_threads(images->dev);
    LMR_TRY(make_model(w, opts, &b));
    LMR_TRY(lmr_parallel(threads, w->voxels, search_voxel, &b));
    LMR_TRY(weigh(&b, other_sign));
    const larmor_shape shape = larmor_shape_of(images->shape.ndim - 1, images->shape.dim);
    LMR_TRY(lmr_fit_choose(b.of, shape, SMOOTH_PPM * b.ppm, b.choice));
    return lmr_parallel(threads, w->voxels, fit_voxel, &b);
}
