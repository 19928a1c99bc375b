/* Second-order total generalised variation (Bredies, Kunisch, Pock 2010; of MR images: Knoll et al. 2011): with the
 * vector field v beside the image x, sum_i |(grad x - v)_i| + ratio |(E v)_i|. SPDX-License-Identifier: Apache-2.0 */
#include "core/owned.h"
#include "recon/prox/regulariser.h"

/* ---- K: [x, v] to [grad x - v, E v] ---- */

LMR_OWNS(larmor_prox, larmor_prox_free)

typedef struct second_order {
    larmor_op *gradient, *symmetrised;
    larmor_shape image, field, tensor;
} second_order;

/* The parts of z = [x, v] and of y = [first, second], all of them views. */
typedef struct parts {
    larmor_array *x, *v, *first, *second;
} parts;

LMR_FREES(parts_free, parts, x, v, first, second)

static larmor_status parts_of(const second_order *s, const larmor_array *z, const larmor_array *y, parts *p)
{
    const int64_t axes = s->field.dim[s->field.ndim - 1], pairs = s->tensor.dim[s->tensor.ndim - 1];
    LMR_TRY(larmor_array_part(z, 0, 1, s->image, &p->x));
    LMR_TRY(larmor_array_part(z, 1, axes, s->field, &p->v));
    LMR_TRY(larmor_array_part(y, 0, axes, s->field, &p->first));
    return larmor_array_part(y, axes, pairs, s->tensor, &p->second);
}

static larmor_status forward(void *self, const larmor_array *z, larmor_array *y)
{
    const second_order *s = self;
    LMR_FREED_BY(parts_free) parts p = {0};
    LMR_TRY(parts_of(s, z, y, &p));
    LMR_TRY(larmor_op_forward(s->gradient, p.x, p.first));
    LMR_TRY(larmor_axpby(-1, p.v, 1, p.first));
    return larmor_op_forward(s->symmetrised, p.v, p.second);
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *z)
{
    const second_order *s = self;
    LMR_FREED_BY(parts_free) parts p = {0};
    LMR_TRY(parts_of(s, z, y, &p));
    LMR_TRY(larmor_op_adjoint(s->gradient, p.first, p.x));
    LMR_TRY(larmor_op_adjoint(s->symmetrised, p.second, p.v));
    return larmor_axpby(-1, p.first, 1, p.v);
}

LMR_DESTROYS(destroy, second_order, gradient, symmetrised)

/* Of images of `axes` dimensions, and of several of them each by itself. */
static larmor_status make_K(larmor_device *dev, larmor_dtype dtype, larmor_shape image, int axes,
                            const double *spacing, larmor_op **K)
{
    static const larmor_op_impl impl = {"tgv", forward, adjoint, NULL, destroy};
    LMR_MAKE(second_order, s, destroy);
    s->image = image;
    const unsigned every = (1u << axes) - 1;
    LMR_TRY(larmor_op_gradient(dev, dtype, image, every, spacing, &s->gradient));
    s->field = larmor_op_out_shape(s->gradient);
    LMR_TRY(larmor_op_symmetrised_gradient(dev, dtype, image, every, spacing, &s->symmetrised));
    s->tensor = larmor_op_out_shape(s->symmetrised);
    const int64_t field = s->field.dim[image.ndim], pairs = s->tensor.dim[image.ndim];
    return lmr_hand_on(&s_made, larmor_op_create(dev, &impl, s, dtype, larmor_shape_append(image, 1 + field),
                                                 larmor_shape_append(image, field + pairs), K));
}

/* ---- E: [x, v] to x ---- */

static larmor_status select_forward(void *self LMR_UNUSED, const larmor_array *z, larmor_array *x)
{
    LMR_OWN(larmor_array, first, larmor_array_part(z, 0, 1, larmor_array_shape(x), &first));
    return larmor_copy(first, x);
}

static larmor_status select_adjoint(void *self LMR_UNUSED, const larmor_array *x, larmor_array *z)
{
    LMR_TRY(larmor_zero(z));
    LMR_OWN(larmor_array, first, larmor_array_part(z, 0, 1, larmor_array_shape(x), &first));
    return larmor_copy(x, first);
}

/* ---- the penalty ---- */

static larmor_status make(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                          larmor_shape shape, larmor_penalty *made)
{
    static const larmor_op_impl select = {"select", select_forward, select_adjoint, NULL, NULL};
    const double ratio = o->ratio == 0 ? 2 : o->ratio;
    const int axes = shape.ndim - (o->series != 0), pairs = axes * (axes + 1) / 2;
    LMR_REFUSE(axes < 1 || axes > 3, LARMOR_ERR_SHAPE, "tgv: got %s%s, expected images of 1 to 3 dimensions",
               o->series ? "a series, " : "", lmr_describe_as(dev, dtype, shape).s);
    double spacing[LARMOR_MAX_DIMS];
    lmr_regulariser_spacing(o, axes, spacing);
    LMR_TRY(make_K(dev, dtype, shape, axes, spacing, &made->K));
    LMR_TRY(larmor_op_create(dev, &select, NULL, dtype, larmor_op_in_shape(made->K), shape, &made->E));
    LMR_OWN(larmor_prox, first, larmor_prox_group_l1(dev, 1, dtype, larmor_shape_append(shape, axes), &first));
    LMR_OWN(larmor_prox, second, larmor_prox_group_l1(dev, ratio, dtype, larmor_shape_append(shape, pairs), &second));
    return larmor_prox_stack((larmor_prox *[]){first, second}, 2, &made->g);
}

const lmr_regulariser_kind lmr_regulariser_tgv = {
    .name = "tgv",
    .help = "second-order total generalised variation: piecewise linear images",
    .takes = LARMOR_TAKES_IMAGES,
    .strength = 1,
    .curvature = 2,
    .beside = 6,
    .is_block = 1,
    .make = make,
};
