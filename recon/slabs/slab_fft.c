/* The Fourier transform of a volume of which each rank has a slab: of the planes, an exchange, and of lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/slabs/slab_fft.h"

#include "core/core.h"

void lmr_slab_fft_free(lmr_slab_fft *f)
{
    if (!f || --f->references > 0) return;
    if (f->planes) f->fft->destroy(f->dev->ctx, f->planes);
    if (f->lines) f->fft->destroy(f->dev->ctx, f->lines);
    LMR_FREE(f->a, f->b);
    lmr_slab_transpose_free(&f->transpose);
    LMR_FREE(f->dev, f);
}

lmr_slab_fft *lmr_slab_fft_ref(lmr_slab_fft *f)
{
    f->references++;
    return f;
}

static larmor_status make(larmor_ranks *ranks, larmor_dtype dtype, lmr_slab_fft *f)
{
    void *ctx = f->dev->ctx;
    const int64_t plane[3] = {f->n[0], f->n[1], 1}, line[3] = {f->n[2], 1, 1};
    f->fft = f->dev->be->fft[lmr_precision(dtype)];
    LMR_TRY(lmr_slab_transpose_make(ranks, f->n[0] * f->n[1], f->n[2], dtype, &f->transpose));
    if (f->transpose.own_planes) LMR_TRY(f->fft->plan(ctx, 2, plane, f->transpose.own_planes, &f->planes));
    if (f->transpose.own_lines) LMR_TRY(f->fft->plan(ctx, 1, line, f->transpose.own_lines, &f->lines));
    LMR_TRY(larmor_array_create(f->dev, dtype, LARMOR_SHAPE(lmr_slab_transpose_size(&f->transpose)), &f->a));
    return larmor_array_create(f->dev, dtype, LARMOR_SHAPE(lmr_slab_transpose_size(&f->transpose)), &f->b);
}

larmor_status lmr_slab_fft_create(larmor_device *dev, larmor_ranks *ranks, larmor_dtype dtype, const int64_t n[3],
                                  lmr_slab_fft **out)
{
    *out = NULL;
    LMR_NEW_ZEROS(lmr_slab_fft, f, 1);
    f->dev = lmr_device_ref(dev);
    f->references = 1;
    for (int d = 0; d < 3; d++) f->n[d] = n[d];
    const larmor_status st = make(ranks, dtype, f);
    return LMR_GIVE(out, f, lmr_slab_fft_free, st);
}

static larmor_status transform_planes(lmr_slab_fft *f, const larmor_array *slab)
{
    larmor_device *dev = f->dev;
    if (!f->planes) return LARMOR_OK;
    LMR_TRY(lmr_go_on());
    LMR_TRY(dev->be->copy(dev->ctx, LMR_ON_DEVICE, f->a->data, slab->data, larmor_array_bytes(slab)));
    return f->fft->exec(dev->ctx, f->planes, -1, f->a->data);
}

larmor_status lmr_slab_fft_forward(lmr_slab_fft *f, const larmor_array *slab, larmor_status own)
{
    if (!own) own = transform_planes(f, slab);
    LMR_TRY(lmr_slab_transpose_to_lines(&f->transpose, f->a, f->b, own));
    LMR_TRY(lmr_slab_transpose_local(&f->transpose, 1, f->a, f->b));
    return f->lines ? f->fft->exec(f->dev->ctx, f->lines, -1, f->b->data) : LARMOR_OK;
}

larmor_status lmr_slab_fft_back(lmr_slab_fft *f, larmor_array *slab, larmor_status own)
{
    larmor_device *dev = f->dev;
    if (!own && f->lines) own = f->fft->exec(dev->ctx, f->lines, 1, f->b->data);
    if (!own) own = lmr_slab_transpose_local(&f->transpose, 0, f->b, f->a);
    LMR_TRY(lmr_slab_transpose_to_slab(&f->transpose, f->a, f->b, own));
    if (!f->planes) return LARMOR_OK;
    LMR_TRY(f->fft->exec(dev->ctx, f->planes, 1, f->a->data));
    return dev->be->copy(dev->ctx, LMR_ON_DEVICE, slab->data, f->a->data, larmor_array_bytes(slab));
}

double lmr_slab_fft_bytes(const larmor_device *dev, int ranks, larmor_dtype dtype, const int64_t n[3])
{
    const lmr_fft *fft = dev->be->fft[lmr_precision(dtype)];
    const int64_t plane[3] = {n[0], n[1], 1}, line[3] = {n[2], 1, 1};
    const int64_t planes = (n[2] + ranks - 1) / ranks, lines = (n[0] * n[1] + ranks - 1) / ranks;
    const double most = fmax((double)(n[0] * n[1]) * (double)planes, (double)lines * (double)n[2]);
    return 2 * (double)larmor_dtype_size(dtype) * most + fft->bytes(dev->ctx, 2, plane, planes) +
           fft->bytes(dev->ctx, 1, line, lines);
}
