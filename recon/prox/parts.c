/* An image as the sum of several, each with a penalty of its own. SPDX-License-Identifier: Apache-2.0 */
#include "recon/prox/parts.h"

#include "core/core.h"

static int count_of(const larmor_array *z)
{
    const larmor_shape all = larmor_array_shape(z);
    return (int)all.dim[all.ndim - 1];
}

static larmor_status view(const larmor_array *z, int i, larmor_shape image, larmor_array **part)
{
    return larmor_array_part(z, i, 1, image, part);
}

/* ---- E: z to the sum of its parts ---- */

static larmor_status add_forward(void *self LMR_UNUSED, const larmor_array *z, larmor_array *x)
{
    const int count = count_of(z);
    for (int i = 0; i < count; i++) {
        LMR_OWN(larmor_array, part, view(z, i, larmor_array_shape(x), &part));
        LMR_TRY(larmor_axpby(sqrt(1. / count), part, i > 0, x));
    }
    return LARMOR_OK;
}

static larmor_status add_adjoint(void *self LMR_UNUSED, const larmor_array *x, larmor_array *z)
{
    const int count = count_of(z);
    for (int i = 0; i < count; i++) {
        LMR_OWN(larmor_array, part, view(z, i, larmor_array_shape(x), &part));
        LMR_TRY(larmor_axpby(sqrt(1. / count), x, 0, part));
    }
    return LARMOR_OK;
}

/* ---- K of one part of z ---- */

typedef struct one {
    larmor_op *K;
    int i;
} one;

static larmor_status one_forward(void *self, const larmor_array *z, larmor_array *y)
{
    const one *s = self;
    LMR_OWN(larmor_array, part, view(z, s->i, larmor_op_in_shape(s->K), &part));
    return larmor_op_forward(s->K, part, y);
}

static larmor_status one_adjoint(void *self, const larmor_array *y, larmor_array *z)
{
    const one *s = self;
    LMR_TRY(larmor_zero(z));
    LMR_OWN(larmor_array, part, view(z, s->i, larmor_op_in_shape(s->K), &part));
    return larmor_op_adjoint(s->K, y, part);
}

static larmor_status one_normal(void *self, const larmor_array *z, larmor_array *y)
{
    const one *s = self;
    LMR_TRY(larmor_zero(y));
    LMR_OWN(larmor_array, from, view(z, s->i, larmor_op_in_shape(s->K), &from));
    LMR_OWN(larmor_array, to, view(y, s->i, larmor_op_in_shape(s->K), &to));
    return larmor_op_normal(s->K, from, to);
}

LMR_DESTROYS(one_destroy, one, K)

/* K, which becomes that of z. */
static larmor_status take_part(larmor_shape all, int i, larmor_op **K)
{
    static const larmor_op_impl impl = {"part", one_forward, one_adjoint, one_normal, one_destroy};
    LMR_NEW_ZEROS(one, s, 1);
    *s = (one){*K, i};
    *K = NULL;
    const larmor_status st =
        larmor_op_create(larmor_op_device(s->K), &impl, s, larmor_op_dtype(s->K), all, larmor_op_out_shape(s->K), K);
    if (st) one_destroy(s);
    return st;
}

/* ---- the penalty ---- */

larmor_status lmr_penalty_parts(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, lmr_summand *parts,
                                int count, larmor_penalty *made)
{
    static const larmor_op_impl add = {"parts", add_forward, add_adjoint, NULL, NULL};
    const larmor_shape all = larmor_shape_append(shape, count);
    for (int i = 0; i < count; i++) {
        LMR_TRY(take_part(all, i, &parts[i].penalty.K));
        parts[i].ratio *= sqrt(1. / count);
    }
    LMR_TRY(lmr_penalty_sum(dev, dtype, all, parts, count, made));
    return larmor_op_create(dev, &add, NULL, dtype, all, shape, &made->E);
}

void lmr_summands_free(lmr_summand *parts, int count)
{
    for (int i = 0; i < count; i++) {
        larmor_op_free(parts[i].penalty.K);
        larmor_prox_free(parts[i].penalty.g);
    }
}
