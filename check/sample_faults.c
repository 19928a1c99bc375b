/* Clipped samples, spikes, and the place of the echo. SPDX-License-Identifier: Apache-2.0 */
#include "check/sample_faults.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/device.h"
#include "core/owned.h"
#include "core/parallel.h"
#include "core/select.h"
#include "core/status.h"

/* Rules of thumb, silent on right simulated scans and on the real ones at hand (docs/checking.md). */
#define MIN_SPIKE_RADIUS 0.25   /* of what the trajectory reaches */
#define MIN_BESIDE_RATIO 4      /* to the samples at its place in the readouts before and after */
#define REL_ROUNDING 1e-6       /* relative: values that are the same */
#define MIN_OTHER_VALUE 1e-4    /* of the largest: values that are not */
#define MIN_OTHER_DISTANCE 1e-3 /* cycles per field of view */
#define MIN_ECHO_DISTANCE 3     /* cycles per field of view */
#define MAX_CENTRE_DISTANCE 0.6 /* cycles per field of view: readouts that pass it at most so far away */
#define MIN_CARRIER 10 /* to the power of any other frequency; 340 right scans: 6.9, three with a carrier: 25 to 83 */
#define CENTRE_RADIUS 0.25 /* of what the trajectory reaches */
#define MAX_FLAT_RATIO                                                                                               \
    2 /* magnitude in the centre over that in the outermost part: of noise, 1; of coils, 10 and more */
#define MIN_LOUD_RATIO 5 /* of the usual magnitude of coils in the outermost part */
enum { TAIL = 64, TAILS = 64, BINS = 2 * TAIL, LEAST_TAIL = 12, PEAK = 5, SLOW = 3, MIN_ZEROS = 6 };
enum { RINGS = 24, FEWEST_OF_RING = 16, OF_RING = 512, MIN_CLIPPED = 6, MIN_ECHOES = 4, MOST_PLACES = 32 };
enum { INNER_RINGS = 3, OUTER_RINGS = 6, FEWEST_COILS = 3, MIN_CLIPPED_COILS = 3 };

enum { PIECES = 64 }; /* of the readouts, so that sums do not depend on threads */

/* What a coil has in some of the readouts. */
typedef struct piece {
    float most; /* of the real and imaginary parts */
    double largest, reach;
    int64_t spikes, spike, clipped; /* spike: the largest one's sample */
} piece;

/* The length of the tails, at which end they are, and how far apart the readouts are that they are of. */
typedef struct tails {
    int64_t length, first, apart, count;
} tails;

/* The largest part of all coils, and those that have it. */
typedef struct ceiling {
    int coils, varies;                /* varies: 1 if the parts beside those that have it differ */
    int64_t count, most, first, coil; /* values; those of the coil with most of them, and its first one */
    double value, beside;             /* beside: of the first value */
} ceiling;

typedef struct view {
    int nd;
    int64_t n, readouts, points, coils; /* points = n readouts */
    const int64_t *matrix;              /* [3] */
    double reach;                       /* of |2 k / N|, at most 1 */
    const double *k;                    /* [nd, points] */
    int threads;
    float *x;              /* complex [points] of a coil */
    float *radius;         /* [points] |2 k / N|, 1 at the farthest within the matrix */
    unsigned char *ring;   /* [points] of RINGS, by radius */
    float *size;           /* [points] magnitudes of a coil */
    double *energy;        /* [points] of all coils; samples of 1e-30 have one, too */
    float *values;         /* [RINGS, OF_RING] */
    char *repeats;         /* [readouts] 1: the samples of the readout before, in all coils so far */
    tails tails;           /* of some readouts */
    float *tail;           /* complex [BINS, count, coils] */
    double *spectrum;      /* [BINS, TAILS] their power, of all coils */
    double *inner, *outer; /* [coils] the magnitude in the centre and in the outermost part */
    float *peak;           /* [readouts] how far from the centre a readout is largest; < 0: beside it */
    const double *level;   /* [RINGS] of a coil */
    float limit;           /* of a coil: parts that are just its largest */
    ceiling ceiling;
    piece piece[PIECES];
} view;

static int64_t first_readout(const view *v, int64_t p)
{
    return v->readouts / PIECES * p + v->readouts % PIECES * p / PIECES;
}

static int64_t first_point(const view *v, int64_t p)
{
    return v->n * first_readout(v, p);
}

/* ---- geometry ---- */

