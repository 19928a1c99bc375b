/* One time constant by variable projection: factors follow from it by linear least squares (Golub and Pereyra, SIAM
 * J. Numer. Anal. 10, 413 (1973)). SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "fit/fit.h"

enum { MOST_STEPS = 60, MOST_HALVINGS = 20, MOST_LOWERED = 20 };
#define GRID_STEP 0.25     /* of log T; Gauss-Newton finds the minimum from neighbours of it on this grid */
#define LEAST_LOWERED 1e-6 /* of log T */
#define LEAST_STEP 1e-10   /* of log T */

/* The columns at one time constant: e = exp(-t / T) and d, its derivative by log T; with a constant less their
 * means. */
typedef struct columns {
    double e[LMR_FIT_TIMES], d[LMR_FIT_TIMES];
    double mean_e, mean_d;
    double norm;   /* |e|^2 of the column less its mean */
    double along;  /* factor of e in d */
    double across; /* |d|^2 of what is orthogonal to the columns */
} columns;

int lmr_fit_has_constant(larmor_fit_model model)
{
    return model == LARMOR_FIT_T1_IR || model == LARMOR_FIT_T1_LL;
}

static double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int j = 0; j < n; j++) sum += x[j] * y[j];
    return sum;
}

static double take_mean(int n, double *x)
{
    double mean = 0;
    for (int j = 0; j < n; j++) mean += x[j] / n;
    for (int j = 0; j < n; j++) x[j] -= mean;
    return mean;
}

static void fill_columns(const lmr_fit_series *s, double log_t, columns *c)
{
    const double rate = exp(-log_t);
    for (int j = 0; j < s->times; j++) {
        c->e[j] = exp(-s->t[j] * rate);
        c->d[j] = c->e[j] * s->t[j] * rate;
    }
    c->mean_e = c->mean_d = 0;
    if (lmr_fit_has_constant(s->model)) {
        c->mean_e = take_mean(s->times, c->e);
        c->mean_d = take_mean(s->times, c->d);
    }
    c->norm = dot(s->times, c->e, c->e);
    c->along = c->norm > 0 ? dot(s->times, c->e, c->d) / c->norm : 0;
    c->across = 0;
    for (int j = 0; j < s->times; j++) {
        const double rest = c->d[j] - c->along * c->e[j];
        c->across += rest * rest;
    }
}

/* The curve with the best factors at log_t, and the Gauss-Newton step from there. */
static double evaluate(const lmr_fit_series *s, const double *y, double log_t, lmr_fit_curve *curve)
{
    columns c;
    double slope = 0, curvature = 0;
    fill_columns(s, log_t, &c);
    *curve = (lmr_fit_curve){.log_t = log_t};
    for (int p = 0; p < s->parts; p++) {
        const double *part = y + p * s->times;
        double mean = 0;
        if (lmr_fit_has_constant(s->model))
            for (int j = 0; j < s->times; j++) mean += part[j] / s->times;
        const double factor = c.norm > 0 ? dot(s->times, c.e, part) / c.norm : 0;
        curve->factor[p] = factor;
        if (lmr_fit_has_constant(s->model)) curve->constant[p] = mean - factor * c.mean_e;
        for (int j = 0; j < s->times; j++) {
            const double rest = part[j] - mean - factor * c.e[j];
            curve->squares += rest * rest;
            slope += factor * (c.d[j] - c.along * c.e[j]) * rest;
        }
        curvature += factor * factor * c.across;
    }
    return curvature > 0 ? slope / curvature : 0;
}

/* From a place on the grid to the minimum. */
static void refine(const lmr_fit_series *s, const double *y, lmr_fit_curve *best)
{
    for (int i = 0; i < MOST_STEPS; i++) {
        double step = evaluate(s, y, best->log_t, best);
        lmr_fit_curve next = *best;
        step = fmin(fmax(step, -1), 1);
        for (int k = 0; k < MOST_HALVINGS && fabs(step) > LEAST_STEP; k++) {
            evaluate(s, y, fmin(fmax(best->log_t + step, s->low), s->high), &next);
            if (next.squares < best->squares) break;
            next = *best;
            step /= 2;
        }
        if (fabs(next.log_t - best->log_t) <= LEAST_STEP) return;
        *best = next;
    }
}

static void search(const lmr_fit_series *s, const double *y, lmr_fit_curve *best)
{
    const int count = 1 + (int)ceil((s->high - s->low) / GRID_STEP);
    evaluate(s, y, s->low, best);
    for (int i = 1; i <= count; i++) {
        lmr_fit_curve other;
        evaluate(s, y, s->low + (s->high - s->low) * i / count, &other);
        if (other.squares < best->squares) *best = other;
    }
    refine(s, y, best);
}

/* Magnitudes: the first n may have been negative, and the least residual decides. */
static void restore_signs(const lmr_fit_series *s, const double *y, lmr_fit_curve *curve)
{
    double restored[LMR_FIT_TIMES];
    for (int j = 0; j < s->times; j++) restored[j] = y[j];
    search(s, y, curve);
    for (int n = 0; n + 1 < s->times; n++) {
        lmr_fit_curve other;
        restored[n] = -y[n];
        search(s, restored, &other);
        if (other.squares < curve->squares) *curve = other;
    }
}

