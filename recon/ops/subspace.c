/* Images of a few basis functions in time. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"

typedef struct subspace {
    int64_t voxels, frames, rank;
    larmor_array *basis, *conjugate; /* [frames, rank] */
    larmor_array *gram;              /* [rank, rank]: basis^T conj(basis), what acts on coefficients from the right */
} subspace;

/* y [voxels, columns] <- x [voxels, inner] op(b) */
static larmor_status times(const subspace *s, const larmor_array *x, char op, const larmor_array *b, int64_t inner,
                           int64_t columns, larmor_array *y)
{
    return lmr_la_of(x)->gemm(x->dev->ctx, 'N', op, s->voxels, columns, inner, x->data, s->voxels, b->data,
                              b->shape.dim[0], y->data, s->voxels);
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    const subspace *s = self;
    return times(s, x, 'T', s->basis, s->rank, s->frames, y);
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const subspace *s = self;
    return times(s, y, 'N', s->conjugate, s->frames, s->rank, x);
}

static larmor_status normal(void *self, const larmor_array *x, larmor_array *z)
{
    const subspace *s = self;
    return times(s, x, 'N', s->gram, s->rank, s->rank, z);
}

LMR_DESTROYS(destroy, subspace, basis, conjugate, gram)

static const larmor_op_impl impl = {"subspace", forward, adjoint, normal, destroy};

/* By way of the host: a basis is small. */
static larmor_status conjugate_of(larmor_array *x, larmor_array **out)
{
    LMR_OWN_MEMORY(double _Complex, host, larmor_array_download(x, LARMOR_C128, &host));
    for (int64_t i = 0; i < larmor_array_count(x); i++) host[i] = conj(host[i]);
    return larmor_array_upload(x->dev, x->dtype, x->shape, LARMOR_C128, host, out);
}

static larmor_status prepare(subspace *s, larmor_device *dev, larmor_dtype dtype, larmor_array *basis)
{
    LMR_OWN(larmor_array, here, larmor_array_to(basis, dev, &here));
    LMR_TRY(larmor_array_convert(here, dtype, &s->basis));
    LMR_TRY(conjugate_of(s->basis, &s->conjugate));
    LMR_TRY(larmor_array_create(dev, dtype, LARMOR_SHAPE(s->rank, s->rank), &s->gram));
    return lmr_la_of(s->gram)->gemm(dev->ctx, 'T', 'N', s->rank, s->rank, s->frames, s->basis->data, s->frames,
                                    s->conjugate->data, s->frames, s->gram->data, s->rank);
}

larmor_status larmor_op_subspace(larmor_device *dev, larmor_dtype dtype, larmor_shape image, larmor_array *basis,
                                 larmor_op **B)
{
    LMR_REFUSE(!B, LARMOR_ERR_ARG, "larmor_op_subspace: B is NULL");
    *B = NULL;
    LMR_REFUSE(!dev || !lmr_is_complex(dtype), LARMOR_ERR_ARG, "subspace: a device and a complex type are needed");
    LMR_REFUSE(!basis || basis->shape.ndim != 2 || basis->shape.dim[0] < 1 || basis->shape.dim[1] < 1 ||
                   (basis->dtype == LARMOR_C128 && dtype == LARMOR_C64),
               LARMOR_ERR_SHAPE, "subspace: basis is %s, expected %s [frames, coefficients]", lmr_describe(basis).s,
               larmor_dtype_name(dtype));
    const int64_t voxels = larmor_shape_count(image);
    LMR_REFUSE(voxels < 1, LARMOR_ERR_SHAPE, "subspace: image is %s, expected at least one voxel",
               lmr_describe_as(dev, dtype, image).s);
    LMR_MAKE(subspace, s, destroy);
    s->voxels = voxels;
    s->frames = basis->shape.dim[0];
    s->rank = basis->shape.dim[1];
    LMR_TRY(prepare(s, dev, dtype, basis));
    return lmr_hand_on(&s_made, larmor_op_create(dev, &impl, s, dtype, larmor_shape_append(image, s->rank),
                                                 larmor_shape_append(image, s->frames), B));
}
