/* Half the square of the norm. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "recon/prox/prox.h"

static larmor_status apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    const double *weight = self;
    return larmor_axpby(1 / (1 + t * *weight), x, 0, z);
}

static larmor_status value(void *self, const larmor_array *x, double *g)
{
    const double *weight = self;
    double norm;
    LMR_TRY(larmor_nrm2(x, &norm));
    *g = *weight / 2 * norm * norm;
    return LARMOR_OK;
}

larmor_status larmor_prox_l2(larmor_device *dev, double weight, larmor_dtype dtype, larmor_shape shape,
                             larmor_prox **p)
{
    static const larmor_prox_impl impl = {"l2", apply, value, free};
    LMR_TRY(lmr_prox_begin("l2", dev, weight, dtype, p));
    double *self = malloc(sizeof *self);
    if (!self) return LMR_NO_MEMORY();
    *self = weight;
    const larmor_status st = larmor_prox_create(dev, &impl, self, dtype, shape, p);
    if (st) free(self);
    return st;
}
