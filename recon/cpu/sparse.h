/* What the processor's files of sparsity share. Included once per precision. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/cpu/cpu.h"
#include "core/real.h"
#include "recon/kernels_sparse.h"

enum { SERIAL = 16384 }; /* below this many numbers a second thread costs more than it brings */

#define PRAGMA(text) _Pragma(#text)
#define PARALLEL_FOR(n)                                                                                              \
    PRAGMA(omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads) if ((n) > SERIAL))

larmor_status R(lmr_cpu_sparse_gradient)(void *ctx, int64_t n, int64_t row, const lmr_axes *axes, int adjoint,
                                         const void *x, void *y);
larmor_status R(lmr_cpu_sparse_gradient_normal)(void *ctx, int64_t n, int64_t row, const lmr_axes *axes,
                                                const void *x, void *y);
larmor_status R(lmr_cpu_sparse_symmetrised)(void *ctx, int64_t n, int64_t row, const lmr_axes *axes, int adjoint,
                                            const void *x, void *y);
larmor_status R(lmr_cpu_sparse_analyse)(void *ctx, const lmr_box *box, int axis, const lmr_filter *filter,
                                        int64_t shift, const void *from, void *to);
larmor_status R(lmr_cpu_sparse_synthesise)(void *ctx, const lmr_box *box, int axis, const lmr_filter *filter,
                                           int64_t shift, const void *from, void *to);
larmor_status R(lmr_cpu_sparse_copy_box)(void *ctx, const lmr_box *box, const void *from, void *to);