static void find_radii_of(void *self, int64_t p)
{
    view *v = self;
    v->piece[p].reach = 0;
    for (int64_t i = first_point(v, p); i < first_point(v, p + 1); i++) {
        double square = 0;
        for (int d = 0; d < v->nd; d++) {
            const double part = 2 * v->k[i * v->nd + d] / (double)v->matrix[d];
            square += part * part;
        }
        v->radius[i] = (float)sqrt(square);
        v->piece[p].reach = fmax(v->piece[p].reach, v->radius[i]);
    }
}

static void find_rings_of(void *self, int64_t p)
{
    view *v = self;
    for (int64_t i = first_point(v, p); i < first_point(v, p + 1); i++) {
        v->radius[i] /= (float)v->reach;
        v->ring[i] = (unsigned char)fminf(RINGS - 1, v->radius[i] * RINGS);
    }
}

static larmor_status find_radii(view *v)
{
    double reach = 0;
    LMR_TRY(lmr_parallel(v->threads, PIECES, find_radii_of, v));
    for (int p = 0; p < PIECES; p++) reach = fmax(reach, v->piece[p].reach);
    v->reach = fmax(fmin(reach, 1), 1e-9);
    return lmr_parallel(v->threads, PIECES, find_rings_of, v);
}

static double distance(const view *v, int64_t i, int64_t j)
{
    double square = 0;
    for (int d = 0; d < v->nd; d++) square += pow(v->k[i * v->nd + d] - v->k[j * v->nd + d], 2);
    return sqrt(square);
}

static double from_centre(const view *v, int64_t i)
{
    double square = 0;
    for (int d = 0; d < v->nd; d++) square += pow(v->k[i * v->nd + d], 2);
    return sqrt(square);
}

/* ---- spikes ---- */

/* The magnitude that nine tenths of some of a coil's samples have at most, by radius. */
static void find_levels(view *v, double level[RINGS])
{
    int count[RINGS] = {0};
    const int64_t apart = (v->points / (RINGS * OF_RING)) | 1;
    for (int64_t i = 0; i < v->points; i += apart) {
        const int ring = v->ring[i];
        if (count[ring] < OF_RING) v->values[ring * OF_RING + count[ring]++] = v->size[i];
    }
    for (int ring = 0; ring < RINGS; ring++) {
        float *values = v->values + ring * OF_RING;
        level[ring] = count[ring] < FEWEST_OF_RING
                          ? INFINITY
                          : (double)lmr_select_f32(values, count[ring], (int)(0.9 * (count[ring] - 1)));
    }
}

/* The largest of the samples beside it, three to five samples away, where an echo or an axis of k-space is smooth. */
static double beside_in_readout(const view *v, int64_t point)
{
    const int64_t at = point % v->n;
    double most = 0;
    for (int64_t step = -5; step <= 5; step++)
        if (llabs(step) >= 3 && at + step >= 0 && at + step < v->n) most = fmax(most, (double)v->size[point + step]);
    return most;
}

static double beside_in_time(const view *v, int64_t point)
{
    double most = 0;
    for (int turn = -1; turn <= 1; turn += 2)
        for (int step = -1; step <= 1; step++) {
            const int64_t at = point + turn * v->n + step;
            if (at >= 0 && at < v->points) most = fmax(most, (double)v->size[at]);
        }
    return most;
}

static int is_spike(const view *v, int64_t i)
{
    const double here = (double)v->size[i];
    return v->radius[i] >= (float)MIN_SPIKE_RADIUS && here > LMR_MIN_SPIKE_RATIO * v->level[v->ring[i]] &&
           here >= LMR_MIN_SPIKE_RATIO * beside_in_readout(v, i) && here >= MIN_BESIDE_RATIO * beside_in_time(v, i);
}

static void look_for_faults(void *self, int64_t p)
{
    view *v = self;
    piece *to = &v->piece[p];
    to->largest = 0;
    to->spikes = to->spike = to->clipped = 0;
    for (int64_t i = first_point(v, p); i < first_point(v, p + 1); i++) {
        to->clipped += fabsf(v->x[2 * i]) >= v->limit || fabsf(v->x[2 * i + 1]) >= v->limit;
        if (!is_spike(v, i)) continue;
        to->spikes++;
        if ((double)v->size[i] <= to->largest) continue;
        to->largest = (double)v->size[i];
        to->spike = i;
    }
}

static void count_spikes(const view *v, int64_t coil, double *largest, larmor_sample_faults *out)
{
    for (const piece *p = v->piece; p < v->piece + PIECES; p++) {
        out->spikes += p->spikes;
        if (p->largest <= *largest) continue;
        *largest = p->largest;
        out->spike_readout = p->spike / v->n;
        out->spike_sample = p->spike % v->n;
        out->spike_coil = (int)coil;
    }
}

