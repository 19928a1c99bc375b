/* Sparsity of an image's wavelet coefficients, with shifts. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/prox/regulariser.h"

/* A tight frame of shifted transforms, K^H K = 1; of a series each image by itself. */

enum { SHIFTS = 4 };

typedef struct shifted {
    larmor_op *W;
    larmor_array *back; /* like x */
} shifted;

static larmor_status set_shift(shifted *s, int i)
{
    return larmor_op_wavelet_shift(s->W, (int64_t[3]){i, i, i});
}

static larmor_status frame_forward(void *self, const larmor_array *x, larmor_array *y)
{
    shifted *s = self;
    for (int i = 0; i < SHIFTS; i++) {
        LMR_OWN(larmor_array, part, larmor_array_part(y, i, 1, larmor_array_shape(x), &part));
        LMR_TRY(set_shift(s, i));
        LMR_TRY(larmor_op_forward(s->W, x, part));
    }
    return larmor_axpby(1 / sqrt(SHIFTS), y, 0, y);
}

static larmor_status frame_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    shifted *s = self;
    for (int i = 0; i < SHIFTS; i++) {
        LMR_OWN(larmor_array, part, larmor_array_part(y, i, 1, larmor_array_shape(x), &part));
        LMR_TRY(set_shift(s, i));
        LMR_TRY(larmor_op_adjoint(s->W, part, s->back));
        LMR_TRY(larmor_axpby(1 / sqrt(SHIFTS), s->back, i > 0, x));
    }
    return LARMOR_OK;
}

static larmor_status frame_normal(void *self LMR_UNUSED, const larmor_array *x, larmor_array *z)
{
    return larmor_copy(x, z);
}

LMR_DESTROYS(frame_destroy, shifted, W, back)

static larmor_status make(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                          larmor_shape shape, larmor_penalty *made)
{
    static const larmor_op_impl impl = {"wavelets", frame_forward, frame_adjoint, frame_normal, frame_destroy};
    const int ndim = shape.ndim - (o->series != 0);
    LMR_REFUSE(!o->axes && (ndim < 1 || ndim > 3), LARMOR_ERR_SHAPE,
               "wavelet: got %s%s, expected images of 1 to 3 dimensions", o->series ? "a series, " : "",
               lmr_describe_as(dev, dtype, shape).s);
    larmor_wavelet_opts wavelets = {.axes = o->axes};
    for (int d = 0; d < ndim && o->series && !o->axes; d++)
        if (shape.dim[d] > 1 || ndim == 1) wavelets.axes |= 1u << d;
    if (o->series && !wavelets.axes) wavelets.axes = 1;
    LMR_MAKE(shifted, s, frame_destroy);
    const larmor_shape coefficients = larmor_shape_append(shape, SHIFTS);
    LMR_TRY(larmor_op_wavelet(dev, dtype, shape, &wavelets, &s->W));
    LMR_TRY(larmor_array_create(dev, dtype, shape, &s->back));
    LMR_TRY(lmr_hand_on(&s_made, larmor_op_create(dev, &impl, s, dtype, shape, coefficients, &made->K)));
    return larmor_prox_l1(dev, 1 / sqrt(SHIFTS), dtype, coefficients, &made->g);
}

const lmr_regulariser_kind lmr_regulariser_wavelet = {
    .name = "wavelet",
    .help = "l1 norm of Daubechies wavelet coefficients: images that few of them describe",
    .takes = LARMOR_TAKES_IMAGES | LARMOR_TAKES_AXES,
    .strength = 2,
    .curvature = 1,
    .make = make,
};
