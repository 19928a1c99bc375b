/* Projections: the proximal maps of sets, whose functions are 0 within them. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/prox/prox.h"
#include "recon/sparse.h"

/* ---- real parts between bounds ---- */

typedef struct box {
    const lmr_sparse_kernels *kernels;
    double low, high;
} box;

static larmor_status box_apply(void *self, double t LMR_UNUSED, const larmor_array *x, larmor_array *z)
{
    const box *s = self;
    return s->kernels->clip(x->dev->ctx, larmor_array_count(x), s->low, s->high, x->data, z->data);
}

larmor_status larmor_prox_box(larmor_device *dev, double low, double high, larmor_dtype dtype, larmor_shape shape,
                              larmor_prox **p)
{
    static const larmor_prox_impl impl = {"box", box_apply, lmr_prox_no_value, free};
    LMR_TRY(lmr_prox_begin("box", dev, 0, dtype, p));
    LMR_REFUSE(!(low <= high), LARMOR_ERR_ARG, "box: from %g to %g, expected bounds in order", low, high);
    LMR_MAKE(box, s, free);
    *s = (box){.low = low, .high = high};
    LMR_TRY(lmr_sparse_kernels_of(dev, dtype, &s->kernels));
    return lmr_hand_on(&s_made, larmor_prox_create(dev, &impl, s, dtype, shape, p));
}

/* ---- numbers that are 0 outside of a mask ---- */

typedef struct support {
    const lmr_sparse_kernels *kernels;
    larmor_array *mask; /* 0 and 1, real of the maps' precision */
} support;

static larmor_status support_apply(void *self, double t LMR_UNUSED, const larmor_array *x, larmor_array *z)
{
    const support *s = self;
    const int64_t count = larmor_array_count(s->mask);
    if (!count) return LARMOR_OK;
    return s->kernels->weigh(x->dev->ctx, count, larmor_array_count(x) / count, s->mask->data, x->data, z->data);
}

LMR_DESTROYS(support_destroy, support, mask)

/* A copy of 0 and 1. */
static larmor_status take_mask(const larmor_array *mask, larmor_dtype dtype, larmor_array **own)
{
    LMR_OWN_MEMORY(double, value, larmor_array_download(mask, LARMOR_F64, &value));
    for (int64_t i = 0; i < larmor_array_count(mask); i++) {
        LMR_REFUSE(!isfinite(value[i]), LARMOR_ERR_NUMERIC, "support: number %lld of the mask is not finite",
                   (long long)i);
        value[i] = value[i] != 0;
    }
    return larmor_array_upload(mask->dev, lmr_real_of(dtype), mask->shape, LARMOR_F64, value, own);
}

larmor_status larmor_prox_support(const larmor_array *mask, larmor_dtype dtype, larmor_shape shape, larmor_prox **p)
{
    static const larmor_prox_impl impl = {"support", support_apply, lmr_prox_no_value, support_destroy};
    LMR_TRY(lmr_prox_begin("support", mask ? mask->dev : NULL, 0, dtype, p));
    LMR_REFUSE(lmr_is_complex(mask->dtype), LARMOR_ERR_ARG, "support: the mask is complex");
    int leads = mask->shape.ndim <= shape.ndim;
    for (int d = 0; d < mask->shape.ndim && leads; d++) leads = mask->shape.dim[d] == shape.dim[d];
    LMR_REFUSE(!leads, LARMOR_ERR_SHAPE, "support: the mask is %s, expected the leading dimensions of %s",
               lmr_describe(mask).s, lmr_describe_as(mask->dev, dtype, shape).s);
    LMR_MAKE(support, s, support_destroy);
    LMR_TRY(lmr_sparse_kernels_of(mask->dev, dtype, &s->kernels));
    LMR_TRY(take_mask(mask, dtype, &s->mask));
    return lmr_hand_on(&s_made, larmor_prox_create(mask->dev, &impl, s, dtype, shape, p));
}
