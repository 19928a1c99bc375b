/* What the device that counts is made of. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device.h"

/* Addresses begin where no program has memory. */
#define LMR_MEASURE_FIRST (UINT64_C(1) << 55)

/* Its context. */
typedef struct lmr_measure_block {
    uintptr_t at;
    double bytes;
} lmr_measure_block;

typedef struct lmr_measure_counts {
    lmr_backend be; /* with the table that was given */
    const larmor_device *like;
    lmr_measure_block *live;
    int count;
    int64_t room;
    uintptr_t next;
    int64_t repeats; /* lmr_measure_set_repeats */
    double held, base, peak;
} lmr_measure_counts;

/* As of a backend; a plan is memory of so many bytes. */
larmor_status lmr_measure_allocate(void *ctx, size_t bytes, void **ptr);
void lmr_measure_release(void *ctx, void *ptr);
larmor_status lmr_measure_plan(void *ctx, double bytes, void **plan);

/* The device that it is like, or NULL. */
const larmor_device *lmr_measure_like_of(void *ctx);

extern const lmr_vec lmr_measure_vec;
extern const lmr_fft lmr_measure_fft_f32, lmr_measure_fft_f64;
extern const lmr_conv lmr_measure_conv_f32, lmr_measure_conv_f64;
extern const lmr_la lmr_measure_la;
