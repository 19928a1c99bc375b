/* The prolate spheroidal wave function of order zero as a NUFFT window. Among functions on an interval it has the
 * largest share of its energy in a band (Slepian and Pollak, Bell Syst. Tech. J. 40, 43 (1961)); Legendre series:
 * Xiao, Rokhlin, Yarvin, Inverse Problems 17, 805 (2001). SPDX-License-Identifier: Apache-2.0 */
#include "nufft/window.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* ---- the function ---- */

/* Diagonal and subdiagonal of the operator d/dx (1 - x^2) d/dx - c^2 x^2, negated, in normalised P_0, P_2, P_4, ... */
static void prolate_matrix(int n, long double c, long double *diagonal, long double *beside)
{
    for (int j = 0; j < n; j++) {
        const long double k = 2 * j;
        diagonal[j] = k * (k + 1) + (2 * k * (k + 1) - 1) / ((2 * k + 3) * (2 * k - 1)) * c * c;
        beside[j] = (k + 2) * (k + 1) / ((2 * k + 3) * sqrtl((2 * k + 1) * (2 * k + 5))) * c * c;
    }
}

/* The eigenvector of the least eigenvalue by inverse iteration; the next one is at least 5 times larger. */
static void lowest_eigenvector(int n, const long double *diagonal, const long double *beside, long double *v)
{
    long double pivot[LMR_WINDOW_TERMS];
    pivot[0] = diagonal[0];
    for (int j = 1; j < n; j++) pivot[j] = diagonal[j] - beside[j - 1] * beside[j - 1] / pivot[j - 1];
    for (int j = 0; j < n; j++) v[j] = j == 0;
    for (int pass = 0; pass < 40; pass++) {
        for (int j = 1; j < n; j++) v[j] -= beside[j - 1] / pivot[j - 1] * v[j - 1];
        v[n - 1] /= pivot[n - 1];
        for (int j = n - 2; j >= 0; j--) v[j] = (v[j] - beside[j] * v[j + 1]) / pivot[j];
        long double norm = 0;
        for (int j = 0; j < n; j++) norm += v[j] * v[j];
        for (int j = 0; j < n; j++) v[j] /= sqrtl(norm);
    }
}

/* The series at x by the three-term recurrence. */
static long double series(const lmr_window *window, long double x)
{
    long double before = 1, now = x, sum = window->legendre[0];
    for (int j = 1; j < window->terms; j++) {
        const long double k = 2 * j - 1;
        before = ((2 * k + 1) * x * now - k * before) / (k + 1);
        sum += window->legendre[j] * before;
        now = ((2 * k + 3) * x * before - (k + 1) * now) / (k + 2);
    }
    return sum;
}

/* Positive nodes and weights of the Gauss-Legendre rule with 2 n points, by Newton's method. */
static void gauss_legendre(int n, double *node, double *weight)
{
    for (int i = 0; i < n; i++) {
        double x = cos(pi * (i + 0.75) / (2 * n + 0.5)), slope = 1;
        for (int pass = 0; pass < 6; pass++) {
            double before = 1, now = x;
            for (int k = 1; k < 2 * n; k++) {
                const double next = ((2 * k + 1) * x * now - k * before) / (k + 1);
                before = now, now = next;
            }
            slope = 2 * n * (x * now - before) / (x * x - 1);
            x -= now / slope;
        }
        node[i] = x, weight[i] = 2 / ((1 - x * x) * slope * slope);
    }
}

void lmr_window_make(int width, double bandlimit, lmr_window *window)
{
    long double diagonal[LMR_WINDOW_TERMS], beside[LMR_WINDOW_TERMS], *series_of = window->legendre;
    *window = (lmr_window){.width = width, .bandlimit = bandlimit, .terms = LMR_WINDOW_TERMS};
    prolate_matrix(LMR_WINDOW_TERMS, bandlimit, diagonal, beside);
    lowest_eigenvector(LMR_WINDOW_TERMS, diagonal, beside, series_of);
    for (int j = 0; j < LMR_WINDOW_TERMS; j++) series_of[j] *= sqrtl(2 * j + 0.5L);
    while (window->terms > 2 && fabsl(series_of[window->terms - 1]) < 1e-20L * fabsl(series_of[0])) window->terms--;
    const long double centre = series(window, 0);
    for (int j = 0; j < window->terms; j++) series_of[j] /= centre;

    window->nodes = 18 + (5 * width) / 2;
    gauss_legendre(window->nodes, window->node, window->weighted);
    for (int i = 0; i < window->nodes; i++) {
        const double value = (double)series(window, window->node[i]);
        window->energy += width * window->weighted[i] * value * value;
        window->weighted[i] *= value;
    }
}

double lmr_window_value(const lmr_window *window, double u)
{
    const long double x = (long double)u * 2 / window->width;
    return fabsl(x) <= 1 ? (double)series(window, x) : 0;
}

