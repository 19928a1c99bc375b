/* The device that counts: Fourier transforms, and convolutions. SPDX-License-Identifier: Apache-2.0 */
#include "core/measure/measure.h"
#include "core/measure/tables.h"

/* NOLINTBEGIN(misc-unused-parameters) */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
LMR_MEASURE_NOTHING(exec, void *ctx, void *plan, int sign, void *data)
LMR_MEASURE_NOTHING(band, void *ctx, void *plan, int sign, int inward, const int64_t keep[3], void *data)
LMR_MEASURE_NOTHING(set, void *ctx, void *plan, int plane, double scale, int part, const void *cells)
LMR_MEASURE_NOTHING(convolve, void *ctx, void *plan, int which, const void *x, void *y)
#pragma GCC diagnostic pop
/* NOLINTEND(misc-unused-parameters) */

static double fft_bytes(void *ctx, int precision, int ndim, const int64_t dim[3], int64_t batch)
{
    const larmor_device *like = lmr_measure_like_of(ctx);
    if (like) return like->be->fft[precision]->bytes(like->ctx, ndim, dim, batch);
    double cells = (double)batch;
    for (int d = 0; d < ndim; d++) cells *= (double)dim[d];
    return cells * (precision == LMR_F64 ? 16 : 8);
}

#define FFT(name, precision)                                                                                         \
    static double name##_bytes(void *ctx, int ndim, const int64_t dim[3], int64_t batch)                             \
    {                                                                                                                \
        return fft_bytes(ctx, precision, ndim, dim, batch);                                                          \
    }                                                                                                                \
    static larmor_status name##_plan(void *ctx, int ndim, const int64_t dim[3], int64_t batch, void **plan)          \
    {                                                                                                                \
        return lmr_measure_plan(ctx, fft_bytes(ctx, precision, ndim, dim, batch), plan);                             \
    }                                                                                                                \
    const lmr_fft lmr_measure_fft_##name = {name##_plan, exec, band, lmr_measure_release, name##_bytes};

FFT(f32, LMR_F32)
FFT(f64, LMR_F64)

/* Of no device in particular: the spectra, and the arrays that are mixed, on the grid and as lines of threads. */
static double conv_bytes(void *ctx, int precision, const lmr_conv_shape *shape)
{
    const larmor_device *like = lmr_measure_like_of(ctx);
    if (like) return like->be->conv[precision]->bytes(like->ctx, shape);
    double cells = precision == LMR_F64 ? 8 : 4;
    for (int d = 0; d < shape->ndim; d++) cells *= (double)shape->dim[d];
    return cells * (lmr_conv_planes(shape) * (double)shape->spectra + 4 * (double)shape->batch * shape->mixed) +
           0x1p18;
}

#define CONV(name, precision)                                                                                        \
    static double name##_conv_bytes(void *ctx, const lmr_conv_shape *shape)                                          \
    {                                                                                                                \
        return conv_bytes(ctx, precision, shape);                                                                    \
    }                                                                                                                \
    static larmor_status name##_conv_plan(void *ctx, const lmr_conv_shape *shape, void **plan)                       \
    {                                                                                                                \
        return lmr_measure_plan(ctx, conv_bytes(ctx, precision, shape), plan);                                       \
    }                                                                                                                \
    const lmr_conv lmr_measure_conv_##name = {name##_conv_plan,  set, convolve, lmr_measure_release,                 \
                                              name##_conv_bytes, NULL};

CONV(f32, LMR_F32)
CONV(f64, LMR_F64)
