/* Samples with off-resonance that is not linear in space. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "phantoms/phantom.h"

typedef struct lmr_field_samples { /* what is linear in space is in points and cycles already */
    const double *points;          /* [nd, count] */
    const double *cycles;          /* [count] of each sample's phase */
    const double *times;           /* [each] in s, repeated */
    int64_t count, each;
} lmr_field_samples;

/* 1 if the field is a shift of k-space. */
int lmr_field_is_linear(const larmor_phantom_field *field);

/* The samples of the shape, to 1e-5 of the largest. Errors: LARMOR_ERR_ARG for a field that is out of range;
 * MEMORY. */
larmor_status lmr_field_kspace(const larmor_phantom *phantom, larmor_device *dev, const larmor_phantom_field *field,
                               const lmr_field_samples *samples, int coils, larmor_dtype dtype, larmor_shape shape,
                               larmor_array **kspace);
