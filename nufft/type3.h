/* A transform of type 3, with its points and targets. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "nufft/choose/choose.h"
#include "nufft/device.h"

/* Where points or targets lie: the middle and half the width in each dimension. */
typedef struct lmr_type3_box {
    double middle[3], half[3];
} lmr_type3_box;

/* What a type 3 is made of. */
typedef struct lmr_type3_job {
    const lmr_nufft_device *on;
    const larmor_nufft_opts *opts; /* filled in */
    const larmor_array *points, *targets;
    int64_t m, n;
    lmr_type3_box at, to; /* of points and of targets */
    double product[3];    /* of their widths, at least 1 */
} lmr_type3_job;

/* Looks at points and targets. LARMOR_ERR_NUMERIC for one that is not finite; LARMOR_ERR_ARG if phases overflow. */
larmor_status lmr_type3_measure(const lmr_nufft_device *on, const larmor_nufft_opts *filled,
                                const larmor_array *points, const larmor_array *targets, lmr_type3_job *job);

typedef struct lmr_type3 lmr_type3;

/* choice  NULL where there are no points or no targets: there is nothing to choose.
 * `on` must outlive it, the arrays need not. */
larmor_status lmr_type3_make(const lmr_type3_job *job, const lmr_type3_choice *choice, lmr_type3 **t);
void lmr_type3_free(lmr_type3 *t); /* NULL is fine */

larmor_status lmr_type3_execute(const lmr_type3 *t, int adjoint, const larmor_array *in, larmor_array *out);
larmor_nufft_info lmr_type3_describe(const lmr_type3 *t);

/* Bytes of device memory at most, from make to free, with so many points and targets together. */
larmor_status lmr_type3_bytes(const lmr_nufft_device *on, const larmor_nufft_opts *filled,
                              const lmr_type3_choice *choice, double points, double *bytes);
