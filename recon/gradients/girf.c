/* Trajectories of gradients whose impulse response is known.
 *
 * Convolution commutes with integration, so that it is the trajectory that is convolved. Each readout is a
 * straight line, its tangent in the beginning, and the rest: the line is delayed and scaled, exactly, and the rest
 * begins at 0, so that nothing precedes it. What is convolved with the rest is the response minus that of perfect
 * gradients, so that perfect gradients change nothing.
 *
 * Source: Vannesjo et al., Magn. Reson. Med. 69, 583 (2013) and 76, 45 (2016). SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/gradients/delay.h"

/* The correction fades out from here to half the sampling rate, in units of that. Not measured. */
static const double fade_start = 0.6;

/* Of the taps before a sample: the rest of a readout goes straight on behind its end. */
enum { LEAST_TAPS = 64 };

typedef struct response {
    int64_t n; /* frequencies */
    int axes, crossed, is_phase;
    const double complex *at; /* [n, axes] or [n, axes, axes]; of a phase [n, axes], of each axis to it */
    double spacing, dwell;
} response;

/* From one axis to another: what becomes of a line, and what is convolved with the rest. */
typedef struct kernel {
    double gain, moment; /* a line k becomes gain k - moment dk, dk its step */
    double *tap;         /* [taps] from -taps / 2 on; NULL: none */
} kernel;

typedef struct convolution { /* free_taps frees it */
    int nd, axes;
    int64_t n, taps;
    const double *from;
    double *to;
    double turn[3][3];   /* [physical axis][direction of the trajectory], with the fields of view */
    double back[3][3];   /* [direction of the trajectory][physical axis] */
    kernel kernel[3][3]; /* [to][from]; of a phase [0][from] */
    int failed;
} convolution;

static void free_taps(convolution *c)
{
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) free(c->kernel[a][b].tap);
}

static double complex value_of(const response *r, int out, int in, int64_t i)
{
    const int64_t row = (int64_t)out + (r->crossed ? (int64_t)r->axes * in : 0);
    if (r->is_phase) return r->at[i + r->n * in];
    if (!r->crossed && out != in) return 0;
    return r->at[i + r->n * row];
}

/* At a whole number of spacings, Hermitian. */
static double complex hermitian(const response *r, int out, int in, int64_t step)
{
    const int64_t last = (r->n - 1) / 2;
    const int64_t far = step > last ? last : step;
    const int64_t near = far < -last ? -last : far;
    const int64_t middle = r->n / 2;
    return (value_of(r, out, in, middle + near) + conj(value_of(r, out, in, middle - near))) / 2;
}

/* The mean delay in seconds where the response is mostly that, from the phases on both sides of frequency 0. */
static double mean_delay(const response *r, int out, int in)
{
    const double complex next = hermitian(r, out, in, 1) * creal(hermitian(r, out, in, 0));
    return creal(next) > fabs(cimag(next)) ? -carg(next) / (2 * M_PI * r->spacing) : 0;
}

/* The first moment of the impulse response, in seconds. */
static double first_moment(const response *r, int out, int in, double delay)
{
    if (delay != 0) return delay * creal(hermitian(r, out, in, 0));
    return -cimag(hermitian(r, out, in, 1)) / (2 * M_PI * r->spacing);
}

static double complex between(const response *r, int out, int in, double delay, double hz)
{
    const double place = hz / r->spacing, low = floor(place), part = place - low;
    const double turn = 2 * M_PI * r->spacing * delay;
    const double complex a = hermitian(r, out, in, (int64_t)low) * cexp(I * turn * low);
    const double complex b = hermitian(r, out, in, (int64_t)low + 1) * cexp(I * turn * (low + 1));
    return ((1 - part) * a + part * b) * cexp(-2 * I * M_PI * hz * delay);
}

static double fading(double part)
{
    if (part <= fade_start) return 1;
    const double c = cos(M_PI / 2 * (part - fade_start) / (1 - fade_start));
    return part < 1 ? c * c : 0;
}

