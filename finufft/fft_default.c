/* The flag of FFTW's plans that FINUFFT's header declares; FFTW_ESTIMATE. SPDX-License-Identifier: Apache-2.0 */
#include "finufft/finufft.h"

const int FINUFFT_FFT_DEFAULT = 64;
