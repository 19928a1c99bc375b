/* The samples in the centre of k-space. SPDX-License-Identifier: Apache-2.0 */
#include "recon/calib/centre.h"

#include "recon/inputs.h"

void lmr_centre_free(lmr_centre *c)
{
    if (c->dev && c->index) c->dev->be->release(c->dev->ctx, c->index);
    larmor_array_free(c->points);
    *c = (lmr_centre){0};
}

larmor_status lmr_centre_select(const larmor_array *k, larmor_dtype dtype, const double radius[3], lmr_centre *c)
{
    *c = (lmr_centre){.dev = k->dev, .nd = (int)k->shape.dim[0]};
    for (int d = 0; d < 3; d++) c->radius[d] = radius[d];
    c->samples = larmor_array_count(k) / c->nd;
    void *index;
    int64_t bytes;
    if (!lmr_mul(c->samples, (int64_t)sizeof *c->index, &bytes))
        return LMR_FAIL(LARMOR_ERR_SHAPE, "coils: %lld samples are too many", (long long)c->samples);
    LMR_TRY(lmr_recon_kernels_of(k->dev, dtype, &c->kernels));
    LMR_TRY(c->dev->be->alloc(c->dev->ctx, (size_t)bytes, &index));
    c->index = index;
    /* samples on the edge get no weight later; a margin keeps rounding of the trajectory from deciding who is in */
    LMR_TRY(c->kernels->select(c->dev->ctx, c->nd, c->samples, k->data, c->radius, 1 - 1e-4, c->index, &c->m));
    if (!c->m) return LARMOR_OK;
    LMR_TRY(larmor_array_create(c->dev, LARMOR_F64, LARMOR_SHAPE(c->nd, c->m), &c->points));
    return c->kernels->pick(c->dev->ctx, c->nd, c->m, c->index, 1, k->data, c->points->data);
}

larmor_status lmr_centre_gather(const lmr_centre *c, const larmor_array *w, const larmor_array *kspace, int64_t coils,
                                larmor_array **values)
{
    LMR_TRY(larmor_array_create(c->dev, kspace->dtype, LARMOR_SHAPE(c->m, coils), values));
    return c->kernels->gather(c->dev->ctx, c->samples, c->m, coils, c->index, w->data, kspace->data, (*values)->data);
}
