/* The doubled grid: point spread function and autocorrelations. SPDX-License-Identifier: Apache-2.0 */
#include "recon/precond/precond.h"

#include "core/owned.h"
#include "recon/bytes.h"
#include "recon/ops/ops.h"
#include "recon/sparse.h"

larmor_shape lmr_doubled(larmor_shape image)
{
    for (int d = 0; d < image.ndim; d++) image.dim[d] *= 2;
    return image;
}

larmor_status lmr_precond_inputs(const char *who, const larmor_array *maps, const larmor_array *traj,
                                 const larmor_array *weights, larmor_shape image, larmor_dtype dtype,
                                 larmor_array **k)
{
    *k = NULL;
    LMR_REFUSE(!lmr_is_complex(dtype), LARMOR_ERR_ARG, "%s: dtype is %s, expected c64 or c128", who,
               larmor_dtype_name(dtype));
    LMR_OWN(larmor_array, points, lmr_input_traj(who, traj, image, &points));
    int64_t index;
    double value;
    if (maps) {
        const int64_t coils = maps->shape.ndim == image.ndim + 1 ? maps->shape.dim[image.ndim] : 1;
        LMR_TRY(lmr_expect(who, "maps", maps, points->dev, dtype, larmor_shape_append(image, coils)));
    }
    if (weights) {
        LMR_OWN(larmor_array, real, lmr_input_real(who, "weights", weights, &real));
        LMR_TRY(lmr_expect(who, "weight array", real, points->dev, LARMOR_F64, lmr_weights_shape(traj)));
        LMR_TRY(lmr_find_outlier(real, 0, &index, &value));
        LMR_REFUSE(index >= 0, LARMOR_ERR_ARG, "%s: weight %lld is %g, expected at least 0", who, (long long)index,
                   value);
    }
    return LMR_HAND_ON(*k, points);
}

/* A preconditioner need not be exact. */
static larmor_nufft_opts doubled_opts(larmor_dtype dtype, larmor_shape image)
{
    larmor_nufft_opts opts = {.type = 2, .ndim = image.ndim, .tol = 1e-4, .dtype = dtype};
    for (int d = 0; d < image.ndim; d++) opts.modes[d] = 2 * image.dim[d];
    return opts;
}

larmor_status lmr_doubled_fourier(const larmor_array *k, larmor_dtype dtype, larmor_shape image, larmor_op **F)
{
    const lmr_recon_kernels *kernels;
    const int64_t m = larmor_array_count(k) / image.ndim;
    const larmor_nufft_opts opts = doubled_opts(dtype, image);
    *F = NULL;
    LMR_TRY(lmr_recon_kernels_of(k->dev, dtype, &kernels));
    LMR_OWN(larmor_array, points, larmor_array_create(k->dev, LARMOR_F64, LARMOR_SHAPE(image.ndim, m), &points));
    LMR_TRY(kernels->pick(k->dev->ctx, image.ndim, m, NULL, 2, k->data, points->data)); /* field doubled */
    return lmr_op_fourier(k->dev, &opts, points, F);
}

larmor_status lmr_point_spread(larmor_op *F, const larmor_array *k, const larmor_array *weights, larmor_dtype dtype,
                               larmor_shape image, larmor_array **t)
{
    LMR_OWNED(larmor_array) *values = NULL, *out = NULL;
    *t = NULL;
    if (weights) {
        LMR_OWN(larmor_array, line, larmor_array_reshape(weights, LARMOR_SHAPE(larmor_array_count(weights)), &line));
        LMR_TRY(larmor_array_convert(line, dtype, &values));
    } else {
        LMR_TRY(larmor_array_create(k->dev, dtype, LARMOR_SHAPE(larmor_array_count(k) / image.ndim), &values));
        LMR_TRY(larmor_fill(values, 1));
    }
    LMR_TRY(larmor_array_create(k->dev, dtype, lmr_doubled(image), &out));
    LMR_TRY(larmor_op_adjoint(F, values, out));
    return LMR_HAND_ON(*t, out);
}

