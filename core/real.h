/* One C source, two precisions: a file that includes this is compiled with -DLMR_REAL=32 and with -DLMR_REAL=64
 * (CMake's lmr_two_precisions). It is static but for one table, named through R(): `const lmr_vec R(lmr_cpu_vec) =
 * {...};` SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <complex.h>

#if LMR_REAL == 32
typedef float real;
typedef float _Complex cplx;
#define R(name) name##_f32
#define LMR_PRECISION LMR_F32
#elif LMR_REAL == 64
typedef double real;
typedef double _Complex cplx;
#define R(name) name##_f64
#define LMR_PRECISION LMR_F64
#else
#error "LMR_REAL must be 32 or 64"
#endif
