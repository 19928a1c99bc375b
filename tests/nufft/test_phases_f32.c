/* The inner loops in single precision. SPDX-License-Identifier: Apache-2.0 */
#define LMR_REAL 32
#include "tests/nufft/test_phases.c"
