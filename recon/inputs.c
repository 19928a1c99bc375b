/* A layer's inputs, checked, and its kernels. SPDX-License-Identifier: Apache-2.0 */
#include "recon/inputs.h"
#include "core/core.h"

larmor_status lmr_recon_kernels_of(const larmor_device *dev, larmor_dtype dtype, const lmr_recon_kernels **kernels)
{
    *kernels = LMR_KERNELS(dev, recon, LMR_RECON_ABI, lmr_precision(dtype));
    if (*kernels) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "recon: %s has no kernels for reconstruction; use cpu",
                    larmor_device_spec(dev));
}

larmor_status lmr_find_outlier(const larmor_array *x, double low, int64_t *index, double *value)
{
    const lmr_recon_kernels *kernels;
    *value = 0;
    LMR_TRY(lmr_recon_kernels_of(x->dev, x->dtype, &kernels));
    LMR_TRY(kernels->outlier(x->dev->ctx, larmor_array_count(x), x->data, low, index));
    if (*index < 0) return LARMOR_OK;
    return x->dev->be->copy(x->dev->ctx, LMR_TO_HOST, value, (const double *)x->data + *index, sizeof *value);
}

larmor_status lmr_input_real(const char *who, const char *what, const larmor_array *x, larmor_array **out)
{
    *out = NULL;
    LMR_REFUSE(!x, LARMOR_ERR_ARG, "%s: no %s given, expected a real array", who, what);
    LMR_REFUSE(!lmr_is_real(x->dtype), LARMOR_ERR_ARG, "%s: %s is %s, expected f32 or f64", who, what,
               lmr_describe(x).s);
    larmor_array *in_double;
    int64_t index;
    double bad;
    LMR_TRY(larmor_array_convert(x, LARMOR_F64, &in_double));
    larmor_status st = lmr_find_outlier(in_double, -INFINITY, &index, &bad);
    if (!st && index >= 0)
        st = LMR_FAIL(LARMOR_ERR_NUMERIC, "%s: %s holds %g at element %lld, expected finite numbers", who, what, bad,
                      (long long)index);
    return LMR_GIVE(out, in_double, larmor_array_free, st);
}

larmor_status lmr_input_traj(const char *who, const larmor_array *traj, larmor_shape image, larmor_array **out)
{
    *out = NULL;
    LMR_REFUSE(image.ndim < 1 || image.ndim > 3, LARMOR_ERR_SHAPE, "%s: image has %d dimensions, expected 1 to 3",
               who, image.ndim);
    for (int i = 0; i < image.ndim; i++)
        LMR_REFUSE(image.dim[i] < 1, LARMOR_ERR_SHAPE, "%s: image has size %lld in dimension %d, expected at least 1",
                   who, (long long)image.dim[i], i);
    LMR_REFUSE(traj && (traj->shape.ndim < 2 || traj->shape.dim[0] != image.ndim), LARMOR_ERR_SHAPE,
               "%s: trajectory is %s, expected [%d, samples, readouts]", who, lmr_describe(traj).s, image.ndim);
    return lmr_input_real(who, "trajectory", traj, out);
}

larmor_shape lmr_weights_shape(const larmor_array *traj)
{
    return larmor_shape_of(traj->shape.ndim - 1, traj->shape.dim + 1);
}
