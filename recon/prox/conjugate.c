/* Convex conjugates, by Moreau's identity (Moreau 1965). SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/prox/prox.h"

enum { VALUE_STEPS = 5 };
#define VALUE_STEP_FACTOR 1e-3
/* How far the point at which g* is computed may be from x, over |x|. */
#define VALUE_DISTANCE 1e-6

typedef struct conjugate {
    larmor_prox *g;
    larmor_array *p, *z; /* p: the proximal map of g / t at x / t */
} conjugate;

/* s->p <- the subgradient of g* at z = x - t s->p */
static larmor_status subgradient(const conjugate *s, double t, const larmor_array *x)
{
    LMR_TRY(larmor_axpby(1 / t, x, 0, s->p));
    return larmor_prox_apply(s->g, 1 / t, s->p, s->p);
}

static larmor_status conjugate_apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    const conjugate *s = self;
    LMR_TRY(subgradient(s, t, x));
    return larmor_sum(2, (double[]){1, -t}, (const larmor_array *[]){x, s->p}, z);
}

/* *t <- a step whose z is at x, or 1 where no step's is, as x is outside of the domain of g* */
static larmor_status value_step(const conjugate *s, const larmor_array *x, double *t)
{
    double size, slope;
    LMR_TRY(larmor_nrm2(x, &size));
    *t = 1;
    for (int i = 0; i < VALUE_STEPS; i++, *t *= VALUE_STEP_FACTOR) {
        LMR_TRY(subgradient(s, *t, x));
        LMR_TRY(larmor_nrm2(s->p, &slope));
        if (!(*t * slope > VALUE_DISTANCE * size)) return LARMOR_OK;
    }
    *t = 1;
    return subgradient(s, 1, x);
}

/* Fenchel's equality g*(z) = <z, p> - g(p) at the z of that step. */
static larmor_status conjugate_value(void *self, const larmor_array *x, double *value)
{
    const conjugate *s = self;
    double product[2], g, t;
    LMR_TRY(value_step(s, x, &t));
    LMR_TRY(larmor_sum(2, (double[]){1, -t}, (const larmor_array *[]){x, s->p}, s->z));
    LMR_TRY(larmor_dot(s->z, s->p, product));
    LMR_TRY(larmor_prox_value(s->g, s->p, &g));
    *value = product[0] - g;
    return LARMOR_OK;
}

static void conjugate_destroy(void *self)
{
    conjugate *s = self;
    larmor_prox_free(s->g);
    LMR_FREE(s->p, s->z, s);
}

larmor_status larmor_prox_conjugate(larmor_prox *g, larmor_prox **p)
{
    static const larmor_prox_impl impl = {"conjugate", conjugate_apply, conjugate_value, conjugate_destroy};
    LMR_NEED_OUT(p, g);
    larmor_device *dev = larmor_prox_device(g);
    const larmor_dtype dtype = larmor_prox_dtype(g);
    const larmor_shape shape = larmor_prox_shape(g);
    LMR_MAKE(conjugate, s, conjugate_destroy);
    s->g = larmor_prox_ref(g);
    LMR_TRY(larmor_array_create(dev, dtype, shape, &s->p));
    LMR_TRY(larmor_array_create(dev, dtype, shape, &s->z));
    return lmr_hand_on(&s_made, larmor_prox_create(dev, &impl, s, dtype, shape, p));
}
