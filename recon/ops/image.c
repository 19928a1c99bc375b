/* From coil images to the final image: root sum of squares, crop, other voxels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/inputs.h"

/* e <- sum_c |x_c|^2 of complex [image..., coils], which must fit like's shape and device. */
static larmor_status energy_of(const char *who, const char *what, const larmor_array *x, const larmor_array *like,
                               larmor_array **e)
{
    *e = NULL;
    const int last = x ? x->shape.ndim - 1 : -1;
    LMR_REFUSE(!like || !lmr_is_complex(like->dtype) || last < 0, LARMOR_ERR_SHAPE,
               "%s: %s are %s and the image is %s, expected complex ones", who, what, lmr_describe(x).s,
               lmr_describe(like).s);
    const int64_t voxels = larmor_array_count(like), coils = x->shape.dim[last];
    LMR_TRY(lmr_expect(who, what, x, like->dev, like->dtype, larmor_shape_append(like->shape, coils)));
    larmor_array *out;
    LMR_TRY(larmor_array_create(like->dev, like->dtype, like->shape, &out));
    const larmor_status st = lmr_vec_of(x)->combine(x->dev->ctx, voxels, coils, x->data, x->data, out->data);
    return LMR_GIVE(e, out, larmor_array_free, st);
}

larmor_status larmor_root_sum_of_squares(const larmor_array *coils, larmor_array *x)
{
    const lmr_recon_kernels *kernels;
    LMR_OWN(larmor_array, energy, energy_of("root sum of squares", "coil images", coils, x, &energy));
    LMR_TRY(lmr_recon_kernels_of(x->dev, x->dtype, &kernels));
    LMR_TRY(kernels->power(x->dev->ctx, larmor_array_count(x), 1, 0, energy->data));
    return larmor_copy(energy, x);
}

larmor_status larmor_clear_unseen(const larmor_array *maps, larmor_array *x)
{
    const lmr_recon_kernels *kernels;
    LMR_OWN(larmor_array, energy, energy_of("clear unseen", "maps", maps, x, &energy));
    const int64_t voxels = larmor_array_count(x);
    LMR_OWN(larmor_array, seen, larmor_array_create(x->dev, x->dtype, x->shape, &seen));
    LMR_TRY(lmr_recon_kernels_of(x->dev, x->dtype, &kernels));
    LMR_TRY(larmor_copy(energy, seen));
    LMR_TRY(kernels->power(x->dev->ctx, voxels, -2, 0, seen->data));
    LMR_TRY(larmor_mul(energy, 0, seen)); /* 1 where a coil sees anything */
    return larmor_mul(seen, 0, x);
}

larmor_status larmor_crop(const larmor_array *x, larmor_shape shape, double scale, larmor_array **y)
{
    LMR_NEED_OUT(y);
    LMR_REFUSE(!x || !lmr_is_complex(x->dtype) || x->shape.ndim < 1 || x->shape.ndim > 3 ||
                   shape.ndim != x->shape.ndim,
               LARMOR_ERR_SHAPE, "crop: got %s and %d dimensions, expected a complex image and as many of its 1 to 3",
               lmr_describe(x).s, shape.ndim);
    const lmr_recon_kernels *kernels;
    int64_t from[3] = {1, 1, 1}, to[3] = {1, 1, 1};
    for (int d = 0; d < shape.ndim; d++) {
        from[d] = x->shape.dim[d];
        to[d] = shape.dim[d];
    }
    LMR_TRY(lmr_recon_kernels_of(x->dev, x->dtype, &kernels));
    larmor_array *out;
    LMR_TRY(larmor_array_create(x->dev, x->dtype, shape, &out));
    const larmor_status st = kernels->crop(x->dev->ctx, from, to, scale, x->data, out->data);
    return LMR_GIVE(y, out, larmor_array_free, st);
}

/* ---- other voxels ---- */

/* Voxels come of those that are there. */
static larmor_status refuse_empty(const larmor_array *x, larmor_shape shape)
{
    for (int d = 0; d < shape.ndim; d++)
        LMR_REFUSE(!x->shape.dim[d] && shape.dim[d], LARMOR_ERR_SHAPE,
                   "resize: got %s, expected voxels in dimension %d", lmr_describe(x).s, d);
    return LARMOR_OK;
}

larmor_status larmor_resize(const larmor_array *x, larmor_shape shape, larmor_array **y)
{
    LMR_NEED_OUT(y);
    LMR_REFUSE(!x || !lmr_is_complex(x->dtype) || shape.ndim < 1 || shape.ndim > 3 || x->shape.ndim < shape.ndim,
               LARMOR_ERR_SHAPE, "resize: got %s and %d dimensions, expected complex [image..., more]",
               lmr_describe(x).s, shape.ndim);
    LMR_TRY(refuse_empty(x, shape));
    const lmr_recon_kernels *kernels;
    larmor_shape now = x->shape;
    larmor_array *from = larmor_array_ref(x);
    larmor_status st = lmr_recon_kernels_of(x->dev, x->dtype, &kernels);
    for (int axis = 0; axis < shape.ndim && !st; axis++) {
        larmor_array *to = NULL;
        int64_t rows[3] = {1, now.dim[axis], 1};
        if (now.dim[axis] == shape.dim[axis]) continue;
        for (int d = 0; d < now.ndim; d++)
            if (d != axis) rows[d < axis ? 0 : 2] *= now.dim[d];
        now.dim[axis] = shape.dim[axis];
        st = larmor_array_create(x->dev, x->dtype, now, &to);
        if (!st) st = kernels->resize(x->dev->ctx, rows, shape.dim[axis], from->data, to->data);
        larmor_array_free(from);
        from = to;
    }
    return LMR_GIVE(y, from, larmor_array_free, st);
}

static larmor_status transform(const larmor_array *x, int to_kspace, larmor_array **y)
{
    const larmor_fft_opts opts = {.unitary = 1, .centred = 1};
    *y = NULL;
    LMR_OWN(larmor_op, F, larmor_op_fft(x->dev, x->dtype, x->shape, (1u << x->shape.ndim) - 1, &opts, &F));
    LMR_TRY(larmor_array_create(x->dev, x->dtype, x->shape, y));
    return to_kspace ? larmor_op_forward(F, x, *y) : larmor_op_adjoint(F, x, *y);
}

larmor_status larmor_resize_band(const larmor_array *x, larmor_shape shape, larmor_array **y)
{
    LMR_NEED_OUT(y);
    LMR_REFUSE(
        !x || !lmr_is_complex(x->dtype) || x->shape.ndim < 1 || x->shape.ndim > 3 || shape.ndim != x->shape.ndim,
        LARMOR_ERR_SHAPE, "resize: got %s and %d dimensions, expected a complex image and as many of its 1 to 3",
        lmr_describe(x).s, shape.ndim);
    LMR_TRY(refuse_empty(x, shape));
    if (!larmor_shape_count(shape)) return larmor_array_create(x->dev, x->dtype, shape, y);
    const double voxels = (double)larmor_shape_count(shape) / (double)larmor_shape_count(x->shape);
    LMR_OWN(larmor_array, k, transform(x, 1, &k));
    LMR_OWN(larmor_array, kept, larmor_crop(k, shape, sqrt(voxels), &kept));
    return transform(kept, 0, y);
}
