/* What an operator handle holds, for the algebra in this folder. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "core/op.h"

struct larmor_op {
    larmor_op_impl impl;
    void *self;
    larmor_device *dev;
    larmor_dtype dtype;
    larmor_shape in, out;
    larmor_array *between; /* A x of a normal map in two steps, from the first one on */
    lmr_gate gate;         /* around each map: what it works with serves one call at a time */
    int several;           /* 1: forward and adjoint map may be called by several threads at the same time */
    lmr_refs refs;
};

/* An array that a map works with, made by the first call that needs it: later ones allocate nothing. */
larmor_status lmr_op_work(larmor_array **work, const larmor_op *A, larmor_shape shape);

/* LARMOR_ERR_ARG, LARMOR_ERR_SHAPE where A and B differ in device or type; who: of the message. */
larmor_status lmr_op_expect_compatible(const char *who, const larmor_op *A, const larmor_op *B);

/* LARMOR_ERR_SHAPE unless a is b; who and what: of the message. */
larmor_status lmr_op_expect_shapes(const char *who, const char *what, const larmor_op *A, larmor_shape a,
                                   larmor_shape b);

/* A view of the leading numbers of x in this shape. */
larmor_status lmr_op_leading(const larmor_array *x, larmor_shape shape, larmor_array **out);
