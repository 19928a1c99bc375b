/* Images limited to an ellipsoid of k-space. SPDX-License-Identifier: Apache-2.0 */

#include "core/core.h"
#include "recon/ops/ops.h"

/* 1 where the sum of (k / (n / 2))^2 over the axes is below 1, else 0. */
static larmor_status make_mask(larmor_device *dev, larmor_shape shape, unsigned axes, larmor_array **mask)
{
    const int64_t count = larmor_shape_count(shape);
    LMR_HEAP LMR_NEW(double, value, count);
    for (int64_t i = 0; i < count; i++) {
        double square = 0;
        int64_t rest = i;
        for (int d = 0; d < shape.ndim; d++) {
            const int64_t n = shape.dim[d], k = rest % n - n / 2;
            rest /= n;
            if (lmr_has_axis(axes, d)) square += 4 * (double)k * (double)k / ((double)n * (double)n);
        }
        value[i] = square < 1;
    }
    return larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, value, mask);
}

larmor_status larmor_band_limit(larmor_array *x, unsigned axes)
{
    const larmor_fft_opts opts = {.unitary = 1, .centred = 1};
    LMR_REFUSE(!x, LARMOR_ERR_ARG, "band: an image is needed");
    LMR_OWN(larmor_op, F, larmor_op_fft(x->dev, x->dtype, x->shape, axes, &opts, &F));
    LMR_OWN(larmor_array, mask, make_mask(x->dev, x->shape, axes, &mask));
    LMR_OWN(larmor_op, M, larmor_op_mask(mask, x->dtype, &M));
    LMR_OWN(larmor_op, MF, larmor_op_chain(M, F, &MF));
    LMR_OWN(larmor_array, y, larmor_array_create(x->dev, x->dtype, x->shape, &y));
    LMR_TRY(larmor_op_normal(MF, x, y)); /* F^H M^2 F, and M^2 = M */
    return larmor_copy(y, x);
}
