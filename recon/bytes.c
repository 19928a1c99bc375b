/* What the objects need to count their bytes before they are made. SPDX-License-Identifier: Apache-2.0 */
#include "recon/bytes.h"

#include "core/core.h"

larmor_status lmr_bytes_begin(const larmor_device *dev, const larmor_problem *p, int64_t *bytes)
{
    *bytes = 0;
    LMR_REFUSE(!dev || !p || p->image.ndim < 1 || p->image.ndim > 3 || larmor_shape_count(p->image) < 1 ||
                   p->samples < 0 || p->coils < 1 || p->sets < 0,
               LARMOR_ERR_ARG, "memory: a device, an image of 1 to 3 dimensions, samples and coils are needed");
    return LARMOR_OK;
}

larmor_status lmr_bytes_add_nufft(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points,
                                  double *total)
{
    int64_t bytes;
    larmor_nufft_opts o = *opts;
    o.both_directions |= dev->repeatable && o.type != 3; /* as operators have it */
    LMR_TRY(larmor_nufft_memory(dev, &o, points, &bytes));
    *total += (double)bytes;
    return LARMOR_OK;
}

double lmr_bytes_of(larmor_dtype dtype, larmor_shape shape)
{
    return (double)larmor_dtype_size(dtype) * (double)larmor_shape_count(shape);
}

larmor_status lmr_bytes_store(double total, int64_t *bytes)
{
    /* 2^60 bytes are as good as infinity */
    LMR_REFUSE(!(total >= 0 && total < 0x1p60), LARMOR_ERR_SHAPE, "memory: the sizes are impossible");
    *bytes = (int64_t)total;
    return LARMOR_OK;
}

double lmr_bytes_for_eigenvectors(const larmor_device *dev, int64_t n)
{
    return 16.0 * dev->be->threads(dev->ctx) * (double)n * (4 * (double)n + 80);
}
