/* Nuclear norms of matrices (Cai, Candes, Shen 2010). SPDX-License-Identifier: Apache-2.0 */
#include "core/owned.h"
#include "recon/low_rank.h"
#include "recon/prox/prox.h"

typedef struct nuclear {
    double weight;
    larmor_shape shape; /* [m, n, count] */
    larmor_array *shrunk;
} nuclear;

static larmor_status nuclear_apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    const nuclear *s = self;
    LMR_OWN(larmor_array, from, larmor_array_reshape(x, s->shape, &from));
    LMR_OWN(larmor_array, to, larmor_array_reshape(z, s->shape, &to));
    LMR_TRY(lmr_shrink_singular(t * s->weight, from, s->shrunk, NULL));
    return larmor_copy(s->shrunk, to); /* z may be x, and shrinkage is not in place */
}

static larmor_status nuclear_value(void *self, const larmor_array *x, double *g)
{
    const nuclear *s = self;
    LMR_OWN(larmor_array, from, larmor_array_reshape(x, s->shape, &from));
    LMR_TRY(lmr_shrink_singular(0, from, NULL, g));
    *g *= s->weight;
    return LARMOR_OK;
}

LMR_DESTROYS(nuclear_destroy, nuclear, shrunk)

larmor_status larmor_prox_nuclear(larmor_device *dev, double weight, larmor_dtype dtype, larmor_shape shape,
                                  larmor_prox **p)
{
    static const larmor_prox_impl impl = {"nuclear", nuclear_apply, nuclear_value, nuclear_destroy};
    LMR_TRY(lmr_prox_begin("nuclear", dev, weight, dtype, p));
    LMR_REFUSE(shape.ndim != 2 && shape.ndim != 3, LARMOR_ERR_SHAPE,
               "nuclear: got %s, expected [m, n] or [m, n, matrices]", lmr_describe_as(dev, dtype, shape).s);
    LMR_MAKE(nuclear, s, nuclear_destroy);
    s->weight = weight;
    s->shape = shape.ndim == 3 ? shape : larmor_shape_append(shape, 1);
    LMR_TRY(larmor_array_create(dev, dtype, s->shape, &s->shrunk));
    return lmr_hand_on(&s_made, larmor_prox_create(dev, &impl, s, dtype, shape, p));
}
