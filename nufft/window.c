/* The prolate spheroidal wave function of order zero as a NUFFT window. Among functions on an interval it has the
 * largest share of its energy in a band (Slepian and Pollak, Bell Syst. Tech. J. 40, 43 (1961)); Legendre series:
 * Xiao, Rokhlin, Yarvin, Inverse Problems 17, 805 (2001). SPDX-License-Identifier: Apache-2.0 */
#include "nufft/window.h"

#include "core/core.h"

static const double pi = 3.14159265358979323846;
static const long double pi_l = 3.14159265358979323846264338327950288L;

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

/* The eigenvector of the least eigenvalue by inverse iteration. That eigenvalue is c - 3/4 - 3 / (16 c) - ... for
 * large c, and the next one is about 4 c larger: a shift just below the former leaves few passes to do. */
static void lowest_eigenvector(int n, long double c, const long double *diagonal, const long double *beside,
                               long double *v)
{
    const int asymptotic = c > 3;
    const long double shift = asymptotic ? c - 0.75L - 0.5L / c : 0;
    long double inverse[LMR_WINDOW_TERMS], lower[LMR_WINDOW_TERMS], norm = 0;
    inverse[0] = 1 / (diagonal[0] - shift);
    for (int j = 1; j < n; j++) {
        lower[j] = beside[j - 1] * inverse[j - 1];
        inverse[j] = 1 / (diagonal[j] - shift - beside[j - 1] * lower[j]);
    }
    for (int j = 0; j < n; j++) v[j] = j == 0;
    for (int pass = asymptotic ? 9 : 36; pass > 0; pass--) {
        for (int j = 1; j < n; j++) v[j] -= lower[j] * v[j - 1];
        for (int j = 0; j < n; j++) v[j] *= inverse[j] * diagonal[0];
        for (int j = n - 2; j >= 0; j--) v[j] -= lower[j + 1] * v[j + 1];
    }
    for (int j = 0; j < n; j++) norm += v[j] * v[j];
    norm = 1 / sqrtl(norm);
    for (int j = 0; j < n; j++) v[j] *= norm;
}

/* The series at x: P_{k+1} = (x + r x) P_k - r P_{k-1}, r = k / (k + 1). */
static long double series(const lmr_window *window, long double x)
{
    const long double *r = window->ratio;
    long double before = 1, now = x, sum = window->legendre[0];
    for (int j = 1; j < window->terms; j++) {
        before = (x + r[2 * j - 1] * x) * now - r[2 * j - 1] * before;
        sum += window->legendre[j] * before;
        now = (x + r[2 * j] * x) * before - r[2 * j] * now;
    }
    return sum;
}

/* Terms that matter: those of an order below c, and some on the way down. */
static int most_terms(double c)
{
    const int terms = 14 + (int)(0.6 * c);
    return (int)lmr_clamp(terms, 2, LMR_WINDOW_TERMS);
}

void lmr_window_make(int width, double bandlimit, lmr_window *window)
{
    long double diagonal[LMR_WINDOW_TERMS], beside[LMR_WINDOW_TERMS], centre, *legendre = window->legendre;
    *window = (lmr_window){.width = width, .bandlimit = bandlimit, .terms = most_terms(bandlimit)};
    for (int k = 0; k < 2 * window->terms; k++) window->ratio[k] = (long double)k / (k + 1);
    prolate_matrix(window->terms, bandlimit, diagonal, beside);
    lowest_eigenvector(window->terms, bandlimit, diagonal, beside, legendre);
    for (int j = 0; j < window->terms; j++) legendre[j] *= sqrtl(2 * j + 0.5L);
    while (window->terms > 2 && fabsl(legendre[window->terms - 1]) < 1e-20L * fabsl(legendre[0])) window->terms--;
    centre = series(window, 0);
    /* the normalised coefficients had squares that add up to 1 */
    window->energy = 0.5 * width / (double)(centre * centre);
    for (int j = 0; j < window->terms; j++) legendre[j] /= centre;
}

