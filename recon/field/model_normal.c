/* The normal map of the products of a model without samples: with y = sum_q u_q .* F(v_q .* x) it is the sum over
 * p and q of conj(v_p) .* F^H diag(conj(u_p) W u_q) F (v_q .* x), whose middle is the matrix of convolutions of
 * larmor_op_toeplitz_mixed: a transform forth and back for each product. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "nufft/toeplitz.h"
#include "recon/field/off_resonance.h"
#include "recon/field/sum.h"
#include "recon/low_rank.h"

typedef struct model_normal {
    larmor_segments *segments;
    const lmr_series_kernels *kernels;
    larmor_op *T;
    larmor_array *v;              /* [voxels, products] */
    larmor_array *before, *after; /* [image..., batch, products] */
} model_normal;

static void destroy(void *self)
{
    model_normal *s = self;
    larmor_op_free(s->T);
    larmor_segments_free(s->segments);
    LMR_FREE(s->v, s->before, s->after, s);
}

static char *part_of(const larmor_array *x, int64_t first)
{
    return (char *)x->data + (size_t)first * larmor_dtype_size(x->dtype);
}

static larmor_status apply(void *self, const larmor_array *x, larmor_array *y)
{
    model_normal *s = self;
    void *ctx = x->dev->ctx;
    const int64_t *voxel = s->segments->voxel->data;
    const int64_t voxels = larmor_array_count(s->segments->voxel), all = larmor_array_count(x);
    for (int q = 0; q < s->segments->forward.segments; q++)
        LMR_TRY(s->kernels->weigh(ctx, voxels, all / voxels, voxel, part_of(s->v, voxels * q), 0, 0, x->data,
                                  part_of(s->before, all * q)));
    LMR_TRY(larmor_op_forward(s->T, s->before, s->after));
    for (int q = 0; q < s->segments->forward.segments; q++)
        LMR_TRY(s->kernels->weigh(ctx, voxels, all / voxels, voxel, part_of(s->v, voxels * q), 1, q > 0,
                                  part_of(s->after, all * q), y->data));
    return LARMOR_OK;
}

/* *factors <- u, c64 [samples..., products] of all samples. */
static larmor_status factors_of(const larmor_segments *p, larmor_shape samples, larmor_array **factors)
{
    const lmr_series_kernels *kernels;
    const int products = p->forward.segments;
    const int64_t count = larmor_shape_count(samples), own = larmor_array_count(p->place);
    LMR_TRY(lmr_series_kernels_of(p->dev, LARMOR_C64, &kernels));
    LMR_OWN(larmor_array, ones, larmor_array_create(p->dev, LARMOR_C64, samples, &ones));
    LMR_TRY(larmor_fill(ones, 1));
    LMR_TRY(larmor_array_create(p->dev, LARMOR_C64, larmor_shape_append(samples, products), factors));
    for (int q = 0; q < products; q++)
        LMR_TRY(kernels->weigh(p->dev->ctx, own, count / own, p->place->data, part_of(p->time, p->fit.times * q), 0,
                               0, ones->data, part_of(*factors, count * q)));
    return LARMOR_OK;
}

larmor_status lmr_op_model_toeplitz(const larmor_nufft_opts *opts, const larmor_array *traj,
                                    const larmor_array *weights, larmor_segments *segments, larmor_op **N)
{
    static const larmor_op_impl impl = {"model-toeplitz", apply, apply, NULL, destroy};
    LMR_OWNED(larmor_array) *factors = NULL;
    const larmor_shape traj_shape = larmor_array_shape(traj);
    LMR_MAKE(model_normal, s, destroy);
    s->segments = larmor_segments_ref(segments);
    LMR_TRY(factors_of(segments, larmor_shape_of(traj_shape.ndim - 1, traj_shape.dim + 1), &factors));
    LMR_TRY(larmor_op_toeplitz_mixed(traj->dev, opts, traj, weights, factors, &s->T));
    const larmor_dtype dtype = larmor_op_dtype(s->T);
    larmor_shape shape = larmor_op_in_shape(s->T);
    LMR_TRY(lmr_series_kernels_of(traj->dev, dtype, &s->kernels));
    LMR_TRY(larmor_array_convert(segments->space, dtype, &s->v));
    LMR_TRY(larmor_array_create(traj->dev, dtype, shape, &s->before));
    LMR_TRY(larmor_array_create(traj->dev, dtype, shape, &s->after));
    shape.ndim--;
    return lmr_hand_on(&s_made, larmor_op_create(traj->dev, &impl, s, dtype, shape, shape, N));
}

/* ---- what it takes ---- */

int lmr_model_products(const larmor_segments *segments)
{
    return segments && segments->space ? segments->forward.segments : 0;
}

double lmr_model_toeplitz_ratio(const larmor_nufft_opts *opts, int64_t points, int64_t iters, int products)
{
    /* Of a convolution, what another product adds to it: docs/records/physics.md, "Toeplitz or NUFFTs". */
    const double share = 0.5;
    const double kernels = (double)products * (products + 1) / 2;
    larmor_nufft_opts all = *opts; /* each kernel serves so many images in an iteration: */
    all.batch = (int64_t)fmax(1, (double)(opts->batch * products) / kernels);
    return lmr_toeplitz_ratio(&all, points, iters) * (1 + share * (products - 1));
}
