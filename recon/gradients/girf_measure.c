/* The impulse response of gradients from pulses and what came of them, by least squares at each frequency. Gradients
 * are differences of k, of both alike, so that the response of differences itself does not count.
 * Source: Vannesjo et al., Magn. Reson. Med. 69, 583 (2013). SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/lapack.h"

#define DEFAULT_LEAST 1e-4

enum { MOST_AXES = 3, MOST_PULSES = 65536 };

typedef struct spectra {
    int64_t samples, pulses, n;  /* n: frequencies of the transform, from 0 on */
    int axes, terms;             /* terms: axes, and one more with order 0 */
    double complex *in, *out;    /* [n, pulses, axes], [n, pulses, terms] */
    double complex *gram, *rows; /* [axes, axes] and [axes, terms] of each frequency up to half, smoothed */
    double complex *response;    /* [terms, axes] of each frequency up to half */
    double limit[MOST_AXES];     /* of an axis' power: below it the response goes over to a perfect one */
    int64_t band;                /* the last frequency up to which all axes have inputs */
    double dwell_s;
} spectra;

LMR_FREES(free_spectra, spectra, in, out, gram, rows, response)

/* ---- transforms ---- */

/* Differences of k [samples, lines], followed by zeros, and their transforms [n, lines]. */
static larmor_status transform(const larmor_array *k, int64_t n, double complex **spectrum)
{
    const larmor_shape shape = larmor_array_shape(k);
    const int64_t samples = shape.dim[0], lines = larmor_array_count(k) / samples;
    LMR_HEAP double complex *rate = NULL;
    int64_t count;
    if (lmr_mul(n, lines, &count)) rate = lmr_new(count, sizeof *rate);
    if (!rate) return LMR_NO_MEMORY();
    LMR_OWN_MEMORY(double, value, larmor_array_download(k, LARMOR_F64, &value));
    for (int64_t i = 0; i < samples * lines; i++)
        LMR_REFUSE(!isfinite(value[i]), LARMOR_ERR_NUMERIC, "girf: sample %lld of pulse %lld is not finite",
                   (long long)(i % samples), (long long)(i / samples % shape.dim[1]));
    for (int64_t i = 0; i < count; i++) {
        const int64_t j = i % n;
        const double *line = value + samples * (i / n);
        rate[i] = j + 1 < samples ? line[j + 1] - line[j] : 0;
    }
    LMR_OWN(larmor_device, host, larmor_device_open("cpu", &host));
    LMR_OWN(larmor_op, F, larmor_op_fft(host, LARMOR_C128, LARMOR_SHAPE(n, lines), 1, NULL, &F));
    LMR_OWN(larmor_array, x, larmor_array_upload(host, LARMOR_C128, LARMOR_SHAPE(n, lines), LARMOR_C128, rate, &x));
    LMR_OWN(larmor_array, y, larmor_array_create(host, LARMOR_C128, LARMOR_SHAPE(n, lines), &y));
    LMR_TRY(larmor_op_forward(F, x, y));
    return larmor_array_download(y, LARMOR_C128, spectrum);
}

/* ---- least squares ---- */

/* Products of inputs with each other and with outputs, summed over pulses. */
static void add_products(const spectra *s, int64_t from, double weight, double complex *gram, double complex *rows)
{
    for (int a = 0; a < s->axes; a++)
        for (int64_t p = 0; p < s->pulses; p++) {
            const double complex x = weight * conj(s->in[from + s->n * (p + s->pulses * a)]);
            for (int b = 0; b < s->axes; b++) gram[a + s->axes * b] += x * s->in[from + s->n * (p + s->pulses * b)];
            for (int t = 0; t < s->terms; t++) rows[a + s->axes * t] += x * s->out[from + s->n * (p + s->pulses * t)];
        }
}

/* Of all frequencies up to half, each with those that are less than `reach` away, less and less. */
static void smooth(spectra *s, double reach)
{
    const int64_t half = s->n / 2 + 1, far = (int64_t)reach;
    for (int64_t f = 0; f < half; f++)
        for (int64_t d = -far; d <= far; d++) {
            const double weight = far ? pow(cos(M_PI / 2 * (double)d / (reach + 1)), 2) : 1;
            add_products(s, ((f + d) % s->n + s->n) % s->n, weight, s->gram + s->axes * s->axes * f,
                         s->rows + s->axes * s->terms * f);
        }
}

static double power(const spectra *s, int axis, int64_t f)
{
    return creal(s->gram[s->axes * s->axes * f + axis * (s->axes + 1)]);
}