double lmr_window_transform(const lmr_window *window, double xi)
{
    /* inside the band the function is its own transform, up to scale; outside the integral is done by quadrature */
    const double frequency = pi * window->width * fabs(xi);
    if (frequency <= window->bandlimit)
        return (double)(window->legendre[0] * window->width * series(window, frequency / window->bandlimit));
    double sum = 0;
    for (int i = 0; i < window->nodes; i++) sum += window->weighted[i] * cos(frequency * window->node[i]);
    return window->width * sum;
}

/* ---- the error ---- */

lmr_window_error lmr_window_predict(const lmr_window *window, int64_t modes, int64_t cells)
{
    enum { NEAR = 2, SAMPLES = 32 };
    /* past the near aliases the transform is that of the jump at the window's edge, sin(pi w xi) / (pi xi) each side */
    const double edge = (double)series(window, 1) / pi, far = edge * edge / (NEAR + 0.5);
    const int samples = modes >= 2 * SAMPLES ? SAMPLES : modes > 1 ? (int)(modes / 2) : 1;
    double alias = 0, gain = 0;
    for (int s = 0; s <= samples; s++) {
        const double xi = 0.5 * (double)modes / (double)cells * s / samples;
        const double share = (s == 0 || s == samples ? 0.5 : 1.0) / samples;
        const double wanted = lmr_window_transform(window, xi);
        double leaked = far;
        for (int m = 1; m <= NEAR; m++)
            leaked += pow(lmr_window_transform(window, m - xi), 2) + pow(lmr_window_transform(window, m + xi), 2);
        alias += share * leaked / (wanted * wanted);
        gain += share * window->energy / (wanted * wanted);
    }
    return (lmr_window_error){sqrt(alias), sqrt(gain)};
}

void lmr_window_tune(int width, int64_t modes, int64_t cells, lmr_window *window)
{
    /* the band that just keeps the aliases out of the modes, then downhill from the usual place of the optimum */
    const double band = pi * width * (1 - 0.5 * (double)modes / (double)cells), step = 0.02 / width;
    double ratio = 1 - 0.18 / (width * width), error[2];
    lmr_window trial;
    lmr_window_make(width, ratio * band, window);
    const double start = lmr_window_predict(window, modes, cells).alias;
    for (int side = 0; side < 2; side++) {
        const double direction = side ? -step : step;
        error[side] = start;
        for (;;) {
            lmr_window_make(width, (ratio + direction) * band, &trial);
            const double now = lmr_window_predict(&trial, modes, cells).alias;
            if (!(now < error[side])) break;
            error[side] = now, ratio += direction, *window = trial;
        }
        if (error[0] < start) return;
    }
}

/* ---- the polynomials ---- */

/* Chebyshev coefficients of piece l from its values at the Chebyshev points. */
static void chebyshev_piece(const lmr_window *window, int l, double *chebyshev)
{
    enum { N = LMR_WINDOW_DEGREE + 1 };
    double value[N];
    for (int i = 0; i < N; i++)
        value[i] = lmr_window_value(window, l + 0.5 * (1 + cos(pi * (i + 0.5) / N)) - 0.5 * window->width);
    for (int k = 0; k < N; k++) {
        double sum = 0;
        for (int i = 0; i < N; i++) sum += value[i] * cos(pi * k * (i + 0.5) / N);
        chebyshev[k] = (k ? 2 : 1) * sum / N;
    }
}

/* Powers of t from Chebyshev polynomials up to degree, by T_{k+1} = 2 t T_k - T_{k-1}. */
static void powers_from_chebyshev(int degree, const double *chebyshev, double *power)
{
    double before[LMR_WINDOW_DEGREE + 2] = {1}, now[LMR_WINDOW_DEGREE + 2] = {0, 1};
    for (int i = 0; i <= degree; i++) power[i] = i == 0 ? chebyshev[0] : 0;
    for (int k = 1; k <= degree; k++) {
        for (int i = 0; i <= k; i++) power[i] += chebyshev[k] * now[i];
        for (int i = k + 1; i >= 0; i--) {
            const double next = (i ? 2 * now[i - 1] : 0) - before[i];
            before[i] = now[i], now[i] = next;
        }
    }
}

int lmr_window_fit(const lmr_window *window, double error, double *coefficients)
{
    double chebyshev[LMR_WINDOW_MAX][LMR_WINDOW_DEGREE + 1];
    int degree = 1;
    for (int l = 0; l < window->width; l++) {
        chebyshev_piece(window, l, chebyshev[l]);
        double dropped = 0;
        int needed = LMR_WINDOW_DEGREE;
        while (needed > 1 && dropped + fabs(chebyshev[l][needed]) <= error) dropped += fabs(chebyshev[l][needed--]);
        if (needed > degree) degree = needed;
    }
    for (int l = 0; l < window->width; l++)
        powers_from_chebyshev(degree, chebyshev[l], coefficients + l * (degree + 1));
    return degree;
}
