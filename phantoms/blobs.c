/* Gaussians of a phantom: exp(-|r|^2 / (2 s^2)) has the transform (2 pi s^2)^(n/2) exp(-2 pi^2 s^2 |k|^2) in n
 * dimensions. SPDX-License-Identifier: Apache-2.0 */
#include "phantoms/phantom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double negligible = 60; /* exp(-60) is 1e-26 */

larmor_status lmr_blob_waves(const larmor_phantom *phantom, const lmr_coils *coils, double **waves)
{
    *waves = NULL;
    if (!phantom->blobs) return LARMOR_OK;
    double *out = calloc((size_t)phantom->blobs, 2 * LMR_COIL_MODES * sizeof *out);
    if (!out) return LMR_NO_MEMORY();
    for (int i = 0; i < phantom->blobs; i++) {
        const lmr_blob *b = &phantom->blob[i];
        const double size = b->density * pow(2 * M_PI * b->sigma * b->sigma, 0.5 * phantom->ndim);
        double *re = out + 2 * LMR_COIL_MODES * i, *im = re + LMR_COIL_MODES;
        for (int m = 0; m < coils->modes; m++) {
            const double *f = coils->frequency[m];
            const double angle = 2 * M_PI * (f[0] * b->centre[0] + f[1] * b->centre[1] + f[2] * b->centre[2]);
            re[m] = size * cos(angle);
            im[m] = size * sin(angle);
        }
    }
    *waves = out;
    return LARMOR_OK;
}

/* ---- sums of waves: most of the time that a phantom of blobs takes, so written for vector units ---- */

enum { GROUP = 64 };

/* x to the nearest whole number, |x| < 2^50 */
static inline double nearest(double x)
{
    const double whole = 0x1.8p52;
    return (x + whole) - whole;
}

/* cosine[i], sine[i] of 2 pi cycles[i], |cycles| < 2^50, to 3e-16: power series after half cycles are taken off. */
static void waves_at(int count, const double *restrict cycles, double *restrict cosine, double *restrict sine)
{
    /* 1 / (2 n)! and 1 / (2 n + 1)! with alternating signs */
    static const double even[] = {1,
                                  -1.0 / 2,
                                  1.0 / 24,
                                  -1.0 / 720,
                                  1.0 / 40320,
                                  -1.0 / 3628800,
                                  1.0 / 479001600,
                                  -1.0 / 87178291200,
                                  1.0 / 20922789888000,
                                  -1.0 / 6402373705728000,
                                  1.0 / 2432902008176640000};
#pragma omp simd
    for (int i = 0; i < count; i++) {
        const double halves = nearest(2 * cycles[i]), odd = halves - 2 * nearest(halves / 2);
        const double sign = 1 - 2 * odd * odd, x = 2 * M_PI * (cycles[i] - halves / 2), q = x * x;
        double c = even[10], s = even[10] / 21;
        for (int n = 9; n >= 0; n--) {
            c = even[n] + q * c;
            s = even[n] / (2 * n + 1) + q * s;
        }
        cosine[i] = sign * c;
        sine[i] = sign * x * s;
    }
}

/* re, im [modes] += the waves [count][re, im][LMR_COIL_MODES], each multiplied by its cosine + i sine. */
static inline void add_waves(int modes, int count, const double *restrict waves, const double *restrict cosine,
                             const double *restrict sine, double *restrict re, double *restrict im)
{
    for (int i = 0; i < count; i++) {
        const double *wave_re = waves + 2 * LMR_COIL_MODES * i, *wave_im = wave_re + LMR_COIL_MODES;
#pragma omp simd
        for (int m = 0; m < modes; m++) {
            re[m] += cosine[i] * wave_re[m] - sine[i] * wave_im[m];
            im[m] += cosine[i] * wave_im[m] + sine[i] * wave_re[m];
        }
    }
}

