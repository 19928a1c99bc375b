/* Proximal maps: the public calls, and helpers of the constructors. SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "core/core.h"
#include "core/gate.h"
#include "recon/prox/prox.h"

struct larmor_prox {
    larmor_device *dev;
    larmor_prox_impl impl;
    void *self;
    larmor_dtype dtype;
    larmor_shape shape;
    lmr_gate gate; /* around apply and value: what they work with serves one call at a time */
    atomic_int refs;
};

larmor_status lmr_prox_begin(const char *name, const larmor_device *dev, double weight, larmor_dtype dtype,
                             larmor_prox **p)
{
    LMR_REFUSE(!p, LARMOR_ERR_ARG, "%s: p is NULL", name);
    *p = NULL;
    LMR_REFUSE(!dev || !lmr_is_complex(dtype), LARMOR_ERR_ARG, "%s: a device and a complex type are needed", name);
    LMR_REFUSE(!(weight >= 0) || !isfinite(weight), LARMOR_ERR_ARG, "%s: weight is %g, expected a finite number >= 0",
               name, weight);
    return LARMOR_OK;
}

larmor_status larmor_prox_create(larmor_device *dev, const larmor_prox_impl *impl, void *self, larmor_dtype dtype,
                                 larmor_shape shape, larmor_prox **out)
{
    LMR_REFUSE(!out, LARMOR_ERR_ARG, "larmor_prox_create: p is NULL");
    *out = NULL;
    LMR_REFUSE(!dev || !impl || !impl->name || !impl->apply || !impl->value, LARMOR_ERR_ARG,
               "larmor_prox_create: a device, a name, apply and value are needed");
    LMR_REFUSE(!lmr_is_complex(dtype), LARMOR_ERR_ARG, "%s: dtype is %s, expected c64 or c128", impl->name,
               larmor_dtype_name(dtype));
    LMR_NEW_ZEROS(larmor_prox, p, 1);
    p->dev = lmr_device_ref(dev);
    p->impl = *impl;
    p->self = self;
    p->dtype = dtype;
    p->shape = shape;
    p->refs = 1;
    lmr_gate_init(&p->gate);
    *out = p;
    return LARMOR_OK;
}

larmor_status larmor_prox_apply(larmor_prox *p, double t, const larmor_array *x, larmor_array *z)
{
    LMR_REFUSE(!p, LARMOR_ERR_ARG, "larmor_prox_apply: p is NULL");
    LMR_REFUSE(!(t > 0) || !isfinite(t), LARMOR_ERR_ARG, "%s: step is %g, expected a finite number > 0", p->impl.name,
               t);
    LMR_TRY(lmr_expect(p->impl.name, "input", x, p->dev, p->dtype, p->shape));
    LMR_TRY(lmr_expect(p->impl.name, "output", z, p->dev, p->dtype, p->shape));
    LMR_TRY(lmr_gate_enter(&p->gate));
    const larmor_status st = p->impl.apply(p->self, t, x, z);
    lmr_gate_leave(&p->gate);
    return st;
}

larmor_status larmor_prox_value(larmor_prox *p, const larmor_array *x, double *g)
{
    LMR_REFUSE(!p || !g, LARMOR_ERR_ARG, "larmor_prox_value: p and g are needed");
    LMR_TRY(lmr_expect(p->impl.name, "input", x, p->dev, p->dtype, p->shape));
    LMR_TRY(lmr_gate_enter(&p->gate));
    const larmor_status st = p->impl.value(p->self, x, g);
    lmr_gate_leave(&p->gate);
    return st;
}

larmor_status lmr_prox_no_value(void *self LMR_UNUSED, const larmor_array *x LMR_UNUSED, double *g)
{
    *g = 0;
    return LARMOR_OK;
}

void *lmr_prox_self(const larmor_prox *p,
                    larmor_status (*apply)(void *self, double t, const larmor_array *x, larmor_array *z))
{
    return p && p->impl.apply == apply ? p->self : NULL;
}

larmor_shape larmor_prox_shape(const larmor_prox *p)
{
    return p ? p->shape : (larmor_shape){0};
}

larmor_dtype larmor_prox_dtype(const larmor_prox *p)
{
    return p ? p->dtype : LARMOR_C64;
}

larmor_device *larmor_prox_device(const larmor_prox *p)
{
    return p ? p->dev : NULL;
}

larmor_prox *larmor_prox_ref(larmor_prox *p)
{
    if (p) p->refs++;
    return p;
}

void larmor_prox_free(larmor_prox *p)
{
    if (!p || --p->refs > 0) return;
    if (p->impl.destroy) p->impl.destroy(p->self);
    larmor_device_free(p->dev);
    lmr_gate_destroy(&p->gate);
    free(p);
}
