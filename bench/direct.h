/* A few outputs of a NUFFT by direct sums in double precision. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <complex.h>

#include "case.h"

#define BENCH_MOST_OUTPUTS 100

typedef struct bench_direct {
    int count;
    int64_t output[BENCH_MOST_OUTPUTS]; /* where in the output array, batch outermost */
    double _Complex exact[BENCH_MOST_OUTPUTS];
} bench_direct;

/* Choose outputs at random, as many as 1e9 terms allow (up to 50 of types 1 and 3, 100 of type 2, at least 8), and
 * sum them on all cores; the result does not depend on the number of threads.
 *
 * points, targets, in  on the host, as the arrays in bench_data have them. */
larmor_status bench_direct_sum(const bench_case *c, const double *points, const double *targets, const void *in,
                               bench_direct *direct);

/* The relative l2 error of the output, on the device, against the direct sums; only what they are for is read.
 *
 * Errors  LARMOR_ERR_BACKEND. */
larmor_status bench_direct_error(const bench_direct *direct, larmor_array *out, double *error);