/* The taps of one pair of axes: the inverse Fourier transform of the response, on `count` frequencies. */
static larmor_status make_taps(const response *r, int out, int in, int64_t count, larmor_op *inverse,
                               larmor_device *host, int64_t taps, kernel *k)
{
    const double delay = mean_delay(r, out, in), step = 1 / ((double)count * r->dwell);
    LMR_HEAP LMR_NEW(double complex, spectrum, count);
    for (int64_t i = 0; i < count; i++) {
        const double hz = step * (double)(i < (count + 1) / 2 ? i : i - count);
        const double complex wrong = between(r, out, in, delay, hz) - (out == in && !r->is_phase);
        spectrum[i] = wrong * fading(fabs(hz) * 2 * r->dwell);
    }
    k->gain = creal(hermitian(r, out, in, 0));
    k->moment = first_moment(r, out, in, delay) / r->dwell;
    LMR_ALLOCATE(k->tap, taps);
    LMR_OWN(larmor_array, x, larmor_array_upload(host, LARMOR_C128, LARMOR_SHAPE(count), LARMOR_C128, spectrum, &x));
    LMR_OWN(larmor_array, y, larmor_array_create(host, LARMOR_C128, LARMOR_SHAPE(count), &y));
    LMR_TRY(larmor_op_adjoint(inverse, x, y));
    LMR_OWN_MEMORY(double complex, time, larmor_array_download(y, LARMOR_C128, &time));
    for (int64_t i = 0; i < taps; i++) {
        const int64_t lag = i - taps / 2;
        k->tap[i] = creal(time[(lag + count) % count]) / (double)count;
    }
    return LARMOR_OK;
}

/* A readout's step at its beginning or at its end, of a parabola through three samples. */
static double slope_at(const double *k, int64_t n, int end)
{
    if (n < 2) return 0;
    if (n < 3) return k[1] - k[0];
    return end ? (3 * k[n - 1] - 4 * k[n - 2] + k[n - 3]) / 2 : (4 * k[1] - 3 * k[0] - k[2]) / 2;
}

/* What the response makes of one axis is added to `to`: from is that of the readout, [n]. rests: before it there was
 * no gradient, so that its tangent is none. */
static void convolve(const convolution *c, const kernel *k, int same, int rests, const double *from, double *rest,
                     double *to)
{
    const int64_t n = c->n, half = c->taps / 2;
    const double first = from[0];
    const double step = rests ? 0 : slope_at(from, n, 0);
    const double slope = slope_at(from, n, 1) - step;
    double most = 0;
    for (int64_t i = 0; i < n + half; i++) {
        rest[i] = i < n ? from[i] - first - step * (double)i : rest[n - 1] + slope * (double)(i - n + 1);
        most = fmax(most, fabs(rest[i]));
    }
    for (int64_t i = 0; i < n; i++) {
        to[i] += k->gain * (first + step * (double)i) - k->moment * step + (same ? rest[i] : 0);
        if (most < 1e-12) continue;
        double sum = 0;
        const int64_t low = i + half - (c->taps - 1) > 0 ? i + half - (c->taps - 1) : 0;
        for (int64_t j = low; j <= i + half && j < n + half; j++) sum += k->tap[i - j + half] * rest[j];
        to[i] += sum;
    }
}

/* in[n, axes] <- a readout along the response's axes */
static void take_readout(const convolution *c, const double *from, double *in)
{
    for (int64_t i = 0; i < c->n; i++)
        for (int a = 0; a < c->axes; a++) {
            in[a * c->n + i] = 0;
            for (int d = 0; d < c->nd; d++) in[a * c->n + i] += c->turn[a][d] * from[c->nd * i + d];
        }
}

static void phase_of_readout(void *self, int64_t readout)
{
    convolution *c = self;
    const double *from = c->from + c->nd * c->n * readout;
    LMR_HEAP double *in = calloc((size_t)(4 * c->n + c->taps / 2), sizeof *in);
    if (!in) {
        c->failed = 1;
        return;
    }
    take_readout(c, from, in);
    for (int a = 0; a < c->axes; a++)
        convolve(c, &c->kernel[0][a], 0, lmr_rests_before(from, c->nd, c->n), in + c->n * a, in + 3 * c->n,
                 c->to + c->n * readout);
}