/* ---- coils that hold noise alone ---- */

static void note_levels(const view *v, int64_t coil, const double level[RINGS])
{
    double inner = 0, outer = INFINITY;
    for (int ring = 0; ring < INNER_RINGS; ring++)
        if (isfinite(level[ring])) inner = fmax(inner, level[ring]);
    for (int ring = RINGS - OUTER_RINGS; ring < RINGS; ring++) outer = fmin(outer, level[ring]);
    v->inner[coil] = inner;
    v->outer[coil] = isfinite(outer) ? outer : 0;
}

/* A coil without signal is as loud at the edge of k-space as in the centre. It is no harm where it is as quiet as
 * others there. */
static void count_noisy(const view *v, larmor_sample_faults *out)
{
    double *sorted = v->spectrum, usual, most = 0; /* which is not needed any more */
    const int64_t coils = v->coils < BINS * TAILS ? v->coils : BINS * TAILS;
    if (coils < FEWEST_COILS) return;
    memcpy(sorted, v->outer, (size_t)coils * sizeof *sorted);
    usual = lmr_select_f64(sorted, coils, (coils - 1) / 2);
    for (int64_t c = 0; c < coils; c++) {
        if (!(v->inner[c] > 0) || v->inner[c] > MAX_FLAT_RATIO * v->outer[c] ||
            !(v->outer[c] > MIN_LOUD_RATIO * usual))
            continue;
        out->noisy++;
        if (v->outer[c] <= most) continue;
        most = v->outer[c];
        out->noisy_coil = (int)c;
    }
}

/* ---- clipping ---- */

static float largest_part(const view *v)
{
    float most = 0;
    for (int p = 0; p < PIECES; p++) most = fmaxf(most, v->piece[p].most);
    return most;
}

/* The first of the real and imaginary parts from i on that is just the largest one; 2 points: none. */
static int64_t next_clipped(const view *v, int64_t i)
{
    for (int p = 0; p < PIECES; p++) {
        const int64_t end = 2 * first_point(v, p + 1);
        if (i >= end) continue;
        if (v->piece[p].clipped)
            for (; i < end; i++)
                if (!(fabsf(v->x[i]) < v->limit)) return i;
        i = end;
    }
    return 2 * v->points;
}

/* Coils of a symmetric object have one largest part, too, but then all have the same one beside it. */
static void add_to_ceiling(view *v, int64_t coil, int64_t count, int64_t first, int varies)
{
    ceiling *c = &v->ceiling;
    const double value = fabs((double)v->x[first]), beside = fabs((double)v->x[first ^ 1]);
    if (value < c->value * (1 - REL_ROUNDING)) return;
    if (value > c->value * (1 + REL_ROUNDING)) *c = (ceiling){.value = value, .beside = beside};
    c->coils++;
    c->count += count;
    c->varies |= varies || fabs(beside - c->beside) > MIN_OTHER_VALUE * value;
    if (count <= c->most) return;
    c->most = count;
    c->first = first;
    c->coil = coil;
}

/* Real and imaginary parts that are just the largest one of their coil: a converter that is full gives many of
 * them, with other parts that are not. Samples at one place of k-space, such as its centre, are alike without
 * noise, and count once. */
static void count_clipped(view *v, int64_t coil, larmor_sample_faults *out)
{
    int64_t place[MOST_PLACES], count = 0, first = -1;
    int places = 0, varies = 0;
    const float most = largest_part(v);
    for (int64_t i = next_clipped(v, 0); i < 2 * v->points && most > 0; i = next_clipped(v, i + 1)) {
        int known = 0;
        for (int j = 0; j < places && !known; j++) known = distance(v, i / 2, place[j]) < MIN_OTHER_DISTANCE;
        if (first < 0) first = i;
        varies |= fabsf(fabsf(v->x[i ^ 1]) - fabsf(v->x[first ^ 1])) > (float)MIN_OTHER_VALUE * most;
        if (known) continue;
        if (places < MOST_PLACES) place[places++] = i / 2;
        count++;
    }
    if (first >= 0) add_to_ceiling(v, coil, count, first, varies);
    if (count < MIN_CLIPPED || !varies || count <= out->clipped) return;
    out->clipped = count;
    out->clipped_coil = (int)coil;
    out->clipped_value = (double)most;
    out->clipped_readout = first / 2 / v->n;
    out->clipped_sample = first / 2 % v->n;
}