/* What moves index 0 to N: exp(i pi) to the sum of frequencies, for each dimension. */
static larmor_status make_phases(larmor_device *dev, larmor_dtype dtype, const int64_t dim[3], larmor_array **phases)
{
    const int64_t count = dim[0] + dim[1] + dim[2];
    LMR_HEAP double *sign = lmr_new(count, sizeof *sign);
    int64_t at = 0;
    if (!sign) return LMR_NO_MEMORY();
    for (int d = 0; d < 3; d++)
        for (int64_t i = 0; i < dim[d]; i++) sign[at++] = i % 2 ? -1 : 1;
    return larmor_array_upload(dev, dtype, LARMOR_SHAPE(count), LARMOR_F64, sign, phases);
}

static void dims_of(larmor_shape grid, int64_t dim[3])
{
    for (int d = 0; d < 3; d++) dim[d] = d < grid.ndim ? grid.dim[d] : 1;
}

larmor_status lmr_autocorrelation_begin(larmor_device *dev, larmor_dtype dtype, larmor_shape image,
                                        lmr_autocorrelation *a)
{
    const larmor_shape grid = lmr_doubled(image);
    int64_t dim[3];
    dims_of(grid, dim);
    *a = (lmr_autocorrelation){.dev = dev};
    larmor_status st = make_phases(dev, dtype, dim, &a->phases);
    if (!st) st = larmor_array_create(dev, dtype, grid, &a->power);
    if (!st) st = lmr_fft_of(a->power)->plan(dev->ctx, image.ndim, dim, 1, &a->fft);
    if (st) lmr_autocorrelation_free(a);
    return st;
}

larmor_status lmr_autocorrelation_add(lmr_autocorrelation *a, const larmor_array *image)
{
    LMR_OWNED(larmor_array) *padded = NULL;
    LMR_TRY(larmor_crop(image, a->power->shape, 1, &padded)); /* where it lies does not matter */
    LMR_TRY(lmr_fft_of(padded)->exec(a->dev->ctx, a->fft, -1, padded->data));
    LMR_TRY(lmr_vec_of(padded)->mul(a->dev->ctx, larmor_array_count(padded), 1, padded->data, padded->data, 1,
                                    padded->data));
    return larmor_axpby(1, padded, 1, a->power);
}

larmor_status lmr_autocorrelation_end(lmr_autocorrelation *a, larmor_array **sum)
{
    const lmr_sparse_kernels *kernels;
    int64_t dim[3];
    *sum = NULL;
    dims_of(a->power->shape, dim);
    LMR_TRY(lmr_sparse_kernels_of(a->dev, a->power->dtype, &kernels));
    LMR_OWN(larmor_array, out, larmor_array_create(a->dev, a->power->dtype, a->power->shape, &out));
    const double scale = 1 / (double)larmor_array_count(out);
    LMR_TRY(kernels->modulate(a->dev->ctx, dim, 1, a->phases->data, 0, scale, a->power->data, out->data));
    LMR_TRY(larmor_zero(a->power));
    LMR_TRY(lmr_fft_of(out)->exec(a->dev->ctx, a->fft, 1, out->data));
    return LMR_HAND_ON(*sum, out);
}

void lmr_autocorrelation_free(lmr_autocorrelation *a)
{
    if (a->fft) lmr_fft_of(a->power)->destroy(a->dev->ctx, a->fft);
    LMR_FREE(a->power, a->phases);
    *a = (lmr_autocorrelation){0};
}

double lmr_autocorrelation_bytes(const larmor_device *dev, larmor_dtype dtype, larmor_shape image)
{
    const larmor_shape grid = lmr_doubled(image);
    int64_t dim[3];
    dims_of(grid, dim);
    const double fft = dev->be->fft[lmr_precision(dtype)]->bytes(dev->ctx, grid.ndim, dim, 1);
    return 2 * lmr_bytes_of(dtype, grid) + 16.0 * (double)(dim[0] + dim[1] + dim[2]) + fft;
}
