/* A rhythm in channels: the combination of principal components whose spectrum is the most concentrated (Nikulin,
 * Nolte, Curio, NeuroImage 55, 1528, 2011), and its phase. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "gating/gating.h"

#define NEAR 0.12         /* of a frequency: how far its power reaches, as periods differ by a few per cent */
#define HANN_WIDTH 1.5    /* of Hann's window in the spectrum, relative to none */
#define LEAST_POWER 1e-12 /* of the samples' own: below, the rest is rounding */
#define DEMODULATED 0.5   /* cycles: the standard deviation of the window of the phase */
#define SMOOTHED 0.06     /* cycles: of that of the signal */

enum { MOST_COMPONENTS = 8, LEAST_LINES = 5 };

typedef struct spectra { /* of components within a band */
    int components;
    int64_t lines;
    double first_hz, step_hz;
    double *re, *im; /* [components][lines] */
} spectra;

/* Fourier coefficients of one channel. */
static void transform(const double *x, int64_t count, double dt, const spectra *s, double *re, double *im)
{
    for (int64_t k = 0; k < s->lines; k++) {
        const double turn = 2 * M_PI * (s->first_hz + (double)k * s->step_hz) * dt, c = cos(turn), d = sin(turn);
        double x_re = 1, x_im = 0;
        re[k] = im[k] = 0;
        for (int64_t i = 0; i < count; i++) {
            re[k] += x[i] * x_re;
            im[k] -= x[i] * x_im;
            const double next = x_re * c - x_im * d;
            x_im = x_re * d + x_im * c;
            x_re = next;
        }
    }
}

/* sum[a, b] += the cross power of components a and b near hz. */
static int64_t add_power(const spectra *s, double hz, double half, double *sum)
{
    const int n = s->components;
    int64_t used = 0;
    for (int64_t k = 0; k < s->lines; k++) {
        if (fabs(s->first_hz + (double)k * s->step_hz - hz) > half) continue;
        used++;
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++)
                sum[a * n + b] += s->re[a * s->lines + k] * s->re[b * s->lines + k] +
                                  s->im[a * s->lines + k] * s->im[b * s->lines + k];
    }
    return used;
}

/* The largest share that the best combination of white noise has: the edge of Wachter's law. */
static double share_of_noise(double near, double all, double components)
{
    const double a = fmin(1, near / all), b = fmin(1, components / all), top = sqrt(a * (1 - b)) + sqrt(b * (1 - a));
    return a + b >= 1 ? 1 : fmin(1, top * top);
}

static double half_width(const spectra *s, double hz)
{
    return fmax(NEAR * hz, 2 * s->step_hz);
}

/* The line with the most power around it. */
static double peak_of(const spectra *s, double high)
{
    double best = -1, hz = s->first_hz;
    for (int64_t k = 0; k < s->lines && s->first_hz + (double)k * s->step_hz <= high; k++) {
        const double here = s->first_hz + (double)k * s->step_hz;
        double m[MOST_COMPONENTS * MOST_COMPONENTS] = {0}, value[MOST_COMPONENTS];
        double v[MOST_COMPONENTS * MOST_COMPONENTS];
        add_power(s, here, s->step_hz * 1.5, m);
        lmr_gating_eigen(s->components, m, value, v);
        if (value[0] > best) {
            best = value[0];
            hz = here;
        }
    }
    return hz;
}

/* Components that are white within the band: weight[a] of each, and how concentrated they are at best. */
static void concentrate(const spectra *s, double hz, double *weight, double *reliability)
{
    const int n = s->components;
    double m[MOST_COMPONENTS * MOST_COMPONENTS] = {0}, value[MOST_COMPONENTS];
    double v[MOST_COMPONENTS * MOST_COMPONENTS];
    const double half = half_width(s, hz);
    int64_t near = add_power(s, hz, half, m);
    if (2 * hz - half > hz + half) near += add_power(s, 2 * hz, half, m);
    lmr_gating_eigen(n, m, value, v);
    const double all = 2 * (double)s->lines / HANN_WIDTH, some = 2 * (double)near / HANN_WIDTH;
    const double edge = share_of_noise(some, all, n) + 1 / sqrt(all); /* the best of many peaks is above the edge */
    for (int a = 0; a < n; a++) weight[a] = v[a];
    *reliability = edge < 1 ? fmin(1, fmax(0, (value[0] - edge) / (1 - edge))) : 0;
}

/* Principal components of the channels' spectra, scaled to power 1, become `to`; mix[a][channel] makes them. Returns
 * the power of all. */
static double components_of(const spectra *from, int most, double *m, double *v, double *value, spectra *to,
                            double *mix)
{
    const int n = from->components;
    double power = 0;
    add_power(from, 0, INFINITY, m);
    lmr_gating_eigen(n, m, value, v);
    for (int a = 0; a < n; a++) power += value[a];
    for (int a = 0; a < n && a < most && value[a] > 1e-9 * value[0]; a++) {
        to->components = a + 1;
        for (int c = 0; c < n; c++) mix[a * n + c] = v[a * n + c] / sqrt(value[a]);
        for (int64_t k = 0; k < from->lines; k++)
            for (int c = 0; c < n; c++) {
                to->re[a * from->lines + k] += mix[a * n + c] * from->re[c * from->lines + k];
                to->im[a * from->lines + k] += mix[a * n + c] * from->im[c * from->lines + k];
            }
    }
    return power;
}

static void smooth(const double *x, int64_t count, double sigma, double *out)
{
    const int64_t reach = (int64_t)ceil(4 * sigma);
    for (int64_t i = 0; i < count; i++) {
        double sum = 0, weight = 0;
        for (int64_t j = i < reach ? -i : -reach; j <= reach && i + j < count; j++) {
            const double g = exp(-0.5 * (double)(j * j) / (sigma * sigma));
            sum += g * x[i + j];
            weight += g;
        }
        out[i] = sum / weight;
    }
}