long double lmr_window_value(const lmr_window *window, long double u)
{
    const long double x = u * 2 / window->width;
    return fabsl(x) <= 1 ? series(window, x) : 0;
}

/* The transform outside the band, where the integral of P_n(x) exp(i f x) is 2 i^n j_n(f). The spherical Bessel
 * functions grow in error by the recurrence j_{n+1} = (2 n + 1) / f j_n - j_{n-1} once n passes f, but no faster than
 * the coefficients fall. */
static double outside(const lmr_window *window, double f)
{
    double before = sin(f) / f, now = (before - cos(f)) / f, sum = (double)window->legendre[0] * before;
    for (int j = 1; j < window->terms; j++) {
        before = (4 * j - 1) / f * now - before;
        sum += (j % 2 ? -1 : 1) * (double)window->legendre[j] * before;
        now = (4 * j + 1) / f * before - now;
    }
    return window->width * sum;
}

/* Inside the band the function is its own transform, up to scale. */
static long double inside(const lmr_window *window, long double f)
{
    return window->legendre[0] * window->width * series(window, f / window->bandlimit);
}

double lmr_window_transform(const lmr_window *window, double xi)
{
    const long double f = pi_l * window->width * fabsl((long double)xi);
    return f > window->bandlimit ? outside(window, (double)f) : (double)inside(window, f);
}

/* ---- the error ---- */

/* Aliases summed one by one; modes looked at, at most: all, or those at the edge and others for the rest; windows for
 * fewer modes are searched for. */
enum { NEAR = 2, EDGE = 8, ANGLES = 24, SAMPLES = EDGE + ANGLES, ALIASES = 2 * NEAR * SAMPLES, SEARCHED = 50 };

/* What the error of windows of one width on one grid is computed from; alias 4 s + 2 m - 2 and the one after it are
 * xi + m and xi - m of sample s. */
typedef struct sampling {
    int width, samples;
    int64_t
        period; /* of the aliases at whole numbers of cycles: modes over what they have in common with the cells */
    double f[SAMPLES], share[SAMPLES]; /* pi width xi; share of the mean over the modes */
    double bessel[LMR_WINDOW_TERMS][ALIASES];
} sampling;

/* Each mode and its mirror image, but for 0 and the most negative one of an even number. Of many modes those at
 * the edge, where the error grows and oscillates, and a continuum of the others by the trapezoidal rule in the
 * angle whose sine is their share of the highest of them: its samples are the closer the nearer they are to the
 * edge. */
static void sample_modes(int64_t modes, int64_t cells, sampling *s)
{
    const int64_t highest = modes / 2;
    const int few = highest < SAMPLES;
    const double whole = (double)modes, inner = (double)(highest - EDGE) + 0.5, step = 0.5 * pi / ANGLES;
    s->samples = few ? (int)highest + 1 : SAMPLES;
    for (int i = 0; i < s->samples; i++) {
        const int angle = !few && i < ANGLES, alone = i == 0 || (i == s->samples - 1 && modes % 2 == 0);
        const double mode = angle ? inner * sin(i * step) : (double)(highest + 1 - s->samples + i);
        s->f[i] = pi * s->width * mode / (double)cells;
        s->share[i] = (alone ? 1 : 2) / whole * (angle ? inner * step * cos(i * step) : 1);
    }
}

/* The spherical Bessel functions of even order at all aliases; pi width is what one cycle per cell adds to f. */
static void sample_aliases(int terms, sampling *s)
{
    double f[ALIASES], before[ALIASES], now[ALIASES];
    const int aliases = 2 * NEAR * s->samples;
    for (int i = 0; i < s->samples; i++) {
        const double sine = sin(s->f[i]), cosine = cos(s->f[i]);
        for (int m = 1; m <= NEAR; m++)
            for (int side = 0; side < 2; side++) {
                const int a = (2 * i + side) * NEAR + m - 1;
                const int flip = s->width * m % 2 ? -1 : 1;
                f[a] = pi * s->width * m + (side ? -1 : 1) * s->f[i];
                before[a] = flip * (side ? -1 : 1) * sine / f[a];
                now[a] = (before[a] - flip * cosine) / f[a];
                f[a] = 1 / f[a];
                s->bessel[0][a] = before[a];
            }
    }
    for (int j = 1; j < terms; j++)
        for (int a = 0; a < aliases; a++) {
            before[a] = (4 * j - 1) * f[a] * now[a] - before[a];
            now[a] = (4 * j + 1) * f[a] * before[a] - now[a];
            s->bessel[j][a] = before[a];
        }
}

