/* Gradient delays from the samples: intersections of spokes, refined to the likeliest delays.
 *
 * With the right delays samples that are neighbours in k-space predict each other as an object of limited size lets
 * them. Delays, size and noise are fitted together, by all samples of spokes near the centre. Blocks of spokes tell
 * of the delays independently of each other, and so how sure they are.
 *
 * Source: Rosenzweig, Holme, Uecker, Magn. Reson. Med. 81, 1898 (2019) for the start; the standard deviation is that of
 * estimates from a composite likelihood, Varin, Reid, Firth, Stat. Sin. 21, 5 (2011). SPDX-License-Identifier: Apache-2.0
 */
#include "recon/calib/delays.h"

#include <math.h>
#include <string.h>

#include "core/array.h"
#include "core/parallel.h"
#include "recon/calib/likelihood.h"
#include "recon/calib/minimise.h"

enum { SIZE = LMR_DELAYS, NOISE, NUMBERS };

/* The object's size as a standard deviation in units of the field of view, and its spread, of logarithms. */
static const double typical_size = 0.3, spread_of_size = 0.3;

static const double least_noise = 1e-9;

/* Of delays without doubt: how much likelier they make each number, as a logarithm; a delay in units of its deviation;
 * the shift of a readout in cycles per field of view; and what may remain unexplained. */
static const double least_gain = 0.02, least_sure = 5, least_shift = 0.005, most_unexplained = 0.5;

/* Delays that the data do not show stay near 0: their spread before the data are seen, in samples. */
static const double spread_of_delay = 4, spread_of_coupling = 2;

typedef struct fit {
    const lmr_spokes *s;
    int block, blocks;    /* the first of those that are summed */
    int free[NUMBERS], n; /* which numbers change */
    double all[NUMBERS];
    int64_t room;                      /* doubles of a block */
    double *work;                      /* [blocks, room] */
    double value[64], by[64][NUMBERS]; /* of each block */
    larmor_status status[64];
} fit;

static int64_t samples_of(const lmr_spokes *s, int block)
{
    int64_t m = 0;
    for (int64_t i = s->begin[block]; i < s->begin[block + 1]; i++) m += s->spoke[i].count;
    return m;
}

/* ---- the function ---- */

static void place_samples(const fit *f, int block, double *place, double *slope)
{
    const lmr_spokes *s = f->s;
    int64_t j = 0;
    for (int64_t i = s->begin[block]; i < s->begin[block + 1]; i++) {
        const lmr_spoke *p = &s->spoke[i];
        const double *k = s->k + s->nd * s->samples * p->readout;
        for (int64_t n = 0; n < p->count; n++, j++)
            lmr_delay_place(k, s->nd, s->samples, p->first + s->stride * n, f->all, s->fov, place + s->nd * j,
                            slope + LMR_DELAYS * s->nd * j);
    }
}

static void evaluate_block(void *self, int64_t i)
{
    fit *f = self;
    const lmr_spokes *s = f->s;
    const int block = f->block + (int)i, nd = s->nd;
    const int64_t m = samples_of(s, block), columns = 2 * s->coils;
    double *place = f->work + f->room * i, *slope = place + nd * m, *by_place = slope + LMR_DELAYS * nd * m;
    double *work = by_place + nd * m;
    place_samples(f, block, place, slope);
    const lmr_sampled sampled = {.nd = nd,
                                 .m = m,
                                 .columns = columns,
                                 .place = place,
                                 .value = s->value + columns * s->spoke[s->begin[block]].at};
    lmr_likelihood result = {.by_place = by_place};
    const double noise = least_noise + exp(f->all[NOISE]);
    f->status[i] = lmr_likelihood_of(&sampled, exp(f->all[SIZE]), noise, work, &result);
    if (f->status[i]) return;
    f->value[i] = result.value;
    double *by = f->by[i];
    memset(by, 0, sizeof f->by[i]);
    by[SIZE] = result.by_size;
    by[NOISE] = result.by_noise * exp(f->all[NOISE]) / noise;
    for (int64_t j = 0; j < m; j++)
        for (int e = 0; e < LMR_DELAYS; e++)
            for (int d = 0; d < nd; d++) by[e] += by_place[nd * j + d] * slope[nd * (LMR_DELAYS * j + e) + d];
}