/* Lines that pass the centre once give few such values in each coil, but the same one in many. */
static void find_ceiling(const view *v, larmor_sample_faults *out)
{
    const ceiling *c = &v->ceiling;
    if (out->clipped || c->coils < MIN_CLIPPED_COILS || c->count < MIN_CLIPPED || !c->varies) return;
    out->clipped = c->most;
    out->clipped_coil = (int)c->coil;
    out->clipped_value = c->value;
    out->clipped_readout = c->first / 2 / v->n;
    out->clipped_sample = c->first / 2 % v->n;
}

/* ---- the echo ---- */

static void find_peaks(void *self, int64_t p)
{
    view *v = self;
    for (int64_t r = first_readout(v, p); r < first_readout(v, p + 1); r++) {
        int64_t at = r * v->n;
        double least = INFINITY;
        for (int64_t i = r * v->n; i < (r + 1) * v->n; i++) {
            if (v->energy[i] > v->energy[at]) at = i;
            least = fmin(least, from_centre(v, i));
        }
        v->peak[r] = least < MAX_CENTRE_DISTANCE ? (float)from_centre(v, at) : -1;
    }
}

/* How far from k = 0 the signal of readouts that pass it is largest: the median. A coil of noise alone that is far
 * louder than others has its largest sample anywhere. */
static larmor_status find_echo(view *v, larmor_sample_faults *out)
{
    int64_t count = 0;
    LMR_TRY(lmr_parallel(v->threads, PIECES, find_peaks, v));
    for (int64_t r = 0; r < v->readouts; r++)
        if (v->peak[r] >= 0) v->peak[count++] = v->peak[r];
    const double usual = count ? (double)lmr_select_f32(v->peak, count, (count - 1) / 2) : 0;
    if (count >= MIN_ECHOES && usual > MIN_ECHO_DISTANCE && !out->noisy) out->echo_distance = usual;
    return LARMOR_OK;
}

/* ---- readouts that repeat others, and zeros ---- */

/* Readouts at one place are alike without noise. */
static void count_copied(const view *v, larmor_sample_faults *out)
{
    for (int64_t r = 1; r < v->readouts; r++) {
        double energy = 0, away = 0;
        if (!v->repeats[r]) continue;
        for (int64_t i = r * v->n; i < (r + 1) * v->n; i++) {
            energy += v->energy[i];
            away = fmax(away, distance(v, i, i - v->n));
        }
        if (!(energy > 0) || away < MIN_OTHER_DISTANCE) continue;
        if (!out->copied) out->copied_readout = r;
        out->copied++;
    }
}

static void count_zeros(const view *v, larmor_sample_faults *out)
{
    int64_t count = 0, first = -1;
    for (int64_t r = 0; r < v->readouts; r++) {
        int64_t low = r * v->n, high = (r + 1) * v->n - 1;
        while (low < high && v->energy[low] == 0) low++;
        while (low < high && v->energy[high] == 0) high--;
        for (int64_t i = low; i < high; i++) {
            if (v->energy[i] != 0 || v->radius[i] > (float)CENTRE_RADIUS) continue;
            if (first < 0) first = r;
            count++;
        }
    }
    if (count < MIN_ZEROS) return;
    out->zeros = count;
    out->zeros_readout = first;
}

/* ---- a carrier ---- */

static tails choose_tails(const view *v)
{
    tails t = {.apart = (v->readouts + TAILS - 1) / TAILS};
    double at_start = 0, at_end = 0;
    t.length = v->n / 3;
    if (t.length > TAIL) t.length = TAIL;
    t.count = (v->readouts + t.apart - 1) / t.apart;
    for (int64_t r = 0; r < v->readouts; r += t.apart)
        for (int64_t i = 0; i < t.length; i++) {
            at_start += (double)v->radius[r * v->n + i];
            at_end += (double)v->radius[(r + 1) * v->n - 1 - i];
        }
    t.first = at_start > at_end ? 0 : v->n - t.length;
    return t;
}

/* Under a window of Hann's, and zeros behind, so that there are BINS of it. */
static void keep_tails(const view *v, int64_t coil)
{
    const tails *t = &v->tails;
    for (int64_t j = 0; j < t->count; j++) {
        const float *x = v->x + 2 * (j * t->apart * v->n + t->first);
        float *to = v->tail + 2 * BINS * (j + t->count * coil);
        for (int64_t i = 0; i < t->length; i++) {
            const float window = (float)(1 - cos(2 * M_PI * ((double)i + 0.5) / (double)t->length));
            to[2 * i] = window * x[2 * i];
            to[2 * i + 1] = window * x[2 * i + 1];
        }
    }
}

