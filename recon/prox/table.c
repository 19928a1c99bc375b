/* Regularisers by name. SPDX-License-Identifier: Apache-2.0 */
#include "recon/prox/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const lmr_regulariser_kind *const table[] = {
    &lmr_regulariser_tv,
    &lmr_regulariser_tgv,
    &lmr_regulariser_wavelet,
    &lmr_regulariser_llr,
};
enum { COUNT = sizeof table / sizeof *table };

/* ---- the table ---- */

const char *larmor_regulariser_name(int i)
{
    return i >= 0 && i < COUNT ? table[i]->name : NULL;
}

const char *larmor_regulariser_help(int i)
{
    return i >= 0 && i < COUNT ? table[i]->help : NULL;
}

static larmor_status find(const char *name, const lmr_regulariser_kind **kind)
{
    char known[128] = "";
    *kind = NULL;
    for (int i = 0; i < COUNT; i++) {
        if (name && !strcmp(name, table[i]->name)) *kind = table[i];
        if (i) strncat(known, i + 1 < COUNT ? ", " : " or ", sizeof known - strlen(known) - 1);
        strncat(known, table[i]->name, sizeof known - strlen(known) - 1);
    }
    if (*kind) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "regulariser: got \"%s\", expected %s", name ? name : "(null)", known);
}

static larmor_status check(const char *name, const larmor_regulariser_opts *o)
{
    if (isnan(o->lambda) || isinf(o->lambda))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: lambda is %g, expected a finite number", name, o->lambda);
    if (isnan(o->time) || isinf(o->time))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: the weight of time is %g, expected a finite number", name, o->time);
    if (!(o->ratio >= 0) || isinf(o->ratio))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: ratio is %g, expected a finite number >= 0", name, o->ratio);
    for (int d = 0; d < 3; d++)
        if (o->block[d] < 0)
            return LMR_FAIL(LARMOR_ERR_ARG, "%s: block[%d] is %lld, expected at least 1, or 0 for the default", name,
                            d, (long long)o->block[d]);
    return LARMOR_OK;
}

larmor_status larmor_regulariser_defaults(const char *name, larmor_regulariser_opts *opts, larmor_solve_opts *solve)
{
    const lmr_regulariser_kind *kind;
    LMR_TRY(find(name, &kind));
    if (opts) opts->lambda = kind->lambda;
    if (solve) solve->max_iter = kind->max_iter, solve->tol = kind->tol;
    return LARMOR_OK;
}

/* ---- the object ---- */

larmor_status larmor_regulariser_create(larmor_device *dev, const char *name, const larmor_regulariser_opts *opts,
                                        larmor_dtype dtype, larmor_shape shape, larmor_regulariser **out)
{
    if (!out) return LMR_FAIL(LARMOR_ERR_ARG, "regulariser: r is NULL");
    *out = NULL;
    const lmr_regulariser_kind *kind;
    const larmor_regulariser_opts o = opts ? *opts : (larmor_regulariser_opts){0};
    LMR_TRY(find(name, &kind));
    if (!dev || !lmr_is_complex(dtype))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: a device and a complex type are needed", kind->name);
    LMR_TRY(check(kind->name, &o));
    larmor_regulariser *r = calloc(1, sizeof *r);
    if (!r) return LMR_NO_MEMORY();
    r->kind = kind, r->dev = lmr_device_ref(dev), r->dtype = dtype, r->shape = shape, r->refs = 1;
    r->penalty.lambda = o.lambda == 0 ? kind->lambda : fmax(0, o.lambda);
    const larmor_status st = kind->make(dev, &o, dtype, shape, &r->penalty);
    if (st)
        larmor_regulariser_free(r);
    else
        *out = r;
    return st;
}

larmor_regulariser *larmor_regulariser_ref(larmor_regulariser *r)
{
    if (r) r->refs++;
    return r;
}

void larmor_regulariser_free(larmor_regulariser *r)
{
    if (!r || --r->refs > 0) return;
    larmor_op_free(r->penalty.K), larmor_op_free(r->penalty.E);
    larmor_prox_free(r->penalty.g);
    larmor_device_free(r->dev);
    free(r);
}

larmor_penalty larmor_regulariser_penalty(const larmor_regulariser *r)
{
    return r ? r->penalty : (larmor_penalty){0};
}

double larmor_regulariser_weight(const larmor_regulariser *r)
{
    return r ? r->weight : 0;
}

larmor_status larmor_regulariser_set_weight(larmor_regulariser *r, double weight)
{
    if (!r) return LMR_FAIL(LARMOR_ERR_ARG, "regulariser: r is NULL");
    if (!(weight >= 0) || isinf(weight))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: the weight is %g, expected a finite number >= 0", r->kind->name, weight);
    r->fixed = weight;
    return LARMOR_OK;
}

larmor_status larmor_regularised_memory(const char *name, const larmor_regulariser_opts *opts, larmor_dtype dtype,
                                        larmor_shape shape, int64_t *bytes)
{
    enum { OF_Z = 11, OF_KZ = 6 }; /* the vectors of larmor_admm and of its preconditioner */
    const lmr_regulariser_kind *kind;
    LMR_NEED(bytes);
    *bytes = 0;
    LMR_TRY(find(name, &kind));
    const larmor_regulariser_opts o = opts ? *opts : (larmor_regulariser_opts){0};
    LMR_TRY(check(kind->name, &o));
    double z, Kz, kept;
    kind->sizes(&o, shape, &z, &Kz, &kept);
    const double numbers = (OF_Z * z + OF_KZ * Kz + kept + 1) * (double)larmor_shape_count(shape);
    if (!(numbers >= 0) || numbers * (double)larmor_dtype_size(dtype) > 0x1p62)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: the image's size is out of range", kind->name);
    *bytes = (int64_t)(numbers * (double)larmor_dtype_size(dtype));
    return LARMOR_OK;
}
