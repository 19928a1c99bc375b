/* Shapes of a Pulseq sequence, unpacked; gradients as lines between points; what a pulse does.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/pulseq/seq.h"

/* Points of shapes and gradients that a file of some size may make: small files claim much by repeats. */
#define LEAST_POINTS (INT64_C(1) << 20)
#define POINTS_PER_BYTE 64

static larmor_status take_points(seq *s, int64_t count)
{
    s->points += count;
    if (s->points <= LEAST_POINTS + POINTS_PER_BYTE * s->size) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: its shapes have more samples than a file of this size may.", s->path);
}

static larmor_status bad_shape(const seq *s, const seq_shape *shape)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: shape %lld does not unpack to its %lld samples.", s->path,
                    (long long)shape->id, (long long)shape->samples);
}

/* Run-length compressed differences: after two equal numbers follows how often they are repeated. Before 1.4 all
 * shapes are; since then those of as many numbers as samples are not. */
static larmor_status unpack(seq *s, seq_shape *shape)
{
    const double *from = s->pool + shape->at, *end = from + shape->packed;
    int64_t n = 0;
    if (!shape->samples) return bad_shape(s, shape);
    LMR_TRY(take_points(s, shape->samples));
    LMR_NEW(double, to, shape->samples);
    shape->values = to;
    if (!seq_before(s, 4) && shape->packed == shape->samples) {
        memcpy(to, from, (size_t)shape->samples * sizeof *to);
        return LARMOR_OK;
    }
    while (from < end) {
        int64_t repeats = 1;
        const double value = *from;
        const int marked = end - from > 1 && from[0] == from[1];
        if (marked) {
            if (end - from < 3 || !(from[2] >= 0 && from[2] <= (double)shape->samples) || from[2] != floor(from[2]))
                return bad_shape(s, shape);
            repeats = 2 + (int64_t)from[2];
        }
        if (repeats > shape->samples - n) return bad_shape(s, shape);
        for (int64_t i = 0; i < repeats; i++) to[n++] = value;
        from += marked ? 3 : 1;
    }
    if (n != shape->samples) return bad_shape(s, shape);
    for (int64_t i = 1; i < n; i++) to[i] += to[i - 1];
    return LARMOR_OK;
}

static int by_id(const void *id, const void *shape)
{
    const double x = *(const double *)id;
    const double y = (double)((const seq_shape *)shape)->id;
    return (x > y) - (x < y);
}

larmor_status seq_values(seq *s, double id, const double **values, int64_t *count)
{
    seq_shape *shape = s->shapes ? bsearch(&id, s->shape, (size_t)s->shapes, sizeof *s->shape, by_id) : NULL;
    LMR_REFUSE(!shape, LARMOR_ERR_FORMAT, "%s: shape %.6g is not there.", s->path, id);
    if (!shape->values) LMR_TRY(unpack(s, shape));
    *values = shape->values;
    *count = shape->samples;
    return LARMOR_OK;
}

/* ---- gradients ---- */

static larmor_status new_wave(seq *s, int64_t count, seq_wave *w)
{
    LMR_TRY(take_points(s, count));
    w->count = count;
    LMR_ALLOCATE(w->t, 3 * count);
    w->g = w->t + count;
    w->moment = w->g + count;
    return LARMOR_OK;
}

static larmor_status integrate(const seq *s, seq_wave *w)
{
    w->moment[0] = 0;
    for (int64_t i = 1; i < w->count; i++) {
        const double dt = w->t[i] - w->t[i - 1];
        LMR_REFUSE(!(dt >= 0), LARMOR_ERR_FORMAT, "%s: times of a gradient do not go on.", s->path);
        w->moment[i] = w->moment[i - 1] + .5 * dt * (w->g[i] + w->g[i - 1]);
    }
    if (isfinite(w->moment[w->count - 1]) && w->t[0] >= 0 && isfinite(w->t[w->count - 1])) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: a gradient begins before its block, or is not finite.", s->path);
}

static larmor_status make_trap(seq *s, const double *row, seq_wave *w)
{
    LMR_TRY(new_wave(s, 4, w));
    w->t[0] = row[TRAP_DELAY];
    w->t[1] = w->t[0] + row[TRAP_RISE];
    w->t[2] = w->t[1] + row[TRAP_FLAT];
    w->t[3] = w->t[2] + row[TRAP_FALL];
    w->g[0] = w->g[3] = 0;
    w->g[1] = w->g[2] = row[TRAP_AMPLITUDE];
    return integrate(s, w);
}

/* Points at the times of another shape, which begin and end on edges of the raster. */
static larmor_status make_timed(seq *s, const double *row, const double *shape, int64_t count, seq_wave *w)
{
    const double *times;
    int64_t timed;
    LMR_TRY(seq_values(s, row[GRADIENT_TIME], &times, &timed));
    LMR_REFUSE(timed != count, LARMOR_ERR_FORMAT, "%s: a gradient has %lld samples and %lld times.", s->path,
               (long long)count, (long long)timed);
    LMR_TRY(new_wave(s, count, w));
    for (int64_t i = 0; i < count; i++) {
        w->t[i] = row[GRADIENT_DELAY] + s->gradient_raster * times[i];
        w->g[i] = row[GRADIENT_AMPLITUDE] * shape[i];
    }
    return integrate(s, w);
}