/* From the first frequency with inputs of an axis to the last before they fall below its limit. */
static int64_t end_of_band(const spectra *s, int axis)
{
    const int64_t half = s->n / 2 + 1;
    int64_t f = 0;
    while (f < half && power(s, axis, f) < s->limit[axis]) f++;
    while (f < half && power(s, axis, f) >= s->limit[axis]) f++;
    return f - 1;
}

static larmor_status find_band(spectra *s, double least)
{
    s->band = s->n / 2;
    for (int a = 0; a < s->axes; a++) {
        double most = 0;
        for (int64_t f = 0; f <= s->n / 2; f++) most = fmax(most, power(s, a, f));
        LMR_REFUSE(!(most > 0), LARMOR_ERR_NUMERIC, "girf: no pulse drives axis %d", a);
        s->limit[a] = least * most;
        const int64_t end = end_of_band(s, a);
        if (end < s->band) s->band = end;
    }
    return LARMOR_OK;
}

/* That of a perfect gradient plus what explains the rest, held to it where an axis has less than its limit. inverse:
 * of the inputs' products. */
static larmor_status solve(spectra *s, int64_t f, double complex inverse[MOST_AXES * MOST_AXES])
{
    const int n = s->axes;
    const double complex *gram = s->gram + n * n * f;
    double complex *H = s->response + n * s->terms * f;
    double complex rest[MOST_AXES * (MOST_AXES + 1)];
    int solved;
    for (int i = 0; i < n * n; i++) inverse[i] = gram[i];
    for (int a = 0; a < n; a++) inverse[a * (n + 1)] += fmax(0, s->limit[a] - power(s, a, f));
    for (int i = 0; i < n * s->terms; i++)
        rest[i] = s->rows[n * s->terms * f + i] - (i / n < n ? gram[i % n + n * (i / n)] : 0);
    LMR_TRY(lmr_lapack_inverse(n, inverse, &solved));
    LMR_REFUSE(!solved, LARMOR_ERR_NUMERIC,
               "girf: pulses do not tell the axes apart at frequency %lld; drive one axis at a time", (long long)f);
    for (int t = 0; t < s->terms; t++)
        for (int a = 0; a < n; a++) {
            H[t + s->terms * a] = t == a;
            for (int b = 0; b < n; b++) H[t + s->terms * a] += inverse[a + n * b] * rest[b + n * t];
        }
    return LARMOR_OK;
}

/* |Y - X H|^2 and |Y|^2 at a frequency, of the axes alone. */
static void compare(const spectra *s, int64_t f, double *misfit, double *all)
{
    const double complex *H = s->response + s->axes * s->terms * f;
    for (int t = 0; t < s->axes; t++)
        for (int64_t p = 0; p < s->pulses; p++) {
            const double complex y = s->out[f + s->n * (p + s->pulses * t)];
            double complex rest = y;
            for (int a = 0; a < s->axes; a++) rest -= H[t + s->terms * a] * s->in[f + s->n * (p + s->pulses * a)];
            *misfit += pow(cabs(rest), 2);
            *all += pow(cabs(y), 2);
        }
}

/* The noise of differences grows with frequency, so that each has its own. */
static larmor_status solve_all(spectra *s, larmor_girf_report *report)
{
    const double bins = (double)s->band + 1, freedom = (double)s->axes * (double)(s->pulses - s->axes);
    double misfit = 0, all = 0, variance[MOST_AXES] = {0};
    for (int64_t f = 0; f <= s->band; f++) {
        double complex inverse[MOST_AXES * MOST_AXES];
        double own = 0;
        LMR_TRY(solve(s, f, inverse));
        compare(s, f, &own, &all);
        misfit += own;
        for (int a = 0; a < s->axes && freedom > 0; a++)
            if (power(s, a, f) >= s->limit[a])
                variance[a] += own / freedom * creal(inverse[a * (s->axes + 1)]) / bins;
    }
    report->spacing_hz = 1 / ((double)s->n * s->dwell_s);
    report->band_hz = (double)s->band * report->spacing_hz;
    report->residual = all > 0 ? sqrt(misfit / all) : 0;
    for (int a = 0; a < s->axes; a++) report->deviation[a] = sqrt(variance[a]);
    return LARMOR_OK;
}

/* ---- the call ---- */