static larmor_status transform(larmor_array *x)
{
    const int64_t dim[3] = {BINS, 1, 1};
    const lmr_fft *fft = lmr_fft_of(x);
    void *ctx = x->dev->ctx, *plan = NULL;
    LMR_TRY(fft->plan(ctx, 1, dim, x->shape.dim[1], &plan));
    const larmor_status st = fft->exec(ctx, plan, -1, x->data);
    fft->destroy(ctx, plan);
    return st;
}

static larmor_status find_spectrum(view *v, larmor_device *dev)
{
    const int64_t count = v->tails.count;
    LMR_OWNED(larmor_array) *all = NULL;
    LMR_TRY(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(BINS, count * v->coils), LARMOR_C64, v->tail, &all));
    LMR_TRY(transform(all));
    LMR_TRY(larmor_array_read(all, v->tail, larmor_array_bytes(all)));
    for (int64_t i = 0; i < BINS * count * v->coils; i++)
        v->spectrum[i % (BINS * count)] += pow((double)v->tail[2 * i], 2) + pow((double)v->tail[2 * i + 1], 2);
    return LARMOR_OK;
}

/* A carrier is one frequency in all readouts, where the object's edges are at as many as there are readouts. */
static void find_carrier(const view *v, larmor_sample_faults *out)
{
    const tails t = v->tails;
    double level[BINS], values[BINS], others = 0; /* BINS are more than TAILS */
    int peak = 0;
    if (t.length < LEAST_TAIL) return;
    for (int64_t j = 0; j < t.count; j++) {
        memcpy(values, v->spectrum + BINS * j, sizeof level);
        const double usual = lmr_median_f64(values, BINS);
        for (int bin = 0; bin < BINS; bin++) v->spectrum[bin + BINS * j] /= usual > 0 ? usual : 1;
    }
    for (int bin = 0; bin < BINS; bin++) {
        for (int64_t j = 0; j < t.count; j++) values[j] = v->spectrum[bin + BINS * j];
        level[bin] = lmr_median_f64(values, t.count);
        if (level[bin] > level[peak]) peak = bin;
    }
    const int64_t width = PEAK * TAIL / t.length, slow = SLOW * TAIL / t.length;
    for (int bin = 0; bin < BINS; bin++) {
        const int away = abs(bin - peak);
        if (away >= width && BINS - away >= width) others = fmax(others, level[bin]);
    }
    if (peak < slow || BINS - peak < slow || !(level[peak] > MIN_CARRIER * others)) return;
    out->carrier = level[peak] / others;
    out->carrier_frequency = (double)(peak > TAIL ? peak - BINS : peak) / BINS;
}

/* ---- all of it ---- */

static void measure(void *self, int64_t p)
{
    view *v = self;
    const float *x = v->x;
    float most = 0;
    for (int64_t i = first_point(v, p); i < first_point(v, p + 1); i++) {
        const double re = (double)x[2 * i], im = (double)x[2 * i + 1];
        v->energy[i] += re * re + im * im;
        v->size[i] = (float)sqrt(re * re + im * im);
        most = fmaxf(most, fmaxf(fabsf(x[2 * i]), fabsf(x[2 * i + 1])));
    }
    v->piece[p].most = most;
    for (int64_t r = first_readout(v, p); r < first_readout(v, p + 1); r++) {
        const float *own = x + 2 * v->n * r;
        v->repeats[r] = r && v->repeats[r] && !memcmp(own, own - 2 * v->n, (size_t)(2 * v->n) * sizeof *own);
    }
}

static larmor_status look_at_coil(larmor_array *kspace, int64_t coil, double *largest, view *v,
                                  larmor_sample_faults *out)
{
    LMR_OWNED(larmor_array) *one = NULL, *single = NULL;
    double level[RINGS];
    LMR_TRY(larmor_array_slice(kspace, coil, 1, &one));
    LMR_TRY(larmor_array_convert(one, LARMOR_C64, &single));
    LMR_TRY(larmor_array_read(single, v->x, larmor_array_bytes(single)));
    LMR_TRY(lmr_parallel(v->threads, PIECES, measure, v));
    find_levels(v, level);
    v->level = level;
    v->limit = largest_part(v) * (1 - (float)REL_ROUNDING);
    LMR_TRY(lmr_parallel(v->threads, PIECES, look_for_faults, v));
    count_spikes(v, coil, largest, out);
    note_levels(v, coil, level);
    count_clipped(v, coil, out);
    keep_tails(v, coil);
    v->level = NULL;
    return lmr_go_on();
}

