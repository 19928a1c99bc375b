/* What finufft.c and fortran.c are compiled for: LMR_REAL is 32 for the functions finufftf_*, 64 for finufft_*.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_FINUFFT_PRECISION_H
#define LARMOR_FINUFFT_PRECISION_H

#include "finufft/finufft.h"

#if LMR_REAL == 32
typedef float real;
typedef float _Complex complex_real;
#define NAME(suffix) finufftf##suffix
#else
typedef double real;
typedef double _Complex complex_real;
#define NAME(suffix) finufft##suffix
#endif
typedef struct NAME(_plan_s) plan;

/* which of points' and modes' values a type reads */
#define C1 const complex_real *c
#define C2 complex_real *c
#define F1 complex_real *f
#define F2 const complex_real *f

#endif