/* What is known of a number before the data are seen, as a mean and a spread. */
static void expected(int number, double *mean, double *spread)
{
    *mean = 0;
    *spread = number < 3 ? spread_of_delay : spread_of_coupling;
    if (number == SIZE) {
        *mean = log(typical_size);
        *spread = spread_of_size;
    }
}

static larmor_status evaluate(void *self, const double *x, double *value, double *gradient)
{
    fit *f = self;
    LMR_TRY(lmr_go_on());
    for (int i = 0; i < f->n; i++) f->all[f->free[i]] = x[i];
    for (int e = 0; e < LMR_DELAYS; e++)
        if (!(fabs(f->all[e]) < 20)) return LMR_FAIL(LARMOR_ERR_NUMERIC, "delays: out of range");
    if (!(fabs(f->all[SIZE]) < 5) || !(f->all[NOISE] < 5) || !(f->all[NOISE] > -60))
        return LMR_FAIL(LARMOR_ERR_NUMERIC, "delays: size or noise out of range");
    LMR_TRY(lmr_parallel(8, f->blocks, evaluate_block, f));
    *value = 0;
    memset(gradient, 0, sizeof *gradient * (size_t)f->n);
    for (int b = 0; b < f->blocks; b++) {
        if (f->status[b]) return f->status[b] == LARMOR_ERR_NUMERIC ? LARMOR_ERR_NUMERIC : f->status[b];
        *value += f->value[b];
        for (int i = 0; i < f->n; i++) gradient[i] += f->by[b][f->free[i]];
    }
    for (int i = 0; i < f->n; i++) {
        double mean, spread;
        if (f->free[i] == NOISE) continue;
        expected(f->free[i], &mean, &spread);
        const double off = (x[i] - mean) / spread;
        *value += off * off / 2;
        gradient[i] += off / spread;
    }
    return LARMOR_OK;
}

/* ---- the search ---- */

/* The delays of nd dimensions, if they are to change, then size and noise. */
static void set_free(fit *f, int delays)
{
    f->n = 0;
    for (int e = 0; e < LMR_DELAYS && delays; e++) {
        int a, b;
        lmr_delay_axes(e, &a, &b);
        if (b < f->s->nd) f->free[f->n++] = e;
    }
    f->free[f->n++] = SIZE;
    f->free[f->n++] = NOISE;
}

static larmor_status descend(fit *f, double all[NUMBERS], double tol, int most, double *value)
{
    lmr_minimise how = {.n = f->n, .tol = tol, .most = most};
    double x[LMR_MINIMISE_MOST], gradient[LMR_MINIMISE_MOST];
    memcpy(f->all, all, sizeof f->all);
    for (int i = 0; i < f->n; i++) {
        how.scale[i] = f->free[i] < SIZE ? 0.2 : 0.5;
        if (f->free[i] == NOISE) how.scale[i] = 1;
        x[i] = all[f->free[i]];
    }
    LMR_TRY(lmr_minimise_by_bfgs(&how, evaluate, f, x, value, gradient));
    for (int i = 0; i < f->n; i++) all[f->free[i]] = x[i];
    return LARMOR_OK;
}

static larmor_status value_at(fit *f, const double all[NUMBERS], double *value)
{
    double x[LMR_MINIMISE_MOST], gradient[LMR_MINIMISE_MOST];
    memcpy(f->all, all, sizeof f->all);
    for (int i = 0; i < f->n; i++) x[i] = all[f->free[i]];
    return evaluate(f, x, value, gradient);
}

/* The likeliest of: no delays, those of the intersections, and the same along all axes. */
static larmor_status choose_start(fit *f, const double none[NUMBERS], double all[NUMBERS])
{
    double trial[NUMBERS], least = INFINITY, value;
    int pairs;
    memcpy(all, none, sizeof trial);
    for (int i = 0; i < 6; i++) {
        memcpy(trial, none, sizeof trial);
        if (i == 0) LMR_TRY(lmr_intersections(f->s, trial, &pairs));
        for (int d = 0; d < f->s->nd && i > 1; d++) trial[d] = (i % 2 ? -1 : 1) * (i < 4 ? 1 : 2);
        const larmor_status st = value_at(f, trial, &value);
        if (st && st != LARMOR_ERR_NUMERIC) return st;
        if (st || !(value < least)) continue;
        least = value;
        memcpy(all, trial, sizeof trial);
    }
    return LARMOR_OK;
}

