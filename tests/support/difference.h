/* How far arrays are from each other. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/support/test.h"

/* |x - y| / |y| */
static inline double difference(const larmor_array *x, const larmor_array *y)
{
    double norm[3];
    assert_ok(larmor_distance(x, y, norm));
    return norm[2] / norm[1];
}
