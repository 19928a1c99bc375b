/* The prolate spheroidal wave function of order zero as a NUFFT window. Among functions on an interval it has the
 * largest share of its energy in a band (Slepian and Pollak, Bell Syst. Tech. J. 40, 43 (1961)); Legendre series:
 * Xiao, Rokhlin, Yarvin, Inverse Problems 17, 805 (2001). SPDX-License-Identifier: Apache-2.0 */
#include "nufft/window.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* ---- the function ---- */

/* Diagonal and subdiagonal of the operator d/dx (1 - x^2) d/dx - c^2 x^2, negated, in normalised P_0, P_2, P_4, ...
 */
static void prolate_matrix(int n, long double c, long double *diagonal, long double *beside)
{
    for (int j = 0; j < n; j++) {
        const long double k = 2 * j;
        diagonal[j] = k * (k + 1) + (2 * k * (k + 1) - 1) / ((2 * k + 3) * (2 * k - 1)) * c * c;
        beside[j] = (k + 2) * (k + 1) / ((2 * k + 3) * sqrtl((2 * k + 1) * (2 * k + 5))) * c * c;
    }
}

/* The eigenvector of the least eigenvalue by inverse iteration; the next one is about 5 times larger, or more. */
static void lowest_eigenvector(int n, const long double *diagonal, const long double *beside, long double *v)
{
    long double inverse[LMR_WINDOW_TERMS], lower[LMR_WINDOW_TERMS], norm = 0;
    inverse[0] = 1 / diagonal[0];
    for (int j = 1; j < n; j++) {
        lower[j] = beside[j - 1] * inverse[j - 1];
        inverse[j] = 1 / (diagonal[j] - beside[j - 1] * lower[j]);
    }
    for (int j = 0; j < n; j++) v[j] = j == 0;
    for (int pass = 0; pass < 36; pass++) {
        for (int j = 1; j < n; j++) v[j] -= lower[j] * v[j - 1];
        for (int j = 0; j < n; j++) v[j] *= inverse[j] * diagonal[0];
        for (int j = n - 2; j >= 0; j--) v[j] -= lower[j + 1] * v[j + 1];
    }
    for (int j = 0; j < n; j++) norm += v[j] * v[j];
    for (int j = 0; j < n; j++) v[j] /= sqrtl(norm);
}

