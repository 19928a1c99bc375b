/* Several penalties as one: their operators one below the other, each scaled so that one penalty of ADMM suits all.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/prox/sum.h"

#include "core/core.h"

enum { MOST = LARMOR_MOST_PENALTIES + 1 }; /* and a set */

typedef struct range {
    larmor_shape shape; /* of K_i x */
    int64_t first;      /* in the flat array */
    double scale;
} range;

static larmor_status view(const larmor_array *flat, const range *r, larmor_array **part)
{
    return larmor_array_part(flat, r->first, larmor_shape_count(r->shape), r->shape, part);
}

/* ---- K ---- */

typedef struct rows {
    int count;
    larmor_op *K[MOST]; /* NULL: the identity */
    range range[MOST];
    larmor_array *one; /* like x: of one row */
} rows;

static larmor_status rows_forward(void *self, const larmor_array *x, larmor_array *y)
{
    const rows *s = self;
    for (int i = 0; i < s->count; i++) {
        LMR_OWN(larmor_array, part, view(y, &s->range[i], &part));
        if (s->K[i])
            LMR_TRY(larmor_op_forward(s->K[i], x, part));
        else
            LMR_TRY(larmor_copy(x, part));
        if (s->range[i].scale != 1) LMR_TRY(larmor_axpby(s->range[i].scale, part, 0, part));
    }
    return LARMOR_OK;
}

static larmor_status rows_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const rows *s = self;
    for (int i = 0; i < s->count; i++) {
        LMR_OWN(larmor_array, part, view(y, &s->range[i], &part));
        if (s->K[i]) LMR_TRY(larmor_op_adjoint(s->K[i], part, s->one));
        LMR_TRY(larmor_axpby(s->range[i].scale, s->K[i] ? s->one : part, i > 0, x));
    }
    return LARMOR_OK;
}

static larmor_status rows_normal(void *self, const larmor_array *x, larmor_array *z)
{
    const rows *s = self;
    for (int i = 0; i < s->count; i++) {
        const double square = s->range[i].scale * s->range[i].scale;
        if (s->K[i]) LMR_TRY(larmor_op_normal(s->K[i], x, s->one));
        LMR_TRY(larmor_axpby(square, s->K[i] ? s->one : x, i > 0, z));
    }
    return LARMOR_OK;
}

static void rows_destroy(void *self)
{
    rows *s = self;
    for (int i = 0; i < s->count; i++) larmor_op_free(s->K[i]);
    LMR_FREE(s->one, s);
}

/* K E of a part without an E of its own. */
static larmor_status row_of(const larmor_penalty *p, larmor_op *E, larmor_op **K)
{
    if (!E || p->E)
        *K = larmor_op_ref(p->K);
    else if (!p->K)
        *K = larmor_op_ref(E);
    else
        return larmor_op_chain(p->K, E, K);
    return LARMOR_OK;
}

static larmor_status make_rows(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, const lmr_summand *parts,
                               rows *s, larmor_op **K)
{
    static const larmor_op_impl impl = {"penalties", rows_forward, rows_adjoint, rows_normal, rows_destroy};
    int64_t first = 0;
    larmor_op *E = NULL;
    for (int i = 0; i < s->count; i++) {
        LMR_REFUSE(E && parts[i].penalty.E, LARMOR_ERR_UNSUPPORTED,
                   "regulariser: two penalties have a variable beside the image; "
                   "leave one out");
        if (parts[i].penalty.E) E = parts[i].penalty.E;
    }
    const larmor_shape in = E ? larmor_op_in_shape(E) : shape;
    for (int i = 0; i < s->count; i++) {
        LMR_TRY(row_of(&parts[i].penalty, E, &s->K[i]));
        s->range[i] = (range){s->K[i] ? larmor_op_out_shape(s->K[i]) : in, first, parts[i].scale};
        first += larmor_shape_count(s->range[i].shape);
    }
    LMR_TRY(larmor_array_create(dev, dtype, in, &s->one));
    return larmor_op_create(dev, &impl, s, dtype, in, LARMOR_SHAPE(first), K);
}

/* ---- an image in another shape ---- */

static larmor_status reshaped_forward(void *self, const larmor_array *x, larmor_array *y)
{
    LMR_OWN(larmor_array, seen, larmor_array_reshape(x, larmor_op_in_shape(self), &seen));
    return larmor_op_forward(self, seen, y);
}

