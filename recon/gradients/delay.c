/* Trajectories of delayed gradients: each axis by itself, and what one gradient leaves on another axis.
 *
 * Source: Rosenzweig, Holme, Uecker, Magn. Reson. Med. 81, 1898 (2019), whose three numbers are x, y and xy here.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/gradients/delay.h"

#include "core/core.h"

void lmr_delay_axes(int e, int *a, int *b)
{
    static const int first[LMR_DELAYS] = {0, 1, 2, 0, 0, 1}, second[LMR_DELAYS] = {0, 1, 2, 1, 2, 2};
    *a = first[e];
    *b = second[e];
}

/* x[stride i], i in 0 .. n-1, at a place between samples, and its slope there: the cubic through the four around
 * it. */
static double cubic_at(const double *x, int64_t stride, int64_t n, double place, double *slope)
{
    int64_t first = (int64_t)floor(place) - 1;
    if (first > n - 4) first = n - 4;
    if (first < 0) first = 0;
    const double t = place - (double)first;
    const double weight[4] = {-(t - 1) * (t - 2) * (t - 3) / 6, t * (t - 2) * (t - 3) / 2, -t * (t - 1) * (t - 3) / 2,
                              t * (t - 1) * (t - 2) / 6};
    const double rate[4] = {-(3 * t * t - 12 * t + 11) / 6, (3 * t * t - 10 * t + 6) / 2,
                            -(3 * t * t - 8 * t + 3) / 2, (3 * t * t - 6 * t + 2) / 6};
    double sum = 0;
    *slope = 0;
    for (int64_t i = 0; i < 4; i++) {
        sum += weight[i] * x[stride * (first + i)];
        *slope += rate[i] * x[stride * (first + i)];
    }
    return sum;
}

/* Which ends of a readout are at rest in the centre of k-space: before and behind these no gradient moves it. It
 * is where it begins on a ramp, or, in a plane, exactly in the centre. Where it goes on straight and evenly from
 * beside the centre, the gradient is on a plateau that may have begun before. */
enum { STARTS_AT_CENTRE = 1, ENDS_AT_CENTRE = 2, FEWEST_SAMPLES = 5 };

static const double max_step_difference = 0.1; /* of a step: what two steps differ by at most on a plateau */
static const double max_start_radius =
    1e-3; /* of a step: how far from the centre the first sample of such a readout is */

static double distance(const double *k, const double *l, int nd)
{
    double square = 0;
    for (int d = 0; d < nd; d++) square += pow(k[d] - (l ? l[d] : 0), 2);
    return sqrt(square);
}

/* k: the outermost sample, with the next ones at a stride; far: how far the other end is from the centre. */
static int is_at_rest(const double *k, int64_t stride, int nd, double far)
{
    const double *next = k + stride, *second = next + stride, *third = second + stride;
    const double begin = distance(k, NULL, nd), step = distance(second, third, nd);
    double change[3];
    for (int d = 0; d < nd; d++) change[d] = third[d] - second[d] - (next[d] - k[d]);
    const int on_ramp = begin <= distance(next, k, nd) && distance(change, NULL, nd) > max_step_difference * step;
    return (on_ramp || (nd == 2 && begin <= max_start_radius * step)) && begin < distance(next, NULL, nd) &&
           begin < far;
}

static int rests_at_centre(const double *k, int nd, int64_t n)
{
    const double *last = k + nd * (n - 1);
    if (n < FEWEST_SAMPLES) return 0;
    return (is_at_rest(k, nd, nd, distance(last, NULL, nd)) ? STARTS_AT_CENTRE : 0) |
           (is_at_rest(last, -nd, nd, distance(k, NULL, nd)) ? ENDS_AT_CENTRE : 0);
}

int lmr_rests_before(const double *k, int nd, int64_t n)
{
    return rests_at_centre(k, nd, n) & STARTS_AT_CENTRE;
}

/* The same, along a straight line where there are too few samples for a cubic or none on one side; up to 0 at an
 * end that rests in the centre. */
