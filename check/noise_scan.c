/* Whether a noise scan has the coils' covariance. SPDX-License-Identifier: Apache-2.0 */
#include "check/noise_scan.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/owned.h"

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
    LMR_HEAP double complex *n = NULL;
    int64_t copies = 0;
    *line = 0;
    LMR_TRY(larmor_array_download(noise, LARMOR_C128, (void *)&n));
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