static void sample(int width, int terms, int64_t modes, int64_t cells, sampling *s)
{
    int64_t common = modes;
    for (int64_t rest = cells; rest;) {
        const int64_t next = common % rest;
        common = rest;
        rest = next;
    }
    s->width = width;
    s->period = modes / common;
    sample_modes(modes, cells, s);
    sample_aliases(terms, s);
}

/* The transform at the aliases of all samples. */
static void near_aliases(const lmr_window *window, const sampling *s, double transform[ALIASES])
{
    for (int a = 0; a < 2 * NEAR * s->samples; a++) transform[a] = 0;
    for (int j = 0; j < window->terms; j++) {
        const double c = (j % 2 ? -1 : 1) * (double)window->legendre[j] * window->width;
        for (int a = 0; a < 2 * NEAR * s->samples; a++) transform[a] += c * s->bessel[j][a];
    }
}

/* The sum of the squares of a sample's aliases; and that where aliases m and m' that differ by a multiple of the
 * period are one frequency, as they are at points of a lattice, and add up before they are squared: *own of them are
 * the mode itself. */
static double sum_aliases(const double *transform, int64_t period, double *lattice, double *own)
{
    double each = 0;
    *lattice = *own = 0;
    for (int a = 0; a < 2 * NEAR; a++) {
        const int64_t m = a % 2 ? -(a / 2 + 1) : a / 2 + 1;
        each += transform[a] * transform[a];
        if (m % period == 0) *own += transform[a];
        for (int b = 0; b < 2 * NEAR; b++) {
            const int64_t other = b % 2 ? -(b / 2 + 1) : b / 2 + 1;
            if ((m - other) % period == 0) *lattice += transform[a] * transform[b];
        }
    }
    return each;
}

/* The transform at the modes, as lmr_window_transform, but not to its last digits. */
static void wanted_modes(const lmr_window *window, const sampling *s, double *transform)
{
    double x[SAMPLES], before[SAMPLES], now[SAMPLES];
    for (int i = 0; i < s->samples; i++) {
        x[i] = now[i] = s->f[i] / window->bandlimit;
        before[i] = 1;
        transform[i] = (double)window->legendre[0];
    }
    for (int j = 1; j < window->terms; j++) {
        const double c = (double)window->legendre[j], odd = (double)window->ratio[2 * j - 1],
                     even = (double)window->ratio[2 * j];
        for (int i = 0; i < s->samples; i++) {
            before[i] = x[i] * now[i] + odd * (x[i] * now[i] - before[i]);
            transform[i] += c * before[i];
            now[i] = x[i] * before[i] + even * (x[i] * before[i] - now[i]);
        }
    }
    const double scale = (double)window->legendre[0] * window->width;
    for (int i = 0; i < s->samples; i++) transform[i] *= scale;
}

static lmr_window_error predict(const lmr_window *window, const sampling *s)
{
    double near[ALIASES], wanted[SAMPLES];
    near_aliases(window, s, near);
    wanted_modes(window, s, wanted);
    /* past the near aliases the transform is that of the jump at the window's edges, sin(pi w xi) / (pi xi) */
    const double jump = (double)series(window, 1), edge = jump / pi, far = edge * edge / (NEAR + 0.5);
    lmr_window_error e = {0};
    for (int i = 0; i < s->samples; i++) {
        double lattice, own;
        const double sum = sum_aliases(near + 2 * NEAR * i, s->period, &lattice, &own);
        const double relative = 1 / (wanted[i] * wanted[i]), leaked = relative * (far + sum);
        e.alias2 += s->share[i] * leaked;
        e.alias4 += s->share[i] * leaked * leaked;
        e.gain2 += s->share[i] * window->energy * relative;
        /* a point of a lattice may lie just where the window begins: only one of its two jumps is in the sum then */
        const double begun = jump * jump * sin(s->f[i]) * sin(s->f[i]) / (double)s->period;
        e.lattice2 += s->share[i] * relative * (far + lattice + begun);
        e.own += s->share[i] * own / wanted[i];
        e.edge2 = leaked;
        e.edge_gain2 = window->energy * relative;
    }
    return e;
}

