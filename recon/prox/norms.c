/* The norm of all numbers together, its square, and functions that are moved. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/prox/prox.h"

typedef struct norm {
    double weight;
} norm;

static larmor_status create(const larmor_prox_impl *impl, larmor_device *dev, double weight, larmor_dtype dtype,
                            larmor_shape shape, larmor_prox **p)
{
    LMR_TRY(lmr_prox_begin(impl->name, dev, weight, dtype, p));
    LMR_MAKE(norm, s, free);
    s->weight = weight;
    return lmr_hand_on(&s_made, larmor_prox_create(dev, impl, s, dtype, shape, p));
}

/* ---- weight |x| ---- */

static larmor_status l2_apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    const norm *s = self;
    double size;
    LMR_TRY(larmor_nrm2(x, &size));
    const double factor = size <= t * s->weight ? 0 : 1 - t * s->weight / size; /* NaN stays NaN */
    return z == x ? larmor_axpby(0, x, factor, z) : larmor_axpby(factor, x, 0, z);
}

static larmor_status l2_value(void *self, const larmor_array *x, double *g)
{
    const norm *s = self;
    LMR_TRY(larmor_nrm2(x, g));
    *g *= s->weight;
    return LARMOR_OK;
}

larmor_status larmor_prox_l2(larmor_device *dev, double weight, larmor_dtype dtype, larmor_shape shape,
                             larmor_prox **p)
{
    static const larmor_prox_impl impl = {"l2", l2_apply, l2_value, free};
    return create(&impl, dev, weight, dtype, shape, p);
}

/* ---- weight |x|^2 / 2 ---- */

static larmor_status square_apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    const norm *s = self;
    const double factor = 1 / (1 + t * s->weight);
    return z == x ? larmor_axpby(0, x, factor, z) : larmor_axpby(factor, x, 0, z);
}

static larmor_status square_value(void *self, const larmor_array *x, double *g)
{
    const norm *s = self;
    LMR_TRY(larmor_nrm2(x, g));
    *g *= *g * s->weight / 2;
    return LARMOR_OK;
}

larmor_status larmor_prox_square(larmor_device *dev, double weight, larmor_dtype dtype, larmor_shape shape,
                                 larmor_prox **p)
{
    static const larmor_prox_impl impl = {"square", square_apply, square_value, free};
    return create(&impl, dev, weight, dtype, shape, p);
}

/* ---- g(x - centre) ---- */

typedef struct moved {
    larmor_prox *g;
    larmor_array *centre, *at; /* at: x - centre */
} moved;

static larmor_status moved_apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    const moved *s = self;
    LMR_TRY(larmor_sum(2, (double[]){1, -1}, (const larmor_array *[]){x, s->centre}, s->at));
    LMR_TRY(larmor_prox_apply(s->g, t, s->at, z));
    return larmor_axpby(1, s->centre, 1, z);
}

static larmor_status moved_value(void *self, const larmor_array *x, double *g)
{
    const moved *s = self;
    LMR_TRY(larmor_sum(2, (double[]){1, -1}, (const larmor_array *[]){x, s->centre}, s->at));
    return larmor_prox_value(s->g, s->at, g);
}

static void moved_destroy(void *self)
{
    moved *s = self;
    larmor_prox_free(s->g);
    LMR_FREE(s->centre, s->at, s);
}

larmor_status larmor_prox_translate(larmor_prox *g, const larmor_array *centre, larmor_prox **p)
{
    static const larmor_prox_impl impl = {"translate", moved_apply, moved_value, moved_destroy};
    LMR_NEED_OUT(p, g && centre);
    larmor_device *dev = larmor_prox_device(g);
    const larmor_dtype dtype = larmor_prox_dtype(g);
    const larmor_shape shape = larmor_prox_shape(g);
    LMR_TRY(lmr_expect("translate", "centre", centre, dev, dtype, shape));
    LMR_MAKE(moved, s, moved_destroy);
    s->g = larmor_prox_ref(g);
    LMR_TRY(larmor_array_create(dev, dtype, shape, &s->centre));
    LMR_TRY(larmor_array_create(dev, dtype, shape, &s->at));
    LMR_TRY(larmor_copy(centre, s->centre));
    return lmr_hand_on(&s_made, larmor_prox_create(dev, &impl, s, dtype, shape, p));
}
