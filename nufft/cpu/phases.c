/* Many phase factors at once: exponential, sine and cosine by polynomials, in loops that compilers vectorise.
 * Compiled once per instruction set and precision. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/phases.h"

#include "nufft/cpu/type3.h"

#ifndef FP_FAST_FMA

/* Every fma is a call: vectors would not help. */
static void phases(const lmr_nufft_phases *w, int count, double (*x)[PHASE_BLOCK], real *out)
{
    for (int i = 0; i < count; i++) {
        const double at[3] = {x[0][i], x[1][i], x[2][i]};
        double cycles;
        const double size = lmr_phases_at(w, at, &cycles), angle = 6.283185307179586476925 * cycles;
        out[2 * i] = (real)(size * cos(angle));
        out[2 * i + 1] = (real)(size * sin(angle));
    }
}

#else

/* Terms of the Taylor series: 2^-53 and 2^-28 of the sum are left out. */
#if LMR_REAL == 32
enum { SINE = 5, COSINE = 6, EXPONENTIAL = 9 };
#else
enum { SINE = 8, COSINE = 9, EXPONENTIAL = 14 };
#endif

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

/* Sum over k < n of y^k / (first + step k)!, up to the factor 1 / first!. */
INLINE double taylor(const int n, const int first, const int step, double y)
{
    double sum = 1;
    UNROLL for (int k = n - 1; k > 0; k--)
    {
        const int top = first + step * k;
        sum = 1 + y * sum * (1 / (double)(step == 2 ? top * (top - 1) : top));
    }
    return sum;
}

/* As lmr_phases_at. */
static void add_cycles(double from, double by, int count, const double *restrict x, double *restrict cycles)
{
    for (int i = 0; i < count; i++) {
        const double e = x[i] - from, product = fma(e, by, 0.0), rest = fma(e, by, -product);
        cycles[i] += (product - rint(product)) + (rest - rint(rest));
    }
}

typedef double lanes __attribute__((vector_size(64)));
enum { LANES = 8, GROUP = 2 };
_Static_assert(PHASE_BLOCK % (LANES * GROUP) == 0, "blocks of whole groups");

static void add_series(const lmr_nufft_phases *w, int d, int count, const double *x, double *sum)
{
    for (int i = 0; i < count; i += LANES * GROUP) {
        lanes y[GROUP], b1[GROUP], b2[GROUP];
        UNROLL for (int g = 0; g < GROUP; g++)
        {
            __builtin_memcpy(&y[g], x + i + g * LANES, sizeof y[g]);
            y[g] = (y[g] - w->from[d]) * w->scale[d];
            y[g] = 4 * y[g] * y[g] - 2;
            b1[g] = b2[g] = (lanes){0};
        }
        for (int k = w->terms - 1; k > 0; k--) {
            UNROLL for (int g = 0; g < GROUP; g++)
            {
                const lanes b = y[g] * b1[g] + (w->series[k] - b2[g]);
                b2[g] = b1[g];
                b1[g] = b;
            }
        }
        UNROLL for (int g = 0; g < GROUP; g++)
        {
            lanes s;
            __builtin_memcpy(&s, sum + i + g * LANES, sizeof s);
            s += w->series[0] + 0.5 * y[g] * b1[g] - b2[g];
            __builtin_memcpy(sum + i + g * LANES, &s, sizeof s);
        }
    }
}

INLINE double exponential(double x)
{
    const double n = rint(x * 1.44269504088896340736), r = (x - n * 0x1.62e42fefa3800p-1) - n * 0x1.ef35793c76730p-45;
    const double shifted = n + (0x1.8p52 + 1023);
    uint64_t bits;
    __builtin_memcpy(&bits, &shifted, sizeof bits);
    bits <<= 52;
    double power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return taylor(EXPONENTIAL, 0, 1, r) * power;
}

static void phases(const lmr_nufft_phases *w, int count, double (*x)[PHASE_BLOCK], real *out)
{
    double cycles[PHASE_BLOCK] = {0}, size[PHASE_BLOCK] = {0};
    for (int d = 0; d < w->ndim; d++) {
        add_cycles(w->from[d], w->by[d], PHASE_BLOCK, x[d], cycles);
        if (w->terms) add_series(w, d, PHASE_BLOCK, x[d], size);
    }
    for (int i = 0; w->terms && i < PHASE_BLOCK; i++) size[i] = exponential(size[i]);
    for (int i = 0; !w->terms && i < PHASE_BLOCK; i++) size[i] = 1;
    for (int i = 0; i < count; i++) {
        /* angle = quarter pi / 2 + a; cos and sin of the first part are (even, odd) */
        const double t = cycles[i] - rint(cycles[i]), quarter = rint(4 * t),
                     a = (t - 0.25 * quarter) * 6.283185307179586, even = 1 - fabs(quarter),
                     odd = quarter * (2 - fabs(quarter));
        const double s = a * taylor(SINE, 1, 2, -a * a), c = taylor(COSINE, 0, 2, -a * a);
        out[2 * i] = (real)(size[i] * (even * c - odd * s));
        out[2 * i + 1] = (real)(size[i] * (even * s + odd * c));
    }
}

#endif

const lmr_phases LMR_PHASES = phases;
