/* Blocks of a series of images as matrices of voxels and frames. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/low_rank.h"

typedef struct casorati {
    const lmr_series_kernels *kernels;
    int ndim; /* of an image */
    lmr_blocks cut;
} casorati;

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    const casorati *s = self;
    return s->kernels->blocks(x->dev->ctx, &s->cut, x->data, y->data);
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const casorati *s = self;
    return s->kernels->unblocks(x->dev->ctx, &s->cut, y->data, x->data);
}

/* Every voxel goes to one place: an isometry. */
static larmor_status normal(void *self LMR_UNUSED, const larmor_array *x, larmor_array *z)
{
    return larmor_copy(x, z);
}

static const larmor_op_impl impl = {"casorati", forward, adjoint, normal, free};

static void set_shift(casorati *s, const int64_t shift[3])
{
    for (int d = 0; d < s->ndim; d++) {
        const int64_t rest = shift[d] % s->cut.dim[d];
        s->cut.shift[d] = rest < 0 ? rest + s->cut.dim[d] : rest;
    }
}

static larmor_status set_blocks(casorati *s, larmor_shape shape, const larmor_casorati_opts *o)
{
    s->ndim = shape.ndim - 1;
    s->cut.frames = shape.dim[s->ndim];
    for (int d = 0; d < 3; d++) {
        const int64_t n = d < s->ndim ? shape.dim[d] : 1;
        const int64_t block = d < s->ndim && o->block[d] ? o->block[d] : 8;
        LMR_REFUSE(block < 1, LARMOR_ERR_ARG, "casorati: block[%d] is %lld, expected at least 1", d,
                   (long long)block);
        s->cut.dim[d] = n;
        s->cut.block[d] = block < n ? block : n;
        s->cut.count[d] = (n + s->cut.block[d] - 1) / s->cut.block[d];
    }
    set_shift(s, o->shift);
    return LARMOR_OK;
}

larmor_status larmor_op_casorati(larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                                 const larmor_casorati_opts *opts, larmor_op **C)
{
    LMR_REFUSE(!C, LARMOR_ERR_ARG, "larmor_op_casorati: C is NULL");
    *C = NULL;
    LMR_REFUSE(!dev || !lmr_is_complex(dtype), LARMOR_ERR_ARG, "casorati: a device and a complex type are needed");
    LMR_REFUSE(shape.ndim < 2 || shape.ndim > 4 || larmor_shape_count(shape) < 1, LARMOR_ERR_SHAPE,
               "casorati: got %s, expected an image of 1 to 3 dimensions and frames",
               lmr_describe_as(dev, dtype, shape).s);
    LMR_MAKE(casorati, s, free);
    LMR_TRY(set_blocks(s, shape, opts ? opts : &(larmor_casorati_opts){{0}, {0}}));
    LMR_TRY(lmr_series_kernels_of(dev, dtype, &s->kernels));
    const int64_t *block = s->cut.block, *count = s->cut.count;
    const larmor_shape out = /* at most 2^3 times the image */
        LARMOR_SHAPE(block[0] * block[1] * block[2], s->cut.frames, count[0] * count[1] * count[2]);
    return lmr_hand_on(&s_made, larmor_op_create(dev, &impl, s, dtype, shape, out, C));
}
