/* Multiplication of complex arrays by real weights. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/inputs.h"
#include "recon/ops/ops.h"
#include "recon/sparse.h"

typedef struct weights {
    larmor_array *w;
    int64_t batch;
    const lmr_sparse_kernels *kernels;
} weights;

static larmor_status multiply(void *self, const larmor_array *x, larmor_array *y)
{
    const weights *s = self;
    return s->kernels->weigh(x->dev->ctx, larmor_array_count(s->w), s->batch, s->w->data, x->data, y->data);
}

static larmor_status multiply_twice(void *self, const larmor_array *x, larmor_array *z)
{
    LMR_TRY(multiply(self, x, z));
    return multiply(self, z, z);
}

LMR_DESTROYS(destroy, weights, w)

larmor_status lmr_op_weigh(const char *name, larmor_array *w, larmor_dtype dtype, int64_t batch, larmor_op **W)
{
    const larmor_op_impl impl = {name, multiply, multiply, multiply_twice, destroy};
    const larmor_shape shape = batch ? larmor_shape_append(w->shape, batch) : w->shape;
    *W = NULL;
    LMR_MAKE(weights, s, destroy);
    *s = (weights){.w = larmor_array_ref(w), .batch = batch ? batch : 1};
    LMR_TRY(lmr_sparse_kernels_of(w->dev, dtype, &s->kernels));
    LMR_TRY(lmr_hand_on(&s_made, larmor_op_create(w->dev, &impl, s, dtype, shape, shape, W)));
    lmr_op_serve_several(*W);
    return LARMOR_OK;
}

larmor_status lmr_weights_copy(const char *who, const char *what, const larmor_array *weights_, larmor_dtype dtype,
                               int root, larmor_array **copy)
{
    *copy = NULL;
    const lmr_sparse_kernels *kernels;
    int64_t index;
    double value;
    LMR_OWN(larmor_array, in_double, lmr_input_real(who, what, weights_, &in_double));
    LMR_TRY(lmr_find_outlier(in_double, 0, &index, &value));
    if (index >= 0) {
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: element %lld of the %s is %g, expected at least 0", who,
                        (long long)index, what, value);
    }
    LMR_TRY(lmr_sparse_kernels_of(in_double->dev, dtype, &kernels));
    LMR_OWN(larmor_array, converted, larmor_array_convert(in_double, lmr_real_of(dtype), &converted));
    LMR_OWN(larmor_array, out, larmor_array_create(in_double->dev, lmr_real_of(dtype), in_double->shape, &out));
    LMR_TRY(larmor_copy(converted, out));
    if (root) LMR_TRY(kernels->root(out->dev->ctx, larmor_array_count(out), out->data));
    return LMR_HAND_ON(*copy, out);
}

static larmor_status op_of(const char *name, const char *what, const larmor_array *given, larmor_dtype dtype,
                           int64_t batch, larmor_op **op)
{
    *op = NULL;
    LMR_REFUSE(!lmr_is_complex(dtype), LARMOR_ERR_ARG, "%s: dtype is %s, expected c64 or c128", name,
               larmor_dtype_name(dtype));
    LMR_OWN(larmor_array, w, lmr_weights_copy(name, what, given, dtype, 0, &w));
    return lmr_op_weigh(name, w, dtype, batch, op);
}

larmor_status larmor_op_weights(larmor_array *w, larmor_dtype dtype, int64_t batch, larmor_op **W)
{
    LMR_NEED_OUT(W);
    LMR_REFUSE(batch < 0, LARMOR_ERR_ARG, "weights: batch is %lld, expected at least 0", (long long)batch);
    return op_of("weights", "weights", w, dtype, batch, W);
}

larmor_status larmor_op_mask(larmor_array *mask, larmor_dtype dtype, larmor_op **M)
{
    LMR_NEED(M);
    return op_of("mask", "mask", mask, dtype, 0, M);
}
