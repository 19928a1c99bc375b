/* The forms between all on the fly and all precomputed. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "nufft/device.h"

typedef struct lmr_precompute {
    const lmr_precompute_kernels *kernels;
    void *made;
    int64_t bytes;
} lmr_precompute;

/* What a form is made for. */
typedef struct lmr_precompute_size {
    int ndim, width;
    size_t real;
    int64_t points, cells, per_pass;
} lmr_precompute_size;

lmr_precompute_size lmr_precompute_size_of(const lmr_nufft_device *on, const lmr_nufft_geometry *geometry,
                                           int64_t points);

/* Whether the matrices' indices need 64 bits. */
int lmr_precompute_needs_64_bits(const lmr_precompute_size *s);

/* Device memory that a form keeps, from above: what libraries add on a GPU is not known before; and what making it
 * takes besides, for a moment. 0 for AUTO and NONE, INT64_MAX beyond 2^63. */
int64_t lmr_precompute_bytes(const lmr_precompute_kernels *kernels, const lmr_precompute_size *s,
                             larmor_precompute form);
int64_t lmr_precompute_scratch(const lmr_precompute_kernels *kernels, const lmr_precompute_size *s,
                               larmor_precompute form);

/* What a form is made of; sorted points must outlive it. */
typedef struct lmr_precompute_job {
    const lmr_nufft_device *on;
    const lmr_nufft_geometry *geometry;
    int64_t batch, limit; /* limit: bytes; 0: half of what the device has free */
    int64_t points;
    const void *sorted;
} lmr_precompute_job;

/* LARMOR_ERR_MEMORY, with the bytes, if the form passes the limit. */
larmor_status lmr_precompute_check(const lmr_precompute_job *job, larmor_precompute form);

/* *out is NULL for AUTO and NONE. */
larmor_status lmr_precompute_make(const lmr_precompute_job *job, larmor_precompute form, lmr_precompute **out);
void lmr_precompute_free(const lmr_nufft_device *on, lmr_precompute *p); /* NULL is fine */
