/* The terms of a model on the host, at each distinct time once. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/physics.h"
#include "recon/field/separable.h"

typedef struct lmr_model {
    lmr_exponential e;
    int64_t *place;       /* [samples]: which of the distinct times */
    double *space, *time; /* [voxels, terms], [distinct times, terms] */
} lmr_model;

void lmr_model_free(lmr_model *t);

/* Errors: LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC, LARMOR_ERR_MEMORY. */
larmor_status lmr_model_read(const larmor_model_term *terms, int count, lmr_model *t);
