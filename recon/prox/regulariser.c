/* Regularisers by name. SPDX-License-Identifier: Apache-2.0 */
#include "recon/prox/regulariser.h"

#include <math.h>
#include <stdlib.h>

#include "core/names.h"

/* A new regulariser is a line here and a file in this folder that defines lmr_regulariser_<name>. */
#define REGULARISERS(X)                                                                                              \
    X(tv)                                                                                                            \
    X(tgv)                                                                                                           \
    X(wavelet)                                                                                                       \
    X(llr)

#define DECLARE(name) extern const lmr_regulariser_kind lmr_regulariser_##name;
#define ROW(name) &lmr_regulariser_##name,
REGULARISERS(DECLARE)
static const lmr_regulariser_kind *const table[] = {REGULARISERS(ROW)};
enum { COUNT = sizeof table / sizeof *table };

/* ---- the table ---- */

larmor_regulariser_info larmor_regulariser_entry(int i)
{
    if (i < 0 || i >= COUNT) return (larmor_regulariser_info){.name = NULL};
    return (larmor_regulariser_info){table[i]->name, table[i]->help, table[i]->takes};
}

static const char *name_at(int i)
{
    return larmor_regulariser_entry(i).name;
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
    for (int d = 0; d < 3; d++)
        if (!(o->voxel[d] >= 0) || isinf(o->voxel[d]))
            return LMR_FAIL(LARMOR_ERR_ARG,
                            "%s: voxel[%d] is %g, expected a finite number > 0, or 0 where all are alike", name, d,
                            o->voxel[d]);
    return LARMOR_OK;
}

larmor_status lmr_regulariser_find(const char *name, const larmor_regulariser_opts *opts, larmor_shape shape,
                                   const lmr_regulariser_kind **kind)
{
    int entry;
    LMR_TRY(lmr_find_name("regulariser", name, name_at, &entry));
    *kind = table[entry];
    if (larmor_shape_count(shape) < 0)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: the image has no possible shape", (*kind)->name);
    return check((*kind)->name, opts);
}

/* ---- the object ---- */

larmor_status larmor_regulariser_create(larmor_device *dev, const char *name, const larmor_regulariser_opts *opts,
                                        larmor_dtype dtype, larmor_shape shape, larmor_regulariser **out)
{
    if (!out) return LMR_FAIL(LARMOR_ERR_ARG, "regulariser: r is NULL");
    *out = NULL;
    const lmr_regulariser_kind *kind;
    const larmor_regulariser_opts o = opts ? *opts : (larmor_regulariser_opts){0};
    LMR_TRY(lmr_regulariser_find(name, &o, shape, &kind));
    if (!dev || !lmr_is_complex(dtype))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: a device and a complex type are needed", kind->name);
    larmor_regulariser *r = calloc(1, sizeof *r);
    if (!r) return LMR_NO_MEMORY();
    r->kind = kind;
    r->dev = lmr_device_ref(dev);
    r->dtype = dtype;
    r->shape = shape;
    r->penalty.lambda = o.lambda == 0 ? kind->lambda : fmax(0, o.lambda);
    const larmor_status st = kind->make(dev, &o, dtype, shape, &r->penalty);
    if (st)
        larmor_regulariser_free(r);
    else
        *out = r;
    return st;
}

void larmor_regulariser_free(larmor_regulariser *r)
{
    if (!r) return;
    larmor_op_free(r->penalty.K);
    larmor_op_free(r->penalty.E);
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