/* sum over the blobs first .. last-1 of their waves, with the phase of their place at k. */
static void sum_waves(const lmr_spectrum *s, const double k[3], int first, int last, double re[LMR_COIL_MODES],
                      double im[LMR_COIL_MODES])
{
    double cycles[GROUP], cosine[GROUP], sine[GROUP];
    memset(re, 0, LMR_COIL_MODES * sizeof *re);
    memset(im, 0, LMR_COIL_MODES * sizeof *im);
    for (int from = first; from < last; from += GROUP) {
        const int count = last - from < GROUP ? last - from : GROUP;
        const double *waves = s->blob_waves + 2 * LMR_COIL_MODES * from;
        for (int i = 0; i < count; i++) {
            const double *at = s->phantom->blob[from + i].centre;
            cycles[i] = -(k[0] * at[0] + k[1] * at[1] + k[2] * at[2]);
        }
        waves_at(count, cycles, cosine, sine);
        if (s->coils->modes == 1)
            add_waves(1, count, waves, cosine, sine, re, im);
        else
            add_waves(LMR_COIL_MODES, count, waves, cosine, sine, re, im); /* those that are not used are 0 */
    }
}

static double square_distance(const double a[3], const double b[3])
{
    const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

void lmr_blobs_add_transform(const lmr_spectrum *s, const double k[3], double out[LMR_COIL_MODES][2])
{
    const int count = s->phantom->blobs;
    double re[LMR_COIL_MODES], im[LMR_COIL_MODES], gain[LMR_COIL_MODES];
    for (int first = 0, last; first < count; first = last) {
        const double sigma = s->phantom->blob[first].sigma, fall = 2 * M_PI * M_PI * sigma * sigma;
        for (last = first; last < count && s->phantom->blob[last].sigma == sigma;) last++;
        int seen = 0;
        for (int m = 0; m < s->coils->modes; m++) {
            const double exponent = fall * square_distance(k, s->coils->frequency[m]);
            gain[m] = exponent < negligible ? exp(-exponent) : 0;
            seen |= exponent < negligible;
        }
        if (!seen) continue;
        sum_waves(s, k, first, last, re, im);
        for (int m = 0; m < s->coils->modes; m++) {
            out[m][0] += gain[m] * re[m];
            out[m][1] += gain[m] * im[m];
        }
    }
}

/* The mean of exp(-(r - centre)^2 / (2 sigma^2)) over sub points of voxel i of n. */
static double voxel_mean(int64_t i, int64_t n, double centre, double sigma, int sub)
{
    double sum = 0;
    for (int j = 0; j < sub; j++) {
        const double r = lmr_voxel(i, n) + ((j + 0.5) / sub - 0.5) / (double)n - centre;
        sum += exp(-r * r / (2 * sigma * sigma));
    }
    return sum / sub;
}

/* The voxels of n that a blob reaches. */
static void range_of(double centre, double reach, int64_t n, int64_t *first, int64_t *last)
{
    const double middle = centre * (double)n + (double)(n / 2), half = reach * (double)n + 1;
    *first = (int64_t)fmax(0, floor(middle - half));
    *last = (int64_t)fmin((double)n - 1, ceil(middle + half));
}

void lmr_blobs_add_line(const larmor_phantom *phantom, const int64_t n[3], int64_t y, int64_t z, int sub,
                        double *line)
{
    for (int i = 0; i < phantom->blobs; i++) {
        const lmr_blob *b = &phantom->blob[i];
        const double reach = b->sigma * sqrt(2 * negligible);
        int64_t first, last;
        range_of(b->centre[1], reach, n[1], &first, &last);
        if (y < first || y > last) continue;
        double across = b->density * voxel_mean(y, n[1], b->centre[1], b->sigma, sub);
        if (phantom->ndim == 3) across *= voxel_mean(z, n[2], b->centre[2], b->sigma, sub);
        if (fabs(across) < 1e-20) continue;
        range_of(b->centre[0], reach, n[0], &first, &last);
        for (int64_t x = first; x <= last; x++) line[x] += across * voxel_mean(x, n[0], b->centre[0], b->sigma, sub);
    }
}
