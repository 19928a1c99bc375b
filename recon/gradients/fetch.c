/* Samples of readouts, fetched from the device. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/gradients/spokes.h"
#include "recon/inputs.h"
#include "recon/kernels.h"

larmor_status lmr_spokes_fetch(const lmr_spokes *s, const larmor_array *kspace, const int64_t *index, int64_t total,
                               lmr_complex_samples *out)
{
    larmor_device *dev = kspace->dev;
    const lmr_recon_kernels *kernels;
    const larmor_shape points = LARMOR_SHAPE(total);
    const int64_t coils = kspace->shape.ndim > 2 ? kspace->shape.dim[2] : 1;
    *out = (lmr_complex_samples){.total = total, .coils = coils};
    LMR_TRY(lmr_recon_kernels_of(dev, kspace->dtype, &kernels));
    LMR_OWN(larmor_array, which, larmor_array_upload(dev, LARMOR_I64, points, LARMOR_I64, index, &which));
    LMR_OWN(larmor_array, one, larmor_array_create(dev, LARMOR_F64, points, &one));
    LMR_TRY(larmor_fill(one, 1));
    LMR_OWN(larmor_array, picked, larmor_array_create(dev, kspace->dtype, LARMOR_SHAPE(total, coils), &picked));
    LMR_TRY(kernels->gather(dev->ctx, s->samples * s->readouts, total, coils, which->data, one->data, kspace->data,
                            picked->data));
    return larmor_array_download(picked, LARMOR_C128, &out->value);
}
