/* The monotonic clock, the only one in the library. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <time.h>

/* Seconds of the monotonic clock: for differences. */
static inline double lmr_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