/* Of the noise, or of a residual that has `rest` more numbers than parameters; 0: not known. */
static double variance_of(double noise, double squares, int rest)
{
    if (noise > 0) return noise * noise;
    return rest > 0 ? squares / rest : 0;
}

/* The curve whose magnitudes have the measured mean: each measured one less the curve's own lift is fitted again. */
static void lower(const lmr_fit_series *s, const double *y, double noise, lmr_fit_curve *curve)
{
    const int rest = s->times - 3;
    const double deviation = sqrt(variance_of(noise, curve->squares, rest));
    double lowered[LMR_FIT_TIMES];
    for (int i = 0; i < MOST_LOWERED; i++) {
        const double before = curve->log_t;
        for (int j = 0; j < s->times; j++) {
            const double signal = curve->constant[0] + curve->factor[0] * exp(-s->t[j] * exp(-before));
            lowered[j] = (signal < 0 ? -1 : 1) * (y[j] - lmr_fit_lift(signal, deviation));
        }
        refine(s, lowered, curve);
        if (fabs(curve->log_t - before) < LEAST_LOWERED) return;
    }
}

int lmr_fit_exponential(const lmr_fit_series *s, const double *y, double noise, lmr_fit_curve *curve)
{
    const double edge = 1e-6;
    if (s->positive && lmr_fit_has_constant(s->model)) {
        restore_signs(s, y, curve);
        lower(s, y, noise, curve);
    } else {
        search(s, y, curve);
    }
    return curve->log_t > s->low + edge && curve->log_t < s->high - edge;
}

/* Deviation of a parameter with these derivatives by log T, the constants and the factors, by Schur's complement. */
static double deviation(const lmr_fit_series *s, const columns *c, const lmr_fit_curve *f, double variance,
                        double by_log_t, const double *by_constant, const double *by_factor)
{
    const int has_constant = lmr_fit_has_constant(s->model);
    double linear = 0, curvature = 0, along = by_log_t;
    for (int p = 0; p < s->parts; p++) {
        const double constant = has_constant ? by_constant[p] : 0;
        /* the constant is the mean less factor * mean_e; mean and factor are independent */
        const double factor = by_factor[p] - constant * c->mean_e;
        linear += factor * factor / c->norm + (has_constant ? constant * constant / s->times : 0);
        along -= f->factor[p] * (factor * c->along + constant * c->mean_d);
        curvature += f->factor[p] * f->factor[p] * c->across;
    }
    return curvature > 0 ? sqrt(variance * (linear + along * along / curvature)) : 0;
}

int lmr_fit_parameters(const lmr_fit_series *s, const lmr_fit_curve *f, double noise, lmr_fit_voxel *out)
{
    const int has_constant = lmr_fit_has_constant(s->model), numbers = s->parts * s->times;
    const int rest = numbers - 1 - s->turns - s->parts * (has_constant ? 2 : 1);
    const double variance = variance_of(noise, f->squares, rest);
    const double T = exp(f->log_t), none[2] = {0, 0};
    const double aa = dot(s->parts, f->constant, f->constant), ab = dot(s->parts, f->constant, f->factor);
    const double bb = dot(s->parts, f->factor, f->factor);
    columns c;
    fill_columns(s, f->log_t, &c);
    out->residual = sqrt(f->squares / numbers);
    if (!has_constant) {
        const double size = sqrt(bb);
        if (!(size > 0)) return 0;
        const double by_factor[2] = {f->factor[0] / size, f->factor[1] / size};
        out->value[0] = T;
        out->deviation[0] = deviation(s, &c, f, variance, T, none, none);
        out->value[1] = size;
        out->deviation[1] = deviation(s, &c, f, variance, 0, none, by_factor);
        return 1;
    }
    if (!(aa > 0) || !(bb > 0)) return 0;
    const double size = sqrt(aa), ratio = -ab / aa;
    double ratio_a[2], ratio_b[2], size_a[2], by_a[2], by_b[2];
    for (int p = 0; p < 2; p++) {
        size_a[p] = f->constant[p] / size;
        ratio_a[p] = -(f->factor[p] + 2 * ratio * f->constant[p]) / aa;
        ratio_b[p] = -f->constant[p] / aa;
    }
    if (s->model == LARMOR_FIT_T1_IR) {
        out->value[0] = T;
        out->deviation[0] = deviation(s, &c, f, variance, T, none, none);
        out->value[1] = size;
        out->deviation[1] = deviation(s, &c, f, variance, 0, size_a, none);
        out->value[2] = ratio;
        out->deviation[2] = deviation(s, &c, f, variance, 0, ratio_a, ratio_b);
        return ratio > 0;
    }
    for (int p = 0; p < 2; p++) {
        by_a[p] = T * ratio_a[p];
        by_b[p] = T * ratio_b[p];
    }
    out->value[0] = T * (ratio - 1);
    out->deviation[0] = deviation(s, &c, f, variance, T * (ratio - 1), by_a, by_b);
    for (int p = 0; p < 2; p++) {
        by_a[p] = size * ratio_a[p] + (ratio - 1) * size_a[p];
        by_b[p] = size * ratio_b[p];
    }
    out->value[1] = size * (ratio - 1);
    out->deviation[1] = deviation(s, &c, f, variance, 0, by_a, by_b);
    out->value[2] = T;
    out->deviation[2] = deviation(s, &c, f, variance, T, none, none);
    return ratio > 1;
}
