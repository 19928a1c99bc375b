/* Sizes of a convolution with a matrix of spectra, and where its elements are; for C and for kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#ifdef __CUDACC__
#define LMR_CONV_FUNCTION static __host__ __device__ inline
#else
#define LMR_CONV_FUNCTION static inline
#endif

/* Sizes of a convolution. */
typedef struct lmr_conv_shape {
    int ndim;
    int64_t dim[3], keep[3]; /* of the grid, and of the arrays in its corner */
    int64_t batch;
    int mixed;      /* arrays that a matrix at each frequency mixes; 1: each is filtered by itself */
    int is_complex; /* 1: the matrices are Hermitian, 0: they are real and symmetric */
    int spectra;    /* at least 1: sets of such matrices, one of which is used at a time */
} lmr_conv_shape;

enum { LMR_CONV_MOST_MIXED = 32 };

/* How many planes of real numbers one set of matrices of all frequencies is, and which of them holds the real or
 * imaginary parts of element (row, column), row <= column; diagonals are real. */
LMR_CONV_FUNCTION int lmr_conv_planes(const lmr_conv_shape *s)
{
    return s->is_complex ? s->mixed * s->mixed : s->mixed * (s->mixed + 1) / 2;
}

LMR_CONV_FUNCTION int lmr_conv_plane(const lmr_conv_shape *s, int row, int column, int imaginary)
{
    if (row == column) return row;
    const int pair = column * (column - 1) / 2 + row;
    return s->mixed + (s->is_complex ? 2 * pair + imaginary : pair);
}
