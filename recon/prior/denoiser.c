/* Denoisers: the public calls, and the forms in which they get complex numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "core/core.h"
#include "core/gate.h"
#include "recon/prior/prior.h"

struct larmor_denoiser {
    larmor_denoiser_impl impl;
    void *self;
    lmr_gate gate; /* around apply: what it works with serves one call at a time */
    atomic_int refs;
};

larmor_status larmor_denoiser_create(const larmor_denoiser_impl *impl, void *self, larmor_denoiser **out)
{
    LMR_NEED_OUT(out);
    LMR_REFUSE(!impl || !impl->name || !impl->apply, LARMOR_ERR_ARG,
               "larmor_denoiser_create: a name and apply are needed");
    LMR_REFUSE(impl->form < LARMOR_DENOISE_COMPLEX || impl->form > LARMOR_DENOISE_MAGNITUDE, LARMOR_ERR_ARG,
               "prior %s: form is %d, expected 0 to %d", impl->name, (int)impl->form, LARMOR_DENOISE_MAGNITUDE);
    LMR_NEW_ZEROS(larmor_denoiser, d, 1);
    d->impl = *impl;
    d->self = self;
    d->refs = 1;
    lmr_gate_init(&d->gate);
    *out = d;
    return LARMOR_OK;
}

static larmor_status check(const larmor_denoiser *d, double sigma, const larmor_array *x, const larmor_array *z)
{
    LMR_REFUSE(!d || !x || !z, LARMOR_ERR_ARG, "larmor_denoiser_apply: a denoiser, x and z are needed");
    LMR_REFUSE(!(sigma >= 0) || !isfinite(sigma), LARMOR_ERR_ARG,
               "prior %s: sigma is %g, expected a finite number >= 0", d->impl.name, sigma);
    LMR_REFUSE(!lmr_is_complex(x->dtype), LARMOR_ERR_SHAPE, "prior %s: x is %s, expected complex numbers",
               d->impl.name, lmr_describe(x).s);
    LMR_REFUSE(x->data == z->data && larmor_array_count(x), LARMOR_ERR_ARG,
               "prior %s: x and z are one array, expected two", d->impl.name);
    return lmr_expect(d->impl.name, "output", z, x->dev, x->dtype, x->shape);
}

larmor_status larmor_denoiser_apply(larmor_denoiser *d, double sigma, const larmor_array *x, larmor_array *z)
{
    char said[96];
    LMR_TRY(check(d, sigma, x, z));
    LMR_TRY(lmr_gate_enter(&d->gate));
    const larmor_status st = lmr_denoise_in_form(&d->impl, d->self, sigma, x, z);
    lmr_gate_leave(&d->gate);
    LMR_TRY(st);
    if (d->impl.is_residual) LMR_TRY(larmor_axpby(1, x, -1, z));
    snprintf(said, sizeof said, "prior %.80s", d->impl.name);
    return larmor_array_expect_finite(z, said);
}

const char *larmor_denoiser_name(const larmor_denoiser *d)
{
    return d ? d->impl.name : "";
}

larmor_denoiser *larmor_denoiser_ref(larmor_denoiser *d)
{
    if (d) d->refs++;
    return d;
}

void larmor_denoiser_free(larmor_denoiser *d)
{
    if (!d || --d->refs > 0) return;
    if (d->impl.destroy) d->impl.destroy(d->self);
    lmr_gate_destroy(&d->gate);
    free(d);
}
