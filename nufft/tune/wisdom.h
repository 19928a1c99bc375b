/* What a device has learnt about transforms. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device.h"
#include "larmor/nufft.h"
#include "nufft/choose/cost.h"

/* What a plan was asked for, as far as it matters for speed. Points count by the power of two below them, and by how
 * they are spread: crowding and ordered are those of nufft/tune/survey.h. */
typedef struct lmr_wisdom_key {
    int types, ndim, precision, threads;
    int64_t modes[3]; /* 1 beyond ndim */
    int64_t batch, max_batch;
    double tol, upsample;
    int64_t grid[3];
    int width, tiles, method, sort, precompute;
    int64_t precompute_memory;
    int points_log2, crowding, ordered;
} lmr_wisdom_key;

/* What a measurement found to be quick. */
typedef struct lmr_wisdom_plan {
    int effort; /* of the search: larmor_plan_effort */
    int64_t cells[3];
    int width, method, tiles, precompute;
    int64_t max_batch;
    double seconds;
} lmr_wisdom_plan;

enum { LMR_WISDOM_VERSION = 3 };

/* NULL if nothing of at least this effort is known. Valid until wisdom is added. */
const lmr_wisdom_plan *lmr_wisdom_find(const larmor_device *dev, const lmr_wisdom_key *key, int effort);

/* Replaces what was found with no more effort. When there is no room, nothing is kept. */
void lmr_wisdom_add(larmor_device *dev, const lmr_wisdom_key *key, const lmr_wisdom_plan *plan);

/* The rates of a device: those that are built in for its kernels, times its calibration if there is one. */
lmr_nufft_rates lmr_wisdom_rates(const larmor_device *dev, const lmr_nufft_kernels *kernels, int precision,
                                 int threads);

/* The calibration; NULL without. */
const lmr_nufft_scales *lmr_wisdom_scales(const larmor_device *dev, int precision);
larmor_status lmr_wisdom_set_scales(larmor_device *dev, int precision, const lmr_nufft_scales *scales);
