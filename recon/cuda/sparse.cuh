/* What the CUDA files of sparsity share. Only for .cu files. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/cuda/cuda.cuh"
#include "recon/kernels_sparse.h"

/* Their parts of the table; T is float or double. */
template <typename T> larmor_status lmr_cuda_sparse_gradient_normal(void *ctx, int64_t n, int64_t row,
                                                                    const lmr_axes *axes, const void *x, void *y);
template <typename T> larmor_status lmr_cuda_sparse_gradient(void *ctx, int64_t n, int64_t row, const lmr_axes *axes,
                                                             int adjoint, const void *x, void *y);
template <typename T> larmor_status lmr_cuda_sparse_symmetrised(void *ctx, int64_t n, int64_t row,
                                                                const lmr_axes *axes, int adjoint, const void *x,
                                                                void *y);
template <typename T> larmor_status lmr_cuda_sparse_analyse(void *ctx, const lmr_box *box, int axis,
                                                            const lmr_filter *filter, int64_t shift, const void *from,
                                                            void *to);
template <typename T> larmor_status lmr_cuda_sparse_synthesise(void *ctx, const lmr_box *box, int axis,
                                                               const lmr_filter *filter, int64_t shift,
                                                               const void *from, void *to);
template <typename T>
larmor_status lmr_cuda_sparse_copy_box(void *ctx, const lmr_box *box, const void *from, void *to);
