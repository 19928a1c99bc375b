/* Host copies of a layer's inputs, as doubles and checked. SPDX-License-Identifier: Apache-2.0 */
#include "recon/host.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

larmor_status lmr_host_real(const char *who, const char *what, const larmor_array *x, double **out)
{
    *out = NULL;
    if (!x) return LMR_FAIL(LARMOR_ERR_ARG, "%s: no %s given, expected a real array", who, what);
    if (lmr_is_complex(x->dtype))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: %s is %s, expected f32 or f64", who, what, lmr_describe(x).s);
    const int64_t count = larmor_array_count(x);
    const int narrow = x->dtype == LARMOR_F32;
    double *values = malloc((size_t)(count + 1) * sizeof *values);
    float *singles = narrow ? malloc((size_t)(count + 1) * sizeof *singles) : NULL;
    larmor_status st = LARMOR_OK;
    if (!values || (narrow && !singles)) st = LMR_NO_MEMORY();
    if (!st) st = larmor_array_read(x, narrow ? (void *)singles : values, larmor_array_bytes(x));
    if (st) {
        free(singles), free(values);
        return st;
    }
    if (narrow)
        for (int64_t i = 0; i < count; i++) values[i] = singles[i];
    free(singles);
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(values[i])) {
            const double bad = values[i];
            free(values);
            return LMR_FAIL(LARMOR_ERR_NUMERIC, "%s: %s holds %g at element %lld, expected finite numbers", who, what,
                            bad, (long long)i);
        }
    *out = values;
    return LARMOR_OK;
}

larmor_status lmr_host_traj(const char *who, const larmor_array *traj, larmor_shape image, double **out)
{
    *out = NULL;
    if (image.ndim < 1 || image.ndim > 3)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: image has %d dimensions, expected 1 to 3", who, image.ndim);
    for (int i = 0; i < image.ndim; i++)
        if (image.dim[i] < 1)
            return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: image has size %lld in dimension %d, expected at least 1", who,
                            (long long)image.dim[i], i);
    if (traj && (traj->shape.ndim < 2 || traj->shape.dim[0] != image.ndim))
        return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: trajectory is %s, expected [%d, samples, readouts]", who,
                        lmr_describe(traj).s, image.ndim);
    return lmr_host_real(who, "trajectory", traj, out);
}

larmor_shape lmr_weights_shape(const larmor_array *traj)
{
    return larmor_shape_of(traj->shape.ndim - 1, traj->shape.dim + 1);
}

enum { CHUNK = 4096 };

larmor_status lmr_host_complex(const larmor_array *x, int64_t first, int64_t count, double _Complex *out)
{
    const larmor_device *dev = x->dev;
    const char *from = (const char *)x->data + (size_t)first * larmor_dtype_size(x->dtype);
    if (x->dtype == LARMOR_C128) return dev->be->copy(dev->ctx, LMR_TO_HOST, out, from, (size_t)count * sizeof *out);
    float _Complex part[CHUNK];
    for (int64_t i = 0; i < count; i += CHUNK) {
        const int64_t n = count - i < CHUNK ? count - i : CHUNK;
        LMR_TRY(
            dev->be->copy(dev->ctx, LMR_TO_HOST, part, from + (size_t)i * sizeof *part, (size_t)n * sizeof *part));
        for (int64_t j = 0; j < n; j++) out[i + j] = part[j];
    }
    return LARMOR_OK;
}

larmor_status lmr_write_complex(larmor_array *x, int64_t first, int64_t count, const double _Complex *values)
{
    const larmor_device *dev = x->dev;
    char *to = (char *)x->data + (size_t)first * larmor_dtype_size(x->dtype);
    if (x->dtype == LARMOR_C128)
        return dev->be->copy(dev->ctx, LMR_TO_DEVICE, to, values, (size_t)count * sizeof *values);
    float _Complex part[CHUNK];
    for (int64_t i = 0; i < count; i += CHUNK) {
        const int64_t n = count - i < CHUNK ? count - i : CHUNK;
        for (int64_t j = 0; j < n; j++) part[j] = (float _Complex)values[i + j];
        LMR_TRY(
            dev->be->copy(dev->ctx, LMR_TO_DEVICE, to + (size_t)i * sizeof *part, part, (size_t)n * sizeof *part));
    }
    return LARMOR_OK;
}

larmor_status lmr_array_of_real(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, const double *values,
                                larmor_array **out)
{
    LMR_TRY(larmor_array_create(dev, dtype, shape, out));
    const int64_t count = larmor_array_count(*out);
    const int parts = lmr_is_complex(dtype) ? 2 : 1;
    const size_t bytes = larmor_array_bytes(*out);
    void *host = calloc(1, bytes + 1);
    larmor_status st;
    if (!host) {
        st = LMR_NO_MEMORY();
        goto fail;
    }
    for (int64_t i = 0; i < count; i++)
        if (lmr_precision(dtype) == LMR_F64)
            ((double *)host)[i * parts] = values[i];
        else
            ((float *)host)[i * parts] = (float)values[i];
    LMR_OR(fail, larmor_array_write(*out, host, bytes));
    free(host);
    return LARMOR_OK;
fail:
    free(host);
    larmor_array_free(*out);
    *out = NULL;
    return st;
}
