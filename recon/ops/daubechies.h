/* Daubechies' filters. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/kernels_sparse.h"

enum { LMR_DAUBECHIES = 10 };

/* [order - 1][2 order]: the orthonormal low-pass filters with `order` vanishing moments.
 *
 * Source  Daubechies, Ten Lectures on Wavelets, SIAM (1992), section 6.1 and table 6.1. */
extern const double lmr_daubechies[LMR_DAUBECHIES][LMR_MAX_TAPS];
