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

#endif
