/* One frequency that all readouts have at their ends. SPDX-License-Identifier: Apache-2.0 */
#include "recon/describe/carrier.h"

#include <complex.h>

#include "core/core.h"
#include "recon/inputs.h"

#define MIN_CARRIER 10 /* to the power of any other frequency; 340 right scans: 6.9, three with a carrier: 25 to 83 */
#define MIN_SHARE .8   /* of the readouts, which have their largest power at that frequency */
#define MAX_LOCKED .5  /* of 1: phases from line to line, which are all alike for a small object */
#define CROOKED 1e-8   /* of 1: what the product of directions of two lines lacks; that of two spokes lacks more */
enum { TAIL = 64, TAILS = 64, BINS = 2 * TAIL, LEAST_TAIL = 12, LEAST_TAILS = 4, PEAK = 5, SLOW = 3 };

/* The length of the tails, at which end they are, and how far apart the readouts are that they are of. */
typedef struct tails {
    int64_t length, first, apart, count;
} tails;

larmor_status larmor_pick_samples(const larmor_array *kspace, const int64_t *index, int64_t count, float **x)
{
    LMR_NEED(kspace, index);
    LMR_NEED_OUT(x);
    LMR_OWNED(larmor_array) *at = NULL, *ones = NULL, *values = NULL;
    const larmor_shape shape = larmor_array_shape(kspace);
    const lmr_recon_kernels *kernels;
    LMR_REFUSE(shape.ndim != 3 || !lmr_is_complex(kspace->dtype), LARMOR_ERR_SHAPE,
               "samples: k-space is %s, expected complex [samples, readouts, coils]", lmr_describe(kspace).s);
    for (int64_t i = 0; i < count; i++)
        LMR_REFUSE(index[i] < 0 || index[i] >= shape.dim[0] * shape.dim[1], LARMOR_ERR_ARG,
                   "samples: number %lld of %lld", (long long)index[i], (long long)(shape.dim[0] * shape.dim[1]));
    LMR_TRY(lmr_recon_kernels_of(kspace->dev, kspace->dtype, &kernels));
    LMR_TRY(larmor_array_upload(kspace->dev, LARMOR_I64, LARMOR_SHAPE(count), LARMOR_I64, index, &at));
    LMR_TRY(larmor_array_create(kspace->dev, LARMOR_F64, LARMOR_SHAPE(count), &ones));
    LMR_TRY(larmor_fill(ones, 1));
    LMR_TRY(larmor_array_create(kspace->dev, kspace->dtype, LARMOR_SHAPE(count, shape.dim[2]), &values));
    LMR_TRY(kernels->gather(kspace->dev->ctx, shape.dim[0] * shape.dim[1], count, shape.dim[2], at->data, ones->data,
                            kspace->data, values->data));
    return larmor_array_download(values, LARMOR_C64, x);
}

static tails choose_tails(const float *radius, int64_t n, int64_t readouts)
{
    tails t = {.apart = (readouts + TAILS - 1) / TAILS};
    double at_start = 0, at_end = 0;
    t.length = n / 3;
    if (t.length > TAIL) t.length = TAIL;
    t.count = (readouts + t.apart - 1) / t.apart;
    for (int64_t r = 0; r < readouts; r += t.apart)
        for (int64_t i = 0; i < t.length; i++) {
            at_start += (double)radius[r * n + i];
            at_end += (double)radius[(r + 1) * n - 1 - i];
        }
    t.first = at_start > at_end ? 0 : n - t.length;
    return t;
}

