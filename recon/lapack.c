/* Matrices of a few coils, factored on the host by LAPACK. SPDX-License-Identifier: Apache-2.0 */
#include "recon/lapack.h"

#include <lapacke.h>

#include "core/cpu/cpu.h"
#include "core/owned.h"

static larmor_status enter(void)
{
    int threads;
    LMR_TRY(lmr_cpu_blas_threads(1, &threads));
    lmr_cpu_blas_enter();
    return LARMOR_OK;
}

static larmor_status leave(lapack_int code, int *solved)
{
    lmr_cpu_blas_leave();
    *solved = code == 0;
    return code == LAPACK_WORK_MEMORY_ERROR ? LMR_NO_MEMORY() : LARMOR_OK;
}

larmor_status lmr_lapack_eigen(int64_t n, double complex *A, double *value, int *solved)
{
    const lapack_int size = (lapack_int)n;
    LMR_TRY(enter());
    return leave(LAPACKE_zheev(LAPACK_COL_MAJOR, 'V', 'U', size, A, size, value), solved);
}

larmor_status lmr_lapack_svd(int64_t n, double complex *A, double *value, double complex *U, double complex *VH,
                             double *work, int *solved)
{
    const lapack_int size = (lapack_int)n;
    LMR_TRY(enter());
    return leave(LAPACKE_zgesvd(LAPACK_COL_MAJOR, 'A', 'A', size, size, A, size, value, U, size, VH, size, work),
                 solved);
}

larmor_status lmr_lapack_inverse_cholesky(int64_t n, double complex *A, int *solved)
{
    const lapack_int size = (lapack_int)n;
    LMR_TRY(enter());
    lapack_int code = LAPACKE_zpotrf(LAPACK_COL_MAJOR, 'L', size, A, size);
    if (!code) code = LAPACKE_ztrtri(LAPACK_COL_MAJOR, 'L', 'N', size, A, size);
    return leave(code, solved);
}

larmor_status lmr_lapack_inverse(int64_t n, double complex *A, int *solved)
{
    const lapack_int size = (lapack_int)n;
    LMR_HEAP LMR_NEW(lapack_int, pivots, n);
    LMR_TRY(enter());
    lapack_int code = LAPACKE_zgetrf(LAPACK_COL_MAJOR, size, size, A, size, pivots);
    if (!code) code = LAPACKE_zgetri(LAPACK_COL_MAJOR, size, A, size, pivots);
    return leave(code, solved);
}
