/* What finufft.c, fortran.c and cufinufft.c are compiled for: LMR_REAL is 32 for the functions finufftf_* and
 * cufinufftf_*,
 * 64 for finufft_* and cufinufft_*. cufinufft.c has included its own header before. SPDX-License-Identifier:
 *    Apache-2.0 */
#pragma once

#ifdef CUFINUFFT_H
#if LMR_REAL == 32
#define NAME(suffix) cufinufftf##suffix
typedef cuFloatComplex complex_real;
#else
#define NAME(suffix) cufinufft##suffix
typedef cuDoubleComplex complex_real;
#endif
#else
#include "finufft/finufft.h"
#if LMR_REAL == 32
#define NAME(suffix) finufftf##suffix
typedef float _Complex complex_real;
#else
#define NAME(suffix) finufft##suffix
typedef double _Complex complex_real;
#endif
#endif

#if LMR_REAL == 32
typedef float real;
#define DTYPE LARMOR_C64
#else
typedef double real;
#define DTYPE LARMOR_C128
#endif
typedef struct NAME(_plan_s) plan;

/* which of points' and modes' values a type reads */
#define C1 const complex_real *c
#define C2 complex_real *c
#define F1 complex_real *f
#define F2 const complex_real *f