/* ---- from one block to all ---- */

typedef double square_matrix[LMR_MINIMISE_MOST][LMR_MINIMISE_MOST];

/* The inverse of a symmetric positive matrix, by Gauss and Jordan; 0 if it is not positive. */
static int invert(int n, square_matrix a)
{
    for (int i = 0; i < n; i++) {
        const double pivot = a[i][i];
        if (!(pivot > 0) || !isfinite(pivot)) return 0;
        a[i][i] = 1;
        for (int j = 0; j < n; j++) a[i][j] /= pivot;
        for (int j = 0; j < n; j++) {
            if (j == i) continue;
            const double factor = a[j][i];
            a[j][i] = 0;
            for (int l = 0; l < n; l++) a[j][l] -= factor * a[i][l];
        }
    }
    return 1;
}

/* Second derivatives at `all`, by differences of the gradient. */
static larmor_status curvature(fit *f, const double all[NUMBERS], square_matrix h)
{
    const double apart = 1e-3;
    double x[LMR_MINIMISE_MOST], value, there[LMR_MINIMISE_MOST], back[LMR_MINIMISE_MOST];
    memcpy(f->all, all, sizeof f->all);
    for (int i = 0; i < f->n; i++) x[i] = all[f->free[i]];
    for (int i = 0; i < f->n; i++) {
        const double here = x[i];
        x[i] = here + apart;
        LMR_TRY(evaluate(f, x, &value, there));
        x[i] = here - apart;
        LMR_TRY(evaluate(f, x, &value, back));
        x[i] = here;
        for (int j = 0; j < f->n; j++) h[i][j] = (there[j] - back[j]) / (2 * apart);
    }
    for (int i = 0; i < f->n; i++)
        for (int j = 0; j < i; j++) h[i][j] = h[j][i] = (h[i][j] + h[j][i]) / 2;
    return LARMOR_OK;
}

/* The variance of each number: of one block from the curvature alone, of several by how much they disagree, too. */
static void find_deviations(const fit *f, square_matrix inverse, double deviation[LMR_DELAYS])
{
    for (int i = 0; i < f->n; i++) {
        if (f->free[i] >= LMR_DELAYS) continue;
        double between = 0;
        for (int b = 0; b < f->blocks; b++) {
            double moved = 0;
            for (int j = 0; j < f->n; j++) moved += inverse[i][j] * f->by[b][f->free[j]];
            between += moved * moved;
        }
        if (f->blocks > 1) between *= (double)f->blocks / (f->blocks - 1);
        deviation[f->free[i]] = sqrt(fmax(inverse[i][i], f->blocks > 1 ? between : 0));
    }
}

static larmor_status refine(fit *f, double all[NUMBERS], double deviation[LMR_DELAYS], double *value)
{
    square_matrix inverse = {{0}};
    f->blocks = f->s->blocks;
    LMR_TRY(descend(f, all, 1e-4, 60, value));
    LMR_TRY(curvature(f, all, inverse));
    if (!invert(f->n, inverse)) return LMR_FAIL(LARMOR_ERR_NUMERIC, "delays: the data do not determine them");
    LMR_TRY(value_at(f, all, value));
    find_deviations(f, inverse, deviation);
    return LARMOR_OK;
}

/* The farthest shift of a spoke that was used. */
static double farthest_shift(const lmr_spokes *s, const double delay[LMR_DELAYS])
{
    double farthest = 0;
    for (int64_t i = 0; i < s->count; i++) {
        const lmr_spoke *p = &s->spoke[i];
        const double *k = s->k + s->nd * s->samples * p->readout;
        const int64_t middle = p->first + s->stride * (p->count / 2);
        double place[3], square = 0;
        lmr_delay_place(k, s->nd, s->samples, middle, delay, s->fov, place, NULL);
        for (int d = 0; d < s->nd; d++) square += pow(place[d] - k[s->nd * middle + d], 2);
        farthest = fmax(farthest, sqrt(square));
    }
    return farthest;
}

