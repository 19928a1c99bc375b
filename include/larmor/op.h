/* Linear operators: forward, adjoint and normal maps, and how they compose. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_OP_H
#define LARMOR_OP_H

#include "larmor/array.h"

LARMOR_C_BEGIN

/* Refcounted. Calls from several threads take turns, also where one is a part of another. A thread that waits answers
 * larmor_stop_when. */
typedef struct larmor_op larmor_op;

typedef struct larmor_op_impl { /* outputs are overwritten, never accumulated into; x and y never overlap */
    const char *name;
    larmor_status (*forward)(void *self, const larmor_array *x, larmor_array *y); /* y <- A x */
    larmor_status (*adjoint)(void *self, const larmor_array *y, larmor_array *x); /* x <- A^H y */
    larmor_status (*normal)(void *self, const larmor_array *x, larmor_array *z);  /* z <- A^H A x, or NULL */
    void (*destroy)(void *self);                                                  /* or NULL */
} larmor_op_impl;

/* An operator of your own.
 *
 * impl    copied; forward and adjoint are needed, normal may be NULL (then it is adjoint after forward).
 * self    given to every function; belongs to the operator from a successful return on, still yours after an error.
 * in,out  shapes of x and y; every call is checked against them before it reaches impl.
 * Errors  LARMOR_ERR_ARG without forward or adjoint, or with a dtype that is not complex; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_op_create(larmor_device *dev, const larmor_op_impl *impl, void *self,
                                          larmor_dtype dtype, larmor_shape in, larmor_shape out, larmor_op **op);

/* y <- A x; x <- A^H y; z <- A^H A x.
 *
 * Input and output must not share memory, so that no operator has to handle that. The first call may allocate the
 * operator's work buffers. Later calls of larmor's own operators allocate nothing, so that a graph can record them.
 * Errors  LARMOR_ERR_SHAPE if shape, dtype or device differ from the operator's; LARMOR_ERR_ARG if the arrays share
 *         memory; LARMOR_ERR_MEMORY; those of the operator. */
LARMOR_API larmor_status larmor_op_forward(larmor_op *A, const larmor_array *x, larmor_array *y);
LARMOR_API larmor_status larmor_op_adjoint(larmor_op *A, const larmor_array *y, larmor_array *x);
LARMOR_API larmor_status larmor_op_normal(larmor_op *A, const larmor_array *x, larmor_array *z);

/* The shapes, the type, the device and the name of A. */
LARMOR_API larmor_shape larmor_op_in_shape(const larmor_op *A);
LARMOR_API larmor_shape larmor_op_out_shape(const larmor_op *A);
LARMOR_API larmor_dtype larmor_op_dtype(const larmor_op *A);
LARMOR_API larmor_device *larmor_op_device(const larmor_op *A); /* no reference is taken */
LARMOR_API const char *larmor_op_name(const larmor_op *A);

LARMOR_API larmor_op *larmor_op_ref(larmor_op *A); /* one more reference; returns A */
LARMOR_API void larmor_op_free(larmor_op *A);      /* NULL is fine */

/* Composition. The result keeps references to its parts, so free yours at once.
 *
 * chain        A B; its normal is B^H (A^H A) B with A's own normal, so that a Toeplitz normal survives.
 * stack        rows: y = [A_0 x, A_1 x, ...] along the last dimension; the outputs agree in all other dimensions.
 *              Its normal is the sum of the rows' normals.
 * diag         y = d .* x, d complex; in and out have d's shape.
 * with_normal  A with its normal replaced by N's forward map; N maps A's input to itself.
 * Errors       LARMOR_ERR_SHAPE if shapes, dtypes or devices do not fit; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_op_chain(larmor_op *A, larmor_op *B, larmor_op **AB);
LARMOR_API larmor_status larmor_op_stack(larmor_op *const *ops, int count, larmor_op **stack);
LARMOR_API larmor_status larmor_op_diag(larmor_array *d, larmor_op **D);
LARMOR_API larmor_status larmor_op_with_normal(larmor_op *A, larmor_op *N, larmor_op **A2);

/* Rows on several devices as one operator: y = [A_0 x, A_1 x, ...] along the last dimension, as larmor_op_stack,
 * where each A_i works on a device of its own at the same time as the others, in a thread of its own. x is copied
 * to every device and the A_i^H y_i are summed on dev in the order of the rows, so that results do not depend on
 * which device is quicker.
 *
 * dev     where x and y are: another handle than those of the rows.
 * ops     [count], each on another handle (larmor_device_member), with equal inputs and with outputs that agree in
 *         all but their last dimension. References are kept.
 * Errors  LARMOR_ERR_ARG for rows that share a handle; LARMOR_ERR_SHAPE if shapes, dtypes or kinds of devices do
 *         not fit; LARMOR_ERR_MEMORY, also where a thread cannot be started. It cannot be recorded as a graph. */
LARMOR_API larmor_status larmor_op_distribute(larmor_device *dev, larmor_op *const *ops, int count, larmor_op **op);

/* |<A x, y> - <x, A^H y>| / max(|A x| |y|, |x| |A^H y|) for seeded random x, y: rounding if the adjoint is right. */
LARMOR_API larmor_status larmor_op_adjoint_error(larmor_op *A, uint64_t seed, double *error);

LARMOR_C_END
#endif