/* Mean 0 and deviation 1. */
static void standardise(double *x, int64_t count)
{
    double mean = 0, power = 0;
    for (int64_t i = 0; i < count; i++) mean += x[i] / (double)count;
    for (int64_t i = 0; i < count; i++) power += (x[i] - mean) * (x[i] - mean) / (double)count;
    for (int64_t i = 0; i < count; i++) x[i] = power > 0 ? (x[i] - mean) / sqrt(power) : 0;
}

/* Phase in cycles of x around hz, and its mean rate. */
static double follow(const double *x, int64_t count, double dt, double hz, double *work, double *phase)
{
    double *re = work, *im = work + count, *low = work + 2 * count;
    const double sigma = DEMODULATED / hz / dt;
    for (int64_t i = 0; i < count; i++) {
        re[i] = x[i] * cos(2 * M_PI * hz * dt * (double)i);
        im[i] = -x[i] * sin(2 * M_PI * hz * dt * (double)i);
    }
    smooth(re, count, sigma, low);
    for (int64_t i = 0; i < count; i++) re[i] = low[i];
    smooth(im, count, sigma, low);
    double turned = 0, before = atan2(low[0], re[0]);
    for (int64_t i = 0; i < count; i++) {
        const double now = atan2(low[i], re[i]);
        turned += remainder(now - before, 2 * M_PI);
        before = now;
        phase[i] = hz * dt * (double)i + (turned + atan2(low[0], re[0])) / (2 * M_PI);
    }
    const int64_t margin = (int64_t)fmin((double)count / 4, .5 / hz / dt); /* half a cycle, seen from one side */
    return (phase[count - 1 - margin] - phase[margin]) / (dt * (double)(count - 1 - 2 * margin));
}

/* Signal, phase and rate of the component. */
static void finish(const double *component, int64_t count, double dt, double peak, const lmr_band *band, double *work,
                   lmr_found *found)
{
    double hz = peak, skew = 0;
    smooth(component, count, SMOOTHED / peak / dt, found->signal);
    standardise(found->signal, count);
    for (int64_t i = 0; i < count; i++) skew += pow(found->signal[i], 3);
    for (int64_t i = 0; i < count; i++) found->signal[i] *= skew < 0 ? -1 : 1;
    for (int again = 0; again < 3; again++) {
        const double better = follow(found->signal, count, dt, hz, work, found->phase);
        if (!(better > 0.5 * band->low && better < 1.5 * band->high)) break;
        hz = better;
    }
    found->hz = hz;
    const double first = floor(found->phase[0]) - 1;
    for (int64_t i = 0; i < count; i++) found->phase[i] -= first;
}

/* The spectra of all channels under Hann's window; work [count]. */
static void transform_all(const lmr_channels *all, double dt, double *work, const spectra *s)
{
    for (int64_t c = 0; c < all->channels; c++) {
        for (int64_t i = 0; i < all->count; i++)
            work[i] = all->x[c * all->count + i] * (1 - cos(2 * M_PI * ((double)i + 0.5) / (double)all->count));
        transform(work, all->count, dt, s, s->re + c * s->lines, s->im + c * s->lines);
    }
}

/* Each component times the square root of its power, or divided by it. */
static void scale(spectra *s, const double *power, int divide)
{
    for (int a = 0; a < s->components; a++) {
        const double by = divide ? 1 / sqrt(power[a]) : sqrt(power[a]);
        for (int64_t k = 0; k < s->lines; k++) {
            s->re[a * s->lines + k] *= by;
            s->im[a * s->lines + k] *= by;
        }
    }
}

larmor_status lmr_gating_rhythm(const lmr_channels *all, double dt, double power, const lmr_band *band,
                                lmr_found *found)
{
    const int64_t count = all->count, n = all->channels;
    const double step = 1 / ((double)count * dt), high = fmin(band->upto, 0.45 / dt);
    const double first = step * ceil(band->low / step);
    found->hz = found->reliability = 0;
    if (high < first + LEAST_LINES * step) return LARMOR_OK;
    const int64_t lines = (int64_t)floor((high - first) / step) + 1;
    LMR_HEAP LMR_NEW_ZEROS(double, room, 2 * (n + MOST_COMPONENTS) * lines);
    LMR_HEAP LMR_NEW_ZEROS(double, matrix, 3 * n * n + n);
    LMR_HEAP LMR_NEW_ZEROS(double, component, 4 * count);
    double *value = matrix + 3 * n * n, *mix = matrix + 2 * n * n, weight[MOST_COMPONENTS];
    double *of_few = room + 2 * n * lines;
    const spectra s = {(int)n, lines, first, step, room, room + n * lines};
    spectra few = {0, lines, first, step, of_few, of_few + MOST_COMPONENTS * lines};
    transform_all(all, dt, component, &s);
    const double left = components_of(&s, band->components, matrix, matrix + n * n, value, &few, mix);
    if (!(left > LEAST_POWER * power * (double)count * (double)count) || !few.components) return LARMOR_OK;
    /* the peak is that of power as it is, the combination that of components of equal power */
    scale(&few, value, 0);
    const double hz = peak_of(&few, band->high);
    scale(&few, value, 1);
    concentrate(&few, hz, weight, &found->reliability);
    for (int64_t i = 0; i < count; i++) component[i] = 0;
    for (int a = 0; a < few.components; a++)
        for (int64_t c = 0; c < n; c++)
            for (int64_t i = 0; i < count; i++) component[i] += weight[a] * mix[a * n + c] * all->x[c * count + i];
    finish(component, count, dt, hz, band, component + count, found);
    return LARMOR_OK;
}
