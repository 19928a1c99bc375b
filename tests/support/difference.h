/* How far arrays are from each other. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_TESTS_SUPPORT_DIFFERENCE_H
#define LARMOR_TESTS_SUPPORT_DIFFERENCE_H

#include "larmor/larmor.h"
#include "tests/support/test.h"

/* |x - y| / |y| */
static inline double difference(const larmor_array *x, const larmor_array *y)
{
    OWNED(larmor_array) *d;
    double whole, apart;
    assert_ok(larmor_array_create(dev, larmor_array_dtype(y), larmor_array_shape(y), &d));
    assert_ok(larmor_copy(y, d));
    assert_ok(larmor_nrm2(d, &whole));
    assert_ok(larmor_axpby(1, x, -1, d));
    assert_ok(larmor_nrm2(d, &apart));
    return apart / whole;
}

#endif