lmr_window_error lmr_window_predict(const lmr_window *window, int64_t modes, int64_t cells)
{
    sampling s;
    sample(window->width, window->terms, modes, cells, &s);
    return predict(window, &s);
}

/* How far below the band the optimum lies, times the width, for modes that fill `share` of what the grid can hold;
 * few modes leave gaps in which the error may be large. Fitted to a search: what the fit misses costs 3 percent of
 * the error at most for widths up to 11, and up to 17 percent for the widest on the smallest grids. */
static double usual_gap(int64_t modes, int width, double share)
{
    const double many = 0.52 / width * pow(share, 1.4), few = (0.178 - 0.007 * width) * pow(share, 1.2);
    return many + fmin(1, 80 / (double)modes) * (few - many);
}

void lmr_window_tune(int width, int64_t modes, int64_t cells, lmr_window *window)
{
    /* the band that just keeps the aliases out of the modes */
    const int few = modes < SEARCHED;
    const double highest = few ? (double)(modes / 2) : 0.5 * (double)modes;
    const double share = 2 * highest / (double)cells;
    const double band = pi * width * (1 - 0.5 * share);
    const double step = 0.02 / width;
    double ratio = 1 - usual_gap(modes, width, share) / width;
    lmr_window_make(width, ratio * band, window);
    if (!few) return;
    sampling s;
    sample(width, LMR_WINDOW_TERMS, modes, cells, &s);
    const double start = predict(window, &s).alias2;
    double least = start;
    for (int side = 0; side < 2 && least >= start; side++) {
        for (;;) {
            lmr_window trial;
            ratio += side ? -step : step;
            lmr_window_make(width, ratio * band, &trial);
            const double now = predict(&trial, &s).alias2;
            if (!(now < least)) break;
            least = now;
            *window = trial;
        }
        ratio = window->bandlimit / band;
    }
}

/* ---- the polynomials ---- */

enum {
    FEW_POINTS = 12,
    INVERSE_POINTS = 14,
    POINTS = 20,
    MOST_POINTS = LMR_WINDOW_LOG_TERMS
}; /* of interpolation; the first for large errors */
_Static_assert((int)POINTS <= (int)LMR_WINDOW_DEGREE + 1, "as many powers as points");

/* Points of interpolation, at t_i = cos(pi (i + 1/2) / n), and cos(pi i / (2 n)) for the series through them. */
typedef struct chebyshev_rule {
    int n;
    long double cosine[4 * MOST_POINTS];
} chebyshev_rule;

static void make_rule(int n, chebyshev_rule *rule)
{
    rule->n = n;
    for (int i = 0; i <= n; i++) {
        const long double c = i < n ? cosl(pi_l * i / (2 * n)) : 0;
        rule->cosine[i] = c;
        rule->cosine[2 * n - i] = -c;
        rule->cosine[2 * n + i] = -c;
        if (i) rule->cosine[4 * n - i] = c;
    }
}

/* Chebyshev coefficients of the polynomial with these values. */
static void interpolate(const chebyshev_rule *rule, const long double *value, long double *chebyshev)
{
    const int n = rule->n;
    for (int k = 0; k < n; k++) {
        long double sum = 0;
        for (int i = 0, angle = k; i < n; i++, angle = (angle + 2 * k) % (4 * n))
            sum += value[i] * rule->cosine[angle];
        chebyshev[k] = (k ? 2 : 1) * sum / n;
    }
}

