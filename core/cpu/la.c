/* Dense linear algebra on the processor through CBLAS and LAPACKE. SPDX-License-Identifier: Apache-2.0 */
#include "core/real.h"

#define lapack_complex_float float _Complex
#define lapack_complex_double double _Complex
#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/status.h"

#if LMR_REAL == 32
#define GEMM cblas_cgemm
#define HEEV LAPACKE_cheev_work
#define HEEVD LAPACKE_cheevd_work
#else
#define GEMM cblas_zgemm
#define HEEV LAPACKE_zheev_work
#define HEEVD LAPACKE_zheevd_work
#endif

static int transpose(char op)
{
    switch (op) {
    case 'N':
        return CblasNoTrans;
    case 'T':
        return CblasTrans;
    case 'C':
        return CblasConjTrans;
    default:
        return -1;
    }
}

static larmor_status gemm(void *ctx, char opa, char opb, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
                          const void *b, int64_t ldb, void *c, int64_t ldc)
{
    const int ta = transpose(opa), tb = transpose(opb);
    if (ta < 0 || tb < 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "gemm: operations '%c' and '%c', expected N, T or C", opa, opb);
    if (m < 0 || n < 0 || k < 0 || m > INT_MAX || n > INT_MAX || k > INT_MAX || lda > INT_MAX || ldb > INT_MAX ||
        ldc > INT_MAX)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "gemm: %lld x %lld x %lld is too large for BLAS; use blocks", (long long)m,
                        (long long)n, (long long)k);
    if (!m || !n) return LARMOR_OK;
    const cplx one = 1, none = 0;
    const int64_t rows = 256, blocks = (m + rows - 1) / rows; /* the same blocks with any number of threads */
    int threads = ((lmr_cpu *)ctx)->threads;
    LMR_TRY(lmr_cpu_blas_threads(threads < blocks ? threads : (int)blocks, &threads));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < blocks; i++) {
        const int64_t first = i * rows;
        const int64_t count = m - first < rows ? m - first : rows;
        lmr_cpu_blas_enter();
        GEMM(CblasColMajor, (CBLAS_TRANSPOSE)ta, (CBLAS_TRANSPOSE)tb, (int)count, (int)n, (int)k, &one,
             (const cplx *)a + (opa == 'N' ? first : first * lda), (int)lda, b, (int)ldb, &none, (cplx *)c + first,
             (int)ldc);
        lmr_cpu_blas_leave();
    }
    return LARMOR_OK;
}

/* OpenBLAS before 0.3.24, built by GCC 12 as in Debian 12, reads a column of a matrix too far in cgemv and zgemv, and
 * makes no use of what it reads (OpenBLAS issues 4013 and 5000). So matrix and workspace are larmor's own, with room
 * behind them. */
enum { BEHIND = 4 }; /* numbers, beside the column */

/* Large matrices are quicker by divide and conquer, several times from a thousand rows on. */
enum { LARGE = 128 };

static int heev_large(lapack_int n, cplx *a, real *w)
{
    cplx best;
    real best_real;
    lapack_int best_whole;
    int failed = HEEVD(LAPACK_COL_MAJOR, 'V', 'U', n, a, n, w, &best, -1, &best_real, -1, &best_whole, -1);
    if (failed) return failed;
    const int64_t cells = (int64_t)n * n, size = (int64_t)creal((double _Complex)best);
    cplx *matrix = lmr_new(cells + n + BEHIND, sizeof *matrix);
    cplx *work = lmr_new(size + n + BEHIND, sizeof *work);
    real *rwork = lmr_new((int64_t)best_real + n, sizeof *rwork);
    lapack_int *iwork = lmr_new(best_whole, sizeof *iwork);
    failed = LAPACK_WORK_MEMORY_ERROR;
    if (matrix && work && rwork && iwork) {
        memcpy(matrix, a, (size_t)cells * sizeof *matrix);
        failed = HEEVD(LAPACK_COL_MAJOR, 'V', 'U', n, matrix, n, w, work, (lapack_int)size, rwork,
                       (lapack_int)best_real, iwork, best_whole);
        memcpy(a, matrix, (size_t)cells * sizeof *matrix);
    }
    free(iwork);
    free(rwork);
    free(work);
    free(matrix);
    return failed;
}

/* One thread's share of the batch; a LAPACK code above 0 means no convergence. */
static int heev_range(lapack_int n, int64_t first, int64_t last, cplx *a, real *w)
{
    cplx best;
    real none;
    int failed = 0;
    if (n >= LARGE) {
        for (int64_t i = first; i < last && !failed; i++) failed = heev_large(n, a + i * n * n, w + i * n);
        return failed;
    }
    failed = HEEV(LAPACK_COL_MAJOR, 'V', 'U', n, a, n, w, &best, -1, &none);
    if (failed) return failed;
    const lapack_int size = (lapack_int)creal((double _Complex)best);
    const int64_t cells = (int64_t)n * n;
    cplx *matrix = lmr_new(cells + n + BEHIND, sizeof *matrix);
    cplx *work = lmr_new((size > 1 ? size : 1) + n + BEHIND, sizeof *work);
    real *rwork = lmr_new(3 * (int64_t)n, sizeof *rwork);
    if (!matrix || !work || !rwork) failed = LAPACK_WORK_MEMORY_ERROR;
    for (int64_t i = first; i < last && !failed; i++) {
        memcpy(matrix, a + i * cells, (size_t)cells * sizeof *matrix);
        failed = HEEV(LAPACK_COL_MAJOR, 'V', 'U', n, matrix, n, w + i * n, work, size, rwork);
        memcpy(a + i * cells, matrix, (size_t)cells * sizeof *matrix);
    }
    free(rwork);
    free(work);
    free(matrix);
    return failed;
}

static larmor_status heev(void *ctx, int64_t n, int64_t batch, void *a, void *w)
{
    if (n < 0 || batch < 0 || n > 32767)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "heev: matrices of %lld rows", (long long)n);
    if (!n || !batch) return LARMOR_OK;
    const int64_t block = 256, blocks = (batch + block - 1) / block;
    int failed = 0, threads = ((lmr_cpu *)ctx)->threads;
    LMR_TRY(lmr_cpu_blas_threads(threads < blocks ? threads : (int)blocks, &threads));
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(max : failed)
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t first = b * block;
        const int64_t last = first + block < batch ? first + block : batch;
        lmr_cpu_blas_enter();
        const int code = heev_range((lapack_int)n, first, last, a, w);
        lmr_cpu_blas_leave();
        if (abs(code) > failed) failed = abs(code);
    }
    if (failed == abs(LAPACK_WORK_MEMORY_ERROR)) return LMR_NO_MEMORY();
    if (failed) return LMR_FAIL(LARMOR_ERR_NUMERIC, "heev: no convergence or a non-finite matrix (code %d)", failed);
    return LARMOR_OK;
}

const lmr_la R(lmr_cpu_la) = {gemm, heev};