static larmor_status reshaped_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    LMR_OWN(larmor_array, seen, larmor_array_reshape(x, larmor_op_in_shape(self), &seen));
    return larmor_op_adjoint(self, y, seen);
}

static larmor_status reshaped_normal(void *self, const larmor_array *x, larmor_array *z)
{
    LMR_OWN(larmor_array, seen, larmor_array_reshape(x, larmor_op_in_shape(self), &seen));
    LMR_OWN(larmor_array, made, larmor_array_reshape(z, larmor_op_in_shape(self), &made));
    return larmor_op_normal(self, seen, made);
}

static void reshaped_destroy(void *self)
{
    larmor_op_free(self);
}

larmor_status lmr_penalty_reshape(larmor_shape shape, larmor_penalty *penalty)
{
    static const larmor_op_impl impl = {"series", reshaped_forward, reshaped_adjoint, reshaped_normal,
                                        reshaped_destroy};
    larmor_op *K = penalty->K, *made = NULL;
    LMR_TRY(
        larmor_op_create(larmor_op_device(K), &impl, K, larmor_op_dtype(K), shape, larmor_op_out_shape(K), &made));
    penalty->K = made;
    return LARMOR_OK;
}

/* ---- g ---- */

typedef struct sum {
    int count;
    larmor_prox *g[MOST];
    double ratio[MOST];
    range range[MOST];
} sum;

/* Of g(y / scale) it is scale times that of g with the step over scale^2. */
static larmor_status sum_apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    const sum *s = self;
    for (int i = 0; i < s->count; i++) {
        const double scale = s->range[i].scale;
        LMR_OWN(larmor_array, from, view(x, &s->range[i], &from));
        LMR_OWN(larmor_array, to, view(z, &s->range[i], &to));
        if (scale != 1) LMR_TRY(larmor_axpby(1 / scale, from, 0, to));
        LMR_TRY(larmor_prox_apply(s->g[i], t * s->ratio[i] / (scale * scale), scale != 1 ? to : from, to));
        if (scale != 1) LMR_TRY(larmor_axpby(scale, to, 0, to));
    }
    return LARMOR_OK;
}

/* All of them grow in proportion, so that no scaled copy is needed. */
static larmor_status sum_value(void *self, const larmor_array *x, double *g)
{
    const sum *s = self;
    *g = 0;
    for (int i = 0; i < s->count; i++) {
        double one;
        LMR_OWN(larmor_array, from, view(x, &s->range[i], &from));
        LMR_TRY(larmor_prox_value(s->g[i], from, &one));
        *g += s->ratio[i] / s->range[i].scale * one;
    }
    return LARMOR_OK;
}

static void sum_destroy(void *self)
{
    sum *s = self;
    for (int i = 0; i < s->count; i++) larmor_prox_free(s->g[i]);
    free(s);
}

static larmor_status make_sum(larmor_device *dev, larmor_dtype dtype, const lmr_summand *parts, const rows *K,
                              larmor_shape flat, larmor_prox **g)
{
    static const larmor_prox_impl impl = {"penalties", sum_apply, sum_value, sum_destroy};
    LMR_NEW_ZEROS(sum, s, 1);
    s->count = K->count;
    for (int i = 0; i < s->count; i++) {
        s->g[i] = larmor_prox_ref(parts[i].penalty.g);
        s->ratio[i] = parts[i].ratio;
        s->range[i] = K->range[i];
    }
    const larmor_status st = larmor_prox_create(dev, &impl, s, dtype, flat, g);
    if (st) sum_destroy(s);
    return st;
}

larmor_status lmr_penalty_sum(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, const lmr_summand *parts,
                              int count, larmor_penalty *made)
{
    LMR_NEW_ZEROS(rows, s, 1);
    s->count = count;
    const larmor_status st = make_rows(dev, dtype, shape, parts, s, &made->K);
    if (st) {
        rows_destroy(s);
        return st;
    }
    for (int i = 0; i < count && !made->E; i++) made->E = larmor_op_ref(parts[i].penalty.E);
    return make_sum(dev, dtype, parts, s, larmor_op_out_shape(made->K), &made->g);
}
