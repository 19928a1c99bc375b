/* Matrices of a few coils, column-major, factored on the host by LAPACK. SPDX-License-Identifier: Apache-2.0
 *
 * Each call passes larmor's gate to BLAS (core/cpu/cpu.h), so that it fails, and does not hang, where OpenBLAS
 * would get no memory. *solved is 0 where the matrix has no such factors or is not finite. Errors:
 * LARMOR_ERR_MEMORY. */
#pragma once
#include <complex.h>

#include "core/status.h"

/* A [n, n], Hermitian, its upper triangle read <- its eigenvectors as columns; value [n] <- its eigenvalues,
 * ascending. */
larmor_status lmr_lapack_eigen(int64_t n, double complex *A, double *value, int *solved);

/* A = U diag(value) V^H, all [n, n]; A is lost. work [n] */
larmor_status lmr_lapack_svd(int64_t n, double complex *A, double *value, double complex *U, double complex *VH,
                             double *work, int *solved);

/* The lower triangle of A [n, n], Hermitian, <- the inverse of its Cholesky factor. */
larmor_status lmr_lapack_inverse_cholesky(int64_t n, double complex *A, int *solved);

/* A [n, n] <- its inverse. */
larmor_status lmr_lapack_inverse(int64_t n, double complex *A, int *solved);
