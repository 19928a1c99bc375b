/* What the processor backend's files share. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_CPU_H
#define LMR_CPU_H

#include "core/backend.h"

typedef struct lmr_cpu {
    int threads;
    char name[128];
} lmr_cpu;

extern const lmr_vec lmr_cpu_vec_f32, lmr_cpu_vec_f64;
extern const lmr_fft lmr_cpu_fft_f32, lmr_cpu_fft_f64;
extern const lmr_la lmr_cpu_la_f32, lmr_cpu_la_f64;
extern const lmr_mark lmr_cpu_mark;

/* The entries convert and fill. */
larmor_status lmr_cpu_convert(void *ctx, int64_t n, larmor_dtype from, const void *x, larmor_dtype to, void *y);
larmor_status lmr_cpu_fill(void *ctx, int64_t n, larmor_dtype type, double value, void *x);

#endif