/* Under a window of Hann's, and zeros behind, so that there are BINS of it: [BINS, count, coils]. */
static larmor_status take_tails(const tails *t, const larmor_array *kspace, float *tail)
{
    const larmor_shape shape = larmor_array_shape(kspace);
    const int64_t all = t->count * t->length;
    LMR_HEAP LMR_NEW(int64_t, index, all);
    float window[TAIL];
    for (int64_t i = 0; i < t->length; i++)
        window[i] = (float)(1 - cos(2 * M_PI * ((double)i + 0.5) / (double)t->length));
    for (int64_t i = 0; i < all; i++) index[i] = i / t->length * t->apart * shape.dim[0] + t->first + i % t->length;
    LMR_OWN_MEMORY(float, x, larmor_pick_samples(kspace, index, all, &x));
    for (int64_t r = 0; r < t->count * shape.dim[2]; r++)
        for (int64_t i = 0; i < 2 * t->length; i++) tail[2 * BINS * r + i] = window[i / 2] * x[2 * t->length * r + i];
    return LARMOR_OK;
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

/* spectrum [BINS, count]: their power, of all coils. */
static larmor_status find_spectrum(const tails *t, const larmor_array *kspace, double *spectrum)
{
    const int64_t each = BINS * t->count, coils = larmor_array_shape(kspace).dim[2];
    LMR_HEAP LMR_NEW_ZEROS(float, tail, 2 * each * coils);
    LMR_TRY(take_tails(t, kspace, tail));
    LMR_OWN(
        larmor_array, all,
        larmor_array_upload(kspace->dev, LARMOR_C64, LARMOR_SHAPE(BINS, t->count * coils), LARMOR_C64, tail, &all));
    LMR_TRY(transform(all));
    LMR_TRY(larmor_array_read(all, tail, larmor_array_bytes(all)));
    for (int64_t c = 0; c < coils; c++)
        for (int64_t i = 0; i < each; i++) {
            const double re = (double)tail[2 * (i + each * c)], im = (double)tail[2 * (i + each * c) + 1];
            spectrum[i] += re * re + im * im;
        }
    return LARMOR_OK;
}

/* Of each frequency the median over the readouts, of power relative to that of the readout's usual frequency. */
static void find_levels(const tails *t, double *spectrum, double level[BINS])
{
    double values[BINS]; /* BINS are more than TAILS */
    for (int64_t j = 0; j < t->count; j++) {
        memcpy(values, spectrum + BINS * j, sizeof values);
        const double usual = lmr_median_f64(values, BINS);
        for (int bin = 0; bin < BINS; bin++) spectrum[bin + BINS * j] /= usual > 0 ? usual : 1;
    }
    for (int bin = 0; bin < BINS; bin++) {
        for (int64_t j = 0; j < t->count; j++) values[j] = spectrum[bin + BINS * j];
        level[bin] = lmr_median_f64(values, t->count);
    }
}

/* The part of the readouts that have their largest power within `width` bins of the peak. */
static double share_at(const tails *t, const double *spectrum, int peak, int64_t width)
{
    int64_t there = 0;
    for (int64_t j = 0; j < t->count; j++) {
        int most = 0;
        for (int bin = 0; bin < BINS; bin++)
            if (spectrum[bin + BINS * j] > spectrum[most + BINS * j]) most = bin;
        const int away = abs(most - peak);
        there += away <= width || BINS - away <= width;
    }
    return (double)there / (double)t->count;
}

/* 1 if the tails of readouts r and `next` lie along one direction. */
static int are_parallel(const tails *t, const double *k, int nd, int64_t n, int64_t r, int64_t next)
{
    double product = 0, a2 = 0, b2 = 0;
    for (int d = 0; d < nd; d++) {
        const double *at = k + d + nd * (t->first + n * r), *other = at + nd * n * (next - r);
        const double a = at[nd * (t->length - 1)] - at[0], b = other[nd * (t->length - 1)] - other[0];
        product += a * b;
        a2 += a * a;
        b2 += b * b;
    }
    return product > (1 - CROOKED) * sqrt(a2 * b2);
}

/* The product of a frequency in one readout and the next, of all coils. */
static double complex product_of(const tails *t, const float *x, int64_t pairs, int64_t coils, int64_t j, int peak)
{
    double complex sum = 0;
    for (int64_t c = 0; c < coils; c++) {
        double complex a[2] = {0};
        for (int64_t i = 0; i < 2 * t->length; i++) {
            const float *at = x + 2 * (i + 2 * t->length * (j + pairs * c));
            const double phase = -2 * M_PI * peak * (double)(i % t->length) / BINS;
            a[i / t->length] += ((double)at[0] + I * (double)at[1]) * cexp(I * phase);
        }
        sum += a[1] * conj(a[0]);
    }
    return sum;
}

/* How alike the phases are by which the frequency turns from line to the next: 1 for an object at one place, about
 * 0.1 for a wave that knows nothing of the lines. 0 where readouts are no lines. */
static larmor_status find_locked(const tails *t, const larmor_array *kspace, const double *k, int nd, int peak,
                                 double *locked)
{
    const larmor_shape shape = larmor_array_shape(kspace);
    int64_t index[2 * TAIL], pairs = 0;
    double complex all = 0;
    double size = 0;
    *locked = 0;
    LMR_HEAP LMR_NEW(int64_t, at, 2 * TAIL * TAILS);
    for (int64_t r = 0; r + 1 < shape.dim[1]; r += t->apart) {
        int64_t next = r + 1; /* lines of echo-planar scans are parallel to the next but one */
        if (!are_parallel(t, k, nd, shape.dim[0], r, next)) next++;
        if (next >= shape.dim[1] || !are_parallel(t, k, nd, shape.dim[0], r, next)) continue;
        for (int64_t i = 0; i < 2 * t->length; i++)
            index[i] = (r + i / t->length * (next - r)) * shape.dim[0] + t->first + i % t->length;
        memcpy(at + 2 * t->length * pairs++, index, 2 * (size_t)t->length * sizeof *at);
    }
    if (2 * pairs < t->count) return LARMOR_OK;
    LMR_OWN_MEMORY(float, x, larmor_pick_samples(kspace, at, 2 * t->length * pairs, &x));
    for (int64_t j = 0; j < pairs; j++) {
        const double complex one = product_of(t, x, pairs, shape.dim[2], j, peak);
        all += one;
        size += cabs(one);
    }
    *locked = size > 0 ? cabs(all) / size : 0;
    return LARMOR_OK;
}

/* A carrier is one frequency in all readouts, where the object's edges are at as many as there are readouts: few of
 * them, or readouts that follow each other in one, tell nothing. */
larmor_status lmr_carrier_find(const larmor_array *kspace, const float *radius, const double *k, int nd,
                               double *carrier, double *frequency)
{
    const larmor_shape shape = larmor_array_shape(kspace);
    const tails t = choose_tails(radius, shape.dim[0], shape.dim[1]);
    double level[BINS], others = 0, locked;
    int peak = 0;
    *carrier = *frequency = 0;
    if (t.length < LEAST_TAIL || t.count < LEAST_TAILS) return LARMOR_OK;
    LMR_HEAP LMR_NEW_ZEROS(double, spectrum, BINS *TAILS);
    LMR_TRY(find_spectrum(&t, kspace, spectrum));
    find_levels(&t, spectrum, level);
    for (int bin = 0; bin < BINS; bin++)
        if (level[bin] > level[peak]) peak = bin;
    const int64_t width = PEAK * TAIL / t.length, slow = SLOW * TAIL / t.length;
    for (int bin = 0; bin < BINS; bin++) {
        const int away = abs(bin - peak);
        if (away >= width && BINS - away >= width) others = fmax(others, level[bin]);
    }
    if (peak < slow || BINS - peak < slow || !(level[peak] > MIN_CARRIER * others)) return LARMOR_OK;
    if (share_at(&t, spectrum, peak, TAIL / t.length) < MIN_SHARE) return LARMOR_OK;
    LMR_TRY(find_locked(&t, kspace, k, nd, peak, &locked));
    if (locked > MAX_LOCKED) return LARMOR_OK;
    *carrier = level[peak] / others;
    *frequency = (double)(peak > TAIL ? peak - BINS : peak) / BINS;
    return LARMOR_OK;
}