/* Samples at the centres of the raster, or with time -1 at its centres and edges, between the values at both ends. */
static larmor_status make_sampled(seq *s, const double *row, const double *shape, int64_t count, seq_wave *w)
{
    const int is_twice = row[GRADIENT_TIME] < 0;
    const double dt = (is_twice ? .5 : 1) * s->gradient_raster;
    LMR_TRY(new_wave(s, count + 2, w));
    w->t[0] = row[GRADIENT_DELAY];
    w->g[0] = row[GRADIENT_FIRST];
    for (int64_t i = 0; i < count; i++) {
        w->t[i + 1] = w->t[0] + dt * ((double)i + (is_twice ? 1 : .5));
        w->g[i + 1] = row[GRADIENT_AMPLITUDE] * shape[i];
    }
    w->t[count + 1] = w->t[0] + dt * (double)(is_twice ? count + 1 : count);
    w->g[count + 1] = row[GRADIENT_LAST];
    return integrate(s, w);
}

larmor_status seq_make_wave(seq *s, int table, const double *row, seq_wave *out)
{
    const double *shape;
    int64_t count;
    if (table == SEQ_TRAPS) return make_trap(s, row, out);
    LMR_TRY(seq_values(s, row[GRADIENT_SHAPE], &shape, &count));
    if (row[GRADIENT_TIME] > 0) return make_timed(s, row, shape, count, out);
    return make_sampled(s, row, shape, count, out);
}

double seq_moment(const seq_wave *w, double first, double t)
{
    if (!w || t <= w->t[0] || w->count < 2) return 0;
    const double other = isnan(first) ? 0 : first - w->g[0];
    const double more = .5 * other * (w->t[1] - w->t[0]); /* of the first line */
    int64_t low = 0, high = w->count - 1;
    if (t >= w->t[high]) return w->moment[high] + more;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (w->t[middle] <= t)
            low = middle;
        else
            high = middle;
    }
    const double dt = t - w->t[low];
    const double g = w->g[low] + (low ? 0 : other);
    const double slope = (w->g[high] - g) / (w->t[high] - w->t[low]);
    return w->moment[low] + (low ? more : 0) + dt * (g + .5 * slope * dt);
}

/* ---- pulses ---- */

#define PEAK .99999       /* of the largest magnitude: within its plateau */
#define MOST_FLIP 90.01   /* degrees of a pulse that excites, if its use is not stated */
#define SATURATION_S 6e-3 /* longer ones at the frequency of fat saturate it */
#define FAT_LOW (-3.5)
#define FAT_HIGH (-3.4) /* ppm at 1.5 T, which pypulseq takes if nothing is stated */
#define HZ_PER_PPM 63.864

typedef struct pulse {
    const double *magnitude, *phase, *time; /* phase in turns; time in units of the raster, or NULL */
    int64_t count, phases;
} pulse;

static double time_of(const seq *s, const pulse *p, int64_t i)
{
    return s->rf_raster * (p->time ? p->time[i] : (double)i + .5);
}

static double peak_time(const seq *s, const pulse *p)
{
    double most = 0;
    int64_t first = -1, last = -1;
    for (int64_t i = 0; i < p->count; i++) most = fmax(most, fabs(p->magnitude[i]));
    for (int64_t i = 0; i < p->count; i++) {
        if (fabs(p->magnitude[i]) < PEAK * most) continue;
        if (first < 0) first = i;
        last = i;
    }
    return .5 * (time_of(s, p, first) + time_of(s, p, last));
}

static double flip_degrees(const seq *s, const pulse *p, double amplitude)
{
    double re = 0, im = 0;
    for (int64_t i = 0; i + 1 < p->count; i++) {
        const double area = p->magnitude[i] * (time_of(s, p, i + 1) - time_of(s, p, i));
        const double turns = p->phases == p->count ? p->phase[i] : 0;
        re += area * cos(2 * M_PI * turns);
        im += area * sin(2 * M_PI * turns);
    }
    return 360 * fabs(amplitude) * hypot(re, im);
}

static char use_of(const seq *s, const pulse *p, const double *rf, double duration)
{
    const double ppm = rf[RF_FREQUENCY] / HZ_PER_PPM;
    if (flip_degrees(s, p, rf[RF_AMPLITUDE]) < MOST_FLIP) return 'e';
    return duration > SATURATION_S && ppm >= FAT_LOW && ppm <= FAT_HIGH ? 's' : 'r';
}

larmor_status seq_pulse(seq *s, const double *rf, double *center, double *duration, char *use)
{
    pulse p = {0};
    int64_t times = 0;
    LMR_TRY(seq_values(s, rf[RF_MAGNITUDE], &p.magnitude, &p.count));
    if (rf[RF_PHASE_SHAPE] > 0) LMR_TRY(seq_values(s, rf[RF_PHASE_SHAPE], &p.phase, &p.phases));
    if (rf[RF_TIME] > 0) LMR_TRY(seq_values(s, rf[RF_TIME], &p.time, &times));
    LMR_REFUSE(p.time && times != p.count, LARMOR_ERR_FORMAT, "%s: a pulse has %lld samples and %lld times.", s->path,
               (long long)p.count, (long long)times);
    *duration = s->rf_raster * (p.time ? ceil(p.time[p.count - 1] - 1e-9) : (double)p.count);
    *use = (char)rf[RF_USE];
    *center = rf[RF_DELAY] + rf[RF_CENTER];
    if (seq_before(s, 5)) {
        *center = rf[RF_DELAY] + peak_time(s, &p);
        *use = use_of(s, &p, rf, *duration);
    }
    if (*use == 'u') *use = 'e';
    if (*use != 'e' && *use != 'r') *use = 0;
    *duration += rf[RF_DELAY];
    return isfinite(*center) && *center >= 0 && isfinite(*duration)
               ? LARMOR_OK
               : LMR_FAIL(LARMOR_ERR_FORMAT, "%s: a pulse begins before its block, or is not finite.", s->path);
}
