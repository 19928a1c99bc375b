/* Samples that are spoiled: alike on every device. For the processor's files after core/real.h, and for .cu files.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/math.h"

#ifdef __cplusplus
#define LMR_OF_PARTS(part) template <typename part>
#else
#define LMR_OF_PARTS(part)
#define part real
#endif

enum { LMR_SPIKE_NEAR = 3, LMR_SPIKE_FAR = 5 }; /* samples that a spike is compared with lie so far from it */

/* |x|^2 of sample i, in single precision. */
LMR_OF_PARTS(part) static inline LMR_DEVICE_TOO double lmr_energy_at(const part *x, int64_t i)
{
    const double re = (double)(float)x[2 * i], im = (double)(float)x[2 * i + 1];
    return re * re + im * im;
}

LMR_OF_PARTS(part) static inline LMR_DEVICE_TOO double lmr_size_at(const part *x, int64_t i)
{
    return (double)(float)sqrt(lmr_energy_at(x, i));
}

LMR_OF_PARTS(part) static inline LMR_DEVICE_TOO float lmr_larger_part(const part *x, int64_t i)
{
    return fmaxf(fabsf((float)x[2 * i]), fabsf((float)x[2 * i + 1]));
}

/* The largest of the samples beside it, where an echo or an axis of k-space is smooth. */
LMR_OF_PARTS(part) static inline LMR_DEVICE_TOO double lmr_beside_in_readout(const part *x, int64_t n, int64_t i)
{
    const int64_t at = i % n;
    double most = 0;
    for (int64_t step = LMR_SPIKE_NEAR; step <= LMR_SPIKE_FAR; step++) {
        if (at >= step) most = fmax(most, lmr_size_at(x, i - step));
        if (at + step < n) most = fmax(most, lmr_size_at(x, i + step));
    }
    return most;
}

LMR_OF_PARTS(part)
static inline LMR_DEVICE_TOO double lmr_beside_in_time(const part *x, int64_t n, int64_t points, int64_t i)
{
    double most = 0;
    for (int turn = -1; turn <= 1; turn += 2)
        for (int step = -1; step <= 1; step++) {
            const int64_t at = i + turn * n + step;
            if (at >= 0 && at < points) most = fmax(most, lmr_size_at(x, at));
        }
    return most;
}

static inline LMR_DEVICE_TOO int lmr_ring_of(float radius, int rings)
{
    const int ring = (int)(radius * (float)rings);
    return ring < rings ? ring : rings - 1;
}

/* 1 if sample i of a coil is one; level: of its ring in that coil. */
LMR_OF_PARTS(part)
static inline LMR_DEVICE_TOO int lmr_is_spike(const part *x, const lmr_survey_of *of, double level, int64_t i)
{
    const double here = lmr_size_at(x, i);
    return here > of->ratio * level && here >= of->ratio * lmr_beside_in_readout(x, of->n, i) &&
           here >= of->beside * lmr_beside_in_time(x, of->n, of->n * of->readouts, i);
}

#ifndef __cplusplus
#undef part
#endif