static void correct_readout(void *self, int64_t readout)
{
    convolution *c = self;
    const int64_t n = c->n, longest = n + c->taps / 2;
    double *in = calloc((size_t)(6 * n + longest), sizeof *in), *out = in + 3 * n, *rest = out + 3 * n;
    if (!in) {
        c->failed = 1;
        return;
    }
    const double *from = c->from + c->nd * n * readout;
    double *to = c->to + c->nd * n * readout;
    const int rests = lmr_rests_before(from, c->nd, n);
    take_readout(c, from, in);
    for (int a = 0; a < c->axes; a++)
        for (int b = 0; b < c->axes; b++)
            if (c->kernel[a][b].tap) convolve(c, &c->kernel[a][b], a == b, rests, in + n * b, rest, out + n * a);
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < c->nd; d++) {
            to[c->nd * i + d] = 0;
            for (int a = 0; a < c->axes; a++) to[c->nd * i + d] += c->back[d][a] * out[a * n + i];
        }
    free(in);
}

/* The gradients that a trajectory of nd dimensions has: those that none of its directions has are left out at the
 * end, so that a transverse scan needs x and y alone. */
static int axes_of(const larmor_girf *g, int nd)
{
    const double rounding = 1e-6;
    int axes = 0;
    for (int d = 0; d < nd; d++)
        for (int a = axes; a < 3; a++)
            if (fabs(g->axes[d][a]) > rounding) axes = a + 1;
    return axes;
}

/* Directions are orthonormal, so that the way back is the transpose; without any the axes are the trajectory's. */
static void turn_axes(convolution *c, const larmor_girf *g)
{
    const int given = axes_of(g, 3) > 0;
    c->axes = given ? axes_of(g, c->nd) : c->nd;
    for (int d = 0; d < c->nd; d++)
        for (int a = 0; a < c->axes; a++) {
            const double part = given ? g->axes[d][a] : (double)(a == d);
            const double fov = g->fov[0] > 0 ? g->fov[d] : 1;
            c->turn[a][d] = part / fov;
            c->back[d][a] = part * fov;
        }
}

static int64_t frequencies_for(const convolution *c, const response *r)
{
    const double needed = fmax(2 * (double)c->taps, 2 / (r->spacing * r->dwell));
    int64_t count = 64;
    while ((double)count < needed && count < INT64_C(1) << 22) count *= 2;
    return count;
}

static larmor_status make_kernels(convolution *c, const response *r)
{
    const int64_t count = frequencies_for(c, r);
    LMR_OWN(larmor_device, host, larmor_device_open("cpu", &host));
    LMR_OWN(larmor_op, inverse, larmor_op_fft(host, LARMOR_C128, LARMOR_SHAPE(count), 1, NULL, &inverse));
    for (int a = 0; a < (r->is_phase ? 1 : c->axes); a++)
        for (int b = 0; b < c->axes; b++)
            if (a == b || r->crossed || r->is_phase)
                LMR_TRY(make_taps(r, a, b, count, inverse, host, c->taps, &c->kernel[a][b]));
    return LARMOR_OK;
}

larmor_status larmor_girf_check(const larmor_array *x)
{
    const larmor_shape s = larmor_array_shape(x);
    if (x && lmr_is_complex(larmor_array_dtype(x)) && s.ndim >= 2 && s.ndim <= 3 && s.dim[0] >= 1 && s.dim[1] <= 3 &&
        (s.ndim < 3 || s.dim[2] == 1 || s.dim[2] == s.dim[1]))
        return LARMOR_OK;
    return LMR_FAIL(
        LARMOR_ERR_SHAPE,
        "girf: response is %s, expected complex [frequencies, axes] or [frequencies, axes, axes] of at most 3 axes",
        x ? lmr_describe(x).s : "missing");
}

larmor_status larmor_girf_phase_check(const larmor_array *x)
{
    const larmor_shape s = larmor_array_shape(x);
    if (x && lmr_is_complex(larmor_array_dtype(x)) && s.ndim == 2 && s.dim[0] >= 1 && s.dim[1] >= 1 && s.dim[1] <= 3)
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE,
                    "girf: the response of order 0 is %s, expected complex [frequencies, axes] of at most 3 axes",
                    x ? lmr_describe(x).s : "missing");
}

