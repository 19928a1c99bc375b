/* Regularisers by name: one of the table, or the sum of several. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/prox/sum.h"
#include "recon/prox/terms.h"

#define SET_PENALTY 1e-1 /* that a set is split with, in the unit of LMR_REGULARISER_PENALTY */

static const lmr_regulariser_kind *kind_of(const lmr_terms *terms, int i)
{
    return lmr_regulariser_kind_of(terms->term[i].entry);
}

static larmor_status check(const char *name, const larmor_regulariser_opts *o)
{
    LMR_REFUSE(isnan(o->lambda) || isinf(o->lambda), LARMOR_ERR_ARG, "%s: lambda is %g, expected a finite number",
               name, o->lambda);
    LMR_REFUSE(isnan(o->time) || isinf(o->time), LARMOR_ERR_ARG,
               "%s: the weight of time is %g, expected a finite number", name, o->time);
    LMR_REFUSE(!(o->ratio >= 0) || isinf(o->ratio), LARMOR_ERR_ARG, "%s: ratio is %g, expected a finite number >= 0",
               name, o->ratio);
    for (int d = 0; d < 3; d++)
        LMR_REFUSE(o->block[d] < 0, LARMOR_ERR_ARG,
                   "%s: block[%d] is %lld, expected at least 1, or 0 for the default", name, d,
                   (long long)o->block[d]);
    for (int d = 0; d < 3; d++)
        LMR_REFUSE(!(o->voxel[d] >= 0) || isinf(o->voxel[d]), LARMOR_ERR_ARG,
                   "%s: voxel[%d] is %g, expected a finite number > 0, or 0 where all are alike", name, d,
                   o->voxel[d]);
    return LARMOR_OK;
}

/* The terms of a name, with valid options. */
static larmor_status find(const char *name, const larmor_regulariser_opts *opts, larmor_shape shape, lmr_terms *terms)
{
    LMR_TRY(lmr_terms_read(name, terms));
    LMR_REFUSE(larmor_shape_count(shape) < 0, LARMOR_ERR_SHAPE, "%s: the image has no possible shape", name);
    return check(name, opts);
}

static int is_sum(const lmr_terms *terms, const larmor_regulariser_opts *o)
{
    return terms->count > 1 || terms->term[0].ratio > 0 || o->set;
}

static double ratio_of(const lmr_terms *terms, int i)
{
    return terms->term[i].ratio > 0 ? terms->term[i].ratio : 1;
}

/* ---- the object ---- */

static larmor_status make_terms(larmor_regulariser *r, const lmr_terms *terms, const larmor_regulariser_opts *o,
                                lmr_summand *parts)
{
    for (int i = 0; i < terms->count; i++) {
        larmor_regulariser_opts own;
        larmor_shape seen;
        LMR_TRY(lmr_terms_opts(terms, i, o, r->shape, &own, &seen));
        LMR_TRY(kind_of(terms, i)->make(r->dev, &own, r->dtype, seen, &parts[i].penalty));
        if (own.frames[0]) LMR_TRY(lmr_penalty_reshape(r->shape, &parts[i].penalty));
    }
    return LARMOR_OK;
}

/* The defaults of one penalty suit several: their strengths share the noise. The splitting of each is as strong as it
 * is by itself, in proportion to its weight. Returns the default of lambda. */
static double combine(const lmr_terms *terms, lmr_regulariser_kind *kind, lmr_summand *parts)
{
    double all = 0, lambda = 0;
    *kind = *kind_of(terms, 0);
    kind->curvature = kind->strength = 0;
    for (int i = 0; i < terms->count; i++) all += ratio_of(terms, i);
    for (int i = 0; i < terms->count; i++) {
        const lmr_regulariser_kind *one = kind_of(terms, i);
        const double share = ratio_of(terms, i) / all;
        parts[i].ratio = ratio_of(terms, i);
        parts[i].scale = sqrt(share * terms->count);
        lambda += share * LMR_REGULARISER_LAMBDA / all;
        kind->strength += share * one->strength / all;
        kind->curvature += parts[i].scale * parts[i].scale * one->curvature;
        kind->beside = fmax(kind->beside, one->beside);
        kind->is_block |= one->is_block;
    }
    return lambda;
}

/* A set is a row below the penalties, whose multipliers do not grow with the weight. */
static void add_set(larmor_regulariser *r, larmor_prox *set, lmr_summand *row)
{
    const double strength = sqrt(SET_PENALTY / LMR_REGULARISER_PENALTY);
    *row = (lmr_summand){.penalty = {.g = set}, .ratio = 1, .scale = strength};
    r->kind.curvature += strength * strength;
    r->set = larmor_prox_ref(set);
}

static void penalty_free(larmor_penalty *p)
{
    LMR_FREE(p->K, p->E);
    larmor_prox_free(p->g);
}

static larmor_status make(larmor_regulariser *r, const lmr_terms *terms, const larmor_regulariser_opts *o)
{
    lmr_summand parts[LMR_MAX_TERMS + 1] = {{.ratio = 0}};
    double lambda = LMR_REGULARISER_LAMBDA;
    larmor_status st = make_terms(r, terms, o, parts);
    if (!is_sum(terms, o)) {
        r->kind = *kind_of(terms, 0);
        r->penalty = parts[0].penalty;
    } else {
        lambda = combine(terms, &r->kind, parts);
        if (o->set) add_set(r, o->set, &parts[terms->count]);
        const int rows = terms->count + (o->set != NULL);
        if (!st) st = lmr_penalty_sum(r->dev, r->dtype, r->shape, parts, rows, &r->penalty);
        for (int i = 0; i < terms->count; i++) penalty_free(&parts[i].penalty);
    }
    r->kind.name = r->name;
    r->penalty.lambda = o->lambda == 0 ? lambda : fmax(0, o->lambda);
    return st;
}

larmor_status larmor_regulariser_create(larmor_device *dev, const char *name, const larmor_regulariser_opts *opts,
                                        larmor_dtype dtype, larmor_shape shape, larmor_regulariser **out)
{
    LMR_REFUSE(!out, LARMOR_ERR_ARG, "regulariser: r is NULL");
    *out = NULL;
    lmr_terms terms;
    const larmor_regulariser_opts o = opts ? *opts : (larmor_regulariser_opts){0};
    LMR_TRY(find(name, &o, shape, &terms));
    LMR_REFUSE(!dev || !lmr_is_complex(dtype), LARMOR_ERR_ARG, "%s: a device and a complex type are needed", name);
    LMR_NEW_ZEROS(larmor_regulariser, r, 1);
    snprintf(r->name, sizeof r->name, "%s", name);
    r->dev = lmr_device_ref(dev);
    r->dtype = dtype;
    r->shape = shape;
    const larmor_status st = make(r, &terms, &o);
    return LMR_GIVE(out, r, larmor_regulariser_free, st);
}

void larmor_regulariser_free(larmor_regulariser *r)
{
    if (!r) return;
    penalty_free(&r->penalty);
    larmor_prox_free(r->set);
    LMR_FREE(r->dev, r);
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
    LMR_REFUSE(!r, LARMOR_ERR_ARG, "regulariser: r is NULL");
    LMR_REFUSE(!(weight >= 0) || isinf(weight), LARMOR_ERR_ARG, "%s: the weight is %g, expected a finite number >= 0",
               r->kind.name, weight);
    r->fixed = weight;
    return LARMOR_OK;
}
