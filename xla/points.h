/* Points of a plan, and a copy of them by which they are known again. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "xla/call.h"

typedef struct lmr_xla_points lmr_xla_points;

/* Room for the points of such a call. Errors: LARMOR_ERR_MEMORY. */
larmor_status lmr_xla_points_create(larmor_device *dev, const lmr_xla_call *call, lmr_xla_points **out);
void lmr_xla_points_free(lmr_xla_points *points); /* NULL is fine */
int64_t lmr_xla_points_bytes(const lmr_xla_points *points);

/* *same becomes 1 if those that were set are those of the call's set. A GPU is waited for. */
larmor_status lmr_xla_points_same(const lmr_xla_points *points, const lmr_xla_call *call, int64_t set, int *same);

/* Sorts the set's points into the plan, and copies them. Errors: those of larmor_nufft_set_points. */
larmor_status lmr_xla_points_set(lmr_xla_points *points, const lmr_xla_call *call, int64_t set, larmor_nufft *plan);

/* An array of count numbers in memory of XLA's, which outlives what is queued now. */
larmor_status lmr_xla_wrap(larmor_device *dev, larmor_dtype dtype, int64_t count, void *data, larmor_array **out);
