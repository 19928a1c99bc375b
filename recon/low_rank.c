/* Stacks of matrices of low rank, and the kernels for many images. SPDX-License-Identifier: Apache-2.0 */
#include "recon/low_rank.h"

#include <float.h>

#include "core/core.h"

larmor_status lmr_series_kernels_of(const larmor_device *dev, larmor_dtype dtype, const lmr_series_kernels **kernels)
{
    *kernels = LMR_KERNELS(dev, series, LMR_SERIES_ABI, lmr_precision(dtype));
    if (*kernels) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "recon: %s has no kernels for series of images; use cpu",
                    larmor_device_spec(dev));
}

/* The sum of the roots of eigenvalues w [s, count], without those that are rounding beside their matrix's largest. */
static larmor_status sum_roots(const larmor_array *w, double *sum)
{
    const int64_t s = w->shape.dim[0], count = w->shape.dim[1];
    const double floor = (double)s * DBL_EPSILON;
    LMR_OWN_MEMORY(double, host, larmor_array_download(w, LARMOR_F64, &host));
    for (int64_t i = 0; i < s * count; i++)
        if (host[i] > floor * host[s - 1 + i / s * s]) *sum += sqrt(host[i]);
    return LARMOR_OK;
}

/* Eigenvalues w [s, count] and, where they are wanted, vectors g [s, s, count] of the smaller Gram matrices of x. */
static larmor_status decompose(const larmor_array *x, int left, int vectors, larmor_array **g, larmor_array **w)
{
    const lmr_series_kernels *kernels;
    const int64_t m = x->shape.dim[0];
    const int64_t n = x->shape.dim[1];
    const int64_t count = x->shape.dim[2];
    const int64_t s = left ? m : n;
    LMR_TRY(lmr_series_kernels_of(x->dev, x->dtype, &kernels));
    LMR_TRY(larmor_array_create(x->dev, LARMOR_C128, LARMOR_SHAPE(s, s, count), g));
    LMR_TRY(larmor_array_create(x->dev, LARMOR_F64, LARMOR_SHAPE(s, count), w));
    LMR_TRY(kernels->gram(x->dev->ctx, m, n, count, left, x->data, (*g)->data));
    return x->dev->be->la[LMR_F64]->heev(x->dev->ctx, s, count, vectors, (*g)->data, (*w)->data);
}

larmor_status lmr_shrink_singular(double t, const larmor_array *x, larmor_array *y, double *sum)
{
    if (sum) *sum = 0;
    LMR_REFUSE(!x || !lmr_is_complex(x->dtype) || x->shape.ndim != 3, LARMOR_ERR_SHAPE,
               "singular values: got %s, expected complex [m, n, count]", lmr_describe(x).s);
    if (y) LMR_TRY(lmr_expect("singular values", "output", y, x->dev, x->dtype, x->shape));
    LMR_REFUSE(!(t >= 0), LARMOR_ERR_ARG, "singular values: threshold is %g, expected at least 0", t);
    const int64_t m = x->shape.dim[0];
    const int64_t n = x->shape.dim[1];
    const int64_t count = x->shape.dim[2];
    const int64_t s = m < n ? m : n;
    const int left = m < n;
    if (!larmor_array_count(x)) return LARMOR_OK;
    if (t == 0 && !sum) return y ? larmor_copy(x, y) : LARMOR_OK;
    const lmr_series_kernels *kernels;
    LMR_OWNED(larmor_array) *g = NULL, *w = NULL, *p = NULL;
    LMR_TRY(decompose(x, left, y && t > 0, &g, &w));
    if (sum) LMR_TRY(sum_roots(w, sum));
    if (!y) return LARMOR_OK;
    if (t == 0) {
        return larmor_copy(x, y);
    }
    LMR_TRY(lmr_series_kernels_of(x->dev, x->dtype, &kernels));
    LMR_TRY(larmor_array_create(x->dev, x->dtype, g->shape, &p));
    LMR_TRY(kernels->project(x->dev->ctx, s, count, t, g->data, w->data, p->data));
    if (left)
        LMR_TRY(kernels->multiply(x->dev->ctx, m, n, m, count, p->data, x->data, y->data));
    else
        LMR_TRY(kernels->multiply(x->dev->ctx, m, n, n, count, x->data, p->data, y->data));
    return LARMOR_OK;
}
