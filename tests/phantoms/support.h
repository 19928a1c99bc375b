/* What the phantoms' tests share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <complex.h>

#include "phantoms/phantom.h"
#include "tests/support/test.h"

/* A complex array's elements in double, to be freed. */
static inline double complex *values_of(larmor_array *x)
{
    OWN(larmor_array, *in_double, larmor_array_convert(x, LARMOR_C128, &in_double));
    return host_of(in_double);
}

/* count points, uniform in [-reach, reach]^nd, the first at 0; [nd, count, 1] f64. */
static inline larmor_array *points_within(int nd, int64_t count, double reach, uint64_t seed)
{
    larmor_array *traj = MADE(larmor_array, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(nd, count, 1), &made));
    HEAP NEW_ZEROS(double, k, nd *count);
    for (int64_t i = nd; i < nd * count; i++) k[i] = reach * test_random(&seed);
    assert_ok(larmor_array_write(traj, k, larmor_array_bytes(traj)));
    return traj;
}
