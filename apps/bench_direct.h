/* A few outputs of a NUFFT by direct sums in double precision. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_BENCH_DIRECT_H
#define APP_BENCH_DIRECT_H

#include <complex.h>

#include "bench_case.h"

#define BENCH_MOST_OUTPUTS 100

typedef struct bench_direct {
    int count;
    int64_t output[BENCH_MOST_OUTPUTS]; /* where in the output array, batch outermost */
    double _Complex exact[BENCH_MOST_OUTPUTS];
} bench_direct;

/* Choose outputs at random, as many as fit a few seconds (up to 50 of types 1 and 3, 100 of type 2), and sum them;
 * the result does not depend on the number of threads.
 *
 * points, targets, in  the host's copies, as in bench_data. */
larmor_status bench_direct_sum(const bench_case *c, const double *points, const double *targets, const void *in,
                               bench_direct *direct);

/* The relative l2 error of the output on the host against the direct sums. */
double bench_direct_error(const bench_case *c, const bench_direct *direct, const void *out);

#endif