static larmor_status check(const larmor_array *traj, const larmor_girf *g)
{
    const larmor_shape t = larmor_array_shape(traj);
    LMR_REFUSE(!traj || t.ndim != 3 || t.dim[0] < 1 || t.dim[0] > 3 || !lmr_is_real(larmor_array_dtype(traj)),
               LARMOR_ERR_SHAPE, "girf: trajectory is %s, expected real [nd, samples, readouts]",
               traj ? lmr_describe(traj).s : "missing");
    LMR_TRY(larmor_girf_check(g->response));
    LMR_REFUSE(!(g->spacing_hz > 0) || !isfinite(g->spacing_hz) || !(g->dwell_s > 0) || !isfinite(g->dwell_s),
               LARMOR_ERR_ARG, "girf: frequencies are %g Hz apart and samples %g s, expected more than 0",
               g->spacing_hz, g->dwell_s);
    return LARMOR_OK;
}

static larmor_status expect_finite(const response *r, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        LMR_REFUSE(!isfinite(creal(r->at[i])) || !isfinite(cimag(r->at[i])), LARMOR_ERR_NUMERIC,
                   "girf: the response is not finite at frequency %lld", (long long)(i % r->n));
    return LARMOR_OK;
}

/* What a response makes of a trajectory: `each` fills c.to, [rows, samples] of each readout. */
static larmor_status respond(const larmor_array *traj, const larmor_girf *girf, int is_phase,
                             void (*each)(void *self, int64_t readout), double **to)
{
    const larmor_shape shape = larmor_array_shape(traj), s = larmor_array_shape(girf->response);
    LMR_FREED_BY(free_taps) convolution c = {.nd = (int)shape.dim[0], .n = shape.dim[1]};
    response r = {.n = s.dim[0],
                  .axes = (int)s.dim[1],
                  .crossed = s.ndim == 3 && s.dim[2] > 1,
                  .is_phase = is_phase,
                  .spacing = girf->spacing_hz,
                  .dwell = girf->dwell_s};
    turn_axes(&c, girf);
    LMR_REFUSE(c.axes > r.axes, LARMOR_ERR_SHAPE, "girf: the response is that of %d axes, the trajectory needs %d",
               r.axes, c.axes);
    c.taps = 2 * (c.n > LEAST_TAPS ? c.n : LEAST_TAPS) + 1;
    LMR_OWN_MEMORY(double complex, at, larmor_array_download(girf->response, LARMOR_C128, &at));
    r.at = at;
    LMR_TRY(expect_finite(&r, larmor_array_count(girf->response)));
    LMR_TRY(make_kernels(&c, &r));
    LMR_OWN_MEMORY(double, from, larmor_array_download(traj, LARMOR_F64, &from));
    LMR_ALLOCATE_ZEROS(*to, (size_t)(is_phase ? c.n * shape.dim[2] : larmor_array_count(traj)) + 1);
    c.from = from;
    c.to = *to;
    LMR_TRY(lmr_parallel(lmr_device_threads(traj->dev), shape.dim[2], each, &c));
    return c.failed ? LMR_NO_MEMORY() : LARMOR_OK;
}

larmor_status larmor_girf_apply(const larmor_array *traj, const larmor_girf *girf, larmor_array **corrected)
{
    LMR_NEED_OUT(corrected, girf);
    LMR_TRY(check(traj, girf));
    LMR_OWN_MEMORY(double, to, respond(traj, girf, 0, correct_readout, &to));
    return larmor_array_upload(larmor_array_device(traj), LARMOR_F64, larmor_array_shape(traj), LARMOR_F64, to,
                               corrected);
}

larmor_status larmor_girf_phase(const larmor_array *traj, const larmor_girf *girf, larmor_array **phase)
{
    LMR_NEED_OUT(phase, girf);
    LMR_TRY(larmor_girf_phase_check(girf->response));
    LMR_TRY(check(traj, girf));
    const larmor_shape shape = larmor_array_shape(traj);
    LMR_OWN_MEMORY(double, to, respond(traj, girf, 1, phase_of_readout, &to));
    return larmor_array_upload(larmor_array_device(traj), LARMOR_F64, LARMOR_SHAPE(shape.dim[1], shape.dim[2]),
                               LARMOR_F64, to, phase);
}
