/* What the Toeplitz normal map costs. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_NUFFT_TOEPLITZ_H
#define LMR_NUFFT_TOEPLITZ_H

#include "larmor/nufft.h"

/* Bytes at most of larmor_op_toeplitz while the point spread function is made, and after. */
larmor_status lmr_toeplitz_bytes(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points,
                                 double *making, double *held);

#endif
