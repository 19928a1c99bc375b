/* Whether a noise scan has the coils' covariance. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "check/check.h"
#include "core/core.h"

#define MIN_SAMPLES_PER_COIL 5
/* The squared mean over the variance about it, summed over coils. Noise of M samples has coils / M in the mean, at
 * most 25 times that by chance; 1 raises the variance of one mixture of the coils by a factor of 2. */
#define MAX_OFFSET 1.0
#define MAX_CHANCE 25.0

/* Samples of readout r are those of an earlier one in all coils. */
static int is_copy(const double complex *n, int64_t samples, int64_t coils, int64_t length, int64_t r)
{
    for (int64_t of = 0; of < r; of++) {
        int64_t c = 0;
        while (c < coils &&
               !memcmp(n + c * samples + of * length, n + c * samples + r * length, (size_t)length * sizeof *n))
            c++;
        if (c == coils) return 1;
    }
    return 0;
}

static double offset_of(const double complex *n, int64_t samples, int64_t coils)
{
    double sum = 0;
    for (int64_t c = 0; c < coils; c++) {
        double complex mean = 0;
        double variance = 0;
        for (int64_t i = 0; i < samples; i++) mean += n[i + c * samples] / (double)samples;
        for (int64_t i = 0; i < samples; i++) {
            const double complex off = n[i + c * samples] - mean;
            variance += creal(off * conj(off)) / (double)samples;
        }
        sum += creal(mean * conj(mean)) / variance; /* infinite where there is nothing but a constant */
    }
    return sum;
}

larmor_status lmr_noise_scan_describe(const larmor_array *noise, int64_t readouts, char *line, size_t room)
{
    const larmor_shape shape = larmor_array_shape(noise);
    const int64_t samples = shape.dim[0], coils = shape.dim[1];
    const int64_t length = readouts > 0 && samples % readouts == 0 ? samples / readouts : samples;
    int64_t copies = 0;
    *line = 0;
    LMR_OWN_MEMORY(double complex, n, larmor_array_download(noise, LARMOR_C128, &n));
    for (int64_t r = 1; r < samples / length; r++) copies += is_copy(n, samples, coils, length, r);
    const int64_t own = samples - copies * length;
    const double offset = offset_of(n, samples, coils);
    char of_copies[64] = "";
    if (copies) snprintf(of_copies, sizeof of_copies, ", %lld of its readouts being copies,", (long long)copies);
    if (own < MIN_SAMPLES_PER_COIL * coils)
        snprintf(line, room,
                 "the noise scan has %lld sample%s%s for %lld coil%s, at least %lld expected: the covariance of the "
                 "coils is hardly known from it. opts.no_whitening may be better.",
                 (long long)own, own == 1 ? "" : "s", of_copies, (long long)coils, coils == 1 ? "" : "s",
                 (long long)(MIN_SAMPLES_PER_COIL * coils));
    else if (offset > MAX_OFFSET && offset > MAX_CHANCE * (double)coils / (double)own)
        snprintf(line, room,
                 "the noise scan has a constant of %.3g of its standard deviation: that is no noise, and coils are "
                 "weighted as if it were. opts.no_whitening leaves it out.",
                 sqrt(offset / (double)coils));
    return LARMOR_OK;
}

/* ---- the noise that an image leaves ---- */

/* Of the noise scan's: what is left at every radius of k-space, and the noise along readouts. With the limits below
 * none of 84 right scans is warned of: radial, golden, spiral, Cartesian, koosh and stars, 1 to 8 coils, SNR 5 to
 * 1000.
 * At SNR 1000 their maps and matrices leave up to 18 times the noise at every radius, but 2.6 times as much at one as
 * at another. Noise of 3 and 10 times is found up to SNR 20, where errors of the model do not hide it. */
#define MIN_NOISE_RATIO 2.
#define MAX_RING_SPREAD 2.        /* the largest of the rings over the least */
#define MIN_LEVEL_OVER_RINGS 0.75 /* the noise along readouts over the median of the rings; */
#define MAX_LEVEL_OVER_RINGS 1.75 /* lines that are not oversampled have signal in it */
#define MIN_RING_PART 0.03        /* of the samples, of a ring that counts */

/* The root mean square, over that of the noise scan, of what is left in each ring that counts, in ascending order. */
static int sort_rings(const double *energy, const double *count, double all, double *ring)
{
    int rings = 0;
    for (int j = 0; j < LMR_RINGS; j++) {
        if (count[j] < MIN_RING_PART * all) continue;
        const double level = sqrt(energy[j] / (2 * count[j]));
        int at = rings++;
        for (; at > 0 && ring[at - 1] > level; at--) ring[at] = ring[at - 1];
        ring[at] = level;
    }
    return rings;
}

/* *level <- the noise along readouts, if what is left is white and as large as that; else 0. */
static larmor_status find_level(const larmor_samples *samples, int coil, const double *ring, int rings, double *level)
{
    const double median = (ring[rings / 2] + ring[(rings - 1) / 2]) / 2;
    *level = 0;
    if (ring[rings - 1] > MAX_RING_SPREAD * ring[0]) return LARMOR_OK;
    LMR_OWN(larmor_array, one, larmor_array_slice(samples->kspace, coil, 1, &one));
    LMR_TRY(larmor_noise_level(one, samples->traj, level));
    if (*level < MIN_NOISE_RATIO || *level < MIN_LEVEL_OVER_RINGS * median || *level > MAX_LEVEL_OVER_RINGS * median)
        *level = 0;
    return LARMOR_OK;
}

larmor_status lmr_noise_scan_compare(const larmor_samples *samples, const lmr_residuals *r, double taken,
                                     larmor_misfit *out)
{
    double count[LMR_RINGS] = {0}, ring[LMR_RINGS], all = 0;
    for (int64_t i = 0; i < r->readouts; i++)
        for (int j = 0; j < LMR_RINGS; j++) count[j] += r->count[LMR_RINGS * i + j];
    for (int j = 0; j < LMR_RINGS; j++) all += count[j];
    for (int c = 0; c < r->coils; c++) {
        double level;
        const int rings = sort_rings(r->coil_ring + (int64_t)LMR_RINGS * c, count, all, ring);
        if (rings < 2 || ring[0] < MIN_NOISE_RATIO) continue;
        LMR_TRY(find_level(samples, c, ring, rings, &level));
        if (level == 0) continue;
        out->noisier_coils++;
        out->noise_ratio = fmax(out->noise_ratio, fmin(level, sqrt(r->coil[c] / (2 * all * (1 - taken)))));
    }
    return LARMOR_OK;
}
