/* Helpers of all proximal maps. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/status.h"
#include "larmor/operators.h"
#include "larmor/solve.h"

/* What every constructor begins with: *p is NULL, the device is there, the type complex, the weight finite and at
 * least 0; else LARMOR_ERR_ARG. */
larmor_status lmr_prox_begin(const char *name, const larmor_device *dev, double weight, larmor_dtype dtype,
                             larmor_prox **p);

/* The `self` of a map that was made with this apply, NULL for any other. */
void *lmr_prox_self(const larmor_prox *p,
                    larmor_status (*apply)(void *self, double t, const larmor_array *x, larmor_array *z));

/* 0, of sets: iterates of larmor_admm and larmor_pdhg are near the set and not in it, so that the value says nothing
 * of that. */
larmor_status lmr_prox_no_value(void *self, const larmor_array *x, double *g);

/* 1 if g is weight sum_i sqrt(sum_g |x_ig|^2), of `groups` numbers each along the last dimension. */
int lmr_prox_magnitudes(const larmor_prox *g, double *weight, int64_t *groups);
