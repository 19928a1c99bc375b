/* Noise whitening of coils (Kellman and McVeigh 2005). SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/inputs.h"
#include "recon/lapack.h"

/* R = n n^H / (m - 1), column-major; n is [m, coils]. */
static larmor_status covariance(const larmor_array *noise, int64_t m, int64_t coils, double complex *cov)
{
    const lmr_recon_kernels *kernels;
    LMR_TRY(lmr_recon_kernels_of(noise->dev, noise->dtype, &kernels));
    LMR_OWN(larmor_array, sums, larmor_array_create(noise->dev, LARMOR_C128, LARMOR_SHAPE(coils, coils), &sums));
    LMR_TRY(kernels->covariance(noise->dev->ctx, m, coils, noise->data, sums->data));
    LMR_TRY(larmor_array_read(sums, cov, larmor_array_bytes(sums)));
    for (int64_t i = 0; i < coils * coils; i++) cov[i] /= (double)(m - 1);
    for (int64_t i = 0; i < coils; i++) {
        const double variance = creal(cov[i + i * coils]);
        LMR_REFUSE(!(variance > 0) || !isfinite(variance), LARMOR_ERR_NUMERIC,
                   "noise: coil %lld has variance %g, expected a finite number > 0; leave the coil out", (long long)i,
                   variance);
    }
    return LARMOR_OK;
}

/* Too few samples leave R singular or nearly so. Loading each variance by its share coils / m, and scaling back to
 * the variances measured, shrinks the correlations alone. */
static void load_diagonal(int64_t m, int64_t coils, double complex *cov)
{
    const double keep = 1 / (1 + (double)coils / (double)m);
    for (int64_t j = 0; j < coils; j++)
        for (int64_t i = j + 1; i < coils; i++) cov[i + j * coils] *= keep;
}

/* cov <- scale sqrt(2) inv(chol(cov)) */
static larmor_status inverse_root(int64_t coils, double scale, double complex *cov)
{
    int solved;
    LMR_TRY(lmr_lapack_inverse_cholesky(coils, cov, &solved));
    LMR_REFUSE(!solved, LARMOR_ERR_NUMERIC,
               "noise: the covariance of %lld coils is singular, expected independent "
               "samples and coils; leave out copies of either, or all by opts.no_whitening",
               (long long)coils);
    for (int64_t j = 0; j < coils; j++)
        for (int64_t i = 0; i < coils; i++) cov[i + j * coils] = i < j ? 0 : scale * sqrt(2) * cov[i + j * coils];
    return LARMOR_OK;
}

larmor_status larmor_noise_whitening(const larmor_array *noise, double scale, larmor_array **W)
{
    LMR_NEED_OUT(W);
    LMR_REFUSE(!noise || !lmr_is_complex(noise->dtype) || noise->shape.ndim != 2 || noise->shape.dim[1] < 1,
               LARMOR_ERR_SHAPE, "noise: noise is %s, expected complex [samples, coils]",
               noise ? lmr_describe(noise).s : "missing");
    LMR_REFUSE(!(scale > 0) || !isfinite(scale), LARMOR_ERR_ARG, "noise: scale is %g, expected a finite number > 0",
               scale);
    const int64_t m = noise->shape.dim[0], coils = noise->shape.dim[1];
    LMR_REFUSE(m < 2, LARMOR_ERR_NUMERIC,
               "noise: %lld samples, expected at least 2; opts.no_whitening leaves them out", (long long)m);
    LMR_HEAP LMR_NEW(double complex, cov, coils *coils);
    LMR_OWNED(larmor_array) *in_double = NULL;
    LMR_TRY(covariance(noise, m, coils, cov));
    if (m < 5 * coils) load_diagonal(m, coils, cov);
    LMR_TRY(inverse_root(coils, scale, cov));
    LMR_TRY(larmor_array_create(noise->dev, LARMOR_C128, LARMOR_SHAPE(coils, coils), &in_double));
    LMR_TRY(larmor_array_write(in_double, cov, larmor_array_bytes(in_double)));
    return larmor_array_convert(in_double, noise->dtype, W);
}