larmor_status lmr_sample_faults_find(const larmor_samples *samples, const int64_t matrix[3],
                                     larmor_sample_faults *out)
{
    const larmor_shape shape = larmor_array_shape(samples->kspace);
    view v = {.nd = (int)larmor_array_shape(samples->traj).dim[0],
              .n = shape.dim[0],
              .readouts = shape.dim[1],
              .points = shape.dim[0] * shape.dim[1],
              .coils = shape.dim[2],
              .matrix = matrix,
              .threads = lmr_device_threads(larmor_array_device(samples->kspace))};
    double *k = NULL, largest = 0;
    larmor_status st;
    *out = (larmor_sample_faults){0};
    v.radius = lmr_new(v.points, sizeof *v.radius);
    v.ring = lmr_new(v.points, sizeof *v.ring);
    v.size = lmr_new(v.points, sizeof *v.size);
    v.energy = calloc((size_t)v.points + 1, sizeof *v.energy);
    v.values = lmr_new(RINGS * OF_RING, sizeof *v.values);
    v.repeats = lmr_new(v.readouts + 1, sizeof *v.repeats);
    v.spectrum = calloc(BINS * TAILS, sizeof *v.spectrum);
    v.inner = lmr_new(v.coils, sizeof *v.inner);
    v.outer = lmr_new(v.coils, sizeof *v.outer);
    v.peak = lmr_new(v.readouts, sizeof *v.peak);
    v.x = lmr_new(2 * v.points, sizeof *v.x);
    if (!v.peak || !v.x) LMR_OR(done, LMR_NO_MEMORY());
    if (!v.ring || !v.size || !v.inner || !v.outer) LMR_OR(done, LMR_NO_MEMORY());
    if (!v.radius || !v.energy || !v.values || !v.repeats || !v.spectrum) LMR_OR(done, LMR_NO_MEMORY());
    LMR_OR(done, larmor_array_download(samples->traj, LARMOR_F64, &k));
    v.k = k;
    memset(v.repeats, 1, (size_t)v.readouts + 1);
    LMR_OR(done, find_radii(&v));
    v.tails = choose_tails(&v);
    v.tail = calloc((size_t)(BINS * v.tails.count * v.coils), 2 * sizeof *v.tail);
    if (!v.tail) LMR_OR(done, LMR_NO_MEMORY());
    for (int64_t c = 0; c < v.coils; c++) LMR_OR(done, look_at_coil(samples->kspace, c, &largest, &v, out));
    if (v.tails.length >= LEAST_TAIL) LMR_OR(done, find_spectrum(&v, larmor_array_device(samples->kspace)));
    find_ceiling(&v, out);
    count_copied(&v, out);
    count_zeros(&v, out);
    find_carrier(&v, out);
    count_noisy(&v, out);
    st = find_echo(&v, out);
done:
    LMR_FREE(k, v.x, v.peak, v.outer, v.inner, v.spectrum);
    LMR_FREE(v.repeats, v.values, v.energy, v.radius, v.ring, v.size, v.tail);
    return st;
}

void lmr_sample_faults_join(const larmor_sample_faults *more, larmor_sample_faults *all)
{
    const larmor_sample_faults before = *all;
    if (!before.clipped) {
        all->clipped_coil = more->clipped_coil;
        all->clipped_value = more->clipped_value;
        all->clipped_readout = more->clipped_readout;
        all->clipped_sample = more->clipped_sample;
    }
    if (!before.spikes) {
        all->spike_coil = more->spike_coil;
        all->spike_readout = more->spike_readout;
        all->spike_sample = more->spike_sample;
    }
    if (!before.copied) all->copied_readout = more->copied_readout;
    if (!before.zeros) all->zeros_readout = more->zeros_readout;
    if (!before.noisy) all->noisy_coil = more->noisy_coil;
    all->noisy = before.noisy > more->noisy ? before.noisy : more->noisy;
    if (more->carrier > before.carrier) {
        all->carrier = more->carrier;
        all->carrier_frequency = more->carrier_frequency;
    }
    all->copied += more->copied;
    all->zeros += more->zeros;
    all->clipped += more->clipped;
    all->spikes += more->spikes;
    all->echo_distance = fmax(before.echo_distance, more->echo_distance);
}
