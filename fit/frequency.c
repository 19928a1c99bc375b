/* The frequency of a voxel's complex gradient echoes: the largest |sum e_j y_j exp(-2 pi i f t_j)|^2 of a decay e, on
 * a grid and then by Gauss-Newton. Of one decaying exponential decay and frequency do not disturb each other: the
 * Fisher matrix has no term of both (Yao and Pandit, IEEE Trans. Signal Process. 43, 878 (1995)).
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <math.h>

#include "fit/fit.h"

#define STEPS_PER_LOBE 8. /* of the grid, in 1 / (last time - first time) */
#define LEAST_TURN 1e-9   /* radians from the first echo to the last: what a step changes, at its end */
enum { MOST_ROUNDS = 8, MOST_STEPS = 30 };
#define LEAST_CHANGE 1e-7 /* of log T */

typedef double complex cplx;

/* ---- the grid ---- */

/* The smallest distance of times, and whether all others are it: frequencies repeat after its inverse. */
static double smallest_distance(const lmr_fit_series *s, int *is_even)
{
    double least = INFINITY, most = 0;
    for (int j = 1; j < s->times; j++) {
        const double step = s->t[j] - s->t[j - 1];
        if (!(step > 0)) continue;
        least = fmin(least, step);
        most = fmax(most, step);
    }
    *is_even = most - least <= 1e-6 * most;
    return least;
}

static double power_of(int times, const cplx *z)
{
    cplx sum = 0;
    for (int j = 0; j < times; j++) sum += z[j];
    return creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
}

/* In radians per ms. */
static double search(const lmr_fit_series *s, const cplx *y, const double *e)
{
    int is_even;
    const double distance = smallest_distance(s, &is_even), span = s->t[s->times - 1] - s->t[0];
    const double most = (is_even ? M_PI : 2 * M_PI) / distance;
    const double step = 2 * M_PI / (STEPS_PER_LOBE * span);
    const int count = (int)ceil(2 * most / step);
    cplx z[LMR_FIT_TIMES], turn[LMR_FIT_TIMES];
    double best = 0, largest = -1;
    for (int j = 0; j < s->times; j++) {
        z[j] = e[j] * y[j] * cexp(I * most * s->t[j]);
        turn[j] = cexp(-I * step * s->t[j]);
    }
    for (int i = 0; i <= count; i++) {
        const double power = power_of(s->times, z);
        if (power > largest) {
            largest = power;
            best = i * step - most;
        }
        for (int j = 0; j < s->times; j++) z[j] *= turn[j];
    }
    return best;
}

/* ---- the maximum ---- */

/* The step from omega: the factor of the decay and its turn are fitted to what is turned back. */
static double find_step(const lmr_fit_series *s, const cplx *y, const double *e, double omega)
{
    cplx factor = 0;
    double norm = 0, mean = 0, along = 0, curvature = 0;
    for (int j = 0; j < s->times; j++) {
        factor += e[j] * y[j] * cexp(-I * omega * s->t[j]);
        norm += e[j] * e[j];
        mean += e[j] * e[j] * s->t[j];
    }
    if (!(norm > 0) || factor == 0) return 0;
    factor /= norm;
    mean /= norm;
    for (int j = 0; j < s->times; j++) {
        const double t = s->t[j] - mean;
        along += e[j] * t * cimag(y[j] * cexp(-I * omega * s->t[j]) / factor);
        curvature += e[j] * e[j] * t * t;
    }
    return curvature > 0 ? along / curvature : 0;
}

static double refine(const lmr_fit_series *s, const cplx *y, const double *e, double omega)
{
    const double span = s->t[s->times - 1] - s->t[0], most = 2 * M_PI / (STEPS_PER_LOBE * span);
    for (int i = 0; i < MOST_STEPS; i++) {
        const double step = fmin(fmax(find_step(s, y, e, omega), -most), most);
        omega += step;
        if (fabs(step) * span < LEAST_TURN) break;
    }
    return omega;
}

/* ---- decay and frequency ---- */

static void turn_back(const lmr_fit_series *s, const cplx *y, double omega, double *turned)
{
    for (int j = 0; j < s->times; j++) {
        const cplx z = y[j] * cexp(-I * omega * s->t[j]);
        turned[j] = creal(z);
        turned[s->times + j] = cimag(z);
    }
}

int lmr_fit_turning(const lmr_fit_series *s, double *y, double noise, lmr_fit_curve *curve)
{
    cplx z[LMR_FIT_TIMES];
    double e[LMR_FIT_TIMES], omega, before = INFINITY;
    int has_minimum = 0;
    for (int j = 0; j < s->times; j++) {
        z[j] = y[j] + I * y[s->times + j];
        e[j] = cabs(z[j]);
    }
    omega = search(s, z, e);
    for (int i = 0; i < MOST_ROUNDS; i++) {
        omega = refine(s, z, e, omega);
        turn_back(s, z, omega, y);
        has_minimum = lmr_fit_exponential(s, y, noise, curve);
        if (fabs(curve->log_t - before) < LEAST_CHANGE) break;
        before = curve->log_t;
        for (int j = 0; j < s->times; j++) e[j] = exp(-s->t[j] * exp(-curve->log_t));
    }
    return has_minimum;
}
