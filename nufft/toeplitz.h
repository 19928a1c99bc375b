/* What the Toeplitz normal map costs. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_NUFFT_TOEPLITZ_H
#define LMR_NUFFT_TOEPLITZ_H

#include "larmor/nufft.h"

/* Bytes at most of larmor_op_toeplitz while the point spread function is made, and after. */
larmor_status lmr_toeplitz_bytes(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points,
                                 double *making, double *held);

/* 1 if N is expected to be quicker than adjoint of forward when it is applied `iters` times to opts->batch images,
 * making it included. The model: nanoseconds of one thread for each point, which pays for the window, and for each
 * cell of an FFT, which pays for its logarithm; measured on x86-64, and only ratios matter. */
int lmr_toeplitz_pays(const larmor_nufft_opts *opts, int64_t points, int64_t iters);

#endif
