/* The likelihood of delays, of the object's size and of the noise, together; its minimum, and standard deviations.
 *
 * Source: that of estimates from a composite likelihood, Varin, Reid, Firth, Stat. Sin. 21, 5 (2011).
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/gradients/delay_fit.h"

#include "core/core.h"
#include "recon/gradients/likelihood.h"
#include "recon/gradients/minimise.h"

/* Spread of the object's size, of logarithms. Not measured. */
static const double spread_of_size = 0.3;

/* Largest shift in 1/FOV: gradients make smaller ones, and larger ones move samples that contradict each other
 * apart. */
static const double max_shift = 3.5;

/* Standard deviations of delays and couplings before the samples are taken into account, in samples. Not
 * measured. */
static const double spread_of_delay = 4;
static const double spread_of_coupling = 2;

int64_t lmr_delay_samples(const lmr_spokes *s, int block)
{
    int64_t m = 0;
    for (int64_t i = s->begin[block]; i < s->begin[block + 1]; i++) m += s->spoke[i].count;
    return m;
}

/* ---- the function ---- */

void lmr_delay_place_samples(const lmr_delay_fit *f, int block, double *place, double *slope)
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

/* Along the axes in which the object is as large as along x. */
static void stretch(const lmr_delay_fit *f, int nd, int64_t m, double *place, double *slope)
{
    for (int d = 1; d < nd; d++) {
        const double scale = exp(f->all[LMR_DELAY_STRETCH + d - 1]);
        for (int64_t j = d; j < nd * m; j += nd) place[j] *= scale;
        for (int64_t j = d; j < LMR_DELAYS * nd * m; j += nd) slope[j] *= scale;
    }
}

static void evaluate_block(void *self, int64_t i)
{
    lmr_delay_fit *f = self;
    const lmr_spokes *s = f->s;
    const int block = (int)i, nd = s->nd;
    const int64_t m = lmr_delay_samples(s, block), columns = 2 * s->coils;
    double *place = f->work + f->room * i, *slope = place + nd * m, *by_place = slope + LMR_DELAYS * nd * m;
    double *work = by_place + nd * m;
    lmr_delay_place_samples(f, block, place, slope);
    stretch(f, nd, m, place, slope);
    const lmr_sampled sampled = {.nd = nd,
                                 .m = m,
                                 .columns = columns,
                                 .place = place,
                                 .value = s->value + columns * s->spoke[s->begin[block]].at};
    lmr_likelihood result = {.by_place = f->values_only ? NULL : by_place};
    const double noise = f->floor + exp(f->all[LMR_DELAY_NOISE]);
    f->status[i] = lmr_likelihood_of(&sampled, exp(f->all[LMR_DELAY_SIZE]), noise, work, &result);
    if (f->status[i]) return;
    f->value[i] = result.value;
    double *by = f->by[i];
    memset(by, 0, sizeof f->by[i]);
    if (f->values_only) return;
    by[LMR_DELAY_SIZE] = result.by_size;
    by[LMR_DELAY_NOISE] = result.by_noise * exp(f->all[LMR_DELAY_NOISE]) / noise;
    for (int d = 1; d < nd; d++)
        for (int64_t j = d; j < nd * m; j += nd) by[LMR_DELAY_STRETCH + d - 1] += by_place[j] * place[j];
    for (int64_t j = 0; j < m; j++)
        for (int e = 0; e < LMR_DELAYS; e++)
            for (int d = 0; d < nd; d++) by[e] += by_place[nd * j + d] * slope[nd * (LMR_DELAYS * j + e) + d];
}

void lmr_delay_prior(int number, double *mean, double *spread)
{
    *mean = 0;
    *spread = number < 3 ? spread_of_delay : spread_of_coupling;
    if (number == LMR_DELAY_SIZE) *mean = log(LMR_TYPICAL_SIZE);
    if (number >= LMR_DELAY_SIZE) *spread = spread_of_size;
}

static larmor_status evaluate(void *self, const double *x, double *value, double *gradient)
{
    lmr_delay_fit *f = self;
    LMR_TRY(lmr_go_on());
    for (int i = 0; i < f->n; i++) f->all[f->free[i]] = x[i];
    LMR_REFUSE(f->free[0] < LMR_DELAY_SIZE && !(lmr_farthest_shift(f->s, f->all, f->s->start) < max_shift),
               LARMOR_ERR_NUMERIC, "delays: out of range");
    for (int d = 1; d < f->s->nd; d++)
        LMR_REFUSE(!(fabs(f->all[LMR_DELAY_STRETCH + d - 1]) < 3), LARMOR_ERR_NUMERIC, "delays: shape out of range");
    LMR_REFUSE(!(fabs(f->all[LMR_DELAY_SIZE]) < 5) || !(f->all[LMR_DELAY_NOISE] < 5) ||
                   !(f->all[LMR_DELAY_NOISE] > -60),
               LARMOR_ERR_NUMERIC, "delays: size or noise out of range");
    LMR_TRY(lmr_parallel(f->threads, f->blocks, evaluate_block, f));
    *value = 0;
    memset(gradient, 0, sizeof *gradient * (size_t)f->n);
    for (int b = 0; b < f->blocks; b++) {
        if (f->status[b]) return f->status[b];
        *value += f->value[b];
        for (int i = 0; i < f->n; i++) gradient[i] += f->by[b][f->free[i]];
    }
    for (int i = 0; i < f->n; i++) {
        double mean, spread;
        if (f->free[i] == LMR_DELAY_NOISE) continue;
        lmr_delay_prior(f->free[i], &mean, &spread);
        const double off = (x[i] - mean) / spread;
        *value += off * off / 2;
        gradient[i] += off / spread;
    }
    return LARMOR_OK;
}