static larmor_status check(const larmor_array *nominal, const larmor_array *measured, const larmor_girf_opts *o,
                           int wants_b0)
{
    const larmor_shape a = larmor_array_shape(nominal), b = larmor_array_shape(measured);
    const int fits = a.ndim == 3 && b.ndim == 3 && a.dim[0] == b.dim[0] && a.dim[1] == b.dim[1] && a.dim[0] > 1 &&
                     a.dim[1] >= 1 && a.dim[1] <= MOST_PULSES && a.dim[2] >= 1 && a.dim[2] <= MOST_AXES &&
                     (b.dim[2] == a.dim[2] || b.dim[2] == a.dim[2] + 1);
    LMR_REFUSE(!fits || lmr_is_complex(larmor_array_dtype(nominal)) || lmr_is_complex(larmor_array_dtype(measured)),
               LARMOR_ERR_SHAPE,
               "girf: pulses are %s and measurements %s, expected real [samples, pulses, 1 to 3 axes] and as "
               "many numbers, or those of order 0 after them",
               lmr_describe(nominal).s, lmr_describe(measured).s);
    LMR_REFUSE(!(o->dwell_s > 0 && isfinite(o->dwell_s)) || !(o->least >= 0 && o->least < 1) ||
                   !(o->resolution_hz >= 0 && o->resolution_hz * o->dwell_s < 0.1),
               LARMOR_ERR_ARG,
               "girf: dwell_s %g, least %g and resolution_hz %g, expected a time, a part and a tenth of the "
               "sampling rate at most",
               o->dwell_s, o->least, o->resolution_hz);
    LMR_REFUSE(wants_b0 && b.dim[2] == a.dim[2], LARMOR_ERR_ARG,
               "girf: order 0 is asked for, but it was not measured");
    return LARMOR_OK;
}

/* Frequencies from -band to band, of terms `first` to `last`: [2 band + 1, terms, axes], or without terms for one. */
static larmor_status store(const spectra *s, larmor_device *dev, int first, int last, larmor_array **response)
{
    const int64_t n = 2 * s->band + 1, terms = last - first + 1;
    LMR_HEAP LMR_NEW(double complex, all, n *terms * s->axes);
    for (int a = 0; a < s->axes; a++)
        for (int t = first; t <= last; t++)
            for (int64_t f = 0; f <= s->band; f++) {
                const double complex H = s->response[s->axes * s->terms * f + t + s->terms * a];
                double complex *to = all + n * (t - first + terms * a) + s->band;
                to[f] = f ? H : creal(H);
                to[-f] = conj(to[f]);
            }
    const larmor_shape shape = first == s->axes ? LARMOR_SHAPE(n, s->axes) : LARMOR_SHAPE(n, terms, s->axes);
    return larmor_array_upload(dev, LARMOR_C128, shape, LARMOR_C128, all, response);
}

static larmor_status prepare(const larmor_array *nominal, const larmor_array *measured, const larmor_girf_opts *o,
                             spectra *s)
{
    const larmor_shape shape = larmor_array_shape(nominal);
    *s = (spectra){.samples = shape.dim[0],
                   .pulses = shape.dim[1],
                   .axes = (int)shape.dim[2],
                   .terms = (int)larmor_array_shape(measured).dim[2],
                   .n = 64,
                   .dwell_s = o->dwell_s};
    while (s->n < 2 * s->samples && s->n < INT64_C(1) << 40) s->n *= 2;
    const int64_t half = s->n / 2 + 1;
    LMR_TRY(transform(nominal, s->n, &s->in));
    LMR_TRY(transform(measured, s->n, &s->out));
    s->gram = calloc((size_t)half, sizeof *s->gram * (size_t)(s->axes * s->axes));
    s->rows = calloc((size_t)half, sizeof *s->rows * (size_t)(s->axes * s->terms));
    s->response = calloc((size_t)half, sizeof *s->response * (size_t)(s->axes * s->terms));
    return s->gram && s->rows && s->response ? LARMOR_OK : LMR_NO_MEMORY();
}

larmor_status larmor_girf_measure(const larmor_array *nominal, const larmor_array *measured,
                                  const larmor_girf_opts *opts, larmor_array **response, larmor_array **b0,
                                  larmor_girf_report *report)
{
    larmor_girf_report found = {0};
    LMR_FREED_BY(free_spectra) spectra s = {0};
    LMR_NEED_OUT(response);
    if (b0) *b0 = NULL;
    LMR_NEED(nominal, measured, opts);
    LMR_TRY(check(nominal, measured, opts, b0 != NULL));
    LMR_TRY(prepare(nominal, measured, opts, &s));
    smooth(&s, opts->resolution_hz * opts->dwell_s * (double)s.n);
    LMR_TRY(find_band(&s, opts->least > 0 ? opts->least : DEFAULT_LEAST));
    LMR_TRY(solve_all(&s, &found));
    if (report) *report = found;
    larmor_device *dev = larmor_array_device(nominal);
    if (b0) LMR_TRY(store(&s, dev, s.axes, s.axes, b0));
    const larmor_status st = store(&s, dev, 0, s.axes - 1, response);
    if (st && b0) LMR_CLEAR(*b0);
    return st;
}
