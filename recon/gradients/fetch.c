/* Samples of readouts, fetched from the device. SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"
#include "core/owned.h"
#include "recon/gradients/spokes.h"
#include "recon/inputs.h"
#include "recon/kernels.h"

larmor_status lmr_spokes_fetch(const lmr_spokes *s, const larmor_array *kspace, const int64_t *index, int64_t total,
                               lmr_complex_samples *out)
{
    larmor_device *dev = kspace->dev;
    const lmr_recon_kernels *kernels;
    LMR_OWNED(larmor_array) *one = NULL, *picked = NULL;
    void *on_device = NULL;
    const int64_t coils = kspace->shape.ndim > 2 ? kspace->shape.dim[2] : 1;
    const size_t bytes = sizeof *index * (size_t)total;
    larmor_status st;
    *out = (lmr_complex_samples){.total = total, .coils = coils};
    LMR_OR(done, lmr_recon_kernels_of(dev, kspace->dtype, &kernels));
    LMR_OR(done, dev->be->alloc(dev->ctx, bytes, &on_device));
    LMR_OR(done, dev->be->copy(dev->ctx, LMR_TO_DEVICE, on_device, index, bytes));
    LMR_OR(done, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(total), &one));
    LMR_OR(done, larmor_fill(one, 1));
    LMR_OR(done, larmor_array_create(dev, kspace->dtype, LARMOR_SHAPE(total, coils), &picked));
    LMR_OR(done, kernels->gather(dev->ctx, s->samples * s->readouts, total, coils, on_device, one->data, kspace->data,
                                 picked->data));
    LMR_OR(done, larmor_array_download(picked, LARMOR_C128, &out->value));
done:
    if (on_device) dev->be->release(dev->ctx, on_device);
    return st;
}
