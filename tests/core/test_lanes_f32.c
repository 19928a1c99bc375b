/* Columns side by side in single precision. SPDX-License-Identifier: Apache-2.0 */
#define LMR_REAL 32
#include "tests/core/test_lanes.c"
