/* Inside of an array handle, for the layers that fill tables of kernels. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device.h"
#include "core/status.h"
#include "larmor/array.h"

struct larmor_array {
    larmor_device *dev;
    larmor_dtype dtype;
    larmor_shape shape;
    void *data;
    larmor_array *owner;                     /* of the storage, for a view; else NULL */
    void (*release)(void *data, void *user); /* of the caller's storage; else NULL */
    void *user;
    lmr_refs refs;
};

/* LMR_F32 or LMR_F64: the index into a backend's tables. */
static inline int lmr_precision(larmor_dtype dtype)
{
    return dtype == LARMOR_F64 || dtype == LARMOR_C128 ? LMR_F64 : LMR_F32;
}
static inline int lmr_is_complex(larmor_dtype dtype)
{
    return dtype == LARMOR_C64 || dtype == LARMOR_C128;
}
static inline int lmr_is_real(larmor_dtype dtype)
{
    return dtype == LARMOR_F32 || dtype == LARMOR_F64;
}
static inline larmor_dtype lmr_real_of(larmor_dtype dtype)
{
    return lmr_precision(dtype) == LMR_F64 ? LARMOR_F64 : LARMOR_F32;
}
static inline const lmr_vec *lmr_vec_of(const larmor_array *x)
{
    return x->dev->be->vec[lmr_precision(x->dtype)];
}
static inline const lmr_fft *lmr_fft_of(const larmor_array *x)
{
    return x->dev->be->fft[lmr_precision(x->dtype)];
}
static inline const lmr_conv *lmr_conv_of(const larmor_array *x)
{
    return x->dev->be->conv[lmr_precision(x->dtype)];
}
static inline const lmr_la *lmr_la_of(const larmor_array *x)
{
    return x->dev->be->la[lmr_precision(x->dtype)];
}

/* A view of x[..., index], without the last dimension. */
larmor_status lmr_one_of(const larmor_array *x, int64_t index, larmor_array **one);

/* "c64 [256, 256, 8] on cpu:2", for messages. */
typedef struct lmr_text {
    char s[192];
} lmr_text;
/* y <- x, alike, on two devices of one backend, in the order of both queues. */
larmor_status lmr_pass(const larmor_array *x, larmor_array *y);

lmr_text lmr_describe(const larmor_array *x);
lmr_text lmr_describe_as(const larmor_device *dev, larmor_dtype dtype, larmor_shape shape);

/* OK if x is dtype `shape` on dev; else LARMOR_ERR_SHAPE `who: what is c64 [..] on cpu, expected c64 [..] on cpu`. */
larmor_status lmr_expect(const char *who, const char *what, const larmor_array *x, const larmor_device *dev,
                         larmor_dtype dtype, larmor_shape shape);

/* Element i of numbers in the host's memory as a complex number. */
static inline void lmr_element(const void *host, larmor_dtype dtype, int64_t i, double out[2])
{
    const int parts = lmr_is_complex(dtype) ? 2 : 1;
    out[1] = 0;
    for (int k = 0; k < parts; k++) {
        if (dtype == LARMOR_I64)
            out[k] = (double)((const int64_t *)host)[i];
        else if (dtype == LARMOR_F32 || dtype == LARMOR_C64)
            out[k] = ((const float *)host)[parts * i + k];
        else
            out[k] = ((const double *)host)[parts * i + k];
    }
}
