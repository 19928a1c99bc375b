/* A device as transforms use it: its kernels, a context with the threads that are asked for, and its arrays.
 * SPDX-License-Identifier: Apache-2.0 */
#include "nufft/device.h"

const lmr_nufft_kernels *lmr_nufft_kernels_of(const larmor_device *dev, int precision)
{
    const lmr_nufft_kernels *kernels = LMR_KERNELS(dev, nufft, LMR_NUFFT_ABI, precision);
    if (!kernels)
        LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "nufft: %s has no NUFFT kernels; use cpu", larmor_device_spec(dev));
    return kernels;
}

const lmr_precompute_kernels *lmr_precompute_kernels_of(const larmor_device *dev, int precision)
{
    return LMR_KERNELS(dev, precompute, LMR_PRECOMPUTE_ABI, precision);
}

larmor_status lmr_nufft_attach(larmor_device *dev, const larmor_nufft_opts *o, lmr_nufft_device *on)
{
    *on = (lmr_nufft_device){.dev = lmr_device_ref(dev), .ctx = dev->ctx, .precision = lmr_precision(o->dtype)};
    on->kernels = lmr_nufft_kernels_of(dev, on->precision);
    if (!on->kernels) return LARMOR_ERR_UNSUPPORTED;
    if (o->threads && o->threads < dev->be->threads(dev->ctx)) LMR_TRY(dev->be->open(0, o->threads, &on->ctx));
    on->threads = dev->be->threads(on->ctx);
    return LARMOR_OK;
}

void lmr_nufft_detach(lmr_nufft_device *on)
{
    if (!on->dev) return;
    if (on->ctx && on->ctx != on->dev->ctx) on->dev->be->close(on->ctx);
    larmor_device_free(on->dev);
}

larmor_status lmr_nufft_upload(const lmr_nufft_device *on, int64_t count, double *values, void **out)
{
    const size_t bytes = (size_t)count * (on->precision == LMR_F64 ? sizeof(double) : sizeof(float));
    if (on->precision == LMR_F32) {
        float *in_single = (float *)values; /* from the front, each value lands before those still to be read */
        for (int64_t i = 0; i < count; i++) {
            const float value = (float)values[i];
            __builtin_memcpy(in_single + i, &value, sizeof value);
        }
    }
    LMR_TRY(on->dev->be->alloc(on->ctx, bytes, out));
    return on->dev->be->copy(on->ctx, LMR_TO_DEVICE, *out, values, bytes);
}

larmor_status lmr_nufft_expect(const lmr_nufft_device *on, const larmor_nufft_opts *opts, const char *what,
                               const larmor_array *x, int64_t each)
{
    if (x && x->dev == on->dev && x->dtype == opts->dtype && larmor_array_count(x) == each * opts->batch)
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "nufft: %s are %s, expected %s of %lld x %lld elements on %s", what,
                    x ? lmr_describe(x).s : "NULL", larmor_dtype_name(opts->dtype), (long long)each,
                    (long long)opts->batch, larmor_device_spec(on->dev));
}

larmor_status lmr_nufft_expect_points(const lmr_nufft_device *on, const larmor_nufft_opts *opts, const char *what,
                                      const larmor_array *x, int64_t *count)
{
    int64_t values;
    LMR_REFUSE(x->dev != on->dev || !lmr_is_real(x->dtype) || x->shape.ndim < 1 || x->shape.dim[0] != opts->ndim,
               LARMOR_ERR_SHAPE, "nufft: %s are %s, expected f32 or f64 [%d, ...] on %s", what, lmr_describe(x).s,
               opts->ndim, larmor_device_spec(on->dev));
    *count = larmor_array_count(x) / opts->ndim;
    LMR_REFUSE(!lmr_mul(*count, opts->batch * 2, &values), LARMOR_ERR_SHAPE, "nufft: %lld %s are too many",
               (long long)*count, what);
    return LARMOR_OK;
}
