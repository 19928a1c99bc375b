/* Magnitudes of a decay: the mean of the Rician distribution in place of the decay itself, which noise lifts
 * (Gudbjartsson and Patz, Magn. Reson. Med. 34, 910 (1995)). SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "fit/fit.h"

enum { MOST_STEPS = 100, MOST_LEVELS = 20 };
#define LEVEL_FACTOR 1.5 /* the most that it is moved by */
#define NEAR_LEVEL 0.01  /* of the noise */

/* The sum of c_k t^k. */
static double polynomial(const double *c, int terms, double t)
{
    double sum = c[terms - 1];
    for (int k = terms - 2; k >= 0; k--) sum = c[k] + t * sum;
    return sum;
}

/* exp(-x) I_n(x), n 0 or 1, x >= 0: Abramowitz and Stegun 9.8.1 to 9.8.4, to 2e-7. */
static double bessel(int n, double x)
{
    static const double near[2][7] = {{1, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813},
                                      {0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411}};
    static const double far[2][9] = {{0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706,
                                      0.02635537, -0.01647633, 0.00392377},
                                     {0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967,
                                      -0.02895312, 0.01787654, -0.00420059}};
    if (x >= 3.75) return polynomial(far[n], 9, 3.75 / x) / sqrt(x);
    return exp(-x) * (n ? x : 1) * polynomial(near[n], 7, x * x / (3.75 * 3.75));
}

/* The mean of a magnitude `a` with this noise, and its derivative by `a`. */
static double rician_mean(double a, double noise, double *slope)
{
    const double x = a * a / (2 * noise * noise), root = sqrt(M_PI / 2);
    const double i0 = bessel(0, x / 2), i1 = bessel(1, x / 2);
    *slope = root * a / (2 * noise) * (i0 + i1);
    return noise * root * ((1 + x) * i0 + x * i1);
}

double lmr_fit_lift(double signal, double noise)
{
    double slope;
    const double size = fabs(signal);
    return noise > 0 ? rician_mean(size, noise, &slope) - size : 0;
}

/* Normal equations of log M0 and log T, with each image's weight over its variance. */
typedef struct normal {
    double a[2][2], b[2], cost, squares, over_variance;
} normal;

static normal linearise(const lmr_fit_series *s, const double *y, double noise, double log_m, double log_t)
{
    normal n = {.cost = 0};
    for (int j = 0; j < s->times; j++) {
        double slope;
        const double decay = exp(log_m - s->t[j] * exp(-log_t));
        const double mean = rician_mean(decay, noise, &slope), rest = y[j] - mean;
        const double variance = fmax(2 * noise * noise + decay * decay - mean * mean, noise * noise * 0.1);
        const double by[2] = {slope * decay, slope * decay * s->t[j] * exp(-log_t)};
        for (int k = 0; k < 2; k++) {
            for (int l = 0; l < 2; l++) n.a[k][l] += by[k] * by[l] / variance;
            n.b[k] += by[k] * rest / variance;
        }
        n.cost += rest * rest / variance + log(variance);
        n.squares += rest * rest;
        n.over_variance += rest * rest / variance;
    }
    return n;
}

/* The curve of the least cost. Returns 0 where there is none between the bounds. */
static int fit_mean(const lmr_fit_series *s, const double *y, double noise, lmr_fit_curve *curve, normal *n)
{
    double log_m = log(fmax(fabs(curve->factor[0]), noise * 1e-3)), log_t = curve->log_t, damping = 1e-3;
    *n = linearise(s, y, noise, log_m, log_t);
    for (int i = 0; i < MOST_STEPS && damping < 1e12; i++) {
        const double a = n->a[0][0] * (1 + damping), b = n->a[0][1], d = n->a[1][1] * (1 + damping);
        const double det = a * d - b * b;
        if (!(det > 0)) return 0;
        const double step[2] = {(d * n->b[0] - b * n->b[1]) / det, (a * n->b[1] - b * n->b[0]) / det};
        const double to = fmin(fmax(log_t + fmin(fmax(step[1], -1), 1), s->low), s->high);
        const normal next = linearise(s, y, noise, log_m + step[0], to);
        if (!(next.cost <= n->cost)) {
            damping *= 10;
            continue;
        }
        const int is_last = fabs(step[0]) + fabs(to - log_t) < 1e-9;
        log_m += step[0];
        log_t = to;
        *n = next;
        damping /= 10;
        if (is_last) break;
    }
    curve->log_t = log_t;
    curve->factor[0] = exp(log_m);
    return 1;
}

/* The noise by which the residual has the variance of magnitudes in it, near that of the decay's own residual, and
 * the curve of that noise. */
static int fit_level(const lmr_fit_series *s, const double *y, double *noise, lmr_fit_curve *curve, normal *n)
{
    const double plain = sqrt(curve->squares / (s->times - 2));
    *noise = plain;
    for (int i = 0; i < MOST_LEVELS; i++) {
        const double before = *noise;
        if (!fit_mean(s, y, before, curve, n)) return 0;
        const double to = before * pow(n->over_variance / (s->times - 2), 0.25); /* half of the way */
        *noise = fmin(fmax(to, plain / LEVEL_FACTOR), plain * LEVEL_FACTOR);
        if (fabs(*noise / before - 1) < NEAR_LEVEL) return 1;
    }
    return 1;
}

int lmr_fit_rician(const lmr_fit_series *s, const double *y, double noise, lmr_fit_curve *curve, lmr_fit_voxel *out)
{
    normal n;
    if (!(noise > 0 ? fit_mean(s, y, noise, curve, &n) : fit_level(s, y, &noise, curve, &n))) return 0;
    const double log_t = curve->log_t;
    const double det = n.a[0][0] * n.a[1][1] - n.a[0][1] * n.a[0][1], edge = 1e-6;
    if (!(det > 0) || log_t < s->low + edge || log_t > s->high - edge) return 0;
    out->value[0] = exp(log_t);
    out->deviation[0] = exp(log_t) * sqrt(n.a[0][0] / det);
    out->value[1] = curve->factor[0];
    out->deviation[1] = curve->factor[0] * sqrt(n.a[1][1] / det);
    out->residual = sqrt(n.squares / s->times);
    return 1;
}
