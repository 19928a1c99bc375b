/* Sparsity of an image's wavelet coefficients, with shifts. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "recon/prox/prox.h"
#include "recon/prox/table.h"

typedef struct wavelet {
    uint64_t applied;
    larmor_op *W;
    larmor_prox *g; /* of the coefficients */
    larmor_array *coefficients;
} wavelet;

/* W is orthonormal, so that W^H shrink W is the proximal map. */
static larmor_status apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    wavelet *s = self;
    const larmor_shape shape = larmor_array_shape(x);
    int64_t shift[3];
    lmr_prox_shift(s->applied++, shape.ndim, shape.dim, shift);
    LMR_TRY(larmor_op_wavelet_shift(s->W, shift));
    LMR_TRY(larmor_op_forward(s->W, x, s->coefficients));
    LMR_TRY(larmor_prox_apply(s->g, t, s->coefficients, s->coefficients));
    return larmor_op_adjoint(s->W, s->coefficients, z);
}

static larmor_status value(void *self, const larmor_array *x, double *g)
{
    wavelet *s = self;
    LMR_TRY(larmor_op_forward(s->W, x, s->coefficients));
    return larmor_prox_value(s->g, s->coefficients, g);
}

static void destroy(void *self)
{
    wavelet *s = self;
    larmor_op_free(s->W), larmor_prox_free(s->g);
    larmor_array_free(s->coefficients);
    free(s);
}

larmor_status larmor_prox_wavelet(larmor_device *dev, double weight, larmor_dtype dtype, larmor_shape shape,
                                  const larmor_wavelet_opts *opts, larmor_prox **p)
{
    static const larmor_prox_impl impl = {"wavelet", apply, value, destroy};
    LMR_TRY(lmr_prox_begin("wavelet", dev, weight, dtype, p));
    wavelet *s = calloc(1, sizeof *s);
    if (!s) return LMR_NO_MEMORY();
    larmor_status st;
    LMR_OR(fail, larmor_op_wavelet(dev, dtype, shape, opts, &s->W));
    const larmor_shape out = larmor_op_out_shape(s->W);
    LMR_OR(fail, larmor_prox_l1(dev, weight, dtype, out, &s->g));
    LMR_OR(fail, larmor_array_create(dev, dtype, out, &s->coefficients));
    LMR_OR(fail, larmor_prox_create(dev, &impl, s, dtype, shape, p));
    return LARMOR_OK;
fail:
    destroy(s);
    return st;
}

static larmor_status make(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                          larmor_shape shape, larmor_penalty *made)
{
    (void)o;
    return larmor_prox_wavelet(dev, 1, dtype, shape, NULL, &made->g);
}

static void sizes(const larmor_regulariser_opts *o, larmor_shape shape, double *z, double *Kz, double *kept)
{
    (void)o, (void)shape;
    *z = 1, *Kz = 1, *kept = 3;
}

const lmr_regulariser_kind lmr_regulariser_wavelet = {
    .name = "wavelet",
    .help = "l1 norm of Daubechies wavelet coefficients, at changing shifts",
    .lambda = 2e-3,
    .tol = 1e-3,
    .max_iter = 20,
    .penalty = 5e-2,
    .inner = 3,
    .make = make,
    .sizes = sizes,
};