/* The series at x: P_{k+1} = x P_k + k / (k + 1) (x P_k - P_{k-1}). */
static long double series(const lmr_window *window, long double x)
{
    long double before = 1, now = x, sum = window->legendre[0];
    for (int j = 1; j < window->terms; j++) {
        before = x * now + window->ratio[2 * j - 1] * (x * now - before);
        sum += window->legendre[j] * before;
        now = x * before + window->ratio[2 * j] * (x * before - now);
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

/* Everything that depends on the bandlimit. */
static void set_bandlimit(lmr_window *window, double bandlimit)
{
    long double diagonal[LMR_WINDOW_TERMS], beside[LMR_WINDOW_TERMS], *legendre = window->legendre;
    window->bandlimit = bandlimit, window->terms = LMR_WINDOW_TERMS, window->energy = 0;
    prolate_matrix(LMR_WINDOW_TERMS, bandlimit, diagonal, beside);
    lowest_eigenvector(LMR_WINDOW_TERMS, diagonal, beside, legendre);
    for (int j = 0; j < LMR_WINDOW_TERMS; j++) legendre[j] *= sqrtl(2 * j + 0.5L);
    while (window->terms > 2 && fabsl(legendre[window->terms - 1]) < 1e-20L * fabsl(legendre[0])) window->terms--;
    const long double centre = series(window, 0);
    for (int j = 0; j < window->terms; j++) legendre[j] /= centre;
    for (int i = 0; i < window->nodes; i++) {
        const double value = (double)series(window, window->node[i]);
        window->energy += window->width * window->weight[i] * value * value;
        window->weighted[i] = window->weight[i] * value;
    }
}

void lmr_window_make(int width, double bandlimit, lmr_window *window)
{
    *window = (lmr_window){.width = width, .nodes = 18 + 5 * width / 2};
    for (int k = 0; k < 2 * LMR_WINDOW_TERMS; k++) window->ratio[k] = (long double)k / (k + 1);
    gauss_legendre(window->nodes, window->node, window->weight);
    set_bandlimit(window, bandlimit);
}

long double lmr_window_value(const lmr_window *window, long double u)
{
    const long double x = u * 2 / window->width;
    return fabsl(x) <= 1 ? series(window, x) : 0;
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

enum { NEAR = 2, SAMPLES = 24 }; /* aliases summed one by one; modes looked at where there are many */

/* Sum over 0 < |m| <= NEAR of the squared transform at m + xi, from cos and sin of the integer part and of xi. */
static double near_aliases(const lmr_window *window, double (*cosine)[LMR_WINDOW_NODES],
                           double (*sine)[LMR_WINDOW_NODES], double xi)
{
    double even[NEAR] = {0}, odd[NEAR] = {0}, sum = 0;
    for (int i = 0; i < window->nodes; i++) {
        const double angle = pi * window->width * xi * window->node[i], c = cos(angle), s = sin(angle);
        for (int m = 0; m < NEAR; m++) even[m] += cosine[m][i] * c, odd[m] += sine[m][i] * s;
    }
    for (int m = 0; m < NEAR; m++) sum += even[m] * even[m] + odd[m] * odd[m];
    return 2 * window->width * window->width * sum;
}

lmr_window_error lmr_window_predict(const lmr_window *window, int64_t modes, int64_t cells)
{
    double cosine[NEAR][LMR_WINDOW_NODES], sine[NEAR][LMR_WINDOW_NODES];
    for (int m = 0; m < NEAR; m++)
        for (int i = 0; i < window->nodes; i++) {
            const double angle = pi * window->width * (m + 1) * window->node[i];
            cosine[m][i] = window->weighted[i] * cos(angle), sine[m][i] = window->weighted[i] * sin(angle);
        }
    /* past the near aliases the transform is that of the jump at the window's edges, sin(pi w xi) / (pi xi) */
    const double edge = (double)series(window, 1) / pi, far = edge * edge / (NEAR + 0.5);
    const int few = modes <= 2 * SAMPLES + 1, samples = few ? (int)(modes / 2) : SAMPLES;
    lmr_window_error e = {0};
    for (int s = 0; s <= samples; s++) {
        const double mode = few ? s : 0.5 * (double)modes * s / samples, xi = mode / (double)cells;
        const int alone = s == 0 || (s == samples && !(few && modes % 2)); /* others stand for -mode and mode */
        const double share = (alone ? 1.0 : 2.0) / (few ? (double)modes : 2.0 * samples);
        const double wanted = lmr_window_transform(window, xi), relative = 1 / (wanted * wanted);
        const double leaked = relative * (far + near_aliases(window, cosine, sine, xi));
        e.alias2 += share * leaked, e.alias4 += share * leaked * leaked;
        e.gain2 += share * window->energy * relative;
        e.edge2 = leaked;
    }
    return e;
}

void lmr_window_tune(int width, int64_t modes, int64_t cells, lmr_window *window)
{
    /* the band that just keeps the aliases out of the modes, then downhill from the usual place of the optimum */
    const double band = pi * width * (1 - 0.5 * (double)modes / (double)cells), step = 0.02 / width;
    double ratio = 1 - 0.18 / (width * width);
    lmr_window_make(width, ratio * band, window);
    const double start = lmr_window_predict(window, modes, cells).alias2;
    double least = start;
    for (int side = 0; side < 2 && least >= start; side++) {
        lmr_window trial = *window;
        for (;;) {
            ratio += side ? -step : step;
            set_bandlimit(&trial, ratio * band);
            const double now = lmr_window_predict(&trial, modes, cells).alias2;
            if (!(now < least)) break;
            least = now, *window = trial;
        }
        ratio = window->bandlimit / band;
    }
}

/* ---- the polynomials ---- */

/* Chebyshev coefficients of piece l from its values at the Chebyshev points. */
static void chebyshev_piece(const lmr_window *window, int l, long double *chebyshev)
{
    enum { N = LMR_WINDOW_DEGREE + 1 };
    long double cosine[4 * N], value[N];
    for (int i = 0; i < 4 * N; i++) cosine[i] = cosl(3.14159265358979323846L * i / (2 * N));
    for (int i = 0; i < N; i++)
        value[i] = lmr_window_value(window, l + 0.5L * (1 + cosine[2 * i + 1]) - 0.5L * window->width);
    for (int k = 0; k < N; k++) {
        long double sum = 0;
        for (int i = 0; i < N; i++) sum += value[i] * cosine[k * (2 * i + 1) % (4 * N)];
        chebyshev[k] = (k ? 2 : 1) * sum / N;
    }
}

/* Powers of t from Chebyshev polynomials up to degree, by T_{k+1} = 2 t T_k - T_{k-1}. */
static void powers_from_chebyshev(int degree, const long double *chebyshev, long double *power)
{
    long double before[LMR_WINDOW_DEGREE + 2] = {1}, now[LMR_WINDOW_DEGREE + 2] = {0, 1};
    for (int i = 0; i <= degree; i++) power[i] = i == 0 ? chebyshev[0] : 0;
    for (int k = 1; k <= degree; k++) {
        for (int i = 0; i <= k; i++) power[i] += chebyshev[k] * now[i];
        for (int i = k + 1; i >= 0; i--) {
            const long double next = (i ? 2 * now[i - 1] : 0) - before[i];
            before[i] = now[i], now[i] = next;
        }
    }
}

int lmr_window_fit(const lmr_window *window, double error, double *coefficients)
{
    long double chebyshev[LMR_WINDOW_MAX][LMR_WINDOW_DEGREE + 1], power[LMR_WINDOW_DEGREE + 1];
    int degree = 1;
    for (int l = 0; l < window->width; l++) {
        chebyshev_piece(window, l, chebyshev[l]);
        long double dropped = 0;
        int needed = LMR_WINDOW_DEGREE;
        while (needed > 1 && dropped + fabsl(chebyshev[l][needed]) <= error) dropped += fabsl(chebyshev[l][needed--]);
        if (needed > degree) degree = needed;
    }
    for (int l = 0; l < window->width; l++) {
        powers_from_chebyshev(degree, chebyshev[l], power);
        for (int k = 0; k <= degree; k++) coefficients[l * (degree + 1) + k] = (double)power[k];
    }
    return degree;
}

int lmr_window_fit_log_transform(const lmr_window *window, double xi_max, int terms, double *coefficients)
{
    double largest = 0;
    for (int k = 0; k < terms; k++) coefficients[k] = 0;
    for (int i = 0; i < terms; i++) {
        const double angle = pi * (i + 0.5) / terms, xi = xi_max * cos(0.5 * angle);
        const double value = log(lmr_window_transform(window, xi));
        for (int k = 0; k < terms; k++) coefficients[k] += (k ? 2 : 1) * value * cos(k * angle) / terms;
    }
    for (int k = 0; k < terms; k++) largest = fmax(largest, fabs(coefficients[k]));
    while (terms > 1 && fabs(coefficients[terms - 1]) < 0x1p-53 * largest) terms--;
    return terms;
}
