/* A device as transforms use it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "larmor/nufft.h"
#include "nufft/kernels.h"
#include "nufft/precompute_kernels.h"

typedef struct lmr_nufft_device {
    larmor_device *dev;
    void *ctx; /* the device's, or an own one with fewer threads */
    int precision, threads;
    const lmr_nufft_kernels *kernels;
} lmr_nufft_device;

/* The kernels of a device, NULL with a message if it has none; those for precomputed forms, NULL if it has none. */
const lmr_nufft_kernels *lmr_nufft_kernels_of(const larmor_device *dev, int precision);
const lmr_precompute_kernels *lmr_precompute_kernels_of(const larmor_device *dev, int precision);

/* Takes a reference to the device; opts are filled in. An empty one, as after an error, may be detached. */
larmor_status lmr_nufft_attach(larmor_device *dev, const larmor_nufft_opts *opts, lmr_nufft_device *on);
void lmr_nufft_detach(lmr_nufft_device *on);

/* count doubles to the device, in its transform's precision; they are overwritten. *out is the caller's also after an
 * error. */
larmor_status lmr_nufft_upload(const lmr_nufft_device *on, int64_t count, double *values, void **out);

/* LARMOR_ERR_SHAPE unless x holds `each` elements of the options' type for every transform. */
larmor_status lmr_nufft_expect(const lmr_nufft_device *on, const larmor_nufft_opts *opts, const char *what,
                               const larmor_array *x, int64_t each);

/* LARMOR_ERR_SHAPE unless x is a real array of [ndim, ...] on the device; *count is how many points. */
larmor_status lmr_nufft_expect_points(const lmr_nufft_device *on, const larmor_nufft_opts *opts, const char *what,
                                      const larmor_array *x, int64_t *count);