/* Whether there are delays without doubt: they explain clearly more of the samples, and are known well beside their
 * size. Where samples hardly predict each other even so, something else is wrong with them. */
static int is_significant(const fit *f, const larmor_delays *found, double gain)
{
    const double numbers = (double)f->s->total * f->s->coils;
    double surest = 0;
    for (int e = 0; e < LMR_DELAYS; e++)
        if (found->deviation[e] > 0) surest = fmax(surest, fabs(found->delay[e]) / found->deviation[e]);
    return gain > least_gain * numbers && surest > least_sure && found->shift > least_shift &&
           found->after < most_unexplained;
}

static double unexplained(const double all[NUMBERS])
{
    return sqrt(least_noise + exp(all[NOISE]));
}

static larmor_status find(fit *f, larmor_delays *found)
{
    double none[NUMBERS] = {0}, all[NUMBERS], before, value;
    none[SIZE] = log(typical_size);
    none[NOISE] = log(1e-2);
    f->block = 0;
    f->blocks = 1;
    set_free(f, 0);
    LMR_TRY(descend(f, none, 1e-2, 30, &before));
    found->before = unexplained(none);
    LMR_TRY(choose_start(f, none, all));
    set_free(f, 1);
    LMR_TRY(descend(f, all, 1e-3, 60, &value));
    LMR_TRY(refine(f, all, found->deviation, &value));
    found->after = unexplained(all);
    memcpy(found->delay, all, sizeof found->delay);
    found->shift = farthest_shift(f->s, found->delay);
    set_free(f, 0);
    LMR_TRY(descend(f, none, 1e-2, 30, &before));
    found->before = unexplained(none);
    found->significant = is_significant(f, found, before - value);
    return LARMOR_OK;
}

static larmor_status check(const larmor_array *kspace, const larmor_array *traj)
{
    const larmor_shape t = larmor_array_shape(traj), y = larmor_array_shape(kspace);
    if (!traj || t.ndim != 3 || t.dim[0] < 2 || t.dim[0] > 3 || !lmr_is_real(larmor_array_dtype(traj)))
        return LMR_FAIL(LARMOR_ERR_SHAPE, "delays: trajectory is %s, expected real [2 or 3, samples, readouts]",
                        traj ? lmr_describe(traj).s : "missing");
    if (!kspace || y.ndim < 2 || y.ndim > 3 || y.dim[0] != t.dim[1] || y.dim[1] != t.dim[2] ||
        !lmr_is_complex(larmor_array_dtype(kspace)) || kspace->dev != traj->dev)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "delays: k-space is %s, expected complex [%lld, %lld, coils] on %s",
                        kspace ? lmr_describe(kspace).s : "missing", (long long)t.dim[1], (long long)t.dim[2],
                        larmor_device_spec(traj->dev));
    return LARMOR_OK;
}

larmor_status larmor_delays_estimate(const larmor_array *kspace, const larmor_array *traj,
                                     const larmor_delays_opts *opts, larmor_delays *found)
{
    LMR_NEED(found);
    *found = (larmor_delays){{0}, {0}, 0, 0, 0, 0, 0};
    LMR_TRY(check(kspace, traj));
    lmr_spokes s;
    const double *fov = opts && opts->fov[0] > 0 ? opts->fov : NULL;
    LMR_TRY(lmr_spokes_choose(kspace, traj, fov, &s));
    fit f = {.s = &s};
    for (int b = 0; b < s.blocks; b++) {
        const int64_t m = samples_of(&s, b);
        const int64_t room = m * (s.nd * (2 + LMR_DELAYS)) + lmr_likelihood_work(m, 2 * s.coils);
        if (room > f.room) f.room = room;
    }
    f.work = lmr_new(f.room * s.blocks, sizeof *f.work);
    larmor_status st = f.work ? LARMOR_OK : LMR_NO_MEMORY();
    if (!st) st = find(&f, found);
    if (st == LARMOR_ERR_NUMERIC) { /* samples that no object explains */
        memset(found, 0, sizeof *found);
        st = LARMOR_OK;
    }
    found->readouts = s.count;
    free(f.work);
    lmr_spokes_free(&s);
    if (st) memset(found, 0, sizeof *found);
    return st;
}
