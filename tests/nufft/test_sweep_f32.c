/* The tolerance sweep in single precision. SPDX-License-Identifier: Apache-2.0 */
#define SWEEP_SINGLE
#include "tests/nufft/test_sweep.c"