static double value_at(const double *x, int64_t stride, int64_t n, double place, int rests, double *slope)
{
    *slope = 0;
    if (n == 1) return x[0];
    if (n >= 4 && place >= 0 && place <= (double)(n - 1)) return cubic_at(x, stride, n, place, slope);
    int64_t first = place < 0 ? 0 : (int64_t)fmin(floor(place), (double)(n - 2));
    const double a = x[stride * first], b = x[stride * (first + 1)];
    const double value = a + (place - (double)first) * (b - a);
    const int begin = place < 0 && rests & STARTS_AT_CENTRE;
    const int end = place > (double)(n - 1) && rests & ENDS_AT_CENTRE;
    const double outward = begin ? b - a : a - b;
    if ((begin || end) && value * outward <= 0) return 0;
    *slope = b - a;
    return value;
}

void lmr_delay_place(const double *k, int nd, int64_t n, int64_t i, const double delay[LMR_DELAYS], const double *fov,
                     double *place, double *slope)
{
    if (slope) memset(slope, 0, sizeof *slope * (size_t)(LMR_DELAYS * nd));
    const int rests = rests_at_centre(k, nd, n);
    double rate;
    for (int d = 0; d < nd; d++) {
        place[d] = value_at(k + d, nd, n, (double)i - delay[d], rests, &rate);
        if (slope) slope[d + nd * d] = -rate;
    }
    for (int e = 3; e < LMR_DELAYS; e++) {
        int a, b;
        lmr_delay_axes(e, &a, &b);
        if (b >= nd || (delay[e] == 0 && !slope)) continue;
        const double ratio = fov ? fov[a] / fov[b] : 1;
        const double at = (double)i - delay[e];
        place[a] += ratio * (value_at(k + b, nd, n, at, rests, &rate) - k[b + nd * i]);
        if (slope) slope[a + nd * e] = -rate * ratio;
        place[b] += (value_at(k + a, nd, n, at, rests, &rate) - k[a + nd * i]) / ratio;
        if (slope) slope[b + nd * e] = -rate / ratio;
    }
}

static larmor_status check(const double delay[LMR_DELAYS], const double *fov, int nd, int64_t n)
{
    for (int e = 0; e < LMR_DELAYS; e++) {
        int a, b;
        lmr_delay_axes(e, &a, &b);
        LMR_REFUSE(b < nd && (!isfinite(delay[e]) || fabs(delay[e]) > (double)n), LARMOR_ERR_ARG,
                   "traj delay: got %g samples, expected at most the %lld of a readout", delay[e], (long long)n);
    }
    for (int d = 0; d < nd && fov; d++)
        LMR_REFUSE(!isfinite(fov[d]) || !(fov[d] > 0), LARMOR_ERR_ARG,
                   "traj delay: got a field of view of %g, expected more than 0", fov[d]);
    return LARMOR_OK;
}

larmor_status larmor_traj_delay(const larmor_array *traj, const double delay[6], const double *fov,
                                larmor_array **delayed)
{
    LMR_NEED_OUT(delayed, delay);
    const larmor_shape shape = larmor_array_shape(traj);
    LMR_REFUSE(!lmr_is_real(larmor_array_dtype(traj)) || shape.ndim != 3 || shape.dim[0] < 1 || shape.dim[0] > 3,
               LARMOR_ERR_SHAPE, "traj delay: got %s, expected f32 or f64 [nd, samples, readouts]",
               lmr_describe(traj).s);
    const int nd = (int)shape.dim[0];
    const int64_t n = shape.dim[1], readouts = shape.dim[2];
    LMR_TRY(check(delay, fov, nd, n));
    LMR_OWN_MEMORY(double, from, larmor_array_download(traj, LARMOR_F64, &from));
    LMR_HEAP LMR_NEW(double, to, nd *n *readouts);
    for (int64_t i = 0; i < n * readouts; i++)
        lmr_delay_place(from + nd * n * (i / n), nd, n, i % n, delay, fov, to + nd * i, NULL);
    return larmor_array_upload(larmor_array_device(traj), LARMOR_F64, shape, LARMOR_F64, to, delayed);
}
