/* Many exponentials at once, by polynomials, in loops that compilers vectorise. Compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/cpu/exponents.h"

#include <math.h>

/* Adding and subtracting it rounds to whole numbers, without a call, up to 2^51. */
#define ROUNDS 0x1.8p52

static inline double nearest(double x)
{
    return (x + ROUNDS) - ROUNDS;
}

/* Taylor series on [-pi / 4, pi / 4], to 2^-53; y = x^2. */
static inline double sine_over(double y)
{
    double sum = 1 - y * (1.0 / 272);
    sum = 1 - y * (1.0 / 210) * sum;
    sum = 1 - y * (1.0 / 156) * sum;
    sum = 1 - y * (1.0 / 110) * sum;
    sum = 1 - y * (1.0 / 72) * sum;
    sum = 1 - y * (1.0 / 42) * sum;
    sum = 1 - y * (1.0 / 20) * sum;
    return 1 - y * (1.0 / 6) * sum;
}

static inline double cosine(double y)
{
    double sum = 1 - y * (1.0 / 306);
    sum = 1 - y * (1.0 / 240) * sum;
    sum = 1 - y * (1.0 / 182) * sum;
    sum = 1 - y * (1.0 / 132) * sum;
    sum = 1 - y * (1.0 / 90) * sum;
    sum = 1 - y * (1.0 / 56) * sum;
    sum = 1 - y * (1.0 / 30) * sum;
    sum = 1 - y * (1.0 / 12) * sum;
    return 1 - y * (1.0 / 2) * sum;
}

static void phases(const double *restrict cycles, const double *restrict size, double *restrict out)
{
    for (int i = 0; i < LMR_EXPONENTS; i++) {
        /* quarter turns first: their cosine and sine are (even, odd) */
        const double t = cycles[i] - nearest(cycles[i]), quarter = nearest(4 * t);
        const double angle = (t - 0.25 * quarter) * 6.283185307179586476925;
        const double even = 1 - fabs(quarter), odd = quarter * (2 - fabs(quarter));
        const double y = angle * angle, s = angle * sine_over(y), c = cosine(y);
        out[2 * i] = size[i] * (even * c - odd * s);
        out[2 * i + 1] = size[i] * (even * s + odd * c);
    }
}

static void exponents(int terms, const double (*own)[LMR_EXPONENTS], const double *factor, const char *is_decay,
                      double *out)
{
    double cycles[LMR_EXPONENTS] = {0}, size[LMR_EXPONENTS] = {0};
    int decays = 0;
    for (int l = 0; l < terms; l++) {
        double *restrict sum = is_decay[l] ? size : cycles;
        const double *restrict from = own[l];
        const double by = factor[l];
        decays += is_decay[l];
        for (int i = 0; i < LMR_EXPONENTS; i++) sum[i] += by * from[i];
    }
    for (int i = 0; i < LMR_EXPONENTS; i++) size[i] = decays ? exp(-size[i]) : 1;
    phases(cycles, size, out);
}

const lmr_exponents LMR_EXPONENTS_NAME = exponents;
