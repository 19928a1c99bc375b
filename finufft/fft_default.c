/* The flag of FFTW's plans that FINUFFT's header declares; FFTW_ESTIMATE. SPDX-License-Identifier: Apache-2.0 */
#include "larmor/status.h"

LARMOR_API extern const int FINUFFT_FFT_DEFAULT;
const int FINUFFT_FFT_DEFAULT = 64;
