/* Linear operators: their handle and their maps. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/op/inside.h"
#include "core/owned.h"

/* ---- life ---- */

larmor_status larmor_op_create(larmor_device *dev, const larmor_op_impl *impl, void *self, larmor_dtype dtype,
                               larmor_shape in, larmor_shape out, larmor_op **op)
{
    LMR_REFUSE(!op, LARMOR_ERR_ARG, "larmor_op_create: op is NULL");
    *op = NULL;
    LMR_REFUSE(!dev || !impl || !impl->forward || !impl->adjoint || !lmr_is_complex(dtype), LARMOR_ERR_ARG,
               "operator %s: a device, forward, adjoint and a complex type are needed",
               impl && impl->name ? impl->name : "without a name");
    LMR_REFUSE(larmor_shape_count(in) < 0 || larmor_shape_count(out) < 0, LARMOR_ERR_SHAPE,
               "operator %s: %s to %s is not possible", impl->name, lmr_describe_as(dev, dtype, in).s,
               lmr_describe_as(dev, dtype, out).s);
    LMR_NEW_ZEROS(larmor_op, A, 1);
    A->impl = *impl;
    A->self = self;
    A->dev = lmr_device_ref(dev);
    A->dtype = dtype;
    A->in = in;
    A->out = out;
    if (!A->impl.name) A->impl.name = "operator";
    lmr_gate_init(&A->gate);
    atomic_init(&A->refs, 1);
    *op = A;
    return LARMOR_OK;
}

void lmr_op_serve_several(larmor_op *op)
{
    op->several = 1;
}

int lmr_op_is_held(const larmor_op *op)
{
    return atomic_load(&op->refs) > 1;
}

lmr_gate *lmr_op_gate(larmor_op *op)
{
    return &op->gate;
}

larmor_op *larmor_op_ref(larmor_op *A)
{
    if (A) lmr_refs_add(&A->refs);
    return A;
}

void larmor_op_free(larmor_op *A)
{
    if (!A || !lmr_refs_drop(&A->refs)) return;
    if (A->impl.destroy) A->impl.destroy(A->self);
    LMR_FREE(A->between, A->dev);
    lmr_gate_destroy(&A->gate);
    free(A);
}

larmor_shape larmor_op_in_shape(const larmor_op *A)
{
    return A ? A->in : (larmor_shape){0};
}

larmor_shape larmor_op_out_shape(const larmor_op *A)
{
    return A ? A->out : (larmor_shape){0};
}

larmor_dtype larmor_op_dtype(const larmor_op *A)
{
    return A ? A->dtype : LARMOR_C64;
}

larmor_device *larmor_op_device(const larmor_op *A)
{
    return A ? A->dev : NULL;
}

const char *larmor_op_name(const larmor_op *A)
{
    return A ? A->impl.name : "";
}

void *lmr_op_self(const larmor_op *A, larmor_status (*forward)(void *self, const larmor_array *x, larmor_array *y))
{
    return A && A->impl.forward == forward ? A->self : NULL;
}

/* ---- application ---- */

static larmor_status expect_pair(const larmor_op *A, const larmor_array *x, larmor_shape in, const larmor_array *y,
                                 larmor_shape out)
{
    LMR_TRY(lmr_expect(A->impl.name, "input", x, A->dev, A->dtype, in));
    LMR_TRY(lmr_expect(A->impl.name, "output", y, A->dev, A->dtype, out));
    const uintptr_t from = (uintptr_t)x->data, to = (uintptr_t)y->data;
    if (from >= to + larmor_array_bytes(y) || to >= from + larmor_array_bytes(x)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: input and output share memory; give the output an array of its own",
                    A->impl.name);
}

larmor_status lmr_op_work(larmor_array **work, const larmor_op *A, larmor_shape shape)
{
    return *work ? LARMOR_OK : larmor_array_create(A->dev, A->dtype, shape, work);
}

typedef larmor_status (*map)(void *self, const larmor_array *from, larmor_array *to);

static larmor_status apply(larmor_op *A, map f, const larmor_array *from, larmor_array *to)
{
    if (A->several) return f(A->self, from, to);
    LMR_TRY(lmr_gate_enter(&A->gate));
    const larmor_status st = f(A->self, from, to);
    lmr_gate_leave(&A->gate);
    return st;
}

larmor_status larmor_op_forward(larmor_op *A, const larmor_array *x, larmor_array *y)
{
    LMR_NEED(A);
    LMR_TRY(expect_pair(A, x, A->in, y, A->out));
    return apply(A, A->impl.forward, x, y);
}

larmor_status larmor_op_adjoint(larmor_op *A, const larmor_array *y, larmor_array *x)
{
    LMR_NEED(A);
    LMR_TRY(expect_pair(A, y, A->out, x, A->in));
    return apply(A, A->impl.adjoint, y, x);
}

static larmor_status normal_in_two_steps(larmor_op *A, const larmor_array *x, larmor_array *z)
{
    LMR_TRY(lmr_op_work(&A->between, A, A->out));
    LMR_TRY(A->impl.forward(A->self, x, A->between));
    return A->impl.adjoint(A->self, A->between, z);
}

larmor_status larmor_op_normal(larmor_op *A, const larmor_array *x, larmor_array *z)
{
    LMR_NEED(A);
    LMR_TRY(expect_pair(A, x, A->in, z, A->in));
    if (A->impl.normal) return apply(A, A->impl.normal, x, z);
    LMR_TRY(lmr_gate_enter(&A->gate));
    const larmor_status st = normal_in_two_steps(A, x, z);
    lmr_gate_leave(&A->gate);
    return st;
}

/* ---- composition ---- */

larmor_status lmr_op_expect_compatible(const char *who, const larmor_op *A, const larmor_op *B)
{
    LMR_REFUSE(!A || !B, LARMOR_ERR_ARG, "%s: an operator is NULL", who);
    if (A->dev == B->dev && A->dtype == B->dtype) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: %s is %s on %s, %s is %s on %s; both must agree", who, A->impl.name,
                    larmor_dtype_name(A->dtype), larmor_device_spec(A->dev), B->impl.name,
                    larmor_dtype_name(B->dtype), larmor_device_spec(B->dev));
}

larmor_status lmr_op_expect_shapes(const char *who, const char *what, const larmor_op *A, larmor_shape a,
                                   larmor_shape b)
{
    if (larmor_shape_equal(a, b)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: %s: got %s, expected %s", who, what,
                    lmr_describe_as(A->dev, A->dtype, a).s, lmr_describe_as(A->dev, A->dtype, b).s);
}

larmor_status lmr_op_leading(const larmor_array *x, larmor_shape shape, larmor_array **out)
{
    LMR_OWN(larmor_array, line, larmor_array_reshape(x, LARMOR_SHAPE(larmor_array_count(x)), &line));
    return larmor_array_part(line, 0, larmor_shape_count(shape), shape, out);
}
