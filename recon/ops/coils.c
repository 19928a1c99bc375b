/* Multiplication by coil sensitivity maps, and the combination of coils that is its adjoint.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/ops/ops.h"

typedef struct coils {
    larmor_array *maps;
    int64_t voxels, channels;
} coils;

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    const coils *s = self; /* y_c = s_c .* x */
    return lmr_vec_of(x)->expand(x->dev->ctx, s->voxels, s->channels, s->maps->data, x->data, y->data);
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const coils *s = self; /* x = sum_c conj(s_c) .* y_c */
    return lmr_vec_of(x)->combine(x->dev->ctx, s->voxels, s->channels, s->maps->data, y->data, x->data);
}

LMR_DESTROYS(destroy, coils, maps)

const larmor_array *lmr_coils_maps(const larmor_op *S)
{
    const coils *s = lmr_op_self(S, forward);
    return s ? s->maps : NULL;
}

static const larmor_op_impl impl = {"coils", forward, adjoint, NULL, destroy};

larmor_status larmor_op_coils(larmor_array *maps, larmor_op **S)
{
    LMR_NEED_OUT(S);
    LMR_REFUSE(!maps, LARMOR_ERR_ARG, "coils: no maps given, expected [image..., coils]");
    const int ndim = maps->shape.ndim - 1;
    LMR_REFUSE(ndim < 1, LARMOR_ERR_SHAPE, "coils: maps are %s, expected [image..., coils]", lmr_describe(maps).s);
    LMR_NEW(coils, s, 1);
    const larmor_shape image = larmor_shape_of(ndim, maps->shape.dim);
    *s = (coils){larmor_array_ref(maps), larmor_shape_count(image), maps->shape.dim[ndim]};
    const larmor_status st = larmor_op_create(maps->dev, &impl, s, maps->dtype, image, maps->shape, S);
    if (st)
        destroy(s);
    else
        lmr_op_serve_several(*S);
    return st;
}
