/* Sums of magnitudes: of numbers, and of groups of them. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/prox/prox.h"
#include "recon/prox/regulariser.h"
#include "recon/sparse.h"

typedef struct l1 {
    const lmr_sparse_kernels *kernels;
    double weight;
    int64_t groups;
} l1;

static larmor_status apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    const l1 *s = self;
    const int64_t n = larmor_array_count(x) / s->groups;
    return s->kernels->shrink_groups(x->dev->ctx, n, s->groups, t * s->weight, x->data, z->data);
}

static larmor_status value(void *self, const larmor_array *x, double *g)
{
    const l1 *s = self;
    LMR_TRY(s->kernels->sum_norms(x->dev->ctx, larmor_array_count(x) / s->groups, s->groups, x->data, g));
    *g *= s->weight;
    return LARMOR_OK;
}

int lmr_prox_magnitudes(const larmor_prox *g, double *weight, int64_t *groups)
{
    const l1 *s = lmr_prox_self(g, apply);
    if (!s) return 0;
    *weight = s->weight;
    *groups = s->groups;
    return 1;
}

static larmor_status create(larmor_device *dev, const char *name, double weight, int64_t groups, larmor_dtype dtype,
                            larmor_shape shape, larmor_prox **p)
{
    const larmor_prox_impl impl = {name, apply, value, free};
    LMR_MAKE(l1, s, free);
    *s = (l1){.weight = weight, .groups = groups};
    LMR_TRY(lmr_sparse_kernels_of(dev, dtype, &s->kernels));
    return lmr_hand_on(&s_made, larmor_prox_create(dev, &impl, s, dtype, shape, p));
}

larmor_status larmor_prox_l1(larmor_device *dev, double weight, larmor_dtype dtype, larmor_shape shape,
                             larmor_prox **p)
{
    LMR_TRY(lmr_prox_begin("l1", dev, weight, dtype, p));
    return create(dev, "l1", weight, 1, dtype, shape, p);
}

larmor_status larmor_prox_group_l1(larmor_device *dev, double weight, larmor_dtype dtype, larmor_shape shape,
                                   larmor_prox **p)
{
    LMR_TRY(lmr_prox_begin("group l1", dev, weight, dtype, p));
    LMR_REFUSE(larmor_shape_count(shape) < 0 || shape.ndim < 1 || shape.dim[shape.ndim - 1] < 1, LARMOR_ERR_SHAPE,
               "group l1: got %s, expected groups in the last dimension", lmr_describe_as(dev, dtype, shape).s);
    return create(dev, "group l1", weight, shape.dim[shape.ndim - 1], dtype, shape, p);
}

/* ---- the regulariser ---- */

static larmor_status make(larmor_device *dev, const larmor_regulariser_opts *o LMR_UNUSED, larmor_dtype dtype,
                          larmor_shape shape, larmor_penalty *made)
{
    return larmor_prox_l1(dev, 1, dtype, shape, &made->g);
}

const lmr_regulariser_kind lmr_regulariser_l1 = {
    .name = "l1",
    .help = "l1 norm of the image: few voxels that are not 0",
    .takes = LARMOR_TAKES_IMAGES,
    .strength = 2,
    .curvature = 1,
    .make = make,
};
