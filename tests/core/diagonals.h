/* Rows of diagonals, on one device or on several. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "core/random.h"
#include "tests/support/test.h"

typedef larmor_status (*map)(larmor_op *A, const larmor_array *x, larmor_array *y);

static inline larmor_array *random_on(larmor_device *on, larmor_shape shape, uint64_t seed)
{
    larmor_array *x = MADE(larmor_array, larmor_array_create(on, LARMOR_C64, shape, &made));
    assert_ok(lmr_random_fill(x, seed));
    return x;
}

/* A row of n numbers times `count` diagonals, one or two. */
static inline larmor_op *diagonals(larmor_device *on, int64_t n, uint64_t seed, int count)
{
    larmor_op *ops[2] = {NULL, NULL}, *row;
    for (int i = 0; i < count; i++) {
        OWNED(larmor_array) *d = random_on(on, LARMOR_SHAPE(n, 1), seed + (uint64_t)i);
        assert_ok(larmor_op_diag(d, &ops[i]));
    }
    assert_ok(larmor_op_stack(ops, count, &row));
    for (int i = 0; i < count; i++) larmor_op_free(ops[i]);
    return row;
}