static void chebyshev_piece(const lmr_window *window, const chebyshev_rule *rule, int l, long double *chebyshev)
{
    long double value[POINTS];
    for (int i = 0; i < rule->n; i++)
        value[i] = lmr_window_value(window, l + 0.5L * (1 + rule->cosine[2 * i + 1]) - 0.5L * window->width);
    interpolate(rule, value, chebyshev);
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
            before[i] = now[i];
            now[i] = next;
        }
    }
}

int lmr_window_fit(const lmr_window *window, double error, double *coefficients)
{
    long double chebyshev[(LMR_WINDOW_MAX + 1) / 2][POINTS], power[LMR_WINDOW_DEGREE + 1];
    const int pieces = (window->width + 1) / 2; /* the others are their mirror images */
    chebyshev_rule rule;
    int degree = 1;
    make_rule(error > 1e-7 ? FEW_POINTS : POINTS, &rule);
    for (int l = 0; l < pieces; l++) {
        chebyshev_piece(window, &rule, l, chebyshev[l]);
        long double dropped = 0;
        int needed = rule.n - 1;
        while (needed > 1 && dropped + fabsl(chebyshev[l][needed]) <= error) dropped += fabsl(chebyshev[l][needed--]);
        if (needed > degree) degree = needed;
    }
    for (int l = 0; l < pieces; l++) {
        double *left = coefficients + l * (degree + 1),
               *right = coefficients + (window->width - 1 - l) * (degree + 1);
        powers_from_chebyshev(degree, chebyshev[l], power);
        for (int k = 0; k <= degree; k++) {
            right[k] = (double)(k % 2 ? -power[k] : power[k]);
            left[k] = (double)power[k];
        }
    }
    return degree;
}

int lmr_window_fit_log_transform(const lmr_window *window, double xi_max, double error, double *coefficients)
{
    long double value[MOST_POINTS], chebyshev[MOST_POINTS], dropped = 0;
    chebyshev_rule rule;
    int terms = LMR_WINDOW_LOG_TERMS;
    make_rule(LMR_WINDOW_LOG_TERMS, &rule);
    for (int i = 0; i < rule.n; i++) /* the argument's cosine is 2 (xi / xi_max)^2 - 1 */
        value[i] = logl(inside(window, pi_l * window->width * xi_max * sqrtl(0.5L * (1 + rule.cosine[2 * i + 1]))));
    interpolate(&rule, value, chebyshev);
    while (terms > 1 && dropped + fabsl(chebyshev[terms - 1]) <= error) dropped += fabsl(chebyshev[--terms]);
    for (int k = 0; k < terms; k++) coefficients[k] = (double)chebyshev[k];
    return terms;
}

/* Within a small part of the band the transform hardly changes. */
void lmr_window_invert(const lmr_window *window, int64_t first, int64_t count, int64_t cells, double *inverse)
{
    const long double unit = pi_l * window->width / (long double)cells;
    if (count <= 2 * INVERSE_POINTS) {
        for (int64_t i = 0; i < count; i++)
            inverse[i] = (double)(1 / inside(window, unit * (long double)(first + i)));
        return;
    }
    long double value[POINTS], chebyshev[POINTS], power[POINTS];
    double in_single[INVERSE_POINTS];
    const double half = 0.5 * (double)(count - 1), scale = 1 / half;
    chebyshev_rule rule;
    make_rule(INVERSE_POINTS, &rule);
    for (int i = 0; i < INVERSE_POINTS; i++)
        value[i] = 1 / inside(window, unit * ((long double)first + half * (1 + rule.cosine[2 * i + 1])));
    interpolate(&rule, value, chebyshev);
    powers_from_chebyshev(INVERSE_POINTS - 1, chebyshev, power);
    for (int k = 0; k < INVERSE_POINTS; k++) in_single[k] = (double)power[k];
    for (int64_t i = 0; i < count; i++) {
        const double t = (double)i * scale - 1;
        double sum = in_single[INVERSE_POINTS - 1];
        for (int k = INVERSE_POINTS - 2; k >= 0; k--) sum = sum * t + in_single[k];
        inverse[i] = sum;
    }
}