larmor_status larmor_noise_colouring(const larmor_array *W, larmor_array **C)
{
    LMR_NEED_OUT(C);
    const int64_t coils = W && W->shape.ndim == 2 ? W->shape.dim[0] : 0;
    LMR_REFUSE(coils < 1 || !lmr_is_complex(W->dtype) || W->shape.dim[1] != coils, LARMOR_ERR_SHAPE,
               "noise: W is %s, expected complex [coils, coils]", W ? lmr_describe(W).s : "missing");
    int solved = 1;
    LMR_HEAP LMR_NEW(double complex, inverse, coils *coils);
    LMR_OWN(larmor_array, in_double, larmor_array_convert(W, LARMOR_C128, &in_double));
    LMR_TRY(larmor_array_read(in_double, inverse, larmor_array_bytes(in_double)));
    LMR_CLEAR(in_double);
    LMR_TRY(lmr_lapack_inverse(coils, inverse, &solved));
    LMR_REFUSE(!solved, LARMOR_ERR_NUMERIC, "noise: W of %lld coils has no inverse, expected a whitening matrix",
               (long long)coils);
    LMR_TRY(larmor_array_create(W->dev, LARMOR_C128, W->shape, &in_double));
    LMR_TRY(larmor_array_write(in_double, inverse, larmor_array_bytes(in_double)));
    return larmor_array_convert(in_double, W->dtype, C);
}

enum { ROWS = 1 << 16 };

/* Samples first .. first+rows-1 of all coils <- themselves times W^T, by way of mixed [rows, coils]. */
static larmor_status whiten_rows(const larmor_array *W, larmor_array *kspace, int64_t samples, int64_t first,
                                 int64_t rows, larmor_array *mixed)
{
    const larmor_device *dev = kspace->dev;
    const int64_t coils = W->shape.dim[0];
    const size_t size = larmor_dtype_size(kspace->dtype), bytes = (size_t)rows * size;
    char *at = (char *)kspace->data + (size_t)first * size;
    LMR_TRY(lmr_la_of(kspace)->gemm(dev->ctx, 'N', 'T', rows, coils, coils, at, samples, W->data, coils, mixed->data,
                                    rows));
    for (int64_t c = 0; c < coils; c++)
        LMR_TRY(dev->be->copy(dev->ctx, LMR_ON_DEVICE, at + (size_t)(c * samples) * size,
                              (const char *)mixed->data + (size_t)c * bytes, bytes));
    return LARMOR_OK;
}

larmor_status larmor_whiten(const larmor_array *W, larmor_array *kspace)
{
    LMR_REFUSE(!W || !kspace, LARMOR_ERR_ARG, "whiten: a matrix and k-space are needed");
    const int last = kspace->shape.ndim - 1;
    const int64_t coils = last < 0 ? 0 : kspace->shape.dim[last];
    LMR_TRY(lmr_expect("whiten", "matrix", W, kspace->dev, kspace->dtype, LARMOR_SHAPE(coils, coils)));
    const int64_t samples = larmor_shape_count(larmor_shape_of(last, kspace->shape.dim));
    const int64_t most = samples < ROWS ? samples : ROWS;
    LMR_OWN(larmor_array, mixed, larmor_array_create(kspace->dev, kspace->dtype, LARMOR_SHAPE(most, coils), &mixed));
    for (int64_t first = 0; first < samples; first += ROWS)
        LMR_TRY(whiten_rows(W, kspace, samples, first, samples - first < ROWS ? samples - first : ROWS, mixed));
    return LARMOR_OK;
}

larmor_status larmor_noise_fill(larmor_array *x, double deviation, uint64_t seed)
{
    LMR_REFUSE(!x || !lmr_is_complex(x->dtype), LARMOR_ERR_ARG, "noise: a complex array is needed");
    LMR_REFUSE(!(deviation >= 0) || !isfinite(deviation), LARMOR_ERR_ARG,
               "noise: the deviation is %g, expected a finite number >= 0", deviation);
    LMR_TRY(lmr_random_fill(x, seed));
    return larmor_axpby(sqrt(3.) * deviation, x, 0, x); /* uniform in (-1, 1) has variance 1/3 */
}