int lmr_delay_moves_along(const lmr_spokes *s, int axis)
{
    for (int64_t p = 0; p < s->count && s->curved; p++)
        if (fabs(s->spoke[p].step[axis]) > LMR_MIN_SAMPLE_DISTANCE) return 1;
    return !s->curved;
}

/* ---- the minimum ---- */

void lmr_delay_set_free(lmr_delay_fit *f, int which)
{
    f->n = 0;
    for (int e = 0; e < LMR_DELAYS; e++) {
        int a, b;
        lmr_delay_axes(e, &a, &b);
        if (!(which & (a == b ? LMR_FREE_DELAYS : LMR_FREE_COUPLINGS))) continue;
        if (b < f->s->nd && lmr_delay_moves_along(f->s, a) && lmr_delay_moves_along(f->s, b)) f->free[f->n++] = e;
    }
    if (!(which & LMR_FREE_OTHERS)) return;
    f->free[f->n++] = LMR_DELAY_SIZE;
    for (int d = 1; d < f->s->nd && f->s->curved; d++) f->free[f->n++] = LMR_DELAY_STRETCH + d - 1;
    f->free[f->n++] = LMR_DELAY_NOISE;
}

int lmr_delay_is_free(const lmr_delay_fit *f, int number)
{
    int free = 0;
    for (int i = 0; i < f->n; i++) free |= f->free[i] == number;
    return free;
}

larmor_status lmr_delay_descend(lmr_delay_fit *f, double all[LMR_DELAY_NUMBERS], double tol, int most, double *value)
{
    lmr_minimise how = {.n = f->n, .tol = tol, .most = most};
    double x[LMR_MINIMISE_MOST], gradient[LMR_MINIMISE_MOST];
    memcpy(f->all, all, sizeof f->all);
    for (int i = 0; i < f->n; i++) {
        how.scale[i] = f->free[i] < LMR_DELAY_SIZE ? 0.2 : 0.5;
        if (f->free[i] == LMR_DELAY_NOISE) how.scale[i] = 1;
        x[i] = all[f->free[i]];
    }
    LMR_TRY(lmr_minimise_by_bfgs(&how, evaluate, f, x, value, gradient));
    for (int i = 0; i < f->n; i++) all[f->free[i]] = x[i];
    return LARMOR_OK;
}

larmor_status lmr_delay_value(lmr_delay_fit *f, const double all[LMR_DELAY_NUMBERS], double *value)
{
    double x[LMR_MINIMISE_MOST], gradient[LMR_MINIMISE_MOST];
    memcpy(f->all, all, sizeof f->all);
    for (int i = 0; i < f->n; i++) x[i] = all[f->free[i]];
    return evaluate(f, x, value, gradient);
}

double lmr_delay_unexplained(const lmr_delay_fit *f, const double all[LMR_DELAY_NUMBERS])
{
    const double noise = f->floor + exp(all[LMR_DELAY_NOISE]);
    return sqrt(noise / (1 + noise));
}

/* ---- standard deviations ---- */

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

/* Second derivatives at `all`, by differences of the gradient. The blocks' derivatives there stay in f->by. */
static larmor_status curvature(lmr_delay_fit *f, const double all[LMR_DELAY_NUMBERS], double change, square_matrix h)
{
    double x[LMR_MINIMISE_MOST], value, there[LMR_MINIMISE_MOST], here[LMR_MINIMISE_MOST];
    memcpy(f->all, all, sizeof f->all);
    for (int i = 0; i < f->n; i++) x[i] = all[f->free[i]];
    LMR_TRY(evaluate(f, x, &value, here));
    double by[LMR_MOST_BLOCKS][LMR_DELAY_NUMBERS];
    memcpy(by, f->by, sizeof by);
    for (int i = 0; i < f->n; i++) {
        x[i] += change;
        LMR_TRY(evaluate(f, x, &value, there));
        x[i] -= change;
        for (int j = 0; j < f->n; j++) h[i][j] = (there[j] - here[j]) / change;
    }
    memcpy(f->by, by, sizeof by);
    for (int i = 0; i < f->n; i++)
        for (int j = 0; j < i; j++) h[i][j] = h[j][i] = (h[i][j] + h[j][i]) / 2;
    return LARMOR_OK;
}

/* The variance of each number: of one block from the curvature alone, of several by how much they disagree, too. */
static void find_deviations(const lmr_delay_fit *f, square_matrix inverse, double deviation[LMR_DELAYS])
{
    for (int i = 0; i < f->n; i++) {
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

larmor_status lmr_delay_deviations(lmr_delay_fit *f, const double all[LMR_DELAY_NUMBERS],
                                   double deviation[LMR_DELAYS])
{
    for (int e = 0; e < LMR_DELAYS && f->s->curved; e++) { /* unless the data show them */
        int a, b;
        double mean;
        lmr_delay_axes(e, &a, &b);
        if (b < f->s->nd) lmr_delay_prior(e, &mean, &deviation[e]);
    }
    static const double change[] = {1e-3, 1e-4, 1e-2, 1e-5}; /* in samples; without noise the valley is narrow */
    square_matrix inverse = {{0}};
    int known = 0;
    lmr_delay_set_free(f, LMR_FREE_DELAYS | LMR_FREE_COUPLINGS);
    for (int i = 0; i < 4 && !known; i++) {
        LMR_TRY(curvature(f, all, change[i], inverse));
        known = invert(f->n, inverse);
    }
    LMR_REFUSE(!known, LARMOR_ERR_NUMERIC, "delays: the data do not determine them");
    find_deviations(f, inverse, deviation);
    return LARMOR_OK;
}
